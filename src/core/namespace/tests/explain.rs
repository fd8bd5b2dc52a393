//! Explaining: every fate there is, each told from the others, and always what a plan of the same step does.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::support::{Crib, SUBJECTS, id_of, issued, spec, tool, tools};
use crate::core::block::Exclusion;
use crate::core::event::{Ending, Origin, PlanResult, SessionSpec, ToolAction, ToolState};
use crate::core::explain::{self, ExplainAsk, Explanation, Standing};
use crate::core::ids::ToolId;
use crate::core::planning::{Fate, StepAsk, left_out};
use crate::core::retrieval::Query;

const EVERYTHING: &str = "invoice weather flight hotel ticket calendar contact translation currency podcast recipe";

fn crib() -> Crib {
    let mut crib = Crib::new(&tools(24));
    crib.open("a");
    crib
}

fn step(user: &str) -> StepAsk<'_> {
    StepAsk { key: "", query: Query { user, model: "", goal: "" }, present: None, max_tools: 0, max_tokens: 0 }
}

fn explain_step(crib: &Crib, session: &str, step: StepAsk<'_>, name: &str) -> Explanation {
    let ask = ExplainAsk { step, name, limit: 200 };
    explain::explain(&crib.ns.view(), crib.session(session), &crib.block(session), &ask)
}

fn explained(crib: &Crib, user: &str, name: &str) -> Explanation {
    explain_step(crib, "a", step(user), name)
}

/// Explains one tool that the name stands for alone.
fn named(crib: &Crib, user: &str, name: &str) -> Standing {
    let mut named = explained(crib, user, name).named;
    assert_eq!(named.len(), 1, "{name}");
    named.remove(0)
}

fn standing_of<'e>(explanation: &'e Explanation, tool: &ToolId) -> Option<&'e Standing> {
    let is_it = |standing: &&Standing| standing.tool.as_ref().is_some_and(|(id, _)| id == tool);
    explanation.standings.iter().find(is_it)
}

#[test]
fn what_would_be_issued_stands_first_with_its_parts_and_words() {
    let crib = crib();
    let explanation = explained(&crib, "the weather in the hotel", "find_weather");
    let first = &explanation.standings[0];
    assert_eq!((first.rank, first.fate, &*first.next_step), (1, Some(Fate::Issued), ""));
    assert_eq!((explanation.n_tools, explanation.n_candidates, explanation.n_matching), (24, 24, 2));
    let weather = &explanation.named[0];
    assert_eq!((weather.fate, weather.dissected.words.as_slice()), (Some(Fate::Issued), &["weather".to_owned()][..]));
    let names: Vec<&str> = weather.dissected.parts.iter().map(|(name, _)| *name).collect();
    assert!(names.contains(&"name") && names.contains(&"summary") && !names.contains(&"keywords"), "{names:?}");
    assert_eq!(crib.ns.figures().steps(), 0, "explaining is no step");
}

#[test]
fn beyond_m_says_its_rank_and_m() {
    let crib = crib();
    let explanation = explain_step(&crib, "a", StepAsk { max_tools: 2, ..step(EVERYTHING) }, "");
    let last = explanation.standings.last().unwrap();
    assert_eq!((last.rank, last.fate, explanation.plan.limit), (11, Some(Fate::BeyondM), 2));
    assert!(last.next_step.starts_with("beyond M = 2 at rank 11: "), "{}", last.next_step);
}

#[test]
fn a_tool_that_shares_no_word_does_not_match_whatever_its_heat() {
    let mut crib = crib();
    crib.open("z");
    crib.call_often("z", &id_of("hotel"), 3);
    let hotel = named(&crib, "weather", "find_hotel");
    assert_eq!((hotel.rank, hotel.score, hotel.fate), (0, 0.0, Some(Fate::NoMatch)));
    assert!(hotel.dissected.parts.is_empty() && hotel.next_step.contains("keywords"));
}

#[test]
fn resident_present_and_owed_are_told_apart() {
    let mut crib = crib();
    crib.call_often("a", &id_of("weather"), 10);
    crib.open("b");
    crib.plan("b", "hotel");
    let query = "weather hotel museum";
    let explanation = explain_step(&crib, "b", step(query), "");
    let fate = |explanation: &Explanation, subject| standing_of(explanation, &id_of(subject)).and_then(|s| s.fate);
    assert_eq!(fate(&explanation, "weather"), Some(Fate::Resident));
    assert_eq!(fate(&explanation, "hotel"), Some(Fate::Present));
    assert_eq!(fate(&explanation, "museum"), Some(Fate::Issued));
    // Called and then compacted away: it is owed, also where the query says nothing of it.
    crib.call("b", None, &id_of("hotel"), Ending::Ok);
    let explanation = explain_step(&crib, "b", StepAsk { present: Some(BTreeSet::new()), ..step("museum") }, "");
    assert_eq!(fate(&explanation, "hotel"), Some(Fate::Owed));
    assert_eq!((explanation.standings[0].rank, explanation.standings[1].rank), (0, 1));
}

#[test]
fn over_budget_says_what_it_needs_and_what_was_left() {
    let mut crib = crib();
    crib.open_with("a2", SessionSpec { on_demand_budget: 1, ..spec() });
    let explanation = explain_step(&crib, "a2", step("weather"), "find_weather");
    let weather = &explanation.named[0];
    assert_eq!((weather.fate, weather.rank), (Some(Fate::OverBudget), 1));
    assert!(weather.next_step.contains("where 1 were left of 1"), "{}", weather.next_step);
    assert_eq!((explanation.plan.budget.most, explanation.plan.budget.left), (1, 1));
}

#[test]
fn an_excluded_tool_keeps_its_place_by_score_and_has_no_rank() {
    let mut crib = crib();
    crib.change(&id_of("weather"), ToolAction::Quarantine).unwrap();
    crib.change(&id_of("museum"), ToolAction::Retire).unwrap();
    let explanation = explained(&crib, "weather weather hotel", "find_weather");
    let weather = &explanation.standings[0];
    let why = Exclusion::State(ToolState::Quarantined);
    assert_eq!((weather.rank, weather.fate), (0, Some(Fate::Excluded(why))));
    assert_eq!(weather.next_step, "mend it, then: toolcrib tool repair s/find_weather");
    assert_eq!(explanation.standings[1].rank, 1);
    let counts: Vec<_> = explanation.exclusions.iter().map(|out| (out.why, out.n_tools, out.n_matching)).collect();
    assert_eq!(counts, [(why, 1, 1), (Exclusion::State(ToolState::Retired), 1, 0)]);
    assert_eq!((explanation.n_tools, explanation.n_candidates, explanation.n_matching), (24, 22, 1));
}

#[test]
fn a_name_taken_by_the_runtime_is_a_reason_and_an_own_tool_is_no_candidate() {
    let mut crib = crib();
    let mut spec = spec();
    spec.own_tools[0].name = "s__find_weather".into();
    crib.open_with("o", spec);
    let explanation = explain_step(&crib, "o", step("weather"), "s__find_weather");
    assert_eq!(explanation.named[0].fate, Some(Fate::Own));
    let standing = standing_of(&explanation, &id_of("weather")).unwrap();
    assert_eq!(standing.fate, Some(Fate::Excluded(Exclusion::NameTaken)));
}

#[test]
fn a_tool_outside_the_pool_is_counted_and_named_only_where_it_is_asked_for() {
    let mut crib = crib();
    crib.set("session.pass_through_tools", "0");
    let mut narrow = spec();
    narrow.pool.deny.insert("s/find_weather".parse().unwrap());
    crib.open_with("n", narrow);
    let explanation = explain_step(&crib, "n", step("weather"), "");
    assert!(explanation.standings.is_empty() && explanation.named.is_empty());
    let out = &explanation.exclusions[0];
    assert_eq!((out.why, out.n_tools, out.n_matching), (Exclusion::NotInPool, 1, 1));
    let asked = explain_step(&crib, "n", step("weather"), "find_weather");
    assert_eq!(asked.named[0].fate, Some(Fate::Excluded(Exclusion::NotInPool)));
    let near = explain_step(&crib, "n", step("weather"), "find_weathr").nearest;
    assert!(!near.iter().any(|name| name.as_str() == "s__find_weather"), "{near:?}");
}

#[test]
fn an_unknown_name_has_the_nearest_ones() {
    let explanation = explained(&crib(), "weather", "find_wether");
    assert_eq!((explanation.named[0].fate, &*explanation.named[0].name), (None, "find_wether"));
    assert_eq!(explanation.nearest[0].as_str(), "s__find_weather");
}

#[test]
fn a_name_of_two_sources_has_a_standing_for_each() {
    let mut crib = crib();
    crib.register(&[
        tool("north/get_status", "Reads a northern depot"),
        tool("south/get_status", "Reads a southern one"),
    ]);
    let named = explained(&crib, "northern depot", "get_status").named;
    assert_eq!(named.iter().map(|one| one.fate).collect::<Vec<_>>(), [Some(Fate::Issued), Some(Fate::NoMatch)]);
}

#[test]
fn where_nothing_is_sought_it_says_why() {
    let crib = crib();
    let silent = explained(&crib, "", "find_weather");
    assert_eq!((silent.plan.planned.result, silent.named[0].fate), (PlanResult::NoQuery, Some(Fate::NotSought)));
    let mut small = Crib::new(&tools(3));
    small.open("a");
    small.register(&[tool("late/play_chess", "Plays a game of chess")]);
    let late = explained(&small, "chess", "play_chess");
    assert!(late.pass_through);
    assert_eq!(late.named[0].fate, Some(Fate::NotSought));
    assert!(late.named[0].next_step.ends_with("toolcrib session refresh a"), "{}", late.named[0].next_step);
    assert_eq!(explained(&small, "weather", "find_weather").named[0].fate, Some(Fate::Resident));
}

#[test]
fn what_was_given_before_stands_there_with_its_step_and_origin() {
    let mut crib = crib();
    let first = crib.plan("a", "weather").step;
    crib.request("a", Some(first), r#"{"name":"find_hotel"}"#);
    let second = crib.plan("a", "museum").step;
    let past = |name| explained(&crib, "", name).past;
    let all: Vec<_> = past("").iter().map(|one| (one.step, one.call.is_some(), one.issue.origin)).collect();
    let (issued, recalled) = (Origin::Issued, Origin::Recalled);
    let expected = [(Some(second), false, issued), (Some(first), true, recalled), (Some(first), false, issued)];
    assert_eq!(all, expected);
    assert_eq!(past("find_hotel").len(), 1);
    assert!(past("find_volcano").is_empty());
}

#[test]
fn a_fresh_session_is_as_one_that_is_opened_now() {
    let mut crib = crib();
    crib.call_often("a", &id_of("weather"), 10);
    let view = crib.ns.view();
    let fresh = explain::fresh_session(&view);
    let ask = ExplainAsk { step: step("weather hotel"), name: "", limit: 20 };
    let explanation = explain::explain(&view, &fresh, fresh.block().unwrap(), &ask);
    assert_eq!(issued(&explanation.plan.planned), [id_of("hotel")]);
    assert_eq!(explanation.plan.budget.window, view.policy.session.default_window);
}

#[test]
fn an_empty_plan_names_what_would_have_fitted_and_nothing_outside_the_pool() {
    let mut crib = crib();
    crib.set("session.pass_through_tools", "0");
    crib.register(&[tool("hidden/find_weather_map", "Looks up one weather map in the records")]);
    let mut narrow = spec();
    narrow.pool.allow.insert("s/*".parse().unwrap());
    crib.open_with("n", narrow);
    crib.change(&id_of("weather"), ToolAction::Quarantine).unwrap();
    let planned = crib.plan("n", "weather");
    assert_eq!(planned.result, PlanResult::NothingFound);
    let out = left_out(&crib.ns.view(), crib.session("n").spec(), &step("weather"), &planned);
    let quarantined = Fate::Excluded(Exclusion::State(ToolState::Quarantined));
    assert_eq!(out, [(id_of("weather"), quarantined)]);
    let answer = crib.request("n", None, r#"{"need":"weather"}"#);
    assert_eq!(answer.left_out, out);
    assert!(answer.text.contains("s__find_weather is out of order"), "{}", answer.text);
    assert!(!answer.text.contains("hidden"), "{}", answer.text);
    let found = crib.plan("n", "hotel");
    assert!(left_out(&crib.ns.view(), crib.session("n").spec(), &step("hotel"), &found).is_empty());
}

#[test]
fn an_empty_plan_names_what_was_too_large() {
    let mut crib = crib();
    crib.open_with("t", SessionSpec { on_demand_budget: 1, ..spec() });
    let planned = crib.plan("t", "weather");
    let out = left_out(&crib.ns.view(), crib.session("t").spec(), &step("weather"), &planned);
    assert_eq!((planned.result, out), (PlanResult::NothingFound, vec![(id_of("weather"), Fate::OverBudget)]));
    let answer = crib.request("t", None, r#"{"name":"find_weather"}"#);
    assert_eq!(answer.left_out, [(id_of("weather"), Fate::OverBudget)]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 48, ..ProptestConfig::default() })]

    /// Whatever is asked in whatever session: explaining issues what planning issues, gives every tool that matches one
    /// fate, and parts that add up to its score.
    #[test]
    fn an_explanation_is_the_plan_and_its_parts_are_the_score(
        subjects in prop::collection::vec(0..SUBJECTS.len(), 0..12),
        out in prop::collection::btree_set(0..SUBJECTS.len(), 0..6),
        denied in prop::collection::btree_set(0..SUBJECTS.len(), 0..6),
        (hot, mention) in (0..SUBJECTS.len(), any::<bool>()),
        (max_tools, budget) in (0u32..4, prop::sample::select(vec![0u32, 1, 150, 400])),
    ) {
        let mut crib = Crib::new(&tools(24));
        crib.open("z");
        crib.call_often("z", &id_of(SUBJECTS[hot]), 2);
        for subject in &out {
            crib.change(&id_of(SUBJECTS[*subject]), ToolAction::Quarantine).unwrap();
        }
        let mut narrow = SessionSpec { on_demand_budget: budget, ..spec() };
        narrow.pool.deny = denied.iter().map(|i| format!("s/find_{}", SUBJECTS[*i]).parse().unwrap()).collect();
        crib.open_with("a", narrow);
        let mut user: Vec<&str> = subjects.iter().map(|i| SUBJECTS[*i]).collect();
        if mention {
            user.push("use find_volcano records");
        }
        let user = user.join(" ");
        let ask = || StepAsk { max_tools, ..step(&user) };
        let explanation = explain_step(&crib, "a", ask(), "");
        let planned = crib.plan_ask("a", &ask());
        prop_assert_eq!(&explanation.plan.planned, &planned);

        let of_fate = |wanted| explanation.standings.iter().filter(move |one| one.fate == Some(wanted));
        let told: Vec<ToolId> = of_fate(Fate::Issued).filter_map(|one| Some(one.tool.clone()?.0)).collect();
        prop_assert_eq!(told, issued(&planned));
        prop_assert!(of_fate(Fate::BeyondM).all(|one| one.rank > explanation.plan.limit));
        for (place, standing) in explanation.standings.iter().filter(|one| one.rank > 0).enumerate() {
            prop_assert_eq!(standing.rank as usize, place + 1);
            let is_excluded = matches!(standing.fate, Some(Fate::Excluded(_)));
            prop_assert!(!is_excluded && standing.fate.is_some());
        }
        for standing in &explanation.standings {
            let sum: f32 = standing.dissected.parts.iter().map(|(_, part)| part).sum();
            let slack = 1e-4 * standing.score.abs().max(10.0);
            prop_assert!((sum - standing.score).abs() <= slack, "{} is not {}: {:?}", sum, standing.score, standing.dissected);
            prop_assert!(standing.dissected.words.iter().all(|word| user.contains(word.as_str())));
        }
    }
}

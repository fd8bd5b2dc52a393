//! Planning a step: what is issued, and what never is.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::support::{Crib, SUBJECTS, id_of, issued, spec, tool, tools};
use crate::core::block::exclusion;
use crate::core::event::{Delivery, Ending, PlanResult, SessionSpec, ToolAction};
use crate::core::ids::{SessionId, ToolId};
use crate::core::planning::{self, StepAsk};
use crate::core::retrieval::Query;

const EVERYTHING: &str = "invoice weather flight hotel ticket calendar contact translation currency podcast recipe";

fn crib() -> Crib {
    let mut crib = Crib::new(&tools(24));
    crib.open("a");
    crib
}

fn ask(user: &str) -> StepAsk<'_> {
    let query = Query { user, model: "", goal: "" };
    StepAsk { key: "", query, present: Some(BTreeSet::new()), max_tools: 0, max_tokens: 0 }
}

#[test]
fn a_step_without_text_issues_nothing_and_says_so() {
    let mut crib = crib();
    let planned = crib.plan("a", "  \n ");
    assert_eq!((planned.result, planned.issued.len()), (PlanResult::NoQuery, 0));
}

#[test]
fn each_of_the_three_texts_of_a_query_is_read() {
    for place in 0..3 {
        let mut crib = crib();
        let mut texts = [""; 3];
        texts[place] = "weather";
        let query = Query { user: texts[0], model: texts[1], goal: texts[2] };
        let planned = crib.plan_ask("a", &StepAsk { query, ..ask("") });
        assert_eq!(issued(&planned), [id_of("weather")]);
    }
}

#[test]
fn at_most_m_are_retrieved_and_a_step_may_ask_for_fewer_and_not_for_more() {
    let mut crib = crib();
    let mut n_issued = |max_tools| crib.plan_ask("a", &StepAsk { max_tools, ..ask(EVERYTHING) }).issued.len();
    assert_eq!((n_issued(0), n_issued(3), n_issued(50)), (8, 3, 8));
}

#[test]
fn m_of_0_leaves_recall_as_the_only_way() {
    let mut crib = crib();
    crib.set("plan.top_m", "0");
    assert!(crib.plan("a", "weather").issued.is_empty());
    assert_eq!(crib.request("a", None, r#"{"need":"weather"}"#).issued.len(), 1);
}

#[test]
fn what_is_present_or_resident_is_not_issued_again() {
    let mut crib = crib();
    crib.call_often("a", &id_of("weather"), 10);
    crib.open("b");
    let resident = crib.plan("b", "weather");
    assert_eq!((resident.result, resident.issued.len()), (PlanResult::PresentSuffices, 0));
    assert_eq!(issued(&crib.plan("b", "weather hotel")), [id_of("hotel")]);
    let present = crib.plan_present("b", "weather hotel", &["s__find_hotel"]);
    assert_eq!((present.result, present.issued.len()), (PlanResult::PresentSuffices, 0));
}

#[test]
fn nothing_is_retrieved_where_everything_is_resident() {
    let mut crib = Crib::new(&tools(10));
    crib.open("a");
    let planned = crib.plan("a", "weather");
    assert_eq!((planned.result, planned.issued.len()), (PlanResult::PresentSuffices, 0));
}

#[test]
fn a_tool_registered_after_opening_may_be_issued() {
    let mut crib = crib();
    crib.register(&[tool("late/play_chess", "Plays a game of chess against an engine")]);
    assert_eq!(issued(&crib.plan("a", "chess")), [ToolId::new("late", "play_chess")]);
}

#[test]
fn a_repeated_key_is_the_same_step_counted_once() {
    let mut crib = crib();
    let first = crib.plan_ask("a", &StepAsk { key: "k", ..ask("weather") });
    let again = crib.plan_ask("a", &StepAsk { key: "k", ..ask("hotel") });
    assert_eq!(again, first);
    let other = crib.plan_ask("a", &StepAsk { key: "l", ..ask("hotel") });
    assert_ne!(other.step, first.step);
    assert_eq!(crib.ns.figures().steps(), 2);
}

#[test]
fn a_token_budget_that_is_used_up_issues_nothing() {
    let mut crib = crib();
    crib.open_with("t", SessionSpec { on_demand_budget: 1, ..spec() });
    let planned = crib.plan("t", "weather");
    assert!(planned.issued.is_empty());
    let answer = crib.request("t", None, r#"{"name":"s__find_weather"}"#);
    assert!(answer.issued.is_empty() && answer.text.contains("No room left"), "{}", answer.text);
}

#[test]
fn steps_leave_room_for_what_the_model_asks_for_itself() {
    let mut crib = crib();
    let one = crib.plan("a", "weather").tokens.issued;
    crib.open_with("t", SessionSpec { on_demand_budget: one * 2 + 10, ..spec() });
    assert_eq!(crib.plan("t", "weather").issued.len(), 1);
    assert_eq!(crib.plan("t", "hotel").issued.len(), 0, "three quarters are used up");
    let answer = crib.request("t", None, r#"{"name":"s__find_hotel"}"#);
    assert_eq!((answer.issued.len(), answer.text.as_str()), (1, "Loaded: s__find_hotel."));
    let answer = crib.request("t", None, r#"{"name":"s__find_museum"}"#);
    let told = "No room left in this conversation for: s__find_museum. They can still be called by name.";
    assert_eq!((answer.issued.len(), answer.text.as_str()), (0, told));
}

#[test]
fn what_is_present_counts_against_the_budget() {
    let mut crib = crib();
    let one = crib.plan("a", "weather").tokens.issued;
    crib.set("plan.recall_reserve", "0");
    crib.open_with("t", SessionSpec { on_demand_budget: one * 2 + 10, ..spec() });
    assert_eq!(crib.plan("t", "weather").issued.len(), 1);
    assert_eq!(crib.plan("t", "hotel").issued.len(), 1);
    assert_eq!(crib.plan("t", "museum").issued.len(), 0);
    assert_eq!(crib.plan_present("t", "museum", &[]).issued.len(), 1, "room again once it was dropped");
}

/// Tools that the session may not see used to be counted as found, and the model was told that more matched.
#[test]
fn what_a_session_may_not_see_is_not_counted_among_what_matched() {
    let mut crib = crib();
    let mut narrow = spec();
    narrow.pool.allow.insert(crate::core::ids::Selector::Tool(id_of("weather")));
    crib.set("session.pass_through_tools", "0");
    crib.open_with("n", narrow);
    let view = crib.ns.view();
    let session = crib.ns.session(&SessionId::from("n")).unwrap();
    let plan = planning::plan(&view, session, &crib.block("n"), 0, &ask(EVERYTHING));
    assert_eq!((plan.listing.total, plan.listing.returned), (1, 1));
    assert_eq!((plan.listing.has_more(), &*plan.listing.hint), (false, ""));
    let answer = crib.request("n", None, &format!(r#"{{"need":"{EVERYTHING}"}}"#));
    assert_eq!((answer.listing.total, answer.listing.has_more()), (1, false));
}

#[test]
fn a_narrowed_session_is_issued_nothing_from_outside_its_pool() {
    let mut crib = crib();
    crib.register(&[tool("other/find_weather_map", "Looks up one weather map in the records")]);
    let mut narrow = spec();
    narrow.pool.deny.insert("s/*".parse().unwrap());
    narrow.pool.must_have.insert(id_of("hotel"));
    crib.set("session.pass_through_tools", "0");
    let block = crib.open_with("n", narrow);
    assert!(block.resident_version(&id_of("hotel")).is_some(), "a must-have is in the block whatever is denied");
    assert_eq!(issued(&crib.plan("n", "weather hotel museum")), [ToolId::new("other", "find_weather_map")]);
}

#[test]
fn the_pieces_carry_what_was_issued_once_each() {
    let mut crib = crib();
    for delivery in [Delivery::Invoke, Delivery::Tools] {
        let session = format!("{delivery:?}");
        crib.open_with(&session, SessionSpec { delivery, ..spec() });
        let planned = crib.plan(&session, "weather hotel");
        let pieces = crib.ns.view().pieces(crib.session(&session).spec(), &planned.issued);
        let names: Vec<&str> = pieces.iter().flat_map(|piece| &piece.names).map(|name| name.as_str()).collect();
        assert_eq!(names.len(), 2);
        assert!(names.contains(&"s__find_weather") && names.contains(&"s__find_hotel"));
    }
}

#[derive(Clone, Debug)]
enum Happening {
    Call(usize),
    Break(usize),
    Operate(usize, ToolAction),
    Recall(usize),
    Drop,
}

fn happening() -> impl Strategy<Value = Happening> {
    let subject = || 0..SUBJECTS.len();
    let actions = vec![ToolAction::Retire, ToolAction::Restore, ToolAction::Quarantine, ToolAction::Repair];
    prop_oneof![
        subject().prop_map(Happening::Call),
        subject().prop_map(Happening::Break),
        (subject(), prop::sample::select(actions)).prop_map(|(tool, action)| Happening::Operate(tool, action)),
        subject().prop_map(Happening::Recall),
        Just(Happening::Drop),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]
    #[test]
    fn no_plan_issues_what_is_excluded_or_present_or_exceeds_its_bounds(
        happenings in prop::collection::vec(happening(), 1..24),
        subjects in prop::collection::vec(0..SUBJECTS.len(), 1..16),
        denied in prop::collection::btree_set(0..SUBJECTS.len(), 0..6),
        budget in 1..600_u32, max_tools in 0..10_u32, max_tokens in 0..300_u32,
    ) {
        let mut crib = Crib::new(&tools(24));
        let mut wanted = SessionSpec { on_demand_budget: budget, ..spec() };
        for subject in denied {
            wanted.pool.deny.insert(crate::core::ids::Selector::Tool(id_of(SUBJECTS[subject])));
        }
        crib.open_with("a", wanted);
        let words: Vec<&str> = subjects.iter().map(|subject| SUBJECTS[*subject]).collect();
        let user = words.join(" ");
        let mut present = None;
        for happening in happenings {
            let id = |subject: usize| id_of(SUBJECTS[subject]);
            match happening {
                Happening::Call(subject) => drop(crib.call("a", None, &id(subject), Ending::Ok)),
                Happening::Break(subject) => drop(crib.break_tool("a", &id(subject))),
                Happening::Operate(subject, action) => drop(crib.change(&id(subject), action)),
                Happening::Recall(subject) => {
                    drop(crib.request("a", None, &format!(r#"{{"need":"{}"}}"#, SUBJECTS[subject])));
                }
                Happening::Drop => present = Some(BTreeSet::new()),
            }
            let before = crib.session("a").shelf_before(present.as_ref());
            let block = crib.block("a");
            let asked = StepAsk { present: present.take(), max_tools, max_tokens, ..ask(&user) };
            let planned = crib.plan_ask("a", &asked);
            let mut fresh = BTreeSet::new();
            for issue in &planned.issued {
                let excluded = exclusion(crib.ns.registry(), crib.session("a").spec(), &issue.tool);
                prop_assert_eq!(excluded, None);
                prop_assert!(!before.contains_key(&issue.tool) && block.resident_version(&issue.tool).is_none());
                prop_assert!(fresh.insert(issue.tool.clone()), "issued twice");
            }
            let retrieved = planned.issued.iter().filter(|issue| issue.score > 0.0).count();
            let m = if max_tools == 0 { 8 } else { max_tools as usize };
            prop_assert!(retrieved <= m);
            prop_assert!(planned.issued.is_empty() || planned.tokens.issued <= budget);
            let pieces = crib.ns.view().pieces(crib.session("a").spec(), &planned.issued);
            let cost: u32 = pieces.iter().map(|piece| piece.tokens).sum();
            prop_assert!(max_tokens == 0 || cost <= max_tokens, "{cost} of {max_tokens}");
        }
        crib.assert_recovers();
    }
}

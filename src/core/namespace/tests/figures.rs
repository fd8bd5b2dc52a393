//! Figures: what is counted, once each, and the rates made of it.

use super::support::{Crib, alias_of, id_of, spec, tools, verdicts_in};
use crate::core::event::{
    Ending, Judge, Judgement, PlanResult, Presence, SessionSpec, StepEnd, StepTokens, ToolAction, Verdict,
};
use crate::core::ids::CallId;
use crate::core::namespace::Exposure;

const FITS: &str = r#"{"text":"a"}"#;

fn crib() -> Crib {
    let mut crib = Crib::new(&tools(24));
    crib.open("a");
    crib
}

#[test]
fn presence_and_coverage_count_calls_whose_step_is_known() {
    let mut crib = crib();
    let step = Some(crib.plan("a", "weather").step);
    crib.call("a", step, &id_of("weather"), Ending::Ok);
    crib.call("a", step, &id_of("hotel"), Ending::Ok);
    crib.request("a", step, r#"{"name":"s__find_museum"}"#);
    let next = Some(crib.plan("a", "").step);
    crib.call("a", next, &id_of("museum"), Ending::Ok);
    crib.call("a", next, &id_of("concert"), Ending::Ok);
    let figures = crib.ns.figures();
    assert_eq!(figures.presence_rate(), Some(0.25));
    assert_eq!(figures.coverage(), Some(0.5));
    assert_eq!(figures.extra_hops, 1);
}

#[test]
fn tokens_are_the_sum_over_steps_and_count_again_what_is_still_present() {
    let mut crib = crib();
    let mut sum = [0; 6];
    let mut last_issued = 0;
    for (user, is_first) in [("weather", true), ("", false), ("", false)] {
        let tokens: StepTokens = crib.plan("a", user).tokens;
        assert!(is_first || tokens.issued == last_issued);
        last_issued = tokens.issued;
        let parts = [tokens.directory, tokens.resident, tokens.issued, tokens.meta, tokens.everything, tokens.window];
        for (sum, part) in sum.iter_mut().zip(parts) {
            *sum += u64::from(part);
        }
    }
    let tokens = &crib.ns.figures().tokens;
    assert!(last_issued > 0);
    let summed = [tokens.directory, tokens.resident, tokens.issued, tokens.meta, tokens.everything, tokens.window];
    assert_eq!(summed, sum);
    assert_eq!(crib.ns.figures().injection_share(), Some(tokens.placed() as f64 / tokens.window as f64));
}

#[test]
fn a_block_costs_what_its_pieces_cost() {
    let mut crib = crib();
    crib.call_often("a", &id_of("weather"), 10);
    let block = crib.open("b");
    let pieces: u32 = block.pieces.iter().map(|piece| piece.tokens).sum();
    assert_eq!(block.tokens.total(), pieces);
    assert!(block.tokens.resident > 0 && block.tokens.directory > 0 && block.tokens.meta > 0);
}

#[test]
fn a_step_without_a_call_is_counted_by_its_reason_and_unknown_where_nobody_said() {
    let mut crib = crib();
    let answered = crib.plan("a", "").step;
    crib.end_step("a", answered, StepEnd::Answered);
    crib.end_step("a", answered, StepEnd::GaveUp);
    crib.plan("a", "");
    let called = crib.plan("a", "").step;
    crib.call("a", Some(called), &id_of("hotel"), Ending::Ok);
    let checked = crib.plan("a", "").step;
    crib.check("a", Some(checked), &[("1", "no_such", "{}")]);
    let asked = crib.plan("a", "").step;
    crib.request("a", Some(asked), r#"{"need":"museum"}"#);
    crib.plan("a", "");
    crib.close("a");
    let ends = &crib.ns.figures().plans_without_call;
    assert_eq!((ends.get(StepEnd::Answered), ends.get(StepEnd::GaveUp), ends.get(StepEnd::Unknown)), (1, 0, 2));
}

/// A word that comes after the next step was planned used to count the step a second time.
#[test]
fn a_late_word_on_a_step_does_not_count_it_twice() {
    let mut crib = crib();
    let first = crib.plan("a", "").step;
    crib.plan("a", "");
    crib.end_step("a", first, StepEnd::Answered);
    assert_eq!(crib.ns.figures().plans_without_call.total(), 1);
}

/// A runtime that sends no step with its outcomes made a call all the same.
#[test]
fn an_outcome_without_a_step_belongs_to_the_newest() {
    let mut crib = crib();
    crib.plan("a", "");
    crib.call("a", None, &id_of("hotel"), Ending::Ok);
    crib.plan("a", "");
    crib.request("a", None, r#"{"name":"s__find_hotel"}"#);
    crib.close("a");
    assert_eq!(crib.ns.figures().plans_without_call.total(), 0);
}

#[test]
fn plans_are_counted_by_what_they_came_to_and_a_repeated_key_once() {
    let mut crib = crib();
    crib.plan("a", "weather");
    crib.plan("a", "weather");
    crib.plan("a", "");
    crib.plan("a", "xylophone");
    let plans = &crib.ns.figures().plans;
    assert_eq!(plans.get(PlanResult::Issued), 1);
    assert_eq!(plans.get(PlanResult::PresentSuffices), 1);
    assert_eq!(plans.get(PlanResult::NoQuery), 1);
    assert_eq!(plans.get(PlanResult::NothingFound), 1);
    assert_eq!(crib.ns.figures().steps(), 4);
}

#[test]
fn the_judged_share_is_of_all_selections_and_the_rate_of_the_judged() {
    let mut crib = crib();
    let step = Some(crib.plan("a", "weather").step);
    let name = alias_of("weather");
    crib.check("a", step, &[("1", &name, FITS), ("2", &name, "{}"), ("3", "no_such", "{}")]);
    for id in ["1", "2", "3"] {
        let mut outcome = crib.outcome("a", step, &id_of("weather"), Ending::Ok);
        outcome.call_id = CallId::from(id);
        crib.report(outcome);
    }
    crib.call("a", step, &id_of("hotel"), Ending::Timeout);
    crib.close("a");
    let figures = crib.ns.figures();
    let count = |verdict| figures.selections.get(verdict);
    assert_eq!((count(Verdict::Right), count(Verdict::InvalidArguments), count(Verdict::UnknownTool)), (1, 1, 1));
    assert_eq!(count(Verdict::Unjudged), 1);
    assert_eq!(figures.mis_selection_rate(), Some(2.0 / 3.0));
    assert_eq!(figures.judged_share(), Some(0.75));
}

#[test]
fn a_check_that_is_repeated_judges_once() {
    let mut crib = crib();
    let step = Some(crib.plan("a", "").step);
    for _ in 0..3 {
        crib.check("a", step, &[("1", "no_such", "{}")]);
    }
    assert_eq!(crib.ns.figures().selections.total(), 1);
}

#[test]
fn a_switch_to_a_confusable_tool_that_works_makes_the_first_pick_wrong() {
    let mut crib = crib();
    let step = Some(crib.plan("a", "").step);
    crib.call("a", step, &id_of("weather"), Ending::NotFound);
    let drawn = crib.call("a", step, &id_of("hotel"), Ending::Ok);
    let verdicts: Vec<Verdict> = verdicts_in(&drawn).iter().map(|judged| judged.verdict).collect();
    assert_eq!(verdicts, [Verdict::WrongTool]);
}

#[test]
fn a_label_is_taken_as_it_is() {
    let mut crib = crib();
    let mut outcome = crib.outcome("a", None, &id_of("weather"), Ending::Ok);
    outcome.judgement = Some(Judgement { verdict: Verdict::WrongTool, judge: Judge::Person });
    crib.report(outcome);
    crib.close("a");
    assert_eq!(crib.ns.figures().selections.get(Verdict::WrongTool), 1);
    assert_eq!(crib.ns.figures().selections.total(), 1);
}

#[test]
fn played_traffic_is_counted_and_judges_nothing() {
    let mut crib = crib();
    crib.open_with("p", SessionSpec { played: true, ..spec() });
    let step = Some(crib.plan("p", "weather").step);
    crib.check("p", step, &[("1", &alias_of("weather"), "{}"), ("2", "no_such", "{}")]);
    crib.call("p", step, &id_of("weather"), Ending::NotFound);
    crib.call("p", step, &id_of("hotel"), Ending::Ok);
    crib.close("p");
    let figures = crib.ns.figures();
    assert_eq!(figures.judged_share(), Some(0.0));
    assert_eq!((figures.selections.total(), figures.calls.total()), (2, 2));
    assert_eq!(figures.calls.get(Presence::Issued), 1);
}

#[test]
fn exposures_summed_by_block_equal_a_count_at_every_step() {
    let mut crib = crib();
    let mut counted: std::collections::BTreeMap<_, Exposure> = std::collections::BTreeMap::new();
    let users = ["weather", "", "hotel museum", "invoice"];
    for round in 0..30 {
        let session = ["a", "b", "c"][round % 3];
        match round {
            1 | 2 => drop(crib.open(session)),
            13 => drop(crib.refresh("b", &[])),
            17 => drop(crib.change(&id_of("volcano"), ToolAction::Retire)),
            20 => drop(crib.refresh("c", &[])),
            21 => drop(crib.close("a")),
            _ => {}
        }
        if round >= 21 && session == "a" {
            continue;
        }
        let planned = crib.plan_present(session, users[round % 4], &[]);
        let block = crib.block(session);
        for tool in block.directory.keys() {
            counted.entry(tool.clone()).or_default().directory += 1;
        }
        for resident in &block.residents {
            counted.entry(resident.tool.clone()).or_default().resident += 1;
        }
        for issue in &planned.issued {
            counted.entry(issue.tool.clone()).or_default().issued += 1;
        }
        crib.call(session, Some(planned.step), &id_of(["weather", "hotel"][round % 2]), Ending::Ok);
    }
    assert!(counted.values().any(|exposure| exposure.resident > 0 && exposure.issued > 0));
    assert_eq!(crib.ns.exposures(), counted);
    crib.assert_recovers();
}

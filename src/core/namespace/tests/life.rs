//! The life of a tool, move by move.

use super::support::{Crib, SUBJECTS, id_of, issued, move_in, spec, tools};
use crate::core::event::{Ending, Event, MoveCause, PoolReason, PoolReranked, ToolAction, ToolState};
use crate::core::ids::UnixMillis;
use crate::core::namespace::commands::Refusal;

fn crib() -> Crib {
    let mut crib = Crib::new(&tools(24));
    crib.open("a");
    crib.open("b");
    crib
}

/// Calls the tool with these endings, each in a step of its own, and returns where it stands.
fn after(endings: &[Ending]) -> ToolState {
    let mut crib = crib();
    for ending in endings {
        let step = crib.plan("a", "").step;
        crib.call("a", Some(step), &id_of("weather"), *ending);
    }
    crib.state(&id_of("weather"))
}

#[test]
fn three_countable_failures_in_a_row_quarantine_and_two_never() {
    use Ending::{Auth, Ok, ServerError, Timeout, Transport};
    assert_eq!(after(&[Auth, Timeout]), ToolState::Active);
    assert_eq!(after(&[Auth, Timeout, Transport]), ToolState::Quarantined);
    assert_eq!(after(&[ServerError, ServerError, Ok, ServerError, ServerError]), ToolState::Active);
}

#[test]
fn uncountable_endings_neither_count_nor_reset() {
    use Ending::{BadArguments, NotFound, NotRun, Refused, Timeout, Unspecified};
    assert_eq!(after(&[BadArguments, NotFound, Refused, NotRun, Unspecified]), ToolState::Active);
    let mixed = [Timeout, BadArguments, Timeout, NotFound, Refused, NotRun, Unspecified, Timeout];
    assert_eq!(after(&mixed), ToolState::Quarantined);
}

#[test]
fn a_quarantine_records_the_failures_the_heat_and_the_place() {
    let mut crib = crib();
    let tool = id_of("weather");
    crib.call_often("a", &tool, 10);
    let last_success = crib.now;
    crib.pass(5);
    for i in 0..3 {
        let mut outcome = crib.outcome("a", None, &tool, [Ending::Auth, Ending::Timeout, Ending::Auth][i]);
        outcome.message = format!("failure {i}");
        let drawn = crib.report(outcome);
        if i < 2 {
            assert!(move_in(&drawn).is_none());
            continue;
        }
        let moved = move_in(&drawn).unwrap();
        assert_eq!((moved.old, moved.cause, &*moved.actor), (Some(ToolState::Active), MoveCause::Failures, "core"));
        assert_eq!(moved.until, Some(crib.now.plus_secs(60)));
        let record = moved.diagnosis.as_ref().unwrap();
        let messages: Vec<&str> = record.failures.iter().map(|failure| failure.message.as_str()).collect();
        assert_eq!(messages, ["failure 0", "failure 1", "failure 2"]);
        assert_eq!((record.last_success, record.rank), (Some(last_success), Some(1)));
        assert!(record.heat > 8.0);
    }
}

#[test]
fn a_parallel_batch_counts_once() {
    let mut crib = crib();
    let step = Some(crib.plan("a", "").step);
    for _ in 0..5 {
        crib.call("a", step, &id_of("weather"), Ending::Timeout);
    }
    assert_eq!(crib.state(&id_of("weather")), ToolState::Active);
}

/// Only the batch before was remembered, so two agents whose batches interleaved broke a tool with two failures.
#[test]
fn batches_of_two_sessions_that_interleave_count_once_each() {
    let mut crib = crib();
    let (a, b) = (Some(crib.plan("a", "").step), Some(crib.plan("b", "").step));
    for _ in 0..4 {
        crib.call("a", a, &id_of("weather"), Ending::Timeout);
        crib.call("b", b, &id_of("weather"), Ending::Timeout);
    }
    assert_eq!(crib.state(&id_of("weather")), ToolState::Active);
}

#[test]
fn a_sibling_of_the_failure_that_quarantined_does_not_fail_the_probation() {
    let mut crib = crib();
    let tool = id_of("weather");
    crib.break_tool("a", &tool);
    let last = crib.session("a").last_step().unwrap().planned.step;
    crib.pass(61);
    crib.call("a", Some(last), &tool, Ending::Timeout);
    assert_eq!(crib.state(&tool), ToolState::Probation);
    let fresh = crib.plan("a", "").step;
    crib.call("a", Some(fresh), &tool, Ending::Timeout);
    assert_eq!(crib.state(&tool), ToolState::Quarantined);
}

#[test]
fn a_quarantine_ends_by_time_in_probation_which_is_issuable_and_not_resident() {
    let mut crib = crib();
    let tool = id_of("weather");
    crib.call_often("a", &tool, 10);
    crib.break_tool("a", &tool);
    assert!(issued(&crib.plan_present("a", "weather", &[])).is_empty());
    assert_eq!(crib.ns.next_deadline(), Some(crib.now.plus_secs(60)));
    crib.pass(59);
    assert_eq!(crib.state(&tool), ToolState::Quarantined);
    let drawn = crib.pass(1);
    assert_eq!(move_in(&drawn).unwrap().cause, MoveCause::BackoffOver);
    assert_eq!(crib.state(&tool), ToolState::Probation);
    assert_eq!(issued(&crib.plan_present("a", "weather", &[])), std::slice::from_ref(&tool));
    assert_eq!(crib.open("c").resident_version(&tool), None);
}

/// A pin went before the rule, so that a second failure stranded the tool in every block opened meanwhile.
#[test]
fn a_quarantine_by_hand_waits_for_a_hand() {
    let (mut crib, tool) = (crib(), id_of("weather"));
    let events = crib.change(&tool, ToolAction::Quarantine).unwrap();
    assert_eq!(move_in(&events).unwrap().until, None);
    crib.pass(30 * 24 * 3_600);
    assert_eq!(crib.state(&tool), ToolState::Quarantined);
    crib.change(&tool, ToolAction::Repair).unwrap();
    assert_eq!(crib.state(&tool), ToolState::Probation);
}

#[test]
fn a_pinned_tool_on_probation_is_not_resident_and_a_must_have_is() {
    let mut crib = crib();
    let tool = id_of("weather");
    crib.change(&tool, ToolAction::Pin).unwrap();
    assert!(crib.open("active").resident_version(&tool).is_some());
    crib.break_tool("a", &tool);
    assert_eq!(crib.open("quarantined").resident_version(&tool), None);
    crib.pass(60);
    assert_eq!(crib.open("probation").resident_version(&tool), None);
    let mut wanted = spec();
    wanted.pool.must_have.insert(tool.clone());
    assert!(crib.open_with("must", wanted).resident_version(&tool).is_some());
    crib.call_often("a", &tool, 10);
    assert!(crib.open("again").resident_version(&tool).is_some());
}

#[test]
fn ten_successes_in_probation_bring_a_tool_back_to_its_place() {
    let mut crib = crib();
    crib.set("hot_pool.slots", "2");
    crib.call_often("a", &id_of("weather"), 30);
    crib.call_often("a", &id_of("hotel"), 5);
    crib.call_often("a", &id_of("museum"), 5);
    let (tool, heat) = (id_of("weather"), crib.ns.heat_key(&id_of("weather")));
    assert_eq!(crib.ns.pool().members()[0], tool);
    for _ in 0..3 {
        crib.call("a", None, &tool, Ending::Timeout);
    }
    let broken_heat = crib.ns.heat_key(&tool);
    assert!(broken_heat > heat / 2);
    crib.call_often("a", &id_of("hotel"), 100);
    assert_eq!(crib.ns.heat_key(&tool), broken_heat, "heat stands still meanwhile");
    crib.change(&tool, ToolAction::Repair).unwrap();
    assert_eq!(crib.state(&tool), ToolState::Probation);
    crib.call_often("a", &tool, 9);
    assert_eq!(crib.state(&tool), ToolState::Probation);
    crib.call_often("a", &tool, 1);
    assert_eq!(crib.state(&tool), ToolState::Active);
    crib.call_often("a", &id_of("hotel"), 10);
    assert!(crib.ns.pool().members().contains(&tool));
    crib.assert_recovers();
}

/// Heat of a tool that was first called while it was out used to age as if it were in use.
#[test]
fn heat_stands_still_also_where_the_first_call_came_while_the_tool_was_out() {
    let mut crib = crib();
    let tool = id_of("weather");
    crib.change(&tool, ToolAction::Quarantine).unwrap();
    crib.call("a", None, &tool, Ending::Ok);
    let heat = crib.ns.heat_key(&tool);
    crib.call_often("a", &id_of("hotel"), 5);
    assert_eq!(crib.ns.heat_key(&tool), heat);
}

#[test]
fn one_failure_in_probation_quarantines_again_and_the_third_within_a_day_holds() {
    let mut crib = crib();
    let tool = id_of("weather");
    crib.break_tool("a", &tool);
    crib.pass(60);
    let again = crib.call("a", None, &tool, Ending::Transport);
    assert_eq!(move_in(&again).unwrap().cause, MoveCause::FailedProbation);
    crib.pass(60);
    let held = crib.call("a", None, &tool, Ending::Transport);
    assert_eq!(move_in(&held).unwrap().cause, MoveCause::TooManyQuarantines);
    assert!(move_in(&held).unwrap().diagnosis.is_some());
    crib.pass(7 * 24 * 3600);
    assert_eq!(crib.state(&tool), ToolState::Held, "time alone does not end it");
    crib.change(&tool, ToolAction::Repair).unwrap();
    assert_eq!(crib.state(&tool), ToolState::Probation);
}

#[test]
fn quarantines_a_day_apart_never_hold() {
    let mut crib = crib();
    let tool = id_of("weather");
    crib.set("session.idle_secs", "604800");
    crib.break_tool("a", &tool);
    for _ in 0..5 {
        crib.pass(24 * 3600);
        assert_eq!(crib.state(&tool), ToolState::Probation);
        crib.call("a", None, &tool, Ending::Timeout);
        assert_eq!(crib.state(&tool), ToolState::Quarantined);
    }
}

#[test]
fn a_retired_tool_is_out_until_it_is_restored() {
    let mut crib = crib();
    let tool = id_of("weather");
    crib.change(&tool, ToolAction::Retire).unwrap();
    assert!(issued(&crib.plan("a", "weather")).is_empty());
    let again = crib.change(&tool, ToolAction::Retire);
    let (state, action) = (ToolState::Retired, ToolAction::Retire);
    assert_eq!(again, Err(Refusal::NotPossible { tool: tool.clone(), state, action }));
    assert!(crib.change(&tool, ToolAction::Repair).is_err());
    crib.change(&tool, ToolAction::Restore).unwrap();
    assert_eq!(issued(&crib.plan("a", "weather")), [tool]);
}

#[test]
fn a_tool_that_its_source_lists_no_more_is_withdrawn_and_back_when_listed_again() {
    let mut crib = crib();
    let tool = id_of("glacier");
    crib.call_often("a", &tool, 10);
    assert!(crib.ns.pool().members().contains(&tool));
    crib.list(&tools(23), &["s"]);
    assert_eq!(crib.state(&tool), ToolState::Withdrawn);
    assert!(!crib.ns.pool().members().contains(&tool));
    let heat = crib.ns.heat_key(&tool);
    crib.call_often("a", &id_of("hotel"), 5);
    assert_eq!(crib.ns.heat_key(&tool), heat);
    crib.list(&tools(24), &["s"]);
    assert_eq!(crib.state(&tool), ToolState::Active);
    assert!(crib.ns.pool().members().contains(&tool), "a free slot is taken at once");
    assert!(crib.list(&tools(24), &["s"]).is_empty(), "the same list again changes nothing");
}

/// The end of the quarantine was forgotten on the way, so the tool never came back by itself; and the same quarantine
/// was counted a second time towards HELD.
#[test]
fn a_quarantine_goes_on_where_it_was_when_its_tool_is_listed_again() {
    let mut crib = crib();
    let tool = id_of("glacier");
    crib.break_tool("a", &tool);
    let until = crib.now.plus_secs(60);
    crib.pass(10);
    crib.list(&tools(23), &["s"]);
    let while_out = crib.ns.next_deadline().unwrap();
    assert!(while_out > until, "a withdrawn tool waits for nothing");
    let back = crib.list(&tools(24), &["s"]);
    assert_eq!(move_in(&back).map(|moved| (moved.new, moved.until)), Some((ToolState::Quarantined, Some(until))));
    assert_eq!(crib.ns.next_deadline(), Some(until));
    crib.pass(50);
    assert_eq!(crib.state(&tool), ToolState::Probation);
    crib.call("a", None, &tool, Ending::Timeout);
    assert_eq!(crib.state(&tool), ToolState::Quarantined, "the second quarantine, not the third");
    crib.assert_recovers();
}

#[test]
fn a_backoff_that_ran_out_while_withdrawn_ends_at_the_next_moment_of_time() {
    let mut crib = crib();
    let tool = id_of("glacier");
    crib.break_tool("a", &tool);
    crib.list(&tools(23), &["s"]);
    crib.pass(600);
    assert_eq!(crib.state(&tool), ToolState::Withdrawn);
    crib.list(&tools(24), &["s"]);
    assert_eq!(crib.state(&tool), ToolState::Quarantined);
    crib.pass(0);
    assert_eq!(crib.state(&tool), ToolState::Probation);
}

#[test]
fn a_quarantined_resident_leaves_the_live_pool_at_once_and_the_next_by_score_fills() {
    let mut crib = crib();
    crib.set("hot_pool.slots", "3");
    for (subject, n_calls) in SUBJECTS[..5].iter().zip([4, 8, 2, 10, 6]) {
        crib.call_often("a", &id_of(subject), n_calls);
    }
    let members = crib.ns.pool().members().to_vec();
    let broken = members[0].clone();
    let mut drawn = Vec::new();
    while crib.state(&broken) == ToolState::Active {
        drawn = crib.call("a", None, &broken, Ending::ServerError);
    }
    let is_rerank = |event: &Event| matches!(event, Event::PoolReranked(PoolReranked { left, .. }) if !left.is_empty());
    assert!(drawn.iter().any(is_rerank));
    let outside = SUBJECTS[..5].iter().map(|subject| id_of(subject)).filter(|id| !members.contains(id));
    let next = outside.max_by_key(|id| crib.ns.heat_key(id)).unwrap();
    let mut expected = members[1..].to_vec();
    expected.push(next.clone());
    expected.sort();
    let mut now = crib.ns.pool().members().to_vec();
    now.sort();
    assert_eq!(now, expected);
    let Some(Event::PoolReranked(reranked)) = drawn.iter().rev().find(|event| is_rerank(event)) else { panic!() };
    assert_eq!((reranked.left[0].reason, &reranked.left[0].tool), (PoolReason::Unavailable, &broken));
    assert_eq!((reranked.entered[0].reason, &reranked.entered[0].tool), (PoolReason::FilledSlot, &next));
}

#[test]
fn retries_tell_of_health_and_a_call_not_run_does_not() {
    let mut crib = crib();
    let tool = id_of("weather");
    let first = crib.outcome("a", None, &tool, Ending::Timeout);
    crib.report(first.clone());
    crib.call("a", None, &tool, Ending::NotRun);
    for _ in 0..2 {
        let mut retry = crib.outcome("a", None, &tool, Ending::Timeout);
        retry.retry_of = Some(first.call_id.clone());
        crib.report(retry);
    }
    assert_eq!((crib.state(&tool), crib.ns.tick().0), (ToolState::Quarantined, 1));
}

#[test]
fn commands_change_nothing_before_they_are_applied() {
    let crib = crib();
    let before = crib.ns.to_snapshot().unwrap();
    let tool = id_of("weather");
    let (actor, reason, action) = ("op".into(), String::new(), ToolAction::Quarantine);
    let change = crate::core::event::ToolChanged { request_id: String::new(), actor, tool, action, reason, hash: None };
    crib.ns.decide_change(UnixMillis(5), change).unwrap();
    assert_eq!(crib.ns.to_snapshot().unwrap(), before);
}

//! Presence: judged against the set that a step was planned with.

use super::support::{Crib, alias_of, id_of, issued, presence_in, spec, tools};
use crate::core::event::{Ending, Origin, Presence, SessionSpec};
use crate::core::ids::{CallId, StepId};
use crate::core::session::Counting;

const FITS: &str = r#"{"text":"a"}"#;

fn crib() -> Crib {
    let mut crib = Crib::new(&tools(24));
    crib.open("a");
    crib
}

#[test]
fn a_tool_issued_for_the_step_is_issued_and_one_that_was_not_is_absent() {
    let mut crib = crib();
    let step = crib.plan("a", "weather").step;
    let present = crib.call("a", Some(step), &id_of("weather"), Ending::Ok);
    let absent = crib.call("a", Some(step), &id_of("hotel"), Ending::Ok);
    assert_eq!(presence_in(&present), Some(Presence::Issued));
    assert_eq!(presence_in(&absent), Some(Presence::Absent));
}

#[test]
fn a_tool_recalled_in_the_same_reply_is_absent_for_its_siblings() {
    let mut crib = crib();
    let step = crib.plan("a", "").step;
    crib.request("a", Some(step), r#"{"name":"s__find_hotel"}"#);
    let sibling = crib.call("a", Some(step), &id_of("hotel"), Ending::Ok);
    assert_eq!(presence_in(&sibling), Some(Presence::Absent));
}

/// The order in which the request and its sibling are heard of must not matter: the recall is still what put the
/// definition there.
#[test]
fn the_first_call_after_a_recall_is_recalled_whatever_its_siblings_did_and_later_ones_are_issued() {
    for checked_first in [false, true] {
        for reported in [false, true] {
            let mut crib = crib();
            let step = crib.plan("a", "").step;
            let name = alias_of("hotel");
            if checked_first {
                crib.check("a", Some(step), &[("sibling", &name, FITS)]);
            }
            crib.request("a", Some(step), r#"{"name":"s__find_hotel"}"#);
            if !checked_first && !reported {
                crib.check("a", Some(step), &[("sibling", &name, FITS)]);
            }
            if reported {
                let mut outcome = crib.outcome("a", Some(step), &id_of("hotel"), Ending::Ok);
                outcome.call_id = CallId::from("sibling");
                assert_eq!(presence_in(&crib.report(outcome)), Some(Presence::Absent));
            }
            let next = crib.plan("a", "").step;
            let first = crib.call("a", Some(next), &id_of("hotel"), Ending::Ok);
            let later = crib.call("a", Some(next), &id_of("hotel"), Ending::Ok);
            assert_eq!(presence_in(&first), Some(Presence::Recalled), "{checked_first} {reported}");
            assert_eq!(presence_in(&later), Some(Presence::Issued), "{checked_first} {reported}");
        }
    }
}

#[test]
fn a_lost_plan_is_issued_again_where_the_runtime_says_that_nothing_is_present() {
    let mut crib = crib();
    let lost = crib.plan_present("a", "weather", &[]);
    let again = crib.plan_present("a", "weather", &[]);
    assert_eq!(issued(&lost), [id_of("weather")]);
    assert_eq!(issued(&again), issued(&lost));
}

#[test]
fn what_was_issued_is_assumed_placed_where_the_runtime_does_not_say() {
    let mut crib = crib();
    crib.plan("a", "weather");
    let again = crib.plan("a", "weather");
    assert!(again.issued.is_empty());
    let call = crib.call("a", Some(again.step), &id_of("weather"), Ending::Ok);
    assert_eq!(presence_in(&call), Some(Presence::Issued));
}

#[test]
fn after_a_compaction_the_tools_of_the_last_calls_are_put_back_first() {
    let mut crib = crib();
    let step = crib.plan("a", "weather hotel").step;
    crib.call("a", Some(step), &id_of("hotel"), Ending::Ok);
    crib.call("a", Some(step), &id_of("weather"), Ending::Ok);
    let planned = crib.plan_present("a", "museum", &[]);
    assert_eq!(issued(&planned), [id_of("weather"), id_of("hotel"), id_of("museum")]);
    assert_eq!(planned.issued[0].origin, Origin::Reissued);
    let kept = crib.plan_present("a", "museum", &[&alias_of("hotel"), &alias_of("museum")]);
    assert_eq!(issued(&kept), [id_of("weather")]);
}

#[test]
fn only_the_last_eight_calls_are_owed() {
    let mut crib = crib();
    let step = crib.plan("a", "weather").step;
    crib.call("a", Some(step), &id_of("weather"), Ending::Ok);
    for _ in 0..8 {
        crib.call("a", Some(step), &id_of("hotel"), Ending::Ok);
    }
    assert_eq!(issued(&crib.plan_present("a", "", &[])), [id_of("hotel")]);
}

#[test]
fn a_definition_dropped_by_a_compaction_is_absent_now_and_issued_for_a_late_call_of_the_old_step() {
    let mut crib = crib();
    let old = crib.plan("a", "weather").step;
    let new = crib.plan_present("a", "hotel", &[]).step;
    assert_eq!(crib.session("a").presence(Some(new), &id_of("weather")), Presence::Absent);
    let late = crib.call("a", Some(old), &id_of("weather"), Ending::Ok);
    assert_eq!(presence_in(&late), Some(Presence::Issued));
}

#[test]
fn an_absent_call_answered_by_issuing_and_repeated_is_one_call_and_absent() {
    let mut crib = crib();
    let step = crib.plan("a", "").step;
    let name = alias_of("hotel");
    let refused = crib.check("a", Some(step), &[("first", &name, "{}")]);
    assert!(!refused[0].run && refused[0].carried.is_some());
    let mut outcome = crib.outcome("a", Some(step), &id_of("hotel"), Ending::BadArguments);
    outcome.call_id = CallId::from("first");
    assert_eq!(presence_in(&crib.report(outcome)), None, "a refused call is none");

    let step = crib.plan("a", "").step;
    let repeated = crib.check("a", Some(step), &[("second", &name, FITS)]);
    assert_eq!((repeated[0].run, repeated[0].presence), (true, Some(Presence::Absent)));
    let later = crib.check("a", Some(step), &[("third", &name, FITS)]);
    assert_eq!(later[0].presence, Some(Presence::Issued));
}

#[test]
fn a_sibling_that_fits_does_not_pay_for_the_refused_call_beside_it() {
    let mut crib = crib();
    let step = crib.plan("a", "").step;
    let name = alias_of("hotel");
    crib.check("a", Some(step), &[("first", &name, "{}"), ("sibling", &name, FITS)]);
    let step = crib.plan("a", "").step;
    let repeated = crib.check("a", Some(step), &[("second", &name, FITS)]);
    assert_eq!(repeated[0].presence, Some(Presence::Absent));
}

#[test]
fn a_step_that_nobody_knows_is_unknown_and_outside_the_rate() {
    let mut crib = crib();
    let mut never = crib.plan("a", "weather").step;
    never.number += 100;
    let call = crib.call("a", Some(never), &id_of("weather"), Ending::Ok);
    assert_eq!(presence_in(&call), Some(Presence::Unknown));
    assert_eq!(crib.ns.figures().presence_rate(), None);
}

#[test]
fn a_call_without_a_step_is_judged_by_what_the_session_holds() {
    let mut crib = crib();
    crib.plan("a", "weather");
    assert_eq!(presence_in(&crib.call("a", None, &id_of("weather"), Ending::Ok)), Some(Presence::Issued));
    assert_eq!(presence_in(&crib.call("a", None, &id_of("hotel"), Ending::Ok)), Some(Presence::Absent));
}

#[test]
fn a_repeated_report_is_one_call_even_when_it_was_checked_in_between() {
    let mut crib = crib();
    let step = Some(crib.plan("a", "weather").step);
    let outcome = crib.outcome("a", step, &id_of("weather"), Ending::Ok);
    crib.report(outcome.clone());
    assert!(crib.report(outcome.clone()).is_empty());
    crib.check("a", step, &[(outcome.call_id.as_str(), &alias_of("weather"), FITS)]);
    assert_eq!(crib.session("a").counting(&outcome), Counting::Duplicate);
    crib.report(outcome);
    assert_eq!(crib.ns.tick().0, 1);
}

#[test]
fn retries_own_tools_and_calls_not_run_are_no_ticks() {
    let mut crib = crib();
    let step = Some(crib.plan("a", "weather").step);
    let first = crib.outcome("a", step, &id_of("weather"), Ending::Timeout);
    crib.report(first.clone());
    let mut retry = crib.outcome("a", step, &id_of("weather"), Ending::Timeout);
    retry.retry_of = Some(first.call_id);
    crib.report(retry);
    crib.call("a", step, &id_of("weather"), Ending::NotRun);
    let mut own = crib.outcome("a", step, &id_of("weather"), Ending::Ok);
    own.tool = None;
    assert!(crib.report(own).is_empty());
    assert_eq!(crib.ns.tick().0, 1);
    assert_eq!(crib.ns.figures().calls.total(), 1);
}

#[test]
fn an_outcome_after_the_end_is_late_a_tick_of_unknown_presence() {
    let mut crib = crib();
    let step = Some(crib.plan("a", "weather").step);
    let outcome = crib.outcome("a", step, &id_of("weather"), Ending::Ok);
    crib.close("a");
    assert_eq!(presence_in(&crib.report(outcome.clone())), Some(Presence::Unknown));
    assert!(crib.report(outcome).is_empty());
    assert_eq!((crib.ns.tick().0, crib.session("a").n_calls()), (1, 0));
}

#[test]
fn a_step_of_the_generation_before_a_refresh_is_judged_by_its_own_block() {
    let mut crib = crib();
    crib.call_often("a", &id_of("hotel"), 10);
    crib.open("b");
    let old = crib.plan("b", "").step;
    assert_eq!(crib.session("b").presence(Some(old), &id_of("hotel")), Presence::Resident);
    crib.change(&id_of("hotel"), crate::core::event::ToolAction::Retire).unwrap();
    crib.refresh("b", &[]);
    let late = crib.call("b", Some(old), &id_of("hotel"), Ending::Ok);
    assert_eq!(presence_in(&late), Some(Presence::Resident));
    let new = crib.plan("b", "").step;
    assert_eq!((old.generation.0, new.generation.0), (1, 2));
    assert_eq!(crib.session("b").presence(Some(new), &id_of("hotel")), Presence::Absent);
    crib.refresh("b", &[]);
    assert_eq!(crib.session("b").presence(Some(old), &id_of("hotel")), Presence::Unknown);
    assert!(crib.session("b").presence(None::<StepId>, &id_of("hotel")) == Presence::Absent);
}

#[test]
fn a_fork_starts_with_what_its_original_holds() {
    let mut crib = crib();
    crib.plan("a", "weather");
    let fork = crib.open_with("f", SessionSpec { fork_of: Some("a".into()), ..spec() });
    assert_eq!(fork.digest, crib.block("a").digest);
    let step = crib.plan("f", "weather");
    assert!(step.issued.is_empty());
    assert_eq!(crib.session("f").presence(Some(step.step), &id_of("weather")), Presence::Issued);
}

#[test]
fn an_ephemeral_definition_lives_for_one_step_and_a_recalled_one_for_the_next() {
    let mut crib = crib();
    crib.open_with("e", SessionSpec { ephemeral: true, ..spec() });
    let first = crib.plan("e", "weather").step;
    crib.request("e", Some(first), r#"{"name":"s__find_hotel"}"#);
    let second = crib.plan("e", "").step;
    let presence = |step, subject| crib.session("e").presence(Some(step), &id_of(subject));
    assert_eq!(presence(first, "weather"), Presence::Issued);
    assert_eq!(presence(second, "weather"), Presence::Absent);
    assert_eq!(presence(second, "hotel"), Presence::Recalled);
    let third = crib.plan("e", "").step;
    assert_eq!(crib.session("e").presence(Some(third), &id_of("hotel")), Presence::Absent);
    crib.assert_recovers();
}

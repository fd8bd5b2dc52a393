//! Time: what ends by it, when it is due, and that a jump of the clock is survived.

use super::support::{Crib, id_of, tools};
use crate::core::event::{Ending, Event, SessionEnd, ToolState};
use crate::core::ids::{SessionId, UnixMillis};

const IDLE: u64 = 1_800;
const FORGOTTEN: u64 = 600;

fn crib() -> Crib {
    let mut crib = Crib::new(&tools(24));
    crib.open("a");
    crib
}

#[test]
fn a_session_ends_by_idle_time_and_not_a_moment_before() {
    let mut crib = crib();
    assert_eq!(crib.ns.next_deadline(), Some(crib.now.plus_secs(IDLE)));
    crib.pass(IDLE - 1);
    assert_eq!(crib.session("a").ended(), None);
    let drawn = crib.pass(1);
    assert!(matches!(&drawn[..], [Event::SessionEnded(ended)] if ended.end == SessionEnd::Expired));
    assert_eq!(crib.ns.n_open(), 0);
}

#[test]
fn everything_heard_of_a_session_keeps_it_open() {
    let mut crib = crib();
    for i in 0..5 {
        crib.pass(IDLE - 1);
        match i {
            0 => drop(crib.plan("a", "weather")),
            1 => drop(crib.check("a", None, &[("1", "no_such", "{}")])),
            2 => drop(crib.request("a", None, "{}")),
            3 => drop(crib.refresh("a", &[])),
            _ => drop(crib.call("a", None, &id_of("hotel"), Ending::Ok)),
        }
        assert_eq!(crib.ns.next_deadline(), Some(crib.now.plus_secs(IDLE)));
    }
    assert_eq!(crib.ns.n_open(), 1);
}

#[test]
fn an_ended_session_is_remembered_for_ten_minutes() {
    let mut crib = crib();
    crib.close("a");
    assert_eq!(crib.ns.next_deadline(), Some(crib.now.plus_secs(FORGOTTEN)));
    crib.pass(FORGOTTEN - 1);
    assert!(crib.ns.session(&SessionId::from("a")).is_some());
    crib.pass(1);
    assert!(crib.ns.session(&SessionId::from("a")).is_none());
    assert_eq!(crib.ns.next_deadline(), None);
    assert!(crib.call("a", None, &id_of("hotel"), Ending::Ok).is_empty(), "nobody knows whose call it was");
}

#[test]
fn no_more_ended_sessions_are_remembered_than_may_be_open() {
    let mut crib = crib();
    crib.set("session.max_open", "2");
    for id in ["b", "c", "d"] {
        crib.open(id);
        crib.close(id);
    }
    let is_known = |id: &str| crib.ns.session(&SessionId::from(id)).is_some();
    assert_eq!(["a", "b", "c", "d"].map(is_known), [true, false, true, true], "the first to end is forgotten first");
    crib.assert_recovers();
}

#[test]
fn an_ended_session_ends_once() {
    let mut crib = crib();
    assert_eq!(crib.close("a").len(), 1);
    assert!(crib.close("a").is_empty());
    crib.pass(10);
    assert_eq!(crib.ns.figures().sessions_ended.total(), 1);
}

#[test]
fn what_is_due_first_is_the_deadline_and_waking_then_is_enough() {
    let mut crib = crib();
    crib.break_tool("a", &id_of("hotel"));
    crib.pass(20);
    crib.break_tool("a", &id_of("museum"));
    crib.open("b");
    crib.close("b");
    let mut n_woken = 0;
    while let Some(deadline) = crib.ns.next_deadline() {
        assert!(deadline > crib.now, "waking must get somewhere");
        crib.now = deadline;
        crib.fold(Event::TimePassed);
        n_woken += 1;
    }
    assert_eq!(crib.state(&id_of("hotel")), ToolState::Probation);
    assert_eq!(crib.ns.sessions().count(), 0);
    assert_eq!(n_woken, 5, "two backoffs, one forgotten, one expired, and that one forgotten");
    crib.assert_recovers();
}

#[test]
fn a_far_jump_forward_ends_what_waited_and_nothing_twice() {
    let mut crib = crib();
    crib.break_tool("a", &id_of("hotel"));
    let drawn = crib.pass(20 * 365 * 24 * 3_600);
    assert_eq!(drawn.iter().filter(|event| matches!(event, Event::ToolMoved(_))).count(), 1);
    assert_eq!(drawn.iter().filter(|event| matches!(event, Event::SessionEnded(_))).count(), 1);
    assert!(crib.ns.session(&SessionId::from("a")).is_some(), "late outcomes are still told from unknown ones");
    assert!(crib.pass(1).is_empty());
    crib.open("b");
    assert_eq!(crib.ns.n_open(), 1);
}

#[test]
fn the_end_of_time_overflows_nothing() {
    let mut crib = crib();
    crib.break_tool("a", &id_of("hotel"));
    crib.now = UnixMillis(i64::MAX);
    crib.fold(Event::TimePassed);
    crib.open("b");
    crib.break_tool("b", &id_of("hotel"));
    crib.fold(Event::TimePassed);
    assert!(crib.ns.next_deadline().is_none_or(|deadline| deadline == UnixMillis(i64::MAX)));
}

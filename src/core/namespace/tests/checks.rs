//! ValidateCalls: who answers each call of a reply, and whether it may run.

use super::support::{Crib, SUBJECTS, alias_of, id_of, spec, tool, tools};
use crate::core::block::Exclusion;
use crate::core::checking::{CallKind, Checked};
use crate::core::event::{Place, Presence, ToolAction, ToolState, Verdict};

const FITS: &str = r#"{"text":"a"}"#;

fn crib() -> Crib {
    let mut crib = Crib::new(&tools(24));
    crib.open("a");
    crib
}

/// Checks one call in a step that issued nothing.
fn check(crib: &mut Crib, name: &str, arguments: &str) -> Checked {
    let step = Some(crib.plan("a", "").step);
    let id = format!("{}", crib.session("a").n_steps());
    crib.check("a", step, &[(&id, name, arguments)]).remove(0)
}

#[test]
fn a_call_tool_is_taken_apart_with_an_object_or_a_string() {
    let (object, string) = (r#"{"text":"a"}"#, r#""{\"text\":\"a\"}""#);
    for inner in [object, string] {
        let arguments = format!(r#"{{"name":"s__find_hotel","arguments":{inner}}}"#);
        let checked = check(&mut crib(), "call_tool", &arguments);
        assert_eq!((checked.kind, checked.run, checked.verdict), (CallKind::Tool, true, Verdict::Unjudged));
        assert_eq!(checked.tool.as_ref().map(|(tool, _)| tool), Some(&id_of("hotel")));
        assert_eq!(checked.arguments.as_deref(), Some(FITS));
        assert_eq!(checked.presence, Some(Presence::Absent), "presence is the inner tool's");
    }
}

#[test]
fn a_call_tool_without_a_name_or_of_an_unknown_one_is_refused() {
    let unnamed = check(&mut crib(), "call_tool", r#"{"arguments":{}}"#);
    assert_eq!((unnamed.run, unnamed.verdict), (false, Verdict::InvalidArguments));
    assert_eq!(unnamed.violations[0].pointer, "/name");
    let unknown = check(&mut crib(), "call_tool", r#"{"name":"find_nothing_at_all","arguments":{}}"#);
    assert_eq!((unknown.run, unknown.verdict), (false, Verdict::UnknownTool));
}

/// The model was told that there is no such tool, and looked for another.
#[test]
fn own_and_meta_tools_are_not_called_through_call_tool_and_are_not_said_to_be_unknown() {
    for name in ["bash", "request_tool", "call_tool"] {
        let checked = check(&mut crib(), "call_tool", &format!(r#"{{"name":"{name}","arguments":{{}}}}"#));
        assert_eq!((checked.run, checked.verdict), (false, Verdict::InvalidArguments));
        assert!(checked.pieces[0].content.contains("must be called directly"), "{}", checked.pieces[0].content);
    }
}

#[test]
fn an_unknown_name_is_refused_with_the_nearest_and_the_next_step() {
    let checked = check(&mut crib(), "s__find_hotels", FITS);
    assert_eq!((checked.run, checked.verdict, checked.tool), (false, Verdict::UnknownTool, None));
    assert_eq!(checked.nearest[0].as_str(), "s__find_hotel");
    assert!(checked.pieces[0].content.contains("s__find_hotel"));
    assert!(checked.pieces[0].content.contains("Ask request_tool"));
}

#[test]
fn what_is_withheld_never_runs() {
    for action in [ToolAction::Quarantine, ToolAction::Retire] {
        let mut crib = crib();
        crib.change(&id_of("hotel"), action).unwrap();
        let checked = check(&mut crib, &alias_of("hotel"), FITS);
        assert_eq!((checked.run, checked.verdict), (false, Verdict::Unavailable));
        assert!(matches!(checked.exclusion, Some(Exclusion::State(ToolState::Quarantined | ToolState::Retired))));
        assert!(!checked.nearest.is_empty());
    }
}

#[test]
fn a_quarantined_resident_of_an_open_block_does_not_run() {
    let mut crib = crib();
    crib.call_often("a", &id_of("hotel"), 10);
    crib.open("b");
    crib.break_tool("a", &id_of("hotel"));
    let checked = crib.check("b", None, &[("1", &alias_of("hotel"), FITS)]).remove(0);
    assert_eq!((checked.run, checked.presence), (false, Some(Presence::Resident)));
}

#[test]
fn a_tool_that_the_session_may_not_see_is_unknown_to_it() {
    let mut crib = crib();
    let mut narrow = spec();
    narrow.pool.deny.insert(crate::core::ids::Selector::Tool(id_of("hotel")));
    crib.open_with("n", narrow);
    let checked = crib.check("n", None, &[("1", &alias_of("hotel"), FITS)]).remove(0);
    assert_eq!((checked.run, checked.verdict, checked.tool), (false, Verdict::UnknownTool, None));
    assert!(checked.nearest.iter().all(|name| name.as_str() != "s__find_hotel"));
}

#[test]
fn a_refusal_brings_the_schema_again_only_where_the_model_may_have_lost_it() {
    let mut crib = crib();
    let (hotel, bad) = (alias_of("hotel"), r#"{"text":3}"#);
    let assumed = Some(crib.plan("a", "hotel").step);
    assert!(crib.check("a", assumed, &[("1", &hotel, bad)]).remove(0).carried.is_some());
    let told = Some(crib.plan_present("a", "hotel", &[&hotel]).step);
    assert!(crib.check("a", told, &[("2", &hotel, bad)]).remove(0).carried.is_none());
    let dropped = Some(crib.plan_present("a", "weather", &[]).step);
    assert!(crib.check("a", dropped, &[("3", &hotel, bad)]).remove(0).carried.is_some());
}

#[test]
fn an_absent_tool_that_is_registered_runs() {
    let checked = check(&mut crib(), &alias_of("hotel"), FITS);
    assert_eq!((checked.run, checked.presence), (true, Some(Presence::Absent)));
    assert!(checked.pieces.is_empty());
}

#[test]
fn bad_arguments_bring_every_violation_and_the_schema_where_it_may_be_lost() {
    let mut crib = crib();
    let checked = check(&mut crib, &alias_of("hotel"), r#"{"text":7}"#);
    assert_eq!((checked.run, checked.verdict), (false, Verdict::InvalidArguments));
    assert_eq!(checked.violations[0].pointer, "/text");
    assert!(checked.carried.is_some());
    assert!(checked.pieces[0].content.contains("JSON Schema"));
    assert_eq!(checked.pieces.iter().filter(|piece| piece.place == Place::ToolResult).count(), 1);
}

#[test]
fn a_residents_schema_is_not_sent_again() {
    let mut crib = crib();
    crib.call_often("a", &id_of("hotel"), 10);
    crib.open("b");
    let checked = crib.check("b", None, &[("1", &alias_of("hotel"), "{}")]).remove(0);
    assert_eq!(checked.verdict, Verdict::InvalidArguments);
    assert!(checked.carried.is_none() && !checked.pieces[0].content.contains("JSON Schema"));
}

#[test]
fn arguments_that_are_not_json_are_refused_and_none_at_all_are_an_empty_object() {
    let mut crib = crib();
    assert_eq!(check(&mut crib, &alias_of("hotel"), "{oops").verdict, Verdict::InvalidArguments);
    assert_eq!(check(&mut crib, &alias_of("hotel"), "").violations.len(), 1, "text is required");
}

#[test]
fn own_and_meta_calls_are_told_apart_and_leave_no_trace() {
    let mut crib = crib();
    let step = Some(crib.plan("a", "").step);
    let checked = crib.check("a", step, &[("1", "bash", "{}"), ("2", "request_tool", "{}")]);
    assert_eq!((checked[0].kind, checked[0].run), (CallKind::Own, true));
    assert_eq!((checked[1].kind, checked[1].run), (CallKind::Request, true));
    assert_eq!(crib.ns.figures().selections.total(), 0);
}

#[test]
fn arguments_are_checked_against_the_version_that_the_session_was_shown() {
    let mut crib = crib();
    crib.plan("a", "hotel");
    let mut changed = tool("s/find_hotel", "Looks up one hotel in the records of the town");
    changed.input_schema = serde_json::from_str(r#"{"type":"object","required":["town"]}"#).unwrap();
    changed.size_tokens = crate::core::tokens::count(&changed.measured_text());
    crib.register(&[changed]);
    assert!(check(&mut crib, &alias_of("hotel"), FITS).run);
    crib.open("b");
    assert!(!crib.check("b", None, &[("1", &alias_of("hotel"), FITS)])[0].run);
}

#[test]
fn every_call_of_a_reply_has_its_answer_in_order() {
    let mut crib = crib();
    let step = Some(crib.plan("a", "weather").step);
    let aliases: Vec<String> = SUBJECTS[..5].iter().map(|subject| alias_of(subject)).collect();
    let ids = ["1", "2", "3", "4", "5"];
    let mut calls = Vec::new();
    for (id, alias) in ids.iter().zip(&aliases) {
        calls.push((*id, alias.as_str(), FITS));
    }
    let answers = crib.check("a", step, &calls);
    let answered: Vec<&str> = answers.iter().map(|answer| answer.call_id.as_str()).collect();
    assert_eq!(answered, ids);
    let presences: Vec<Option<Presence>> = answers.iter().map(|answer| answer.presence).collect();
    assert_eq!(presences[1], Some(Presence::Issued));
    assert_eq!(presences[0], Some(Presence::Absent));
}

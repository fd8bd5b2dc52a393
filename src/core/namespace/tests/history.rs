//! What is kept of a session for an operator: counters that are its share of the figures, the last steps, and in words
//! what stands out.

use super::support::{Crib, alias_of, id_of, tools};
use crate::core::event::{CacheBreak, Event};
use crate::core::event::{
    Ending, Origin, PlanResult, Presence, RequestResult, StepEnd, ToolAction, ToolState, UsageReported, Verdict, Word,
};
use crate::core::history::{History, findings};
use crate::core::ids::CallId;

fn crib() -> Crib {
    let mut crib = Crib::new(&tools(24));
    crib.open("a");
    crib
}

fn history<'a>(crib: &'a Crib, session: &str) -> &'a History {
    crib.ns.history(&session.into()).unwrap()
}

fn said(crib: &Crib, session: &str) -> Vec<String> {
    let standing = |tool: &_| {
        let state = crib.ns.registry().get(tool)?.state();
        Some((state, crib.ns.health(tool).and_then(|health| health.since())))
    };
    findings(history(crib, session), standing).into_iter().map(|finding| finding.text).collect()
}

#[test]
fn a_step_shows_what_was_issued_called_and_how_it_ended() {
    let mut crib = crib();
    let step = crib.plan("a", "weather").step;
    crib.check("a", Some(step), &[("1", &alias_of("weather"), r#"{"text":"a"}"#), ("2", &alias_of("hotel"), "{}")]);
    let mut outcome = crib.outcome("a", Some(step), &id_of("weather"), Ending::Timeout);
    outcome.call_id = CallId::from("1");
    crib.report(outcome);
    let note = history(&crib, "a").steps().last().unwrap();
    assert_eq!((note.step, note.result, note.end), (step, PlanResult::Issued, None));
    assert_eq!(note.issued, [(id_of("weather"), Origin::Issued), (id_of("hotel"), Origin::CalledAbsent)]);
    let [ran, refused] = &note.calls[..] else { panic!("{:?}", note.calls) };
    assert_eq!((ran.presence, ran.ending, ran.verdict), (Some(Presence::Issued), Some(Ending::Timeout), None));
    assert_eq!((refused.presence, refused.ending), (Some(Presence::Absent), None));
    assert_eq!(refused.verdict, Some(Verdict::InvalidArguments));
    crib.assert_recovers();
}

#[test]
fn histories_of_all_sessions_add_up_to_the_figures() {
    let mut crib = crib();
    crib.open("b");
    for (i, subject) in ["weather", "", "hotel", "xylophone", "museum", ""].into_iter().enumerate() {
        for session in ["a", "b"] {
            let step = crib.plan(session, subject).step;
            match i {
                0 | 2 => drop(crib.call(session, Some(step), &id_of("weather"), Ending::Ok)),
                1 => crib.end_step(session, step, StepEnd::Answered),
                3 => drop(crib.request(session, Some(step), r#"{"need":"xylophone"}"#)),
                _ => {}
            }
            if i == 4 {
                crib.check(session, Some(step), &[("x", "no_such", "{}")]);
            }
        }
    }
    let usage = |input_tokens, cached_tokens| {
        let miss_reason = String::new();
        Event::UsageReported(UsageReported { session: "a".into(), input_tokens, cached_tokens, miss_reason })
    };
    crib.fold(usage(50_000, 0));
    crib.fold(usage(50_000, 100));
    crib.close("b");
    let (figures, both) = (crib.ns.figures(), [history(&crib, "a"), history(&crib, "b")]);
    fn add_up<W: Word + Ord>(tallies: [&crate::core::figures::Tally<W>; 2], whole: &crate::core::figures::Tally<W>) {
        for (word, n) in whole.iter() {
            assert_eq!(tallies.iter().map(|tally| tally.get(word)).sum::<u64>(), n, "{}", word.as_str());
        }
    }
    add_up(both.map(|history| &history.plans), &figures.plans);
    add_up(both.map(|history| &history.plans_without_call), &figures.plans_without_call);
    add_up(both.map(|history| &history.calls), &figures.calls);
    add_up(both.map(|history| &history.requests), &figures.requests);
    add_up(both.map(|history| &history.selections), &figures.selections);
    add_up(both.map(|history| &history.cache_breaks), &figures.cache_breaks);
    assert_eq!(figures.cache_breaks.get(CacheBreak::Unknown), 1);
    assert!(figures.plans_without_call.get(StepEnd::Unknown) > 0 && figures.selections.total() > 0);
}

#[test]
fn a_long_session_keeps_its_last_steps_and_all_its_counters() {
    let mut crib = crib();
    for _ in 0..30 {
        let step = crib.plan("a", "weather").step;
        let calls: Vec<String> = (0..40).map(|i| format!("{step}:{i}")).collect();
        let name = alias_of("hotel");
        let calls: Vec<_> = calls.iter().map(|call| (call.as_str(), name.as_str(), "{}")).collect();
        crib.check("a", Some(step), &calls);
    }
    let history = history(&crib, "a");
    assert_eq!((history.steps().count(), history.plans.total()), (20, 30));
    assert_eq!(history.steps().last().unwrap().step, crib.session("a").last_step().unwrap().planned.step);
    assert!(history.steps().all(|note| note.calls.len() == 16 && note.issued.len() <= 16));
    assert_eq!(history.selections.get(Verdict::InvalidArguments), 30 * 40);
}

#[test]
fn many_tools_called_in_vain_are_remembered_by_the_last() {
    let mut listed = tools(24);
    for i in 0..40 {
        listed.push(super::support::tool(&format!("many/tool{i}"), &format!("Does thing number {i}")));
    }
    let mut crib = Crib::new(&listed);
    crib.open("a");
    let step = Some(crib.plan("a", "").step);
    for i in 0..40 {
        crib.call("a", step, &format!("many/tool{i}").parse().unwrap(), Ending::Ok);
    }
    crib.call("a", step, &"many/tool20".parse().unwrap(), Ending::Ok);
    let missed: Vec<String> = history(&crib, "a").missed().map(|missed| missed.tool.to_string()).collect();
    assert_eq!((missed.len(), missed.last().unwrap().as_str()), (32, "many/tool20"));
    assert_eq!(history(&crib, "a").missed().last().unwrap().absent, 2);
}

#[test]
fn giving_up_where_nothing_was_issued_is_said() {
    let mut crib = crib();
    let step = crib.plan("a", "xylophone").step;
    assert!(said(&crib, "a").is_empty());
    crib.end_step("a", step, StepEnd::GaveUp);
    assert_eq!(said(&crib, "a"), [format!("gave up in step {step}: nothing was issued for it (nothing_found)")]);
    let step = crib.plan("a", "weather").step;
    crib.end_step("a", step, StepEnd::GaveUp);
    let expected = format!("gave up in step {step}: it called none of what was issued for it: s/find_weather");
    assert_eq!(said(&crib, "a"), [expected]);
}

#[test]
fn calls_of_a_tool_that_is_out_come_before_everything_else() {
    let mut crib = crib();
    let (weather, name) = (id_of("weather"), alias_of("weather"));
    crib.pass(5);
    crib.change(&weather, ToolAction::Quarantine).unwrap();
    let since = crib.now;
    crib.pass(3);
    let step = crib.plan("a", "").step;
    for call in ["1", "2"] {
        crib.check("a", Some(step), &[(call, &name, r#"{"text":"a"}"#)]);
    }
    // The same call checked again is the same call.
    crib.check("a", Some(step), &[("2", &name, r#"{"text":"a"}"#)]);
    let last = crib.plan("a", "").step;
    crib.end_step("a", last, StepEnd::GaveUp);
    assert_eq!(history(&crib, "a").unavailable.get(ToolState::Quarantined), 2);
    let standing = |tool: &_| Some((crib.state(tool), crib.ns.health(tool).unwrap().since()));
    let found = findings(history(&crib, "a"), standing);
    assert_eq!(found[0].text, "called s/find_weather in vain 2 times: it is quarantined");
    assert_eq!((found[0].since, found.len()), (Some(since), 2));
}

#[test]
fn calls_of_an_absent_tool_and_vain_requests_are_said_from_the_second_on() {
    let mut crib = crib();
    let step = Some(crib.plan("a", "").step);
    crib.call("a", step, &id_of("hotel"), Ending::Ok);
    crib.request("a", step, r#"{"name":"xylophone"}"#);
    assert!(said(&crib, "a").is_empty());
    crib.call("a", step, &id_of("hotel"), Ending::Ok);
    crib.request("a", step, r#"{"name":"saxophone"}"#);
    let expected = [
        "called s/find_hotel absent 2 times: its definition was not in front of the model",
        "asked for a tool 2 times and none was found",
    ];
    assert_eq!(history(&crib, "a").requests.get(RequestResult::NotFound), 2);
    assert_eq!(said(&crib, "a"), expected);
}

#[test]
fn an_ended_session_can_still_be_asked_about() {
    let mut crib = crib();
    let step = crib.plan("a", "xylophone").step;
    crib.end_step("a", step, StepEnd::GaveUp);
    crib.close("a");
    assert_eq!(said(&crib, "a").len(), 1);
    assert_eq!(history(&crib, "a").steps().count(), 1);
    crib.assert_recovers();
}

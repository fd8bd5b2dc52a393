//! Figures by tool: sums over the tools are the namespace's, and the orders put first what is asked for.

use std::cmp::Reverse;

use proptest::prelude::*;

use super::support::{Crib, SUBJECTS, alias_of, id_of, tools, verdicts_in};
use crate::core::event::{Ending, Event, Judge, Judgement, Presence, ToolAction, Verdict, Word};
use crate::core::ids::{CallId, ToolId};
use crate::core::namespace::{Namespace, ToolOrder, ToolStat};

const FITS: &str = r#"{"text":"a"}"#;

#[derive(Clone, Debug)]
enum Act {
    Plan { session: usize, subject: usize },
    Ask { session: usize, subject: usize },
    Check { session: usize, name: usize, fits: bool },
    Call { session: usize, subject: usize, ending: Ending, is_retry: bool, verdict: Option<Verdict> },
    Operate { subject: usize, action: ToolAction },
    Reopen { session: usize },
}

fn act() -> impl Strategy<Value = Act> {
    let session = || 0..3_usize;
    // One name past the end stands for no tool.
    let subject = || 0..8_usize;
    let verdict = prop::option::weighted(0.2, prop::sample::select(Verdict::ALL.to_vec()));
    let actions = vec![ToolAction::Quarantine, ToolAction::Repair, ToolAction::Retire, ToolAction::Restore];
    prop_oneof![
        4 => (session(), subject()).prop_map(|(session, subject)| Act::Plan { session, subject }),
        1 => (session(), subject()).prop_map(|(session, subject)| Act::Ask { session, subject }),
        3 => (session(), 0..9_usize, any::<bool>()).prop_map(|(session, name, fits)| Act::Check { session, name, fits }),
        6 => (session(), subject(), prop::sample::select(Ending::ALL.to_vec()), prop::bool::weighted(0.1), verdict)
            .prop_map(|(session, subject, ending, is_retry, verdict)| {
                Act::Call { session, subject, ending, is_retry, verdict }
            }),
        1 => (subject(), prop::sample::select(actions)).prop_map(|(subject, action)| Act::Operate { subject, action }),
        1 => session().prop_map(|session| Act::Reopen { session }),
    ]
}

/// What is counted by hand beside the namespace.
#[derive(Default)]
struct Beside {
    /// Verdicts on calls of no tool.
    nameless: Vec<Verdict>,
    n_retries: u64,
}

fn live(acts: &[Act]) -> (Crib, Beside) {
    let mut crib = Crib::new(&tools(8));
    crib.set("session.pass_through_tools", "0");
    let mut beside = Beside::default();
    let names = ["a", "b", "c"];
    for session in names {
        crib.open(session);
    }
    for (i, act) in acts.iter().enumerate() {
        let drawn = match act {
            Act::Plan { session, subject } => {
                crib.plan(names[*session], SUBJECTS[*subject]);
                Vec::new()
            }
            Act::Ask { session, subject } => {
                crib.request(names[*session], None, &format!(r#"{{"name":"{}"}}"#, alias_of(SUBJECTS[*subject])));
                Vec::new()
            }
            Act::Check { session, name, fits } => {
                let alias = SUBJECTS.get(*name).filter(|_| *name < 8).map_or("no_such".to_owned(), |s| alias_of(s));
                let call = format!("checked{i}");
                let step = crib.session(names[*session]).last_step().map(|step| step.planned.step);
                let before = crib.ns.figures().selections.clone();
                crib.check(names[*session], step, &[(&call, &alias, if *fits { FITS } else { "{}" })]);
                if alias == "no_such" {
                    let after = &crib.ns.figures().selections;
                    let added = Verdict::ALL.iter().filter(|word| after.get(**word) > before.get(**word));
                    beside.nameless.extend(added);
                }
                Vec::new()
            }
            Act::Call { session, subject, ending, is_retry, verdict } => {
                let step = crib.session(names[*session]).last_step().map(|step| step.planned.step);
                let mut outcome = crib.outcome(names[*session], step, &id_of(SUBJECTS[*subject]), *ending);
                outcome.retry_of = is_retry.then(|| CallId::from("call1"));
                outcome.judgement = verdict.map(|verdict| Judgement { verdict, judge: Judge::Label });
                crib.report(outcome)
            }
            Act::Operate { subject, action } => {
                let _ = crib.change(&id_of(SUBJECTS[*subject]), *action);
                Vec::new()
            }
            Act::Reopen { session } => {
                crib.close(names[*session]);
                crib.open(names[*session]);
                Vec::new()
            }
        };
        let is_retry = |event: &&Event| matches!(event, Event::CallCounted(counted) if counted.tick.is_none());
        beside.n_retries += drawn.iter().filter(is_retry).count() as u64;
    }
    (crib, beside)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn sums_over_tools_are_the_namespaces_figures(acts in prop::collection::vec(act(), 0..120)) {
        let (crib, beside) = live(&acts);
        let (figures, stats) = (crib.ns.figures(), crib.ns.tool_stats());
        let sum = |get: &dyn Fn(&ToolStat) -> u64| stats.iter().map(get).sum::<u64>();
        for presence in Presence::ALL {
            prop_assert_eq!(sum(&|stat| stat.figures.calls.get(*presence)), figures.calls.get(*presence));
        }
        for verdict in Verdict::ALL {
            let nameless = beside.nameless.iter().filter(|known| *known == verdict).count() as u64;
            let named = sum(&|stat| stat.figures.selections.get(*verdict));
            prop_assert_eq!(named + nameless, figures.selections.get(*verdict));
        }
        prop_assert_eq!(sum(&|stat| stat.calls), crib.ns.tick().0);
        prop_assert_eq!(sum(&|stat| stat.figures.endings.total()), crib.ns.tick().0);
        prop_assert_eq!(sum(&|stat| stat.figures.retries.total()), beside.n_retries);
        for stat in &stats {
            prop_assert_eq!(stat.calls, stat.figures.calls.total());
            prop_assert_eq!(stat.figures.last_call.is_some(), stat.calls > 0);
        }
        crib.assert_recovers();
    }
}

#[test]
fn a_tool_that_nobody_called_is_listed_and_comes_first_by_density() {
    let mut crib = Crib::new(&tools(24));
    crib.open("a");
    for _ in 0..4 {
        let step = Some(crib.plan("a", "weather").step);
        crib.call("a", step, &id_of("weather"), Ending::Ok);
    }
    let stats = crib.ns.tool_stats();
    assert_eq!(stats.len(), 24);
    let density = |subject: &str| stats.iter().find(|stat| stat.tool == id_of(subject)).unwrap().density;
    // One of 24 tools, seen as often as the others, takes all calls.
    assert_eq!((density("weather"), density("hotel")), (Some(24.0), Some(0.0)));
    let order = |order| -> Vec<ToolId> {
        let mut stats = crib.ns.tool_stats();
        stats.sort_by_key(|stat| (Reverse(stat.rank(order)), stat.tool.clone()));
        stats.into_iter().map(|stat| stat.tool).collect()
    };
    assert_eq!(order(ToolOrder::Density).last(), Some(&id_of("weather")));
    assert_eq!(order(ToolOrder::Calls).first(), Some(&id_of("weather")));
    assert!(order(ToolOrder::Name).is_sorted());
}

#[test]
fn a_tool_that_was_never_in_the_directory_has_no_density_and_stands_last() {
    let mut crib = Crib::new(&tools(24));
    crib.open("a");
    crib.plan("a", "weather");
    crib.register(&[super::support::tool("late/comer", "Comes after the block was frozen")]);
    crib.call("a", None, &id_of("weather"), Ending::Ok);
    let mut stats = crib.ns.tool_stats();
    stats.sort_by_key(|stat| (Reverse(stat.rank(ToolOrder::Density)), stat.tool.clone()));
    let last = stats.last().unwrap();
    assert_eq!((last.tool.to_string().as_str(), last.density), ("late/comer", None));
}

#[test]
fn failures_absent_calls_and_wrong_picks_name_their_tool() {
    let mut crib = Crib::new(&tools(24));
    crib.open("a");
    let step = Some(crib.plan("a", "weather").step);
    crib.call("a", step, &id_of("hotel"), Ending::Timeout);
    crib.call("a", step, &id_of("weather"), Ending::NotFound);
    let drawn = crib.call("a", step, &id_of("museum"), Ending::Ok);
    assert_eq!(verdicts_in(&drawn).last().unwrap().verdict, Verdict::WrongTool);
    let stat = |subject: &str| crib.ns.tool_stats().into_iter().find(|stat| stat.tool == id_of(subject)).unwrap();
    let figures = |subject| stat(subject).figures;
    assert_eq!((figures("hotel").failures(), figures("hotel").calls.get(Presence::Absent)), (1, 1));
    assert_eq!((figures("weather").failures(), figures("weather").wrong()), (0, 1));
    assert_eq!(figures("museum").wrong(), 0);
    let last_call = figures("museum").last_call.unwrap();
    assert_eq!((last_call.tick, last_call.at), (crib.ns.tick(), crib.now));
}

/// What an older build wrote reads, with the figures that it did not keep at zero.
#[test]
fn a_snapshot_without_tool_figures_origins_and_histories_reads() {
    let mut crib = Crib::new(&tools(24));
    crib.open("a");
    crib.call_often("a", &id_of("weather"), 3);
    let mut snapshot: serde_json::Value = serde_json::from_slice(&crib.ns.to_snapshot().unwrap()).unwrap();
    let state = snapshot.as_object_mut().unwrap();
    assert!(state.remove("tool_figures").is_some() && state.remove("policy_origins").is_some());
    let session = state["sessions"]["a"].as_object_mut().unwrap();
    assert!(session.remove("history").is_some());
    let read = Namespace::from_snapshot(snapshot.to_string().as_bytes()).unwrap();
    let stats = read.tool_stats();
    let weather = stats.iter().find(|stat| stat.tool == id_of("weather")).unwrap();
    assert_eq!((weather.calls, weather.figures.calls.total()), (3, 0));
    assert_eq!(read.history(&"a".into()).unwrap().calls.total(), 0);
    assert_eq!(read.policy_origin("session.pass_through_share"), None);
}

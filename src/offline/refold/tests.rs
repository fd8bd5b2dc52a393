//! Any history drawn again from its causes, and recovered from any snapshot.

use proptest::prelude::*;

use super::history::{Act, History, N_TOOLS, id, tool, write};
use super::*;
use crate::core::erasure::Erasure;
use crate::core::event::{
    CallsChecked, CheckedCall, Ending, MoveCause, SessionEnd, ToolAction, ToolState, Verdict, Word,
};
use crate::core::ids::{Digest, Version};

/// Reads a log back as recovery does: from a snapshot and the records behind it, deciding nothing.
fn recover(mut namespace: Namespace, records: &[Record]) -> Namespace {
    let mut cause = None;
    for record in records {
        if record.event.is_cause() {
            cause = Some(&record.event);
        }
        namespace.apply(record.at, cause.expect("a cause before its consequences"), &record.event);
    }
    namespace
}

/// Draws what stands behind a snapshot again.
fn draw(mut namespace: Namespace, records: &[Record]) -> Vec<Record> {
    let mut drawn = Vec::new();
    for cause in records.iter().filter(|record| record.event.is_cause()) {
        drawn.push(cause.clone());
        for (seq, event) in (cause.seq.0 + 1..).zip(namespace.fold(cause.at, &cause.event)) {
            drawn.push(Record { seq: Seq(seq), at: cause.at, event });
        }
    }
    drawn
}

fn state(namespace: &Namespace) -> String {
    String::from_utf8(namespace.to_snapshot().unwrap()).unwrap()
}

/// Everything that must hold of any history.
fn check(history: &History) {
    let records = &history.records;
    let redrawn = refold(id(), strip(records)).unwrap();
    assert_eq!(compare(records, &redrawn), None);

    let lines: Vec<String> = records.iter().map(|record| serde_json::to_string(record).unwrap()).collect();
    let (read, errors) = read_events(lines.join("\n").as_bytes());
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(compare(records, &read), None);

    let folded = state(&history.namespace);
    assert_eq!(state(&recover(Namespace::new(id()), records)), folded);
    for (n_before, snapshot) in &history.snapshots {
        let behind = &records[*n_before..];
        let namespace = || Namespace::from_snapshot(snapshot).unwrap();
        assert_eq!(state(&recover(namespace(), behind)), folded);
        assert_eq!(draw(namespace(), behind), behind, "a daemon that was started again goes on as if it had not been");
    }
}

fn outcome(session: usize, call: usize, tool: usize, ending: Ending) -> Act {
    Act::Outcome { session, call, tool, ending, retry_of: None }
}

/// A day in the life of a namespace, with everything in it that draws a consequence.
fn full_history() -> History {
    let mut acts: Vec<Act> = (0..3).map(|source| Act::Register { source, n_left_out: 0, edition: 1 }).collect();
    acts.push(Act::Change { tool: 7, action: ToolAction::Pin });
    acts.push(Act::Open { session: 0, fork_of: None, own_source: None });
    acts.push(Act::Open { session: 1, fork_of: None, own_source: Some(1) });
    let mut call = 0;
    for round in 0..12 {
        for session in 0..2 {
            acts.push(Act::Plan { session, about: Some(round * 5 + session), forgets: round % 4 == 3 });
            acts.push(Act::Check { session, call, tool: round * 5 + session, fits: round % 5 != 4 });
            acts.push(outcome(session, call, round * 5 + session, Ending::Ok));
            acts.push(outcome(session, call + 1, (round % 3) * 4, Ending::NotFound));
            call += 2;
        }
        acts.push(Act::Request { session: 0, tool: round * 3 });
    }
    for _ in 0..3 {
        acts.push(Act::Plan { session: 0, about: Some(4), forgets: false });
        acts.push(outcome(0, call, 4, Ending::Timeout));
        call += 1;
    }
    acts.push(Act::Change { tool: 4, action: ToolAction::Repair });
    acts.push(Act::Policy { key: "hot_pool.slots", value: "6" });
    acts.push(Act::Policy { key: "admission.pin_definitions", value: "true" });
    acts.push(Act::Register { source: 0, n_left_out: 0, edition: 2 });
    acts.push(Act::Change { tool: 4, action: ToolAction::Approve });
    acts.push(Act::Policy { key: "admission.pin_definitions", value: "false" });
    acts.push(Act::Open { session: 2, fork_of: Some(0), own_source: None });
    acts.push(Act::Register { source: 1, n_left_out: 3, edition: 2 });
    acts.push(Act::Refresh { session: 1, keep: 12 });
    for i in 0..12 {
        acts.push(Act::Plan { session: 2, about: Some(i), forgets: false });
        acts.push(outcome(2, call, 4, Ending::Ok));
        call += 1;
    }
    acts.push(Act::Usage { session: 2, input_tokens: 50_000, cached_tokens: 0 });
    acts.push(Act::Usage { session: 2, input_tokens: 51_000, cached_tokens: 0 });
    acts.push(Act::Close { session: 1 });
    acts.push(outcome(1, call, 11, Ending::Ok));
    acts.push(Act::Pass { secs: 1_800 });
    acts.push(Act::Pass { secs: 700 });
    let halfway = acts.len() / 2;
    write(&acts, &[3, halfway, acts.len() - 3])
}

fn moved(history: &History, cause: MoveCause) -> bool {
    let mut moves = history.records.iter().filter_map(|record| match &record.event {
        Event::ToolMoved(moved) => Some(moved.cause),
        _ => None,
    });
    moves.any(|known| known == cause)
}

#[test]
fn causes_alone_draw_the_whole_log_again_and_recovery_gives_the_same_state() {
    let history = full_history();
    check(&history);
    for cause in [
        MoveCause::Failures,
        MoveCause::Repaired,
        MoveCause::Recovered,
        MoveCause::Vanished,
        MoveCause::AwaitsApproval,
        MoveCause::Approved,
    ] {
        assert!(moved(&history, cause), "{cause:?}");
    }
    let figures = history.namespace.figures();
    assert!(figures.sessions_ended.get(SessionEnd::Expired) > 0 && figures.selections.total() > 0);
    assert!(figures.reranks_changed > 3 && figures.requests.total() > 0);
}

#[test]
fn changing_one_call_is_found_at_its_place() {
    let mut history = full_history();
    let is_outcome = |record: &Record| matches!(&record.event, Event::OutcomeReported(o) if o.ending == Ending::Ok);
    let place = history.records.iter().position(is_outcome).unwrap();
    let Event::OutcomeReported(outcome) = &mut history.records[place].event else { panic!("an outcome") };
    outcome.tool = Some(tool(29));
    let redrawn = refold(id(), strip(&history.records)).unwrap();
    let difference = compare(&history.records, &redrawn).unwrap();
    assert_eq!(difference.seq, Seq(place as u64 + 2), "the call itself is a cause, what it drew is not");
    let counted = difference.drawn.unwrap().event;
    assert!(matches!(counted, Event::CallCounted(counted) if counted.tool == tool(29)));
}

#[test]
fn another_decay_is_a_difference_and_the_same_one_is_none() {
    let records = full_history().records;
    let report = |decay: &str| {
        replay_events(id(), &records, &BTreeMap::from([("hot_pool.decay".to_owned(), decay.to_owned())])).unwrap()
    };
    assert_eq!(report("0.95").difference, None);
    let difference = report("0.1").difference.unwrap();
    assert!(matches!(difference.drawn.unwrap().event, Event::PoolReranked(_)));
}

#[test]
fn report_of_a_whole_log_is_that_of_its_causes_but_for_the_comparison() {
    let history = full_history();
    let whole = replay_events(id(), &history.records, &BTreeMap::new()).unwrap();
    assert_eq!((whole.compared, &whole.difference), (true, &None));
    assert_eq!(whole.records, history.records.len() as u64);
    assert_eq!(whole.presence, history.namespace.figures().presence_rate());
    let causes: Vec<Record> = history.records.into_iter().filter(|record| record.event.is_cause()).collect();
    let stripped = replay_events(id(), &causes, &BTreeMap::new()).unwrap();
    assert_eq!(stripped, EventReport { compared: false, ..whole });
    let json = serde_json::to_value(&stripped).unwrap();
    assert_eq!((&json["residency"], &json["difference"]), (&"frozen".into(), &serde_json::Value::Null));
}

#[test]
fn log_that_ends_early_differs_where_it_ends() {
    let records = full_history().records;
    let (last, rest) = records.split_last().unwrap();
    let difference = compare(rest, &records).unwrap();
    assert_eq!((difference.seq, difference.recorded, difference.drawn), (last.seq, None, Some(last.clone())));
}

#[test]
fn log_that_is_cut_or_out_of_order_is_refused() {
    let records = full_history().records;
    let refused = |records: &[Record]| replay_events(id(), records, &BTreeMap::new()).unwrap_err().to_string();
    let said = refused(&records[1..]);
    assert!(said.starts_with("seq = 2: the log must begin at 1; one that policy cut"), "{said}");
    let swapped = [records[0].clone(), records[2].clone(), records[1].clone()];
    assert_eq!(refused(&swapped), "seq = 2: must be greater than 3, which stands before it");
    let fell = vec![(UnixMillis(5), Event::TimePassed), (UnixMillis(4), Event::TimePassed)];
    let refused = refold(id(), fell).unwrap_err().to_string();
    assert_eq!(refused, "cause 2: at = 4: must be at least 5, the stamp of the cause before it");
    let consequence = records.iter().find(|record| !record.event.is_cause()).unwrap();
    assert_eq!(
        refold(id(), vec![(consequence.at, consequence.event.clone())]),
        Err(RefoldError::NotACause { number: 1 })
    );
}

#[test]
fn override_that_the_policy_cannot_take_is_refused() {
    let values = BTreeMap::from([("hot_pool.decay".to_owned(), "1".to_owned())]);
    let refused = replay_events(id(), &[], &values).unwrap_err();
    assert_eq!(refused.to_string(), "hot_pool.decay = 1: must be 0.0..=0.999999");
}

#[test]
fn quarantine_that_a_withdrawal_interrupted_ends_when_it_would_have_ended() {
    let mut acts = vec![Act::Register { source: 0, n_left_out: 0, edition: 1 }];
    acts.push(Act::Open { session: 0, fork_of: None, own_source: None });
    for call in 0..3 {
        acts.push(Act::Plan { session: 0, about: None, forgets: false });
        acts.push(outcome(0, call, 0, Ending::Timeout));
    }
    acts.push(Act::Register { source: 0, n_left_out: 1, edition: 1 });
    acts.push(Act::Register { source: 0, n_left_out: 0, edition: 1 });
    let state_of = |history: &History| history.namespace.registry().get(&tool(0)).unwrap().state();
    let listed_again = write(&acts, &[]);
    assert_eq!(state_of(&listed_again), ToolState::Quarantined);
    // It came back without an end once, and so waited for an operator for ever.
    acts.push(Act::Pass { secs: 60 });
    let history = write(&acts, &[4, 8]);
    assert_eq!(state_of(&history), ToolState::Probation);
    check(&history);
}

#[test]
fn what_is_pending_for_a_session_is_pending_for_its_fork() {
    let acts = [
        Act::Register { source: 0, n_left_out: 0, edition: 1 },
        Act::Open { session: 0, fork_of: None, own_source: None },
        Act::Register { source: 0, n_left_out: 0, edition: 2 },
        Act::Open { session: 1, fork_of: Some(0), own_source: None },
    ];
    let namespace = write(&acts, &[]).namespace;
    let view = namespace.view();
    for session in ["session0", "session1"] {
        let session = namespace.session(&session.into()).unwrap();
        assert!(view.may_change_block_of(session), "{}", session.id());
    }
}

#[test]
fn call_id_that_stands_twice_in_a_reply_is_judged_once() {
    let acts = [Act::Open { session: 0, fork_of: None, own_source: None }];
    let mut namespace = write(&acts, &[]).namespace;
    let call = CheckedCall {
        call_id: "c".into(),
        tool: None,
        verdict: Verdict::UnknownTool,
        version: Version(0),
        issued: false,
        state: None,
    };
    let checked = CallsChecked { session: "session0".into(), step: None, calls: vec![call.clone(), call] };
    let drawn = namespace.fold(UnixMillis(1_700_000_000_000), &Event::CallsChecked(checked));
    assert_eq!(drawn.len(), 1);
}

fn any_act() -> impl Strategy<Value = Act> {
    let (session, tool, call) = (0..4_usize, 0..N_TOOLS, 0..60_usize);
    // Few tools take most of the calls, so that pools settle and failures come in a row.
    let called = prop_oneof![3 => 0..4_usize, 1 => 0..N_TOOLS];
    let ending =
        prop_oneof![3 => Just(Ending::Ok), 2 => Just(Ending::ServerError), 1 => prop::sample::select(Ending::ALL)];
    let policy = prop::sample::select(vec![
        ("hot_pool.decay", "0.5"),
        ("hot_pool.every", "3"),
        ("hot_pool.slots", "4"),
        ("hot_pool.policy", "lru"),
        ("hot_pool.policy", "ewma"),
        ("life.failures", "2"),
        ("admission.pin_definitions", "true"),
        ("admission.pin_definitions", "false"),
        ("session.idle_secs", "100"),
    ]);
    prop_oneof![
        2 => (0..3_usize, 0..10_usize, 0..3_u8)
            .prop_map(|(source, n_left_out, edition)| Act::Register { source, n_left_out, edition }),
        3 => (called.clone(), prop::sample::select(ToolAction::ALL))
            .prop_map(|(tool, action)| Act::Change { tool, action }),
        2 => policy.prop_map(|(key, value)| Act::Policy { key, value }),
        4 => (session.clone(), prop::option::of(session.clone()), prop::option::of(0..3_usize))
            .prop_map(|(session, fork_of, own_source)| Act::Open { session, fork_of, own_source }),
        1 => (session.clone(), tool.clone()).prop_map(|(session, keep)| Act::Refresh { session, keep }),
        1 => session.clone().prop_map(|session| Act::Close { session }),
        8 => (session.clone(), prop::option::of(tool.clone()), any::<bool>())
            .prop_map(|(session, about, forgets)| Act::Plan { session, about, forgets }),
        1 => session.clone().prop_map(|session| Act::EndStep { session }),
        2 => (session.clone(), tool).prop_map(|(session, tool)| Act::Request { session, tool }),
        4 => (session.clone(), call.clone(), called.clone(), any::<bool>())
            .prop_map(|(session, call, tool, fits)| Act::Check { session, call, tool, fits }),
        12 => (session.clone(), call.clone(), called, ending, prop::option::weighted(0.1, call))
            .prop_map(|(session, call, tool, ending, retry_of)| {
                Act::Outcome { session, call, tool, ending, retry_of }
            }),
        1 => (session, 0..9_000_u64, 0..9_000_u64).prop_map(|(session, input_tokens, cached_tokens)| {
            Act::Usage { session, input_tokens, cached_tokens }
        }),
        2 => prop::sample::select(vec![1, 30, 61, 700, 1_801]).prop_map(|secs| Act::Pass { secs }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_history_is_drawn_again_and_recovered_as_it_was(
        acts in prop::collection::vec(any_act(), 1..150),
        cut in 0..150_usize,
    ) {
        let mut all = vec![Act::Register { source: 0, n_left_out: 0, edition: 0 }];
        all.extend(acts);
        check(&write(&all, &[cut % all.len(), all.len() - 1]));
        check(&erase(write(&all, &[]), "session0"));
    }
}

/// Erases one session as the daemon does: from what is remembered, and from the log.
fn erase(mut history: History, session: &str) -> History {
    let erasure = Erasure::new(session.into(), Digest::of(b"a key"));
    for record in &mut history.records {
        erasure.clear(&mut record.event, history.namespace.registry());
    }
    history.namespace.erase(&erasure);
    // What was written before the erasure is deleted with it.
    history.snapshots.clear();
    history
}

#[test]
fn what_is_left_of_an_erased_session_draws_the_same_log_and_the_same_state() {
    let figures = full_history().namespace.figures().clone();
    for session in ["session0", "session1", "session2"] {
        let history = erase(full_history(), session);
        check(&history);
        assert_eq!(history.namespace.figures(), &figures);
        let log = serde_json::to_string(&history.records).unwrap();
        let names = [log.contains(&format!("\"{session}\"")), state(&history.namespace).contains(session)];
        assert_eq!(names, [false; 2], "{session}");
    }
}

/// Sessions that expire together end in one order, whatever they are called by then.
#[test]
fn sessions_that_end_together_end_in_the_order_they_were_opened() {
    let mut acts = vec![Act::Register { source: 0, n_left_out: 0, edition: 1 }];
    acts.extend([4, 1, 3].map(|session| Act::Open { session, fork_of: None, own_source: None }));
    acts.push(Act::Pass { secs: 1_800 });
    for session in ["session4", "session1", "session3"] {
        check(&erase(write(&acts, &[]), session));
    }
}

/// Written by the first build, of a history like [`full_history`]. Once a log was cut, its snapshots are all there is of its
/// beginning, so every later build must read them (docs/decisions/snapshots-stay-readable.md).
#[test]
fn a_snapshot_of_the_first_build_reads_and_goes_on() {
    let mut namespace = Namespace::from_snapshot(include_bytes!("../../../tests/data/snapshots/0.1.0.json")).unwrap();
    let states = namespace.tools_by_state();
    assert_eq!((namespace.registry().len(), namespace.tick().0, namespace.policy_version()), (30, 53, 2));
    assert_eq!((states[&ToolState::Active], states[&ToolState::Withdrawn]), (27, 3));
    assert_eq!((namespace.figures().calls.total(), namespace.n_open()), (53, 2));
    assert_eq!(namespace.pool().members().len(), 6);
    assert_eq!(namespace.policy().log.retain_days, 30, "what it did not know yet is the default");
    let again = Namespace::from_snapshot(&namespace.to_snapshot().unwrap()).unwrap();
    assert_eq!(state(&again), state(&namespace));
    let open = namespace.sessions().find(|session| session.ended().is_none()).expect("an open session");
    assert!(open.block().is_some());
    let drawn = namespace.fold(UnixMillis(1_800_000_000_000), &Event::TimePassed);
    assert_eq!(drawn.iter().filter(|event| matches!(event, Event::SessionEnded(_))).count(), 2);
}

//! Watching through the front door: what is told, in which order, and that nothing is lost and nothing comes twice.

use std::time::Duration;

use tonic::{Code, Status, Streaming};
use toolcrib::proto::watch_response::Event;
use toolcrib::proto::*;

use crate::common::{NAMESPACE, PATIENCE, TestDaemon, definition, fields_of, reason_of};

fn request(after: u64, kinds: &[WatchKind]) -> WatchRequest {
    let kinds = kinds.iter().map(|kind| i32::from(*kind)).collect();
    WatchRequest { namespace: NAMESPACE.into(), after_sequence: after, kinds }
}

/// Begins to watch and returns the place where it stands.
async fn watch(daemon: &mut TestDaemon, after: u64, kinds: &[WatchKind]) -> (u64, Streaming<WatchResponse>) {
    let mut stream = daemon.stats.watch(request(after, kinds)).await.expect("a watch").into_inner();
    let first = next(&mut stream).await;
    assert!(matches!(first.event, Some(Event::Started(_))), "{first:?}");
    (first.sequence, stream)
}

async fn next(stream: &mut Streaming<WatchResponse>) -> WatchResponse {
    tokio::time::timeout(PATIENCE, stream.message()).await.expect("an event in time").expect("it goes on").expect("one")
}

async fn end_of(mut stream: Streaming<WatchResponse>) -> Status {
    loop {
        match tokio::time::timeout(PATIENCE, stream.message()).await.expect("the end in time") {
            Ok(Some(_)) => {}
            Ok(None) => panic!("a watch ends with a status"),
            Err(status) => return status,
        }
    }
}

/// Returns the places of the records of some kinds, as the export has them.
async fn places(daemon: &mut TestDaemon, kinds: &[&str]) -> Vec<u64> {
    let mut places = Vec::new();
    for line in daemon.export(ExportKind::Events).await {
        let record: serde_json::Value = serde_json::from_str(&line).expect("a record");
        let event = &record["event"];
        if kinds.iter().any(|kind| event.get(kind).is_some()) {
            places.push(record["seq"].as_u64().expect("its place"));
        }
    }
    places
}

#[tokio::test]
async fn admissions_transitions_and_policy_are_told_in_order() {
    let mut daemon = TestDaemon::start().await;
    daemon.register(vec![definition("send_email")]).await;
    let (_, mut stream) = watch(&mut daemon, 0, &[]).await;
    let mut changed = definition("send_email");
    changed.description = "Does send email, and more, with the thing that is named.".into();
    changed.size_tokens += 4;
    let mut flagged = definition("read_email");
    flagged.summary = "Reads mail; see https://example.com/docs for all of it".into();
    daemon.register(vec![changed, flagged]).await;
    daemon.set_policy("plan.top_m", "5").await;
    daemon.change("send_email", ToolAction::Quarantine).await;

    let admitted = next(&mut stream).await;
    let Some(Event::Admissions(admissions)) = &admitted.event else { panic!("{admitted:?}") };
    let told: Vec<_> = admissions.admissions.iter().map(|one| (one.result(), one.change(), one.flags)).collect();
    let expected = [
        (AdmissionResult::Admitted, ChangeClass::Cosmetic, 0),
        (AdmissionResult::Flagged, ChangeClass::Unspecified, 1),
    ];
    assert_eq!(told, expected);
    assert_eq!((admissions.total, admissions.admissions[0].tool.as_ref().expect("its name").version), (2, 2));
    let moved = next(&mut stream).await;
    let Some(Event::Transition(transition)) = &moved.event else { panic!("{moved:?}") };
    assert_eq!((transition.sequence, transition.cause()), (moved.sequence, MoveCause::Admitted));
    let set = next(&mut stream).await;
    let Some(Event::Policy(policy)) = &set.event else { panic!("{set:?}") };
    assert_eq!(policy.values.get("plan.top_m").map(String::as_str), Some("5"));
    let out = next(&mut stream).await;
    let Some(Event::Transition(transition)) = &out.event else { panic!("{out:?}") };
    assert_eq!((transition.new_state(), transition.reason.as_str()), (ToolState::Quarantined, "a test"));
    assert!(admitted.sequence < moved.sequence && moved.sequence < set.sequence && set.sequence < out.sequence);
    daemon.stop().await;
}

#[tokio::test]
async fn the_history_of_the_hot_pool_is_a_watch_from_the_beginning() {
    let mut daemon = TestDaemon::start().await;
    daemon.register(vec![definition("send_email"), definition("read_email")]).await;
    daemon.change("send_email", ToolAction::Pin).await;
    let (begin, mut stream) = watch(&mut daemon, 1, &[WatchKind::Epochs]).await;
    assert_eq!(begin, 1);
    let told = next(&mut stream).await;
    let Some(Event::Epoch(epoch)) = &told.event else { panic!("{told:?}") };
    let entered: Vec<_> = epoch.entered.iter().map(|one| (one.tool.clone().expect("it").name, one.reason())).collect();
    assert_eq!(entered, [("send_email".to_owned(), PoolReason::Pinned)]);
    assert_eq!((epoch.epoch, epoch.members, epoch.left.len()), (1, 1, 0));
    daemon.stop().await;
}

#[tokio::test]
async fn a_watch_that_is_taken_up_again_and_again_has_every_event_once_while_registrations_go_on() {
    const TOOLS: usize = 60;
    let mut daemon = TestDaemon::start().await;
    daemon.register(vec![definition("first")]).await;
    let mut registry = daemon.registry.clone();
    let registering = tokio::spawn(async move {
        for i in 0..TOOLS {
            let tools = vec![definition(&format!("tool_{i}"))];
            let request = RegisterToolsRequest { namespace: NAMESPACE.into(), tools, ..Default::default() };
            registry.register_tools(request).await.expect("a tool is admitted");
        }
    });
    let kinds = [WatchKind::Admissions, WatchKind::Transitions];
    let mut told: Vec<u64> = Vec::new();
    let mut after = 1;
    // One admission and one transition a tool, the first one's too, read in pieces of seven.
    while told.len() < 2 * (TOOLS + 1) {
        let (begin, mut stream) = watch(&mut daemon, after, &kinds).await;
        assert_eq!(begin, after);
        for _ in 0..7.min(2 * (TOOLS + 1) - told.len()) {
            after = next(&mut stream).await.sequence;
            told.push(after);
        }
    }
    registering.await.expect("all are registered");
    assert_eq!(told, places(&mut daemon, &["tools_registered", "tool_moved"]).await);
    daemon.stop().await;
}

#[tokio::test]
async fn a_slow_reader_holds_nobody_up_and_misses_nothing() {
    const TOOLS: usize = 300;
    let mut daemon = TestDaemon::start().await;
    daemon.register(vec![definition("first")]).await;
    let (_, mut stream) = watch(&mut daemon, 0, &[WatchKind::Transitions]).await;
    // More than its queue holds comes to disk before anything is read.
    for i in 0..TOOLS {
        let action = if i % 2 == 0 { ToolAction::Retire } else { ToolAction::Restore };
        daemon.change("first", action).await;
    }
    let mut told = Vec::new();
    for _ in 0..TOOLS {
        told.push(next(&mut stream).await.sequence);
    }
    assert_eq!(told, places(&mut daemon, &["tool_moved"]).await[1..]);
    daemon.stop().await;
}

#[tokio::test]
async fn what_cannot_be_watched_is_refused_with_what_would_be_accepted() {
    let mut daemon = TestDaemon::start().await;
    let status = daemon.stats.watch(request(0, &[])).await.expect_err("no such namespace");
    assert_eq!(reason_of(&status), "UNKNOWN_NAMESPACE");
    daemon.register(vec![definition("send_email")]).await;
    let status = daemon.stats.watch(request(1_000, &[])).await.expect_err("beyond the end");
    assert_eq!(fields_of(&status), ["after_sequence"]);
    let status = daemon.stats.watch(request(0, &[WatchKind::Unspecified])).await.expect_err("no kind");
    assert_eq!(fields_of(&status), ["kinds[0]"]);
    daemon.stop().await;
}

#[tokio::test]
async fn where_the_log_was_cut_a_watch_is_refused_and_told_where_it_begins() {
    let mut daemon = TestDaemon::start().await;
    for name in ["send_email", "read_email"] {
        daemon.register(vec![definition(name)]).await;
    }
    daemon.cut_log(3);
    let status = daemon.stats.watch(request(2, &[])).await.expect_err("a gap");
    assert_eq!((status.code(), reason_of(&status).as_str()), (Code::FailedPrecondition, "LOG_CUT"));
    assert!(status.message().contains("begins at 4") && status.message().contains("watch after 3"), "{status:?}");
    let (_, mut stream) = watch(&mut daemon, 3, &[]).await;
    assert_eq!(next(&mut stream).await.sequence, 4);
    // What happened to tools is never cut.
    let (_, mut stream) = watch(&mut daemon, 1, &[WatchKind::Admissions]).await;
    assert_eq!(next(&mut stream).await.sequence, 2);
    daemon.stop().await;
}

#[tokio::test]
async fn a_watch_ends_at_once_when_the_daemon_stops_and_goes_on_behind_it_after_a_restart() {
    let mut daemon = TestDaemon::start().await;
    daemon.register(vec![definition("send_email")]).await;
    let (begin, stream) = watch(&mut daemon, 0, &[]).await;
    let started = tokio::time::Instant::now();
    let mut daemon = daemon.restart().await;
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert_eq!(reason_of(&end_of(stream).await), "STOPPING");
    daemon.register(vec![definition("read_email")]).await;
    let (_, mut stream) = watch(&mut daemon, begin, &[WatchKind::Admissions]).await;
    let told = next(&mut stream).await;
    let Some(Event::Admissions(admissions)) = &told.event else { panic!("{told:?}") };
    assert_eq!(admissions.admissions[0].tool.as_ref().expect("it").name, "read_email");
    daemon.stop().await;
}

#[tokio::test]
async fn watches_are_bounded_in_number_and_in_time_and_take_no_place_among_requests() {
    let mut daemon = TestDaemon::start_with(|config| {
        config.limits.watches = 1;
        config.limits.watch_secs = 1;
        config.limits.requests = 1;
    })
    .await;
    daemon.register(vec![definition("send_email")]).await;
    let (_, stream) = watch(&mut daemon, 0, &[]).await;
    daemon.register(vec![definition("read_email")]).await;
    let status = daemon.stats.watch(request(0, &[])).await.expect_err("one is open already");
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert_eq!(end_of(stream).await.code(), Code::DeadlineExceeded);
    watch(&mut daemon, 0, &[]).await;
    daemon.stop().await;
}

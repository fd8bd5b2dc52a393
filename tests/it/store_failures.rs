//! What clients see when the store fails: what goes on, what is turned away, and what is never promised.

use std::sync::Arc;
use std::time::Duration;

use tonic::Code;
use toolcrib::proto::*;
use toolcrib::server::Ended;
use toolcrib::store::StoreError;

use crate::common::{NAMESPACE, PATIENCE, TestDaemon, definition, reason_of, scrape};

async fn daemon_with_tools(buffer_events: usize) -> TestDaemon {
    let mut daemon = TestDaemon::start_with(|config| {
        config.journal.batch_events = buffer_events;
        config.journal.buffer_events = buffer_events;
    })
    .await;
    daemon.set_policy("session.pass_through_share", "0").await;
    let names = ["create_issue", "close_issue", "send_email", "read_email", "list_files", "delete_file"];
    let more = ["add_label", "merge_branch", "book_flight", "convert_currency", "play_music", "translate_text"];
    daemon.register(names.iter().chain(&more).map(|name| definition(name)).collect()).await;
    daemon
}

/// Opens the same session again until it is on disk.
async fn wait_for_disk(daemon: &mut TestDaemon, session: &str) {
    let started = tokio::time::Instant::now();
    while !daemon.open(session).await.durable {
        assert!(started.elapsed() < PATIENCE, "the store was not taken up again");
    }
}

fn registration(name: &str) -> RegisterToolsRequest {
    RegisterToolsRequest {
        namespace: NAMESPACE.into(),
        tools: vec![definition(name)],
        request_id: format!("register {name}"),
        ..Default::default()
    }
}

#[tokio::test]
async fn a_full_disk_turns_changes_away_while_sessions_and_steps_go_on() {
    let mut daemon = daemon_with_tools(4_096).await;
    daemon.will.fail_with(StoreError::Full);
    for _ in 0..2 {
        // Opened again it is as little on disk as the first time.
        assert!(!daemon.open("a").await.durable);
    }
    let started = tokio::time::Instant::now();
    let status = daemon.registry.register_tools(registration("new_tool")).await.expect_err("no disk");
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!((status.code(), reason_of(&status).as_str()), (Code::Unavailable, "STORE_NOT_WRITABLE"));

    let plan = daemon.plan("a", "please send an email").await;
    assert_eq!(plan.issued[0].name, "s__send_email");
    let arguments = r#"{"name":"s__send_email","arguments":{"thing":"x"}}"#;
    assert!(daemon.check("a", &plan.step_id, "1", "call_tool", arguments).await.run);
    let ack = daemon.report("a", &plan.step_id, "1", "", Ending::Ok).await;
    assert_eq!(ack.result(), OutcomeResult::Applied);
    let request = RefreshSessionRequest { namespace: NAMESPACE.into(), session_id: "a".into(), ..Default::default() };
    for generation in [0, 1] {
        // The second is a retry of the first.
        let request = RefreshSessionRequest { generation, ..request.clone() };
        assert!(!daemon.sessions.refresh_session(request).await.expect("refreshed").into_inner().durable);
    }
    daemon.open("b").await;
    let request = CloseSessionRequest { namespace: NAMESPACE.into(), session_id: "b".into(), ..Default::default() };
    for _ in 0..2 {
        assert!(!daemon.sessions.close_session(request.clone()).await.expect("closed").into_inner().durable);
    }

    daemon.will.let_through();
    wait_for_disk(&mut daemon, "a").await;
    let mut daemon = daemon.restart().await;
    assert_eq!(daemon.figures().await.calls.expect("calls").issued, 1);
    let again = daemon.registry.register_tools(registration("new_tool")).await.expect("admitted").into_inner();
    assert_eq!(again.admissions[0].result(), AdmissionResult::Admitted, "the refused change left nothing");
    daemon.stop().await;
}

#[tokio::test]
async fn a_full_buffer_turns_outcomes_away_and_counts_them() {
    let mut daemon = daemon_with_tools(16).await;
    daemon.open("a").await;
    daemon.will.fail_with(StoreError::Full);
    let started = tokio::time::Instant::now();
    let mut n_calls = 0;
    loop {
        n_calls += 1;
        let call = format!("call {n_calls}");
        let outcome =
            Outcome { call_id: call, name: "s__send_email".into(), ending: Ending::Ok.into(), ..Default::default() };
        let request = ReportOutcomesRequest {
            namespace: NAMESPACE.into(),
            session_id: "a".into(),
            outcomes: vec![outcome],
            durable: true,
            ..Default::default()
        };
        let answer = daemon.sessions.report_outcomes(request).await.expect("answered").into_inner();
        assert!(!answer.durable);
        if answer.acks[0].result() == OutcomeResult::NotStored {
            break;
        }
        assert!(started.elapsed() < PATIENCE, "the buffer is never full");
    }
    let ending = StepEnding { step_id: daemon.plan("a", "send an email").await.step_id, ..Default::default() };
    daemon.will.let_through();
    let request = ReportOutcomesRequest {
        namespace: NAMESPACE.into(),
        session_id: "a".into(),
        endings: vec![ending],
        ..Default::default()
    };
    daemon.sessions.report_outcomes(request).await.expect("answered");
    let page = scrape(&daemon.metrics_url).await;
    let shed = page.lines().find(|line| line.starts_with(r#"toolcrib_shed_total{reason="log_buffer"}"#));
    assert!(shed.is_some_and(|line| !line.ends_with(" 0")), "{shed:?}");
    wait_for_disk(&mut daemon, "a").await;
    let ack = daemon.report("a", "", &format!("call {n_calls}"), "s__send_email", Ending::Ok).await;
    assert_eq!(ack.result(), OutcomeResult::Applied, "what was turned away is taken when it is sent again");
    daemon.stop().await;
}

#[tokio::test]
async fn sessions_are_opened_from_memory_while_the_buffer_is_full_and_up_to_a_bound() {
    let mut daemon = daemon_with_tools(4).await;
    daemon.will.fail_with(StoreError::Full);
    for i in 0..16 {
        assert!(!daemon.open(&format!("session {i}")).await.durable);
    }
    daemon.plan("session 15", "send an email").await;
    let mut refused = None;
    for _ in 0..2_000 {
        let request =
            RefreshSessionRequest { namespace: NAMESPACE.into(), session_id: "session 1".into(), ..Default::default() };
        if let Err(status) = daemon.sessions.refresh_session(request).await {
            refused = Some(status);
            break;
        }
    }
    assert_eq!(refused.map(|status| status.code()), Some(Code::ResourceExhausted), "memory is bounded");
    daemon.will.let_through();
    wait_for_disk(&mut daemon, "session 0").await;
    let mut daemon = daemon.restart().await;
    assert!(daemon.open("session 15").await.resumed);
    daemon.stop().await;
}

#[tokio::test]
async fn a_disk_that_fails_in_the_middle_of_a_write_ends_the_daemon() {
    let mut daemon = TestDaemon::start().await;
    daemon.register(vec![definition("send_email")]).await;
    let source = Arc::new(std::io::Error::other("fsync"));
    daemon.will.fail_with(StoreError::Indeterminate { source });
    let status = daemon.registry.register_tools(registration("new_tool")).await.expect_err("no disk");
    assert_eq!(status.code(), Code::Unavailable);
    assert_eq!(daemon.ended().await, Ended::Failed);
}

#[tokio::test]
async fn stamps_do_not_go_back_over_a_restart_with_the_clock_set_back() {
    let mut daemon = TestDaemon::start().await;
    daemon.register(vec![definition("send_email")]).await;
    let clock = daemon.clock.clone();
    // A stop takes a snapshot, behind which there is nothing to read a stamp from.
    clock.step_to(toolcrib::core::ids::UnixMillis(1_000));
    let mut daemon = daemon.restart().await;
    daemon.register(vec![definition("read_email")]).await;
    let mut last = 0;
    for line in daemon.export(ExportKind::Events).await {
        let record: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        let at = record["at"].as_i64().expect("a stamp");
        assert!(at >= last, "{at} follows {last}");
        last = at;
    }
    daemon.stop().await;
}

#[tokio::test]
async fn a_namespace_that_many_ask_for_at_once_is_made_once() {
    let daemon = TestDaemon::start().await;
    let mut asked = tokio::task::JoinSet::new();
    for i in 0..16 {
        let mut registry = daemon.registry.clone();
        asked.spawn(async move { registry.register_tools(registration(&format!("tool_{i}"))).await });
    }
    while let Some(answer) = asked.join_next().await {
        answer.expect("no panic").expect("admitted");
    }
    let mut daemon = daemon.restart().await;
    assert_eq!(daemon.figures().await.tools.expect("tools").active, 16);
    daemon.stop().await;
}

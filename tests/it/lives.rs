//! The life of a tool through the front door, with the test's clock.

use std::time::Duration;

use toolcrib::proto::*;

use crate::common::{TestDaemon, definition};

async fn daemon() -> TestDaemon {
    let mut daemon = TestDaemon::start().await;
    daemon.register(vec![definition("send_email"), definition("read_email")]).await;
    daemon.open("a").await;
    daemon
}

/// Calls `send_email` once in a step of its own.
async fn call(daemon: &mut TestDaemon, ending: Ending) {
    let plan = daemon.plan("a", "").await;
    daemon.report("a", &plan.step_id, &plan.step_id, "s__send_email", ending).await;
}

async fn state_counts(daemon: &mut TestDaemon) -> ToolStateFigures {
    daemon.figures().await.tools.expect("tools by state")
}

#[tokio::test]
async fn three_timeouts_quarantine_with_a_record_and_repair_leads_back() {
    let mut daemon = daemon().await;
    for _ in 0..3 {
        call(&mut daemon, Ending::Timeout).await;
    }
    assert_eq!(state_counts(&mut daemon).await.quarantined, 1);
    let plan = daemon.plan("a", "").await;
    let checked = daemon.check("a", &plan.step_id, "withheld", "s__send_email", r#"{"thing":"x"}"#).await;
    assert!(!checked.run);
    assert_eq!((checked.verdict(), checked.reason()), (Verdict::Unavailable, Reason::Quarantined));
    assert_eq!(checked.nearest, ["s__read_email"]);

    let request = ListTransitionsRequest { namespace: "test".into(), ..Default::default() };
    let moves = daemon.registry.list_transitions(request).await.expect("a history").into_inner().transitions;
    let newest = &moves[0];
    assert_eq!((newest.new_state(), newest.cause()), (ToolState::Quarantined, MoveCause::Failures));
    let diagnosis: serde_json::Value = serde_json::from_slice(&newest.diagnosis).expect("a record");
    assert_eq!(diagnosis["failures"].as_array().map(Vec::len), Some(3));

    assert_eq!(daemon.change("send_email", ToolAction::Repair).await.state(), ToolState::Probation);
    for _ in 0..10 {
        call(&mut daemon, Ending::Ok).await;
    }
    daemon.wait_for("recovery", |figures| figures.tools.is_some_and(|tools| tools.active == 2)).await;
    daemon.stop().await;
}

#[tokio::test]
async fn bad_arguments_and_one_parallel_batch_quarantine_nothing() {
    let mut daemon = daemon().await;
    for _ in 0..5 {
        call(&mut daemon, Ending::BadArguments).await;
    }
    let plan = daemon.plan("a", "").await;
    for call in ["1", "2", "3"] {
        daemon.report("a", &plan.step_id, call, "s__send_email", Ending::Timeout).await;
    }
    assert_eq!(state_counts(&mut daemon).await.quarantined, 0);
    daemon.stop().await;
}

#[tokio::test]
async fn a_quarantine_ends_by_itself_in_probation() {
    let mut daemon = daemon().await;
    for _ in 0..3 {
        call(&mut daemon, Ending::ServerError).await;
    }
    daemon.clock.advance(Duration::from_secs(61));
    daemon.wait_for("probation", |figures| figures.tools.is_some_and(|tools| tools.probation == 1)).await;
    daemon.stop().await;
}

#[tokio::test]
async fn a_retired_tool_is_told_from_an_unknown_one_and_can_be_restored() {
    let mut daemon = daemon().await;
    assert_eq!(daemon.change("send_email", ToolAction::Retire).await.state(), ToolState::Retired);
    let ask = |name: &str| RequestToolRequest {
        namespace: "test".into(),
        session_id: "a".into(),
        call_id: name.into(),
        ask: Some(request_tool_request::Ask::Name(name.into())),
        ..Default::default()
    };
    let retired = daemon.sessions.request_tool(ask("send_email")).await.expect("an answer").into_inner();
    assert_eq!((retired.result(), retired.nearest.len()), (RequestResult::Retired, 1));
    let unknown = daemon.sessions.request_tool(ask("giphy__image_search_tool")).await.expect("an answer").into_inner();
    assert_eq!(unknown.result(), RequestResult::NotFound);
    assert!(unknown.issued.is_empty());
    assert_eq!(daemon.change("send_email", ToolAction::Restore).await.state(), ToolState::Active);
    daemon.stop().await;
}

#[tokio::test]
async fn an_idle_session_ends_and_its_late_outcomes_count_without_presence() {
    let mut daemon = daemon().await;
    let plan = daemon.plan("a", "").await;
    daemon.clock.advance(Duration::from_secs(1801));
    daemon.wait_for("the end", |figures| figures.sessions.is_some_and(|sessions| sessions.expired == 1)).await;
    let ack = daemon.report("a", &plan.step_id, "late", "s__send_email", Ending::Ok).await;
    assert_eq!((ack.result(), ack.presence()), (OutcomeResult::Late, Presence::Unknown));
    let request = PlanStepRequest { namespace: "test".into(), session_id: "a".into(), ..Default::default() };
    let status = daemon.sessions.plan_step(request).await.expect_err("it has ended");
    assert!(status.message().contains("open it again"), "{}", status.message());
    daemon.open("a").await;
    daemon.stop().await;
}

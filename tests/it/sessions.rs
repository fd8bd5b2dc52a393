//! Sessions through the front door.

use toolcrib::proto::*;

use crate::common::{TestDaemon, definition};

/// Twelve tools: too many to be sent whole.
async fn daemon_with_tools() -> TestDaemon {
    let mut daemon = TestDaemon::start().await;
    daemon.set_policy("session.pass_through_share", "0").await;
    let names = ["create_issue", "close_issue", "send_email", "read_email", "list_files", "delete_file"];
    let more = ["add_label", "merge_branch", "book_flight", "convert_currency", "play_music", "translate_text"];
    daemon.register(names.iter().chain(&more).map(|name| definition(name)).collect()).await;
    daemon
}

#[tokio::test]
async fn a_step_issues_what_the_query_needs_and_the_call_is_present() {
    let mut daemon = daemon_with_tools().await;
    let opened = daemon.open("a").await;
    let block = opened.block.expect("a block");
    assert!(opened.durable && !block.pass_through && !block.pieces.is_empty());
    let plan = daemon.plan("a", "please send an email to Ann").await;
    assert_eq!(plan.issued[0].name, "s__send_email");
    assert_eq!(plan.block_digest, block.digest);
    let arguments = r#"{"name":"s__send_email","arguments":{"thing":"x"}}"#;
    let checked = daemon.check("a", &plan.step_id, "1", "call_tool", arguments).await;
    assert!(checked.run);
    assert_eq!(checked.presence(), Presence::Issued);
    let ack = daemon.report("a", &plan.step_id, "1", "", Ending::Ok).await;
    assert_eq!((ack.result(), ack.presence()), (OutcomeResult::Applied, Presence::Issued));
    let again = daemon.report("a", &plan.step_id, "1", "", Ending::Ok).await;
    assert_eq!(again.result(), OutcomeResult::Duplicate);
    assert_eq!(daemon.figures().await.calls.expect("calls").issued, 1);
    daemon.stop().await;
}

#[tokio::test]
async fn an_open_session_opens_again_as_it_was_and_other_values_are_refused() {
    let mut daemon = daemon_with_tools().await;
    let first = daemon.open("a").await;
    let again = daemon.open("a").await;
    assert!(!first.resumed && again.resumed);
    assert_eq!(first.block, again.block);
    let request = OpenSessionRequest {
        namespace: "test".into(),
        session_id: "a".into(),
        format: Format::OpenaiChat.into(),
        ..Default::default()
    };
    let status = daemon.sessions.open_session(request).await.expect_err("other values");
    assert_eq!(status.code(), tonic::Code::AlreadyExists);
    daemon.stop().await;
}

#[tokio::test]
async fn a_restart_keeps_tools_sessions_steps_and_figures() {
    let mut daemon = daemon_with_tools().await;
    let block = daemon.open("a").await.block.expect("a block");
    let plan = daemon.plan("a", "send an email").await;
    daemon.report("a", &plan.step_id, "1", "s__send_email", Ending::Ok).await;
    let before = daemon.figures().await;
    let mut daemon = daemon.restart().await;
    assert_eq!(daemon.figures().await.calls, before.calls);
    let again = daemon.open("a").await;
    assert!(again.resumed);
    assert_eq!(again.block.expect("a block").digest, block.digest);
    let ack = daemon.report("a", &plan.step_id, "2", "s__send_email", Ending::Ok).await;
    assert_eq!(ack.presence(), Presence::Issued);
    daemon.stop().await;
}

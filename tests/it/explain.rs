//! Explaining through the front door: what it says, that it leaves no trace, and what it refuses.

use toolcrib::proto::*;

use crate::common::{NAMESPACE, TestDaemon, definition, fields_of, reason_of};

const NAMES: [&str; 14] = [
    "create_issue",
    "close_issue",
    "send_email",
    "read_email",
    "list_files",
    "delete_file",
    "add_label",
    "merge_branch",
    "book_flight",
    "convert_currency",
    "play_music",
    "translate_text",
    "water_garden",
    "paint_wall",
];

/// Fourteen tools: too many to be sent whole.
async fn daemon_with_tools() -> TestDaemon {
    let mut daemon = TestDaemon::start().await;
    daemon.set_policy("session.pass_through_share", "0").await;
    daemon.register(NAMES.iter().map(|name| definition(name)).collect()).await;
    daemon
}

fn request(session: &str, words: &str, name: &str) -> ExplainRequest {
    ExplainRequest {
        namespace: NAMESPACE.into(),
        session_id: session.into(),
        query: Some(Query { user: words.into(), ..Default::default() }),
        name: name.into(),
        ..Default::default()
    }
}

async fn explain(daemon: &mut TestDaemon, session: &str, words: &str, name: &str) -> ExplainResponse {
    daemon.sessions.explain(request(session, words, name)).await.expect("an explanation").into_inner()
}

#[tokio::test]
async fn an_explanation_is_what_the_next_step_does_and_leaves_no_trace() {
    let mut daemon = daemon_with_tools().await;
    daemon.open("a").await;
    let before = (daemon.export(ExportKind::Events).await, daemon.figures().await, daemon.get("a").await);
    let explained = explain(&mut daemon, "a", "send an email about the issue", "").await;
    let after = (daemon.export(ExportKind::Events).await, daemon.figures().await, daemon.get("a").await);
    assert_eq!(before, after);
    let plan = daemon.plan("a", "send an email about the issue").await;
    assert!(!plan.issued.is_empty());
    assert_eq!((explained.issued, explained.result), (plan.issued, plan.result));
    let budget = explained.budget.expect("a budget");
    assert_eq!((budget.window, budget.held, budget.most, budget.left), (100_000, 0, 10_000, 7_500));
    daemon.stop().await;
}

#[tokio::test]
async fn without_a_session_a_fresh_one_is_explained_and_none_is_made() {
    let mut daemon = daemon_with_tools().await;
    let explained = explain(&mut daemon, "", "send an email", "s__send_email").await;
    let named = &explained.named[0];
    assert_eq!((named.fate(), named.rank, named.next_step.as_str()), (Fate::Issued, 1, ""));
    let sum: f32 = named.parts.iter().map(|part| part.value).sum();
    assert!((sum - named.score).abs() < 0.01 && named.words == ["email", "send"], "{named:?}");
    let sessions = daemon.figures().await.sessions.expect("sessions");
    assert_eq!(sessions.open, 0);
    daemon.stop().await;
}

#[tokio::test]
async fn a_quarantined_tool_is_explained_with_its_last_move_and_the_way_out() {
    let mut daemon = daemon_with_tools().await;
    daemon.open("a").await;
    daemon.change("send_email", ToolAction::Quarantine).await;
    let explained = explain(&mut daemon, "a", "send something", "send_email").await;
    let named = &explained.named[0];
    assert_eq!((named.fate(), named.reason(), named.rank), (Fate::Excluded, Reason::Quarantined, 0));
    assert_eq!(named.next_step, "mend it, then: toolcrib tool repair s/send_email");
    let moved = named.last_transition.clone().expect("its last move");
    assert_eq!((moved.new_state(), moved.reason.as_str()), (ToolState::Quarantined, "a test"));
    let out = &explained.exclusions[0];
    assert_eq!((out.reason(), out.tools, out.matching), (Reason::Quarantined, 1, 1));
    assert_eq!((explained.tools, explained.candidates), (14, 13));
    daemon.stop().await;
}

#[tokio::test]
async fn what_was_issued_before_stands_there_with_its_step() {
    let mut daemon = daemon_with_tools().await;
    daemon.open("a").await;
    let first = daemon.plan("a", "paint the wall").await;
    daemon.plan("a", "play music").await;
    let explained = explain(&mut daemon, "a", "", "paint_wall").await;
    assert_eq!(explained.result(), PlanResult::NoQuery);
    assert_eq!(explained.named[0].fate(), Fate::Present);
    let past: Vec<_> = explained.past.iter().map(|past| (past.step_id.clone(), past.origin())).collect();
    assert_eq!(past, [(first.step_id, Origin::Issued)]);
    daemon.stop().await;
}

#[tokio::test]
async fn what_cannot_be_explained_is_refused_with_what_would_be_accepted() {
    let mut daemon = daemon_with_tools().await;
    let asked = ExplainRequest { limit: 201, name: "x".repeat(257), ..request(&"s".repeat(129), "w", "") };
    let status = daemon.sessions.explain(asked).await.expect_err("out of range");
    assert_eq!(fields_of(&status), ["session_id", "name", "limit"]);
    let status = daemon.sessions.explain(request("nobody", "w", "")).await.expect_err("no such session");
    assert_eq!(reason_of(&status), "UNKNOWN_SESSION");
    let unknown = explain(&mut daemon, "", "w", "send_emial").await;
    assert_eq!(unknown.named[0].fate(), Fate::Unspecified);
    assert_eq!(unknown.nearest[0], "s__send_email");
    daemon.stop().await;
}

#[tokio::test]
async fn an_empty_answer_lists_what_was_left_out_and_why_and_nothing_outside_the_pool() {
    let mut daemon = daemon_with_tools().await;
    daemon.set_policy("session.pass_through_tools", "0").await;
    let hidden = ToolDefinition { source: "hidden".into(), ..definition("paint_wall") };
    daemon.register(vec![hidden]).await;
    daemon
        .open_with("a", |request| request.pool = Some(Pool { allow: vec!["s/*".into()], ..Default::default() }))
        .await;
    daemon.change("paint_wall", ToolAction::Quarantine).await;
    let plan = daemon.plan_with("a", "paint", |request| request.key = "k".into()).await;
    assert_eq!(plan.result(), PlanResult::NothingFound);
    let out = |excluded: &[Exclusion]| excluded.iter().map(|one| (one.name.clone(), one.reason())).collect::<Vec<_>>();
    let expected = [("s__paint_wall".to_owned(), Reason::Quarantined)];
    assert_eq!(out(&plan.excluded), expected);
    let again = daemon.plan_with("a", "paint", |request| request.key = "k".into()).await;
    assert_eq!(out(&again.excluded), expected, "a retry is told the same");
    let ask = request_tool_request::Ask::Need("paint".into());
    let request = RequestToolRequest {
        namespace: NAMESPACE.into(),
        session_id: "a".into(),
        call_id: "1".into(),
        ask: Some(ask),
        ..Default::default()
    };
    let answer = daemon.sessions.request_tool(request).await.expect("an answer").into_inner();
    assert_eq!((answer.result(), out(&answer.excluded)), (RequestResult::NotFound, expected.to_vec()));
    let said = String::from_utf8_lossy(&answer.pieces[0].content).into_owned();
    assert!(said.contains("s__paint_wall is out of order") && !said.contains("hidden"), "{said}");
    let found = daemon.plan("a", "play music").await;
    assert!(found.excluded.is_empty());
    daemon.stop().await;
}

//! The frozen block: what happens around an open session changes nothing in it, and waits for a refresh.

use toolcrib::proto::*;

use crate::common::{TestDaemon, definition};

const TOOLS: [&str; 14] = [
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
    "draw_chart",
    "count_words",
];

async fn daemon() -> TestDaemon {
    let mut daemon = TestDaemon::start().await;
    daemon.set_policy("session.pass_through_share", "0").await;
    daemon.set_policy("hot_pool.every", "1").await;
    daemon.set_policy("hot_pool.slots", "3").await;
    daemon.register(TOOLS.iter().map(|name| definition(name)).collect()).await;
    daemon
}

/// Calls tools one after the other in a session of their own.
async fn call(daemon: &mut TestDaemon, names: &[&str], ending: Ending) {
    daemon.open("caller").await;
    for name in names {
        let plan = daemon.plan("caller", "").await;
        let call_id = format!("{}-{name}", plan.step_id);
        daemon.report("caller", &plan.step_id, &call_id, &format!("s__{name}"), ending).await;
    }
}

fn digest(block: Option<Block>) -> String {
    block.expect("a block").digest
}

#[tokio::test]
async fn registrations_reranks_and_a_quarantine_leave_an_open_block_as_it_is() {
    let mut daemon = daemon().await;
    call(&mut daemon, &TOOLS[..3], Ending::Ok).await;
    let opened = daemon.open("a").await;
    let frozen = digest(opened.block.clone());
    let resident = opened.block.expect("a block").offers[0].tool.clone().expect("a resident").name;

    daemon.register((0..20).map(|i| definition(&format!("late_tool_{i}"))).collect()).await;
    let before = daemon.figures().await.reranks.expect("re-ranks");
    for round in 0..50 {
        call(&mut daemon, &[TOOLS[3 + round % 8]], Ending::Ok).await;
    }
    let after = daemon.figures().await.reranks.expect("re-ranks");
    assert!(after.changed + after.unchanged >= before.changed + before.unchanged + 50, "{after:?}");
    call(&mut daemon, &[&resident, &resident, &resident], Ending::Timeout).await;
    daemon.wait_for("the quarantine", |figures| figures.tools.is_some_and(|tools| tools.quarantined == 1)).await;

    let status = daemon.get("a").await;
    assert_eq!(digest(status.block.clone()), frozen);
    assert_eq!(status.distinct_blocks, 1);
    assert_eq!(digest(daemon.open("a").await.block), frozen);
    let kinds: Vec<ChangeKind> = status.pending.iter().map(PendingChange::kind).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == ChangeKind::Added).count(), 20);
    assert!(kinds.contains(&ChangeKind::Unavailable) && kinds.contains(&ChangeKind::Enters), "{kinds:?}");
    assert!(daemon.plan("a", "").await.pending);

    let request = RefreshSessionRequest { namespace: "test".into(), session_id: "a".into(), ..Default::default() };
    let refreshed = daemon.sessions.refresh_session(request).await.expect("a refresh").into_inner();
    assert_eq!(refreshed.taken.len(), status.pending.len());
    let block = refreshed.block.expect("a block");
    assert_eq!(block.generation, 2);
    assert_ne!(block.digest, frozen);
    assert!(block.offers.iter().all(|offer| offer.name != format!("s__{resident}")));
    assert!(daemon.get("a").await.pending.is_empty());
    daemon.stop().await;
}

#[tokio::test]
async fn a_lost_reply_is_planned_again_when_the_runtime_says_what_is_present() {
    let mut daemon = daemon().await;
    daemon.open("a").await;
    let lost = daemon.plan("a", "send an email").await;
    let present = |names: &[&str]| Some(Present { names: names.iter().map(|name| (*name).to_owned()).collect() });
    let again = daemon.plan_with("a", "send an email", |step| step.present = present(&[])).await;
    let names = |plan: &PlanStepResponse| plan.issued.iter().map(|offer| offer.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&lost), names(&again));
    assert_eq!(lost.pieces, again.pieces);
    // Said nothing, what was issued is taken to be placed.
    assert!(daemon.plan("a", "send an email").await.issued.is_empty());
    daemon.stop().await;
}

#[tokio::test]
async fn a_repeated_key_is_the_same_step_and_counted_once() {
    let mut daemon = daemon().await;
    daemon.open("a").await;
    let first = daemon.plan_with("a", "send an email", |step| step.key = "1".into()).await;
    let again = daemon.plan_with("a", "send an email", |step| step.key = "1".into()).await;
    assert_eq!(first, again);
    assert_eq!(daemon.figures().await.steps, 1);
    daemon.stop().await;
}

#[tokio::test]
async fn after_a_compaction_the_tools_of_the_last_calls_come_back_first() {
    let mut daemon = daemon().await;
    daemon.open("a").await;
    let plan = daemon.plan("a", "send an email").await;
    daemon.report("a", &plan.step_id, "1", "s__send_email", Ending::Ok).await;
    let shorter =
        daemon.plan_with("a", "translate this text", |step| step.present = Some(Present { names: Vec::new() })).await;
    assert_eq!((shorter.issued[0].name.as_str(), shorter.issued[0].origin()), ("s__send_email", Origin::Reissued));
    assert!(shorter.issued.iter().any(|offer| offer.name == "s__translate_text"));
    daemon.stop().await;
}

#[tokio::test]
async fn what_the_runtime_says_is_present_is_believed_where_the_record_of_it_is_lost() {
    let mut daemon = daemon().await;
    daemon.open("a").await;
    let names = vec!["s__book_flight".to_owned()];
    let plan = daemon.plan_with("a", "book a flight", |step| step.present = Some(Present { names })).await;
    assert!(plan.issued.iter().all(|offer| offer.name != "s__book_flight"));
    assert!(plan.tokens.expect("tokens").issued > 0);
    let ack = daemon.report("a", &plan.step_id, "1", "s__book_flight", Ending::Ok).await;
    assert_eq!(ack.presence(), Presence::Issued);
    daemon.stop().await;
}

#[tokio::test]
async fn a_fork_gets_the_same_block_and_knows_what_its_original_was_shown() {
    let mut daemon = daemon().await;
    let original = digest(daemon.open("a").await.block);
    daemon.plan("a", "send an email").await;
    // The pool moves on, the fork does not.
    call(&mut daemon, &TOOLS[..3], Ending::Ok).await;
    let fork = daemon.open_with("b", |open| open.fork_of = "a".into()).await;
    assert_eq!(digest(fork.block), original);
    let names = vec!["s__send_email".to_owned()];
    let plan = daemon.plan_with("b", "send an email", |step| step.present = Some(Present { names })).await;
    assert!(plan.issued.iter().all(|offer| offer.name != "s__send_email"));
    let ack = daemon.report("b", &plan.step_id, "1", "s__send_email", Ending::Ok).await;
    assert_eq!(ack.presence(), Presence::Issued);
    daemon.stop().await;
}

#[tokio::test]
async fn a_sibling_of_a_recall_is_absent_and_the_next_call_is_recalled() {
    let mut daemon = daemon().await;
    daemon.open("a").await;
    let plan = daemon.plan("a", "").await;
    let request = RequestToolRequest {
        namespace: "test".into(),
        session_id: "a".into(),
        step_id: plan.step_id.clone(),
        call_id: "ask".into(),
        ask: Some(request_tool_request::Ask::Name("s__book_flight".into())),
        present: None,
    };
    let answer = daemon.sessions.request_tool(request).await.expect("an answer").into_inner();
    assert_eq!(answer.result(), RequestResult::Exact);
    assert_eq!(answer.pieces.iter().filter(|piece| piece.place() == Place::ToolResult).count(), 1);
    let sibling = daemon.report("a", &plan.step_id, "1", "s__book_flight", Ending::Ok).await;
    assert_eq!(sibling.presence(), Presence::Absent);
    let next = daemon.plan("a", "").await;
    let first = daemon.report("a", &next.step_id, "2", "s__book_flight", Ending::Ok).await;
    let second = daemon.report("a", &next.step_id, "3", "s__book_flight", Ending::Ok).await;
    assert_eq!((first.presence(), second.presence()), (Presence::Recalled, Presence::Issued));
    daemon.stop().await;
}

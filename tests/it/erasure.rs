//! Erasing a session: nothing of its words is left anywhere, and nothing else has changed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tonic::Code;
use toolcrib::core::ids::NamespaceId;
use toolcrib::offline::refold::{read_events, replay_events};
use toolcrib::proto::*;

use crate::common::{NAMESPACE, TestDaemon, definition, reason_of};

/// Stands in everything that a runtime can write into a session.
const SECRET: &str = "Klabautermann";

/// The session's id.
const SESSION: &str = "chat-with-Klabautermann";

/// The files in which the marker stands, its side files included.
fn files_with_secret(database: &Path) -> Vec<PathBuf> {
    let holds =
        |path: &PathBuf| fs::read(path).is_ok_and(|bytes| bytes.windows(SECRET.len()).any(|w| w == SECRET.as_bytes()));
    let files = fs::read_dir(database.parent().expect("a folder")).expect("the folder");
    files.map(|entry| entry.expect("a file").path()).filter(holds).collect()
}

fn outcome(call: &str, step: &str, ending: Ending) -> Outcome {
    Outcome {
        call_id: format!("{call}-{SECRET}"),
        step_id: step.into(),
        name: "s__read_file".into(),
        ending: ending.into(),
        message: format!("no such file: {SECRET}.txt {}", "x".repeat(100)),
        ..Default::default()
    }
}

/// Has a conversation that speaks of nothing else, beside others, until the tool it uses is quarantined.
async fn converse(daemon: &mut TestDaemon) {
    daemon.set_policy("learn.queries", "full").await;
    daemon.register(vec![definition("read_file"), definition("send_email")]).await;
    daemon.open("other").await;
    daemon
        .open_with(SESSION, |request| {
            request.model = format!("model-of-{SECRET}");
            request.own_tools = vec![OwnTool { name: format!("ask_{SECRET}"), tokens: 3 }];
            request.pool = Some(Pool { allow: vec!["s/*".into(), format!("{SECRET}/*")], ..Default::default() });
        })
        .await;
    daemon.open_with("child", |request| request.parent_session_id = SESSION.into()).await;
    for round in 0..200 {
        let words = format!("read the file of {SECRET}, please");
        let planned = daemon.plan_with(SESSION, &words, |request| request.key = format!("{SECRET}-{round}")).await;
        daemon.check(SESSION, &planned.step_id, &format!("{round}-{SECRET}"), "s__read_file", r#"{"thing":"a"}"#).await;
        let ending = if round < 197 { Ending::NotFound } else { Ending::Timeout };
        let outcomes = vec![outcome(&round.to_string(), &planned.step_id, ending)];
        let usage = Some(Usage { miss_reason: format!("tools of {SECRET}"), ..Default::default() });
        let (namespace, session_id) = (NAMESPACE.to_owned(), SESSION.to_owned());
        let request = ReportOutcomesRequest { namespace, session_id, outcomes, usage, ..Default::default() };
        daemon.sessions.report_outcomes(request).await.expect("outcomes are taken");
        let planned = daemon.plan("other", "send an email").await;
        daemon.report("other", &planned.step_id, &format!("o{round}"), "s__send_email", Ending::Ok).await;
    }
}

async fn erase(daemon: &mut TestDaemon, session: &str) -> Result<EraseSessionResponse, tonic::Status> {
    let request = EraseSessionRequest { namespace: NAMESPACE.into(), session_id: session.into() };
    daemon.sessions.erase_session(request).await.map(|answer| answer.into_inner())
}

/// Draws the exported log again; it must be the one that is recorded.
async fn check_log_draws_itself(daemon: &mut TestDaemon) {
    let lines = daemon.export(ExportKind::Events).await.join("\n");
    assert!(!lines.contains(SECRET));
    let (records, errors) = read_events(lines.as_bytes());
    assert!(errors.is_empty(), "{errors:?}");
    let report = replay_events(NamespaceId::from(NAMESPACE), &records, &BTreeMap::new()).expect("a whole log");
    assert!(report.compared);
    assert_eq!(report.difference, None);
}

#[tokio::test]
async fn nothing_of_an_erased_session_is_left_and_nothing_else_has_changed() {
    let mut daemon = TestDaemon::start().await;
    converse(&mut daemon).await;
    let before = daemon.figures().await;
    assert!(before.tools.is_some_and(|tools| tools.quarantined == 1), "its failures are in a diagnostic record");
    assert!(!files_with_secret(&daemon.database()).is_empty());

    let erased = erase(&mut daemon, SESSION).await.expect("the session is erased");
    assert_eq!(erased.queries, 200);
    assert!(erased.records > 1_000 && erased.rewritten, "{erased:?}");
    assert_eq!(files_with_secret(&daemon.database()), Vec::<PathBuf>::new());
    assert_eq!(daemon.kept_queries().len(), 200, "those of the other session stay");
    let mut after = daemon.figures().await;
    assert_eq!(after.sessions.as_mut().map(|sessions| std::mem::take(&mut sessions.closed)), Some(1));
    let sessions = before.sessions.map(|sessions| SessionFigures { open: sessions.open - 1, ..sessions });
    // Calls that were not judged yet are, as at any end of a session.
    assert_eq!(
        without_verdicts(Figures { sessions, plans_without_call: None, ..before }),
        without_verdicts(Figures { plans_without_call: None, ..after.clone() })
    );
    check_log_draws_itself(&mut daemon).await;

    let again = erase(&mut daemon, SESSION).await.expect_err("nothing is kept of it");
    assert_eq!((again.code(), reason_of(&again).as_str()), (Code::NotFound, "UNKNOWN_SESSION"));
    let child = daemon.open_with("child", |request| request.parent_session_id = SESSION.into()).await;
    assert!(child.resumed, "whoever was started by it is still open");
    // The other session, and the id, go on.
    daemon.plan("other", "send an email").await;
    daemon.open(SESSION).await;
    daemon.plan(SESSION, "read a file").await;

    let mut daemon = daemon.restart().await;
    assert!(daemon.figures().await.steps > after.steps);
    assert!(daemon.get(SESSION).await.session.is_some());
    check_new_life(&mut daemon).await;
    daemon.stop().await;
}

/// The id was used again, so it may stand in the log once more: erased again, nothing is left of it either.
async fn check_new_life(daemon: &mut TestDaemon) {
    let erased = erase(daemon, SESSION).await.expect("its second life is erased");
    assert!(erased.records >= 3);
    assert_eq!(files_with_secret(&daemon.database()), Vec::<PathBuf>::new());
    check_log_draws_itself(daemon).await;
}

#[tokio::test]
async fn a_session_that_is_long_forgotten_is_erased_from_the_log() {
    let mut daemon = TestDaemon::start().await;
    converse(&mut daemon).await;
    daemon.clock.advance(std::time::Duration::from_secs(1_800));
    daemon.wait_for("the sessions' end", |figures| figures.sessions.is_some_and(|s| s.expired == 3)).await;
    daemon.clock.advance(std::time::Duration::from_secs(600));
    daemon.open("later").await;
    let mut daemon = daemon.restart().await;
    erase(&mut daemon, SESSION).await.expect("the session is erased");
    assert_eq!(files_with_secret(&daemon.database()), Vec::<PathBuf>::new());
    check_log_draws_itself(&mut daemon).await;
    let unknown = erase(&mut daemon, "nobody").await.expect_err("nothing is kept of it");
    assert_eq!(unknown.code(), Code::NotFound);
    daemon.stop().await;
}

#[tokio::test]
async fn an_erasure_that_the_store_refuses_erases_nothing_and_can_be_sent_again() {
    let mut daemon = TestDaemon::start().await;
    converse(&mut daemon).await;
    daemon.figures().await;
    daemon.will.fail_with(toolcrib::store::StoreError::Full);
    let refused = erase(&mut daemon, SESSION).await.expect_err("the disk is full");
    assert_eq!(refused.code(), Code::Unavailable);
    daemon.will.let_through();
    // The journal tries again by itself; more patience than it takes.
    let until_it_is_done = async { while erase(&mut daemon, SESSION).await.is_err() {} };
    let done = tokio::time::timeout(std::time::Duration::from_secs(20), until_it_is_done).await;
    done.expect("the store is writable again");
    assert_eq!(files_with_secret(&daemon.database()), Vec::<PathBuf>::new());
    check_log_draws_itself(&mut daemon).await;
    daemon.stop().await;
}

fn without_verdicts(mut figures: Figures) -> Figures {
    figures.selections = None;
    for tool in figures.hot_pool.iter_mut().chain(&mut figures.top) {
        tool.selections = None;
    }
    figures
}

#[tokio::test]
async fn two_erasures_of_one_session_at_once_are_one() {
    let mut daemon = TestDaemon::start().await;
    converse(&mut daemon).await;
    let [mut first, mut second, mut third] = [(); 3].map(|()| daemon.sessions.clone());
    let request = || EraseSessionRequest { namespace: NAMESPACE.into(), session_id: SESSION.into() };
    let (a, b, c) =
        tokio::join!(first.erase_session(request()), second.erase_session(request()), third.erase_session(request()));
    let done = [a, b, c].into_iter().filter(Result::is_ok).count();
    assert_eq!(done, 1, "whoever asks meanwhile is turned away, and later finds nothing");
    let lines = daemon.export(ExportKind::Events).await;
    assert_eq!(lines.iter().filter(|line| line.contains("session_erased")).count(), 1);
    check_log_draws_itself(&mut daemon).await;
    daemon.stop().await;
}

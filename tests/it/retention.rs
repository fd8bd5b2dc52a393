//! Retention of the log: old traffic goes, the audit and the figures stay, and a daemon starts from what is left.

use std::time::Duration;

use serde_json::Value;
use toolcrib::core::ids::Seq;
use toolcrib::proto::*;
use toolcrib::store::Reader as _;
use toolcrib::store::sqlite::SqliteReader;

use crate::common::{NAMESPACE, PATIENCE, TestDaemon, definition, scrape};

const DAY: Duration = Duration::from_secs(24 * 3_600);

fn begin(daemon: &TestDaemon) -> Seq {
    SqliteReader::open(&daemon.database()).expect("the store").begin(&NAMESPACE.into()).expect("the log")
}

/// Lets time pass until the log has been cut.
async fn wait_for_cut(daemon: &mut TestDaemon) {
    let started = tokio::time::Instant::now();
    while begin(daemon) == Seq(1) {
        assert!(started.elapsed() < PATIENCE, "nothing was cut");
        daemon.clock.advance(Duration::from_secs(3_600));
        daemon.figures().await;
        tokio::task::yield_now().await;
    }
}

/// Has traffic, and a tool that is quarantined by it.
async fn traffic(daemon: &mut TestDaemon) {
    daemon.register(vec![definition("read_file"), definition("send_email")]).await;
    daemon.open("a").await;
    for call in 0..30 {
        let planned = daemon.plan("a", "send an email").await;
        daemon.report("a", &planned.step_id, &format!("c{call}"), "s__send_email", Ending::Timeout).await;
    }
    daemon.figures().await;
}

async fn transitions(daemon: &mut TestDaemon) -> Vec<Transition> {
    let request = ListTransitionsRequest { namespace: NAMESPACE.into(), ..Default::default() };
    daemon.registry.list_transitions(request).await.expect("a list").into_inner().transitions
}

#[tokio::test]
async fn old_traffic_is_cut_and_figures_history_and_recovery_stay() {
    let mut daemon = TestDaemon::start().await;
    traffic(&mut daemon).await;
    daemon.clock.advance(29 * DAY);
    daemon.wait_for("the session's end", |figures| figures.sessions.is_some_and(|s| s.expired == 1)).await;
    let before = daemon.figures().await;
    let history = transitions(&mut daemon).await;
    assert!(history.len() >= 3 && begin(&daemon) == Seq(1), "29 days are not 30");

    daemon.clock.advance(DAY);
    wait_for_cut(&mut daemon).await;
    let left = begin(&daemon);
    assert_eq!(transitions(&mut daemon).await, history);
    let lines = daemon.export(ExportKind::Events).await;
    let first: Value = serde_json::from_str(&lines[0]).expect("a record");
    assert_eq!(first["seq"], left.0);
    let page = scrape(&daemon.metrics_url).await;
    let bytes = page.lines().find(|line| line.starts_with("toolcrib_log_bytes{")).expect("a metric");
    let held: f64 = bytes.rsplit(' ').next().and_then(|text| text.parse().ok()).expect("a number");
    assert!(held > 0.0 && held < 20_000.0, "{bytes}");

    let mut daemon = daemon.restart().await;
    assert_eq!(daemon.figures().await.calls, before.calls);
    assert_eq!(transitions(&mut daemon).await, history);
    daemon.open("b").await;
    daemon.plan("b", "read a file").await;
    daemon.stop().await;
}

#[tokio::test]
async fn with_nothing_to_be_cut_for_time_nothing_is() {
    let mut daemon = TestDaemon::start().await;
    daemon.set_policy("log.retain_days", "0").await;
    daemon.set_policy("log.retain_mib", "0").await;
    traffic(&mut daemon).await;
    for _ in 0..20 {
        daemon.clock.advance(10 * DAY);
        daemon.figures().await;
    }
    daemon.wait_for("the session's end", |figures| figures.sessions.is_some_and(|s| s.expired == 1)).await;
    assert_eq!(begin(&daemon), Seq(1));
    daemon.stop().await;
}

//! What the store keeps of what people ask for.

use std::time::Duration;

use toolcrib::store::QueryBody;

use crate::common::{PATIENCE, TestDaemon, definition};

const WORDS: &str = "send an email to Ann";

#[tokio::test]
async fn of_queries_the_store_keeps_what_policy_says_and_no_longer() {
    let mut daemon = TestDaemon::start().await;
    daemon.register(vec![definition("send_email")]).await;
    daemon.open("a").await;
    for mode in ["off", "terms", "full"] {
        // A change is acknowledged when it is on disk, and all that came before it is too.
        daemon.set_policy("learn.queries", mode).await;
        daemon.plan("a", WORDS).await;
    }
    daemon.set_policy("learn.queries", "off").await;
    let kept = daemon.kept_queries();
    let [QueryBody::Terms(hashes), QueryBody::Text { user, .. }] = kept.as_slice() else { panic!("{kept:?}") };
    assert!(!hashes.is_empty());
    assert_eq!(user, WORDS);

    daemon.clock.advance(Duration::from_secs(29 * 24 * 3_600));
    daemon.wait_for("the session's end", |figures| figures.sessions.is_some_and(|s| s.expired == 1)).await;
    assert_eq!(daemon.kept_queries().len(), 2, "29 days are not 30");
    daemon.clock.advance(Duration::from_secs(2 * 24 * 3_600));
    let started = tokio::time::Instant::now();
    while !daemon.kept_queries().is_empty() {
        assert!(started.elapsed() < PATIENCE, "queries are not dropped after 30 days");
        tokio::task::yield_now().await;
    }
    daemon.stop().await;
}

//! `/metrics` through the front door.

use std::fs;
use std::path::Path;

use toolcrib::proto::*;

use crate::common::{TestDaemon, definition, scrape};

#[tokio::test]
async fn what_metrics_say_is_what_stats_say() {
    let mut daemon = TestDaemon::start().await;
    daemon.register(vec![definition("send_email"), definition("read_email")]).await;
    daemon.open("a").await;
    let plan = daemon.plan("a", "send an email").await;
    daemon.report("a", &plan.step_id, "1", "s__send_email", Ending::Ok).await;
    let figures = daemon.figures().await;
    let page = scrape(&daemon.metrics_url).await;
    let body = body_of(&page);
    let resident = figures.calls.expect("calls").resident;
    let line = format!(r#"toolcrib_calls_total{{namespace="test",presence="resident"}} {resident}"#);
    assert!(body.contains(&line), "{line} is not in\n{body}");
    // The gate hands this page to promtool.
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("target");
    fs::create_dir_all(&target).expect("the target folder");
    fs::write(target.join("metrics.prom"), &body).expect("the page is kept");
    daemon.stop().await;
}

/// Returns the body of an answer, without the chunk sizes that its transfer may have put in.
fn body_of(answer: &str) -> String {
    let (head, body) = answer.split_once("\r\n\r\n").expect("a body");
    if !head.to_lowercase().contains("transfer-encoding: chunked") {
        return body.to_owned();
    }
    let mut whole = String::new();
    let mut rest = body;
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).expect("a chunk's size");
        whole.push_str(&after[..size]);
        rest = after[size..].trim_start_matches("\r\n");
    }
    whole
}

//! `/metrics` through the front door.

use std::fs;
use std::path::Path;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use toolcrib::proto::*;

use crate::common::{TestDaemon, definition};

/// Reads a page as a scraper would.
async fn get(url: &str) -> String {
    let address = url.trim_start_matches("http://").trim_end_matches("/metrics");
    let mut stream = TcpStream::connect(address).await.expect("the daemon answers");
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    answer
}

#[tokio::test]
async fn what_metrics_say_is_what_stats_say() {
    let mut daemon = TestDaemon::start().await;
    daemon.register(vec![definition("send_email"), definition("read_email")]).await;
    daemon.open("a").await;
    let plan = daemon.plan("a", "send an email").await;
    daemon.report("a", &plan.step_id, "1", "s__send_email", Ending::Ok).await;
    let figures = daemon.figures().await;
    let page = get(&daemon.metrics_url).await;
    let body = page.split_once("\r\n\r\n").expect("a body").1;
    let resident = figures.calls.expect("calls").resident;
    let line = format!(r#"toolcrib_calls_total{{namespace="test",presence="resident"}} {resident}"#);
    assert!(body.contains(&line), "{line} is not in\n{body}");
    // The gate hands this page to promtool.
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("target");
    fs::create_dir_all(&target).expect("the target folder");
    fs::write(target.join("metrics.prom"), dechunk(body)).expect("the page is kept");
    daemon.stop().await;
}

/// Takes the transfer's chunk sizes out of a page.
fn dechunk(body: &str) -> String {
    let mut page = String::new();
    let mut rest = body;
    while let Some((size, after)) = rest.split_once("\r\n") {
        let Ok(size) = usize::from_str_radix(size.trim(), 16) else { return body.to_owned() };
        page.push_str(&after[..size]);
        rest = after[size..].trim_start_matches("\r\n");
    }
    page
}

//! What the integration tests share.

mod daemon;
mod log;
mod process;
mod tools;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub use daemon::{NAMESPACE, PATIENCE, TestDaemon};
pub use process::Process;
pub use tools::{definition, fields_of, reason_of};

/// Reads the metrics page as a scraper would, head included.
pub async fn scrape(url: &str) -> String {
    let address = url.trim_start_matches("http://").trim_end_matches("/metrics");
    let mut stream = TcpStream::connect(address).await.expect("the daemon answers");
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    answer
}

//! The daemon as a process of its own, so that it can be killed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tonic::transport::Channel;

/// A `toolcrib serve` that a test may kill.
pub struct Process {
    child: Child,
    /// A connection to it.
    pub channel: Channel,
}

impl Process {
    /// Starts a daemon on a store and waits until it serves.
    pub async fn start(database: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_toolcrib"))
            .args(["serve", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--db"])
            .arg(database)
            .env("TOOLCRIB_LOG_FORMAT", "json")
            .stderr(Stdio::piped())
            .spawn()
            .expect("the daemon starts");
        let mut lines = BufReader::new(child.stderr.take().expect("its log")).lines();
        let address = loop {
            let line = lines.next().expect("the log goes on until it serves").expect("a line");
            let event: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("not a log line: {line}"));
            if event["fields"]["message"] == "serving" {
                break event["fields"]["addr"].as_str().expect("an address").to_owned();
            }
        };
        // The log must be read on, or a full pipe would hold the daemon up.
        std::thread::spawn(move || lines.for_each(drop));
        let channel = Channel::from_shared(format!("http://{address}")).expect("an address");
        Self { child, channel: channel.connect().await.expect("the daemon answers") }
    }

    /// Kills it at once, as `kill -9` does.
    pub fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it has ended");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A test that failed must not leave a daemon behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

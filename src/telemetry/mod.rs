//! What the daemon tells its operators: log lines on standard error, and metrics for Prometheus.
//!
//! Knows the core only, and takes no part in any decision. Log messages are constant and lowercase, what varies is a
//! field; arguments, queries and schema text are never logged. Metrics stand in [`metrics`].

mod family;
mod findings;
mod grpc;
mod latencies;
pub mod metrics;
mod namespace;
mod window;

use std::io::IsTerminal as _;

use tracing_subscriber::util::{SubscriberInitExt as _, TryInitError};
use tracing_subscriber::{EnvFilter, reload};

/// Changes the level of a log that runs.
pub struct LevelSwitch(Box<dyn Fn(EnvFilter) -> Result<(), reload::Error> + Send + Sync>);

impl LevelSwitch {
    /// Writes from `level` up from now on; fails where the log is gone.
    pub fn set(&self, level: &str) -> Result<(), reload::Error> {
        (self.0)(filter(level))
    }
}

/// Writes log lines for people to standard error, from `level` up (`error`, `warn`, `info`, `debug` or `trace`).
///
/// Fails where the process has a subscriber already.
pub fn log_as_text(level: &str) -> Result<LevelSwitch, TryInitError> {
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter(level))
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_filter_reloading();
    let handle = log.reload_handle();
    log.finish().try_init()?;
    Ok(LevelSwitch(Box::new(move |filter| handle.reload(filter))))
}

/// Writes one JSON object a log line to standard error, from `level` up.
///
/// Fails where the process has a subscriber already.
pub fn log_as_json(level: &str) -> Result<LevelSwitch, TryInitError> {
    let log = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_env_filter(filter(level))
        .with_writer(std::io::stderr)
        .with_filter_reloading();
    let handle = log.reload_handle();
    log.finish().try_init()?;
    Ok(LevelSwitch(Box::new(move |filter| handle.reload(filter))))
}

/// Lets our own lines through from `level` up. Those of libraries come from `warn` up, or they drown ours at `debug`.
fn filter(level: &str) -> EnvFilter {
    let libraries = if level == "error" { "error" } else { "warn" };
    EnvFilter::new(format!("{libraries},toolcrib={level}"))
}

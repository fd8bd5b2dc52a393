//! What the daemon runs with, and where each value came from.
//!
//! [`RawConfig`] is what a file, the environment or flags may say; [`Config`] is what the daemon runs with: nothing
//! optional, all checked. [`load`] is the only bridge, and `check-config` is that bridge on the command line. Everything
//! that can be tuned in a namespace is a policy and stands in the store, not here. To add a setting: the raw field, the
//! checked field, its default, and its line in `check`.

mod checker;
mod raw;

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use crate::core::event::Word;
use checker::Checker;
pub use checker::{Origin, Problem, Setting};
pub use raw::{RawConfig, RawJournal, RawLimits, RawLog, RawServer, RawStore};

/// What the daemon runs with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// Where it answers.
    pub server: Server,
    /// Where it keeps things.
    pub store: Store,
    /// How it logs.
    pub log: Log,
    /// What it lets clients do.
    pub limits: Limits,
    /// How the event log reaches the disk.
    pub journal: Journal,
}

/// Where the daemon answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Address of gRPC. Loopback only.
    pub listen: SocketAddr,
    /// Address of `/metrics`. Loopback only.
    pub metrics: SocketAddr,
    /// Whether gRPC reflection answers.
    pub reflection: bool,
}

/// Where the daemon keeps things.
#[derive(Clone, Debug, PartialEq)]
pub struct Store {
    /// The database file; made if it is not there.
    pub path: PathBuf,
}

/// How the daemon logs, to standard error.
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    /// How a line looks.
    pub format: LogFormat,
    /// The least severe level that is written.
    pub level: LogLevel,
}

/// How a log line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// The least severe level that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// Someone should look.
    Error,
    /// Something is odd.
    Warn,
    /// What an operator wants to see.
    Info,
    /// What a developer wants to see.
    Debug,
    /// Everything.
    Trace,
}

/// What the daemon lets clients do.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Connections open at once.
    pub connections: usize,
    /// Streams open at once on one connection.
    pub streams_per_connection: u32,
    /// Requests in work at once, over all connections; one more is shed.
    pub requests: usize,
    /// Bytes of one message.
    pub message_bytes: usize,
    /// Bytes of one imported catalog.
    pub import_bytes: usize,
    /// Namespaces.
    pub namespaces: usize,
    /// Namespaces with a metric label of their own; the rest count as `other`.
    pub metric_namespaces: usize,
    /// Seconds within which a new connection must have sent something.
    pub first_bytes_secs: u64,
    /// Seconds a request may take.
    pub request_secs: u64,
    /// Seconds a stream may take.
    pub stream_secs: u64,
    /// Watches at once, over all connections; one more is shed.
    pub watches: usize,
    /// Seconds a watch lives; whoever watches begins again behind the last event.
    pub watch_secs: u64,
    /// Seconds a shutdown waits for requests in work.
    pub drain_secs: u64,
}

/// How the event log reaches the disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Journal {
    /// Milliseconds an acknowledged outcome may wait for the disk.
    pub flush_ms: u64,
    /// Events after which a batch is written without waiting.
    pub batch_events: usize,
    /// Events that may wait; where the buffer is full, outcomes are turned away.
    pub buffer_events: usize,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 7117)),
            metrics: SocketAddr::from((Ipv4Addr::LOCALHOST, 9117)),
            // It tells a stranger what there is to ask.
            reflection: false,
        }
    }
}

impl Default for Store {
    fn default() -> Self {
        Self { path: PathBuf::from("toolcrib.db") }
    }
}

impl Default for Log {
    fn default() -> Self {
        Self { format: LogFormat::Text, level: LogLevel::Info }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1_024,
            streams_per_connection: 128,
            requests: 1_024,
            message_bytes: 1 << 20,
            // Ten thousand tools at a few kilobytes each.
            import_bytes: 64 << 20,
            namespaces: 64,
            // Keeps the series under 2,000.
            metric_namespaces: 4,
            first_bytes_secs: 5,
            request_secs: 10,
            stream_secs: 120,
            // Each holds a reader of the log, and wakes with every commit.
            watches: 32,
            // Peers that are gone are found by pings; a day bounds what pings do not find.
            watch_secs: 86_400,
            // A stop has to end within 15 s, the last flush included.
            drain_secs: 10,
        }
    }
}

impl Default for Journal {
    fn default() -> Self {
        Self { flush_ms: 50, batch_events: 4_096, buffer_events: 65_536 }
    }
}

impl Word for LogFormat {
    const ALL: &'static [Self] = &[Self::Text, Self::Json];

    fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

impl Word for LogLevel {
    const ALL: &'static [Self] = &[Self::Error, Self::Warn, Self::Info, Self::Debug, Self::Trace];

    fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// A configuration was refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {path}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The file is not TOML, has a key that means nothing, or a value of the wrong type.
    #[error("{path}: {text}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the line and a caret.
        text: String,
    },
    /// Values are out of their range: all of them, one a line.
    #[error("{0}")]
    Refused(Problems),
}

/// Values that were refused, in the order of the reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

/// Reads the file, asks the environment, and puts flags over both: a flag wins over the environment, the environment
/// over the file, the file over the default. Also returns every setting with its origin, in the order of the reference.
///
/// `environment` returns the value of a variable; the names stand in the function of that name.
pub fn load(
    flags: RawConfig,
    variable: impl Fn(&str) -> Option<String>,
    file: Option<&Path>,
) -> Result<(Config, Vec<Setting>), ConfigError> {
    let mut layers = vec![(Origin::Flag, flags), (Origin::Environment, environment(variable))];
    if let Some(path) = file {
        layers.push((Origin::File, read_file(path)?));
    }
    check(&layers)
}

/// Returns what the environment says. It names what differs between machines; the rest belongs into the file.
fn environment(variable: impl Fn(&str) -> Option<String>) -> RawConfig {
    // A variable that is set to nothing is what a shell leaves behind, not a wish.
    let read = |name| variable(name).filter(|value| !value.is_empty());
    RawConfig {
        server: RawServer { listen: read("TOOLCRIB_LISTEN"), metrics: read("TOOLCRIB_METRICS"), reflection: None },
        store: RawStore { path: read("TOOLCRIB_DB") },
        log: RawLog { format: read("TOOLCRIB_LOG_FORMAT"), level: read("TOOLCRIB_LOG_LEVEL") },
        ..RawConfig::default()
    }
}

fn read_file(path: &Path) -> Result<RawConfig, ConfigError> {
    let text =
        std::fs::read_to_string(path).map_err(|source| ConfigError::Unreadable { path: path.to_owned(), source })?;
    toml::from_str(&text).map_err(|error| ConfigError::Malformed {
        path: path.to_owned(),
        text: error.to_string().trim_end().to_owned(),
    })
}

/// Checks every value of the layers, the strongest first.
fn check(layers: &[(Origin, RawConfig)]) -> Result<(Config, Vec<Setting>), ConfigError> {
    let default = Config::default();
    let mut c = Checker::new(layers);
    let server = Server {
        listen: c.loopback("server.listen", |raw| raw.server.listen.clone(), default.server.listen),
        metrics: c.loopback("server.metrics", |raw| raw.server.metrics.clone(), default.server.metrics),
        reflection: c.switch("server.reflection", |raw| raw.server.reflection, default.server.reflection),
    };
    if server.listen == server.metrics && server.listen.port() != 0 {
        c.refuse("server.metrics", "must differ from server.listen");
    }
    let store = Store { path: c.path("store.path", |raw| raw.store.path.clone(), default.store.path) };
    let log = Log {
        format: c.word("log.format", |raw| raw.log.format.clone(), default.log.format),
        level: c.word("log.level", |raw| raw.log.level.clone(), default.log.level),
    };
    let (d, l) = (&default.limits, |get: fn(&RawLimits) -> Option<i64>| move |raw: &RawConfig| get(&raw.limits));
    let limits = Limits {
        connections: c.number("limits.connections", l(|raw| raw.connections), 1..=65_536, d.connections),
        streams_per_connection: c.number(
            "limits.streams_per_connection",
            l(|raw| raw.streams_per_connection),
            1..=4_096,
            d.streams_per_connection,
        ),
        requests: c.number("limits.requests", l(|raw| raw.requests), 1..=65_536, d.requests),
        message_bytes: c.number("limits.message_bytes", l(|raw| raw.message_bytes), 65_536..=16 << 20, d.message_bytes),
        import_bytes: c.number("limits.import_bytes", l(|raw| raw.import_bytes), 65_536..=1 << 30, d.import_bytes),
        namespaces: c.number("limits.namespaces", l(|raw| raw.namespaces), 1..=4_096, d.namespaces),
        metric_namespaces: c.number(
            "limits.metric_namespaces",
            l(|raw| raw.metric_namespaces),
            1..=64,
            d.metric_namespaces,
        ),
        first_bytes_secs: c.number(
            "limits.first_bytes_secs",
            l(|raw| raw.first_bytes_secs),
            1..=60,
            d.first_bytes_secs,
        ),
        request_secs: c.number("limits.request_secs", l(|raw| raw.request_secs), 1..=300, d.request_secs),
        stream_secs: c.number("limits.stream_secs", l(|raw| raw.stream_secs), 1..=3_600, d.stream_secs),
        watches: c.number("limits.watches", l(|raw| raw.watches), 1..=1_024, d.watches),
        watch_secs: c.number("limits.watch_secs", l(|raw| raw.watch_secs), 1..=604_800, d.watch_secs),
        drain_secs: c.number("limits.drain_secs", l(|raw| raw.drain_secs), 1..=60, d.drain_secs),
    };
    let (d, j) = (&default.journal, |get: fn(&RawJournal) -> Option<i64>| move |raw: &RawConfig| get(&raw.journal));
    let journal = Journal {
        flush_ms: c.number("journal.flush_ms", j(|raw| raw.flush_ms), 1..=1_000, d.flush_ms),
        batch_events: c.number("journal.batch_events", j(|raw| raw.batch_events), 1..=65_536, d.batch_events),
        buffer_events: c.number("journal.buffer_events", j(|raw| raw.buffer_events), 1..=1 << 20, d.buffer_events),
    };
    if journal.buffer_events < journal.batch_events {
        c.refuse("journal.buffer_events", "must be at least journal.batch_events");
    }

    let (settings, problems) = c.finish();
    if problems.is_empty() {
        Ok((Config { server, store, log, limits, journal }, settings))
    } else {
        Err(ConfigError::Refused(Problems(problems)))
    }
}

#[cfg(test)]
mod tests;

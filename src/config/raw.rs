//! What a configuration file may say: everything optional, nothing checked but its type.

use serde::Deserialize;

/// What a configuration file may say. Every value is optional, unknown keys are refused.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RawConfig {
    /// `[server]`
    pub server: RawServer,
    /// `[store]`
    pub store: RawStore,
    /// `[log]`
    pub log: RawLog,
    /// `[limits]`
    pub limits: RawLimits,
    /// `[journal]`
    pub journal: RawJournal,
}

/// `[server]` as a file may say it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RawServer {
    /// See [`Server::listen`](super::Server::listen).
    pub listen: Option<String>,
    /// See [`Server::metrics`](super::Server::metrics).
    pub metrics: Option<String>,
    /// See [`Server::reflection`](super::Server::reflection).
    pub reflection: Option<bool>,
}

/// `[store]` as a file may say it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RawStore {
    /// See [`Store::path`](super::Store::path).
    pub path: Option<String>,
}

/// `[log]` as a file may say it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RawLog {
    /// See [`Log::format`](super::Log::format).
    pub format: Option<String>,
    /// See [`Log::level`](super::Log::level).
    pub level: Option<String>,
}

/// `[limits]` as a file may say it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RawLimits {
    /// See [`Limits::connections`](super::Limits::connections).
    pub connections: Option<i64>,
    /// See [`Limits::streams_per_connection`](super::Limits::streams_per_connection).
    pub streams_per_connection: Option<i64>,
    /// See [`Limits::requests`](super::Limits::requests).
    pub requests: Option<i64>,
    /// See [`Limits::message_bytes`](super::Limits::message_bytes).
    pub message_bytes: Option<i64>,
    /// See [`Limits::import_bytes`](super::Limits::import_bytes).
    pub import_bytes: Option<i64>,
    /// See [`Limits::namespaces`](super::Limits::namespaces).
    pub namespaces: Option<i64>,
    /// See [`Limits::metric_namespaces`](super::Limits::metric_namespaces).
    pub metric_namespaces: Option<i64>,
    /// See [`Limits::first_bytes_secs`](super::Limits::first_bytes_secs).
    pub first_bytes_secs: Option<i64>,
    /// See [`Limits::request_secs`](super::Limits::request_secs).
    pub request_secs: Option<i64>,
    /// See [`Limits::stream_secs`](super::Limits::stream_secs).
    pub stream_secs: Option<i64>,
    /// See [`Limits::watches`](super::Limits::watches).
    pub watches: Option<i64>,
    /// See [`Limits::watch_secs`](super::Limits::watch_secs).
    pub watch_secs: Option<i64>,
    /// See [`Limits::drain_secs`](super::Limits::drain_secs).
    pub drain_secs: Option<i64>,
}

/// `[journal]` as a file may say it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RawJournal {
    /// See [`Journal::flush_ms`](super::Journal::flush_ms).
    pub flush_ms: Option<i64>,
    /// See [`Journal::batch_events`](super::Journal::batch_events).
    pub batch_events: Option<i64>,
    /// See [`Journal::buffer_events`](super::Journal::buffer_events).
    pub buffer_events: Option<i64>,
}

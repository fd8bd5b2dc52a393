//! Every metric the daemon exports: name, help and buckets, once, and the functions that record them.
//!
//! Nothing else calls the metrics library. Labels are words of closed lists and the names of a bounded number of
//! namespaces; never a tool, a session or free text. What the log remembers is not counted here a second time but
//! mirrored from the figures, so that `/metrics`, `GetStats` and replay agree after a restart too; durations, outcomes
//! and refusals leave no event and start at zero with the daemon. To add a metric: its line here, and its series in
//! `namespace.rs` or in [`Metrics`]; a test fails while it is not exported from the start.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use metrics::{Counter, Gauge, Histogram};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};

use super::family::{Counters, Family};
use super::findings::FindingGroup;
use super::grpc::Grpc;
pub use super::grpc::InFlight;
use super::namespace::Series;
pub use super::namespace::{NamespaceMetrics, NamespaceSample};
use crate::core::admission::Violation;
use crate::core::event::Word;
use crate::core::ids::{NamespaceId, UnixMillis};

/// Seconds: 25 µs to 1 s. Plans take microseconds, waiting for a disk takes milliseconds.
const LATENCY: &[f64] =
    &[25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 1.0];
/// Definitions: one a bucket up to the usual cut, then coarser.
const ISSUED: &[f64] = &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0, 16.0];
/// Events: powers of four up to the batch.
const BATCH: &[f64] = &[1.0, 4.0, 16.0, 64.0, 256.0, 1_024.0, 4_096.0];

macro_rules! families {
    ($($name:ident = $kind:ident($metric:literal $(, $buckets:ident)?, $help:literal $(,)?);)+) => {
        $(pub(super) const $name: Family = Family::$kind($metric $(, $buckets)?, $help);)+

        /// Every metric there is.
        const FAMILIES: &[Family] = &[$($name),+];
    };
}

families! {
    BUILD_INFO = gauge("toolcrib_build_info", "1, with the version and revision that run");

    // A step.
    PLANS = counter("toolcrib_plans_total", "Steps planned, by what the plan came to");
    PLANS_WITHOUT_CALL = counter(
        "toolcrib_plans_without_call_total",
        "Steps that made no call, by how they ended; presence says nothing of them"
    );
    PLAN_DURATION = histogram("toolcrib_plan_duration_seconds", LATENCY, "Time that PlanStep takes inside the daemon");
    RECALL_DURATION = histogram(
        "toolcrib_recall_duration_seconds",
        LATENCY,
        "Recall latency: time from a query to on-demand definitions"
    );
    ISSUED_TOOLS = histogram("toolcrib_issued_tools", ISSUED, "Definitions issued for a step");
    REQUESTS_FOR_TOOLS = counter("toolcrib_requests_for_tools_total", "Tools the model asked for, by what came of it");
    EXTRA_HOPS = counter("toolcrib_extra_hops_total", "Model turns spent on asking for tools");

    // The figures.
    CALLS = counter(
        "toolcrib_calls_total",
        "Calls by presence; presence rate = (resident + issued) / (resident + issued + recalled + absent)"
    );
    PRESENCE_RATIO = gauge("toolcrib_presence_ratio", "Presence rate of the last 5 minutes; NaN without a call");
    SELECTIONS = counter(
        "toolcrib_selections_total",
        "Selections by verdict; mis-selection rate = the four wrong ones / (those + right)"
    );
    CONTEXT_TOKENS = counter(
        "toolcrib_context_tokens_total",
        "Tokens of tool text present, summed over steps, by part; injection share = all parts / windows"
    );
    CONTEXT_WINDOW_TOKENS = counter("toolcrib_context_window_tokens_total", "Context windows of the same steps");
    FULL_INJECTION_TOKENS =
        counter("toolcrib_full_injection_tokens_total", "What sending every definition would have cost in these steps");
    INJECTION_SHARE_RATIO =
        gauge("toolcrib_injection_share_ratio", "Injection share of the last 5 minutes; NaN without a step");
    CACHE_BREAKS = counter("toolcrib_cache_breaks_total", "Breaks of the provider's prompt cache, by cause");

    // The hot pool and the life of tools.
    RERANKS = counter("toolcrib_reranks_total", "Re-ranks, by whether they changed the hot pool");
    HOT_POOL_CHANGES = counter("toolcrib_hot_pool_changes_total", "Tools that entered the hot pool");
    TOOLS = gauge("toolcrib_tools", "Tools by state");
    RESIDENT_TOOLS = gauge("toolcrib_resident_tools", "Tools in the hot pool");
    TRANSITIONS = counter("toolcrib_transitions_total", "Tools that moved, by the state they went to and why");
    ADMISSIONS = counter("toolcrib_admissions_total", "Tools that went through admission, by what it said");
    FINDINGS = counter("toolcrib_admission_findings_total", "Rules broken and flags raised at admission, by group");
    EMPTY_SOURCES = counter(
        "toolcrib_empty_sources_total",
        "Sources that an import left without a tool: it listed none, or none of those listed is in"
    );
    POLICY_INFO = gauge("toolcrib_policy_info", "1, with the version of the policy in force");

    // Sessions and outcomes.
    SESSIONS = gauge("toolcrib_sessions", "Sessions open");
    SESSIONS_OPENED = counter("toolcrib_sessions_opened_total", "Sessions opened, by how definitions reach their model");
    SESSIONS_CLOSED = counter("toolcrib_sessions_closed_total", "Sessions that ended, by why");
    OUTCOMES = counter("toolcrib_outcomes_total", "Outcomes reported, by what was done with them");

    // The log.
    LOG_COMMIT = histogram("toolcrib_log_commit_seconds", LATENCY, "Time to bring a batch of events to the disk");
    LOG_BATCH = histogram("toolcrib_log_batch_events", BATCH, "Events in a batch");
    LOG_QUEUE = gauge("toolcrib_log_queue_events", "Events that wait for the disk");
    LOG_LOST = counter("toolcrib_log_lost_events_total", "Answered or acknowledged events that did not reach the disk");
    LOG_BYTES = gauge("toolcrib_log_bytes", "Bytes of the events that are kept, without the audit of what was cut");
    LOG_AGE = gauge("toolcrib_log_age_seconds", "Age of the oldest event that is kept, that audit aside");
    STORE_WRITABLE = gauge("toolcrib_store_writable", "1 while the store takes writes, else 0");
    SNAPSHOT_AGE = gauge(
        "toolcrib_snapshot_age_seconds",
        "Age of what a restart would begin with, the newest snapshot, in the namespace where that is oldest"
    );

    // The server.
    GRPC_REQUESTS = counter("toolcrib_grpc_requests_total", "Requests answered, by method and code");
    GRPC_INFLIGHT = gauge("toolcrib_grpc_inflight", "Requests in work");
    GRPC_DURATION = histogram("toolcrib_grpc_request_duration_seconds", LATENCY, "Time to answer the hot methods");
    SHED = counter("toolcrib_shed_total", "Work turned away to stay within a limit, by which");
    CONFIG_RELOADS = counter("toolcrib_config_reloads_total", "Times the configuration was read again, by what came of it");
}

/// Content type of what [`Metrics::render`] returns.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The label of namespaces beyond the bound.
const OTHER: &str = "other";

/// The limit that turned work away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shed {
    /// Requests in work at once.
    Requests,
    /// Connections open at once.
    Connections,
    /// Events waiting for the disk.
    LogBuffer,
    /// Sessions open at once.
    Sessions,
    /// Watches at once.
    Watches,
}

impl Word for Shed {
    const ALL: &'static [Self] = &[Self::Requests, Self::Connections, Self::LogBuffer, Self::Sessions, Self::Watches];

    fn as_str(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Connections => "connections",
            Self::LogBuffer => "log_buffer",
            Self::Sessions => "sessions",
            Self::Watches => "watches",
        }
    }
}

/// What came of reading the configuration again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigReload {
    /// What can change in a running daemon was taken over.
    Ok,
    /// It was refused, and the daemon runs on with what it had.
    Refused,
}

impl Word for ConfigReload {
    const ALL: &'static [Self] = &[Self::Ok, Self::Refused];

    fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Refused => "refused",
        }
    }
}

/// Records and exports the metrics of one daemon. Nothing in it is global, so that daemons in one process, as tests
/// start them, do not count each other's traffic.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    recorder: Arc<PrometheusRecorder>,
    handle: PrometheusHandle,
    process: metrics_process::Collector,
    grpc: Arc<Grpc>,
    shed: Counters<Shed>,
    findings: Counters<FindingGroup>,
    empty_sources: Counter,
    log_commit: Histogram,
    log_batch: Histogram,
    log_queue: Gauge,
    log_lost: Counter,
    store_writable: Gauge,
    snapshot_age: Gauge,
    config_reloads: Counters<ConfigReload>,
    max_labels: usize,
    namespaces: Mutex<Namespaces>,
}

#[derive(Default)]
struct Namespaces {
    metrics: BTreeMap<NamespaceId, Arc<NamespaceMetrics>>,
    /// By label, `other` included.
    series: BTreeMap<String, Arc<Series>>,
    /// Which label a namespace has. The first to come keep theirs until the daemon stops, so that no counter falls.
    labels: BTreeMap<NamespaceId, String>,
}

impl Metrics {
    /// Starts with every series that belongs to no namespace, at zero. At most `max_labels` namespaces get a label of
    /// their own, the rest count together as `other`.
    pub fn new(max_labels: usize) -> Self {
        let mut builder = PrometheusBuilder::new();
        for family in FAMILIES {
            builder = family.set_buckets(builder);
        }
        let recorder = Arc::new(builder.build_recorder());
        for family in FAMILIES {
            family.describe(&recorder);
        }
        let process = metrics_process::Collector::default();
        metrics::with_local_recorder(&*recorder, || process.describe());

        let r = &*recorder;
        let revision = option_env!("TOOLCRIB_REVISION").unwrap_or("unknown");
        BUILD_INFO.level(r, &[("version", env!("CARGO_PKG_VERSION")), ("revision", revision)]).set(1.0);
        Self(Arc::new(Inner {
            handle: recorder.handle(),
            process,
            grpc: Arc::new(Grpc::new(&recorder)),
            shed: Counters::new(r, &SHED, &[], "reason"),
            findings: Counters::new(r, &FINDINGS, &[], "group"),
            empty_sources: EMPTY_SOURCES.count(r, &[]),
            log_commit: LOG_COMMIT.spread(r, &[]),
            log_batch: LOG_BATCH.spread(r, &[]),
            log_queue: LOG_QUEUE.level(r, &[]),
            log_lost: LOG_LOST.count(r, &[]),
            store_writable: STORE_WRITABLE.level(r, &[]),
            snapshot_age: SNAPSHOT_AGE.level(r, &[]),
            config_reloads: Counters::new(r, &CONFIG_RELOADS, &[], "result"),
            max_labels,
            namespaces: Mutex::default(),
            recorder,
        }))
    }

    /// Returns what records a namespace's traffic, to be kept beside the namespace. Its series are exported from the
    /// first call on.
    pub fn namespace(&self, namespace: &NamespaceId) -> Arc<NamespaceMetrics> {
        let mut known = self.namespaces();
        if let Some(metrics) = known.metrics.get(namespace) {
            return metrics.clone();
        }
        let own_labels = known.labels.values().filter(|label| *label != OTHER).count();
        let label = if own_labels < self.0.max_labels { namespace.as_str() } else { OTHER };
        let series = match known.series.get(label) {
            Some(series) => series.clone(),
            None => Arc::new(Series::new(&self.0.recorder, label)),
        };
        known.series.insert(label.to_owned(), series.clone());
        known.labels.insert(namespace.clone(), label.to_owned());
        let metrics = Arc::new(NamespaceMetrics::new(series));
        known.metrics.insert(namespace.clone(), metrics.clone());
        metrics
    }

    /// Shows every namespace as it stands at `now`. To be called with all of them, before each [`Metrics::render`] and
    /// every few seconds, which is what the ratios of the last 5 minutes are made of.
    pub fn mirror(&self, now: UnixMillis, samples: &[NamespaceSample<'_>]) {
        for sample in samples {
            self.namespace(sample.namespace);
        }
        let known = self.namespaces();
        for (label, series) in &known.series {
            let has_label = |sample: &&NamespaceSample<'_>| known.labels.get(sample.namespace) == Some(label);
            series.mirror(now, &samples.iter().filter(has_label).collect::<Vec<_>>());
        }
    }

    /// Counts a gRPC request from now until its [`InFlight`] ends; `path` is that of the HTTP request.
    pub fn request_started(&self, path: &str) -> InFlight {
        InFlight::start(&self.0.grpc, path)
    }

    /// Counts work that was turned away.
    pub fn shed(&self, reason: Shed) {
        self.0.shed.add(reason, 1);
    }

    /// Counts what admission found on a tool, whether it refused or only flagged it.
    pub fn found(&self, findings: &[Violation]) {
        for finding in findings {
            self.0.findings.add(FindingGroup::of(finding), 1);
        }
    }

    /// Counts sources that an import left without a tool.
    pub fn empty_sources(&self, n: usize) {
        self.0.empty_sources.increment(n as u64);
    }

    /// Records a batch of events that reached the disk.
    pub fn log_committed(&self, elapsed: Duration, events: usize) {
        self.0.log_commit.record(elapsed);
        self.0.log_batch.record(events as f64);
    }

    /// Shows how many events wait for the disk.
    pub fn log_queue(&self, events: usize) {
        self.0.log_queue.set(events as f64);
    }

    /// Shows how many acknowledged events did not reach the disk since the daemon started.
    pub fn log_lost(&self, events: u64) {
        self.0.log_lost.absolute(events);
    }

    /// Shows how many events the full buffer of the log turned away since the daemon started.
    pub fn log_shed(&self, events: u64) {
        self.0.shed.show(Shed::LogBuffer, events);
    }

    /// Shows whether the store takes writes.
    pub fn store_writable(&self, is_writable: bool) {
        self.0.store_writable.set(f64::from(u8::from(is_writable)));
    }

    /// Shows how old, in milliseconds, what a restart would begin with is; `None` where there is nothing to begin with.
    pub fn snapshot_age(&self, age_ms: Option<i64>) {
        self.0.snapshot_age.set(age_ms.map_or(f64::NAN, |ms| ms as f64 / 1e3));
    }

    /// Counts a configuration that was read again.
    pub fn config_reloaded(&self, result: ConfigReload) {
        self.0.config_reloads.add(result, 1);
    }

    /// Frees what recorded durations hold until they are sorted into buckets; to be called every few seconds.
    pub fn upkeep(&self) {
        self.0.handle.run_upkeep();
    }

    /// Returns everything in Prometheus' text format, with the process's own figures.
    pub fn render(&self) -> String {
        metrics::with_local_recorder(&*self.0.recorder, || self.0.process.collect());
        let mut page = self.0.handle.render();
        self.write_policies(&mut page);
        page
    }

    /// Writes the policies in force. Not by the library, which would keep a series for every version there ever was.
    fn write_policies(&self, page: &mut String) {
        let known = self.namespaces();
        if known.series.is_empty() {
            return;
        }
        let Family { name, help, .. } = POLICY_INFO;
        page.push_str(&format!("# HELP {name} {help}\n# TYPE {name} gauge\n"));
        for (label, series) in &known.series {
            let version = series.policy_version();
            page.push_str(&format!("{name}{{namespace=\"{label}\",version=\"{version}\"}} 1\n"));
        }
    }

    fn namespaces(&self) -> MutexGuard<'_, Namespaces> {
        self.0.namespaces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;

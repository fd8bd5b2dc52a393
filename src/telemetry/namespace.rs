//! The series of one namespace: what is recorded as it happens, and what is mirrored from its figures.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use metrics::{Counter, Gauge, Histogram};
use metrics_exporter_prometheus::PrometheusRecorder;

use super::family::{Counters, Family, Labels};
use super::latencies::Latencies;
use super::metrics as names;
use super::window::{Sums, Window};
use crate::core::event::{
    AdmissionResult, CacheBreak, Delivery, MoveCause, OutcomeResult, PlanResult, Presence, RequestResult, SessionEnd,
    StepEnd, ToolState, Verdict, Word,
};
use crate::core::figures::Figures;
use crate::core::ids::{NamespaceId, UnixMillis};
use crate::core::lifecycle::{Past, transition};

/// A namespace at one moment, as `/metrics` shows it.
pub struct NamespaceSample<'a> {
    /// Which.
    pub namespace: &'a NamespaceId,
    /// Its figures since it was made.
    pub figures: &'a Figures,
    /// Its tools by state.
    pub tools: BTreeMap<ToolState, u64>,
    /// Tools in the hot pool.
    pub resident_tools: u64,
    /// Sessions open.
    pub sessions: u64,
    /// Version of its policy.
    pub policy_version: u64,
    /// Bytes of the events in its log.
    pub log_bytes: u64,
    /// The stamp of the oldest of them; `None` where there is none on disk yet.
    pub log_begin_at: Option<UnixMillis>,
}

/// Records what happens in one namespace. Cheap to call: every series is held.
pub struct NamespaceMetrics {
    series: Arc<Series>,
    /// Of this namespace alone, even where its series are shared.
    recalls: Latencies,
}

impl NamespaceMetrics {
    pub(super) fn new(series: Arc<Series>) -> Self {
        Self { series, recalls: Latencies::default() }
    }

    /// Records a planned step: how long the daemon took, and how many definitions it issued.
    pub fn planned(&self, elapsed: Duration, issued: usize) {
        self.series.plan_duration.record(elapsed);
        self.series.issued_tools.record(issued as f64);
    }

    /// Records the time from a query to on-demand definitions.
    pub fn recalled(&self, elapsed: Duration) {
        self.series.recall_duration.record(elapsed);
        self.recalls.record(elapsed);
    }

    /// Returns the recall latency that a share `quantile` (0..=1) did not exceed since the daemon started.
    pub fn recall_quantile(&self, quantile: f64) -> Option<Duration> {
        self.recalls.quantile(quantile)
    }

    /// Counts an outcome that was reported.
    pub fn outcome(&self, result: OutcomeResult) {
        self.series.outcomes.add(result, 1);
    }

    /// Counts tools that went through admission.
    pub fn admitted(&self, result: AdmissionResult, n: u64) {
        self.series.admissions.add(result, n);
    }
}

/// Every series with one `namespace` label. Several namespaces may share it, then each value is the sum of theirs.
pub(super) struct Series {
    plan_duration: Histogram,
    recall_duration: Histogram,
    issued_tools: Histogram,
    outcomes: Counters<OutcomeResult>,
    admissions: Counters<AdmissionResult>,
    cache_breaks: Counters<CacheBreak>,

    plans: Counters<PlanResult>,
    plans_without_call: Counters<StepEnd>,
    calls: Counters<Presence>,
    selections: Counters<Verdict>,
    requests: Counters<RequestResult>,
    sessions_opened: Counters<Delivery>,
    sessions_closed: Counters<SessionEnd>,
    context_tokens: [Counter; 4],
    window_tokens: Counter,
    everything_tokens: Counter,
    extra_hops: Counter,
    reranks_changed: Counter,
    reranks_unchanged: Counter,
    swapped_in: Counter,
    moves: BTreeMap<(ToolState, MoveCause), Counter>,

    tools: Vec<(ToolState, Gauge)>,
    resident_tools: Gauge,
    sessions: Gauge,
    log_bytes: Gauge,
    log_age: Gauge,
    policy_version: AtomicU64,
    presence_ratio: Gauge,
    injection_share_ratio: Gauge,
    window: Mutex<Window>,
}

impl Series {
    /// Registers all of them, so that they are exported at zero from the start.
    pub(super) fn new(r: &PrometheusRecorder, namespace: &str) -> Self {
        let own: Labels<'_> = &[("namespace", namespace)];
        let count = |family: &Family| family.count(r, own);
        let level = |family: &Family| family.level(r, own);
        let part = |part| names::CONTEXT_TOKENS.count(r, &[("namespace", namespace), ("part", part)]);
        let rerank = |changed| names::RERANKS.count(r, &[("namespace", namespace), ("changed", changed)]);
        let moved = |(to, cause): (ToolState, MoveCause)| {
            names::TRANSITIONS.count(r, &[("namespace", namespace), ("to", to.as_str()), ("cause", cause.as_str())])
        };
        let tools = |state: ToolState| names::TOOLS.level(r, &[("namespace", namespace), ("state", state.as_str())]);
        Self {
            plan_duration: names::PLAN_DURATION.spread(r, own),
            recall_duration: names::RECALL_DURATION.spread(r, &[("namespace", namespace), ("stage", "total")]),
            issued_tools: names::ISSUED_TOOLS.spread(r, own),
            outcomes: Counters::new(r, &names::OUTCOMES, own, "result"),
            admissions: Counters::new(r, &names::ADMISSIONS, own, "result"),
            cache_breaks: Counters::new(r, &names::CACHE_BREAKS, own, "cause"),
            plans: Counters::new(r, &names::PLANS, own, "result"),
            plans_without_call: Counters::new(r, &names::PLANS_WITHOUT_CALL, own, "reason"),
            calls: Counters::new(r, &names::CALLS, own, "presence"),
            selections: Counters::new(r, &names::SELECTIONS, own, "verdict"),
            requests: Counters::new(r, &names::REQUESTS_FOR_TOOLS, own, "result"),
            sessions_opened: Counters::new(r, &names::SESSIONS_OPENED, own, "delivery"),
            sessions_closed: Counters::new(r, &names::SESSIONS_CLOSED, own, "reason"),
            context_tokens: ["directory", "resident", "issued", "meta"].map(part),
            window_tokens: count(&names::CONTEXT_WINDOW_TOKENS),
            everything_tokens: count(&names::FULL_INJECTION_TOKENS),
            extra_hops: count(&names::EXTRA_HOPS),
            reranks_changed: rerank("yes"),
            reranks_unchanged: rerank("no"),
            swapped_in: count(&names::HOT_POOL_CHANGES),
            moves: possible_moves().into_iter().map(|pair| (pair, moved(pair))).collect(),
            tools: ToolState::ALL.iter().map(|state| (*state, tools(*state))).collect(),
            resident_tools: level(&names::RESIDENT_TOOLS),
            sessions: level(&names::SESSIONS),
            log_bytes: level(&names::LOG_BYTES),
            log_age: level(&names::LOG_AGE),
            policy_version: AtomicU64::new(0),
            presence_ratio: level(&names::PRESENCE_RATIO),
            injection_share_ratio: level(&names::INJECTION_SHARE_RATIO),
            window: Mutex::default(),
        }
    }

    /// Returns the newest version of a policy among the namespaces that share these series.
    pub(super) fn policy_version(&self) -> u64 {
        self.policy_version.load(Ordering::Relaxed)
    }

    /// Shows the namespaces that share these series, as they stand at `now`.
    pub(super) fn mirror(&self, now: UnixMillis, samples: &[&NamespaceSample<'_>]) {
        let figures = samples.iter().map(|sample| sample.figures);
        let sum = |of: fn(&Figures) -> u64| figures.clone().map(of).sum::<u64>();

        self.plans.mirror(figures.clone().map(|f| &f.plans));
        self.plans_without_call.mirror(figures.clone().map(|f| &f.plans_without_call));
        self.calls.mirror(figures.clone().map(|f| &f.calls));
        self.selections.mirror(figures.clone().map(|f| &f.selections));
        self.requests.mirror(figures.clone().map(|f| &f.requests));
        self.cache_breaks.mirror(figures.clone().map(|f| &f.cache_breaks));
        self.sessions_opened.mirror(figures.clone().map(|f| &f.deliveries));
        self.sessions_closed.mirror(figures.clone().map(|f| &f.sessions_ended));
        let parts: [fn(&Figures) -> u64; 4] =
            [|f| f.tokens.directory, |f| f.tokens.resident, |f| f.tokens.issued, |f| f.tokens.meta];
        for (counter, part) in self.context_tokens.iter().zip(parts) {
            counter.absolute(sum(part));
        }
        self.window_tokens.absolute(sum(|f| f.tokens.window));
        self.everything_tokens.absolute(sum(|f| f.tokens.everything));
        self.extra_hops.absolute(sum(|f| f.extra_hops));
        self.reranks_changed.absolute(sum(|f| f.reranks_changed));
        self.reranks_unchanged.absolute(sum(|f| f.reranks_unchanged));
        self.swapped_in.absolute(sum(|f| f.swapped_in));
        for (pair, counter) in &self.moves {
            counter.absolute(figures.clone().filter_map(|f| f.moves.get(pair)).sum());
        }

        for (state, gauge) in &self.tools {
            gauge.set(samples.iter().map(|sample| sample.tools.get(state).copied().unwrap_or(0)).sum::<u64>() as f64);
        }
        self.resident_tools.set(samples.iter().map(|sample| sample.resident_tools).sum::<u64>() as f64);
        self.sessions.set(samples.iter().map(|sample| sample.sessions).sum::<u64>() as f64);
        self.log_bytes.set(samples.iter().map(|sample| sample.log_bytes).sum::<u64>() as f64);
        let begin_at = samples.iter().filter_map(|sample| sample.log_begin_at).min();
        self.log_age.set(begin_at.map_or(0.0, |begin_at| (now.0 - begin_at.0) as f64 / 1e3));
        let version = samples.iter().map(|sample| sample.policy_version).max().unwrap_or(0);
        self.policy_version.store(version, Ordering::Relaxed);

        let mut sums = Sums::default();
        figures.for_each(|f| sums.add(f));
        let ratios = self.window.lock().unwrap_or_else(PoisonError::into_inner).ratios(now, sums);
        self.presence_ratio.set(ratios.presence);
        self.injection_share_ratio.set(ratios.injection_share);
    }
}

/// Returns every state that a tool can go to, with each cause that leads there.
fn possible_moves() -> BTreeSet<(ToolState, MoveCause)> {
    let olds = || ToolState::ALL.iter().copied().map(Some).chain([None]);
    let mut moves = BTreeSet::new();
    for cause in MoveCause::ALL {
        for old in olds() {
            for before_withdrawal in ToolState::ALL.iter().copied() {
                for is_approved in [false, true] {
                    let past = Past { before_withdrawal, is_approved };
                    // What stays where it is is no transition.
                    let new = transition(old, *cause, past).filter(|new| old != Some(*new));
                    moves.extend(new.map(|new| (new, *cause)));
                }
            }
        }
    }
    moves
}

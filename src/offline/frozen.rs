//! Plays a trace through a whole namespace, as the daemon would have served it: *frozen* residency.
//!
//! Each session's block is frozen at its first line, every step is planned by the core, and whether a tool was present
//! is the core's own judgement. What the daemon's front does (who answers a call, argument checks) is left out: a
//! recorded call ran. Before editing, know that two shares come of it. The *resident share* is what the hot pool alone
//! gives under frozen blocks; *presence* is higher, because a step also issues what its query asks for and puts back
//! the tools of the session's last calls.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::definitions::Definitions;
use super::replay::ReplayPolicy;
use super::report::FrozenFigures;
use super::trace::{TraceCall, TraceLine};
use crate::core::event::{
    Delivery, Event, Format, NamespaceCreated, OutcomeReported, PolicySet, PoolSpec, Presence, SessionClosed,
    SessionOpened, SessionSpec, ToolsRegistered,
};
use crate::core::figures::Figures;
use crate::core::ids::{CallId, Digest, NamespaceId, SessionId, StepId, ToolId, UnixMillis};
use crate::core::namespace::Namespace;
use crate::core::planning::{self, StepAsk};
use crate::core::policy::{KEYS, Policy};
use crate::core::retrieval::Query;

/// Who is written down as the actor of the replay's own changes.
const REPLAY: &str = "replay";

/// Plays a whole trace with one way of choosing the hot pool; everything else is as `policy` says.
///
/// Sessions speak MCP, take on-demand definitions as text (`INVOKE`) and have the policy's default window. Where lines
/// carry no stamp, no time passes: nothing expires, and a quarantine lasts.
pub fn replay_frozen(
    definitions: &Definitions,
    trace: &[TraceLine],
    pool: ReplayPolicy,
    policy: &Policy,
) -> FrozenFigures {
    let Some(kind) = pool.pool_policy() else { return replay_full(definitions, trace, policy) };
    let mut policy = policy.clone();
    policy.hot_pool.policy = kind;
    let last_lines: BTreeMap<&SessionId, u64> = trace.iter().map(|line| (&line.session, line.line)).collect();
    let mut replay = FrozenReplay::new(definitions, &policy);
    for line in trace {
        replay.play(line);
        // An open session holds its block, so one that is over is closed.
        if last_lines.get(&line.session) == Some(&line.line) {
            replay.fold(&Event::SessionClosed(SessionClosed { session: line.session.clone() }));
        }
    }
    replay.finish(pool.as_str())
}

/// Every tool resident all along, without directory and meta tools: nothing is left to decide, so no namespace is
/// needed to say what it costs.
fn replay_full(definitions: &Definitions, trace: &[TraceLine], policy: &Policy) -> FrozenFigures {
    let known: BTreeSet<&ToolId> = definitions.admitted.iter().map(|admitted| &admitted.definition.id).collect();
    let (mut steps, mut calls, mut unknown_calls) = (0, 0, 0);
    for line in trace {
        steps += u64::from(line.starts_step);
        match &line.call {
            Some(call) if known.contains(&call.tool) => calls += 1,
            Some(_) => unknown_calls += 1,
            None => {}
        }
    }
    let everything = definitions.everything_tokens();
    let window = f64::from(policy.session.default_window);
    let some = |n: u64, share: f64| (n > 0).then_some(share);
    FrozenFigures {
        policy: ReplayPolicy::Full.as_str(),
        steps,
        calls,
        unknown_calls,
        presence: some(calls, 1.0),
        resident_share: some(calls, 1.0),
        resident: calls,
        issued: 0,
        recalled: 0,
        absent: 0,
        reranks: 0,
        swapped_in: 0,
        changes: 0,
        tokens: everything * steps,
        tokens_per_step: some(steps, everything as f64),
        injection_share: some(steps, everything as f64 / window),
        saving: some(steps * everything, 0.0),
    }
}

/// A namespace that a trace is played through.
struct FrozenReplay {
    namespace: Namespace,
    spec: Arc<SessionSpec>,
    /// The step that each session is in.
    steps: BTreeMap<SessionId, StepId>,
    /// What sending every candidate would cost, and the revision of the registry that it was counted at.
    everything: Option<(u64, u32)>,
    at: UnixMillis,
    /// The figures before the first line: the initial pool is no re-rank.
    at_start: Figures,
    unknown_calls: u64,
}

impl FrozenReplay {
    fn new(definitions: &Definitions, policy: &Policy) -> Self {
        let spec = SessionSpec {
            format: Format::Mcp,
            delivery: Delivery::Invoke,
            model: String::new(),
            window: policy.session.default_window,
            pool: PoolSpec::default(),
            own_tools: Vec::new(),
            on_demand_budget: 0,
            ephemeral: false,
            parent: None,
            fork_of: None,
            played: true,
            mark_cache: false,
        };
        let mut replay = Self {
            namespace: Namespace::new(NamespaceId::new(REPLAY)),
            spec: Arc::new(spec),
            steps: BTreeMap::new(),
            everything: None,
            at: UnixMillis::default(),
            at_start: Figures::default(),
            unknown_calls: 0,
        };
        // The salt keys hashes of queries, which a replay does not keep.
        replay.fold(&Event::NamespaceCreated(NamespaceCreated { salt: Digest::of(REPLAY.as_bytes()) }));
        let values = KEYS.iter().map(|key| (key.name.to_owned(), key.get(policy))).collect();
        replay.fold(&Event::PolicySet(PolicySet { request_id: String::new(), actor: REPLAY.into(), values }));
        replay.fold(&Event::ToolsRegistered(ToolsRegistered {
            request_id: String::new(),
            actor: REPLAY.into(),
            admitted: definitions.admitted.clone(),
            notes: Vec::new(),
            complete_sources: BTreeSet::new(),
            listed: BTreeSet::new(),
            no_longer_waiting: BTreeSet::new(),
        }));
        replay.at_start = replay.namespace.figures().clone();
        replay
    }

    fn fold(&mut self, cause: &Event) {
        self.namespace.fold(self.at, cause);
    }

    fn play(&mut self, line: &TraceLine) {
        self.pass_time(line.at);
        let is_open = self.namespace.session(&line.session).is_some_and(|session| session.ended().is_none());
        if !is_open {
            let opened = SessionOpened { session: line.session.clone(), spec: self.spec.clone() };
            self.fold(&Event::SessionOpened(opened));
        }
        // A session that expired between two calls of a batch is opened again, and its step with it.
        if line.starts_step || !is_open {
            self.plan(line);
        }
        if let Some(call) = &line.call {
            self.call(line, call);
        }
    }

    fn pass_time(&mut self, at: Option<UnixMillis>) {
        let Some(at) = at.filter(|at| *at > self.at) else { return };
        self.at = at;
        if self.namespace.next_deadline().is_some_and(|deadline| deadline <= at) {
            self.fold(&Event::TimePassed);
        }
    }

    fn plan(&mut self, line: &TraceLine) {
        let everything = self.everything_tokens();
        let view = self.namespace.view();
        let Some(session) = self.namespace.session(&line.session) else { return };
        let Some(block) = session.block().cloned() else { return };
        let ask = StepAsk {
            key: "",
            query: Query { user: line.query.as_deref().unwrap_or_default(), model: "", goal: "" },
            present: line.present.as_ref().map(|tools| tools.iter().cloned().collect()),
            max_tools: 0,
            max_tokens: 0,
        };
        let planned = planning::plan(&view, session, &block, everything, &ask).planned;
        self.steps.insert(line.session.clone(), planned.step);
        self.fold(&Event::StepPlanned(planned));
    }

    fn everything_tokens(&mut self) -> u32 {
        let registry = self.namespace.registry();
        match self.everything {
            Some((revision, tokens)) if revision == registry.revision() => tokens,
            _ => {
                let tokens = planning::everything_tokens(registry, &self.spec);
                self.everything = Some((registry.revision(), tokens));
                tokens
            }
        }
    }

    fn call(&mut self, line: &TraceLine, call: &TraceCall) {
        if self.namespace.registry().get(&call.tool).is_none() {
            self.unknown_calls += 1;
            return;
        }
        self.fold(&Event::OutcomeReported(OutcomeReported {
            session: line.session.clone(),
            call_id: CallId::new(line.line.to_string()),
            step: self.steps.get(&line.session).copied(),
            tool: Some(call.tool.clone()),
            ending: call.ending,
            message: String::new(),
            duration_ms: 0,
            retry_of: None,
            arguments_fit: None,
            judgement: None,
        }));
    }

    fn finish(self, policy: &'static str) -> FrozenFigures {
        let (figures, start) = (self.namespace.figures(), &self.at_start);
        let (steps, calls, tokens) = (figures.steps(), figures.calls.total(), figures.tokens.placed());
        let resident = figures.calls.get(Presence::Resident);
        let changes = figures.reranks_changed - start.reranks_changed;
        FrozenFigures {
            policy,
            steps,
            calls,
            unknown_calls: self.unknown_calls,
            presence: figures.presence_rate(),
            resident_share: (calls > 0).then(|| resident as f64 / calls as f64),
            resident,
            issued: figures.calls.get(Presence::Issued),
            recalled: figures.calls.get(Presence::Recalled),
            absent: figures.calls.get(Presence::Absent),
            reranks: changes + figures.reranks_unchanged - start.reranks_unchanged,
            swapped_in: figures.swapped_in - start.swapped_in,
            changes,
            tokens,
            tokens_per_step: (steps > 0).then(|| tokens as f64 / steps as f64),
            injection_share: figures.injection_share(),
            saving: figures.saving(),
        }
    }
}

#[cfg(test)]
mod tests;

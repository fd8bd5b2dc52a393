//! Plays a trace against a hot-pool policy with *live* residency: the pool changes under a running conversation.
//!
//! These are the reference's figures. The daemon freezes a session's block instead, and is replayed through the whole
//! namespace. The order within a tick is the reference's and decides the figures: presence is judged against the pool
//! before the tick, then all heats age, then the call is added, then the pool is re-ranked if it is due.

use std::collections::{BTreeMap, BTreeSet};

use super::report::LiveFigures;
use super::trace::{TraceLine, TraceTool};
use crate::core::event::PoolReranked;
use crate::core::hot_pool::HotPool;
use crate::core::ids::{Epoch, SessionId, Tick, ToolId};
use crate::core::policy::{HotPoolPolicy, PoolPolicy};

/// What a replay compares: the daemon's pool policies, and having every tool resident.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReplayPolicy {
    /// By heat, every so many ticks.
    Ewma,
    /// By last use, at every tick.
    Lru,
    /// The seeded tools all along; where none is seeded, nothing is resident.
    Static,
    /// Every tool of the tools file, whatever the slots.
    Full,
}

impl ReplayPolicy {
    /// Every policy, in the order of a report.
    pub const ALL: [Self; 4] = [Self::Full, Self::Static, Self::Lru, Self::Ewma];

    /// Returns the name, as `--policy` takes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ewma => "ewma",
            Self::Lru => "lru",
            Self::Static => "static",
            Self::Full => "full",
        }
    }

    /// Returns the core's policy of that name; `None` where every tool is resident and nothing is chosen.
    pub(super) fn pool_policy(self) -> Option<PoolPolicy> {
        match self {
            Self::Ewma => Some(PoolPolicy::Ewma),
            Self::Lru => Some(PoolPolicy::Lru),
            Self::Static => Some(PoolPolicy::Static),
            Self::Full => None,
        }
    }
}

/// Plays a whole trace against one policy; slots, interval and decay are those of `hot_pool`.
pub fn replay_live(
    tools: &[TraceTool],
    trace: &[TraceLine],
    policy: ReplayPolicy,
    hot_pool: &HotPoolPolicy,
) -> LiveFigures {
    let mut replay = LiveReplay::new(tools, policy, hot_pool);
    for line in trace {
        replay.play(line);
    }
    replay.finish()
}

/// One policy on one trace, fed line by line, so that several policies can share one pass over a file.
pub struct LiveReplay<'a> {
    name: &'static str,
    /// `None` where every tool is resident.
    pool: Option<Pool>,
    /// Sizes of the tools in tokens, `None` where not known.
    sizes: BTreeMap<&'a ToolId, Option<u64>>,
    /// Tokens of the resident definitions as the pool stands.
    resident_tokens: Option<u64>,
    /// The epoch that a session's last step met.
    epochs: BTreeMap<SessionId, Epoch>,
    tick: Tick,
    steps: u64,
    unknown_calls: u64,
    absent: u64,
    reranks: u64,
    swapped_in: u64,
    changes: u64,
    changes_in_session: u64,
    tokens: Option<u64>,
}

/// The core's hot pool under a policy.
struct Pool {
    hot: HotPool,
    policy: HotPoolPolicy,
}

impl<'a> LiveReplay<'a> {
    /// Starts with the pool that the tools' initial scores give, seeded in file order.
    pub fn new(tools: &'a [TraceTool], policy: ReplayPolicy, hot_pool: &HotPoolPolicy) -> Self {
        let sizes: BTreeMap<&ToolId, Option<u64>> =
            tools.iter().map(|tool| (&tool.id, tool.schema_tokens.map(u64::from))).collect();
        let pool = policy.pool_policy().map(|kind| {
            let policy = HotPoolPolicy { policy: kind, ..hot_pool.clone() };
            let mut hot = HotPool::default();
            for tool in tools {
                hot.seed(&tool.id, tool.initial_score, Tick(0));
            }
            let initial = hot.refill(&policy, Tick(0), &BTreeSet::new(), &|_| true);
            if let Some(initial) = initial {
                hot.apply(&initial);
            }
            Pool { hot, policy }
        });
        let mut replay = Self {
            name: policy.as_str(),
            pool,
            sizes,
            resident_tokens: None,
            epochs: BTreeMap::new(),
            tick: Tick(0),
            steps: 0,
            unknown_calls: 0,
            absent: 0,
            reranks: 0,
            swapped_in: 0,
            changes: 0,
            changes_in_session: 0,
            tokens: Some(0),
        };
        replay.resident_tokens = replay.measure_residents();
        replay
    }

    /// Plays one line: the step, where it starts one, and the call, where it has one. Every call is a tick, whatever
    /// its ending.
    pub fn play(&mut self, line: &TraceLine) {
        if line.starts_step {
            self.start_step(&line.session);
        }
        if let Some(call) = &line.call {
            self.count(&call.tool);
        }
    }

    /// Returns what it came to.
    pub fn finish(self) -> LiveFigures {
        let calls = self.tick.0;
        LiveFigures {
            policy: self.name,
            steps: self.steps,
            calls,
            unknown_calls: self.unknown_calls,
            presence: (calls > 0).then(|| (calls - self.absent) as f64 / calls as f64),
            absent: self.absent,
            reranks: self.reranks,
            swapped_in: self.swapped_in,
            changes: self.changes,
            changes_in_session: self.changes_in_session,
            tokens: self.tokens,
            tokens_per_step: match self.tokens {
                Some(tokens) if self.steps > 0 => Some(tokens as f64 / self.steps as f64),
                _ => None,
            },
        }
    }

    fn start_step(&mut self, session: &SessionId) {
        self.steps += 1;
        self.tokens = match (self.tokens, self.resident_tokens) {
            (Some(tokens), Some(resident)) => Some(tokens + resident),
            _ => None,
        };
        if let Some(pool) = &self.pool {
            let epoch = pool.hot.epoch();
            let met = self.epochs.insert(session.clone(), epoch);
            if met.is_some_and(|met| met != epoch) {
                self.changes_in_session += 1;
            }
        }
    }

    fn count(&mut self, called: &ToolId) {
        if !self.sizes.contains_key(called) {
            self.unknown_calls += 1;
            return;
        }
        self.tick = self.tick.next();
        let Some(pool) = &mut self.pool else { return };
        if !pool.hot.members().contains(called) {
            self.absent += 1;
        }
        pool.hot.count(&pool.policy, called, self.tick);
        if pool.hot.is_due(&pool.policy, self.tick) {
            let reranked = pool.hot.rerank(&pool.policy, self.tick, &BTreeSet::new(), &|_| true);
            pool.hot.apply(&reranked);
            self.note(&reranked);
        }
    }

    fn note(&mut self, reranked: &PoolReranked) {
        self.reranks += 1;
        self.swapped_in += reranked.entered.len() as u64;
        if !reranked.entered.is_empty() || !reranked.left.is_empty() {
            self.changes += 1;
            self.resident_tokens = self.measure_residents();
        }
    }

    /// Sums the residents' sizes; `None` as soon as one is not known.
    fn measure_residents(&self) -> Option<u64> {
        match &self.pool {
            Some(pool) => pool.hot.members().iter().map(|tool| self.sizes.get(tool).copied().flatten()).sum(),
            None => self.sizes.values().copied().sum(),
        }
    }
}

#[cfg(test)]
mod tests;

//! What a replay comes to: plain values in the shape of `replay --json`, printed elsewhere.

use serde::Serialize;

/// Which tools a step had resident.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Residency {
    /// The hot pool as it stood, also under a running session: the reference's figures.
    Live,
}

/// Policies on the same traffic, side by side.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LiveReport {
    /// Always [`Residency::Live`]: every claim says which it is.
    pub residency: Residency,
    /// One entry a policy, in the order they were asked for.
    pub policies: Vec<LiveFigures>,
}

impl LiveReport {
    /// Puts the figures of several policies side by side.
    pub fn new(policies: Vec<LiveFigures>) -> Self {
        Self { residency: Residency::Live, policies }
    }
}

/// What one policy came to on a trace, with the hot pool changing under running sessions.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LiveFigures {
    /// The policy's name.
    pub policy: &'static str,
    /// Model requests in the trace.
    pub steps: u64,
    /// Calls counted, each one tick.
    pub calls: u64,
    /// Calls of names that the tools file lacks: no ticks, and outside every rate.
    pub unknown_calls: u64,
    /// Share of calls whose tool was in the pool before the call; `None` without calls.
    pub presence: Option<f64>,
    /// Calls whose tool was not in the pool.
    pub absent: u64,
    /// Times the pool was ranked.
    pub reranks: u64,
    /// Tools that entered the pool, the initial pool's not counted.
    pub swapped_in: u64,
    /// Re-ranks that changed who is in the pool.
    pub changes: u64,
    /// Steps that met another pool than the step before in the same session: each would break a prompt cache once.
    pub changes_in_session: u64,
    /// Tokens of resident definitions, summed over steps; `None` where the size of a tool is not known.
    pub tokens: Option<u64>,
    /// The same for one step; `None` without steps too.
    pub tokens_per_step: Option<f64>,
}

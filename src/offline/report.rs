//! What a replay comes to: plain values in the shape of `replay --json`, printed elsewhere.

use serde::Serialize;

use crate::core::event::Record;
use crate::core::ids::Seq;

/// Which tools a step had resident.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Residency {
    /// The hot pool as it stood, also under a running session: the reference's figures.
    Live,
    /// The block that a session was given when it opened: the daemon's figures.
    Frozen,
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

/// Policies on the same traffic, each served as the daemon would have.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FrozenReport {
    /// Always [`Residency::Frozen`].
    pub residency: Residency,
    /// Tools that the gate would refuse, which are played all the same; `None` where the file has no definitions.
    pub would_be_refused: Option<u64>,
    /// One entry a policy, in the order they were asked for.
    pub policies: Vec<FrozenFigures>,
}

impl FrozenReport {
    /// Puts the figures of several policies side by side.
    pub fn new(would_be_refused: Option<u64>, policies: Vec<FrozenFigures>) -> Self {
        Self { residency: Residency::Frozen, would_be_refused, policies }
    }
}

/// What one policy came to on a trace, with every session's block frozen. Shares are in 0..=1, `None` where there is
/// nothing to share.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FrozenFigures {
    /// The policy's name.
    pub policy: &'static str,
    /// Steps planned.
    pub steps: u64,
    /// Calls counted, each one tick.
    pub calls: u64,
    /// Calls of names that the tools file lacks: no ticks, and outside every rate.
    pub unknown_calls: u64,
    /// Share of calls whose tool was in front of the model, in the block or issued.
    pub presence: Option<f64>,
    /// Share of calls whose tool was in the block: what the hot pool alone is worth.
    pub resident_share: Option<f64>,
    /// Calls of tools in the block.
    pub resident: u64,
    /// Calls of tools that were issued before.
    pub issued: u64,
    /// Calls of tools that the model had asked for; a trace holds no such asking.
    pub recalled: u64,
    /// Calls of tools that were not there.
    pub absent: u64,
    /// Times the pool was ranked, the initial pool's not counted.
    pub reranks: u64,
    /// Tools that entered the pool since.
    pub swapped_in: u64,
    /// Re-ranks that changed who is in the pool; none of them reached an open session's block.
    pub changes: u64,
    /// Tokens of tool text, summed over steps.
    pub tokens: u64,
    /// The same for one step.
    pub tokens_per_step: Option<f64>,
    /// Tokens of tool text ÷ context windows.
    pub injection_share: Option<f64>,
    /// What was not spent, as a share of sending every definition; negative where it cost more.
    pub saving: Option<f64>,
}

/// What drawing an event log again came to. Shares are in 0..=1, `None` where there is nothing to share.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct EventReport {
    /// Always [`Residency::Frozen`].
    pub residency: Residency,
    /// Records drawn, causes included.
    pub records: u64,
    /// Causes among them.
    pub causes: u64,
    /// Calls counted.
    pub ticks: u64,
    /// Hot pools there were.
    pub epochs: u64,
    /// Share of calls whose tool was in front of the model without being asked for.
    pub presence: Option<f64>,
    /// The same with recalls counted in.
    pub coverage: Option<f64>,
    /// Tokens of tool text ÷ context windows.
    pub injection_share: Option<f64>,
    /// Wrong picks ÷ (wrong + right).
    pub mis_selection: Option<f64>,
    /// Share of selections that were judged.
    pub judged_share: Option<f64>,
    /// Times the pool was ranked or refilled.
    pub reranks: u64,
    /// Tools that entered the pool.
    pub swapped_in: u64,
    /// Whether the log held consequences to compare with; an export of causes alone does not.
    pub compared: bool,
    /// The first place where the log says something else than what was drawn.
    pub difference: Option<Difference>,
}

/// A place where two streams of records part.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Difference {
    /// The place, counted from 1.
    pub seq: Seq,
    /// What the log says; `None` where it ends before.
    pub recorded: Option<Record>,
    /// What was drawn; `None` where nothing more was.
    pub drawn: Option<Record>,
}

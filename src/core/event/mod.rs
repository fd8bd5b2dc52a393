//! The whole vocabulary of the event log.
//!
//! A *cause* is something that happened to the daemon: an accepted command, a step planned, an outcome reported, time
//! passing. A *consequence* is what the core drew from it: a block frozen, a call counted, an epoch, a transition. A
//! cause and all it drew stand in one transaction. Recovery applies both and decides nothing; replay reads the causes,
//! decides again, and must draw the same consequences. So: whatever can be decided from causes is a consequence, and
//! whatever a cause carries is a fact that cannot be worked out again (a query is not in the log, so what was issued
//! for it is).
//!
//! Additive: a field may be added with a default, a variant may be added; none changes its meaning.

mod block;
mod tools;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ids::{
    Alias, CallId, Digest, Epoch, Generation, Selector, Seq, SessionId, StepId, Tick, ToolId, UnixMillis, Version,
};

pub(in crate::core) use words::words;

pub use block::{Block, Piece, Place, Resident};
pub use tools::{AdmissionNote, Admitted, Flag, ToolChanged, ToolsRegistered};
pub use words::{
    AdmissionResult, CacheBreak, Delivery, Ending, Format, Judge, MoveCause, Origin, OutcomeResult, PlanResult,
    PoolReason, Presence, RequestResult, SessionEnd, StepEnd, ToolAction, ToolState, Verdict, WaitCause, Word,
};

/// One line of a namespace's log.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Its place, from 1, without gaps.
    pub seq: Seq,
    /// When its cause came in; never less than the record before it.
    pub at: UnixMillis,
    /// What happened.
    pub event: Event,
}

/// Everything that can stand in the log.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    // Causes.
    /// The namespace was made.
    NamespaceCreated(NamespaceCreated),
    /// Definitions passed the gate and were taken in.
    ToolsRegistered(ToolsRegistered),
    /// An operator did something to a tool.
    ToolChanged(ToolChanged),
    /// Values of the policy were set.
    PolicySet(PolicySet),
    /// A runtime opened a session.
    SessionOpened(SessionOpened),
    /// A runtime took the pending changes of a session.
    SessionRefreshed(SessionRefreshed),
    /// A runtime closed a session.
    SessionClosed(SessionClosed),
    /// A step was planned.
    StepPlanned(StepPlanned),
    /// A step ended without a call.
    StepEnded(StepEnded),
    /// The model asked for a tool.
    ToolRequested(ToolRequested),
    /// The calls of one reply were checked before they ran.
    CallsChecked(CallsChecked),
    /// The runtime said what became of a call.
    OutcomeReported(OutcomeReported),
    /// The runtime said what the provider billed for a step.
    UsageReported(UsageReported),
    /// Time passed that something was waiting for.
    TimePassed,
    /// What was kept of a session's words was erased.
    SessionErased(SessionErased),

    // Consequences.
    /// A session's block was frozen.
    BlockFrozen(BlockFrozen),
    /// A call was counted.
    CallCounted(CallCounted),
    /// A selection was judged.
    CallJudged(CallJudged),
    /// The hot pool was re-ranked.
    PoolReranked(PoolReranked),
    /// A tool moved from one state to another.
    ToolMoved(ToolMoved),
    /// A session ended.
    SessionEnded(SessionEnded),
}

impl Event {
    /// Returns whether the event came from outside, rather than being drawn by the core.
    pub fn is_cause(&self) -> bool {
        match self {
            Self::NamespaceCreated(_)
            | Self::ToolsRegistered(_)
            | Self::ToolChanged(_)
            | Self::PolicySet(_)
            | Self::SessionOpened(_)
            | Self::SessionRefreshed(_)
            | Self::SessionClosed(_)
            | Self::StepPlanned(_)
            | Self::StepEnded(_)
            | Self::ToolRequested(_)
            | Self::CallsChecked(_)
            | Self::OutcomeReported(_)
            | Self::UsageReported(_)
            | Self::TimePassed
            | Self::SessionErased(_) => true,
            Self::BlockFrozen(_)
            | Self::CallCounted(_)
            | Self::CallJudged(_)
            | Self::PoolReranked(_)
            | Self::ToolMoved(_)
            | Self::SessionEnded(_) => false,
        }
    }
}

/// The namespace was made.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct NamespaceCreated {
    /// Key of the hashes that stand for query terms; random, made by the engine.
    pub salt: Digest,
}

/// Values of the policy were set.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PolicySet {
    /// The caller's key for this change.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub request_id: String,
    /// Who did it.
    pub actor: String,
    /// Key to value; an empty value is the default.
    pub values: BTreeMap<String, String>,
}

/// A tool that the runtime owns.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct OwnTool {
    /// Name as the model sees it.
    pub name: Alias,
    /// Cost of its definition, for display.
    pub tokens: u32,
}

/// Which of a namespace's tools a session may see.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PoolSpec {
    /// What it may see; empty means all.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub allow: BTreeSet<Selector>,
    /// Taken out after allow.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub deny: BTreeSet<Selector>,
    /// Always in the block, whatever allow and deny say.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub must_have: BTreeSet<ToolId>,
}

impl PoolSpec {
    /// Returns whether a tool is among the session's candidates.
    pub fn admits(&self, tool: &ToolId) -> bool {
        if self.must_have.contains(tool) {
            return true;
        }
        let is_named_in = |set: &BTreeSet<Selector>| {
            set.contains(&Selector::Source(tool.source.clone())) || set.contains(&Selector::Tool(tool.clone()))
        };
        (self.allow.is_empty() || is_named_in(&self.allow)) && (self.deny.is_empty() || !is_named_in(&self.deny))
    }
}

/// What a runtime asked for when it opened a session.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SessionSpec {
    /// Format of everything rendered.
    pub format: Format,
    /// How on-demand definitions arrive.
    pub delivery: Delivery,
    /// The model, as named to the provider.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// Context window in tokens.
    pub window: u32,
    /// Candidate pool.
    pub pool: PoolSpec,
    /// The runtime's own tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_tools: Vec<OwnTool>,
    /// Most tokens that on-demand definitions may hold; 0 takes the policy's share.
    #[serde(default)]
    pub on_demand_budget: u32,
    /// On-demand definitions live for one step; read only where `present` is not given.
    #[serde(default)]
    pub ephemeral: bool,
    /// The session that started this one; lineage only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// The session whose context this one copies, and whose block it gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork_of: Option<SessionId>,
    /// The session plays recorded traffic with made arguments: no call of it is judged.
    #[serde(default)]
    pub played: bool,
    /// A cache breakpoint is written into the block.
    #[serde(default)]
    pub mark_cache: bool,
}

/// A runtime opened a session.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SessionOpened {
    /// Which.
    pub session: SessionId,
    /// What it asked for.
    pub spec: Arc<SessionSpec>,
}

/// A runtime took the pending changes of a session.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SessionRefreshed {
    /// Which.
    pub session: SessionId,
    /// Tools that the kept history still uses: they stay declared, whatever their state.
    pub keep: BTreeSet<ToolId>,
}

/// A runtime closed a session.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SessionClosed {
    /// Which.
    pub session: SessionId,
}

/// A tool put in front of the model outside the block.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Issue {
    /// Which.
    pub tool: ToolId,
    /// The version shown.
    pub version: Version,
    /// Why.
    pub origin: Origin,
    /// Its retrieval score, comparable within one plan only; 0 where it was not retrieved.
    #[serde(default)]
    pub score: f32,
}

/// Tokens of tool text in one model request, by part.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StepTokens {
    /// The directory.
    pub directory: u32,
    /// The residents.
    pub resident: u32,
    /// On-demand definitions that are present, this step's included.
    pub issued: u32,
    /// The meta tools.
    pub meta: u32,
    /// What every definition of the candidate pool would cost.
    pub everything: u32,
    /// The context window.
    pub window: u32,
}

impl StepTokens {
    /// Returns the tokens of tool text in the request.
    pub fn total(&self) -> u32 {
        self.directory + self.resident + self.issued + self.meta
    }
}

/// A step was planned.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepPlanned {
    /// Whose.
    pub session: SessionId,
    /// Which.
    pub step: StepId,
    /// The runtime's key for it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// The on-demand definitions that the runtime said are present before this step's pieces; `None` where it did not
    /// say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub present: Option<BTreeSet<ToolId>>,
    /// What was issued.
    pub issued: Vec<Issue>,
    /// How many tools matched the query.
    #[serde(default)]
    pub matched: u32,
    /// What the plan came to.
    pub result: PlanResult,
    /// Tokens once the pieces are placed.
    pub tokens: StepTokens,
}

/// A step ended without a call.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepEnded {
    /// Whose.
    pub session: SessionId,
    /// Which.
    pub step: StepId,
    /// How.
    pub end: StepEnd,
}

/// The model asked for a tool.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ToolRequested {
    /// Whose.
    pub session: SessionId,
    /// The provider's id of the meta call.
    pub call_id: CallId,
    /// The step in whose reply it was asked; `None` where it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
    /// What was issued.
    pub issued: Vec<Issue>,
    /// What came of it.
    pub result: RequestResult,
}

/// What a check found of one call.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CheckedCall {
    /// The call.
    pub call_id: CallId,
    /// The tool behind the name; `None` where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolId>,
    /// What is wrong with it; `Unjudged` where it may run, since arguments that fit are not yet a right pick.
    pub verdict: Verdict,
    /// The version that the call was checked against.
    #[serde(default)]
    pub version: Version,
    /// Whether the definition was issued with the refusal, so that a repeated call is the same call.
    #[serde(default)]
    pub issued: bool,
    /// The state that kept the call from running, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<ToolState>,
}

/// The calls of one reply were checked before they ran.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CallsChecked {
    /// Whose.
    pub session: SessionId,
    /// The step whose reply it was; `None` for a front that plans no steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
    /// Calls of admitted or unknown tools, in the order of the reply; own and meta tools are left out.
    pub calls: Vec<CheckedCall>,
}

/// A judgement that came with an outcome.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Judgement {
    /// What was judged.
    pub verdict: Verdict,
    /// Who.
    pub judge: Judge,
}

/// The runtime said what became of a call.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct OutcomeReported {
    /// Whose.
    pub session: SessionId,
    /// The call.
    pub call_id: CallId,
    /// The step that made it; `None` where it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
    /// The tool behind the name; `None` where there is none, or where it is the runtime's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolId>,
    /// How it ended.
    pub ending: Ending,
    /// Short text of the failure.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub duration_ms: u32,
    /// The call that this one repeats: no tick of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<CallId>,
    /// Whether arguments were checked after the fact, and fitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments_fit: Option<bool>,
    /// What somebody judged of the selection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judgement: Option<Judgement>,
}

/// The runtime said what the provider billed for a step.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct UsageReported {
    /// Whose.
    pub session: SessionId,
    /// All input tokens, cached ones included.
    pub input_tokens: u64,
    /// Of these, read from the prompt cache.
    pub cached_tokens: u64,
    /// The provider's own word for a miss; empty where it gave none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub miss_reason: String,
}

/// What was kept of a session's words was erased; draws nothing. Its records in the log were changed with it, so that they
/// read as if the session had had this name from the start.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SessionErased {
    /// The name that stands for the session since.
    pub session: SessionId,
    /// Who did it.
    pub actor: String,
}

/// A session's block was frozen.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BlockFrozen {
    /// Whose.
    pub session: SessionId,
    /// 1 at opening, and one more at each refresh.
    pub generation: Generation,
    /// The block's digest.
    pub digest: Digest,
    /// The revision of the registry that it was made of.
    #[serde(default)]
    pub revision: u64,
    /// The block itself, the first time that a digest is seen while no session holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<Arc<Block>>,
}

/// A call was counted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CallCounted {
    /// Whose.
    pub session: SessionId,
    /// The call.
    pub call_id: CallId,
    /// The tool.
    pub tool: ToolId,
    /// The tick it is; `None` for a retry, which tells of the tool's health and is no tick.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tick: Option<Tick>,
    /// Whether its definition was in front of the model.
    pub presence: Presence,
}

/// A selection was judged.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CallJudged {
    /// Whose.
    pub session: SessionId,
    /// The call.
    pub call_id: CallId,
    /// What it was judged to be.
    pub verdict: Verdict,
    /// By whom.
    pub judge: Judge,
}

/// One tool entering or leaving the hot pool.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PoolMove {
    /// Which.
    pub tool: ToolId,
    /// Why.
    pub reason: PoolReason,
}

/// The hot pool was re-ranked.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PoolReranked {
    /// The pool's number now; the same as before where nobody moved.
    pub epoch: Epoch,
    /// The tick it was ranked at.
    pub tick: Tick,
    /// The members, best first.
    pub members: Vec<ToolId>,
    /// Who came in.
    pub entered: Vec<PoolMove>,
    /// Who went out.
    pub left: Vec<PoolMove>,
}

/// One failure that a diagnostic record keeps.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// When it was reported.
    pub at: UnixMillis,
    /// Whose call it was.
    pub session: SessionId,
    /// The call.
    pub call_id: CallId,
    /// How it ended.
    pub ending: Ending,
    /// Its short text.
    pub message: String,
}

/// What is known of a tool at the moment it is quarantined.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Diagnosis {
    /// The failures that did it, oldest first.
    pub failures: Vec<Failure>,
    /// Its last success, if there was one.
    pub last_success: Option<UnixMillis>,
    /// Its heat at that moment.
    pub heat: f64,
    /// Its place in the hot pool at that moment, from 1.
    pub rank: Option<u32>,
}

/// A tool moved from one state to another, or stays where it is (`old` is `new`) while a definition of it began to wait
/// or was approved: trust and health are two axes, and its history shows both.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ToolMoved {
    /// Which.
    pub tool: ToolId,
    /// The state before; `None` for a new tool.
    pub old: Option<ToolState>,
    /// The state after.
    pub new: ToolState,
    /// Why.
    pub cause: MoveCause,
    /// Who, or `core`.
    pub actor: String,
    /// In words, where somebody gave some.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// When a quarantine ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<UnixMillis>,
    /// What was known at a quarantine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Diagnosis>,
}

/// A session ended.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SessionEnded {
    /// Which.
    pub session: SessionId,
    /// Why.
    pub end: SessionEnd,
}

//! The life of a tool: one transition table, and what the core must remember of a tool to draw its transitions.
//!
//! Decides when a tool moves and why; who may issue a tool in which state is [`ToolState::is_issuable`]. Retirement by
//! density, source incidents and growing backoff are not drawn yet; their causes stand in the table. Nor are the brake,
//! the lease of a probe, and withholding from the one session whose calls fail; an outcome from before a quarantine
//! counts in the probation after it, unless it is a sibling of a failure that was counted.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::erasure::Erasure;
use super::event::{Ending, Failure, MoveCause, OutcomeReported, ToolAction, ToolMoved, ToolState};
use super::ids::{SessionId, StepId, ToolId, UnixMillis};
use super::policy::LifePolicy;

/// Quarantines older than this no longer count towards HELD.
const QUARANTINE_MEMORY_MS: i64 = 24 * 60 * 60 * 1000;

/// What a tool that comes back comes back to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Past {
    /// The state before it was withdrawn.
    pub before_withdrawal: ToolState,
    /// Whether any version of it is served: one was approved, or needed no approval.
    pub is_approved: bool,
}

impl Past {
    /// Returns the state that a tool comes back to, health and trust taken together.
    fn back_to(self, state: ToolState) -> ToolState {
        match state {
            _ if !self.is_approved => ToolState::Pending,
            // Approved while it was away.
            ToolState::Pending => ToolState::Active,
            state => state,
        }
    }
}

/// Returns where a tool in `old` goes for `cause`, or `None` where the cause does not move it.
///
/// The whole table of DESIGN 6; a tool that is not known yet has no old state. That a changed definition waits, or is
/// approved, leaves a tool that is served where it is.
pub fn transition(old: Option<ToolState>, cause: MoveCause, past: Past) -> Option<ToolState> {
    use MoveCause as C;
    use ToolState as S;
    let Some(old) = old else {
        return match cause {
            C::Admitted => Some(S::Active),
            C::AwaitsApproval => Some(S::Pending),
            _ => None,
        };
    };
    match (old, cause) {
        (S::Active, C::Failures) | (S::Active | S::Probation, C::QuarantinedByHand) => Some(S::Quarantined),
        (S::Probation, C::FailedProbation) => Some(S::Quarantined),
        (S::Active | S::Probation, C::TooManyQuarantines) => Some(S::Held),
        (S::Quarantined, C::BackoffOver) | (S::Quarantined | S::Held, C::Repaired) => Some(S::Probation),
        (S::Probation, C::Recovered) => Some(S::Active),
        (S::Active, C::Unused) | (S::Quarantined, C::NeverRecovered) => Some(S::Retired),
        (S::Retired, C::RetiredByHand) => None,
        (_, C::RetiredByHand) => Some(S::Retired),
        (S::Retired, C::Restored) => Some(past.back_to(S::Active)),
        (S::Retired | S::Withdrawn, C::Vanished) => None,
        (_, C::Vanished) => Some(S::Withdrawn),
        (S::Withdrawn, C::ListedAgain) => Some(past.back_to(past.before_withdrawal)),
        (S::Pending, C::Approved | C::Admitted) => Some(S::Active),
        (old, C::AwaitsApproval | C::Approved) => Some(old),
        _ => None,
    }
}

/// Returns the cause that an operator's action stands for; pinning and accepting flags move nothing.
pub fn cause_of(action: ToolAction) -> Option<MoveCause> {
    match action {
        ToolAction::Retire => Some(MoveCause::RetiredByHand),
        ToolAction::Restore => Some(MoveCause::Restored),
        ToolAction::Quarantine => Some(MoveCause::QuarantinedByHand),
        ToolAction::Repair => Some(MoveCause::Repaired),
        ToolAction::Approve => Some(MoveCause::Approved),
        ToolAction::Pin | ToolAction::Unpin | ToolAction::AcceptFlags => None,
    }
}

/// Failed batches remembered since the last success; far more than count before a tool is out.
const BATCHES_KEPT: usize = 64;

/// What is remembered of one tool to judge its health.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Health {
    /// Countable failures since the last success, oldest first, at most the threshold.
    failures: Vec<Failure>,
    /// The batches of those failures, whose siblings do not count again; several sessions' batches interleave. Kept over
    /// a quarantine, so that a late sibling of what caused it does not fail the probation.
    #[serde(default)]
    failed_batches: VecDeque<(SessionId, StepId)>,
    /// Successes since probation began.
    successes: u32,
    /// When the tool was quarantined within the last 24 hours.
    quarantines: Vec<UnixMillis>,
    /// When its quarantine ends by itself; kept while it is withdrawn.
    until: Option<UnixMillis>,
    /// Its last success.
    last_success: Option<UnixMillis>,
    /// The state that a withdrawn tool goes back to; `None` unless it is withdrawn.
    before_withdrawal: Option<ToolState>,
    /// Why it stands where it stands, and what was said of it.
    last_move: Option<(MoveCause, String)>,
    /// Since when it stands there; `None` where it never moved, or moved before this was remembered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<UnixMillis>,
}

impl Health {
    /// Returns the failures since the last success, oldest first.
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// Returns the last success.
    pub fn last_success(&self) -> Option<UnixMillis> {
        self.last_success
    }

    /// Returns when the quarantine ends by itself; a withdrawn tool waits for nothing.
    pub fn until(&self) -> Option<UnixMillis> {
        self.until.filter(|_| self.before_withdrawal.is_none())
    }

    /// Returns when the quarantine of a withdrawn tool ends once its source lists it again.
    pub fn until_once_listed(&self) -> Option<UnixMillis> {
        self.until
    }

    /// Returns the state that a withdrawn tool goes back to.
    pub fn before_withdrawal(&self) -> ToolState {
        self.before_withdrawal.unwrap_or(ToolState::Active)
    }

    /// Returns since when the tool stands where it stands; `None` where it never moved.
    pub fn since(&self) -> Option<UnixMillis> {
        self.since
    }

    /// Takes a counted outcome into account. Uncountable endings neither count nor reset; a parallel batch counts
    /// once, so that three calls sent together are one failure and not a quarantine.
    pub fn note_outcome(&mut self, at: UnixMillis, outcome: &OutcomeReported, policy: &LifePolicy) {
        if outcome.ending == Ending::Ok {
            self.failures.clear();
            self.failed_batches.clear();
            self.successes += 1;
            self.last_success = Some(at);
            return;
        }
        if !outcome.ending.is_countable() {
            return;
        }
        if let Some(step) = outcome.step {
            let batch = (outcome.session.clone(), step);
            if self.failed_batches.contains(&batch) {
                return;
            }
            self.failed_batches.push_back(batch);
            if self.failed_batches.len() > BATCHES_KEPT {
                self.failed_batches.pop_front();
            }
        }
        self.failures.push(Failure {
            at,
            session: outcome.session.clone(),
            call_id: outcome.call_id.clone(),
            ending: outcome.ending,
            message: outcome.message.clone(),
        });
        let excess = self.failures.len().saturating_sub(policy.failures as usize);
        self.failures.drain(..excess);
    }

    /// Returns why the tool should move now, judged by its outcomes so far.
    pub fn due_move(&self, state: ToolState, at: UnixMillis, policy: &LifePolicy) -> Option<MoveCause> {
        match state {
            ToolState::Active if self.failures.len() >= policy.failures as usize => {
                Some(self.quarantine_cause(MoveCause::Failures, at, policy))
            }
            ToolState::Probation if !self.failures.is_empty() => {
                Some(self.quarantine_cause(MoveCause::FailedProbation, at, policy))
            }
            ToolState::Probation if self.successes >= policy.probation_successes => Some(MoveCause::Recovered),
            _ => None,
        }
    }

    /// Returns `cause`, or that this quarantine is one too many within a day.
    fn quarantine_cause(&self, cause: MoveCause, at: UnixMillis, policy: &LifePolicy) -> MoveCause {
        let recent = self.quarantines.iter().filter(|past| at.0 - past.0 < QUARANTINE_MEMORY_MS).count();
        if recent + 1 >= policy.held_after as usize { MoveCause::TooManyQuarantines } else { cause }
    }

    /// Returns whether a quarantine is over by itself at `now`.
    pub fn is_backoff_over(&self, now: UnixMillis) -> bool {
        self.until().is_some_and(|until| until <= now)
    }

    /// Returns why the tool stands where it stands, and what was said of it; `None` where it never moved.
    pub fn last_move(&self) -> Option<(MoveCause, &str)> {
        self.last_move.as_ref().map(|(cause, reason)| (*cause, reason.as_str()))
    }

    /// Replaces what a session's failures say of it.
    pub fn erase(&mut self, erasure: &Erasure) {
        for failure in &mut self.failures {
            erasure.clear_failure(failure);
        }
        for (session, _) in &mut self.failed_batches {
            erasure.rename(session);
        }
    }

    /// Takes a transition into account.
    pub fn note_move(&mut self, at: UnixMillis, moved: &ToolMoved) {
        self.last_move = Some((moved.cause, moved.reason.clone()));
        self.since = Some(at);
        if moved.new == ToolState::Withdrawn {
            self.before_withdrawal = moved.old;
            return;
        }
        self.before_withdrawal = None;
        self.until = moved.until;
        match moved.new {
            // Listed again, it is in the same quarantine as before.
            ToolState::Quarantined | ToolState::Held if moved.old == Some(ToolState::Withdrawn) => {}
            ToolState::Quarantined | ToolState::Held => {
                self.quarantines.retain(|past| at.0 - past.0 < QUARANTINE_MEMORY_MS);
                self.quarantines.push(at);
            }
            ToolState::Probation => {
                self.failures.clear();
                self.successes = 0;
            }
            ToolState::Active => self.failures.clear(),
            ToolState::Pending | ToolState::Retired | ToolState::Withdrawn => {}
        }
    }
}

/// Returns when the first quarantine ends by itself.
pub fn next_deadline(health: &BTreeMap<ToolId, Health>) -> Option<UnixMillis> {
    health.values().filter_map(Health::until).min()
}

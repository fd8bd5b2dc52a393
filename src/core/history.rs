//! What happened in one session, for an operator who asks why the agent did not use a tool.
//!
//! Counters since the session was opened, its last steps, and the tools that it called in vain. Folded in log order
//! beside the session, bounded whatever the session does, and kept while an ended session is remembered. Decides
//! nothing: presence, verdicts and endings are noted as they were drawn.

mod findings;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::event::{
    CacheBreak, CallCounted, CheckedCall, Ending, Origin, OutcomeReported, PlanResult, Presence, RequestResult,
    StepEnd, StepPlanned, StepTokens, ToolRequested, ToolState, Verdict,
};
use super::figures::Tally;
use super::ids::{CallId, StepId, ToolId, UnixMillis};

pub use findings::{Finding, findings};

/// Steps kept.
const STEPS_KEPT: usize = 20;

/// Calls, requests and issued tools kept of one step.
const KEPT_OF_A_STEP: usize = 16;

/// Tools kept that were called in vain.
const MISSED_KEPT: usize = 32;

/// One call of a step.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CallNote {
    /// Which.
    pub call_id: CallId,
    /// The tool behind the name; `None` where there is none.
    pub tool: Option<ToolId>,
    /// Whether its definition was in front of the model; `None` where there is no tool.
    pub presence: Option<Presence>,
    /// What it was judged to be; `None` while that is open.
    pub verdict: Option<Verdict>,
    /// The state that kept it from running.
    pub state: Option<ToolState>,
    /// How it ended; `None` where it was not counted, or not yet.
    pub ending: Option<Ending>,
}

/// One planned step.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepNote {
    /// Which.
    pub step: StepId,
    /// When it was planned.
    pub at: UnixMillis,
    /// What its plan came to.
    pub result: PlanResult,
    /// How many tools matched its query.
    pub matched: u32,
    /// What was put in front of the model in it, by plan, request or refused call, and why; the first few.
    pub issued: Vec<(ToolId, Origin)>,
    /// Its tokens as planned.
    pub tokens: StepTokens,
    /// Its calls, in the order they were heard of; the first few.
    pub calls: Vec<CallNote>,
    /// What came of the model's requests for tools in it; the first few.
    pub requests: Vec<RequestResult>,
    /// How it ended without a call; `None` where it made one, or where nothing was heard of it yet.
    pub end: Option<StepEnd>,
    /// Why the provider's cache broke after it, if it did.
    pub cache_break: Option<CacheBreak>,
}

/// A tool that was called while it was absent, or while it could not be used.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Missed {
    /// Which.
    pub tool: ToolId,
    /// Counted calls while its definition was not there.
    pub absent: u64,
    /// Calls that were not run because of its state.
    pub unavailable: u64,
    /// That state, at the last of these.
    pub state: Option<ToolState>,
    /// The step of the last call; `None` where it was not said.
    pub step: Option<StepId>,
    /// When the last call was heard of.
    pub at: UnixMillis,
}

/// What happened in one session.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct History {
    /// Steps planned, by what the plan came to.
    pub plans: Tally<PlanResult>,
    /// Steps that ended without a call, by reason.
    pub plans_without_call: Tally<StepEnd>,
    /// Counted calls, by presence.
    pub calls: Tally<Presence>,
    /// Verdicts on its selections.
    pub selections: Tally<Verdict>,
    /// Answers to `request_tool`, by result.
    pub requests: Tally<RequestResult>,
    /// Calls that were not run because of their tool's state, by that state.
    pub unavailable: Tally<ToolState>,
    /// Cache breaks, by cause.
    pub cache_breaks: Tally<CacheBreak>,
    steps: VecDeque<StepNote>,
    missed: VecDeque<Missed>,
}

impl History {
    /// Goes through the last steps, oldest first.
    pub fn steps(&self) -> impl DoubleEndedIterator<Item = &StepNote> {
        self.steps.iter()
    }

    /// Goes through the tools that were called in vain, the one called last at the end.
    pub fn missed(&self) -> impl DoubleEndedIterator<Item = &Missed> {
        self.missed.iter()
    }

    /// Gives every call that is kept another id.
    pub fn rename(&mut self, rename: impl Fn(&CallId) -> CallId) {
        for call in self.steps.iter_mut().flat_map(|step| &mut step.calls) {
            call.call_id = rename(&call.call_id);
        }
    }

    /// Notes a planned step.
    pub fn note_step(&mut self, planned: &StepPlanned, at: UnixMillis) {
        self.plans.add(planned.result);
        let issued = planned.issued.iter().map(|issue| (issue.tool.clone(), issue.origin));
        self.steps.push_back(StepNote {
            step: planned.step,
            at,
            result: planned.result,
            matched: planned.matched,
            issued: issued.take(KEPT_OF_A_STEP).collect(),
            tokens: planned.tokens,
            calls: Vec::new(),
            requests: Vec::new(),
            end: None,
            cache_break: None,
        });
        if self.steps.len() > STEPS_KEPT {
            self.steps.pop_front();
        }
    }

    /// Notes how a step ended without a call.
    pub fn note_end(&mut self, step: StepId, end: StepEnd) {
        self.plans_without_call.add(end);
        if let Some(note) = self.step_mut(Some(step)) {
            note.end = Some(end);
        }
    }

    /// Notes what the model asked for and got.
    pub fn note_request(&mut self, requested: &ToolRequested) {
        self.requests.add(requested.result);
        let Some(note) = self.step_mut(requested.step) else { return };
        if note.requests.len() < KEPT_OF_A_STEP {
            note.requests.push(requested.result);
        }
        for issue in &requested.issued {
            note.add_issued(&issue.tool, issue.origin);
        }
    }

    /// Notes the first check of a call, with the presence that it settled.
    pub fn note_check(&mut self, step: Option<StepId>, call: &CheckedCall, presence: Option<Presence>, at: UnixMillis) {
        if let (Some(tool), Some(state)) = (&call.tool, call.state) {
            self.unavailable.add(state);
            let missed = self.missed_mut(tool, step, at);
            missed.unavailable += 1;
            missed.state = Some(state);
        }
        let Some(note) = self.step_mut(step) else { return };
        if let (Some(tool), true) = (&call.tool, call.issued) {
            note.add_issued(tool, Origin::CalledAbsent);
        }
        note.with_call(&call.call_id, |known| {
            known.tool.clone_from(&call.tool);
            known.presence = known.presence.or(presence);
            known.state = call.state;
            known.verdict = known.verdict.or(Some(call.verdict).filter(|verdict| verdict.is_wrong()));
        });
    }

    /// Notes a counted call and how it ended.
    pub fn note_counted(&mut self, outcome: &OutcomeReported, counted: &CallCounted, at: UnixMillis) {
        self.calls.add(counted.presence);
        if counted.presence == Presence::Absent {
            self.missed_mut(&counted.tool, outcome.step, at).absent += 1;
        }
        let Some(note) = self.step_mut(outcome.step) else { return };
        note.with_call(&counted.call_id, |known| {
            known.tool = Some(counted.tool.clone());
            known.presence = Some(counted.presence);
            known.ending = Some(outcome.ending);
        });
    }

    /// Notes a verdict on a call.
    pub fn note_verdict(&mut self, call: &CallId, verdict: Verdict) {
        self.selections.add(verdict);
        let mut calls = self.steps.iter_mut().rev().flat_map(|note| &mut note.calls);
        if let Some(known) = calls.find(|known| &known.call_id == call) {
            known.verdict = Some(verdict);
        }
    }

    /// Notes that the provider's cache broke.
    pub fn note_cache_break(&mut self, cause: CacheBreak) {
        self.cache_breaks.add(cause);
        if let Some(note) = self.steps.back_mut() {
            note.cache_break = Some(cause);
        }
    }

    /// Returns a step that is kept, the newest where none is named.
    fn step_mut(&mut self, id: Option<StepId>) -> Option<&mut StepNote> {
        match id {
            Some(id) => self.steps.iter_mut().rev().find(|note| note.step == id),
            None => self.steps.back_mut(),
        }
    }

    /// Moves a tool behind those that were called in vain before it, and returns it there.
    fn missed_mut(&mut self, tool: &ToolId, step: Option<StepId>, at: UnixMillis) -> &mut Missed {
        let known = self.missed.iter().position(|missed| &missed.tool == tool);
        let known = known.and_then(|place| self.missed.remove(place));
        let fresh = || Missed { tool: tool.clone(), absent: 0, unavailable: 0, state: None, step: None, at };
        if self.missed.len() >= MISSED_KEPT {
            self.missed.pop_front();
        }
        self.missed.push_back(Missed { step, at, ..known.unwrap_or_else(fresh) });
        let last = self.missed.len() - 1;
        &mut self.missed[last]
    }
}

impl StepNote {
    fn add_issued(&mut self, tool: &ToolId, origin: Origin) {
        if self.issued.len() < KEPT_OF_A_STEP {
            self.issued.push((tool.clone(), origin));
        }
    }

    /// Changes what is noted of a call; a call beyond the first few is only counted.
    fn with_call(&mut self, call: &CallId, change: impl FnOnce(&mut CallNote)) {
        if let Some(known) = self.calls.iter_mut().find(|known| &known.call_id == call) {
            return change(known);
        }
        if self.calls.len() < KEPT_OF_A_STEP {
            let call_id = call.clone();
            let mut note = CallNote { call_id, tool: None, presence: None, verdict: None, state: None, ending: None };
            change(&mut note);
            self.calls.push(note);
        }
    }
}

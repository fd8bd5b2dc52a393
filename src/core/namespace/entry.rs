//! One session as the log has it: the session itself, the calls whose verdict is open, and what an operator may ask of
//! it later.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::super::event::{CallJudged, CallsChecked, CheckedCall, StepEnd, UsageReported};
use super::super::figures::Figures;
use super::super::history::History;
use super::super::ids::{CallId, ToolId, UnixMillis};
use super::super::judging::SwitchWindow;
use super::super::session::Session;

/// A session as the log has it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Entry {
    pub session: Session,
    /// Its calls whose verdict is open.
    pub window: SwitchWindow,
    /// What happened in it; empty in what an older build wrote.
    #[serde(default)]
    pub history: History,
    /// How many sessions had been opened before it. The order in which sessions end together: their ids would do, but an
    /// erased session has another one.
    #[serde(default)]
    pub order: u64,
}

impl Entry {
    pub fn new(session: Session, order: u64) -> Self {
        Self { session, window: SwitchWindow::default(), history: History::default(), order }
    }

    /// Returns the tool that a call stands for, checked or counted.
    pub fn tool_of(&self, call: &CallId) -> Option<&ToolId> {
        self.session.checked_tool(call).or_else(|| self.window.tool(call))
    }

    /// Counts the last step as ended without a word, where nobody said what became of it.
    pub fn close_last_step(&mut self, figures: &mut Figures) {
        if let Some(step) = self.session.unaccounted_step() {
            figures.plans_without_call.add(StepEnd::Unknown);
            self.history.note_end(step, StepEnd::Unknown);
        }
    }

    /// Takes in a check of calls.
    pub fn apply_check(&mut self, checked: &CallsChecked, at: UnixMillis) {
        // A session takes in the first check of a call and no other.
        let mut seen = BTreeSet::new();
        let mut first: Vec<&CheckedCall> = Vec::new();
        for call in &checked.calls {
            if seen.insert(&call.call_id) && !self.session.was_checked(&call.call_id) {
                first.push(call);
            }
        }
        self.session.apply_check(checked, at);
        for call in first {
            let presence = self.session.judged_presence(&call.call_id);
            self.history.note_check(checked.step, call, presence, at);
        }
    }

    /// Takes in a verdict.
    pub fn apply_verdict(&mut self, judged: &CallJudged) {
        self.history.note_verdict(&judged.call_id, judged.verdict);
        self.window.settle(&judged.call_id);
    }

    /// Takes in what the provider billed.
    pub fn apply_usage(&mut self, usage: &UsageReported, at: UnixMillis, figures: &mut Figures) {
        if let Some(cause) = self.session.cache_break(usage) {
            figures.cache_breaks.add(cause);
            self.history.note_cache_break(cause);
        }
        self.session.apply_usage(usage, at);
    }
}

//! From the event log to portable trace lines: what was asked for, called and found present, step by step.
//!
//! The lines are what `replay` and `eval` read (DESIGN 11). A query's words are in them only where policy kept them.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::core::event::{Ending, Event, OutcomeReported, Presence, Record, StepEnd, StepPlanned};
use crate::core::ids::{SessionId, StepId, ToolId, UnixMillis};

/// One line of a trace.
#[derive(Serialize)]
struct Line<'a> {
    session: &'a SessionId,
    step: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    query: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ok: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ending: Option<Ending>,
    #[serde(skip_serializing_if = "Option::is_none")]
    presence: Option<Presence>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<StepEnd>,
    at: UnixMillis,
}

/// A step that no line speaks of yet.
struct OpenStep {
    at: UnixMillis,
    query: Option<String>,
    end: Option<StepEnd>,
    has_call: bool,
}

/// Turns records into lines, as they come.
#[derive(Default)]
pub struct Demand {
    steps: BTreeMap<(SessionId, StepId), OpenStep>,
    last: BTreeMap<SessionId, StepId>,
    outcome: Option<OutcomeReported>,
}

impl Demand {
    /// Takes the next record with its query's words, and returns the lines that are complete now.
    pub fn take(&mut self, record: &Record, query: Option<String>) -> Vec<String> {
        match &record.event {
            Event::StepPlanned(planned) => self.plan(record.at, planned, query),
            Event::StepEnded(ended) => {
                if let Some(step) = self.steps.get_mut(&(ended.session.clone(), ended.step)) {
                    step.end = Some(ended.end);
                }
                Vec::new()
            }
            Event::OutcomeReported(outcome) => {
                self.outcome = Some(outcome.clone());
                Vec::new()
            }
            Event::CallCounted(counted) if counted.tick.is_some() => {
                let Some(outcome) = self.outcome.take() else { return Vec::new() };
                self.call(record.at, &counted.tool, counted.presence, &outcome).into_iter().collect()
            }
            Event::SessionEnded(ended) => self.close(&ended.session).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the lines of the steps that are still open.
    pub fn finish(&mut self) -> Vec<String> {
        let sessions: Vec<SessionId> = self.last.keys().cloned().collect();
        sessions.iter().filter_map(|session| self.close(session)).collect()
    }

    fn plan(&mut self, at: UnixMillis, planned: &StepPlanned, query: Option<String>) -> Vec<String> {
        let line = self.close(&planned.session);
        let step = OpenStep { at, query, end: None, has_call: false };
        self.steps.insert((planned.session.clone(), planned.step), step);
        self.last.insert(planned.session.clone(), planned.step);
        line.into_iter().collect()
    }

    fn call(&mut self, at: UnixMillis, tool: &ToolId, presence: Presence, outcome: &OutcomeReported) -> Option<String> {
        let step = outcome.step.or_else(|| self.last.get(&outcome.session).copied())?;
        let open = self.steps.get_mut(&(outcome.session.clone(), step));
        let query = open.and_then(|open| {
            open.has_call = true;
            open.query.take()
        });
        write(&Line {
            session: &outcome.session,
            step: step.number,
            tool: Some(format!("{}__{}", tool.source, tool.name)),
            query: query.as_deref(),
            ok: match outcome.ending {
                Ending::Unspecified => None,
                ending => Some(ending == Ending::Ok),
            },
            ending: Some(outcome.ending),
            presence: Some(presence),
            end: None,
            at,
        })
    }

    /// Closes a session's last step; a line speaks of it only if it made no call.
    fn close(&mut self, session: &SessionId) -> Option<String> {
        let step = self.last.remove(session)?;
        let open = self.steps.remove(&(session.clone(), step))?;
        if open.has_call {
            return None;
        }
        write(&Line {
            session,
            step: step.number,
            tool: None,
            query: open.query.as_deref(),
            ok: None,
            ending: None,
            presence: None,
            end: open.end,
            at: open.at,
        })
    }
}

fn write(line: &Line<'_>) -> Option<String> {
    // Plain text and numbers: there is nothing in it that JSON could not hold.
    serde_json::to_string(line).ok()
}

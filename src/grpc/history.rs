//! What happened in a session, as an operator reads it.

use super::convert;
use super::figures;
use crate::core::block::Exclusion;
use crate::core::event::ToolState;
use crate::core::history::{CallNote, Finding, History, Missed, StepNote, findings};
use crate::core::ids::{SessionId, StepId, ToolId, UnixMillis, Version};
use crate::core::namespace::Namespace;
use crate::proto;

/// Writes what happened in a session; `None` where it is not remembered.
pub fn history(namespace: &Namespace, session: &SessionId) -> Option<proto::SessionHistory> {
    let history = namespace.history(session)?;
    let writer = Writer { namespace };
    Some(writer.history(history))
}

struct Writer<'a> {
    namespace: &'a Namespace,
}

impl Writer<'_> {
    fn history(&self, history: &History) -> proto::SessionHistory {
        proto::SessionHistory {
            findings: findings(history, |tool| self.standing(tool)).iter().map(finding).collect(),
            plans: Some(figures::plans(&history.plans)),
            plans_without_call: Some(figures::step_ends(&history.plans_without_call)),
            calls: Some(figures::calls(&history.calls)),
            selections: Some(figures::selections(&history.selections)),
            requests: Some(figures::requests(&history.requests)),
            unavailable: Some(figures::states(|state| history.unavailable.get(state))),
            cache_breaks: Some(figures::cache_breaks(&history.cache_breaks)),
            missed: history.missed().rev().map(|missed| self.missed(missed)).collect(),
            steps: history.steps().map(|step| self.step(step)).collect(),
        }
    }

    /// Says where a tool stands now, and since when.
    fn standing(&self, tool: &ToolId) -> Option<(ToolState, Option<UnixMillis>)> {
        let state = self.namespace.registry().get(tool)?.state();
        Some((state, self.namespace.health(tool).and_then(|health| health.since())))
    }

    fn name(&self, tool: &ToolId) -> String {
        let known = self.namespace.registry().get(tool);
        known.map_or_else(|| tool.to_string(), |known| known.alias().to_string())
    }

    fn missed(&self, missed: &Missed) -> proto::MissedTool {
        let standing = self.standing(&missed.tool);
        proto::MissedTool {
            name: self.name(&missed.tool),
            tool: Some(convert::tool_ref(&missed.tool, Version(0))),
            absent: missed.absent,
            unavailable: missed.unavailable,
            reason: reason(missed.state),
            state: standing.map_or(proto::ToolState::Unspecified, |(state, _)| state.into()).into(),
            state_since: standing.and_then(|(_, since)| since).map(convert::timestamp),
            step_id: missed.step.as_ref().map(StepId::to_string).unwrap_or_default(),
            time: Some(convert::timestamp(missed.at)),
        }
    }

    fn step(&self, note: &StepNote) -> proto::StepRecord {
        let issued = note.issued.iter().map(|(tool, origin)| proto::IssuedTool {
            name: self.name(tool),
            tool: Some(convert::tool_ref(tool, Version(0))),
            origin: proto::Origin::from(*origin).into(),
        });
        proto::StepRecord {
            step_id: note.step.to_string(),
            time: Some(convert::timestamp(note.at)),
            result: proto::PlanResult::from(note.result).into(),
            matched: note.matched,
            issued: issued.collect(),
            tokens: Some(convert::tokens(&note.tokens)),
            calls: note.calls.iter().map(|call| self.call(call)).collect(),
            requests: note.requests.iter().map(|result| proto::RequestResult::from(*result).into()).collect(),
            end: note.end.map_or(proto::StepEnd::Unspecified, proto::StepEnd::from).into(),
            cache_break: note.cache_break.map_or(proto::CacheBreak::Unspecified, proto::CacheBreak::from).into(),
        }
    }

    fn call(&self, call: &CallNote) -> proto::CallRecord {
        proto::CallRecord {
            call_id: call.call_id.to_string(),
            name: call.tool.as_ref().map(|tool| self.name(tool)).unwrap_or_default(),
            tool: call.tool.as_ref().map(|tool| convert::tool_ref(tool, Version(0))),
            presence: call.presence.map_or(proto::Presence::Unspecified, proto::Presence::from).into(),
            verdict: call.verdict.map_or(proto::Verdict::Unspecified, proto::Verdict::from).into(),
            reason: reason(call.state),
            counted: call.ending.is_some(),
            ending: call.ending.map_or(proto::Ending::Unspecified, proto::Ending::from).into(),
        }
    }
}

fn reason(state: Option<ToolState>) -> i32 {
    state.map_or(proto::Reason::Unspecified, |state| convert::reason(Exclusion::State(state))).into()
}

fn finding(finding: &Finding) -> proto::SessionFinding {
    proto::SessionFinding { text: finding.text.clone(), since_time: finding.since.map(convert::timestamp) }
}

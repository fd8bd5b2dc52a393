//! What an operator does to a tool.

use super::super::super::event::{Event, ToolAction, ToolChanged};
use super::super::super::ids::UnixMillis;
use super::super::super::lifecycle;
use super::super::super::registry::Tool;
use super::super::{KnownRequest, Namespace};
use super::{Events, Refusal, with_drawn};

impl Namespace {
    /// Decides what an operator does to a tool.
    pub fn decide_change(&self, at: UnixMillis, change: ToolChanged) -> Result<Events, Refusal> {
        if let Some(known) = self.request(&change.request_id) {
            let is_same = *known == KnownRequest::of_change(&change);
            return if is_same { Ok(Vec::new()) } else { Err(Refusal::RequestDiffers) };
        }
        let Some(entry) = self.registry.get(&change.tool) else {
            let nearest = self.index.nearest_names(&change.tool.name);
            return Err(Refusal::UnknownTool { tool: change.tool, nearest });
        };
        check_quoted(entry, &change)?;
        if let Some(cause) = lifecycle::cause_of(change.action)
            && self.next_state(&change.tool, cause).is_none()
        {
            return Err(Refusal::NotPossible { tool: change.tool, state: entry.state(), action: change.action });
        }
        let cause = Event::ToolChanged(change);
        let drawn = self.draw(at, &cause);
        Ok(with_drawn(cause, drawn))
    }
}

/// Refuses what is said of a definition that the operator cannot have seen: an approval quotes the hash of what waits,
/// and flags are accepted of what is served.
fn check_quoted(entry: &Tool, change: &ToolChanged) -> Result<(), Refusal> {
    let tool = || change.tool.clone();
    let meant = match change.action {
        ToolAction::Approve => entry.waiting().ok_or_else(|| Refusal::NothingWaits(tool()))?,
        ToolAction::AcceptFlags => {
            let current = entry.current().filter(|_| entry.has_open_flags());
            current.ok_or_else(|| Refusal::NoOpenFlags(tool()))?
        }
        ToolAction::Retire
        | ToolAction::Restore
        | ToolAction::Quarantine
        | ToolAction::Repair
        | ToolAction::Pin
        | ToolAction::Unpin => return Ok(()),
    };
    let expected = meant.admitted().hash;
    let is_quoted = match change.hash {
        Some(hash) => hash == expected,
        None => change.action == ToolAction::AcceptFlags,
    };
    if is_quoted { Ok(()) } else { Err(Refusal::HashDiffers { tool: tool(), action: change.action, expected }) }
}

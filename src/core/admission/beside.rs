//! A definition beside the other tools of its namespace: which it is close to, whose name it passes for, and which it
//! speaks of.

use std::collections::BTreeSet;

use super::confusable::Signature;
use super::flags::flag;
use super::neighbours::{Neighbour, Neighbours};
use super::{Mention, Violation, ViolationCode};
use crate::core::definition::Definition;
use crate::core::ids::ToolId;

/// Most tools that are named as close.
const NEAREST: usize = 5;
/// Most other tools that are flagged as named in one definition.
const MOST_NAMED: usize = 16;

/// The tools beside which a definition is looked at: those of the namespace, and those that enter with it.
pub struct Beside<'a> {
    /// The tools of the namespace.
    pub known: &'a Neighbours,
    /// What enters now; a tool in it stands for itself as it was before.
    pub entering: &'a Neighbours,
    /// Tells whether a tool of the namespace counts.
    pub counts: &'a dyn Fn(&ToolId) -> bool,
}

impl Beside<'_> {
    /// Returns the tools that a model may take for this one, the closest first, five at most.
    pub fn near(&self, definition: &Definition) -> Vec<Neighbour> {
        let tool = &definition.id;
        let made = self.entering.signature(tool).is_none().then(|| Signature::of(definition));
        let Some(signature) = made.as_ref().or_else(|| self.entering.signature(tool)) else { return Vec::new() };
        let mut near = self.known.near(tool, signature, &|other| self.stands(other));
        near.extend(self.entering.near(tool, signature, &|_| true));
        near.sort_by(|a, b| a.closeness.closer_first(&b.closeness).then_with(|| a.tool.cmp(&b.tool)));
        near.truncate(NEAREST);
        near
    }

    /// Returns what is to be flagged on a tool for those that are beside it: its name, and the names in its texts.
    pub fn flags(&self, tool: &ToolId, mentions: &[Mention]) -> Vec<Violation> {
        let mut flags = Vec::new();
        self.check_name(tool, &mut flags);
        let mut named: BTreeSet<ToolId> = BTreeSet::new();
        for Mention { field, token } in mentions {
            if named.len() == MOST_NAMED {
                break;
            }
            if let Some(other) = self.other_named(tool, token)
                && named.insert(other.clone())
            {
                let said = format!("names {other}, another source's");
                flag(field, ViolationCode::NamesAnotherTool, &said, &mut flags);
            }
        }
        flags
    }

    fn check_name(&self, tool: &ToolId, flags: &mut Vec<Violation>) {
        let code = ViolationCode::LikeAnotherName;
        let known = self.known.looking_like(tool).filter(|other| self.stands(other));
        if let Some(other) = known.chain(self.entering.looking_like(tool)).min() {
            flag("name", code, &format!("looks like {other}, another source's"), flags);
        }
        let known = self.known.sources_looking_like(&tool.source);
        if let Some(other) = known.chain(self.entering.sources_looking_like(&tool.source)).min() {
            flag("source", code, &format!("looks like another source, {other}"), flags);
        }
    }

    /// Returns the tool of another source that a token names, unless the tool's own source has one of that name.
    fn other_named(&self, tool: &ToolId, token: &str) -> Option<&ToolId> {
        // Models know a tool as `source__name`.
        let (source, name) = token.split_once("__").map_or((None, token), |(source, name)| (Some(source), name));
        let known = self.known.named(name).filter(|other| self.stands(other));
        let mut named =
            known.chain(self.entering.named(name)).filter(|other| source.is_none_or(|s| *other.source == *s));
        let mut other: Option<&ToolId> = None;
        for found in named.by_ref() {
            if found.source == tool.source {
                return None;
            }
            other = Some(other.map_or(found, |other| other.min(found)));
        }
        other
    }

    fn stands(&self, known: &ToolId) -> bool {
        !self.entering.contains(known) && (self.counts)(known)
    }
}

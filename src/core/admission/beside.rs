//! A definition beside the other tools of its namespace: which it is close to, whose name it passes for, and which it
//! speaks of.

use std::collections::BTreeSet;

use super::flags::{flag, for_each_prose, identifiers};
use super::neighbours::{Neighbour, Neighbours};
use super::{Violation, ViolationCode};
use crate::core::definition::Definition;
use crate::core::ids::ToolId;

/// Most tools that are named as close.
const NEAREST: usize = 5;

/// The tools beside which a definition is looked at: those of the namespace, and those that enter with it.
pub struct Beside<'a> {
    /// The tools of the namespace.
    pub known: &'a Neighbours,
    /// What enters now; a tool in it stands for itself as it was before.
    pub entering: &'a Neighbours,
}

impl Beside<'_> {
    /// Returns the tools that a model may take for this one, the closest first, five at most.
    pub fn near(&self, definition: &Definition) -> Vec<Neighbour> {
        let mut near = self.known.near(definition);
        near.retain(|near| self.stands(&near.tool));
        near.extend(self.entering.near(definition));
        near.sort_by(|a, b| a.closeness.closer_first(&b.closeness).then_with(|| a.tool.cmp(&b.tool)));
        near.truncate(NEAREST);
        near
    }

    /// Returns what is to be flagged on a definition for the tools that are beside it.
    pub fn flags(&self, definition: &Definition) -> Vec<Violation> {
        let mut flags = Vec::new();
        self.check_name(&definition.id, &mut flags);
        let mut named: BTreeSet<ToolId> = BTreeSet::new();
        let mut looked_up = BTreeSet::new();
        for_each_prose(definition, &mut |field, text| {
            for token in identifiers(text) {
                // A name that many sources use costs by their number, and a text may say it a thousand times.
                if looked_up.insert(token.to_owned())
                    && let Some(other) = self.other_named(&definition.id, token)
                    && named.insert(other.clone())
                {
                    flag(
                        field,
                        ViolationCode::NamesAnotherTool,
                        &format!("names {other}, another source's"),
                        &mut flags,
                    );
                }
            }
        });
        flags
    }

    fn check_name(&self, tool: &ToolId, flags: &mut Vec<Violation>) {
        let code = ViolationCode::LikeAnotherName;
        let known = self.known.looking_like(tool).find(|other| self.stands(other));
        if let Some(other) = known.into_iter().chain(self.entering.looking_like(tool).next()).min() {
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
        !self.entering.contains(known)
    }
}

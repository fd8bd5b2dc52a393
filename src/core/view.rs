//! What readers see of a namespace: an immutable snapshot, published by the writer after each change.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::block;
use super::event::{Block, Issue, Piece, SessionSpec};
use super::hot_pool::PublishedPool;
use super::ids::{Alias, ToolId};
use super::policy::Policy;
use super::registry::Registry;
use super::render::{self, Shown};
use super::retrieval::Index;
use super::session::Session;

/// A namespace at one place in its log. Cloning it clones four pointers.
#[derive(Clone)]
pub struct View {
    /// Every tool.
    pub registry: Arc<Registry>,
    /// The searchable tools.
    pub index: Arc<Index>,
    /// The hot pool and scores as of the last re-rank.
    pub pool: Arc<PublishedPool>,
    /// Every tunable.
    pub policy: Arc<Policy>,
}

impl View {
    /// Builds the block that a session with this spec would get now.
    pub fn freeze(&self, spec: &SessionSpec) -> Block {
        block::freeze(&self.registry, &self.pool, &self.policy, spec, &BTreeSet::new())
    }

    /// Returns the definition that was or would be shown for an issue.
    pub fn shown(&self, issue: &Issue) -> Option<&Arc<Shown>> {
        self.registry.get(&issue.tool).and_then(|tool| tool.version_or_current(Some(issue.version)))
    }

    /// Writes the pieces that carry what a step issued.
    pub fn pieces(&self, spec: &SessionSpec, issued: &[Issue]) -> Vec<Piece> {
        let shown: Vec<&Shown> = issued.iter().filter_map(|issue| self.shown(issue).map(|shown| &**shown)).collect();
        render::issued_pieces(spec, &shown)
    }

    /// Returns the tools behind names that a runtime says are present; unknown names are ignored.
    pub fn tools_named(&self, names: impl IntoIterator<Item = impl AsRef<str>>) -> BTreeSet<ToolId> {
        names.into_iter().filter_map(|name| self.registry.by_alias(&Alias::from(name.as_ref())).cloned()).collect()
    }

    /// Returns the name under which models see a tool.
    pub fn alias(&self, tool: &ToolId) -> Option<&Alias> {
        self.registry.get(tool).map(|tool| tool.alias())
    }

    /// Returns whether a refresh might change a session's block: something was registered, moved or re-ranked since.
    pub fn may_change_block_of(&self, session: &Session) -> bool {
        let epoch = session.block().map(|block| block.epoch);
        epoch != Some(self.pool.epoch) || session.revision() != self.registry.revision()
    }
}

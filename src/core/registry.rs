//! The registry: every tool that was ever registered, with all its versions, its alias and its state.
//!
//! Nothing is ever removed. Copied on write: the namespace changes its own copy and publishes it behind an `Arc`, so a
//! reader's registry never changes under it. Before editing, know that a version is *served* or it is not: what waits
//! for approval is reached by [`Tool::waiting`] and by its number, and by nothing that writes for a model.

mod stored;
mod tool;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::event::{Admitted, ToolState};
use super::ids::{Alias, Digest, ToolId, UnixMillis};
use super::render::Shown;

pub use tool::{AcceptedFlag, Tool};

use stored::StoredRegistry;

/// Every tool of a namespace.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(into = "StoredRegistry", from = "StoredRegistry")]
pub struct Registry {
    tools: BTreeMap<ToolId, Arc<Tool>>,
    by_alias: BTreeMap<Alias, ToolId>,
    revision: u64,
}

impl Registry {
    /// Returns a tool.
    pub fn get(&self, tool: &ToolId) -> Option<&Arc<Tool>> {
        self.tools.get(tool)
    }

    /// Returns the tool that models know by a name.
    pub fn by_alias(&self, alias: &Alias) -> Option<&ToolId> {
        self.by_alias.get(alias)
    }

    /// Returns a tool of which nothing was ever served, by its alias or `source/name`: the search index knows nothing of
    /// those, and whoever names one is told that it waits.
    pub fn unserved(&self, name: &str) -> Option<&ToolId> {
        let by_id = || name.parse().ok().and_then(|id| self.tools.get_key_value(&id)).map(|(id, _)| id);
        self.by_alias(&Alias::from(name)).or_else(by_id).filter(|id| self.is_unserved(id))
    }

    /// Returns tools of which nothing was ever served, by their name at their source.
    pub fn unserved_called<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a ToolId> {
        let same_name = self.tools.range(ToolId::new("", name)..).take_while(move |(id, _)| &*id.name == name);
        same_name.map(|(id, _)| id).filter(|id| self.is_unserved(id))
    }

    fn is_unserved(&self, tool: &ToolId) -> bool {
        self.get(tool).is_some_and(|tool| tool.current().is_none())
    }

    /// Goes through all tools, by name and then source.
    pub fn iter(&self) -> impl Iterator<Item = (&ToolId, &Arc<Tool>)> {
        self.tools.iter()
    }

    /// Returns how many tools there are, in whatever state.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Returns whether nothing was ever registered.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Returns a number that grows with every change.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns whether a tool may be put in front of a model.
    pub fn is_issuable(&self, tool: &ToolId) -> bool {
        self.get(tool).is_some_and(|tool| tool.is_issuable())
    }

    /// Takes in a version: to be served from now on, or to wait in the place of whatever waited. A tool that is new
    /// stands in `Pending` until it is moved.
    pub fn insert(&mut self, admitted: Arc<Admitted>) {
        self.revision += 1;
        let shown = Arc::new(Shown::new(admitted));
        let id = shown.admitted().definition.id.clone();
        self.by_alias.insert(shown.alias().clone(), id.clone());
        match self.tools.get_mut(&id) {
            Some(tool) => Arc::make_mut(tool).insert(shown),
            None => {
                self.tools.insert(id, Arc::new(Tool::new(shown)));
            }
        }
    }

    /// Serves the version of a tool that waits, if it is the one with this hash.
    pub fn approve(&mut self, tool: &ToolId, hash: &Digest) {
        self.change(tool, |tool| tool.approve(hash));
    }

    /// Lets nothing of a tool wait any longer.
    pub fn stop_waiting(&mut self, tool: &ToolId) {
        self.change(tool, Tool::stop_waiting);
    }

    /// Notes that the flags of what is served of a tool are false alarms.
    pub fn accept_flags(&mut self, tool: &ToolId, at: UnixMillis, actor: &str, note: &str) {
        self.change(tool, |tool| tool.accept_flags(at, actor, note));
    }

    /// Moves a tool to a state.
    pub fn set_state(&mut self, tool: &ToolId, state: ToolState) {
        self.change(tool, |tool| tool.set_state(state));
    }

    /// Keeps a tool in the hot pool, or ends that.
    pub fn set_pinned(&mut self, tool: &ToolId, is_pinned: bool) {
        self.change(tool, |tool| tool.set_pinned(is_pinned));
    }

    fn change(&mut self, tool: &ToolId, change: impl FnOnce(&mut Tool)) {
        self.revision += 1;
        if let Some(tool) = self.tools.get_mut(tool) {
            change(Arc::make_mut(tool));
        }
    }
}

//! The registry: every tool that was ever admitted, with all its versions, its alias and its state.
//!
//! Nothing is ever removed. Copied on write: the namespace changes its own copy and publishes it behind an `Arc`, so a
//! reader's registry never changes under it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::event::{Admitted, ToolState};
use super::ids::{Alias, ToolId, Version};
use super::render::Shown;

/// One tool, with every version it ever had.
#[derive(Clone)]
pub struct Tool {
    versions: BTreeMap<Version, Arc<Shown>>,
    current: Arc<Shown>,
    state: ToolState,
    is_pinned: bool,
}

impl Tool {
    /// Returns the current version.
    pub fn current(&self) -> &Arc<Shown> {
        &self.current
    }

    /// Returns a version, or the current one where that version never was.
    pub fn version_or_current(&self, version: Option<Version>) -> &Arc<Shown> {
        version.and_then(|version| self.versions.get(&version)).unwrap_or(&self.current)
    }

    /// Returns a version, if it ever was.
    pub fn version(&self, version: Version) -> Option<&Arc<Shown>> {
        self.versions.get(&version)
    }

    /// Returns where the tool stands in its life.
    pub fn state(&self) -> ToolState {
        self.state
    }

    /// Returns whether an operator keeps it in the hot pool.
    pub fn is_pinned(&self) -> bool {
        self.is_pinned
    }
}

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
        self.get(tool).is_some_and(|tool| tool.state.is_issuable())
    }

    /// Takes in a version and makes it the current one. A tool that is new stands in `Pending` until it is moved.
    pub fn insert(&mut self, admitted: Arc<Admitted>) {
        self.revision += 1;
        let version = admitted.version;
        let shown = Arc::new(Shown::new(admitted));
        let id = shown.admitted().definition.id.clone();
        self.by_alias.insert(shown.alias().clone(), id.clone());
        match self.tools.get_mut(&id) {
            Some(tool) => {
                let tool = Arc::make_mut(tool);
                tool.versions.insert(version, shown.clone());
                tool.current = shown;
            }
            None => {
                let tool = Tool {
                    versions: BTreeMap::from([(version, shown.clone())]),
                    current: shown,
                    state: ToolState::Pending,
                    is_pinned: false,
                };
                self.tools.insert(id, Arc::new(tool));
            }
        }
    }

    /// Moves a tool to a state.
    pub fn set_state(&mut self, tool: &ToolId, state: ToolState) {
        self.revision += 1;
        if let Some(tool) = self.tools.get_mut(tool) {
            Arc::make_mut(tool).state = state;
        }
    }

    /// Keeps a tool in the hot pool, or ends that.
    pub fn set_pinned(&mut self, tool: &ToolId, is_pinned: bool) {
        self.revision += 1;
        if let Some(tool) = self.tools.get_mut(tool) {
            Arc::make_mut(tool).is_pinned = is_pinned;
        }
    }
}

/// What a snapshot keeps of a registry; the rest is made from it.
#[derive(Serialize, Deserialize)]
struct StoredRegistry {
    revision: u64,
    tools: Vec<StoredTool>,
}

#[derive(Serialize, Deserialize)]
struct StoredTool {
    versions: Vec<Arc<Admitted>>,
    state: ToolState,
    #[serde(default)]
    is_pinned: bool,
}

impl From<Registry> for StoredRegistry {
    fn from(registry: Registry) -> Self {
        let tools = registry
            .tools
            .values()
            .map(|tool| StoredTool {
                versions: tool.versions.values().map(|shown| shown.admitted().clone()).collect(),
                state: tool.state,
                is_pinned: tool.is_pinned,
            })
            .collect();
        Self { revision: registry.revision, tools }
    }
}

impl From<StoredRegistry> for Registry {
    fn from(stored: StoredRegistry) -> Self {
        let mut registry = Self::default();
        for tool in stored.tools {
            let Some(id) = tool.versions.first().map(|admitted| admitted.definition.id.clone()) else { continue };
            for admitted in tool.versions {
                registry.insert(admitted);
            }
            registry.set_state(&id, tool.state);
            registry.set_pinned(&id, tool.is_pinned);
        }
        registry.revision = stored.revision;
        registry
    }
}

//! What a snapshot keeps of a registry; the rest is made from it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::event::{Admitted, ToolState};
use super::super::ids::Version;
use super::super::render::Shown;
use super::{AcceptedFlag, Registry};

#[derive(Serialize, Deserialize)]
pub(super) struct StoredRegistry {
    revision: u64,
    tools: Vec<StoredTool>,
}

#[derive(Serialize, Deserialize)]
struct StoredTool {
    versions: Vec<Arc<Admitted>>,
    state: ToolState,
    #[serde(default)]
    is_pinned: bool,
    /// The version that is served, 0 for none. Builds that knew no approval did not write it, and served the newest.
    #[serde(default)]
    current: Option<Version>,
    /// The version that waits, 0 for none.
    #[serde(default)]
    waiting: Version,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    accepted: Vec<AcceptedFlag>,
}

impl From<Registry> for StoredRegistry {
    fn from(registry: Registry) -> Self {
        let number = |shown: Option<&Arc<Shown>>| shown.map_or(Version(0), |shown| shown.admitted().version);
        let tools = registry
            .tools
            .values()
            .map(|tool| StoredTool {
                versions: tool.versions.values().map(|shown| shown.admitted().clone()).collect(),
                state: tool.state,
                is_pinned: tool.is_pinned,
                current: Some(number(tool.current())),
                waiting: number(tool.waiting()),
                accepted: tool.accepted.clone(),
            })
            .collect();
        Self { revision: registry.revision, tools }
    }
}

impl From<StoredRegistry> for Registry {
    fn from(stored: StoredRegistry) -> Self {
        let mut registry = Self::default();
        for kept in stored.tools {
            let Some(id) = kept.versions.first().map(|admitted| admitted.definition.id.clone()) else { continue };
            for admitted in kept.versions {
                registry.insert(admitted);
            }
            registry.change(&id, |tool| {
                let version = |version| tool.versions.get(&version).cloned();
                if let Some(current) = kept.current {
                    (tool.current, tool.waiting) = (version(current), version(kept.waiting));
                }
                (tool.state, tool.is_pinned, tool.accepted) = (kept.state, kept.is_pinned, kept.accepted);
            });
        }
        registry.revision = stored.revision;
        registry
    }
}

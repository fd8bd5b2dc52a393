//! A namespace as a snapshot keeps it: what cannot be made from something else.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::admission::neighbours::Neighbours;
use super::super::figures::{Figures, ToolFigures};
use super::super::hot_pool::HotPool;
use super::super::ids::{Digest, NamespaceId, SessionId, Tick, ToolId};
use super::super::lifecycle::Health;
use super::super::policy::Policy;
use super::super::registry::Registry;
use super::super::retrieval::Index;
use super::blocks::Blocks;
use super::{Entry, KnownRequest, Namespace, PolicyOrigin};

/// A snapshot cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("a namespace's snapshot cannot be read: {reason}")]
pub struct Unreadable {
    reason: String,
}

#[derive(Serialize, Deserialize)]
struct State<'a> {
    id: NamespaceId,
    salt: Digest,
    policy: Arc<Policy>,
    policy_version: u64,
    #[serde(default)]
    policy_origins: Cow<'a, BTreeMap<String, PolicyOrigin>>,
    registry: Arc<Registry>,
    pool: Cow<'a, HotPool>,
    tick: Tick,
    health: Cow<'a, BTreeMap<ToolId, Health>>,
    sessions: Cow<'a, BTreeMap<SessionId, Entry>>,
    blocks: Cow<'a, Blocks>,
    figures: Cow<'a, Figures>,
    #[serde(default)]
    tool_figures: Cow<'a, BTreeMap<ToolId, ToolFigures>>,
    ended: Cow<'a, VecDeque<SessionId>>,
    requests: Cow<'a, VecDeque<(String, KnownRequest)>>,
}

impl Namespace {
    /// Writes the state as JSON.
    pub fn to_snapshot(&self) -> Result<Vec<u8>, Unreadable> {
        let state = State {
            id: self.id.clone(),
            salt: self.salt,
            policy: self.policy.clone(),
            policy_version: self.policy_version,
            policy_origins: Cow::Borrowed(&self.policy_origins),
            registry: self.registry.clone(),
            pool: Cow::Borrowed(&self.pool),
            tick: self.tick,
            health: Cow::Borrowed(&self.health),
            sessions: Cow::Borrowed(&self.sessions),
            blocks: Cow::Borrowed(&self.blocks),
            figures: Cow::Borrowed(&self.figures),
            tool_figures: Cow::Borrowed(&self.tool_figures),
            ended: Cow::Borrowed(&self.ended),
            requests: Cow::Borrowed(&self.requests),
        };
        serde_json::to_vec(&state).map_err(|error| Unreadable { reason: error.to_string() })
    }

    /// Reads a state that [`Namespace::to_snapshot`] wrote.
    pub fn from_snapshot(bytes: &[u8]) -> Result<Self, Unreadable> {
        let state: State<'static> =
            serde_json::from_slice(bytes).map_err(|error| Unreadable { reason: error.to_string() })?;
        let mut index = Index::default();
        let mut neighbours = Neighbours::default();
        for (_, tool) in state.registry.iter() {
            if let Some(current) = tool.current() {
                let definition = &current.admitted().definition;
                index.insert(definition, tool.alias());
                neighbours.insert(definition);
            }
        }
        let blocks = state.blocks.into_owned();
        let mut sessions = state.sessions.into_owned();
        for entry in sessions.values_mut() {
            if let Some(block) = blocks.get(&entry.session.digest()) {
                entry.session.attach_block(block.clone());
            }
        }
        Ok(Self {
            id: state.id,
            salt: state.salt,
            policy: state.policy,
            policy_version: state.policy_version,
            policy_origins: state.policy_origins.into_owned(),
            registry: state.registry,
            index: Arc::new(index),
            neighbours,
            pool: state.pool.into_owned(),
            tick: state.tick,
            health: state.health.into_owned(),
            sessions,
            blocks,
            figures: state.figures.into_owned(),
            tool_figures: state.tool_figures.into_owned(),
            ended: state.ended.into_owned(),
            requests: state.requests.into_owned(),
        })
    }
}

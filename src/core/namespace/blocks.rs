//! The blocks that sessions hold, each kept once, and in how many steps each tool was in front of a model.
//!
//! Exposure is counted per block and summed when asked: a step costs one addition, however many tools its block names.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::event::{Block, BlockFrozen, Issue};
use super::super::ids::{Digest, ToolId};

/// In how many steps a tool was in front of a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Exposure {
    /// With a line in the directory.
    pub directory: u64,
    /// With its definition in the block.
    pub resident: u64,
    /// Issued, by a plan or a recall.
    pub issued: u64,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Held {
    block: Arc<Block>,
    n_sessions: u32,
    n_steps: u64,
}

/// The blocks that sessions hold.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Blocks {
    held: BTreeMap<Digest, Held>,
    /// Exposure under blocks that nobody holds any more, and all issues.
    settled: BTreeMap<ToolId, Exposure>,
}

impl Blocks {
    /// Returns a block that some session holds.
    pub fn get(&self, digest: &Digest) -> Option<&Arc<Block>> {
        self.held.get(digest).map(|held| &held.block)
    }

    /// Gives a block to one more session; `None` where the log never had its bytes.
    pub fn hold(&mut self, frozen: &BlockFrozen) -> Option<Arc<Block>> {
        if let Some(block) = &frozen.block {
            let fresh = Held { block: block.clone(), n_sessions: 0, n_steps: 0 };
            self.held.entry(frozen.digest).or_insert(fresh);
        }
        let held = self.held.get_mut(&frozen.digest)?;
        held.n_sessions += 1;
        Some(held.block.clone())
    }

    /// Takes a block from one session, and forgets it with the last.
    pub fn release(&mut self, digest: &Digest) {
        let Some(held) = self.held.get_mut(digest) else { return };
        held.n_sessions = held.n_sessions.saturating_sub(1);
        if held.n_sessions > 0 {
            return;
        }
        if let Some(held) = self.held.remove(digest) {
            add_exposure(&mut self.settled, &held);
        }
    }

    /// Counts a step under a block.
    pub fn count_step(&mut self, digest: &Digest) {
        if let Some(held) = self.held.get_mut(digest) {
            held.n_steps += 1;
        }
    }

    /// Counts what was issued.
    pub fn count_issues(&mut self, issued: &[Issue]) {
        for issue in issued {
            self.settled.entry(issue.tool.clone()).or_default().issued += 1;
        }
    }

    /// Sums the exposure of every tool.
    pub fn exposures(&self) -> BTreeMap<ToolId, Exposure> {
        let mut sums = self.settled.clone();
        for held in self.held.values() {
            add_exposure(&mut sums, held);
        }
        sums
    }
}

fn add_exposure(sums: &mut BTreeMap<ToolId, Exposure>, held: &Held) {
    if held.n_steps == 0 {
        return;
    }
    for tool in held.block.directory.keys() {
        sums.entry(tool.clone()).or_default().directory += held.n_steps;
    }
    for resident in &held.block.residents {
        sums.entry(resident.tool.clone()).or_default().resident += held.n_steps;
    }
}

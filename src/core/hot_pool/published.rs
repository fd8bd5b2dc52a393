//! What plans may read of use: the pool and every score as they stood at the last boundary.
//!
//! A boundary is a place in the log and not a moment, so equal logs give equal plans however reads and calls interleave.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::rules::Rank;
use crate::core::ids::{Epoch, Tick, ToolId};

/// One tool's scores at a boundary.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Score {
    /// Its heat, calls times 2^30.
    pub heat: u64,
    /// How it ranks for a slot; `None` where the policy makes it resident only if pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<Rank>,
}

/// The hot pool as readers see it; never changed once it is published.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct PublishedPool {
    /// The pool's number.
    pub epoch: Epoch,
    /// The tick of the boundary.
    pub tick: Tick,
    /// The decay factor that heats were read with.
    pub decay: f64,
    /// The members, best first as of the epoch's start.
    pub members: Vec<ToolId>,
    /// Every tool that was called or seeded.
    pub scores: Arc<BTreeMap<ToolId, Score>>,
    /// The scores as they stood when the epoch began. Blocks are made of these, so that a re-rank which moves nobody
    /// leaves their bytes alone.
    #[serde(default)]
    pub epoch_scores: Arc<BTreeMap<ToolId, Score>>,
}

impl PublishedPool {
    /// Returns a tool's heat in calls times 2^30; 0 for a tool never used.
    pub fn heat_key(&self, tool: &ToolId) -> u64 {
        self.scores.get(tool).map_or(0, |score| score.heat)
    }

    /// Returns a tool's heat as the epoch began, in calls times 2^30; 0 for a tool not used before.
    pub fn epoch_heat_key(&self, tool: &ToolId) -> u64 {
        self.epoch_scores.get(tool).map_or(0, |score| score.heat)
    }

    /// Returns the residents of a session that may see only its candidates: the members among them, then the candidates
    /// that ranked best as the epoch began, up to `slots`. Short where too few were ever used.
    pub fn residents(&self, slots: u32, is_candidate: &dyn Fn(&ToolId) -> bool) -> Vec<ToolId> {
        let slots = slots as usize;
        let mut residents: Vec<ToolId> = self.members.iter().filter(|tool| is_candidate(tool)).cloned().collect();
        if residents.len() < slots {
            let members: BTreeSet<&ToolId> = self.members.iter().collect();
            let mut rest: Vec<(Rank, &ToolId)> = Vec::new();
            for (tool, score) in &*self.epoch_scores {
                if let Some(rank) = score.rank
                    && !members.contains(tool)
                    && is_candidate(tool)
                {
                    rest.push((rank, tool));
                }
            }
            rest.sort_unstable_by_key(|&(rank, tool)| (Reverse(rank), tool));
            residents.extend(rest.into_iter().map(|(_, tool)| tool.clone()));
        }
        residents.truncate(slots);
        residents
    }
}

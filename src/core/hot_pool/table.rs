//! The use of every tool, by tool and by when its heat was last written.
//!
//! The second order is why a re-rank need not visit every tool: heat only falls while nobody calls, so a tool whose heat
//! was written long ago has little left, however much it had. Written and read as a plain map of tools; the orders are
//! made again.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::usage::Usage;
use crate::core::heat::Decay;
use crate::core::ids::{Tick, ToolId};

/// The use of every tool that was called or seeded.
#[derive(Clone, Debug, Default)]
pub(super) struct UsageTable {
    places: BTreeMap<ToolId, usize>,
    rows: Vec<(ToolId, Usage)>,
    /// The tools whose heat ages, by the tick at which it was written last.
    by_age: BTreeSet<(Tick, usize)>,
    /// The tools whose heat stands still.
    standing: BTreeSet<usize>,
    /// No heat was ever written above it, in calls.
    ceiling: f64,
}

impl UsageTable {
    /// Returns a tool's use.
    pub(super) fn get(&self, tool: &ToolId) -> Option<&Usage> {
        self.places.get(tool).map(|&place| &self.rows[place].1)
    }

    /// Goes through all tools in their order.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = (&ToolId, &Usage)> {
        self.places.iter().map(|(tool, &place)| (tool, &self.rows[place].1))
    }

    /// Goes through the tools whose heat ages, from the one written last.
    pub(super) fn youngest_first(&self) -> impl Iterator<Item = (&ToolId, &Usage)> {
        self.by_age.iter().rev().map(|&(_, place)| (&self.rows[place].0, &self.rows[place].1))
    }

    /// Goes through the tools whose heat stands still.
    pub(super) fn standing(&self) -> impl Iterator<Item = &ToolId> {
        self.standing.iter().map(|&place| &self.rows[place].0)
    }

    /// Returns a bound on what is left after tick `now` of any heat that was written at tick `at` and ages, in calls.
    pub(super) fn most_left(&self, at: Tick, decay: &Decay, now: Tick) -> f64 {
        self.ceiling * decay.over(now.0.saturating_sub(at.0))
    }

    /// Puts in a tool that is not there yet.
    pub(super) fn insert(&mut self, tool: ToolId, usage: Usage) {
        debug_assert!(!self.places.contains_key(&tool));
        let place = self.rows.len();
        self.places.insert(tool.clone(), place);
        self.rows.push((tool, usage));
        self.arrange(place);
    }

    /// Changes a tool's use; `None` where nothing is known of it.
    pub(super) fn change<R>(&mut self, tool: &ToolId, change: impl FnOnce(&mut Usage) -> R) -> Option<R> {
        let place = *self.places.get(tool)?;
        Some(self.change_at(place, change))
    }

    /// Changes the use of every tool.
    pub(super) fn change_all(&mut self, mut change: impl FnMut(&mut Usage)) {
        for place in 0..self.rows.len() {
            self.change_at(place, &mut change);
        }
    }

    fn change_at<R>(&mut self, place: usize, change: impl FnOnce(&mut Usage) -> R) -> R {
        let usage = &mut self.rows[place].1;
        let (was_standing, written) = (usage.frozen, usage.heat.settled_at());
        let result = change(usage);
        if was_standing {
            self.standing.remove(&place);
        } else {
            self.by_age.remove(&(written, place));
        }
        self.arrange(place);
        result
    }

    fn arrange(&mut self, place: usize) {
        let usage = &self.rows[place].1;
        self.ceiling = self.ceiling.max(usage.heat.settled_value());
        if usage.frozen {
            self.standing.insert(place);
        } else {
            self.by_age.insert((usage.heat.settled_at(), place));
        }
    }
}

/// Equal use is equal, whatever came first.
impl PartialEq for UsageTable {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Serialize for UsageTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for UsageTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut table = Self::default();
        for (tool, usage) in BTreeMap::<ToolId, Usage>::deserialize(deserializer)? {
            table.insert(tool, usage);
        }
        Ok(table)
    }
}

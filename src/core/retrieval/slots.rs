//! Small numbers for tools, so that postings are small.
//!
//! A number is given out again when its tool has gone. Numbers depend on history, so no order and no tie may.

use std::cmp::Ordering;
use std::sync::Arc;

use super::lexical::{Forward, SLOTS_MAX};
use super::names::Name;
use super::shared_map::{Keep, SharedMap};
use crate::core::ids::{Alias, ToolId};

/// What the index keeps of a tool.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) name: Name,
    pub(super) forward: Forward,
}

impl Entry {
    /// Stands in a slot without a tool.
    fn vacant() -> Self {
        let name = Name { id: ToolId::new("", ""), alias: Alias::new("") };
        Self { name, forward: Forward::default() }
    }
}

/// The tools by slot and by id.
#[derive(Clone, Default)]
pub(super) struct Slots {
    entries: Arc<Vec<Arc<Entry>>>,
    free: Vec<u32>,
    by_id: SharedMap<ToolId, u32>,
    len: usize,
}

impl Slots {
    /// Returns the number of tools.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns one past the highest slot ever given out.
    pub(super) fn end(&self) -> usize {
        self.entries.len()
    }

    /// Returns the name of the tool in a slot that was given out.
    pub(super) fn name(&self, slot: u32) -> &Name {
        &self.entries[slot as usize].name
    }

    /// Returns the names of all tools, by id.
    #[cfg(test)]
    pub(super) fn names(&self) -> impl Iterator<Item = &Name> {
        self.by_id.iter().map(|(_, slot)| self.name(*slot))
    }

    /// Returns a free slot, which stays free until filled; none when all are taken.
    pub(super) fn free(&self) -> Option<u32> {
        let next = self.entries.len();
        self.free.last().copied().or_else(|| (next < SLOTS_MAX).then_some(next as u32))
    }

    /// Puts a tool into a free slot.
    pub(super) fn fill(&mut self, slot: u32, entry: Entry) {
        let id = entry.name.id.clone();
        *self.by_id.get_or_insert(|key| key.cmp(&id), || (id.clone(), slot)) = slot;
        let entries = Arc::make_mut(&mut self.entries);
        if self.free.pop().is_none() {
            entries.push(Arc::new(entry));
        } else {
            entries[slot as usize] = Arc::new(entry);
        }
        self.len += 1;
        debug_assert_eq!(self.len + self.free.len(), self.entries.len());
    }

    /// Takes a tool out of its slot, if it has one.
    pub(super) fn take(&mut self, tool: &ToolId) -> Option<(u32, Arc<Entry>)> {
        let by_tool = |key: &ToolId| -> Ordering { key.cmp(tool) };
        let slot = *self.by_id.get(by_tool)?;
        self.by_id.change(by_tool, |_| Keep::No);
        let vacant = Arc::new(Entry::vacant());
        let entry = std::mem::replace(&mut Arc::make_mut(&mut self.entries)[slot as usize], vacant);
        self.free.push(slot);
        self.len -= 1;
        Some((slot, entry))
    }
}

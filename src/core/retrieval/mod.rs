//! On-demand retrieval: which tools fit a query, best first, and why; which tool a name means.
//!
//! Knows text and names, not sessions, states or rights: the caller says which tools it admits. README.md beside this
//! file says how it works. Before editing, know that ranks must not depend on the order in which tools came: whatever
//! enters a score is a function of the set of tools.

use std::cmp::Ordering;
use std::sync::Arc;

use super::definition::Definition;
use super::ids::{Alias, ToolId};

mod fields;
mod lexical;
mod names;
mod near;
mod postings;
mod query;
mod rank;
mod scores;
mod shared_map;
pub mod text;

#[cfg(test)]
mod tests;

pub use names::{NameHow, NameMatch};
pub use query::Query;
pub use rank::{Parts, Ranked};
pub use text::cut;

use lexical::{Forward, Lexical, SLOTS_MAX};
use names::{Named, Names};
use rank::{Candidate, Ranking, name_part};
use scores::Scores;
use shared_map::{Keep, SharedMap};

/// What a word of a name that only contains a query word counts for, as a share of the word itself.
const WITHIN_SHARE: f64 = 0.3;

/// The searchable tools of a namespace. A clone shares everything with its origin until either is written to, so one is
/// made for each published snapshot.
#[derive(Clone, Default)]
pub struct Index {
    slots: Slots,
    lexical: Lexical,
    names: Names,
}

/// What a search found.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Search {
    /// Best first; at most as many as asked for.
    pub ranked: Vec<Ranked>,
    /// Tools that match at all, whatever the limit. An upper bound: tools that the caller does not admit are counted.
    pub total: usize,
}

impl Index {
    /// Adds a tool, or replaces what was known of it. Past four million tools nothing more is added.
    pub fn insert(&mut self, definition: &Definition, alias: &Alias) {
        self.remove(&definition.id);
        let Some(slot) = self.slots.free() else { return };
        let forward = self.lexical.insert(slot, &fields::weigh(definition));
        let entry = Entry { id: definition.id.clone(), alias: alias.clone(), forward };
        self.names.insert(slot, &entry);
        self.slots.fill(slot, entry);
    }

    /// Takes a tool out; nothing of it remains. An unknown one is none to take out.
    pub fn remove(&mut self, tool: &ToolId) {
        let Some((slot, entry)) = self.slots.take(tool) else { return };
        self.lexical.remove(slot, &entry.forward);
        self.names.remove(slot, &*entry);
    }

    /// Returns the number of tools.
    pub fn len(&self) -> usize {
        self.slots.len
    }

    /// Says whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the tools that match the query, best first, ties by [`ToolId`].
    ///
    /// `prior` (heat, as published) decides between near equals: it is squeezed into a small bounded part, and a tool
    /// that does not match stays out whatever its prior. `admits` is asked in rank order until `limit` tools are found.
    /// A tool that the query names, as a whole or among other words, comes before all that only match.
    pub fn search(
        &self,
        query: &Query<'_>,
        prior: &dyn Fn(&ToolId) -> f32,
        admits: &mut dyn FnMut(&ToolId) -> bool,
        limit: usize,
    ) -> Search {
        let texts = query.texts();
        let named = self.named_in(&texts);
        let terms = query::terms(&texts, &self.names);
        let candidates = Scores::with(self.slots.end(), |scores| {
            self.lexical.score(&terms, WITHIN_SHARE, self.len(), scores);
            fuse(&named, scores, self.len())
        });
        let total = candidates.len();
        let tool_at = |slot| self.slots.entry(slot).id();
        let mut ranking = Ranking::new(candidates, &tool_at, prior);
        let mut ranked = Vec::with_capacity(limit.min(total));
        while ranked.len() < limit {
            let Some(next) = ranking.next() else { break };
            if admits(&next.tool) {
                ranked.push(next);
            }
        }
        Search { ranked, total }
    }

    /// Returns the tools that the name means: by alias or `source/name`, else by local name, else with a prefix more or
    /// less, else but for case and separators.
    pub fn find_name(&self, name: &str) -> Option<NameMatch> {
        let (how, slots) = self.names.find(name, |slot| self.slots.entry(slot))?;
        let mut tools: Vec<ToolId> = slots.iter().map(|slot| self.slots.entry(*slot).id.clone()).collect();
        tools.sort_unstable();
        Some(NameMatch { how, tools })
    }

    /// Returns the tools whose names are nearest to a misspelt or invented one, nearest first, ties by [`ToolId`]; none
    /// where no word of it occurs in any name. Tools that `admits` refuses are passed over.
    pub fn near_names(&self, name: &str, admits: &mut dyn FnMut(&ToolId) -> bool, limit: usize) -> Vec<ToolId> {
        let id_at = |slot: u32| &self.slots.entry(slot).id;
        let tie_order = |a, b| id_at(a).cmp(id_at(b));
        let candidates = near::candidates(name, &self.names, tie_order, |slot| admits(id_at(slot)));
        let mut nearest: Vec<(u32, &ToolId)> = Vec::with_capacity(candidates.len());
        for slot in candidates {
            let entry = self.slots.entry(slot);
            let by_name = near::distance(name, &entry.id.name);
            let by_alias = near::distance(name, entry.alias.as_str());
            nearest.push((by_name.min(by_alias), &entry.id));
        }
        nearest.sort_unstable();
        nearest.into_iter().take(limit).map(|(_, tool)| tool.clone()).collect()
    }

    /// Returns the slots that the texts name, by slot, each once and in its strongest way.
    fn named_in(&self, texts: &[std::borrow::Cow<'_, str>; 3]) -> Vec<(u32, NameHow)> {
        let mut named: Vec<(u32, NameHow)> = Vec::new();
        for text in texts {
            let tool_at = |slot| self.slots.entry(slot);
            let whole = self.names.find(text, tool_at);
            let inside = names::mentions(text).filter_map(|mention| self.names.find_mentioned(mention, tool_at));
            for (how, slots) in whole.into_iter().chain(inside) {
                named.extend(slots.into_iter().map(|slot| (slot, how)));
            }
        }
        named.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
        named.dedup_by_key(|(slot, _)| *slot);
        named
    }
}

/// Brings the arms together: every tool that any of them found, with its parts. `named` is sorted by slot.
fn fuse(named: &[(u32, NameHow)], lexical: &Scores, n_tools: usize) -> Vec<Candidate> {
    let spread = lexical.spread(n_tools);
    let only_named = named.iter().map(|(slot, _)| *slot).filter(|slot| lexical.get(*slot) == 0);
    let slots = lexical.touched().iter().copied().chain(only_named);
    let candidate = |slot| {
        let how = named.binary_search_by_key(&slot, |(slot, _)| *slot).ok().map(|at| named[at].1);
        let parts = Parts { name: name_part(how), lexical: spread.standardise(lexical.get(slot)), prior: 0.0 };
        Candidate { slot, parts }
    };
    slots.map(candidate).collect()
}

/// What the index keeps of a tool.
#[derive(Clone)]
struct Entry {
    id: ToolId,
    alias: Alias,
    forward: Forward,
}

impl Entry {
    /// Stands in a slot without a tool.
    fn vacant() -> Self {
        Self { id: ToolId::new("", ""), alias: Alias::new(""), forward: Forward::default() }
    }
}

impl Named for Entry {
    fn id(&self) -> &ToolId {
        &self.id
    }

    fn alias(&self) -> &Alias {
        &self.alias
    }
}

/// Small numbers for tools, given out again when a tool has gone. They depend on history, so no order or tie may.
#[derive(Clone, Default)]
struct Slots {
    entries: Arc<Vec<Arc<Entry>>>,
    free: Vec<u32>,
    by_id: SharedMap<ToolId, u32>,
    len: usize,
}

impl Slots {
    /// Returns one past the highest slot ever given out.
    fn end(&self) -> usize {
        self.entries.len()
    }

    /// Returns what stands in a slot that was given out.
    fn entry(&self, slot: u32) -> &Entry {
        &self.entries[slot as usize]
    }

    /// Returns a free slot, which stays free until filled; none when all are taken.
    fn free(&self) -> Option<u32> {
        let next = self.entries.len();
        self.free.last().copied().or_else(|| (next < SLOTS_MAX).then_some(next as u32))
    }

    fn fill(&mut self, slot: u32, entry: Entry) {
        let id = entry.id.clone();
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

    fn take(&mut self, tool: &ToolId) -> Option<(u32, Arc<Entry>)> {
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

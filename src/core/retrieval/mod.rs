//! On-demand retrieval: which tools fit a query, best first, and why; which tool a name means.
//!
//! Knows text and names, not sessions, states or rights: the caller says which tools it admits. README.md beside this
//! file says how it works. Before editing, know that ranks must not depend on the order in which tools came: whatever
//! enters a score is a function of the set of tools.

use super::definition::Definition;
use super::ids::{Alias, ToolId};

mod anatomy;
mod fields;
mod key;
mod lexical;
mod names;
mod near;
mod postings;
mod query;
mod rank;
mod scores;
mod shared_map;
mod slots;
pub mod text;

#[cfg(test)]
mod tests;

pub use anatomy::{Anatomy, Dissected};
pub use names::{NameHow, NameMatch};
pub use query::Query;
pub use rank::{Parts, Ranked};
pub use text::cut;

use lexical::Lexical;
use names::{Name, Names};
use query::Texts;
use rank::{Candidate, Lookup, Ranking, name_part};
use scores::{Scores, Spread};
use slots::{Entry, Slots};

/// Names that an operator is told where one stands for nothing.
const NEAREST: usize = 5;

/// What a word of a name that only contains a query word counts for, as a share of the word itself. More of it costs
/// recall on the development sets (0.5: 0.4 points of r@8), none of it loses `send_email` for "mail".
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
        let name = Name { id: definition.id.clone(), alias: alias.clone() };
        self.names.insert(slot, &name);
        self.slots.fill(slot, Entry { name, forward });
    }

    /// Takes a tool out; nothing of it remains. An unknown one is none to take out.
    pub fn remove(&mut self, tool: &ToolId) {
        let Some((slot, entry)) = self.slots.take(tool) else { return };
        self.lexical.remove(slot, &entry.forward);
        self.names.remove(slot, &entry.name);
    }

    /// Returns the number of tools.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Says whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the tools that match the query, best first, ties by [`ToolId`].
    ///
    /// `prior` (heat, as published) decides between near equals: it is squeezed into a small bounded part, and a tool
    /// that does not match stays out whatever its prior. `admits` is asked in rank order until `limit` tools are found.
    /// A tool that the query names, as a whole or among other words, comes before all that only match; a name that is a
    /// plain word, like `search`, is one among other words only between backquotes.
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
        Scores::with(self.slots.end(), |lexical| {
            self.lexical.score(&terms, WITHIN_SHARE, self.len(), lexical);
            let fused = Fused { spread: lexical.spread(self.len()), lexical, named, slots: &self.slots };
            let candidates = fused.candidates();
            let total = candidates.len();
            let mut ranking = Ranking::new(candidates, &fused, prior);
            let mut ranked = Vec::with_capacity(limit.min(total));
            while ranked.len() < limit {
                let Some(next) = ranking.next() else { break };
                if admits(&next.tool) {
                    ranked.push(next);
                }
            }
            Search { ranked, total }
        })
    }

    /// Returns the tools that the name means: by alias or `source/name`, else by local name, else with a prefix more or
    /// less, else but for case and separators.
    pub fn find_name(&self, name: &str) -> Option<NameMatch> {
        let (how, slots) = self.names.find(name, &|slot| self.slots.name(slot))?;
        let mut tools: Vec<ToolId> = slots.iter().map(|slot| self.slots.name(*slot).id.clone()).collect();
        tools.sort_unstable();
        Some(NameMatch { how, tools })
    }

    /// Returns the few tools whose names are nearest, whoever may see them: for operators.
    pub fn nearest_names(&self, name: &str) -> Vec<ToolId> {
        self.near_names(name, &mut |_| true, NEAREST)
    }

    /// Returns the tools whose names are nearest to a misspelt or invented one, nearest first, ties by [`ToolId`]; none
    /// where no word of it is like a word of any name. Tools that `admits` refuses are passed over.
    pub fn near_names(&self, name: &str, admits: &mut dyn FnMut(&ToolId) -> bool, limit: usize) -> Vec<ToolId> {
        let id_at = |slot: u32| &self.slots.name(slot).id;
        let tie_order = |a, b| id_at(a).cmp(id_at(b));
        let wanted = near::Wanted::new(name);
        let candidates = wanted.candidates(&self.names, tie_order, |slot| admits(id_at(slot)));
        let mut nearest: Vec<(u32, &ToolId)> = Vec::with_capacity(candidates.len());
        for slot in candidates {
            let Name { id, alias } = self.slots.name(slot);
            let distance = wanted.distance(&id.name).min(wanted.distance(alias.as_str()));
            nearest.push((distance, id));
        }
        nearest.sort_unstable();
        nearest.into_iter().take(limit).map(|(_, tool)| tool.clone()).collect()
    }

    /// Returns the slots that the texts name, by slot, each once and in its strongest way.
    fn named_in(&self, texts: &Texts<'_>) -> Vec<(u32, NameHow)> {
        let mut named: Vec<(u32, NameHow)> = Vec::new();
        let name_at = |slot| self.slots.name(slot);
        for text in texts {
            let whole = self.names.find(text, &name_at);
            let inside = names::mentions(text).filter_map(|mention| self.names.find_mentioned(mention, &name_at));
            for (how, slots) in whole.into_iter().chain(inside) {
                named.extend(slots.into_iter().map(|slot| (slot, how)));
            }
        }
        named.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
        named.dedup_by_key(|(slot, _)| *slot);
        named
    }
}

/// The arms of one query brought together: each adds its part to the score of every tool that any of them found.
struct Fused<'a> {
    lexical: &'a Scores,
    spread: Spread,
    /// By slot.
    named: Vec<(u32, NameHow)>,
    slots: &'a Slots,
}

impl Fused<'_> {
    fn candidates(&self) -> Vec<Candidate> {
        let only_named = self.named.iter().map(|(slot, _)| *slot).filter(|slot| self.lexical.get(*slot) == 0);
        let found = self.lexical.touched().iter().copied().chain(only_named);
        found.map(|slot| Candidate { slot, score: self.parts(slot).sum() }).collect()
    }
}

impl Lookup for Fused<'_> {
    fn tool(&self, slot: u32) -> &ToolId {
        &self.slots.name(slot).id
    }

    fn parts(&self, slot: u32) -> Parts {
        let how = self.named.binary_search_by_key(&slot, |(slot, _)| *slot).ok().map(|at| self.named[at].1);
        Parts { name: name_part(how), lexical: self.spread.standardise(self.lexical.get(slot)), prior: 0.0 }
    }
}

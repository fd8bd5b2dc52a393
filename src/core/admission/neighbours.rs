//! The tools of a namespace by their words and names, so that a definition is compared with those alone that can be
//! close to it. Finds exactly what comparing with each would find, up to [`ENOUGH`].
//!
//! Two definitions of which three words in five are common share more than half of either's words. So of any words that
//! make up the rest of one, at least one must be the other's: looking up the rarest of them finds every candidate.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::confusable::{CLOSE, Closeness, Signature};
use super::fold::{fold_letters, words};
use crate::core::definition::Definition;
use crate::core::ids::ToolId;

/// So many close tools are a family, of which any few say so: looking at all of it, for each of its members, would take
/// time by the square of its size.
pub const ENOUGH: usize = 64;

/// Another tool that is close.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Neighbour {
    /// Which.
    pub tool: ToolId,
    /// How, and how much.
    pub closeness: Closeness,
}

/// Tools, each with the definition that stands for it now.
#[derive(Clone, Default)]
pub struct Neighbours {
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    slots: BTreeMap<ToolId, u32>,
    by_word: HashMap<u64, Vec<u32>>,
    by_letters: HashMap<u64, Vec<u32>>,
    /// Tools by their name in small letters.
    by_name: HashMap<String, BTreeSet<ToolId>>,
    /// Tools by what their name looks like.
    by_look: HashMap<String, BTreeSet<ToolId>>,
    /// Sources by what they look like, with the number of their tools.
    sources: HashMap<String, BTreeMap<Arc<str>, usize>>,
}

#[derive(Clone)]
struct Entry {
    tool: ToolId,
    signature: Signature,
}

impl Neighbours {
    /// Adds a tool, or replaces its definition.
    pub fn insert(&mut self, definition: &Definition) {
        let tool = &definition.id;
        self.remove(tool);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            (self.entries.len() - 1) as u32
        });
        let signature = Signature::of(definition);
        for word in &signature.words {
            self.by_word.entry(*word).or_default().push(slot);
        }
        self.by_letters.entry(signature.letters).or_default().push(slot);
        self.by_name.entry(tool.name.to_ascii_lowercase()).or_default().insert(tool.clone());
        self.by_look.entry(look_of(&tool.name)).or_default().insert(tool.clone());
        *self.sources.entry(look_of(&tool.source)).or_default().entry(tool.source.clone()).or_default() += 1;
        self.slots.insert(tool.clone(), slot);
        self.entries[slot as usize] = Some(Entry { tool: tool.clone(), signature });
    }

    /// Takes a tool out; an unknown one is none to take out.
    pub fn remove(&mut self, tool: &ToolId) {
        let Some(slot) = self.slots.remove(tool) else { return };
        let Some(Entry { signature, .. }) = self.entries[slot as usize].take() else { return };
        self.free.push(slot);
        for word in &signature.words {
            drop_from(&mut self.by_word, word, |slots| {
                slots.retain(|other| *other != slot);
                slots.is_empty()
            });
        }
        drop_from(&mut self.by_letters, &signature.letters, |slots| {
            slots.retain(|other| *other != slot);
            slots.is_empty()
        });
        let without = |tools: &mut BTreeSet<ToolId>| tools.remove(tool) && tools.is_empty();
        drop_from(&mut self.by_name, &tool.name.to_ascii_lowercase(), without);
        drop_from(&mut self.by_look, &look_of(&tool.name), without);
        drop_from(&mut self.sources, &look_of(&tool.source), |sources| {
            if let Some(n) = sources.get_mut(&tool.source) {
                *n -= 1;
            }
            sources.retain(|_, n| *n > 0);
            sources.is_empty()
        });
    }

    /// Returns whether a tool is there.
    pub fn contains(&self, tool: &ToolId) -> bool {
        self.slots.contains_key(tool)
    }

    /// Returns the signature of a tool that is there.
    pub fn signature(&self, tool: &ToolId) -> Option<&Signature> {
        let slot = *self.slots.get(tool)?;
        self.entries[slot as usize].as_ref().map(|entry| &entry.signature)
    }

    /// Returns every tool that counts and is close to one of this signature, in no order; of more than [`ENOUGH`] only so many, those of
    /// the same name before the others.
    pub fn near(&self, tool: &ToolId, signature: &Signature, counts: &dyn Fn(&ToolId) -> bool) -> Vec<Neighbour> {
        let by_letters = self.by_letters.get(&signature.letters).map_or(&[][..], Vec::as_slice);
        let mut is_seen = vec![false; self.entries.len()];
        let mut near = Vec::new();
        for slots in std::iter::once(by_letters).chain(self.rarest(&signature.words)) {
            for &slot in slots {
                if std::mem::replace(&mut is_seen[slot as usize], true) {
                    continue;
                }
                let Some(entry) = &self.entries[slot as usize] else { continue };
                if let Some(closeness) = signature.closeness(&entry.signature)
                    && entry.tool != *tool
                    && counts(&entry.tool)
                {
                    near.push(Neighbour { tool: entry.tool.clone(), closeness });
                    if near.len() == ENOUGH {
                        return near;
                    }
                }
            }
        }
        near
    }

    /// Returns the tools that have the rarest words, so many words that every close tool has one of them.
    fn rarest(&self, words: &[u64]) -> Vec<&[u32]> {
        let n_common = (words.len() * CLOSE.0).div_ceil(CLOSE.1);
        let mut lists: Vec<&[u32]> =
            words.iter().map(|word| self.by_word.get(word).map_or(&[][..], Vec::as_slice)).collect();
        lists.sort_unstable_by_key(|list| list.len());
        lists.truncate((words.len() + 1).saturating_sub(n_common));
        lists
    }

    /// Returns the tools of a name, whatever its case.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &ToolId> {
        self.by_name.get(&name.to_ascii_lowercase()).into_iter().flatten()
    }

    /// Returns the tools of other sources whose name looks like this one and is another: not the same words in another
    /// style (`getUser`, `get_user`), which is the same plain name.
    pub fn looking_like<'a>(&'a self, tool: &'a ToolId) -> impl Iterator<Item = &'a ToolId> {
        let looks = self.by_look.get(&look_of(&tool.name)).into_iter().flatten();
        looks.filter(|other| other.source != tool.source && words(&other.name) != words(&tool.name))
    }

    /// Returns the sources that look like this one and are others.
    pub fn sources_looking_like<'a>(&'a self, source: &'a str) -> impl Iterator<Item = &'a Arc<str>> {
        let looks = self.sources.get(&look_of(source)).into_iter().flat_map(BTreeMap::keys);
        looks.filter(move |other| &***other != source)
    }
}

/// Changes what stands under a key, and drops it where `f` says that nothing is left.
fn drop_from<K: Eq + std::hash::Hash, V>(map: &mut HashMap<K, V>, key: &K, f: impl FnOnce(&mut V) -> bool) {
    if map.get_mut(key).is_some_and(f) {
        map.remove(key);
    }
}

/// Returns what a name looks like: without case and separators, and with one character for those that look alike.
fn look_of(name: &str) -> String {
    let letters = fold_letters(name).replace("rn", "m").replace("vv", "w");
    let look = |c| match c {
        '0' => 'o',
        '1' | 'i' => 'l',
        c => c,
    };
    letters.chars().map(look).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::definition;
    use super::*;

    fn tool(source: &str, name: &str, summary: &str) -> Definition {
        let mut tool = definition();
        tool.id = ToolId::new(source, name);
        tool.summary = summary.into();
        tool
    }

    #[test]
    fn look_alike_names_of_other_sources_are_found() {
        let mut index = Neighbours::default();
        for (source, name) in [("files", "read_file"), ("mail", "send_email"), ("web", "form")] {
            index.insert(&tool(source, name, "x"));
        }
        let like = |source: &str, name: &str| index.looking_like(&ToolId::new(source, name)).count();
        assert_eq!((like("other", "read-fi1e"), like("other", "readfile")), (1, 1));
        assert_eq!((like("other", "read_file"), like("other", "ReadFile")), (0, 0), "the same name is no look-alike");
        assert_eq!(like("files", "readfile"), 0, "a source may have both");
        assert_eq!(like("other", "fom"), 0);
        assert_eq!(like("other", "forrn"), 1);
        let sources = |source: &str| index.sources_looking_like(source).count();
        assert_eq!((sources("Mai1"), sources("mail"), sources("post")), (1, 0, 0));
    }

    #[test]
    fn of_a_large_family_enough_are_found_and_those_of_the_same_name_first() {
        let mut index = Neighbours::default();
        for i in 0..200 {
            index.insert(&tool("one", &format!("lookup_{i}"), "Looks up one thing in the records of the house"));
        }
        let twin = tool("two", "lookup_199", "Looks up one thing in the records of the house");
        let near = index.near(&twin.id, &Signature::of(&twin), &|_| true);
        assert_eq!(near.len(), ENOUGH);
        assert_eq!(near[0].tool, ToolId::new("one", "lookup_199"));
    }

    #[test]
    fn what_is_taken_out_leaves_nothing_behind() {
        let mut index = Neighbours::default();
        index.insert(&tool("files", "read_file", "Reads a file when asked"));
        index.insert(&tool("files", "read_file", "Something else now"));
        index.remove(&ToolId::new("files", "read_file"));
        assert!(index.by_word.is_empty() && index.by_letters.is_empty() && index.by_name.is_empty());
        assert!(index.by_look.is_empty() && index.sources.is_empty() && index.slots.is_empty());
        assert_eq!(index.free.len(), 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_index_finds_what_comparing_with_each_finds(
            tools in proptest::collection::vec(("[ab]", "[abAB]{1,2}", "([a-f] ){0,8}"), 0..24),
            removed in proptest::collection::vec(0..24_usize, 0..6),
        ) {
            let mut index = Neighbours::default();
            let mut kept: BTreeMap<ToolId, Definition> = BTreeMap::new();
            for (source, name, summary) in &tools {
                let tool = tool(source, name, summary);
                index.insert(&tool);
                kept.insert(tool.id.clone(), tool);
            }
            for (source, name, _) in removed.iter().filter_map(|at| tools.get(*at)) {
                let id = ToolId::new(source.as_str(), name.as_str());
                index.remove(&id);
                kept.remove(&id);
            }
            for definition in kept.values() {
                let signature = Signature::of(definition);
                let others = kept.values().filter(|other| other.id != definition.id);
                let expected: BTreeSet<ToolId> = others
                    .filter(|other| signature.closeness(&Signature::of(other)).is_some())
                    .map(|other| other.id.clone())
                    .collect();
                let found: BTreeSet<ToolId> = index.near(&definition.id, &signature, &|_| true).into_iter().map(|near| near.tool).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}

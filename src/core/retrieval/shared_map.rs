//! A sorted map whose clones share their entries: the index is cloned for every published snapshot, and a write after
//! that copies only the chunks it touches.
//!
//! A two-level B-tree: sorted chunks in a sorted row. Where chunks begin depends on the history of writes; no method
//! lets a caller see it.

use std::cmp::Ordering;
use std::sync::Arc;

/// A chunk that grows past this is halved. Small enough that copying one is cheap, large enough that a clone, which
/// counts one reference a chunk, is too.
const CHUNK_MAX: usize = 128;

type Chunk<K, V> = Arc<Vec<(K, V)>>;

/// A sorted map, cheap to clone. Keys are found by a `probe` that says how a stored key compares with the wanted one.
#[derive(Clone)]
pub(super) struct SharedMap<K, V> {
    /// None is empty; keys ascend strictly, within chunks and across them.
    chunks: Vec<Chunk<K, V>>,
}

impl<K, V> Default for SharedMap<K, V> {
    fn default() -> Self {
        Self { chunks: Vec::new() }
    }
}

/// Where a key stands, or where it would.
struct Place {
    chunk_idx: usize,
    entry_idx: usize,
    found: bool,
}

impl<K: Clone, V: Clone> SharedMap<K, V> {
    /// Returns the value whose key probes equal.
    pub(super) fn get(&self, probe: impl Fn(&K) -> Ordering) -> Option<&V> {
        let place = self.locate(probe);
        place.found.then(|| &self.chunks[place.chunk_idx][place.entry_idx].1)
    }

    /// Returns the value whose key probes equal, for writing; makes the entry first where there is none. The key made
    /// must probe equal.
    pub(super) fn get_or_insert(&mut self, probe: impl Fn(&K) -> Ordering, make: impl FnOnce() -> (K, V)) -> &mut V {
        let Place { mut chunk_idx, mut entry_idx, found } = self.locate(probe);
        if !found {
            if self.chunks.is_empty() {
                self.chunks.push(Arc::new(Vec::new()));
            }
            let chunk = Arc::make_mut(&mut self.chunks[chunk_idx]);
            chunk.insert(entry_idx, make());
            if chunk.len() > CHUNK_MAX {
                let upper = chunk.split_off(CHUNK_MAX / 2);
                self.chunks.insert(chunk_idx + 1, Arc::new(upper));
                if entry_idx >= CHUNK_MAX / 2 {
                    chunk_idx += 1;
                    entry_idx -= CHUNK_MAX / 2;
                }
            }
        }
        &mut Arc::make_mut(&mut self.chunks[chunk_idx])[entry_idx].1
    }

    /// Lets `change` write to the value whose key probes equal, and drops the entry when it says [`Keep::No`].
    pub(super) fn change(&mut self, probe: impl Fn(&K) -> Ordering, change: impl FnOnce(&mut V) -> Keep) {
        let Place { chunk_idx, entry_idx, found } = self.locate(probe);
        if !found {
            return;
        }
        let chunk = Arc::make_mut(&mut self.chunks[chunk_idx]);
        if change(&mut chunk[entry_idx].1) == Keep::No {
            chunk.remove(entry_idx);
            if chunk.is_empty() {
                self.chunks.remove(chunk_idx);
            }
        }
    }

    /// Returns the entries in key order, from the first whose key does not probe less.
    pub(super) fn iter_from(&self, probe: impl Fn(&K) -> Ordering) -> impl Iterator<Item = (&K, &V)> {
        let place = self.locate(probe);
        let head = self.chunks.get(place.chunk_idx).map_or(&[][..], |chunk| &chunk[place.entry_idx..]);
        let tail = self.chunks.iter().skip(place.chunk_idx + 1).flat_map(|chunk| chunk.iter());
        head.iter().chain(tail).map(|(key, value)| (key, value))
    }

    /// Returns all entries in key order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.iter_from(|_| Ordering::Greater)
    }

    fn locate(&self, probe: impl Fn(&K) -> Ordering) -> Place {
        let ends_before = |chunk: &Chunk<K, V>| chunk.last().is_some_and(|(key, _)| probe(key).is_lt());
        let chunk_idx = self.chunks.partition_point(ends_before);
        let Some(chunk) = self.chunks.get(chunk_idx) else {
            // Past every key: the place is the end of the last chunk.
            let entry_idx = self.chunks.last().map_or(0, |chunk| chunk.len());
            return Place { chunk_idx: self.chunks.len().saturating_sub(1), entry_idx, found: false };
        };
        match chunk.binary_search_by(|(key, _)| probe(key)) {
            Ok(entry_idx) => Place { chunk_idx, entry_idx, found: true },
            Err(entry_idx) => Place { chunk_idx, entry_idx, found: false },
        }
    }
}

/// Whether an entry stays after a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Keep {
    Yes,
    No,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn behaves_as_a_plain_map_and_clones_stay_as_they_were(
            writes in prop::collection::vec((0u16..400, any::<bool>()), 0..900),
            from in 0u16..400,
        ) {
            let mut map = SharedMap::default();
            let mut plain = BTreeMap::new();
            let mut earlier = (map.clone(), plain.clone());
            for (i, (key, add)) in writes.iter().enumerate() {
                if i == writes.len() / 2 {
                    earlier = (map.clone(), plain.clone());
                }
                if *add {
                    *map.get_or_insert(|k: &u16| k.cmp(key), || (*key, 0)) += 1;
                    *plain.entry(*key).or_insert(0) += 1;
                } else {
                    map.change(|k| k.cmp(key), |_| Keep::No);
                    plain.remove(key);
                }
            }
            for (map, plain) in [earlier, (map, plain)] {
                prop_assert!(map.iter().eq(plain.iter()));
                prop_assert!(map.iter_from(|k| k.cmp(&from)).eq(plain.range(from..)));
                prop_assert_eq!(map.get(|k| k.cmp(&from)), plain.get(&from));
            }
        }
    }
}

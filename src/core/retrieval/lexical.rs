//! The lexical arm: BM25F over an inverted index of stems.
//!
//! A posting is one number, the tool's slot above and the term's impact below. What depends on the collection (how many
//! tools there are, how many hold a term) is looked up when a query comes, never stored in a posting.

use std::cmp::Ordering;
use std::sync::Arc;

use super::fields::{IMPACT_MAX, WeightedTerm};
use super::postings::Postings;
use super::scores::Scores;
use super::shared_map::{Keep, SharedMap};

/// Bits of a posting that hold the impact.
const IMPACT_BITS: u32 = 10;
/// Slots that fit above them. Registration limits lie far below.
pub(super) const SLOTS_MAX: usize = 1 << (32 - IMPACT_BITS);
/// Terms of one query that are scored: those that weigh most. Bounds the cost of hostile text, and the sums: with
/// weights below 2¹³ and impacts below 2¹⁰, 2⁹ terms stay within 32 bits.
const QUERY_TERMS_MAX: usize = 512;
const WEIGHT_MAX: f64 = 8191.0;
/// What one unit of idf counts for in a term's whole-number weight.
const WEIGHT_SCALE: f64 = 256.0;
/// Exponent on how often the query says a term: saying it four times makes it half as important again.
const QUERY_COUNT_EXPONENT: f64 = 0.3;

/// A term's key: its hash first, so that finding it compares numbers, and a document can be remembered by numbers.
#[derive(Clone)]
struct Key {
    hash: u32,
    term: Arc<str>,
}

impl Key {
    fn cmp_with(&self, hash: u32, term: &str) -> Ordering {
        self.hash.cmp(&hash).then_with(|| (*self.term).cmp(term))
    }
}

/// The inverted index.
#[derive(Clone, Default)]
pub(super) struct Lexical {
    terms: SharedMap<Key, Postings>,
}

/// What a document needs for being taken out again: the hashes of its terms.
#[derive(Clone, Default, Debug)]
pub(super) struct Forward(Box<[u32]>);

/// A term of a query.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct QueryTerm {
    pub(super) term: String,
    /// How often the query says it, 1 for once in the user's own text.
    pub(super) count: f32,
    /// Words of tool names that contain the term; each matches for [`Lexical::score`]'s `within` of a whole word.
    pub(super) containing: Vec<Arc<str>>,
}

/// A term that a query is scored by.
pub(super) struct Sought<'a> {
    /// What one unit of impact counts for.
    pub(super) weight: u32,
    /// The term as tools have it.
    pub(super) term: &'a str,
    /// The query's own term, which that one is or contains.
    pub(super) asked: &'a str,
    postings: &'a [u32],
}

impl Lexical {
    /// Adds a document under a free slot below [`SLOTS_MAX`].
    pub(super) fn insert(&mut self, slot: u32, terms: &[WeightedTerm]) -> Forward {
        let mut hashes: Vec<u32> = Vec::with_capacity(terms.len());
        for WeightedTerm { term, impact } in terms {
            let hash = hash(term);
            let make = || (Key { hash, term: term.as_str().into() }, Postings::default());
            self.terms.get_or_insert(|key| key.cmp_with(hash, term), make).add(slot << IMPACT_BITS | impact);
            hashes.push(hash);
        }
        hashes.sort_unstable();
        Forward(hashes.into())
    }

    /// Takes a document out again.
    pub(super) fn remove(&mut self, slot: u32, forward: &Forward) {
        let postings_of_slot = slot << IMPACT_BITS..=slot << IMPACT_BITS | IMPACT_MAX;
        for hash in &forward.0 {
            // Terms that share a hash are all visited; those of other documents have nothing to take out.
            let with_hash =
                self.terms.iter_from(|key| key.cmp_with(*hash, "")).take_while(|(key, _)| key.hash == *hash);
            let terms: Vec<Arc<str>> = with_hash.map(|(key, _)| Arc::clone(&key.term)).collect();
            for term in terms {
                self.terms.change(
                    |key| key.cmp_with(*hash, &term),
                    |postings| {
                        postings.take_out(postings_of_slot.clone());
                        if postings.is_empty() { Keep::No } else { Keep::Yes }
                    },
                );
            }
        }
    }

    /// Adds every match of the query to `scores`. A word that only contains a query term counts for the share `within`
    /// of the term itself.
    pub(super) fn score(&self, query: &[QueryTerm], within: f64, n_tools: usize, scores: &mut Scores) {
        for Sought { weight, postings, .. } in self.sought(query, within, n_tools) {
            for posting in postings {
                scores.add(posting >> IMPACT_BITS, weight * (posting & IMPACT_MAX));
            }
        }
    }

    /// Returns the terms of a query that some tool has, with what a match of each weighs; one term may stand there more
    /// than once, for several words of the query.
    pub(super) fn sought<'a>(&'a self, query: &'a [QueryTerm], within: f64, n_tools: usize) -> Vec<Sought<'a>> {
        let mut found = Vec::with_capacity(query.len());
        for QueryTerm { term, count, containing } in query {
            let repeated = libm::pow(f64::from(*count), QUERY_COUNT_EXPONENT);
            let whole = self.postings(term);
            let whole_idf = whole.map_or(f64::INFINITY, |postings| idf(postings.len(), n_tools));
            if let Some(postings) = whole {
                found.push(Sought { weight: to_weight(whole_idf * repeated), term, asked: term, postings });
            }
            for word in containing {
                if let Some(postings) = self.postings(word) {
                    // However rare the longer word is: whole words come first.
                    let idf = idf(postings.len(), n_tools).min(whole_idf);
                    let weight = to_weight(idf * repeated * within);
                    found.push(Sought { weight, term: word, asked: term, postings });
                }
            }
        }
        if found.len() > QUERY_TERMS_MAX {
            // The sort is stable over terms in byte order, so which ones stay does not depend on chance.
            found.sort_by_key(|sought| std::cmp::Reverse(sought.weight));
            found.truncate(QUERY_TERMS_MAX);
        }
        found
    }

    fn postings(&self, term: &str) -> Option<&[u32]> {
        let hash = hash(term);
        self.terms.get(|key| key.cmp_with(hash, term)).map(Postings::as_slice)
    }

    /// Returns the number of terms and of postings.
    #[cfg(test)]
    pub(super) fn size(&self) -> (usize, usize) {
        self.terms.iter().fold((0, 0), |(terms, postings), (_, list)| (terms + 1, postings + list.as_slice().len()))
    }
}

/// Returns how much a term tells that so many of all tools hold: ln(1 + (n − df + ½) / (df + ½)), always above 0.
fn idf(n_holding: usize, n_tools: usize) -> f64 {
    let (n_holding, n_tools) = (n_holding as f64, n_tools.max(n_holding) as f64);
    libm::log(1.0 + (n_tools - n_holding + 0.5) / (n_holding + 0.5))
}

/// Rounds a weight to a whole number, at least 1 so that a match is never nothing.
fn to_weight(weight: f64) -> u32 {
    (weight * WEIGHT_SCALE + 0.5).clamp(1.0, WEIGHT_MAX) as u32
}

/// FNV-1a. Not for security: terms that share a hash are told apart by their text.
fn hash(term: &str) -> u32 {
    let mut hash: u32 = 0x811c_9dc5;
    for byte in term.bytes() {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    hash
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn weighted(term: &str, impact: u32) -> WeightedTerm {
        WeightedTerm { term: term.into(), impact }
    }

    fn asked(term: &str, containing: &[&str]) -> QueryTerm {
        QueryTerm { term: term.into(), count: 1.0, containing: containing.iter().map(|word| (*word).into()).collect() }
    }

    #[test]
    fn rarer_terms_and_higher_impacts_score_more() {
        let mut index = Lexical::default();
        index.insert(0, &[weighted("common", 500), weighted("rare", 500)]);
        index.insert(1, &[weighted("common", 500)]);
        index.insert(2, &[weighted("common", 600)]);
        Scores::with(3, |scores| {
            index.score(&[asked("common", &[]), asked("rare", &[])], 0.5, 3, scores);
            assert!(scores.get(0) > scores.get(2) && scores.get(2) > scores.get(1));
        });
    }

    #[test]
    fn a_containing_word_counts_less_than_the_whole_word_however_rare() {
        let mut index = Lexical::default();
        for slot in 0..8 {
            index.insert(slot, &[weighted("mail", 500)]);
        }
        index.insert(8, &[weighted("voicemail", 500)]);
        Scores::with(9, |scores| {
            index.score(&[asked("mail", &["voicemail"])], 0.5, 9, scores);
            assert!(scores.get(8) > 0 && scores.get(8) < scores.get(0));
        });
    }

    #[test]
    fn terms_with_one_hash_are_kept_apart() {
        // A known FNV-1a collision.
        assert_eq!(hash("costarring"), hash("liquid"));
        let mut index = Lexical::default();
        let liquid = index.insert(0, &[weighted("liquid", 1)]);
        index.insert(1, &[weighted("costarring", 1)]);
        assert_eq!(index.postings("liquid").map(<[u32]>::len), Some(1));
        index.remove(0, &liquid);
        assert_eq!(index.postings("liquid"), None);
        assert_eq!(index.size(), (1, 1));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn scores_are_those_of_a_plain_scan(
            documents in prop::collection::vec(prop::collection::btree_map("[a-e]", 1..=IMPACT_MAX, 0..5), 1..20),
            query in prop::collection::btree_set("[a-g]", 0..5),
        ) {
            let mut index = Lexical::default();
            for (slot, document) in documents.iter().enumerate() {
                let terms: Vec<_> = document.iter().map(|(term, impact)| weighted(term, *impact)).collect();
                index.insert(slot as u32, &terms);
            }
            let asked: Vec<_> = query.iter().map(|term| asked(term, &[])).collect();
            Scores::with(documents.len(), |scores| {
                index.score(&asked, 0.5, documents.len(), scores);
                for (slot, document) in documents.iter().enumerate() {
                    let mut plain = 0;
                    for term in &query {
                        let n_holding = documents.iter().filter(|document| document.contains_key(term)).count();
                        let weight = to_weight(idf(n_holding, documents.len()));
                        plain += document.get(term).map_or(0, |impact| weight * impact);
                    }
                    prop_assert_eq!(scores.get(slot as u32), plain);
                }
                Ok(())
            })?;
        }
    }

    #[test]
    fn the_longest_query_does_not_overflow() {
        let mut index = Lexical::default();
        let terms: Vec<String> = (0..2000).map(|i| format!("term{i:04}")).collect();
        let document: Vec<WeightedTerm> = terms.iter().map(|term| weighted(term, IMPACT_MAX)).collect();
        index.insert(0, &document);
        let query: Vec<QueryTerm> = terms.iter().map(|term| QueryTerm { count: 1e9, ..asked(term, &[]) }).collect();
        Scores::with(1, |scores| {
            index.score(&query, 0.5, SLOTS_MAX, scores);
            assert!(scores.get(0) > 1 << 30);
        });
    }
}

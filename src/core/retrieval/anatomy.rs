//! A search taken apart: what every tool's score is made of, down to the fields and the words of the query.
//!
//! For explaining only. Searching keeps one number a tool; here the same numbers are worked out once more from the
//! definition, so that a search costs what it did.

use std::collections::{BTreeMap, BTreeSet};

use super::fields::each_impact;
use super::query::{self, Query, Texts};
use super::rank::{Parts, Ranked};
use super::scores::{Scores, Spread};
use super::text::{TermKind, for_each_word, term_of};
use super::{Index, WITHIN_SHARE};
use crate::core::definition::Definition;
use crate::core::ids::ToolId;

/// The name of the part that stands for words in common, which is given field by field.
const LEXICAL: &str = "lexical";

/// Everything that a query finds, and what is needed to say why.
pub struct Anatomy {
    /// Every tool that matches, best first, whoever may see it; in the order and with the scores of [`Index::search`].
    pub ranked: Vec<Ranked>,
    sought: BTreeMap<String, Weighed>,
    spread: Spread,
}

/// A term as it counts in a search.
#[derive(Default)]
struct Weighed {
    weight: u64,
    /// The words of the query that look for it, as they were written but for case.
    words: BTreeSet<String>,
}

/// One tool's score in parts.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Dissected {
    /// The parts that are not 0, each with its name; together the score, but for rounding.
    pub parts: Vec<(&'static str, f32)>,
    /// The words of the query that the tool matches, in byte order.
    pub words: Vec<String>,
}

impl Index {
    /// Searches as [`Index::search`] does, without a limit and for everybody.
    pub fn dissect(&self, query: &Query<'_>, prior: &dyn Fn(&ToolId) -> f32) -> Anatomy {
        let ranked = self.search(query, prior, &mut |_| true, usize::MAX).ranked;
        let texts = query.texts();
        let terms = query::terms(&texts, &self.names);
        let said = words_of(&texts);
        let mut sought: BTreeMap<String, Weighed> = BTreeMap::new();
        for one in self.lexical.sought(&terms, WITHIN_SHARE, self.len()) {
            let weighed = sought.entry(one.term.to_owned()).or_default();
            weighed.weight += u64::from(one.weight);
            weighed.words.extend(said.get(one.asked).cloned());
        }
        let spread = Scores::with(self.slots.end(), |scores| {
            self.lexical.score(&terms, WITHIN_SHARE, self.len(), scores);
            scores.spread(self.len())
        });
        Anatomy { ranked, sought, spread }
    }
}

impl Anatomy {
    /// Takes one tool's score apart. `definition` must be the version that is searched, which is the current one.
    pub fn of(&self, definition: &Definition, parts: &Parts) -> Dissected {
        let mut by_field = BTreeMap::new();
        let mut words = BTreeSet::new();
        each_impact(definition, |term, impact, shares| {
            let Some(sought) = self.sought.get(term) else { return };
            words.extend(sought.words.iter().cloned());
            let whole = sought.weight as f64 * f64::from(impact);
            for (field, share) in shares {
                *by_field.entry(*field).or_insert(0.0) += whole * f64::from(*share);
            }
        });
        let mut all = Vec::new();
        for (name, part) in parts.named() {
            if name == LEXICAL {
                all.extend(by_field.iter().map(|(field, score)| (field.as_str(), self.spread.part(*score))));
                all.push(("mean", self.spread.mean_part()));
            } else {
                all.push((name, part));
            }
        }
        all.retain(|(_, part)| *part != 0.0);
        Dissected { parts: all, words: words.into_iter().collect() }
    }
}

/// Returns the terms of the texts, each with the first word that was written for it.
fn words_of(texts: &Texts<'_>) -> BTreeMap<String, String> {
    let mut words = BTreeMap::new();
    for text in texts {
        for_each_word(text, &mut |word, kind| {
            // An identifier in one word was not written so, and its parts match beside it.
            if kind != TermKind::Joined {
                words.entry(term_of(word, kind).into_owned()).or_insert_with(|| word.to_owned());
            }
        });
    }
    words
}

//! A query: three texts, turned into counted terms.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::lexical::QueryTerm;
use super::names::Names;
use super::text::{TermKind, cut, for_each_term};

/// What is asked, in up to three texts, any of them empty. Each is cut to 4 KiB (see [`cut`]) before it is read.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Query<'a> {
    /// The latest text of the user.
    pub user: &'a str,
    /// What the model wrote since then.
    pub model: &'a str,
    /// What the whole run is for.
    pub goal: &'a str,
}

/// The three texts, cut, in the order of [`TEXT_SHARES`].
pub(super) type Texts<'a> = [Cow<'a, str>; 3];

/// What one occurrence counts for in the user's, the model's and the goal text. The goal stays the same for many steps
/// and says least about this one.
const TEXT_SHARES: [f32; 3] = [1.0, 0.5, 0.1];

impl<'a> Query<'a> {
    /// Returns whether there is no text to go by.
    pub fn is_silent(&self) -> bool {
        [self.user, self.model, self.goal].iter().all(|text| text.trim().is_empty())
    }

    pub(super) fn texts(&self) -> Texts<'a> {
        [cut(self.user), cut(self.model), cut(self.goal)]
    }
}

/// Returns the terms of the texts in byte order. Stop words count only when there is nothing else.
pub(super) fn terms(texts: &Texts<'_>, names: &Names) -> Vec<QueryTerm> {
    let mut words: BTreeMap<String, f32> = BTreeMap::new();
    let mut stop_words: BTreeMap<String, f32> = BTreeMap::new();
    for (text, share) in texts.iter().zip(TEXT_SHARES) {
        for_each_term(text, &mut |term, kind| {
            let counts = if kind == TermKind::Stop { &mut stop_words } else { &mut words };
            match counts.get_mut(term) {
                Some(count) => *count += share,
                None => drop(counts.insert(term.to_owned(), share)),
            }
        });
    }
    if words.is_empty() {
        words = stop_words;
    }
    let mut terms = Vec::with_capacity(words.len());
    for (term, count) in &words {
        let mut containing = names.words_containing(term);
        // A word that the query says itself needs no detour.
        containing.retain(|word| !words.contains_key(&**word));
        terms.push(QueryTerm { term: term.clone(), count: *count, containing });
    }
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(query: Query<'_>, term: &str) -> Option<f32> {
        let terms = terms(&query.texts(), &Names::default());
        terms.iter().find(|asked| asked.term == term).map(|asked| asked.count)
    }

    #[test]
    fn the_user_counts_more_than_the_model_and_the_goal_least() {
        let query = Query { user: "mail mail", model: "file", goal: "trip" };
        assert!(count(query, "mail") > count(query, "file"));
        assert!(count(query, "file") > count(query, "trip"));
    }

    #[test]
    fn stop_words_count_only_alone() {
        assert_eq!(count(Query { user: "what is it", ..Query::default() }, "what"), Some(1.0));
        assert_eq!(count(Query { user: "what is mail", ..Query::default() }, "what"), None);
    }
}

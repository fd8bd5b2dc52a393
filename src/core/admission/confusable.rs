//! Which tools a model may take for each other: asked when a tool enters, when a step is planned, and when a model
//! switched its call.
//!
//! A cheap judgement of two definitions by their words; look-alike letters are another matter (`beside`).

use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::fold::{fold_letters, words};
use crate::core::definition::Definition;

/// Share of common words, of all words of both, from which two tools are close: 3 of 5.
pub(super) const CLOSE: (usize, usize) = (3, 5);
/// Fewest common words for a share to mean anything.
pub(super) const FEWEST_COMMON: usize = 3;

/// What of a definition is compared with others, made once. Holds hashes for the words: never stored, never shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature {
    /// The name's letters and digits, folded.
    pub(super) letters: u64,
    /// The words of name and summary, each once, in order.
    pub(super) words: Box<[u64]>,
}

/// How two tools are close.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NearBy {
    /// The same name up to case and separators.
    Name,
    /// Name and summary are made mostly of the same words.
    Text,
}

/// Two tools that are close, and how much of their words they share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Closeness {
    /// How.
    pub by: NearBy,
    n_common: usize,
    n_all: usize,
}

impl Closeness {
    /// Orders the closer pair first: the same name, then the greater share of common words.
    pub fn closer_first(&self, other: &Self) -> Ordering {
        let share = (other.n_common * self.n_all).cmp(&(self.n_common * other.n_all));
        self.by.cmp(&other.by).then(share)
    }
}

impl Signature {
    /// Takes the signature of a definition.
    pub fn of(definition: &Definition) -> Self {
        let name = &definition.id.name;
        let mut all: Vec<u64> = words(name).into_iter().chain(words(&definition.summary)).map(hash).collect();
        all.sort_unstable();
        all.dedup();
        Self { letters: hash(fold_letters(name)), words: all.into() }
    }

    /// Says how two different tools are close: the same name up to case and separators, or name and summary made mostly
    /// of the same words. `None` where they are not.
    pub fn closeness(&self, other: &Self) -> Option<Closeness> {
        let by_name = self.letters == other.letters;
        let (short, long) = match self.words.len() <= other.words.len() {
            true => (self.words.len(), other.words.len()),
            false => (other.words.len(), self.words.len()),
        };
        // Even if all words of the shorter were common, they would be too few of the longer.
        if !by_name && short * CLOSE.1 < long * CLOSE.0 {
            return None;
        }
        let n_common = n_common(&self.words, &other.words);
        let n_all = self.words.len() + other.words.len() - n_common;
        let by_text = n_common >= FEWEST_COMMON && n_common * CLOSE.1 >= n_all * CLOSE.0;
        let by = if by_name { NearBy::Name } else { NearBy::Text };
        (by_name || by_text).then_some(Closeness { by, n_common, n_all })
    }
}

fn hash(word: String) -> u64 {
    let mut hasher = DefaultHasher::new();
    word.hash(&mut hasher);
    hasher.finish()
}

/// Counts what two ordered lists have in common.
fn n_common(a: &[u64], b: &[u64]) -> usize {
    let (mut i, mut j, mut n) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            Ordering::Less => i += 1,
            Ordering::Greater => j += 1,
            Ordering::Equal => (i, j, n) = (i + 1, j + 1, n + 1),
        }
    }
    n
}

#[cfg(test)]
mod tests {
    use super::super::tests::definition;
    use super::*;

    fn tool(name: &str, summary: &str) -> Signature {
        let mut tool = definition();
        tool.id = crate::core::ids::ToolId::new("source", name);
        tool.summary = summary.into();
        Signature::of(&tool)
    }

    fn near_by(a: &Signature, b: &Signature) -> Option<NearBy> {
        assert_eq!(a.closeness(b), b.closeness(a));
        a.closeness(b).map(|closeness| closeness.by)
    }

    #[test]
    fn the_same_name_up_to_case_and_separators_is_confusable() {
        let a = tool("domains.list", "Lists the domains of an account");
        assert_eq!(near_by(&a, &tool("domains_list", "Something else altogether")), Some(NearBy::Name));
        assert_eq!(near_by(&a, &tool("domainsList", "Unrelated words here")), Some(NearBy::Name));
    }

    #[test]
    fn mostly_equal_words_are_confusable_and_few_are_not() {
        let a = tool("search_issues", "Search issues in a repository by text");
        assert_eq!(near_by(&a, &tool("find_issues", "Search issues in a repository by text")), Some(NearBy::Text));
        assert_eq!(near_by(&a, &tool("send_mail", "Sends a mail to a person")), None);
        assert_eq!(near_by(&tool("a", "b"), &tool("b", "a")), None, "two common words say nothing");
    }

    #[test]
    fn the_same_name_comes_before_the_same_words() {
        let a = tool("search_issues", "Search issues in a repository by text");
        let by_name = a.closeness(&tool("searchIssues", "Quite different")).unwrap();
        let all = a.closeness(&tool("issues_search", "Search issues in a repository by text")).unwrap();
        let most = a.closeness(&tool("find_issues", "Search issues in a repository by text")).unwrap();
        assert_eq!(by_name.closer_first(&all), Ordering::Less);
        assert_eq!(all.closer_first(&most), Ordering::Less);
    }
}

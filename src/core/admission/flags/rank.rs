//! Text that is there for the rank: a word over and over.

use std::collections::BTreeMap;

use super::super::fold::words;

/// A word of so many characters, said so often and making a quarter of a text, is there for the rank.
const STUFFED_CHARS: usize = 4;
const STUFFED_TIMES: usize = 6;
/// A word in so many keywords, and in half of them.
const STUFFED_KEYWORDS: usize = 6;
/// A word said so often within one keyword.
const TIMES_IN_KEYWORD: usize = 3;
/// More words than all keywords of an honest tool together.
const KEYWORD_WORDS: usize = 96;

/// Returns the word that makes too much of a text.
pub(super) fn repeated_word(text: &str) -> Option<String> {
    let words = words(text);
    let n_words = words.len();
    let counts = count(words.into_iter().filter(|word| word.chars().count() >= STUFFED_CHARS));
    counts.into_iter().find(|&(_, n)| n >= STUFFED_TIMES && n * 4 >= n_words).map(|(word, _)| word)
}

/// Returns what makes a list of keywords a stuffed one.
pub(super) fn stuffed_keywords(keywords: &[String]) -> Option<String> {
    let lists: Vec<Vec<String>> = keywords.iter().map(|keyword| words(keyword)).collect();
    for list in &lists {
        let repeated = count(list.iter().cloned()).into_iter().find(|&(_, n)| n >= TIMES_IN_KEYWORD);
        if let Some((word, _)) = repeated {
            return Some(format!("says {word:?} over and over"));
        }
    }
    let once = lists.iter().flat_map(|list| count(list.iter().cloned()).into_keys());
    let common = count(once).into_iter().find(|&(_, n)| n >= STUFFED_KEYWORDS && n * 2 >= keywords.len());
    if let Some((word, n)) = common {
        return Some(format!("says {word:?} in {n} of {} keywords", keywords.len()));
    }
    let n_words: usize = lists.iter().map(Vec::len).sum();
    (n_words > KEYWORD_WORDS).then(|| format!("are {n_words} words in all"))
}

fn count(words: impl Iterator<Item = String>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for word in words {
        *counts.entry(word).or_default() += 1;
    }
    counts
}

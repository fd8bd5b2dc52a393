//! Near names: what a misspelt or invented name may have meant.
//!
//! Candidates share a word with the wanted name, or the whole of it, give or take a slip of the pen; they are ordered by
//! how much of both names agrees. Called on mistakes only, so it may walk all words of all names.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::names::{Names, fold_key, name_words};

/// Candidates compared letter by letter: those that share the most telling words.
const COMPARED_MAX: usize = 64;
/// Letters of a name that are compared.
const LETTERS_MAX: usize = 128;
/// Slips forgiven in a long word.
const SLIPS_MAX: usize = 2;
/// Points for a shared word, divided by the number of tools that have it.
const SHARED_POINTS: u64 = 1 << 20;

/// A name that nobody has.
pub(super) struct Wanted {
    words: BTreeSet<String>,
    key: Vec<char>,
}

impl Wanted {
    pub(super) fn new(name: &str) -> Self {
        let name = shortened(name);
        Self { words: name_words(&name), key: fold_key(&name).chars().collect() }
    }

    /// Returns the slots whose names share a word with this one or are spelt like it, most telling words first, at most
    /// [`COMPARED_MAX`]. `admits` is asked in that order; what it refuses takes no place.
    pub(super) fn candidates(
        &self,
        names: &Names,
        tie_order: impl Fn(u32, u32) -> Ordering,
        mut admits: impl FnMut(u32) -> bool,
    ) -> Vec<u32> {
        let wanted_words: Vec<Vec<char>> = self.words.iter().map(|word| word.chars().collect()).collect();
        let words = names.words().map(|(word, slots)| (word, slots, &wanted_words[..]));
        // Whole names too: words written together share none with words written apart.
        let keys = names.keys().map(|(key, slots)| (key, slots, std::slice::from_ref(&self.key)));
        let mut points: BTreeMap<u32, u64> = BTreeMap::new();
        let mut letters: Vec<char> = Vec::new();
        for (text, slots, wanted) in words.chain(keys) {
            letters.clear();
            letters.extend(text.chars());
            let slips = wanted.iter().filter_map(|wanted| slips_within(wanted, &letters, slips_allowed(wanted.len())));
            let Some(slips) = slips.min() else { continue };
            let each = SHARED_POINTS / slots.len() as u64 / (1 + slips as u64);
            for slot in slots {
                *points.entry(*slot).or_insert(0) += each;
            }
        }
        let mut ordered: Vec<(u32, u64)> = points.into_iter().collect();
        ordered.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| tie_order(a.0, b.0)));
        ordered.into_iter().map(|(slot, _)| slot).filter(|slot| admits(*slot)).take(COMPARED_MAX).collect()
    }

    /// Returns how far a name is from this one, in thousandths: half by words in common, half by letters. 0 is equal.
    pub(super) fn distance(&self, name: &str) -> u32 {
        let other = Self::new(name);
        let n_shared = self.words.intersection(&other.words).count();
        let n_words = self.words.union(&other.words).count().max(1);
        let longest = self.key.len().max(other.key.len()).max(1);
        let slips = slips_within(&self.key, &other.key, longest).unwrap_or(longest);
        (500 - 500 * n_shared / n_words + 500 * slips / longest) as u32
    }
}

/// Returns the end of a name that is too long: what tells tools apart stands there.
fn shortened(name: &str) -> String {
    let n_letters = name.chars().count();
    name.chars().skip(n_letters.saturating_sub(LETTERS_MAX)).collect()
}

/// Returns how many slips are forgiven in a word: none in a short one, where every slip makes another word.
fn slips_allowed(n_letters: usize) -> usize {
    match n_letters {
        0..=3 => 0,
        4..=7 => 1,
        _ => SLIPS_MAX,
    }
}

/// Returns the number of letters left out, added, changed or swapped with their neighbour between two words, if it is
/// at most `limit` (optimal string alignment).
fn slips_within(a: &[char], b: &[char], limit: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    let (mut older, mut old, mut row) = (vec![0; b.len() + 1], (0..=b.len()).collect::<Vec<_>>(), vec![0; b.len() + 1]);
    for i in 1..=a.len() {
        row[0] = i;
        for j in 1..=b.len() {
            let changed = old[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = changed.min(old[j] + 1).min(row[j - 1] + 1);
            let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if swapped {
                row[j] = row[j].min(older[j - 2] + 1);
            }
        }
        if row.iter().min() > Some(&limit) {
            return None;
        }
        std::mem::swap(&mut older, &mut old);
        std::mem::swap(&mut old, &mut row);
    }
    Some(old[b.len()]).filter(|slips| *slips <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slips(a: &str, b: &str) -> Option<usize> {
        slips_within(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>(), 2)
    }

    #[test]
    fn slips_are_counted_up_to_the_limit() {
        assert_eq!(slips("issue", "issue"), Some(0));
        assert_eq!(slips("isseu", "issue"), Some(1));
        assert_eq!(slips("", "ab"), Some(2));
        assert_eq!(slips("issue", "tissues"), Some(2));
        assert_eq!(slips("issue", "branch"), None);
    }

    #[test]
    fn distance_is_least_for_the_likelier_meaning() {
        let nearer = |wanted: &str, near: &str, far: &str| {
            let wanted = Wanted::new(wanted);
            assert!(wanted.distance(near) < wanted.distance(far), "{near} {far}");
        };
        assert_eq!(Wanted::new("create_issue").distance("createIssue"), 0);
        nearer("creat_isue", "create_issue", "create_branch");
        nearer("giphy__image_search_tool", "image_search", "web_search");
    }
}

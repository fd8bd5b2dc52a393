//! Near names: what a misspelt or invented name may have meant.
//!
//! Candidates share a word with the wanted name, give or take a slip of the pen; they are ordered by how much of both
//! names agrees. Called on mistakes only, so it may walk all words of all names.

use std::collections::BTreeMap;

use super::names::{Names, fold_key, name_words};

/// Candidates compared letter by letter: those that share the most telling words.
const COMPARED_MAX: usize = 256;
/// Letters of a name that are compared.
const LETTERS_MAX: usize = 128;
/// Points for a shared word, divided by the number of tools that have it.
const SHARED_POINTS: u64 = 1 << 20;

/// Returns the slots whose names share a word with `name`, most telling words first, at most [`COMPARED_MAX`].
/// `admits` is asked in that order; what it refuses takes no place.
pub(super) fn candidates(
    name: &str,
    names: &Names,
    tie_order: impl Fn(u32, u32) -> std::cmp::Ordering,
    mut admits: impl FnMut(u32) -> bool,
) -> Vec<u32> {
    let wanted: Vec<Vec<char>> = name_words(&shortened(name)).iter().map(|word| word.chars().collect()).collect();
    let mut points: BTreeMap<u32, u64> = BTreeMap::new();
    for (word, slots) in names.words() {
        let word: Vec<char> = word.chars().collect();
        let slips = wanted.iter().filter_map(|wanted| slips_within(wanted, &word, slips_allowed(wanted.len()))).min();
        let Some(slips) = slips else { continue };
        let each = SHARED_POINTS / slots.len() as u64 / (1 + slips as u64);
        for slot in slots {
            *points.entry(*slot).or_insert(0) += each;
        }
    }
    let mut ordered: Vec<(u32, u64)> = points.into_iter().collect();
    ordered.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| tie_order(a.0, b.0)));
    ordered.into_iter().map(|(slot, _)| slot).filter(|slot| admits(*slot)).take(COMPARED_MAX).collect()
}

/// Returns how far a name is from the wanted one, in thousandths: half by words in common, half by letters. 0 is equal.
pub(super) fn distance(wanted: &str, name: &str) -> u32 {
    let (wanted, name) = (shortened(wanted), shortened(name));
    let (wanted_words, words) = (name_words(&wanted), name_words(&name));
    let n_shared = wanted_words.intersection(&words).count();
    let n_words = wanted_words.union(&words).count().max(1);
    let (wanted_key, key): (Vec<char>, Vec<char>) =
        (fold_key(&wanted).chars().collect(), fold_key(&name).chars().collect());
    let longest = wanted_key.len().max(key.len()).max(1);
    let slips = slips_within(&wanted_key, &key, longest).unwrap_or(longest);
    (500 - 500 * n_shared / n_words + 500 * slips / longest) as u32
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
        _ => 2,
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
        assert_eq!(distance("create_issue", "createIssue"), 0);
        assert!(distance("creat_isue", "create_issue") < distance("creat_isue", "create_branch"));
        assert!(
            distance("giphy__image_search_tool", "image_search") < distance("giphy__image_search_tool", "web_search")
        );
    }
}

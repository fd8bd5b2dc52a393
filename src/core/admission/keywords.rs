//! Keywords: the words people would ask with, beyond those the name already has.

use std::collections::{BTreeMap, BTreeSet};

use super::fold::{fold, fold_letters, words};
use super::{Violation, ViolationCode};
use crate::core::definition::Definition;

/// Most keywords.
const MOST: usize = 32;
/// Most characters of one.
const MAX_CHARS: usize = 64;
const ACCEPTED: &str = "1 to 32 keywords, distinct, at least one of them not in the name";
const ACCEPTED_ONE: &str = "1 to 64 characters, different from the other keywords";

/// Adds the violations of `keywords`.
pub(super) fn check(definition: &Definition, violations: &mut Vec<Violation>) {
    let keywords = &definition.keywords;
    if keywords.is_empty() {
        violations.push(Violation::new("keywords", ViolationCode::Missing, "missing", ACCEPTED));
        return;
    }
    if keywords.len() > MOST {
        let description = format!("{} keywords", keywords.len());
        violations.push(Violation::new("keywords", ViolationCode::TooLong, description, ACCEPTED));
    }
    let mut seen = BTreeMap::new();
    // The whole list may be far too long; what stands beyond the limit needs no reason of its own.
    for (i, keyword) in keywords.iter().take(MOST).enumerate() {
        let field = format!("keywords[{i}]");
        let n_chars = keyword.chars().count();
        if keyword.trim().is_empty() {
            violations.push(Violation::new(field, ViolationCode::Missing, "empty", ACCEPTED_ONE));
        } else if n_chars > MAX_CHARS {
            let description = format!("{n_chars} characters");
            violations.push(Violation::new(field, ViolationCode::TooLong, description, ACCEPTED_ONE));
        } else if let Some(first) = seen.insert(fold(keyword.trim()), i) {
            let description = format!("the same as keywords[{first}]");
            violations.push(Violation::new(field, ViolationCode::Duplicate, description, ACCEPTED_ONE));
        }
    }
    if keywords.iter().all(|keyword| is_in_name(keyword, &definition.id.name)) {
        let description = "none says more than the name";
        violations.push(Violation::new("keywords", ViolationCode::OnlyTheName, description, ACCEPTED));
    }
}

/// Tells whether every word of a keyword is a word of the name.
pub(super) fn is_in_name(keyword: &str, name: &str) -> bool {
    let of_name: BTreeSet<String> = words(name).into_iter().collect();
    let letters = fold_letters(keyword);
    letters.is_empty() || letters == fold_letters(name) || words(keyword).iter().all(|word| of_name.contains(word))
}

//! Which tools a model may take for each other: asked when a tool enters, and when a model switched its call.
//!
//! A cheap judgement of two definitions by their words; look-alike letters do not arise, since names are ASCII.

use std::collections::BTreeSet;

use super::fold::{fold_letters, words};
use crate::core::definition::Definition;

/// Share of common words, of all words of both, from which two tools are close.
const CLOSE: f64 = 0.6;
/// Fewest common words for a share to mean anything.
const FEWEST_COMMON: usize = 3;

/// Tells whether two different tools are close: the same name up to case and separators, or name and summary made
/// mostly of the same words.
pub fn are_confusable(a: &Definition, b: &Definition) -> bool {
    if a.id == b.id {
        return false;
    }
    if fold_letters(&a.id.name) == fold_letters(&b.id.name) {
        return true;
    }
    let (words_a, words_b) = (words_of(a), words_of(b));
    let n_common = words_a.intersection(&words_b).count();
    let n_all = words_a.len() + words_b.len() - n_common;
    n_common >= FEWEST_COMMON && n_common as f64 >= CLOSE * n_all as f64
}

fn words_of(definition: &Definition) -> BTreeSet<String> {
    let mut all: BTreeSet<String> = words(&definition.id.name).into_iter().collect();
    all.extend(words(&definition.summary));
    all
}

#[cfg(test)]
mod tests {
    use super::super::tests::definition;
    use super::*;

    fn tool(source: &str, name: &str, summary: &str) -> Definition {
        let mut tool = definition();
        tool.id = crate::core::ids::ToolId::new(source, name);
        tool.summary = summary.into();
        tool
    }

    #[test]
    fn the_same_name_up_to_case_and_separators_is_confusable() {
        let a = tool("gcore", "domains.list", "Lists the domains of an account");
        assert!(are_confusable(&a, &tool("gcore", "domains_list", "Something else altogether")));
        assert!(are_confusable(&a, &tool("other", "domainsList", "Unrelated words here")));
        assert!(!are_confusable(&a, &a));
    }

    #[test]
    fn mostly_equal_words_are_confusable_and_few_are_not() {
        let a = tool("a", "search_issues", "Search issues in a repository by text");
        assert!(are_confusable(&a, &tool("b", "find_issues", "Search issues in a repository by text")));
        assert!(!are_confusable(&a, &tool("b", "send_mail", "Sends a mail to a person")));
    }
}

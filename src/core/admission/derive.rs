//! What import fills in where a source has no such field: summary, when to use it, keywords, size.
//!
//! Only from the definition itself and the file it came with, so that importing the same file again derives the same.
//! Nothing is derived that was given, and what was derived is marked and passes the same gate as anything else.

mod sentences;

use std::collections::{BTreeMap, BTreeSet};

use super::fold::{fold, holds_phrase, is_unspaced, words};
use super::keywords::is_in_name;
use super::size::measure;
use super::summary::{LINE_MAX_CHARS, SUMMARY_MIN_CHARS, says_only};
use crate::core::definition::{Definition, DerivedField};
use sentences::{cut_at_word, sentences};

/// Most keywords that are derived.
const MOST_KEYWORDS: usize = 8;
/// A sentence in so many descriptions of a file says nothing about one tool.
const BOILERPLATE: usize = 3;
/// Most parameters that a summary names to say more than the name.
const NAMED_PARAMETERS: usize = 4;

/// Phrases by which a sentence says when to use a tool; narrower than the words a written summary may do it by.
const WHEN_PHRASES: &[&str] = &[
    "when",
    "whenever",
    "if",
    "before",
    "after",
    "use this",
    "use it",
    "used to",
    "used for",
    "useful for",
    "useful to",
    "ideal for",
    "用于",
    "当",
    "时",
    "适用",
    "場合",
    "когда",
    "если",
];

/// Words too common to be asked with; a small file has too few tools for weights to show it.
const STOP_WORDS: &[&str] = &[
    "about",
    "all",
    "also",
    "and",
    "any",
    "are",
    "args",
    "based",
    "but",
    "can",
    "default",
    "each",
    "for",
    "from",
    "get",
    "given",
    "has",
    "have",
    "how",
    "into",
    "its",
    "may",
    "more",
    "must",
    "not",
    "one",
    "only",
    "optional",
    "other",
    "parameters",
    "required",
    "return",
    "returns",
    "see",
    "should",
    "such",
    "than",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "this",
    "tool",
    "use",
    "used",
    "uses",
    "using",
    "was",
    "what",
    "when",
    "where",
    "which",
    "will",
    "with",
    "within",
    "you",
    "your",
];

/// What the tools of one file have in common.
pub struct Corpus {
    n_tools: usize,
    /// In how many tools a word stands.
    words: BTreeMap<String, usize>,
    /// In how many tools a sentence stands.
    sentences: BTreeMap<String, usize>,
}

impl Corpus {
    /// Counts over the tools of a file.
    pub fn of<'d>(definitions: impl IntoIterator<Item = &'d Definition>) -> Self {
        let mut corpus = Self { n_tools: 0, words: BTreeMap::new(), sentences: BTreeMap::new() };
        for definition in definitions {
            corpus.n_tools += 1;
            for word in term_counts(definition).into_keys() {
                *corpus.words.entry(word).or_default() += 1;
            }
            let distinct: BTreeSet<String> = sentences(&definition.description).into_iter().collect();
            for sentence in distinct {
                *corpus.sentences.entry(sentence).or_default() += 1;
            }
        }
        corpus
    }

    fn is_boilerplate(&self, sentence: &str) -> bool {
        self.sentences.get(sentence).is_some_and(|&n| n >= BOILERPLATE)
    }

    /// Term weight: how often here, against in how many tools of the file.
    fn weight(&self, word: &str, n_here: usize) -> f64 {
        let n_with = self.words.get(word).copied().unwrap_or(0);
        (1.0 + n_here as f64).ln() * ((1.0 + self.n_tools as f64) / (1.0 + n_with as f64)).ln()
    }
}

/// Fills in what a definition lacks and marks it.
///
/// Without a description there is nothing to say in a summary: it stays empty, and the gate refuses it.
pub fn fill(definition: &mut Definition, corpus: &Corpus) {
    let sentences = sentences(&definition.description);
    let mut n_in_summary = (0, 0);
    if definition.summary.is_empty() {
        (definition.summary, n_in_summary) = summary_of(definition, &sentences, corpus);
        definition.derived.insert(DerivedField::Summary);
    }
    if definition.when_to_use.is_empty() {
        let rest = sentences.iter().enumerate().filter(|(i, _)| !(n_in_summary.0..n_in_summary.1).contains(i));
        let when = rest.map(|(_, sentence)| sentence).find(|sentence| says_when(sentence));
        definition.when_to_use = when.map(|sentence| cut_at_word(sentence, LINE_MAX_CHARS)).unwrap_or_default();
        definition.derived.insert(DerivedField::WhenToUse);
    }
    if definition.keywords.is_empty() {
        definition.keywords = keywords_of(definition, corpus);
        definition.derived.insert(DerivedField::Keywords);
    }
    if definition.size_tokens == 0 {
        definition.size_tokens = measure(definition);
        definition.derived.insert(DerivedField::SizeTokens);
    }
}

/// Returns a summary and the range of sentences it was made of.
fn summary_of(definition: &Definition, sentences: &[String], corpus: &Corpus) -> (String, (usize, usize)) {
    if sentences.is_empty() {
        return (String::new(), (0, 0));
    }
    let first = sentences.iter().position(|sentence| !corpus.is_boilerplate(sentence)).unwrap_or(0);
    let mut end = first + 1;
    let mut summary = sentences[first].clone();
    let says_too_little =
        |summary: &str| summary.chars().count() < SUMMARY_MIN_CHARS || says_only(summary, &definition.id.name);
    while says_too_little(&summary) && end < sentences.len() {
        summary = format!("{summary} {}", sentences[end]);
        end += 1;
    }
    if says_too_little(&summary) {
        let named: Vec<String> = parameters(definition).into_iter().take(NAMED_PARAMETERS).collect();
        let base = summary.trim_end_matches(['.', '。']);
        summary = match named.len() {
            0 => format!("{base} ({})", definition.id.source),
            _ => format!("{base}: takes {}", named.join(", ")),
        };
    }
    (cut_at_word(&summary, LINE_MAX_CHARS), (first, end))
}

fn says_when(sentence: &str) -> bool {
    let folded = fold(sentence);
    WHEN_PHRASES.iter().any(|phrase| holds_phrase(&folded, phrase))
}

/// Returns the heaviest words that are not in the name; where the text has none, those of the source.
fn keywords_of(definition: &Definition, corpus: &Corpus) -> Vec<String> {
    let mut weighed: Vec<(f64, String)> = Vec::new();
    for (word, n_here) in term_counts(definition) {
        if !is_in_name(&word, &definition.id.name) {
            weighed.push((corpus.weight(&word, n_here), word));
        }
    }
    weighed.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    if weighed.is_empty() {
        let of_source = words(&definition.id.source).into_iter().chain(words(definition.group()));
        let distinct: BTreeSet<String> = of_source.filter(|word| !is_in_name(word, &definition.id.name)).collect();
        return distinct.into_iter().take(MOST_KEYWORDS).collect();
    }
    weighed.into_iter().take(MOST_KEYWORDS).map(|(_, word)| word).collect()
}

/// Counts the words of description and parameter names that somebody could ask with.
fn term_counts(definition: &Definition) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    let of_parameters = parameters(definition).into_iter().flat_map(|name| words(&name));
    for word in words(&definition.description).into_iter().chain(of_parameters) {
        if is_askable(&word) {
            *counts.entry(word).or_default() += 1;
        }
    }
    counts
}

fn is_askable(word: &str) -> bool {
    let n_chars = word.chars().count();
    let is_long_enough = n_chars >= 3 || word.chars().all(is_unspaced);
    is_long_enough && n_chars <= 32 && !word.chars().all(|c| c.is_numeric()) && STOP_WORDS.binary_search(&word).is_err()
}

/// Returns the names of the top-level parameters, as written.
fn parameters(definition: &Definition) -> Vec<String> {
    let schema = definition.input_schema.to_value();
    match schema.get("properties").and_then(|properties| properties.as_object()) {
        Some(properties) => properties.keys().cloned().collect(),
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::definition;
    use super::*;
    use crate::core::ids::ToolId;

    fn bare(name: &str, description: &str) -> Definition {
        let mut bare = definition();
        bare.id = ToolId::new("github", name);
        (bare.summary, bare.when_to_use, bare.keywords, bare.size_tokens) = Default::default();
        bare.description = description.into();
        bare
    }

    fn filled(mut bare: Definition, others: &[Definition]) -> Definition {
        let corpus = Corpus::of(others.iter().chain([&bare]));
        fill(&mut bare, &corpus);
        bare
    }

    #[test]
    fn stop_words_are_sorted_for_the_search() {
        assert!(STOP_WORDS.is_sorted());
    }

    #[test]
    fn everything_missing_is_derived_and_marked() {
        let tool = filled(bare("create_issue", "Opens an issue. Use it when a bug is found in the code."), &[]);
        assert_eq!(tool.summary, "Opens an issue.");
        assert_eq!(tool.when_to_use, "Use it when a bug is found in the code.");
        assert!(!tool.keywords.is_empty() && tool.keywords.iter().all(|word| !is_in_name(word, "create_issue")));
        assert_eq!(tool.size_tokens, measure(&tool));
        assert_eq!(tool.derived.len(), 4);
    }

    #[test]
    fn what_is_given_is_not_derived() {
        let given = definition();
        let same = filled(given.clone(), &[]);
        assert_eq!((same.summary, same.keywords), (given.summary, given.keywords));
        assert!(!same.derived.contains(&DerivedField::Summary));
    }

    #[test]
    fn a_sentence_that_every_tool_repeats_is_passed_over() {
        let lead = "This tool belongs to the file system.";
        let others = ["a", "b"].map(|name| bare(name, &format!("{lead} Does the thing called {name}.")));
        let tool = filled(bare("cat", &format!("{lead} Shows a file.")), &others);
        assert_eq!(tool.summary, "Shows a file.");
    }

    #[test]
    fn a_description_that_is_the_name_again_is_filled_up_with_parameters_or_source() {
        let mut tool = bare("list_starred_repositories", "List starred repositories");
        assert!(filled(tool.clone(), &[]).summary.starts_with("List starred repositories: takes "));
        tool.input_schema = serde_json::from_str("{}").unwrap();
        let tool = filled(tool, &[]);
        assert_eq!(tool.summary, "List starred repositories (github)");
        assert_eq!(tool.keywords, ["github"]);
    }

    #[test]
    fn a_description_without_spaces_gives_keywords() {
        let tool = filled(bare("bing_search", "使用必应搜索指定的关键词"), &[]);
        assert!(tool.keywords.contains(&"必应".to_owned()), "{:?}", tool.keywords);
    }
}

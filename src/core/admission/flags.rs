//! What is admitted with a mark on it: text that gives orders to the model, or hides something from people.
//!
//! Triage, not defence: poisoned prose cannot be recognised for certain, and approving changes is what keeps it out.
//! So each rule here is plain and cheap, and is chosen to be wrong rarely on honest catalogs.

use serde_json::Value;

use super::fold::{fold, holds_phrase, is_unspaced};
use super::{Violation, ViolationCode};
use crate::core::definition::Definition;
use crate::core::json_schema::subschemas;

/// Phrases that honest descriptions hardly need, folded.
const ORDERS: &[&str] = &[
    "ignore previous",
    "ignore all previous",
    "ignore the above",
    "disregard previous",
    "disregard all",
    "do not tell the user",
    "don't tell the user",
    "do not mention",
    "do not inform the user",
    "without telling the user",
    "hide this from the user",
    "before using any other tool",
    "before calling any other tool",
    "system prompt",
];

/// Marks of a role or a turn in chat templates, folded.
const ROLE_TOKENS: &[&str] = &[
    "<system>",
    "</system>",
    "<|im_start|>",
    "<|im_end|>",
    "<|system|>",
    "<important>",
    "[inst]",
    "[/inst]",
    "<<sys>>",
];

/// Parameters in which a model is asked to write down what it knows.
const SINKS: &[&str] = &["sidenote", "scratchpad", "side_note"];

/// More combining marks in a row than any script needs.
const MOST_MARKS: usize = 4;
/// A run of blanks long enough to push text out of sight.
const BLANK_RUN: usize = 40;
/// A word this long is no word.
const BLOB_CHARS: usize = 200;

/// Adds the flags of a definition.
pub(super) fn check(definition: &Definition, warnings: &mut Vec<Violation>) {
    check_text("summary", &definition.summary, warnings);
    check_text("when_to_use", &definition.when_to_use, warnings);
    check_text("description", &definition.description, warnings);
    // What does not parse or is nested too deep is a violation already.
    if let Ok(schema) = super::parse_json(definition.input_schema.as_str().as_bytes()) {
        check_schema("input_schema", &schema, warnings);
    }
}

fn check_schema(at: &str, schema: &Value, warnings: &mut Vec<Violation>) {
    let Value::Object(map) = schema else { return };
    if let Some(text) = map.get("description").and_then(Value::as_str) {
        check_text(&format!("{at}/description"), text, warnings);
    }
    for sub in subschemas(map) {
        let below = format!("{at}{}", sub.pointer);
        let name = sub.pointer.rsplit('/').next().unwrap_or_default();
        if sub.keyword == "properties" && SINKS.contains(&fold(name).as_str()) {
            flag(&below, "asks the model to write down what it knows", warnings);
        }
        check_schema(&below, sub.schema, warnings);
    }
}

fn check_text(field: &str, text: &str, warnings: &mut Vec<Violation>) {
    let folded = fold(text);
    if let Some(phrase) = ORDERS.iter().find(|phrase| holds_phrase(&folded, phrase)) {
        flag(field, &format!("gives orders to the model: {phrase:?}"), warnings);
    }
    if let Some(token) = ROLE_TOKENS.iter().find(|token| folded.contains(**token)) {
        flag(field, &format!("holds a role token: {token:?}"), warnings);
    }
    let is_blob = |word: &str| word.is_ascii() && word.len() >= BLOB_CHARS && !word.contains('/');
    if text.split_whitespace().any(is_blob) {
        flag(field, "holds an encoded blob", warnings);
    }
    check_characters(field, text, warnings);
}

fn check_characters(field: &str, text: &str, warnings: &mut Vec<Violation>) {
    let (mut n_marks, mut n_blanks) = (0, 0);
    let mut longest = (0, 0);
    let mut previous = ' ';
    let mut has_odd_space = false;
    let mut has_odd_joiner = false;
    for c in text.chars() {
        n_marks = if unicode_normalization::char::is_combining_mark(c) { n_marks + 1 } else { 0 };
        n_blanks = if c == ' ' || c == '\t' || c == '\n' { n_blanks + 1 } else { 0 };
        longest = (longest.0.max(n_marks), longest.1.max(n_blanks));
        has_odd_space |=
            c.is_whitespace() && !matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{A0}' | '\u{3000}' | '\u{202F}');
        // Joiners shape scripts from Arabic on and emoji; between ASCII they only hide.
        has_odd_joiner |= matches!(c, '\u{200C}' | '\u{200D}') && (previous.is_ascii() || is_unspaced(previous));
        previous = c;
    }
    if longest.0 > MOST_MARKS {
        flag(field, "piles combining marks on a letter", warnings);
    }
    if longest.1 >= BLANK_RUN {
        flag(field, "holds a long run of blanks", warnings);
    }
    if has_odd_space {
        flag(field, "holds an unusual space", warnings);
    }
    if has_odd_joiner {
        flag(field, "holds a joiner where none is needed", warnings);
    }
}

fn flag(field: &str, description: &str, warnings: &mut Vec<Violation>) {
    let accepted = "admitted, and marked for a person to look at";
    warnings.push(Violation::new(field, ViolationCode::SuspiciousText, description, accepted));
}

//! Names of tools in a text: tokens that look like an identifier, so that plain words are left alone.

use std::collections::BTreeSet;

/// A token that may be the name of a tool, and where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mention {
    /// Path of the field, as in violations.
    pub field: String,
    /// As written.
    pub token: String,
}

/// Mentions as they are found, each token once.
#[derive(Default)]
pub(super) struct Mentions {
    pub(super) mentions: Vec<Mention>,
    known: BTreeSet<String>,
}

impl Mentions {
    /// Takes the identifiers of a text.
    pub(super) fn look(&mut self, field: &str, text: &str) {
        for token in identifiers(text) {
            if !self.known.contains(token) {
                self.known.insert(token.to_owned());
                self.mentions.push(Mention { field: field.to_owned(), token: token.to_owned() });
            }
        }
    }
}

/// Returns the tokens of a text that can be a tool's name and no plain word: of at least two parts, joined by `_`, `-`,
/// `.` or an inner capital.
fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let tokens = text.split(move |c: char| !is_name(c));
    tokens.map(|token| token.trim_matches(['_', '-', '.'])).filter(|token| has_parts(token))
}

fn has_parts(token: &str) -> bool {
    let is_joined = token.contains(['_', '-', '.']);
    let has_inner_capital =
        || token.as_bytes().windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    token.contains(|c: char| c.is_ascii_alphabetic()) && (is_joined || has_inner_capital())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tokens_of_several_parts_are_identifiers() {
        let found: Vec<&str> =
            identifiers("Use `send_email`, readFile or list.all. Not search, 2.5 or HTTP.").collect();
        assert_eq!(found, ["send_email", "readFile", "list.all"]);
    }
}

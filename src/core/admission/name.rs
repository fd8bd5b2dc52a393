//! Names: what a name and a source may be, what import makes of others, and the alias a model sees.
//!
//! Nothing here depends on which other tools exist or came first: the same identity has the same alias for ever.

use super::text::{self, Lines};
use super::{Violation, ViolationCode};
use crate::core::ids::{Alias, Digest, ToolId};

const NAME_CHARS: usize = 128;
const SOURCE_CHARS: usize = 64;
const ALIAS_CHARS: usize = 64;
/// `_` and eight hex digits.
const TAIL_CHARS: usize = 9;

/// Tells whether a text can be a tool's name.
pub fn fits_name(text: &str) -> bool {
    (1..=NAME_CHARS).contains(&text.len()) && text.bytes().all(is_plain)
}

/// Tells whether a text can be a source.
pub fn fits_source(text: &str) -> bool {
    (1..=SOURCE_CHARS).contains(&text.len()) && text.bytes().all(is_plain)
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-')
}

/// Returns the name under which import admits a tool: the original where it fits, else mapped with a tail of its hash.
pub fn mapped_name(original: &str) -> String {
    if fits_name(original) { original.to_owned() } else { mapped(original, NAME_CHARS) }
}

/// Returns the source under which import files tools: the original where it fits, else mapped with a tail of its hash.
pub fn mapped_source(original: &str) -> String {
    if fits_source(original) { original.to_owned() } else { mapped(original, SOURCE_CHARS) }
}

fn mapped(original: &str, most: usize) -> String {
    let plain = |c: char| if c.is_ascii() && is_plain(c as u8) { c } else { '_' };
    let kept: String = original.chars().map(plain).take(most - TAIL_CHARS).collect();
    format!("{kept}{}", tail(original))
}

fn tail(original: &str) -> String {
    let hash = Digest::of(original.as_bytes()).to_string();
    format!("_{}", &hash[..TAIL_CHARS - 1])
}

/// Returns the name a model sees: `source__name`, within `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`.
///
/// A tail made of the identity's hash is added where a character had to be changed or cut, where another split of
/// source and name would read the same, and where the name itself ends like a tail. So two identities differ in their
/// alias unless 32 bits of their hashes agree.
pub fn alias(id: &ToolId) -> Alias {
    let joined = format!("{}__{}", id.source, id.name);
    let mut written = String::with_capacity(ALIAS_CHARS);
    if !joined.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        written.push('_');
    }
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    written.extend(joined.chars().map(plain));

    let is_ambiguous = id.source.contains("__") || id.source.ends_with('_') || id.name.starts_with('_');
    if written == joined && written.len() <= ALIAS_CHARS && !is_ambiguous && !ends_like_a_tail(&written) {
        return Alias::new(written);
    }
    written.truncate(ALIAS_CHARS - TAIL_CHARS);
    written.push_str(&tail(&id.to_string()));
    Alias::new(written)
}

fn ends_like_a_tail(text: &str) -> bool {
    let Some((_, digits)) = text.rsplit_once('_') else { return false };
    digits.len() == TAIL_CHARS - 1 && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Adds the violations of an identity.
pub(super) fn check(id: &ToolId, violations: &mut Vec<Violation>) {
    for (field, text, fits, most) in [
        ("name", &id.name, fits_name(&id.name), NAME_CHARS),
        ("source", &id.source, fits_source(&id.source), SOURCE_CHARS),
    ] {
        if fits {
            continue;
        }
        let accepted = format!("1 to {most} of A-Za-z0-9_.-");
        if text::find_refused(text, Lines::One).is_some() {
            text::check(field, text, Lines::One, violations);
        } else if text.is_empty() {
            violations.push(Violation::new(field, ViolationCode::Missing, "missing", accepted));
        } else if text.bytes().all(is_plain) {
            let description = format!("{} characters", text.len());
            violations.push(Violation::new(field, ViolationCode::TooLong, description, accepted));
        } else {
            let odd = text.chars().enumerate().find(|(_, c)| !c.is_ascii() || !is_plain(*c as u8));
            let description = odd.map_or_else(String::new, |(i, c)| format!("{c:?} at character {i}"));
            violations.push(Violation::new(field, ViolationCode::Malformed, description, accepted));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn alias_of(source: &str, name: &str) -> String {
        alias(&ToolId::new(source, name)).to_string()
    }

    fn is_well_formed(alias: &str) -> bool {
        let head = |c: char| c.is_ascii_alphabetic() || c == '_';
        alias.len() <= 64
            && alias.starts_with(head)
            && alias.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
    }

    #[test]
    fn a_plain_identity_joins_without_a_tail() {
        assert_eq!(alias_of("github", "create_issue"), "github__create_issue");
    }

    #[test]
    fn what_had_to_be_changed_or_cut_gets_a_tail() {
        let dotted = alias_of("gcore", "domains.list");
        assert!(dotted.starts_with("gcore__domains_list_"), "{dotted}");
        assert_ne!(dotted, alias_of("gcore", "domains_list"));
        assert!(alias_of("7zip", "pack").starts_with("_7zip__pack_"));
    }

    #[test]
    fn long_names_that_differ_in_their_end_have_different_aliases() {
        let stem = "a".repeat(65);
        let (a, b) = (alias_of("s", &format!("{stem}11111")), alias_of("s", &format!("{stem}22222")));
        assert_ne!(a, b);
        assert_eq!((a.len(), b.len()), (64, 64));
    }

    #[test]
    fn identities_that_join_alike_have_different_aliases() {
        assert_ne!(alias_of("a__b", "c"), alias_of("a", "b__c"));
        assert_ne!(alias_of("a_", "b"), alias_of("a", "_b"));
    }

    #[test]
    fn a_name_that_ends_like_anothers_tail_does_not_take_its_alias() {
        let victim = alias_of("a.b", "x");
        let forged = victim.strip_prefix("a_b__").unwrap();
        assert_ne!(alias_of("a_b", forged), victim);
    }

    #[test]
    fn names_of_other_characters_are_mapped_with_a_tail() {
        let mapped = mapped_name("PDF&URLTool");
        assert!(mapped.starts_with("PDF_URLTool_") && fits_name(&mapped), "{mapped}");
        assert_eq!(mapped_name("plain"), "plain");
        assert!(fits_name(&mapped_name(&"名".repeat(500))) && fits_name(&mapped_name("")));
        assert!(fits_source(&mapped_source("@scope/server")));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_alias_is_well_formed(source in ".{0,80}", name in ".{0,140}") {
            let written = alias_of(&source, &name);
            prop_assert!(is_well_formed(&written), "{}", written);
        }

        #[test]
        fn different_identities_have_different_aliases(
            a in ("[a_.-]{1,6}", "[a_.-]{1,6}"), b in ("[a_.-]{1,6}", "[a_.-]{1,6}"),
        ) {
            prop_assert_eq!(a == b, alias_of(&a.0, &a.1) == alias_of(&b.0, &b.1));
        }
    }
}

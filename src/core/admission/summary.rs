//! The directory line: what a tool does, and when to use it.

use super::fold::{fold, fold_letters, holds_phrase};
use super::{Violation, ViolationCode};
use crate::core::definition::{Definition, DerivedField};
use crate::core::policy::{AdmissionPolicy, WhenRule};

/// Fewest characters of a summary.
pub(super) const SUMMARY_MIN_CHARS: usize = 8;
/// Most characters of a summary, and of `when_to_use`.
pub(super) const LINE_MAX_CHARS: usize = 200;
/// Most bytes of either: 200 characters of any script fit.
const LINE_MAX_BYTES: usize = 800;

/// Adds the violations of `summary` and `when_to_use`.
pub(super) fn check(
    definition: &Definition,
    policy: &AdmissionPolicy,
    violations: &mut Vec<Violation>,
    warnings: &mut Vec<Violation>,
) {
    let accepted = "one line of 8 to 200 characters that says what the tool does, and not just its name again";
    let summary = definition.summary.trim();
    let n_chars = summary.chars().count();
    let mut refuse =
        |code, description: String| violations.push(Violation::new("summary", code, description, accepted));
    if summary.is_empty() {
        refuse(ViolationCode::Missing, "missing".into());
    } else if says_only(summary, &definition.id.name) {
        refuse(ViolationCode::OnlyTheName, "says only the name".into());
    } else if n_chars < SUMMARY_MIN_CHARS {
        refuse(ViolationCode::TooShort, format!("{n_chars} characters"));
    }
    check_length("summary", &definition.summary, accepted, violations);
    check_length("when_to_use", &definition.when_to_use, "one line of at most 200 characters", violations);

    // Whether the line says when cannot be judged before there is a line; one violation for one missing field.
    // Import could not find more than it derived, and the mark says so: a warning as well would drown the others.
    let is_derived = definition.derived.contains(&DerivedField::WhenToUse);
    if summary.is_empty() || is_derived || says_when(definition, &policy.when_words) {
        return;
    }
    let words = policy.when_words.join(", ");
    let missing = Violation::new(
        "when_to_use",
        ViolationCode::Missing,
        "neither given nor said in the summary",
        format!("when_to_use, or a summary that says when by one of: {words}"),
    );
    match policy.when {
        WhenRule::Require => violations.push(missing),
        WhenRule::Flag => warnings.push(missing),
    }
}

fn check_length(field: &str, text: &str, accepted: &str, violations: &mut Vec<Violation>) {
    let n_chars = text.chars().count();
    if n_chars > LINE_MAX_CHARS || text.len() > LINE_MAX_BYTES {
        let description = format!("{n_chars} characters, {} bytes", text.len());
        violations.push(Violation::new(field, ViolationCode::TooLong, description, accepted));
    }
}

/// Tells whether a text is the tool's name over again, or no words at all.
pub(super) fn says_only(text: &str, name: &str) -> bool {
    let letters = fold_letters(text);
    letters.is_empty() || letters == fold_letters(name)
}

fn says_when(definition: &Definition, when_words: &[String]) -> bool {
    if !definition.when_to_use.trim().is_empty() {
        return true;
    }
    let summary = fold(&definition.summary);
    when_words.iter().any(|word| holds_phrase(&summary, &fold(word)))
}

//! Patterns: each small, each on the engine of linear time, and all of a schema together cheap to compile.
//!
//! One pattern that just stays below the engine's own limit takes tens of milliseconds, and a schema has room for a
//! thousand of them. So the size of what each compiles to is estimated first, and their sum is bounded.

use std::collections::BTreeSet;

use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::Value;

use super::graph::Node;
use crate::core::admission::{Violation, ViolationCode};
use crate::core::validation;

/// Most bytes of one pattern.
const PATTERN_BYTES: usize = 512;
/// Most that the patterns of one schema may cost together, in states of the compiled automata; about 50 ms.
const MOST_COST: usize = 30_000;
/// What any pattern costs.
const BASE_COST: usize = 50;
/// What a pattern costs that only an ECMA engine can read and nobody can estimate.
const UNKNOWN_COST: usize = 3_000;

/// Adds the violations of every pattern in the schemas.
pub fn check(field: &str, nodes: &[Node<'_>], violations: &mut Vec<Violation>) {
    let mut seen = BTreeSet::new();
    let mut spent = 0;
    for node in nodes {
        let Value::Object(schema) = node.schema else { continue };
        let own = schema.get("pattern").and_then(Value::as_str).map(|pattern| ("pattern", pattern));
        let of_properties = schema.get("patternProperties").and_then(Value::as_object);
        let of_properties = of_properties.into_iter().flat_map(|patterns| patterns.keys());
        for (keyword, pattern) in own.into_iter().chain(of_properties.map(|key| ("patternProperties", key.as_str()))) {
            if !seen.insert(pattern) {
                continue;
            }
            if let Some(description) = refusal(pattern, &mut spent) {
                violations.push(Violation::new(
                    format!("{field}{}/{keyword}", node.pointer),
                    ViolationCode::BadPattern,
                    description,
                    format!(
                        "a regular expression of at most {PATTERN_BYTES} bytes, without look-around, back-references \
                         and large repetitions"
                    ),
                ));
            }
        }
    }
}

fn refusal(pattern: &str, spent: &mut usize) -> Option<String> {
    if pattern.len() > PATTERN_BYTES {
        return Some(format!("{} bytes", pattern.len()));
    }
    if ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|look| pattern.contains(look)) {
        return Some("uses look-around, which needs unbounded time to match".into());
    }
    let total = spent.saturating_add(cost(pattern));
    if total > MOST_COST {
        return Some("too costly to compile, with the patterns before it".into());
    }
    *spent = total;
    let compiles = validation::pattern_compiles(pattern);
    (!compiles).then(|| "does not compile on an engine of linear time".into())
}

/// Estimates the states of a compiled pattern.
fn cost(pattern: &str) -> usize {
    let of_syntax = regex_syntax::parse(&with_ascii_classes(pattern)).map_or(UNKNOWN_COST, |hir| states(&hir));
    BASE_COST.saturating_add(of_syntax)
}

fn states(hir: &Hir) -> usize {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(Class::Unicode(class)) => class.ranges().len(),
        HirKind::Class(Class::Bytes(class)) => class.ranges().len(),
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min).max(1) as usize;
            states(&repetition.sub).saturating_mul(times)
        }
        HirKind::Capture(capture) => states(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().map(states).fold(0, usize::saturating_add),
    }
}

/// Writes `\d`, `\w` and `\s` out: in JSON Schema they are a few ASCII ranges, in Rust hundreds.
fn with_ascii_classes(pattern: &str) -> String {
    let mut written = String::with_capacity(pattern.len());
    let mut in_class = false;
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        let ranges = match c {
            '\\' => match chars.next() {
                Some('d') => "0-9",
                Some('w') => "A-Za-z0-9_",
                Some('s') => "\\t-\\r ",
                Some(other) => {
                    written.extend(['\\', other]);
                    continue;
                }
                None => continue,
            },
            c => {
                in_class = (in_class || c == '[') && c != ']';
                written.push(c);
                continue;
            }
        };
        if in_class {
            written.push_str(ranges);
        } else {
            written.push_str(&format!("[{ranges}]"));
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_grows_with_repetitions_and_classes() {
        assert!(cost("^a$") < 100);
        assert!(cost(r"^[\w.-]{1,64}@\d+$") < 1_000);
        assert!(cost(r"\p{L}{50}") > 10_000);
        assert!(cost("((a{100}){100}){100}") > MOST_COST);
        assert!(cost(r"\cA{1000}") >= UNKNOWN_COST);
    }
}

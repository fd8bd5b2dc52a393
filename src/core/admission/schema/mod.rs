//! Input schemas: bounded first, then read keyword by keyword, and compiled only when nothing else is wrong.
//!
//! The order matters: a stack overflow in the compiler cannot be caught, so depth, nodes and references are bounded
//! before it sees anything. A *node* is a schema: an object or boolean where a schema may stand.

mod graph;

use serde_json::{Map, Value};

use super::{Violation, ViolationCode};
use crate::core::json_schema::TYPE_WORDS;
use crate::core::policy::AdmissionPolicy;
use crate::core::validation;
use graph::{Graph, Node};

/// Most bytes of one pattern.
const PATTERN_BYTES: usize = 512;

/// Most violations that the schema's own schema may add; one typo high up can break a hundred places below.
const MOST_META: usize = 16;

/// Keywords that only make sense for something other than an object.
const NOT_OF_OBJECTS: [&str; 14] = [
    "const",
    "contains",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "pattern",
];

/// Adds the violations of an input schema; `field` is the path of its root.
pub(super) fn check(field: &str, schema: &Value, policy: &AdmissionPolicy, violations: &mut Vec<Violation>) {
    let Value::Object(root) = schema else {
        violations.push(not_an_object(field, "not a JSON object"));
        return;
    };
    let before = violations.len();
    check_root(field, root, violations);

    let graph = match Graph::of(schema, policy) {
        Ok(graph) => graph,
        Err(too_complex) => {
            violations.push(Violation::new(
                format!("{field}{}", too_complex.pointer),
                ViolationCode::TooComplex,
                too_complex.description,
                too_complex.accepted,
            ));
            return;
        }
    };
    for node in &graph.nodes {
        check_node(field, node, violations);
    }
    graph.check_references(field, policy, violations);
    check_meta(field, schema, before, violations);
    if violations.len() == before {
        check_compiles(field, schema, violations);
    }
}

fn not_an_object(field: &str, description: impl Into<String>) -> Violation {
    Violation::new(
        field,
        ViolationCode::NotAnObject,
        description,
        r#"an object schema, such as {"type":"object","properties":{}}"#,
    )
}

/// Real servers leave `type` out beside `properties`, a reference or nothing at all; that is taken as an object.
fn check_root(field: &str, root: &Map<String, Value>, violations: &mut Vec<Violation>) {
    match root.get("type") {
        None => {
            if let Some(keyword) = root.keys().find(|keyword| NOT_OF_OBJECTS.contains(&keyword.as_str())) {
                violations.push(not_an_object(field, format!("no type, and {keyword} is not said of objects")));
            }
        }
        Some(Value::String(word)) if word == "object" => {}
        Some(Value::Array(words)) if words.iter().any(|word| word == "object") => {}
        // An unknown word is reported with the other types.
        Some(Value::String(word)) if !TYPE_WORDS.contains(&word.as_str()) => {}
        Some(_) => violations.push(not_an_object(format!("{field}/type").as_str(), "the root is not of type object")),
    }
}

fn check_node(field: &str, node: &Node<'_>, violations: &mut Vec<Violation>) {
    let Value::Object(schema) = node.schema else { return };
    let at = format!("{field}{}", node.pointer);
    match schema.get("type") {
        Some(Value::String(word)) => check_type_word(&format!("{at}/type"), word, violations),
        Some(Value::Array(words)) => {
            for (i, word) in words.iter().enumerate() {
                if let Some(word) = word.as_str() {
                    check_type_word(&format!("{at}/type/{i}"), word, violations);
                }
            }
        }
        _ => {}
    }
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
        check_pattern(&format!("{at}/pattern"), pattern, violations);
    }
    if let Some(patterns) = schema.get("patternProperties").and_then(Value::as_object) {
        for pattern in patterns.keys() {
            check_pattern(&format!("{at}/patternProperties"), pattern, violations);
        }
    }
}

fn check_type_word(at: &str, word: &str, violations: &mut Vec<Violation>) {
    if !TYPE_WORDS.contains(&word) {
        let accepted = format!("one of {}", TYPE_WORDS.join(", "));
        let shown: String = word.chars().take(40).collect();
        violations.push(Violation::new(at, ViolationCode::UnknownType, format!("{shown:?} is no type"), accepted));
    }
}

fn check_pattern(at: &str, pattern: &str, violations: &mut Vec<Violation>) {
    let description = if pattern.len() > PATTERN_BYTES {
        format!("{} bytes", pattern.len())
    } else if validation::pattern_compiles(pattern) {
        return;
    } else if ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|look| pattern.contains(look)) {
        "uses look-around, which needs unbounded time to match".into()
    } else {
        "does not compile on an engine of linear time".into()
    };
    violations.push(Violation::new(
        at,
        ViolationCode::BadPattern,
        description,
        format!("a regular expression of at most {PATTERN_BYTES} bytes, without look-around and back-references"),
    ));
}

/// Adds what the schema's own schema says and no rule above has said of the same place.
fn check_meta(field: &str, schema: &Value, before: usize, violations: &mut Vec<Violation>) {
    let mut n_added = 0;
    for error in jsonschema::draft202012::meta::validator().iter_errors(schema) {
        let at = format!("{field}{}", error.instance_path());
        let is_known = violations[before..].iter().any(|violation| violation.field == at);
        if is_known {
            continue;
        }
        let fault = validation::fault_of(&error);
        violations.push(Violation::new(at, ViolationCode::InvalidSchema, fault.description, fault.accepted));
        n_added += 1;
        if n_added == MOST_META {
            return;
        }
    }
}

fn check_compiles(field: &str, schema: &Value, violations: &mut Vec<Violation>) {
    if let Err(error) = validation::Validator::of_value(schema) {
        violations.push(Violation::new(
            format!("{field}{}", error.pointer),
            ViolationCode::InvalidSchema,
            error.reason,
            "a JSON Schema (2020-12) that compiles",
        ));
    }
}

#[cfg(test)]
mod tests;

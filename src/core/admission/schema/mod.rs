//! Input schemas: bounded first, then read keyword by keyword, and compiled only when nothing else is wrong.
//!
//! The order matters: a stack overflow in the compiler cannot be caught, so depth, nodes and references are bounded
//! before it sees anything. A *node* is a schema: an object or boolean where a schema may stand.

mod graph;
mod patterns;

use serde_json::{Map, Value};

use super::{Violation, ViolationCode};
use crate::core::json_schema::TYPE_WORDS;
use crate::core::policy::AdmissionPolicy;
use crate::core::validation;
use graph::{Graph, Node};

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
        check_types(field, node, violations);
    }
    patterns::check(field, &graph.nodes, violations);
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

fn check_types(field: &str, node: &Node<'_>, violations: &mut Vec<Violation>) {
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
}

fn check_type_word(at: &str, word: &str, violations: &mut Vec<Violation>) {
    if !TYPE_WORDS.contains(&word) {
        let accepted = format!("one of {}", TYPE_WORDS.join(", "));
        let shown: String = word.chars().take(40).collect();
        violations.push(Violation::new(at, ViolationCode::UnknownType, format!("{shown:?} is no type"), accepted));
    }
}

/// Adds what the schema's own schema says and no rule above has said of the same place.
fn check_meta(field: &str, schema: &Value, before: usize, violations: &mut Vec<Violation>) {
    let mut n_added = 0;
    for error in jsonschema::draft202012::meta::validator().iter_errors(schema) {
        let at = format!("{field}{}", error.instance_path());
        // A wrong word within a list of types was reported at the word.
        let reports = |violation: &Violation| {
            violation.field == at || violation.field.rsplit_once('/').is_some_and(|(list, _)| list == at)
        };
        let is_known = violations[before..].iter().any(reports);
        if is_known {
            continue;
        }
        let fault = validation::fault_of(&error);
        let accepted = spelling_of_this_draft(&at).map_or(fault.accepted, String::from);
        violations.push(Violation::new(at, ViolationCode::InvalidSchema, fault.description, accepted));
        n_added += 1;
        if n_added == MOST_META {
            return;
        }
    }
}

/// Says how 2020-12 spells what older drafts spelt otherwise: the usual reason for a wrong type at these keywords.
fn spelling_of_this_draft(at: &str) -> Option<&'static str> {
    match at.rsplit('/').next()? {
        "items" => Some("one schema; a list of schemas is prefixItems"),
        "required" => Some("a list of property names, beside properties"),
        "exclusiveMinimum" | "exclusiveMaximum" => Some("a number, the bound itself"),
        _ => None,
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

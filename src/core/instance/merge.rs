//! Folds what a schema says of one value into one flat schema: references and `allOf` followed.

use serde_json::{Map, Value};

use crate::core::json_schema::resolve;

/// Most references and combinations that are followed in a row; admission allows no more.
const CHAIN: usize = 64;

/// Returns the schema with its `$ref` and `allOf` folded in.
pub fn merged(root: &Value, schema: &Map<String, Value>) -> Map<String, Value> {
    merged_within(root, schema, CHAIN)
}

fn merged_within(root: &Value, schema: &Map<String, Value>, chain: usize) -> Map<String, Value> {
    let mut flat = schema.clone();
    if chain == 0 {
        return flat;
    }
    let mut parts: Vec<Value> = Vec::new();
    for keyword in ["$ref", "$dynamicRef"] {
        if let Some(Value::String(reference)) = flat.remove(keyword) {
            parts.extend(resolve(root, &reference).cloned());
        }
    }
    if let Some(Value::Array(all)) = flat.remove("allOf") {
        parts.extend(all);
    }
    for part in parts {
        if let Value::Object(part) = part {
            flat = join(flat, &merged_within(root, &part, chain - 1));
        }
    }
    flat
}

/// Joins two flat schemas into one that demands both, as far as it can be said in one.
pub fn join(mut a: Map<String, Value>, b: &Map<String, Value>) -> Map<String, Value> {
    for (keyword, of_b) in b {
        let Some(of_a) = a.get_mut(keyword) else {
            a.insert(keyword.clone(), of_b.clone());
            continue;
        };
        match (keyword.as_str(), &mut *of_a, of_b) {
            ("required", Value::Array(names), Value::Array(more)) => {
                let new: Vec<Value> = more.iter().filter(|name| !names.contains(name)).cloned().collect();
                names.extend(new);
            }
            ("properties", Value::Object(properties), Value::Object(more)) => {
                for (name, schema) in more {
                    let both = match properties.get(name) {
                        Some(first) if first != schema => serde_json::json!({ "allOf": [first, schema] }),
                        _ => schema.clone(),
                    };
                    properties.insert(name.clone(), both);
                }
            }
            ("enum", Value::Array(options), Value::Array(others)) => options.retain(|option| others.contains(option)),
            ("type", of_a, of_b) => {
                let common: Vec<Value> =
                    type_words(of_a).into_iter().filter(|w| type_words(of_b).contains(w)).collect();
                if !common.is_empty() {
                    *of_a = Value::Array(common);
                }
            }
            ("minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties", of_a, of_b) => {
                if of_b.as_f64() > of_a.as_f64() {
                    *of_a = of_b.clone();
                }
            }
            ("maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties", of_a, of_b) => {
                if of_b.as_f64() < of_a.as_f64() {
                    *of_a = of_b.clone();
                }
            }
            (_, of_a, of_b) => *of_a = of_b.clone(),
        }
    }
    a
}

fn type_words(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(words) => words.clone(),
        word => vec![word.clone()],
    }
}

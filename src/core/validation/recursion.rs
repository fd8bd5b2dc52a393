//! How deep arguments of a recursive schema may be to be explained.
//!
//! Whether arguments fit is decided once for each part of them. Why they do not is collected along every way through
//! the alternatives, and where several of them lead back to the same schema their number is a power of the depth: two
//! alternatives and twenty levels take minutes. So the depth up to which violations are named one by one is chosen such
//! that the ways stay few; deeper arguments are only said not to fit.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::core::json_schema::{Resolver, subschemas};

/// Most ways through the alternatives that are followed.
const MOST_WAYS: f64 = 10_000.0;

/// Returns the deepest nesting of arguments whose violations are named; no bound where the schema cannot branch.
pub fn explained_depth(schema: &Value) -> usize {
    match n_recursive_references(schema) {
        0 | 1 => usize::MAX,
        n => (MOST_WAYS.ln() / (n as f64).ln()).floor().max(1.0) as usize,
    }
}

/// Tells whether a value is nested at most so deep; a scalar is 0 deep.
pub fn is_within(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(items) => depth > 0 && items.iter().all(|item| is_within(item, depth - 1)),
        Value::Object(map) => depth > 0 && map.values().all(|item| is_within(item, depth - 1)),
        _ => true,
    }
}

/// Counts the references that stand in what they lead to, by way of others too.
fn n_recursive_references(root: &Value) -> usize {
    let resolver = Resolver::new(root);
    let mut within: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let all = references(root);
    for &reference in &all {
        within.entry(reference).or_insert_with(|| resolver.resolve(reference).map(references).unwrap_or_default());
    }
    let comes_back = |start: &str| {
        let mut seen = BTreeSet::new();
        let mut open = vec![start];
        while let Some(reference) = open.pop() {
            for &next in within.get(reference).into_iter().flatten() {
                if next == start {
                    return true;
                }
                if seen.insert(next) {
                    open.push(next);
                }
            }
        }
        false
    };
    let recursive: BTreeSet<&str> = within.keys().copied().filter(|reference| comes_back(reference)).collect();
    all.iter().filter(|reference| recursive.contains(*reference)).count()
}

/// Returns every reference within a schema, as often as it stands there.
fn references(schema: &Value) -> Vec<&str> {
    let mut found = Vec::new();
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        let Value::Object(map) = schema else { continue };
        for keyword in ["$ref", "$dynamicRef"] {
            found.extend(map.get(keyword).and_then(Value::as_str));
        }
        open.extend(subschemas(map).into_iter().map(|sub| sub.schema));
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_schemas_that_branch_back_into_themselves_are_bounded() {
        let leaf = json!({"properties": {"a": {"$ref": "#/$defs/x"}, "b": {"$ref": "#/$defs/x"}}, "$defs": {"x": {}}});
        assert_eq!(explained_depth(&leaf), usize::MAX);
        assert_eq!(explained_depth(&json!({"properties": {"next": {"$ref": "#"}}})), usize::MAX);
        let twice = json!({"anyOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]});
        assert_eq!(explained_depth(&twice), 13);
    }

    #[test]
    fn depth_is_counted_in_containers() {
        assert!(is_within(&json!(1), 0));
        assert!(is_within(&json!([{"a": 1}]), 2));
        assert!(!is_within(&json!([{"a": 1}]), 1));
    }
}

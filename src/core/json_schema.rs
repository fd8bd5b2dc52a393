//! The vocabulary of JSON Schema 2020-12 that the core reads itself: where subschemas stand, and where a local
//! reference leads.
//!
//! Knows nothing above it and judges nothing. Older spellings (`definitions`, `dependencies`) count as places of
//! schemas too, because real servers still send them.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The words `type` may be.
pub const TYPE_WORDS: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// Keywords whose value is one schema.
const ONE: [&str; 11] = [
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Keywords whose value is a list of schemas.
const LIST: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];

/// Keywords whose value maps names to schemas.
const NAMED: [&str; 6] =
    ["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"];

/// Appends one segment to a JSON pointer, escaped as RFC 6901 says.
pub fn push_pointer(pointer: &mut String, segment: &str) {
    pointer.push('/');
    for c in segment.chars() {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            c => pointer.push(c),
        }
    }
}

/// A schema within a schema.
pub struct Subschema<'s> {
    /// The keyword it stands under.
    pub keyword: &'s str,
    /// JSON pointer from the schema around it.
    pub pointer: String,
    /// The schema: an object or a boolean where the author did right.
    pub schema: &'s Value,
}

/// Returns the schemas directly within a schema, in the order they are written.
pub fn subschemas(schema: &Map<String, Value>) -> Vec<Subschema<'_>> {
    let mut found = Vec::new();
    for (keyword, value) in schema {
        let mut add = |segments: &[&str], schema| {
            let mut pointer = String::new();
            segments.iter().for_each(|segment| push_pointer(&mut pointer, segment));
            found.push(Subschema { keyword: keyword.as_str(), pointer, schema });
        };
        match value {
            Value::Object(map) if NAMED.contains(&keyword.as_str()) => {
                for (name, schema) in map {
                    // `dependencies` may also list property names.
                    if !schema.is_array() {
                        add(&[keyword, name], schema);
                    }
                }
            }
            Value::Array(items) if LIST.contains(&keyword.as_str()) => {
                for (i, schema) in items.iter().enumerate() {
                    add(&[keyword, &i.to_string()], schema);
                }
            }
            value if ONE.contains(&keyword.as_str()) => add(&[keyword], value),
            _ => {}
        }
    }
    found
}

/// Tells whether a subschema under the keyword judges the same value as the schema around it.
pub fn judges_same_value(keyword: &str) -> bool {
    matches!(
        keyword,
        "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" | "dependentSchemas" | "dependencies"
    )
}

/// Follows local references of one schema; walks it for anchors at most once.
pub struct Resolver<'s> {
    root: &'s Value,
    anchors: OnceCell<BTreeMap<&'s str, &'s Value>>,
}

impl<'s> Resolver<'s> {
    /// Takes the schema whose references are to be followed.
    pub fn new(root: &'s Value) -> Self {
        Self { root, anchors: OnceCell::new() }
    }

    /// Returns what a local reference (`#`, `#/pointer`, `#anchor`) leads to, or `None` where it leads nowhere or is
    /// not local.
    pub fn resolve(&self, reference: &str) -> Option<&'s Value> {
        let fragment = percent_decode(reference.strip_prefix('#')?)?;
        if fragment.is_empty() {
            return Some(self.root);
        }
        if fragment.starts_with('/') {
            return self.root.pointer(&fragment);
        }
        self.anchors.get_or_init(|| anchors(self.root)).get(fragment.as_str()).copied()
    }
}

/// Returns what a local reference leads to; for many references of one schema see [`Resolver`].
pub fn resolve<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    Resolver::new(root).resolve(reference)
}

/// Returns every schema that has an anchor, by its anchor.
fn anchors(root: &Value) -> BTreeMap<&str, &Value> {
    let mut anchors = BTreeMap::new();
    let mut open = vec![root];
    while let Some(schema) = open.pop() {
        let Value::Object(map) = schema else { continue };
        for keyword in ["$anchor", "$dynamicAnchor"] {
            if let Some(anchor) = map.get(keyword).and_then(Value::as_str) {
                anchors.insert(anchor, schema);
            }
        }
        open.extend(subschemas(map).into_iter().map(|sub| sub.schema));
    }
    anchors
}

fn percent_decode(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        if first == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(first);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn subschemas_are_found_with_their_pointers() {
        let schema = json!({
            "properties": {"a/b": {"type": "string"}},
            "anyOf": [true, {"not": {}}],
            "items": false,
            "enum": [{"properties": {}}],
            "dependencies": {"a": ["b"], "c": {}},
        });
        let pointers: Vec<String> =
            subschemas(schema.as_object().unwrap()).into_iter().map(|sub| sub.pointer).collect();
        assert_eq!(pointers, ["/properties/a~1b", "/anyOf/0", "/anyOf/1", "/items", "/dependencies/c"]);
    }

    #[test]
    fn local_references_lead_to_their_target() {
        let root = json!({"$defs": {"a b": {"type": "string"}, "c": {"$anchor": "here", "type": "null"}}});
        assert_eq!(resolve(&root, "#"), Some(&root));
        assert_eq!(resolve(&root, "#/$defs/a%20b"), root.pointer("/$defs/a b"));
        assert_eq!(resolve(&root, "#here"), root.pointer("/$defs/c"));
        for dangling in ["#/$defs/none", "#nowhere", "other.json", "", "#/%", "#/%zz"] {
            assert_eq!(resolve(&root, dangling), None, "{dangling}");
        }
    }
}

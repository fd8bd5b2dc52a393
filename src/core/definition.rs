//! A tool as registered: what admission looks at, the registry keeps, and every rendering starts from.
//!
//! Knows nothing above it. Definitions are immutable once admitted; a change is a new version.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::ids::{Digest, ToolId};

/// JSON text that is known to parse, kept compact and in the order its author gave.
///
/// Text rather than a tree: ten thousand schemas as trees cost several times their size in memory, and bytes that go
/// into a prompt must not depend on a serialiser's mood.
#[derive(Clone, PartialEq, Eq)]
pub struct Json(Arc<str>);

impl Json {
    /// Writes a value compactly.
    pub fn from_value(value: &Value) -> Self {
        Self(value.to_string().into())
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Parses the text into a tree.
    pub fn to_value(&self) -> Value {
        // The text was written by `from_value` or parsed by serde before it got here.
        serde_json::from_str(&self.0).unwrap_or(Value::Null)
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Ok(Self(raw.get().into()))
    }
}

/// A field that import filled in because the source has no such field. Kept outside the content hash and fixed per
/// version, so that importing the same catalog again changes nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DerivedField {
    /// From the description.
    Summary,
    /// From the description, or said to be missing.
    WhenToUse,
    /// By term weight against the catalog.
    Keywords,
    /// By measuring.
    SizeTokens,
}

impl DerivedField {
    /// Returns the field's name as requests spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Summary => "summary",
            Self::WhenToUse => "when_to_use",
            Self::Keywords => "keywords",
            Self::SizeTokens => "size_tokens",
        }
    }
}

/// A tool as somebody registers it. Nothing in it is trusted until admission has looked.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Definition {
    /// Its identity.
    pub id: ToolId,
    /// A name for people, where the source's own name could not be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// One line, 8–200 characters: what it does.
    pub summary: String,
    /// When to use it; empty where the summary says so itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub when_to_use: String,
    /// 1–32 words people would ask with.
    pub keywords: Vec<String>,
    /// The registrant's estimate in o200k tokens of compact `{name, description, input_schema}`.
    pub size_tokens: u32,
    /// Full description, as it stands in the tools array.
    pub description: String,
    /// JSON Schema 2020-12 of the arguments.
    pub input_schema: Json,
    /// JSON Schema of the result; kept, never injected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Json>,
    /// MCP annotations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Json>,
    /// Group in the directory; empty takes the source.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Tags that rules may read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Attributes that rules may read.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
    /// Heat that the tool starts with, so that it can be resident before anybody called it; 0 or more, not in the hash.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub initial_score: f64,
    /// What import filled in.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub derived: BTreeSet<DerivedField>,
}

impl Definition {
    /// Returns the directory group: the one given, else the source.
    pub fn group(&self) -> &str {
        if self.group.is_empty() { &self.id.source } else { &self.group }
    }

    /// Hashes what makes two definitions the same: everything but the size estimate and what import derived. Key order
    /// inside JSON does not count.
    pub fn content_hash(&self) -> Digest {
        let keep = |field| !self.derived.contains(&field);
        let canonical = serde_json::json!({
            "id": self.id,
            "title": self.title,
            "summary": keep(DerivedField::Summary).then_some(&self.summary),
            "when_to_use": keep(DerivedField::WhenToUse).then_some(&self.when_to_use),
            "keywords": keep(DerivedField::Keywords).then_some(&self.keywords),
            "description": self.description,
            "input_schema": self.input_schema.to_value(),
            "output_schema": self.output_schema.as_ref().map(Json::to_value),
            "annotations": self.annotations.as_ref().map(Json::to_value),
            "group": self.group,
            "tags": self.tags,
            "attributes": self.attributes,
        });
        Digest::of(sorted(canonical).to_string().as_bytes())
    }

    /// Writes the text whose tokens are the definition's size: compact `{name, description, input_schema}`.
    pub fn measured_text(&self) -> String {
        measured_text(&self.id.name, &self.description, &self.input_schema)
    }
}

/// Writes the text whose tokens are the size of a definition with these parts.
pub fn measured_text(name: &str, description: &str, input_schema: &Json) -> String {
    let (name, description) = (Value::from(name), Value::from(description));
    format!(r#"{{"name":{name},"description":{description},"input_schema":{}}}"#, input_schema.as_str())
}

// Takes a reference because serde calls it with one.
fn is_zero(score: &f64) -> bool {
    *score == 0.0
}

/// Returns the value with every object's keys in byte order.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let ordered: BTreeMap<String, Value> = map.into_iter().map(|(k, v)| (k, sorted(v))).collect();
            Value::Object(ordered.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(schema: &str) -> Definition {
        Definition {
            id: ToolId::new("github", "create_issue"),
            title: None,
            summary: "Opens an issue when a bug is found".into(),
            when_to_use: String::new(),
            keywords: vec!["bug".into()],
            size_tokens: 30,
            description: "Opens an issue.".into(),
            input_schema: serde_json::from_str(schema).unwrap(),
            output_schema: None,
            annotations: None,
            group: String::new(),
            tags: vec![],
            attributes: BTreeMap::new(),
            initial_score: 0.0,
            derived: BTreeSet::new(),
        }
    }

    #[test]
    fn key_order_does_not_change_the_hash_and_annotations_do() {
        let a = definition(r#"{"type":"object","required":["a"]}"#);
        let mut b = definition(r#"{"required":["a"],"type":"object"}"#);
        assert_eq!(a.content_hash(), b.content_hash());
        b.annotations = Some(Json::from_value(&serde_json::json!({"readOnlyHint": true})));
        assert_ne!(a.content_hash(), b.content_hash());
    }

    #[test]
    fn derived_fields_are_outside_the_hash() {
        let mut a = definition("{}");
        a.derived = BTreeSet::from([DerivedField::Summary, DerivedField::Keywords]);
        let mut b = a.clone();
        b.summary = "Something else entirely".into();
        b.keywords = vec!["other".into()];
        b.size_tokens = 99;
        assert_eq!(a.content_hash(), b.content_hash());
        b.derived.clear();
        assert_ne!(a.content_hash(), b.content_hash());
    }

    #[test]
    fn json_reads_back_byte_for_byte() {
        let a = definition(r#"{"b":1.10,"a":[1,2]}"#);
        let text = serde_json::to_string(&a).unwrap();
        assert_eq!(serde_json::from_str::<Definition>(&text).unwrap(), a);
        assert_eq!(a.input_schema.as_str(), r#"{"b":1.10,"a":[1,2]}"#);
    }
}

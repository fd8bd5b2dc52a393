//! A definition written as a JSON line in full form, so that reading it gives the same definition again.

use serde_json::{Map, Value, json};

use crate::core::definition::{Definition, DerivedField, Json};

/// Writes a definition as [`read`](super::read) takes it from JSON lines. What import derived is left out, for whoever
/// reads it to derive again: it is no part of what makes two definitions the same.
pub fn to_line(definition: &Definition) -> String {
    let is_given = |field| !definition.derived.contains(&field);
    let mut line = Map::new();
    let mut put = |field: &str, value: Value| {
        let is_empty = match &value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            _ => false,
        };
        if !is_empty {
            line.insert(field.into(), value);
        }
    };
    put("source", json!(definition.id.source));
    put("name", json!(definition.id.name));
    if is_given(DerivedField::Summary) {
        put("summary", json!(definition.summary));
    }
    if is_given(DerivedField::WhenToUse) {
        put("when_to_use", json!(definition.when_to_use));
    }
    if is_given(DerivedField::Keywords) {
        put("keywords", json!(definition.keywords));
    }
    if is_given(DerivedField::SizeTokens) {
        put("size_tokens", json!(definition.size_tokens));
    }
    put("description", json!(definition.description));
    put("input_schema", definition.input_schema.to_value());
    put("output_schema", json!(definition.output_schema.as_ref().map(Json::to_value)));
    put("annotations", json!(definition.annotations.as_ref().map(Json::to_value)));
    put("group", json!(definition.group));
    put("tags", json!(definition.tags));
    put("attributes", json!(definition.attributes));
    if definition.initial_score > 0.0 {
        put("initial_score", json!(definition.initial_score));
    }
    // An empty title is one all the same.
    if let Some(title) = &definition.title {
        line.insert("title".into(), json!(title));
    }
    Value::Object(line).to_string()
}

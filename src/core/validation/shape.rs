//! Short words for what a schema takes, safe to put in front of a model.

use jsonschema::error::TypeKind;
use serde_json::Value;

/// Most items that a list names before it says how many more there are.
const LISTED: usize = 16;
/// Most characters that are shown of one text.
const SHOWN_CHARS: usize = 60;

/// Returns a text in quotes, cut and with everything unprintable escaped.
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", shown(text))
}

/// Returns a text cut and with everything unprintable escaped.
pub fn shown(text: &str) -> String {
    let cut: String = text.chars().take(SHOWN_CHARS).collect();
    let escaped = cut.escape_debug().to_string();
    if cut.len() < text.len() { format!("{escaped}…") } else { escaped }
}

/// Returns a value that a schema names, cut.
pub fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        other => shown(&other.to_string()),
    }
}

/// Joins items with commas, naming the first and counting the rest.
pub fn list(items: impl IntoIterator<Item = String>) -> String {
    let mut items = items.into_iter();
    let mut joined = items.by_ref().take(LISTED).collect::<Vec<_>>().join(", ");
    let n_more = items.count();
    if n_more > 0 {
        joined.push_str(&format!(" and {n_more} more"));
    }
    joined
}

/// Returns the types that would have been right.
pub fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(word) => word.to_string(),
        TypeKind::Multiple(words) => words.iter().map(|word| word.to_string()).collect::<Vec<_>>().join(" or "),
    }
}

/// Says what a schema takes: its type, values, format and bounds.
pub fn shape_of(schema: &Value) -> String {
    let Value::Object(map) = schema else { return "any value".into() };
    if let Some(value) = map.get("const") {
        return literal(value);
    }
    if let Some(Value::Array(options)) = map.get("enum") {
        return format!("one of {}", list(options.iter().map(literal)));
    }
    let mut said = match map.get("type") {
        Some(Value::String(word)) => shown(word),
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).map(shown).collect::<Vec<_>>().join(" or "),
        _ => "a value as the schema says".into(),
    };
    if let Some(format) = map.get("format").and_then(Value::as_str) {
        said.push_str(&format!(", {}", of_format(format)));
    }
    for (keyword, words) in [
        ("minimum", "at least"),
        ("exclusiveMinimum", "more than"),
        ("maximum", "at most"),
        ("exclusiveMaximum", "less than"),
    ] {
        if let Some(limit) = map.get(keyword).filter(|limit| limit.is_number()) {
            said.push_str(&format!(", {words} {limit}"));
        }
    }
    said
}

/// Says a format with an example, where there is one.
pub fn of_format(format: &str) -> String {
    let example = match format {
        "date" => "2024-01-31",
        "date-time" => "2024-01-31T09:30:00Z",
        "time" => "09:30:00Z",
        "duration" => "P1DT2H",
        "email" => "name@example.com",
        "uri" => "https://example.com/path",
        "uuid" => "123e4567-e89b-42d3-a456-426614174000",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "hostname" => "example.com",
        _ => return format!("a {}", shown(format)),
    };
    format!("a {format} such as {example}")
}

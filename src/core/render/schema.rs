//! What providers take of a schema. They refuse a whole request for one schema that is not of their kind, so a tool that
//! is admitted may still have to be written a little differently, or not at all.
//!
//! What a provider does not take is moved, not lost: it stands in the description, and calls are checked against the
//! schema as registered.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::super::event::Format;

/// Keywords that Anthropic and OpenAI refuse beside the properties of the arguments, at the top of a schema.
const NOT_AT_THE_TOP: &[&str] = &["oneOf", "anyOf", "allOf", "enum", "const", "not"];

/// Longest name of a parameter that Anthropic takes.
const PROPERTY_CHARS: usize = 64;

/// A schema and a description as a provider takes them.
pub struct Taken<'a> {
    /// The schema.
    pub schema: Cow<'a, str>,
    /// The description.
    pub description: Cow<'a, str>,
}

/// Fits a schema to what the providers of native tools take: an object, with nothing beside its properties that says
/// more. MCP asks only that it says to be an object.
pub fn take<'a>(format: Format, schema: &'a str, description: &'a str) -> Taken<'a> {
    let as_registered = Taken { schema: schema.into(), description: description.into() };
    let refused = if format == Format::Mcp { &[] } else { NOT_AT_THE_TOP };
    let Ok(Value::Object(mut root)) = serde_json::from_str::<Value>(schema) else { return as_registered };
    let is_object = root.get("type").and_then(Value::as_str) == Some("object");
    if is_object && !refused.iter().any(|keyword| root.contains_key(*keyword)) {
        return as_registered;
    }
    let mut moved = Map::new();
    for keyword in refused {
        // In place, so that what is left stays in the order of the registration.
        if let Some(value) = root.shift_remove(*keyword) {
            moved.insert((*keyword).to_owned(), value);
        }
    }
    root.insert("type".to_owned(), Value::from("object"));
    let description = if moved.is_empty() {
        description.into()
    } else {
        let rest = Value::Object(moved);
        format!("{description}\nThe arguments must also fit this JSON Schema: {rest}").into()
    };
    Taken { schema: Value::Object(root).to_string().into(), description }
}

/// Returns whether Anthropic takes the names of a schema's parameters.
pub fn is_for_anthropic(schema: &str) -> bool {
    let Ok(root) = serde_json::from_str::<Value>(schema) else { return false };
    let Some(properties) = root.get("properties").and_then(Value::as_object) else { return true };
    properties.keys().all(|name| is_anthropic_property(name))
}

/// Anthropic takes `^[a-zA-Z0-9_.-]{1,64}$`.
fn is_anthropic_property(name: &str) -> bool {
    let is_taken = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    (1..=PROPERTY_CHARS).contains(&name.len()) && name.chars().all(is_taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_of_the_usual_kind_is_left_as_it_was_registered() {
        let schema = r#"{"type":"object","properties":{"b":{"type":"string"},"a":{"anyOf":[{"type":"null"}]}}}"#;
        for format in [Format::Mcp, Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic] {
            let taken = take(format, schema, "Does it.");
            assert_eq!((&*taken.schema, &*taken.description), (schema, "Does it."));
        }
    }

    #[test]
    fn what_may_not_stand_at_the_top_moves_to_the_description() {
        let schema =
            r#"{"properties":{"b":{},"a":{}},"oneOf":[{"required":["a"]},{"required":["b"]}],"required":["c"]}"#;
        let taken = take(Format::Anthropic, schema, "Does it.");
        assert_eq!(taken.schema, r#"{"properties":{"b":{},"a":{}},"required":["c"],"type":"object"}"#);
        assert_eq!(
            taken.description,
            "Does it.\nThe arguments must also fit this JSON Schema: {\"oneOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}]}"
        );
    }

    #[test]
    fn mcp_wants_the_object_named_and_nothing_moved() {
        let taken = take(Format::Mcp, r#"{"oneOf":[{"required":["a"]}]}"#, "Does it.");
        assert_eq!(&*taken.schema, r#"{"oneOf":[{"required":["a"]}],"type":"object"}"#);
        assert_eq!(&*taken.description, "Does it.");
    }

    #[test]
    fn a_schema_that_may_be_null_is_an_object_all_the_same() {
        let taken = take(Format::OpenaiChat, r#"{"type":["object","null"]}"#, "Does it.");
        assert_eq!(taken.schema, r#"{"type":"object"}"#);
    }

    #[test]
    fn anthropic_takes_no_parameter_outside_its_alphabet() {
        let with = |name: &str| format!(r#"{{"type":"object","properties":{{"{name}":{{}}}}}}"#);
        for name in ["a", "a.b-c_D9", &"x".repeat(64)] {
            assert!(is_for_anthropic(&with(name)), "{name}");
        }
        for name in ["", "año", "a b", "$a", &"x".repeat(65)] {
            assert!(!is_for_anthropic(&with(name)), "{name}");
        }
    }
}

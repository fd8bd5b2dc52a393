//! What holds of every piece in every format and delivery, whatever a stranger wrote into a tool or a call.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::core::definition::Json;
use crate::core::event::{Admitted, Delivery, PoolSpec, Word as _};
use crate::core::ids::{Digest, ToolId, Version};

#[test]
fn the_introduction_costs_what_it_is_said_to() {
    assert_eq!(TEXT_INTRODUCTION_TOKENS, tokens::count(TEXT_INTRODUCTION));
}

fn spec(format: Format, delivery: Delivery) -> SessionSpec {
    SessionSpec {
        format,
        delivery,
        model: String::new(),
        window: 100_000,
        pool: PoolSpec::default(),
        own_tools: Vec::new(),
        on_demand_budget: 0,
        ephemeral: false,
        parent: None,
        fork_of: None,
        played: false,
        mark_cache: false,
    }
}

/// Every format with every delivery that it carries.
fn kinds() -> Vec<SessionSpec> {
    let mut kinds = Vec::new();
    for format in [Format::Mcp, Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic] {
        let carried = Delivery::ALL.iter().filter(|delivery| format.carries(**delivery));
        kinds.extend(carried.map(|delivery| spec(format, *delivery)));
    }
    kinds
}

fn shown(name: &str, description: &str, schema: &Value) -> Shown {
    let definition = Definition {
        id: ToolId::new("s", name),
        title: None,
        summary: "Does it".into(),
        when_to_use: String::new(),
        keywords: Vec::new(),
        size_tokens: 0,
        description: description.into(),
        input_schema: Json::from_value(schema),
        output_schema: None,
        annotations: None,
        group: String::new(),
        tags: Vec::new(),
        attributes: BTreeMap::new(),
        initial_score: 0.0,
        derived: BTreeSet::new(),
    };
    let (version, hash) = (Version(1), Digest::of(b""));
    let admitted = Admitted { definition, version, hash, measured_tokens: 0, flags: Vec::new(), waits: None };
    Shown::new(Arc::new(admitted))
}

/// Writes a schema as strangers do: with and without what providers want moved.
fn schema() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e300..1e300).prop_map(Value::from)
    ];
    let root =
        (prop::option::of(prop::sample::select(vec![json!("object"), json!(["object", "null"])])), any::<[bool; 3]>());
    (number, ".{0,12}", root).prop_map(|(number, key, (kind, [any_of, not, reference]))| {
        let mut root = Map::new();
        if any_of {
            root.insert("anyOf".into(), json!([{"required": [key]}, {"maxProperties": number}]));
        }
        root.insert("properties".into(), json!({key.as_str(): {"default": number, "description": key}, "a": {}}));
        if let Some(kind) = kind {
            root.insert("type".into(), kind);
        }
        if not {
            root.insert("not".into(), json!({"required": ["b"]}));
        }
        if reference {
            root.insert("$ref".into(), json!("#/$defs/A"));
            root.insert("$defs".into(), json!({"A": {"minProperties": 0}}));
        }
        Value::Object(root)
    })
}

/// Finds every object of a piece that is a native definition, by its name.
fn definitions<'v>(value: &'v Value, found: &mut BTreeMap<String, &'v Value>) {
    match value {
        Value::Object(object) => {
            let schema = ["inputSchema", "parameters", "input_schema"].iter().find_map(|key| object.get(*key));
            if let (Some(name), Some(_)) = (object.get("name").and_then(Value::as_str), schema) {
                found.insert(name.to_owned(), value);
                return;
            }
            object.values().for_each(|inner| definitions(inner, found));
        }
        Value::Array(items) => items.iter().for_each(|inner| definitions(inner, found)),
        _ => {}
    }
}

/// Puts what was moved to the description back into the schema.
fn as_registered(tool: &Value) -> Value {
    let schema = ["inputSchema", "parameters", "input_schema"].iter().find_map(|key| tool.get(*key)).unwrap();
    let mut schema = schema.clone();
    let description = tool["description"].as_str().unwrap();
    if let Some((_, moved)) = description.rsplit_once("\nThe arguments must also fit this JSON Schema: ") {
        let moved: Map<String, Value> = serde_json::from_str(moved).unwrap();
        schema.as_object_mut().unwrap().extend(moved);
    }
    schema
}

/// Returns a schema with its type as every provider takes it.
fn as_an_object(schema: &Value) -> Value {
    let mut schema = schema.clone();
    schema["type"] = json!("object");
    schema
}

/// Returns every text in a piece.
fn texts(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text}\n"),
        Value::Array(items) => items.iter().map(texts).collect(),
        Value::Object(object) => object.values().map(texts).collect(),
        _ => String::new(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]
    #[test]
    fn every_piece_is_json_and_holds_the_schema_as_it_was_registered(
        kind in prop::sample::select(kinds()),
        description in "[^\u{0}]{0,40}",
        schemas in prop::collection::vec(schema(), 1..4),
        call in "\\PC{1,20}|[\"\\\\\n\t\u{2028}]{1,5}",
        words in ".{1,40}",
        is_declared in any::<bool>(),
    ) {
        let tools: Vec<Shown> =
            schemas.iter().enumerate().map(|(i, schema)| shown(&format!("tool_{i}"), &description, schema)).collect();
        let carried: Vec<&Shown> = tools.iter().collect();
        let call = CallId::from(call.as_str());
        let error = tool_result(&kind, &call, ResultKind::Error, &words, &carried);
        let recalled = recall_result(&kind, &call, ResultKind::Answer, &words, &carried, |_| is_declared);
        let empty = recall_result(&kind, &call, ResultKind::Error, &words, &[], |_| is_declared);
        let block: Vec<Piece> = carried.iter().map(|shown| block_piece(kind.format, shown, is_declared)).collect();
        let all = [
            (issued_pieces(&kind, &carried), 0, true),
            (error, 1, true),
            (recalled, 1, true),
            (empty, 1, false),
            (meta_tools(kind.format, kind.delivery), 0, false),
            (block, 0, !is_declared),
        ];
        for (pieces, n_results, carries) in all {
            let results: Vec<&Piece> = pieces.iter().filter(|piece| piece.place == Place::ToolResult).collect();
            prop_assert_eq!(results.len(), n_results);
            let mut values = Vec::new();
            for piece in &pieces {
                values.push(serde_json::from_str::<Value>(&piece.content).expect("a piece is JSON"));
            }
            for (piece, value) in pieces.iter().zip(&values) {
                let has_id = ["tool_use_id", "call_id", "tool_call_id"].iter().find_map(|key| value.get(*key));
                let wants_id = piece.place == Place::ToolResult && kind.format != Format::Mcp;
                prop_assert_eq!(has_id.and_then(Value::as_str), wants_id.then_some(call.as_str()));
            }
            let names: Vec<&Alias> = pieces.iter().flat_map(|piece| &piece.names).collect();
            let wanted: Vec<&Alias> = carried.iter().map(|shown| shown.alias()).collect();
            if !carries {
                prop_assert!(wanted.iter().all(|name| !names.contains(name)));
                continue;
            }
            prop_assert_eq!(names, wanted, "each definition is brought once");
            let mut natives = BTreeMap::new();
            values.iter().for_each(|value| definitions(value, &mut natives));
            let all_texts: String = values.iter().map(texts).collect();
            for (shown, schema) in carried.iter().zip(&schemas) {
                let is_referred = values.iter().any(|value| value["content"][0]["type"] == "tool_reference");
                match natives.get(shown.alias().as_str()) {
                    Some(tool) => prop_assert_eq!(as_an_object(&as_registered(tool)), as_an_object(schema)),
                    None if is_referred => prop_assert!(all_texts.contains(shown.alias().as_str())),
                    None => prop_assert!(all_texts.contains(&schema.to_string())),
                }
            }
        }
    }

    #[test]
    fn what_is_added_to_a_definition_leaves_it_json(schema in schema(), description in ".{0,40}") {
        let tool = shown("tool", &description, &schema);
        let whole: Value = serde_json::from_str(&block_piece(Format::Anthropic, &tool, false).content).unwrap();
        for (piece, field, added) in [
            (block_piece(Format::Anthropic, &tool, true), "defer_loading", json!(true)),
            (marked(block_piece(Format::Anthropic, &tool, false)), "cache_control", json!({"type": "ephemeral"})),
        ] {
            let mut value: Value = serde_json::from_str(&piece.content).unwrap();
            prop_assert_eq!(value.as_object_mut().unwrap().remove(field), Some(added));
            prop_assert_eq!(&value, &whole);
        }
    }
}

fn marked(mut piece: Piece) -> Piece {
    mark_cache(Format::Anthropic, &mut piece);
    piece
}

//! What each provider's request is made of, byte for byte: elements of the tools array, messages, tool results.
//!
//! One function a kind of thing, one arm a format. Where the facts come from stands in `docs/deliveries.md`.

use serde_json::{Value, json};

use super::super::event::Format;
use super::super::ids::{Alias, CallId};
use super::ResultKind;

/// Writes an element of the tools array. The schema is spliced in as it is.
pub fn tool(format: Format, name: &str, description: &str, schema: &str) -> String {
    let name = Value::from(name);
    let description = Value::from(description);
    match format {
        Format::Mcp => format!(r#"{{"name":{name},"description":{description},"inputSchema":{schema}}}"#),
        Format::OpenaiChat => format!(
            r#"{{"type":"function","function":{{"name":{name},"description":{description},"parameters":{schema}}}}}"#
        ),
        // Not strict: a strict schema must list every property as required, which no honest server's does.
        Format::OpenaiResponses => format!(
            r#"{{"type":"function","name":{name},"description":{description},"parameters":{schema},"strict":false}}"#
        ),
        Format::Anthropic => format!(r#"{{"name":{name},"description":{description},"input_schema":{schema}}}"#),
    }
}

/// Writes the tool by which a model of OpenAI Responses asks for others: the provider's own, answered by the runtime.
pub fn tool_search(description: &str, schema: &str) -> String {
    let description = Value::from(description);
    format!(r#"{{"type":"tool_search","execution":"client","description":{description},"parameters":{schema}}}"#)
}

/// Writes text for the system prompt.
pub fn system(format: Format, text: String) -> String {
    match format {
        Format::Mcp | Format::OpenaiChat | Format::OpenaiResponses => text,
        Format::Anthropic => json!({"type": "text", "text": text}).to_string(),
    }
}

/// Marks an Anthropic tool as deferred: it is declared, and the model sees it once it is referred to.
pub fn deferred(tool: &str) -> String {
    with_field(tool, r#""defer_loading":true"#)
}

/// Writes a cache breakpoint into an Anthropic tool or text block.
pub fn with_breakpoint(object: &str) -> String {
    with_field(object, r#""cache_control":{"type":"ephemeral"}"#)
}

/// Adds a field at the end of an object that has others.
fn with_field(object: &str, field: &str) -> String {
    let open = object.strip_suffix('}').unwrap_or(object);
    format!("{open},{field}}}")
}

/// Writes a user message.
pub fn user_message(format: Format, text: &str) -> String {
    let message = match format {
        Format::Mcp => json!({"role": "user", "content": {"type": "text", "text": text}}),
        Format::OpenaiChat => json!({"role": "user", "content": text}),
        Format::OpenaiResponses => {
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
        }
        Format::Anthropic => json!({"role": "user", "content": [{"type": "text", "text": text}]}),
    };
    message.to_string()
}

/// Writes the message by which Anthropic takes up tools in the middle of a conversation.
pub fn tool_additions(tools: &[&str]) -> String {
    let block =
        |tool: &&str| format!(r#"{{"type":"tool_addition","tool":{{"type":"tool_definition","definition":{tool}}}}}"#);
    let blocks: Vec<String> = tools.iter().map(block).collect();
    format!(r#"{{"role":"system","content":[{}]}}"#, blocks.join(","))
}

/// Writes the item by which OpenAI Responses takes up tools in the middle of a conversation.
pub fn additional_tools(tools: &[&str]) -> String {
    format!(r#"{{"type":"additional_tools","role":"developer","tools":[{}]}}"#, tools.join(","))
}

/// Writes the answer to a call of OpenAI's `tool_search`.
pub fn tool_search_output(call: &CallId, tools: &[&str]) -> String {
    let call = Value::from(call.as_str());
    format!(
        r#"{{"type":"tool_search_output","call_id":{call},"execution":"client","status":"completed","tools":[{}]}}"#,
        tools.join(",")
    )
}

/// Writes the tool result that answers a call with text.
pub fn tool_result(format: Format, call: &CallId, kind: ResultKind, text: &str) -> String {
    let call = call.as_str();
    let is_error = kind == ResultKind::Error;
    let mut result = match format {
        Format::Mcp => json!({"content": [{"type": "text", "text": text}], "isError": is_error}),
        Format::OpenaiChat => json!({"role": "tool", "tool_call_id": call, "content": text}),
        Format::OpenaiResponses => json!({"type": "function_call_output", "call_id": call, "output": text}),
        Format::Anthropic => {
            json!({"type": "tool_result", "tool_use_id": call, "content": [{"type": "text", "text": text}]})
        }
    };
    if format == Format::Anthropic && is_error {
        result["is_error"] = Value::from(true);
    }
    result.to_string()
}

/// Writes the Anthropic tool result that refers to tools which stand deferred in the tools array.
pub fn tool_references(call: &CallId, names: &[&Alias]) -> String {
    let references: Vec<Value> =
        names.iter().map(|name| json!({"type": "tool_reference", "tool_name": name.as_str()})).collect();
    json!({"type": "tool_result", "tool_use_id": call.as_str(), "content": references}).to_string()
}

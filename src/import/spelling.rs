//! How the shapes spell a tool, in one table; and what stands among tools without being one of ours.

use serde_json::{Map, Value};

use super::Shape;
use crate::core::block::is_meta;

/// How a shape spells the fields that differ between shapes.
#[derive(Debug)]
pub struct Spelling {
    /// The member that the tool stands in; `None` where its fields stand at the top.
    pub wrapper: Option<&'static str>,
    /// The schema of the arguments.
    pub input_schema: &'static str,
    /// Whether a tool without that schema is one that takes no arguments.
    pub may_lack_schema: bool,
    /// The schema of the result; `None` where there is no such field.
    pub output_schema: Option<&'static str>,
}

/// A tool of MCP `tools/list`.
pub static MCP: Spelling = Spelling {
    wrapper: None,
    input_schema: "inputSchema",
    may_lack_schema: false,
    output_schema: Some("outputSchema"),
};

/// A tool of Anthropic Messages, and our own full form, which has the same fields and more.
pub static FULL: Spelling = Spelling {
    wrapper: None,
    input_schema: "input_schema",
    may_lack_schema: false,
    output_schema: Some("output_schema"),
};

/// A function of OpenAI Chat Completions.
pub static CHAT: Spelling =
    Spelling { wrapper: Some("function"), input_schema: "parameters", may_lack_schema: true, output_schema: None };

/// A function of OpenAI Responses.
pub static RESPONSES: Spelling =
    Spelling { wrapper: None, input_schema: "parameters", may_lack_schema: true, output_schema: None };

impl Spelling {
    /// Returns how a tool is spelled; `None` where nothing in it says so.
    pub fn of(shape: Shape, tool: &Map<String, Value>) -> Option<&'static Self> {
        let is_wrapped = tool.get("function").is_some_and(Value::is_object);
        match shape {
            Shape::Mcp => Some(&MCP),
            Shape::Anthropic => Some(&FULL),
            Shape::OpenAi => Some(if is_wrapped { &CHAT } else { &RESPONSES }),
            Shape::Detect | Shape::Jsonl if is_wrapped => Some(&CHAT),
            Shape::Detect | Shape::Jsonl => {
                let by_schema = [&MCP, &FULL, &RESPONSES].into_iter().find(|s| tool.contains_key(s.input_schema));
                by_schema.or_else(|| (type_of(tool) == Some("function")).then_some(&RESPONSES))
            }
        }
    }

    /// Returns whether tools of other sources may stand beside one spelled so: providers' lists mix them.
    pub fn mixes_sources(&self) -> bool {
        self.input_schema != MCP.input_schema
    }
}

/// Most characters that are quoted of a type or a name.
const QUOTED: usize = 64;

/// Tells why something in a list of tools is not a tool to be registered; `None` for one that is.
pub fn foreign(shape: Shape, tool: &Map<String, Value>) -> Option<String> {
    if shape == Shape::Mcp {
        return None;
    }
    let fields = tool.get("function").and_then(Value::as_object).unwrap_or(tool);
    let is_ours = fields.get("name").and_then(Value::as_str).is_some_and(is_meta);
    if is_ours && !fields.contains_key(MCP.input_schema) && !fields.contains_key("source") {
        return Some("toolcrib's own; it is in every block already".into());
    }
    let kind = type_of(tool)?;
    let has_schema = [&MCP, &FULL, &RESPONSES].iter().any(|spelling| tool.contains_key(spelling.input_schema));
    if kind == "function" || has_schema || tool.contains_key("function") {
        return None;
    }
    let reason = match kind {
        "custom" => "takes free text, not arguments by a schema".to_owned(),
        "namespace" => "a group; list its tools themselves".to_owned(),
        _ => format!("of type {}, which its provider defines", quoted(kind)),
    };
    Some(reason)
}

/// Returns the name by which something that is passed over can be found again; its type where it has none.
pub fn shown_name(tool: &Map<String, Value>) -> String {
    let inner = ["function", "custom"].iter().find_map(|member| tool.get(*member)?.get("name")?.as_str());
    quoted(tool.get("name").and_then(Value::as_str).or(inner).or_else(|| type_of(tool)).unwrap_or_default())
}

fn type_of(tool: &Map<String, Value>) -> Option<&str> {
    tool.get("type").and_then(Value::as_str)
}

fn quoted(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(QUOTED).collect()
}

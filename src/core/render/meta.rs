//! The daemon's own tools: `request_tool`, by which the model recalls what it misses, and `call_tool`, by which it
//! calls a tool whose definition came as text.

use super::super::event::{Delivery, Format, Piece, Place, SessionSpec};
use super::super::ids::Alias;
use super::super::tokens;
use super::{Carrier, wire};

/// Name of the meta tool by which the model asks for a tool.
pub const REQUEST_TOOL: &str = "request_tool";

/// Name by which a model of OpenAI Responses knows the provider's own tool that stands in for `request_tool`.
const TOOL_SEARCH: &str = "tool_search";

/// Name of the meta tool that calls a tool known by text.
pub const CALL_TOOL: &str = "call_tool";

const REQUEST_DESCRIPTION: &str = "Get the definition of a tool that is listed in the directory, or find one for a need. \
     Use it before calling a tool whose arguments you have not been shown. Give the name from the directory, or say in a \
     few words what you need to do.";

const REQUEST_SCHEMA: &str = r#"{"type":"object","properties":{"name":{"type":"string","description":"Name of the tool, as the directory lists it."},"need":{"type":"string","description":"What the tool should do, in a few words."}}}"#;

const CALL_DESCRIPTION: &str =
    "Call a tool whose definition was given to you as text, by its name and with arguments that fit its JSON Schema.";

const CALL_SCHEMA: &str = r#"{"type":"object","properties":{"name":{"type":"string","description":"Name of the tool."},"arguments":{"type":"object","description":"Arguments of the tool."}},"required":["name","arguments"]}"#;

/// Returns the name by which a session's model knows the tool that asks for others.
pub fn asks_by(spec: &SessionSpec) -> &'static str {
    match Carrier::of_session(spec) {
        Carrier::Items => TOOL_SEARCH,
        Carrier::Text | Carrier::Array | Carrier::Additions | Carrier::Reference => REQUEST_TOOL,
    }
}

/// Writes the meta tools of a delivery, in a fixed order.
pub fn meta_tools(format: Format, delivery: Delivery) -> Vec<Piece> {
    let carrier = Carrier::of(format, delivery);
    let request = match carrier {
        Carrier::Items => wire::tool_search(REQUEST_DESCRIPTION, REQUEST_SCHEMA),
        _ => wire::tool(format, REQUEST_TOOL, REQUEST_DESCRIPTION, REQUEST_SCHEMA),
    };
    let mut tools = vec![(REQUEST_TOOL, request)];
    if carrier.brings_text() {
        tools.push((CALL_TOOL, wire::tool(format, CALL_TOOL, CALL_DESCRIPTION, CALL_SCHEMA)));
    }
    let piece = |(name, content): (&str, String)| {
        let tokens = tokens::count(&content);
        Piece::new(Place::Tools, content, tokens, vec![Alias::from(name)])
    };
    tools.into_iter().map(piece).collect()
}

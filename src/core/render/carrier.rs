//! What carries an on-demand definition to the model: format and delivery together.

use super::super::event::{Delivery, Format, SessionSpec};

/// What carries an on-demand definition to the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Carrier {
    /// Words in a user message or a tool result; the call goes through `call_tool`.
    Text,
    /// The tools array, written anew.
    Array,
    /// A system message with Anthropic's `tool_addition` blocks.
    Additions,
    /// An item of OpenAI Responses: `additional_tools`, or the output of its `tool_search`.
    Items,
    /// The tools array, where it stands deferred, and Anthropic's `tool_reference` in a tool result. What is issued
    /// without a tool result comes as text.
    Reference,
}

impl Carrier {
    /// Returns the carrier of a format and delivery. A format that lacks what the delivery needs takes text; opening a
    /// session rules that out ([`Format::carries`]).
    pub fn of(format: Format, delivery: Delivery) -> Self {
        match (delivery, format) {
            (Delivery::Tools, _) => Self::Array,
            (Delivery::Append, Format::Anthropic) => Self::Additions,
            (Delivery::Append, Format::OpenaiResponses) => Self::Items,
            (Delivery::Reference, Format::Anthropic) => Self::Reference,
            _ => Self::Text,
        }
    }

    /// Returns a session's carrier.
    pub fn of_session(spec: &SessionSpec) -> Self {
        Self::of(spec.format, spec.delivery)
    }

    /// Returns whether definitions may come as text, so that the model needs `call_tool`.
    pub fn brings_text(self) -> bool {
        matches!(self, Self::Text | Self::Reference)
    }
}

/// Returns the provider's betas that requests with a session's pieces must opt into.
pub fn betas(spec: &SessionSpec) -> &'static [&'static str] {
    match Carrier::of_session(spec) {
        Carrier::Additions => &["inline-tools-2026-09-15"],
        Carrier::Text | Carrier::Array | Carrier::Items | Carrier::Reference => &[],
    }
}

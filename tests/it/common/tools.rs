//! Definitions for tests, and what an error said.

use tonic::Status;
use tonic_types::StatusExt;
use toolcrib::core::tokens;
use toolcrib::proto::ToolDefinition;

/// A small tool of source `s` that passes the gate; its words can be found by its name.
pub fn definition(name: &str) -> ToolDefinition {
    let words = name.replace('_', " ");
    let description = format!("Does {words} with the thing that is named.");
    let schema = r#"{"type":"object","properties":{"thing":{"type":"string"}},"required":["thing"]}"#;
    let measured =
        tokens::count(&format!(r#"{{"name":"{name}","description":"{description}","input_schema":{schema}}}"#));
    ToolDefinition {
        source: "s".into(),
        name: name.into(),
        summary: format!("Does {words} when it is wanted"),
        when_to_use: "When somebody asks for it.".into(),
        keywords: vec!["chore".into()],
        size_tokens: measured,
        description,
        input_schema: schema.into(),
        ..Default::default()
    }
}

/// Returns the fields that a refusal names, in order.
pub fn fields_of(status: &Status) -> Vec<String> {
    let details = status.get_error_details();
    let violations = details.bad_request().map(|bad| bad.field_violations.clone()).unwrap_or_default();
    violations.into_iter().map(|violation| violation.field).collect()
}

/// Returns the reason that a refusal gives to programs.
pub fn reason_of(status: &Status) -> String {
    status.get_error_details().error_info().map(|info| info.reason.clone()).unwrap_or_default()
}

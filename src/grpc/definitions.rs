//! Definitions as requests and catalog files bring them, read and looked at by the gate; and back again.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::core::admission::{self, Checked, JsonRefusal, Violation, ViolationCode, parse_json};
use crate::core::definition::{Definition, Json};
use crate::core::event::AdmissionResult;
use crate::core::ids::{Digest, ToolId, Version};
use crate::core::namespace::commands::{Admission, AdmissionEffect};
use crate::core::policy::AdmissionPolicy;
use crate::import::{self, ImportError, PassedOver, Shape};
use crate::proto;

/// Definitions as read from a file.
#[derive(Default)]
pub struct Read {
    /// Those that were looked at, each with its place.
    pub checked: Vec<(u32, Checked)>,
    /// Those that could not even be looked at.
    pub unreadable: Vec<Admission>,
    /// Those that stand in the file twice, word for word.
    pub repeated: Vec<Admission>,
    /// Sources that a file names: only these can lose tools by it.
    pub sources: BTreeSet<Arc<str>>,
    /// Tools that the file lists although they could not be read.
    pub listed: BTreeSet<ToolId>,
    /// Tools that not even a name could be read of; while there are any, none can be said to have vanished.
    pub n_nameless: u32,
    /// What stands in the file without being a tool to register.
    pub passed_over: Vec<PassedOver>,
}

/// Reads the definitions of a request and puts each through the gate.
pub fn check_all(tools: Vec<proto::ToolDefinition>, policy: &AdmissionPolicy) -> Vec<(u32, Checked)> {
    let mut all = Vec::new();
    for (index, tool) in tools.into_iter().enumerate() {
        let (definition, unreadable) = definition(tool);
        let mut checked = admission::check(&definition, policy);
        if !unreadable.is_empty() {
            // The size of a schema that cannot be read cannot be measured.
            checked.violations.retain(|violation| violation.code != ViolationCode::SizeMismatch);
            checked.violations.extend(unreadable);
        }
        all.push((index as u32, checked));
    }
    all
}

/// Reads a catalog file and puts each definition through the gate.
pub fn read_catalog(
    bytes: &[u8],
    shape: Shape,
    file_name: &str,
    source: Option<&str>,
    policy: &AdmissionPolicy,
) -> Result<Read, ImportError> {
    let catalog = import::read(bytes, shape, file_name, source)?;
    let n_nameless = catalog.n_nameless() as u32;
    let mut read = Read { sources: catalog.sources, n_nameless, passed_over: catalog.passed_over, ..Read::default() };
    for found in &catalog.tools {
        read.checked.push((found.index as u32, admission::check(&found.definition, policy)));
    }
    for unreadable in catalog.refused {
        read.listed.extend(unreadable.tool.clone());
        let (description, accepted) = unreadable.reason.split_once("; ").unwrap_or((&unreadable.reason, ""));
        let violation = Violation::new(unreadable.field, ViolationCode::Malformed, description, accepted);
        let id = unreadable.tool.unwrap_or_else(|| ToolId::new("", ""));
        read.unreadable.push(refused(unreadable.index as u32, id, vec![violation]));
    }
    for index in catalog.repeated {
        let admission = refused(index as u32, ToolId::new("", ""), Vec::new());
        read.repeated.push(Admission { result: AdmissionResult::Unchanged, ..admission });
    }
    Ok(read)
}

fn refused(index: u32, tool: ToolId, violations: Vec<Violation>) -> Admission {
    Admission {
        index,
        tool,
        version: Version(0),
        result: AdmissionResult::Refused,
        violations,
        warnings: Vec::new(),
        measured_tokens: 0,
        hash: Digest::of(b""),
        before: None,
        change: None,
        effect: AdmissionEffect::Nothing,
        waits: None,
        stops_waiting: None,
        confusable: Vec::new(),
    }
}

/// Reads a definition, and says which of its JSON fields cannot be read. In their place stands an empty schema, so that
/// the gate can still say what is wrong with the rest.
fn definition(tool: proto::ToolDefinition) -> (Definition, Vec<Violation>) {
    let mut violations = Vec::new();
    let mut json = |field: &str, bytes: &[u8]| -> Option<Json> {
        match parse_json(bytes) {
            Ok(value) => Some(Json::from_value(&value)),
            Err(refusal) => {
                violations.push(unreadable_json(field, &refusal));
                None
            }
        }
    };
    let mut optional = |field: &str, bytes: &[u8]| if bytes.is_empty() { None } else { json(field, bytes) };
    let output_schema = optional("output_schema", &tool.output_schema);
    let annotations = optional("annotations", &tool.annotations);
    let input_schema = optional("input_schema", &tool.input_schema);
    if tool.input_schema.is_empty() {
        let accepted = r#"must be an object schema such as {"type":"object"}"#;
        violations.push(Violation::new("input_schema", ViolationCode::Missing, "missing", accepted));
    }
    let no_schema = || Json::from_value(&serde_json::json!({"type": "object"}));
    let definition = Definition {
        id: ToolId::new(tool.source, tool.name),
        title: (!tool.title.is_empty()).then_some(tool.title),
        summary: tool.summary,
        when_to_use: tool.when_to_use,
        keywords: tool.keywords,
        size_tokens: tool.size_tokens,
        description: tool.description,
        input_schema: input_schema.unwrap_or_else(no_schema),
        output_schema,
        annotations,
        group: tool.group,
        tags: tool.tags,
        attributes: tool.attributes.into_iter().collect(),
        initial_score: tool.initial_score,
        derived: BTreeSet::new(),
    };
    (definition, violations)
}

fn unreadable_json(field: &str, refusal: &JsonRefusal) -> Violation {
    Violation::new(field, ViolationCode::UnreadableJson, refusal.to_string(), "must be JSON")
}

/// Writes a definition as it was registered.
pub fn definition_message(definition: &Definition) -> proto::ToolDefinition {
    let bytes = |json: &Option<Json>| json.as_ref().map(|json| json.as_str().to_owned()).unwrap_or_default().into();
    proto::ToolDefinition {
        source: definition.id.source.to_string(),
        name: definition.id.name.to_string(),
        title: definition.title.clone().unwrap_or_default(),
        summary: definition.summary.clone(),
        when_to_use: definition.when_to_use.clone(),
        keywords: definition.keywords.clone(),
        size_tokens: definition.size_tokens,
        description: definition.description.clone(),
        input_schema: definition.input_schema.as_str().to_owned().into(),
        output_schema: bytes(&definition.output_schema),
        annotations: bytes(&definition.annotations),
        group: definition.group.clone(),
        tags: definition.tags.clone(),
        attributes: definition.attributes.clone().into_iter().collect(),
        initial_score: definition.initial_score,
    }
}

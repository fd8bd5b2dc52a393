use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::core::ids::ToolId;

/// A definition that is admitted as it is.
pub(super) fn definition() -> Definition {
    let mut definition = Definition {
        id: ToolId::new("github", "create_issue"),
        title: None,
        summary: "Opens an issue in a repository when a bug is found".into(),
        when_to_use: String::new(),
        keywords: vec!["bug".into(), "ticket".into()],
        size_tokens: 0,
        description: "Opens an issue in a repository.".into(),
        input_schema: serde_json::from_str(
            r#"{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}"#,
        )
        .unwrap(),
        output_schema: None,
        annotations: None,
        group: String::new(),
        tags: vec![],
        attributes: BTreeMap::new(),
        derived: BTreeSet::new(),
    };
    definition.size_tokens = size::measure(&definition);
    definition
}

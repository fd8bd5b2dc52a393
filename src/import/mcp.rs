//! MCP: `{"tools":[…]}`, the same inside a JSON-RPC `result`, or the bare list.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::fields::{Fields, Spelling};
use super::{ImportError, Raw, Unreadable, stem};
use crate::core::admission::{mapped_source, parse_json};

const SPELLING: Spelling = Spelling { input_schema: "inputSchema", output_schema: "outputSchema" };

/// Reads the tools of an MCP file, which names one source and must hold the whole list of it: what is missing would be
/// taken to have vanished.
pub fn read(
    bytes: &[u8],
    file_name: &str,
    source: Option<&str>,
    sources: &mut BTreeSet<Arc<str>>,
) -> Result<Vec<(usize, Raw)>, ImportError> {
    let value = parse_json(bytes).map_err(ImportError::Json)?;
    let result = value.get("result").unwrap_or(&value);
    let tools = result.get("tools").unwrap_or(result).as_array().ok_or(ImportError::NoTools)?;
    if result.get("nextCursor").is_some_and(|cursor| !cursor.is_null()) {
        return Err(ImportError::OnePage);
    }
    if tools.is_empty() {
        return Err(ImportError::Empty);
    }
    let source = source.or_else(|| stem(file_name)).ok_or(ImportError::NoSource)?;
    let source: Arc<str> = mapped_source(source).into();
    sources.insert(source.clone());
    Ok(tools.iter().enumerate().map(|(index, tool)| (index, definition(index, tool, &source))).collect())
}

fn definition(index: usize, tool: &Value, source: &Arc<str>) -> Raw {
    let Value::Object(map) = tool else {
        let reason = "not an object; must be a tool".into();
        return Err(Unreadable { index, tool: None, field: String::new(), reason });
    };
    let mut fields = Fields { index, map, tool: None };
    let name = fields.name()?.to_owned();
    fields.definition(source.clone(), &name, &SPELLING)
}

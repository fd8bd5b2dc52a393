//! JSON lines: `{"name","description","input_schema","domain"?}` a line, or the full form with every field of a
//! registration. Blank lines and CR at the end of a line are passed over; unknown fields are too, because the same
//! files carry fields for replay.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::fields::{Fields, Spelling};
use super::{ImportError, Raw, Unreadable, folder};
use crate::core::admission::{mapped_source, parse_json};
use serde_json::Value;

const SPELLING: Spelling = Spelling { input_schema: "input_schema", output_schema: "output_schema" };

/// Tells whether a file is JSON lines: by its ending, else when its first line is a whole tool.
pub fn looks_like_it(bytes: &[u8], file_name: &str) -> bool {
    if file_name.ends_with(".jsonl") || file_name.ends_with(".ndjson") {
        return true;
    }
    let first = bytes.split(|&b| b == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    matches!(parse_json(first), Ok(Value::Object(map)) if map.contains_key("name"))
}

/// Reads the tools of a file of JSON lines.
pub fn read(
    bytes: &[u8],
    file_name: &str,
    source: Option<&str>,
    sources: &mut BTreeSet<Arc<str>>,
) -> Result<Vec<(usize, Raw)>, ImportError> {
    sources.extend(source.map(|source| mapped_source(source).into()));
    let mut raws = Vec::new();
    for (index, line) in bytes.split(|&b| b == b'\n').enumerate() {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        raws.push((index, definition(index, line, file_name, source)?));
    }
    Ok(raws)
}

/// The outer error is the file's: a line that says no source, in a file that says none either.
fn definition(index: usize, line: &[u8], file_name: &str, source: Option<&str>) -> Result<Raw, ImportError> {
    let unreadable = |reason: String| Unreadable { index, tool: None, field: String::new(), reason };
    let map = match parse_json(line) {
        Ok(Value::Object(map)) => map,
        Ok(_) => return Ok(Err(unreadable("not an object; must be a tool".into()))),
        Err(refusal) => return Ok(Err(unreadable(refusal.to_string()))),
    };
    let mut fields = Fields { index, map: &map, tool: None };
    let (name, named_source) = match (fields.name(), fields.text("source")) {
        (Ok(name), Ok(named_source)) => (name.to_owned(), named_source),
        (Err(unreadable), _) | (_, Err(unreadable)) => return Ok(Err(unreadable)),
    };
    let (source, local_name) = match (source.or(named_source), split(&name)) {
        (Some(source), _) => (source, name.as_str()),
        (None, Some((source, local_name))) => (source, local_name),
        (None, None) => (folder(file_name).ok_or(ImportError::NoSource)?, name.as_str()),
    };
    let source: Arc<str> = mapped_source(source).into();
    Ok(fields.definition(source, local_name, &SPELLING))
}

/// Splits `source__name`; a name that begins or ends with the separator has no source in it.
fn split(name: &str) -> Option<(&str, &str)> {
    name.split_once("__").filter(|(source, rest)| !source.is_empty() && !rest.is_empty())
}

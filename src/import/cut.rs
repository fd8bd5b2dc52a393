//! Cuts a file into its tools without reading them, so that what is wrong inside one of them keeps no other out.
//!
//! What lies around the tools stays strict: it must be JSON in UTF-8, without repeated keys.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::ImportError;
use crate::core::admission::JsonRefusal;

/// Most tools in one file, several times what one namespace is made for: beyond, a file of nothing would fill the memory.
pub const MOST_TOOLS: usize = 50_000;

/// How tools stand in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// In one JSON list, bare or under `tools`.
    List,
    /// One a line.
    Lines,
}

/// The bytes of one tool.
pub struct Element<'f> {
    /// Place in the file, from 0: of the tool in a list, or of the line.
    pub index: usize,
    /// Where it begins, in bytes from the start of the file.
    pub offset: usize,
    /// Its bytes, not read yet.
    pub bytes: &'f [u8],
}

/// Tells how tools stand in a file: by its ending, else by whether its first line is a whole tool.
pub fn form(bytes: &[u8], file_name: &str) -> Form {
    let text = bytes.trim_ascii_start();
    if text.starts_with(b"[") {
        return Form::List;
    }
    if file_name.ends_with(".jsonl") || file_name.ends_with(".ndjson") {
        return Form::Lines;
    }
    let first = readable(text.split(|&b| b == b'\n').next().unwrap_or_default());
    match serde_json::from_str(&first) {
        Ok(Level::Object(members)) if members.iter().any(|(key, _)| matches!(&**key, "name" | "function")) => {
            Form::Lines
        }
        _ => Form::List,
    }
}

/// Cuts JSON lines; blank ones are passed over, and so is the CR at the end of one.
pub fn lines(bytes: &[u8]) -> Result<Vec<Element<'_>>, ImportError> {
    let mut elements = Vec::new();
    let mut offset = 0;
    for (index, line) in bytes.split(|&b| b == b'\n').enumerate() {
        let blanks = line.len() - line.trim_ascii_start().len();
        let trimmed = line.trim_ascii();
        if !trimmed.is_empty() {
            if elements.len() == MOST_TOOLS {
                return Err(ImportError::TooManyTools);
            }
            elements.push(Element { index, offset: offset + blanks, bytes: trimmed });
        }
        offset += line.len() + 1;
    }
    Ok(elements)
}

/// Cuts a list of tools: `{"tools":[…]}`, the same inside a JSON-RPC `result` or a whole model request, or the bare
/// list.
pub fn list(bytes: &[u8]) -> Result<Vec<Element<'_>>, ImportError> {
    let text = readable(bytes);
    let mut level = Level::of(&text)?;
    if let Some(result) = level.member("result") {
        level = Level::of(result)?;
    }
    if level.member("nextCursor").is_some_and(|cursor| cursor != "null") {
        return Err(ImportError::OnePage);
    }
    if let Some(tools) = level.member("tools") {
        level = Level::of(tools)?;
    }
    let Level::List(items) = level else { return Err(ImportError::NoTools) };
    if items.len() > MOST_TOOLS {
        return Err(ImportError::TooManyTools);
    }
    let mut elements = Vec::new();
    for (index, item) in items.into_iter().enumerate() {
        // Both are parts of one text, so the difference is the place.
        let offset = item.get().as_ptr().addr() - text.as_ptr().addr();
        elements.push(Element { index, offset, bytes: &bytes[offset..offset + item.get().len()] });
    }
    check_around(bytes, &elements)?;
    Ok(elements)
}

/// Refuses bytes that are not UTF-8 where no tool stands.
fn check_around(bytes: &[u8], elements: &[Element<'_>]) -> Result<(), ImportError> {
    let mut offset = 0;
    for chunk in bytes.utf8_chunks() {
        offset += chunk.valid().len();
        if !chunk.invalid().is_empty() {
            let before = elements.partition_point(|element| element.offset <= offset);
            let around = before.checked_sub(1).map(|at| &elements[at]);
            if around.is_none_or(|element| offset >= element.offset + element.bytes.len()) {
                return Err(ImportError::Json(JsonRefusal::NotUtf8 { offset }));
            }
        }
        offset += chunk.invalid().len();
    }
    Ok(())
}

/// Reads what can be read of a tool that is refused as JSON: its texts that stand once. Enough to know its name, for a
/// tool that is listed has not vanished.
pub fn salvage(bytes: &[u8]) -> Map<String, Value> {
    // What a provider wraps the fields in is one level; a file may have any number of them.
    salvage_level(bytes, |wrapped| Value::Object(salvage_level(wrapped, |_| Value::Null)))
}

fn salvage_level(bytes: &[u8], wrapped: impl Fn(&[u8]) -> Value) -> Map<String, Value> {
    let text = readable(bytes);
    let Ok(Level::Object(members)) = serde_json::from_str(&text) else { return Map::new() };
    let mut map = Map::new();
    let mut repeated = BTreeSet::new();
    for (key, value) in members {
        let offset = value.get().as_ptr().addr() - text.as_ptr().addr();
        let original = &bytes[offset..offset + value.get().len()];
        let read = match std::str::from_utf8(original) {
            Ok(text) if text.starts_with('"') => serde_json::from_str(text).unwrap_or(Value::Null),
            _ if key == "function" => wrapped(original),
            _ => Value::Null,
        };
        if map.insert(key.clone(), read).is_some() {
            repeated.insert(key);
        }
    }
    map.retain(|key, _| !repeated.contains(key));
    map
}

/// Returns the text with a question mark for every byte that is not UTF-8: as long as before, so that places agree.
fn readable(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.into();
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '?'));
    }
    text.into()
}

/// Says where a text is no JSON; of a comma before the end of a list, which the parser passes on as a missing value, by
/// its name.
fn syntax(text: &str, error: serde_json::Error) -> JsonRefusal {
    let (line, column) = (error.line(), error.column());
    let line_start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let at = (line_start + column.saturating_sub(1)).min(text.len());
    let before = text.as_bytes()[..at].trim_ascii_end();
    if before.ends_with(b",") && text.as_bytes().get(at) == Some(&b']') {
        return JsonRefusal::Syntax { line, column, reason: "trailing comma".into() };
    }
    error.into()
}

/// One level of a JSON text, as much of it as is taken and one more; what lies deeper is looked at for syntax only.
enum Level<'t> {
    List(Vec<&'t RawValue>),
    Object(Vec<(String, &'t RawValue)>),
    Plain,
}

impl<'t> Level<'t> {
    fn of(text: &'t str) -> Result<Self, ImportError> {
        let level = serde_json::from_str(text).map_err(|error| ImportError::Json(syntax(text, error)))?;
        if let Self::Object(members) = &level {
            if members.len() > MOST_TOOLS {
                return Err(ImportError::NoTools);
            }
            let mut keys = BTreeSet::new();
            for (key, _) in members {
                if !keys.insert(key) {
                    let (at, key) = ("the object around the tools".into(), key.clone());
                    return Err(ImportError::Json(JsonRefusal::DuplicateKey { at, key }));
                }
            }
        }
        Ok(level)
    }

    fn member(&self, name: &str) -> Option<&'t str> {
        let Self::Object(members) = self else { return None };
        members.iter().find(|(key, _)| key == name).map(|(_, value)| value.get())
    }
}

impl<'de> Deserialize<'de> for Level<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Level<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Level::Plain)
            }

            fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
                Ok(Level::Plain)
            }

            fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
                Ok(Level::Plain)
            }

            fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
                Ok(Level::Plain)
            }

            fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
                Ok(Level::Plain)
            }

            fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
                Ok(Level::Plain)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    if list.len() <= MOST_TOOLS {
                        list.push(item);
                    }
                }
                Ok(Level::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(key) = entries.next_key()? {
                    let member = (key, entries.next_value()?);
                    if members.len() <= MOST_TOOLS {
                        members.push(member);
                    }
                }
                Ok(Level::Object(members))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

//! Takes a tool's fields out of a JSON object, saying of each that is of another type what it should be.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::spelling::Spelling;
use super::{Raw, Unreadable};
use crate::core::admission::mapped_name;
use crate::core::definition::{Definition, Json};
use crate::core::ids::ToolId;

/// One tool as an object of the file.
pub struct Fields<'f> {
    pub index: usize,
    /// The object that has the fields: the tool, or what its spelling wraps them in.
    pub map: &'f Map<String, Value>,
    pub spelling: &'static Spelling,
    /// Known once name and source are.
    pub tool: Option<ToolId>,
}

impl<'f> Fields<'f> {
    /// Returns a text; `null` counts as left out.
    pub fn text(&self, field: &str) -> Result<Option<&'f str>, Unreadable> {
        match self.map.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.refuse(field, "not a text; must be a text")),
        }
    }

    /// Returns the name, which no shape can do without.
    pub fn name(&self) -> Result<&'f str, Unreadable> {
        match self.text("name")? {
            Some(name) if !name.is_empty() => Ok(name),
            _ => Err(self.refuse("name", "missing; must be the tool's name")),
        }
    }

    fn texts(&self, field: &str) -> Result<Vec<String>, Unreadable> {
        let refuse = || self.refuse(field, "not a list of texts; must be a list of texts");
        match self.map.get(field) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(items)) => {
                items.iter().map(|item| item.as_str().map(String::from).ok_or_else(refuse)).collect()
            }
            Some(_) => Err(refuse()),
        }
    }

    fn attributes(&self) -> Result<BTreeMap<String, String>, Unreadable> {
        let refuse = || self.refuse("attributes", "not texts by name; must be an object of texts");
        let mut attributes = BTreeMap::new();
        match self.map.get("attributes") {
            None | Some(Value::Null) => {}
            Some(Value::Object(map)) => {
                for (name, value) in map {
                    attributes.insert(name.clone(), value.as_str().ok_or_else(refuse)?.to_owned());
                }
            }
            Some(_) => return Err(refuse()),
        }
        Ok(attributes)
    }

    fn size_tokens(&self) -> Result<u32, Unreadable> {
        match self.map.get("size_tokens") {
            None | Some(Value::Null) => Ok(0),
            Some(value) => value
                .as_u64()
                .and_then(|size| u32::try_from(size).ok())
                .ok_or_else(|| self.refuse("size_tokens", "not a size; must be a whole number of tokens")),
        }
    }

    fn initial_score(&self) -> Result<f64, Unreadable> {
        match self.map.get("initial_score") {
            None | Some(Value::Null) => Ok(0.0),
            Some(value) => {
                value.as_f64().ok_or_else(|| self.refuse("initial_score", "not a number; must be 0 or more, in calls"))
            }
        }
    }

    fn object(&self, field: &str) -> Result<Option<Json>, Unreadable> {
        match self.map.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(value @ Value::Object(_)) => Ok(Some(Json::from_value(value))),
            Some(_) => Err(self.refuse(field, "not an object; must be a JSON object")),
        }
    }

    /// Puts the definition together; `local_name` is the name at its source, as the file has it.
    pub fn definition(&mut self, source: Arc<str>, local_name: &str) -> Raw {
        let id = ToolId::new(source, mapped_name(local_name));
        self.tool = Some(id.clone());
        let of_annotations = self.map.get("annotations").and_then(|annotations| annotations.get("title")?.as_str());
        let given_title = self.text("title")?.or(of_annotations);
        let title = given_title.or_else(|| Some(local_name).filter(|name| **name != *id.name));
        let description = self.text("description")?.unwrap_or_default();
        let summary = self.text("summary")?.unwrap_or_default();
        if description.trim().is_empty() && summary.trim().is_empty() {
            return Err(self.refuse("description", "missing or empty; must say what the tool does"));
        }
        let input_schema = match self.object(self.spelling.input_schema)? {
            Some(schema) => schema,
            None if self.spelling.may_lack_schema => Json::from_value(&json!({"type": "object", "properties": {}})),
            None => {
                let wanted = r#"missing; must be an object schema such as {"type":"object"}"#;
                return Err(self.refuse(self.spelling.input_schema, wanted));
            }
        };
        let output_schema = match self.spelling.output_schema {
            Some(field) => self.object(field)?,
            None => None,
        };
        let group = match self.text("group")? {
            Some(group) => group,
            None => self.text("domain")?.unwrap_or_default(),
        };
        Ok(Definition {
            title: title.map(String::from),
            summary: summary.to_owned(),
            when_to_use: self.text("when_to_use")?.unwrap_or_default().to_owned(),
            keywords: self.texts("keywords")?,
            size_tokens: self.size_tokens()?,
            description: description.to_owned(),
            input_schema,
            output_schema,
            annotations: self.object("annotations")?,
            group: group.to_owned(),
            tags: self.texts("tags")?,
            attributes: self.attributes()?,
            initial_score: self.initial_score()?,
            derived: BTreeSet::new(),
            id,
        })
    }

    pub fn refuse(&self, field: &str, reason: &str) -> Unreadable {
        let field = match self.spelling.wrapper {
            Some(wrapper) => format!("{wrapper}/{field}"),
            None => field.into(),
        };
        Unreadable { index: self.index, tool: self.tool.clone(), field, reason: reason.into() }
    }
}

//! Compares two schemas keyword by keyword, references followed.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{ChangeClass, Difference};
use crate::core::json_schema::{TYPE_WORDS, push_pointer, resolve};

/// Adds what differs between two whole schemas.
pub fn compare(field: &str, old: &Value, new: &Value, differences: &mut Vec<Difference>) {
    if old == new {
        return;
    }
    let before = differences.len();
    let mut comparison = Comparison { old_root: old, new_root: new, open: BTreeSet::new(), differences };
    comparison.schemas(field, old, new);
    // What changed where no schema refers to it changes no call.
    if comparison.differences.len() == before {
        comparison.note(field, ChangeClass::Cosmetic, "changed in a part that judges no arguments");
    }
}

struct Comparison<'v, 'd> {
    old_root: &'v Value,
    new_root: &'v Value,
    /// Pairs being compared, so that recursive schemas end.
    open: BTreeSet<(usize, usize)>,
    differences: &'d mut Vec<Difference>,
}

/// How a bound may move.
enum Bound {
    /// Lower lets more through.
    Least,
    /// Higher lets more through.
    Most,
}

impl<'v> Comparison<'v, '_> {
    fn note(&mut self, field: &str, class: ChangeClass, description: impl Into<String>) {
        self.differences.push(Difference { field: field.into(), class, description: description.into() });
    }

    fn schemas(&mut self, at: &str, old: &'v Value, new: &'v Value) {
        let pair = (std::ptr::from_ref(old) as usize, std::ptr::from_ref(new) as usize);
        if !self.open.insert(pair) {
            return;
        }
        match (old, new) {
            (Value::Object(old), Value::Object(new)) => self.objects(at, old, new),
            (_, Value::Bool(true)) if old != new => self.note(at, ChangeClass::Compatible, "takes anything now"),
            _ if old != new => self.note(at, ChangeClass::Breaking, "replaced"),
            _ => {}
        }
    }

    fn objects(&mut self, at: &str, old: &'v Map<String, Value>, new: &'v Map<String, Value>) {
        let keywords: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for keyword in keywords {
            let mut here = at.to_owned();
            push_pointer(&mut here, keyword);
            self.keyword(&here, keyword, (old, new), (old.get(keyword), new.get(keyword)));
        }
    }

    fn keyword(
        &mut self,
        here: &str,
        keyword: &str,
        (old_schema, new_schema): (&'v Map<String, Value>, &'v Map<String, Value>),
        (old, new): (Option<&'v Value>, Option<&'v Value>),
    ) {
        match keyword {
            "$ref" | "$dynamicRef" => self.references(here, old, new),
            // Compared where they are referred to.
            "$defs" | "definitions" => {}
            "properties" => self.properties(here, old, new, new_schema),
            _ if old == new => {}
            "title" | "description" | "examples" | "example" | "$comment" | "deprecated" | "$schema" | "$id" => {
                self.note(here, ChangeClass::Cosmetic, "changed");
            }
            "default" | "readOnly" | "writeOnly" => self.note(here, ChangeClass::Compatible, "changed"),
            "type" => self.types(here, old, new),
            "required" => self.required(here, old, new),
            "enum" => self.options(here, old, new),
            "additionalProperties" | "items" | "unevaluatedProperties" => {
                self.open_schema(here, old.unwrap_or(&Value::Bool(true)), new.unwrap_or(&Value::Bool(true)));
            }
            "anyOf" => self.alternatives(here, old, new),
            "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
                self.bound(here, old, new, Bound::Least);
            }
            "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
                self.bound(here, old, new, Bound::Most);
            }
            _ if new.is_none() && !matters_to_neighbours(keyword, old_schema) => {
                self.note(here, ChangeClass::Compatible, "removed");
            }
            _ => self.note(here, ChangeClass::Breaking, "changed"),
        }
    }

    fn references(&mut self, here: &str, old: Option<&'v Value>, new: Option<&'v Value>) {
        let target = |root: &'v Value, reference: Option<&'v Value>| resolve(root, reference?.as_str()?);
        match (target(self.old_root, old), target(self.new_root, new)) {
            (Some(old), Some(new)) => self.schemas(here, old, new),
            _ if old == new => {}
            (Some(_), None) if new.is_none() => {
                self.note(here, ChangeClass::Breaking, "a reference was replaced by something else");
            }
            _ => self.note(here, ChangeClass::Breaking, "changed"),
        }
    }

    fn properties(
        &mut self,
        here: &str,
        old: Option<&'v Value>,
        new: Option<&'v Value>,
        new_schema: &'v Map<String, Value>,
    ) {
        let none = &Value::Null;
        let (old, new) = (old.unwrap_or(none).as_object(), new.unwrap_or(none).as_object());
        let names: BTreeSet<&String> = old.into_iter().chain(new).flat_map(|map| map.keys()).collect();
        for name in names {
            let mut at = here.to_owned();
            push_pointer(&mut at, name);
            match (old.and_then(|map| map.get(name)), new.and_then(|map| map.get(name))) {
                (Some(old), Some(new)) => self.schemas(&at, old, new),
                (Some(_), None) => self.note(&at, ChangeClass::Breaking, "removed"),
                // That it is required is a difference of its own.
                (None, Some(_)) => {
                    let is_required = names_in(new_schema.get("required")).contains(name.as_str());
                    let description = if is_required { "new and required" } else { "new and optional" };
                    self.note(&at, ChangeClass::Compatible, description);
                }
                (None, None) => {}
            }
        }
    }

    fn types(&mut self, here: &str, old: Option<&Value>, new: Option<&Value>) {
        let (old, new) = (types_in(old), types_in(new));
        if old == new {
            return;
        }
        if old.is_subset(&new) {
            self.note(here, ChangeClass::Compatible, "wider type");
        } else {
            self.note(here, ChangeClass::Breaking, "another type");
        }
    }

    fn required(&mut self, here: &str, old: Option<&Value>, new: Option<&Value>) {
        let (old, new) = (names_in(old), names_in(new));
        for name in new.difference(&old) {
            self.note(here, ChangeClass::Breaking, format!("{name} is required now"));
        }
        for name in old.difference(&new) {
            self.note(here, ChangeClass::Compatible, format!("{name} is optional now"));
        }
    }

    fn options(&mut self, here: &str, old: Option<&Value>, new: Option<&Value>) {
        let (old, new) = (old.and_then(Value::as_array), new.and_then(Value::as_array));
        match (old, new) {
            (_, None) => self.note(here, ChangeClass::Compatible, "takes any value now"),
            (Some(old), Some(new)) if old.iter().all(|option| new.contains(option)) => {
                if new.iter().any(|option| !old.contains(option)) {
                    self.note(here, ChangeClass::Compatible, "more values");
                } else {
                    self.note(here, ChangeClass::Cosmetic, "values in another order");
                }
            }
            _ => self.note(here, ChangeClass::Breaking, "fewer values"),
        }
    }

    fn open_schema(&mut self, here: &str, old: &'v Value, new: &'v Value) {
        match (old, new) {
            (Value::Object(old_map), Value::Object(_)) if !old_map.is_empty() => self.schemas(here, old, new),
            (Value::Bool(false), _) => self.note(here, ChangeClass::Compatible, "opened"),
            (_, Value::Bool(true)) => self.note(here, ChangeClass::Compatible, "opened"),
            (_, Value::Object(new)) if new.is_empty() => self.note(here, ChangeClass::Compatible, "opened"),
            _ => self.note(here, ChangeClass::Breaking, "tightened"),
        }
    }

    fn alternatives(&mut self, here: &str, old: Option<&Value>, new: Option<&Value>) {
        let stripped = |list: Option<&Value>| -> Vec<Value> {
            list.and_then(Value::as_array).into_iter().flatten().map(without_words).collect()
        };
        match (old, new) {
            (_, None) => self.note(here, ChangeClass::Compatible, "takes anything now"),
            (None, _) => self.note(here, ChangeClass::Breaking, "tightened"),
            _ => {
                let (old, new) = (stripped(old), stripped(new));
                if old == new {
                    self.note(here, ChangeClass::Cosmetic, "changed");
                } else if old.iter().all(|alternative| new.contains(alternative)) {
                    self.note(here, ChangeClass::Compatible, "more alternatives");
                } else {
                    self.note(here, ChangeClass::Breaking, "fewer or other alternatives");
                }
            }
        }
    }

    fn bound(&mut self, here: &str, old: Option<&Value>, new: Option<&Value>, bound: Bound) {
        let number = |value: Option<&Value>| value.and_then(Value::as_f64);
        let is_wider = match (number(old), number(new), bound) {
            (_, None, _) => new.is_none(),
            (None, Some(_), _) => false,
            (Some(old), Some(new), Bound::Least) => new <= old,
            (Some(old), Some(new), Bound::Most) => new >= old,
        };
        if is_wider {
            self.note(here, ChangeClass::Compatible, "wider");
        } else {
            self.note(here, ChangeClass::Breaking, "tighter");
        }
    }
}

/// Tells whether taking a keyword away can tighten another: `prefixItems` gone leaves its items to `items`, and
/// `patternProperties` gone leaves its properties to `additionalProperties`.
fn matters_to_neighbours(keyword: &str, schema: &Map<String, Value>) -> bool {
    match keyword {
        "prefixItems" => schema.contains_key("items") || schema.contains_key("unevaluatedItems"),
        "patternProperties" => {
            schema.contains_key("additionalProperties") || schema.contains_key("unevaluatedProperties")
        }
        "if" | "then" | "else" => true,
        _ => false,
    }
}

fn names_in(value: Option<&Value>) -> BTreeSet<&str> {
    value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

fn types_in(value: Option<&Value>) -> BTreeSet<&str> {
    let mut types: BTreeSet<&str> = match value {
        None => TYPE_WORDS.into(),
        Some(Value::String(word)) => BTreeSet::from([word.as_str()]),
        Some(list) => names_in(Some(list)),
    };
    if types.contains("number") {
        types.insert("integer");
    }
    types
}

/// Returns a schema without the keywords that only speak to people.
fn without_words(schema: &Value) -> Value {
    let Value::Object(map) = schema else { return schema.clone() };
    let kept = map.iter().filter(|(keyword, _)| !matches!(keyword.as_str(), "title" | "description" | "examples"));
    Value::Object(kept.map(|(keyword, value)| (keyword.clone(), value.clone())).collect())
}

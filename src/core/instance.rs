//! The smallest arguments that fit a schema: for examples, probes and tests.
//!
//! Best effort by construction, then checked: several candidates are built, differing in the alternatives they take,
//! and the first that the schema itself takes is returned. Takes admitted schemas, whose references come to an end.

mod merge;
mod text;

use std::cell::Cell;

use serde_json::{Map, Number, Value};

use super::validation::Validator;
use merge::merged;

/// Candidates that are tried.
const ATTEMPTS: usize = 8;
/// Deepest nesting that is built; recursive schemas must stop by leaving optional parts out.
const MAX_DEPTH: usize = 24;
/// Most values that one candidate is built of, dropped ones included.
const MOST_BUILT: usize = 5_000;
/// Most items and properties that are made up to meet a minimum.
const MOST_MADE_UP: u64 = 64;

/// Returns the smallest instance that fits a schema: required properties only, the first of each choice.
///
/// Where none of the candidates fits (a schema nothing fits, or one whose rules play together in a way this does not
/// see), returns the first candidate, or `{}`.
pub fn smallest_instance(schema: &Value) -> Value {
    let validator = Validator::of_value(schema).ok();
    let mut first = None;
    for attempt in 0..ATTEMPTS {
        let builder = Builder { root: schema, attempt, n_left: Cell::new(MOST_BUILT) };
        let Some(candidate) = builder.build(schema, 0) else { continue };
        if validator.as_ref().is_none_or(|validator| validator.fits(&candidate)) {
            return candidate;
        }
        first.get_or_insert(candidate);
    }
    first.unwrap_or_else(|| Value::Object(Map::new()))
}

struct Builder<'s> {
    root: &'s Value,
    /// Which alternative is taken where there are several.
    attempt: usize,
    /// Values that may still be built: alternatives that lead back to each other would be tried for ever.
    n_left: Cell<usize>,
}

impl Builder<'_> {
    fn build(&self, schema: &Value, depth: usize) -> Option<Value> {
        let n_left = self.n_left.get().checked_sub(1)?;
        self.n_left.set(n_left);
        if depth > MAX_DEPTH {
            return None;
        }
        let merged = match schema {
            Value::Object(map) => merged(self.root, map),
            Value::Bool(false) => return None,
            _ => return Some(Value::Null),
        };
        self.build_merged(&merged, depth)
    }

    fn build_merged(&self, schema: &Map<String, Value>, depth: usize) -> Option<Value> {
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(alternatives)) = schema.get(keyword) {
                return self.build_alternative(schema, keyword, alternatives, depth);
            }
        }
        if let Some(value) = schema.get("const") {
            return Some(value.clone());
        }
        if let Some(Value::Array(options)) = schema.get("enum") {
            return options.iter().find(|option| has_type(schema, option)).cloned();
        }
        if let Some(value) = schema.get("default").filter(|value| self.attempt.is_multiple_of(2) && is_plain(value))
            && schema.contains_key("type")
            && has_type(schema, value)
        {
            return Some(value.clone());
        }
        match self.type_of(schema) {
            "object" => self.build_object(schema, depth),
            "array" => self.build_array(schema, depth),
            "string" => Some(Value::String(text::smallest_text(schema))),
            "integer" => Some(number(schema, true)),
            "number" => Some(number(schema, false)),
            "boolean" => Some(Value::Bool(false)),
            _ => Some(Value::Null),
        }
    }

    fn build_alternative(
        &self,
        schema: &Map<String, Value>,
        keyword: &str,
        alternatives: &[Value],
        depth: usize,
    ) -> Option<Value> {
        let mut around = schema.clone();
        around.remove(keyword);
        for i in 0..alternatives.len() {
            let alternative = &alternatives[(i + self.attempt) % alternatives.len()];
            let joined = match alternative {
                Value::Object(map) => merge::join(around.clone(), &merged(self.root, map)),
                Value::Bool(false) => continue,
                _ => around.clone(),
            };
            if let Some(value) = self.build_merged(&joined, depth + 1) {
                return Some(value);
            }
        }
        None
    }

    fn type_of<'m>(&self, schema: &'m Map<String, Value>) -> &'m str {
        match schema.get("type") {
            Some(Value::String(word)) => return word,
            Some(Value::Array(words)) if !words.is_empty() => {
                return words[self.attempt % words.len()].as_str().unwrap_or("null");
            }
            _ => {}
        }
        let says = |keywords: &[&str]| keywords.iter().any(|keyword| schema.contains_key(*keyword));
        if says(&["properties", "required", "minProperties"]) {
            "object"
        } else if says(&["items", "prefixItems", "minItems", "contains"]) {
            "array"
        } else if says(&["minLength", "pattern", "format"]) {
            "string"
        } else if says(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]) {
            "number"
        } else {
            "null"
        }
    }

    fn build_object(&self, schema: &Map<String, Value>, depth: usize) -> Option<Value> {
        let none = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let other = schema.get("additionalProperties").unwrap_or(&Value::Bool(true));
        let mut object = Map::new();
        let required = schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for name in required.iter().filter_map(Value::as_str) {
            let value = self.build(properties.get(name).unwrap_or(other), depth + 1)?;
            object.insert(name.to_owned(), value);
        }
        let least = least(schema, "minProperties");
        let optional = properties.iter().map(|(name, schema)| (name.clone(), schema));
        let made_up = (0..least).map(|i| (format!("key{i}"), other));
        for (name, schema) in optional.chain(made_up) {
            if object.len() >= least {
                break;
            }
            if !object.contains_key(&name)
                && let Some(value) = self.build(schema, depth + 1)
            {
                object.insert(name, value);
            }
        }
        Some(Value::Object(object))
    }

    fn build_array(&self, schema: &Map<String, Value>, depth: usize) -> Option<Value> {
        let mut items = Vec::new();
        if let Some(contained) = schema.get("contains") {
            items.push(self.build(contained, depth + 1)?);
        }
        let prefix = schema.get("prefixItems").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let rest = schema.get("items").unwrap_or(&Value::Bool(true));
        let is_unique = schema.get("uniqueItems") == Some(&Value::Bool(true));
        for i in items.len()..least(schema, "minItems") {
            let mut item = self.build(prefix.get(i).unwrap_or(rest), depth + 1)?;
            if is_unique && items.contains(&item) {
                item = self.another(rest, item, i);
            }
            items.push(item);
        }
        Some(Value::Array(items))
    }

    /// Makes an item differ from those before it, where its schema has several values that are easy to name.
    fn another(&self, schema: &Value, item: Value, i: usize) -> Value {
        let map = schema.as_object().map(|map| merged(self.root, map)).unwrap_or_default();
        if let Some(option) = map.get("enum").and_then(Value::as_array).and_then(|options| options.get(i)) {
            return option.clone();
        }
        match item {
            Value::String(text) => Value::String(format!("{text}{i}")),
            Value::Number(number) => match number.as_i64() {
                Some(n) => Value::from(n + i as i64),
                None => Value::from(number.as_f64().unwrap_or_default() + i as f64),
            },
            other => other,
        }
    }
}

fn least(schema: &Map<String, Value>, keyword: &str) -> usize {
    schema.get(keyword).and_then(Value::as_u64).unwrap_or(0).min(MOST_MADE_UP) as usize
}

fn is_plain(value: &Value) -> bool {
    !value.is_object() && !value.is_array()
}

fn has_type(schema: &Map<String, Value>, value: &Value) -> bool {
    let fits = |word: &str| match word {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        _ => value.is_null(),
    };
    match schema.get("type") {
        Some(Value::String(word)) => fits(word),
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).any(fits),
        _ => true,
    }
}

/// Returns 0 where it fits, else the number nearest to it within the bounds.
fn number(schema: &Map<String, Value>, is_integer: bool) -> Value {
    let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_f64);
    let step = bound("multipleOf").filter(|step| *step > 0.0).unwrap_or(if is_integer { 1.0 } else { 0.0 });
    let gap = if step > 0.0 { step } else { 0.5 };
    let low = bound("minimum").into_iter().chain(bound("exclusiveMinimum").map(|low| low + gap)).reduce(f64::max);
    let high = bound("maximum").into_iter().chain(bound("exclusiveMaximum").map(|high| high - gap)).reduce(f64::min);
    let mut value = 0.0;
    if let Some(low) = low.filter(|low| *low > value) {
        value = if step > 0.0 { (low / step).ceil() * step } else { low };
    } else if let Some(high) = high.filter(|high| *high < value) {
        value = if step > 0.0 { (high / step).floor() * step } else { high };
    }
    if let (None, Some(low), Some(high)) = (bound("multipleOf"), low, high)
        && low > high
    {
        // An open interval narrower than the gap.
        value = (low - gap + high + gap) / 2.0;
    }
    if value.fract() == 0.0 && value.abs() < 9e15 {
        return Value::from(value as i64);
    }
    Number::from_f64(value).map_or(Value::from(0), Value::Number)
}

#[cfg(test)]
mod tests;

//! Arguments against a tool's full schema: what does not fit, and what would.
//!
//! What is said here goes back to a model as a tool result, so each violation carries its fix, and no argument value is
//! ever repeated: it may be long, private, or written to be read. Formats are checked. Knows nothing above it.

mod recursion;
mod shape;

use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::{PatternOptions, ValidationError};
use serde_json::Value;

use super::definition::Json;
use shape::{list, quoted, shape_of};

/// Most violations that are reported of one call.
pub const MOST_VIOLATIONS: usize = 16;

/// Most characters of a pointer.
const POINTER_CHARS: usize = 400;

/// Bound on the compiled size of one pattern, in bytes.
const PATTERN_SIZE: usize = 1 << 20;

/// One thing that is wrong with the arguments of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// JSON pointer of the value, or of the place where one is missing; empty for the arguments as a whole.
    pub pointer: String,
    /// What is wrong, without the value itself.
    pub description: String,
    /// What would be accepted.
    pub accepted: String,
}

/// A schema does not compile.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("schema does not compile at {pointer:?}: {reason}")]
pub struct SchemaError {
    /// JSON pointer into the schema.
    pub pointer: String,
    /// Why.
    pub reason: String,
}

/// A compiled schema.
#[derive(Debug)]
pub struct Validator {
    compiled: jsonschema::Validator,
    /// Kept to say which properties there are.
    schema: Value,
    /// Deepest arguments of which it is said where they do not fit; see [`recursion`].
    explained_depth: usize,
}

impl Validator {
    /// Compiles a schema, which admission has bounded before: circular references would never end.
    pub fn compile(schema: &Json) -> Result<Self, SchemaError> {
        Self::of_value(&schema.to_value())
    }

    /// Compiles a schema that is parsed already; see [`Validator::compile`].
    pub fn of_value(schema: &Value) -> Result<Self, SchemaError> {
        match options().build(schema) {
            Ok(compiled) => {
                let explained_depth = recursion::explained_depth(schema);
                Ok(Self { compiled, schema: schema.clone(), explained_depth })
            }
            Err(error) => {
                Err(SchemaError { pointer: error.instance_path().to_string(), reason: fault_of(&error).description })
            }
        }
    }

    /// Tells whether the arguments fit; cheaper than asking why not.
    pub fn fits(&self, arguments: &Value) -> bool {
        self.compiled.is_valid(arguments)
    }

    /// Returns what is wrong with the arguments, at most [`MOST_VIOLATIONS`].
    pub fn validate(&self, arguments: &Value) -> Vec<Violation> {
        if self.fits(arguments) {
            return Vec::new();
        }
        if !recursion::is_within(arguments, self.explained_depth) {
            return vec![Violation {
                pointer: String::new(),
                description: "does not fit the schema, and is nested too deep to say where".into(),
                accepted: format!("flatter arguments, at most {} levels, to learn more", self.explained_depth),
            }];
        }
        let mut violations = Vec::new();
        for error in self.compiled.iter_errors(arguments).take(MOST_VIOLATIONS) {
            violations.push(self.violation(&error));
        }
        violations
    }

    fn violation(&self, error: &ValidationError<'_>) -> Violation {
        let mut pointer = error.instance_path().to_string();
        let mut fault = fault_of(error);
        let around = self.schema_around(error);
        match error.kind() {
            Kind::Required { property: Value::String(name) } => {
                super::json_schema::push_pointer(&mut pointer, name);
                if let Some(wanted) = around.and_then(|schema| schema.get("properties")?.get(name)) {
                    fault.accepted = shape_of(wanted);
                }
            }
            Kind::AdditionalProperties { .. } | Kind::UnevaluatedProperties { .. } => {
                let known = around.and_then(|schema| schema.get("properties")?.as_object());
                if let Some(known) = known {
                    fault.accepted = match known.len() {
                        0 => "no properties".into(),
                        _ => format!("only {}", list(known.keys().map(|name| quoted(name)))),
                    };
                }
            }
            _ => {}
        }
        // The arguments' own keys stand in it, at whatever length.
        if let Some((cut, _)) = pointer.char_indices().nth(POINTER_CHARS) {
            pointer.truncate(cut);
        }
        Violation { pointer, description: fault.description, accepted: fault.accepted }
    }

    /// Returns the schema that holds the keyword which failed.
    fn schema_around(&self, error: &ValidationError<'_>) -> Option<&Value> {
        let path = error.schema_path().to_string();
        let (parent, _) = path.rsplit_once('/')?;
        self.schema.pointer(parent)
    }
}

fn options() -> jsonschema::ValidationOptions<'static> {
    jsonschema::draft202012::options()
        .offline()
        .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_SIZE).dfa_size_limit(PATTERN_SIZE))
        .should_validate_formats(true)
}

/// Tells whether a pattern compiles on the engine that matches it, which takes linear time and so has no look-around.
pub fn pattern_compiles(pattern: &str) -> bool {
    options().build(&serde_json::json!({ "pattern": pattern })).is_ok()
}

/// What is wrong and what would be accepted, in words that hold no part of the value.
pub(super) struct Fault {
    pub description: String,
    pub accepted: String,
}

/// Puts an error of the schema library into words of our own: its own repeat the value.
pub(super) fn fault_of(error: &ValidationError<'_>) -> Fault {
    let fault = |description: &str, accepted: String| Fault { description: description.into(), accepted };
    match error.kind() {
        Kind::Type { kind } => fault("wrong type", shape::types(kind)),
        Kind::Required { property } => {
            let name = quoted(property.as_str().unwrap_or_default());
            fault(&format!("{name} is missing"), format!("{name} given"))
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let names = list(unexpected.iter().map(|name| quoted(name)));
            fault(&format!("unknown {names}"), "without them".into())
        }
        Kind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            fault("not one of the values", format!("one of {}", list(options.iter().map(shape::literal))))
        }
        Kind::Constant { expected_value } => fault("another value", shape::literal(expected_value)),
        Kind::Minimum { limit } => fault("too small", format!("at least {limit}")),
        Kind::Maximum { limit } => fault("too large", format!("at most {limit}")),
        Kind::ExclusiveMinimum { limit } => fault("too small", format!("more than {limit}")),
        Kind::ExclusiveMaximum { limit } => fault("too large", format!("less than {limit}")),
        Kind::MultipleOf { multiple_of } => fault("not a multiple", format!("a multiple of {multiple_of}")),
        Kind::MinLength { limit } => fault("too short", format!("at least {limit} characters")),
        Kind::MaxLength { limit } => fault("too long", format!("at most {limit} characters")),
        Kind::MinItems { limit } => fault("too few items", format!("at least {limit} items")),
        Kind::MaxItems { limit } => fault("too many items", format!("at most {limit} items")),
        Kind::AdditionalItems { limit } => fault("too many items", format!("at most {limit} items")),
        Kind::UnevaluatedItems { .. } => fault("items that the schema does not know", "without them".into()),
        Kind::MinProperties { limit } => fault("too few properties", format!("at least {limit} properties")),
        Kind::MaxProperties { limit } => fault("too many properties", format!("at most {limit} properties")),
        Kind::UniqueItems => fault("an item stands twice", "distinct items".into()),
        Kind::Contains => fault("no item that must be there", "an item as the schema's contains says".into()),
        Kind::Format { format } => fault(&format!("not a {}", shape::shown(format)), shape::of_format(format)),
        Kind::Pattern { pattern } => {
            fault("does not match the pattern", format!("text matching {}", shape::shown(pattern)))
        }
        Kind::AnyOf { context } => fault("fits no alternative", alternatives("any of", error, context)),
        Kind::OneOfNotValid { context } => fault("fits no alternative", alternatives("one of", error, context)),
        Kind::OneOfMultipleValid { .. } => {
            fault("fits several alternatives", "a value that fits exactly one alternative".into())
        }
        Kind::Not { schema } => fault("excluded by the schema", format!("anything but {}", shape_of(schema))),
        // How the library says it of an object that may have no properties at all.
        Kind::FalseSchema if error.schema_path().to_string().ends_with("/additionalProperties") => {
            let names = error.instance().as_object().into_iter().flat_map(|object| object.keys());
            fault(&format!("unknown {}", list(names.map(|name| quoted(name)))), "no properties".into())
        }
        Kind::FalseSchema => fault("not allowed here", "nothing here".into()),
        Kind::PropertyNames { error } => {
            let inner = fault_of(error);
            fault(&format!("a property name: {}", inner.description), inner.accepted)
        }
        Kind::ContentEncoding { content_encoding } => {
            fault("wrong encoding", format!("text encoded as {}", shape::shown(content_encoding)))
        }
        Kind::ContentMediaType { content_media_type } => {
            fault("wrong media type", format!("text of type {}", shape::shown(content_media_type)))
        }
        Kind::FromUtf8 { .. } => fault("encoded bytes are not UTF-8", "UTF-8 text, encoded".into()),
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
            fault("the pattern could not be matched", "a shorter text".into())
        }
        Kind::Referencing(_) => fault("a reference cannot be followed", "references within the schema".into()),
        Kind::Custom { .. } => fault("does not fit the schema", "a value that fits".into()),
    }
}

/// Says of each alternative what it would have taken, without repeating itself.
fn alternatives(lead: &str, around: &ValidationError<'_>, context: &[Vec<ValidationError<'_>>]) -> String {
    let mut said: Vec<String> = Vec::new();
    for error in context.iter().filter_map(|errors| errors.first()) {
        let at = error.instance_path().to_string();
        let at = at.strip_prefix(&around.instance_path().to_string()).unwrap_or(&at);
        let accepted = fault_of(error).accepted;
        let words = if at.is_empty() { accepted } else { format!("{accepted} at {at}") };
        if !said.contains(&words) {
            said.push(words);
        }
    }
    format!("{lead}: {}", list(said))
}

#[cfg(test)]
mod tests;

//! The gate: what a definition must be to enter a registry, with everything that is wrong said at once.
//!
//! Looks at one definition alone. What needs the others (is the name taken, which tool is it close to or speaks of, is
//! it a change) is asked of [`beside`] and [`change`] by the registry. Before editing: a new rule is a new [`ViolationCode`]
//! only where a program would act differently on it; the words for people are the description and what is accepted.

mod flags;
mod fold;
mod keywords;
mod name;
mod schema;
mod size;
mod summary;

pub mod beside;
pub mod change;
pub mod confusable;
pub mod derive;
pub mod json;
pub mod neighbours;
pub mod text;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use flags::Mention;
pub use json::{JsonRefusal, parse_json};
pub use name::{alias, fits_name, fits_source, mapped_name, mapped_source};

use super::definition::{Definition, Json};
use super::event::words;
use super::ids::{Alias, Digest};
use super::json_schema::push_pointer;
use super::policy::{AdmissionPolicy, FlagRule};
use text::Lines;

words! {
    /// What kind of rule a definition breaks. A closed set of stable words that programs may match; docs/errors.md says
    /// what each takes.
    ViolationCode {
        /// A mandatory field is not there.
        Missing = "missing",
        /// A name or source of other characters or length.
        Malformed = "malformed",
        /// A code point that no tool text may hold.
        ForbiddenCharacter = "forbidden_character",
        /// Fewer characters than needed.
        TooShort = "too_short",
        /// More characters, bytes or items than allowed.
        TooLong = "too_long",
        /// Says nothing but the tool's name.
        OnlyTheName = "only_the_name",
        /// The same again, after folding.
        Duplicate = "duplicate",
        /// The size estimate is too far off.
        SizeMismatch = "size_mismatch",
        /// Not JSON, or not JSON that can be read safely.
        UnreadableJson = "unreadable_json",
        /// A schema whose root is not an object schema.
        NotAnObject = "not_an_object",
        /// A schema nested too deep, with too many nodes, or too large once references are followed.
        TooComplex = "too_complex",
        /// `type` is none of the words of JSON Schema.
        UnknownType = "unknown_type",
        /// A reference that is not local, leads nowhere, or only to itself.
        BadReference = "bad_reference",
        /// A pattern that is too long or does not compile.
        BadPattern = "bad_pattern",
        /// Not a JSON Schema for another reason.
        InvalidSchema = "invalid_schema",
        /// More combining marks on a letter than any script needs.
        CombiningMarks = "combining_marks",
        /// A space that honest text does not have.
        UnusualSpace = "unusual_space",
        /// A joiner where no script needs one.
        StrayJoiner = "stray_joiner",
        /// Letters of look-alike scripts in one word.
        MixedScripts = "mixed_scripts",
        /// Blanks or line breaks that push text out of sight.
        BlankRun = "blank_run",
        /// A name like another source's, up to case, separators and look-alike characters.
        LikeAnotherName = "like_another_name",
        /// An order to the model.
        Order = "order",
        /// A mark of a role or a turn in chat templates.
        RoleToken = "role_token",
        /// Names a tool of another source.
        NamesAnotherTool = "names_another_tool",
        /// A parameter in which a model is to write down what it knows.
        NotesParameter = "notes_parameter",
        /// A URL.
        Link = "link",
        /// An encoded blob.
        Blob = "blob",
        /// Puts itself before other tools.
        Praise = "praise",
        /// The same word over and over.
        RepeatedWord = "repeated_word",
    }
}

impl ViolationCode {
    /// Returns the group that policy rules for a finding which does not refuse a definition by itself; `None` for the
    /// kinds that policy has no say in.
    pub fn flag_group(self) -> Option<FlagGroup> {
        match self {
            Self::CombiningMarks | Self::UnusualSpace | Self::StrayJoiner | Self::MixedScripts | Self::BlankRun => {
                Some(FlagGroup::Characters)
            }
            Self::LikeAnotherName => Some(FlagGroup::Names),
            Self::Order | Self::RoleToken | Self::NamesAnotherTool | Self::NotesParameter => Some(FlagGroup::Phrases),
            Self::Link | Self::Blob => Some(FlagGroup::Links),
            Self::Praise | Self::RepeatedWord => Some(FlagGroup::Rank),
            Self::Missing
            | Self::Malformed
            | Self::ForbiddenCharacter
            | Self::TooShort
            | Self::TooLong
            | Self::OnlyTheName
            | Self::Duplicate
            | Self::SizeMismatch
            | Self::UnreadableJson
            | Self::NotAnObject
            | Self::TooComplex
            | Self::UnknownType
            | Self::BadReference
            | Self::BadPattern
            | Self::InvalidSchema => None,
        }
    }
}

/// Rules whose findings are treated alike.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlagGroup {
    /// Text whose looks differ from what it says.
    Characters,
    /// Names that pass for another source's.
    Names,
    /// Text that steers the model.
    Phrases,
    /// Text that leads elsewhere, or cannot be read.
    Links,
    /// Text that is there for the rank.
    Rank,
}

impl FlagGroup {
    /// Returns what policy says of the group.
    pub fn rule(self, policy: &AdmissionPolicy) -> FlagRule {
        match self {
            Self::Characters => policy.flags.characters,
            Self::Names => policy.flags.names,
            Self::Phrases => policy.flags.phrases,
            Self::Links => policy.flags.links,
            Self::Rank => policy.flags.rank,
        }
    }
}

/// One rule that a definition breaks, or a flag on one that is admitted.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Violation {
    /// Path of the field as requests spell it: `summary`, `keywords[2]`, `input_schema/properties/a/pattern`.
    pub field: String,
    /// The kind of rule.
    pub code: ViolationCode,
    /// What is wrong.
    pub description: String,
    /// What would be accepted.
    pub accepted: String,
}

impl Violation {
    /// Puts a violation together; what a stranger wrote into the path is escaped and cut.
    pub fn new(
        field: impl Into<String>,
        code: ViolationCode,
        description: impl Into<String>,
        accepted: impl Into<String>,
    ) -> Self {
        Self { field: printable(field.into()), code, description: description.into(), accepted: accepted.into() }
    }

    /// Returns what policy says of such a finding; `None` for the kinds that it has no say in.
    pub fn rule(&self, policy: &AdmissionPolicy) -> Option<FlagRule> {
        self.code.flag_group().map(|group| group.rule(policy))
    }
}

/// Most characters of a path: schemas may name properties at any length.
const PATH_CHARS: usize = 400;

fn printable(path: String) -> String {
    if path.len() <= PATH_CHARS && text::find_refused(&path, Lines::One).is_none() {
        return path;
    }
    let mut shown = String::new();
    for c in path.chars().take(PATH_CHARS) {
        if c.is_control() || text::is_refused(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Most violations and most flags that are reported of one definition: an answer must stay an answer.
const MOST_VIOLATIONS: usize = 256;

/// A definition that was looked at: admitted when there is no violation.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The definition as given; nothing in it is mended.
    pub definition: Arc<Definition>,
    /// The name models will see.
    pub alias: Alias,
    /// The content hash.
    pub hash: Digest,
    /// Size in o200k tokens of compact `{name, description, input_schema}`.
    pub measured_tokens: u32,
    /// Why it is refused, in field order.
    pub violations: Vec<Violation>,
    /// What is flagged on it.
    pub warnings: Vec<Violation>,
    /// What in its texts may be the name of a tool.
    pub mentions: Vec<Mention>,
}

impl Checked {
    /// Tells whether nothing speaks against admitting it.
    pub fn is_admitted(&self) -> bool {
        self.violations.is_empty()
    }
}

/// Most heat that a tool may start with; heat at the default decay never passes 20.
const INITIAL_SCORE_MAX: f64 = 1_000_000.0;

/// Looks at a definition by every rule that needs no other tool.
///
/// Pure and bounded: about a millisecond, and well under 100 for the worst schema that the limits let through to the
/// compiler.
pub fn check(definition: &Definition, policy: &AdmissionPolicy) -> Checked {
    let mut violations = Vec::new();
    let mut warnings = Vec::new();

    name::check(&definition.id, &mut violations);
    summary::check(definition, policy, &mut violations, &mut warnings);
    keywords::check(definition, &mut violations);
    let measured_tokens = size::check(definition, policy, &mut violations);
    check_texts(definition, &mut violations);
    let json = check_json(definition, policy, &mut violations);
    check_score(definition.initial_score, &mut violations);
    let mut flags = Vec::new();
    flags::check(definition, &json, &mut flags);
    sort_flags(flags, policy, &mut violations, &mut warnings);
    // What asks for approval comes first, so that no number of other flags can push it out of the list.
    warnings.sort_by_key(|warning| warning.rule(policy) != Some(FlagRule::Pending));
    violations.truncate(MOST_VIOLATIONS);
    warnings.truncate(MOST_VIOLATIONS);

    Checked {
        definition: Arc::new(definition.clone()),
        alias: alias(&definition.id),
        hash: definition.content_hash(),
        measured_tokens,
        violations,
        warnings,
        mentions: flags::mentions(definition, &json),
    }
}

/// Puts what was flagged among the violations where policy refuses its group, else among the warnings.
pub fn sort_flags(
    flags: Vec<Violation>,
    policy: &AdmissionPolicy,
    violations: &mut Vec<Violation>,
    warnings: &mut Vec<Violation>,
) {
    for flag in flags {
        if flag.rule(policy) == Some(FlagRule::Refuse) { violations.push(flag) } else { warnings.push(flag) }
    }
}

fn check_score(score: f64, violations: &mut Vec<Violation>) {
    if !(0.0..=INITIAL_SCORE_MAX).contains(&score) {
        let accepted = format!("must be 0..={INITIAL_SCORE_MAX}, in calls");
        violations.push(Violation::new("initial_score", ViolationCode::Malformed, "out of range", accepted));
    }
}

fn check_texts(definition: &Definition, violations: &mut Vec<Violation>) {
    let mut one_line = |field: &str, text: &str| text::check(field, text, Lines::One, violations);
    one_line("title", definition.title.as_deref().unwrap_or_default());
    one_line("summary", &definition.summary);
    one_line("when_to_use", &definition.when_to_use);
    for (i, keyword) in definition.keywords.iter().enumerate() {
        one_line(&format!("keywords[{i}]"), keyword);
    }
    one_line("group", &definition.group);
    for (i, tag) in definition.tags.iter().enumerate() {
        one_line(&format!("tags[{i}]"), tag);
    }
    for (i, (key, value)) in definition.attributes.iter().enumerate() {
        one_line(&format!("attributes[{i}].key"), key);
        one_line(&format!("attributes[{i}].value"), value);
    }
    text::check("description", &definition.description, Lines::Many, violations);
}

/// Looks at the JSON fields of a definition, and returns those that can be read.
fn check_json(
    definition: &Definition,
    policy: &AdmissionPolicy,
    violations: &mut Vec<Violation>,
) -> Vec<(&'static str, Value)> {
    let mut read = Vec::new();
    if let Some(schema) = read_json("input_schema", &definition.input_schema, violations) {
        schema::check("input_schema", &schema, policy, violations);
        read.push(("input_schema", schema));
    }
    for (field, json) in [("output_schema", &definition.output_schema), ("annotations", &definition.annotations)] {
        let Some(json) = json else { continue };
        let Some(value) = read_json(field, json, violations) else { continue };
        if !value.is_object() {
            violations.push(Violation::new(field, ViolationCode::NotAnObject, "not a JSON object", "a JSON object"));
        }
        read.push((field, value));
    }
    read
}

/// Reads a JSON field safely and looks at every string in it, keys included.
fn read_json(field: &str, json: &Json, violations: &mut Vec<Violation>) -> Option<Value> {
    match parse_json(json.as_str().as_bytes()) {
        Ok(value) => {
            check_strings(&mut field.to_owned(), "", &value, violations);
            Some(value)
        }
        Err(refusal) => {
            violations.push(Violation::new(
                field,
                ViolationCode::UnreadableJson,
                refusal.to_string(),
                "JSON without repeated keys, at most 100 levels deep",
            ));
            None
        }
    }
}

/// `key` is the object key the value stands under: text under `description` may have lines.
fn check_strings(path: &mut String, key: &str, value: &Value, violations: &mut Vec<Violation>) {
    let base = path.len();
    match value {
        Value::String(text) => {
            let lines = if key == "description" { Lines::Many } else { Lines::One };
            text::check(path, text, lines, violations);
        }
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                push_pointer(path, &i.to_string());
                check_strings(path, key, item, violations);
                path.truncate(base);
            }
        }
        Value::Object(map) => {
            for (i, (key, value)) in map.iter().enumerate() {
                // A key with a refused code point must not stand in the path that reports it.
                if text::find_refused(key, Lines::One).is_some() {
                    text::check(&format!("{path}/key[{i}]"), key, Lines::One, violations);
                    push_pointer(path, &format!("[{i}]"));
                } else {
                    push_pointer(path, key);
                }
                check_strings(path, key, value, violations);
                path.truncate(base);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests;

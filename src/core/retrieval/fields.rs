//! From a definition to weighted terms: which texts of a tool are read, and what a word in each is worth.
//!
//! A term's impact depends on its own document alone. Field lengths are therefore measured against fixed pivots, not
//! against the averages of the collection: a tool can come and go without touching the postings of any other.

use serde_json::Value;

use super::text::{TermKind, for_each_term};
use crate::core::definition::Definition;

/// How soon further occurrences of a term stop counting (BM25's k1).
const SATURATION: f32 = 2.0;
/// Impacts are whole numbers up to this.
pub(super) const IMPACT_MAX: u32 = 1023;
/// Terms read from one field; admission allows no text that comes near.
const FIELD_TERMS_MAX: u32 = 4096;
/// Schema nodes read, and how deep.
const SCHEMA_NODES_MAX: usize = 2048;
const SCHEMA_DEPTH_MAX: usize = 12;

/// The parts of a definition, most telling first. The order is that of [`SPECS`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Field {
    Name,
    Title,
    Summary,
    WhenToUse,
    Keywords,
    Group,
    Description,
    ParamNames,
    ParamTexts,
    EnumValues,
}

impl Field {
    /// Returns the field's name, as a part of a score has it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Title => "title",
            Self::Summary => "summary",
            Self::WhenToUse => "when_to_use",
            Self::Keywords => "keywords",
            Self::Group => "group",
            Self::Description => "description",
            Self::ParamNames => "parameter_names",
            Self::ParamTexts => "parameter_texts",
            Self::EnumValues => "enum_values",
        }
    }
}

/// What a word in a field is worth.
struct Spec {
    /// Factor on its count.
    weight: f32,
    /// How far a longer field makes each word worth less (BM25's b), 0–1.
    length_share: f32,
    /// Words of a usual field of this kind: means over the development sets, rounded.
    pivot_words: f32,
    /// Occurrences that count. Keywords count once however often they are repeated.
    count_max: f32,
    /// Whether stop words are kept, so that a query of nothing else still has something to find. They cost most where
    /// texts are long and say least there.
    keeps_stop_words: bool,
}

/// Weights of RETRIEVAL §2; the fields it does not name are set beside their likes.
const SPECS: [Spec; 10] = [
    spec(3.0, 0.7, 3.0, true),                             // name
    spec(1.5, 0.7, 3.0, true),                             // title
    spec(1.5, 0.3, 12.0, true),                            // summary
    spec(0.8, 0.3, 8.0, false),                            // when_to_use
    Spec { count_max: 1.0, ..spec(1.0, 0.7, 6.0, false) }, // keywords
    Spec { count_max: 1.0, ..spec(1.0, 0.3, 2.0, false) }, // group
    spec(0.4, 0.3, 20.0, false),                           // description
    spec(0.4, 0.3, 5.0, false),                            // parameter names
    spec(0.5, 0.3, 20.0, false),                           // parameter texts
    spec(0.7, 0.3, 6.0, false),                            // enum values
];

const fn spec(weight: f32, length_share: f32, pivot_words: f32, keeps_stop_words: bool) -> Spec {
    Spec { weight, length_share, pivot_words, count_max: f32::INFINITY, keeps_stop_words }
}

/// A term of a document and what a match of it is worth, 1..=[`IMPACT_MAX`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct WeightedTerm {
    pub(super) term: String,
    pub(super) impact: u32,
}

/// Returns the terms of a definition in byte order, each once.
pub(super) fn weigh(definition: &Definition) -> Vec<WeightedTerm> {
    let mut terms = Vec::new();
    read(definition).each_term(|term, counts| {
        terms.push(WeightedTerm { term: term.to_owned(), impact: impact(sum(counts)) });
    });
    terms
}

/// Calls `each` with every term of a definition in byte order, its impact, and the share of every field in it; the
/// shares of a term add up to 1.
pub(super) fn each_impact(definition: &Definition, mut each: impl FnMut(&str, u32, &[(Field, f32)])) {
    read(definition).each_term(|term, counts| {
        let whole = sum(counts);
        let shares: Vec<(Field, f32)> = counts.iter().map(|(field, count)| (*field, count / whole)).collect();
        each(term, impact(whole), &shares);
    });
}

fn sum(counts: &[(Field, f32)]) -> f32 {
    counts.iter().fold(0.0, |sum, (_, count)| sum + count)
}

fn read(definition: &Definition) -> Reader {
    let mut reader = Reader::default();
    reader.read(Field::Name, &definition.id.name);
    reader.read(Field::Title, definition.title.as_deref().unwrap_or(""));
    reader.read(Field::Summary, &definition.summary);
    reader.read(Field::WhenToUse, &definition.when_to_use);
    for keyword in &definition.keywords {
        reader.read(Field::Keywords, keyword);
    }
    reader.read(Field::Group, definition.group());
    if !definition.group.is_empty() {
        reader.read(Field::Group, &definition.id.source);
    }
    for tag in &definition.tags {
        reader.read(Field::Keywords, tag);
    }
    reader.read(Field::Description, &definition.description);
    reader.read_schema(&definition.input_schema.to_value());
    reader
}

/// Collects the terms of one definition, field by field.
#[derive(Default)]
struct Reader {
    occurrences: Vec<(String, Field)>,
    n_words: [u32; SPECS.len()],
}

impl Reader {
    fn read(&mut self, field: Field, text: &str) {
        let n_words = &mut self.n_words[field as usize];
        let keeps_stop_words = SPECS[field as usize].keeps_stop_words;
        for_each_term(text, &mut |term, kind| {
            let kept = kind != TermKind::Stop || keeps_stop_words;
            if kept && *n_words < FIELD_TERMS_MAX {
                *n_words += u32::from(kind == TermKind::Word);
                self.occurrences.push((term.to_owned(), field));
            }
        });
    }

    /// Reads every parameter, however deep: any object under a `properties` names parameters, in the schema itself, in
    /// `$defs`, in `items` and in the branches of `anyOf` and its like.
    fn read_schema(&mut self, schema: &Value) {
        let mut open = vec![(schema, 0)];
        let mut n_nodes = 0;
        while let Some((node, depth)) = open.pop() {
            n_nodes += 1;
            if n_nodes > SCHEMA_NODES_MAX || depth > SCHEMA_DEPTH_MAX {
                continue;
            }
            let children: Vec<&Value> = match node {
                Value::Array(items) => items.iter().collect(),
                Value::Object(map) => map.iter().flat_map(|(key, value)| self.read_keyword(key, value)).collect(),
                _ => continue,
            };
            // Last in, first out: pushed in reverse, read in the order written.
            open.extend(children.into_iter().rev().map(|child| (child, depth + 1)));
        }
    }

    /// Reads one keyword of a schema and returns the schemas below it.
    fn read_keyword<'s>(&mut self, key: &str, value: &'s Value) -> Vec<&'s Value> {
        match (key, value) {
            ("properties", Value::Object(parameters)) => {
                for name in parameters.keys() {
                    self.read(Field::ParamNames, name);
                }
                parameters.values().collect()
            }
            ("$defs" | "definitions" | "patternProperties", Value::Object(schemas)) => schemas.values().collect(),
            ("title" | "description", Value::String(text)) => {
                self.read(Field::ParamTexts, text);
                vec![]
            }
            ("enum", Value::Array(values)) => {
                for value in values.iter().filter_map(Value::as_str) {
                    self.read(Field::EnumValues, value);
                }
                vec![]
            }
            ("const", Value::String(text)) => {
                self.read(Field::EnumValues, text);
                vec![]
            }
            // Data, not schemas: their keys are nobody's parameters.
            ("default" | "example" | "examples" | "enum" | "const" | "required", _) => vec![],
            (_, Value::Object(_) | Value::Array(_)) => vec![value],
            _ => vec![],
        }
    }

    /// Calls `each` with every term, in byte order, and what it counts for in each field that has it.
    fn each_term(mut self, mut each: impl FnMut(&str, &[(Field, f32)])) {
        // Sorted by term, then field: every sum of the counts is taken in one order whatever the order of reading.
        self.occurrences.sort_unstable();
        let mut counts = Vec::new();
        for same_term in self.occurrences.chunk_by(|a, b| a.0 == b.0) {
            counts.clear();
            for same_field in same_term.chunk_by(|a, b| a.1 == b.1) {
                let field = same_field[0].1;
                let n_words = self.n_words[field as usize] as f32;
                counts.push((field, weighted_count(&SPECS[field as usize], same_field.len() as f32, n_words)));
            }
            each(&same_term[0].0, &counts);
        }
    }
}

/// Returns what the occurrences of a term in a field of so many words count for.
fn weighted_count(spec: &Spec, count: f32, n_words: f32) -> f32 {
    let length = 1.0 - spec.length_share + spec.length_share * (n_words / spec.pivot_words);
    spec.weight * count.min(spec.count_max) / length
}

/// Saturates a weighted count and rounds it to a whole impact.
fn impact(count: f32) -> u32 {
    let saturated = count / (SATURATION + count);
    ((saturated * IMPACT_MAX as f32 + 0.5) as u32).clamp(1, IMPACT_MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::core::definition::Json;
    use crate::core::retrieval::tests::tool;

    fn impact_of(definition: &Definition, term: &str) -> u32 {
        weigh(definition).iter().find(|weighted| weighted.term == term).map_or(0, |weighted| weighted.impact)
    }

    #[test]
    fn parameters_are_read_wherever_they_stand() {
        let mut definition = tool("s", "t", "Does");
        definition.input_schema = Json::from_value(&json!({
            "type": "object",
            "properties": {
                "alpha": {"type": "string", "description": "first beta", "enum": ["gamma"]},
                "properties": {"anyOf": [{"$ref": "#/$defs/D"}, {"const": "delta"}]},
            },
            "$defs": {"D": {"properties": {"epsilon": {"items": {"properties": {"zeta": {}}}}}}},
            "default": {"properties": {"absent": 1}},
        }));
        for term in ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"] {
            assert!(impact_of(&definition, term) > 0, "{term}");
        }
        assert_eq!(impact_of(&definition, "absent"), 0);
    }

    #[test]
    fn repeating_a_keyword_gives_no_more() {
        let mut once = tool("s", "t", "Does");
        once.keywords = vec!["invoice".into()];
        let mut often = once.clone();
        often.keywords = vec!["invoice".into(); 30];
        assert!(impact_of(&often, "invoic") <= impact_of(&once, "invoic"));
        let mut named = tool("s", "invoice", "Does");
        named.keywords.clear();
        assert!(impact_of(&once, "invoic") < impact_of(&named, "invoic"));
    }

    #[test]
    fn endless_text_and_depth_are_read_in_part() {
        let mut definition = tool("s", "t", "Does");
        definition.description = "word ".repeat(100_000);
        let mut schema = json!({"properties": {"deepest": {}}});
        for _ in 0..40 {
            schema = json!({"properties": {"level": schema}});
        }
        definition.input_schema = Json::from_value(&schema);
        assert!(impact_of(&definition, "level") > 0);
        assert_eq!(impact_of(&definition, "deepest"), 0);
    }
}

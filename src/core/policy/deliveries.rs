//! The table of models: which delivery each takes, by the beginning of its name.
//!
//! Support goes by model and not by provider, and a wrong guess in favour of a model is a refused request. So a name that
//! the table does not know gets what every model takes. The lines of the default and their sources stand in
//! `docs/deliveries.md`.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::super::event::{Delivery, Format, Word};

/// Most lines of a table.
const LINES: usize = 128;

/// Longest beginning of a name, in bytes.
const PREFIX_BYTES: usize = 128;

/// What is known of models by default. A longer line beside a shorter one keeps the shorter from speaking for a model of
/// which it does not know.
const DEFAULT: &[(&str, Delivery)] = &[
    ("claude-opus-4-8", Delivery::Append),
    ("claude-opus-5", Delivery::Append),
    ("claude-fable-5", Delivery::Append),
    ("claude-mythos-5", Delivery::Append),
    ("claude-sonnet-5-5", Delivery::Append),
    ("claude-sonnet-5", Delivery::Reference),
    ("claude-sonnet-4-5", Delivery::Reference),
    ("claude-sonnet-4-6", Delivery::Reference),
    ("claude-opus-4-5", Delivery::Reference),
    ("claude-opus-4-6", Delivery::Reference),
    ("claude-opus-4-7", Delivery::Reference),
    ("claude-haiku-4-5", Delivery::Reference),
    ("claude-fable-5-2", Delivery::Invoke),
    ("claude-mythos-5-2", Delivery::Invoke),
    ("gpt-5.4", Delivery::Append),
    ("gpt-5.4-nano", Delivery::Invoke),
    ("gpt-5.5", Delivery::Append),
    ("gpt-5.6", Delivery::Append),
    ("gpt-6", Delivery::Append),
];

/// Deliveries by the beginning of a model's name; the longest that fits decides.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Deliveries(BTreeMap<String, Delivery>);

impl Deliveries {
    /// Returns the delivery of a model in a format: what its line says, or INVOKE where there is none or where requests
    /// of the format lack what that delivery needs. A name with an `@`, as Google Cloud writes them, is not that of the
    /// model at its maker's: it needs a line that has one too.
    pub fn choose(&self, format: Format, model: &str) -> Delivery {
        let is_hosted = model.contains('@');
        let fits = |prefix: &str| model.starts_with(prefix) && (!is_hosted || prefix.contains('@'));
        let lines = self.0.iter().filter(|(prefix, _)| fits(prefix));
        let longest = lines.max_by_key(|(prefix, _)| prefix.len());
        longest.map(|(_, delivery)| *delivery).filter(|delivery| format.carries(*delivery)).unwrap_or(Delivery::Invoke)
    }
}

impl Default for Deliveries {
    fn default() -> Self {
        Self(DEFAULT.iter().map(|(prefix, delivery)| ((*prefix).to_owned(), *delivery)).collect())
    }
}

impl fmt::Display for Deliveries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> =
            self.0.iter().map(|(prefix, delivery)| format!("{prefix}={}", delivery.as_str())).collect();
        f.write_str(&lines.join(","))
    }
}

/// A text that is no table of models.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be prefix=delivery, separated by commas")]
pub struct NoTable;

impl FromStr for Deliveries {
    type Err = NoTable;

    fn from_str(text: &str) -> Result<Self, NoTable> {
        let mut lines = BTreeMap::new();
        for line in text.split(',').map(str::trim).filter(|line| !line.is_empty()) {
            let (prefix, word) = line.split_once('=').ok_or(NoTable)?;
            let (prefix, delivery) = (prefix.trim(), Delivery::parse(word.trim()).ok_or(NoTable)?);
            let is_prefix = (1..=PREFIX_BYTES).contains(&prefix.len());
            if !is_prefix || lines.insert(prefix.to_owned(), delivery).is_some() {
                return Err(NoTable);
            }
        }
        if (1..=LINES).contains(&lines.len()) { Ok(Self(lines)) } else { Err(NoTable) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_beginning_decides_and_an_unknown_model_gets_text() {
        let table: Deliveries = "a-5=reference, a-5-5=append,b=tools".parse().unwrap();
        let choose = |model| table.choose(Format::Anthropic, model);
        assert_eq!(choose("a-5-20260101"), Delivery::Reference);
        assert_eq!(choose("a-5-5-20260101"), Delivery::Append);
        assert_eq!(choose("b"), Delivery::Tools);
        assert_eq!(choose("c"), Delivery::Invoke);
        assert_eq!(choose(""), Delivery::Invoke);
    }

    #[test]
    fn a_model_that_somebody_else_hosts_is_another_model() {
        let table = Deliveries::default();
        let choose = |model| table.choose(Format::Anthropic, model);
        assert_eq!(choose("claude-opus-5-5"), Delivery::Append);
        for model in ["claude-opus-5-5@20260801", "us.anthropic.claude-opus-5-5-v1:0", "anthropic/claude-opus-5-5"] {
            assert_eq!(choose(model), Delivery::Invoke, "{model}");
        }
        let table: Deliveries = "claude-opus-5-5@=reference".parse().unwrap();
        assert_eq!(table.choose(Format::Anthropic, "claude-opus-5-5@20260801"), Delivery::Reference);
    }

    #[test]
    fn a_format_gets_nothing_that_it_cannot_carry() {
        let table: Deliveries = "m=append".parse().unwrap();
        assert_eq!(table.choose(Format::Anthropic, "m"), Delivery::Append);
        assert_eq!(table.choose(Format::OpenaiResponses, "m"), Delivery::Append);
        assert_eq!(table.choose(Format::OpenaiChat, "m"), Delivery::Invoke);
        assert_eq!(table.choose(Format::Mcp, "m"), Delivery::Invoke);
    }

    #[test]
    fn a_table_is_read_as_it_is_written() {
        let table = Deliveries::default();
        assert_eq!(table.to_string().parse(), Ok(table));
        for text in ["", "a", "a=", "=append", "a=by_mail", "a=append,a=invoke"] {
            assert_eq!(text.parse::<Deliveries>(), Err(NoTable), "{text}");
        }
    }
}

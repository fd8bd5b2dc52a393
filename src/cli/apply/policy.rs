//! `policy.toml`: a namespace's whole policy, and what of it differs from the one in force.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use anyhow::{Context as _, bail};
use toml::Value;

use crate::core::policy::{KEYS, Policy};
use crate::proto::PolicyValue;

/// The file's name in the directory.
pub(super) const FILE: &str = "policy.toml";

/// A value that is to change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Change {
    /// The key.
    pub(super) key: String,
    /// The value in force.
    pub(super) old: String,
    /// The value to be.
    pub(super) new: String,
    /// Whether that is the default.
    is_default: bool,
}

/// Reads the policy of a directory: the value of every key. `None` where there is no such file.
pub(super) fn read(dir: &Path) -> anyhow::Result<Option<BTreeMap<String, String>>> {
    let path = dir.join(FILE);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    parse(&text).with_context(|| format!("cannot take {}", path.display())).map(Some)
}

/// Returns what differs from the policy in force. A daemon that has keys which this build does not know keeps them as
/// they are.
pub(super) fn changes(wanted: &BTreeMap<String, String>, now: &[PolicyValue]) -> Vec<Change> {
    let mut changes = Vec::new();
    for value in now {
        let Some(new) = wanted.get(&value.key).filter(|new| **new != value.value) else { continue };
        changes.push(Change {
            key: value.key.clone(),
            old: value.value.clone(),
            new: new.clone(),
            is_default: *new == value.default_value,
        });
    }
    changes
}

/// Returns the policy of a namespace that is not there yet.
pub(super) fn defaults() -> Vec<PolicyValue> {
    let policy = Policy::default();
    let value = |key: &crate::core::policy::Key| PolicyValue {
        key: key.name.to_owned(),
        value: key.get(&policy),
        default_value: key.get(&policy),
        ..PolicyValue::default()
    };
    KEYS.iter().map(value).collect()
}

/// Returns the changes as SetPolicy takes them: what goes back to its default is left to follow it.
pub(super) fn assignments(changes: &[Change]) -> HashMap<String, String> {
    let value = |change: &Change| if change.is_default { String::new() } else { change.new.clone() };
    changes.iter().map(|change| (change.key.clone(), value(change))).collect()
}

fn parse(text: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let table: toml::Table = toml::from_str(text)?;
    let mut values = BTreeMap::new();
    let mut wrong = Vec::new();
    flatten("", &table, &mut values, &mut wrong);
    for key in values.keys().filter(|key| KEYS.iter().all(|known| known.name != key.as_str())) {
        wrong.push(format!("{key}: no such key; nearest: {}", nearest(key)));
    }
    if wrong.is_empty() {
        match Policy::default().with(&values) {
            Ok(policy) => return Ok(KEYS.iter().map(|key| (key.name.to_owned(), key.get(&policy))).collect()),
            Err(violations) => {
                wrong.extend(violations.iter().map(|v| format!("{} = {}: {}", v.key, v.value, v.wanted)));
            }
        }
    }
    bail!(wrong.join("; "))
}

/// Takes values out of tables, with their dotted keys.
fn flatten(prefix: &str, table: &toml::Table, values: &mut BTreeMap<String, String>, wrong: &mut Vec<String>) {
    for (name, value) in table {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        let text = match value {
            Value::Table(table) => {
                flatten(&key, table, values, wrong);
                continue;
            }
            Value::String(text) if text.is_empty() => {
                wrong.push(format!("{key}: empty; leave it out for its default"));
                continue;
            }
            Value::String(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            Value::Boolean(is_on) => is_on.to_string(),
            Value::Array(_) | Value::Datetime(_) => {
                wrong.push(format!("{key}: must be a number, true, false or a text; lists are written \"a,b\""));
                continue;
            }
        };
        values.insert(key, text);
    }
}

/// Returns the known key that takes the fewest changes of a letter to get to.
fn nearest(key: &str) -> &'static str {
    KEYS.iter().map(|known| known.name).min_by_key(|known| distance(key, known)).unwrap_or_default()
}

/// Counts the letters to be put in, left out or replaced to get from one text to the other (Levenshtein).
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.chars().count()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.chars().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_dotted_keys_say_the_same_and_every_key_has_a_value() {
        let nested = parse("[hot_pool]\nslots = 5\n").expect("a policy");
        let dotted = parse("hot_pool.slots = 5").expect("a policy");
        assert_eq!(nested, dotted);
        assert_eq!((nested["hot_pool.slots"].as_str(), nested.len()), ("5", KEYS.len()));
    }

    #[test]
    fn what_is_left_out_goes_back_to_its_default() {
        let mut now = defaults();
        let slots = now.iter_mut().find(|value| value.key == "hot_pool.slots").expect("the key");
        slots.value = "3".to_owned();
        let changes = changes(&parse("").expect("a policy"), &now);
        assert_eq!(changes.len(), 1, "{changes:?}");
        assert_eq!((changes[0].old.as_str(), changes[0].new.as_str()), ("3", "10"));
        assert_eq!(assignments(&changes)["hot_pool.slots"], "");
    }

    #[test]
    fn a_value_written_otherwise_is_no_change() {
        let wanted = parse("hot_pool.slots = \"10\"\nhot_pool.decay = 0.950").expect("a policy");
        assert_eq!(changes(&wanted, &defaults()), []);
    }

    #[test]
    fn everything_that_is_wrong_is_said_with_the_nearest_key() {
        let refused = |text| parse(text).expect_err("a refusal").to_string();
        assert_eq!(refused("hot_pool.slot = 1"), "hot_pool.slot: no such key; nearest: hot_pool.slots");
        assert_eq!(refused("hot_pool.slots = 0"), "hot_pool.slots = 0: must be 1..=512");
        assert!(refused("hot_pool.slots = [1]\nplan.topm = 2").contains("nearest: plan.top_m"));
        assert!(refused("hot_pool.slots = \"\"").contains("empty"));
        assert!(refused("hot_pool = 1").contains("no such key"));
    }

    #[test]
    fn distance_counts_letters() {
        for (from, to, expected) in [("", "abc", 3), ("abc", "abc", 0), ("kitten", "sitting", 3)] {
            assert_eq!(distance(from, to), expected, "{from} {to}");
        }
    }
}

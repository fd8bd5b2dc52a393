//! `policy reference`: `docs/policy.md`, made from the tunables themselves.

use std::fmt::Write as _;

use serde_json::json;

use crate::cli::{DONE, Shell};
use crate::core::policy::{KEYS, Key, Policy};

const HEAD: &str = "\
# Policy

Everything that can be tuned in a namespace. `toolcrib policy get` shows the values in force, with `--origin` who set
them; `toolcrib policy set hot_pool.slots=12` changes one, and a value left empty goes back to its default. Policies
are read at every call, so a change counts from the next one; open sessions keep the block they have.

This page is what `toolcrib policy reference` prints.
";

/// What the keys of a group are about.
const GROUPS: &[(&str, &str)] = &[
    ("admission", "What a definition must be to enter the registry."),
    ("directory", "The list of one line a tool that stands in every block."),
    ("hot_pool", "The tools whose whole definitions are resident, chosen from use."),
    ("learn", "What is kept of traffic."),
    ("life", "When a tool is taken out, and how it comes back."),
    ("log", "How long the event log keeps traffic."),
    ("plan", "What a step may issue."),
    ("session", "Sessions and their blocks."),
];

/// Prints the reference.
pub(super) fn run(shell: &Shell) -> anyhow::Result<u8> {
    let defaults = Policy::default();
    let values: Vec<_> = KEYS
        .iter()
        .map(|key| {
            json!({
                "key": key.name,
                "default_value": key.get(&defaults),
                "accepts": key.accepts,
                "unit": key.unit,
                "reason": key.reason,
            })
        })
        .collect();
    shell.print(&json!({ "values": values }), &reference())?;
    Ok(DONE)
}

fn reference() -> String {
    let defaults = Policy::default();
    let mut text = HEAD.to_owned();
    let mut last_group = "";
    for key in KEYS {
        let group = group_of(key);
        if group != last_group {
            let _ = write!(text, "\n## {group}\n\n");
            if let Some((_, about)) = GROUPS.iter().find(|(name, _)| *name == group) {
                let _ = write!(text, "{about}\n\n");
            }
            text.push_str(
                "| key | default | accepts | unit | what it does, and why its default |\n|---|---|---|---|---|\n",
            );
            last_group = group;
        }
        let cells = [&key.get(&defaults), key.accepts, key.unit, key.reason].map(|cell| cell.replace('|', "\\|"));
        let [default, accepts, unit, reason] = cells;
        let _ = writeln!(text, "| `{}` | `{default}` | {accepts} | {unit} | {reason} |", key.name);
    }
    text
}

fn group_of(key: &Key) -> &'static str {
    key.name.split_once('.').map_or(key.name, |(group, _)| group)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn page_is_what_the_command_prints() {
        assert!(
            include_str!("../../../docs/policy.md") == reference(),
            "docs/policy.md is not what the tunables say; make it again: cargo run -- policy reference > docs/policy.md"
        );
    }

    #[test]
    fn every_group_is_said_what_it_is_about_and_stands_in_one_place() {
        let mut groups: Vec<&str> = KEYS.iter().map(group_of).collect();
        groups.dedup();
        let distinct: BTreeSet<&str> = groups.iter().copied().collect();
        assert_eq!(distinct.len(), groups.len(), "{groups:?}");
        let known: BTreeSet<&str> = GROUPS.iter().map(|(name, _)| *name).collect();
        assert_eq!(known, distinct);
    }
}

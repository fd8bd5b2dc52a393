//! `policy`: everything that can be tuned in a namespace.

use std::collections::HashMap;

use anyhow::bail;
use serde_json::{Value, json};

use super::output::{Column, facts, table};
use super::remote::new_request_id;
use super::{DONE, Shell};
use crate::proto::{GetPolicyRequest, PolicyValue, SetPolicyRequest};

/// Read and change what can be tuned in a namespace
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib policy get hot_pool")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Show values, their defaults and what is accepted
    #[command(after_help = "Example: toolcrib policy get hot_pool.slots")]
    Get {
        /// Only this value, or the values whose keys begin so
        key: Option<String>,
    },
    /// Change values, all or none; they count from the next call
    #[command(after_help = "Example: toolcrib policy set hot_pool.slots=12 plan.top_m=5")]
    Set {
        /// The new values; nothing after the `=` goes back to the default
        #[arg(required = true, value_name = "KEY=VALUE", value_parser = parse_assignment)]
        values: Vec<(String, String)>,
        /// Refuse unless the policy is at this version
        #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
        expect_version: u64,
    },
}

/// Runs the subcommand.
pub(super) async fn run(args: Args, shell: &Shell) -> anyhow::Result<u8> {
    match args.command {
        Command::Get { key } => get(key.as_deref(), shell).await,
        Command::Set { values, expect_version } => set(values, expect_version, shell).await,
    }
}

async fn get(key: Option<&str>, shell: &Shell) -> anyhow::Result<u8> {
    let remote = shell.connect().await?;
    let request = GetPolicyRequest { namespace: remote.namespace.clone() };
    let policy = remote.policies().get_policy(request).await?.into_inner();
    let values: Vec<_> = policy.values.iter().filter(|value| key.is_none_or(|key| is_under(value, key))).collect();
    if values.is_empty() {
        let keys: Vec<_> = policy.values.iter().map(|value| value.key.as_str()).collect();
        bail!("no value has the key {}; the keys are {}", key.unwrap_or_default(), keys.join(", "));
    }
    let text = match values.as_slice() {
        [value] => describe_one(value),
        several => describe(several),
    };
    let values: Vec<_> = values.iter().map(|value| to_json(value)).collect();
    shell.print(&json!({ "values": values, "version": policy.version }), &text)?;
    Ok(DONE)
}

async fn set(values: Vec<(String, String)>, expected_version: u64, shell: &Shell) -> anyhow::Result<u8> {
    let values = distinct(values)?;
    let remote = shell.connect().await?;
    let namespace = remote.namespace.clone();
    let request = SetPolicyRequest { namespace, values, expected_version, request_id: new_request_id() };
    let changed = remote.policies().set_policy(request).await?.into_inner();
    let text = format!("the policy is at version {}", changed.version);
    shell.print(&json!({ "version": changed.version, "durable": changed.durable }), &text)?;
    Ok(DONE)
}

fn parse_assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim().to_owned())),
        Some(_) | None => Err("must be KEY=VALUE such as hot_pool.slots=12".to_owned()),
    }
}

fn distinct(values: Vec<(String, String)>) -> anyhow::Result<HashMap<String, String>> {
    let mut map = HashMap::new();
    for (key, value) in values {
        if let Some(earlier) = map.insert(key.clone(), value) {
            bail!("{key} is given twice, the first time as \"{earlier}\"; give it once");
        }
    }
    Ok(map)
}

/// Returns whether a value has the key, or stands in the group of that name.
fn is_under(value: &PolicyValue, key: &str) -> bool {
    match value.key.strip_prefix(key.trim_end_matches('.')) {
        Some(rest) => rest.is_empty() || rest.starts_with('.'),
        None => false,
    }
}

fn to_json(value: &PolicyValue) -> Value {
    json!({
        "key": value.key,
        "value": value.value,
        "default_value": value.default_value,
        "accepts": value.accepts,
        "unit": value.unit,
        "reason": value.reason,
    })
}

fn describe_one(value: &PolicyValue) -> String {
    facts(&[
        ("key", value.key.clone()),
        ("value", with_unit(&value.value, &value.unit)),
        ("default", with_unit(&value.default_value, &value.unit)),
        ("accepts", value.accepts.clone()),
        ("reason", value.reason.clone()),
    ])
}

fn describe(values: &[&PolicyValue]) -> String {
    let mut rows = Vec::new();
    for value in values {
        let default = if value.value == value.default_value { String::new() } else { value.default_value.clone() };
        rows.push(vec![value.key.clone(), with_unit(&value.value, &value.unit), default, value.accepts.clone()]);
    }
    let columns = ["key", "value", "default", "accepts"].map(Column::Left);
    table(&columns, rows, "no values")
}

fn with_unit(value: &str, unit: &str) -> String {
    format!("{value} {unit}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assignment_is_cut_at_the_first_equals_sign() {
        let cut = |text| parse_assignment(text).map(|(key, value)| format!("{key}|{value}"));
        assert_eq!(cut("a.b=c=d").as_deref(), Ok("a.b|c=d"));
        assert_eq!(cut("a.b=").as_deref(), Ok("a.b|"));
        assert!(cut("a.b").is_err() && cut("=1").is_err());
    }

    #[test]
    fn key_given_twice_is_refused() {
        let twice = vec![("a".to_owned(), "1".to_owned()), ("a".to_owned(), "2".to_owned())];
        assert_eq!(
            distinct(twice).expect_err("a refusal").to_string(),
            "a is given twice, the first time as \"1\"; give it once"
        );
    }

    #[test]
    fn group_names_the_values_under_it_and_no_others() {
        let value = PolicyValue { key: "hot_pool.slots".to_owned(), ..PolicyValue::default() };
        for (key, expected) in
            [("hot_pool", true), ("hot_pool.", true), ("hot_pool.slots", true), ("hot", false), ("slots", false)]
        {
            assert_eq!(is_under(&value, key), expected, "{key}");
        }
    }
}

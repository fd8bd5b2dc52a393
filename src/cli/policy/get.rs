//! `policy get`.

use anyhow::bail;
use serde_json::{Value, json};

use crate::cli::output::{Column, facts, table};
use crate::cli::{DONE, Shell, json};
use crate::proto::{GetPolicyRequest, PolicyOrigin, PolicyValue};

/// Show values, their defaults and what is accepted
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib policy get hot_pool --origin")]
pub(super) struct Args {
    /// Only this value, or the values whose keys begin so
    key: Option<String>,
    /// Also show who set each value, when, and at which version of the policy
    #[arg(long)]
    origin: bool,
    /// Also show what each value does and why its default is what it is
    #[arg(long)]
    reasons: bool,
}

/// Prints the values.
pub(super) async fn run(args: Args, shell: &Shell) -> anyhow::Result<u8> {
    let remote = shell.connect().await?;
    let request = GetPolicyRequest { namespace: remote.namespace.clone() };
    let policy = remote.policies().get_policy(request).await?.into_inner();
    let key = args.key.as_deref();
    let values: Vec<_> = policy.values.iter().filter(|value| key.is_none_or(|key| is_under(value, key))).collect();
    if values.is_empty() {
        bail!("no value has the key {}; `toolcrib policy get` lists them", key.unwrap_or_default());
    }
    let text = match values.as_slice() {
        [value] => describe_one(value),
        several => describe(several, &args),
    };
    let text = format!("{text}\nthe policy is at version {}\n", policy.version);
    let values: Vec<_> = values.iter().map(|value| to_json(value)).collect();
    shell.print(&json!({ "values": values, "version": policy.version }), &text)?;
    Ok(DONE)
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
        "origin": value.origin.as_ref().map(origin_to_json),
    })
}

fn origin_to_json(origin: &PolicyOrigin) -> Value {
    json!({ "version": origin.version, "time": json::time(origin.time.as_ref()), "actor": origin.actor })
}

fn describe_one(value: &PolicyValue) -> String {
    facts(&[
        ("key", value.key.clone()),
        ("value", with_unit(&value.value, &value.unit)),
        ("default", with_unit(&value.default_value, &value.unit)),
        ("accepts", value.accepts.clone()),
        ("set", describe_origin(value)),
        ("reason", value.reason.clone()),
    ])
}

fn describe(values: &[&PolicyValue], args: &Args) -> String {
    let mut columns = vec!["key", "value", "default", "accepts"];
    if args.origin {
        columns.push("set");
    }
    if args.reasons {
        columns.push("reason");
    }
    let mut rows = Vec::new();
    for value in values {
        let default = if value.value == value.default_value { String::new() } else { value.default_value.clone() };
        let mut row = vec![value.key.clone(), with_unit(&value.value, &value.unit), default, value.accepts.clone()];
        if args.origin {
            row.push(describe_origin(value));
        }
        if args.reasons {
            row.push(value.reason.clone());
        }
        rows.push(row);
    }
    let columns: Vec<Column> = columns.into_iter().map(Column::Left).collect();
    table(&columns, rows, "no values")
}

/// Says who set a value; a changed value that nobody is known to have set comes from an older build.
fn describe_origin(value: &PolicyValue) -> String {
    match &value.origin {
        Some(origin) => {
            format!("version {}, {}, by {}", origin.version, json::time(origin.time.as_ref()), origin.actor)
        }
        None if value.value == value.default_value => "never: the default".to_owned(),
        None => "before this was kept".to_owned(),
    }
}

fn with_unit(value: &str, unit: &str) -> String {
    format!("{value} {unit}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_names_the_values_under_it_and_no_others() {
        let value = PolicyValue { key: "hot_pool.slots".to_owned(), ..PolicyValue::default() };
        for (key, expected) in
            [("hot_pool", true), ("hot_pool.", true), ("hot_pool.slots", true), ("hot", false), ("slots", false)]
        {
            assert_eq!(is_under(&value, key), expected, "{key}");
        }
    }

    #[test]
    fn origin_is_said_for_what_was_set_and_only_then() {
        let time = Some(prost_types::Timestamp { seconds: 60, nanos: 0 });
        let mut value = PolicyValue { value: "5".to_owned(), default_value: "5".to_owned(), ..PolicyValue::default() };
        assert_eq!(describe_origin(&value), "never: the default");
        value.value = "6".to_owned();
        assert_eq!(describe_origin(&value), "before this was kept");
        value.origin = Some(PolicyOrigin { version: 3, time, actor: "operator".to_owned() });
        assert_eq!(describe_origin(&value), "version 3, 1970-01-01T00:01:00Z, by operator");
    }
}

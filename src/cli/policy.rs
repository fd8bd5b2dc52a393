//! `policy`: everything that can be tuned in a namespace.

mod get;
mod reference;

use std::collections::HashMap;

use anyhow::bail;
use serde_json::json;

use super::remote::new_request_id;
use super::{DONE, Shell};
use crate::proto::SetPolicyRequest;

/// Read and change what can be tuned in a namespace
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib policy get hot_pool")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Get(get::Args),
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
    /// Print the reference of everything that can be tuned, as Markdown; asks no daemon
    #[command(after_help = "Example: toolcrib policy reference > policy.md")]
    Reference,
}

/// Runs the subcommand.
pub(super) async fn run(args: Args, shell: &Shell) -> anyhow::Result<u8> {
    match args.command {
        Command::Get(args) => get::run(args, shell).await,
        Command::Set { values, expect_version } => set(values, expect_version, shell).await,
        Command::Reference => reference::run(shell),
    }
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
}

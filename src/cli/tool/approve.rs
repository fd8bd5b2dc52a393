//! `tool approve` and `tool accept`: what an operator says of a definition after looking at it.

use super::{change, trust};
use crate::cli::Shell;
use crate::cli::json;
use crate::proto::ToolAction;

/// Serve the version that waits, named by its hash
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib tool approve github/create_issue --hash 7d4f… --note \"read the diff\"\n\n\
    `toolcrib tool diff NAME` shows what is new in it, and its hash. Blocks of open sessions stay as they are; a session \
    that was\nshown an older version keeps that one.")]
pub(super) struct ApproveArgs {
    /// source/name, or an alias, or a name that only one tool has
    name: String,
    /// The content hash of what waits, 64 hex digits
    #[arg(long, value_name = "HASH")]
    hash: String,
    /// Why, for the record
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    note: String,
}

/// Approves what waits.
pub(super) async fn run(args: ApproveArgs, shell: &Shell) -> anyhow::Result<u8> {
    let changed = change::change(shell, &args.name, ToolAction::Approve, args.note, args.hash).await?;
    let record = changed.record.clone().unwrap_or_default();
    let version = record.tool.as_ref().map_or(0, |tool| tool.version);
    let mut text = format!("{}; version {version} is served", change::describe(&record));
    if record.flags.iter().any(|flag| !flag.accepted) {
        let name = json::tool_name(record.tool.as_ref());
        text.push_str(&format!(
            "\nIt is flagged; a false alarm is ended with `toolcrib tool accept {name} --note TEXT`"
        ));
    }
    change::print(shell, &changed, &text)
}

/// Take the flags of what is served for false alarms
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib tool accept github/create_issue --note \"the link is our own wiki\"\n\n\
    The tool is no longer listed by `tool list --flagged`, and a later version with the same rule on the same field is \
    not held\nup for it; where definitions are pinned it waits all the same.")]
pub(super) struct AcceptArgs {
    /// source/name, or an alias, or a name that only one tool has
    name: String,
    /// Why they are false alarms, for the record
    #[arg(long, value_name = "TEXT")]
    note: String,
    /// The content hash of what is served, to be sure that it is what you looked at
    #[arg(long, value_name = "HASH", default_value = "", hide_default_value = true)]
    hash: String,
}

/// Accepts the flags.
pub(super) async fn run_accept(args: AcceptArgs, shell: &Shell) -> anyhow::Result<u8> {
    let changed = change::change(shell, &args.name, ToolAction::AcceptFlags, args.note, args.hash).await?;
    let record = changed.record.clone().unwrap_or_default();
    let mut text = format!("{}; its flags are accepted:\n", change::describe(&record));
    trust::describe_flags(&mut text, &record.flags);
    change::print(shell, &changed, text.trim_end())
}

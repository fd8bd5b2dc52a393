//! `tool retire`, `restore`, `quarantine`, `repair`, `pin` and `unpin`.

use serde_json::json;

use super::{find, list};
use crate::cli::remote::new_request_id;
use crate::cli::{DONE, Shell, json};
use crate::proto::{ChangeToolRequest, ChangeToolResponse, MoveCause, ToolAction, ToolRecord, ToolState};

#[derive(clap::Subcommand)]
pub(super) enum Command {
    /// Write a tool off; it is kept and can be restored
    #[command(after_help = "Example: toolcrib tool retire github/create_gist --reason \"replaced\"")]
    Retire(Args),
    /// Take a retired or held tool back
    #[command(after_help = "Example: toolcrib tool restore github/create_gist")]
    Restore(Args),
    /// Take a tool out until it is repaired
    #[command(after_help = "Example: toolcrib tool quarantine github/create_issue --reason \"token expired\"")]
    Quarantine(Args),
    /// Say that a quarantined tool was mended: it goes on probation
    #[command(after_help = "Example: toolcrib tool repair github/create_issue --reason \"new token\"")]
    Repair(Args),
    /// Keep a tool in the hot pool
    #[command(after_help = "Example: toolcrib tool pin github/create_issue")]
    Pin(Args),
    /// Stop keeping a tool in the hot pool
    #[command(after_help = "Example: toolcrib tool unpin github/create_issue")]
    Unpin(Args),
}

#[derive(clap::Args)]
pub(super) struct Args {
    /// source/name, or an alias, or a name that only one tool has
    name: String,
    /// Why, for the record
    #[arg(long, default_value = "", hide_default_value = true)]
    reason: String,
}

impl Command {
    fn into_parts(self) -> (ToolAction, Args) {
        match self {
            Self::Retire(args) => (ToolAction::Retire, args),
            Self::Restore(args) => (ToolAction::Restore, args),
            Self::Quarantine(args) => (ToolAction::Quarantine, args),
            Self::Repair(args) => (ToolAction::Repair, args),
            Self::Pin(args) => (ToolAction::Pin, args),
            Self::Unpin(args) => (ToolAction::Unpin, args),
        }
    }
}

/// Moves the tool and prints where it stands now.
pub(super) async fn run(command: Command, shell: &Shell) -> anyhow::Result<u8> {
    let (action, args) = command.into_parts();
    let changed = change(shell, &args.name, action, args.reason, String::new()).await?;
    let record = changed.record.clone().unwrap_or_default();
    print(shell, &changed, &describe(&record))
}

/// Asks for a change of a tool.
pub(super) async fn change(
    shell: &Shell,
    name: &str,
    action: ToolAction,
    reason: String,
    hash: String,
) -> anyhow::Result<ChangeToolResponse> {
    let remote = shell.connect().await?;
    let request = ChangeToolRequest {
        namespace: remote.namespace.clone(),
        tool: Some(find::find(&remote, name).await?),
        action: action.into(),
        reason,
        request_id: new_request_id(),
        hash,
    };
    Ok(remote.registry().change_tool(request).await?.into_inner())
}

/// Prints what became of a tool.
pub(super) fn print(shell: &Shell, changed: &ChangeToolResponse, text: &str) -> anyhow::Result<u8> {
    let record = changed.record.as_ref().map(json::tool_record);
    shell.print(&json!({ "record": record, "durable": changed.durable }), text)?;
    Ok(DONE)
}

/// Says where a tool stands.
pub(super) fn describe(record: &ToolRecord) -> String {
    let mut text = format!("{} is {}", json::tool_name(record.tool.as_ref()), json::state(record.state()));
    let place = list::place(record);
    if !place.is_empty() {
        text.push_str(&format!(", {place}"));
    }
    if record.state() == ToolState::Quarantined && record.cause() == MoveCause::QuarantinedByHand {
        text.push_str(" until `toolcrib tool repair` lets it back in");
    }
    text
}

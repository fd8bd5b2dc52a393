//! `session refresh`.

use serde_json::json;

use super::blocks;
use crate::cli::{DONE, Shell, json};
use crate::proto::{GetSessionRequest, Present, RefreshSessionRequest};

/// Take a session's pending changes: a new block, and so a break of the provider's prompt cache
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib session refresh conversation-1")]
pub(super) struct Args {
    /// Which session
    session: String,
    /// Names that the kept history still calls
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    present: Vec<String>,
}

/// Refreshes the session from the generation that it has now, and prints what changed.
pub(super) async fn run(args: Args, shell: &Shell) -> anyhow::Result<u8> {
    let remote = shell.connect().await?;
    let namespace = remote.namespace.clone();
    let ask = GetSessionRequest { namespace: namespace.clone(), session_id: args.session.clone(), ended: false };
    let now = remote.sessions().get_session(ask).await?.into_inner();
    let request = RefreshSessionRequest {
        namespace,
        session_id: args.session,
        generation: now.session.map_or(0, |session| session.generation),
        present: Some(Present { names: args.present }),
    };
    let refreshed = remote.sessions().refresh_session(request).await?.into_inner();
    let value = json!({
        "block": refreshed.block.as_ref().map(json::block),
        "taken": json::list(&refreshed.taken, json::pending_change),
        "durable": refreshed.durable,
    });
    let block = refreshed.block.as_ref().map(blocks::describe).unwrap_or_default();
    shell.print(&value, &format!("{}\n{block}", blocks::describe_changes(&refreshed.taken)))?;
    Ok(DONE)
}

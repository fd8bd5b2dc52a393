//! `session`: what a session holds, and opening, refreshing, closing and erasing one by hand.

pub(super) mod blocks;
mod erase;
mod history;
mod list;
pub(super) mod open;
mod refresh;
mod show;

use serde_json::json;

use super::{DONE, Shell};
use crate::proto::CloseSessionRequest;

/// List, show, open, refresh, close and erase sessions
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib session list")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    List(list::Args),
    Show(show::Args),
    Open(open::Args),
    Refresh(refresh::Args),
    /// Close a session
    #[command(after_help = "Example: toolcrib session close conversation-1")]
    Close {
        /// Which session
        session: String,
    },
    Erase(erase::Args),
}

/// Runs the subcommand.
pub(super) async fn run(args: Args, shell: &Shell) -> anyhow::Result<u8> {
    match args.command {
        Command::List(args) => list::run(args, shell).await,
        Command::Show(args) => show::run(args, shell).await,
        Command::Open(args) => open::run(args, shell).await,
        Command::Refresh(args) => refresh::run(args, shell).await,
        Command::Close { session } => close(session, shell).await,
        Command::Erase(args) => erase::run(args, shell).await,
    }
}

async fn close(session_id: String, shell: &Shell) -> anyhow::Result<u8> {
    let remote = shell.connect().await?;
    let request = CloseSessionRequest {
        namespace: remote.namespace.clone(),
        session_id: session_id.clone(),
        ..CloseSessionRequest::default()
    };
    let closed = remote.sessions().close_session(request).await?.into_inner();
    let value = json!({ "session_id": session_id, "durable": closed.durable });
    shell.print(&value, &format!("session {session_id} is closed"))?;
    Ok(DONE)
}

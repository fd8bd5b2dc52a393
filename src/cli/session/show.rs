//! `session show`.

use serde_json::{Value, json};

use super::blocks;
use crate::cli::output::{count, facts, word};
use crate::cli::{DONE, Shell, json};
use crate::proto::{GetSessionRequest, GetSessionResponse, Piece, ReadSessionRequest};

/// Show what a session holds, what a refresh would change, and where its tokens go
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib session show conversation-1 --pieces")]
pub(super) struct Args {
    /// Which session
    session: String,
    /// Also show every piece it was given
    #[arg(long)]
    pieces: bool,
}

/// Prints the session.
pub(super) async fn run(args: Args, shell: &Shell) -> anyhow::Result<u8> {
    let remote = shell.connect().await?;
    let (namespace, session_id) = (remote.namespace.clone(), args.session);
    let request = GetSessionRequest { namespace: namespace.clone(), session_id: session_id.clone() };
    let shown = remote.sessions().get_session(request).await?.into_inner();
    let mut pieces = Vec::new();
    if args.pieces {
        let request = ReadSessionRequest { namespace, session_id, ..ReadSessionRequest::default() };
        let mut stream = remote.sessions().read_session(request).await?.into_inner();
        while let Some(read) = stream.message().await? {
            pieces.extend(read.piece);
        }
    }
    shell.print(&to_json(&shown, args.pieces.then_some(&pieces)), &describe(&shown, &pieces))?;
    Ok(DONE)
}

fn to_json(shown: &GetSessionResponse, pieces: Option<&Vec<Piece>>) -> Value {
    let mut value = json!({
        "session": shown.session.as_ref().map(json::session_record),
        "block": shown.block.as_ref().map(json::block),
        "present": json::list(&shown.present, json::offer),
        "pending": json::list(&shown.pending, json::pending_change),
        "tokens": shown.tokens.as_ref().map(json::tokens),
        "distinct_blocks": shown.distinct_blocks,
    });
    if let Some(pieces) = pieces {
        value["pieces"] = json::list(pieces, json::piece);
    }
    value
}

fn describe(shown: &GetSessionResponse, pieces: &[Piece]) -> String {
    let session = shown.session.clone().unwrap_or_default();
    let mut text = facts(&[
        ("session", session.session_id.clone()),
        ("format", word(session.format().as_str_name(), "FORMAT_")),
        ("delivery", word(session.delivery().as_str_name(), "DELIVERY_")),
        ("model", session.model.clone()),
        ("parent", session.parent_session_id.clone()),
        ("opened", json::time(session.open_time.as_ref())),
        ("ends", json::time(session.expire_time.as_ref())),
        ("use", format!("{} steps, {} calls", count(session.steps), count(session.calls))),
        ("blocks", shown.distinct_blocks.to_string()),
        ("last step", shown.tokens.as_ref().map(blocks::describe_tokens).unwrap_or_default()),
    ]);
    if let Some(block) = &shown.block {
        text.push_str(&format!("\n{}", blocks::describe(block)));
    }
    text.push_str(&format!("\nissued and taken to be present:\n{}", blocks::describe_offers(&shown.present)));
    text.push_str(&format!("\na refresh would change:\n{}", blocks::describe_changes(&shown.pending)));
    text.push_str(&blocks::describe_pieces(pieces));
    text
}

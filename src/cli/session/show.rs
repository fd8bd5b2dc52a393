//! `session show`.

use serde_json::{Value, json};

use super::{blocks, history};
use crate::cli::output::{Column, count, facts, percent, ratio, table, word};
use crate::cli::{DONE, Shell, json};
use crate::proto::{GetSessionRequest, GetSessionResponse, Origin, Piece, ReadSessionRequest};

/// Show why a session went as it did, where its tokens go, and what a refresh would change
///
/// First stands what is clear-cut, if anything is: that the model gave up, or which tool it called in vain. A session
/// that has ended can be shown for ten minutes, without its block.
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
    let request = GetSessionRequest { namespace: namespace.clone(), session_id: session_id.clone(), ended: true };
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
        "on_demand_budget": shown.on_demand_budget,
        "on_demand_left": shown.on_demand_left,
        "distinct_blocks": shown.distinct_blocks,
        "history": shown.history.as_ref().map(history::to_json),
    });
    if let Some(pieces) = pieces {
        value["pieces"] = json::list(pieces, json::piece);
    }
    value
}

fn describe(shown: &GetSessionResponse, pieces: &[Piece]) -> String {
    let session = shown.session.clone().unwrap_or_default();
    let past = shown.history.clone().unwrap_or_default();
    let mut text = history::describe_findings(&past);
    let ended = match word(session.end().as_str_name(), "SESSION_END_") {
        reason if reason.is_empty() => String::new(),
        reason => format!("{} ({reason})", json::time(session.end_time.as_ref())),
    };
    text.push_str(&facts(&[
        ("session", session.session_id.clone()),
        ("format", word(session.format().as_str_name(), "FORMAT_")),
        ("delivery", word(session.delivery().as_str_name(), "DELIVERY_")),
        ("model", session.model.clone()),
        ("parent", session.parent_session_id.clone()),
        ("opened", json::time(session.open_time.as_ref())),
        ("ends", json::time(session.expire_time.as_ref())),
        ("ended", ended),
        ("use", format!("{} steps, {} calls", count(session.steps), count(session.calls))),
        ("block", describe_block(shown)),
        ("last step", shown.tokens.as_ref().map(blocks::describe_tokens).unwrap_or_default()),
        ("on demand", describe_budget(shown)),
    ]));
    if shown.block.is_some() {
        text.push_str(&format!("\nin front of the model now\n{}", describe_tokens(shown)));
        text.push_str(&format!("\na refresh would change\n{}", blocks::describe_changes(&shown.pending)));
    }
    text.push_str(&history::describe(&past));
    text.push_str(&blocks::describe_pieces(pieces));
    text
}

fn describe_block(shown: &GetSessionResponse) -> String {
    let Some(block) = &shown.block else { return String::new() };
    let rest = if block.pass_through { ", every candidate is resident" } else { "" };
    let digest: String = block.digest.chars().take(12).collect();
    format!(
        "{digest}, generation {}, epoch {}, {} bytes, different ones so far: {}{rest}",
        block.generation,
        block.epoch,
        count(block.size_bytes),
        shown.distinct_blocks
    )
}

fn describe_budget(shown: &GetSessionResponse) -> String {
    match shown.on_demand_budget {
        0 => String::new(),
        budget => format!("{} of {} tokens left", count(shown.on_demand_left), count(budget)),
    }
}

/// Writes every definition that stands in the context, and the directory, with its cost.
fn describe_tokens(shown: &GetSessionResponse) -> String {
    let window = u64::from(shown.tokens.as_ref().map_or(0, |tokens| tokens.window));
    let block = shown.block.clone().unwrap_or_default();
    let mut rows = Vec::new();
    let mut add = |part: &str, name: &str, tokens: u32| {
        rows.push(vec![part.to_owned(), name.to_owned(), count(tokens), percent(ratio(tokens.into(), window))]);
    };
    add("directory", "", block.tokens.unwrap_or_default().directory);
    for offer in block.offers.iter().filter(|offer| offer.origin() == Origin::Resident) {
        add("resident", &offer.name, offer.tokens);
    }
    for offer in &shown.present {
        add("on demand", &offer.name, offer.tokens);
    }
    for offer in block.offers.iter().filter(|offer| offer.origin() == Origin::Meta) {
        add("meta", &offer.name, offer.tokens);
    }
    let columns = [Column::Left("part"), Column::Left("name"), Column::Right("tokens"), Column::Right("of the window")];
    table(&columns, rows, "nothing")
}

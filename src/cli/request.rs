//! `request`: what a model would get when it asks for a tool.

use serde_json::{Value, json};

use super::output::{facts, word};
use super::session::blocks;
use super::visit::{InSession, Visit};
use super::{DONE, FAILED, Shell, json};
use crate::proto::request_tool_request::Ask;
use crate::proto::{RequestResult, RequestToolRequest, RequestToolResponse};

/// Ask for a tool as the model does with `request_tool`
///
/// The session is opened where it is not open; without --session one is made and closed again.
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib request --need \"merge two branches\"")]
pub(super) struct Args {
    /// Its name
    #[arg(required_unless_present = "need", conflicts_with = "need")]
    name: Option<String>,
    /// What is needed, in words
    #[arg(long, value_name = "TEXT")]
    need: Option<String>,
    #[command(flatten)]
    visit: InSession,
}

/// Asks and prints the answer; fails where the tool cannot be had.
pub(super) async fn run(args: Args, shell: &Shell) -> anyhow::Result<u8> {
    let remote = shell.connect().await?;
    let (visit, answer) = Visit::during(&remote, &args.visit, async |session_id| {
        let request = request(&args, &remote.namespace, session_id);
        Ok(remote.sessions().request_tool(request).await?.into_inner())
    })
    .await?;
    shell.print(&to_json(&answer, &visit), &describe(&answer, &visit, args.visit.pieces))?;
    Ok(match answer.result() {
        RequestResult::Unavailable | RequestResult::Retired | RequestResult::NotFound => FAILED,
        RequestResult::Unspecified
        | RequestResult::Exact
        | RequestResult::Near
        | RequestResult::Retrieved
        | RequestResult::AlreadyPresent
        | RequestResult::Own => DONE,
    })
}

fn request(args: &Args, namespace: &str, session_id: &str) -> RequestToolRequest {
    let ask = match (&args.name, &args.need) {
        (Some(name), _) => Some(Ask::Name(name.clone())),
        (None, need) => need.clone().map(Ask::Need),
    };
    RequestToolRequest {
        namespace: namespace.to_owned(),
        session_id: session_id.to_owned(),
        call_id: uuid::Uuid::now_v7().to_string(),
        ask,
        present: args.visit.present(),
        ..RequestToolRequest::default()
    }
}

fn to_json(answer: &RequestToolResponse, visit: &Visit) -> Value {
    json!({
        "session": visit.to_json(),
        "result": word(answer.result().as_str_name(), "REQUEST_RESULT_"),
        "reason": json::reason(answer.reason()),
        "pieces": json::list(&answer.pieces, json::piece),
        "issued": json::list(&answer.issued, json::offer),
        "listing": answer.listing.as_ref().map(json::listing),
        "nearest": answer.nearest,
        "excluded": json::list(&answer.excluded, json::exclusion),
    })
}

fn describe(answer: &RequestToolResponse, visit: &Visit, with_pieces: bool) -> String {
    let mut text = facts(&[
        ("result", word(answer.result().as_str_name(), "REQUEST_RESULT_")),
        ("reason", json::reason(answer.reason())),
        ("hint", answer.listing.clone().unwrap_or_default().hint),
        ("nearest", answer.nearest.join(", ")),
        ("left out", blocks::describe_exclusions(&answer.excluded)),
    ]);
    if !answer.issued.is_empty() {
        text.push_str(&format!("\n{}", blocks::describe_offers(&answer.issued)));
    }
    if with_pieces {
        text.push_str(&blocks::describe_pieces(&answer.pieces));
    }
    text.push_str(&format!("\n{}\n", visit.describe()));
    text
}

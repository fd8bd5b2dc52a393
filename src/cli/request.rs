//! `request`: what a model would get when it asks for a tool.

use serde_json::{Value, json};

use super::output::{facts, word};
use super::remote::Remote;
use super::session::blocks;
use super::session::open::Opening;
use super::visit::Visit;
use super::{DONE, FAILED, Shell, json, plan};
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
    /// Which session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Names of the on-demand definitions in the context; without it, all that was issued. Empty says none
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    present: Option<Vec<String>>,
    /// Show the pieces as a runtime would place them
    #[arg(long)]
    pieces: bool,
    #[command(flatten)]
    opening: Opening,
}

/// Asks and prints the answer; fails where the tool cannot be had.
pub(super) async fn run(args: Args, shell: &Shell) -> anyhow::Result<u8> {
    let remote = shell.connect().await?;
    let visit = Visit::begin(&remote, args.session.clone(), &args.opening).await?;
    let answered = ask(&remote, request(&args, &remote.namespace, &visit.session_id)).await;
    let ended = visit.end(&remote).await;
    let answer = answered?;
    ended?;
    shell.print(&to_json(&answer, &visit), &describe(&answer, &visit, args.pieces))?;
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

async fn ask(remote: &Remote, request: RequestToolRequest) -> Result<RequestToolResponse, tonic::Status> {
    Ok(remote.sessions().request_tool(request).await?.into_inner())
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
        present: plan::present(args.present.as_deref()),
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
    })
}

fn describe(answer: &RequestToolResponse, visit: &Visit, with_pieces: bool) -> String {
    let mut text = facts(&[
        ("result", word(answer.result().as_str_name(), "REQUEST_RESULT_")),
        ("reason", json::reason(answer.reason())),
        ("hint", answer.listing.clone().unwrap_or_default().hint),
        ("nearest", answer.nearest.join(", ")),
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

//! `session list`.

use serde_json::json;

use crate::cli::output::{Column, count, table, word};
use crate::cli::{DONE, Shell, json};
use crate::proto::{ListSessionsRequest, SessionRecord};

/// The most sessions of one page.
const PAGE: usize = 500;

/// List open sessions, newest first
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib session list --limit 20")]
pub(super) struct Args {
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
}

/// Prints the sessions.
pub(super) async fn run(args: Args, shell: &Shell) -> anyhow::Result<u8> {
    let remote = shell.connect().await?;
    let mut request = ListSessionsRequest {
        namespace: remote.namespace.clone(),
        page_size: u32::try_from(args.limit.clamp(1, PAGE))?,
        page_token: String::new(),
    };
    let mut sessions = Vec::new();
    let total = loop {
        let page = remote.sessions().list_sessions(request.clone()).await?.into_inner();
        sessions.extend(page.sessions);
        if page.next_page_token.is_empty() || sessions.len() >= args.limit {
            break page.total_size;
        }
        request.page_token = page.next_page_token;
    };
    sessions.truncate(args.limit);
    let value = json!({ "sessions": json::list(&sessions, json::session_record), "total": total });
    shell.print(&value, &describe(&sessions, total))?;
    Ok(DONE)
}

fn describe(sessions: &[SessionRecord], total: u32) -> String {
    let rows = sessions.iter().map(|session| {
        vec![
            session.session_id.clone(),
            json::time(session.open_time.as_ref()),
            word(session.format().as_str_name(), "FORMAT_"),
            word(session.delivery().as_str_name(), "DELIVERY_"),
            session.model.clone(),
            count(session.steps),
            count(session.calls),
            session.block_digest.chars().take(12).collect(),
        ]
    });
    let columns = [
        Column::Left("session"),
        Column::Left("opened"),
        Column::Left("format"),
        Column::Left("delivery"),
        Column::Left("model"),
        Column::Right("steps"),
        Column::Right("calls"),
        Column::Left("block"),
    ];
    let table = table(&columns, rows.collect(), "no session is open");
    let rest = if sessions.len() < total as usize { "; --limit shows more" } else { "" };
    format!("{table}\n{} of {} sessions{rest}\n", count(sessions.len()), count(total))
}

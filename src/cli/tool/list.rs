//! `tool list`.

use clap::ValueEnum;
use serde_json::json;

use crate::cli::output::{Column, count, table};
use crate::cli::remote::Remote;
use crate::cli::{DONE, Shell, json};
use crate::proto::{ListToolsRequest, ListToolsResponse, ToolRecord, ToolState};

/// Tools fetched at once.
const PAGE: u32 = 500;

/// List tools by name
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib tool list --contains issue --state active")]
pub(super) struct Args {
    /// Only tools whose name, source or summary contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    contains: String,
    /// Only tools in these states
    #[arg(long, value_enum, value_delimiter = ',', value_name = "STATE")]
    state: Vec<State>,
    /// Only tools with a flag that nobody accepted
    #[arg(long)]
    flagged: bool,
    /// Only tools of which a version waits for approval
    #[arg(long)]
    waiting: bool,
    /// At most this many; all of them where it is left out
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

#[derive(Clone, Copy, ValueEnum)]
enum State {
    Active,
    Quarantined,
    Probation,
    Held,
    Pending,
    Withdrawn,
    Retired,
}

impl State {
    fn to_proto(self) -> ToolState {
        match self {
            Self::Active => ToolState::Active,
            Self::Quarantined => ToolState::Quarantined,
            Self::Probation => ToolState::Probation,
            Self::Held => ToolState::Held,
            Self::Pending => ToolState::Pending,
            Self::Withdrawn => ToolState::Withdrawn,
            Self::Retired => ToolState::Retired,
        }
    }
}

/// Prints the tools.
pub(super) async fn run(args: Args, shell: &Shell) -> anyhow::Result<u8> {
    let remote = shell.connect().await?;
    let states = args.state.iter().map(|state| state.to_proto().into()).collect();
    let request = ListToolsRequest {
        contains: args.contains,
        states,
        flagged: args.flagged,
        waiting: args.waiting,
        ..ListToolsRequest::default()
    };
    let listed = all(&remote, request, args.limit).await?;
    let value = json!({ "tools": json::list(&listed.tools, json::tool_record), "total": listed.total_size });
    shell.print(&value, &describe(&listed))?;
    Ok(DONE)
}

/// Fetches page after page, up to `limit` tools; the answer holds them all.
pub(in crate::cli) async fn all(
    remote: &Remote,
    mut request: ListToolsRequest,
    limit: Option<usize>,
) -> Result<ListToolsResponse, tonic::Status> {
    let limit = limit.unwrap_or(usize::MAX);
    request.namespace = remote.namespace.clone();
    request.page_size = u32::try_from(limit).unwrap_or(PAGE).clamp(1, PAGE);
    let mut registry = remote.registry();
    let mut tools = Vec::new();
    loop {
        let page = registry.list_tools(request.clone()).await?.into_inner();
        let has_ended = page.next_page_token.is_empty() || tools.len() + page.tools.len() >= limit;
        tools.extend(page.tools);
        if has_ended {
            tools.truncate(limit);
            return Ok(ListToolsResponse { tools, total_size: page.total_size, ..ListToolsResponse::default() });
        }
        request.page_token = page.next_page_token;
    }
}

fn describe(listed: &ListToolsResponse) -> String {
    let rows = listed.tools.iter().map(|record| {
        vec![
            json::tool_name(record.tool.as_ref()),
            json::state(record.state()),
            place(record).to_owned(),
            trust(record),
            count(record.calls),
            format!("{:.2}", record.heat),
            count(record.slim_tokens),
            record.summary.clone(),
        ]
    });
    let columns = [
        Column::Left("tool"),
        Column::Left("state"),
        Column::Left("pool"),
        Column::Left("trust"),
        Column::Right("calls"),
        Column::Right("heat"),
        Column::Right("tokens"),
        Column::Left("summary"),
    ];
    let table = table(&columns, rows.collect(), "no tool matches");
    let rest = if listed.tools.len() < listed.total_size as usize { "; without --limit all are shown" } else { "" };
    format!("{table}\n{} of {} tools{rest}\n", count(listed.tools.len()), count(listed.total_size))
}

/// Says what somebody should look at: flags, and a version that waits.
fn trust(record: &ToolRecord) -> String {
    let waiting = record.waiting.as_ref();
    let mut flags = record.flags.iter().chain(waiting.iter().flat_map(|waiting| &waiting.flags));
    let mut words = Vec::new();
    if flags.any(|flag| !flag.accepted) {
        words.push("flagged".to_owned());
    }
    if let Some(waiting) = waiting {
        words.push(format!("version {} waits", waiting.version));
    }
    words.join(", ")
}

/// Says whether a tool is in the hot pool.
pub(super) fn place(record: &ToolRecord) -> &'static str {
    match (record.pinned, record.resident) {
        (true, _) => "pinned",
        (false, true) => "resident",
        (false, false) => "",
    }
}

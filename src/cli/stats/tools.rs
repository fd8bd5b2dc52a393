//! `stats tools`: every tool with its figures.

use clap::ValueEnum;
use serde_json::{Value, json};

use crate::cli::output::{Column, count, table, word};
use crate::cli::remote::Remote;
use crate::cli::{DONE, Shell, counts, json};
use crate::proto::{EndingFigures, ListToolStatsRequest, SelectionFigures, ToolOrder, ToolStat};

/// Tools fetched at once.
const PAGE: usize = 500;

/// Show every tool with its calls, failures, exposures, heat and density; those never called too
///
/// Failures are the tool's own (auth, timeout, transport, server_error), those of retries included. Wrong are picks of
/// the tool that were judged wrong. Density is calls for each step in which the tool had a line in the directory, over
/// the same of all tools together, since the tool was made: 1 is a tool called as often as the others where it is seen,
/// 0 one that nobody called. It is `-` for a tool that was never in the directory, and for all while nothing is called.
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib stats tools --order density --limit 20")]
pub(in crate::cli) struct Args {
    /// What comes first: most calls, heat, failures or calls while absent; least density; or the name
    #[arg(long, value_enum, default_value_t = Order::Calls)]
    order: Order,
    /// Only tools whose name, source or alias contains this
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    contains: String,
    /// Only tools of this source
    #[arg(long, value_name = "SOURCE", default_value = "", hide_default_value = true)]
    source: String,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// All of them
    #[arg(long, conflicts_with = "limit")]
    all: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Order {
    Calls,
    Heat,
    Failures,
    Absent,
    Density,
    Name,
}

impl Order {
    fn to_proto(self) -> ToolOrder {
        match self {
            Self::Calls => ToolOrder::Calls,
            Self::Heat => ToolOrder::Heat,
            Self::Failures => ToolOrder::Failures,
            Self::Absent => ToolOrder::Absent,
            Self::Density => ToolOrder::Density,
            Self::Name => ToolOrder::Name,
        }
    }
}

/// Prints the tools.
pub(in crate::cli) async fn run(args: Args, shell: &Shell) -> anyhow::Result<u8> {
    let remote = shell.connect().await?;
    let limit = if args.all { usize::MAX } else { args.limit };
    let request = ListToolStatsRequest {
        namespace: remote.namespace.clone(),
        contains: args.contains,
        source: args.source,
        order: args.order.to_proto().into(),
        page_size: u32::try_from(limit.clamp(1, PAGE))?,
        page_token: String::new(),
    };
    let (stats, total) = fetch(&remote, request, limit).await?;
    let value = json!({ "tools": json::list(&stats, to_json), "total": total });
    shell.print(&value, &describe(&stats, total))?;
    Ok(DONE)
}

async fn fetch(
    remote: &Remote,
    mut request: ListToolStatsRequest,
    limit: usize,
) -> Result<(Vec<ToolStat>, u32), tonic::Status> {
    let mut stats = Vec::new();
    loop {
        let page = remote.stats().list_tool_stats(request.clone()).await?.into_inner();
        stats.extend(page.tools);
        if page.next_page_token.is_empty() || stats.len() >= limit {
            stats.truncate(limit);
            return Ok((stats, page.total_size));
        }
        request.page_token = page.next_page_token;
    }
}

/// Returns one tool's figures as JSON.
pub(super) fn to_json(stat: &ToolStat) -> Value {
    json!({
        "tool": stat.tool.as_ref().map(json::tool_ref),
        "alias": stat.alias,
        "state": word(stat.state().as_str_name(), "TOOL_STATE_"),
        "calls": stat.calls,
        "presence": counts::calls(stat.presence.unwrap_or_default()),
        "endings": counts::endings(stat.endings.unwrap_or_default()),
        "retries": counts::endings(stat.retries.unwrap_or_default()),
        "failures": failures(stat),
        "selections": counts::selections(stat.selections.unwrap_or_default()),
        "wrong": wrong(stat),
        "last_call_tick": stat.last_call_tick,
        "last_call_time": json::time(stat.last_call_time.as_ref()),
        "heat": stat.heat,
        "directory_exposures": stat.directory_exposures,
        "resident_exposures": stat.resident_exposures,
        "issued_exposures": stat.issued_exposures,
        "density": stat.density,
    })
}

/// Returns the failures that are the tool's own.
fn failures(stat: &ToolStat) -> u64 {
    let own = |endings: EndingFigures| endings.auth + endings.timeout + endings.transport + endings.server_error;
    own(stat.endings.unwrap_or_default()) + own(stat.retries.unwrap_or_default())
}

fn wrong(stat: &ToolStat) -> u64 {
    let SelectionFigures { wrong_tool, unknown_tool, unavailable, invalid_arguments, .. } =
        stat.selections.unwrap_or_default();
    wrong_tool + unknown_tool + unavailable + invalid_arguments
}

fn describe(stats: &[ToolStat], total: u32) -> String {
    let text = table_of(stats);
    let rest = if stats.len() < total as usize { "; --all shows them" } else { "" };
    format!("{text}\n{} of {} tools{rest}\n", count(stats.len()), count(total))
}

/// Lays tools out with what fits beside their names.
pub(super) fn table_of(stats: &[ToolStat]) -> String {
    let rows = stats.iter().map(|stat| {
        vec![
            json::tool_name(stat.tool.as_ref()),
            json::state(stat.state()),
            count(stat.calls),
            format!("{:.2}", stat.heat),
            stat.density.map_or_else(|| "-".to_owned(), |density| format!("{density:.2}")),
            count(stat.presence.unwrap_or_default().absent),
            count(failures(stat)),
            count(wrong(stat)),
            count(stat.directory_exposures),
            count(stat.resident_exposures),
            count(stat.issued_exposures),
            json::time(stat.last_call_time.as_ref()),
        ]
    });
    let columns = [
        Column::Left("tool"),
        Column::Left("state"),
        Column::Right("calls"),
        Column::Right("heat"),
        Column::Right("density"),
        Column::Right("absent"),
        Column::Right("failures"),
        Column::Right("wrong"),
        Column::Right("in directory"),
        Column::Right("resident"),
        Column::Right("issued"),
        Column::Left("last call"),
    ];
    table(&columns, rows.collect(), "no tools")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_leave_out_what_is_the_callers() {
        let endings = EndingFigures { ok: 5, not_found: 7, timeout: 2, ..EndingFigures::default() };
        let retries = EndingFigures { ok: 1, auth: 3, ..EndingFigures::default() };
        let selections =
            SelectionFigures { right: 4, invalid_arguments: 2, unjudged: 9, ..SelectionFigures::default() };
        let stat = ToolStat {
            endings: Some(endings),
            retries: Some(retries),
            selections: Some(selections),
            ..ToolStat::default()
        };
        assert_eq!((failures(&stat), wrong(&stat)), (5, 2));
        assert_eq!(to_json(&stat)["density"], Value::Null);
    }

    #[test]
    fn part_of_the_list_says_how_to_see_the_rest() {
        let stats = [ToolStat::default(), ToolStat { density: Some(0.0), ..ToolStat::default() }];
        assert!(describe(&stats, 600).ends_with("\n2 of 600 tools; --all shows them\n"));
        assert!(describe(&stats, 2).ends_with("\n2 of 2 tools\n"));
    }
}

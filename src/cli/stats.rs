//! `stats`: the four figures, and the tools behind them.

mod tools;

use std::time::Duration;

use serde_json::{Value, json};

use super::output::{count, facts, percent, ratio};
use super::{DONE, Shell, counts, json};
use crate::proto::{CallFigures, Figures, GetStatsRequest, SelectionFigures, TokenFigures, ToolStateFigures};

/// Show the four figures of a namespace, its hot pool and its most called tools
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib stats --top 20")]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Of how many tools, the most called first
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: u32,
    /// Every namespace
    #[arg(long)]
    all: bool,
}

#[derive(clap::Subcommand)]
enum Command {
    Tools(tools::Args),
}

/// Prints the figures.
pub(super) async fn run(args: Args, shell: &Shell) -> anyhow::Result<u8> {
    if let Some(Command::Tools(args)) = args.command {
        return tools::run(args, shell).await;
    }
    let remote = shell.connect().await?;
    let namespace = if args.all { String::new() } else { remote.namespace.clone() };
    let stats = remote.stats().get_stats(GetStatsRequest { namespace, top: args.top }).await?.into_inner();
    let mut texts = Vec::new();
    for figures in &stats.figures {
        texts.push(describe(figures));
    }
    let value = json!({ "figures": json::list(&stats.figures, to_json) });
    shell.print(&value, &if texts.is_empty() { "no namespace yet".to_owned() } else { texts.join("\n\n") })?;
    Ok(DONE)
}

/// Shares of a namespace since it was made; `None` where there is nothing to share.
#[derive(Debug, PartialEq)]
struct Rates {
    /// Calls whose tool was there before the call.
    presence: Option<f64>,
    /// The same with recalls counted in.
    coverage: Option<f64>,
    /// Tokens of tool text in the windows.
    injection_share: Option<f64>,
    /// Wrong picks among those judged.
    mis_selection: Option<f64>,
    /// Selections that were judged.
    judged_share: Option<f64>,
    /// What was not spent of sending everything; negative where more was.
    saving: Option<f64>,
}

impl Rates {
    fn of(calls: CallFigures, selections: SelectionFigures, tokens: TokenFigures) -> Self {
        let there = calls.resident + calls.issued;
        let known = there + calls.recalled + calls.absent;
        let wrong =
            selections.wrong_tool + selections.unknown_tool + selections.unavailable + selections.invalid_arguments;
        let judged = wrong + selections.right;
        let spent = tokens.directory + tokens.resident + tokens.issued + tokens.meta;
        Self {
            presence: ratio(there, known),
            coverage: ratio(there + calls.recalled, known),
            injection_share: ratio(spent, tokens.window),
            mis_selection: ratio(wrong, judged),
            judged_share: ratio(judged, judged + selections.unjudged),
            saving: ratio(spent, tokens.everything).map(|share| 1.0 - share),
        }
    }

    fn of_figures(figures: &Figures) -> Self {
        Self::of(
            figures.calls.unwrap_or_default(),
            figures.selections.unwrap_or_default(),
            figures.tokens.unwrap_or_default(),
        )
    }
}

fn seconds(duration: Option<prost_types::Duration>) -> Option<f64> {
    duration.and_then(|duration| Duration::try_from(duration).ok()).map(|duration| duration.as_secs_f64())
}

fn to_json(figures: &Figures) -> Value {
    let rates = Rates::of_figures(figures);
    let tokens = figures.tokens.unwrap_or_default();
    let reranks = figures.reranks.unwrap_or_default();
    let sessions = figures.sessions.unwrap_or_default();
    let transitions = json::list(
        &figures.transitions,
        |moved| json!({ "new_state": json::state(moved.new_state()), "cause": json::cause(moved.cause()), "count": moved.count }),
    );
    json!({
        "namespace": figures.namespace,
        "rates": {
            "presence": rates.presence,
            "coverage": rates.coverage,
            "injection_share": rates.injection_share,
            "mis_selection": rates.mis_selection,
            "judged_share": rates.judged_share,
            "saving": rates.saving,
        },
        "recall_seconds": { "p50": seconds(figures.recall_p50), "p99": seconds(figures.recall_p99) },
        "tick": figures.tick,
        "epoch": figures.epoch,
        "steps": figures.steps,
        "calls": counts::calls(figures.calls.unwrap_or_default()),
        "selections": counts::selections(figures.selections.unwrap_or_default()),
        "tokens": {
            "directory": tokens.directory,
            "resident": tokens.resident,
            "issued": tokens.issued,
            "meta": tokens.meta,
            "window": tokens.window,
            "everything": tokens.everything,
        },
        "plans": counts::plans(figures.plans.unwrap_or_default()),
        "plans_without_call": counts::step_ends(figures.plans_without_call.unwrap_or_default()),
        "requests": counts::requests(figures.requests.unwrap_or_default()),
        "extra_hops": figures.extra_hops,
        "cache_breaks": counts::cache_breaks(figures.cache_breaks.unwrap_or_default()),
        "reranks": {
            "changed": reranks.changed, "unchanged": reranks.unchanged, "swapped_in": reranks.swapped_in,
        },
        "tools": counts::states(figures.tools.unwrap_or_default()),
        "transitions": transitions,
        "sessions": {
            "open": sessions.open,
            "closed": sessions.closed,
            "expired": sessions.expired,
            "distinct_blocks_per_session_max": sessions.distinct_blocks_per_session_max,
            "opened": counts::deliveries(sessions.opened.unwrap_or_default()),
        },
        "hot_pool": json::list(&figures.hot_pool, tools::to_json),
        "top": json::list(&figures.top, tools::to_json),
    })
}

fn describe(figures: &Figures) -> String {
    let rates = Rates::of_figures(figures);
    let reranks = figures.reranks.unwrap_or_default();
    let sessions = figures.sessions.unwrap_or_default();
    let mut text = facts(&[
        ("namespace", figures.namespace.clone()),
        (
            "presence rate",
            match rates.presence {
                Some(_) => format!("{}, coverage {}", percent(rates.presence), percent(rates.coverage)),
                None => "no calls yet".to_owned(),
            },
        ),
        ("injection share", format!("{}, saving {}", percent(rates.injection_share), percent(rates.saving))),
        ("mis-selection rate", describe_mis_selection(rates.mis_selection, rates.judged_share)),
        (
            "recall latency",
            format!("p50 {}, p99 {}", milliseconds(figures.recall_p50), milliseconds(figures.recall_p99)),
        ),
        ("steps", format!("{}, calls counted {}", count(figures.steps), count(figures.tick))),
        (
            "hot pool",
            format!(
                "epoch {}, {} re-ranks, {} of them with a change, {} tools swapped in",
                figures.epoch,
                count(reranks.changed + reranks.unchanged),
                count(reranks.changed),
                count(reranks.swapped_in)
            ),
        ),
        ("tools", describe_states(figures.tools.unwrap_or_default())),
        (
            "sessions",
            format!(
                "{} open, {} closed, {} expired",
                count(sessions.open),
                count(sessions.closed),
                count(sessions.expired)
            ),
        ),
    ]);
    text.push_str(&format!("\nhot pool, best first\n{}", tools::table_of(&figures.hot_pool)));
    if !figures.top.is_empty() {
        text.push_str(&format!("\nmost called\n{}", tools::table_of(&figures.top)));
    }
    text
}

/// Writes a mis-selection rate, which says nothing without the share that was judged.
pub(super) fn describe_mis_selection(rate: Option<f64>, judged_share: Option<f64>) -> String {
    match rate {
        Some(_) => format!("{}, with {} of the selections judged", percent(rate), percent(judged_share)),
        None => "no selection judged yet".to_owned(),
    }
}

fn milliseconds(duration: Option<prost_types::Duration>) -> String {
    seconds(duration).map_or_else(|| "-".to_owned(), |seconds| format!("{:.3} ms", seconds * 1e3))
}

fn describe_states(tools: ToolStateFigures) -> String {
    let mut text = format!("{} active", count(tools.active));
    for (n, state) in [
        (tools.quarantined, "quarantined"),
        (tools.probation, "on probation"),
        (tools.held, "held"),
        (tools.pending, "pending"),
        (tools.withdrawn, "withdrawn"),
        (tools.retired, "retired"),
    ] {
        if n > 0 {
            text.push_str(&format!(", {} {state}", count(n)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_taken_of_what_is_known() {
        let calls = CallFigures { resident: 6, issued: 2, recalled: 1, absent: 1, unknown: 90 };
        let selections = SelectionFigures { right: 3, wrong_tool: 1, unjudged: 4, ..SelectionFigures::default() };
        let tokens = TokenFigures { directory: 10, resident: 20, issued: 5, meta: 5, window: 400, everything: 160 };
        let expected = Rates {
            presence: Some(0.8),
            coverage: Some(0.9),
            injection_share: Some(0.1),
            mis_selection: Some(0.25),
            judged_share: Some(0.5),
            saving: Some(0.75),
        };
        assert_eq!(Rates::of(calls, selections, tokens), expected);
    }

    #[test]
    fn namespace_without_traffic_has_no_rates_and_still_prints() {
        let text = describe(&Figures { namespace: "new".to_owned(), ..Figures::default() });
        assert!(text.contains("presence rate       no calls yet"), "{text}");
        assert_eq!(to_json(&Figures::default())["rates"]["presence"], Value::Null);
        assert_eq!(to_json(&Figures::default())["cache_breaks"]["tools"], 0);
    }
}

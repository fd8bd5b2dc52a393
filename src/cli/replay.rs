//! `replay`: recorded traffic played again, without a daemon.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::ValueEnum;
use serde_json::{Value, json};

use super::output::{Column, count, facts, percent, table};
use super::{DONE, FAILED, Shell};
use crate::core::ids::NamespaceId;
use crate::core::policy::Policy;
use crate::offline::definitions::Definitions;
use crate::offline::frozen::replay_frozen;
use crate::offline::refold::{read_events, replay_events};
use crate::offline::replay::{ReplayPolicy, replay_live};
use crate::offline::report::{EventReport, FrozenReport, LiveReport};
use crate::offline::trace::{LineError, TraceLine, TraceTool, read_tools, read_trace};

/// Source of names that say none.
const DEFAULT_SOURCE: &str = "default";

/// Broken lines that are named.
const SHOWN: usize = 10;

/// Play recorded traffic against pool policies, side by side
///
/// With --events the log is drawn again from its causes instead, and the first difference is shown.
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib replay --tools tools.jsonl --trace trace.jsonl --policy ewma,lru")]
pub(super) struct Args {
    /// The tools, JSON lines
    #[arg(long, value_name = "FILE", requires = "trace", required_unless_present = "events")]
    tools: Option<PathBuf>,
    /// The trace, JSON lines
    #[arg(long, value_name = "FILE", requires = "tools")]
    trace: Option<PathBuf>,
    /// An event log, as `traffic export --events` writes it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["tools", "trace", "policy", "residency"])]
    events: Option<PathBuf>,
    /// Policies to compare; all where it is left out
    #[arg(long, value_enum, value_delimiter = ',', value_name = "POLICY")]
    policy: Vec<PolicyName>,
    /// Whether a running session sees the hot pool change, or keeps the block it was given
    #[arg(long, value_enum, default_value = "live")]
    residency: Residency,
    /// How many tools are resident
    #[arg(long, value_name = "N")]
    slots: Option<u32>,
    /// Calls from one re-rank to the next
    #[arg(long, value_name = "N")]
    every: Option<u32>,
    /// What a call leaves of every tool's heat, 0 to 1
    #[arg(long, value_name = "SHARE")]
    decay: Option<f64>,
    /// Most definitions issued for one step; read with frozen residency only
    #[arg(long, value_name = "N")]
    top_m: Option<u32>,
}

#[derive(Clone, Copy, ValueEnum)]
enum PolicyName {
    /// Every tool resident
    Full,
    /// The seeded tools all along
    Static,
    /// By last use
    Lru,
    /// By heat
    Ewma,
}

#[derive(Clone, Copy, ValueEnum)]
enum Residency {
    /// The pool as it stands: the reference's figures
    Live,
    /// The block of each session as it was opened: the daemon's figures
    Frozen,
}

impl PolicyName {
    fn to_replay(self) -> ReplayPolicy {
        match self {
            Self::Full => ReplayPolicy::Full,
            Self::Static => ReplayPolicy::Static,
            Self::Lru => ReplayPolicy::Lru,
            Self::Ewma => ReplayPolicy::Ewma,
        }
    }
}

/// Plays and prints; fails where a log was drawn differently from what it says.
pub(super) fn run(args: &Args, shell: &Shell) -> anyhow::Result<u8> {
    let overrides = overrides(args);
    if let Some(path) = &args.events {
        return run_events(path, &overrides, shell);
    }
    let (Some(tools), Some(trace)) = (&args.tools, &args.trace) else {
        bail!("name a tools file with --tools and a trace with --trace");
    };
    let policy = to_policy(&overrides)?;
    let tools = all_or_none(tools, read_tools(open(tools)?, DEFAULT_SOURCE))?;
    let trace = all_or_none(trace, read_trace(open(trace)?, DEFAULT_SOURCE))?;
    let asked: Vec<_> = args.policy.iter().map(|name| name.to_replay()).collect();
    let asked = if asked.is_empty() { ReplayPolicy::ALL.to_vec() } else { asked };
    let (value, text) = match args.residency {
        Residency::Live => live(&tools, &trace, &asked, &policy)?,
        Residency::Frozen => frozen(&tools, &trace, &asked, &policy)?,
    };
    shell.print(&value, &text)?;
    Ok(DONE)
}

/// Returns the flags as values of the policy.
fn overrides(args: &Args) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    for (key, value) in [
        ("hot_pool.slots", args.slots.map(|n| n.to_string())),
        ("hot_pool.every", args.every.map(|n| n.to_string())),
        ("hot_pool.decay", args.decay.map(|share| share.to_string())),
        ("plan.top_m", args.top_m.map(|n| n.to_string())),
    ] {
        if let Some(value) = value {
            values.insert(key.to_owned(), value);
        }
    }
    values
}

fn to_policy(overrides: &BTreeMap<String, String>) -> anyhow::Result<Policy> {
    Policy::default().with(overrides).map_err(|violations| {
        let said: Vec<_> = violations.iter().map(ToString::to_string).collect();
        anyhow::anyhow!("{}", said.join("; "))
    })
}

fn open(path: &Path) -> anyhow::Result<BufReader<File>> {
    Ok(BufReader::new(File::open(path).with_context(|| format!("cannot read {}", path.display()))?))
}

/// Returns what was read, unless a line was broken: figures over the rest would be figures of something else.
fn all_or_none<T>(path: &Path, (read, errors): (Vec<T>, Vec<LineError>)) -> anyhow::Result<Vec<T>> {
    if errors.is_empty() {
        return Ok(read);
    }
    let mut text = format!("{} has {} lines that cannot be read; mend them first", path.display(), errors.len());
    for error in errors.iter().take(SHOWN) {
        text.push_str(&format!("\n  {error}"));
    }
    if errors.len() > SHOWN {
        text.push_str(&format!("\n  and {} more", errors.len() - SHOWN));
    }
    bail!(text)
}

fn live(
    tools: &[TraceTool],
    trace: &[TraceLine],
    asked: &[ReplayPolicy],
    policy: &Policy,
) -> anyhow::Result<(Value, String)> {
    let mut figures = Vec::new();
    for one in asked {
        figures.push(replay_live(tools, trace, *one, &policy.hot_pool));
    }
    let mut rows = Vec::new();
    for one in &figures {
        rows.push(vec![
            one.policy.to_owned(),
            percent(one.presence),
            count(one.absent),
            count(one.calls),
            count(one.steps),
            count(one.swapped_in),
            count(one.changes),
            count(one.changes_in_session),
            rounded(one.tokens_per_step),
        ]);
    }
    let columns = [
        Column::Left("policy"),
        Column::Right("presence"),
        Column::Right("absent"),
        Column::Right("calls"),
        Column::Right("steps"),
        Column::Right("swapped in"),
        Column::Right("changes"),
        Column::Right("in session"),
        Column::Right("tokens/step"),
    ];
    let unknown = figures.first().map_or(0, |one| one.unknown_calls);
    let note = "live residency: the pool changes under running sessions, which the daemon never does to a block";
    let text = format!("{}\n{note}{}\n", table(&columns, rows, "no policy"), describe_unknown(unknown));
    Ok((serde_json::to_value(LiveReport::new(figures))?, text))
}

fn frozen(
    tools: &[TraceTool],
    trace: &[TraceLine],
    asked: &[ReplayPolicy],
    policy: &Policy,
) -> anyhow::Result<(Value, String)> {
    let definitions = Definitions::of(tools, &policy.admission);
    let mut figures = Vec::new();
    for one in asked {
        figures.push(replay_frozen(&definitions, trace, *one, policy));
    }
    let mut rows = Vec::new();
    for one in &figures {
        rows.push(vec![
            one.policy.to_owned(),
            percent(one.presence),
            percent(one.resident_share),
            count(one.absent),
            count(one.calls),
            count(one.steps),
            count(one.swapped_in),
            rounded(one.tokens_per_step),
            percent(one.injection_share),
            percent(one.saving),
        ]);
    }
    let columns = [
        Column::Left("policy"),
        Column::Right("presence"),
        Column::Right("in block"),
        Column::Right("absent"),
        Column::Right("calls"),
        Column::Right("steps"),
        Column::Right("swapped in"),
        Column::Right("tokens/step"),
        Column::Right("of window"),
        Column::Right("saving"),
    ];
    let unknown = figures.first().map_or(0, |one| one.unknown_calls);
    let mut text = table(&columns, rows, "no policy");
    text.push_str("\nfrozen residency: each session keeps the block it was given, as the daemon serves it");
    text.push_str(&describe_unknown(unknown));
    if let Some(n) = definitions.would_be_refused.filter(|n| *n > 0) {
        text.push_str(&format!("\n{} tools would be refused by the gate; they are played all the same", count(n)));
    }
    Ok((serde_json::to_value(FrozenReport::new(definitions.would_be_refused, figures))?, text))
}

fn describe_unknown(calls: u64) -> String {
    if calls == 0 {
        return String::new();
    }
    format!("\n{} calls name tools that the tools file lacks; they are outside every figure", count(calls))
}

fn rounded(tokens: Option<f64>) -> String {
    tokens.map_or_else(|| "-".to_owned(), |tokens| format!("{tokens:.0}"))
}

fn run_events(path: &Path, overrides: &BTreeMap<String, String>, shell: &Shell) -> anyhow::Result<u8> {
    let records = all_or_none(path, read_events(open(path)?))?;
    let namespace = NamespaceId::new(shell.namespace.as_str());
    let report = replay_events(namespace, &records, overrides)?;
    shell.print(&serde_json::to_value(&report)?, &describe_events(&report))?;
    Ok(if report.difference.is_some() { FAILED } else { DONE })
}

fn describe_events(report: &EventReport) -> String {
    let compared = match (&report.difference, report.compared) {
        (Some(difference), _) => {
            format!(
                "differs at {}: {}",
                difference.seq,
                json!({ "log": difference.recorded, "drawn": difference.drawn })
            )
        }
        (None, true) => "every consequence is drawn as the log has it".to_owned(),
        (None, false) => "the log holds causes only: nothing to compare".to_owned(),
    };
    facts(&[
        ("log", compared),
        ("records", format!("{}, of them {} causes", count(report.records), count(report.causes))),
        ("calls", count(report.ticks)),
        ("presence", format!("{}, coverage {}", percent(report.presence), percent(report.coverage))),
        ("injection share", percent(report.injection_share)),
        ("mis-selection", format!("{} of the {} judged", percent(report.mis_selection), percent(report.judged_share))),
        (
            "hot pool",
            format!(
                "{} epochs, {} re-ranks, {} tools swapped in",
                count(report.epochs),
                count(report.reranks),
                count(report.swapped_in)
            ),
        ),
    ])
}

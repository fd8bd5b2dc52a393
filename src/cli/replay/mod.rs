//! `replay`: recorded traffic played again, without a daemon.

mod events;
mod frozen;
mod live;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use super::output::count;
use super::{DONE, Shell};
use crate::core::policy::Policy;
use crate::offline::replay::ReplayPolicy;
use crate::offline::trace::{LineError, read_tools, read_trace};
use anyhow::{Context as _, bail};
use clap::ValueEnum;

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
        return events::run(path, &overrides, shell);
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
        Residency::Live => live::play(&tools, &trace, &asked, &policy)?,
        Residency::Frozen => frozen::play(&tools, &trace, &asked, &policy)?,
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

fn describe_unknown(calls: u64) -> String {
    if calls == 0 {
        return String::new();
    }
    format!("\n{} calls name tools that the tools file lacks; they are outside every figure", count(calls))
}

fn rounded(tokens: Option<f64>) -> String {
    tokens.map_or_else(|| "-".to_owned(), |tokens| format!("{tokens:.0}"))
}

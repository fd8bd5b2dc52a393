//! `toolcrib demo`: what the daemon does for an agent, shown in one process on recorded traffic.
//!
//! Starts a daemon on a throw-away store, imports real catalogs, plays recorded sessions through gRPC and prints what
//! the daemon counted. Nothing here goes round the API: this is an agent runtime with a fast-forward key. What is made
//! up (arguments) and what cannot be said (mis-selection) is said to be so.

mod catalog;
mod context;
mod daemon;
mod player;
mod recording;
mod summary;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use indicatif::{ProgressBar, ProgressStyle};
use tonic::transport::Channel;

use super::output::{note, print_line, print_text};
use super::traffic;
use crate::config::Config;
use crate::proto::stats_service_client::StatsServiceClient;
use crate::proto::{ExportKind, ExportTrafficRequest, Figures, GetStatsRequest};
use crate::telemetry;
use catalog::Toolbox;
use daemon::{Daemon, Ports};
use summary::Summary;

/// The namespace in which the demo plays.
const NAMESPACE: &str = "demo";

/// Sessions that are played at the same time.
const SESSIONS_AT_ONCE: usize = 8;

/// Play recorded traffic against a daemon in this process, and print its figures
#[derive(clap::Args, Debug)]
#[command(after_help = "Example: toolcrib demo --keep, then in another terminal: toolcrib stats --namespace demo")]
pub struct Args {
    /// Keep serving afterwards, on the ports of `toolcrib serve`, until interrupted
    #[arg(long)]
    keep: bool,
    /// Write every event of the run to this file, as `toolcrib replay --events` reads it
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
}

/// Runs the demo. The figures go to standard output, all else to standard error.
pub async fn run(args: Args, json: bool) -> anyhow::Result<()> {
    // The daemon's troubles are the demo's; its everyday lines would only break the progress bar. Where the process logs
    // already, that is enough.
    let _ = telemetry::log_as_text("warn");
    let ports = if args.keep { Ports::Default } else { Ports::Any };
    let mut daemon = Daemon::start(ports).await?;
    let mut outcome = tokio::select! {
        outcome = play_and_print(&daemon, json, args.events.as_deref()) => outcome,
        waited = interrupt() => waited.and_then(|()| bail!("interrupted")),
    };
    if outcome.is_ok() && args.keep {
        outcome = keep_serving(&mut daemon).await;
    } else if outcome.is_ok() && !json {
        say_where_next();
    }
    // Also after a failure, so that the store is closed before its folder goes.
    let stopped = daemon.stop().await;
    outcome.and(stopped)
}

async fn play_and_print(daemon: &Daemon, json: bool, events: Option<&Path>) -> anyhow::Result<()> {
    let summary = play(&daemon.channel).await?;
    if let Some(path) = events {
        let kind = ExportKind::Events.into();
        let request = ExportTrafficRequest { namespace: NAMESPACE.into(), kind, after: 0 };
        traffic::export_to(StatsServiceClient::new(daemon.channel.clone()), request, path).await?;
    }
    if json { print_line(&summary.to_json()?) } else { print_text(&summary.to_text()) }
}

async fn keep_serving(daemon: &mut Daemon) -> anyhow::Result<()> {
    note(&format!(
        "\nServing on {} until interrupted; metrics at http://{}/metrics.\n\
         Next, in another terminal: `toolcrib stats --namespace {NAMESPACE}`.",
        daemon.grpc, daemon.metrics
    ));
    tokio::select! {
        () = daemon.ended() => Ok(()),
        waited = interrupt() => waited,
    }
}

async fn interrupt() -> anyhow::Result<()> {
    tokio::signal::ctrl_c().await.context("cannot wait for an interrupt")
}

fn say_where_next() {
    note(&format!(
        "\nNext: `toolcrib demo --keep` leaves it serving, with metrics at http://{}/metrics;\n\
         `toolcrib serve`, then `toolcrib import your-server.json`, for your own tools.",
        Config::default().server.metrics
    ));
}

/// Imports the catalogs and plays the traffic.
async fn play(channel: &Channel) -> anyhow::Result<Summary> {
    let admissions = catalog::import(channel, &recording::CATALOGS).await?;
    let scripts = recording::scripts()?;
    let toolbox = Arc::new(Toolbox::fetch(channel, &recording::called_tools(&scripts)).await?);
    let n_steps = scripts.iter().map(|script| script.steps.len() as u64).sum();
    let progress = progress_bar(n_steps)?;
    let played = player::play(channel, scripts, toolbox, SESSIONS_AT_ONCE, &progress).await;
    progress.finish_and_clear();
    let played = played?;
    let figures = figures(channel).await?;
    Ok(Summary::new(&figures, &admissions, &played))
}

/// A bar on standard error; draws nothing where that is no terminal.
fn progress_bar(n_steps: u64) -> anyhow::Result<ProgressBar> {
    let style = ProgressStyle::with_template("playing recorded traffic {bar:40} {pos}/{len} steps")?;
    Ok(ProgressBar::new(n_steps).with_style(style))
}

/// Asks the daemon for its figures.
async fn figures(channel: &Channel) -> anyhow::Result<Figures> {
    let request = GetStatsRequest { namespace: NAMESPACE.into(), top: 0 };
    let answer =
        StatsServiceClient::new(channel.clone()).get_stats(request).await.context("cannot read the figures")?;
    answer.into_inner().figures.into_iter().next().context("the daemon has no figures of the demo")
}

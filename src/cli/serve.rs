//! `serve`: the daemon.
//!
//! Opens what the server needs, hands it over, and waits for signals: SIGTERM and SIGINT stop it, a second one at once;
//! SIGHUP reads the configuration again. Everything else the daemon does is `server`'s.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::check_config::Settings;
use super::{DONE, FAILED};
use crate::config::{LogFormat, Setting};
use crate::core::event::Word as _;
use crate::engine::clock::SystemClock;
use crate::server::{self, Ended, Parts};
use crate::store::sqlite;
use crate::telemetry::metrics::{ConfigReload, Metrics};
use crate::telemetry::{self, LevelSwitch};

/// Exit code when the store or a writer failed for good: the daemon may be started again (EX_TEMPFAIL).
const STORE_FAILED: u8 = 75;

/// What a stop may take beyond waiting for requests: the last flush, and closing the store.
const STOP_ALLOWANCE: Duration = Duration::from_secs(server::LAST_FLUSH.as_secs() + 1);

/// The one setting that a running daemon takes over.
const LEVEL: &str = "log.level";

/// SIGXFSZ on Linux, which has no name in tokio.
const FILE_SIZE_LIMIT: i32 = 25;

/// Run the daemon
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib serve --db crib.db --listen 127.0.0.1:7117")]
pub(super) struct Args {
    #[command(flatten)]
    settings: Settings,
}

/// Runs the daemon until a signal stops it.
pub(super) async fn run(args: Args) -> anyhow::Result<u8> {
    let (config, settings) = args.settings.load()?;
    let level = config.log.level.as_str();
    let level_switch = match config.log.format {
        LogFormat::Text => telemetry::log_as_text(level),
        LogFormat::Json => telemetry::log_as_json(level),
    }
    .context("cannot start the log")?;
    let mut stop_signals = StopSignals::new().context("cannot listen for signals")?;
    let mut reload_signal = signal(SignalKind::hangup()).context("cannot listen for SIGHUP")?;
    // With a handler, a file size limit shows as a failed write, which the store can tell, instead of ending us.
    let _file_size_limit = signal(SignalKind::from_raw(FILE_SIZE_LIMIT)).context("cannot listen for SIGXFSZ")?;

    // Addresses first: a second daemon started by mistake ends before it touches a store.
    let listener = bind(config.server.listen, "--listen").await?;
    let metrics = bind(config.server.metrics, "--metrics").await?;
    let (log, reader) = sqlite::open(&config.store.path)
        .with_context(|| format!("cannot open the database {}", config.store.path.display()))?;
    info!(
        listen = %listener.local_addr()?,
        metrics = %metrics.local_addr()?,
        db = %config.store.path.display(),
        version = env!("CARGO_PKG_VERSION"),
        "starting"
    );

    let drain = Duration::from_secs(config.limits.drain_secs);
    let stop = CancellationToken::new();
    let clock = Arc::new(SystemClock::new());
    let counts = Metrics::new(config.limits.metric_namespaces);
    let parts = Parts {
        counts: counts.clone(),
        config,
        listener,
        metrics,
        log: Box::new(log),
        reader: Arc::new(reader),
        clock,
        upkeep: server::UPKEEP,
    };
    // A task of its own, so that nothing it does can keep the signals from being heard.
    let mut running = tokio::spawn(server::run(parts, stop.clone().cancelled_owned()));
    let mut reload = Reload { source: args.settings, running: settings, level_switch, counts };
    loop {
        tokio::select! {
            ended = &mut running => return exit_code(ended),
            _ = reload_signal.recv() => reload.read_again(),
            name = stop_signals.recv() => {
                info!(signal = name, "told to stop");
                break;
            }
        }
    }

    stop.cancel();
    tokio::select! {
        ended = running => exit_code(ended),
        () = tokio::time::sleep(drain + STOP_ALLOWANCE) => {
            error!("not stopped in time, ending anyway");
            Ok(FAILED)
        }
        name = stop_signals.recv() => {
            error!(signal = name, "asked twice to stop, ending at once");
            Ok(FAILED)
        }
    }
}

async fn bind(address: SocketAddr, flag: &str) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| {
        format!("cannot listen on {address}; end what listens there, or name another address with {flag}")
    })
}

fn exit_code(ended: Result<anyhow::Result<Ended>, tokio::task::JoinError>) -> anyhow::Result<u8> {
    match ended.context("the server ended by itself")?? {
        Ended::Clean => {
            info!("stopped");
            Ok(DONE)
        }
        Ended::Failed => {
            error!("stopped because the store or a writer failed");
            Ok(STORE_FAILED)
        }
    }
}

/// The signals that stop a daemon.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    fn new() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits until somebody wants the daemon to stop; returns the signal's name.
    async fn recv(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

/// Reading the configuration again.
struct Reload {
    source: Settings,
    running: Vec<Setting>,
    level_switch: LevelSwitch,
    counts: Metrics,
}

impl Reload {
    /// Takes over the log level, and says of everything else that changed that it waits for a restart.
    fn read_again(&mut self) {
        let (config, wanted) = match self.source.load() {
            Ok(loaded) => loaded,
            Err(refused) => {
                error!(%refused, "configuration not reloaded");
                self.counts.config_reloaded(ConfigReload::Refused);
                return;
            }
        };
        let mut result = ConfigReload::Ok;
        for changed in changed(&self.running, &wanted) {
            if changed.name != LEVEL {
                warn!(setting = changed.name, value = changed.value, "this setting changes at the next start only");
            } else if let Err(error) = self.level_switch.set(config.log.level.as_str()) {
                error!(%error, "log level not changed");
                result = ConfigReload::Refused;
            } else {
                self.take_over(changed);
            }
        }
        self.counts.config_reloaded(result);
        info!("configuration reloaded");
    }

    fn take_over(&mut self, setting: &Setting) {
        for running in &mut self.running {
            if running.name == setting.name {
                *running = setting.clone();
            }
        }
    }
}

/// Returns the wanted settings whose value is not the running one.
fn changed<'a>(running: &[Setting], wanted: &'a [Setting]) -> Vec<&'a Setting> {
    let is_running = |setting: &Setting| running.iter().any(|r| r.name == setting.name && r.value == setting.value);
    wanted.iter().filter(|setting| !is_running(setting)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Origin;

    #[test]
    fn setting_that_only_comes_from_elsewhere_has_not_changed() {
        let setting = |name, value: &str, origin| Setting { name, value: value.to_owned(), origin };
        let running = [setting("log.level", "info", Origin::Default), setting("store.path", "a.db", Origin::Flag)];
        let wanted = [setting("log.level", "info", Origin::File), setting("store.path", "b.db", Origin::File)];
        let names: Vec<_> = changed(&running, &wanted).iter().map(|setting| setting.name).collect();
        assert_eq!(names, ["store.path"]);
    }
}

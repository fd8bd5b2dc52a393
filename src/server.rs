//! The daemon: everything put together, served until it is told to stop, and stopped within a bound.
//!
//! Takes bound listeners, a checked configuration, an open store, a clock and any future as the stop signal, so that
//! tests start the very same server.

mod accept;
mod scrape;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::server::NamedService;
use tonic::transport::Server;
use tonic_health::ServingStatus;

use crate::config::Config;
use crate::core::tokens;
use crate::engine::clock::Clock;
use crate::engine::journal::{Journal, JournalConfig, JournalThread, StoreState};
use crate::engine::{Engine, Parts as EngineParts};
use crate::grpc::Api;
use crate::proto;
use crate::proto::policy_service_server::PolicyServiceServer;
use crate::proto::registry_service_server::RegistryServiceServer;
use crate::proto::session_service_server::SessionServiceServer;
use crate::proto::stats_service_server::StatsServiceServer;
use crate::store::{Log, Reader};
use crate::telemetry::metrics::Metrics;

/// How often what time makes due is looked for, unless a test cannot wait so long.
pub const UPKEEP: Duration = Duration::from_secs(1);

/// How long writers and the journal may take for what they have left, once nothing is served any more. With the ten
/// seconds of the default drain it stays within the 15 s that a stop may take.
pub const LAST_FLUSH: Duration = Duration::from_secs(3);

/// How often a connection is asked whether somebody is still there, and how long the answer may take: one whose peer is
/// gone would hold its slot, and its streams, for ever.
const PING_EVERY: Duration = Duration::from_secs(30);
const PING_ANSWER: Duration = Duration::from_secs(10);

/// Streams that a client may make the server reset before its connection is closed; the library's default is no bound.
const RESETS: usize = 1_024;

/// What health is told of; the empty name is the daemon as a whole.
const SERVICES: [&str; 5] = [
    "",
    <SessionServiceServer<Api> as NamedService>::NAME,
    <RegistryServiceServer<Api> as NamedService>::NAME,
    <PolicyServiceServer<Api> as NamedService>::NAME,
    <StatsServiceServer<Api> as NamedService>::NAME,
];

/// Bytes of one import message.
const CHUNK_BYTES: usize = 1 << 20;

/// What a daemon is made of.
pub struct Parts {
    /// What it runs with.
    pub config: Config,
    /// Where it answers gRPC.
    pub listener: TcpListener,
    /// Where it answers scrapes.
    pub metrics: TcpListener,
    /// Where it counts. Made by whoever starts it, who may have something to count too; with
    /// [`Limits::metric_namespaces`](crate::config::Limits::metric_namespaces) labels.
    pub counts: Metrics,
    /// The way into its log.
    pub log: Box<dyn Log>,
    /// The way out of it.
    pub reader: Arc<dyn Reader>,
    /// Its clock.
    pub clock: Arc<dyn Clock>,
    /// How often what time makes due is looked for.
    pub upkeep: Duration,
}

/// How a daemon ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// It was told to.
    Clean,
    /// The store, or a writer, failed in a way that only a restart can mend: the log must be read back.
    Failed,
}

/// Runs the daemon until `shutdown` resolves or something fails for good, then drains within the configured time.
pub async fn run(parts: Parts, shutdown: impl Future<Output = ()> + Send + 'static) -> anyhow::Result<Ended> {
    let config = parts.config;
    let metrics = parts.counts;
    let (journal, journal_thread) = start_journal(&config, parts.log, &parts.clock, &metrics)?;
    let engine_parts = EngineParts {
        journal: journal.clone(),
        reader: parts.reader,
        clock: parts.clock,
        max_namespaces: config.limits.namespaces,
    };
    let start = move || {
        tokens::load();
        Engine::start(engine_parts)
    };
    let engine = tokio::task::spawn_blocking(start).await??;
    let engine = Arc::new(engine);
    let stop = CancellationToken::new();

    let upkeep = spawn_upkeep(engine.clone(), metrics.clone(), parts.upkeep, stop.clone());
    let scrapes = scrape::spawn(parts.metrics, engine.clone(), metrics.clone(), stop.clone());
    let addr = parts.listener.local_addr().context("the listener has no address")?;
    tracing::info!(%addr, namespaces = engine.namespaces().len(), "serving");
    let mut serving = serve(&config, parts.listener, engine.clone(), metrics, stop.clone()).await?;

    let has_failed = tokio::select! {
        () = shutdown => false,
        () = failed(&journal, &engine, parts.upkeep) => true,
        ended = &mut serving => {
            tracing::error!(?ended, "the server ended by itself");
            true
        }
    };
    tracing::info!(has_failed, "stopping");
    stop.cancel();
    let drain = Duration::from_secs(config.limits.drain_secs);
    // The library's graceful shutdown waits for ever on one silent connection, so the bound is ours.
    if !serving.is_finished() && tokio::time::timeout(drain, &mut serving).await.is_err() {
        tracing::warn!(secs = drain.as_secs(), "connections were still open and were cut off");
    }
    for task in [upkeep, scrapes] {
        task.abort();
    }
    serving.abort();
    let last_steps = tokio::task::spawn_blocking(move || {
        engine.stop();
        journal_thread.stop(LAST_FLUSH)
    });
    // A disk that hangs holds the threads that wait for it; they end with the process.
    let is_written = match tokio::time::timeout(LAST_FLUSH, last_steps).await {
        Ok(stopped) => match stopped? {
            Ok(()) => true,
            Err(unflushed) => {
                tracing::error!(events = unflushed.events, why = ?unflushed.why, "events were not written");
                false
            }
        },
        Err(_) => {
            tracing::error!(secs = LAST_FLUSH.as_secs(), "the store did not finish, what it still held is lost");
            false
        }
    };
    Ok(if has_failed || !is_written { Ended::Failed } else { Ended::Clean })
}

fn start_journal(
    config: &Config,
    log: Box<dyn Log>,
    clock: &Arc<dyn Clock>,
    metrics: &Metrics,
) -> anyhow::Result<(Journal, JournalThread)> {
    let settings = JournalConfig {
        flush: Duration::from_millis(config.journal.flush_ms),
        batch_events: config.journal.batch_events,
        buffer_events: config.journal.buffer_events,
        ..JournalConfig::default()
    };
    let metrics = metrics.clone();
    let on_commit = Box::new(move |took, events| metrics.log_committed(took, events));
    Journal::start(log, settings, clock.clone(), on_commit).context("the journal cannot be started")
}

async fn serve(
    config: &Config,
    listener: TcpListener,
    engine: Arc<Engine>,
    metrics: Metrics,
    stop: CancellationToken,
) -> anyhow::Result<JoinHandle<Result<(), tonic::transport::Error>>> {
    let limits = &config.limits;
    let api = Api::new(engine, metrics.clone(), limits.clone(), stop.clone());
    let (health_reporter, health) = tonic_health::server::health_reporter();
    for service in SERVICES {
        health_reporter.set_service_status(service, ServingStatus::Serving).await;
    }
    let bytes = limits.message_bytes;
    let mut router = Server::builder()
        .max_concurrent_streams(limits.streams_per_connection)
        .http2_max_local_error_reset_streams(Some(RESETS))
        .http2_keepalive_interval(Some(PING_EVERY))
        .http2_keepalive_timeout(Some(PING_ANSWER))
        .add_service(health)
        .add_service(SessionServiceServer::new(api.clone()).max_decoding_message_size(bytes))
        .add_service(RegistryServiceServer::new(api.clone()).max_decoding_message_size(bytes.max(CHUNK_BYTES)))
        .add_service(PolicyServiceServer::new(api.clone()).max_decoding_message_size(bytes))
        .add_service(StatsServiceServer::new(api).max_decoding_message_size(bytes));
    if config.server.reflection {
        let described = || {
            tonic_reflection::server::Builder::configure()
                .register_encoded_file_descriptor_set(proto::FILE_DESCRIPTOR_SET)
                .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        };
        router = router
            .add_service(described().build_v1().context("reflection cannot be built")?)
            .add_service(described().build_v1alpha().context("reflection cannot be built")?);
    }
    let first_bytes = Duration::from_secs(limits.first_bytes_secs);
    let incoming = accept::accept(listener, limits.connections, first_bytes, metrics, stop.clone());
    let stopped = async move {
        stop.cancelled().await;
        for service in SERVICES {
            health_reporter.set_service_status(service, ServingStatus::NotServing).await;
        }
    };
    Ok(tokio::spawn(router.serve_with_incoming_shutdown(incoming, stopped)))
}

fn spawn_upkeep(engine: Arc<Engine>, metrics: Metrics, every: Duration, stop: CancellationToken) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut ticks = tokio::time::interval(every);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = ticks.tick() => {}
            }
            engine.upkeep(engine.clock().now()).await;
            scrape::mirror(&engine, &metrics).await;
            metrics.upkeep();
        }
    })
}

/// Resolves when the store or a writer has failed for good.
async fn failed(journal: &Journal, engine: &Engine, every: Duration) {
    let mut ticks = tokio::time::interval(every);
    loop {
        ticks.tick().await;
        if matches!(journal.state(), StoreState::Failed { .. }) {
            return;
        }
        if engine.has_lost_writer() {
            tracing::error!("a writer panicked, its namespace is not served any more");
            return;
        }
    }
}

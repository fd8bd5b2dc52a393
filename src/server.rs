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
use tonic::transport::Server;

use crate::config::Config;
use crate::engine::clock::Clock;
use crate::engine::journal::{Journal, JournalConfig, JournalThread, StoreState};
use crate::engine::{Engine, Parts as EngineParts};
use crate::grpc::Api;
use crate::proto::policy_service_server::PolicyServiceServer;
use crate::proto::registry_service_server::RegistryServiceServer;
use crate::proto::session_service_server::SessionServiceServer;
use crate::proto::stats_service_server::StatsServiceServer;
use crate::proto::{self};
use crate::store::{Log, Reader};
use crate::telemetry::metrics::Metrics;

/// How often what time makes due is looked for, unless a test cannot wait so long.
pub const UPKEEP: Duration = Duration::from_secs(1);

/// How long the journal may take for its last flush.
const LAST_FLUSH: Duration = Duration::from_secs(5);

/// Streams that a client may make the server reset before its connection is closed; the library's default is no bound.
const RESETS: usize = 1_024;

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
    /// The store failed in a way that only a restart can mend: the log must be read back.
    StoreFailed,
}

/// Runs the daemon until `shutdown` resolves or the store fails for good, then drains within the configured time.
pub async fn run(parts: Parts, shutdown: impl Future<Output = ()> + Send + 'static) -> anyhow::Result<Ended> {
    let config = parts.config;
    let metrics = Metrics::new(config.limits.metric_namespaces);
    let (journal, journal_thread) = start_journal(&config, parts.log, &parts.clock, &metrics)?;
    let engine_parts = EngineParts {
        journal: journal.clone(),
        reader: parts.reader,
        clock: parts.clock,
        max_namespaces: config.limits.namespaces,
    };
    let engine = tokio::task::spawn_blocking(move || Engine::start(engine_parts)).await??;
    let engine = Arc::new(engine);
    let stop = CancellationToken::new();

    let upkeep = spawn_upkeep(engine.clone(), metrics.clone(), parts.upkeep, stop.clone());
    let scrapes = scrape::spawn(parts.metrics, engine.clone(), metrics.clone(), stop.clone());
    let addr = parts.listener.local_addr().context("the listener has no address")?;
    tracing::info!(%addr, namespaces = engine.namespaces().len(), "serving");
    let serving = serve(&config, parts.listener, engine.clone(), metrics, stop.clone()).await?;

    let has_failed = tokio::select! {
        () = shutdown => false,
        () = failed(&journal, parts.upkeep) => true,
    };
    tracing::info!(has_failed, "stopping");
    stop.cancel();
    let drain = Duration::from_secs(config.limits.drain_secs);
    // The library's graceful shutdown waits for ever on one silent connection, so the bound is ours.
    if tokio::time::timeout(drain, serving).await.is_err() {
        tracing::warn!(secs = drain.as_secs(), "requests were still in work and were cut off");
    }
    for task in [upkeep, scrapes] {
        task.abort();
    }
    let unflushed = tokio::task::spawn_blocking(move || {
        engine.stop();
        journal_thread.stop(LAST_FLUSH)
    })
    .await?;
    if let Err(unflushed) = unflushed {
        tracing::error!(events = unflushed.events, why = ?unflushed.why, "events were not written");
    }
    Ok(if has_failed { Ended::StoreFailed } else { Ended::Clean })
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
    let api = Api::new(engine, metrics.clone(), limits.clone());
    let (health_reporter, health) = tonic_health::server::health_reporter();
    health_reporter.set_serving::<SessionServiceServer<Api>>().await;
    health_reporter.set_serving::<RegistryServiceServer<Api>>().await;
    health_reporter.set_serving::<PolicyServiceServer<Api>>().await;
    health_reporter.set_serving::<StatsServiceServer<Api>>().await;
    let bytes = limits.message_bytes;
    let mut router = Server::builder()
        .max_concurrent_streams(limits.streams_per_connection)
        .http2_max_local_error_reset_streams(Some(RESETS))
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
        health_reporter.set_not_serving::<SessionServiceServer<Api>>().await;
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

/// Resolves when the store has failed for good.
async fn failed(journal: &Journal, every: Duration) {
    let mut ticks = tokio::time::interval(every);
    loop {
        ticks.tick().await;
        if matches!(journal.state(), StoreState::Failed { .. }) {
            return;
        }
    }
}

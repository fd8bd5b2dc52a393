//! `/metrics`, on a listener of its own.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::serve::Listener;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, Semaphore};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::accept::Connection;
use crate::core::event::ToolState;
use crate::core::figures::Figures;
use crate::core::ids::NamespaceId;
use crate::core::namespace::Namespace;
use crate::engine::Engine;
use crate::engine::journal::StoreState;
use crate::store::LogExtent;
use crate::telemetry::metrics::{self, Metrics, NamespaceSample};

/// How long a namespace may take to say how it stands: its writer may be waiting for the disk, which is when an operator
/// most wants the rest.
const LOOK: Duration = Duration::from_millis(500);

/// Connections of scrapers at once.
const SCRAPERS: usize = 16;

/// What a scrape wants to know of a namespace.
struct Sample {
    namespace: NamespaceId,
    figures: Figures,
    tools: BTreeMap<ToolState, u64>,
    resident_tools: u64,
    sessions: u64,
    policy_version: u64,
    extent: Option<LogExtent>,
}

/// Answers scrapes until it is stopped, one at a time: each asks every writer how things stand, and however many ask,
/// the writers have other things to do.
pub fn spawn(listener: TcpListener, engine: Arc<Engine>, metrics: Metrics, stop: CancellationToken) -> JoinHandle<()> {
    let turn = Arc::new(Mutex::new(()));
    let scrape = move || {
        let (engine, metrics, turn) = (engine.clone(), metrics.clone(), turn.clone());
        async move {
            let _turn = turn.lock().await;
            mirror(&engine, &metrics).await;
            ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], metrics.render()).into_response()
        }
    };
    let router = Router::new().route("/metrics", get(scrape));
    let listener = Scrapers { listener, slots: Arc::new(Semaphore::new(SCRAPERS)) };
    tokio::spawn(async move {
        let served = axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await;
        if let Err(error) = served {
            tracing::error!(%error, "metrics are no longer served");
        }
    })
}

/// Accepts scrapers up to a bound: the descriptors that they hold are missing at the other door.
struct Scrapers {
    listener: TcpListener,
    slots: Arc<Semaphore>,
}

impl Listener for Scrapers {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        loop {
            let (stream, address) = Listener::accept(&mut self.listener).await;
            if let Ok(slot) = self.slots.clone().try_acquire_owned() {
                return (Connection::new(stream, slot), address);
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// Sets the metrics that mirror what the log implies. A namespace that is too busy to say keeps its last values.
pub async fn mirror(engine: &Engine, metrics: &Metrics) {
    let mut looks = JoinSet::new();
    for (id, handle) in engine.namespaces() {
        let extent = engine.journal().extent(&id);
        let look = move |namespace: &Namespace| Sample {
            namespace: id,
            figures: namespace.figures().clone(),
            tools: namespace.tools_by_state(),
            resident_tools: namespace.pool().members().len() as u64,
            sessions: namespace.n_open() as u64,
            policy_version: namespace.policy_version(),
            extent,
        };
        looks.spawn(async move { tokio::time::timeout(LOOK, handle.look(look)).await });
    }
    let mut samples = Vec::new();
    while let Some(looked) = looks.join_next().await {
        if let Ok(Ok(Ok(sample))) = looked {
            samples.push(sample);
        }
    }
    let samples: Vec<NamespaceSample<'_>> = samples
        .iter()
        .map(|sample| NamespaceSample {
            namespace: &sample.namespace,
            figures: &sample.figures,
            tools: sample.tools.clone(),
            resident_tools: sample.resident_tools,
            sessions: sample.sessions,
            policy_version: sample.policy_version,
            log_bytes: sample.extent.map_or(0, |extent| extent.bytes),
            log_begin_at: sample.extent.map(|extent| extent.begin_at),
        })
        .collect();
    metrics.mirror(engine.clock().now(), &samples);
    let journal = engine.journal().figures();
    let mut n_unlogged = 0;
    let mut n_shed = 0;
    for handle in engine.namespaces().values() {
        n_unlogged += handle.n_unlogged();
        n_shed += handle.n_shed();
    }
    let now = engine.clock().now();
    metrics.snapshot_age(engine.journal().oldest_snapshot().map(|at| now.0 - at.0));
    metrics.log_queue(journal.queued_events);
    metrics.log_lost(journal.lost_events + n_unlogged);
    metrics.log_shed(n_shed);
    metrics.store_writable(matches!(engine.journal().state(), StoreState::Writable));
}

//! `/metrics`, on a listener of its own.

use std::sync::Arc;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::core::figures::Figures;
use crate::core::ids::NamespaceId;
use crate::engine::Engine;
use crate::engine::journal::StoreState;
use crate::telemetry::metrics::{self, Metrics, NamespaceSample};

/// What a scrape wants to know of a namespace.
struct Sample {
    namespace: NamespaceId,
    figures: Figures,
    tools: std::collections::BTreeMap<crate::core::event::ToolState, u64>,
    resident_tools: u64,
    sessions: u64,
    policy_version: u64,
}

/// Answers scrapes until it is stopped.
pub fn spawn(listener: TcpListener, engine: Arc<Engine>, metrics: Metrics, stop: CancellationToken) -> JoinHandle<()> {
    let scrape = move || {
        let (engine, metrics) = (engine.clone(), metrics.clone());
        async move {
            mirror(&engine, &metrics).await;
            ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], metrics.render()).into_response()
        }
    };
    let router = Router::new().route("/metrics", get(scrape));
    tokio::spawn(async move {
        let served = axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await;
        if let Err(error) = served {
            tracing::error!(%error, "metrics are no longer served");
        }
    })
}

/// Sets the metrics that mirror what the log implies. A namespace that is too busy to say keeps its last values.
pub async fn mirror(engine: &Engine, metrics: &Metrics) {
    let mut samples = Vec::new();
    for (id, handle) in engine.namespaces() {
        let looked = handle.look(move |namespace| Sample {
            namespace: id,
            figures: namespace.figures().clone(),
            tools: namespace.tools_by_state(),
            resident_tools: namespace.pool().members().len() as u64,
            sessions: namespace.n_open() as u64,
            policy_version: namespace.policy_version(),
        });
        samples.extend(looked.await.ok());
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
        })
        .collect();
    metrics.mirror(engine.clock().now(), &samples);
    let journal = engine.journal().figures();
    let unlogged: u64 = engine.namespaces().values().map(|handle| handle.n_unlogged()).sum();
    metrics.log_queue(journal.queued_events);
    metrics.log_lost(journal.lost_events + unlogged);
    metrics.store_writable(matches!(engine.journal().state(), StoreState::Writable));
}

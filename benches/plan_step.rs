//! PlanStep over loopback at 4,076 tools, beside a call that does nothing.
//!
//! Read the ratio: the second is what gRPC alone costs here. The catalog is Seal-Tools of
//! `../shared/data` where it is at hand, else tools made of its size.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use divan::Bencher;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tonic::transport::Channel;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use toolcrib::config::Config;
use toolcrib::engine::clock::SystemClock;
use toolcrib::proto::registry_service_client::RegistryServiceClient;
use toolcrib::proto::session_service_client::SessionServiceClient;
use toolcrib::proto::*;
use toolcrib::server::{self, Parts};
use toolcrib::store::sqlite;
use toolcrib::telemetry::metrics::Metrics;

const QUERIES: [&str; 6] = [
    "Find the cheapest flight from Berlin to Rome next Friday and book it",
    "What is the weather like in Tokyo",
    "create an invoice for the last project and send it to the client",
    "translate this contract into French",
    "how many nurses work in the district",
    "plot the temperature of the reactor over the last week",
];

fn main() {
    divan::main();
}

/// A daemon with a large catalog, and an open session.
struct Daemon {
    runtime: Runtime,
    sessions: SessionServiceClient<Channel>,
    health: HealthClient<Channel>,
    next: AtomicUsize,
    _dir: tempfile::TempDir,
}

impl Daemon {
    fn start() -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("toolcrib.db");
        let channel = runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let metrics = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let url = format!("http://{}", listener.local_addr().expect("an address"));
            let (log, reader) = sqlite::open(&path).expect("a store");
            let parts = Parts {
                counts: Metrics::new(4),
                config: Config::default(),
                listener,
                metrics,
                log: Box::new(log),
                reader: Arc::new(reader),
                clock: Arc::new(SystemClock::new()),
                upkeep: Duration::from_secs(1),
            };
            tokio::spawn(server::run(parts, std::future::pending()));
            Channel::from_shared(url).expect("an address").connect().await.expect("the daemon answers")
        });
        let mut registry = RegistryServiceClient::new(channel.clone());
        let mut sessions = SessionServiceClient::new(channel.clone());
        runtime.block_on(async {
            registry.import_tools(tokio_stream::iter(catalog())).await.expect("the catalog is taken in");
            let open = OpenSessionRequest {
                namespace: "bench".into(),
                session_id: "a".into(),
                format: Format::OpenaiChat.into(),
                ..Default::default()
            };
            sessions.open_session(open).await.expect("a session");
        });
        Self { runtime, sessions, health: HealthClient::new(channel), next: AtomicUsize::new(0), _dir: dir }
    }

    fn request(&self) -> PlanStepRequest {
        let n = self.next.fetch_add(1, Ordering::Relaxed);
        PlanStepRequest {
            namespace: "bench".into(),
            session_id: "a".into(),
            query: Some(Query { user: QUERIES[n % QUERIES.len()].into(), ..Default::default() }),
            // Every step starts from an empty context, so that every step issues.
            present: Some(Present { names: Vec::new() }),
            ..Default::default()
        }
    }
}

/// Returns a catalog as an import sends it.
fn catalog() -> Vec<ImportToolsRequest> {
    use import_tools_request::Part;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/retrieval/sealtools/tools.jsonl");
    let bytes = std::fs::read(&path).unwrap_or_else(|_| {
        eprintln!("{} is not there: 4,076 made tools instead", path.display());
        made_catalog().into_bytes()
    });
    let target = ImportTarget { namespace: "bench".into(), file_name: "seal/tools.jsonl".into(), ..Default::default() };
    let mut parts = vec![ImportToolsRequest { part: Some(Part::Target(target)) }];
    for chunk in bytes.chunks(256 * 1024) {
        parts.push(ImportToolsRequest { part: Some(Part::Chunk(chunk.to_vec().into())) });
    }
    parts
}

fn made_catalog() -> String {
    let (verbs, things) = (["get", "find", "book", "plot"], ["flight", "invoice", "reactor", "nurse"]);
    let line = |i: usize| {
        let (verb, thing) = (verbs[i % 4], things[i / 4 % 4]);
        format!(
            r#"{{"name":"{verb}_{thing}_{i}","description":"Use it to {verb} a {thing} of kind {i} when asked.","input_schema":{{"type":"object","properties":{{"{thing}":{{"type":"string"}}}}}}}}"#
        )
    };
    (0..4_076).map(line).collect::<Vec<_>>().join("\n")
}

#[divan::bench]
fn call_that_does_nothing(bencher: Bencher<'_, '_>) {
    let daemon = Daemon::start();
    bencher.bench(|| {
        let mut health = daemon.health.clone();
        daemon.runtime.block_on(async { health.check(HealthCheckRequest::default()).await.expect("an answer") })
    });
}

#[divan::bench]
fn plan_step(bencher: Bencher<'_, '_>) {
    let daemon = Daemon::start();
    bencher.bench(|| {
        let mut sessions = daemon.sessions.clone();
        daemon.runtime.block_on(async { sessions.plan_step(daemon.request()).await.expect("a plan") })
    });
}

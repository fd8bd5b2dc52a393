//! A daemon as tests start it: the server that users run, with a manual clock.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::transport::Channel;
use toolcrib::config::Config;
use toolcrib::core::ids::{Seq, UnixMillis};
use toolcrib::engine::clock::ManualClock;
use toolcrib::proto::policy_service_client::PolicyServiceClient;
use toolcrib::proto::registry_service_client::RegistryServiceClient;
use toolcrib::proto::session_service_client::SessionServiceClient;
use toolcrib::proto::stats_service_client::StatsServiceClient;
use toolcrib::proto::{self, *};
use toolcrib::server::{self, Ended};
use toolcrib::store::sqlite::{self, SqliteReader};
use toolcrib::store::{QueryBody, Reader as _};
use toolcrib::telemetry::metrics::Metrics;

use super::log::{WilfulLog, Will};

/// A Monday in 2026; tests speak of times after it.
const START: UnixMillis = UnixMillis(1_790_000_000_000);

/// How often the daemon looks for what time makes due; tests cannot wait a second for each.
const UPKEEP: Duration = Duration::from_millis(5);

/// How long a condition is waited for.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// The namespace that tests use where they do not care.
pub const NAMESPACE: &str = "test";

/// A running daemon.
pub struct TestDaemon {
    /// Its clock.
    pub clock: Arc<ManualClock>,
    /// Sessions, as a runtime speaks to them.
    pub sessions: SessionServiceClient<Channel>,
    /// Tools.
    pub registry: RegistryServiceClient<Channel>,
    /// Policy.
    pub policy: PolicyServiceClient<Channel>,
    /// Figures.
    pub stats: StatsServiceClient<Channel>,
    /// The connection that these clients share.
    pub channel: Channel,
    /// Where it answers gRPC, as `host:port`.
    pub address: String,
    /// Where it answers scrapes.
    pub metrics_url: String,
    /// What becomes of its writes.
    pub will: Will,
    dir: Arc<TempDir>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<anyhow::Result<Ended>>,
}

impl TestDaemon {
    /// Starts a daemon on a new store.
    pub async fn start() -> Self {
        let dir = Arc::new(tempfile::tempdir().expect("a throw-away folder"));
        Self::start_on(dir, Arc::new(ManualClock::at(START)), Config::default()).await
    }

    /// Starts a daemon on a new store, with what the caller changes about its configuration.
    pub async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::default();
        change(&mut config);
        let dir = Arc::new(tempfile::tempdir().expect("a throw-away folder"));
        Self::start_on(dir, Arc::new(ManualClock::at(START)), config).await
    }

    async fn start_on(dir: Arc<TempDir>, clock: Arc<ManualClock>, config: Config) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let metrics = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        let url = format!("http://{address}");
        let metrics_url = format!("http://{}/metrics", metrics.local_addr().expect("an address"));
        let will = Will::default();
        let (log, reader) = sqlite::open(&database(dir.path())).expect("a store");
        let parts = server::Parts {
            counts: Metrics::new(config.limits.metric_namespaces),
            config,
            listener,
            metrics,
            log: Box::new(WilfulLog { log, will: will.clone() }),
            reader: Arc::new(reader),
            clock: clock.clone(),
            upkeep: UPKEEP,
        };
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(server::run(parts, async move {
            let _ = stopped.await;
        }));
        let channel = Channel::from_shared(url).expect("an address").connect().await.expect("the daemon answers");
        Self {
            clock,
            sessions: SessionServiceClient::new(channel.clone()),
            registry: RegistryServiceClient::new(channel.clone()),
            policy: PolicyServiceClient::new(channel.clone()),
            stats: StatsServiceClient::new(channel.clone()),
            channel,
            address,
            will,
            metrics_url,
            dir,
            stop: Some(stop),
            task,
        }
    }

    /// Stops the daemon and waits until every task has ended.
    pub async fn stop(mut self) -> Ended {
        self.shut_down().await
    }

    /// Waits until the daemon ends by itself.
    pub async fn ended(self) -> Ended {
        let ended = tokio::time::timeout(PATIENCE, self.task).await.expect("the daemon ends by itself");
        ended.expect("the server does not panic").expect("the server ends well")
    }

    async fn shut_down(&mut self) -> Ended {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        (&mut self.task).await.expect("the server does not panic").expect("the server ends well")
    }

    /// Stops the daemon and starts another on the same store and clock.
    pub async fn restart(mut self) -> Self {
        self.shut_down().await;
        Self::start_on(self.dir.clone(), self.clock.clone(), Config::default()).await
    }

    /// Waits until the figures are as they should be: upkeep runs on its own, and what was reported is folded by the
    /// writer. Fails after ten seconds.
    pub async fn wait_for(&mut self, what: &str, holds: impl Fn(&proto::Figures) -> bool) -> proto::Figures {
        let started = tokio::time::Instant::now();
        loop {
            let figures = self.figures().await;
            if holds(&figures) {
                return figures;
            }
            assert!(started.elapsed() < PATIENCE, "{what} did not come true: {figures:?}");
            tokio::task::yield_now().await;
        }
    }

    /// Registers tools, all of which must be admitted.
    pub async fn register(&mut self, tools: Vec<ToolDefinition>) -> RegisterToolsResponse {
        let request = RegisterToolsRequest { namespace: NAMESPACE.into(), tools, ..Default::default() };
        let response = self.registry.register_tools(request).await.expect("tools are admitted").into_inner();
        for admission in &response.admissions {
            assert_ne!(admission.result, AdmissionResult::Refused as i32, "{admission:?}");
        }
        response
    }

    /// Opens a session in the MCP format.
    pub async fn open(&mut self, id: &str) -> OpenSessionResponse {
        self.open_with(id, |_| {}).await
    }

    /// Opens a session, with what the caller changes about it.
    pub async fn open_with(&mut self, id: &str, change: impl FnOnce(&mut OpenSessionRequest)) -> OpenSessionResponse {
        let mut request = OpenSessionRequest {
            namespace: NAMESPACE.into(),
            session_id: id.into(),
            format: Format::Mcp.into(),
            context_window: 100_000,
            ..Default::default()
        };
        change(&mut request);
        self.sessions.open_session(request).await.expect("a session is opened").into_inner()
    }

    /// Plans a step for a user's words.
    pub async fn plan(&mut self, session: &str, words: &str) -> PlanStepResponse {
        self.plan_with(session, words, |_| {}).await
    }

    /// Plans a step, with what the caller changes about it.
    pub async fn plan_with(
        &mut self,
        session: &str,
        words: &str,
        change: impl FnOnce(&mut PlanStepRequest),
    ) -> PlanStepResponse {
        let mut request = PlanStepRequest {
            namespace: NAMESPACE.into(),
            session_id: session.into(),
            query: Some(Query { user: words.into(), ..Default::default() }),
            ..Default::default()
        };
        change(&mut request);
        self.sessions.plan_step(request).await.expect("a step is planned").into_inner()
    }

    /// Checks one call of a step.
    pub async fn check(&mut self, session: &str, step: &str, call: &str, name: &str, arguments: &str) -> CheckedCall {
        let call = Call { call_id: call.into(), name: name.into(), arguments: arguments.to_owned().into() };
        let request = ValidateCallsRequest {
            namespace: NAMESPACE.into(),
            session_id: session.into(),
            step_id: step.into(),
            calls: vec![call],
        };
        self.sessions.validate_calls(request).await.expect("calls are checked").into_inner().calls.remove(0)
    }

    /// Reports how one call ended.
    pub async fn report(&mut self, session: &str, step: &str, call: &str, name: &str, ending: Ending) -> OutcomeAck {
        let outcome = Outcome {
            call_id: call.into(),
            step_id: step.into(),
            name: name.into(),
            ending: ending.into(),
            ..Default::default()
        };
        let request = ReportOutcomesRequest {
            namespace: NAMESPACE.into(),
            session_id: session.into(),
            outcomes: vec![outcome],
            ..Default::default()
        };
        self.sessions.report_outcomes(request).await.expect("outcomes are taken").into_inner().acks.remove(0)
    }

    /// Does something to a tool of source `s`.
    pub async fn change(&mut self, name: &str, action: ToolAction) -> ToolRecord {
        let request = ChangeToolRequest {
            namespace: NAMESPACE.into(),
            tool: Some(ToolRef { source: "s".into(), name: name.into(), version: 0 }),
            action: action.into(),
            reason: "a test".into(),
            ..Default::default()
        };
        let answer = self.registry.change_tool(request).await.expect("the tool is changed").into_inner();
        answer.record.expect("its entry")
    }

    /// Returns a session as it stands.
    pub async fn get(&mut self, session: &str) -> GetSessionResponse {
        let request = GetSessionRequest { namespace: NAMESPACE.into(), session_id: session.into(), ended: false };
        self.sessions.get_session(request).await.expect("the session is known").into_inner()
    }

    /// Returns the namespace's figures.
    pub async fn figures(&mut self) -> proto::Figures {
        let request = GetStatsRequest { namespace: NAMESPACE.into(), top: 100 };
        self.stats.get_stats(request).await.expect("figures").into_inner().figures.remove(0)
    }

    /// Says that traffic up to a place was cut from the log, as retention does.
    pub fn cut_log(&self, through: u64) {
        let store = rusqlite::Connection::open(database(self.dir.path())).expect("the store");
        store.execute("UPDATE namespaces SET log_begin = ?1", [through as i64 + 1]).expect("a beginning");
    }

    /// Returns where its database is.
    pub fn database(&self) -> PathBuf {
        database(self.dir.path())
    }

    /// Returns what the store holds of queries, oldest first.
    pub fn kept_queries(&self) -> Vec<QueryBody> {
        let reader = SqliteReader::open(&database(self.dir.path())).expect("the store");
        let mut kept = Vec::new();
        let read = reader.records(&NAMESPACE.into(), Seq(0), &mut |_, query| {
            kept.extend(query);
            ControlFlow::Continue(())
        });
        read.expect("the log");
        kept
    }

    /// Sets one value of the policy.
    pub async fn set_policy(&mut self, key: &str, value: &str) {
        let values = std::collections::HashMap::from([(key.to_owned(), value.to_owned())]);
        let request = SetPolicyRequest { namespace: NAMESPACE.into(), values, ..Default::default() };
        self.policy.set_policy(request).await.expect("the policy is set");
    }

    /// Returns the lines of an export.
    pub async fn export(&mut self, kind: ExportKind) -> Vec<String> {
        let request = ExportTrafficRequest { namespace: NAMESPACE.into(), kind: kind.into(), after: 0 };
        let mut stream = self.stats.export_traffic(request).await.expect("an export").into_inner();
        let mut bytes = Vec::new();
        while let Some(message) = stream.message().await.expect("the export goes on") {
            bytes.extend_from_slice(&message.lines);
        }
        String::from_utf8(bytes).expect("text").lines().map(String::from).collect()
    }
}

fn database(dir: &Path) -> PathBuf {
    dir.join("toolcrib.db")
}

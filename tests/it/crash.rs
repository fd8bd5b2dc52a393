//! `kill -9` under load: what was acknowledged is there afterwards, and heat and pool are what the log says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tonic::transport::Channel;
use toolcrib::proto::registry_service_client::RegistryServiceClient;
use toolcrib::proto::session_service_client::SessionServiceClient;
use toolcrib::proto::stats_service_client::StatsServiceClient;
use toolcrib::proto::*;

use crate::common::{NAMESPACE, Process, definition};

/// How often the daemon is killed; `docs/testing.md` says how to ask for more.
const KILLS: u64 = 15;

/// Acknowledged registrations and outcomes before a kill, at least and at most.
const LOAD: (u64, u64) = (30, 150);

/// What the load achieved, as far as the daemon said so.
#[derive(Default)]
struct Acknowledged {
    tools: Mutex<BTreeSet<String>>,
    done: AtomicU64,
    reached: tokio::sync::Notify,
}

impl Acknowledged {
    fn count(&self, wanted: u64) {
        if self.done.fetch_add(1, Ordering::Relaxed) + 1 >= wanted {
            self.reached.notify_one();
        }
    }
}

/// A small generator of numbers: the same seed gives the same kills.
fn next_random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn kills() -> u64 {
    std::env::var("TOOLCRIB_TEST_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS)
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_and_heat_is_what_the_log_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("toolcrib.db");
    let acknowledged = Arc::new(Acknowledged::default());
    let mut seed = 0x5eed;
    println!("seed {seed:#x}, {} kills", kills());
    for round in 0..kills() {
        let mut daemon = Process::start(&database).await;
        check(&database, &daemon.channel, &acknowledged).await;
        let wanted = LOAD.0 + next_random(&mut seed) % (LOAD.1 - LOAD.0);
        acknowledged.done.store(0, Ordering::Relaxed);
        let load: Vec<_> = (0..3)
            .map(|worker| {
                let (channel, acknowledged) = (daemon.channel.clone(), acknowledged.clone());
                tokio::spawn(load(channel, acknowledged, round * 10 + worker, wanted))
            })
            .collect();
        acknowledged.reached.notified().await;
        daemon.kill();
        for task in load {
            task.await.expect("the load ends with the daemon");
        }
    }
    let daemon = Process::start(&database).await;
    check(&database, &daemon.channel, &acknowledged).await;
}

/// Registers tools and calls them, until the daemon no longer answers.
async fn load(channel: Channel, acknowledged: Arc<Acknowledged>, worker: u64, wanted: u64) {
    let mut registry = RegistryServiceClient::new(channel.clone());
    let mut sessions = SessionServiceClient::new(channel);
    for turn in 0.. {
        let name = format!("tool_{worker}_{turn}");
        let tools = vec![definition(&name)];
        let request = RegisterToolsRequest { namespace: NAMESPACE.into(), tools, ..Default::default() };
        if registry.register_tools(request).await.is_err() {
            return;
        }
        acknowledged.tools.lock().expect("nobody panicked").insert(name.clone());
        acknowledged.count(wanted);
        if call(&mut sessions, &format!("s{worker}"), turn, worker).await.is_err() {
            return;
        }
        acknowledged.count(wanted);
    }
}

/// Calls a few of the tools registered so far, the first ones most.
async fn call(
    sessions: &mut SessionServiceClient<Channel>,
    session: &str,
    turn: u64,
    worker: u64,
) -> Result<(), tonic::Status> {
    let open = OpenSessionRequest {
        namespace: NAMESPACE.into(),
        session_id: session.into(),
        format: Format::Mcp.into(),
        ..Default::default()
    };
    sessions.open_session(open).await?;
    let plan = PlanStepRequest { namespace: NAMESPACE.into(), session_id: session.into(), ..Default::default() };
    let step_id = sessions.plan_step(plan).await?.into_inner().step_id;
    let outcomes = (0..4)
        .map(|i| Outcome {
            call_id: format!("{turn}-{i}"),
            step_id: step_id.clone(),
            name: format!("s__tool_{worker}_{}", (turn * i) % (turn / 2 + 1)),
            ending: Ending::Ok.into(),
            ..Default::default()
        })
        .collect();
    let request = ReportOutcomesRequest {
        namespace: NAMESPACE.into(),
        session_id: session.into(),
        outcomes,
        ..Default::default()
    };
    sessions.report_outcomes(request).await?;
    Ok(())
}

/// Checks the store, the acknowledged tools, and heat and pool against the log.
async fn check(database: &Path, channel: &Channel, acknowledged: &Acknowledged) {
    let connection = rusqlite::Connection::open(database).expect("the store opens");
    let integrity: String =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("a check of the file");
    assert_eq!(integrity, "ok");
    let expected = acknowledged.tools.lock().expect("nobody panicked").clone();
    if expected.is_empty() {
        return;
    }
    let names = registered(channel).await;
    let lost: Vec<&String> = expected.difference(&names).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");

    let eager = Eager::of(&export(channel).await);
    let request = GetStatsRequest { namespace: NAMESPACE.into(), top: 1_000 };
    let mut stats = StatsServiceClient::new(channel.clone());
    let figures = stats.get_stats(request).await.expect("figures").into_inner().figures.remove(0);
    assert_eq!(figures.tick, eager.tick);
    for stat in &figures.top {
        let name = &stat.tool.as_ref().expect("a tool").name;
        let wanted = eager.heat.get(name).map_or(0, |heat| key(*heat));
        let found = (stat.heat * UNIT).round() as i64;
        // Both round to whole keys, from sums made in another order.
        assert!((found - wanted).abs() <= 1, "{name}: {found} is not {wanted}");
    }
    let pool: Vec<&str> =
        figures.hot_pool.iter().map(|stat| stat.tool.as_ref().expect("a tool").name.as_str()).collect();
    assert_eq!(pool, eager.pool);
}

async fn registered(channel: &Channel) -> BTreeSet<String> {
    let mut registry = RegistryServiceClient::new(channel.clone());
    let mut names = BTreeSet::new();
    let mut page_token = String::new();
    loop {
        let request =
            ListToolsRequest { namespace: NAMESPACE.into(), page_size: 1_000, page_token, ..Default::default() };
        let page = registry.list_tools(request).await.expect("a page").into_inner();
        names.extend(page.tools.into_iter().filter_map(|record| record.tool).map(|tool| tool.name));
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return names;
        }
    }
}

async fn export(channel: &Channel) -> Vec<Value> {
    let request =
        ExportTrafficRequest { namespace: NAMESPACE.into(), kind: ExportKind::Events.into(), ..Default::default() };
    let mut stats = StatsServiceClient::new(channel.clone());
    let mut stream = stats.export_traffic(request).await.expect("an export").into_inner();
    let mut bytes = Vec::new();
    while let Some(message) = stream.message().await.expect("the export goes on") {
        bytes.extend_from_slice(&message.lines);
    }
    let text = String::from_utf8(bytes).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("a record")).collect()
}

/// One heat in keys.
const UNIT: f64 = (1u64 << 30) as f64;

fn key(heat: f64) -> i64 {
    (heat * UNIT).round() as i64
}

/// Heat and pool worked out the plain way: every tick multiplies every heat, every tenth ranks them all.
#[derive(Default)]
struct Eager {
    tick: u64,
    heat: BTreeMap<String, f64>,
    last_use: BTreeMap<String, u64>,
    pool: Vec<String>,
}

impl Eager {
    fn of(records: &[Value]) -> Self {
        let mut eager = Self::default();
        for record in records {
            let counted = &record["event"]["call_counted"];
            if let Some(tool) = counted["tool"].as_str() {
                eager.count(tool.trim_start_matches("s/"));
            }
        }
        eager
    }

    fn count(&mut self, tool: &str) {
        self.tick += 1;
        for heat in self.heat.values_mut() {
            *heat *= 0.95;
        }
        *self.heat.entry(tool.to_owned()).or_default() += 1.0;
        self.last_use.insert(tool.to_owned(), self.tick);
        if self.tick.is_multiple_of(10) {
            self.rerank();
        }
    }

    fn rerank(&mut self) {
        let mut ranked: Vec<&String> = self.heat.keys().collect();
        ranked.sort_by_key(|name| {
            (std::cmp::Reverse(key(self.heat[*name])), std::cmp::Reverse(self.last_use[*name]), *name)
        });
        let best: Vec<String> = ranked.into_iter().take(10).cloned().collect();
        let same: BTreeSet<&String> = best.iter().collect();
        // The order of an epoch is fixed at its start.
        if same != self.pool.iter().collect() {
            self.pool = best;
        }
    }
}

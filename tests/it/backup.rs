//! Backup of a daemon under load, and a restore that serves.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tonic::transport::Channel;
use toolcrib::proto::registry_service_client::RegistryServiceClient;
use toolcrib::proto::*;

use crate::common::{NAMESPACE, Process, definition};

fn toolcrib(arguments: &[&str], paths: &[&Path]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolcrib"));
    command.args(arguments).args(paths).env_remove("TOOLCRIB_DB").env_remove("TOOLCRIB_CONFIG");
    command.output().expect("the command runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.clone(), output.stderr.clone()].concat()).into_owned()
}

async fn tools(channel: Channel) -> BTreeSet<String> {
    let request = ListToolsRequest { namespace: NAMESPACE.into(), page_size: 1_000, ..Default::default() };
    let listed = RegistryServiceClient::new(channel).list_tools(request).await.expect("a list").into_inner();
    listed.tools.into_iter().filter_map(|record| record.tool).map(|tool| tool.name).collect()
}

/// Registers tools one by one until it is aborted, and notes those that were acknowledged.
async fn register(channel: Channel, acknowledged: Arc<Mutex<BTreeSet<String>>>, wanted: Arc<tokio::sync::Notify>) {
    let mut registry = RegistryServiceClient::new(channel);
    for number in 0_usize.. {
        let name = format!("tool_{number}");
        let request =
            RegisterToolsRequest { namespace: NAMESPACE.into(), tools: vec![definition(&name)], ..Default::default() };
        registry.register_tools(request).await.expect("registrations go on under a backup");
        acknowledged.lock().expect("nobody panicked").insert(name);
        if number % 20 == 19 {
            wanted.notify_one();
        }
    }
}

#[tokio::test]
async fn a_backup_under_load_holds_all_that_was_acknowledged_and_serves_once_restored() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let (database, copy, restored) = (path("crib.db"), path("copy.db"), path("restored.db"));
    let mut daemon = Process::start(&database).await;
    let acknowledged = Arc::new(Mutex::new(BTreeSet::new()));
    let wanted = Arc::new(tokio::sync::Notify::new());
    let load = tokio::spawn(register(daemon.channel.clone(), acknowledged.clone(), wanted.clone()));
    wanted.notified().await;

    let before = acknowledged.lock().expect("nobody panicked").clone();
    let made = {
        let (database, copy) = (database.clone(), copy.clone());
        let run = move || toolcrib(&["backup", "--json", "--db"], &[&database, &copy]);
        tokio::task::spawn_blocking(run).await.expect("the backup runs")
    };
    assert!(made.status.success(), "{}", said(&made));
    let made: Value = serde_json::from_slice(&made.stdout).expect("JSON");
    assert_eq!(made["namespaces"][0]["namespace"], NAMESPACE);
    assert!(made["namespaces"][0]["last"].as_u64().is_some_and(|last| last > before.len() as u64), "{made}");
    wanted.notified().await;

    let refused = toolcrib(&["restore", "--force", "--db"], &[&database, &copy]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).contains("in use by another daemon"), "{}", said(&refused));
    load.abort();
    let _ = load.await;
    daemon.kill();

    let done = toolcrib(&["restore", "--db"], &[&restored, &copy]);
    assert!(done.status.success() && said(&done).contains("toolcrib serve --db"), "{}", said(&done));
    let again = Process::start(&restored).await;
    let there = tools(again.channel.clone()).await;
    assert!(before.is_subset(&there), "{:?} were acknowledged and are not there", before.difference(&there));
    drop(again);

    // The database itself was killed with its side file; a restore keeps both.
    let done = toolcrib(&["restore", "--force", "--db"], &[&database, &copy]);
    assert!(done.status.success(), "{}", said(&done));
    let kept = Process::start(&path("crib.db.before-restore-1")).await;
    let kept = tools(kept.channel.clone()).await;
    assert!(acknowledged.lock().expect("nobody panicked").is_subset(&kept));
}

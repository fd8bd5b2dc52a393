//! The demo as a newcomer runs it, and its log replayed: the daemon and `replay` are the same core.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use toolcrib::core::event::{Event, Record};
use toolcrib::core::ids::{NamespaceId, ToolId};
use toolcrib::offline::refold::{compare, read_events, refold, replay_events, strip};

/// Runs the demo and returns what it printed, and every event of the run.
fn run_demo(folder: &Path) -> (Value, Vec<Record>) {
    let events = folder.join("events.jsonl");
    let output = Command::new(env!("CARGO_BIN_EXE_toolcrib"))
        .args(["demo", "--json", "--events"])
        .arg(&events)
        .output()
        .expect("the demo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = serde_json::from_slice(&output.stdout).expect("one JSON object");
    let (records, broken) = read_events(BufReader::new(File::open(events).expect("the export")));
    assert!(broken.is_empty(), "{broken:?}");
    (printed, records)
}

fn demo_namespace() -> NamespaceId {
    NamespaceId::from("demo")
}

#[test]
fn the_demo_prints_its_figures_and_its_log_replays_event_by_event() {
    let folder = tempfile::tempdir().expect("a folder");
    let (printed, recorded) = run_demo(folder.path());

    assert!(printed["tools"].as_u64() >= Some(300), "{printed}");
    let share = |key: &str| printed[key].as_f64().unwrap_or_else(|| panic!("{key} is not a number: {printed}"));
    assert!(1.0 > share("coverage") && share("coverage") >= share("presence_rate") && share("presence_rate") > 0.0);
    assert_eq!(printed["distinct_blocks_per_session_max"], 1);
    assert_eq!(printed["mis_selection_rate"], Value::Null);
    for key in ["sessions", "steps", "injection_share", "judged_share", "saving"] {
        share(key);
    }
    assert!(printed["recall_latency_us"]["p50"].is_number() && printed["recall_latency_us"]["p99"].is_number());

    let causes = strip(&recorded);
    assert!(causes.iter().all(|(_, event)| event.is_cause()) && causes.len() < recorded.len());
    let redrawn = refold(demo_namespace(), causes.clone()).expect("the causes are whole");
    assert_eq!(compare(&recorded, &redrawn).map(|difference| format!("{difference:?}")), None);
    let epochs = redrawn.iter().filter(|record| matches!(&record.event, Event::PoolReranked(_))).count();
    assert!(epochs > 5, "only {epochs} re-ranks: the comparison says little");

    let mut changed = causes;
    let calls = changed.iter_mut().filter_map(|(_, event)| match event {
        Event::OutcomeReported(outcome) if outcome.tool.is_some() => Some(outcome),
        _ => None,
    });
    let call = calls.last().expect("a call");
    call.tool = Some(ToolId::new("nobody", "nothing"));
    let redrawn = refold(demo_namespace(), changed).expect("the causes are whole");
    assert!(compare(&recorded, &redrawn).is_some(), "a changed call went unnoticed");

    let other_decay = BTreeMap::from([("hot_pool.decay".to_owned(), "0.5".to_owned())]);
    let report = replay_events(demo_namespace(), &recorded, &other_decay).expect("the log is whole");
    assert!(report.difference.is_some(), "another decay went unnoticed");
}

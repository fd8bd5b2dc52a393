//! The reference experiment, figure by figure, and the pool policies beside it.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::*;
use crate::core::policy::Policy;
use crate::offline::report::LiveReport;
use crate::offline::trace::{read_tools, read_trace};

fn from_root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn read_set(dir: &Path) -> (Vec<TraceTool>, Vec<TraceLine>) {
    let open = |name| BufReader::new(File::open(dir.join(name)).unwrap());
    let (tools, tool_errors) = read_tools(open("tools.jsonl"), "drift");
    let (trace, line_errors) = read_trace(open("trace.jsonl"), "drift");
    assert!(tool_errors.is_empty() && line_errors.is_empty(), "{tool_errors:?} {line_errors:?}");
    (tools, trace)
}

/// Plays the drift experiment and compares every figure that its author published.
fn check_drift(dir: &Path, expected: &Value) {
    let (tools, trace) = read_set(dir);
    let mut hot_pool = Policy::default().hot_pool;
    hot_pool.slots = expected["pool"].as_u64().unwrap().try_into().unwrap();
    hot_pool.every = expected["rebalance_every"].as_u64().unwrap().try_into().unwrap();
    hot_pool.decay = expected["decay"].as_f64().unwrap();
    let figures = |policy| replay_live(&tools, &trace, policy, &hot_pool);
    let presence = |figures: &LiveFigures| (figures.presence.unwrap() * 1e6).round() / 1e6;

    let full = figures(ReplayPolicy::Full);
    assert_eq!(presence(&full), expected["full"]["presence"]);
    assert_eq!(full.tokens.unwrap(), expected["full"]["tokens"]);

    let lru = figures(ReplayPolicy::Lru);
    assert_eq!(presence(&lru), expected["lru"]["presence"]);
    assert_eq!(lru.swapped_in, expected["lru"]["promotions"]);

    let ewma = figures(ReplayPolicy::Ewma);
    assert_eq!(presence(&ewma), expected["ewma"]["presence"]);
    assert_eq!(ewma.reranks, expected["ewma"]["rebalances"]);
    assert_eq!(ewma.absent, expected["ewma"]["absent"]);
    assert_eq!(ewma.swapped_in, expected["ewma"]["tools_swapped_in"]);
    assert_eq!(ewma.tokens.unwrap(), expected["ewma"]["tokens"]);
    let saving = 1.0 - ewma.tokens.unwrap() as f64 / full.tokens.unwrap() as f64;
    assert_eq!(saving, expected["ewma"]["fixed_tax_saving"]);
}

fn read_json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn drift_experiment_gives_the_published_figures() {
    let dir = from_root("tests/data/drift");
    check_drift(&dir, &read_json(&dir.join("expected.json")));
}

#[test]
fn shared_drift_experiment_gives_the_published_figures() {
    let dir = from_root("../shared/data/reference");
    if !dir.exists() {
        eprintln!("SKIPPED: {} is not there; only the copy in tests/data/drift was played", dir.display());
        return;
    }
    check_drift(&dir.join("drift"), &read_json(&dir.join("expected.json"))["drift"]);
}

#[test]
fn reference_policy_changes_the_pool_eighteen_times_on_the_drift_trace() {
    let (tools, trace) = read_set(&from_root("tests/data/drift"));
    let ewma = replay_live(&tools, &trace, ReplayPolicy::Ewma, &Policy::default().hot_pool);
    assert_eq!(ewma.changes, 18);
}

#[test]
fn seeded_pool_stays_under_the_static_policy() {
    let (tools, trace) = read_set(&from_root("tests/data/drift"));
    let seeded: BTreeSet<_> = tools.iter().filter(|tool| tool.initial_score > 0.0).map(|tool| &tool.id).collect();
    let present = trace.iter().filter_map(|line| line.call.as_ref()).filter(|call| seeded.contains(&call.tool)).count();
    let figures = replay_live(&tools, &trace, ReplayPolicy::Static, &Policy::default().hot_pool);
    assert_eq!(figures.calls - figures.absent, present as u64);
    assert_eq!((figures.reranks, figures.swapped_in, figures.changes_in_session), (0, 0, 0));
}

#[test]
fn recorded_agent_traffic_gives_the_known_live_presence() {
    let dir = from_root("../shared/data/retrieval");
    if !dir.exists() {
        eprintln!("SKIPPED: {} is not there; recorded agent traffic was not played", dir.display());
        return;
    }
    for (set, expected) in [("livemcpbench", 0.364), ("bfcl_multiturn", 0.647), ("trajectbench_dev", 0.424)] {
        let (tools, trace) = read_set(&dir.join(set));
        let figures = replay_live(&tools, &trace, ReplayPolicy::Ewma, &Policy::default().hot_pool);
        assert_eq!((figures.presence.unwrap() * 1e3).round() / 1e3, expected, "{set}");
        assert_eq!(figures.unknown_calls, 0, "{set}");
    }
}

fn small(tools: &str, trace: &str, policy: ReplayPolicy) -> LiveFigures {
    let (tools, _) = read_tools(tools.as_bytes(), "s");
    let (trace, _) = read_trace(trace.as_bytes(), "s");
    let hot_pool = HotPoolPolicy { slots: 1, every: 1, ..Policy::default().hot_pool };
    replay_live(&tools, &trace, policy, &hot_pool)
}

#[test]
fn failed_call_is_a_tick_and_unknown_tool_is_none() {
    let tools = "{\"name\":\"a\"}";
    let trace = r#"{"session":"x","step":1,"tool":"a","ok":false}
{"session":"x","step":2,"tool":"nobody"}
{"session":"x","step":3,"tool":"a"}"#;
    let figures = small(tools, trace, ReplayPolicy::Ewma);
    assert_eq!((figures.calls, figures.unknown_calls, figures.steps), (2, 1, 3));
    assert_eq!(figures.presence, Some(0.5));
    assert_eq!(figures.tokens, None);
}

#[test]
fn batch_ticks_call_by_call_and_costs_one_step() {
    let tools = "{\"name\":\"a\",\"schema_tokens\":100,\"initial_score\":1}\n{\"name\":\"b\",\"schema_tokens\":30}";
    let trace = r#"{"session":"x","step":1,"tool":"a"}
{"session":"x","step":1,"tool":"b"}
{"session":"x","step":2}"#;
    let figures = small(tools, trace, ReplayPolicy::Lru);
    assert_eq!((figures.calls, figures.steps, figures.absent), (2, 2, 1));
    assert_eq!(figures.tokens, Some(130));
    assert_eq!((figures.changes, figures.changes_in_session), (1, 1));
}

#[test]
fn change_between_sessions_breaks_no_cache() {
    let tools = "{\"name\":\"a\"}\n{\"name\":\"b\"}";
    let trace = r#"{"session":"x","step":1,"tool":"a"}
{"session":"y","step":1,"tool":"b"}
{"session":"z","step":1,"tool":"a"}"#;
    let figures = small(tools, trace, ReplayPolicy::Lru);
    assert_eq!((figures.changes, figures.changes_in_session), (3, 0));
}

#[test]
fn empty_trace_has_no_rates() {
    let figures = small("{\"name\":\"a\"}", "", ReplayPolicy::Full);
    assert_eq!((figures.presence, figures.tokens_per_step), (None, None));
}

#[test]
fn report_says_its_residency() {
    let figures =
        small("{\"name\":\"a\",\"schema_tokens\":9}", r#"{"session":"x","step":1,"tool":"a"}"#, ReplayPolicy::Full);
    let json = serde_json::to_value(LiveReport::new(vec![figures])).unwrap();
    assert_eq!(json["residency"], "live");
    assert_eq!(json["policies"][0]["policy"], "full");
    assert_eq!(json["policies"][0]["tokens_per_step"], 9.0);
}

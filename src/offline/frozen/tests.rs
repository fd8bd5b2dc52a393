//! Traces played through a whole namespace, against figures known from elsewhere.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use super::*;
use crate::offline::report::FrozenReport;
use crate::offline::trace::{TraceTool, read_tools, read_trace};

fn from_root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn read_set(dir: &Path) -> (Vec<TraceTool>, Vec<TraceLine>) {
    let open = |name| BufReader::new(File::open(dir.join(name)).unwrap());
    let (tools, tool_errors) = read_tools(open("tools.jsonl"), "s");
    let (trace, line_errors) = read_trace(open("trace.jsonl"), "s");
    assert!(tool_errors.is_empty() && line_errors.is_empty(), "{tool_errors:?} {line_errors:?}");
    (tools, trace)
}

fn play(tools: &[TraceTool], trace: &[TraceLine], pool: ReplayPolicy, policy: &Policy) -> FrozenFigures {
    replay_frozen(&Definitions::of(tools, &policy.admission), trace, pool, policy)
}

fn small(tools: &str, trace: &str, pool: ReplayPolicy, values: &[(&str, &str)]) -> FrozenFigures {
    let (tools, _) = read_tools(tools.as_bytes(), "s");
    let (trace, errors) = read_trace(trace.as_bytes(), "s");
    assert!(errors.is_empty(), "{errors:?}");
    // Small sets would be sent whole.
    let mut set: BTreeMap<String, String> =
        values.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    set.insert("session.pass_through_tools".into(), "0".into());
    set.insert("session.pass_through_share".into(), "0".into());
    let policy = Policy::default().with(&set).unwrap();
    play(&tools, &trace, pool, &policy)
}

fn to_thousandth(share: Option<f64>) -> f64 {
    (share.unwrap() * 1e3).round() / 1e3
}

#[test]
fn drift_as_one_session_has_the_known_resident_share_and_a_higher_presence() {
    let (tools, trace) = read_set(&from_root("tests/data/drift"));
    let figures = play(&tools, &trace, ReplayPolicy::Ewma, &Policy::default());
    assert_eq!(to_thousandth(figures.resident_share), 0.463);
    // Tools without text are found by no query, but those called lately are put back.
    assert!(figures.presence > figures.resident_share);
    assert_eq!(figures.resident + figures.issued + figures.absent, 300);
    assert_eq!((figures.reranks, figures.swapped_in, figures.changes), (30, 35, 18));
}

#[test]
fn without_putting_back_what_was_called_drift_presence_is_the_resident_share() {
    let (tools, trace) = read_set(&from_root("tests/data/drift"));
    let policy = Policy::default().with(&BTreeMap::from([("plan.reissue_calls".into(), "0".into())])).unwrap();
    let figures = play(&tools, &trace, ReplayPolicy::Ewma, &policy);
    assert_eq!(to_thousandth(figures.presence), 0.463);
    assert_eq!((figures.issued, figures.absent), (0, 161));
}

#[test]
fn recorded_agent_traffic_has_the_known_resident_share() {
    let dir = from_root("../shared/data/retrieval/livemcpbench");
    if !dir.exists() {
        eprintln!("SKIPPED: {} is not there; recorded agent traffic was not played", dir.display());
        return;
    }
    let (tools, trace) = read_set(&dir);
    let figures = play(&tools, &trace, ReplayPolicy::Ewma, &Policy::default());
    assert_eq!(to_thousandth(figures.resident_share), 0.203);
    assert!(figures.issued > figures.resident, "queries find most of what is called");
    assert!(figures.saving.unwrap() > 0.8);
}

#[test]
fn full_has_everything_present_and_saves_nothing() {
    let (tools, trace) = read_set(&from_root("tests/data/drift"));
    let figures = play(&tools, &trace, ReplayPolicy::Full, &Policy::default());
    assert_eq!((figures.presence, figures.saving), (Some(1.0), Some(0.0)));
    assert_eq!(
        figures.tokens,
        figures.steps * tools.iter().filter_map(|t| t.schema_tokens).map(u64::from).sum::<u64>()
    );
}

const TWO: &str = r#"{"name":"send_mail","description":"Sends a letter to somebody.","input_schema":{"type":"object"}}
{"name":"read_clock","description":"Tells the time of day.","input_schema":{"type":"object"}}"#;

#[test]
fn tool_that_the_query_finds_is_issued_before_its_call() {
    let trace = r#"{"session":"x","step":1,"tool":"send_mail","query":"send a letter"}
{"session":"x","step":2,"tool":"read_clock"}"#;
    let figures = small(TWO, trace, ReplayPolicy::Ewma, &[]);
    assert_eq!((figures.issued, figures.absent), (1, 1));
}

#[test]
fn absent_tool_that_was_called_is_there_in_the_next_step() {
    let trace = r#"{"session":"x","step":1,"tool":"read_clock"}
{"session":"x","step":1,"tool":"read_clock"}
{"session":"x","step":2,"tool":"read_clock"}"#;
    let figures = small(TWO, trace, ReplayPolicy::Ewma, &[]);
    assert_eq!((figures.steps, figures.calls), (2, 3));
    assert_eq!((figures.absent, figures.issued), (2, 1));
}

#[test]
fn pool_that_changed_reaches_the_next_session_and_no_open_one() {
    let trace = r#"{"session":"x","step":1,"tool":"read_clock"}
{"session":"x","step":2,"tool":"read_clock"}
{"session":"y","step":1,"tool":"read_clock"}"#;
    let figures = small(TWO, trace, ReplayPolicy::Ewma, &[("hot_pool.every", "1"), ("plan.reissue_calls", "0")]);
    assert_eq!((figures.resident, figures.absent), (1, 2));
    assert_eq!((figures.changes, figures.reranks), (1, 3));
}

#[test]
fn unknown_tool_is_no_tick() {
    let trace = r#"{"session":"x","step":1,"tool":"nobody"}
{"session":"x","step":2}"#;
    let figures = small(TWO, trace, ReplayPolicy::Static, &[]);
    assert_eq!((figures.calls, figures.unknown_calls, figures.steps), (0, 1, 2));
    assert_eq!((figures.presence, figures.resident_share), (None, None));
}

#[test]
fn session_that_expired_is_opened_again() {
    let trace = r#"{"session":"x","step":1,"tool":"read_clock","at":1000}
{"session":"x","step":1,"tool":"read_clock","at":90000000}"#;
    let figures = small(TWO, trace, ReplayPolicy::Ewma, &[("hot_pool.every", "1")]);
    assert_eq!((figures.steps, figures.resident, figures.absent), (2, 1, 1));
}

#[test]
fn same_trace_gives_the_same_figures_and_says_its_residency() {
    let trace = r#"{"session":"x","step":1,"tool":"send_mail","query":"a letter"}"#;
    let figures = || small(TWO, trace, ReplayPolicy::Lru, &[]);
    assert_eq!(figures(), figures());
    let json = serde_json::to_value(FrozenReport::new(Some(0), vec![figures()])).unwrap();
    assert_eq!(json["residency"], "frozen");
    assert_eq!(json["policies"][0]["policy"], "lru");
}

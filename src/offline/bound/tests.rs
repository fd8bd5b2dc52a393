//! The published bounds of the reference, and the flow against a plain search through every choice.

use std::collections::BTreeSet;
use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::offline::trace::{read_tools, read_trace};

fn drift() -> (Vec<TraceTool>, Vec<TraceLine>) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/drift");
    let open = |name: &str| std::io::BufReader::new(std::fs::File::open(folder.join(name)).unwrap());
    let (tools, errors) = read_tools(open("tools.jsonl"), "default");
    assert!(errors.is_empty());
    let (trace, errors) = read_trace(open("trace.jsonl"), "default");
    assert!(errors.is_empty());
    (tools, trace)
}

#[test]
fn the_reference_has_its_published_bounds() {
    let (tools, trace) = drift();
    let rounded = |every| (clairvoyant(&tools, &trace, 10, every).presence().unwrap() * 1000.0).round() / 1000.0;
    assert_eq!((rounded(10), rounded(5), rounded(1)), (0.863, 0.870, 0.877));
    assert_eq!(clairvoyant(&tools, &trace, 10, 10).swapped_in, 11);
}

#[test]
fn no_call_is_no_bound() {
    let (tools, _) = drift();
    assert_eq!(clairvoyant(&tools, &[], 10, 10).presence(), None);
    assert_eq!(clairvoyant(&[], &drift().1, 10, 10).presence(), None);
}

fn files(seeded: &BTreeSet<u8>, calls: &[u8]) -> (Vec<TraceTool>, Vec<TraceLine>) {
    let mut tools = String::new();
    for n in 0..6 {
        let score = u8::from(seeded.contains(&n));
        tools.push_str(&format!("{{\"name\":\"t{n}\",\"schema_tokens\":1,\"initial_score\":{score}}}\n"));
    }
    let mut trace = String::new();
    for (step, n) in calls.iter().enumerate() {
        trace.push_str(&format!("{{\"session\":\"s\",\"step\":{step},\"tool\":\"t{n}\"}}\n"));
    }
    (read_tools(tools.as_bytes(), "d").0, read_trace(trace.as_bytes(), "d").0)
}

/// Tries every pool at every boundary: calls present, then entries saved.
fn best_of_all(pool: &BTreeSet<u8>, calls: &[u8], slots: usize, every: usize) -> (u64, i64) {
    if calls.is_empty() {
        return (0, 0);
    }
    let (now, later) = calls.split_at(every.min(calls.len()));
    let present = now.iter().filter(|n| pool.contains(n)).count() as u64;
    let could_stay: Vec<u8> = pool.iter().chain(now).copied().collect::<BTreeSet<u8>>().into_iter().collect();
    let mut best = None;
    for chosen in 0..1_u32 << could_stay.len() {
        let next: BTreeSet<u8> =
            could_stay.iter().enumerate().filter(|(i, _)| chosen >> i & 1 == 1).map(|(_, n)| *n).collect();
        if next.len() <= slots {
            let entered = next.difference(pool).count() as i64;
            let (rest, saved) = best_of_all(&next, later, slots, every);
            best = best.max(Some((present + rest, saved - if later.is_empty() { 0 } else { entered })));
        }
    }
    best.unwrap_or_default()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_flow_finds_what_a_search_through_every_choice_finds(
        seeded in prop::collection::btree_set(0..6_u8, 0..3),
        calls in prop::collection::vec(0..6_u8, 0..12),
        slots in 1..3_usize,
        every in 2..4_usize,
    ) {
        let (tools, trace) = files(&seeded, &calls);
        let found = clairvoyant(&tools, &trace, slots as u32, every as u32);
        // Any seeded tools may be resident at first, as many as there are slots.
        let mut best = (0, i64::MIN);
        for chosen in 0..1_u32 << seeded.len() {
            let pool: BTreeSet<u8> =
                seeded.iter().enumerate().filter(|(i, _)| chosen >> i & 1 == 1).map(|(_, n)| *n).collect();
            if pool.len() <= slots {
                best = best.max(best_of_all(&pool, &calls, slots, every));
            }
        }
        prop_assert_eq!((found.present, -(found.swapped_in as i64)), (best.0, best.1.max(-(calls.len() as i64))));
    }
}

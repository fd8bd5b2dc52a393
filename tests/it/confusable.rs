//! What leaving out confusable tools costs: recall@8 on the development sets of `../shared/data/retrieval`, read as an
//! import reads them, without it and with the default share. Prints its figures.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use toolcrib::core::ids::ToolId;
use toolcrib::core::planning::double_of;
use toolcrib::core::retrieval::{Query, Ranked};
use toolcrib::core::view::View;
use toolcrib::import::{self, Shape};

use super::flags::{namespace, register};

/// Queries taken from each set, evenly spread.
const SAMPLED: usize = 150;
/// The most that the default may cost.
const MOST_LOST: f64 = 0.003;
/// Definitions of a step.
const M: usize = 8;

struct Set {
    name: String,
    view: View,
    /// What is asked, and what is needed for it.
    queries: Vec<(String, Vec<ToolId>)>,
}

fn read_set(folder: &Path) -> Set {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let file = folder.join("tools.jsonl");
    let bytes = std::fs::read(&file).expect("tools");
    let catalog = import::read(&bytes, Shape::Detect, &file.to_string_lossy(), None).expect("a catalog");
    let mut namespace = namespace();
    let definitions: Vec<_> = catalog.tools.into_iter().map(|found| found.definition).collect();
    register(&mut namespace, &definitions);
    let id_of = |recorded: &Value| {
        let recorded = recorded.as_str().expect("a name");
        recorded.split_once("__").map_or_else(|| ToolId::new(name.as_str(), recorded), |(s, n)| ToolId::new(s, n))
    };
    let text = std::fs::read_to_string(folder.join("queries.jsonl")).expect("queries");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("a query")).collect();
    let step = lines.len().div_ceil(SAMPLED);
    let read = |line: &Value| {
        let gold = line["gold"].as_array().expect("gold").iter().map(id_of).collect();
        (line["query"].as_str().expect("a query").to_owned(), gold)
    };
    Set { queries: lines.iter().step_by(step).map(read).collect(), view: namespace.view(), name }
}

/// Returns the mean share of needed tools among those issued, and how many were left out for a query.
fn recall(set: &Set, share: f64) -> (f64, f64) {
    let mut view = set.view.clone();
    let mut policy = (*view.policy).clone();
    policy.plan.confusable_share = share;
    view.policy = Arc::new(policy);
    let (mut found_share, mut n_left_out) = (0.0, 0);
    for (query, gold) in &set.queries {
        let query = Query { user: query, ..Query::default() };
        let found = view.index.search(&query, &|_| 0.0, &mut |_| true, 2 * M);
        let mut issued: Vec<&Ranked> = Vec::new();
        for ranked in &found.ranked {
            if issued.len() == M {
                break;
            }
            match double_of(&view, ranked, &issued) {
                Some(_) => n_left_out += 1,
                None => issued.push(ranked),
            }
        }
        let issued: BTreeSet<&ToolId> = issued.iter().map(|ranked| &ranked.tool).collect();
        found_share += gold.iter().filter(|tool| issued.contains(tool)).count() as f64 / gold.len() as f64;
    }
    let n = set.queries.len() as f64;
    (found_share / n, f64::from(n_left_out) / n)
}

#[test]
fn leaving_out_confusable_tools_costs_no_recall() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/retrieval");
    let Ok(folders) = std::fs::read_dir(&data) else {
        eprintln!("SKIPPED: {} is not there, so what leaving out costs is not measured", data.display());
        return;
    };
    let mut folders: Vec<_> = folders.flatten().map(|folder| folder.path()).collect();
    folders.sort();
    let sets: Vec<Set> = folders.iter().map(|folder| read_set(folder)).collect();
    let macro_recall = |share: f64| {
        let per_set: Vec<(f64, f64)> = sets.iter().map(|set| recall(set, share)).collect();
        for (set, (recall, n)) in sets.iter().zip(&per_set) {
            eprintln!("  {:18} share {share:.1}: r@8 {recall:.4}, {n:.3} left out a step", set.name);
        }
        let mean = |of: fn(&(f64, f64)) -> f64| per_set.iter().map(of).sum::<f64>() / per_set.len() as f64;
        let (recall, n) = (mean(|r| r.0), mean(|r| r.1));
        eprintln!("  {:18} share {share:.1}: r@8 {recall:.4}, {n:.3} left out a step", "macro");
        recall
    };
    let without = macro_recall(0.0);
    let with = macro_recall(toolcrib::core::policy::Policy::default().plan.confusable_share);
    assert!(with >= without - MOST_LOST, "r@8 falls from {without:.4} to {with:.4}");
}

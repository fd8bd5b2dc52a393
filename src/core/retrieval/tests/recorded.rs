//! Recall@8 on the development sets of `../shared/data/retrieval`, where they are at hand.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::*;

/// Queries taken from each set, evenly spread; enough that a mean moves by less than a point.
const SAMPLED: usize = 150;
/// A little under what the lexical arm reaches. Plain BM25 reaches .587.
const MACRO_FLOOR: f64 = 0.74;

fn lines(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns source and local name as import would part them.
fn id_of(recorded: &str, set: &str) -> ToolId {
    recorded.split_once("__").map_or_else(|| ToolId::new(set, recorded), |(source, name)| ToolId::new(source, name))
}

fn definition_of(line: &Value, set: &str) -> Definition {
    let description = line["description"].as_str().unwrap_or("");
    let summary = description.split_inclusive(". ").next().unwrap_or("").lines().next().unwrap_or("");
    let mut definition = tool("", "", summary);
    definition.id = id_of(line["name"].as_str().unwrap(), set);
    definition.description = description.into();
    definition.group = line["domain"].as_str().unwrap_or("").into();
    definition.input_schema = Json::from_value(&line["input_schema"]);
    definition
}

/// Returns the mean share of needed tools among the first eight.
fn recall_at_8(folder: &Path, set: &str) -> f64 {
    let definitions: Vec<Definition> =
        lines(&folder.join("tools.jsonl")).iter().map(|line| definition_of(line, set)).collect();
    let index = index_of(&definitions);
    let queries = lines(&folder.join("queries.jsonl"));
    let step = queries.len().div_ceil(SAMPLED);
    let (mut sum, mut n) = (0.0, 0.0);
    for line in queries.iter().step_by(step) {
        let found = search(&index, line["query"].as_str().unwrap());
        let gold = line["gold"].as_array().unwrap();
        let is_found = |name: &&Value| {
            let id = id_of(name.as_str().unwrap(), set);
            found.ranked.iter().any(|ranked| ranked.tool == id)
        };
        sum += gold.iter().filter(is_found).count() as f64 / gold.len() as f64;
        n += 1.0;
    }
    sum / n
}

#[test]
fn recall_stays_above_its_floor() {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data/retrieval");
    let Ok(sets) = std::fs::read_dir(&data) else {
        eprintln!("SKIPPED: {} is not there, so recall is not measured", data.display());
        return;
    };
    let mut folders: Vec<PathBuf> = sets.map(|set| set.unwrap().path()).collect();
    folders.sort();
    let mut recalls = Vec::new();
    for folder in &folders {
        let set = folder.file_name().unwrap().to_str().unwrap();
        let recall = recall_at_8(folder, set);
        eprintln!("{set:18} r@8 {recall:.3}");
        recalls.push(recall);
    }
    let mean = recalls.iter().sum::<f64>() / recalls.len() as f64;
    eprintln!("{:18} r@8 {mean:.3}", "macro");
    assert!(mean >= MACRO_FLOOR, "macro r@8 fell to {mean:.3}");
}

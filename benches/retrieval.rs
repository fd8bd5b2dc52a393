//! Search and insertion, beside the plain form: every document scored for every query, then sorted.
//!
//! Read the ratio between `plain` and `indexed` of one run; absolute times depend on the machine.

use std::collections::BTreeMap;
use std::path::Path;

use divan::{Bencher, black_box};
use serde_json::{Value, json};
use toolcrib::core::definition::{Definition, Json};
use toolcrib::core::ids::{Alias, ToolId};
use toolcrib::core::retrieval::text::{TermKind, for_each_term};
use toolcrib::core::retrieval::{Index, Query};

fn main() {
    divan::main();
}

struct Catalog {
    definitions: Vec<Definition>,
    queries: Vec<String>,
}

impl Catalog {
    /// Reads the largest recorded set, or makes up a small one where it is absent.
    fn load() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/retrieval/sealtools");
        let lines = |file: &str| -> Option<Vec<Value>> {
            let text = std::fs::read_to_string(folder.join(file)).ok()?;
            text.lines().map(|line| serde_json::from_str(line).ok()).collect()
        };
        let (Some(tools), Some(queries)) = (lines("tools.jsonl"), lines("queries.jsonl")) else {
            eprintln!("{} is not there: a made-up catalog is used", folder.display());
            return Self::made_up();
        };
        let queries = queries.iter().filter_map(|line| line["query"].as_str().map(str::to_owned)).collect();
        Self { definitions: tools.iter().map(definition).collect(), queries }
    }

    fn made_up() -> Self {
        let verbs = ["create", "list", "delete", "update", "search", "send", "convert", "analyse"];
        let things = ["issue", "invoice", "flight", "email", "portfolio", "image", "contract", "recipe", "server"];
        let mut definitions = Vec::new();
        for n in 0..1_000 {
            let (verb, thing) = (verbs[n % verbs.len()], things[n % things.len()]);
            let description = format!("Use it to {verb} one {thing} of kind {n}. Works for every {thing}.");
            let schema = json!({"properties": {format!("{thing}_id"): {"description": format!("id of the {thing}")}}});
            let line =
                json!({"name": format!("{verb}_{thing}_{n}"), "description": description, "input_schema": schema});
            definitions.push(definition(&line));
        }
        let queries = things.iter().map(|thing| format!("Please create the {thing} and send me an email")).collect();
        Self { definitions, queries }
    }

    fn index(&self) -> Index {
        let mut index = Index::default();
        for definition in &self.definitions {
            index.insert(definition, &Alias::new(&*definition.id.name));
        }
        index
    }
}

fn definition(line: &Value) -> Definition {
    let text = |field: &str| line[field].as_str().unwrap_or("").to_owned();
    Definition {
        id: ToolId::new("bench", text("name")),
        title: None,
        summary: text("description").split(". ").next().unwrap_or("").to_owned(),
        when_to_use: String::new(),
        keywords: vec![],
        size_tokens: 0,
        description: text("description"),
        input_schema: Json::from_value(&line["input_schema"]),
        output_schema: None,
        annotations: None,
        group: text("domain"),
        tags: vec![],
        attributes: BTreeMap::new(),
        initial_score: 0.0,
        derived: Default::default(),
    }
}

/// BM25 over counted terms, every document visited.
struct Plain {
    documents: Vec<BTreeMap<String, f64>>,
    n_holding: BTreeMap<String, f64>,
}

impl Plain {
    fn new(catalog: &Catalog) -> Self {
        let documents: Vec<_> = catalog.definitions.iter().map(|tool| counts(&tool.measured_text())).collect();
        let mut n_holding = BTreeMap::new();
        for term in documents.iter().flat_map(BTreeMap::keys) {
            *n_holding.entry(term.clone()).or_insert(0.0) += 1.0;
        }
        Self { documents, n_holding }
    }

    fn search(&self, query: &str) -> Vec<usize> {
        let query = counts(query);
        let n = self.documents.len() as f64;
        let mut scored = Vec::with_capacity(self.documents.len());
        for (at, document) in self.documents.iter().enumerate() {
            let mut score = 0.0;
            for term in query.keys() {
                let (Some(count), Some(n_holding)) = (document.get(term), self.n_holding.get(term)) else { continue };
                score += (1.0 + (n - n_holding + 0.5) / (n_holding + 0.5)).ln() * count / (count + 2.0);
            }
            scored.push((score, at));
        }
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        scored.into_iter().take(8).map(|(_, at)| at).collect()
    }
}

fn counts(text: &str) -> BTreeMap<String, f64> {
    let mut counts = BTreeMap::new();
    for_each_term(text, &mut |term, kind| {
        if kind != TermKind::Stop {
            *counts.entry(term.to_owned()).or_insert(0.0) += 1.0;
        }
    });
    counts
}

/// Runs through the queries one after the other, so that the median is over them and not over one.
fn each_query(bencher: Bencher<'_, '_>, queries: &[String], search: impl Fn(&str)) {
    let mut queries = queries.iter().cycle();
    bencher.with_inputs(move || queries.next().map_or("", String::as_str)).bench_local_values(search);
}

#[divan::bench(sample_count = 300, sample_size = 1)]
fn search_plain(bencher: Bencher<'_, '_>) {
    let catalog = Catalog::load();
    let plain = Plain::new(&catalog);
    each_query(bencher, &catalog.queries, |query| drop(black_box(plain.search(query))));
}

#[divan::bench(sample_count = 2_000, sample_size = 1)]
fn search_indexed(bencher: Bencher<'_, '_>) {
    let catalog = Catalog::load();
    let index = catalog.index();
    each_query(bencher, &catalog.queries, |user| {
        let query = Query { user, ..Query::default() };
        drop(black_box(index.search(&query, &|_| 0.0, &mut |_| true, 8)));
    });
}

#[divan::bench(sample_count = 5)]
fn insert_all(bencher: Bencher<'_, '_>) {
    let catalog = Catalog::load();
    bencher.bench_local(|| black_box(catalog.index()));
}

#[divan::bench]
fn clone_index(bencher: Bencher<'_, '_>) {
    let index = Catalog::load().index();
    bencher.bench_local(|| black_box(index.clone()));
}

/// What a registration costs while a snapshot is held, so that what it touches must be copied.
#[divan::bench]
fn replace_one_beside_a_snapshot(bencher: Bencher<'_, '_>) {
    let catalog = Catalog::load();
    let mut index = catalog.index();
    let mut definitions = catalog.definitions.iter().cycle();
    bencher.bench_local(|| {
        let snapshot = index.clone();
        if let Some(definition) = definitions.next() {
            index.insert(definition, &Alias::new(&*definition.id.name));
        }
        snapshot
    });
}

#[divan::bench]
fn near_names(bencher: Bencher<'_, '_>) {
    let index = Catalog::load().index();
    bencher.bench_local(|| black_box(index.near_names("get_wether_forcast", &mut |_| true, 5)));
}

//! The gate, and what looks at a definition beside the others: the index of neighbours beside comparing with each.
//!
//! Read the ratio of `near_indexed` to `near_plain` of one run, both for one definition among 10,000, and of `register` to
//! `check_each`: what a registration costs beyond looking at each definition alone.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use divan::{Bencher, black_box};
use toolcrib::core::admission::check;
use toolcrib::core::admission::confusable::Signature;
use toolcrib::core::admission::neighbours::Neighbours;
use toolcrib::core::definition::Definition;
use toolcrib::core::ids::{NamespaceId, ToolId};
use toolcrib::core::namespace::Namespace;
use toolcrib::core::namespace::commands::{Batch, Registration};
use toolcrib::core::policy::Policy;
use toolcrib::import::{self, Shape};

/// Tools among which one is looked for.
const TOOLS: usize = 10_000;

fn main() {
    divan::main();
}

/// Returns Seal-Tools of `../shared/data` where it is at hand, else tools made of its size.
fn catalog() -> Vec<Definition> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/retrieval/sealtools/tools.jsonl");
    let bytes = std::fs::read(&path).unwrap_or_else(|_| {
        eprintln!("{} is not there: 4,076 made tools instead", path.display());
        made_catalog().into_bytes()
    });
    let read = import::read(&bytes, Shape::Jsonl, "seal/tools.jsonl", None).expect("a catalog");
    read.tools.into_iter().map(|found| found.definition).collect()
}

fn made_catalog() -> String {
    let (verbs, things) = (["get", "find", "book", "plot"], ["flight", "invoice", "reactor", "nurse"]);
    let line = |i: usize| {
        let (verb, thing) = (verbs[i % 4], things[i / 4 % 4]);
        format!(
            r#"{{"name":"{verb}_{thing}_{i}","description":"Use it to {verb} a {thing} of kind {i} when asked.","input_schema":{{"type":"object"}}}}"#
        )
    };
    (0..4_076).map(line).collect::<Vec<_>>().join("\n")
}

/// Returns the catalog at as many sources as make 10,000 tools.
fn ten_thousand() -> Vec<Definition> {
    let catalog = catalog();
    let mut tools = Vec::with_capacity(TOOLS);
    for i in 0..TOOLS {
        let mut tool = catalog[i % catalog.len()].clone();
        let copy = i / catalog.len();
        if copy > 0 {
            tool.id = ToolId::new(format!("source{copy}").as_str(), &*tool.id.name);
            tool.summary = format!("Version {copy}: {}", tool.summary);
        }
        tools.push(tool);
    }
    tools
}

#[divan::bench]
fn near_indexed(bencher: Bencher<'_, '_>) {
    let tools = ten_thousand();
    let mut index = Neighbours::default();
    tools.iter().for_each(|tool| index.insert(tool));
    let next = AtomicUsize::new(0);
    bencher.bench(|| {
        let tool = &tools[next.fetch_add(37, Ordering::Relaxed) % TOOLS];
        index.near(&tool.id, &Signature::of(tool), &|_| true)
    });
}

#[divan::bench]
fn near_plain(bencher: Bencher<'_, '_>) {
    let tools = ten_thousand();
    let signatures: Vec<Signature> = tools.iter().map(Signature::of).collect();
    let next = AtomicUsize::new(0);
    bencher.bench(|| {
        let signature = Signature::of(&tools[next.fetch_add(37, Ordering::Relaxed) % TOOLS]);
        signatures.iter().filter(|other| signature.closeness(other).is_some()).count()
    });
}

#[divan::bench]
fn one_pair(bencher: Bencher<'_, '_>) {
    let signatures: Vec<Signature> = catalog().iter().map(Signature::of).collect();
    let next = AtomicUsize::new(0);
    bencher.bench(|| {
        let at = next.fetch_add(1, Ordering::Relaxed) % (signatures.len() - 1);
        black_box(&signatures[at]).closeness(black_box(&signatures[at + 1]))
    });
}

/// What comes before the gate in an import: reading the file and deriving what it lacks.
#[divan::bench(sample_count = 10, sample_size = 1)]
fn read_catalog(bencher: Bencher<'_, '_>) {
    bencher.bench(catalog);
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn check_each(bencher: Bencher<'_, '_>) {
    let (catalog, policy) = (catalog(), Policy::default().admission);
    bencher.bench(|| catalog.iter().filter(|tool| check(tool, &policy).is_admitted()).count());
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn register(bencher: Bencher<'_, '_>) {
    let (catalog, policy) = (catalog(), Policy::default().admission);
    bencher.bench(|| {
        let mut namespace = Namespace::new(NamespaceId::from("bench"));
        let registration = Registration {
            request_id: String::new(),
            actor: "bench".into(),
            checked: catalog.iter().zip(0..).map(|(tool, i)| (i, check(tool, &policy))).collect(),
            batch: Batch::PerItem,
            complete_sources: BTreeSet::new(),
            unreadable: BTreeSet::new(),
        };
        let registered = namespace.decide_register(&registration).expect("a registration");
        for event in &registered.events {
            namespace.apply(Default::default(), &registered.events[0], event);
        }
        namespace
    });
}

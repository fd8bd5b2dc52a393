//! T16: what admission flags and refuses, on real catalogs and on poisoned tools. Through the core alone: no daemon is
//! needed to judge a text. Prints its figures.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolcrib::core::admission::{self, Checked, ViolationCode};
use toolcrib::core::definition::{Definition, Json};
use toolcrib::core::event::Word;
use toolcrib::core::ids::{NamespaceId, ToolId};
use toolcrib::core::namespace::Namespace;
use toolcrib::core::namespace::commands::{Admission, Batch, Registration};
use toolcrib::core::policy::AdmissionPolicy;
use toolcrib::import::{self, Shape};

/// Most refusals of honest tools, as a share of them.
const MOST_REFUSED: f64 = 0.001;
/// Most honest tools that are flagged for anything, as a share of them.
const MOST_FLAGGED: f64 = 0.02;
/// Poisoned tools that are made.
const POISONED: usize = 500;
/// Least share of them that is flagged or refused.
const LEAST_CAUGHT: f64 = 0.9;

fn catalog_files() -> Vec<PathBuf> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let mut files = vec![data.join("mcp/catalog_toucan/tools.jsonl")];
    for folder in ["mcp", "retrieval"] {
        let Ok(entries) = std::fs::read_dir(data.join(folder)) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            files.push(if folder == "mcp" { path } else { path.join("tools.jsonl") });
        }
    }
    files.retain(|file| file.is_file() && file.extension().is_some_and(|end| end == "json" || end == "jsonl"));
    files.sort();
    if files.is_empty() {
        eprintln!("SKIPPED: no catalogs at {}, so wrong flags are not measured", data.display());
    }
    files
}

fn definitions_in(file: &Path) -> Vec<Definition> {
    let bytes = std::fs::read(file).expect("a catalog");
    let catalog = import::read(&bytes, Shape::Detect, &file.to_string_lossy(), None).expect("a catalog");
    catalog.tools.into_iter().map(|found| found.definition).collect()
}

/// Looks at a definition whose size is given as it is measured.
fn check(definition: &Definition, policy: &AdmissionPolicy) -> Checked {
    let mut sized = definition.clone();
    sized.size_tokens = admission::check(definition, policy).measured_tokens;
    admission::check(&sized, policy)
}

/// Registers definitions, each for itself, and returns what was said of each.
pub(super) fn register(namespace: &mut Namespace, definitions: &[Definition]) -> Vec<Admission> {
    let policy = namespace.policy().admission.clone();
    let check = |definition: &Definition| check(definition, &policy);
    let checked: Vec<(u32, Checked)> = definitions.iter().map(check).zip(0..).map(|(c, i)| (i, c)).collect();
    let registration = Registration {
        request_id: String::new(),
        actor: "test".into(),
        checked,
        batch: Batch::PerItem,
        complete_sources: BTreeSet::new(),
        unreadable: BTreeSet::new(),
    };
    let registered = namespace.decide_register(&registration).expect("a registration");
    for event in &registered.events {
        namespace.apply(Default::default(), &registered.events[0], event);
    }
    registered.admissions
}

pub(super) fn namespace() -> Namespace {
    Namespace::new(NamespaceId::from("flags"))
}

#[test]
fn honest_catalogs_are_admitted_and_rarely_flagged() {
    let (mut n_tools, mut n_refused, mut n_flagged) = (0, 0, 0);
    let mut by_rule: BTreeMap<ViolationCode, usize> = BTreeMap::new();
    for file in catalog_files() {
        let admissions = register(&mut namespace(), &definitions_in(&file));
        n_tools += admissions.len();
        for admission in &admissions {
            n_refused += usize::from(!admission.violations.is_empty());
            n_flagged += usize::from(!admission.warnings.is_empty());
            let rules: BTreeSet<ViolationCode> = admission.warnings.iter().map(|warning| warning.code).collect();
            for rule in rules {
                *by_rule.entry(rule).or_default() += 1;
            }
            for warning in admission.warnings.iter().chain(&admission.violations) {
                eprintln!("  {} {} {}: {}", admission.tool, warning.code.as_str(), warning.field, warning.description);
            }
        }
    }
    eprintln!("{n_tools} honest tools: {n_refused} refused, {n_flagged} flagged, by rule {by_rule:?}");
    assert!(n_refused as f64 <= MOST_REFUSED * n_tools as f64, "{n_refused} of {n_tools} refused");
    assert!(n_flagged as f64 <= MOST_FLAGGED * n_tools as f64, "{n_flagged} of {n_tools} flagged");
}

/// A sentence of `tests/data/poisoned`.
struct Phrase {
    kind: String,
    is_held_out: bool,
    text: String,
}

fn phrases() -> Vec<Phrase> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/poisoned/phrases.jsonl");
    let text = std::fs::read_to_string(path).expect("the sentences");
    let read = |line: &str| {
        let value: Value = serde_json::from_str(line).expect("a line of JSON");
        let word = |key: &str| value[key].as_str().expect("a text").to_owned();
        Phrase { kind: word("kind"), is_held_out: word("half") == "held_out", text: word("text") }
    };
    text.lines().map(read).collect()
}

/// Honest definitions, as servers write them.
fn honest(i: usize) -> Definition {
    const TOOLS: [(&str, &str, &str, &str); 10] = [
        ("weather", "get_forecast", "Returns the forecast of a city when somebody plans a day outside", "city"),
        ("files", "read_file", "Reads a text file from the workspace when its content is needed", "path"),
        ("mail", "send_email", "Sends an e-mail to one or more people when a message is to go out", "recipient"),
        ("bank", "list_accounts", "Lists the accounts of a customer when a balance is asked for", "customer_id"),
        ("code", "search_issues", "Searches issues of a repository for text, labels or people", "query"),
        ("math", "add", "Adds two numbers when a sum is needed", "a"),
        ("maps", "find_route", "Finds a route between two places for a car, a bicycle or on foot", "destination"),
        ("notes", "create_note", "Creates a note in the notebook when something is to be remembered", "title"),
        ("shop", "track_parcel", "Tells where a parcel is when a customer asks after an order", "order_id"),
        ("data", "run_query", "Runs a read-only SQL query against the warehouse for a report", "sql"),
    ];
    let (source, name, summary, parameter) = TOOLS[i % TOOLS.len()];
    let schema = json!({
        "type": "object",
        "properties": {parameter: {"type": "string", "description": format!("The {parameter} to work with.")}},
        "required": [parameter],
    });
    serde_json::from_value(json!({
        "id": format!("{source}/{name}"),
        "summary": summary,
        "keywords": [format!("{source} assistant"), "lookup"],
        "size_tokens": 0,
        "description": format!("{summary}. Returns JSON."),
        "input_schema": schema,
    }))
    .expect("a definition")
}

/// Puts a sentence into a definition: where, and how it is dressed up, changes with `i`.
fn poison(definition: &mut Definition, text: &str, i: usize) -> &'static str {
    let in_schema = |change: &dyn Fn(&mut Value)| {
        let mut schema = definition.input_schema.to_value();
        change(&mut schema);
        Json::from_value(&schema)
    };
    let property = |extra: Value| in_schema(&|schema: &mut Value| schema["properties"]["extra"] = extra.clone());
    match i % 10 {
        0 | 1 => definition.description = format!("{}\n\n{text}", definition.description),
        2 => definition.description = format!("{text} {}", definition.description),
        3 => {
            definition.description =
                format!("{}\n\nArgs:\n    a: first\n\n{text}\n\nReturns: text", definition.description)
        }
        4 => definition.input_schema = property(json!({"type": "string", "description": text})),
        5 => definition.input_schema = property(json!({"type": "string", "enum": ["yes", text]})),
        6 => definition.input_schema = property(json!({"type": "string", "default": text})),
        7 => definition.output_schema = Some(Json::from_value(&json!({"type": "object", "description": text}))),
        8 => definition.annotations = Some(Json::from_value(&json!({"title": text}))),
        _ => definition.description = format!("{} {}", definition.description, text.to_uppercase()),
    }
    ["after", "after", "before", "between", "parameter", "enum", "default", "output", "annotations", "capitals"][i % 10]
}

#[derive(Default)]
struct Tally {
    caught: usize,
    all: usize,
}

impl Tally {
    fn add(&mut self, is_caught: bool) {
        self.all += 1;
        self.caught += usize::from(is_caught);
    }

    fn share(&self) -> f64 {
        self.caught as f64 / self.all as f64
    }
}

#[test]
fn sentences_that_poison_are_flagged() {
    let phrases = phrases();
    assert!(phrases.len() >= 60);
    let (mut by_half, mut by_kind, mut by_place): (BTreeMap<bool, Tally>, BTreeMap<_, Tally>, BTreeMap<_, Tally>) =
        Default::default();
    for i in 0..POISONED {
        let phrase = &phrases[i % phrases.len()];
        let mut namespace = namespace();
        let honest_tools: Vec<Definition> = (0..10).map(honest).collect();
        assert!(
            register(&mut namespace, &honest_tools).iter().all(|a| a.violations.is_empty() && a.warnings.is_empty())
        );
        let mut poisoned = honest(i / 7);
        poisoned.id = ToolId::new("helper", format!("{}_plus", poisoned.id.name).as_str());
        let place = poison(&mut poisoned, &phrase.text, i / 3);
        let said = &register(&mut namespace, &[poisoned])[0];
        let is_caught = said.warnings.iter().chain(&said.violations).any(|found| found.code.flag_group().is_some());
        by_half.entry(phrase.is_held_out).or_default().add(is_caught);
        by_kind.entry((phrase.kind.clone(), phrase.is_held_out)).or_default().add(is_caught);
        by_place.entry(place).or_default().add(is_caught);
        if !is_caught && !phrase.is_held_out {
            eprintln!("  not seen in {place}: {}", phrase.text);
        }
    }
    for ((kind, is_held_out), tally) in &by_kind {
        eprintln!(
            "  {kind:12} {} {} of {}",
            if *is_held_out { "held out" } else { "tuned   " },
            tally.caught,
            tally.all
        );
    }
    for (place, tally) in &by_place {
        eprintln!("  {place:12} {} of {}", tally.caught, tally.all);
    }
    let all = by_half.values().map(|tally| tally.caught).sum::<usize>();
    eprintln!(
        "{all} of {POISONED} poisoned tools caught; tuned {:.3}, held out {:.3}",
        by_half[&false].share(),
        by_half[&true].share()
    );
    assert!(all as f64 >= LEAST_CAUGHT * POISONED as f64);
}

#[test]
fn honest_catalogs_in_one_namespace_seldom_speak_of_each_other() {
    let mut namespace = namespace();
    let (mut n_tools, mut n_near, mut n_flagged) = (0, 0, 0);
    let mut by_rule: BTreeMap<ViolationCode, usize> = BTreeMap::new();
    // The two sets of live servers hold the same tools.
    let files = catalog_files().into_iter().filter(|file| !file.to_string_lossy().contains("livemcp_requests"));
    for file in files {
        let admissions = register(&mut namespace, &definitions_in(&file));
        n_tools += admissions.len();
        for admission in &admissions {
            n_near += usize::from(!admission.confusable.is_empty());
            n_flagged += usize::from(!admission.warnings.is_empty());
            for rule in admission.warnings.iter().map(|warning| warning.code).collect::<BTreeSet<_>>() {
                *by_rule.entry(rule).or_default() += 1;
            }
        }
    }
    eprintln!("{n_tools} in one namespace: {n_near} close to others, {n_flagged} flagged, by rule {by_rule:?}");
    assert!(n_flagged as f64 <= MOST_FLAGGED * n_tools as f64, "{n_flagged} of {n_tools} flagged");
}

/// One way to hide something in an honest definition.
type Attack = (&'static str, fn(&mut Definition));

fn schema(text: &str) -> Json {
    serde_json::from_str(text).expect("JSON")
}

const STRUCTURAL: [Attack; 16] = [
    ("a character of no width", |d| d.description.push_str("a\u{200B}b")),
    ("a tag", |d| d.summary.push('\u{E0041}')),
    ("text turned round", |d| d.description.push_str("\u{202E}txet")),
    ("an isolate", |d| d.keywords.push("pay\u{2066}ment".into())),
    ("a variation selector", |d| d.title = Some("Add\u{E0100}".into())),
    ("private use", |d| d.group = "tools\u{E000}".into()),
    ("an escape sequence", |d| d.description.push_str("\u{1B}[8mhidden\u{1B}[0m")),
    ("escaped in a schema", |d| {
        d.input_schema = schema(r#"{"type":"object","properties":{"a":{"description":"x\u202ey"}}}"#);
    }),
    ("a surrogate pair in a schema", |d| {
        d.input_schema = schema(r#"{"type":"object","properties":{"a":{"enum":["\udb40\udc41"]}}}"#);
    }),
    ("escaped in a key", |d| d.annotations = Some(schema(r#"{"re\u2060ad":true}"#))),
    ("a key twice", |d| {
        d.input_schema = schema(r#"{"type":"object","description":"fine","description":"not fine"}"#);
    }),
    ("a key twice, once escaped", |d| d.annotations = Some(schema(r#"{"title":"a","t\u0069tle":"b"}"#))),
    ("too long", |d| d.description = "word ".repeat(4_000)),
    ("behind blanks", |d| d.description.push_str(&format!("{}More.", " ".repeat(200)))),
    ("behind line breaks", |d| d.description.push_str(&format!("{}More.", "\n".repeat(60)))),
    ("in a comment", |d| d.description.push_str(" <!-- more -->")),
];

#[test]
fn every_structural_attack_is_caught() {
    let policy = namespace().policy().admission.clone();
    for i in 0..STRUCTURAL.len() * 10 {
        let (what, attack) = STRUCTURAL[i % STRUCTURAL.len()];
        let mut tool = honest(i / STRUCTURAL.len());
        assert!(check(&tool, &policy).violations.is_empty());
        attack(&mut tool);
        let checked = check(&tool, &policy);
        let is_caught = !checked.violations.is_empty() || !checked.warnings.is_empty();
        assert!(is_caught, "{what} in {}", tool.id);
    }
}

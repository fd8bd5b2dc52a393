//! The reference pages, held against what the program really says.

use std::collections::{BTreeMap, BTreeSet};

use toolcrib::core::admission::ViolationCode;
use toolcrib::core::event::Word as _;
use toolcrib::core::policy::{KEYS, Policy};
use toolcrib::proto::ErrorReason;

/// Returns the rows of the table below a heading, each with its cells.
fn rows<'a>(page: &'a str, heading: &str) -> Vec<Vec<&'a str>> {
    let (_, after) = page.split_once(&format!("\n## {heading}\n")).expect("the heading");
    let section = after.split("\n## ").next().unwrap_or_default();
    let lines = section.lines().filter(|line| line.starts_with("| `"));
    lines.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

fn page(name: &str) -> String {
    let path = format!("{}/docs/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("a page of the documentation")
}

fn errors() -> String {
    page("errors.md")
}

#[test]
fn every_reason_and_no_other_stands_in_the_error_reference() {
    let known: BTreeSet<String> = (1..1_000)
        .filter_map(|number| ErrorReason::try_from(number).ok())
        .map(|reason| reason.as_str_name().trim_start_matches("ERROR_REASON_").to_owned())
        .collect();
    let page = errors();
    let rows = rows(&page, "Reasons");
    let told: BTreeSet<String> = rows.iter().map(|row| row[0].trim_matches('`').to_owned()).collect();
    assert_eq!(told, known);
    for row in rows {
        assert_eq!(row.len(), 4, "{row:?}");
        assert!(row.iter().all(|cell| !cell.is_empty()), "{row:?}");
    }
}

#[test]
fn every_rule_of_admission_and_no_other_stands_there_with_its_group() {
    let group = |code: ViolationCode| {
        let group = code.flag_group().map(|group| serde_json::to_value(group).expect("a word"));
        group.map_or_else(String::new, |group| group.as_str().unwrap_or_default().to_owned())
    };
    let known: BTreeMap<String, String> =
        ViolationCode::ALL.iter().map(|code| (code.as_str().to_owned(), group(*code))).collect();
    let page = errors();
    let rows = rows(&page, "Rules of admission");
    let told: BTreeMap<String, String> =
        rows.iter().map(|row| (row[0].trim_matches('`').to_owned(), row[1].to_owned())).collect();
    assert_eq!((told, rows.len()), (known.clone(), known.len()));
    for row in rows {
        assert!(row.len() == 4 && !row[2].is_empty() && !row[3].is_empty(), "{row:?}");
    }
}

#[test]
fn every_exit_code_stands_there() {
    let page = errors();
    let codes: Vec<&str> = rows(&page, "Exit codes").into_iter().map(|row| row[0].trim_matches('`')).collect();
    assert_eq!(codes, ["0", "1", "2", "75"]);
}

#[test]
fn every_line_of_the_table_of_models_and_no_other_stands_in_the_page_on_deliveries() {
    let key = KEYS.iter().find(|key| key.name == "session.deliveries").expect("the key");
    let known: BTreeSet<String> = key.get(&Policy::default()).split(',').map(str::to_owned).collect();
    let page = page("deliveries.md");
    let told: BTreeSet<String> = rows(&page, "Which model takes which")
        .into_iter()
        .flat_map(|row| {
            let delivery = row[1].to_ascii_lowercase();
            row[0].split(", ").map(|prefix| format!("{}={delivery}", prefix.trim_matches('`'))).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(told, known);
}

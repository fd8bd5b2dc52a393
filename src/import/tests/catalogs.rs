//! Real catalogs through the whole way: read, derive, check. Prints what was refused and why.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::*;
use crate::core::admission::{Checked, ViolationCode, check};
use crate::core::instance::smallest_instance;
use crate::core::policy::Policy;
use crate::core::validation::Validator;

/// Most refusals of tools that have a description, as a share of them.
const MOST_WRONG: f64 = 0.001;
/// Most tools that are flagged for anything, as a share of those with a description.
const MOST_FLAGGED: f64 = 0.02;
/// Least share of schemas whose smallest instance fits them.
const LEAST_FITTING: f64 = 0.995;

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
        eprintln!("SKIPPED: no catalogs at {}", data.display());
    }
    files
}

fn read_file(file: &Path) -> Catalog {
    read(&std::fs::read(file).unwrap(), Shape::Detect, &file.to_string_lossy(), None).unwrap()
}

fn check_all(catalog: &Catalog) -> Vec<Checked> {
    let policy = Policy::default().admission;
    catalog.tools.iter().map(|found| check(&found.definition, &policy)).collect()
}

#[test]
fn real_catalogs_are_admitted() {
    let (mut n_described, mut n_refused) = (0, 0);
    let mut codes: BTreeMap<(String, ViolationCode), usize> = BTreeMap::new();
    let mut flags: BTreeMap<String, usize> = BTreeMap::new();
    let mut n_flagged = 0;
    for file in catalog_files() {
        let catalog = read_file(&file);
        let checked = check_all(&catalog);
        let refused: Vec<&Checked> = checked.iter().filter(|checked| !checked.is_admitted()).collect();
        let without_description = catalog.refused.iter().filter(|r| r.field == "description").count();
        eprintln!(
            "{}: {} admitted, {} refused by the gate, {} without description, {} otherwise unreadable, {} repeated",
            file.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(&file).display(),
            checked.len() - refused.len(),
            refused.len(),
            without_description,
            catalog.refused.len() - without_description,
            catalog.repeated.len(),
        );
        for unreadable in catalog.refused.iter().filter(|r| r.field != "description") {
            eprintln!("  {unreadable:?}");
        }
        for checked in &refused {
            eprintln!("  {}: {:?}", checked.definition.id, checked.violations);
            for violation in &checked.violations {
                let field = violation.field.split('/').next().unwrap_or_default().to_owned();
                *codes.entry((field, violation.code)).or_default() += 1;
            }
        }
        n_flagged += checked.iter().filter(|checked| !checked.warnings.is_empty()).count();
        for warning in checked.iter().flat_map(|checked| &checked.warnings) {
            let reason = warning.description.split(':').next().unwrap_or_default().to_owned();
            *flags.entry(reason).or_default() += 1;
        }
        n_described += checked.len() + catalog.refused.len() - without_description;
        n_refused += refused.len() + catalog.refused.len() - without_description;
    }
    eprintln!("{n_refused} of {n_described} described tools refused: {codes:?}\n{n_flagged} flagged: {flags:?}");
    assert!(n_refused as f64 <= MOST_WRONG * n_described as f64, "{n_refused} of {n_described}");
    assert!(n_flagged as f64 <= MOST_FLAGGED * n_described as f64, "{n_flagged} of {n_described}");
}

#[test]
fn importing_the_same_catalog_again_derives_the_same() {
    for file in catalog_files().iter().filter(|file| file.extension().is_some_and(|end| end == "json")) {
        let (first, second) = (read_file(file), read_file(file));
        assert!(first.tools.iter().zip(&second.tools).all(|(a, b)| a.definition == b.definition));
    }
}

#[test]
fn the_smallest_instance_of_real_schemas_fits_them() {
    let (mut n_schemas, mut n_fitting) = (0, 0);
    for file in catalog_files() {
        for found in read_file(&file).tools {
            let schema = found.definition.input_schema.to_value();
            let instance = smallest_instance(&schema);
            let violations = Validator::of_value(&schema).unwrap().validate(&instance);
            n_schemas += 1;
            if violations.is_empty() {
                n_fitting += 1;
            } else {
                eprintln!("{}: {instance} {violations:?}", found.definition.id);
            }
        }
    }
    eprintln!("the smallest instance fits {n_fitting} of {n_schemas} schemas");
    assert!(n_fitting as f64 >= LEAST_FITTING * n_schemas as f64);
}

//! The arrows of ARCHITECTURE.md, held by reading the sources: who may know whom, and what the core may use.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What each part may know besides itself.
const ARROWS: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("store", &["core"]),
    ("telemetry", &["core"]),
    ("config", &["core"]),
    ("import", &["core"]),
    ("offline", &["core"]),
    ("proto", &["core"]),
    ("engine", &["core", "store"]),
    ("grpc", &["core", "config", "engine", "import", "offline", "proto", "telemetry"]),
    ("server", &["core", "config", "engine", "grpc", "proto", "store", "telemetry"]),
    ("cli", &["core", "config", "engine", "import", "offline", "proto", "server", "store", "telemetry"]),
    ("main", &["cli"]),
    ("lib", &[]),
];

/// The crates that the core may use: none of them has a clock, a thread, a socket or a file.
const CORE_CRATES: &[&str] = &[
    "bpe_openai",
    "caseless",
    "jsonschema",
    "libm",
    "regex_syntax",
    "rust_stemmers",
    "serde",
    "serde_json",
    "sha2",
    "std",
    "thiserror",
    "unicode_normalization",
    "unicode_properties",
    "proptest",
];

/// Parts of std that would bring the world into the core.
const NOT_IN_THE_CORE: &[&str] =
    &["std::fs", "std::net", "std::thread", "std::env", "SystemTime", "Instant::now", "println!", "eprintln!"];

/// The words, which know nothing that decides.
const CORE_WORDS: &[(&str, &[&str])] =
    &[("ids", &[]), ("definition", &["ids"]), ("policy", &["event"]), ("event", &["ids", "definition"])];

fn sources() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).expect("a source");
                found.push((path.strip_prefix(&root).expect("below src").to_owned(), code_of(&text)));
            }
        }
    }
    found.sort();
    found
}

/// Returns a source without its comments and without the tests at its end, which may know anybody.
fn code_of(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

fn is_test(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str().to_string_lossy().starts_with("tests"))
}

fn part_of(path: &Path) -> String {
    let first = path.components().next().expect("a part").as_os_str().to_string_lossy().into_owned();
    first.trim_end_matches(".rs").to_owned()
}

/// Returns the names that follow a prefix such as `crate::`, groups in braces included.
fn names_after(code: &str, prefix: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, _) in code.match_indices(prefix) {
        let rest = &code[at + prefix.len()..];
        let group = rest.strip_prefix('{').and_then(|inner| inner.split('}').next()).unwrap_or(rest);
        let list = if rest.starts_with('{') { group.split(',').collect() } else { vec![group] };
        for item in list {
            let name: String = item.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            names.insert(name);
        }
    }
    names.remove("");
    names
}

#[test]
fn no_arrow_points_the_wrong_way() {
    let arrows: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    let mut wrong = Vec::new();
    for (path, code) in sources() {
        let part = part_of(&path);
        let allowed = arrows.get(part.as_str()).unwrap_or_else(|| panic!("{part} has no arrows yet: add it here"));
        for known in names_after(&code, "crate::") {
            let is_part = arrows.contains_key(known.as_str());
            if is_part && known != part && !allowed.contains(&known.as_str()) {
                wrong.push(format!("{} knows {known}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_core_uses_only_what_cannot_touch_the_world() {
    let mut wrong = Vec::new();
    for (path, code) in sources().into_iter().filter(|(path, _)| part_of(path) == "core" && !is_test(path)) {
        for line in code.lines().filter(|line| line.trim_start().starts_with("use ")) {
            let name: String =
                line.trim_start()[4..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let is_own = matches!(name.as_str(), "crate" | "super" | "self")
                || line.contains("use Move")
                || line.contains("use ToolState");
            let is_local =
                name.chars().next().is_some_and(char::is_uppercase) || fs::metadata(module(&path, &name)).is_ok();
            if !is_own && !is_local && !CORE_CRATES.contains(&name.as_str()) {
                wrong.push(format!("{}: {}", path.display(), line.trim()));
            }
        }
        for forbidden in NOT_IN_THE_CORE.iter().filter(|forbidden| code.contains(**forbidden)) {
            wrong.push(format!("{} uses {forbidden}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Returns where a module that a file declares would lie.
fn module(path: &Path, name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let folder = match path.file_stem() {
        Some(stem) if stem != "mod" => path.with_file_name(stem),
        _ => path.parent().expect("a folder").to_owned(),
    };
    let file = root.join(&folder).join(format!("{name}.rs"));
    if file.exists() { file } else { root.join(folder).join(name) }
}

#[test]
fn the_words_of_the_core_know_nothing_above_them() {
    let words: BTreeMap<&str, &[&str]> = CORE_WORDS.iter().copied().collect();
    let mut wrong = Vec::new();
    for (path, code) in sources().into_iter().filter(|(path, _)| part_of(path) == "core" && !is_test(path)) {
        let inner = part_of(path.strip_prefix("core").expect("below core"));
        let Some(allowed) = words.get(inner.as_str()) else { continue };
        let prefix = if path.components().count() > 2 { "super::super::" } else { "super::" };
        for known in names_after(&code, prefix).into_iter().chain(names_after(&code, "crate::core::")) {
            let is_module = known.chars().next().is_some_and(char::is_lowercase) && known != "super";
            if is_module && !allowed.contains(&known.as_str()) && known != inner {
                wrong.push(format!("{} knows {known}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

//! The catalog files below a directory, read and put together by source.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;

use crate::core::ids::ToolId;
use crate::import::{self, Shape};

/// Where a tool stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// The file, below the directory.
    pub(super) file: String,
    /// Place in it, from 0.
    pub(super) index: usize,
}

/// A tool, or a whole file, that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Refusal {
    /// The file, below the directory.
    pub(super) file: String,
    /// Place of the tool; `None` for the whole file.
    pub(super) index: Option<usize>,
    /// The tool, where that much could be read.
    pub(super) tool: Option<ToolId>,
    /// The field; empty for the whole.
    pub(super) field: String,
    /// Why.
    pub(super) reason: String,
}

/// Everything that the catalog files of a directory say.
#[derive(Default, Debug)]
pub(super) struct Gathered {
    /// Every tool once, as JSON lines in full form.
    pub(super) lines: String,
    /// Where each line comes from.
    pub(super) places: Vec<Place>,
    /// What could not be read.
    pub(super) refused: Vec<Refusal>,
    /// Sources that have tools.
    pub(super) sources: BTreeSet<Arc<str>>,
    /// Files read.
    pub(super) n_files: usize,
    /// What was left aside, and why.
    pub(super) left_aside: Vec<String>,
}

/// Reads every `*.json`, `*.jsonl` and `*.ndjson` below a directory, in the order of their names.
pub(super) fn gather(dir: &Path) -> anyhow::Result<Gathered> {
    let mut gathered = Gathered::default();
    let root = dir.canonicalize().with_context(|| format!("cannot read {}", dir.display()))?;
    let mut files = Vec::new();
    walk(dir, &root, &mut BTreeSet::new(), &mut files, &mut gathered.left_aside)?;
    files.sort();
    let mut seen: BTreeMap<ToolId, (String, Place)> = BTreeMap::new();
    for path in files {
        let file = path.strip_prefix(dir).unwrap_or(&path).display().to_string();
        gathered.n_files += 1;
        let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        // As `import` has it: the folder of the file may be what names the source.
        let full = std::path::absolute(&path).unwrap_or(path);
        let catalog = match import::read(&bytes, Shape::Detect, &full.display().to_string(), None) {
            Ok(catalog) => catalog,
            Err(error) => {
                let (field, reason) = (String::new(), error.to_string());
                gathered.refused.push(Refusal { file, index: None, tool: None, field, reason });
                continue;
            }
        };
        for unreadable in catalog.refused {
            let (index, tool) = (Some(unreadable.index), unreadable.tool);
            let (field, reason) = (unreadable.field, unreadable.reason);
            gathered.refused.push(Refusal { file: file.clone(), index, tool, field, reason });
        }
        for passed in catalog.passed_over {
            gathered.left_aside.push(format!("{file} #{} {}: {}", passed.index, passed.name, passed.reason));
        }
        for found in catalog.tools {
            let place = Place { file: file.clone(), index: found.index };
            gathered.add(place, found.definition.id.clone(), import::to_line(&found.definition), &mut seen);
        }
    }
    Ok(gathered)
}

impl Gathered {
    fn add(&mut self, place: Place, tool: ToolId, line: String, seen: &mut BTreeMap<ToolId, (String, Place)>) {
        match seen.get(&tool) {
            Some((earlier, _)) if *earlier == line => return,
            Some((_, first)) => {
                let reason =
                    format!("stands in {} #{} too, with another definition; must stand once", first.file, first.index);
                let (index, field) = (Some(place.index), "name".to_owned());
                self.refused.push(Refusal { file: place.file, index, tool: Some(tool), field, reason });
                return;
            }
            None => {}
        }
        self.sources.insert(tool.source.clone());
        self.lines.push_str(&line);
        self.lines.push('\n');
        self.places.push(place.clone());
        seen.insert(tool, (line, place));
    }
}

/// Finds catalog files. Hidden ones are none of ours, and links are followed within the directory only.
fn walk(
    folder: &Path,
    root: &Path,
    walked: &mut BTreeSet<PathBuf>,
    files: &mut Vec<PathBuf>,
    left_aside: &mut Vec<String>,
) -> anyhow::Result<()> {
    let unreadable = || format!("cannot read {}", folder.display());
    let real = folder.canonicalize().with_context(unreadable)?;
    if !walked.insert(real) {
        return Ok(());
    }
    let entries: Result<Vec<_>, _> = std::fs::read_dir(folder).with_context(unreadable)?.collect();
    let mut paths: Vec<PathBuf> = entries.with_context(unreadable)?.into_iter().map(|entry| entry.path()).collect();
    // A link and the folder that it leads to hold the same files; which of both is walked must not depend on the disk.
    paths.sort();
    for path in paths {
        let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if is_hidden {
            continue;
        }
        if path.is_symlink() && !path.canonicalize().is_ok_and(|real| real.starts_with(root)) {
            left_aside.push(format!("{}: a link that leads out of the directory, or nowhere", path.display()));
        } else if path.is_dir() {
            walk(&path, root, walked, files, left_aside)?;
        } else if path.extension().is_some_and(|ending| ending == "json" || ending == "jsonl" || ending == "ndjson") {
            // A pipe is no file, whatever its name, and reading one would wait for ever.
            if path.is_file() {
                files.push(path);
            } else {
                left_aside.push(format!("{}: not a file", path.display()));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const GIT: &str =
        r#"{"tools":[{"name":"status","description":"Shows the status.","inputSchema":{"type":"object"}}]}"#;
    const LINE: &str = r#"{"name":"fs__cat","description":"Shows a file.","input_schema":{"type":"object"}}"#;

    fn gather_files(files: &[(&str, &str)]) -> (tempfile::TempDir, Gathered) {
        let dir = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        let gathered = gather(dir.path()).expect("a catalog");
        (dir, gathered)
    }

    fn sources(gathered: &Gathered) -> Vec<&str> {
        gathered.sources.iter().map(|source| &**source).collect()
    }

    #[test]
    fn catalog_files_are_found_at_any_depth_and_hidden_or_other_ones_are_not() {
        let files =
            [("git.json", GIT), ("a/b/t.jsonl", LINE), (".git/x.json", "{"), ("a/.y.json", "{"), ("README", "x")];
        let (_dir, gathered) = gather_files(&files);
        assert_eq!((gathered.n_files, sources(&gathered)), (2, vec!["fs", "git"]));
        assert!(gathered.refused.is_empty() && gathered.left_aside.is_empty(), "{gathered:?}");
    }

    #[test]
    fn two_files_may_feed_one_source() {
        let (_dir, gathered) = gather_files(&[("a/t.jsonl", LINE), ("b/t.jsonl", &LINE.replace("cat", "ls"))]);
        assert_eq!((gathered.places.len(), sources(&gathered)), (2, vec!["fs"]));
        assert_eq!(gathered.places[1], Place { file: "b/t.jsonl".into(), index: 0 });
    }

    #[test]
    fn a_tool_in_two_files_is_taken_once_and_refused_where_the_files_differ() {
        let (_dir, gathered) =
            gather_files(&[("a.jsonl", LINE), ("b.jsonl", LINE), ("c.jsonl", &LINE.replace("Shows", "Deletes"))]);
        assert_eq!(gathered.places.len(), 1);
        let [refused] = &gathered.refused[..] else { panic!("{gathered:?}") };
        assert_eq!((&*refused.file, refused.index), ("c.jsonl", Some(0)));
        assert!(refused.reason.contains("a.jsonl #0"), "{refused:?}");
    }

    #[test]
    fn a_file_that_is_no_catalog_is_named_and_keeps_no_other_from_being_looked_at() {
        let (_dir, gathered) = gather_files(&[("a.json", "<html>"), ("git.json", GIT)]);
        assert_eq!(gathered.refused[0].file, "a.json");
        assert_eq!(gathered.places.len(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn what_has_the_name_of_a_catalog_and_is_no_file_is_left_aside() {
        let dir = tempfile::tempdir().expect("a folder");
        let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("s.json")).expect("a socket");
        let gathered = gather(dir.path()).expect("a catalog");
        assert_eq!((gathered.n_files, gathered.left_aside.len()), (0, 1), "{gathered:?}");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_within_the_directory_only_and_never_round() {
        let outside = tempfile::tempdir().expect("a folder");
        fs::write(outside.path().join("secret.jsonl"), LINE).expect("a file");
        let dir = tempfile::tempdir().expect("a folder");
        fs::create_dir(dir.path().join("in")).expect("a folder");
        fs::write(dir.path().join("in/t.jsonl"), LINE.replace("cat", "ls")).expect("a file");
        let link = |to: &Path, name: &str| std::os::unix::fs::symlink(to, dir.path().join(name)).expect("a link");
        link(outside.path(), "out");
        link(&outside.path().join("secret.jsonl"), "s.jsonl");
        link(dir.path(), "in/round");
        let gathered = gather(dir.path()).expect("a catalog");
        assert_eq!(gathered.places, [Place { file: "in/t.jsonl".into(), index: 0 }]);
        assert_eq!(gathered.left_aside.len(), 2, "{gathered:?}");
    }
}

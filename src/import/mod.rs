//! Reads catalog files: bytes in, definitions out, each ready for the gate.
//!
//! Fills in what a source has no field for and marks it; judges nothing that admission judges. One unreadable tool does
//! not keep the others out: it is named, with its place and reason. Knows the core only.

mod fields;
mod jsonl;
mod mcp;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::core::admission::JsonRefusal;
use crate::core::admission::derive::{Corpus, fill};
use crate::core::definition::Definition;
use crate::core::ids::ToolId;

/// The form of a catalog file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// By the file's name and first line.
    Detect,
    /// An MCP `tools/list` result.
    Mcp,
    /// One tool a line.
    Jsonl,
}

/// What a catalog file holds.
#[derive(Debug)]
pub struct Catalog {
    /// Tools that could be read, in file order.
    pub tools: Vec<Found>,
    /// Tools that could not be read, in file order.
    pub refused: Vec<Unreadable>,
    /// Places of tools that say over again, word for word, what an earlier one said; passed over.
    pub repeated: Vec<usize>,
    /// Sources that the file names: only these can lose tools by it.
    pub sources: BTreeSet<Arc<str>>,
}

/// A tool as found.
#[derive(Debug)]
pub struct Found {
    /// Place in the file: of the tool from 0, or of the line from 0.
    pub index: usize,
    /// Its definition, with what was lacking filled in.
    pub definition: Definition,
}

/// A tool that could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unreadable {
    /// Place in the file, as in [`Found::index`].
    pub index: usize,
    /// Its identity where that much could be read: a tool that is listed has not vanished.
    pub tool: Option<ToolId>,
    /// The field, as the file spells it; empty for the tool as a whole.
    pub field: String,
    /// What is wrong, and what would be accepted.
    pub reason: String,
}

/// A file that cannot be read as a catalog at all.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ImportError {
    /// The file is not JSON that can be read safely.
    #[error("catalog is {0}")]
    Json(JsonRefusal),
    /// There is JSON, but no list of tools in it.
    #[error("no tools found; must be an MCP tools/list result or JSON lines of tools")]
    NoTools,
    /// The file is one page of a longer list; taken as the whole, it would withdraw the rest.
    #[error("catalog is one page of several (it has a nextCursor); must hold all pages in one list")]
    OnePage,
    /// The list is empty; taken at its word, it would withdraw every tool of the source.
    #[error("catalog lists no tools, so nothing was changed; must list at least one")]
    Empty,
    /// Neither the file's name nor the tools say where they come from.
    #[error("source is unknown; must be given for a file without a name")]
    NoSource,
}

/// A tool before anything is derived.
type Raw = Result<Definition, Unreadable>;

/// Reads a catalog file.
///
/// `file_name` may have folders. `source` files all tools under that source; else, in JSON lines, a tool comes from the
/// `source` it names, from the part of its name before the first `__`, or from the file's folder; an MCP file's tools
/// come from its stem.
pub fn read(bytes: &[u8], shape: Shape, file_name: &str, source: Option<&str>) -> Result<Catalog, ImportError> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let mut sources: BTreeSet<Arc<str>> = BTreeSet::new();
    let raws = match shape {
        Shape::Mcp => mcp::read(bytes, file_name, source, &mut sources)?,
        Shape::Jsonl => jsonl::read(bytes, file_name, source, &mut sources)?,
        Shape::Detect if jsonl::looks_like_it(bytes, file_name) => jsonl::read(bytes, file_name, source, &mut sources)?,
        Shape::Detect => mcp::read(bytes, file_name, source, &mut sources)?,
    };
    Ok(collect(raws, sources))
}

fn collect(raws: Vec<(usize, Raw)>, mut sources: BTreeSet<Arc<str>>) -> Catalog {
    let mut catalog =
        Catalog { tools: Vec::new(), refused: Vec::new(), repeated: Vec::new(), sources: BTreeSet::new() };
    let mut places: BTreeMap<ToolId, usize> = BTreeMap::new();
    for (index, raw) in raws {
        let definition = match raw {
            Ok(definition) => definition,
            Err(unreadable) => {
                sources.extend(unreadable.tool.as_ref().map(|tool| tool.source.clone()));
                catalog.refused.push(unreadable);
                continue;
            }
        };
        sources.insert(definition.id.source.clone());
        match places.get(&definition.id) {
            None => {
                places.insert(definition.id.clone(), catalog.tools.len());
                catalog.tools.push(Found { index, definition });
            }
            Some(&first) if catalog.tools[first].definition == definition => catalog.repeated.push(index),
            Some(&first) => catalog.refused.push(Unreadable {
                index,
                field: "name".into(),
                reason: format!("the same name as tool {}, and another definition", catalog.tools[first].index),
                tool: Some(definition.id),
            }),
        }
    }
    let corpus = Corpus::of(catalog.tools.iter().map(|found| &found.definition));
    for found in &mut catalog.tools {
        fill(&mut found.definition, &corpus);
    }
    catalog.sources = sources;
    catalog
}

/// Returns the file's name without folders and ending.
fn stem(file_name: &str) -> Option<&str> {
    let name = file_name.rsplit(['/', '\\']).next()?;
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    Some(stem).filter(|stem| !stem.is_empty())
}

/// Returns the name of the folder the file lies in.
fn folder(file_name: &str) -> Option<&str> {
    let mut parts = file_name.rsplit(['/', '\\']);
    parts.next();
    parts.next().filter(|folder| !matches!(*folder, "" | "." | ".."))
}

#[cfg(test)]
mod tests;

//! Reads catalog files: bytes in, definitions out, each ready for the gate.
//!
//! A file is cut into tools, then each is read by itself, whatever the shape: the shapes differ by one table
//! (`spelling`). Fills in what a source has no field for and marks it; judges nothing that admission judges. One
//! unreadable tool does not keep the others out: it is named, with its place and reason. Knows the core only.

mod cut;
mod fields;
mod full;
mod spelling;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::core::admission::derive::{Corpus, fill};
use crate::core::admission::{JsonRefusal, mapped_name, mapped_source, parse_json};
use crate::core::definition::Definition;
use crate::core::ids::ToolId;
use cut::{Element, Form, MOST_TOOLS};
use fields::Fields;
use spelling::Spelling;

pub use full::to_line;

/// The form of a catalog file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// By the file's name, its first line and each tool's fields.
    Detect,
    /// An MCP `tools/list` result.
    Mcp,
    /// One tool a line, each in any of the spellings.
    Jsonl,
    /// The `tools` of OpenAI Chat Completions or Responses, alone or in a whole request.
    OpenAi,
    /// The `tools` of Anthropic Messages, alone or in a whole request.
    Anthropic,
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
    /// What stands among the tools without being one to register, such as a tool that its provider runs.
    pub passed_over: Vec<PassedOver>,
    /// Sources that the file names: only these can lose tools by it.
    pub sources: BTreeSet<Arc<str>>,
}

impl Catalog {
    /// Counts the refused of which not even the name could be read. While there are any, a tool that seems to be missing
    /// may be one of them.
    pub fn n_nameless(&self) -> usize {
        self.refused.iter().filter(|refused| refused.tool.is_none()).count()
    }
}

/// Something in a list of tools that is no tool to register.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PassedOver {
    /// Place in the file, as in [`Found::index`].
    pub index: usize,
    /// Its name, or its type where it has none.
    pub name: String,
    /// Why it is passed over.
    pub reason: String,
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
    /// The bytes are text in two or four bytes a character.
    #[error("catalog is UTF-16 or UTF-32; must be UTF-8")]
    WideText,
    /// The file is a page for people, such as a server's error.
    #[error("catalog begins with \"<\", so it is an HTML or XML page; must be JSON. See what the server answered")]
    Markup,
    /// There is JSON, but no list of tools in it.
    #[error(
        "no tools found; must be an MCP tools/list result, the tools of an OpenAI or Anthropic request, or JSON lines \
         of tools"
    )]
    NoTools,
    /// The file is one page of a longer list; taken as the whole, it would withdraw the rest.
    #[error("catalog is one page of several (it has a nextCursor); must hold all pages in one list")]
    OnePage,
    /// The list is empty; taken at its word, it would withdraw every tool of the source.
    #[error("catalog lists no tools, so nothing was changed; must list at least one")]
    Empty,
    /// The list holds only what its provider runs; taken at its word, it would withdraw every tool of the source.
    #[error("catalog lists only what is passed over ({0}), so nothing was changed; must list at least one tool")]
    NoneToRegister(String),
    /// More than are taken in at once.
    #[error("catalog holds more than {MOST_TOOLS} tools; must be split, by sources")]
    TooManyTools,
    /// Neither the file's name nor the tools say where they come from.
    #[error("source is unknown; must be given for a file without a name")]
    NoSource,
}

/// A tool before anything is derived.
type Raw = Result<Definition, Unreadable>;

/// Reads a catalog file.
///
/// `file_name` may have folders. `source` files all tools under that source. Else the tools of an MCP list come from the
/// file's stem; any other tool from the `source` it names or the part of its name before the first `__`, failing that
/// from the file's stem in a list, and from its folder in JSON lines.
pub fn read(bytes: &[u8], shape: Shape, file_name: &str, source: Option<&str>) -> Result<Catalog, ImportError> {
    let bytes = checked_text(bytes)?;
    let form = match shape {
        Shape::Mcp => Form::List,
        Shape::Jsonl => Form::Lines,
        Shape::Detect | Shape::OpenAi | Shape::Anthropic => cut::form(bytes, file_name),
    };
    let elements = match form {
        Form::List => cut::list(bytes)?,
        Form::Lines => cut::lines(bytes)?,
    };
    if elements.is_empty() {
        return Err(ImportError::Empty);
    }
    let mut reader = Reader {
        lines: LineCount { bytes, offset: 0, n_lines: 0, line_start: 0 },
        shape,
        form,
        file_name,
        source,
        usual: None,
        passed_over: Vec::new(),
    };
    let mut raws = Vec::new();
    for element in &elements {
        if let Some(raw) = reader.element(element)? {
            raws.push((element.index, raw));
        }
    }
    if raws.is_empty() {
        let names: Vec<&str> = reader.passed_over.iter().map(|passed| passed.name.as_str()).take(8).collect();
        return Err(ImportError::NoneToRegister(names.join(", ")));
    }
    let sources = source.map(|source| mapped_source(source).into()).into_iter().collect();
    Ok(collect(raws, sources, reader.passed_over))
}

/// Passes over a byte order mark; refuses what no JSON in UTF-8 begins with.
fn checked_text(bytes: &[u8]) -> Result<&[u8], ImportError> {
    let is_wide = matches!(bytes, [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] | [0, ..] | [_, 0, ..]);
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    if is_wide {
        return Err(ImportError::WideText);
    }
    if bytes.trim_ascii_start().starts_with(b"<") {
        return Err(ImportError::Markup);
    }
    if bytes.trim_ascii().is_empty() {
        return Err(ImportError::Empty);
    }
    Ok(bytes)
}

/// Most bytes of one tool as it stands in a file, several times what policy lets a definition have. More is not read:
/// in memory it would be many times as large.
const MOST_TOOL_BYTES: usize = 4 << 20;

/// Counts a file's lines once, however many places in it are named.
struct LineCount<'f> {
    bytes: &'f [u8],
    /// Everything before this is counted.
    offset: usize,
    n_lines: usize,
    /// Where the last line begins.
    line_start: usize,
}

impl LineCount<'_> {
    /// Puts a refusal of what begins at a byte, not before the one that was named last, in its place in the file.
    fn place(&mut self, refusal: JsonRefusal, offset: usize) -> JsonRefusal {
        for (at, _) in self.bytes[self.offset..offset].iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
            self.n_lines += 1;
            self.line_start = self.offset + at + 1;
        }
        self.offset = offset;
        refusal.in_file(offset, self.n_lines, self.line_start)
    }
}

/// Reads the tools of one file.
struct Reader<'f> {
    lines: LineCount<'f>,
    shape: Shape,
    form: Form,
    file_name: &'f str,
    source: Option<&'f str>,
    /// How the last tool was spelled: a tool that lacks its schema is told the name that its neighbours have.
    usual: Option<&'static Spelling>,
    passed_over: Vec<PassedOver>,
}

impl Reader<'_> {
    /// Reads one tool; `None` for what is passed over. The error is the whole file's: a tool that says no source, in a
    /// file that says none either.
    fn element(&mut self, element: &Element<'_>) -> Result<Option<Raw>, ImportError> {
        let Element { index, offset, bytes } = *element;
        let unreadable = |tool, reason| Ok(Some(Err(Unreadable { index, tool, field: String::new(), reason })));
        if bytes.len() > MOST_TOOL_BYTES {
            let reason = format!("larger than {MOST_TOOL_BYTES} bytes; must be smaller");
            return unreadable(self.salvaged(index, bytes)?, reason);
        }
        match parse_json(bytes) {
            Ok(Value::Object(map)) => self.tool(index, &map),
            Ok(_) => unreadable(None, "not an object; must be a tool".into()),
            Err(refusal) => {
                let tool = self.salvaged(index, bytes)?;
                unreadable(tool, self.lines.place(refusal, offset).to_string())
            }
        }
    }

    /// Finds out which tool it is that cannot be read as a whole; `None` where not even that can.
    fn salvaged(&self, index: usize, bytes: &[u8]) -> Result<Option<ToolId>, ImportError> {
        let map = cut::salvage(bytes);
        match self.identity(&self.fields(index, &map)) {
            Ok((source, local_name)) => Ok(Some(ToolId::new(source, mapped_name(local_name)))),
            Err(Stop::File(error)) => Err(error),
            Err(Stop::Tool(_)) => Ok(None),
        }
    }

    fn tool(&mut self, index: usize, map: &Map<String, Value>) -> Result<Option<Raw>, ImportError> {
        if let Some(reason) = spelling::foreign(self.shape, map) {
            self.passed_over.push(PassedOver { index, name: spelling::shown_name(map), reason });
            return Ok(None);
        }
        self.usual = Spelling::of(self.shape, map).or(self.usual);
        let mut fields = self.fields(index, map);
        match self.identity(&fields) {
            Ok((source, local_name)) => Ok(Some(fields.definition(source, local_name))),
            Err(Stop::File(error)) => Err(error),
            Err(Stop::Tool(unreadable)) => Ok(Some(Err(unreadable))),
        }
    }

    fn fields<'m>(&self, index: usize, map: &'m Map<String, Value>) -> Fields<'m> {
        let by_form = match self.form {
            Form::List => &spelling::MCP,
            Form::Lines => &spelling::FULL,
        };
        let spelling = Spelling::of(self.shape, map).or(self.usual).unwrap_or(by_form);
        let wrapped = spelling.wrapper.and_then(|wrapper| map.get(wrapper)?.as_object());
        Fields { index, map: wrapped.unwrap_or(map), spelling, tool: None }
    }

    /// Finds out where a tool comes from, and what it is called there.
    fn identity<'m>(&self, fields: &Fields<'m>) -> Result<(Arc<str>, &'m str), Stop> {
        let name = fields.name()?;
        let is_one_source = self.form == Form::List && !fields.spelling.mixes_sources();
        let (named, in_name) = if is_one_source { (None, None) } else { (fields.text("source")?, split(name)) };
        let by_file = || match self.form {
            Form::List => stem(self.file_name),
            Form::Lines => folder(self.file_name),
        };
        let (source, local_name) = match (self.source.or(named), in_name) {
            (Some(source), _) => (source, name),
            (None, Some((source, local_name))) => (source, local_name),
            (None, None) => (by_file().ok_or(ImportError::NoSource)?, name),
        };
        Ok((mapped_source(source).into(), local_name))
    }
}

/// Why a tool's identity is not known.
enum Stop {
    /// The tool does not say.
    Tool(Unreadable),
    /// Nothing in the file does.
    File(ImportError),
}

impl From<Unreadable> for Stop {
    fn from(unreadable: Unreadable) -> Self {
        Self::Tool(unreadable)
    }
}

impl From<ImportError> for Stop {
    fn from(error: ImportError) -> Self {
        Self::File(error)
    }
}

/// Splits `source__name`; a name that begins or ends with the separator has no source in it.
fn split(name: &str) -> Option<(&str, &str)> {
    name.split_once("__").filter(|(source, rest)| !source.is_empty() && !rest.is_empty())
}

fn collect(raws: Vec<(usize, Raw)>, mut sources: BTreeSet<Arc<str>>, passed_over: Vec<PassedOver>) -> Catalog {
    let (mut tools, mut refused, mut repeated) = (Vec::<Found>::new(), Vec::new(), Vec::new());
    let mut places: BTreeMap<ToolId, usize> = BTreeMap::new();
    for (index, raw) in raws {
        let definition = match raw {
            Ok(definition) => definition,
            Err(unreadable) => {
                sources.extend(unreadable.tool.as_ref().map(|tool| tool.source.clone()));
                refused.push(unreadable);
                continue;
            }
        };
        sources.insert(definition.id.source.clone());
        match places.get(&definition.id) {
            None => {
                places.insert(definition.id.clone(), tools.len());
                tools.push(Found { index, definition });
            }
            Some(&first) if tools[first].definition == definition => repeated.push(index),
            Some(&first) => refused.push(Unreadable {
                index,
                field: "name".into(),
                reason: format!(
                    "stands at #{} and #{index} with different definitions; must stand once",
                    tools[first].index
                ),
                tool: Some(definition.id),
            }),
        }
    }
    let corpus = Corpus::of(tools.iter().map(|found| &found.definition));
    for found in &mut tools {
        fill(&mut found.definition, &corpus);
    }
    Catalog { tools, refused, repeated, passed_over, sources }
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

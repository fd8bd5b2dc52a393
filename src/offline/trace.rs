//! The file shapes of recorded traffic: tools and traces as JSON lines, read line by line.
//!
//! Unknown fields are ignored, so that a richer export still plays. A line that cannot be read comes back as a
//! [`LineError`] in its place: nothing is skipped in silence, and what to do about it is left to the caller. Blank lines
//! say nothing and are passed over. Before editing, know that the order of lines is the order of ticks; a parallel batch
//! may be interleaved with other sessions, so lines are marked, not grouped.

use std::collections::BTreeMap;
use std::io::{self, BufRead};
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::core::definition::{Json, measured_text};
use crate::core::event::{Ending, Presence};
use crate::core::ids::{SessionId, ToolId, UnixMillis};
use crate::core::tokens;

/// A tool of a tools file, with its definition, its sizes, or both.
#[derive(Clone, PartialEq, Debug)]
pub struct TraceTool {
    /// Source and name, taken apart from the file's name.
    pub id: ToolId,
    /// What it does; empty where the file gives sizes only.
    pub description: String,
    /// Its input schema.
    pub input_schema: Option<Json>,
    /// The group it belongs to.
    pub domain: Option<String>,
    /// Tokens of its whole definition: as the file says, else as measured where the definition is there.
    pub schema_tokens: Option<u32>,
    /// Tokens of its directory line, where the file says so.
    pub index_line_tokens: Option<u32>,
    /// The heat it starts with; 0 for none.
    pub initial_score: f64,
}

/// A recorded call.
#[derive(Clone, PartialEq, Debug)]
pub struct TraceCall {
    /// Which tool.
    pub tool: ToolId,
    /// How it ended: `ending` where given, else *ok* for `ok: true`, else *unspecified*.
    pub ending: Ending,
    /// Whether the definition was in front of the model when this was recorded.
    pub presence: Option<Presence>,
}

/// One line of a trace: a call, or a step without one.
#[derive(Clone, PartialEq, Debug)]
pub struct TraceLine {
    /// Its number in the file, from 1.
    pub line: u64,
    /// Whose.
    pub session: SessionId,
    /// The step's number as recorded.
    pub step: u64,
    /// Whether a step begins here; otherwise the call belongs to the batch of the session's line before.
    pub starts_step: bool,
    /// The step's query; that of the session's last line where this one has none.
    pub query: Option<Arc<str>>,
    /// The call; `None` for a step without one.
    pub call: Option<TraceCall>,
    /// The on-demand definitions that were in the messages, where recorded.
    pub present: Option<Vec<ToolId>>,
    /// When, where recorded.
    pub at: Option<UnixMillis>,
}

/// A line that could not be read.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct LineError {
    /// Its number in the file, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub problem: LineProblem,
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
pub enum LineProblem {
    /// The file could not be read on; nothing follows.
    #[error("cannot be read")]
    Unreadable(#[source] io::Error),
    /// No JSON object of the expected shape.
    #[error("column {column}: {message}")]
    Malformed {
        /// Where, in bytes from 1.
        column: usize,
        /// What was found and what would be accepted.
        message: String,
    },
    /// A tools file names a tool twice.
    #[error("name: {tool} stands on line {first_line} already, must be unique")]
    NamedTwice {
        /// Which.
        tool: ToolId,
        /// The line that counts.
        first_line: u64,
    },
}

/// Returns the tool behind a name as files write it: what stands before the first `__` is the source, the rest the
/// name; a name without both parts belongs to `default_source`.
pub fn to_tool_id(name: &str, default_source: &str) -> ToolId {
    match name.split_once("__") {
        Some((source, local)) if !source.is_empty() && !local.is_empty() => ToolId::new(source, local),
        _ => ToolId::new(default_source, name),
    }
}

/// Reads a tools file, and every line of it that is broken.
pub fn read_tools(input: impl BufRead, default_source: &str) -> (Vec<TraceTool>, Vec<LineError>) {
    let mut tools = Vec::new();
    let mut errors = Vec::new();
    let mut lines_by_tool = BTreeMap::new();
    for read in JsonLines::<_, RawTool>::new(input) {
        let (line, raw) = match read {
            Ok(read) => read,
            Err(error) => {
                errors.push(error);
                continue;
            }
        };
        let id = to_tool_id(&raw.name, default_source);
        if let Some(&first_line) = lines_by_tool.get(&id) {
            errors.push(LineError { line, problem: LineProblem::NamedTwice { tool: id, first_line } });
            continue;
        }
        lines_by_tool.insert(id.clone(), line);
        let schema_tokens = raw.schema_tokens.or_else(|| measure(&id, &raw));
        tools.push(TraceTool {
            id,
            description: raw.description,
            input_schema: raw.input_schema,
            domain: raw.domain,
            schema_tokens,
            index_line_tokens: raw.index_line_tokens,
            initial_score: raw.initial_score,
        });
    }
    (tools, errors)
}

/// Counts the tokens of a definition as admission does; `None` where the file gives none.
fn measure(id: &ToolId, raw: &RawTool) -> Option<u32> {
    let schema = raw.input_schema.as_ref()?;
    Some(tokens::count(&measured_text(&id.name, &raw.description, schema)))
}

/// Reads a whole trace, and every line of it that is broken.
pub fn read_trace(input: impl BufRead, default_source: &str) -> (Vec<TraceLine>, Vec<LineError>) {
    let mut lines = Vec::new();
    let mut errors = Vec::new();
    for read in TraceReader::new(input, default_source) {
        match read {
            Ok(line) => lines.push(line),
            Err(error) => errors.push(error),
        }
    }
    (lines, errors)
}

/// Reads a trace line by line; remembers of each session its last step and query.
pub struct TraceReader<'a, R> {
    lines: JsonLines<R, RawLine>,
    default_source: &'a str,
    sessions: BTreeMap<SessionId, LastLine>,
}

/// What a session's next line may continue.
struct LastLine {
    step: u64,
    query: Option<Arc<str>>,
}

impl<'a, R: BufRead> TraceReader<'a, R> {
    /// Reads from `input`; names without a source belong to `default_source`.
    pub fn new(input: R, default_source: &'a str) -> Self {
        Self { lines: JsonLines::new(input), default_source, sessions: BTreeMap::new() }
    }

    fn resolve(&mut self, line: u64, raw: RawLine) -> TraceLine {
        let to_id = |name: &String| to_tool_id(name, self.default_source);
        let call = raw.tool.as_ref().map(|name| TraceCall {
            tool: to_id(name),
            ending: match (raw.ending, raw.ok) {
                (Some(ending), _) => ending,
                (None, Some(true)) => Ending::Ok,
                (None, _) => Ending::Unspecified,
            },
            presence: raw.presence,
        });
        let last = self.sessions.get(&raw.session);
        let starts_step = last.is_none_or(|last| last.step != raw.step);
        let query = raw.query.or_else(|| last.and_then(|last| last.query.clone()));
        self.sessions.insert(raw.session.clone(), LastLine { step: raw.step, query: query.clone() });
        TraceLine {
            line,
            session: raw.session,
            step: raw.step,
            starts_step,
            query,
            call,
            present: raw.present.map(|names| names.iter().map(to_id).collect()),
            at: raw.at,
        }
    }
}

impl<R: BufRead> Iterator for TraceReader<'_, R> {
    type Item = Result<TraceLine, LineError>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = self.lines.next()?;
        Some(read.map(|(line, raw)| self.resolve(line, raw)))
    }
}

/// A tools line as written.
#[derive(Deserialize)]
struct RawTool {
    name: String,
    #[serde(default)]
    description: String,
    input_schema: Option<Json>,
    domain: Option<String>,
    schema_tokens: Option<u32>,
    index_line_tokens: Option<u32>,
    #[serde(default)]
    initial_score: f64,
}

/// A trace line as written.
#[derive(Deserialize)]
struct RawLine {
    session: SessionId,
    step: u64,
    tool: Option<String>,
    query: Option<Arc<str>>,
    ok: Option<bool>,
    ending: Option<Ending>,
    presence: Option<Presence>,
    present: Option<Vec<String>>,
    at: Option<UnixMillis>,
}

/// Values of one shape, one a line, with their line numbers.
pub(super) struct JsonLines<R, T> {
    input: R,
    line: u64,
    buffer: Vec<u8>,
    has_ended: bool,
    shape: std::marker::PhantomData<T>,
}

impl<R: BufRead, T> JsonLines<R, T> {
    /// Reads from `input`.
    pub(super) fn new(input: R) -> Self {
        Self { input, line: 0, buffer: Vec::new(), has_ended: false, shape: std::marker::PhantomData }
    }
}

impl<R: BufRead, T: DeserializeOwned> Iterator for JsonLines<R, T> {
    type Item = Result<(u64, T), LineError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.has_ended {
            self.buffer.clear();
            self.line += 1;
            match self.input.read_until(b'\n', &mut self.buffer) {
                Ok(0) => self.has_ended = true,
                Ok(_) if self.buffer.trim_ascii().is_empty() => {}
                Ok(_) => return Some(parse(self.line, self.buffer.trim_ascii_end())),
                Err(error) => {
                    self.has_ended = true;
                    return Some(Err(LineError { line: self.line, problem: LineProblem::Unreadable(error) }));
                }
            }
        }
        None
    }
}

fn parse<T: DeserializeOwned>(line: u64, bytes: &[u8]) -> Result<(u64, T), LineError> {
    match serde_json::from_slice(bytes) {
        Ok(value) => Ok((line, value)),
        Err(error) => {
            // The parser says "at line 1 column 9" at the end; the line is the file's here.
            let text = error.to_string();
            let message = text.split(" at line ").next().unwrap_or(&text).to_owned();
            Err(LineError { line, problem: LineProblem::Malformed { column: error.column(), message } })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<TraceLine> {
        let (lines, errors) = read_trace(text.as_bytes(), "default");
        assert!(errors.is_empty(), "{errors:?}");
        lines
    }

    #[test]
    fn source_is_what_stands_before_the_first_double_underscore() {
        for (name, expected) in [
            ("github__create_issue", "github/create_issue"),
            ("a__b__c", "a/b__c"),
            ("create_issue", "default/create_issue"),
            ("__init", "default/__init"),
            ("init__", "default/init__"),
        ] {
            assert_eq!(to_tool_id(name, "default").to_string(), expected);
        }
    }

    #[test]
    fn both_shapes_of_a_tools_file_are_read() {
        let text = r#"{"name":"fs__cat","description":"Shows a file","input_schema":{"type":"object"},"domain":"files"}
{"name":"tool_01","schema_tokens":667,"index_line_tokens":45,"initial_score":10.0,"color":"red"}"#;
        let (tools, errors) = read_tools(text.as_bytes(), "default");
        assert!(errors.is_empty(), "{errors:?}");
        assert_eq!(tools[0].id, ToolId::new("fs", "cat"));
        assert_eq!(tools[0].input_schema.as_ref().map(Json::as_str), Some(r#"{"type":"object"}"#));
        let measured = tokens::count(r#"{"name":"cat","description":"Shows a file","input_schema":{"type":"object"}}"#);
        assert_eq!((tools[0].domain.as_deref(), tools[0].schema_tokens), (Some("files"), Some(measured)));
        assert_eq!((tools[1].schema_tokens, tools[1].initial_score), (Some(667), 10.0));
    }

    #[test]
    fn broken_lines_are_reported_with_their_number_and_the_rest_is_read() {
        let text = "{\"session\":\"s\",\"step\":1}\n\n{\"session\":\"s\"}\nnonsense\n{\"session\":\"s\",\"step\":2}\n";
        let (lines, errors) = read_trace(text.as_bytes(), "default");
        assert_eq!(lines.iter().map(|line| line.line).collect::<Vec<_>>(), [1, 5]);
        let said: Vec<String> = errors.iter().map(LineError::to_string).collect();
        assert_eq!(said, ["line 3: column 15: missing field `step`", "line 4: column 2: expected ident"]);
    }

    #[test]
    fn bytes_that_are_no_text_are_a_broken_line() {
        let (lines, errors) = read_trace(b"{\"session\":\"\xff\",\"step\":1}\n".as_slice(), "default");
        assert_eq!((lines.len(), errors.len()), (0, 1));
    }

    #[test]
    fn tool_named_twice_is_reported() {
        let (tools, errors) = read_tools("{\"name\":\"a\"}\n{\"name\":\"a\"}".as_bytes(), "s");
        assert_eq!(tools.len(), 1);
        assert_eq!(errors[0].to_string(), "line 2: name: s/a stands on line 1 already, must be unique");
    }

    #[test]
    fn line_without_a_query_continues_its_own_sessions_last_one() {
        let read = lines(
            r#"{"session":"a","step":0,"query":"first"}
{"session":"b","step":0,"tool":"x"}
{"session":"a","step":1,"query":null}
{"session":"a","step":2,"query":"second"}
{"session":"a","step":3}"#,
        );
        let queries: Vec<_> = read.iter().map(|line| line.query.as_deref()).collect();
        assert_eq!(queries, [Some("first"), None, Some("first"), Some("second"), Some("second")]);
    }

    #[test]
    fn equal_session_and_step_are_one_batch_even_when_interleaved() {
        let read = lines(
            r#"{"session":"a","step":1,"tool":"x"}
{"session":"a","step":1,"tool":"y"}
{"session":"b","step":1,"tool":"x"}
{"session":"a","step":1,"tool":"z"}
{"session":"a","step":2,"tool":"x"}"#,
        );
        assert_eq!(read.iter().map(|line| line.starts_step).collect::<Vec<_>>(), [true, false, true, false, true]);
    }

    #[test]
    fn ending_says_more_than_ok() {
        let read = lines(
            r#"{"session":"a","step":1,"tool":"x","ok":true}
{"session":"a","step":2,"tool":"x","ok":false}
{"session":"a","step":3,"tool":"x","ok":false,"ending":"timeout","presence":"issued","present":["x"],"at":7}
{"session":"a","step":4,"tool":"x"}"#,
        );
        let endings: Vec<_> = read.iter().filter_map(|line| line.call.as_ref()).map(|call| call.ending).collect();
        assert_eq!(endings, [Ending::Ok, Ending::Unspecified, Ending::Timeout, Ending::Unspecified]);
        assert_eq!(read[2].call.as_ref().and_then(|call| call.presence), Some(Presence::Issued));
        assert_eq!(read[2].present, Some(vec![ToolId::new("default", "x")]));
        assert_eq!(read[2].at, Some(UnixMillis(7)));
    }
}

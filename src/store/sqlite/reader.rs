//! Reading the log beside the writer, each call through a read-only connection of its own.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::faults::read_fault;
use super::{open_for_reading, refuse_unknown};
use crate::core::event::Record;
use crate::core::ids::{NamespaceId, Seq, SessionId, ToolId, UnixMillis};
use crate::store::migrations::{self, Schema};
use crate::store::{Passage, QueryBody, Reader, Snapshot, StoreError, codec};

/// Rows read at a time: enough that opening a statement does not count.
const PIECE_ROWS: i64 = 1_024;

/// Rows that one search for kinds looks through: a long read would keep the writer from its checkpoints.
const STRETCH_ROWS: u64 = 8_192;

/// A piece ends early at this many bytes of bodies, since one row may be a block of a megabyte.
const PIECE_BYTES: usize = 4 << 20;

/// Records that one statement looks through for a text.
const MENTION_ROWS: u64 = 20_000;

/// Reads a database, whether or not a daemon has it open.
pub struct SqliteReader {
    path: PathBuf,
}

/// A row of the log before it is understood.
struct Line {
    seq: Seq,
    at: UnixMillis,
    kind: String,
    body: String,
    query: Option<String>,
}

impl SqliteReader {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Opens a database for reading only; refuses what is not ours, newer, or not yet migrated.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let reader = Self::new(path.to_path_buf());
        let schema = reader.read(migrations::identify)?;
        refuse_unknown(schema, path)?;
        match schema {
            Schema::Version(migrations::NEWEST) => Ok(reader),
            _ => Err(StoreError::Foreign { path: path.to_path_buf() }),
        }
    }

    fn read<T>(&self, what: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        open_for_reading(&self.path)
            .and_then(|connection| what(&connection))
            .map_err(|error| read_fault(error, &self.path))
    }
}

impl Reader for SqliteReader {
    fn namespaces(&self) -> Result<Vec<NamespaceId>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare("SELECT name FROM namespaces ORDER BY name")?;
            let names = statement.query_map([], |row| row.get::<_, String>(0))?;
            names.map(|name| Ok(NamespaceId::new(name?))).collect()
        })
    }

    fn snapshot(&self, namespace: &NamespaceId, before: Option<Seq>) -> Result<Option<Snapshot>, StoreError> {
        self.read(|connection| {
            connection
                .query_row(
                    "SELECT seq, at_ms, body FROM snapshots WHERE namespace = (SELECT id FROM namespaces WHERE name = ?1)
                     AND (?2 IS NULL OR seq < ?2) ORDER BY seq DESC LIMIT 1",
                    params![namespace.as_str(), before.map(place)],
                    |row| Ok(Snapshot { seq: seq_at(row, 0)?, at: UnixMillis(row.get(1)?), body: row.get(2)? }),
                )
                .optional()
        })
    }

    fn begin(&self, namespace: &NamespaceId) -> Result<Seq, StoreError> {
        self.read(|connection| read_begin(connection, namespace))
    }

    fn records(
        &self,
        namespace: &NamespaceId,
        after: Seq,
        each: &mut dyn FnMut(Record, Option<QueryBody>) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let fault = |error| read_fault(error, &self.path);
        let connection = open_for_reading(&self.path).map_err(fault)?;
        let mut reached = after;
        let mut is_first = true;
        loop {
            let (begin, lines) = read_piece(&connection, namespace, reached).map_err(fault)?;
            if !is_first && begin > reached.next() {
                return Err(StoreError::Cut { begin });
            }
            if lines.is_empty() {
                return Ok(());
            }
            for line in lines {
                if !is_first && line.seq != reached.next() {
                    let detail = format!("record {} of namespace {namespace} follows {reached}", line.seq);
                    return Err(StoreError::Corrupt { detail });
                }
                is_first = false;
                reached = line.seq;
                let (record, query) = line.understand().map_err(|error| StoreError::Corrupt {
                    detail: format!("record {reached} of namespace {namespace}: {error}"),
                })?;
                if each(record, query).is_break() {
                    return Ok(());
                }
            }
        }
    }

    fn of_kinds(
        &self,
        namespace: &NamespaceId,
        after: Seq,
        through: Seq,
        kinds: &[&str],
    ) -> Result<Passage, StoreError> {
        let through = through.min(Seq(after.0.saturating_add(STRETCH_ROWS)));
        let (lines, is_cut) = self.read(|connection| read_kinds(connection, namespace, after, through, kinds))?;
        let last = lines.last().map(|line| line.seq);
        let records = lines.into_iter().map(|line| line.record_of(namespace)).collect::<Result<_, _>>()?;
        Ok(Passage { records, reached: last.filter(|_| is_cut).unwrap_or(through) })
    }

    fn mentions(
        &self,
        namespace: &NamespaceId,
        text: &str,
        after: Seq,
        each: &mut dyn FnMut(Record),
    ) -> Result<Seq, StoreError> {
        let text = serde_json::to_string(text).map_err(StoreError::other)?;
        let last = self.read(|connection| read_last(connection, namespace))?;
        let mut reached = after;
        while reached < last {
            let until = Seq(reached.0.saturating_add(MENTION_ROWS)).min(last);
            let lines = self.read(|connection| read_mentions(connection, namespace, &text, (reached, until)))?;
            for line in lines {
                each(line.record_of(namespace)?);
            }
            reached = until;
        }
        Ok(reached)
    }

    fn n_queries(&self, namespace: &NamespaceId, session: &SessionId) -> Result<u64, StoreError> {
        self.read(|connection| {
            connection.query_row(
                "SELECT count(*) FROM queries
                 WHERE namespace = (SELECT id FROM namespaces WHERE name = ?1) AND session = ?2",
                [namespace.as_str(), session.as_str()],
                |row| Ok(row.get::<_, i64>(0)?.cast_unsigned()),
            )
        })
    }

    fn moves(
        &self,
        namespace: &NamespaceId,
        tool: Option<&ToolId>,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let lines = self.read(|connection| read_moves(connection, namespace, tool, before, limit))?;
        lines.into_iter().map(|line| line.record_of(namespace)).collect()
    }
}

/// Reads the rows of some kinds in a stretch of the log, and says whether it stopped before the end of it.
fn read_kinds(
    connection: &Connection,
    namespace: &NamespaceId,
    after: Seq,
    through: Seq,
    kinds: &[&str],
) -> rusqlite::Result<(Vec<Line>, bool)> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, at_ms, kind, body FROM events
         WHERE namespace = (SELECT id FROM namespaces WHERE name = ?1) AND seq > ?2 AND seq <= ?3
           AND kind IN (SELECT value FROM json_each(?4))
         ORDER BY seq",
    )?;
    let kinds = serde_json::json!(kinds).to_string();
    let mut rows = statement.query(params![namespace.as_str(), place(after), place(through), kinds])?;
    let mut lines = Vec::new();
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        let at = UnixMillis(row.get(1)?);
        let line = Line { seq: seq_at(row, 0)?, at, kind: row.get(2)?, body: row.get(3)?, query: None };
        bytes += line.body.len();
        lines.push(line);
        if bytes >= PIECE_BYTES {
            return Ok((lines, true));
        }
    }
    Ok((lines, false))
}

/// Reads where a log begins.
fn read_begin(connection: &Connection, namespace: &NamespaceId) -> rusqlite::Result<Seq> {
    let mut statement = connection.prepare_cached("SELECT log_begin FROM namespaces WHERE name = ?1")?;
    Ok(statement.query_row([namespace.as_str()], |row| seq_at(row, 0)).optional()?.unwrap_or(Seq(1)))
}

/// Reads the place of a log's last record.
fn read_last(connection: &Connection, namespace: &NamespaceId) -> rusqlite::Result<Seq> {
    let sql = "SELECT coalesce(max(seq), 0) FROM events WHERE namespace = (SELECT id FROM namespaces WHERE name = ?1)";
    connection.query_row(sql, [namespace.as_str()], |row| seq_at(row, 0))
}

/// Reads the rows behind the first place, up to the second, in which a text stands.
fn read_mentions(
    connection: &Connection,
    namespace: &NamespaceId,
    text: &str,
    (after, until): (Seq, Seq),
) -> rusqlite::Result<Vec<Line>> {
    let mut statement = connection.prepare(
        "SELECT seq, at_ms, kind, body FROM events
         WHERE namespace = (SELECT id FROM namespaces WHERE name = ?1) AND seq > ?2 AND seq <= ?3 AND instr(body, ?4) > 0
         ORDER BY seq",
    )?;
    let mut rows = statement.query(params![namespace.as_str(), place(after), place(until), text])?;
    let mut lines = Vec::new();
    while let Some(row) = rows.next()? {
        let at = UnixMillis(row.get(1)?);
        lines.push(Line { seq: seq_at(row, 0)?, at, kind: row.get(2)?, body: row.get(3)?, query: None });
    }
    Ok(lines)
}

/// Reads a page of transitions whole.
fn read_moves(
    connection: &Connection,
    namespace: &NamespaceId,
    tool: Option<&ToolId>,
    before: Option<Seq>,
    limit: usize,
) -> rusqlite::Result<Vec<Line>> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, at_ms, kind, body FROM events
         WHERE namespace = (SELECT id FROM namespaces WHERE name = ?1) AND kind = 'tool_moved'
           AND (?2 IS NULL OR body ->> '$.tool' = ?2) AND (?3 IS NULL OR seq < ?3)
         ORDER BY seq DESC LIMIT ?4",
    )?;
    let tool = tool.map(ToString::to_string);
    let before = before.map(place);
    let mut rows = statement.query(params![namespace.as_str(), tool, before, limit as i64])?;
    let mut lines = Vec::new();
    while let Some(row) = rows.next()? {
        let at = UnixMillis(row.get(1)?);
        lines.push(Line { seq: seq_at(row, 0)?, at, kind: row.get(2)?, body: row.get(3)?, query: None });
    }
    Ok(lines)
}

/// Reads where the log begins, and the next rows whole before any is handed out: the read transaction ends with this
/// call, however slow the caller is.
fn read_piece(connection: &Connection, namespace: &NamespaceId, after: Seq) -> rusqlite::Result<(Seq, Vec<Line>)> {
    let transaction = connection.unchecked_transaction()?;
    let begin = read_begin(&transaction, namespace)?;
    let after = after.max(Seq(begin.0.saturating_sub(1)));
    let mut statement = transaction.prepare_cached(
        "SELECT e.seq, e.at_ms, e.kind, e.body, q.body
         FROM events e LEFT JOIN queries q ON q.namespace = e.namespace AND q.seq = e.seq
         WHERE e.namespace = (SELECT id FROM namespaces WHERE name = ?1) AND e.seq > ?2
         ORDER BY e.seq LIMIT ?3",
    )?;
    let mut rows = statement.query(params![namespace.as_str(), place(after), PIECE_ROWS])?;
    let mut lines = Vec::new();
    let mut bytes = 0;
    while bytes < PIECE_BYTES {
        let Some(row) = rows.next()? else { break };
        let line = Line {
            seq: seq_at(row, 0)?,
            at: UnixMillis(row.get(1)?),
            kind: row.get(2)?,
            body: row.get(3)?,
            query: row.get(4)?,
        };
        bytes += line.body.len();
        lines.push(line);
    }
    Ok((begin, lines))
}

impl Line {
    fn record_of(self, namespace: &NamespaceId) -> Result<Record, StoreError> {
        let seq = self.seq;
        let read = self.understand().map(|(record, _)| record);
        read.map_err(|error| StoreError::Corrupt { detail: format!("record {seq} of namespace {namespace}: {error}") })
    }

    fn understand(self) -> Result<(Record, Option<QueryBody>), serde_json::Error> {
        let event = codec::event(&self.kind, &self.body)?;
        let query = self.query.as_deref().map(codec::query).transpose()?;
        Ok((Record { seq: self.seq, at: self.at, event }, query))
    }
}

/// Returns a place as a row has it; one beyond all rows is beyond all rows, and not a negative number.
fn place(seq: Seq) -> i64 {
    i64::try_from(seq.0).unwrap_or(i64::MAX)
}

fn seq_at(row: &Row<'_>, column: usize) -> rusqlite::Result<Seq> {
    Ok(Seq(row.get::<_, i64>(column)?.cast_unsigned()))
}

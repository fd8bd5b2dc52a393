//! The durable event log: what a namespace needs to be exactly what it was before the daemon ended.
//!
//! Two sides. [`Log`] is the writer's, owned by one thread (`engine/journal.rs`); [`Reader`] is for recovery and export
//! and may be used from anywhere at any time. Nothing here decides, batches or retries: one call of [`Log::append`] is
//! one transaction, and an error says whether the same units may be tried again ([`StoreError::is_passing`]).
//!
//! The one thing to know before editing: an acknowledged unit must survive power loss, so a `Log` returns `Ok` only
//! after the disk said that it has the data, and after an error of which it cannot tell ([`StoreError::Indeterminate`])
//! it must not be written again.

mod codec;
mod error;
mod migrations;
#[cfg(test)]
pub(crate) mod samples;
pub mod sqlite;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use crate::core::event::Record;
use crate::core::ids::{NamespaceId, Seq, SessionId, ToolId, UnixMillis};

pub use error::StoreError;

/// What one cause left in the log: the cause and all it drew; stored in one transaction or not at all.
#[derive(Clone, PartialEq, Debug)]
pub struct Unit {
    /// Whose log.
    pub namespace: NamespaceId,
    /// The cause and what was drawn from it, in order and without gaps.
    pub records: Vec<Record>,
    /// The query behind the cause, where policy lets it be kept.
    pub query: Option<QueryNote>,
}

/// What policy lets be kept of a step's query.
///
/// It stands in a table of its own, with its own retention, so that it can be erased without touching the fold.
#[derive(Clone, PartialEq, Debug)]
pub struct QueryNote {
    /// The record it belongs to.
    pub seq: Seq,
    /// Whose it was.
    pub session: SessionId,
    /// When it came in.
    pub at: UnixMillis,
    /// The query.
    pub body: QueryBody,
}

/// A query, as far as policy lets it be kept.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueryBody {
    /// Keyed hashes of its stems.
    Terms(Vec<u32>),
    /// Its words.
    Text {
        /// What the user said.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        user: String,
        /// What the model said since.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        model: String,
        /// What the session is for.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        goal: String,
    },
}

/// What a namespace was at a place in its log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snapshot {
    /// The last record in it.
    pub seq: Seq,
    /// The stamp of that record.
    pub at: UnixMillis,
    /// The namespace.
    pub body: Vec<u8>,
}

/// What stays of a namespace's traffic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retention {
    /// Traffic from before this goes; `None` where none is too old.
    pub before: Option<UnixMillis>,
    /// The oldest traffic goes while the events hold more bytes than this; `None` where they may hold any.
    pub max_bytes: Option<u64>,
}

/// How far a namespace's log reaches back, and how much it holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogExtent {
    /// The first record; what stands before it is the audit of tools and policy, with gaps.
    pub begin: Seq,
    /// The stamp of that record.
    pub begin_at: UnixMillis,
    /// Bytes of the records from there on, as they stand in their rows.
    pub bytes: u64,
    /// The last record in the older of two snapshots: as far as the log may be cut. `None` where there are no two.
    pub older_snapshot: Option<Seq>,
}

impl LogExtent {
    /// Returns whether something stands at the beginning that is not to stay.
    pub fn exceeds(&self, keep: &Retention) -> bool {
        keep.before.is_some_and(|before| self.begin_at < before) || keep.max_bytes.is_some_and(|most| self.bytes > most)
    }

    /// Returns whether the beginning may be cut.
    pub fn may_be_cut(&self) -> bool {
        self.older_snapshot.is_some_and(|seq| seq >= self.begin)
    }
}

/// A session whose words are to be erased from the log.
#[derive(Clone, PartialEq, Debug)]
pub struct ErasedSession {
    /// Whose queries go.
    pub session: SessionId,
    /// The record of the erasure, which follows the last one of its namespace.
    pub unit: Unit,
    /// Records as they read from now on, each of the kind of the one in its place.
    pub changed: Vec<Record>,
    /// What the namespace is after `unit`; earlier snapshots go.
    pub snapshot: Vec<u8>,
}

/// The writer's side: the only way into the log.
pub trait Log: Send + 'static {
    /// Appends the units in one transaction and returns once they are on disk: all of them or, on an error, none
    /// (except after [`StoreError::Indeterminate`], when nobody knows).
    ///
    /// The first record of a unit must follow the last one of its namespace, else [`StoreError::OutOfOrder`].
    fn append(&mut self, units: &[&Unit]) -> Result<(), StoreError>;

    /// Keeps `body` as what the namespace was after `seq`, which must be in the log; only the newest two are kept.
    fn write_snapshot(
        &mut self,
        namespace: &NamespaceId,
        seq: Seq,
        at: UnixMillis,
        body: &[u8],
    ) -> Result<(), StoreError>;

    /// Erases the queries of a namespace that came in before `at`, and returns how many.
    fn drop_queries_before(&mut self, namespace: &NamespaceId, at: UnixMillis) -> Result<u64, StoreError>;

    /// Cuts a bounded piece of traffic from the beginning of a namespace's log: what `keep` lets go, up to the older of its
    /// two snapshots, so that each of them is still followed by all there was. Registrations, changes of tools and policy,
    /// transitions and erasures stay. Cuts nothing where there are no two snapshots.
    fn cut(&mut self, namespace: &NamespaceId, keep: &Retention) -> Result<(), StoreError>;

    /// Returns how far each namespace's log reaches back.
    fn extents(&self) -> BTreeMap<NamespaceId, LogExtent>;

    /// Erases a session in one transaction. Copies may be left in unused space of the file until [`Log::rewrite`].
    fn erase(&mut self, erased: &ErasedSession) -> Result<(), StoreError>;

    /// Writes the database anew, so that nothing is left of what was deleted or erased. Takes as long as the file is large,
    /// and as much room on the disk; [`StoreError::Busy`] where a reader keeps old bytes in a side file.
    fn rewrite(&mut self) -> Result<(), StoreError>;

    /// Returns whether something was erased that no [`Log::rewrite`] followed yet, also before the last start.
    fn owes_rewrite(&self) -> bool;

    /// Writes something that changes nothing, to find out whether writing works again.
    fn probe(&mut self) -> Result<(), StoreError>;

    /// Folds side files into the database. Nothing depends on it but the next start's speed.
    fn checkpoint(&mut self) -> Result<(), StoreError>;
}

/// Some records of a stretch of the log.
#[derive(Clone, PartialEq, Debug)]
pub struct Passage {
    /// Those that were asked for, in order.
    pub records: Vec<Record>,
    /// The end of the stretch that was looked through.
    pub reached: Seq,
}

/// The reader's side, for recovery and export.
pub trait Reader: Send + Sync + 'static {
    /// Returns the namespaces that have a log, by name.
    fn namespaces(&self) -> Result<Vec<NamespaceId>, StoreError>;

    /// Returns the newest snapshot, or the newest before a place in the log.
    fn snapshot(&self, namespace: &NamespaceId, before: Option<Seq>) -> Result<Option<Snapshot>, StoreError>;

    /// Returns the first record that the log still has without gaps behind it: 1 unless it was cut.
    fn begin(&self, namespace: &NamespaceId) -> Result<Seq, StoreError>;

    /// Hands out the records behind `after`, in order, until `each` breaks; those before [`Reader::begin`] are left out.
    ///
    /// Reads in pieces of bounded size, so that neither memory nor a long read keeps the writer from its checkpoints;
    /// what is appended meanwhile is handed out too. A gap between two records is [`StoreError::Corrupt`], or
    /// [`StoreError::Cut`] where the log was cut meanwhile; where the first one stands is for the caller to check.
    fn records(
        &self,
        namespace: &NamespaceId,
        after: Seq,
        each: &mut dyn FnMut(Record, Option<QueryBody>) -> ControlFlow<()>,
    ) -> Result<(), StoreError>;

    /// Returns the records of some kinds (event names, as `kind` has them) behind `after` and not behind `through`, in
    /// order.
    ///
    /// Bounded as a piece of [`Reader::records`] is: where that cuts it short, [`Passage::reached`] says how far it goes.
    fn of_kinds(
        &self,
        namespace: &NamespaceId,
        after: Seq,
        through: Seq,
        kinds: &[&str],
    ) -> Result<Passage, StoreError>;

    /// Hands out every record behind `after` that holds `text` as a JSON string, in order, those before [`Reader::begin`]
    /// too. Returns the last record that was looked at.
    fn mentions(
        &self,
        namespace: &NamespaceId,
        text: &str,
        after: Seq,
        each: &mut dyn FnMut(Record),
    ) -> Result<Seq, StoreError>;

    /// Returns how many queries are kept of a session.
    fn n_queries(&self, namespace: &NamespaceId, session: &SessionId) -> Result<u64, StoreError>;

    /// Returns the newest transitions before a place in the log, of one tool or of all, newest first.
    fn moves(
        &self,
        namespace: &NamespaceId,
        tool: Option<&ToolId>,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError>;
}

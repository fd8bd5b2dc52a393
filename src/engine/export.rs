//! Reading the log back: for exports, for the history of tools, and for whoever follows it.

use std::ops::ControlFlow;

use tokio::sync::watch;

use super::{Engine, EngineError};
use crate::core::event::Record;
use crate::core::ids::{NamespaceId, Seq, ToolId};
use crate::store::QueryBody;

impl Engine {
    /// Hands out a namespace's records behind `after`, in order, each with the words of its query where policy kept
    /// them, until `each` breaks. Blocks for the disk.
    pub fn read_log(
        &self,
        namespace: &NamespaceId,
        after: Seq,
        each: &mut dyn FnMut(Record, Option<String>) -> ControlFlow<()>,
    ) -> Result<(), EngineError> {
        let read = self.reader().records(namespace, after, &mut |record, query| each(record, query.and_then(words_of)));
        read.map_err(EngineError::NotReadable)
    }

    /// Returns how far a namespace's log is on disk, to be looked at and waited for; ends when nothing is written any
    /// more.
    pub fn follow(&self, namespace: &NamespaceId) -> watch::Receiver<Seq> {
        self.journal().follow(namespace)
    }

    /// Returns the first record that a namespace's log still has whole: 1 unless traffic was cut. Blocks for the disk.
    pub fn log_begin(&self, namespace: &NamespaceId) -> Result<Seq, EngineError> {
        self.reader().begin(namespace).map_err(EngineError::NotReadable)
    }

    /// Returns the records of some kinds behind `after`, up to `through` at most, and how far it looked; see
    /// [`Reader::of_kinds`](crate::store::Reader::of_kinds). Blocks for the disk.
    pub fn read_kinds(
        &self,
        namespace: &NamespaceId,
        after: Seq,
        through: Seq,
        kinds: &[&str],
    ) -> Result<(Vec<Record>, Seq), EngineError> {
        let passage = self.reader().of_kinds(namespace, after, through, kinds).map_err(EngineError::NotReadable)?;
        Ok((passage.records, passage.reached))
    }

    /// Returns the newest transitions before a place in the log, of one tool or of all. Blocks for the disk.
    pub fn read_moves(
        &self,
        namespace: &NamespaceId,
        tool: Option<&ToolId>,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<Record>, EngineError> {
        self.reader().moves(namespace, tool, before, limit).map_err(EngineError::NotReadable)
    }
}

/// Returns the words that a step was about; hashes of terms have none.
fn words_of(query: QueryBody) -> Option<String> {
    match query {
        QueryBody::Terms(_) => None,
        QueryBody::Text { user, model, goal } => [user, model, goal].into_iter().find(|text| !text.is_empty()),
    }
}

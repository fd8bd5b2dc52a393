//! Reading the log back: for exports, and for the history of tools.

use std::ops::ControlFlow;

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

    /// Returns the first record that a namespace's log still has: 1 unless it was cut. Blocks for the disk.
    pub fn log_begin(&self, namespace: &NamespaceId) -> Result<Seq, EngineError> {
        self.reader().begin(namespace).map_err(EngineError::NotReadable)
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

//! A log that does as a test wills: the real one, or an error.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use toolcrib::core::ids::{NamespaceId, Seq, UnixMillis};
use toolcrib::store::sqlite::SqliteLog;
use toolcrib::store::{ErasedSession, Log, LogExtent, Retention, StoreError, Unit};

/// What a test holds of the log that it gave away.
#[derive(Clone, Default)]
pub struct Will(Arc<Mutex<Option<StoreError>>>);

impl Will {
    /// Has every write fail from now on.
    pub fn fail_with(&self, error: StoreError) {
        *self.0.lock().expect("nobody panics here") = Some(error);
    }

    /// Lets writes through again.
    pub fn let_through(&self) {
        *self.0.lock().expect("nobody panics here") = None;
    }

    fn answer(&self) -> Result<(), StoreError> {
        self.0.lock().expect("nobody panics here").clone().map_or(Ok(()), Err)
    }
}

/// The log under a will.
pub struct WilfulLog {
    /// The real one.
    pub log: SqliteLog,
    /// What is to happen.
    pub will: Will,
}

impl Log for WilfulLog {
    fn append(&mut self, units: &[&Unit]) -> Result<(), StoreError> {
        self.will.answer()?;
        self.log.append(units)
    }

    fn write_snapshot(
        &mut self,
        namespace: &NamespaceId,
        seq: Seq,
        at: UnixMillis,
        body: &[u8],
    ) -> Result<(), StoreError> {
        self.will.answer()?;
        self.log.write_snapshot(namespace, seq, at, body)
    }

    fn drop_queries_before(&mut self, namespace: &NamespaceId, at: UnixMillis) -> Result<u64, StoreError> {
        self.will.answer()?;
        self.log.drop_queries_before(namespace, at)
    }

    fn cut(&mut self, namespace: &NamespaceId, keep: &Retention) -> Result<(), StoreError> {
        self.will.answer()?;
        self.log.cut(namespace, keep)
    }

    fn extents(&self) -> BTreeMap<NamespaceId, LogExtent> {
        self.log.extents()
    }

    fn erase(&mut self, erased: &ErasedSession) -> Result<(), StoreError> {
        self.will.answer()?;
        self.log.erase(erased)
    }

    fn rewrite(&mut self) -> Result<(), StoreError> {
        self.will.answer()?;
        self.log.rewrite()
    }

    fn owes_rewrite(&self) -> bool {
        self.log.owes_rewrite()
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        self.will.answer()?;
        self.log.probe()
    }

    fn checkpoint(&mut self) -> Result<(), StoreError> {
        self.will.answer()?;
        self.log.checkpoint()
    }
}

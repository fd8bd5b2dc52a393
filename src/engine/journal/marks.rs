//! How far each namespace's log is on disk, for whoever follows it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::core::ids::{NamespaceId, Seq};
use crate::store::Unit;

/// The last record on disk, by namespace. A mark only ever moves forward, and never past what is on disk.
#[derive(Default)]
pub(super) struct Marks(Mutex<BTreeMap<NamespaceId, watch::Sender<Seq>>>);

impl Marks {
    /// Notes that everything up to `seq` is on disk.
    pub(super) fn reach(&self, namespace: &NamespaceId, seq: Seq) {
        let mut marks = self.lock();
        match marks.get(namespace) {
            Some(mark) => {
                mark.send_if_modified(|known| {
                    let is_news = seq > *known;
                    *known = seq.max(*known);
                    is_news
                });
            }
            None => drop(marks.insert(namespace.clone(), watch::Sender::new(seq))),
        }
    }

    /// Notes that units are on disk.
    pub(super) fn written(&self, units: &[&Unit]) {
        for unit in units {
            if let Some(last) = unit.records.last() {
                self.reach(&unit.namespace, last.seq);
            }
        }
    }

    /// Returns the mark of a namespace, to be looked at and waited for.
    pub(super) fn follow(&self, namespace: &NamespaceId) -> watch::Receiver<Seq> {
        self.lock().entry(namespace.clone()).or_insert_with(|| watch::Sender::new(Seq(0))).subscribe()
    }

    /// Ends the waiting: nothing will come to disk any more.
    pub(super) fn close(&self) {
        self.lock().clear();
    }

    /// Nothing panics while it holds the lock.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<NamespaceId, watch::Sender<Seq>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

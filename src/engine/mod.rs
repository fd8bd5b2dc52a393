//! The engine: what drives the core. Time, threads and the disk meet here and nowhere below.
//!
//! One [`Handle`] a namespace for handlers, one writer thread behind it, one journal thread for all of them.

mod announce;
pub mod clock;
mod erasure;
pub mod error;
pub mod explain;
mod export;
pub mod handle;
pub mod journal;
pub mod message;
mod recovery;
mod shared;
pub mod steps;
pub mod writer;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use dashmap::DashMap;
use uuid::Uuid;

use crate::core::event::{Event, NamespaceCreated, Record};
use crate::core::ids::{Digest, NamespaceId, Seq, UnixMillis};
use crate::core::namespace::Namespace;
use crate::store::{Reader, StoreError, Unit};

pub use erasure::Erased;
pub use error::EngineError;
pub use handle::Handle;

use clock::Clock;
use journal::Journal;
use recovery::Recovered;
use shared::Shared;
use writer::Writer;

/// Messages that may wait for a namespace's writer.
const INBOX: usize = 16_384;

/// What an engine is made of.
pub struct Parts {
    /// The way into the log.
    pub journal: Journal,
    /// The way out of it.
    pub reader: Arc<dyn Reader>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Most namespaces.
    pub max_namespaces: usize,
}

/// All namespaces of a daemon.
pub struct Engine {
    parts: Parts,
    handles: DashMap<NamespaceId, Arc<Handle>>,
    /// Held while a namespace is made, so that it is made once.
    making: Arc<tokio::sync::Mutex<()>>,
    /// The writers; `None` once they were told to end, and none is started any more.
    threads: Mutex<Option<Vec<JoinHandle<()>>>>,
}

impl Engine {
    /// Recovers every namespace of the store and starts its writer.
    pub fn start(parts: Parts) -> Result<Self, StartError> {
        let threads = Mutex::new(Some(Vec::new()));
        let engine = Self { parts, handles: DashMap::new(), making: Arc::default(), threads };
        for id in engine.parts.reader.namespaces()? {
            let recovered = recovery::recover(&*engine.parts.reader, &id)?;
            let (tools, tick) = (recovered.namespace.registry().len(), recovered.namespace.tick().0);
            tracing::info!(namespace = %id, tools, tick, "namespace recovered");
            // A daemon that was stopped in order left a snapshot behind everything.
            if recovered.n_records > 0 {
                tracing::warn!(
                    namespace = %id,
                    records = recovered.n_records,
                    "no snapshot at the end of the log: outcomes of the last flush window before a kill are not in it"
                );
            }
            engine.spawn(recovered)?;
        }
        Ok(engine)
    }

    fn spawn(&self, recovered: Recovered) -> io::Result<Arc<Handle>> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(threads) = &mut *threads else {
            return Err(io::Error::other("the engine is stopping"));
        };
        let id = recovered.namespace.id().clone();
        let shared = Arc::new(Shared::new(self.parts.clock.clone(), &recovered.namespace));
        let (sender, inbox) = sync_channel(INBOX);
        let handle = Arc::new(Handle::new(id.clone(), recovered.namespace.salt(), shared.clone(), sender));
        let journal = self.parts.journal.clone();
        journal.snapshot_is_of(id.clone(), recovered.start_at);
        journal.is_on_disk(&id, recovered.last_seq);
        let writer = Writer::new(recovered, journal, shared);
        let thread = thread::Builder::new().name(format!("writer {id}")).spawn(move || writer.run(&inbox))?;
        threads.push(thread);
        self.handles.insert(id, handle.clone());
        Ok(handle)
    }

    /// Returns a namespace.
    pub fn namespace(&self, id: &NamespaceId) -> Result<Arc<Handle>, EngineError> {
        let handle = self.handles.get(id).map(|handle| handle.clone());
        handle.ok_or_else(|| EngineError::UnknownNamespace(id.clone()))
    }

    /// Returns a namespace, made if there was none; it is on disk before it is returned.
    pub async fn namespace_or_new(self: &Arc<Self>, id: &NamespaceId) -> Result<Arc<Handle>, EngineError> {
        if let Ok(handle) = self.namespace(id) {
            return Ok(handle);
        }
        let alone = self.making.clone().lock_owned().await;
        if let Ok(handle) = self.namespace(id) {
            return Ok(handle);
        }
        let (engine, id) = (self.clone(), id.clone());
        // A task of its own: whoever asked may go away meanwhile, and what is on disk must be in memory too.
        let made = tokio::spawn(async move {
            let _alone = alone;
            engine.make(id).await
        });
        made.await.map_err(|_| EngineError::Stopping)?
    }

    async fn make(&self, id: NamespaceId) -> Result<Arc<Handle>, EngineError> {
        if self.handles.len() >= self.parts.max_namespaces {
            return Err(EngineError::TooManyNamespaces(self.parts.max_namespaces));
        }
        let at = self.parts.clock.now();
        // Two random ids are 244 random bits.
        let (a, b) = (Uuid::now_v7(), Uuid::new_v4());
        let salt = Digest::of_parts([a.as_bytes().as_slice(), b.as_bytes()]);
        let created = Event::NamespaceCreated(NamespaceCreated { salt });
        let record = Record { seq: Seq(1), at, event: created.clone() };
        let unit = Unit { namespace: id.clone(), records: vec![record], query: None };
        let durable = self.parts.journal.push_change(unit).map_err(|_| EngineError::NotWritable(StoreError::Full))?;
        durable.await.map_err(EngineError::NotWritable)?;
        let mut namespace = Namespace::new(id);
        namespace.apply(at, &created, &created);
        let recovered = Recovered { namespace, last_seq: Seq(1), last_at: at, n_records: 1, start_at: at };
        self.spawn(recovered).map_err(|_| EngineError::Stopping)
    }

    /// Returns every namespace, by name.
    pub fn namespaces(&self) -> BTreeMap<NamespaceId, Arc<Handle>> {
        self.handles.iter().map(|entry| (entry.key().clone(), entry.value().clone())).collect()
    }

    /// Returns the journal.
    pub fn journal(&self) -> &Journal {
        &self.parts.journal
    }

    fn reader(&self) -> &Arc<dyn Reader> {
        &self.parts.reader
    }

    /// Returns the clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.parts.clock
    }

    /// Does what time alone makes due in every namespace, as of `now`.
    pub async fn upkeep(&self, now: UnixMillis) {
        for handle in self.namespaces().values() {
            if let Err(error) = handle.upkeep(now).await {
                tracing::debug!(namespace = %handle.id(), ?error, "upkeep put off");
            }
        }
    }

    /// Returns whether a writer ended although nobody told it to: a bug made it panic, and what its namespace holds in
    /// memory is no longer what its log says.
    pub fn has_lost_writer(&self) -> bool {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.as_ref().is_some_and(|threads| threads.iter().any(JoinHandle::is_finished))
    }

    /// Ends every writer, each with a last snapshot. Blocks until they have ended.
    pub fn stop(&self) {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner).take();
        for handle in self.namespaces().values() {
            handle.stop();
        }
        for thread in threads.into_iter().flatten() {
            if thread.join().is_err() {
                tracing::error!("a writer ended by a panic");
            }
        }
    }
}

/// Why an engine does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The store cannot be read.
    #[error("the log cannot be read back")]
    Store(#[from] StoreError),
    /// A thread cannot be started.
    #[error("a writer thread cannot be started")]
    Thread(#[from] io::Error),
}

//! The engine: what drives the core. Time, threads and the disk meet here and nowhere below.
//!
//! One [`Handle`] a namespace for handlers, one writer thread behind it, one journal thread for all of them.

pub mod clock;
pub mod error;
mod export;
pub mod handle;
pub mod journal;
mod recovery;
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

pub use error::EngineError;
pub use handle::Handle;

use clock::Clock;
use handle::Shared;
use journal::Journal;
use recovery::Recovered;
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
    /// Also held while a namespace is made, so that it is made once.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Engine {
    /// Recovers every namespace of the store and starts its writer.
    pub fn start(parts: Parts) -> Result<Self, StartError> {
        let engine = Self { parts, handles: DashMap::new(), threads: Mutex::new(Vec::new()) };
        for id in engine.parts.reader.namespaces()? {
            let recovered = recovery::recover(&*engine.parts.reader, &id)?;
            tracing::info!(
                namespace = %id,
                records = recovered.n_records,
                tools = recovered.namespace.registry().len(),
                tick = recovered.namespace.tick().0,
                "namespace recovered; outcomes of the last flush window before a kill are not in the log"
            );
            let mut threads = engine.threads.lock().unwrap_or_else(PoisonError::into_inner);
            engine.spawn(recovered, &mut threads)?;
        }
        Ok(engine)
    }

    fn spawn(&self, recovered: Recovered, threads: &mut Vec<JoinHandle<()>>) -> io::Result<Arc<Handle>> {
        let id = recovered.namespace.id().clone();
        let shared = Arc::new(Shared::new(self.parts.clock.clone(), &recovered.namespace));
        let (sender, inbox) = sync_channel(INBOX);
        let handle = Arc::new(Handle::new(id.clone(), recovered.namespace.salt(), shared.clone(), sender));
        let journal = self.parts.journal.clone();
        let writer = Writer::new(recovered.namespace, recovered.last_seq, recovered.last_at, journal, shared);
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

    /// Returns a namespace, made if there was none; it is on disk before it is returned. Blocks for the disk when it
    /// makes one.
    pub fn namespace_or_new(&self, id: &NamespaceId) -> Result<Arc<Handle>, EngineError> {
        if let Ok(handle) = self.namespace(id) {
            return Ok(handle);
        }
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(handle) = self.namespace(id) {
            return Ok(handle);
        }
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
        durable.wait().map_err(EngineError::NotWritable)?;
        let mut namespace = Namespace::new(id.clone());
        namespace.apply(at, &created, &created);
        let recovered = Recovered { namespace, last_seq: Seq(1), last_at: at, n_records: 1 };
        self.spawn(recovered, &mut threads).map_err(|_| EngineError::Overloaded)
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

    /// Ends every writer, each with a last snapshot. Blocks until they have ended.
    pub fn stop(&self) {
        for handle in self.namespaces().values() {
            handle.stop();
        }
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
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

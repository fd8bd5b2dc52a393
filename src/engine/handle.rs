//! A namespace as handlers see it: the published view, the sessions, and the way to its writer.
//!
//! Handlers read the view without waiting and change a session under its own lock. No lock is held across an `.await`,
//! and the writer is never waited for while one is held: what a handler did is sent without blocking, in the order of
//! the session, and the writer folds the same.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use dashmap::DashMap;
use tokio::sync::oneshot;

use super::clock::Clock;
use super::error::EngineError;
use super::journal::Durable;
use super::writer::{Message, OpenedSession, Reply};
use crate::core::event::{BlockFrozen, Event, PolicySet, SessionEnd, SessionSpec, ToolChanged};
use crate::core::ids::{Digest, Generation, NamespaceId, SessionId, ToolId, UnixMillis};
use crate::core::namespace::Namespace;
use crate::core::namespace::commands::{Registered, Registration};
use crate::core::session::Session;
use crate::core::view::View;
use crate::store::QueryBody;

/// Something that happened to a session, on its way to the writer.
pub struct Traffic {
    /// When it came in.
    pub at: UnixMillis,
    /// What happened.
    pub event: Event,
    /// What may be kept of the query behind it.
    pub query: Option<QueryBody>,
}

/// A session as handlers change it.
pub struct FrontSession {
    /// The session, ahead of the log by what is on its way there.
    pub session: Session,
    /// What sending every candidate would cost, as of a revision of the registry.
    pub everything: Option<(u64, u32)>,
}

/// What handlers and the writer share.
pub struct Shared {
    /// The clock.
    pub clock: Arc<dyn Clock>,
    view: ArcSwap<View>,
    sessions: DashMap<SessionId, Arc<Mutex<FrontSession>>>,
    is_shedding: AtomicBool,
}

impl Shared {
    /// Starts with what was recovered.
    pub fn new(clock: Arc<dyn Clock>, namespace: &Namespace) -> Self {
        let shared = Self {
            clock,
            view: ArcSwap::from_pointee(namespace.view()),
            sessions: DashMap::new(),
            is_shedding: AtomicBool::new(false),
        };
        for session in namespace.sessions() {
            shared.put_session(session.clone());
        }
        shared
    }

    /// Lets readers see a new view.
    pub fn publish(&self, view: View) {
        self.view.store(Arc::new(view));
    }

    /// Says whether traffic is turned away because the log's buffer is full.
    pub fn set_shedding(&self, is_shedding: bool) {
        self.is_shedding.store(is_shedding, Ordering::Release);
    }

    /// Lets handlers see a session.
    pub fn put_session(&self, session: Session) {
        let front = FrontSession { session, everything: None };
        self.sessions.insert(front.session.id().clone(), Arc::new(Mutex::new(front)));
    }

    /// Gives a session its next block.
    pub fn refresh_session(&self, id: &SessionId, folded: Option<&Session>, frozen: &BlockFrozen, at: UnixMillis) {
        let block = folded.and_then(|session| session.block().cloned());
        if let (Some(front), Some(block)) = (self.sessions.get(id), block) {
            lock(&front).session.apply_block(block, frozen, at);
        }
    }

    /// Ends a session.
    pub fn end_session(&self, id: &SessionId, end: SessionEnd, at: UnixMillis) {
        if let Some(front) = self.sessions.get(id) {
            lock(&front).session.apply_end(end, at);
        }
    }

    /// Forgets the sessions that the namespace has forgotten.
    pub fn keep_sessions(&self, is_known: impl Fn(&SessionId) -> bool) {
        self.sessions.retain(|id, _| is_known(id));
    }
}

/// Locks a session. A handler that panicked left it whole: events are applied one by one.
fn lock(front: &Mutex<FrontSession>) -> MutexGuard<'_, FrontSession> {
    front.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The way to one namespace.
pub struct Handle {
    id: NamespaceId,
    salt: Digest,
    shared: Arc<Shared>,
    inbox: SyncSender<Message>,
    n_unlogged: AtomicU64,
}

impl Handle {
    /// Puts a handle together.
    pub fn new(id: NamespaceId, salt: Digest, shared: Arc<Shared>, inbox: SyncSender<Message>) -> Self {
        Self { id, salt, shared, inbox, n_unlogged: AtomicU64::new(0) }
    }

    /// Returns the namespace's name.
    pub fn id(&self) -> &NamespaceId {
        &self.id
    }

    /// Returns the key of query hashes.
    pub fn salt(&self) -> &Digest {
        &self.salt
    }

    /// Returns the clock.
    pub fn clock(&self) -> &dyn Clock {
        &*self.shared.clock
    }

    /// Returns what readers may see now.
    pub fn view(&self) -> Arc<View> {
        self.shared.view.load_full()
    }

    /// Returns how many events were not taken into the log: planned steps that went out while its buffer was full.
    pub fn n_unlogged(&self) -> u64 {
        self.n_unlogged.load(Ordering::Relaxed)
    }

    /// Does something with a session under its lock.
    pub fn with_session<T>(
        &self,
        id: &SessionId,
        act: impl FnOnce(&mut FrontSession) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        // The map's own lock is let go before the session's is taken.
        let front = self.shared.sessions.get(id).map(|front| front.clone());
        let front = front.ok_or_else(|| EngineError::UnknownSession(id.clone()))?;
        act(&mut lock(&front))
    }

    /// Sends what happened to a session to the writer, without waiting; `false` where the log's buffer is full.
    pub fn send(&self, traffic: Traffic) -> bool {
        if self.shared.is_shedding.load(Ordering::Acquire) {
            return false;
        }
        self.inbox.try_send(Message::Traffic(traffic)).is_ok()
    }

    /// Notes that an event went by the log.
    pub fn note_unlogged(&self) {
        self.n_unlogged.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes definitions in; answered once they are on disk.
    pub async fn register(&self, registration: Registration) -> Result<Registered, EngineError> {
        self.ask(|reply| Message::Register(Box::new(registration), reply)).await
    }

    /// Does something to a tool; answered once it is on disk.
    pub async fn change_tool(&self, change: ToolChanged) -> Result<(), EngineError> {
        self.ask(|reply| Message::Change(change, reply)).await
    }

    /// Sets values of the policy and returns its version; answered once it is on disk.
    pub async fn set_policy(&self, set: PolicySet, version: u64) -> Result<u64, EngineError> {
        self.ask(|reply| Message::Policy(set, version, reply)).await
    }

    /// Opens a session, or returns the open one.
    pub async fn open_session(&self, id: SessionId, spec: Arc<SessionSpec>) -> Result<OpenedSession, EngineError> {
        self.ask(|reply| Message::Open(id, spec, reply)).await
    }

    /// Takes a session's pending changes. A `generation` of 0 does not ask what the runtime holds.
    pub async fn refresh_session(
        &self,
        id: SessionId,
        generation: Generation,
        keep: std::collections::BTreeSet<ToolId>,
    ) -> Result<OpenedSession, EngineError> {
        self.ask(|reply| Message::Refresh(id, generation, keep, reply)).await
    }

    /// Closes a session.
    pub async fn close_session(&self, id: SessionId) -> Result<Option<Durable>, EngineError> {
        self.ask(|reply| Message::Close(id, reply)).await
    }

    /// Looks at the namespace in log order: after everything that was sent before.
    pub async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Namespace) -> T + Send + 'static,
    ) -> Result<T, EngineError> {
        let (reply, answer) = oneshot::channel();
        let look = move |namespace: &Namespace| {
            let _ = reply.send(look(namespace));
        };
        self.post(Message::Look(Box::new(look)))?;
        answer.await.map_err(|_| EngineError::Stopping)
    }

    /// Waits until everything that was sent before is on disk, and says whether it is.
    pub async fn flush(&self) -> Result<bool, EngineError> {
        let (reply, answer) = oneshot::channel();
        self.post(Message::Flush(reply))?;
        let durable = answer.await.map_err(|_| EngineError::Stopping)?;
        Ok(durable.await.is_ok())
    }

    /// Does what time alone makes due, as of `now`.
    pub async fn upkeep(&self, now: UnixMillis) -> Result<(), EngineError> {
        let (reply, answer) = oneshot::channel();
        self.post(Message::Upkeep(now, reply))?;
        answer.await.map_err(|_| EngineError::Stopping)
    }

    /// Tells the writer to take a last snapshot and end. Waits for room, since it must be heard.
    pub fn stop(&self) {
        let _ = self.inbox.send(Message::Stop);
    }

    async fn ask<T>(&self, message: impl FnOnce(Reply<T>) -> Message) -> Result<T, EngineError> {
        let (reply, answer) = oneshot::channel();
        self.post(message(reply))?;
        answer.await.map_err(|_| EngineError::Stopping)?
    }

    fn post(&self, message: Message) -> Result<(), EngineError> {
        self.inbox.try_send(message).map_err(|error| match error {
            TrySendError::Full(_) => EngineError::Overloaded,
            TrySendError::Disconnected(_) => EngineError::Stopping,
        })
    }
}

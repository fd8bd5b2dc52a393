//! A namespace as handlers see it: the published view, the sessions, and the way to its writer.
//!
//! Handlers read the view without waiting and change a session under its own lock. No lock is held across an `.await`,
//! and the writer is never waited for while one is held: what a handler did is sent without blocking, in the order of
//! the session, and the writer folds the same.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};

use tokio::sync::oneshot;

use super::clock::Clock;
use super::error::EngineError;
use super::journal::Durable;
use super::message::{ErasureRequest, Message, OpenedSession, Reply, Traffic};
use super::shared::{FrontSession, Shared, lock};
use crate::core::event::{PolicySet, SessionSpec, ToolChanged};
use crate::core::ids::{Digest, Generation, NamespaceId, SessionId, ToolId, UnixMillis};
use crate::core::namespace::Namespace;
use crate::core::namespace::commands::{Registered, Registration};
use crate::core::view::View;

/// The way to one namespace.
pub struct Handle {
    id: NamespaceId,
    salt: Digest,
    shared: Arc<Shared>,
    inbox: SyncSender<Message>,
    n_unlogged: AtomicU64,
    n_shed: AtomicU64,
}

impl Handle {
    /// Puts a handle together.
    pub fn new(id: NamespaceId, salt: Digest, shared: Arc<Shared>, inbox: SyncSender<Message>) -> Self {
        Self { id, salt, shared, inbox, n_unlogged: AtomicU64::new(0), n_shed: AtomicU64::new(0) }
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
        self.shared.view()
    }

    /// Returns how many events were not taken into the log: planned steps that went out while its buffer was full.
    pub fn n_unlogged(&self) -> u64 {
        self.n_unlogged.load(Ordering::Relaxed)
    }

    /// Returns how many events were turned away for the same reason, and whoever sent them was told.
    pub fn n_shed(&self) -> u64 {
        self.n_shed.load(Ordering::Relaxed)
    }

    /// Does something with a session under its lock.
    pub fn with_session<T>(
        &self,
        id: &SessionId,
        act: impl FnOnce(&mut FrontSession) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let front = self.shared.session(id).ok_or_else(|| EngineError::UnknownSession(id.clone()))?;
        let mut front = lock(&front);
        if front.is_gone { Err(EngineError::UnknownSession(id.clone())) } else { act(&mut front) }
    }

    /// Sends what happened to a session to the writer, without waiting; `false` where the log's buffer is full, and
    /// whoever reported it is to be told.
    pub fn send(&self, traffic: Traffic) -> bool {
        let is_taken = self.try_send(traffic);
        if !is_taken {
            self.n_shed.fetch_add(1, Ordering::Relaxed);
        }
        is_taken
    }

    /// Sends what was answered to the writer. Answering goes on when the log does not: losing what was issued costs at
    /// worst a second issue.
    pub fn send_if_taken(&self, traffic: Traffic) {
        if !self.try_send(traffic) {
            self.n_unlogged.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn try_send(&self, traffic: Traffic) -> bool {
        if self.shared.is_shedding() {
            return false;
        }
        self.inbox.try_send(Message::Traffic(traffic)).is_ok()
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

    /// Opens a session, or returns the open one. A window of 0 is the namespace's default; where `chooses_delivery`, the
    /// delivery is that of the session's model.
    pub async fn open_session(
        &self,
        id: SessionId,
        spec: Arc<SessionSpec>,
        chooses_delivery: bool,
    ) -> Result<OpenedSession, EngineError> {
        self.ask(|reply| Message::Open { id, spec, chooses_delivery, reply }).await
    }

    /// Takes a session's pending changes. A `generation` of 0 does not ask what the runtime holds.
    pub async fn refresh_session(
        &self,
        id: SessionId,
        generation: Generation,
        keep: BTreeSet<ToolId>,
    ) -> Result<OpenedSession, EngineError> {
        self.ask(|reply| Message::Refresh(id, generation, keep, reply)).await
    }

    /// Closes a session; answered at once, on disk when what is returned resolves.
    pub async fn close_session(&self, id: SessionId) -> Result<Durable, EngineError> {
        self.ask(|reply| Message::Close(id, reply)).await
    }

    /// Closes a session if it is open, and lets nothing be said of it any more; returns whether it was remembered.
    pub(super) async fn begin_erasure(&self, id: SessionId) -> Result<bool, EngineError> {
        self.ask(|reply| Message::BeginErasure(id, reply)).await
    }

    /// Erases a session; returns how many records were changed once they are on disk.
    pub(super) async fn erase(&self, request: ErasureRequest) -> Result<u64, EngineError> {
        self.ask(|reply| Message::Erase(Box::new(request), reply)).await
    }

    /// Lets a session be opened again that was not erased. Waits for room, since it must be heard.
    pub(super) fn end_erasure(&self, id: SessionId) {
        let _ = self.inbox.send(Message::EndErasure(id));
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
        Ok(self.flushed().await?.await.is_ok())
    }

    /// Returns what resolves when everything that was sent before is on disk.
    pub(super) async fn flushed(&self) -> Result<Durable, EngineError> {
        let (reply, answer) = oneshot::channel();
        self.post(Message::Flush(reply))?;
        answer.await.map_err(|_| EngineError::Stopping)
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

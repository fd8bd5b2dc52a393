//! What a namespace's handlers and its writer share: the published view, and the sessions as handlers change them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use dashmap::DashMap;

use super::clock::Clock;
use crate::core::event::{BlockFrozen, SessionEnd};
use crate::core::ids::{SessionId, UnixMillis};
use crate::core::namespace::Namespace;
use crate::core::session::Session;
use crate::core::view::View;

/// A session as handlers change it.
pub struct FrontSession {
    /// The session, ahead of the log by what is on its way there.
    pub session: Session,
    /// What sending every candidate would cost, as of a revision of the registry.
    pub everything: Option<(u64, u32)>,
    /// It is being erased: nothing may be said of it any more, by a handler that still holds it neither.
    pub is_gone: bool,
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

    /// Returns what readers may see now.
    pub fn view(&self) -> Arc<View> {
        self.view.load_full()
    }

    /// Lets readers see a new view.
    pub fn publish(&self, view: View) {
        self.view.store(Arc::new(view));
    }

    /// Says whether traffic is turned away because the log's buffer is full.
    pub fn set_shedding(&self, is_shedding: bool) {
        self.is_shedding.store(is_shedding, Ordering::Release);
    }

    /// Returns whether traffic is turned away.
    pub fn is_shedding(&self) -> bool {
        self.is_shedding.load(Ordering::Acquire)
    }

    /// Returns a session as handlers change it.
    pub fn session(&self, id: &SessionId) -> Option<Arc<Mutex<FrontSession>>> {
        // The map's own lock is let go before the session's is taken.
        self.sessions.get(id).map(|front| front.clone())
    }

    /// Lets handlers see a session.
    pub fn put_session(&self, session: Session) {
        let front = FrontSession { session, everything: None, is_gone: false };
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

    /// Takes a session away from handlers for good. Once this returns, no more is sent to the writer of it.
    pub fn take_session(&self, id: &SessionId) {
        if let Some((_, front)) = self.sessions.remove(id) {
            lock(&front).is_gone = true;
        }
    }

    /// Forgets the sessions that the namespace has forgotten.
    pub fn keep_sessions(&self, is_known: impl Fn(&SessionId) -> bool) {
        self.sessions.retain(|id, _| is_known(id));
    }
}

/// Locks a session. A handler that panicked left it whole: events are applied one by one.
pub fn lock(front: &Mutex<FrontSession>) -> MutexGuard<'_, FrontSession> {
    front.lock().unwrap_or_else(PoisonError::into_inner)
}

//! Why the engine does not do what it was asked.

use crate::core::ids::{NamespaceId, SessionId};
use crate::core::namespace::commands::Refusal;
use crate::store::StoreError;

/// Why a request is not answered.
#[derive(Debug, Clone)]
pub enum EngineError {
    /// No such namespace.
    UnknownNamespace(NamespaceId),
    /// There are as many namespaces as the configuration allows.
    TooManyNamespaces(usize),
    /// No such session.
    UnknownSession(SessionId),
    /// Nothing is kept of such a session.
    NothingToErase(SessionId),
    /// The session has ended: it was closed, or nothing was heard of it.
    SessionEnded(SessionId),
    /// The id is taken by a session opened with other values.
    SessionDiffers(SessionId),
    /// The session that it is to copy is of another format or delivery.
    ForkDiffers(SessionId),
    /// As many sessions are open as the policy allows.
    TooManySessions(u32),
    /// The core refused it.
    Refused(Refusal),
    /// The namespace's queue is full; send again later.
    Overloaded,
    /// The store takes no writes; planning goes on.
    NotWritable(StoreError),
    /// The log cannot be read back.
    NotReadable(StoreError),
    /// The daemon is stopping.
    Stopping,
}

impl From<Refusal> for EngineError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

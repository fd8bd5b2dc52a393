//! What a namespace's writer is asked to do, and what it answers.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::error::EngineError;
use super::journal::Durable;
use crate::core::block::PendingChange;
use crate::core::erasure::Erasure;
use crate::core::event::{Block, Event, PolicySet, Record, SessionSpec, ToolChanged};
use crate::core::ids::{Generation, SessionId, ToolId, UnixMillis};
use crate::core::namespace::Namespace;
use crate::core::namespace::commands::{Registered, Registration};
use crate::core::session::Session;
use crate::store::{QueryBody, StoreError};

/// Where an answer goes.
pub type Reply<T> = oneshot::Sender<Result<T, EngineError>>;

/// An opened or refreshed session.
pub struct OpenedSession {
    /// The session as it is now.
    pub session: Session,
    /// Its block.
    pub block: Arc<Block>,
    /// Whether it was open before.
    pub resumed: bool,
    /// What a refresh took.
    pub taken: Vec<PendingChange>,
    /// Resolves when it is on disk, what was there before included.
    pub durable: Durable,
}

/// What the writer is asked to do.
pub enum Message {
    /// Something happened to a session.
    Traffic(Traffic),
    /// Take definitions in.
    Register(Box<Registration>, Reply<Registered>),
    /// Do something to a tool.
    Change(ToolChanged, Reply<()>),
    /// Set values of the policy.
    Policy(PolicySet, u64, Reply<u64>),
    /// Open a session.
    Open {
        /// Its id.
        id: SessionId,
        /// What the runtime asked for.
        spec: Arc<SessionSpec>,
        /// Whether it left the delivery to the daemon.
        chooses_delivery: bool,
        /// Who waits.
        reply: Reply<OpenedSession>,
    },
    /// Take a session's pending changes.
    Refresh(SessionId, Generation, BTreeSet<ToolId>, Reply<OpenedSession>),
    /// Close a session.
    Close(SessionId, Reply<Durable>),
    /// Close a session if it is open, and let nothing be said of it any more; answers whether it was remembered.
    BeginErasure(SessionId, Reply<bool>),
    /// Erase a session from the log and from memory; answers how many records were changed.
    Erase(Box<ErasureRequest>, Reply<u64>),
    /// Let a session be opened again that was not erased after all.
    EndErasure(SessionId),
    /// Look at the namespace.
    Look(Box<dyn FnOnce(&Namespace) + Send>),
    /// Resolve when everything before is on disk.
    Flush(oneshot::Sender<Durable>),
    /// Do what time alone makes due.
    Upkeep(UnixMillis, oneshot::Sender<()>),
    /// Take a last snapshot and end.
    Stop,
}

/// A session to be erased.
pub struct ErasureRequest {
    /// What takes the place of what.
    pub erasure: Erasure,
    /// The records that mention it, as far as they have been read.
    pub found: Vec<Record>,
    /// Reads those that were written since. Blocks for the disk.
    pub find_rest: Box<dyn FnOnce() -> Result<Vec<Record>, StoreError> + Send>,
    /// Who wants it.
    pub actor: String,
}

/// Something that happened to a session, on its way to the writer.
pub struct Traffic {
    /// When it came in.
    pub at: UnixMillis,
    /// What happened.
    pub event: Event,
    /// What may be kept of the query behind it.
    pub query: Option<QueryBody>,
}

//! What a namespace's writer is asked to do, and what it answers.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::error::EngineError;
use super::journal::Durable;
use crate::core::block::PendingChange;
use crate::core::event::{Block, Event, PolicySet, SessionSpec, ToolChanged};
use crate::core::ids::{Generation, SessionId, ToolId, UnixMillis};
use crate::core::namespace::Namespace;
use crate::core::namespace::commands::{Registered, Registration};
use crate::core::session::Session;
use crate::store::QueryBody;

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
    Open(SessionId, Arc<SessionSpec>, Reply<OpenedSession>),
    /// Take a session's pending changes.
    Refresh(SessionId, Generation, BTreeSet<ToolId>, Reply<OpenedSession>),
    /// Close a session.
    Close(SessionId, Reply<Durable>),
    /// Look at the namespace.
    Look(Box<dyn FnOnce(&Namespace) + Send>),
    /// Resolve when everything before is on disk.
    Flush(oneshot::Sender<Durable>),
    /// Do what time alone makes due.
    Upkeep(UnixMillis, oneshot::Sender<()>),
    /// Take a last snapshot and end.
    Stop,
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

//! Explaining a step: a look at a session and the view, which leaves no trace in either, nor in the log or the figures.

use std::sync::Arc;

use super::Handle;
use super::error::EngineError;
use super::steps::{block_of, open_only};
use crate::core::event::SessionSpec;
use crate::core::explain::{self, ExplainAsk, Explanation};
use crate::core::ids::SessionId;
use crate::core::view::View;

/// An explanation, and what it was made with.
pub struct Explained {
    /// What the session was opened with.
    pub spec: Arc<SessionSpec>,
    /// The explanation.
    pub explanation: Explanation,
    /// What was looked at.
    pub view: Arc<View>,
}

impl Handle {
    /// Explains a step of a session, or of one as it would be opened now where none is named. Takes a while in a large
    /// registry, during which no lock is held.
    pub fn explain(&self, id: Option<&SessionId>, ask: &ExplainAsk<'_>) -> Result<Explained, EngineError> {
        let view = self.view();
        let session = match id {
            Some(id) => self.with_session(id, |front| Ok(front.session.clone()))?,
            None => explain::fresh_session(&view),
        };
        open_only(&session)?;
        let block = block_of(&session)?;
        let explanation = explain::explain(&view, &session, &block, ask);
        Ok(Explained { spec: session.spec().clone(), explanation, view })
    }
}

//! Erasing a session: from the log, from memory, and from the file.
//!
//! Three steps, so that nobody waits for the search through the log. First the writer closes the session and nothing is
//! said of it any more. Then its records are looked for beside the writer. Then the writer looks for what was written
//! meanwhile, and changes memory and log together. The file is written anew at the end.

use std::sync::Arc;

use uuid::Uuid;

use super::message::ErasureRequest;
use super::{Engine, EngineError, Handle};
use crate::core::erasure::Erasure;
use crate::core::event::Record;
use crate::core::ids::{Digest, NamespaceId, Seq, SessionId};
use crate::store::{Reader, StoreError};

/// What an erasure came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Erased {
    /// The name that stands for the session since.
    pub pseudonym: SessionId,
    /// Kept queries that were deleted.
    pub n_queries: u64,
    /// Records that were changed.
    pub n_records: u64,
    /// Whether the file was written anew, so that nothing is left in space that it does not use. Else it is tried again
    /// within the hour.
    pub is_rewritten: bool,
}

impl Engine {
    /// Erases a session; it is done when this returns. A session of which nothing is kept is unknown.
    pub async fn erase_session(
        self: &Arc<Self>,
        namespace: &NamespaceId,
        session: SessionId,
        actor: String,
    ) -> Result<Erased, EngineError> {
        let (engine, handle) = (self.clone(), self.namespace(namespace)?);
        // A task of its own: whoever asked may go away meanwhile, and the session would stay closed to everybody.
        let erased = tokio::spawn(async move {
            let is_remembered = handle.begin_erasure(session.clone()).await?;
            let erased = engine.erase_closed(&handle, &session, is_remembered, actor).await;
            if erased.is_err() {
                // Waited for, so that whoever is told may ask again at once.
                let _ = tokio::task::spawn_blocking(move || handle.end_erasure(session)).await;
            }
            erased
        });
        erased.await.map_err(|_| EngineError::Stopping)?
    }

    async fn erase_closed(
        &self,
        handle: &Handle,
        session: &SessionId,
        is_remembered: bool,
        actor: String,
    ) -> Result<Erased, EngineError> {
        // Everything that was said of it before is in the log then.
        handle.flushed().await?.await.map_err(EngineError::NotWritable)?;
        let (reader, space, id) = (self.reader().clone(), handle.id().clone(), session.clone());
        let searched = tokio::task::spawn_blocking(move || search(&*reader, &space, &id)).await;
        let searched = searched.map_err(|_| EngineError::Stopping)?.map_err(EngineError::NotReadable)?;
        if !is_remembered && searched.records.is_empty() && searched.n_queries == 0 {
            return Err(EngineError::NothingToErase(session.clone()));
        }
        // Two random ids are 244 random bits; nobody keeps them.
        let (a, b) = (Uuid::new_v4(), Uuid::new_v4());
        let erasure = Erasure::new(session.clone(), Digest::of_parts([a.as_bytes().as_slice(), b.as_bytes()]));
        let pseudonym = erasure.pseudonym().clone();
        let (reader, space, id, last) = (self.reader().clone(), handle.id().clone(), session.clone(), searched.last);
        let find_rest = Box::new(move || Ok(mentions(&*reader, &space, &id, last)?.0));
        let request = ErasureRequest { erasure, found: searched.records, find_rest, actor };
        let n_records = handle.erase(request).await?;
        let is_rewritten = self.journal().rewrite().await.is_ok();
        Ok(Erased { pseudonym, n_queries: searched.n_queries, n_records, is_rewritten })
    }
}

/// What the log has of a session.
struct Searched {
    records: Vec<Record>,
    n_queries: u64,
    /// The last record that was looked at.
    last: Seq,
}

fn search(reader: &dyn Reader, namespace: &NamespaceId, session: &SessionId) -> Result<Searched, StoreError> {
    let n_queries = reader.n_queries(namespace, session)?;
    let (records, last) = mentions(reader, namespace, session, Seq(0))?;
    Ok(Searched { records, n_queries, last })
}

fn mentions(
    reader: &dyn Reader,
    namespace: &NamespaceId,
    session: &SessionId,
    after: Seq,
) -> Result<(Vec<Record>, Seq), StoreError> {
    let mut records = Vec::new();
    let last = reader.mentions(namespace, session.as_str(), after, &mut |record| records.push(record))?;
    Ok((records, last))
}

//! Recovery: a snapshot and the events behind it become the namespace that they were written from. Decides nothing.

use std::ops::ControlFlow;

use crate::core::event::Event;
use crate::core::ids::{NamespaceId, Seq, UnixMillis};
use crate::core::namespace::Namespace;
use crate::store::{Reader, Snapshot, StoreError};

/// A namespace as it was, and where its log ends.
pub struct Recovered {
    /// The namespace.
    pub namespace: Namespace,
    /// The last record of its log.
    pub last_seq: Seq,
    /// The stamp of that record.
    pub last_at: UnixMillis,
    /// Records taken in behind the snapshot.
    pub n_records: u64,
    /// The stamp of where reading began: of the snapshot, or of the first record.
    pub start_at: UnixMillis,
}

/// Reads a namespace back. Fails with [`StoreError::BeginningLost`] where the log was cut and no snapshot can be read: what
/// was before the cut stands nowhere else.
pub fn recover(reader: &dyn Reader, id: &NamespaceId) -> Result<Recovered, StoreError> {
    let Start { mut namespace, seq: start, at: mut start_at } = begin(reader, id)?;
    let mut last_seq = start;
    let mut last_at = start_at.unwrap_or_default();
    let mut cause: Option<Event> = None;
    let mut gap = None;
    let mut n_records = 0;
    reader.records(id, start, &mut |record, _| {
        if record.seq != last_seq.next() {
            gap = Some((last_seq, record.seq));
            return ControlFlow::Break(());
        }
        last_seq = record.seq;
        last_at = record.at;
        start_at.get_or_insert(last_at);
        n_records += 1;
        if record.event.is_cause() {
            namespace.apply(record.at, &record.event, &record.event);
            cause = Some(record.event);
        } else if let Some(cause) = &cause {
            namespace.apply(record.at, cause, &record.event);
        }
        ControlFlow::Continue(())
    })?;
    match gap {
        Some((last, found)) => Err(StoreError::OutOfOrder { namespace: id.clone(), last, found }),
        None => Ok(Recovered { namespace, last_seq, last_at, n_records, start_at: start_at.unwrap_or_default() }),
    }
}

/// What reading begins with.
struct Start {
    namespace: Namespace,
    /// The last record in it.
    seq: Seq,
    /// The stamp of that record, if there is one.
    at: Option<UnixMillis>,
}

/// Takes the newest snapshot that this build can read. Where there is none, a log that was never cut is read whole.
fn begin(reader: &dyn Reader, id: &NamespaceId) -> Result<Start, StoreError> {
    let mut passed_over = None;
    let mut before = None;
    while let Some(Snapshot { seq, at, body }) = reader.snapshot(id, before)? {
        match Namespace::from_snapshot(&body) {
            Ok(namespace) => return Ok(Start { namespace, seq, at: Some(at) }),
            Err(error) => {
                tracing::warn!(namespace = %id, %seq, %error, "snapshot passed over");
                passed_over.get_or_insert(error);
            }
        }
        before = Some(seq);
    }
    let begin = reader.begin(id)?;
    if begin > Seq(1) {
        let reason = passed_over.map_or_else(|| "there is no snapshot".to_owned(), |error| error.to_string());
        return Err(StoreError::BeginningLost { namespace: id.clone(), begin, reason });
    }
    Ok(Start { namespace: Namespace::new(id.clone()), seq: Seq(0), at: None })
}

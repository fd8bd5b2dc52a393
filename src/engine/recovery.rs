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

/// Reads a namespace back.
pub fn recover(reader: &dyn Reader, id: &NamespaceId) -> Result<Recovered, StoreError> {
    let from_start = || (Namespace::new(id.clone()), Seq(0), None);
    let (mut namespace, start, mut start_at) = match reader.snapshot(id)? {
        None => from_start(),
        Some(Snapshot { seq, at, body }) => match Namespace::from_snapshot(&body) {
            Ok(namespace) => (namespace, seq, Some(at)),
            // A snapshot is only a short cut: one that this build cannot read is passed over, and the whole log read.
            Err(error) => {
                tracing::warn!(namespace = %id, %seq, %error, "snapshot passed over, reading the whole log");
                from_start()
            }
        },
    };
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

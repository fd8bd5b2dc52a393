//! Recovery: a snapshot and the events behind it become the namespace that they were written from. Decides nothing.

use std::ops::ControlFlow;

use crate::core::event::Event;
use crate::core::ids::{NamespaceId, Seq, UnixMillis};
use crate::core::namespace::Namespace;
use crate::store::{Reader, StoreError};

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
}

/// Reads a namespace back.
pub fn recover(reader: &dyn Reader, id: &NamespaceId) -> Result<Recovered, StoreError> {
    let (mut namespace, start) = match reader.snapshot(id)? {
        None => (Namespace::new(id.clone()), Seq(0)),
        Some((seq, body)) => match Namespace::from_snapshot(&body) {
            Ok(namespace) => (namespace, seq),
            // A snapshot is only a short cut: one that this build cannot read is passed over, and the whole log read.
            Err(error) => {
                tracing::warn!(namespace = %id, %seq, %error, "snapshot passed over, reading the whole log");
                (Namespace::new(id.clone()), Seq(0))
            }
        },
    };
    let mut last_seq = start;
    let mut last_at = UnixMillis::default();
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
        None => Ok(Recovered { namespace, last_seq, last_at, n_records }),
    }
}

//! Units for tests.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, RangeInclusive};

use super::{QueryBody, Reader, Unit};
use crate::core::event::{CallCounted, Event, PolicySet, Presence, Record, SessionClosed, Word};
use crate::core::ids::{NamespaceId, Seq, Tick, ToolId, UnixMillis};

/// A cause at the first seq and a consequence at each other.
pub(crate) fn traffic(namespace: &str, seqs: RangeInclusive<u64>) -> Unit {
    let cause = *seqs.start();
    let mut records = Vec::new();
    for seq in seqs {
        let event = if seq == cause {
            Event::SessionClosed(SessionClosed { session: "s".into() })
        } else {
            Event::CallCounted(CallCounted {
                session: "s".into(),
                call_id: "c".into(),
                tool: ToolId::new("github", "create_issue"),
                tick: Some(Tick(seq)),
                presence: Presence::ALL[0],
            })
        };
        records.push(Record { seq: Seq(seq), at: UnixMillis(1_000 + cause as i64), event });
    }
    Unit { namespace: namespace.into(), records, query: None }
}

/// A single change.
pub(crate) fn change(namespace: &str, seq: u64) -> Unit {
    let event = Event::PolicySet(PolicySet {
        request_id: format!("r{seq}"),
        actor: "operator".into(),
        values: BTreeMap::from([("hot_pool.slots".into(), "12".into())]),
    });
    let record = Record { seq: Seq(seq), at: UnixMillis(1_000 + seq as i64), event };
    Unit { namespace: namespace.into(), records: vec![record], query: None }
}

/// Everything behind `after`.
pub(crate) fn read_all(reader: &dyn Reader, namespace: &str, after: u64) -> Vec<(Record, Option<QueryBody>)> {
    let mut lines = Vec::new();
    reader
        .records(&NamespaceId::from(namespace), Seq(after), &mut |record, query| {
            lines.push((record, query));
            ControlFlow::Continue(())
        })
        .unwrap();
    lines
}

//! Draws the consequences of an exported event log again, and says where the log and the core part: daemon = replay.
//!
//! An export holds one [`Record`] a line. Its causes go through the same [`Namespace::fold`] as in the daemon, so the
//! stream that comes out must be the one that went in. Before editing, know that nothing is read from the recorded
//! consequences but for the comparison: presence, verdicts and epochs are all drawn anew.

use std::collections::BTreeMap;
use std::io::BufRead;

use super::report::{Difference, EventReport, Residency};
use super::trace::{JsonLines, LineError};
use crate::core::event::{Event, PolicySet, Record};
use crate::core::ids::{NamespaceId, Seq, UnixMillis};
use crate::core::namespace::Namespace;
use crate::core::policy::{Policy, PolicyViolation};

/// Why a log cannot be drawn again.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum RefoldError {
    /// The log was cut, or is not whole: what its causes drew depended on what is missing.
    #[error(
        "seq = {found}: the log must begin at 1; one that policy cut (log.retain_days, log.retain_mib) cannot be drawn again"
    )]
    BeginsLate {
        /// The first record's place.
        found: Seq,
    },
    /// Records out of their order.
    #[error("seq = {found}: must be greater than {last}, which stands before it")]
    OutOfOrder {
        /// The place of the record before.
        last: Seq,
        /// The record's place.
        found: Seq,
    },
    /// A stamp that lies before the one of an earlier cause.
    #[error("cause {number}: at = {found}: must be at least {last}, the stamp of the cause before it")]
    StampFell {
        /// The cause, counted from 1.
        number: u64,
        /// The stamp of the cause before, in milliseconds since 1970.
        last: i64,
        /// The cause's stamp.
        found: i64,
    },
    /// A consequence where only causes can stand.
    #[error("cause {number}: is a consequence, must be a cause")]
    NotACause {
        /// The cause, counted from 1.
        number: u64,
    },
    /// Values that the policy cannot take.
    #[error("{}", join(.0))]
    Policy(Vec<PolicyViolation>),
}

fn join(violations: &[PolicyViolation]) -> String {
    let said: Vec<String> = violations.iter().map(PolicyViolation::to_string).collect();
    said.join("; ")
}

/// Reads an event export, and every line of it that is broken.
pub fn read_events(input: impl BufRead) -> (Vec<Record>, Vec<LineError>) {
    let mut records = Vec::new();
    let mut errors = Vec::new();
    for read in JsonLines::<_, Record>::new(input) {
        match read {
            Ok((_, record)) => records.push(record),
            Err(error) => errors.push(error),
        }
    }
    (records, errors)
}

/// Returns the causes of a log with their stamps; what was drawn from them is left out.
pub fn strip(records: &[Record]) -> Vec<(UnixMillis, Event)> {
    let causes = records.iter().filter(|record| record.event.is_cause());
    causes.map(|record| (record.at, record.event.clone())).collect()
}

/// Draws the whole log of a namespace from its causes, numbered from 1.
pub fn refold(
    id: NamespaceId,
    causes: impl IntoIterator<Item = (UnixMillis, Event)>,
) -> Result<Vec<Record>, RefoldError> {
    let mut refold = Refold::new(id);
    refold.take_all(causes)?;
    Ok(refold.records)
}

/// Returns the first place where a recorded log and one drawn again part; `None` where they are equal.
pub fn compare(recorded: &[Record], redrawn: &[Record]) -> Option<Difference> {
    let longest = recorded.len().max(redrawn.len());
    let first = (0..longest).find(|&i| recorded.get(i) != redrawn.get(i))?;
    Some(Difference {
        seq: Seq(first as u64 + 1),
        recorded: recorded.get(first).cloned(),
        drawn: redrawn.get(first).cloned(),
    })
}

/// Draws an exported log again and reports its figures, and where the log says something else.
///
/// `overrides` are values of the policy that hold from before the first cause on, until the log itself sets them; they
/// are no records, so that what follows from them is what differs. A log of causes alone has nothing to compare.
pub fn replay_events(
    id: NamespaceId,
    recorded: &[Record],
    overrides: &BTreeMap<String, String>,
) -> Result<EventReport, RefoldError> {
    check_order(recorded)?;
    let mut refold = Refold::new(id);
    refold.set_policy(overrides)?;
    refold.take_all(strip(recorded))?;
    let compared = recorded.iter().any(|record| !record.event.is_cause());
    let difference = if compared { compare(recorded, &refold.records) } else { None };
    let namespace = &refold.namespace;
    let figures = namespace.figures();
    Ok(EventReport {
        residency: Residency::Frozen,
        records: refold.records.len() as u64,
        causes: refold.n_causes,
        ticks: namespace.tick().0,
        epochs: namespace.pool().epoch().0,
        presence: figures.presence_rate(),
        coverage: figures.coverage(),
        injection_share: figures.injection_share(),
        mis_selection: figures.mis_selection_rate(),
        judged_share: figures.judged_share(),
        reranks: figures.reranks_changed + figures.reranks_unchanged - refold.reranks_before,
        swapped_in: figures.swapped_in,
        compared,
        difference,
    })
}

/// An export of causes alone has gaps; no export begins late or goes back.
fn check_order(recorded: &[Record]) -> Result<(), RefoldError> {
    let mut last = Seq(0);
    for record in recorded {
        let found = record.seq;
        if last == Seq(0) && found != Seq(1) {
            return Err(RefoldError::BeginsLate { found });
        }
        if found <= last {
            return Err(RefoldError::OutOfOrder { last, found });
        }
        last = found;
    }
    Ok(())
}

/// A namespace that a log is drawn into.
struct Refold {
    namespace: Namespace,
    records: Vec<Record>,
    n_causes: u64,
    last_at: UnixMillis,
    /// Re-ranks that the overrides drew.
    reranks_before: u64,
}

impl Refold {
    fn new(id: NamespaceId) -> Self {
        Self {
            namespace: Namespace::new(id),
            records: Vec::new(),
            n_causes: 0,
            last_at: UnixMillis(i64::MIN),
            reranks_before: 0,
        }
    }

    fn set_policy(&mut self, values: &BTreeMap<String, String>) -> Result<(), RefoldError> {
        if values.is_empty() {
            return Ok(());
        }
        Policy::default().with(values).map_err(RefoldError::Policy)?;
        let set = PolicySet { request_id: String::new(), actor: "replay".into(), values: values.clone() };
        self.namespace.fold(UnixMillis::default(), &Event::PolicySet(set));
        let figures = self.namespace.figures();
        self.reranks_before = figures.reranks_changed + figures.reranks_unchanged;
        Ok(())
    }

    fn take_all(&mut self, causes: impl IntoIterator<Item = (UnixMillis, Event)>) -> Result<(), RefoldError> {
        for (at, cause) in causes {
            let number = self.n_causes + 1;
            if !cause.is_cause() {
                return Err(RefoldError::NotACause { number });
            }
            if at < self.last_at {
                return Err(RefoldError::StampFell { number, last: self.last_at.0, found: at.0 });
            }
            self.take(at, cause);
        }
        Ok(())
    }

    fn take(&mut self, at: UnixMillis, cause: Event) {
        let drawn = self.namespace.fold(at, &cause);
        self.n_causes += 1;
        self.last_at = at;
        self.push(at, cause);
        for event in drawn {
            self.push(at, event);
        }
    }

    fn push(&mut self, at: UnixMillis, event: Event) {
        self.records.push(Record { seq: Seq(self.records.len() as u64 + 1), at, event });
    }
}

#[cfg(test)]
mod history;
#[cfg(test)]
mod tests;

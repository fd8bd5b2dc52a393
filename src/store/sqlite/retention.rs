//! Cutting old traffic from the beginning of a log.
//!
//! One call is one short transaction, so that commits never wait for long. What happened to tools and to the policy is
//! few and is the audit: it stays, without the traffic around it. The one thing to know before editing: a log may be cut
//! only up to the older of its two snapshots, because what is cut can be read from nothing else.

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::{Fault, LogPlace};
use crate::core::ids::{Seq, UnixMillis};
use crate::store::Retention;

/// Rows that one call looks at, and then up to the end of a unit.
const PIECE_ROWS: usize = 2_000;

/// The kinds that are cut. A kind that is not named here stays.
const TRAFFIC: &str = "'session_opened', 'session_refreshed', 'session_closed', 'session_ended', 'block_frozen', \
                       'step_planned', 'step_ended', 'tool_requested', 'calls_checked', 'outcome_reported', \
                       'usage_reported', 'call_counted', 'call_judged', 'pool_reranked', 'time_passed'";

/// A row at the beginning of a log.
struct Row {
    seq: Seq,
    at: UnixMillis,
    bytes: u64,
    is_cause: bool,
}

/// Cuts a piece, and returns the place as it is then.
pub(super) fn cut(connection: &mut Connection, place: LogPlace, keep: &Retention) -> Result<LogPlace, Fault> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let Some((begin, bytes)) = next_begin(&transaction, place, keep)? else { return Ok(place) };
    transaction
        .prepare_cached(&format!(
            "DELETE FROM events WHERE namespace = ?1 AND seq >= ?2 AND seq < ?3 AND kind IN ({TRAFFIC})"
        ))?
        .execute(params![place.key, place.begin.0.cast_signed(), begin.0.cast_signed()])?;
    transaction
        .prepare_cached("UPDATE namespaces SET log_begin = ?2, log_bytes = ?3 WHERE id = ?1")?
        .execute(params![place.key, begin.0.cast_signed(), bytes.cast_signed()])?;
    transaction.commit()?;
    let begin_at = read_stamp(connection, place.key, begin)?;
    Ok(LogPlace { begin, begin_at, bytes, ..place })
}

/// Returns where the log will begin, always with a cause, and the bytes that will be left; `None` where nothing is to go.
fn next_begin(
    transaction: &Transaction<'_>,
    place: LogPlace,
    keep: &Retention,
) -> rusqlite::Result<Option<(Seq, u64)>> {
    let Some(limit) = place.older_snapshot else { return Ok(None) };
    let mut statement = transaction.prepare_cached(
        "SELECT seq, at_ms, octet_length(body), cause = seq FROM events
         WHERE namespace = ?1 AND seq >= ?2 AND seq <= ?3 + 1 ORDER BY seq",
    )?;
    let mut rows = statement.query(params![place.key, place.begin.0.cast_signed(), limit.0.cast_signed()])?;
    let mut left = place.bytes;
    let mut found = None;
    let mut n_rows = 0;
    while let Some(row) = rows.next()? {
        let row = Row {
            seq: Seq(row.get::<_, i64>(0)?.cast_unsigned()),
            at: UnixMillis(row.get(1)?),
            bytes: row.get::<_, i64>(2)?.cast_unsigned(),
            is_cause: row.get(3)?,
        };
        if row.is_cause {
            if row.seq > place.begin {
                found = Some((row.seq, left));
            }
            let is_over = keep.max_bytes.is_some_and(|most| left > most);
            let is_old = keep.before.is_some_and(|before| row.at < before);
            if n_rows >= PIECE_ROWS || row.seq > limit || !(is_over || is_old) {
                break;
            }
        }
        left = left.saturating_sub(row.bytes);
        n_rows += 1;
    }
    Ok(found)
}

/// Returns the stamp of the first record from `seq` on.
pub(super) fn read_stamp(connection: &Connection, key: i64, seq: Seq) -> rusqlite::Result<UnixMillis> {
    let at = connection
        .prepare_cached("SELECT at_ms FROM events WHERE namespace = ?1 AND seq >= ?2 ORDER BY seq LIMIT 1")?
        .query_row(params![key, seq.0.cast_signed()], |row| row.get(0))
        .optional()?;
    Ok(at.map_or_else(UnixMillis::default, UnixMillis))
}

/// Returns the last record in the older of two snapshots; `None` where there are no two.
pub(super) fn read_older_snapshot(connection: &Connection, key: i64) -> rusqlite::Result<Option<Seq>> {
    let seq = connection
        .prepare_cached("SELECT seq FROM snapshots WHERE namespace = ?1 ORDER BY seq DESC LIMIT 1 OFFSET 1")?
        .query_row([key], |row| row.get::<_, i64>(0))
        .optional()?;
    Ok(seq.map(|seq| Seq(seq.cast_unsigned())))
}

#[cfg(test)]
mod tests;

//! Erasing a session's words from the rows, the space that they stood in included.
//!
//! `secure_delete` writes zeros over what is deleted, but SQLite leaves copies of rows behind when it moves them between
//! pages, in the unused middle of a page, and never looks at those again. Only writing the whole file anew gets rid of
//! them, so [`rewrite`] does that. It comes after the erasure and takes a while, so that it is owed stands in the rows until it
//! is done: a kill in between forgets nothing.

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::{Fault, LogPlace, append_unit};
use crate::core::event::Record;
use crate::store::codec::EventRow;
use crate::store::{ErasedSession, StoreError};

/// Takes in an erasure in one transaction: rows changed, queries and snapshots gone, the new snapshot and the record of
/// the erasure there. Returns the place as it is then.
pub(super) fn erase(connection: &mut Connection, place: LogPlace, erased: &ErasedSession) -> Result<LogPlace, Fault> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut place = append_unit(&transaction, place, &erased.unit)?;
    for record in &erased.changed {
        place.bytes = change(&transaction, place, record)?;
    }
    transaction
        .prepare_cached("DELETE FROM queries WHERE namespace = ?1 AND session = ?2")?
        .execute(params![place.key, erased.session.as_str()])?;
    transaction.prepare_cached("DELETE FROM snapshots WHERE namespace = ?1")?.execute([place.key])?;
    let at = erased.unit.records.last().map(|record| record.at).unwrap_or_default();
    transaction
        .prepare_cached("INSERT INTO snapshots (namespace, seq, at_ms, body) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![place.key, place.last.0.cast_signed(), at.0, erased.snapshot])?;
    place.write_bytes(&transaction)?;
    transaction.prepare_cached("UPDATE namespaces SET owes_rewrite = 1 WHERE id = ?1")?.execute([place.key])?;
    transaction.commit()?;
    place.older_snapshot = None;
    Ok(place)
}

/// Writes a record over the one that stands in its place, and returns the log's bytes then. One that was cut since it was
/// looked for is gone already.
fn change(transaction: &Transaction<'_>, place: LogPlace, record: &Record) -> Result<u64, Fault> {
    let row = EventRow::of(&record.event).map_err(StoreError::other)?;
    let seq = record.seq.0.cast_signed();
    let before: Option<i64> = transaction
        .prepare_cached("SELECT octet_length(body) FROM events WHERE namespace = ?1 AND seq = ?2")?
        .query_row(params![place.key, seq], |row| row.get(0))
        .optional()?;
    let Some(before) = before else { return Ok(place.bytes) };
    transaction
        .prepare_cached("UPDATE events SET body = ?3 WHERE namespace = ?1 AND seq = ?2 AND kind = ?4")?
        .execute(params![place.key, seq, row.body(), row.kind()])?;
    // A record of the audit below the log's beginning is not counted.
    if record.seq < place.begin {
        return Ok(place.bytes);
    }
    Ok((place.bytes + row.body().len() as u64).saturating_sub(before.cast_unsigned()))
}

/// Writes the whole file anew and empties its side file. Fails as [`StoreError::Busy`] where a reader keeps the side file
/// from being emptied.
pub(super) fn rewrite(connection: &Connection) -> Result<(), Fault> {
    connection.execute_batch("VACUUM")?;
    let is_held: bool = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    if is_held {
        return Err(StoreError::Busy.into());
    }
    connection.execute("UPDATE namespaces SET owes_rewrite = 0 WHERE owes_rewrite", [])?;
    // What is left in the side file is no more than this.
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}

/// Returns whether an erasure was not followed by a rewrite.
pub(super) fn owes_rewrite(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT EXISTS (SELECT 1 FROM namespaces WHERE owes_rewrite)", [], |row| row.get(0))
}

#[cfg(test)]
mod tests;

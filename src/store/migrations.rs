//! Which schema a file has, and the way from every earlier one to the present one.
//!
//! The version stands in `user_version`; each step is one file and one transaction, so a kill in between leaves the
//! version before or the one after. Steps are added, never changed: a changed step would leave two kinds of files with
//! one number.

use rusqlite::{Connection, TransactionBehavior};

/// Marks a file as ours, in SQLite's header; set by the first step.
const APPLICATION_ID: i32 = 0x746f_6f6c;

/// Step `i` leads from version `i` to `i + 1`.
const STEPS: [&str; 3] =
    [include_str!("migrations/0001.sql"), include_str!("migrations/0002.sql"), include_str!("migrations/0003.sql")];

/// The newest version that this build knows.
pub(super) const NEWEST: u32 = STEPS.len() as u32;

/// What a file turned out to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Schema {
    /// A database without anything in it.
    Empty,
    /// One of ours, of this version.
    Version(u32),
    /// Somebody else's.
    Foreign,
}

/// Finds out what the file is, without changing it.
pub(super) fn identify(connection: &Connection) -> rusqlite::Result<Schema> {
    let application: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let n_objects: u32 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(match (application, version, n_objects) {
        (APPLICATION_ID, 1.., _) => Schema::Version(version),
        (0, 0, 0) => Schema::Empty,
        _ => Schema::Foreign,
    })
}

/// Leads a database from `version` (0 for an empty one) to [`NEWEST`].
pub(super) fn migrate(connection: &mut Connection, version: u32) -> rusqlite::Result<()> {
    for (step, next) in STEPS.iter().zip(1..).skip(version as usize) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(step)?;
        write_version(&transaction, next)?;
        transaction.commit()?;
    }
    Ok(())
}

/// Writes the version into the header, which touches the disk even if it is the version already there.
pub(super) fn write_version(connection: &Connection, version: u32) -> rusqlite::Result<()> {
    connection.pragma_update(None, "user_version", version)
}

//! What SQLite's error codes mean for the log.
//!
//! The question behind every line: may the transaction be on disk all the same? Only an I/O error leaves that open.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, ErrorCode, ffi};

use crate::store::StoreError;

/// A failure inside a transaction, before it is known what it means.
pub(super) enum Fault {
    /// SQLite's.
    Sqlite(rusqlite::Error),
    /// Our own check's.
    Store(StoreError),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Says what a failed write on `connection` means.
pub(super) fn write_fault(fault: Fault, connection: &Connection, path: &Path) -> StoreError {
    let error = match fault {
        Fault::Sqlite(error) => error,
        Fault::Store(error) => return error,
    };
    match error.sqlite_error() {
        Some(failure) if failure.code == ErrorCode::SystemIoFailure => {
            // SQLite knows only one way of having no space. A quota or a file size limit fails the write as cleanly:
            // the frame that would have committed the transaction is not there.
            if failure.extended_code == ffi::SQLITE_IOERR_WRITE && is_out_of_space(connection) {
                StoreError::Full
            } else {
                StoreError::Indeterminate { source: Arc::new(error) }
            }
        }
        _ => read_fault(error, path),
    }
}

/// Says what a failure means where nothing was being written.
pub(super) fn read_fault(error: rusqlite::Error, path: &Path) -> StoreError {
    let Some(failure) = error.sqlite_error() else { return StoreError::other(error) };
    match failure.code {
        ErrorCode::DiskFull => StoreError::Full,
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Busy,
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen => {
            StoreError::NotWritable { path: path.to_path_buf(), source: Arc::new(error) }
        }
        ErrorCode::NotADatabase => StoreError::Foreign { path: path.to_path_buf() },
        ErrorCode::DatabaseCorrupt => StoreError::Corrupt { detail: error.to_string() },
        _ => StoreError::other(error),
    }
}

/// Returns whether a read-only connection found a rollback journal, left by a kill, that it may not play back.
pub(super) fn needs_rollback(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|failure| failure.extended_code == ffi::SQLITE_READONLY_ROLLBACK)
}

fn is_out_of_space(connection: &Connection) -> bool {
    // SAFETY: the handle is that of a live connection, and the call only reads a number from it.
    let errno = unsafe { ffi::sqlite3_system_errno(connection.handle()) };
    matches!(
        io::Error::from_raw_os_error(errno).kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

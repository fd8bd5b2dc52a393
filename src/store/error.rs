//! What can go wrong in a store, told so that an operator knows what to do next.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use crate::core::ids::{NamespaceId, Seq};

/// What lies behind a [`StoreError`]; shared, because one failed transaction is told to everybody who waits for it.
pub type Source = Arc<dyn Error + Send + Sync>;

/// Why a store could not be opened, read or written. One line each, with what to do.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// No space is left, or a quota or file size limit is reached. Nothing of the transaction was kept.
    #[error("the disk is full: free some space, writing then resumes by itself")]
    Full,
    /// Another process holds a lock on the database. Nothing of the transaction was kept.
    #[error("the database is locked by another process: end that process, writing then resumes by itself")]
    Busy,
    /// The database file, or the folder, may not be written. Nothing of the transaction was kept.
    #[error("cannot write {}: name a place where the daemon may create and write files", path.display())]
    NotWritable {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: Source,
    },
    /// The database file is no longer where it was opened, so what is written would be lost at the next start.
    #[error("the database {} was moved or deleted while in use: put it back, or restart the daemon", path.display())]
    Gone {
        /// Where it was.
        path: PathBuf,
    },
    /// The disk failed in the middle of a write, and whether the transaction was kept will be seen at the next start.
    #[error(
        "the disk failed during a write that may or may not have been kept: check the disk, then restart the daemon"
    )]
    Indeterminate {
        /// What the system said.
        #[source]
        source: Source,
    },
    /// What is in the database cannot be right.
    #[error("the database is damaged ({detail}): keep a copy of it for inspection and restore a backup")]
    Corrupt {
        /// What, and where.
        detail: String,
    },
    /// The log was cut while somebody read it from before the cut.
    #[error("the log was cut to begin at {begin} while it was being read: read it again")]
    Cut {
        /// Where it begins now.
        begin: Seq,
    },
    /// The log was cut, and no snapshot can be read of what it was before.
    #[error(
        "namespace {namespace} cannot be recovered: its log begins at {begin}, and {reason}: \
         start the toolcrib that wrote it, or restore a backup"
    )]
    BeginningLost {
        /// Whose log.
        namespace: NamespaceId,
        /// Its first record.
        begin: Seq,
        /// What is wrong with the snapshots.
        reason: String,
    },
    /// A later toolcrib made the file. It was left alone.
    #[error(
        "the database has schema {found}, but up to {known} is known here: start a newer toolcrib, or name another file"
    )]
    Newer {
        /// The file's schema version.
        found: u32,
        /// The newest that this build knows.
        known: u32,
    },
    /// Something else made the file. It was left alone.
    #[error("{} is not a toolcrib database: name another file", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Another daemon has the file open. It was left alone.
    #[error("{} is in use by another daemon: stop that one first, or name another file", path.display())]
    InUse {
        /// The database.
        path: PathBuf,
    },
    /// A record does not stand where it should: a fault of the daemon. Nothing of the transaction was kept.
    #[error("record {found} of namespace {namespace} does not follow {last}: a fault of the daemon, restart it")]
    OutOfOrder {
        /// Whose log.
        namespace: NamespaceId,
        /// The last record in the log; 0 where there is none.
        last: Seq,
        /// The record that does not follow it.
        found: Seq,
    },
    /// The log takes nothing any more: the daemon is stopping, or an earlier error ended it.
    #[error("the log is closed: send the request again once the daemon has restarted")]
    Closed,
    /// Anything else. Nothing of the transaction was kept.
    #[error("the store failed: see the cause, then restart the daemon")]
    Other {
        /// What was said.
        #[source]
        source: Source,
    },
}

impl StoreError {
    /// Returns whether the same units may be tried again: the transaction left nothing, and the obstacle can go away.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Full | Self::Busy | Self::NotWritable { .. } | Self::Gone { .. } | Self::Cut { .. } => true,
            Self::Indeterminate { .. }
            | Self::Corrupt { .. }
            | Self::BeginningLost { .. }
            | Self::Newer { .. }
            | Self::Foreign { .. }
            | Self::InUse { .. }
            | Self::OutOfOrder { .. }
            | Self::Closed
            | Self::Other { .. } => false,
        }
    }

    /// Wraps whatever has no variant of its own.
    pub(crate) fn other(source: impl Error + Send + Sync + 'static) -> Self {
        Self::Other { source: Arc::new(source) }
    }
}

//! The log in one SQLite file: WAL, `synchronous=FULL`, one connection that writes.
//!
//! Guards what SQLite alone does not: a second daemon on the file (a lock file beside it, held as long as the log
//! lives), a file that is not ours or is newer (recognised read-only, before anything could change it), a database that
//! was moved away (writes would go on into a file that the next start does not see), and gaps in a namespace's log.
//!
//! The one thing to know before editing: SQLite up to 3.51.2 can damage a WAL when two connections meet at its reset,
//! so opening checks the version, and only the write connection ever makes a checkpoint.

mod backup;
mod erase;
mod faults;
mod reader;
mod retention;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, params};

use super::codec::{self, EventRow};
use super::migrations::{self, Schema};
use super::{ErasedSession, Log, LogExtent, Retention, StoreError, Unit};
use crate::core::ids::{NamespaceId, Seq, UnixMillis};

pub use backup::{BackupError, Copied, backup, restore};
use faults::{Fault, read_fault, write_fault};
pub use reader::SqliteReader;

/// The first SQLite whose WAL reset is safe with more than one connection.
const OLDEST_SAFE_SQLITE: i32 = 3_051_003;

/// How long a statement waits for another process's lock: long enough for somebody's short look or backup step, and
/// short enough that a change is told about a lasting lock well within 5 s.
const LOCK_WAIT: Duration = Duration::from_millis(300);

/// The WAL is cut back to this at a checkpoint, in bytes; it grows beyond only while a reader holds it.
const WAL_LIMIT_BYTES: i64 = 32 << 20;

/// Snapshots kept of a namespace: the newest, and the one before in case the newest cannot be read.
const SNAPSHOTS_KEPT: i64 = 2;

/// Opens the database at `path` for writing and for reading, and makes or migrates it where needed.
///
/// Refuses, and leaves the file alone, when it is not ours, newer than this build, or open in another daemon.
pub fn open(path: &Path) -> Result<(SqliteLog, SqliteReader), StoreError> {
    if rusqlite::version_number() < OLDEST_SAFE_SQLITE {
        let found = rusqlite::version();
        return Err(StoreError::other(io::Error::other(format!(
            "sqlite {found} is linked, 3.51.3 or later is needed"
        ))));
    }
    // One lock for one file, whatever links lead to it.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let lock = lock_beside(&path)?;
    examine(&path)?;
    let connection = open_for_writing(&path)?;
    let file = FileId::of(&path).map_err(|error| not_writable(&path, error))?;
    let places = read_places(&connection).map_err(|error| read_fault(error, &path))?;
    let owes_rewrite = erase::owes_rewrite(&connection).map_err(|error| read_fault(error, &path))?;
    let log = SqliteLog { connection, places, owes_rewrite, file, path: path.clone(), _lock: lock };
    Ok((log, SqliteReader::new(path)))
}

/// The write connection, and with it the right to write the file.
pub struct SqliteLog {
    connection: Connection,
    places: BTreeMap<NamespaceId, LogPlace>,
    owes_rewrite: bool,
    file: FileId,
    path: PathBuf,
    // Declared last, so that the connection is closed before another daemon may open the file.
    _lock: File,
}

/// A namespace's key in the tables, and how far its log reaches.
#[derive(Clone, Copy)]
struct LogPlace {
    key: i64,
    last: Seq,
    begin: Seq,
    begin_at: UnixMillis,
    bytes: u64,
    older_snapshot: Option<Seq>,
}

impl LogPlace {
    /// The place of a namespace without a record.
    fn new(key: i64) -> Self {
        Self { key, last: Seq(0), begin: Seq(1), begin_at: UnixMillis::default(), bytes: 0, older_snapshot: None }
    }

    /// Counts a row that was appended.
    fn count(&mut self, at: UnixMillis, bytes: usize) {
        if self.last.next() == self.begin {
            self.begin_at = at;
        }
        self.last = self.last.next();
        self.bytes += bytes as u64;
    }

    fn write_bytes(&self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        let mut update = transaction.prepare_cached("UPDATE namespaces SET log_bytes = ?2 WHERE id = ?1")?;
        update.execute(params![self.key, self.bytes.cast_signed()])?;
        Ok(())
    }
}

impl Log for SqliteLog {
    fn append(&mut self, units: &[&Unit]) -> Result<(), StoreError> {
        self.check_in_place()?;
        match append_all(&mut self.connection, &self.places, units) {
            Ok(reached) => {
                self.places.extend(reached);
                Ok(())
            }
            Err(fault) => Err(write_fault(fault, &self.connection, &self.path)),
        }
    }

    fn write_snapshot(
        &mut self,
        namespace: &NamespaceId,
        seq: Seq,
        at: UnixMillis,
        body: &[u8],
    ) -> Result<(), StoreError> {
        self.check_in_place()?;
        let place = match self.places.get(namespace) {
            Some(place) if seq <= place.last => *place,
            other => {
                let last = other.map_or(Seq(0), |place| place.last);
                return Err(StoreError::OutOfOrder { namespace: namespace.clone(), last, found: seq });
            }
        };
        let older = write_snapshot(&mut self.connection, place.key, seq, at, body)
            .map_err(|error| write_fault(error.into(), &self.connection, &self.path))?;
        self.places.insert(namespace.clone(), LogPlace { older_snapshot: older, ..place });
        Ok(())
    }

    fn cut(&mut self, namespace: &NamespaceId, keep: &Retention) -> Result<(), StoreError> {
        self.check_in_place()?;
        let Some(place) = self.places.get(namespace) else { return Ok(()) };
        let place = retention::cut(&mut self.connection, *place, keep)
            .map_err(|fault| write_fault(fault, &self.connection, &self.path))?;
        self.places.insert(namespace.clone(), place);
        Ok(())
    }

    fn extents(&self) -> BTreeMap<NamespaceId, LogExtent> {
        let extent = |place: &LogPlace| LogExtent {
            begin: place.begin,
            begin_at: place.begin_at,
            bytes: place.bytes,
            older_snapshot: place.older_snapshot,
        };
        self.places.iter().map(|(namespace, place)| (namespace.clone(), extent(place))).collect()
    }

    fn erase(&mut self, erased: &ErasedSession) -> Result<(), StoreError> {
        self.check_in_place()?;
        let namespace = &erased.unit.namespace;
        let Some(place) = self.places.get(namespace) else { return Ok(()) };
        let place = erase::erase(&mut self.connection, *place, erased)
            .map_err(|fault| write_fault(fault, &self.connection, &self.path))?;
        self.places.insert(namespace.clone(), place);
        self.owes_rewrite = true;
        Ok(())
    }

    fn rewrite(&mut self) -> Result<(), StoreError> {
        self.check_in_place()?;
        erase::rewrite(&self.connection).map_err(|fault| write_fault(fault, &self.connection, &self.path))?;
        self.owes_rewrite = false;
        Ok(())
    }

    fn owes_rewrite(&self) -> bool {
        self.owes_rewrite
    }

    fn drop_queries_before(&mut self, namespace: &NamespaceId, at: UnixMillis) -> Result<u64, StoreError> {
        self.check_in_place()?;
        let Some(place) = self.places.get(namespace) else { return Ok(0) };
        drop_queries(&self.connection, place.key, at)
            .map_err(|error| write_fault(error.into(), &self.connection, &self.path))
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        self.check_in_place()?;
        migrations::write_version(&self.connection, migrations::NEWEST)
            .map_err(|error| write_fault(error.into(), &self.connection, &self.path))
    }

    fn checkpoint(&mut self) -> Result<(), StoreError> {
        self.connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .map_err(|error| write_fault(error.into(), &self.connection, &self.path))
    }
}

impl SqliteLog {
    /// Refuses to write into a file that is no longer at its path.
    fn check_in_place(&self) -> Result<(), StoreError> {
        match FileId::of(&self.path) {
            Ok(file) if file == self.file => Ok(()),
            _ => Err(StoreError::Gone { path: self.path.clone() }),
        }
    }
}

/// Which file a path leads to.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    fn of(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        Ok(Self { device: metadata.dev(), inode: metadata.ino() })
    }
}

/// Takes the lock file `<path>.lock`. It stays when the daemon ends (removing it would race with the next one); the
/// lock itself goes with the process, however that ends.
fn lock_beside(path: &Path) -> Result<File, StoreError> {
    let mut lock_path = path.as_os_str().to_owned();
    lock_path.push(".lock");
    let lock_path = PathBuf::from(lock_path);
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&lock_path)
        .map_err(|error| not_writable(&lock_path, error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::InUse { path: path.to_path_buf() }),
        Err(TryLockError::Error(error)) => Err(StoreError::other(error)),
    }
}

fn not_writable(path: &Path, error: io::Error) -> StoreError {
    StoreError::NotWritable { path: path.to_path_buf(), source: Arc::new(error) }
}

/// Looks at an existing file through a read-only connection, so that one which is refused stays byte for byte.
fn examine(path: &Path) -> Result<(), StoreError> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.len() > 0 => {}
        _ => return Ok(()),
    }
    let schema = open_for_reading(path).and_then(|connection| migrations::identify(&connection));
    match schema {
        Ok(schema) => refuse_unknown(schema, path),
        // A kill while the file was being made: only a connection that may write can roll that back and look.
        Err(error) if faults::needs_rollback(&error) => Ok(()),
        Err(error) => Err(read_fault(error, path)),
    }
}

/// Refuses files that are not ours or newer than this build.
fn refuse_unknown(schema: Schema, path: &Path) -> Result<(), StoreError> {
    match schema {
        Schema::Version(found) if found > migrations::NEWEST => {
            Err(StoreError::Newer { found, known: migrations::NEWEST })
        }
        Schema::Foreign => Err(StoreError::Foreign { path: path.to_path_buf() }),
        Schema::Version(_) | Schema::Empty => Ok(()),
    }
}

/// Opens a connection that cannot write, not even a checkpoint.
fn open_for_reading(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.busy_timeout(LOCK_WAIT)?;
    Ok(connection)
}

fn open_for_writing(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(|error| read_fault(error, path))?;
    // SQLite falls back to reading where it may not write.
    if connection.is_readonly("main").map_err(|error| read_fault(error, path))? {
        return Err(not_writable(path, io::ErrorKind::PermissionDenied.into()));
    }
    let schema = migrations::identify(&connection).map_err(|error| read_fault(error, path))?;
    refuse_unknown(schema, path)?;
    let version = match schema {
        Schema::Version(version) => version,
        Schema::Empty | Schema::Foreign => 0,
    };
    configure(&connection)
        .and_then(|()| Ok(migrations::migrate(&mut connection, version)?))
        .map_err(|fault| write_fault(fault, &connection, path))?;
    Ok(connection)
}

fn configure(connection: &Connection) -> Result<(), Fault> {
    connection.busy_timeout(LOCK_WAIT)?;
    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
    if mode != "wal" {
        let why = "the file system lacks what SQLite's WAL needs: name a file on a local disk";
        return Err(StoreError::other(io::Error::other(why)).into());
    }
    // Every commit syncs the WAL before it returns: what `append` acknowledges survives power loss.
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "journal_size_limit", WAL_LIMIT_BYTES)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "mmap_size", 0)?;
    // What is erased is overwritten with zeros, not only unlinked; `erase::rewrite` sees to the copies that this leaves.
    connection.pragma_update(None, "secure_delete", true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // After an error of which nobody knows what reached the disk, closing must not write either.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(())
}

/// Reads how far every namespace's log reaches.
fn read_places(connection: &Connection) -> rusqlite::Result<BTreeMap<NamespaceId, LogPlace>> {
    let mut statement = connection.prepare(
        "SELECT id, name, (SELECT max(seq) FROM events WHERE namespace = namespaces.id), log_begin, log_bytes
                  FROM namespaces",
    )?;
    let mut rows = statement.query([])?;
    let mut places = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let name: String = row.get(1)?;
        let last: Option<i64> = row.get(2)?;
        let key = row.get(0)?;
        let begin = Seq(row.get::<_, i64>(3)?.cast_unsigned());
        let place = LogPlace {
            key,
            last: Seq(last.unwrap_or(0).cast_unsigned()),
            begin,
            begin_at: retention::read_stamp(connection, key, begin)?,
            bytes: row.get::<_, i64>(4)?.cast_unsigned(),
            older_snapshot: retention::read_older_snapshot(connection, key)?,
        };
        places.insert(NamespaceId::new(name), place);
    }
    Ok(places)
}

/// Appends in one transaction, and returns where the namespaces it touched end now.
fn append_all(
    connection: &mut Connection,
    places: &BTreeMap<NamespaceId, LogPlace>,
    units: &[&Unit],
) -> Result<BTreeMap<NamespaceId, LogPlace>, Fault> {
    // Immediate: a lock is found out before any work is done, and never in the middle.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut reached = BTreeMap::new();
    for unit in units {
        let place = match reached.get(&unit.namespace).or_else(|| places.get(&unit.namespace)) {
            Some(place) => *place,
            None => LogPlace::new(insert_namespace(&transaction, &unit.namespace)?),
        };
        reached.insert(unit.namespace.clone(), append_unit(&transaction, place, unit)?);
    }
    for place in reached.values() {
        place.write_bytes(&transaction)?;
    }
    transaction.commit()?;
    Ok(reached)
}

fn insert_namespace(transaction: &Transaction<'_>, namespace: &NamespaceId) -> rusqlite::Result<i64> {
    transaction.execute("INSERT INTO namespaces (name) VALUES (?1)", [namespace.as_str()])?;
    Ok(transaction.last_insert_rowid())
}

/// Inserts a unit's rows and returns how far the log reaches then.
fn append_unit(transaction: &Transaction<'_>, mut place: LogPlace, unit: &Unit) -> Result<LogPlace, Fault> {
    let mut insert = transaction.prepare_cached(
        "INSERT INTO events (namespace, seq, at_ms, kind, cause, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    let mut cause = place.last.next();
    for record in &unit.records {
        let last = place.last;
        if record.seq != last.next() {
            let namespace = unit.namespace.clone();
            return Err(StoreError::OutOfOrder { namespace, last, found: record.seq }.into());
        }
        if record.event.is_cause() {
            cause = record.seq;
        }
        let row = EventRow::of(&record.event).map_err(StoreError::other)?;
        let (seq, cause) = (record.seq.0.cast_signed(), cause.0.cast_signed());
        insert.execute(params![place.key, seq, record.at.0, row.kind(), cause, row.body()])?;
        place.count(record.at, row.body().len());
    }
    if let Some(note) = &unit.query {
        let body = codec::query_text(&note.body).map_err(StoreError::other)?;
        transaction
            .prepare_cached("INSERT INTO queries (namespace, seq, session, at_ms, body) VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute(params![place.key, note.seq.0.cast_signed(), note.session.as_str(), note.at.0, body])?;
    }
    Ok(place)
}

/// Writes a snapshot and returns the last record in the one before it.
fn write_snapshot(
    connection: &mut Connection,
    key: i64,
    seq: Seq,
    at: UnixMillis,
    body: &[u8],
) -> rusqlite::Result<Option<Seq>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction
        .prepare_cached("INSERT OR REPLACE INTO snapshots (namespace, seq, at_ms, body) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![key, seq.0.cast_signed(), at.0, body])?;
    transaction
        .prepare_cached(
            "DELETE FROM snapshots WHERE namespace = ?1 AND seq NOT IN
             (SELECT seq FROM snapshots WHERE namespace = ?1 ORDER BY seq DESC LIMIT ?2)",
        )?
        .execute(params![key, SNAPSHOTS_KEPT])?;
    let older = retention::read_older_snapshot(&transaction, key)?;
    transaction.commit()?;
    Ok(older)
}

fn drop_queries(connection: &Connection, key: i64, before: UnixMillis) -> rusqlite::Result<u64> {
    let n_dropped = connection
        .prepare_cached("DELETE FROM queries WHERE namespace = ?1 AND at_ms < ?2")?
        .execute(params![key, before.0])?;
    Ok(n_dropped as u64)
}

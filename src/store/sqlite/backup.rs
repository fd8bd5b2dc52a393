//! Copying a database: a backup of one that may be in use, and the way back.
//!
//! A copy is made by `VACUUM INTO`, through a connection that only reads: one moment of the database, without unused space.
//! It holds up no commit; the WAL grows meanwhile, since no checkpoint can empty it under a reader. A copy is written beside
//! its place, checked and synced, and only then moved there, so that whatever stands at the place is whole. The one thing
//! to know before editing: a database must not meet the WAL of another, which would be played into it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::mem;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::faults::read_fault;
use super::{lock_beside, open_for_reading, refuse_unknown};
use crate::core::ids::{NamespaceId, Seq};
use crate::store::StoreError;
use crate::store::migrations::{self, Schema};

/// A copy that was made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Copied {
    /// Its size in bytes.
    pub bytes: u64,
    /// The last record of each namespace's log, by name.
    pub namespaces: Vec<(NamespaceId, Seq)>,
    /// Where the database is now that stood in the copy's place; only of [`restore`].
    pub kept: Option<PathBuf>,
}

/// Why no copy was made. What stood in its place still stands there.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// There is nothing to copy.
    #[error("there is no database {}", path.display())]
    NotThere {
        /// Where it should be.
        path: PathBuf,
    },
    /// Something stands where the copy is to go.
    #[error("{} is there already: name another file, or add --force", path.display())]
    Occupied {
        /// The place.
        path: PathBuf,
    },
    /// A file cannot be copied onto itself.
    #[error("{} cannot be copied onto itself", path.display())]
    SameFile {
        /// The file.
        path: PathBuf,
    },
    /// The database cannot be read, or may not be replaced.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file cannot be written or moved.
    #[error("cannot {what} {}", path.display())]
    File {
        /// What failed, as a verb.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Copies the database at `path`, which a daemon may have open, to `to`. With `replaces`, a file there is replaced.
pub fn backup(path: &Path, to: &Path, replaces: bool) -> Result<Copied, BackupError> {
    check_source(path)?;
    check_place(path, to, replaces)?;
    let _lock = lock_if_in_use(to)?;
    let copy = Copy::make(path, to)?;
    remove_side_files(to)?;
    copy.move_into_place(to)
}

/// Puts a copy of the backup at `from` in the place of the database at `path`. With `replaces`, a database there is kept
/// beside it; a daemon that has it open must be stopped first.
pub fn restore(from: &Path, path: &Path, replaces: bool) -> Result<Copied, BackupError> {
    check_source(from)?;
    // One lock for one file, whatever links lead to it, as when a daemon opens it.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    check_place(from, path, replaces)?;
    let _lock = lock_beside(path)?;
    let mut copy = Copy::make(from, path)?;
    copy.made.kept = keep_replaced(path)?;
    copy.move_into_place(path)
}

/// A checked copy beside its place; goes again unless it was moved there.
struct Copy {
    path: PathBuf,
    made: Copied,
}

impl Copy {
    fn make(from: &Path, to: &Path) -> Result<Self, BackupError> {
        let path = with_ending(to, ".tmp");
        remove_if_there(&path)?;
        let mut copy = Self { path, made: Copied::default() };
        let fault = |error| read_fault(error, from);
        let connection = open_for_reading(from).map_err(fault)?;
        let name =
            copy.path.to_str().ok_or_else(|| failed("name", &copy.path, io::ErrorKind::InvalidFilename.into()))?;
        // What cannot be written here is the copy.
        connection.execute("VACUUM INTO ?1", [name]).map_err(|error| read_fault(error, &copy.path))?;
        drop(connection);
        copy.made.namespaces = check(&copy.path)?;
        let file = File::open(&copy.path).map_err(|error| failed("open", &copy.path, error))?;
        file.sync_all().map_err(|error| failed("sync", &copy.path, error))?;
        copy.made.bytes = file.metadata().map_err(|error| failed("read", &copy.path, error))?.len();
        Ok(copy)
    }

    fn move_into_place(mut self, to: &Path) -> Result<Copied, BackupError> {
        fs::rename(&self.path, to).map_err(|error| failed("write", to, error))?;
        sync_folder(to)?;
        Ok(mem::take(&mut self.made))
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // Not there any more once it was moved.
        let _ = fs::remove_file(&self.path);
    }
}

fn check_source(path: &Path) -> Result<(), BackupError> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.len() > 0 => {}
        _ => return Err(BackupError::NotThere { path: path.to_path_buf() }),
    }
    check(path)?;
    Ok(())
}

fn check_place(from: &Path, to: &Path, replaces: bool) -> Result<(), BackupError> {
    // A side file without its database counts: it would be played into whatever comes to stand there.
    let places = [to.to_path_buf(), with_ending(to, "-wal"), with_ending(to, "-journal")];
    let Some(taken) = places.into_iter().find(|place| place.exists()) else { return Ok(()) };
    let is_same = matches!((from.canonicalize(), to.canonicalize()), (Ok(from), Ok(to)) if from == to);
    if is_same {
        return Err(BackupError::SameFile { path: to.to_path_buf() });
    }
    if replaces { Ok(()) } else { Err(BackupError::Occupied { path: taken }) }
}

/// Takes the lock of a database that a copy is to replace, if a daemon ever had it open: under one that runs it must not
/// be taken away.
fn lock_if_in_use(to: &Path) -> Result<Option<File>, BackupError> {
    let to = to.canonicalize().unwrap_or_else(|_| to.to_path_buf());
    if with_ending(&to, ".lock").exists() { Ok(Some(lock_beside(&to)?)) } else { Ok(None) }
}

/// Returns the last record of each namespace, if the file is a whole database of ours that this build knows.
fn check(path: &Path) -> Result<Vec<(NamespaceId, Seq)>, StoreError> {
    let fault = |error| read_fault(error, path);
    let connection = open_for_reading(path).map_err(fault)?;
    let schema = migrations::identify(&connection).map_err(fault)?;
    refuse_unknown(schema, path)?;
    if schema == Schema::Empty {
        return Err(StoreError::Foreign { path: path.to_path_buf() });
    }
    let said: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(fault)?;
    if said != "ok" {
        return Err(StoreError::Corrupt { detail: format!("{}: {said}", path.display()) });
    }
    read_ends(&connection).map_err(fault)
}

fn read_ends(connection: &Connection) -> rusqlite::Result<Vec<(NamespaceId, Seq)>> {
    let mut statement = connection.prepare(
        "SELECT name, (SELECT coalesce(max(seq), 0) FROM events WHERE namespace = namespaces.id)
         FROM namespaces ORDER BY name",
    )?;
    let ends = statement.query_map([], |row| {
        let name: String = row.get(0)?;
        Ok((NamespaceId::new(name), Seq(row.get::<_, i64>(1)?.cast_unsigned())))
    })?;
    ends.collect()
}

/// Gives the database at `path` a second name, with its side file, and takes the side files away. Until something is moved
/// onto it, `path` still leads to it.
fn keep_replaced(path: &Path) -> Result<Option<PathBuf>, BackupError> {
    let name = free_name(path);
    let mut kept = None;
    // Those with the last words in them go with the database, and are kept where that was moved away without them.
    for ending in ["", "-wal", "-journal"] {
        let (from, to) = (with_ending(path, ending), with_ending(&name, ending));
        if from.exists() {
            fs::hard_link(&from, &to).map_err(|error| failed("keep what is there as", &to, error))?;
            kept.get_or_insert(to);
        }
    }
    if kept.is_some() {
        sync_folder(path)?;
    }
    remove_side_files(path)?;
    Ok(kept)
}

/// Removes what SQLite keeps beside the database at `path`.
fn remove_side_files(path: &Path) -> Result<(), BackupError> {
    ["-wal", "-shm", "-journal"].iter().try_for_each(|ending| remove_if_there(&with_ending(path, ending)))
}

/// Returns the first of `path.before-restore-1`, `-2` and so on that is not taken, nor its side files.
fn free_name(path: &Path) -> PathBuf {
    let mut number = 1;
    loop {
        let name = with_ending(path, &format!(".before-restore-{number}"));
        if ["", "-wal", "-journal"].iter().all(|ending| !with_ending(&name, ending).exists()) {
            return name;
        }
        number += 1;
    }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

fn remove_if_there(path: &Path) -> Result<(), BackupError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", path, error)),
        _ => Ok(()),
    }
}

/// Has the names in a file's folder written to the disk.
fn sync_folder(path: &Path) -> Result<(), BackupError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| failed("sync", folder, error))
}

fn failed(what: &'static str, path: &Path, source: io::Error) -> BackupError {
    BackupError::File { what, path: path.to_path_buf(), source }
}

#[cfg(test)]
mod tests;

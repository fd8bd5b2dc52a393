//! Copies of databases that are in use, whole or not.

use tempfile::TempDir;

use super::*;
use crate::core::ids::UnixMillis;
use crate::store::Log;
use crate::store::samples::{change, read_all, traffic};
use crate::store::sqlite::{SqliteLog, open};

struct Fixture {
    folder: TempDir,
    log: SqliteLog,
}

impl Fixture {
    /// A database in use, with rows in its side file.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (mut log, _) = open(&folder.path().join("a.db")).unwrap();
        log.append(&[&change("ops", 1), &traffic("triage", 1..=5)]).unwrap();
        Self { folder, log }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn last_of(path: &Path) -> usize {
    let (_log, reader) = open(path).unwrap();
    read_all(&reader, "triage", 0).len()
}

#[test]
fn a_backup_of_a_database_in_use_holds_all_that_was_written_and_no_more() {
    let mut fixture = Fixture::new();
    let to = fixture.path("b.db");
    let made = backup(&fixture.path("a.db"), &to, false).unwrap();
    assert_eq!(made.namespaces, [("ops".into(), Seq(1)), ("triage".into(), Seq(5))]);
    assert_eq!(made.bytes, fs::metadata(&to).unwrap().len());
    fixture.log.append(&[&traffic("triage", 6..=7)]).unwrap();
    assert_eq!(last_of(&to), 5);
    assert!(!fixture.path("b.db.tmp").exists());
}

#[test]
fn a_backup_replaces_nothing_unless_told_and_never_its_own_source() {
    let fixture = Fixture::new();
    let to = fixture.path("b.db");
    fs::write(&to, "precious").unwrap();
    assert!(matches!(backup(&fixture.path("a.db"), &to, false), Err(BackupError::Occupied { .. })));
    assert_eq!(fs::read(&to).unwrap(), b"precious");
    let onto_itself = backup(&fixture.path("a.db"), &fixture.path("a.db"), true);
    assert!(matches!(onto_itself, Err(BackupError::SameFile { .. })));
    backup(&fixture.path("a.db"), &to, true).unwrap();
    assert_eq!(last_of(&to), 5);
    let nothing = backup(&fixture.path("nothing.db"), &fixture.path("c.db"), false);
    assert!(matches!(nothing, Err(BackupError::NotThere { .. })));
}

#[test]
fn a_restore_is_refused_while_a_daemon_has_the_database() {
    let fixture = Fixture::new();
    let (database, copy) = (fixture.path("a.db"), fixture.path("b.db"));
    backup(&database, &copy, false).unwrap();
    let refused = restore(&copy, &database, true).unwrap_err();
    assert!(matches!(refused, BackupError::Store(StoreError::InUse { .. })), "{refused}");
}

#[test]
fn a_restore_keeps_what_it_replaces_with_all_that_stood_in_its_side_file() {
    let mut fixture = Fixture::new();
    let (database, copy) = (fixture.path("a.db"), fixture.path("b.db"));
    backup(&database, &copy, false).unwrap();
    fixture.log.append(&[&traffic("triage", 6..=9)]).unwrap();
    let folder = fixture.folder;
    drop(fixture.log);
    assert!(matches!(restore(&copy, &database, false), Err(BackupError::Occupied { .. })));
    for number in 1..=2 {
        let made = restore(&copy, &database, true).unwrap();
        let kept = folder.path().join(format!("a.db.before-restore-{number}"));
        assert_eq!(made.kept.as_ref(), Some(&kept));
        assert_eq!(last_of(&database), 5);
    }
    assert_eq!(last_of(&folder.path().join("a.db.before-restore-1")), 9);
    let new = folder.path().join("new.db");
    assert_eq!(restore(&copy, &new, false).unwrap().kept, None);
    assert_eq!(last_of(&new), 5);
}

#[test]
fn a_backup_that_is_no_whole_database_of_ours_is_refused_and_nothing_is_touched() {
    let fixture = Fixture::new();
    let (database, copy) = (fixture.path("a.db"), fixture.path("b.db"));
    backup(&database, &copy, false).unwrap();
    let Fixture { folder, log } = fixture;
    drop(log);
    let before = fs::read(&database).unwrap();
    let broken = folder.path().join("broken.db");
    let check = |is_it: fn(&StoreError) -> bool| match restore(&broken, &database, true).unwrap_err() {
        BackupError::Store(error) => {
            assert!(is_it(&error), "{error}");
            assert_eq!(fs::read(&database).unwrap(), before);
            assert!(!folder.path().join("a.db.before-restore-1").exists());
        }
        other => panic!("{other}"),
    };
    let whole = fs::read(&copy).unwrap();
    fs::write(&broken, &whole[..whole.len() / 2]).unwrap();
    check(|error| matches!(error, StoreError::Corrupt { .. }));
    fs::write(&broken, "a letter, and not a short one at that").unwrap();
    check(|error| matches!(error, StoreError::Foreign { .. }));
    for (pragma, is_it) in [
        ("PRAGMA application_id = 7", (|error| matches!(error, StoreError::Foreign { .. })) as fn(&StoreError) -> bool),
        ("PRAGMA user_version = 99", |error| matches!(error, StoreError::Newer { found: 99, .. })),
    ] {
        fs::write(&broken, &whole).unwrap();
        Connection::open(&broken).unwrap().execute_batch(pragma).unwrap();
        check(is_it);
    }
}

#[test]
fn a_backup_that_an_earlier_version_wrote_is_restored_and_migrated_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let (old, database) = (folder.path().join("old.db"), folder.path().join("a.db"));
    let connection = Connection::open(&old).unwrap();
    connection.execute_batch(include_str!("../../migrations/0001.sql")).unwrap();
    connection.execute_batch("PRAGMA user_version = 1; INSERT INTO namespaces VALUES (1, 'triage')").unwrap();
    drop(connection);
    restore(&old, &database, false).unwrap();
    let (mut log, reader) = open(&database).unwrap();
    log.append(&[&traffic("triage", 1..=2)]).unwrap();
    log.write_snapshot(&"triage".into(), Seq(2), UnixMillis(1), b"").unwrap();
    assert_eq!(read_all(&reader, "triage", 0).len(), 2);
}

/// Takes a database away and leaves its side file, as somebody who knows of one file only would.
fn take_away(path: &Path) {
    fs::remove_file(path).unwrap();
    assert!(fs::metadata(with_ending(path, "-wal")).unwrap().len() > 0);
}

#[test]
fn a_copy_never_meets_the_side_file_of_what_stood_in_its_place() {
    let fixture = Fixture::new();
    let (database, place) = (fixture.path("a.db"), fixture.path("b.db"));
    // A database of its own, of which all stands in the side file.
    let (mut other, _) = open(&place).unwrap();
    other.append(&[&traffic("triage", 1..=3)]).unwrap();
    for is_there in [true, false] {
        let in_use = backup(&database, &place, true);
        assert_eq!(matches!(in_use, Err(BackupError::Store(StoreError::InUse { .. }))), is_there, "{in_use:?}");
        if is_there {
            drop(other);
            (other, _) = open(&fixture.path("c.db")).unwrap();
            take_away(&place);
            let refused = backup(&database, &place, false);
            assert!(matches!(refused, Err(BackupError::Occupied { .. })), "{refused:?}");
        }
    }
    drop(other);
    assert_eq!(last_of(&place), 5);
    let files = fs::read_dir(fixture.folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(files.filter(|name| name.to_string_lossy().contains("tmp")).count(), 0);
}

#[test]
fn a_restore_keeps_a_side_file_whose_database_was_moved_away() {
    let fixture = Fixture::new();
    let (database, copy) = (fixture.path("a.db"), fixture.path("b.db"));
    backup(&database, &copy, false).unwrap();
    let Fixture { folder, log } = fixture;
    drop(log);
    let moved = folder.path().join("moved.db");
    fs::rename(&database, &moved).unwrap();
    assert!(matches!(restore(&copy, &database, false), Err(BackupError::Occupied { .. })));
    // A name of which only the side file is left is taken too.
    fs::write(folder.path().join("a.db.before-restore-1-wal"), "old").unwrap();
    let made = restore(&copy, &database, true).unwrap();
    let kept = folder.path().join("a.db.before-restore-2-wal");
    assert_eq!(made.kept.as_ref(), Some(&kept));
    fs::rename(&kept, folder.path().join("moved.db-wal")).unwrap();
    assert_eq!(last_of(&moved), 5);
}

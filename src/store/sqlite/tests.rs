//! The log on a real disk: what a kill, a full disk, a lock or another version leaves.

use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use tempfile::TempDir;

use super::{SqliteLog, SqliteReader, open};
use crate::core::event::Record;
use crate::core::ids::{NamespaceId, Seq, UnixMillis};
use crate::store::samples::{change, read_all, traffic};
use crate::store::{Log, QueryBody, QueryNote, Reader, StoreError, Unit, migrations};

struct Fixture {
    folder: TempDir,
    log: SqliteLog,
    reader: SqliteReader,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (log, reader) = open(&folder.path().join("t.db")).unwrap();
        Self { folder, log, reader }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("t.db")
    }

    /// Ends the daemon and starts the next one.
    fn reopen(self) -> Self {
        let path = self.path();
        drop(self.log);
        let (log, reader) = open(&path).unwrap();
        Self { folder: self.folder, log, reader }
    }

    fn seqs(&self, namespace: &str) -> Vec<u64> {
        read_all(&self.reader, namespace, 0).into_iter().map(|(record, _)| record.seq.0).collect()
    }
}

fn append(log: &mut SqliteLog, units: &[Unit]) -> Result<(), StoreError> {
    log.append(&units.iter().collect::<Vec<_>>())
}

fn open_error(path: &Path) -> StoreError {
    open(path).err().expect("the file must be refused")
}

/// Every file of a folder but the lock file, with its bytes.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // The index of the WAL is no data: whoever looks rebuilds it.
        if !matches!(path.extension().and_then(|ending| ending.to_str()), Some("lock" | "db-shm")) {
            let bytes = fs::read(&path).unwrap();
            files.push((path, bytes));
        }
    }
    files.sort();
    files
}

#[test]
fn what_was_appended_reads_back_after_a_restart() {
    let mut fixture = Fixture::new();
    let mut asked = traffic("triage", 3..=5);
    let body = QueryBody::Terms(vec![7, 9]);
    let note = QueryNote { seq: Seq(3), session: "s".into(), at: UnixMillis(1_003), body: body.clone() };
    asked.query = Some(note);
    let units = [traffic("triage", 1..=2), change("ops", 1), asked];
    append(&mut fixture.log, &units).unwrap();

    let fixture = fixture.reopen();
    let mut expected: Vec<(Record, Option<QueryBody>)> = Vec::new();
    for unit in [&units[0], &units[2]] {
        expected.extend(unit.records.iter().map(|record| (record.clone(), None)));
    }
    expected[2].1 = Some(body);
    assert_eq!(read_all(&fixture.reader, "triage", 0), expected);
    assert_eq!(read_all(&fixture.reader, "triage", 2), expected[2..]);
    assert_eq!(fixture.reader.namespaces().unwrap(), ["ops".into(), "triage".into()]);
    assert!(read_all(&fixture.reader, "nobody", 0).is_empty());
}

#[test]
fn a_row_names_its_kind_and_the_cause_it_was_drawn_from() {
    let mut fixture = Fixture::new();
    append(&mut fixture.log, &[change("ops", 1), traffic("ops", 2..=3)]).unwrap();
    let sql =
        "SELECT group_concat(seq || ' ' || kind || ' ' || cause || ' ' || coalesce(body ->> '$.session', '-'), ', ')
               FROM events ORDER BY seq";
    let shown: String = fixture.log.connection.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(shown, "1 policy_set 1 -, 2 session_closed 2 s, 3 call_counted 2 s");
}

#[test]
fn a_batch_that_fails_leaves_nothing() {
    let mut fixture = Fixture::new();
    let error = append(&mut fixture.log, &[traffic("a", 1..=2), traffic("b", 2..=3)]).unwrap_err();
    assert!(matches!(error, StoreError::OutOfOrder { last: Seq(0), found: Seq(2), .. }), "{error:?}");
    assert!(fixture.reader.namespaces().unwrap().is_empty());
    append(&mut fixture.log, &[traffic("a", 1..=2), traffic("b", 1..=1)]).unwrap();
    assert_eq!(fixture.seqs("a"), [1, 2]);
}

#[test]
fn gaps_and_repeats_are_refused() {
    let mut fixture = Fixture::new();
    append(&mut fixture.log, &[traffic("a", 1..=3)]).unwrap();
    let mut fixture = fixture.reopen();
    for first in [3, 5] {
        let error = append(&mut fixture.log, &[traffic("a", first..=first)]).unwrap_err();
        assert!(matches!(error, StoreError::OutOfOrder { last: Seq(3), .. }), "{error:?}");
    }
    append(&mut fixture.log, &[traffic("a", 4..=4), traffic("a", 5..=6)]).unwrap();
    assert_eq!(fixture.seqs("a"), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn an_empty_file_becomes_a_store_of_the_newest_version() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    fs::write(&path, "").unwrap();
    let (log, _reader) = open(&path).unwrap();
    let schema = migrations::identify(&log.connection).unwrap();
    assert_eq!(schema, migrations::Schema::Version(migrations::NEWEST));
    drop(log);
    assert!(SqliteReader::open(&path).is_ok());
    assert!(open(&path).is_ok());
}

/// The rows are written out as version 1 wrote them: whatever steps and events come later must read them.
#[test]
fn a_file_of_version_1_is_led_to_the_newest_with_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(include_str!("../migrations/0001.sql")).unwrap();
    connection
        .execute_batch(
            r#"PRAGMA user_version = 1;
            INSERT INTO namespaces VALUES (1, 'triage');
            INSERT INTO events VALUES
                (1, 1, 1001, 'policy_set', 1,
                 '{"request_id":"r1","actor":"operator","values":{"hot_pool.slots":"12"}}'),
                (1, 2, 1002, 'time_passed', 2, 'null');
            INSERT INTO snapshots VALUES (1, 1, 1001, x'00');
            INSERT INTO queries VALUES (1, 2, 's', 1002, '{"terms":[7,9]}');"#,
        )
        .unwrap();
    drop(connection);

    let (log, reader) = open(&path).unwrap();
    let schema = migrations::identify(&log.connection).unwrap();
    assert_eq!(schema, migrations::Schema::Version(migrations::NEWEST));
    let lines = read_all(&reader, "triage", 0);
    assert_eq!(lines[0].0, change("triage", 1).records[0]);
    assert_eq!(lines[1].1, Some(QueryBody::Terms(vec![7, 9])));
    assert_eq!(reader.snapshot(&"triage".into(), None).unwrap().unwrap().seq, Seq(1));
    let extent = log.extents()[&NamespaceId::from("triage")];
    assert_eq!((extent.begin, extent.begin_at), (Seq(1), UnixMillis(1_001)));
    assert_eq!(
        extent.bytes,
        r#"{"request_id":"r1","actor":"operator","values":{"hot_pool.slots":"12"}}null"#.len() as u64
    );
}

#[test]
fn a_newer_file_is_refused_and_left_alone() {
    let fixture = Fixture::new();
    let path = fixture.path();
    drop(fixture.log);
    // The newer daemon was killed: its version stands in the WAL only, which a careless look would fold in.
    let newer = Connection::open(&path).unwrap();
    newer.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    newer.pragma_update(None, "user_version", migrations::NEWEST + 1).unwrap();
    drop(newer);

    let before = contents(fixture.folder.path());
    let error = open_error(&path);
    let StoreError::Newer { found, known } = error else { panic!("{error:?}") };
    assert_eq!((found, known), (migrations::NEWEST + 1, migrations::NEWEST));
    assert!(SqliteReader::open(&path).is_err());
    assert!(contents(fixture.folder.path()) == before, "a refused file was changed");
}

#[test]
fn a_foreign_file_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.db");
    fs::write(&text, "just some notes, longer than nothing\n".repeat(100)).unwrap();
    let database = folder.path().join("other.db");
    Connection::open(&database).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();

    let before = contents(folder.path());
    for path in [&text, &database] {
        let error = open_error(path);
        assert!(matches!(error, StoreError::Foreign { .. }), "{error:?}");
    }
    assert!(contents(folder.path()) == before, "a refused file was changed");
}

#[test]
fn a_second_daemon_is_refused_with_one_line() {
    let mut fixture = Fixture::new();
    append(&mut fixture.log, &[traffic("a", 1..=3)]).unwrap();
    let before = contents(fixture.folder.path());
    let error = open_error(&fixture.path());
    assert!(matches!(error, StoreError::InUse { .. }), "{error:?}");
    assert_eq!(error.to_string().lines().count(), 1);
    assert!(contents(fixture.folder.path()) == before, "the file in use was changed");

    let link = fixture.folder.path().join("link.db");
    std::os::unix::fs::symlink(fixture.path(), &link).unwrap();
    assert!(matches!(open_error(&link), StoreError::InUse { .. }), "a link leads around the lock");
    fixture.reopen();
}

#[test]
fn a_folder_that_may_not_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let mut target = folder.path().to_path_buf();
    if fs::write(target.join("probe"), "").is_ok() {
        // Permissions do not stop root, but nobody can create a file here.
        target = PathBuf::from("/sys");
    }
    let error = open_error(&target.join("t.db"));
    assert!(matches!(error, StoreError::NotWritable { .. }), "{error:?}");
    let error = open_error(&folder.path().join("missing").join("t.db"));
    assert!(matches!(error, StoreError::NotWritable { .. }), "{error:?}");
}

#[test]
fn a_full_database_refuses_whole_batches_and_goes_on_when_there_is_space() {
    let mut fixture = Fixture::new();
    append(&mut fixture.log, &[traffic("a", 1..=10)]).unwrap();
    let n_pages: u32 = fixture.log.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    set_max_pages(&fixture.log, n_pages + 2);
    let large = traffic("a", 11..=2_000);
    let error = append(&mut fixture.log, &[change("b", 1), large.clone()]).unwrap_err();
    assert!(matches!(error, StoreError::Full), "{error:?}");
    assert_eq!(fixture.seqs("a").len(), 10);

    set_max_pages(&fixture.log, 1_000_000);
    append(&mut fixture.log, &[change("b", 1), large]).unwrap();
    let fixture = fixture.reopen();
    assert_eq!(fixture.seqs("a").len(), 2_000);
}

fn set_max_pages(log: &SqliteLog, n_pages: u32) {
    log.connection.pragma_update(None, "max_page_count", n_pages).unwrap();
}

/// Set in the process that runs under the limit.
const LIMITED: &str = "TOOLCRIB_TEST_FILE_SIZE_LIMITED";

#[test]
fn a_file_size_limit_is_a_full_disk() {
    if env::var_os(LIMITED).is_none() {
        // The limit holds for a whole process, so the test runs itself in one of its own.
        let output = Command::new("sh")
            .args(["-c", r#"trap '' XFSZ; ulimit -f 1000; exec "$0" --exact "$1""#])
            .arg(env::current_exe().unwrap())
            .arg("store::sqlite::tests::a_file_size_limit_is_a_full_disk")
            .env(LIMITED, "1")
            .output()
            .unwrap();
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && shown.contains("1 passed"), "{shown}");
        return;
    }
    let mut fixture = Fixture::new();
    append(&mut fixture.log, &[change("a", 1)]).unwrap();
    let error = append(&mut fixture.log, &[traffic("a", 2..=20_000)]).unwrap_err();
    assert!(matches!(error, StoreError::Full), "{error:?}");
    append(&mut fixture.log, &[change("a", 2)]).unwrap();
    let fixture = fixture.reopen();
    assert_eq!(fixture.seqs("a"), [1, 2]);
}

#[test]
fn a_locked_database_is_busy_until_it_is_released() {
    let mut fixture = Fixture::new();
    let other = Connection::open(fixture.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = append(&mut fixture.log, &[change("a", 1)]).unwrap_err();
    assert!(matches!(error, StoreError::Busy), "{error:?}");
    assert!(matches!(fixture.log.probe(), Err(StoreError::Busy)));
    assert!(fixture.reader.namespaces().unwrap().is_empty(), "reading goes on");
    other.execute_batch("ROLLBACK").unwrap();
    append(&mut fixture.log, &[change("a", 1)]).unwrap();
    fixture.log.probe().unwrap();
}

#[test]
fn a_database_that_was_moved_away_takes_nothing_until_it_is_back() {
    let mut fixture = Fixture::new();
    let elsewhere = fixture.folder.path().join("elsewhere.db");
    fs::rename(fixture.path(), &elsewhere).unwrap();
    let error = append(&mut fixture.log, &[change("a", 1)]).unwrap_err();
    assert!(matches!(error, StoreError::Gone { .. }) && error.is_passing(), "{error:?}");
    fs::write(fixture.path(), "").unwrap();
    assert!(matches!(fixture.log.probe(), Err(StoreError::Gone { .. })), "another file stands there");
    fs::rename(&elsewhere, fixture.path()).unwrap();
    append(&mut fixture.log, &[change("a", 1)]).unwrap();
}

#[test]
fn the_newest_two_snapshots_are_kept() {
    let mut fixture = Fixture::new();
    let namespace = NamespaceId::from("a");
    append(&mut fixture.log, &[traffic("a", 1..=9)]).unwrap();
    assert_eq!(fixture.reader.snapshot(&namespace, None).unwrap(), None);
    for seq in [3, 6, 9] {
        fixture.log.write_snapshot(&namespace, Seq(seq), UnixMillis(700), &[seq as u8]).unwrap();
    }
    assert_eq!(
        fixture.reader.snapshot(&namespace, None).unwrap(),
        Some(crate::store::Snapshot { seq: Seq(9), at: UnixMillis(700), body: vec![9] })
    );
    let sql = "SELECT group_concat(seq) FROM snapshots";
    let kept: String = fixture.log.connection.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(kept, "6,9");
}

#[test]
fn a_snapshot_ahead_of_the_log_is_refused() {
    let mut fixture = Fixture::new();
    append(&mut fixture.log, &[traffic("a", 1..=9)]).unwrap();
    for (namespace, seq) in [("a", 10), ("b", 1)] {
        let error = fixture.log.write_snapshot(&namespace.into(), Seq(seq), UnixMillis(0), b"").unwrap_err();
        assert!(matches!(error, StoreError::OutOfOrder { .. }), "{error:?}");
    }
}

#[test]
fn old_queries_are_dropped_and_their_events_stay() {
    let mut fixture = Fixture::new();
    for seq in 1..=4 {
        let mut unit = change("a", seq);
        let body = QueryBody::Text { user: "find".into(), model: String::new(), goal: String::new() };
        unit.query = Some(QueryNote { seq: Seq(seq), session: "s".into(), at: UnixMillis(seq as i64), body });
        append(&mut fixture.log, &[unit]).unwrap();
    }
    assert_eq!(fixture.log.drop_queries_before(&"a".into(), UnixMillis(3)).unwrap(), 2);
    assert_eq!(fixture.log.drop_queries_before(&"b".into(), UnixMillis(3)).unwrap(), 0);
    let kept: Vec<bool> = read_all(&fixture.reader, "a", 0).iter().map(|(_, query)| query.is_some()).collect();
    assert_eq!(kept, [false, false, true, true]);
}

#[test]
fn a_long_read_neither_blocks_checkpoints_nor_misses_what_is_appended_meanwhile() {
    let mut fixture = Fixture::new();
    append(&mut fixture.log, &[traffic("a", 1..=3_000)]).unwrap();
    let log = &mut fixture.log;
    let mut n_read = 0;
    let each = &mut |_, _| {
        n_read += 1;
        if n_read == 10 {
            append(log, &[change("a", 3_001)]).unwrap();
            let is_blocked: bool =
                log.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).unwrap();
            assert!(!is_blocked);
        }
        ControlFlow::Continue(())
    };
    fixture.reader.records(&"a".into(), Seq(0), each).unwrap();
    assert_eq!(n_read, 3_001);
}

#[test]
fn a_reader_stops_when_told() {
    let mut fixture = Fixture::new();
    append(&mut fixture.log, &[traffic("a", 1..=9)]).unwrap();
    let mut n_read = 0;
    let each = &mut |_, _| {
        n_read += 1;
        if n_read == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    fixture.reader.records(&"a".into(), Seq(0), each).unwrap();
    assert_eq!(n_read, 4);
}

#[test]
fn damage_is_reported_with_its_place() {
    check_damage("UPDATE events SET body = '{}' WHERE seq = 3", "record 3 of namespace a");
    check_damage("DELETE FROM events WHERE seq = 3", "record 4 of namespace a follows 2");
    check_damage("UPDATE events SET kind = 'unheard_of' WHERE seq = 2", "record 2 of namespace a");
}

fn check_damage(sql: &str, place: &str) {
    let mut fixture = Fixture::new();
    append(&mut fixture.log, &[traffic("a", 1..=5)]).unwrap();
    fixture.log.connection.execute_batch(sql).unwrap();
    let each = &mut |_, _| ControlFlow::Continue(());
    match fixture.reader.records(&"a".into(), Seq(0), each) {
        Err(StoreError::Corrupt { detail }) => assert!(detail.contains(place), "{detail}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_transaction_that_a_kill_left_half_done_is_rolled_back() {
    let mut fixture = Fixture::new();
    append(&mut fixture.log, &[traffic("a", 1..=500)]).unwrap();
    let path = fixture.path();
    drop(fixture.log);
    // As a kill leaves a file that is not yet, or no longer, in WAL mode: pages overwritten, the old ones beside it.
    let killed = fixture.folder.path().join("killed.db");
    let writer = Connection::open(&path).unwrap();
    writer.pragma_update(None, "journal_mode", "delete").unwrap();
    writer.pragma_update(None, "cache_size", 2).unwrap();
    writer.execute_batch("BEGIN; UPDATE events SET kind = upper(kind)").unwrap();
    fs::copy(&path, &killed).unwrap();
    fs::copy(path.with_extension("db-journal"), killed.with_extension("db-journal")).unwrap();

    let (_log, reader) = open(&killed).unwrap();
    assert_eq!(read_all(&reader, "a", 0).len(), 500);
}

#[test]
fn records_of_some_kinds_come_in_order_and_a_long_stretch_comes_in_parts() {
    let mut fixture = Fixture::new();
    let space = NamespaceId::from("a");
    let mut units = Vec::new();
    for start in [1, 3_001, 6_001] {
        units.extend([change("a", start), traffic("a", start + 1..=start + 2_999)]);
    }
    append(&mut fixture.log, &units).unwrap();
    let kind = "policy_set";
    let seqs = |records: &[Record]| records.iter().map(|record| record.seq.0).collect::<Vec<_>>();
    let first = fixture.reader.of_kinds(&space, Seq(0), Seq(9_000), &[kind]).unwrap();
    assert_eq!((seqs(&first.records), first.reached), (vec![1, 3_001, 6_001], Seq(8_192)));
    let rest = fixture.reader.of_kinds(&space, first.reached, Seq(9_000), &[kind]).unwrap();
    assert_eq!((seqs(&rest.records), rest.reached), (vec![], Seq(9_000)));
    let behind = fixture.reader.of_kinds(&space, Seq(3_001), Seq(6_000), &[kind]).unwrap();
    assert_eq!((seqs(&behind.records), behind.reached), (vec![], Seq(6_000)));
    assert_eq!(fixture.reader.of_kinds(&space, Seq(0), Seq(10), &[]).unwrap().records, []);
}

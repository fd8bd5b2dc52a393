//! What is left in the file of a session that was erased.

use std::fs;

use super::*;
use crate::core::event::{CallCounted, Event, Presence, SessionClosed, Word};
use crate::core::ids::{NamespaceId, Seq, SessionId, Tick, ToolId, UnixMillis};
use crate::store::samples::{change, read_all};
use crate::store::sqlite::{SqliteLog, open};
use crate::store::{Log, QueryBody, QueryNote, Reader, Retention, Unit};

const SECRET: &str = "Klabautermann";

/// A cause of a session and a consequence of some size; sizes differ, so that pages are split here and there.
fn unit(namespace: &str, first: u64, session: &str) -> Unit {
    let call_id = format!("{session}-{}", "x".repeat((first as usize * 37) % 900)).as_str().into();
    let session = SessionId::from(session);
    let tool = ToolId::new("s", "a");
    let closed = Event::SessionClosed(SessionClosed { session: session.clone() });
    let presence = Presence::ALL[0];
    let counted =
        Event::CallCounted(CallCounted { session: session.clone(), call_id, tool, tick: Some(Tick(first)), presence });
    let at = UnixMillis(1);
    let records =
        vec![Record { seq: Seq(first), at, event: closed }, Record { seq: Seq(first + 1), at, event: counted }];
    let body = QueryBody::Text { user: format!("words of {session}"), model: String::new(), goal: String::new() };
    Unit { namespace: namespace.into(), records, query: Some(QueryNote { seq: Seq(first), session, at, body }) }
}

/// Three namespaces that grow side by side, as pages are split in the middle only then.
fn fill(log: &mut SqliteLog) {
    for turn in 0..1_000 {
        let session = if turn % 3 == 0 { SECRET } else { "other" };
        let units = ["a", "b", "c"].map(|namespace| unit(namespace, turn * 2 + 1, session));
        log.append(&units.iter().collect::<Vec<_>>()).unwrap();
    }
    for seq in [1_000, 2_000] {
        for namespace in ["a", "b", "c"] {
            log.write_snapshot(&namespace.into(), Seq(seq), UnixMillis(1), SECRET.as_bytes()).unwrap();
        }
    }
}

fn renamed(mut record: Record) -> Record {
    let name = SessionId::from("erased-1");
    match &mut record.event {
        Event::SessionClosed(closed) => closed.session = name,
        Event::CallCounted(counted) => (counted.session, counted.call_id) = (name, "1".into()),
        _ => {}
    }
    record
}

fn erase_from(log: &mut SqliteLog, reader: &dyn Reader, namespace: &str) {
    let mut changed = Vec::new();
    let space = NamespaceId::from(namespace);
    let looked_at = reader.mentions(&space, SECRET, Seq(0), &mut |record| changed.push(renamed(record))).unwrap();
    assert_eq!((looked_at, changed.len()), (Seq(2_000), 2 * 334));
    assert_eq!(reader.n_queries(&space, &SECRET.into()).unwrap(), 334);
    let unit = change(namespace, 2_001);
    let erased = ErasedSession { session: SECRET.into(), unit, changed, snapshot: b"state".to_vec() };
    log.erase(&erased).unwrap();
}

#[test]
fn nothing_is_left_of_an_erased_session_once_the_file_is_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let (mut log, reader) = open(&path).unwrap();
    fill(&mut log);
    for namespace in ["a", "b", "c"] {
        erase_from(&mut log, &reader, namespace);
        let rows = read_all(&reader, namespace, 0);
        assert_eq!(rows.len(), 2_001);
        assert_eq!(rows.iter().filter(|(_, query)| query.is_some()).count(), 666, "those of the other session");
        let extent = log.extents()[&NamespaceId::from(namespace)];
        assert_eq!(
            (extent.older_snapshot, reader.snapshot(&namespace.into(), None).unwrap().unwrap().seq),
            (None, Seq(2_001))
        );
        let sql =
            "SELECT sum(octet_length(body)) FROM events WHERE namespace = (SELECT id FROM namespaces WHERE name = ?1)";
        let bytes: i64 = log.connection.query_row(sql, [namespace], |row| row.get(0)).unwrap();
        assert_eq!(extent.bytes, bytes.cast_unsigned());
    }
    let holds = || {
        let bytes = fs::read(&path).unwrap();
        bytes.windows(SECRET.len()).filter(|window| *window == SECRET.as_bytes()).count()
    };
    log.checkpoint().unwrap();
    assert!(holds() > 0, "copies in unused space, which is why the file is written anew");
    log.rewrite().unwrap();
    assert_eq!(holds(), 0);
    assert_eq!(fs::metadata(folder.path().join("t.db-wal")).unwrap().len(), 0);
    // The same log goes on.
    log.append(&[&change("a", 2_002)]).unwrap();
}

#[test]
fn a_rewrite_says_when_a_reader_keeps_old_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let (mut log, _reader) = open(&path).unwrap();
    log.append(&[&change("a", 1)]).unwrap();
    let reader = Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM events").unwrap();
    assert!(matches!(log.rewrite(), Err(StoreError::Busy)));
    reader.execute_batch("COMMIT").unwrap();
    log.rewrite().unwrap();
}

#[test]
fn what_was_cut_after_it_was_looked_for_is_erased_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (mut log, reader) = open(&folder.path().join("t.db")).unwrap();
    fill(&mut log);
    let mut changed = Vec::new();
    reader.mentions(&"a".into(), SECRET, Seq(0), &mut |record| changed.push(renamed(record))).unwrap();
    let everything_goes = Retention { before: Some(UnixMillis(i64::MAX)), max_bytes: None };
    log.cut(&"a".into(), &everything_goes).unwrap();
    let begin = log.extents()[&NamespaceId::from("a")].begin;
    assert!(changed[0].seq < begin, "something that was found is gone");
    let unit = change("a", 2_001);
    log.erase(&ErasedSession { session: SECRET.into(), unit, changed, snapshot: b"state".to_vec() }).unwrap();
    let extent = log.extents()[&NamespaceId::from("a")];
    let sql = "SELECT sum(octet_length(body)) FROM events WHERE namespace = 1 AND seq >= ?1";
    let bytes: i64 = log.connection.query_row(sql, [begin.0.cast_signed()], |row| row.get(0)).unwrap();
    assert_eq!((extent.begin, extent.bytes), (begin, bytes.cast_unsigned()));
    let looked = reader.mentions(&"a".into(), SECRET, Seq(0), &mut |record| panic!("{record:?} is left")).unwrap();
    assert_eq!(looked, Seq(2_001));
}

#[test]
fn a_rewrite_that_a_kill_came_before_is_owed_after_the_next_start_and_no_longer_once_it_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let (mut log, reader) = open(&path).unwrap();
    fill(&mut log);
    assert!(!log.owes_rewrite());
    erase_from(&mut log, &reader, "a");
    drop(log);
    for owed in [true, false] {
        let (mut log, _reader) = open(&path).unwrap();
        assert_eq!(log.owes_rewrite(), owed);
        log.rewrite().unwrap();
        assert!(!log.owes_rewrite());
    }
}

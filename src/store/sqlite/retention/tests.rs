//! What a cut takes and what it leaves.

use std::ops::ControlFlow;

use tempfile::TempDir;

use super::*;
use crate::core::ids::NamespaceId;
use crate::store::samples::{change, read_all, traffic};
use crate::store::sqlite::{SqliteLog, SqliteReader, open};
use crate::store::{Log, LogExtent, Reader, StoreError, Unit};

struct Fixture {
    folder: TempDir,
    log: SqliteLog,
    reader: SqliteReader,
}

impl Fixture {
    /// Units of four records, one every 1,000 ms, a change after each; snapshots as told.
    fn new(n_units: u64, snapshots: &[u64]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (mut log, reader) = open(&folder.path().join("t.db")).unwrap();
        for unit in 0..n_units {
            let first = unit * 5 + 1;
            let mut units = [traffic("a", first..=first + 3), change("a", first + 4)];
            units.iter_mut().for_each(|stamped| stamp(stamped, unit as i64 * 1_000));
            log.append(&[&units[0], &units[1]]).unwrap();
        }
        for seq in snapshots {
            log.write_snapshot(&"a".into(), Seq(*seq), UnixMillis(0), b"state").unwrap();
        }
        Self { folder, log, reader }
    }

    fn cut(&mut self, keep: &Retention) {
        self.log.cut(&"a".into(), keep).unwrap();
    }

    fn extent(&self) -> LogExtent {
        self.log.extents()[&NamespaceId::from("a")]
    }

    /// Bytes of the rows from the beginning on, counted anew.
    fn bytes(&self) -> u64 {
        let sql = "SELECT sum(octet_length(body)) FROM events WHERE seq >= ?1";
        let begin = self.extent().begin.0.cast_signed();
        self.log.connection.query_row(sql, [begin], |row| row.get::<_, i64>(0)).unwrap().cast_unsigned()
    }

    fn seqs(&self) -> Vec<u64> {
        let mut statement = self.log.connection.prepare("SELECT seq FROM events ORDER BY seq").unwrap();
        let seqs = statement.query_map([], |row| row.get::<_, i64>(0)).unwrap();
        seqs.map(|seq| seq.unwrap().cast_unsigned()).collect()
    }
}

fn stamp(unit: &mut Unit, at: i64) {
    unit.records.iter_mut().for_each(|record| record.at = UnixMillis(at));
}

const fn before(at: i64) -> Retention {
    Retention { before: Some(UnixMillis(at)), max_bytes: None }
}

#[test]
fn old_traffic_goes_by_whole_units_and_changes_stay() {
    let mut fixture = Fixture::new(4, &[15, 20]);
    assert_eq!(fixture.extent().bytes, fixture.bytes());
    fixture.cut(&before(1_001));
    let extent = fixture.extent();
    assert_eq!((extent.begin, extent.begin_at), (Seq(11), UnixMillis(2_000)));
    assert_eq!(extent.bytes, fixture.bytes());
    assert_eq!(fixture.seqs(), [vec![5, 10], (11..=20).collect()].concat());
    let read: Vec<u64> = read_all(&fixture.reader, "a", 0).iter().map(|(record, _)| record.seq.0).collect();
    assert_eq!(read, (11..=20).collect::<Vec<_>>(), "from where there is no gap");
    assert_eq!(fixture.reader.begin(&"a".into()).unwrap(), Seq(11));
    fixture.cut(&before(1_001));
    assert_eq!(fixture.extent(), extent, "again with nothing in between changes nothing");
}

#[test]
fn nothing_goes_that_does_not_stand_in_both_snapshots() {
    for (snapshots, begin) in [(&[][..], 1), (&[20], 1), (&[10, 20], 11), (&[15, 20], 16)] {
        let mut fixture = Fixture::new(4, snapshots);
        fixture.cut(&before(99_000));
        assert_eq!(fixture.extent().begin, Seq(begin), "{snapshots:?}");
    }
}

#[test]
fn the_oldest_goes_until_the_rest_is_small_enough() {
    let mut fixture = Fixture::new(10, &[45, 50]);
    let most = fixture.extent().bytes / 2;
    fixture.cut(&Retention { before: None, max_bytes: Some(most) });
    let left = fixture.extent().bytes;
    assert!(left <= most && left > most / 2, "{left} of {most}");
    assert_eq!(left, fixture.bytes());
    fixture.cut(&Retention { before: None, max_bytes: None });
    assert_eq!(fixture.extent().bytes, left);
}

#[test]
fn a_call_takes_a_bounded_piece_and_the_next_goes_on() {
    let mut fixture = Fixture::new(1_000, &[4_990, 5_000]);
    let mut n_calls = 0;
    while fixture.extent().may_be_cut() {
        let begin = fixture.extent().begin.0;
        fixture.cut(&before(i64::MAX));
        assert!(fixture.extent().begin.0 - begin <= PIECE_ROWS as u64 + 5);
        n_calls += 1;
    }
    assert_eq!((n_calls, fixture.extent().begin), (3, Seq(4_991)));
}

#[test]
fn the_beginning_is_known_after_a_restart_and_the_log_goes_on() {
    let mut fixture = Fixture::new(4, &[15, 20]);
    fixture.cut(&before(1_001));
    let extent = fixture.extent();
    let Fixture { folder, log, .. } = fixture;
    drop(log);
    let (mut log, reader) = open(&folder.path().join("t.db")).unwrap();
    assert_eq!(log.extents()[&NamespaceId::from("a")], extent);
    log.append(&[&traffic("a", 21..=22)]).unwrap();
    assert_eq!(read_all(&reader, "a", 20).len(), 2);
}

#[test]
fn a_reader_whose_place_is_cut_away_is_told_so() {
    let mut fixture = Fixture::new(1_000, &[4_990, 5_000]);
    let reader = SqliteReader::open(&fixture.folder.path().join("t.db")).unwrap();
    let mut is_cut = false;
    let read = reader.records(&"a".into(), Seq(0), &mut |_, _| {
        while !is_cut && fixture.extent().may_be_cut() {
            fixture.cut(&before(i64::MAX));
        }
        is_cut = true;
        ControlFlow::Continue(())
    });
    assert!(matches!(read, Err(StoreError::Cut { begin: Seq(4_991) })), "{read:?}");
}

//! The journal over a log that fails, waits and reports as told, and over the real one where the disk matters.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use super::*;
use crate::engine::clock::SystemClock;
use crate::store::samples::{change, read_all, traffic};
use crate::store::sqlite;

/// Longer than any test takes.
const NEVER: Duration = Duration::from_secs(3_600);
/// Patience with a slow machine; nothing waits so long when all is well.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the log was asked to do.
#[derive(PartialEq, Eq, Debug)]
enum Seen {
    /// An append began.
    Trying,
    /// It ended well; namespace and seq of each record.
    Appended(Vec<(String, u64)>),
    Failed,
    Snapshot(u64),
    Dropped,
    Cut,
    Erased,
    Rewritten,
    Probed,
    Checkpoint,
    Closed,
}

/// What the test holds of the log that it gave away.
#[derive(Default)]
struct Will {
    failure: Mutex<Option<StoreError>>,
    is_held: Mutex<bool>,
    released: Condvar,
}

impl Will {
    fn fail_with(&self, failure: Option<StoreError>) {
        *self.failure.lock().unwrap() = failure;
    }

    fn hold(&self) {
        *self.is_held.lock().unwrap() = true;
    }

    fn release(&self) {
        *self.is_held.lock().unwrap() = false;
        self.released.notify_all();
    }
}

struct Double {
    will: Arc<Will>,
    seen: Sender<Seen>,
    owes_rewrite: bool,
}

impl Double {
    fn answer(&self, good: Seen) -> Result<(), StoreError> {
        drop(self.will.released.wait_while(self.will.is_held.lock().unwrap(), |is_held| *is_held).unwrap());
        let failure = self.will.failure.lock().unwrap().clone();
        self.tell(if failure.is_some() { Seen::Failed } else { good });
        failure.map_or(Ok(()), Err)
    }

    /// The test may have stopped listening.
    fn tell(&self, seen: Seen) {
        let _ = self.seen.send(seen);
    }
}

impl Log for Double {
    fn append(&mut self, units: &[&Unit]) -> Result<(), StoreError> {
        self.tell(Seen::Trying);
        let mut records = Vec::new();
        for unit in units {
            records.extend(unit.records.iter().map(|record| (unit.namespace.to_string(), record.seq.0)));
        }
        self.answer(Seen::Appended(records))
    }

    fn write_snapshot(&mut self, _: &NamespaceId, seq: Seq, _: UnixMillis, _: &[u8]) -> Result<(), StoreError> {
        self.answer(Seen::Snapshot(seq.0))
    }

    fn drop_queries_before(&mut self, _: &NamespaceId, _: UnixMillis) -> Result<u64, StoreError> {
        self.answer(Seen::Dropped).map(|()| 0)
    }

    fn cut(&mut self, _: &NamespaceId, _: &Retention) -> Result<(), StoreError> {
        self.answer(Seen::Cut)
    }

    fn extents(&self) -> BTreeMap<NamespaceId, LogExtent> {
        BTreeMap::new()
    }

    fn erase(&mut self, _: &ErasedSession) -> Result<(), StoreError> {
        self.answer(Seen::Erased)
    }

    fn rewrite(&mut self) -> Result<(), StoreError> {
        let done = self.answer(Seen::Rewritten);
        self.owes_rewrite = done.is_err();
        done
    }

    fn owes_rewrite(&self) -> bool {
        self.owes_rewrite
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        self.answer(Seen::Probed)
    }

    fn checkpoint(&mut self) -> Result<(), StoreError> {
        self.answer(Seen::Checkpoint)
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        self.tell(Seen::Closed);
    }
}

struct Fixture {
    journal: Journal,
    thread: JournalThread,
    will: Arc<Will>,
    seen: Receiver<Seen>,
}

impl Fixture {
    /// Writes only when somebody waits, and tries again often.
    fn new() -> Self {
        Self::with(JournalConfig { flush: NEVER, retry: Duration::from_millis(1), ..JournalConfig::default() })
    }

    fn with(config: JournalConfig) -> Self {
        let will = Arc::new(Will::default());
        let (sender, seen) = channel();
        let log = Double { will: Arc::clone(&will), seen: sender, owes_rewrite: false };
        let (journal, thread) = start(Box::new(log), config);
        Self { journal, thread, will, seen }
    }

    /// Waits for the next thing asked of the log that did not fail.
    fn next(&self) -> Seen {
        loop {
            match self.seen.recv_timeout(PATIENCE).unwrap() {
                Seen::Trying | Seen::Failed => {}
                seen => return seen,
            }
        }
    }

    fn until(&self, wanted: &Seen) {
        while &self.seen.recv_timeout(PATIENCE).unwrap() != wanted {}
    }

    fn until_writable(&self) {
        let clock = SystemClock::new();
        while !matches!(self.journal.state(), StoreState::Writable) {
            assert!(clock.monotonic() < PATIENCE, "{:?}", self.journal.state());
            thread::yield_now();
        }
    }
}

fn start(log: Box<dyn Log>, config: JournalConfig) -> (Journal, JournalThread) {
    Journal::start(log, config, Arc::new(SystemClock::new()), Box::new(|_, _| {})).unwrap()
}

fn appended(namespace: &str, seqs: impl IntoIterator<Item = u64>) -> Seen {
    Seen::Appended(seqs.into_iter().map(|seq| (namespace.to_owned(), seq)).collect())
}

fn indeterminate() -> StoreError {
    StoreError::Indeterminate { source: Arc::new(io::Error::other("fsync")) }
}

#[test]
fn whoever_waits_meanwhile_shares_the_next_transaction() {
    let fixture = Fixture::new();
    fixture.will.hold();
    let mut waiting = vec![fixture.journal.push_durable(traffic("a", 1..=1)).unwrap()];
    fixture.until(&Seen::Trying);
    for seq in 2..=100 {
        waiting.push(fixture.journal.push_durable(traffic("a", seq..=seq)).unwrap());
    }
    fixture.will.release();
    for durable in waiting {
        durable.wait().unwrap();
    }
    assert_eq!(fixture.next(), appended("a", [1]));
    assert_eq!(fixture.next(), appended("a", 2..=100));
    assert_eq!(fixture.journal.figures().commits, 2);
    assert_eq!(fixture.journal.figures().queued_events, 0);
}

#[test]
fn the_order_on_disk_is_the_order_of_the_pushes() {
    let fixture = Fixture::new();
    fixture.journal.push(traffic("b", 1..=2)).unwrap();
    fixture.journal.push(traffic("a", 1..=1)).unwrap();
    fixture.journal.write_snapshot("b".into(), Seq(2), UnixMillis(0), vec![]);
    fixture.journal.drop_queries_before("b".into(), UnixMillis(0));
    fixture.journal.push(traffic("b", 3..=3)).unwrap();
    fixture.journal.flushed().wait().unwrap();
    let first = ["b", "b", "a"].map(str::to_owned).into_iter().zip([1, 2, 1]).collect();
    assert_eq!(fixture.next(), Seen::Appended(first));
    assert_eq!(fixture.next(), Seen::Snapshot(2));
    assert_eq!(fixture.next(), Seen::Dropped);
    assert_eq!(fixture.next(), appended("b", [3]));
}

#[test]
fn traffic_is_written_when_the_window_ends() {
    let fixture = Fixture::with(JournalConfig { flush: Duration::from_millis(1), ..JournalConfig::default() });
    fixture.journal.push(traffic("a", 1..=2)).unwrap();
    assert_eq!(fixture.next(), appended("a", 1..=2));
}

#[test]
fn a_whole_batch_does_not_wait_for_the_window() {
    let fixture = Fixture::with(JournalConfig { flush: NEVER, batch_events: 4, ..JournalConfig::default() });
    fixture.journal.push(traffic("a", 1..=3)).unwrap();
    fixture.journal.push(traffic("a", 4..=5)).unwrap();
    assert_eq!(fixture.next(), appended("a", 1..=3));
    assert_eq!(fixture.next(), appended("a", 4..=5));
}

#[test]
fn a_full_disk_withdraws_changes_and_keeps_traffic_in_order() {
    let fixture = Fixture::new();
    fixture.will.fail_with(Some(StoreError::Full));
    fixture.will.hold();
    let opened = fixture.journal.push_durable(traffic("a", 1..=2)).unwrap();
    fixture.until(&Seen::Trying);
    fixture.journal.push(traffic("b", 1..=1)).unwrap();
    let changed = fixture.journal.push_change(change("c", 1)).unwrap();
    let barrier = fixture.journal.flushed();
    fixture.journal.write_snapshot("b".into(), Seq(1), UnixMillis(0), vec![]);
    fixture.journal.push(traffic("a", 3..=3)).unwrap();
    fixture.will.release();
    for durable in [opened, changed, barrier] {
        assert!(matches!(durable.wait(), Err(StoreError::Full)));
    }
    assert!(matches!(fixture.journal.state(), StoreState::ReadOnly { why: StoreError::Full }));

    // While it lasts, whoever waits is told at once, and only traffic is taken.
    assert!(matches!(fixture.journal.push_change(change("c", 1)).unwrap().wait(), Err(StoreError::Full)));
    assert!(matches!(fixture.journal.push_durable(traffic("b", 2..=2)).unwrap().wait(), Err(StoreError::Full)));
    assert!(matches!(fixture.journal.flushed().wait(), Err(StoreError::Full)));
    fixture.journal.push(traffic("a", 4..=4)).unwrap();

    fixture.will.fail_with(None);
    fixture.until_writable();
    fixture.journal.push_change(change("c", 1)).unwrap().wait().unwrap();
    let mut written = Vec::new();
    while written.len() < 7 {
        let Seen::Appended(records) = fixture.next() else { panic!("only units were left") };
        written.extend(records);
    }
    let expected = [("a", 1), ("a", 2), ("b", 1), ("a", 3), ("b", 2), ("a", 4), ("c", 1)];
    assert_eq!(written, expected.map(|(namespace, seq)| (namespace.to_owned(), seq)));
    let figures = fixture.journal.figures();
    assert_eq!((figures.withdrawn_events, figures.lost_events, figures.queued_events), (1, 0, 0));
}

#[test]
fn a_journal_with_nothing_to_write_finds_out_by_itself_that_it_can_again() {
    let fixture = Fixture::new();
    fixture.will.fail_with(Some(StoreError::Busy));
    assert!(fixture.journal.push_change(change("a", 1)).unwrap().wait().is_err());
    fixture.will.fail_with(None);
    assert_eq!(fixture.next(), Seen::Probed);
    fixture.until_writable();
}

#[test]
fn after_an_indeterminate_write_nothing_is_written_again() {
    let fixture = Fixture::new();
    fixture.will.fail_with(Some(indeterminate()));
    fixture.will.hold();
    let first = fixture.journal.push_change(change("a", 1)).unwrap();
    fixture.until(&Seen::Trying);
    let behind = fixture.journal.push_durable(traffic("b", 1..=3)).unwrap();
    fixture.will.release();
    assert!(matches!(first.wait(), Err(StoreError::Indeterminate { .. })));
    assert!(behind.wait().is_err());
    fixture.will.fail_with(None);

    assert!(matches!(fixture.journal.state(), StoreState::Failed { .. }));
    assert_eq!(fixture.journal.push(traffic("b", 4..=4)), Err(Full));
    assert!(matches!(fixture.journal.push_durable(traffic("b", 4..=4)).unwrap().wait(), Err(StoreError::Closed)));
    assert!(matches!(fixture.journal.push_change(change("a", 1)).unwrap().wait(), Err(StoreError::Closed)));
    assert!(matches!(fixture.journal.flushed().wait(), Err(StoreError::Closed)));
    let unflushed = fixture.thread.stop(PATIENCE).unwrap_err();
    assert_eq!(unflushed.events, 4);
    let rest: Vec<Seen> = fixture.seen.iter().collect();
    assert_eq!(rest, [Seen::Failed, Seen::Closed]);
}

#[test]
fn a_full_buffer_sheds() {
    let fixture = Fixture::with(JournalConfig { flush: NEVER, buffer_events: 4, ..JournalConfig::default() });
    fixture.journal.push(traffic("a", 1..=3)).unwrap();
    assert_eq!(fixture.journal.push(traffic("a", 4..=5)), Err(Full));
    assert!(fixture.journal.push_durable(traffic("a", 4..=5)).is_err());
    assert_eq!(fixture.journal.figures().shed_events, 4);
    fixture.journal.flushed().wait().unwrap();
    // Larger than the buffer, but alone.
    fixture.journal.push(traffic("a", 4..=9)).unwrap();
    assert_eq!(fixture.journal.figures().queued_events, 6);
}

#[test]
fn stopping_writes_what_is_queued_and_closes_the_log() {
    let fixture = Fixture::new();
    fixture.journal.push(traffic("a", 1..=2)).unwrap();
    fixture.thread.stop(PATIENCE).unwrap();
    assert_eq!(fixture.journal.push(traffic("a", 3..=3)), Err(Full));
    let seen: Vec<Seen> = fixture.seen.iter().collect();
    assert_eq!(seen, [Seen::Trying, appended("a", 1..=2), Seen::Checkpoint, Seen::Closed]);
}

#[test]
fn stopping_on_a_full_disk_says_what_was_left() {
    let fixture = Fixture::new();
    fixture.will.fail_with(Some(StoreError::Full));
    fixture.journal.push(traffic("a", 1..=2)).unwrap();
    let unflushed = fixture.thread.stop(PATIENCE).unwrap_err();
    assert!(matches!(unflushed, Unflushed { events: 2, why: Some(StoreError::Full) }), "{unflushed:?}");
    assert_eq!(fixture.journal.figures().lost_events, 2);
}

#[test]
fn stopping_does_not_wait_for_a_hanging_disk() {
    let fixture = Fixture::new();
    fixture.will.hold();
    let durable = fixture.journal.push_durable(traffic("a", 1..=2)).unwrap();
    fixture.until(&Seen::Trying);
    let unflushed = fixture.thread.stop(Duration::from_millis(1)).unwrap_err();
    assert!(matches!(unflushed, Unflushed { events: 2, why: None }), "{unflushed:?}");
    fixture.will.release();
    durable.wait().unwrap();
}

#[test]
fn a_panic_of_the_thread_is_told_to_whoever_waits() {
    let (seen, _listener) = channel();
    let log = Double { will: Arc::default(), seen, owes_rewrite: false };
    let broken: OnCommit = Box::new(|_, _| panic!("a broken recorder"));
    let config = JournalConfig::default();
    let (journal, _thread) = Journal::start(Box::new(log), config, Arc::new(SystemClock::new()), broken).unwrap();
    assert!(matches!(journal.push_change(change("a", 1)).unwrap().wait(), Err(StoreError::Closed)));
    assert!(journal.flushed().wait().is_err());
}

#[tokio::test]
async fn a_durable_can_be_awaited() {
    let fixture = Fixture::new();
    fixture.journal.push_change(change("a", 1)).unwrap().await.unwrap();
    fixture.will.fail_with(Some(StoreError::Busy));
    assert!(matches!(fixture.journal.push_change(change("a", 2)).unwrap().await, Err(StoreError::Busy)));
}

#[test]
fn a_kill_loses_only_traffic_of_the_window() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let (journal, thread) = start_on(&path);
    journal.push(traffic("a", 1..=3)).unwrap();
    journal.push_change(change("b", 1)).unwrap().wait().unwrap();
    journal.push(traffic("a", 4..=6)).unwrap();
    drop(thread);
    assert_eq!(journal.figures().lost_events, 3);

    let (journal, thread) = start_on(&path);
    let reader = sqlite::SqliteReader::open(&path).unwrap();
    assert_eq!(read_all(&reader, "a", 0).len(), 3);
    assert_eq!(read_all(&reader, "b", 0).len(), 1);
    journal.push(traffic("a", 4..=6)).unwrap();
    thread.stop(PATIENCE).unwrap();
    assert_eq!(read_all(&reader, "a", 0).len(), 6);
}

fn start_on(path: &Path) -> (Journal, JournalThread) {
    let (log, _) = sqlite::open(path).unwrap();
    start(Box::new(log), JournalConfig { flush: NEVER, ..JournalConfig::default() })
}

#[test]
fn whoever_follows_a_log_sees_what_is_on_disk_and_nothing_before_that() {
    let fixture = Fixture::new();
    let mut on_disk = fixture.journal.follow(&"a".into());
    fixture.journal.is_on_disk(&"a".into(), Seq(3));
    assert!(on_disk.has_changed().unwrap());
    assert_eq!(*on_disk.borrow_and_update(), Seq(3));
    fixture.will.fail_with(Some(StoreError::Full));
    fixture.journal.push_durable(traffic("a", 4..=6)).unwrap().wait().unwrap_err();
    assert!(!on_disk.has_changed().unwrap(), "what is only in memory is not told");
    fixture.will.fail_with(None);
    fixture.until_writable();
    assert_eq!(*on_disk.borrow_and_update(), Seq(6));
    fixture.journal.push_durable(traffic("b", 1..=9)).unwrap().wait().unwrap();
    assert!(!on_disk.has_changed().unwrap(), "another namespace's log is no news");
    fixture.thread.stop(PATIENCE).unwrap();
    assert!(on_disk.has_changed().is_err(), "nothing more will come");
}

fn erased(namespace: &str, seq: u64) -> ErasedSession {
    ErasedSession { session: "s".into(), unit: change(namespace, seq), changed: Vec::new(), snapshot: Vec::new() }
}

#[test]
fn an_erasure_stands_behind_what_was_pushed_before_it_and_rewrites_that_wait_are_one() {
    let fixture = Fixture::new();
    fixture.will.hold();
    fixture.journal.push(traffic("a", 1..=2)).unwrap();
    let erased = fixture.journal.push_erasure(erased("a", 3));
    fixture.until(&Seen::Trying);
    let rewrites = [fixture.journal.rewrite(), fixture.journal.rewrite()];
    fixture.will.release();
    assert_eq!(fixture.next(), appended("a", 1..=2));
    assert_eq!((fixture.next(), fixture.next()), (Seen::Erased, Seen::Rewritten));
    erased.wait().unwrap();
    for rewrite in rewrites {
        rewrite.wait().unwrap();
    }
    fixture.thread.stop(PATIENCE).unwrap();
    let rest: Vec<Seen> = fixture.seen.iter().collect();
    assert_eq!(rest, [Seen::Checkpoint, Seen::Closed]);
}

#[test]
fn an_erasure_that_fails_is_told_and_never_written() {
    let fixture = Fixture::new();
    fixture.will.fail_with(Some(StoreError::Full));
    assert!(matches!(fixture.journal.push_erasure(erased("a", 1)).wait(), Err(StoreError::Full)));
    fixture.journal.push(traffic("a", 1..=1)).unwrap();
    fixture.will.fail_with(None);
    // Its place in the log is free again.
    assert_eq!(fixture.next(), appended("a", 1..=1));
}

#[test]
fn a_rewrite_that_finds_no_room_is_told_tried_again_and_stops_nothing_else() {
    let fixture = Fixture::new();
    fixture.will.fail_with(Some(StoreError::Full));
    assert!(matches!(fixture.journal.rewrite().wait(), Err(StoreError::Full)));
    assert!(matches!(fixture.journal.state(), StoreState::Writable));
    fixture.will.fail_with(None);
    fixture.journal.drop_queries_before("a".into(), UnixMillis(1));
    fixture.journal.flushed().wait().unwrap();
    assert_eq!((fixture.next(), fixture.next()), (Seen::Dropped, Seen::Rewritten));
}

#[test]
fn a_stop_leaves_a_rewrite_to_the_next_start_and_writes_what_stands_behind_it() {
    let Fixture { journal, thread, will, seen } = Fixture::new();
    will.hold();
    let first = journal.push_durable(traffic("a", 1..=1)).unwrap();
    while seen.recv_timeout(PATIENCE).unwrap() != Seen::Trying {}
    let rewrite = journal.rewrite();
    journal.push(traffic("a", 2..=2)).unwrap();
    let stopping = thread::spawn(move || thread.stop(PATIENCE));
    let clock = SystemClock::new();
    // Nothing is taken any more once the stop has begun.
    while journal.push(traffic("b", 1..=1)).is_ok() {
        assert!(clock.monotonic() < PATIENCE);
        thread::yield_now();
    }
    will.release();
    first.wait().unwrap();
    stopping.join().unwrap().unwrap();
    assert!(matches!(rewrite.wait(), Err(StoreError::Closed)));
    let rest: Vec<Seen> = seen.iter().collect();
    let is_second_written = |seen: &Seen| matches!(seen, Seen::Appended(records) if records.contains(&("a".into(), 2)));
    assert!(rest.iter().any(is_second_written) && !rest.contains(&Seen::Rewritten), "{rest:?}");
}

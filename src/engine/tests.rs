//! The engine over a real store, where the front door shows too little.

use std::sync::Arc;
use std::time::Duration;

use super::clock::ManualClock;
use super::journal::{Journal, JournalConfig, JournalThread};
use super::*;
use crate::store::sqlite;

fn start(folder: &tempfile::TempDir) -> (Arc<Engine>, JournalThread) {
    let (log, reader) = sqlite::open(&folder.path().join("crib.db")).unwrap();
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::at(UnixMillis(1_000)));
    let (journal, thread) =
        Journal::start(Box::new(log), JournalConfig::default(), clock.clone(), Box::new(|_, _| {})).unwrap();
    let engine = Engine::start(Parts { journal, reader: Arc::new(reader), clock, max_namespaces: 4 }).unwrap();
    (Arc::new(engine), thread)
}

#[tokio::test]
async fn a_writer_that_panics_is_noticed_and_its_namespace_answers_no_changes() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, journal) = start(&folder);
    let handle = engine.namespace_or_new(&"test".into()).await.unwrap();
    handle.look(|_| ()).await.unwrap();
    assert!(!engine.has_lost_writer());
    let looked = handle.look(|_| panic!("a bug, as this test plays it")).await;
    assert!(matches!(looked, Err(EngineError::Stopping)));
    while !engine.has_lost_writer() {
        tokio::task::yield_now().await;
    }
    let refused = handle.close_session("a".into()).await;
    assert!(matches!(refused, Err(EngineError::Stopping)));
    engine.stop();
    journal.stop(Duration::from_secs(10)).unwrap();
}

#[tokio::test]
async fn a_namespace_is_made_whole_although_nobody_waits_for_it_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, journal) = start(&folder);
    let id: NamespaceId = "test".into();
    {
        let mut asked = Box::pin(engine.namespace_or_new(&id));
        // Asked once, then dropped as a request past its deadline is.
        let waker = std::task::Waker::noop();
        assert!(asked.as_mut().poll(&mut std::task::Context::from_waker(waker)).is_pending());
    }
    let made = engine.namespace_or_new(&id).await.unwrap();
    assert_eq!(made.look(|namespace| namespace.id().clone()).await.unwrap(), id);
    engine.stop();
    journal.stop(Duration::from_secs(10)).unwrap();
    let refused = engine.namespace_or_new(&"late".into()).await;
    assert!(refused.is_err(), "none is made once the engine has stopped");
}

#[tokio::test]
async fn records_that_recovery_read_count_towards_the_next_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, journal) = start(&folder);
    engine.namespace_or_new(&"test".into()).await.unwrap();
    // As a kill ends it: no last snapshot is written.
    drop(journal);
    drop(engine);
    let (engine, journal) = start(&folder);
    assert_eq!(engine.journal().oldest_snapshot(), Some(UnixMillis(1_000)), "the log's first record");
    engine.stop();
    journal.stop(Duration::from_secs(10)).unwrap();
    let reader = sqlite::open(&folder.path().join("crib.db")).unwrap().1;
    let snapshot = reader.snapshot(&"test".into(), None).unwrap().expect("a snapshot of what was read");
    assert_eq!(snapshot.seq, Seq(1));
}

/// Snapshots are what a log that was cut begins with: where the newest cannot be read the older one is, and where neither
/// can be, a start fails rather than begin with nothing.
#[tokio::test]
async fn a_log_that_was_cut_starts_from_either_snapshot_and_not_without_them() {
    const HOUR: i64 = 3_600_000;
    let folder = tempfile::tempdir().unwrap();
    let (engine, journal) = start(&folder);
    let id: NamespaceId = "test".into();
    let handle = engine.namespace_or_new(&id).await.unwrap();
    let mut now = UnixMillis(31 * 24 * HOUR);
    while engine.journal().extent(&id).is_none_or(|extent| extent.begin == Seq(1)) {
        engine.upkeep(now).await;
        handle.flush().await.unwrap();
        now.0 += HOUR;
        assert!(now.0 < 33 * 24 * HOUR, "old traffic goes within a day of its time");
    }
    engine.stop();
    journal.stop(Duration::from_secs(10)).unwrap();
    drop((engine, handle));

    let spoil = |which: &str| {
        let connection = rusqlite::Connection::open(folder.path().join("crib.db")).unwrap();
        let sql = format!("UPDATE snapshots SET body = x'7b7d' WHERE seq = (SELECT {which}(seq) FROM snapshots)");
        assert_eq!(connection.execute(&sql, []).unwrap(), 1);
    };
    spoil("max");
    let (engine, journal) = start(&folder);
    assert!(engine.namespace(&id).is_ok());
    drop((engine, journal));
    spoil("min");
    let (log, reader) = sqlite::open(&folder.path().join("crib.db")).unwrap();
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::at(now));
    let (journal, _thread) =
        Journal::start(Box::new(log), JournalConfig::default(), clock.clone(), Box::new(|_, _| {})).unwrap();
    let refused = Engine::start(Parts { journal, reader: Arc::new(reader), clock, max_namespaces: 4 }).err().unwrap();
    let StartError::Store(StoreError::BeginningLost { begin, .. }) = &refused else { panic!("{refused:?}") };
    assert_eq!(*begin, Seq(2));
}

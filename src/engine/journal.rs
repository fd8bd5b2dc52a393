//! The journal: the one thread that owns the log, and the queue in front of it.
//!
//! Whoever pushes never waits for the disk; whoever needs the disk holds a [`Durable`] and waits for that. Everything
//! queued goes to disk in the order of the pushes, many units to a transaction: at once when somebody waits, else when
//! the first of them is `flush` old or `batch_events` are queued.
//!
//! **Two kinds of units**, because a failed write means two different things:
//!
//! - A *change* ([`Journal::push_change`]) is applied to memory only after it is on disk. When the write fails it is
//!   withdrawn: its waiter gets the error, and it will never be written, so that what was refused cannot appear later.
//!   Its seqs are free again; therefore nothing of the same namespace may be pushed while a change is under way.
//! - *Traffic* ([`Journal::push`], [`Journal::push_durable`]) is already folded into memory. When the write fails it is
//!   kept and tried again, so that the log has no gap; a waiter is told of the failure once and then left alone.
//!
//! **Three states** ([`StoreState`]). Writable. Read-only after an error that can go away (disk full, locked, moved):
//! changes and waiters are refused at once with the reason, traffic queues up until the buffer is full and sheds, and
//! writing is tried again every `retry`. Failed after any other error, above all one that leaves open whether the batch
//! is on disk: nothing is written again, and the daemon should drain and exit, so that a fresh start reads the truth.
//!
//! The one thing to know before editing: the state is set before any waiter hears of it, and the queue is taken in one
//! piece under the lock, so that no push can slip between a failure and its consequences.

mod durable;
mod marks;
#[cfg(test)]
mod tests;
mod thread;

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::core::ids::{NamespaceId, Seq, UnixMillis};
use crate::engine::clock::Clock;
use crate::store::{ErasedSession, Log, LogExtent, Retention, StoreError, Unit};

pub use durable::Durable;
use durable::Waiter;
use marks::Marks;
pub use thread::{JournalThread, Unflushed};

/// How the journal gathers and keeps.
#[derive(Clone, Copy, Debug)]
pub struct JournalConfig {
    /// The longest that an event waits before it is written, and so what a kill can lose.
    pub flush: Duration,
    /// As many events are written without waiting longer, and a transaction ends at so many.
    pub batch_events: usize,
    /// Events that may be queued while the disk is slow or gone; beyond, pushes are refused. One unit is always taken.
    pub buffer_events: usize,
    /// How often writing is tried again while it fails.
    pub retry: Duration,
}

impl Default for JournalConfig {
    fn default() -> Self {
        Self {
            // The promised window.
            flush: Duration::from_millis(50),
            batch_events: 4_096,
            // Two minutes of 500 events a second: longer than the 30 s lock that must pass unnoticed.
            buffer_events: 65_536,
            // A tenth of the 5 s within which writing must resume; a try costs one small write.
            retry: Duration::from_millis(500),
        }
    }
}

/// Told of every commit of events: how long it took, and how many there were.
pub type OnCommit = Box<dyn Fn(Duration, usize) + Send>;

/// The unit was not taken: the buffer is full, or the journal takes nothing any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the log's buffer is full: try again shortly")]
pub struct Full;

/// Whether the log can be written.
#[derive(Clone, Debug)]
pub enum StoreState {
    /// It can.
    Writable,
    /// It cannot now; it is tried again, and this state ends by itself.
    ReadOnly {
        /// What the last try said.
        why: StoreError,
    },
    /// It will not be written again before a restart.
    Failed {
        /// What ended it.
        why: StoreError,
    },
}

/// The journal in numbers. All but the first count from its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct JournalFigures {
    /// Events pushed and not yet on disk.
    pub queued_events: usize,
    /// Events on disk.
    pub written_events: u64,
    /// Transactions that put them there.
    pub commits: u64,
    /// Events refused because the buffer was full or the journal closed.
    pub shed_events: u64,
    /// Events of changes withdrawn after a failed write.
    pub withdrawn_events: u64,
    /// Events that were taken and will not be on disk, because the log failed or the thread ended before.
    pub lost_events: u64,
}

/// The queue's front: cheap to clone, usable from any thread.
#[derive(Clone)]
pub struct Journal(Arc<Shared>);

impl Journal {
    /// Starts the thread that owns `log` from now on. Fails only if the system gives no thread.
    pub fn start(
        log: Box<dyn Log>,
        config: JournalConfig,
        clock: Arc<dyn Clock>,
        on_commit: OnCommit,
    ) -> io::Result<(Self, JournalThread)> {
        let shared = Arc::new(Shared::new(config, log.extents()));
        let thread = JournalThread::spawn(Arc::clone(&shared), log, clock, on_commit)?;
        Ok((Self(shared), thread))
    }

    /// Queues traffic. Never blocks on the disk.
    pub fn push(&self, unit: Unit) -> Result<(), Full> {
        self.0.enqueue(&mut self.0.lock(), What::Unit { unit, on_failure: OnFailure::Keep }, None)
    }

    /// Queues traffic and tells when it is on disk. After an error that can go away it is still queued, and is written
    /// once that works again.
    pub fn push_durable(&self, unit: Unit) -> Result<Durable, Full> {
        let mut queue = self.0.lock();
        let (waiter, durable) = match queue.obstacle() {
            None => durable::pair(),
            Some(why) => (None, Durable::failed(why)),
        };
        match self.0.enqueue(&mut queue, What::Unit { unit, on_failure: OnFailure::Keep }, waiter) {
            Err(Full) if queue.takes_more() => Err(Full),
            _ => Ok(durable),
        }
    }

    /// Queues a change and tells when it is on disk. After an error it is not, and never will be (but for
    /// [`StoreError::Indeterminate`], which a restart resolves).
    ///
    /// Until that is told, nothing else of the same namespace may be pushed.
    pub fn push_change(&self, unit: Unit) -> Result<Durable, Full> {
        let mut queue = self.0.lock();
        if let Some(why) = queue.obstacle() {
            return Ok(Durable::failed(why));
        }
        let (waiter, durable) = durable::pair();
        self.0.enqueue(&mut queue, What::Unit { unit, on_failure: OnFailure::Withdraw }, waiter)?;
        Ok(durable)
    }

    /// Tells when everything pushed before is on disk; an error says that it is not yet.
    pub fn flushed(&self) -> Durable {
        self.wait_for(What::Barrier)
    }

    /// Has a snapshot written behind everything pushed before. While the log cannot be written it is dropped: the next
    /// one is as good.
    pub fn write_snapshot(&self, namespace: NamespaceId, seq: Seq, at: UnixMillis, body: Vec<u8>) {
        self.keep_house(What::Snapshot { namespace, seq, at, body });
    }

    /// Notes how old what a restart would begin with is: the snapshot, or the log's first record where there is none.
    pub fn snapshot_is_of(&self, namespace: NamespaceId, at: UnixMillis) {
        self.0.lock().snapshots.insert(namespace, at);
    }

    /// Returns the stamp of what a restart would begin with in the namespace where that is oldest; `None` before there
    /// is a namespace.
    pub fn oldest_snapshot(&self) -> Option<UnixMillis> {
        self.0.lock().snapshots.values().min().copied()
    }

    /// Has the queries of a namespace erased that came in before `at`. While the log cannot be written this is dropped:
    /// the next call catches up.
    pub fn drop_queries_before(&self, namespace: NamespaceId, at: UnixMillis) {
        self.keep_house(What::DropQueries { namespace, at });
    }

    /// Notes that a namespace's log is on disk up to `seq`, as it was read back or made.
    pub fn is_on_disk(&self, namespace: &NamespaceId, seq: Seq) {
        self.0.marks.reach(namespace, seq);
    }

    /// Returns how far a namespace's log is on disk, to be looked at and waited for; ends with the journal.
    pub fn follow(&self, namespace: &NamespaceId) -> watch::Receiver<Seq> {
        self.0.marks.follow(namespace)
    }

    /// Has a piece of old traffic cut from a namespace's log. While the log cannot be written this is dropped.
    pub fn cut(&self, namespace: NamespaceId, keep: Retention) {
        self.keep_house(What::Cut { namespace, keep });
    }

    /// Returns how far a namespace's log reaches back, as it is on disk; `None` before its first record is.
    pub fn extent(&self, namespace: &NamespaceId) -> Option<LogExtent> {
        self.0.lock().extents.get(namespace).copied()
    }

    /// Erases a session from the log and tells when that is on disk. After an error nothing is erased; until it is told,
    /// nothing else of the same namespace may be pushed.
    pub fn push_erasure(&self, erased: ErasedSession) -> Durable {
        self.wait_for(What::Erase(Box::new(erased)))
    }

    /// Has the database written anew, so that nothing is left of what was erased before, and tells when that is done.
    /// Writing waits meanwhile. Several that wait are served by one rewrite.
    pub fn rewrite(&self) -> Durable {
        self.wait_for(What::Rewrite)
    }

    /// Returns whether the log can be written.
    pub fn state(&self) -> StoreState {
        self.0.lock().state.clone()
    }

    /// Returns the journal in numbers.
    pub fn figures(&self) -> JournalFigures {
        self.0.lock().figures
    }

    fn wait_for(&self, what: What) -> Durable {
        let mut queue = self.0.lock();
        if let Some(why) = queue.obstacle() {
            return Durable::failed(why);
        }
        let (waiter, durable) = durable::pair();
        self.0.put(&mut queue, what, waiter);
        durable
    }

    fn keep_house(&self, what: What) {
        let mut queue = self.0.lock();
        if queue.obstacle().is_none() {
            self.0.put(&mut queue, what, None);
        }
    }
}

/// What stands in the queue.
enum What {
    /// Events.
    Unit { unit: Unit, on_failure: OnFailure },
    /// Nothing but its waiter.
    Barrier,
    /// A snapshot.
    Snapshot { namespace: NamespaceId, seq: Seq, at: UnixMillis, body: Vec<u8> },
    /// The retention of queries.
    DropQueries { namespace: NamespaceId, at: UnixMillis },
    /// The retention of traffic, a piece of it.
    Cut { namespace: NamespaceId, keep: Retention },
    /// A session's words.
    Erase(Box<ErasedSession>),
    /// The whole file.
    Rewrite,
}

impl What {
    fn n_events(&self) -> usize {
        match self {
            Self::Unit { unit, .. } => unit.records.len(),
            Self::Barrier
            | Self::Snapshot { .. }
            | Self::DropQueries { .. }
            | Self::Cut { .. }
            | Self::Erase(_)
            | Self::Rewrite => 0,
        }
    }
}

/// What becomes of a unit when writing fails for the time being.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnFailure {
    /// It is in memory already: try again.
    Keep,
    /// It is nowhere yet: forget it.
    Withdraw,
}

/// One place in the queue.
struct Entry {
    what: What,
    waiter: Option<Waiter>,
}

/// Whether and how the thread is to end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// It goes on.
    No,
    /// It writes what is queued, then ends.
    Flush,
    /// It ends as a kill would end it.
    Abandon,
}

/// What pushers and the thread share.
struct Shared {
    config: JournalConfig,
    queue: Mutex<Queue>,
    /// The thread waits here for work.
    work: Condvar,
    /// Whoever stops the thread waits here for its end.
    ended: Condvar,
    marks: Marks,
}

/// The queue and what must change together with it.
struct Queue {
    entries: Vec<Entry>,
    /// Events in `entries`; the thread may hold more that it has taken and not yet written.
    fresh_events: usize,
    /// Somebody waits: do not gather any longer.
    is_urgent: bool,
    state: StoreState,
    ending: Ending,
    has_ended: bool,
    figures: JournalFigures,
    /// Stamp of the newest snapshot on disk, by namespace.
    snapshots: BTreeMap<NamespaceId, UnixMillis>,
    /// How far each log reaches back, as it is on disk.
    extents: BTreeMap<NamespaceId, LogExtent>,
}

impl Shared {
    fn new(config: JournalConfig, extents: BTreeMap<NamespaceId, LogExtent>) -> Self {
        let queue = Queue {
            entries: Vec::new(),
            fresh_events: 0,
            is_urgent: false,
            state: StoreState::Writable,
            ending: Ending::No,
            has_ended: false,
            figures: JournalFigures::default(),
            snapshots: BTreeMap::new(),
            extents,
        };
        Self { config, queue: Mutex::new(queue), work: Condvar::new(), ended: Condvar::new(), marks: Marks::default() }
    }

    /// No code panics while it holds the lock; if a bug makes some do so, going on serves better than a daemon of
    /// which every thread panics.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a unit if it can still come to disk and the buffer has room for it.
    fn enqueue(&self, queue: &mut Queue, what: What, waiter: Option<Waiter>) -> Result<(), Full> {
        let queued = queue.figures.queued_events;
        // A unit larger than the buffer is taken alone, else it could never be.
        let has_room = queued == 0 || queued + what.n_events() <= self.config.buffer_events;
        if !has_room || !queue.takes_more() {
            queue.figures.shed_events += what.n_events() as u64;
            return Err(Full);
        }
        self.put(queue, what, waiter);
        Ok(())
    }

    /// Queues, and wakes the thread if it would sleep too long otherwise.
    fn put(&self, queue: &mut Queue, what: What, waiter: Option<Waiter>) {
        let n_events = what.n_events();
        let was_idle = queue.entries.is_empty();
        let had_batch = queue.is_urgent || queue.fresh_events >= self.config.batch_events;
        queue.is_urgent |= waiter.is_some();
        queue.fresh_events += n_events;
        queue.figures.queued_events += n_events;
        queue.entries.push(Entry { what, waiter });
        let has_batch = queue.is_urgent || queue.fresh_events >= self.config.batch_events;
        if was_idle || has_batch != had_batch {
            self.work.notify_one();
        }
    }
}

impl Queue {
    /// Returns whether what is pushed now can still come to disk.
    fn takes_more(&self) -> bool {
        self.ending == Ending::No && !self.has_ended && !matches!(self.state, StoreState::Failed { .. })
    }

    /// Returns why nobody should wait for the disk now.
    fn obstacle(&self) -> Option<StoreError> {
        match &self.state {
            _ if !self.takes_more() => Some(StoreError::Closed),
            StoreState::ReadOnly { why } => Some(why.clone()),
            StoreState::Writable | StoreState::Failed { .. } => None,
        }
    }
}

//! The thread behind the queue: gathers, writes, and settles what a failure leaves behind.

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::sync::{Arc, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tracing::{error, info, warn};

use super::durable::tell;
use super::{Ending, Entry, OnCommit, OnFailure, Shared, StoreState, What};
use crate::engine::clock::Clock;
use crate::store::{Log, StoreError};

/// The thread's handle. Dropped without [`JournalThread::stop`], it ends the thread as a kill would: what is not on
/// disk is lost, and everybody who waits is told [`StoreError::Closed`].
pub struct JournalThread {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// The journal stopped with events that are not on disk.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{events} events of traffic were not written before the end")]
pub struct Unflushed {
    /// How many.
    pub events: usize,
    /// What the log said last; `None` where only time ran out.
    #[source]
    pub why: Option<StoreError>,
}

impl JournalThread {
    pub(super) fn spawn(
        shared: Arc<Shared>,
        log: Box<dyn Log>,
        clock: Arc<dyn Clock>,
        on_commit: OnCommit,
    ) -> io::Result<Self> {
        let writer = Writer { shared: Arc::clone(&shared), log, clock, on_commit, backlog: VecDeque::new() };
        let end = AtEnd(Arc::clone(&shared));
        let thread = thread::Builder::new().name("journal".into()).spawn(move || {
            let _end = end;
            // Consumes the writer, so that the log is closed before the end is announced.
            writer.run();
        })?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Takes no more, writes what is queued (one try, where writing fails at the moment), makes a checkpoint, closes
    /// the log. Blocks for `deadline` at most; a thread that the disk still holds then is left behind.
    pub fn stop(mut self, deadline: Duration) -> Result<(), Unflushed> {
        let thread = self.thread.take();
        let mut queue = self.shared.lock();
        queue.ending = Ending::Flush;
        self.shared.work.notify_one();
        let waited = self.shared.ended.wait_timeout_while(queue, deadline, |queue| !queue.has_ended);
        queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        let why = match &queue.state {
            StoreState::Writable => None,
            StoreState::ReadOnly { why } | StoreState::Failed { why } => Some(why.clone()),
        };
        let has_ended = queue.has_ended;
        let events = if has_ended { queue.figures.lost_events as usize } else { queue.figures.queued_events };
        drop(queue);
        if has_ended {
            join(thread);
        }
        if events > 0 { Err(Unflushed { events, why }) } else { Ok(()) }
    }
}

impl Drop for JournalThread {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        self.shared.lock().ending = Ending::Abandon;
        self.shared.work.notify_one();
        join(Some(thread));
    }
}

fn join(thread: Option<JoinHandle<()>>) {
    if thread.is_some_and(|thread| thread.join().is_err()) {
        error!("the journal thread panicked");
    }
}

/// Announces the thread's end, also when it panics: nobody may wait for ever on a thread that is gone.
struct AtEnd(Arc<Shared>);

impl Drop for AtEnd {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        queue.has_ended = true;
        if thread::panicking() {
            queue.state = StoreState::Failed { why: StoreError::Closed };
        }
        queue.entries.clear();
        queue.figures.lost_events += queue.figures.queued_events as u64;
        queue.figures.queued_events = 0;
        self.0.marks.close();
        self.0.ended.notify_all();
    }
}

struct Writer {
    shared: Arc<Shared>,
    log: Box<dyn Log>,
    clock: Arc<dyn Clock>,
    on_commit: OnCommit,
    /// Taken from the queue and not yet on disk; empty between two rounds unless writing fails.
    backlog: VecDeque<Entry>,
}

impl Writer {
    fn run(mut self) {
        loop {
            match self.take() {
                Ending::No => self.write_backlog(),
                Ending::Flush => break self.finish(),
                Ending::Abandon => break,
            }
        }
    }

    /// Waits until there is something to do and moves the queue into the backlog.
    fn take(&mut self) -> Ending {
        let config = self.shared.config;
        let mut queue = self.shared.lock();
        match queue.state {
            StoreState::Writable => {
                let waited =
                    self.shared.work.wait_while(queue, |queue| queue.entries.is_empty() && queue.ending == Ending::No);
                queue = waited.unwrap_or_else(PoisonError::into_inner);
                let waited = self.shared.work.wait_timeout_while(queue, config.flush, |queue| {
                    !queue.is_urgent && queue.fresh_events < config.batch_events && queue.ending == Ending::No
                });
                queue = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            StoreState::ReadOnly { .. } => {
                let waited =
                    self.shared.work.wait_timeout_while(queue, config.retry, |queue| queue.ending == Ending::No);
                queue = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            StoreState::Failed { .. } => {
                // The log stays open, and with it the lock that keeps a second daemon out, until this one has drained.
                let waited = self.shared.work.wait_while(queue, |queue| queue.ending == Ending::No);
                queue = waited.unwrap_or_else(PoisonError::into_inner);
            }
        }
        queue.is_urgent = false;
        queue.fresh_events = 0;
        self.backlog.extend(queue.entries.drain(..));
        queue.ending
    }

    /// Writes everything in the backlog, or finds out that it cannot be written.
    fn write_backlog(&mut self) {
        let is_read_only = match self.shared.lock().state {
            StoreState::Writable => false,
            StoreState::ReadOnly { .. } => true,
            StoreState::Failed { .. } => return,
        };
        if is_read_only
            && self.backlog.is_empty()
            && let Err(why) = self.log.probe()
        {
            return self.settle_failure(&why);
        }
        while !self.backlog.is_empty() {
            if let Err(why) = self.write_front() {
                return self.settle_failure(&why);
            }
        }
        if is_read_only {
            self.shared.lock().state = StoreState::Writable;
            info!("store is writable again");
        }
    }

    /// Writes the longest piece of the backlog that one transaction takes.
    fn write_front(&mut self) -> Result<(), StoreError> {
        match self.backlog.front().map(|entry| &entry.what) {
            Some(What::Unit { .. } | What::Barrier) => return self.write_units(),
            Some(What::Snapshot { namespace, seq, at, body }) => {
                self.log.write_snapshot(namespace, *seq, *at, body)?;
                let mut queue = self.shared.lock();
                queue.snapshots.insert(namespace.clone(), *at);
                queue.extents = self.log.extents();
            }
            Some(What::DropQueries { namespace, at }) => {
                self.log.drop_queries_before(namespace, *at)?;
                // One that failed, or that a kill came before.
                if self.log.owes_rewrite() {
                    let _tried = self.rewrite()?;
                }
            }
            Some(What::Cut { namespace, keep }) => {
                self.log.cut(namespace, keep)?;
                self.shared.lock().extents = self.log.extents();
            }
            Some(What::Erase(erased)) => {
                self.log.erase(erased)?;
                let mut queue = self.shared.lock();
                if let Some(last) = erased.unit.records.last() {
                    queue.snapshots.insert(erased.unit.namespace.clone(), last.at);
                    self.shared.marks.reach(&erased.unit.namespace, last.seq);
                }
                queue.extents = self.log.extents();
            }
            Some(What::Rewrite) => return self.write_anew(),
            None => {}
        }
        let waiter = self.backlog.pop_front().and_then(|entry| entry.waiter);
        tell(waiter, Ok(()));
        Ok(())
    }

    /// Writes the file anew for everybody who waits for that: what they erased stands before the first of them or was
    /// written with the rest of the queue, in the order of the queue, before the next.
    fn write_anew(&mut self) -> Result<(), StoreError> {
        let is_rewrite = |entry: &Entry| matches!(entry.what, What::Rewrite);
        let n_entries = self.backlog.iter().take_while(|entry| is_rewrite(entry)).count();
        let done = self.rewrite()?;
        for entry in self.backlog.drain(..n_entries) {
            tell(entry.waiter, done.clone());
        }
        Ok(())
    }

    /// Writes the file anew. Where that is not possible now it is owed, and no reason to write nothing else. At the end it is
    /// left to the next start: what stands behind it must come to disk while there is time.
    fn rewrite(&mut self) -> Result<Result<(), StoreError>, StoreError> {
        if self.shared.lock().ending != Ending::No {
            return Ok(Err(StoreError::Closed));
        }
        match self.log.rewrite() {
            Err(why) if !why.is_passing() => Err(why),
            done => {
                if let Err(why) = &done {
                    warn!(error = why as &dyn std::error::Error, "erased words may be left in unused space for now");
                }
                Ok(done)
            }
        }
    }

    fn write_units(&mut self) -> Result<(), StoreError> {
        let mut units = Vec::new();
        let mut n_entries = 0;
        let mut n_events = 0;
        for entry in &self.backlog {
            match &entry.what {
                What::Unit { unit, .. } => {
                    if n_events > 0 && n_events + unit.records.len() > self.shared.config.batch_events {
                        break;
                    }
                    n_events += unit.records.len();
                    units.push(unit);
                }
                What::Barrier => {}
                What::Snapshot { .. }
                | What::DropQueries { .. }
                | What::Cut { .. }
                | What::Erase(_)
                | What::Rewrite => break,
            }
            n_entries += 1;
        }
        if !units.is_empty() {
            let start = self.clock.monotonic();
            self.log.append(&units)?;
            self.shared.marks.written(&units);
            (self.on_commit)(self.clock.monotonic() - start, n_events);
            let mut queue = self.shared.lock();
            queue.figures.queued_events -= n_events;
            queue.figures.written_events += n_events as u64;
            queue.figures.commits += 1;
            queue.extents = self.log.extents();
        }
        for entry in self.backlog.drain(..n_entries) {
            tell(entry.waiter, Ok(()));
        }
        Ok(())
    }

    /// Draws the consequences of a failed write: what is kept, who is told.
    fn settle_failure(&mut self, why: &StoreError) {
        let was_writable = self.close_gate(why);
        if !why.is_passing() {
            error!(error = why as &dyn std::error::Error, "store failed, nothing is written before a restart");
        } else if was_writable {
            warn!(error = why as &dyn std::error::Error, "store is not writable, traffic is kept in memory");
        }
        let mut withdrawn = Vec::new();
        let mut told = Vec::new();
        let mut n_dropped = 0;
        for mut entry in mem::take(&mut self.backlog) {
            told.extend(entry.waiter.take());
            match &entry.what {
                What::Unit { unit, on_failure: OnFailure::Keep } if why.is_passing() => {
                    debug_assert!(!withdrawn.contains(&unit.namespace), "pushed behind a change of its namespace");
                    self.backlog.push_back(entry);
                }
                What::Unit { unit, .. } => {
                    n_dropped += unit.records.len();
                    withdrawn.push(unit.namespace.clone());
                }
                What::Barrier
                | What::Snapshot { .. }
                | What::DropQueries { .. }
                | What::Cut { .. }
                | What::Erase(_)
                | What::Rewrite => {}
            }
        }
        {
            let mut queue = self.shared.lock();
            queue.figures.queued_events -= n_dropped;
            if why.is_passing() {
                queue.figures.withdrawn_events += n_dropped as u64;
            } else {
                queue.figures.lost_events += n_dropped as u64;
            }
        }
        for waiter in told {
            tell(Some(waiter), Err(why.clone()));
        }
    }

    /// Sets the state and takes over what was pushed since the last round: it shares the fate of the backlog. Returns
    /// whether the log was writable before.
    fn close_gate(&mut self, why: &StoreError) -> bool {
        let mut queue = self.shared.lock();
        let why = why.clone();
        let next = if why.is_passing() { StoreState::ReadOnly { why } } else { StoreState::Failed { why } };
        queue.is_urgent = false;
        queue.fresh_events = 0;
        self.backlog.extend(queue.entries.drain(..));
        matches!(mem::replace(&mut queue.state, next), StoreState::Writable)
    }

    /// Writes what is left and puts the log in order, if it can be written.
    fn finish(&mut self) {
        self.write_backlog();
        if !matches!(self.shared.lock().state, StoreState::Writable) {
            return;
        }
        if let Err(why) = self.log.checkpoint() {
            // All of it is on disk already, in the side file.
            warn!(error = &why as &dyn std::error::Error, "checkpoint at the end failed");
        }
    }
}

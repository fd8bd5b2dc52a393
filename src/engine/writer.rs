//! The one writer of a namespace: takes causes in order, folds them, hands them to the journal, publishes what changed.
//!
//! A plain thread. Commands are decided, appended, waited for, and only then applied; traffic is folded and appended in
//! the same breath, so memory runs ahead of the disk by the flush window and never of the log. Before editing: nothing
//! else may push this namespace's units to the journal, or the order on disk is not the order of the fold.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use super::announce::announce;
use super::error::EngineError;
use super::journal::{Durable, Journal};
use super::message::{ErasureRequest, Message, OpenedSession, Traffic};
use super::recovery::Recovered;
use super::shared::Shared;
use crate::core::block;
use crate::core::block::PendingChange;
use crate::core::erasure;
use crate::core::event::{
    Event, Record, SessionClosed, SessionEnd, SessionErased, SessionOpened, SessionRefreshed, SessionSpec,
};
use crate::core::ids::{Generation, Seq, SessionId, ToolId, UnixMillis};
use crate::core::namespace::Namespace;
use crate::core::namespace::commands::{Registered, Registration};
use crate::core::policy::LogPolicy;
use crate::core::session::Session;
use crate::store::{ErasedSession, QueryBody, QueryNote, Retention, StoreError, Unit};

/// Records after which a snapshot is taken, so that a restart reads few events.
const RECORDS_PER_SNAPSHOT: u64 = 20_000;

/// Openings, refreshes and closings that are served from memory once the journal is full. One block each at most.
const SESSION_BACKLOG: usize = 1_024;

/// How long a namespace with old traffic and little new waits for its next snapshot, in milliseconds: two of them make a
/// cut, so old traffic goes within a day.
const RETENTION_SNAPSHOT_MS: i64 = 6 * 3_600_000;

/// How often kept queries past their time are dropped, in milliseconds.
const QUERY_SWEEP_MS: i64 = 3_600_000;

/// The writer's state.
pub struct Writer {
    namespace: Namespace,
    last_seq: Seq,
    last_at: UnixMillis,
    records_since_snapshot: u64,
    last_snapshot: UnixMillis,
    last_query_sweep: UnixMillis,
    /// Sessions that are being erased: none of them may be opened.
    erasing: BTreeSet<SessionId>,
    /// Units that the full journal did not take, in order; no traffic is let in while there are any.
    backlog: VecDeque<Unit>,
    journal: Journal,
    shared: Arc<Shared>,
}

impl Writer {
    /// Puts a writer together for a recovered or new namespace.
    pub fn new(recovered: Recovered, journal: Journal, shared: Arc<Shared>) -> Self {
        Self {
            namespace: recovered.namespace,
            last_seq: recovered.last_seq,
            last_at: recovered.last_at,
            // Those that recovery read count too: a daemon that is killed again and again must not read ever more.
            records_since_snapshot: recovered.n_records,
            last_snapshot: recovered.start_at,
            last_query_sweep: UnixMillis::default(),
            erasing: BTreeSet::new(),
            backlog: VecDeque::new(),
            journal,
            shared,
        }
    }

    /// Works until it is told to stop, or nobody can send any more.
    pub fn run(mut self, inbox: &Receiver<Message>) {
        while let Ok(message) = inbox.recv() {
            self.drain_backlog();
            match message {
                Message::Traffic(traffic) => self.take_traffic(traffic),
                Message::Register(registration, reply) => {
                    let answer = self.register(&registration);
                    let _ = reply.send(answer);
                }
                Message::Change(change, reply) => {
                    let at = self.stamp();
                    let events = self.namespace.decide_change(at, change).map_err(EngineError::from);
                    let answer = events.and_then(|events| self.commit(at, events));
                    let _ = reply.send(answer);
                }
                Message::Policy(set, version, reply) => {
                    let at = self.stamp();
                    let events = self.namespace.decide_policy(set, version).map_err(EngineError::from);
                    let answer = events.and_then(|events| self.commit(at, events));
                    let _ = reply.send(answer.map(|()| self.namespace.policy_version()));
                }
                Message::Open { id, spec, chooses_delivery, reply } => {
                    let answer = self.open(id, spec, chooses_delivery);
                    let _ = reply.send(answer);
                }
                Message::Refresh(session, generation, keep, reply) => {
                    let answer = self.refresh(&session, generation, keep);
                    let _ = reply.send(answer);
                }
                Message::Close(session, reply) => {
                    let answer = self.close(session);
                    let _ = reply.send(answer);
                }
                Message::BeginErasure(session, reply) => {
                    let answer = self.begin_erasure(&session);
                    let _ = reply.send(answer);
                }
                Message::Erase(request, reply) => {
                    let answer = self.erase(*request);
                    let _ = reply.send(answer);
                }
                Message::EndErasure(session) => {
                    self.erasing.remove(&session);
                }
                Message::Look(look) => look(&self.namespace),
                Message::Flush(reply) => {
                    let _ = reply.send(self.flushed());
                }
                Message::Upkeep(now, reply) => {
                    self.upkeep(now);
                    let _ = reply.send(());
                }
                Message::Stop => break,
            }
        }
        self.drain_backlog();
        self.snapshot();
    }

    /// Returns a stamp that is never less than the one before, whatever the clock does.
    fn stamp(&self) -> UnixMillis {
        self.shared.clock.now().max(self.last_at)
    }

    fn unit(&mut self, at: UnixMillis, events: Vec<Event>, query: Option<(SessionId, QueryBody)>) -> Unit {
        let first = self.last_seq.next();
        let mut seq = self.last_seq;
        let records: Vec<Record> = events
            .into_iter()
            .map(|event| {
                seq = seq.next();
                Record { seq, at, event }
            })
            .collect();
        let query = query.map(|(session, body)| QueryNote { seq: first, session, at, body });
        Unit { namespace: self.namespace.id().clone(), records, query }
    }

    /// Notes that a unit is in the log's buffer, or on its way there.
    fn note(&mut self, unit: &Unit) {
        self.last_seq.0 += unit.records.len() as u64;
        self.records_since_snapshot += unit.records.len() as u64;
        if let Some(last) = unit.records.last() {
            self.last_at = last.at;
        }
    }

    /// Hands a folded unit to the journal; one that does not fit waits, and traffic is shed meanwhile.
    fn append(&mut self, unit: Unit) {
        self.note(&unit);
        let is_open = self.backlog.is_empty();
        if is_open && self.journal.push(unit.clone()).is_ok() {
            return;
        }
        self.backlog.push_back(unit);
        self.shared.set_shedding(true);
    }

    fn append_durable(&mut self, unit: Unit) -> Durable {
        if self.backlog.is_empty()
            && let Ok(durable) = self.journal.push_durable(unit.clone())
        {
            self.note(&unit);
            return durable;
        }
        self.append(unit);
        Durable::failed(StoreError::Full)
    }

    /// Tells when everything that was folded is on disk.
    fn flushed(&self) -> Durable {
        if self.backlog.is_empty() { self.journal.flushed() } else { Durable::failed(StoreError::Full) }
    }

    /// Refuses what would have to be kept in memory beyond the bound.
    fn has_room(&self) -> Result<(), EngineError> {
        if self.backlog.len() < SESSION_BACKLOG { Ok(()) } else { Err(EngineError::Overloaded) }
    }

    fn drain_backlog(&mut self) {
        while let Some(unit) = self.backlog.front() {
            if self.journal.push(unit.clone()).is_err() {
                return;
            }
            self.backlog.pop_front();
        }
        self.shared.set_shedding(false);
    }

    /// Folds a cause and returns it with what it drew.
    fn fold(&mut self, at: UnixMillis, cause: Event) -> Vec<Event> {
        let drawn = self.namespace.fold(at, &cause);
        announce(self.namespace.id(), &drawn);
        let changes_view = drawn.iter().any(changes_view);
        let mut events = vec![cause];
        events.extend(drawn);
        if changes_view {
            self.publish();
        }
        events
    }

    fn publish(&self) {
        self.shared.publish(self.namespace.view());
    }

    fn take_traffic(&mut self, traffic: Traffic) {
        let at = traffic.at.max(self.last_at);
        let query = match &traffic.event {
            Event::StepPlanned(planned) => traffic.query.map(|body| (planned.session.clone(), body)),
            _ => None,
        };
        let events = self.fold(at, traffic.event);
        let unit = self.unit(at, events, query);
        self.append(unit);
    }

    /// Makes a decided change durable and takes it in; nothing changes where the disk does not take it.
    fn commit(&mut self, at: UnixMillis, events: Vec<Event>) -> Result<(), EngineError> {
        let Some(cause) = events.first().cloned() else { return Ok(()) };
        if !self.backlog.is_empty() {
            return Err(EngineError::NotWritable(StoreError::Full));
        }
        let unit = self.unit(at, events, None);
        match self.journal.push_change(unit.clone()) {
            Ok(durable) => durable.wait().map_err(EngineError::NotWritable)?,
            Err(_) => return Err(EngineError::NotWritable(StoreError::Full)),
        }
        self.note(&unit);
        for record in &unit.records {
            self.namespace.apply(at, &cause, &record.event);
        }
        announce(self.namespace.id(), unit.records.iter().map(|record| &record.event));
        self.publish();
        Ok(())
    }

    fn register(&mut self, registration: &Registration) -> Result<Registered, EngineError> {
        let mut registered = self.namespace.decide_register(registration)?;
        let at = self.stamp();
        self.commit(at, std::mem::take(&mut registered.events))?;
        Ok(registered)
    }

    fn open(
        &mut self,
        id: SessionId,
        mut spec: Arc<SessionSpec>,
        chooses_delivery: bool,
    ) -> Result<OpenedSession, EngineError> {
        if self.erasing.contains(&id) {
            return Err(EngineError::Overloaded);
        }
        let known = self.namespace.session(&id).filter(|session| session.ended().is_none());
        let original = spec.fork_of.clone().and_then(|original| self.namespace.session(&original));
        let original = original.filter(|session| session.ended().is_none());
        // What policy decides may be another by now; whoever opens again means what was decided the first time. A copied
        // context goes on with the block that it has.
        let policy = &self.namespace.policy().session;
        if spec.window == 0 {
            let window = known.map_or(policy.default_window, |session| session.spec().window);
            Arc::make_mut(&mut spec).window = window;
        }
        if chooses_delivery {
            let choice = || policy.deliveries().choose(spec.format, &spec.model);
            let delivery = known.or(original).map_or_else(choice, |session| session.spec().delivery);
            Arc::make_mut(&mut spec).delivery = delivery;
        }
        if let Some(session) = known {
            if !asks_the_same(session.spec(), &spec) {
                return Err(EngineError::SessionDiffers(id));
            }
            let durable = self.flushed();
            return opened(session, true, Vec::new(), durable).ok_or(EngineError::UnknownSession(id));
        }
        if let Some(id) = &spec.fork_of {
            let Some(original) = original else { return Err(EngineError::UnknownSession(id.clone())) };
            if !is_written_alike(original.spec(), &spec) {
                return Err(EngineError::ForkDiffers(id.clone()));
            }
        }
        let most = self.namespace.policy().session.max_open;
        if self.namespace.n_open() >= most as usize {
            return Err(EngineError::TooManySessions(most));
        }
        self.has_room()?;
        let at = self.stamp();
        let events = self.fold(at, Event::SessionOpened(SessionOpened { session: id.clone(), spec }));
        let unit = self.unit(at, events, None);
        let durable = self.append_durable(unit);
        let Some(session) = self.namespace.session(&id) else { return Err(EngineError::UnknownSession(id)) };
        self.shared.put_session(session.clone());
        opened(session, false, Vec::new(), durable).ok_or(EngineError::UnknownSession(id))
    }

    fn refresh(
        &mut self,
        id: &SessionId,
        generation: Generation,
        keep: BTreeSet<ToolId>,
    ) -> Result<OpenedSession, EngineError> {
        let missing = || EngineError::UnknownSession(id.clone());
        let before = self.namespace.session(id).ok_or_else(missing)?;
        if before.ended().is_some() {
            return Err(EngineError::SessionEnded(id.clone()));
        }
        // The session is past what the runtime holds: the refresh was done, and its answer lost.
        if generation != Generation(0) && generation < before.generation() {
            let durable = self.flushed();
            return opened(before, true, Vec::new(), durable).ok_or_else(missing);
        }
        self.has_room()?;
        let old_block = before.block().cloned().ok_or_else(missing)?;
        let at = self.stamp();
        let cause = Event::SessionRefreshed(SessionRefreshed { session: id.clone(), keep });
        let events = self.fold(at, cause);
        for event in &events {
            if let Event::BlockFrozen(frozen) = event {
                self.shared.refresh_session(id, self.namespace.session(id), frozen, at);
            }
        }
        let unit = self.unit(at, events, None);
        let durable = self.append_durable(unit);
        let session = self.namespace.session(id).ok_or_else(missing)?;
        let new_block = session.block().ok_or_else(missing)?;
        let taken = block::pending_changes(self.namespace.registry(), &old_block, new_block);
        opened(session, false, taken, durable).ok_or_else(missing)
    }

    fn close(&mut self, id: SessionId) -> Result<Durable, EngineError> {
        match self.namespace.session(&id) {
            None => return Err(EngineError::UnknownSession(id)),
            Some(session) if session.ended().is_some() => return Ok(self.flushed()),
            Some(_) => {}
        }
        let at = self.stamp();
        let events = self.fold(at, Event::SessionClosed(SessionClosed { session: id.clone() }));
        self.shared.end_session(&id, SessionEnd::Closed, at);
        let unit = self.unit(at, events, None);
        Ok(self.append_durable(unit))
    }

    fn begin_erasure(&mut self, id: &SessionId) -> Result<bool, EngineError> {
        // Two erasures at once would each find the session's own words and give them two names.
        if self.erasing.contains(id) {
            return Err(EngineError::Overloaded);
        }
        let is_remembered = self.namespace.session(id).is_some();
        if is_remembered {
            // The end of it is on disk with the flush that comes before the search.
            drop(self.close(id.clone())?);
        }
        self.shared.take_session(id);
        self.erasing.insert(id.clone());
        Ok(is_remembered)
    }

    fn erase(&mut self, request: ErasureRequest) -> Result<u64, EngineError> {
        let ErasureRequest { erasure, found, find_rest, actor } = request;
        self.flushed().wait().map_err(EngineError::NotWritable)?;
        let rest = find_rest().map_err(EngineError::NotReadable)?;
        let mut changed: Vec<Record> = found.into_iter().chain(rest).collect();
        changed.retain_mut(|record| erasure.clear(&mut record.event, self.namespace.registry()));
        let n_records = changed.len() as u64;

        let at = self.stamp();
        let cause = Event::SessionErased(SessionErased { session: erasure.pseudonym().clone(), actor });
        let mut namespace = self.namespace.clone();
        namespace.erase(&erasure);
        namespace.apply(at, &cause, &cause);
        let snapshot = namespace.to_snapshot().map_err(|error| EngineError::NotWritable(StoreError::other(error)))?;
        let unit = self.unit(at, vec![cause], None);
        let erased = ErasedSession { session: erasure.session().clone(), unit: unit.clone(), changed, snapshot };
        self.journal.push_erasure(erased).wait().map_err(EngineError::NotWritable)?;
        self.note(&unit);
        self.namespace = namespace;
        self.records_since_snapshot = 0;
        self.last_snapshot = at;
        self.erasing.remove(erasure.session());
        Ok(n_records)
    }

    fn upkeep(&mut self, now: UnixMillis) {
        let now = now.max(self.last_at);
        // While the log's buffer is full nobody can say that they are still there, so nobody is taken to be gone.
        let is_due = self.namespace.next_deadline().is_some_and(|deadline| deadline <= now);
        if is_due && self.backlog.is_empty() {
            self.pass_time(now);
        }
        self.shared.keep_sessions(|id| self.namespace.session(id).is_some());
        if now.0 - self.last_query_sweep.0 >= QUERY_SWEEP_MS {
            self.last_query_sweep = now;
            let days = i64::from(self.namespace.policy().learn.query_days);
            let before = UnixMillis(now.0 - days * 24 * 3_600_000);
            self.journal.drop_queries_before(self.namespace.id().clone(), before);
        }
        if self.records_since_snapshot >= RECORDS_PER_SNAPSHOT {
            self.snapshot();
        }
        self.cut_log(now);
    }

    fn pass_time(&mut self, now: UnixMillis) {
        let events = self.fold(now, Event::TimePassed);
        for event in &events {
            if let Event::SessionEnded(ended) = event {
                self.shared.end_session(&ended.session, ended.end, now);
            }
        }
        let unit = self.unit(now, events, None);
        self.append(unit);
    }

    /// Has a piece of old traffic cut, where there is some that may go.
    fn cut_log(&mut self, now: UnixMillis) {
        let keep = retention(&self.namespace.policy().log, now);
        let Some(extent) = self.journal.extent(self.namespace.id()).filter(|extent| extent.exceeds(&keep)) else {
            return;
        };
        if extent.may_be_cut() {
            self.journal.cut(self.namespace.id().clone(), keep);
        } else if now.0 - self.last_snapshot.0 >= RETENTION_SNAPSHOT_MS {
            // Whatever goes must stand in two snapshots, and little traffic makes few of them; none makes none.
            if self.records_since_snapshot == 0 && self.backlog.is_empty() {
                self.pass_time(now);
            }
            self.snapshot();
        }
    }

    fn snapshot(&mut self) {
        if self.last_seq == Seq(0) || !self.backlog.is_empty() || self.records_since_snapshot == 0 {
            return;
        }
        match self.namespace.to_snapshot() {
            Ok(body) => {
                self.records_since_snapshot = 0;
                self.last_snapshot = self.last_at;
                self.journal.write_snapshot(self.namespace.id().clone(), self.last_seq, self.last_at, body);
            }
            Err(error) => tracing::error!(namespace = %self.namespace.id(), %error, "no snapshot was taken"),
        }
    }
}

/// Returns what stays of traffic at `now`.
fn retention(policy: &LogPolicy, now: UnixMillis) -> Retention {
    let days = i64::from(policy.retain_days);
    let bytes = u64::from(policy.retain_mib) << 20;
    Retention {
        before: (days > 0).then(|| UnixMillis(now.0 - days * 24 * 3_600_000)),
        max_bytes: (bytes > 0).then_some(bytes),
    }
}

/// Returns whether readers see anything else after an event.
fn changes_view(event: &Event) -> bool {
    matches!(event, Event::PoolReranked(_) | Event::ToolMoved(_))
}

/// Returns whether an open session is what is asked for. A must-have that no tool was known by may be one by now, so
/// the same request can name more than it did.
fn asks_the_same(open: &SessionSpec, asked: &SessionSpec) -> bool {
    let mut open = open.clone();
    if asked.pool.must_have.is_superset(&open.pool.must_have) {
        open.pool.must_have.clone_from(&asked.pool.must_have);
    }
    // A session that it came from may have been erased since, and the runtime still knows it by its own name.
    for (known, wanted) in [(&mut open.parent, &asked.parent), (&mut open.fork_of, &asked.fork_of)] {
        if known.as_ref().is_some_and(erasure::is_erased) && wanted.is_some() {
            known.clone_from(wanted);
        }
    }
    open == *asked
}

/// Tells whether two sessions have blocks of the same kind, so that one can be given the other's.
fn is_written_alike(one: &SessionSpec, other: &SessionSpec) -> bool {
    let kind = |spec: &SessionSpec| (spec.format, spec.delivery, spec.mark_cache);
    kind(one) == kind(other)
}

fn opened(session: &Session, resumed: bool, taken: Vec<PendingChange>, durable: Durable) -> Option<OpenedSession> {
    let block = session.block()?.clone();
    Some(OpenedSession { session: session.clone(), block, resumed, taken, durable })
}

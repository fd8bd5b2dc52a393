//! A namespace: everything that its log implies, and everything that can happen to it.
//!
//! Three ways in. [`commands`] turn an operator's request into a cause, or a refusal, without changing anything.
//! [`Namespace::fold`] takes a cause in and *draws* its consequences: the daemon's writer and `replay` call it.
//! [`Namespace::apply`] takes in one event, cause or consequence, and decides nothing: `fold` and recovery call it.
//! Keep it that way: a decision inside `apply` would be taken twice, and differently by another build.

mod blocks;
pub mod commands;
mod draw;
mod state;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::admission::neighbours::Neighbours;
use super::event::{
    AdmissionNote, BlockFrozen, CallCounted, Event, OutcomeReported, PoolReranked, SessionOpened, StepEnd, StepPlanned,
    ToolAction, ToolMoved, ToolState, ToolsRegistered,
};
use super::figures::Figures;
use super::heat::Decay;
use super::hot_pool::HotPool;
use super::ids::{Digest, Generation, NamespaceId, SessionId, Tick, ToolId, UnixMillis};
use super::judging::{CountedCall, SwitchWindow};
use super::lifecycle::{self, Health};
use super::policy::Policy;
use super::registry::Registry;
use super::retrieval::Index;
use super::session::Session;
use super::view::View;

pub use blocks::Exposure;
pub use state::Unreadable;

use blocks::Blocks;

/// How long an ended session is remembered at most, so that late outcomes are told from unknown ones.
const ENDED_MEMORY_SECS: u64 = 600;

/// Changes whose `request_id` is remembered.
const REQUESTS_KEPT: usize = 4_096;

/// One session as the log has it, with the calls whose verdict is open.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Entry {
    session: Session,
    window: SwitchWindow,
}

/// What is remembered of a change that was made under a caller's key.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KnownRequest {
    /// Tools were registered.
    Registered(Vec<AdmissionNote>),
    /// Something was done to a tool.
    Changed(ToolId, ToolAction),
    /// Values of the policy were set.
    PolicySet(BTreeMap<String, String>),
}

/// Everything that a namespace's log implies.
pub struct Namespace {
    id: NamespaceId,
    salt: Digest,
    policy: Arc<Policy>,
    policy_version: u64,
    registry: Arc<Registry>,
    index: Arc<Index>,
    /// The tools by their words and names; made from the registry, for what enters only.
    neighbours: Neighbours,
    pool: HotPool,
    tick: Tick,
    health: BTreeMap<ToolId, Health>,
    sessions: BTreeMap<SessionId, Entry>,
    /// Ended sessions that are still remembered, in the order they ended.
    ended: VecDeque<SessionId>,
    blocks: Blocks,
    figures: Figures,
    /// Changes by the caller's key, oldest first, so that a retry is answered and not repeated.
    requests: VecDeque<(String, KnownRequest)>,
}

impl Namespace {
    /// Makes an empty namespace; its first event is [`Event::NamespaceCreated`].
    pub fn new(id: NamespaceId) -> Self {
        Self {
            id,
            salt: Digest::of(b""),
            policy: Arc::new(Policy::default()),
            policy_version: 1,
            registry: Arc::default(),
            index: Arc::default(),
            neighbours: Neighbours::default(),
            pool: HotPool::default(),
            tick: Tick(0),
            health: BTreeMap::new(),
            sessions: BTreeMap::new(),
            ended: VecDeque::new(),
            blocks: Blocks::default(),
            figures: Figures::default(),
            requests: VecDeque::new(),
        }
    }

    /// Returns its name.
    pub fn id(&self) -> &NamespaceId {
        &self.id
    }

    /// Returns the key of the hashes that stand for query terms.
    pub fn salt(&self) -> Digest {
        self.salt
    }

    /// Returns what readers may see as of now.
    pub fn view(&self) -> View {
        View {
            registry: self.registry.clone(),
            index: self.index.clone(),
            pool: self.pool.published().clone(),
            policy: self.policy.clone(),
        }
    }

    /// Returns every tunable.
    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// Returns the policy's version: 1 as it begins, and one more at each change.
    pub fn policy_version(&self) -> u64 {
        self.policy_version
    }

    /// Returns every tool.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Returns the hot pool.
    pub fn pool(&self) -> &HotPool {
        &self.pool
    }

    /// Returns the clock: calls counted so far.
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// Returns a tool's heat now, in calls times 2^30.
    pub fn heat_key(&self, tool: &ToolId) -> u64 {
        self.pool.heat_key(tool, self.tick, &self.decay())
    }

    /// Returns what is remembered of a tool's failures.
    pub fn health(&self, tool: &ToolId) -> Option<&Health> {
        self.health.get(tool)
    }

    /// Returns the figures since the namespace was made.
    pub fn figures(&self) -> &Figures {
        &self.figures
    }

    /// Returns how many tools stand in each state.
    pub fn tools_by_state(&self) -> BTreeMap<ToolState, u64> {
        let mut counts = BTreeMap::new();
        for (_, tool) in self.registry.iter() {
            *counts.entry(tool.state()).or_default() += 1;
        }
        counts
    }

    /// Returns in how many steps each tool was in front of a model, and how.
    pub fn exposures(&self) -> BTreeMap<ToolId, Exposure> {
        self.blocks.exposures()
    }

    /// Returns a session, an ended one included while it is remembered.
    pub fn session(&self, id: &SessionId) -> Option<&Session> {
        self.sessions.get(id).map(|entry| &entry.session)
    }

    /// Goes through the sessions, ended ones included while they are remembered.
    pub fn sessions(&self) -> impl Iterator<Item = &Session> {
        self.sessions.values().map(|entry| &entry.session)
    }

    /// Returns how many sessions are open.
    pub fn n_open(&self) -> usize {
        (self.figures.sessions_opened - self.figures.sessions_ended.total()) as usize
    }

    /// Returns the change that was made under a caller's key.
    pub fn request(&self, request_id: &str) -> Option<&KnownRequest> {
        if request_id.is_empty() {
            return None;
        }
        self.requests.iter().rev().find(|(id, _)| id == request_id).map(|(_, known)| known)
    }

    /// Returns when something is due by time alone: a backoff over, a session idle, an ended one to be forgotten.
    pub fn next_deadline(&self) -> Option<UnixMillis> {
        let sessions = self.sessions().map(|session| match session.ended() {
            Some((at, _)) => at.plus_secs(ENDED_MEMORY_SECS),
            None => self.idle_end(session),
        });
        sessions.chain(lifecycle::next_deadline(&self.health)).min()
    }

    fn idle_end(&self, session: &Session) -> UnixMillis {
        session.last_heard().plus_secs(u64::from(self.policy.session.idle_secs))
    }

    fn decay(&self) -> Decay {
        Decay::new(self.policy.hot_pool.decay)
    }

    fn pinned(&self) -> BTreeSet<ToolId> {
        self.registry.iter().filter(|(_, tool)| tool.is_pinned()).map(|(id, _)| id.clone()).collect()
    }

    /// Takes in one event, stamped `at`, that stands under `cause` in the log (a cause stands under itself). Decides
    /// nothing.
    pub fn apply(&mut self, at: UnixMillis, cause: &Event, event: &Event) {
        match event {
            Event::NamespaceCreated(created) => self.salt = created.salt,
            Event::ToolsRegistered(registered) => self.apply_registered(registered),
            Event::ToolChanged(changed) => {
                match changed.action {
                    ToolAction::Pin => self.registry_mut().set_pinned(&changed.tool, true),
                    ToolAction::Unpin => self.registry_mut().set_pinned(&changed.tool, false),
                    _ => {}
                }
                let known = KnownRequest::Changed(changed.tool.clone(), changed.action);
                self.remember_request(&changed.request_id, known);
            }
            Event::PolicySet(set) => {
                let decay = self.decay();
                // What the log holds was checked before it was written; a value that an older build took and this one
                // does not is left as it was.
                if let Ok(policy) = self.policy.with(&set.values) {
                    if policy.hot_pool.decay != self.policy.hot_pool.decay {
                        self.pool.rebase(self.tick, &decay);
                    }
                    self.policy = Arc::new(policy);
                }
                self.policy_version += 1;
                self.remember_request(&set.request_id, KnownRequest::PolicySet(set.values.clone()));
            }
            Event::SessionOpened(opened) => self.apply_opened(at, opened),
            Event::StepPlanned(planned) => self.apply_step(at, planned),
            Event::StepEnded(ended) => {
                if let Some(entry) = self.sessions.get_mut(&ended.session)
                    && entry.session.apply_step_end(ended.step, at)
                {
                    self.figures.plans_without_call.add(ended.end);
                }
            }
            Event::ToolRequested(requested) => {
                self.figures.requests.add(requested.result);
                self.figures.extra_hops += 1;
                self.blocks.count_issues(&requested.issued);
                if let Some(entry) = self.sessions.get_mut(&requested.session) {
                    entry.session.apply_request(Arc::new(requested.clone()), at);
                }
            }
            Event::CallsChecked(checked) => {
                if let Some(entry) = self.sessions.get_mut(&checked.session) {
                    entry.session.apply_check(checked, at);
                }
            }
            Event::OutcomeReported(outcome) => {
                if let Some(entry) = self.sessions.get_mut(&outcome.session) {
                    entry.session.apply_report(outcome, at);
                    if outcome.tool.is_none() {
                        entry.window.interrupt();
                    }
                }
            }
            Event::UsageReported(usage) => {
                if let Some(entry) = self.sessions.get_mut(&usage.session) {
                    if let Some(cause) = entry.session.cache_break(usage) {
                        self.figures.cache_breaks.add(cause);
                    }
                    entry.session.apply_usage(usage, at);
                }
            }
            Event::TimePassed => self.forget_ended(at),
            Event::SessionRefreshed(_) | Event::SessionClosed(_) => {}
            Event::BlockFrozen(frozen) => self.apply_block(at, frozen),
            Event::CallCounted(counted) => {
                if let Event::OutcomeReported(outcome) = cause {
                    self.apply_counted(at, outcome, counted);
                }
            }
            Event::CallJudged(judged) => {
                self.figures.selections.add(judged.verdict);
                if let Some(entry) = self.sessions.get_mut(&judged.session) {
                    entry.window.settle(&judged.call_id);
                }
            }
            Event::PoolReranked(reranked) => self.apply_reranked(reranked),
            Event::ToolMoved(moved) => self.apply_moved(at, moved),
            Event::SessionEnded(ended) => {
                self.figures.sessions_ended.add(ended.end);
                if let Some(entry) = self.sessions.get_mut(&ended.session) {
                    if entry.session.unaccounted_step().is_some() {
                        self.figures.plans_without_call.add(StepEnd::Unknown);
                    }
                    self.blocks.release(&entry.session.digest());
                    entry.session.apply_end(ended.end, at);
                    self.ended.push_back(ended.session.clone());
                }
                self.forget_surplus();
            }
        }
    }

    fn registry_mut(&mut self) -> &mut Registry {
        Arc::make_mut(&mut self.registry)
    }

    fn apply_registered(&mut self, registered: &ToolsRegistered) {
        let registry = Arc::make_mut(&mut self.registry);
        let index = Arc::make_mut(&mut self.index);
        for admitted in &registered.admitted {
            let definition = &admitted.definition;
            registry.insert(admitted.clone());
            self.neighbours.insert(definition);
            if let Some(tool) = registry.get(&definition.id) {
                index.insert(definition, tool.current().alias());
            }
            self.pool.seed(&definition.id, definition.initial_score, self.tick);
        }
        self.remember_request(&registered.request_id, KnownRequest::Registered(registered.notes.clone()));
    }

    fn remember_request(&mut self, request_id: &str, known: KnownRequest) {
        if request_id.is_empty() {
            return;
        }
        self.requests.push_back((request_id.to_owned(), known));
        if self.requests.len() > REQUESTS_KEPT {
            self.requests.pop_front();
        }
    }

    fn apply_opened(&mut self, at: UnixMillis, opened: &SessionOpened) {
        let original = opened.spec.fork_of.as_ref().and_then(|id| self.session(id));
        let session = Session::open(opened.session.clone(), opened.spec.clone(), original, at);
        self.figures.sessions_opened += 1;
        self.sessions.insert(opened.session.clone(), Entry { session, window: SwitchWindow::default() });
    }

    fn apply_block(&mut self, at: UnixMillis, frozen: &BlockFrozen) {
        let Some(entry) = self.sessions.get_mut(&frozen.session) else { return };
        let before = (entry.session.generation() > Generation(0)).then(|| entry.session.digest());
        let Some(block) = self.blocks.hold(frozen) else { return };
        entry.session.apply_block(block, frozen, at);
        let most = &mut self.figures.distinct_blocks_per_session_max;
        *most = (*most).max(entry.session.n_blocks());
        if let Some(before) = before {
            self.blocks.release(&before);
        }
    }

    fn apply_step(&mut self, at: UnixMillis, planned: &StepPlanned) {
        self.figures.plans.add(planned.result);
        self.figures.tokens.add(&planned.tokens);
        *self.figures.issued_tools.entry(planned.issued.len() as u32).or_default() += 1;
        self.blocks.count_issues(&planned.issued);
        if let Some(entry) = self.sessions.get_mut(&planned.session) {
            if entry.session.unaccounted_step().is_some() {
                self.figures.plans_without_call.add(StepEnd::Unknown);
            }
            self.blocks.count_step(&entry.session.digest());
            entry.session.apply_step(Arc::new(planned.clone()), at);
        }
    }

    fn apply_counted(&mut self, at: UnixMillis, outcome: &OutcomeReported, counted: &CallCounted) {
        let tool = &counted.tool;
        if let Some(tick) = counted.tick {
            self.tick = tick;
            self.pool.count(tool, tick, &self.decay());
            // Heat that begins while the tool is out stands still like any other's.
            if self.registry.get(tool).is_some_and(|entry| entry.state() != ToolState::Active) {
                self.pool.freeze(tool, tick, &self.decay());
            }
            self.figures.calls.add(counted.presence);
            if let Some(entry) = self.sessions.get_mut(&counted.session)
                && entry.session.ended().is_none()
            {
                entry.session.apply_tick(&counted.call_id, tool, counted.presence);
                let arguments_fit = arguments_fitted(&entry.session, outcome);
                let call = CountedCall { call_id: &counted.call_id, tool, ending: outcome.ending, arguments_fit };
                entry.window.push(&call);
            }
        }
        self.health.entry(tool.clone()).or_default().note_outcome(at, outcome, &self.policy.life);
    }

    fn apply_reranked(&mut self, reranked: &PoolReranked) {
        if reranked.epoch == self.pool.epoch() {
            self.figures.reranks_unchanged += 1;
        } else {
            self.figures.reranks_changed += 1;
        }
        self.figures.swapped_in += reranked.entered.len() as u64;
        self.pool.apply(reranked, &self.policy.hot_pool);
    }

    fn apply_moved(&mut self, at: UnixMillis, moved: &ToolMoved) {
        let tool = &moved.tool;
        *self.figures.moves.entry((moved.new, moved.cause)).or_default() += 1;
        self.registry_mut().set_state(tool, moved.new);
        let was_out = moved.old.is_some_and(|state| state != ToolState::Active);
        let is_out = moved.new != ToolState::Active;
        if is_out && !was_out {
            // A popular tool that broke comes back to its place.
            self.pool.freeze(tool, self.tick, &self.decay());
        } else if was_out && !is_out {
            self.pool.thaw(tool, self.tick);
        }
        // A tool that was never anything but active has nothing to remember.
        if moved.old.is_some() {
            self.health.entry(tool.clone()).or_default().note_move(at, moved);
        }
    }

    fn forget_ended(&mut self, now: UnixMillis) {
        let is_due = |session: &Session| session.ended().is_some_and(|(at, _)| at.plus_secs(ENDED_MEMORY_SECS) <= now);
        self.sessions.retain(|_, entry| !is_due(&entry.session));
        self.ended.retain(|id| self.sessions.contains_key(id));
    }

    /// Forgets the sessions that ended first once more are remembered than may be open: opening and closing in haste
    /// must not fill the memory.
    fn forget_surplus(&mut self) {
        while self.ended.len() > self.policy.session.max_open as usize {
            let Some(id) = self.ended.pop_front() else { return };
            // It may have been opened again since.
            if self.session(&id).is_some_and(|session| session.ended().is_some()) {
                self.sessions.remove(&id);
            }
        }
    }
}

/// Returns whether a call's arguments were checked and fitted, before it ran or after.
fn arguments_fitted(session: &Session, outcome: &OutcomeReported) -> bool {
    session.arguments_fitted(&outcome.call_id) || outcome.arguments_fit == Some(true)
}

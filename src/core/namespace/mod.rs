//! A namespace: everything that its log implies, and everything that can happen to it.
//!
//! Three ways in. [`commands`] turn an operator's request into a cause, or a refusal, without changing anything.
//! [`Namespace::fold`] takes a cause in and *draws* its consequences: the daemon's writer and `replay` call it.
//! [`Namespace::apply`] takes in one event, cause or consequence, and decides nothing: `fold` and recovery call it.
//! Keep it that way: a decision inside `apply` would be taken twice, and differently by another build.

mod blocks;
pub mod commands;
mod draw;
mod draw_tools;
mod entry;
mod erase;
mod state;
mod stats;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::admission::neighbours::Neighbours;
use super::definition::Definition;
use super::event::{
    AdmissionNote, BlockFrozen, CallCounted, Event, OutcomeReported, PolicySet, PoolReranked, SessionOpened,
    StepPlanned, ToolAction, ToolChanged, ToolMoved, ToolState, ToolsRegistered,
};
use super::figures::{Figures, ToolFigures};
use super::heat::Decay;
use super::history::History;
use super::hot_pool::HotPool;
use super::ids::{Digest, Generation, NamespaceId, SessionId, Tick, ToolId, UnixMillis};
use super::judging::CountedCall;
use super::lifecycle::{self, Health, Past};
use super::policy::Policy;
use super::registry::{Registry, Tool};
use super::render::Shown;
use super::retrieval::Index;
use super::session::Session;
use super::view::View;

pub use blocks::Exposure;
pub use state::Unreadable;
pub use stats::{Rank, ToolOrder, ToolStat};

use blocks::Blocks;
use entry::Entry;

/// How long an ended session is remembered at most, so that late outcomes are told from unknown ones.
const ENDED_MEMORY_SECS: u64 = 600;

/// Changes whose `request_id` is remembered.
const REQUESTS_KEPT: usize = 4_096;

/// Who set a value of the policy, and when.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PolicyOrigin {
    /// The policy's version that began with it.
    pub version: u64,
    /// When it was set.
    pub at: UnixMillis,
    /// Who set it.
    pub actor: String,
}

/// What is remembered of a change that was made under a caller's key.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KnownRequest {
    /// Tools were registered.
    Registered(Vec<AdmissionNote>),
    /// Something was done to a tool.
    Changed(ToolId, ToolAction),
    /// Something was done to a tool for which a hash was quoted.
    ChangedByHash(ToolId, ToolAction, Digest),
    /// Values of the policy were set.
    PolicySet(BTreeMap<String, String>),
}

impl KnownRequest {
    /// Returns what is remembered of a change of a tool.
    fn of_change(changed: &ToolChanged) -> Self {
        let (tool, action) = (changed.tool.clone(), changed.action);
        match changed.hash {
            None => Self::Changed(tool, action),
            Some(hash) => Self::ChangedByHash(tool, action, hash),
        }
    }
}

/// Everything that a namespace's log implies.
#[derive(Clone)]
pub struct Namespace {
    id: NamespaceId,
    salt: Digest,
    policy: Arc<Policy>,
    policy_version: u64,
    /// Where the value of each key comes from that was ever set; a reset to the default is a setting too.
    policy_origins: BTreeMap<String, PolicyOrigin>,
    registry: Arc<Registry>,
    index: Arc<Index>,
    /// The tools that others may be taken for, by their words and names; made from the registry, for what enters only.
    neighbours: Neighbours,
    pool: HotPool,
    tick: Tick,
    health: BTreeMap<ToolId, Health>,
    sessions: BTreeMap<SessionId, Entry>,
    /// Ended sessions that are still remembered, in the order they ended.
    ended: VecDeque<SessionId>,
    blocks: Blocks,
    figures: Figures,
    tool_figures: BTreeMap<ToolId, ToolFigures>,
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
            policy_origins: BTreeMap::new(),
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
            tool_figures: BTreeMap::new(),
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

    /// Returns who set a key of the policy last, and when; `None` where nobody did.
    pub fn policy_origin(&self, key: &str) -> Option<&PolicyOrigin> {
        self.policy_origins.get(key)
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

    /// Returns what happened in a session, an ended one included while it is remembered.
    pub fn history(&self, id: &SessionId) -> Option<&History> {
        self.sessions.get(id).map(|entry| &entry.history)
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

    /// Returns what a tool comes back to.
    fn past(&self, tool: &ToolId) -> Past {
        Past {
            before_withdrawal: self.health.get(tool).map_or(ToolState::Active, Health::before_withdrawal),
            is_approved: self.registry.get(tool).is_some_and(|entry| entry.current().is_some()),
        }
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
                    ToolAction::Approve => self.apply_approved(changed),
                    ToolAction::AcceptFlags => {
                        self.registry_mut().accept_flags(&changed.tool, at, &changed.actor, &changed.reason);
                    }
                    ToolAction::Retire | ToolAction::Restore | ToolAction::Quarantine | ToolAction::Repair => {}
                }
                self.remember_request(&changed.request_id, KnownRequest::of_change(changed));
            }
            Event::PolicySet(set) => self.apply_policy(at, set),
            Event::SessionOpened(opened) => self.apply_opened(at, opened),
            Event::StepPlanned(planned) => self.apply_step(at, planned),
            Event::StepEnded(ended) => {
                if let Some(entry) = self.sessions.get_mut(&ended.session)
                    && entry.session.apply_step_end(ended.step, at)
                {
                    self.figures.plans_without_call.add(ended.end);
                    entry.history.note_end(ended.step, ended.end);
                }
            }
            Event::ToolRequested(requested) => {
                self.figures.requests.add(requested.result);
                self.figures.extra_hops += 1;
                self.blocks.count_issues(&requested.issued);
                if let Some(entry) = self.sessions.get_mut(&requested.session) {
                    entry.history.note_request(requested);
                    entry.session.apply_request(Arc::new(requested.clone()), at);
                }
            }
            Event::CallsChecked(checked) => {
                if let Some(entry) = self.sessions.get_mut(&checked.session) {
                    entry.apply_check(checked, at);
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
                    entry.apply_usage(usage, at, &mut self.figures);
                }
            }
            Event::TimePassed => self.forget_ended(at),
            Event::SessionRefreshed(_) | Event::SessionClosed(_) | Event::SessionErased(_) => {}
            Event::BlockFrozen(frozen) => self.apply_block(at, frozen),
            Event::CallCounted(counted) => {
                if let Event::OutcomeReported(outcome) = cause {
                    self.apply_counted(at, outcome, counted);
                }
            }
            Event::CallJudged(judged) => {
                self.figures.selections.add(judged.verdict);
                if let Some(entry) = self.sessions.get_mut(&judged.session) {
                    if let Some(tool) = entry.tool_of(&judged.call_id) {
                        self.tool_figures.entry(tool.clone()).or_default().selections.add(judged.verdict);
                    }
                    entry.apply_verdict(judged);
                }
            }
            Event::PoolReranked(reranked) => self.apply_reranked(reranked),
            Event::ToolMoved(moved) => self.apply_moved(at, moved),
            Event::SessionEnded(ended) => {
                self.figures.sessions_ended.add(ended.end);
                if let Some(entry) = self.sessions.get_mut(&ended.session) {
                    entry.close_last_step(&mut self.figures);
                    self.blocks.release(&entry.session.digest());
                    entry.session.apply_end(ended.end, at);
                    self.ended.push_back(ended.session.clone());
                }
                self.forget_surplus();
            }
        }
    }

    fn apply_policy(&mut self, at: UnixMillis, set: &PolicySet) {
        self.policy_version += 1;
        // What the log holds was checked before it was written; a value that an older build took and this one does not
        // is left as it was.
        if let Ok(policy) = self.policy.with(&set.values) {
            self.pool.change_policy(&self.policy.hot_pool, &policy.hot_pool, self.tick);
            self.policy = Arc::new(policy);
            let origin = PolicyOrigin { version: self.policy_version, at, actor: set.actor.clone() };
            self.policy_origins.extend(set.values.keys().map(|key| (key.clone(), origin.clone())));
        }
        self.remember_request(&set.request_id, KnownRequest::PolicySet(set.values.clone()));
    }

    fn registry_mut(&mut self) -> &mut Registry {
        Arc::make_mut(&mut self.registry)
    }

    fn apply_registered(&mut self, registered: &ToolsRegistered) {
        for admitted in &registered.admitted {
            self.registry_mut().insert(admitted.clone());
            if admitted.waits.is_none() {
                self.take_up(&admitted.definition);
            }
            self.place_among_neighbours(&admitted.definition.id);
        }
        for tool in &registered.no_longer_waiting {
            self.registry_mut().stop_waiting(tool);
        }
        self.remember_request(&registered.request_id, KnownRequest::Registered(registered.notes.clone()));
    }

    fn apply_approved(&mut self, changed: &ToolChanged) {
        let Some(hash) = &changed.hash else { return };
        let Some(waiting) = self.waiting_with(&changed.tool, hash).cloned() else { return };
        self.registry_mut().approve(&changed.tool, hash);
        self.take_up(&waiting.admitted().definition);
        self.place_among_neighbours(&changed.tool);
        // What it starts with stands still until it is active.
        if !self.may_be_resident(&changed.tool) {
            self.pool.freeze(&self.policy.hot_pool, &changed.tool, self.tick);
        }
    }

    /// Lets a definition that is served from now on be found, and gives it the heat it starts with.
    fn take_up(&mut self, definition: &Definition) {
        let Some(tool) = self.registry.get(&definition.id) else { return };
        Arc::make_mut(&mut self.index).insert(definition, tool.alias());
        self.pool.seed(&definition.id, definition.initial_score, self.tick);
    }

    /// Puts a tool among those that others may be taken for, as it stands in the registry now, or takes it out.
    fn place_among_neighbours(&mut self, tool: &ToolId) {
        match self.registry.get(tool).and_then(|entry| as_neighbour(entry)) {
            Some(shown) => self.neighbours.insert(&shown.admitted().definition),
            None => self.neighbours.remove(tool),
        }
    }

    /// Returns the version of a tool that waits, if it is the one with this hash.
    fn waiting_with(&self, tool: &ToolId, hash: &Digest) -> Option<&Arc<Shown>> {
        self.registry.get(tool)?.waiting().filter(|waiting| waiting.admitted().hash == *hash)
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
        let entry = Entry::new(session, self.figures.sessions_opened);
        self.figures.sessions_opened += 1;
        self.figures.deliveries.add(opened.spec.delivery);
        self.sessions.insert(opened.session.clone(), entry);
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
            entry.close_last_step(&mut self.figures);
            entry.history.note_step(planned, at);
            self.blocks.count_step(&entry.session.digest());
            entry.session.apply_step(Arc::new(planned.clone()), at);
        }
    }

    fn apply_counted(&mut self, at: UnixMillis, outcome: &OutcomeReported, counted: &CallCounted) {
        let tool = &counted.tool;
        if let Some(tick) = counted.tick {
            self.tick = tick;
            self.pool.count(&self.policy.hot_pool, tool, tick);
            // Heat that begins while the tool is out stands still like any other's.
            if self.registry.get(tool).is_some_and(|entry| entry.state() != ToolState::Active) {
                self.pool.freeze(&self.policy.hot_pool, tool, tick);
            }
            self.figures.calls.add(counted.presence);
            let figures = self.tool_figures.entry(tool.clone()).or_default();
            figures.count(at, tick, counted.presence, outcome.ending);
            if let Some(entry) = self.sessions.get_mut(&counted.session)
                && entry.session.ended().is_none()
            {
                entry.session.apply_tick(&counted.call_id, tool, counted.presence);
                let arguments_fit = arguments_fitted(&entry.session, outcome);
                let call = CountedCall { call_id: &counted.call_id, tool, ending: outcome.ending, arguments_fit };
                entry.window.push(&call);
            }
            if let Some(entry) = self.sessions.get_mut(&counted.session) {
                entry.history.note_counted(outcome, counted, at);
            }
        } else {
            self.tool_figures.entry(tool.clone()).or_default().retries.add(outcome.ending);
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
        self.pool.apply(reranked);
        self.pool.publish(&self.policy.hot_pool, reranked.tick);
    }

    fn apply_moved(&mut self, at: UnixMillis, moved: &ToolMoved) {
        let tool = &moved.tool;
        // Its trust changed, and not its health.
        if moved.old == Some(moved.new) {
            return;
        }
        *self.figures.moves.entry((moved.new, moved.cause)).or_default() += 1;
        self.registry_mut().set_state(tool, moved.new);
        if moved.old == Some(ToolState::Retired) || moved.new == ToolState::Retired {
            self.place_among_neighbours(tool);
        }
        let was_out = moved.old.is_some_and(|state| state != ToolState::Active);
        let is_out = moved.new != ToolState::Active;
        if is_out && !was_out {
            // A popular tool that broke comes back to its place.
            self.pool.freeze(&self.policy.hot_pool, tool, self.tick);
        } else if was_out && !is_out {
            self.pool.thaw(tool, self.tick);
        }
        // A tool that was never anything but active has nothing to remember.
        if moved.old.is_some() || is_out {
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

/// Returns the version by which a tool counts when others are looked at: what is served of it, or what waits where nothing
/// is, since of two look-alikes that wait the second must be flagged. `None` once it is retired.
fn as_neighbour(tool: &Tool) -> Option<&Arc<Shown>> {
    tool.for_operators().filter(|_| tool.state() != ToolState::Retired)
}

/// Returns whether a call's arguments were checked and fitted, before it ran or after.
fn arguments_fitted(session: &Session, outcome: &OutcomeReported) -> bool {
    session.arguments_fitted(&outcome.call_id) || outcome.arguments_fit == Some(true)
}

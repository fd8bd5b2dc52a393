//! One session: its frozen block, its steps, and what is taken to be in its context.
//!
//! Answers the one question that everything is measured by: was the definition in front of the model when it called?
//! A session lives twice. The engine holds one that handlers change at once, under its lock; the namespace holds one
//! that the writer changes in log order. Both run this code over the same events of the session in the same order, so
//! the first is the second plus what is still on its way, and an answer given at once is the answer of the log.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::block::{self, Exclusion};
use super::erasure::Erasure;
use super::event::{
    Block, BlockFrozen, CacheBreak, CallsChecked, Ending, Issue, Origin, OutcomeReported, Presence, SessionEnd,
    SessionSpec, StepPlanned, ToolRequested, UsageReported, Verdict,
};
use super::ids::{CallId, Digest, Generation, SessionId, StepId, ToolId, UnixMillis, Version};
use super::registry::Registry;

/// Steps whose set is remembered; a call of an older one has unknown presence.
const STEPS_KEPT: usize = 64;

/// Calls remembered for telling repeats (RELIABILITY: 4,096 a session).
const CALLS_KEPT: usize = 4_096;

/// Last calls remembered for putting their tools back after a compaction.
const RECENT_CALLS_KEPT: usize = 64;

/// Requests for tools remembered, so that a repeated one is the same one.
const REQUESTS_KEPT: usize = 16;

/// A cache read counts as broken when it falls short by this share and this many tokens (as Pydantic AI counts it).
const CACHE_SHORT_SHARE: f64 = 0.05;
const CACHE_SHORT_TOKENS: u64 = 2_000;

/// On-demand definitions by tool, with the version that was shown.
pub type Shelf = BTreeMap<ToolId, Version>;

/// One planned step and the set it was planned with.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Step {
    /// As planned; a repeated key is answered from it.
    pub planned: Arc<StepPlanned>,
    /// The on-demand definitions in the request: what was present, and what the step issued.
    pub shelf: Shelf,
    /// Whether a call was made in it, or it is known how it ended without one.
    is_accounted: bool,
}

/// What is known of one call.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
struct Call {
    tool: Option<ToolId>,
    presence: Option<Presence>,
    /// What the check before the call found; `None` where nobody checked.
    checked: Option<Verdict>,
    is_reported: bool,
}

/// Definitions that a session was given together.
pub struct Given {
    /// The step that issued them, or in whose reply they were asked for; `None` where that is no longer known.
    pub step: Option<StepId>,
    /// Which.
    pub issued: Vec<Issue>,
}

/// What to do with a reported outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counting {
    /// It is a tick, with this presence.
    Tick(Presence),
    /// It is a repeat of a call that was counted, dispatched again by the runtime: health counts, the clock does not.
    Retry,
    /// Its session has ended: a tick whose presence cannot be said.
    Late,
    /// It was reported before.
    Duplicate,
    /// It is no call of an admitted tool, or it never ran.
    Ignored,
}

/// One context of one agent.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Session {
    id: SessionId,
    spec: Arc<SessionSpec>,
    generation: Generation,
    digest: Digest,
    n_blocks: u32,
    /// The revision of the registry that the block was made of.
    revision: u64,
    /// The block by its digest; kept once for all sessions by the namespace, which puts it back after reading a
    /// snapshot.
    #[serde(skip)]
    block: Option<Arc<Block>>,
    /// Residents of the generation before, for calls of its last steps.
    earlier_residents: BTreeMap<ToolId, Version>,
    steps: VecDeque<Step>,
    n_steps: u64,
    n_calls: u64,
    /// What is taken to be in the context besides the block.
    shelf: Shelf,
    /// The version in which each tool was ever shown to this session.
    shown: Shelf,
    /// Asked for by the model and not called since.
    recalled: BTreeSet<ToolId>,
    /// Called while absent and answered with the definition: the repeat is the same call.
    owed: BTreeSet<ToolId>,
    recent_calls: VecDeque<ToolId>,
    calls: BTreeMap<CallId, Call>,
    calls_in_order: VecDeque<CallId>,
    requests: VecDeque<Arc<ToolRequested>>,
    last_input_tokens: u64,
    opened: UnixMillis,
    last_heard: UnixMillis,
    ended: Option<(UnixMillis, SessionEnd)>,
}

impl Session {
    /// Opens a session, which gets its first block by [`Session::apply_block`]. A fork starts with what its original
    /// had been shown.
    pub fn open(id: SessionId, spec: Arc<SessionSpec>, original: Option<&Session>, at: UnixMillis) -> Self {
        let (shelf, shown) = original.map(|session| (session.shelf.clone(), session.shown.clone())).unwrap_or_default();
        Self {
            id,
            spec,
            generation: Generation(0),
            digest: Digest::of(b""),
            n_blocks: 0,
            revision: 0,
            block: None,
            earlier_residents: BTreeMap::new(),
            steps: VecDeque::new(),
            n_steps: 0,
            n_calls: 0,
            shelf,
            shown,
            recalled: BTreeSet::new(),
            owed: BTreeSet::new(),
            recent_calls: VecDeque::new(),
            calls: BTreeMap::new(),
            calls_in_order: VecDeque::new(),
            requests: VecDeque::new(),
            last_input_tokens: 0,
            opened: at,
            last_heard: at,
            ended: None,
        }
    }

    /// Returns its id.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Returns what the runtime asked for.
    pub fn spec(&self) -> &Arc<SessionSpec> {
        &self.spec
    }

    /// Returns how often its block was frozen.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// Returns the revision of the registry that its block was made of.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns how many different blocks it had: 1 unless it was refreshed.
    pub fn n_blocks(&self) -> u32 {
        self.n_blocks
    }

    /// Returns the digest of its block.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns its block; `None` only between reading a snapshot and [`Session::attach_block`].
    pub fn block(&self) -> Option<&Arc<Block>> {
        self.block.as_ref()
    }

    /// Puts the block back after reading a snapshot.
    pub fn attach_block(&mut self, block: Arc<Block>) {
        debug_assert_eq!(block.digest, self.digest);
        self.block = Some(block);
    }

    /// Returns when it was opened.
    pub fn opened(&self) -> UnixMillis {
        self.opened
    }

    /// Returns when something was last heard of it.
    pub fn last_heard(&self) -> UnixMillis {
        self.last_heard
    }

    /// Returns when and why it ended.
    pub fn ended(&self) -> Option<(UnixMillis, SessionEnd)> {
        self.ended
    }

    /// Returns how many steps were planned.
    pub fn n_steps(&self) -> u64 {
        self.n_steps
    }

    /// Returns how many calls were counted.
    pub fn n_calls(&self) -> u64 {
        self.n_calls
    }

    /// Returns its last step.
    pub fn last_step(&self) -> Option<&Step> {
        self.steps.back()
    }

    /// Goes through the remembered steps, oldest first.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter()
    }

    /// Returns a remembered step.
    pub fn step(&self, id: StepId) -> Option<&Step> {
        self.steps.iter().rev().find(|step| step.planned.step == id)
    }

    /// Returns the step that was planned with a key, so that a repeated key is the same step.
    pub fn step_with_key(&self, key: &str) -> Option<&Step> {
        if key.is_empty() { None } else { self.steps.iter().rev().find(|step| step.planned.key == key) }
    }

    /// Returns the id of the step that is planned next.
    pub fn next_step(&self) -> StepId {
        StepId { generation: self.generation, number: self.n_steps + 1 }
    }

    /// Returns the on-demand definitions in the context before a step: those that the runtime named, or all that was
    /// issued where it named none. Names are taken in the version that this session was shown. The runtime's word stands
    /// also where nothing is known of the tool having been shown: a crash may have taken the record of it. Its version is
    /// then 0, for the one that is served.
    pub fn shelf_before(&self, present: Option<&BTreeSet<ToolId>>) -> Shelf {
        let is_resident =
            |tool: &ToolId| self.block.as_ref().is_some_and(|block| block.resident_version(tool).is_some());
        match present {
            Some(tools) => {
                let on_demand = tools.iter().filter(|tool| !is_resident(tool));
                on_demand.map(|tool| (tool.clone(), self.shown_version(tool).unwrap_or_default())).collect()
            }
            None if self.spec.ephemeral => self.shelved_since_last_step(),
            None => self.shelf.clone(),
        }
    }

    /// Returns what tool results have brought since the last step was planned: the next step is the one they live for.
    fn shelved_since_last_step(&self) -> Shelf {
        let mut shelf = self.shelf.clone();
        if let Some(last) = self.steps.back() {
            shelf.retain(|tool, _| !last.shelf.contains_key(tool));
        }
        shelf
    }

    /// Returns the version of a tool that this session was last shown, in the block or on demand.
    pub fn shown_version(&self, tool: &ToolId) -> Option<Version> {
        let declared = self.block.as_ref().and_then(|block| block.declared_version(tool));
        declared.or_else(|| self.shown.get(tool).copied())
    }

    /// Returns why the session may not be given a tool now, or `None` if it may. Where the provider refuses the version
    /// that is served, the one that the session was shown goes on.
    pub fn exclusion(&self, registry: &Registry, tool: &ToolId) -> Option<Exclusion> {
        let why = block::exclusion(registry, &self.spec, tool);
        why.filter(|why| *why != Exclusion::NotRenderable || self.shown_version(tool).is_none())
    }

    /// Returns whether the model ever had a tool's definition in front of it; one that stands deferred it has not.
    pub fn was_shown(&self, tool: &ToolId) -> bool {
        let is_resident = self.block.as_ref().is_some_and(|block| block.resident_version(tool).is_some());
        is_resident || self.shown.contains_key(tool)
    }

    /// Returns the tools of the session's last `n_calls` calls, the latest first, each once.
    pub fn recently_called(&self, n_calls: usize) -> Vec<&ToolId> {
        let mut tools = Vec::new();
        for tool in self.recent_calls.iter().rev().take(n_calls) {
            if !tools.contains(&tool) {
                tools.push(tool);
            }
        }
        tools
    }

    /// Judges whether a tool's definition was in front of the model in a step, by the set which that step was planned
    /// with and never by the session as it is now: a tool recalled in the same reply is absent for its siblings. Without
    /// a step, by what the session is taken to hold.
    pub fn presence(&self, step: Option<StepId>, tool: &ToolId) -> Presence {
        let Some(step) = step else {
            return self.presence_on(&self.shelf, self.generation, tool);
        };
        match self.step(step) {
            Some(known) => self.presence_on(&known.shelf, step.generation, tool),
            None => Presence::Unknown,
        }
    }

    fn presence_on(&self, shelf: &Shelf, generation: Generation, tool: &ToolId) -> Presence {
        let is_resident = if generation == self.generation {
            self.block.as_ref().is_some_and(|block| block.resident_version(tool).is_some())
        } else if generation.next() == self.generation {
            self.earlier_residents.contains_key(tool)
        } else {
            return Presence::Unknown;
        };
        if is_resident {
            return Presence::Resident;
        }
        if self.owed.contains(tool) || !shelf.contains_key(tool) {
            return Presence::Absent;
        }
        if self.recalled.contains(tool) { Presence::Recalled } else { Presence::Issued }
    }

    /// Returns the presence that a call was judged to have when it was checked.
    pub fn judged_presence(&self, call: &CallId) -> Option<Presence> {
        self.calls.get(call).and_then(|call| call.presence)
    }

    /// Returns the tool that a checked call stands for.
    pub fn checked_tool(&self, call: &CallId) -> Option<&ToolId> {
        self.calls.get(call).and_then(|call| call.tool.as_ref())
    }

    /// Returns whether a call's arguments were checked and fitted.
    pub fn arguments_fitted(&self, call: &CallId) -> bool {
        self.calls.get(call).is_some_and(|call| call.checked == Some(Verdict::Unjudged))
    }

    /// Returns whether a call was checked before, so that a repeated check draws nothing again.
    pub fn was_checked(&self, call: &CallId) -> bool {
        self.calls.get(call).is_some_and(|call| call.checked.is_some())
    }

    /// Decides what a reported outcome is.
    pub fn counting(&self, outcome: &OutcomeReported) -> Counting {
        let known = self.calls.get(&outcome.call_id);
        if known.is_some_and(|call| call.is_reported) {
            return Counting::Duplicate;
        }
        let was_refused = known.and_then(|call| call.checked).is_some_and(Verdict::is_wrong);
        let Some(tool) = &outcome.tool else { return Counting::Ignored };
        if was_refused || outcome.ending == Ending::NotRun {
            return Counting::Ignored;
        }
        if outcome.retry_of.is_some() {
            return Counting::Retry;
        }
        if self.ended.is_some() {
            return Counting::Late;
        }
        let judged = known.and_then(|call| call.presence);
        Counting::Tick(judged.unwrap_or_else(|| self.presence(outcome.step, tool)))
    }

    /// Takes in a planned step.
    pub fn apply_step(&mut self, planned: Arc<StepPlanned>, at: UnixMillis) {
        self.last_heard = at;
        let mut shelf = self.shelf_before(planned.present.as_ref());
        for issue in &planned.issued {
            shelf.insert(issue.tool.clone(), issue.version);
            self.show(issue);
        }
        self.shelf.clone_from(&shelf);
        // What was not said of the step before has been counted as unknown by now; a later word is no second step.
        if let Some(last) = self.steps.back_mut() {
            last.is_accounted = true;
        }
        self.n_steps = self.n_steps.max(planned.step.number);
        self.steps.push_back(Step { planned, shelf, is_accounted: false });
        if self.steps.len() > STEPS_KEPT {
            self.steps.pop_front();
        }
    }

    fn show(&mut self, issue: &Issue) {
        self.shown.insert(issue.tool.clone(), issue.version);
        if issue.origin == Origin::Recalled {
            self.recalled.insert(issue.tool.clone());
        }
    }

    /// Returns what was answered to a request before, so that a repeated one is the same one.
    pub fn request(&self, call: &CallId) -> Option<&Arc<ToolRequested>> {
        self.requests.iter().rev().find(|requested| &requested.call_id == call)
    }

    /// Goes through the remembered requests for tools, oldest first.
    pub fn requests(&self) -> impl Iterator<Item = &Arc<ToolRequested>> {
        self.requests.iter()
    }

    /// Returns what the session was given besides its block, together as it came: what the remembered steps issued, each
    /// followed by what was asked for in its reply, then all else that it was shown, one by one.
    pub fn given(&self) -> Vec<Given> {
        let mut given: Vec<Given> = Vec::new();
        for step in &self.steps {
            let id = step.planned.step;
            given.push(Given { step: Some(id), issued: step.planned.issued.clone() });
            let asked = self.requests.iter().filter(|requested| requested.step == Some(id));
            given.extend(asked.map(|requested| Given { step: Some(id), issued: requested.issued.clone() }));
        }
        let together: BTreeSet<(ToolId, Version)> =
            given.iter().flat_map(|given| &given.issued).map(|issue| (issue.tool.clone(), issue.version)).collect();
        for (tool, version) in &self.shown {
            if !together.contains(&(tool.clone(), *version)) {
                let issue = Issue { tool: tool.clone(), version: *version, origin: Origin::Issued, score: 0.0 };
                given.push(Given { step: None, issued: vec![issue] });
            }
        }
        given
    }

    /// Takes in what the model asked for: it is in the context from the next step on.
    pub fn apply_request(&mut self, requested: Arc<ToolRequested>, at: UnixMillis) {
        self.last_heard = at;
        for issue in &requested.issued {
            self.shelf.insert(issue.tool.clone(), issue.version);
            self.show(issue);
        }
        self.account(requested.step);
        self.requests.push_back(requested);
        if self.requests.len() > REQUESTS_KEPT {
            self.requests.pop_front();
        }
    }

    /// Returns the last step, if no call was made in it and nobody said how it ended.
    pub fn unaccounted_step(&self) -> Option<StepId> {
        self.steps.back().filter(|step| !step.is_accounted).map(|step| step.planned.step)
    }

    /// Takes in how a step ended without a call, and says whether that was news.
    pub fn apply_step_end(&mut self, id: StepId, at: UnixMillis) -> bool {
        self.last_heard = at;
        self.account(Some(id))
    }

    /// Notes that it is known what became of a step, the newest where none is named, and says whether that was news.
    fn account(&mut self, id: Option<StepId>) -> bool {
        let mut newest_first = self.steps.iter_mut().rev();
        let step = match id {
            Some(id) => newest_first.find(|step| step.planned.step == id),
            None => newest_first.next(),
        };
        let Some(step) = step else { return false };
        !std::mem::replace(&mut step.is_accounted, true)
    }

    /// Returns why the provider's cache broke, if the billing of a step says that it did.
    pub fn cache_break(&self, usage: &UsageReported) -> Option<CacheBreak> {
        let short = self.last_input_tokens.saturating_sub(usage.cached_tokens);
        let is_short = short >= CACHE_SHORT_TOKENS && short as f64 > self.last_input_tokens as f64 * CACHE_SHORT_SHARE;
        CacheBreak::named(&usage.miss_reason).or(is_short.then_some(CacheBreak::Unknown))
    }

    /// Takes in what the provider billed.
    pub fn apply_usage(&mut self, usage: &UsageReported, at: UnixMillis) {
        self.last_heard = at;
        self.last_input_tokens = usage.input_tokens;
    }

    /// Takes in a check of calls. The presence of each is settled here, in the order of the reply.
    pub fn apply_check(&mut self, checked: &CallsChecked, at: UnixMillis) {
        self.last_heard = at;
        if !checked.calls.is_empty() {
            self.account(checked.step);
        }
        for call in &checked.calls {
            if self.was_checked(&call.call_id) {
                continue;
            }
            let presence = call.tool.as_ref().map(|tool| self.presence(checked.step, tool));
            if let (Some(tool), Some(presence)) = (&call.tool, presence) {
                if call.issued {
                    self.shelf.insert(tool.clone(), call.version);
                    self.shown.insert(tool.clone(), call.version);
                    if presence == Presence::Absent {
                        self.owed.insert(tool.clone());
                    }
                } else if !call.verdict.is_wrong() && self.was_on_shelf(checked.step, tool) {
                    self.recalled.remove(tool);
                    self.owed.remove(tool);
                }
            }
            // A call may have been reported before anybody checked it.
            let mut known = self.calls.get(&call.call_id).cloned().unwrap_or_default();
            known.tool.clone_from(&call.tool);
            known.presence = known.presence.or(presence);
            known.checked = Some(call.verdict);
            self.remember(call.call_id.clone(), known);
        }
    }

    /// Returns whether a definition given on demand stood in a step's request. Only a call of such a step ends the marks
    /// that speak of the *next* call of a tool: a sibling of the request or of the refused call is no answer to it.
    fn was_on_shelf(&self, step: Option<StepId>, tool: &ToolId) -> bool {
        match step {
            Some(step) => self.step(step).is_some_and(|known| known.shelf.contains_key(tool)),
            None => self.shelf.contains_key(tool),
        }
    }

    fn remember(&mut self, id: CallId, call: Call) {
        if self.calls.insert(id.clone(), call).is_none() {
            self.calls_in_order.push_back(id);
        }
        if self.calls_in_order.len() > CALLS_KEPT
            && let Some(oldest) = self.calls_in_order.pop_front()
        {
            self.calls.remove(&oldest);
        }
    }

    /// Takes in that an outcome was reported, so that the next report of the same call is a repeat.
    pub fn apply_report(&mut self, outcome: &OutcomeReported, at: UnixMillis) {
        self.last_heard = at;
        let mut call = self.calls.get(&outcome.call_id).cloned().unwrap_or_default();
        call.is_reported = true;
        self.account(outcome.step);
        self.remember(outcome.call_id.clone(), call);
    }

    /// Takes in that a call became a tick.
    pub fn apply_tick(&mut self, call_id: &CallId, tool: &ToolId, presence: Presence) {
        self.n_calls += 1;
        if let Some(call) = self.calls.get_mut(call_id) {
            call.presence = Some(presence);
        }
        // A checked call settled its marks when it was checked, in the order of the reply.
        if !self.was_checked(call_id) {
            match presence {
                Presence::Recalled => self.recalled.remove(tool),
                Presence::Absent => self.owed.remove(tool),
                Presence::Resident | Presence::Issued | Presence::Unknown => false,
            };
        }
        self.recent_calls.push_back(tool.clone());
        if self.recent_calls.len() > RECENT_CALLS_KEPT {
            self.recent_calls.pop_front();
        }
    }

    /// Takes the next block.
    pub fn apply_block(&mut self, block: Arc<Block>, frozen: &BlockFrozen, at: UnixMillis) {
        self.last_heard = at;
        if let Some(old) = &self.block {
            self.earlier_residents = old.residents.iter().map(|r| (r.tool.clone(), r.version)).collect();
        }
        if self.n_blocks == 0 || self.digest != block.digest {
            self.n_blocks += 1;
        }
        self.generation = frozen.generation;
        self.revision = frozen.revision;
        self.digest = block.digest;
        self.block = Some(block);
    }

    /// Replaces what a runtime or a user wrote into the session, the ids of its calls included.
    pub fn erase(&mut self, erasure: &Erasure, registry: &Registry) {
        self.id = erasure.pseudonym().clone();
        erasure.clear_spec(Arc::make_mut(&mut self.spec), registry);
        let calls = std::mem::take(&mut self.calls);
        self.calls = calls.into_iter().map(|(id, call)| (erasure.call(&id), call)).collect();
        for id in &mut self.calls_in_order {
            *id = erasure.call(id);
        }
        for step in &mut self.steps {
            erasure.clear_step(Arc::make_mut(&mut step.planned), registry);
        }
        for requested in &mut self.requests {
            erasure.clear_request(Arc::make_mut(requested));
        }
    }

    /// Puts a session's new name where this one refers to it.
    pub fn rename_relative(&mut self, erasure: &Erasure) {
        if erasure.is_relative(&self.spec) {
            erasure.rename_relative(Arc::make_mut(&mut self.spec));
        }
    }

    /// Ends the session. It is remembered for a while, so that late outcomes are told from unknown ones; for that, its
    /// calls and the versions it was shown are kept, and nothing else that takes room.
    pub fn apply_end(&mut self, end: SessionEnd, at: UnixMillis) {
        self.ended = Some((at, end));
        self.steps.clear();
        self.requests.clear();
        self.recent_calls.clear();
        self.shelf.clear();
        self.earlier_residents.clear();
        self.recalled.clear();
        self.owed.clear();
    }
}

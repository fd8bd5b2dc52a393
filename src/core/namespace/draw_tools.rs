//! What the core draws from registrations and from what operators do to tools: transitions, and who is resident then.

use std::collections::BTreeSet;

use super::super::event::{Event, MoveCause, ToolAction, ToolChanged, ToolMoved, ToolState, ToolsRegistered};
use super::super::ids::{ToolId, UnixMillis};
use super::super::lifecycle::{self, Health, Past};
use super::Namespace;

/// Who stands in another state once a registration is taken in.
#[derive(Default)]
struct Sides {
    /// Active from now on.
    active: BTreeSet<ToolId>,
    /// In any other state.
    out: BTreeSet<ToolId>,
}

impl Sides {
    fn add(&mut self, tool: &ToolId, new: ToolState) {
        let side = if new == ToolState::Active { &mut self.active } else { &mut self.out };
        side.insert(tool.clone());
    }
}

impl Namespace {
    pub(super) fn draw_registered(&self, registered: &ToolsRegistered) -> Vec<Event> {
        let mut drawn = Vec::new();
        let mut sides = Sides::default();
        for admitted in &registered.admitted {
            let tool = &admitted.definition.id;
            let cause = if admitted.waits.is_some() { MoveCause::AwaitsApproval } else { MoveCause::Admitted };
            let old = self.registry.get(tool).map(|entry| entry.state());
            // A withdrawn tool is listed again first.
            if old == Some(ToolState::Withdrawn) {
                continue;
            }
            if let Some(new) = lifecycle::transition(old, cause, self.past(tool)) {
                drawn.push(Event::ToolMoved(self.moved_by_listing(registered, tool, new, cause)));
                if old != Some(new) && old.is_some() {
                    sides.add(tool, new);
                }
            }
        }
        self.draw_listed(registered, &mut sides, &mut drawn);
        drawn.extend(self.draw_refill_after(registered, &sides));
        drawn
    }

    /// Draws who is listed again, and whom the whole list of a source leaves out.
    fn draw_listed(&self, registered: &ToolsRegistered, sides: &mut Sides, drawn: &mut Vec<Event>) {
        let offered: BTreeSet<&ToolId> = registered
            .listed
            .iter()
            .chain(registered.admitted.iter().map(|admitted| &admitted.definition.id))
            .collect();
        let served = registered.admitted.iter().filter(|admitted| admitted.waits.is_none());
        let approved_now: BTreeSet<&ToolId> = served.map(|admitted| &admitted.definition.id).collect();
        for (tool, entry) in self.registry.iter() {
            let cause = if offered.contains(tool) {
                MoveCause::ListedAgain
            } else if registered.complete_sources.contains(&tool.source) {
                MoveCause::Vanished
            } else {
                continue;
            };
            let past = self.past(tool);
            let past = Past { is_approved: past.is_approved || approved_now.contains(tool), ..past };
            if let Some(new) = lifecycle::transition(Some(entry.state()), cause, past) {
                drawn.push(Event::ToolMoved(self.moved_by_listing(registered, tool, new, cause)));
                sides.add(tool, new);
            }
        }
    }

    fn moved_by_listing(
        &self,
        registered: &ToolsRegistered,
        tool: &ToolId,
        new: ToolState,
        cause: MoveCause,
    ) -> ToolMoved {
        ToolMoved {
            tool: tool.clone(),
            old: self.registry.get(tool).map(|entry| entry.state()),
            new,
            cause,
            actor: registered.actor.clone(),
            reason: String::new(),
            // A quarantine goes on where it was when its tool is listed again.
            until: self.health.get(tool).and_then(Health::until_once_listed).filter(|_| new == ToolState::Quarantined),
            diagnosis: None,
        }
    }

    /// Seeded tools may be resident before anybody called them, and tools listed again were used before: a free slot is
    /// theirs at once. What waits for approval seeds nothing.
    fn draw_refill_after(&self, registered: &ToolsRegistered, sides: &Sides) -> Option<Event> {
        let served = || registered.admitted.iter().filter(|admitted| admitted.waits.is_none());
        let is_seeded = served().any(|admitted| admitted.definition.initial_score > 0.0);
        if !is_seeded && sides.active.is_empty() && sides.out.is_empty() {
            return None;
        }
        let mut pool = self.pool.clone();
        let mut fresh = BTreeSet::new();
        for admitted in served() {
            let definition = &admitted.definition;
            pool.seed(&definition.id, definition.initial_score, self.tick);
            if self.registry.get(&definition.id).is_none() {
                fresh.insert(&definition.id);
            }
        }
        let is_new_or_back = |tool: &ToolId| fresh.contains(tool) || sides.active.contains(tool);
        let is_eligible =
            |tool: &ToolId| is_new_or_back(tool) || (self.may_be_resident(tool) && !sides.out.contains(tool));
        pool.refill(&self.policy.hot_pool, self.tick, &self.pinned(), &is_eligible).map(Event::PoolReranked)
    }

    pub(super) fn draw_changed(&self, at: UnixMillis, changed: &ToolChanged) -> Vec<Event> {
        match changed.action {
            ToolAction::Approve => self.draw_approved(changed),
            ToolAction::AcceptFlags => Vec::new(),
            ToolAction::Pin | ToolAction::Unpin => self.draw_pin(changed),
            ToolAction::Retire | ToolAction::Restore | ToolAction::Quarantine | ToolAction::Repair => {
                self.draw_moved(at, changed)
            }
        }
    }

    fn draw_moved(&self, at: UnixMillis, changed: &ToolChanged) -> Vec<Event> {
        let tool = &changed.tool;
        let Some(cause) = lifecycle::cause_of(changed.action) else { return Vec::new() };
        let Some(new) = self.next_state(tool, cause) else { return Vec::new() };
        let moved = self.moved(at, tool, new, cause, &changed.actor, &changed.reason);
        let mut drawn = vec![Event::ToolMoved(moved)];
        let is_eligible =
            |other: &ToolId| if other == tool { new == ToolState::Active } else { self.may_be_resident(other) };
        drawn.extend(self.refill(&self.pinned(), is_eligible));
        drawn
    }

    /// The tool is served in the version that waited. Where it stands changes only if nothing of it was served before;
    /// then a free slot may be its own at once.
    fn draw_approved(&self, changed: &ToolChanged) -> Vec<Event> {
        let tool = &changed.tool;
        let waiting = changed.hash.and_then(|hash| self.waiting_with(tool, &hash));
        let (Some(waiting), Some(new)) = (waiting, self.next_state(tool, MoveCause::Approved)) else {
            return Vec::new();
        };
        let old = self.registry.get(tool).map(|entry| entry.state());
        let moved = ToolMoved {
            tool: tool.clone(),
            old,
            new,
            cause: MoveCause::Approved,
            actor: changed.actor.clone(),
            reason: changed.reason.clone(),
            until: None,
            diagnosis: None,
        };
        let mut pool = self.pool.clone();
        pool.seed(tool, waiting.admitted().definition.initial_score, self.tick);
        let is_eligible =
            |other: &ToolId| if other == tool { new == ToolState::Active } else { self.may_be_resident(other) };
        let refilled = pool.refill(&self.policy.hot_pool, self.tick, &self.pinned(), &is_eligible);
        let mut drawn = vec![Event::ToolMoved(moved)];
        drawn.extend(refilled.map(Event::PoolReranked));
        drawn
    }

    /// A pinned tool takes a slot at once; an unpinned one keeps its slot until the next re-rank.
    fn draw_pin(&self, changed: &ToolChanged) -> Vec<Event> {
        let mut pinned = self.pinned();
        match changed.action {
            ToolAction::Pin => pinned.insert(changed.tool.clone()),
            _ => pinned.remove(&changed.tool),
        };
        self.refill(&pinned, |tool| self.may_be_resident(tool)).into_iter().collect()
    }
}

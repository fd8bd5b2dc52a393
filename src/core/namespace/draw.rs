//! What the core draws from a cause: blocks, counted calls, verdicts, epochs, transitions, ended sessions.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::block;
use super::super::event::{
    Block, BlockFrozen, CallCounted, CallJudged, CallsChecked, Diagnosis, Event, Judge, MoveCause, OutcomeReported,
    PolicySet, PoolReranked, Presence, SessionEnd, SessionEnded, SessionOpened, SessionRefreshed, ToolMoved, ToolState,
    Verdict,
};
use super::super::ids::{Generation, SessionId, ToolId, UnixMillis};
use super::super::judging::CountedCall;
use super::super::lifecycle::{self, Health};
use super::super::session::Counting;
use super::{Entry, Namespace, arguments_fitted};

/// Who is written down as the actor of what the core draws.
const CORE: &str = "core";

impl Namespace {
    /// Takes a cause in, stamped `at`, and returns the consequences that were drawn and taken in with it.
    pub fn fold(&mut self, at: UnixMillis, cause: &Event) -> Vec<Event> {
        debug_assert!(cause.is_cause());
        if let Event::OutcomeReported(outcome) = cause {
            return self.fold_outcome(at, outcome, cause);
        }
        let drawn = self.draw(at, cause);
        self.apply(at, cause, cause);
        for event in &drawn {
            self.apply(at, cause, event);
        }
        drawn
    }

    /// Returns what a cause would draw, without taking anything in. An outcome's consequences depend on each other, so
    /// only [`Namespace::fold`] draws those.
    pub fn draw(&self, at: UnixMillis, cause: &Event) -> Vec<Event> {
        match cause {
            Event::ToolsRegistered(registered) => self.draw_registered(registered),
            Event::ToolChanged(changed) => self.draw_changed(at, changed),
            Event::PolicySet(set) => self.draw_policy(set),
            Event::SessionOpened(opened) => vec![self.draw_block(opened)],
            Event::SessionRefreshed(refreshed) => self.draw_refresh(refreshed),
            Event::SessionClosed(closed) => self.draw_end(&closed.session, SessionEnd::Closed),
            Event::CallsChecked(checked) => self.draw_checked(checked),
            Event::TimePassed => self.draw_time(at),
            _ => Vec::new(),
        }
    }

    /// A changed pool policy chooses anew at once, with heats as they are under the old decay.
    fn draw_policy(&self, set: &PolicySet) -> Vec<Event> {
        let Ok(policy) = self.policy.with(&set.values) else { return Vec::new() };
        if policy.hot_pool == self.policy.hot_pool {
            return Vec::new();
        }
        let mut pool = self.pool.clone();
        pool.change_policy(&self.policy.hot_pool, &policy.hot_pool, self.tick);
        let is_eligible = |tool: &ToolId| self.may_be_resident(tool);
        vec![Event::PoolReranked(pool.rerank(&policy.hot_pool, self.tick, &self.pinned(), &is_eligible))]
    }

    /// Returns where a tool would go for a cause.
    pub(super) fn next_state(&self, tool: &ToolId, cause: MoveCause) -> Option<ToolState> {
        let old = self.registry.get(tool)?.state();
        lifecycle::transition(Some(old), cause, self.past(tool))
    }

    pub(super) fn moved(
        &self,
        at: UnixMillis,
        tool: &ToolId,
        new: ToolState,
        cause: MoveCause,
        actor: &str,
        reason: &str,
    ) -> ToolMoved {
        let is_quarantine = matches!(new, ToolState::Quarantined | ToolState::Held);
        // What a person took out, a person lets back in: a backoff knows nothing of why.
        let ends_by_itself = new == ToolState::Quarantined && cause != MoveCause::QuarantinedByHand;
        ToolMoved {
            tool: tool.clone(),
            old: self.registry.get(tool).map(|entry| entry.state()),
            new,
            cause,
            actor: actor.to_owned(),
            reason: reason.to_owned(),
            until: ends_by_itself.then(|| at.plus_secs(u64::from(self.policy.life.backoff_secs))),
            diagnosis: is_quarantine.then(|| self.diagnose(tool)),
        }
    }

    fn diagnose(&self, tool: &ToolId) -> Diagnosis {
        let health = self.health.get(tool);
        let place = self.pool.members().iter().position(|member| member == tool);
        Diagnosis {
            failures: health.map(|health| health.failures().to_vec()).unwrap_or_default(),
            last_success: health.and_then(Health::last_success),
            heat: self.heat_key(tool) as f64 / (1u64 << 30) as f64,
            rank: place.map(|place| place as u32 + 1),
        }
    }

    pub(super) fn may_be_resident(&self, tool: &ToolId) -> bool {
        self.registry.get(tool).is_some_and(|entry| entry.state() == ToolState::Active)
    }

    pub(super) fn refill(&self, pinned: &BTreeSet<ToolId>, is_eligible: impl Fn(&ToolId) -> bool) -> Option<Event> {
        let refilled = self.pool.refill(&self.policy.hot_pool, self.tick, pinned, &is_eligible);
        refilled.map(Event::PoolReranked)
    }

    fn draw_block(&self, opened: &SessionOpened) -> Event {
        let original = opened.spec.fork_of.as_ref().and_then(|id| self.session(id));
        let copied = original.and_then(|session| Some((session.block()?.clone(), session.revision())));
        let (block, revision) =
            copied.unwrap_or_else(|| (Arc::new(self.view().freeze(&opened.spec)), self.registry.revision()));
        self.frozen(&opened.session, Generation(1), block, revision)
    }

    fn frozen(&self, session: &SessionId, generation: Generation, block: Arc<Block>, revision: u64) -> Event {
        let digest = block.digest;
        let is_held = self.blocks.get(&digest).is_some();
        let block = (!is_held).then_some(block);
        Event::BlockFrozen(BlockFrozen { session: session.clone(), generation, digest, revision, block })
    }

    fn draw_refresh(&self, refreshed: &SessionRefreshed) -> Vec<Event> {
        let Some(session) = self.session(&refreshed.session).filter(|session| session.ended().is_none()) else {
            return Vec::new();
        };
        let block = block::freeze(&self.registry, self.pool.published(), &self.policy, session.spec(), &refreshed.keep);
        let generation = session.generation().next();
        vec![self.frozen(&refreshed.session, generation, Arc::new(block), self.registry.revision())]
    }

    fn draw_end(&self, session: &SessionId, end: SessionEnd) -> Vec<Event> {
        let Some(entry) = self.sessions.get(session).filter(|entry| entry.session.ended().is_none()) else {
            return Vec::new();
        };
        let mut drawn = Vec::new();
        for (call_id, verdict) in entry.window.verdicts_at_end() {
            let judged = CallJudged { session: session.clone(), call_id, verdict, judge: Judge::Rule };
            drawn.push(Event::CallJudged(judged));
        }
        drawn.push(Event::SessionEnded(SessionEnded { session: session.clone(), end }));
        drawn
    }

    /// What is wrong on its face is judged when it is seen.
    fn draw_checked(&self, checked: &CallsChecked) -> Vec<Event> {
        let Some(session) = self.session(&checked.session) else { return Vec::new() };
        if session.spec().played {
            return Vec::new();
        }
        // A session takes in the first check of a call and no other, so no other is judged.
        let mut seen = BTreeSet::new();
        let wrong = checked.calls.iter().filter(|call| {
            let is_first = seen.insert(&call.call_id) && !session.was_checked(&call.call_id);
            is_first && call.verdict.is_wrong()
        });
        wrong
            .map(|call| {
                let call_id = call.call_id.clone();
                let session = checked.session.clone();
                Event::CallJudged(CallJudged { session, call_id, verdict: call.verdict, judge: Judge::Rule })
            })
            .collect()
    }

    fn draw_time(&self, now: UnixMillis) -> Vec<Event> {
        let mut drawn = Vec::new();
        for (tool, health) in &self.health {
            if health.is_backoff_over(now)
                && let Some(new) = self.next_state(tool, MoveCause::BackoffOver)
            {
                drawn.push(Event::ToolMoved(self.moved(now, tool, new, MoveCause::BackoffOver, CORE, "")));
            }
        }
        let is_idle = |entry: &&Entry| entry.session.ended().is_none() && self.idle_end(&entry.session) <= now;
        let mut idle: Vec<&Entry> = self.sessions.values().filter(is_idle).collect();
        idle.sort_by_key(|entry| (entry.session.opened(), entry.order));
        for entry in idle {
            drawn.extend(self.draw_end(entry.session.id(), SessionEnd::Expired));
        }
        drawn
    }

    fn fold_outcome(&mut self, at: UnixMillis, outcome: &OutcomeReported, cause: &Event) -> Vec<Event> {
        let counted = self.draw_counted(outcome);
        let verdicts = self.draw_verdicts(outcome, counted.as_ref());
        self.apply(at, cause, cause);
        let mut drawn = Vec::new();
        // The call closes the window of those before it, so their verdicts come first.
        for event in verdicts {
            self.take(at, cause, event, &mut drawn);
        }
        let Some(counted) = counted else { return drawn };
        let (tool, tick) = (counted.tool.clone(), counted.tick);
        self.take(at, cause, Event::CallCounted(counted), &mut drawn);
        if let Some(event) = self.draw_own_verdict(outcome, tick.is_some()) {
            self.take(at, cause, event, &mut drawn);
        }
        if let Some(tick) = tick
            && self.pool.is_due(&self.policy.hot_pool, tick)
        {
            let reranked = self.rerank();
            self.take(at, cause, Event::PoolReranked(reranked), &mut drawn);
        }
        if let Some(moved) = self.draw_health(at, &tool) {
            self.take(at, cause, Event::ToolMoved(moved), &mut drawn);
            // A quarantined resident leaves the live pool at once.
            if let Some(refilled) = self.refill(&self.pinned(), |tool| self.may_be_resident(tool)) {
                self.take(at, cause, refilled, &mut drawn);
            }
        }
        drawn
    }

    fn take(&mut self, at: UnixMillis, cause: &Event, event: Event, drawn: &mut Vec<Event>) {
        self.apply(at, cause, &event);
        drawn.push(event);
    }

    fn rerank(&self) -> PoolReranked {
        self.pool.rerank(&self.policy.hot_pool, self.tick, &self.pinned(), &|tool| self.may_be_resident(tool))
    }

    fn draw_counted(&self, outcome: &OutcomeReported) -> Option<CallCounted> {
        let session = self.session(&outcome.session)?;
        let tool = outcome.tool.clone()?;
        let (tick, presence) = match session.counting(outcome) {
            Counting::Tick(presence) => (Some(self.tick.next()), presence),
            Counting::Late => (Some(self.tick.next()), Presence::Unknown),
            Counting::Retry => (None, Presence::Unknown),
            Counting::Duplicate | Counting::Ignored => return None,
        };
        let (session, call_id) = (outcome.session.clone(), outcome.call_id.clone());
        Some(CallCounted { session, call_id, tool, tick, presence })
    }

    /// Returns the verdicts on earlier calls of the session that this one settles.
    fn draw_verdicts(&self, outcome: &OutcomeReported, counted: Option<&CallCounted>) -> Vec<Event> {
        let (Some(entry), Some(counted)) = (self.sessions.get(&outcome.session), counted) else { return Vec::new() };
        if counted.tick.is_none() || entry.session.ended().is_some() {
            return Vec::new();
        }
        let call = CountedCall {
            call_id: &counted.call_id,
            tool: &counted.tool,
            ending: outcome.ending,
            arguments_fit: arguments_fitted(&entry.session, outcome),
        };
        let served = |tool: &ToolId| self.registry.get(tool).and_then(|entry| entry.current());
        let confusable = |a: &ToolId, b: &ToolId| match (served(a), served(b)) {
            (Some(a), Some(b)) => a.is_confusable_with(b),
            _ => false,
        };
        let verdicts = entry.window.verdicts(&call, confusable);
        verdicts
            .into_iter()
            .map(|(call_id, verdict)| {
                let session = outcome.session.clone();
                Event::CallJudged(CallJudged { session, call_id, verdict, judge: Judge::Rule })
            })
            .collect()
    }

    /// Returns the verdict that can be given on the call itself: by somebody's judgement, by arguments checked after
    /// the fact, or none at all where the traffic is played.
    fn draw_own_verdict(&self, outcome: &OutcomeReported, is_tick: bool) -> Option<Event> {
        let session = self.session(&outcome.session).filter(|session| is_tick && session.ended().is_none())?;
        let (verdict, judge) = match &outcome.judgement {
            Some(judgement) => (judgement.verdict, judgement.judge),
            None if session.spec().played => (Verdict::Unjudged, Judge::Rule),
            None if outcome.arguments_fit == Some(false) => (Verdict::InvalidArguments, Judge::Rule),
            None => return None,
        };
        let (session, call_id) = (outcome.session.clone(), outcome.call_id.clone());
        Some(Event::CallJudged(CallJudged { session, call_id, verdict, judge }))
    }

    fn draw_health(&self, at: UnixMillis, tool: &ToolId) -> Option<ToolMoved> {
        let state = self.registry.get(tool)?.state();
        let cause = self.health.get(tool)?.due_move(state, at, &self.policy.life)?;
        let new = self.next_state(tool, cause)?;
        Some(self.moved(at, tool, new, cause, CORE, ""))
    }
}

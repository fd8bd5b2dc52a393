//! Erasing what was kept of one session's words.
//!
//! A session's records stay, since figures, heat and verdicts were drawn from them; what a user, a model or a runtime wrote
//! into them goes. Texts are emptied. Ids are replaced, everywhere alike, by others from which nobody gets back, so that
//! what the erased log draws is what stands in it. Tools of the registry are no words of a session and stay; names that no
//! tool bears go. The one thing to know before editing: nothing that is replaced here may decide anything in
//! `namespace::draw`, nor may its order among others.

use std::collections::BTreeSet;
use std::mem;
use std::sync::Arc;

use super::event::{
    CacheBreak, Event, Failure, OutcomeReported, PoolSpec, SessionSpec, StepPlanned, ToolRequested, UsageReported,
};
use super::ids::{Alias, CallId, Digest, Selector, SessionId, ToolId};
use super::registry::Registry;

/// How the name of an erased session begins.
const PREFIX: &str = "erased-";

/// Hex digits of a name: enough that no two are ever alike.
const NAME_DIGITS: usize = 32;

/// The words that take the place of one session's.
pub struct Erasure {
    session: SessionId,
    pseudonym: SessionId,
    key: Digest,
}

impl Erasure {
    /// Prepares the erasure of a session. `key` must be random and is to be forgotten afterwards: whoever has it can find
    /// out whether an id is the one that was replaced.
    pub fn new(session: SessionId, key: Digest) -> Self {
        let name = Digest::of_parts([key.as_bytes().as_slice(), b"session"]).to_string();
        let pseudonym = SessionId::new(format!("{PREFIX}{}", &name[..NAME_DIGITS]));
        Self { session, pseudonym, key }
    }

    /// Returns the session to be erased.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Returns the name that stands for it from now on.
    pub fn pseudonym(&self) -> &SessionId {
        &self.pseudonym
    }

    /// Returns what stands for the id of one of its calls.
    pub fn call(&self, call: &CallId) -> CallId {
        let name = Digest::of_parts([self.key.as_bytes().as_slice(), b"call", call.as_str().as_bytes()]).to_string();
        CallId::new(&name[..NAME_DIGITS])
    }

    /// Replaces an id if it is the session's, and says whether it was.
    pub fn rename(&self, id: &mut SessionId) -> bool {
        let is_it = *id == self.session;
        if is_it {
            *id = self.pseudonym.clone();
        }
        is_it
    }

    /// Replaces what an event says of the session, and says whether it said anything.
    pub fn clear(&self, event: &mut Event, registry: &Registry) -> bool {
        match event {
            Event::SessionOpened(opened) => {
                let spec = Arc::make_mut(&mut opened.spec);
                if self.rename(&mut opened.session) {
                    self.clear_spec(spec, registry);
                    return true;
                }
                self.rename_relative(spec)
            }
            Event::SessionRefreshed(refreshed) => {
                let is_it = self.rename(&mut refreshed.session);
                if is_it {
                    refreshed.keep.retain(|tool| registry.get(tool).is_some());
                }
                is_it
            }
            Event::SessionClosed(closed) => self.rename(&mut closed.session),
            Event::StepPlanned(planned) => {
                let is_it = planned.session == self.session;
                if is_it {
                    self.clear_step(planned, registry);
                }
                is_it
            }
            Event::StepEnded(ended) => self.rename(&mut ended.session),
            Event::ToolRequested(requested) => {
                let is_it = requested.session == self.session;
                if is_it {
                    self.clear_request(requested);
                }
                is_it
            }
            Event::CallsChecked(checked) => {
                let is_it = self.rename(&mut checked.session);
                if is_it {
                    checked.calls.iter_mut().for_each(|call| call.call_id = self.call(&call.call_id));
                }
                is_it
            }
            Event::OutcomeReported(outcome) => self.clear_outcome(outcome),
            Event::UsageReported(usage) => self.clear_usage(usage),
            Event::BlockFrozen(frozen) => self.rename(&mut frozen.session),
            Event::CallCounted(counted) => self.rename_call(&mut counted.session, &mut counted.call_id),
            Event::CallJudged(judged) => self.rename_call(&mut judged.session, &mut judged.call_id),
            Event::SessionEnded(ended) => self.rename(&mut ended.session),
            Event::ToolMoved(moved) => {
                let failures = moved.diagnosis.iter_mut().flat_map(|diagnosis| &mut diagnosis.failures);
                // Every one of them, so no `any`.
                failures.fold(false, |is_any, failure| self.clear_failure(failure) | is_any)
            }
            Event::NamespaceCreated(_)
            | Event::ToolsRegistered(_)
            | Event::ToolChanged(_)
            | Event::PolicySet(_)
            | Event::TimePassed
            | Event::SessionErased(_)
            | Event::PoolReranked(_) => false,
        }
    }

    /// Replaces what a runtime asked for in its own words.
    pub(super) fn clear_spec(&self, spec: &mut SessionSpec, registry: &Registry) {
        spec.model = String::new();
        for (own, number) in spec.own_tools.iter_mut().zip(1..) {
            // One that hides a registered tool goes on hiding it; it is a name of the registry then.
            if registry.by_alias(&own.name).is_none() {
                own.name = Alias::new(format!("{}-{number}", self.pseudonym));
            }
        }
        self.clear_pool(&mut spec.pool, registry);
        self.rename_relative(spec);
    }

    /// A selector that selects nothing stays one that selects nothing: without any, a pool would hold everything.
    fn clear_pool(&self, pool: &mut PoolSpec, registry: &Registry) {
        let sources: BTreeSet<&Arc<str>> = registry.iter().map(|(tool, _)| &tool.source).collect();
        let is_known = |tool: &ToolId| registry.get(tool).is_some();
        for set in [&mut pool.allow, &mut pool.deny] {
            let clear = |selector: Selector| match &selector {
                Selector::Source(source) if sources.contains(source) => selector,
                Selector::Tool(tool) if is_known(tool) => selector,
                Selector::Source(_) | Selector::Tool(_) => Selector::Source(self.pseudonym.as_str().into()),
            };
            *set = mem::take(set).into_iter().map(clear).collect();
        }
        pool.must_have.retain(is_known);
    }

    /// Returns whether another session refers to this one.
    pub(super) fn is_relative(&self, spec: &SessionSpec) -> bool {
        [&spec.parent, &spec.fork_of].into_iter().flatten().any(|id| *id == self.session)
    }

    /// Replaces the session's id where another session refers to it.
    pub(super) fn rename_relative(&self, spec: &mut SessionSpec) -> bool {
        let relatives = [&mut spec.parent, &mut spec.fork_of];
        relatives.into_iter().flatten().fold(false, |is_any, id| self.rename(id) | is_any)
    }

    pub(super) fn clear_step(&self, planned: &mut StepPlanned, registry: &Registry) {
        self.rename(&mut planned.session);
        planned.key = String::new();
        if let Some(present) = &mut planned.present {
            present.retain(|tool| registry.get(tool).is_some());
        }
    }

    pub(super) fn clear_request(&self, requested: &mut ToolRequested) {
        self.rename_call(&mut requested.session, &mut requested.call_id);
    }

    fn clear_outcome(&self, outcome: &mut OutcomeReported) -> bool {
        let is_it = self.rename_call(&mut outcome.session, &mut outcome.call_id);
        if is_it {
            outcome.message = String::new();
            outcome.retry_of = outcome.retry_of.as_ref().map(|call| self.call(call));
        }
        is_it
    }

    /// What the provider's word came to is a figure and stays.
    fn clear_usage(&self, usage: &mut UsageReported) -> bool {
        let is_it = self.rename(&mut usage.session);
        if is_it {
            usage.miss_reason = match CacheBreak::named(&usage.miss_reason) {
                None => "",
                Some(CacheBreak::Tools) => "tools",
                Some(CacheBreak::Expired) => "expired",
                Some(CacheBreak::Other | CacheBreak::Unknown) => "other",
            }
            .to_owned();
        }
        is_it
    }

    /// Replaces what a failure says, if it is one of the session's.
    pub(super) fn clear_failure(&self, failure: &mut Failure) -> bool {
        let is_it = self.rename_call(&mut failure.session, &mut failure.call_id);
        if is_it {
            failure.message = String::new();
        }
        is_it
    }

    fn rename_call(&self, session: &mut SessionId, call: &mut CallId) -> bool {
        let is_it = self.rename(session);
        if is_it {
            *call = self.call(call);
        }
        is_it
    }
}

/// Returns whether an id is the name of an erased session.
pub fn is_erased(id: &SessionId) -> bool {
    id.as_str().starts_with(PREFIX)
}

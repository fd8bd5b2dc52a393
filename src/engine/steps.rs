//! The steps of a session, as handlers take them: plan, recall, check, report. Each locks one session, reads the
//! published view, lets the core decide, sends what happened to the writer, and takes it in.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::error::EngineError;
use super::handle::Handle;
use super::message::Traffic;
use super::shared::FrontSession;
use crate::core::block::{self, PendingChange};
use crate::core::checking::{self, Checked, RawCall};
use crate::core::event::{
    Block, Delivery, Ending, Event, Judgement, OutcomeReported, OutcomeResult, Piece, Presence, SessionSpec, StepEnd,
    StepEnded, StepPlanned, StepTokens, ToolRequested, UsageReported,
};
use crate::core::ids::{Alias, CallId, SessionId, StepId, ToolId};
use crate::core::narrowing::Listing;
use crate::core::planning::{self, Choice, Fate, StepAsk};
use crate::core::policy::QueryRetention;
use crate::core::privacy;
use crate::core::recall::{self, Answer, Ask};
use crate::core::render::{self, CALL_TOOL, Shown};
use crate::core::retrieval::{Query, cut};
use crate::core::session::{Counting, Session, Shelf};
use crate::core::view::View;
use crate::store::QueryBody;

/// Characters kept of a failure's message.
const MESSAGE_CHARS: usize = 500;

/// What became of one call, as a runtime says it.
pub struct Outcome<'a> {
    /// The call.
    pub call_id: CallId,
    /// The step that made it.
    pub step: Option<StepId>,
    /// The name as called; empty where the call was checked.
    pub name: &'a str,
    /// How it ended.
    pub ending: Ending,
    /// Short text of the failure.
    pub message: &'a str,
    /// How long it took.
    pub duration: Duration,
    /// The call that it repeats.
    pub retry_of: Option<CallId>,
    /// Arguments to check after the fact; empty for none.
    pub arguments: &'a [u8],
    /// What somebody judged of the selection.
    pub judgement: Option<Judgement>,
}

/// The answer to one outcome.
pub struct Ack {
    /// The call.
    pub call_id: CallId,
    /// What was done.
    pub result: OutcomeResult,
    /// How its presence was judged.
    pub presence: Option<Presence>,
}

/// The answers to what was reported.
pub struct Reported {
    /// One answer for each outcome sent.
    pub acks: Vec<Ack>,
    /// Whether all of it went to the log, the ends of steps and the bill included.
    pub all_taken: bool,
}

/// What else travels with a step.
pub struct Reports<'a> {
    /// Outcomes of earlier steps, applied first, in order.
    pub outcomes: Vec<Outcome<'a>>,
    /// How earlier steps ended that made no call.
    pub endings: Vec<(StepId, StepEnd)>,
    /// What the provider billed for the last step: input tokens, cached tokens, its own word for a miss.
    pub usage: Option<(u64, u64, String)>,
}

/// A planned step.
pub struct PlannedStep {
    /// What the session was opened with.
    pub spec: Arc<SessionSpec>,
    /// One answer for each outcome sent.
    pub acks: Vec<Ack>,
    /// As planned.
    pub planned: Arc<StepPlanned>,
    /// What to place now.
    pub pieces: Vec<Piece>,
    /// Counts and hint.
    pub listing: Listing,
    /// What would have fitted, where nothing was found.
    pub left_out: Vec<(ToolId, Fate)>,
    /// The session's block.
    pub block: Arc<Block>,
    /// Whether a refresh might change the block.
    pub pending: bool,
    /// Whether placing the pieces breaks the provider's prompt cache.
    pub breaks_cache: bool,
    /// What it was planned with.
    pub view: Arc<View>,
    /// How long planning took inside the daemon.
    pub took: Duration,
}

/// The answer to a model that asked for a tool.
pub struct Recalled {
    /// What the session was opened with.
    pub spec: Arc<SessionSpec>,
    /// The answer.
    pub answer: Answer,
    /// The tool result, and what must be placed after it.
    pub pieces: Vec<Piece>,
    /// What it was answered with.
    pub view: Arc<View>,
    /// How long it took inside the daemon.
    pub took: Duration,
}

/// The calls of one reply, checked.
pub struct CheckedCalls {
    /// What the session was opened with.
    pub spec: Arc<SessionSpec>,
    /// One answer for each call, in order.
    pub calls: Vec<Checked>,
}

/// A session as it stands.
pub struct SessionStatus {
    /// The session.
    pub session: Session,
    /// Its block.
    pub block: Arc<Block>,
    /// On-demand definitions that are taken to be present.
    pub present: Shelf,
    /// What would change in the block.
    pub pending: Vec<PendingChange>,
    /// Tokens of its last step.
    pub tokens: StepTokens,
    /// Most tokens that on-demand definitions may hold in its context.
    pub on_demand_budget: u32,
    /// What is left of them for the next step.
    pub on_demand_left: u32,
    /// What it was looked at with.
    pub view: Arc<View>,
}

impl Handle {
    /// Plans a step. Never waits for a write or for the disk.
    pub fn plan_step(
        &self,
        id: &SessionId,
        ask: &StepAsk<'_>,
        reports: &Reports<'_>,
    ) -> Result<PlannedStep, EngineError> {
        let started = self.clock().monotonic();
        let view = self.view();
        self.with_session(id, |front| {
            open_only(&front.session)?;
            let acks = self.take_reports(front, &view, reports).acks;
            let block = block_of(&front.session)?;
            let spec = front.session.spec().clone();
            let (planned, listing) = match front.session.step_with_key(ask.key) {
                Some(step) => {
                    (step.planned.clone(), planning::listing_of(&spec, &step.planned, view.policy.plan.top_m))
                }
                None => {
                    let everything = everything(front, &view, &spec);
                    let plan = planning::plan(&view, &front.session, &block, everything, ask);
                    let planned = Arc::new(plan.planned);
                    let at = self.clock().now();
                    let query = self.query_to_keep(&view, &ask.query);
                    let event = Event::StepPlanned((*planned).clone());
                    self.send_if_taken(Traffic { at, event, query });
                    front.session.apply_step(planned.clone(), at);
                    (planned, plan.listing)
                }
            };
            let pieces = view.pieces(&spec, &planned.issued);
            let left_out = planning::left_out(&view, &spec, ask, &planned);
            Ok(PlannedStep {
                acks,
                left_out,
                breaks_cache: spec.delivery == Delivery::Tools && !pieces.is_empty(),
                pieces,
                listing,
                block,
                pending: view.may_change_block_of(&front.session),
                view: view.clone(),
                planned,
                spec,
                took: self.clock().monotonic().saturating_sub(started),
            })
        })
    }

    fn query_to_keep(&self, view: &View, query: &Query<'_>) -> Option<QueryBody> {
        let texts = [query.user, query.model, query.goal];
        if texts.iter().all(|text| text.is_empty()) {
            return None;
        }
        let [user, model, goal] = texts.map(cut);
        match view.policy.learn.queries {
            QueryRetention::Off => None,
            QueryRetention::Terms => {
                Some(QueryBody::Terms(privacy::term_hashes(self.salt(), [&*user, &*model, &*goal])))
            }
            QueryRetention::Full => {
                Some(QueryBody::Text { user: user.into_owned(), model: model.into_owned(), goal: goal.into_owned() })
            }
        }
    }

    /// Answers a model that asks for a tool. A repeated `call` is the same request.
    pub fn request_tool(
        &self,
        id: &SessionId,
        call: &CallId,
        step: Option<StepId>,
        ask: &Ask,
        present: Option<&BTreeSet<ToolId>>,
    ) -> Result<Recalled, EngineError> {
        let started = self.clock().monotonic();
        let view = self.view();
        self.with_session(id, |front| {
            open_only(&front.session)?;
            let block = block_of(&front.session)?;
            let spec = front.session.spec().clone();
            let mut shelf = front.session.shelf_before(present);
            let before = front.session.request(call).cloned();
            if let Some(before) = &before {
                shelf.retain(|tool, _| !before.issued.iter().any(|issue| &issue.tool == tool));
            }
            let answer = recall::answer(&view, &front.session, &block, &shelf, ask);
            if before.is_none() {
                let requested = ToolRequested {
                    session: id.clone(),
                    call_id: call.clone(),
                    step,
                    issued: answer.issued.clone(),
                    result: answer.result,
                };
                let at = self.clock().now();
                let event = Event::ToolRequested(requested.clone());
                self.send_if_taken(Traffic { at, event, query: None });
                front.session.apply_request(Arc::new(requested), at);
            }
            let shown: Vec<&Shown> =
                answer.issued.iter().filter_map(|issue| view.shown(issue).map(|shown| &**shown)).collect();
            let is_declared = |shown: &Shown| {
                let admitted = shown.admitted();
                block.deferred.get(&admitted.definition.id) == Some(&admitted.version)
            };
            let pieces = render::recall_result(&spec, call, answer.kind, &answer.text, &shown, is_declared);
            let took = self.clock().monotonic().saturating_sub(started);
            Ok(Recalled { spec, pieces, answer, view: view.clone(), took })
        })
    }

    /// Checks all calls of one reply. Without a step, the newest one's reply is meant.
    pub fn validate_calls(
        &self,
        id: &SessionId,
        step: Option<StepId>,
        calls: &[RawCall<'_>],
    ) -> Result<CheckedCalls, EngineError> {
        let view = self.view();
        self.with_session(id, |front| {
            open_only(&front.session)?;
            let step = step.or_else(|| front.session.last_step().map(|step| step.planned.step));
            let (event, mut answers) = checking::check(&view, &front.session, step, calls);
            let at = self.clock().now();
            if !event.calls.is_empty() {
                self.send_if_taken(Traffic { at, event: Event::CallsChecked(event.clone()), query: None });
                front.session.apply_check(&event, at);
            }
            for answer in &mut answers {
                answer.presence = front.session.judged_presence(&answer.call_id);
            }
            Ok(CheckedCalls { spec: front.session.spec().clone(), calls: answers })
        })
    }

    /// Takes in what became of calls and steps. Where there is no such session, nothing is counted.
    pub fn report(&self, id: &SessionId, reports: &Reports<'_>) -> Reported {
        let view = self.view();
        let taken = self.with_session(id, |front| Ok(self.take_reports(front, &view, reports)));
        taken.unwrap_or_else(|_| {
            let ignored = |outcome: &Outcome<'_>| Ack {
                call_id: outcome.call_id.clone(),
                result: OutcomeResult::Ignored,
                presence: None,
            };
            Reported { acks: reports.outcomes.iter().map(ignored).collect(), all_taken: true }
        })
    }

    fn take_reports(&self, front: &mut FrontSession, view: &View, reports: &Reports<'_>) -> Reported {
        let acks: Vec<Ack> = reports.outcomes.iter().map(|outcome| self.take_outcome(front, view, outcome)).collect();
        let mut all_taken = acks.iter().all(|ack| ack.result != OutcomeResult::NotStored);
        let session = front.session.id().clone();
        for (step, end) in &reports.endings {
            let at = self.clock().now();
            let event = Event::StepEnded(StepEnded { session: session.clone(), step: *step, end: *end });
            if self.send(Traffic { at, event, query: None }) {
                front.session.apply_step_end(*step, at);
            } else {
                all_taken = false;
            }
        }
        if let Some((input_tokens, cached_tokens, miss_reason)) = &reports.usage {
            let at = self.clock().now();
            let usage = UsageReported {
                session,
                input_tokens: *input_tokens,
                cached_tokens: *cached_tokens,
                miss_reason: shorten(miss_reason),
            };
            if self.send(Traffic { at, event: Event::UsageReported(usage.clone()), query: None }) {
                front.session.apply_usage(&usage, at);
            } else {
                all_taken = false;
            }
        }
        Reported { acks, all_taken }
    }

    fn take_outcome(&self, front: &mut FrontSession, view: &View, outcome: &Outcome<'_>) -> Ack {
        let session = &front.session;
        let tool = tool_of(session, view, outcome);
        let arguments_fit = match &tool {
            Some(tool) if !outcome.arguments.is_empty() && !session.was_checked(&outcome.call_id) => {
                checking::arguments_fit(view, session, tool, outcome.arguments)
            }
            _ => None,
        };
        let event = OutcomeReported {
            session: session.id().clone(),
            call_id: outcome.call_id.clone(),
            step: outcome.step,
            tool,
            ending: outcome.ending,
            message: shorten(outcome.message),
            duration_ms: u32::try_from(outcome.duration.as_millis()).unwrap_or(u32::MAX),
            retry_of: outcome.retry_of.clone(),
            arguments_fit,
            judgement: outcome.judgement.clone(),
        };
        let counting = session.counting(&event);
        let ack = |result, presence| Ack { call_id: outcome.call_id.clone(), result, presence };
        if counting == Counting::Duplicate {
            return ack(OutcomeResult::Duplicate, session.judged_presence(&outcome.call_id));
        }
        let at = self.clock().now();
        if !self.send(Traffic { at, event: Event::OutcomeReported(event.clone()), query: None }) {
            return ack(OutcomeResult::NotStored, None);
        }
        front.session.apply_report(&event, at);
        match (counting, &event.tool) {
            (Counting::Tick(presence), Some(tool)) => {
                front.session.apply_tick(&event.call_id, tool, presence);
                ack(OutcomeResult::Applied, Some(presence))
            }
            (Counting::Retry, _) => ack(OutcomeResult::Applied, None),
            (Counting::Late, _) => ack(OutcomeResult::Late, Some(Presence::Unknown)),
            _ => ack(OutcomeResult::Ignored, None),
        }
    }

    /// Says how a session stands.
    pub fn session_status(&self, id: &SessionId) -> Result<SessionStatus, EngineError> {
        let view = self.view();
        let session = self.with_session(id, |front| Ok(front.session.clone()))?;
        open_only(&session)?;
        let block = block_of(&session)?;
        let now = view.freeze(session.spec());
        let pending = block::pending_changes(&view.registry, &block, &now);
        let spec = session.spec();
        let everything = block.cost_of_everything(planning::everything_tokens(&view.registry, spec));
        let before_any = StepTokens { everything, window: spec.window, ..block.tokens };
        let tokens = session.last_step().map_or(before_any, |step| step.planned.tokens);
        let present = session.shelf_before(None);
        let on_demand_budget = planning::on_demand_budget(&view, spec);
        let on_demand_left = Choice::for_step(&view, &session, &block, &present, 0).left();
        Ok(SessionStatus { block, present, pending, tokens, on_demand_budget, on_demand_left, view, session })
    }
}

pub(super) fn open_only(session: &Session) -> Result<(), EngineError> {
    match session.ended() {
        None => Ok(()),
        Some(_) => Err(EngineError::SessionEnded(session.id().clone())),
    }
}

pub(super) fn block_of(session: &Session) -> Result<Arc<Block>, EngineError> {
    session.block().cloned().ok_or_else(|| EngineError::UnknownSession(session.id().clone()))
}

/// Returns what sending every candidate would cost, worked out again only when the registry has changed.
fn everything(front: &mut FrontSession, view: &View, spec: &SessionSpec) -> u32 {
    let revision = view.registry.revision();
    match front.everything {
        Some((known, tokens)) if known == revision => tokens,
        _ => {
            let tokens = planning::everything_tokens(&view.registry, spec);
            front.everything = Some((revision, tokens));
            tokens
        }
    }
}

/// Finds the tool behind an outcome: by the check of its call, else by the name as called, `call_tool` unwrapped.
fn tool_of(session: &Session, view: &View, outcome: &Outcome<'_>) -> Option<ToolId> {
    if let Some(tool) = session.checked_tool(&outcome.call_id) {
        return Some(tool.clone());
    }
    let name =
        if outcome.name == CALL_TOOL { checking::inner_name(outcome.arguments)? } else { outcome.name.to_owned() };
    let alias = Alias::from(name.as_str());
    if block::is_own(session.spec(), &alias) {
        return None;
    }
    view.registry.by_alias(&alias).cloned()
}

/// Keeps the head of a text, without control characters.
fn shorten(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MESSAGE_CHARS).collect()
}

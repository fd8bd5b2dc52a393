//! Planning one step: which definitions to put in front of the model for this query.
//!
//! What is owed comes first (tools of the session's last calls that are no longer present), then what is retrieved: the
//! best M of the candidates, less doubles and what is in the context already, within the token budget. Never waits, never fails:
//! the worst plan issues nothing and says so. What is decided is a fact of the log afterwards, since the query is not.

mod doubles;

use std::collections::BTreeSet;

use super::block::{self, Candidates};
use super::event::{Block, Issue, Origin, PlanResult, SessionSpec, StepPlanned, StepTokens};
use super::ids::{ToolId, Version};
use super::narrowing::Listing;
use super::registry::Registry;
use super::render::{Form, REQUEST_TOOL};
use super::retrieval::{Query, Ranked, Search};
use super::session::{Session, Shelf};
use super::view::View;

pub use doubles::{LeftOut, left_out};

/// One heat in calls, as the published pool writes it.
const HEAT_UNIT: f32 = (1u64 << 30) as f32;

/// What a runtime asks for one step.
pub struct StepAsk<'a> {
    /// Its key for the step; empty for none.
    pub key: &'a str,
    /// What the step is about.
    pub query: Query<'a>,
    /// The on-demand definitions in the messages about to be sent; `None` where the runtime does not say.
    pub present: Option<BTreeSet<ToolId>>,
    /// Lowers M; 0 leaves it.
    pub max_tools: u32,
    /// Lowers the step's token budget; 0 leaves it.
    pub max_tokens: u32,
}

/// A planned step.
pub struct Plan {
    /// What goes into the log.
    pub planned: StepPlanned,
    /// Counts and hint.
    pub listing: Listing,
    /// What matched and was left out for the sake of a better one that a model may take it for.
    pub left_out: Vec<LeftOut>,
}

/// Plans a step. `everything_tokens` is what sending every candidate would cost (see [`Candidates`]), which the caller
/// may remember between steps.
pub fn plan(view: &View, session: &Session, block: &Block, everything_tokens: u32, ask: &StepAsk<'_>) -> Plan {
    let spec = session.spec();
    let shelf = session.shelf_before(ask.present.as_ref());
    let mut choice = Choice::new(view, session, block, &shelf, ask.max_tokens);
    choice.take_what_is_owed(ask.present.is_some());

    let limit = if ask.max_tools == 0 { view.policy.plan.top_m } else { ask.max_tools.min(view.policy.plan.top_m) };
    let (mut matched, mut n_present) = (0, 0);
    let mut doubles = Vec::new();
    let query = &ask.query;
    let is_silent = [query.user, query.model, query.goal].iter().all(|text| text.trim().is_empty());
    if !is_silent && !block.pass_through && limit > 0 {
        // What is left out makes room for what comes after it.
        let found = search(view, spec, query, 2 * limit as usize);
        matched = found.total as u32;
        let mut above: Vec<&Ranked> = Vec::new();
        let mut n_seen = 0;
        for ranked in &found.ranked {
            if n_seen == limit {
                break;
            }
            if choice.is_in_context(&ranked.tool) {
                n_present += 1;
                above.push(ranked);
            } else if let Some(double) = left_out(view, ranked, &above) {
                doubles.push(double);
                continue;
            } else if choice.take(&ranked.tool, Origin::Issued, ranked.score) {
                above.push(ranked);
            }
            n_seen += 1;
        }
    }
    let result = match () {
        () if !choice.issued.is_empty() => PlanResult::Issued,
        () if block.pass_through || n_present > 0 => PlanResult::PresentSuffices,
        () if is_silent => PlanResult::NoQuery,
        () => PlanResult::NothingFound,
    };
    let tokens = StepTokens {
        issued: choice.tokens,
        everything: block.cost_of_everything(everything_tokens),
        window: spec.window,
        ..block.tokens
    };
    let listing = listing(&choice.issued, matched, limit);
    let planned = StepPlanned {
        session: session.id().clone(),
        step: session.next_step(),
        key: ask.key.to_owned(),
        present: ask.present.clone(),
        issued: choice.issued,
        matched,
        result,
        tokens,
    };
    Plan { planned, listing, left_out: doubles }
}

/// Returns what sending every candidate of a session would cost in tokens.
pub fn everything_tokens(registry: &Registry, spec: &SessionSpec) -> u32 {
    Candidates::find(registry, spec).everything_tokens
}

/// Returns the counts of a planned step, as they were when it was planned: for a repeated key.
pub fn listing_of(planned: &StepPlanned, limit: u32) -> Listing {
    listing(&planned.issued, planned.matched, limit)
}

fn listing(issued: &[Issue], matched: u32, limit: u32) -> Listing {
    let returned = issued.len() as u32;
    let total = matched.max(returned);
    let hint = if total > returned {
        format!(
            "more tools match; if none of these fits, ask {REQUEST_TOOL} for a name in the directory or say the need"
        )
    } else {
        String::new()
    };
    Listing { total, returned, limit, hint }
}

/// Ranks the session's candidates for a query. The total is exact below the limit; from there on it may count tools that
/// match and that the session may not see, since only the best are asked for.
pub fn search(view: &View, spec: &SessionSpec, query: &Query<'_>, limit: usize) -> Search {
    let heat = |tool: &ToolId| view.pool.heat_key(tool) as f32 / HEAT_UNIT;
    let mut admits = |tool: &ToolId| block::exclusion(&view.registry, spec, tool).is_none();
    let mut found = view.index.search(query, &heat, &mut admits, limit);
    if found.ranked.len() < limit {
        found.total = found.ranked.len();
    }
    found
}

/// What a step issues, as it is being chosen.
pub struct Choice<'a> {
    view: &'a View,
    session: &'a Session,
    block: &'a Block,
    shelf: &'a Shelf,
    form: Form,
    /// Tokens that on-demand definitions may still take.
    left: u32,
    /// Tokens of all on-demand definitions in the context, those taken included.
    pub tokens: u32,
    /// What is taken.
    pub issued: Vec<Issue>,
}

impl<'a> Choice<'a> {
    /// Starts with nothing taken. A `max_tokens` of 0 leaves the session's budget as it is.
    pub fn new(view: &'a View, session: &'a Session, block: &'a Block, shelf: &'a Shelf, max_tokens: u32) -> Self {
        let spec = session.spec();
        let form = Form::on_demand(spec.format, spec.delivery);
        let cost = |(tool, version): (&ToolId, &Version)| {
            view.registry.get(tool).map_or(0, |tool| form.issue_tokens(tool.version_or_current(Some(*version))))
        };
        let frame = if shelf.is_empty() { 0 } else { form.issue_frame_tokens() };
        let tokens = frame + shelf.iter().map(cost).sum::<u32>();
        let budget = match spec.on_demand_budget {
            0 => (f64::from(spec.window) * view.policy.plan.budget_share) as u32,
            own => own,
        };
        let left = budget.saturating_sub(tokens);
        let left = if max_tokens == 0 { left } else { left.min(max_tokens) };
        Self { view, session, block, shelf, form, left, tokens, issued: Vec::new() }
    }

    /// Returns whether a tool's definition is in the context, or taken already.
    pub fn is_in_context(&self, tool: &ToolId) -> bool {
        self.block.resident_version(tool).is_some()
            || self.shelf.contains_key(tool)
            || self.issued.iter().any(|issue| &issue.tool == tool)
    }

    /// Takes a tool if it fits the budget, in the version that the session was shown, and says whether it did.
    pub fn take(&mut self, tool: &ToolId, origin: Origin, score: f32) -> bool {
        let Some(entry) = self.view.registry.get(tool) else { return false };
        let shown = entry.version_or_current(self.session.shown_version(tool));
        let frame = if self.issued.is_empty() { self.form.issue_frame_tokens() } else { 0 };
        let cost = frame + self.form.issue_tokens(shown);
        if cost > self.left {
            return false;
        }
        self.left -= cost;
        self.tokens += cost;
        self.issued.push(Issue { tool: tool.clone(), version: shown.admitted().version, origin, score });
        true
    }

    /// Takes the tools of the session's last calls that are not in the context: after a compaction the model would
    /// repeat calls of tools whose schema is gone. `is_told` says that the runtime listed what is present.
    fn take_what_is_owed(&mut self, is_told: bool) {
        let spec = self.session.spec();
        for tool in self.session.recently_called(self.view.policy.plan.reissue_calls as usize) {
            if self.is_in_context(tool) || block::exclusion(&self.view.registry, spec, tool).is_some() {
                continue;
            }
            let was_shown = self.session.shown_version(tool).is_some();
            let origin = if is_told && was_shown { Origin::Reissued } else { Origin::CalledAbsent };
            self.take(tool, origin, 0.0);
        }
    }
}

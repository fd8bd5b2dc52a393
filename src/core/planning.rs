//! Planning one step: which definitions to put in front of the model for this query.
//!
//! What is owed comes first (tools of the session's last calls that are no longer present), then what is retrieved: the
//! best M of the candidates, less doubles and what is in the context already, within the token budget. Never waits, never
//! fails: the worst plan issues nothing and says so. What is decided is a fact of the log afterwards, since the query is not.
//! A plan carries what became of every tool that it looked at, so that nobody has to guess later.

mod doubles;

use std::collections::BTreeSet;

use super::block::{self, Candidates, Exclusion};
use super::event::{Block, Issue, Origin, PlanResult, SessionSpec, StepPlanned, StepTokens};
use super::ids::{ToolId, Version};
use super::narrowing::Listing;
use super::registry::Registry;
use super::render::{self, Form};
use super::retrieval::{Query, Ranked, Search};
use super::session::{Session, Shelf};
use super::view::View;

pub use doubles::{Double, double_of};

/// One heat in calls, as the published pool writes it.
const HEAT_UNIT: f32 = (1u64 << 30) as f32;

/// Tools that an empty answer names as left out.
const LEFT_OUT: usize = 5;

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
    /// The tokens there were to plan with.
    pub budget: Budget,
    /// The most tools that retrieval may bring: M, or less where the step asked for less.
    pub limit: u32,
    /// What became of every tool that was looked at, in that order: first what is owed, then the best matches.
    pub fates: Vec<(ToolId, Fate)>,
    /// The tools among them that were left out for the sake of another.
    pub doubles: Vec<Double>,
}

/// What becomes of a tool in one step, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Issued for the query.
    Issued,
    /// Issued without being asked for: called lately, and no longer in the context.
    Owed,
    /// In the block.
    Resident,
    /// In the context already, outside the block.
    Present,
    /// Its definition does not fit the tokens that are left.
    OverBudget,
    /// A model may take it for one that fits far better; [`Plan::doubles`] says which.
    Confusable,
    /// It matches, and others match better.
    BeyondM,
    /// No word of the query is in what it says of itself.
    NoMatch,
    /// Nothing is looked for: there was no query, or the block was to hold every tool.
    NotSought,
    /// The session may not be given it now.
    Excluded(Exclusion),
    /// The runtime's own tool or a meta tool: always there, and never ranked.
    Own,
}

/// Tokens for on-demand definitions at the beginning of a step.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Budget {
    /// The context window.
    pub window: u32,
    /// The most that on-demand definitions may hold: the session's own figure, or policy's share of the window.
    pub most: u32,
    /// What those in the context hold.
    pub held: u32,
    /// What this step may add: the rest less what is kept for the model's own requests, or less where the step asked for
    /// less.
    pub left: u32,
}

/// Plans a step. `everything_tokens` is what sending every candidate would cost (see [`Candidates`]), which the caller
/// may remember between steps.
pub fn plan(view: &View, session: &Session, block: &Block, everything_tokens: u32, ask: &StepAsk<'_>) -> Plan {
    let spec = session.spec();
    let shelf = session.shelf_before(ask.present.as_ref());
    let mut choice = Choice::for_step(view, session, block, &shelf, ask.max_tokens);
    choice.take_what_is_owed(ask.present.is_some());

    let limit = limit_of(view, ask);
    let is_silent = ask.query.is_silent();
    let mut found = Found::default();
    if !is_silent && !block.pass_through && limit > 0 {
        // What is left out makes room for what comes after it.
        let ranked = search(view, spec, &ask.query, 2 * limit as usize);
        found = choice.take_what_fits(&ranked, limit);
    }
    let Found { matched, is_any_present, doubles } = found;
    let result = match () {
        () if !choice.issued.is_empty() => PlanResult::Issued,
        () if block.pass_through || is_any_present => PlanResult::PresentSuffices,
        () if is_silent => PlanResult::NoQuery,
        () => PlanResult::NothingFound,
    };
    let tokens = StepTokens {
        issued: choice.tokens,
        everything: block.cost_of_everything(everything_tokens),
        window: spec.window,
        ..block.tokens
    };
    let listing = listing(spec, &choice.issued, matched, limit);
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
    Plan { planned, listing, budget: choice.budget, limit, fates: choice.fates, doubles }
}

/// Returns M for a step.
fn limit_of(view: &View, ask: &StepAsk<'_>) -> u32 {
    let top_m = view.policy.plan.top_m;
    if ask.max_tools == 0 { top_m } else { ask.max_tools.min(top_m) }
}

/// Returns what would have fitted the query of a step that found nothing, and why it was left out: what was too large for
/// the tokens left, or else the best that the session may see and may not be given now. Empty where something was
/// issued, and where nothing matches at all. What the session may not see is never named.
pub fn left_out(view: &View, spec: &SessionSpec, ask: &StepAsk<'_>, planned: &StepPlanned) -> Vec<(ToolId, Fate)> {
    if planned.result != PlanResult::NothingFound {
        return Vec::new();
    }
    let best = search(view, spec, &ask.query, LEFT_OUT.min(limit_of(view, ask) as usize)).ranked;
    if !best.is_empty() {
        // It was admitted and not issued, and it was not present either, else the result were another.
        return best.into_iter().map(|ranked| (ranked.tool, Fate::OverBudget)).collect();
    }
    unusable(view, spec, &ask.query)
}

/// Returns the tools that match a query best among those that the session may see and may not be given now.
pub fn unusable(view: &View, spec: &SessionSpec, query: &Query<'_>) -> Vec<(ToolId, Fate)> {
    let why = |tool: &ToolId| {
        let exclusion = block::exclusion(&view.registry, spec, tool);
        exclusion.filter(|why| matches!(why, Exclusion::State(_) | Exclusion::NameTaken | Exclusion::NotRenderable))
    };
    let found = view.index.search(query, &heat(view), &mut |tool| why(tool).is_some(), LEFT_OUT);
    let tools = found.ranked.into_iter().map(|ranked| ranked.tool);
    tools.filter_map(|tool| why(&tool).map(|why| (tool, Fate::Excluded(why)))).collect()
}

/// Returns what sending every candidate of a session would cost in tokens.
pub fn everything_tokens(registry: &Registry, spec: &SessionSpec) -> u32 {
    Candidates::find(registry, spec).everything_tokens
}

/// Returns the counts of a planned step, as they were when it was planned: for a repeated key.
pub fn listing_of(spec: &SessionSpec, planned: &StepPlanned, limit: u32) -> Listing {
    listing(spec, &planned.issued, planned.matched, limit)
}

fn listing(spec: &SessionSpec, issued: &[Issue], matched: u32, limit: u32) -> Listing {
    let returned = issued.len() as u32;
    let total = matched.max(returned);
    let hint = if total > returned {
        format!(
            "more tools match; if none of these fits, ask {} for a name in the directory or say the need",
            render::asks_by(spec)
        )
    } else {
        String::new()
    };
    Listing { total, returned, limit, hint }
}

/// Ranks the session's candidates for a query. The total is exact below the limit; from there on it may count tools that
/// match and that the session may not see, since only the best are asked for.
pub fn search(view: &View, spec: &SessionSpec, query: &Query<'_>, limit: usize) -> Search {
    let mut admits = |tool: &ToolId| block::exclusion(&view.registry, spec, tool).is_none();
    let mut found = view.index.search(query, &heat(view), &mut admits, limit);
    if found.ranked.len() < limit {
        found.total = found.ranked.len();
    }
    found
}

/// Returns the most tokens that on-demand definitions may hold in a session's context.
pub fn on_demand_budget(view: &View, spec: &SessionSpec) -> u32 {
    match spec.on_demand_budget {
        0 => (f64::from(spec.window) * view.policy.plan.budget_share) as u32,
        own => own,
    }
}

/// Returns how many of a session's on-demand tokens steps leave for what the model asks for itself.
pub fn reserve(view: &View, most: u32) -> u32 {
    (f64::from(most) * view.policy.plan.recall_reserve) as u32
}

/// Returns the heat that decides between near equals.
pub fn heat(view: &View) -> impl Fn(&ToolId) -> f32 {
    |tool| view.pool.heat_key(tool) as f32 / HEAT_UNIT
}

/// What came of a search.
#[derive(Default)]
struct Found {
    matched: u32,
    is_any_present: bool,
    doubles: Vec<Double>,
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
    /// The tokens there were at the beginning.
    budget: Budget,
    /// What became of the tools looked at.
    fates: Vec<(ToolId, Fate)>,
}

impl<'a> Choice<'a> {
    /// Starts with nothing taken, for a step: a share of the budget is left for what the model asks for itself, since a
    /// step guesses and the model knows. A `max_tokens` of 0 leaves the rest as it is.
    pub fn for_step(view: &'a View, session: &'a Session, block: &'a Block, shelf: &'a Shelf, max_tokens: u32) -> Self {
        let mut choice = Self::for_request(view, session, block, shelf);
        choice.left = choice.left.saturating_sub(reserve(view, choice.budget.most));
        if max_tokens > 0 {
            choice.left = choice.left.min(max_tokens);
        }
        choice.budget.left = choice.left;
        choice
    }

    /// Starts with nothing taken, for what the model itself asks for.
    pub fn for_request(view: &'a View, session: &'a Session, block: &'a Block, shelf: &'a Shelf) -> Self {
        let spec = session.spec();
        let form = Form::on_demand(spec);
        let cost = |(tool, version): (&ToolId, &Version)| {
            let shown = view.registry.get(tool).and_then(|tool| tool.version_or_current(Some(*version)));
            shown.map_or(0, |shown| form.issue_tokens(shown))
        };
        let frame = if shelf.is_empty() { 0 } else { form.issue_frame_tokens() };
        let tokens = frame + shelf.iter().map(cost).sum::<u32>();
        let most = on_demand_budget(view, spec);
        let left = most.saturating_sub(tokens);
        let budget = Budget { window: spec.window, most, held: tokens, left };
        Self { view, session, block, shelf, form, left, tokens, issued: Vec::new(), budget, fates: Vec::new() }
    }

    /// Returns the tokens that on-demand definitions may still take.
    pub fn left(&self) -> u32 {
        self.left
    }

    /// Returns whether a tool's definition is in the context, or taken already.
    pub fn is_in_context(&self, tool: &ToolId) -> bool {
        self.place_of(tool).is_some()
    }

    /// Returns where a tool's definition stands in the context; `None` where it does not.
    fn place_of(&self, tool: &ToolId) -> Option<Fate> {
        if self.block.resident_version(tool).is_some() {
            return Some(Fate::Resident);
        }
        let is_taken = self.shelf.contains_key(tool) || self.issued.iter().any(|issue| &issue.tool == tool);
        is_taken.then_some(Fate::Present)
    }

    /// Takes a tool if it fits the budget, in the version that the session was shown, and says whether it did.
    pub fn take(&mut self, tool: &ToolId, origin: Origin, score: f32) -> bool {
        let Some(entry) = self.view.registry.get(tool) else { return false };
        let Some(shown) = entry.version_or_current(self.session.shown_version(tool)) else { return false };
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

    /// Takes the best of what was found, until `limit` were looked at that are no doubles.
    fn take_what_fits(&mut self, search: &Search, limit: u32) -> Found {
        let mut found = Found { matched: search.total as u32, ..Found::default() };
        let mut above: Vec<&Ranked> = Vec::new();
        let mut n_seen = 0;
        for ranked in &search.ranked {
            if n_seen == limit {
                break;
            }
            let tool = &ranked.tool;
            let fate = if let Some(place) = self.place_of(tool) {
                found.is_any_present = true;
                place
            } else if let Some(double) = double_of(self.view, ranked, &above) {
                found.doubles.push(double);
                Fate::Confusable
            } else if self.take(tool, Origin::Issued, ranked.score) {
                Fate::Issued
            } else {
                Fate::OverBudget
            };
            if !matches!(fate, Fate::Confusable | Fate::OverBudget) {
                above.push(ranked);
            }
            if fate != Fate::Confusable {
                n_seen += 1;
            }
            self.fates.push((tool.clone(), fate));
        }
        found
    }

    /// Takes the tools of the session's last calls that are not in the context: after a compaction the model would
    /// repeat calls of tools whose schema is gone. `is_told` says that the runtime listed what is present.
    fn take_what_is_owed(&mut self, is_told: bool) {
        for tool in self.session.recently_called(self.view.policy.plan.reissue_calls as usize) {
            if self.is_in_context(tool) || self.session.exclusion(&self.view.registry, tool).is_some() {
                continue;
            }
            let origin = if is_told && self.session.was_shown(tool) { Origin::Reissued } else { Origin::CalledAbsent };
            let fate = if self.take(tool, origin, 0.0) { Fate::Owed } else { Fate::OverBudget };
            self.fates.push((tool.clone(), fate));
        }
    }
}

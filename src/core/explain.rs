//! Why a tool was or was not issued: a step planned by the same code as any other, and nothing of it kept.
//!
//! [`planning::plan`] says what became of the tools that it looked at; what is added here is where every other tool that
//! matches stands, what its score is made of, and what could be done about it. For operators: where a tool is asked for
//! by name, the answer speaks of tools that the session may not see. Those are otherwise only counted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::block::{self, Exclusion};
use super::event::{Block, BlockFrozen, Delivery, Format, Issue, PoolSpec, SessionSpec, ToolState};
use super::ids::{Alias, CallId, Generation, SessionId, StepId, ToolId, UnixMillis, Version};
use super::planning::{self, Budget, Double, Fate, Plan, StepAsk};
use super::render::Form;
use super::retrieval::{Anatomy, Dissected, Ranked};
use super::session::Session;
use super::view::View;

/// Tools that one name may stand for in an answer.
const NAMED: usize = 16;

/// Nearest names given for one that is unknown.
const NEAREST: usize = 5;

/// Issues of the past that are given, the latest first.
const PAST: usize = 64;

/// What is to be explained.
pub struct ExplainAsk<'a> {
    /// A step as a runtime would ask for it.
    pub step: StepAsk<'a>,
    /// A tool to explain wherever it stands: an alias, `source/name`, or a name; empty for none.
    pub name: &'a str,
    /// At most this many standings.
    pub limit: usize,
}

/// What a step would come to, and why.
pub struct Explanation {
    /// The step, as it would be planned now.
    pub plan: Plan,
    /// Whether the block holds every candidate, so that nothing is looked for.
    pub pass_through: bool,
    /// Tools in the registry, in whatever state.
    pub n_tools: u32,
    /// Tools that the session may be given now.
    pub n_candidates: u32,
    /// Candidates that match the query.
    pub n_matching: u32,
    /// The others, by reason.
    pub exclusions: Vec<Excluded>,
    /// What is owed, then what matches, best first. Tools outside the session's pool are left out.
    pub standings: Vec<Standing>,
    /// The tools that the name stands for, wherever they stand; one of fate `None` where it stands for nothing.
    pub named: Vec<Standing>,
    /// Names of the pool that are nearest to an unknown one.
    pub nearest: Vec<Alias>,
    /// What the session was given so far, as far as it is remembered, the latest first; only of the tools named, where
    /// some are.
    pub past: Vec<PastIssue>,
}

/// How many tools are out for one reason.
pub struct Excluded {
    /// The reason.
    pub why: Exclusion,
    /// How many.
    pub n_tools: u32,
    /// How many of them match the query.
    pub n_matching: u32,
}

/// Where one tool stands.
pub struct Standing {
    /// The name under which models see it; as it was asked for, where there is no such tool.
    pub name: String,
    /// The tool, in the version that would be or was shown.
    pub tool: Option<(ToolId, Version)>,
    /// Its place among the candidates, from 1; 0 where it is none, or does not match.
    pub rank: u32,
    /// Its score; 0 where it does not match.
    pub score: f32,
    /// What the score is made of, and the words that match.
    pub dissected: Dissected,
    /// What its definition costs.
    pub tokens: u32,
    /// What became of it; `None` where there is no such tool.
    pub fate: Option<Fate>,
    /// The one thing that could be done about it; empty where nothing need be.
    pub next_step: String,
}

/// One tool given to a session earlier.
pub struct PastIssue {
    /// The step that it was given in, or in whose reply it was asked for.
    pub step: Option<StepId>,
    /// The model's own request, where that brought it.
    pub call: Option<CallId>,
    /// The tool.
    pub issue: Issue,
}

/// Explains a step of a session, which stays as it is.
pub fn explain(view: &View, session: &Session, block: &Block, ask: &ExplainAsk<'_>) -> Explanation {
    let everything = planning::everything_tokens(&view.registry, session.spec());
    let plan = planning::plan(view, session, block, everything, &ask.step);
    let anatomy = view.index.dissect(&ask.step.query, &planning::heat(view));
    Explainer { view, session, block, ask, plan, anatomy }.explain()
}

/// Returns a session as a runtime would open it now that asks for nothing in particular.
pub fn fresh_session(view: &View) -> Session {
    let spec = SessionSpec {
        format: Format::Mcp,
        delivery: Delivery::Invoke,
        model: String::new(),
        window: view.policy.session.default_window,
        pool: PoolSpec::default(),
        own_tools: Vec::new(),
        on_demand_budget: 0,
        ephemeral: false,
        parent: None,
        fork_of: None,
        played: false,
        mark_cache: false,
    };
    let block = Arc::new(view.freeze(&spec));
    let frozen = BlockFrozen {
        session: SessionId::from("fresh"),
        generation: Generation(1),
        digest: block.digest,
        revision: view.registry.revision(),
        block: None,
    };
    let mut session = Session::open(frozen.session.clone(), Arc::new(spec), None, UnixMillis::default());
    session.apply_block(block, &frozen, UnixMillis::default());
    session
}

struct Explainer<'a> {
    view: &'a View,
    session: &'a Session,
    block: &'a Block,
    ask: &'a ExplainAsk<'a>,
    plan: Plan,
    anatomy: Anatomy,
}

impl Explainer<'_> {
    fn explain(self) -> Explanation {
        let ranks = self.ranks();
        let n_matching = ranks.values().filter(|place| place.rank > 0).count() as u32;
        let (named, nearest) = self.named(&ranks);
        let (n_candidates, exclusions) = self.exclusions(&ranks);
        Explanation {
            pass_through: self.block.pass_through,
            n_tools: self.view.registry.len() as u32,
            n_candidates,
            n_matching,
            exclusions,
            standings: self.standings(&ranks),
            past: self.past(&named),
            named,
            nearest,
            plan: self.plan,
        }
    }

    /// Returns the place of every tool that matches.
    fn ranks(&self) -> BTreeMap<&ToolId, Place<'_>> {
        let mut ranks = BTreeMap::new();
        let mut n_admitted = 0;
        for ranked in &self.anatomy.ranked {
            let is_candidate = self.exclusion(&ranked.tool).is_none();
            n_admitted += u32::from(is_candidate);
            ranks.insert(&ranked.tool, Place { rank: if is_candidate { n_admitted } else { 0 }, ranked });
        }
        ranks
    }

    fn exclusion(&self, tool: &ToolId) -> Option<Exclusion> {
        block::exclusion(&self.view.registry, self.session.spec(), tool)
    }

    /// Returns how many tools the session may be given, and how many not for which reason.
    fn exclusions(&self, ranks: &BTreeMap<&ToolId, Place<'_>>) -> (u32, Vec<Excluded>) {
        let mut n_candidates = 0;
        let mut counts: BTreeMap<Exclusion, (u32, u32)> = BTreeMap::new();
        for (tool, _) in self.view.registry.iter() {
            match self.exclusion(tool) {
                None => n_candidates += 1,
                Some(why) => {
                    let (n_tools, n_matching) = counts.entry(why).or_default();
                    *n_tools += 1;
                    *n_matching += u32::from(ranks.contains_key(tool));
                }
            }
        }
        let counts = counts.into_iter().map(|(why, (n_tools, n_matching))| Excluded { why, n_tools, n_matching });
        (n_candidates, counts.collect())
    }

    fn standings(&self, ranks: &BTreeMap<&ToolId, Place<'_>>) -> Vec<Standing> {
        let owed = self.plan.fates.iter().filter(|(tool, fate)| *fate == Fate::Owed || !ranks.contains_key(tool));
        let owed: Vec<&ToolId> = owed.map(|(tool, _)| tool).collect();
        let matching = self.anatomy.ranked.iter().map(|ranked| &ranked.tool).filter(|tool| !owed.contains(tool));
        let in_pool = |tool: &&ToolId| self.exclusion(tool) != Some(Exclusion::NotInPool);
        let tools = owed.iter().copied().chain(matching.filter(in_pool)).take(self.ask.limit);
        tools.map(|tool| self.standing(tool, ranks.get(tool))).collect()
    }

    /// Returns where the tools stand that the name means, and the nearest names where it means none.
    fn named(&self, ranks: &BTreeMap<&ToolId, Place<'_>>) -> (Vec<Standing>, Vec<Alias>) {
        let name = self.ask.name.trim();
        if name.is_empty() {
            return (Vec::new(), Vec::new());
        }
        let nobody = |fate, next_step: &str| Standing {
            name: name.to_owned(),
            tool: None,
            rank: 0,
            score: 0.0,
            dissected: Dissected::default(),
            tokens: 0,
            fate,
            next_step: next_step.to_owned(),
        };
        if block::is_own(self.session.spec(), &Alias::from(name)) || block::is_meta(name) {
            return (vec![nobody(Some(Fate::Own), "")], Vec::new());
        }
        let meant = self.meant(name);
        if !meant.is_empty() {
            // Those that the session may see first: a name that several sources use most likely means one of them.
            let (seen, unseen): (Vec<ToolId>, Vec<ToolId>) =
                meant.into_iter().partition(|tool| self.exclusion(tool) != Some(Exclusion::NotInPool));
            let tools = seen.iter().chain(&unseen).take(NAMED);
            return (tools.map(|tool| self.standing(tool, ranks.get(tool))).collect(), Vec::new());
        }
        let mut in_pool = |tool: &ToolId| self.exclusion(tool) != Some(Exclusion::NotInPool);
        let near = self.view.index.near_names(name, &mut in_pool, NEAREST);
        let nearest: Vec<Alias> = near.iter().filter_map(|tool| self.view.alias(tool).cloned()).collect();
        let next_step =
            if nearest.is_empty() { "register it" } else { "register it, or take one of the nearest names" };
        (vec![nobody(None, next_step)], nearest)
    }

    /// Returns the tools that a name means. The index has those that are served; the others wait for approval, and that is
    /// what an operator who asks for one must be told.
    fn meant(&self, name: &str) -> Vec<ToolId> {
        let registry = &self.view.registry;
        let mut meant: Vec<ToolId> = registry.unserved(name).cloned().into_iter().collect();
        meant.extend(self.view.index.find_name(name).map(|found| found.tools).unwrap_or_default());
        for tool in registry.unserved_called(name) {
            if !meant.contains(tool) {
                meant.push(tool.clone());
            }
        }
        meant
    }

    fn standing(&self, tool: &ToolId, place: Option<&Place<'_>>) -> Standing {
        let spec = self.session.spec();
        let form = Form::on_demand(spec);
        let fate = self.fate(tool, place);
        let mut standing = Standing {
            name: tool.to_string(),
            tool: None,
            rank: place.map_or(0, |place| place.rank),
            score: 0.0,
            dissected: Dissected::default(),
            tokens: 0,
            fate: Some(fate),
            next_step: String::new(),
        };
        if let Some(entry) = self.view.registry.get(tool) {
            standing.name = entry.alias().to_string();
            // A tool of which nothing was ever approved has no version to show.
            let shown = entry.version_or_current(self.session.shown_version(tool));
            let version = shown.map(|shown| shown.admitted().version).unwrap_or_default();
            standing.tool = Some((tool.clone(), version));
            standing.tokens = shown.map_or(0, |shown| form.issue_tokens(shown));
            if let (Some(Place { ranked, .. }), Some(current)) = (place, entry.current()) {
                standing.score = ranked.score;
                standing.dissected = self.anatomy.of(&current.admitted().definition, &ranked.parts);
            }
        }
        standing.next_step = self.next_step(&standing, fate);
        standing
    }

    /// Returns what became of a tool: what the plan says of it, and for all that it had no need to look at, why.
    fn fate(&self, tool: &ToolId, place: Option<&Place<'_>>) -> Fate {
        if let Some((_, fate)) = self.plan.fates.iter().find(|(planned, _)| planned == tool) {
            return *fate;
        }
        if let Some(exclusion) = self.exclusion(tool) {
            return Fate::Excluded(exclusion);
        }
        if self.block.resident_version(tool).is_some() {
            return Fate::Resident;
        }
        if self.session.shelf_before(self.ask.step.present.as_ref()).contains_key(tool) {
            return Fate::Present;
        }
        let is_sought = !self.block.pass_through && !self.ask.step.query.is_silent();
        match place {
            _ if !is_sought => Fate::NotSought,
            Some(_) => Fate::BeyondM,
            None => Fate::NoMatch,
        }
    }

    /// Says in words what an operator could do about a tool that is not issued.
    fn next_step(&self, standing: &Standing, fate: Fate) -> String {
        let tool = standing.tool.as_ref().map(|(tool, _)| tool.to_string()).unwrap_or_default();
        match fate {
            Fate::Issued | Fate::Owed | Fate::Resident | Fate::Present | Fate::Own => String::new(),
            Fate::OverBudget => {
                let Budget { most, held, left, .. } = self.plan.budget;
                let reserve = planning::reserve(self.view, most);
                format!(
                    "needs {} tokens where {left} were left of {most} ({held} held, {reserve} kept for the model's own requests): \
                     raise plan.budget_share or the session's on_demand_budget, or shorten its definition",
                    standing.tokens
                )
            }
            Fate::Confusable => {
                let is_it = |double: &&Double| standing.tool.as_ref().is_some_and(|(tool, _)| *tool == double.tool);
                let other = self.plan.doubles.iter().find(is_it).map(|double| double.for_the_sake_of.to_string());
                format!(
                    "left out for {}, for which a model may take it: tell the two apart in their summaries, or lower \
                     plan.confusable_share",
                    other.unwrap_or_default()
                )
            }
            Fate::BeyondM => {
                let (rank, m) = (standing.rank, self.plan.limit);
                format!("beyond M = {m} at rank {rank}: raise plan.top_m, or sharpen its summary and keywords")
            }
            Fate::NoMatch => "no word of the query is in its name, summary, keywords, description or parameters: give \
                              it the keywords that people ask with"
                .to_owned(),
            Fate::NotSought if self.block.pass_through => {
                format!(
                    "the block was made to hold every tool, before this one: toolcrib session refresh {}",
                    self.session.id()
                )
            }
            Fate::NotSought => "say what the step is about: without any text only what is owed is issued".to_owned(),
            Fate::Excluded(exclusion) => self.how_to_admit(exclusion, &tool),
        }
    }

    fn how_to_admit(&self, exclusion: Exclusion, tool: &str) -> String {
        match exclusion {
            Exclusion::Unknown => "register it".to_owned(),
            Exclusion::NotInPool => "open the session with a pool that allows it".to_owned(),
            Exclusion::NameTaken => "rename it, or the runtime's own tool of that name".to_owned(),
            Exclusion::NotRenderable => {
                "rename its parameters: Anthropic takes names of 1 to 64 of A-Za-z0-9_.- and no others".to_owned()
            }
            Exclusion::State(state) => match state {
                ToolState::Quarantined | ToolState::Held => {
                    format!("mend it, then: toolcrib tool repair {tool}")
                }
                ToolState::Pending => format!("look at it, then approve it: toolcrib tool diff {tool}"),
                ToolState::Withdrawn => "import its source's list again once it names the tool".to_owned(),
                ToolState::Retired => format!("toolcrib tool restore {tool}"),
                ToolState::Active | ToolState::Probation => String::new(),
            },
        }
    }

    fn past(&self, named: &[Standing]) -> Vec<PastIssue> {
        let wanted: BTreeSet<&ToolId> =
            named.iter().filter_map(|standing| standing.tool.as_ref()).map(|(tool, _)| tool).collect();
        let is_wanted = |issue: &&Issue| self.ask.name.trim().is_empty() || wanted.contains(&issue.tool);
        let requests_of = |step: Option<StepId>| {
            let of_step = self.session.requests().filter(move |requested| requested.step == step);
            of_step.flat_map(|requested| {
                let (step, call) = (requested.step, &requested.call_id);
                let issues = requested.issued.iter().filter(is_wanted);
                issues.map(move |issue| PastIssue { step, call: Some(call.clone()), issue: issue.clone() })
            })
        };
        // Requests of which nobody said in what reply they came: their place is not known, so they stand last.
        let mut past: Vec<PastIssue> = requests_of(None).collect();
        for planned in self.session.steps().map(|step| &step.planned) {
            let issues = planned.issued.iter().filter(is_wanted);
            past.extend(issues.map(|issue| PastIssue { step: Some(planned.step), call: None, issue: issue.clone() }));
            past.extend(requests_of(Some(planned.step)));
        }
        past.reverse();
        past.truncate(PAST);
        past
    }
}

/// A tool that matches.
struct Place<'a> {
    /// Its place among the candidates, from 1; 0 for one that is none.
    rank: u32,
    ranked: &'a Ranked,
}

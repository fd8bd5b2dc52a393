//! Answering a model that asks for a tool: by name first, then by need.
//!
//! Every answer is truthful and different: present already, the runtime's own, not to be used now, retired, not to be
//! found. What may not be seen is not to be found. Exactly one tool result answers.

use serde_json::Value;

use super::block::{self, Exclusion};
use super::event::{Block, Issue, Origin, RequestResult, ToolState};
use super::ids::{Alias, ToolId};
use super::narrowing::Listing;
use super::planning::{self, Choice, Fate};
use super::render::{self, ResultKind};
use super::retrieval::{NameHow, Query, cut};
use super::session::{Session, Shelf};
use super::view::View;

/// Nearest names that an answer gives.
const NEAREST: usize = 5;

/// Edits by which a name may be off and still be meant.
const NEAR_EDITS: usize = 2;

/// What a model asked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ask {
    /// A name.
    pub name: Option<String>,
    /// A need in words.
    pub need: Option<String>,
}

impl Ask {
    /// Reads the meta call's arguments as a model wrote them: an object with `name`, `need` or both, or a bare string.
    /// What is not readable is taken as a need: a model that asks badly still asks.
    pub fn from_arguments(arguments: &[u8]) -> Self {
        let text = String::from_utf8_lossy(arguments);
        let field = |value: &Value, key: &str| {
            value.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty()).map(String::from)
        };
        match serde_json::from_str::<Value>(&text) {
            Ok(Value::String(need)) => Self { name: None, need: Some(need) },
            Ok(value) => Self { name: field(&value, "name"), need: field(&value, "need") },
            Err(_) => Self { name: None, need: Some(text.into_owned()) },
        }
    }
}

/// The answer to a model.
pub struct Answer {
    /// What came of it.
    pub result: RequestResult,
    /// Why a tool that was named is not given.
    pub exclusion: Option<Exclusion>,
    /// What is issued with it.
    pub issued: Vec<Issue>,
    /// The text of the tool result.
    pub text: String,
    /// Whether the tool result reports a failure.
    pub kind: ResultKind,
    /// Counts and hint.
    pub listing: Listing,
    /// Nearest names that the session may see.
    pub nearest: Vec<Alias>,
    /// What was meant or would fit and is not given, with the reason; nothing that the session may not see.
    pub left_out: Vec<(ToolId, Fate)>,
}

/// Answers a request. `shelf` is what is in the context besides the block.
pub fn answer(view: &View, session: &Session, block: &Block, shelf: &Shelf, ask: &Ask) -> Answer {
    let recall = Recall { view, session, block, shelf };
    if let Some(name) = &ask.name {
        if let Some(answer) = recall.by_name(name.trim()) {
            return answer;
        }
        if ask.need.is_none() {
            return recall.not_found(name);
        }
    }
    recall.by_need(ask)
}

struct Recall<'a> {
    view: &'a View,
    session: &'a Session,
    block: &'a Block,
    shelf: &'a Shelf,
}

impl Recall<'_> {
    /// Answers for a name that means a tool; `None` where it means none that the session may see.
    fn by_name(&self, name: &str) -> Option<Answer> {
        let spec = self.session.spec();
        if block::is_own(spec, &Alias::from(name)) || block::is_meta(name) {
            let text = format!("{name} is available already. Call it directly.");
            return Some(self.plain(RequestResult::Own, ResultKind::Answer, text));
        }
        let visible = |tool: &ToolId| {
            !matches!(
                block::exclusion(&self.view.registry, spec, tool),
                Some(Exclusion::NotInPool | Exclusion::Unknown | Exclusion::NameTaken)
            )
        };
        let registry = &self.view.registry;
        if let Some(tool) = registry.unserved(name).filter(|tool| visible(tool)) {
            return Some(self.not_usable(tool, name));
        }
        let (tools, result) = match self.view.index.find_name(name) {
            Some(found) => {
                let result = if found.how == NameHow::Folded { RequestResult::Near } else { RequestResult::Exact };
                (found.tools, result)
            }
            None => {
                if let Some(tool) = registry.unserved_called(name).find(|tool| visible(tool)) {
                    return Some(self.not_usable(tool, name));
                }
                let near = self.view.index.near_names(name, &mut |tool| visible(tool), 1);
                let near = near.into_iter().filter(|tool| is_near(&tool.name, name)).collect();
                (near, RequestResult::Near)
            }
        };
        let tools: Vec<ToolId> = tools.into_iter().filter(|tool| visible(tool)).collect();
        let usable: Vec<&ToolId> =
            tools.iter().filter(|tool| self.session.exclusion(registry, tool).is_none()).collect();
        match (usable.as_slice(), tools.first()) {
            ([], None) => None,
            ([], Some(first)) => {
                let left_out = tools.iter().filter_map(|tool| Some((tool.clone(), self.why_not(tool)?))).collect();
                Some(Answer { left_out, ..self.not_usable(first, name) })
            }
            (usable, _) => Some(self.issue(usable.iter().map(|tool| (*tool, 0.0)), usable.len(), result)),
        }
    }

    /// Answers for a need in words, with the name as part of them.
    fn by_need(&self, ask: &Ask) -> Answer {
        let need = cut(ask.need.as_deref().unwrap_or_default());
        let name = cut(ask.name.as_deref().unwrap_or_default());
        let query = Query { user: &need, model: &name, goal: "" };
        // What is in the context already does not answer a model that asks: as many are looked for behind it.
        let in_context = self.shelf.len() + self.block.residents.len();
        let limit = self.view.policy.plan.recall_limit as usize + in_context;
        let found = planning::search(self.view, self.session.spec(), &query, limit);
        if found.ranked.is_empty() {
            return self.nothing_usable(&query).unwrap_or_else(|| self.not_found(&need));
        }
        let ranked = found.ranked.iter().map(|ranked| (&ranked.tool, ranked.score));
        self.issue(ranked, found.total, RequestResult::Retrieved)
    }

    /// Issues what is not in the context yet, within the budget, and says what can be called now.
    fn issue<'t>(&self, tools: impl Iterator<Item = (&'t ToolId, f32)>, total: usize, result: RequestResult) -> Answer {
        let limit = self.view.policy.plan.recall_limit;
        let mut choice = Choice::for_request(self.view, self.session, self.block, self.shelf);
        let mut present = Vec::new();
        let mut too_large = Vec::new();
        for (tool, score) in tools {
            if choice.issued.len() >= limit as usize {
                break;
            }
            if choice.is_in_context(tool) {
                present.push(tool);
            } else if !choice.take(tool, Origin::Recalled, score) {
                too_large.push(tool);
            }
        }
        let issued = choice.issued;
        let mut lines = Vec::new();
        if !issued.is_empty() {
            lines.push(format!("Loaded: {}.", self.names(issued.iter().map(|issue| &issue.tool))));
        }
        if !present.is_empty() {
            lines.push(format!("Available already: {}.", self.names(present.iter().copied().take(limit as usize))));
        }
        if !too_large.is_empty() {
            lines.push(format!(
                "No room left in this conversation for: {}. They can still be called by name.",
                self.names(too_large.iter().copied())
            ));
        }
        let result = if issued.is_empty() && too_large.is_empty() { RequestResult::AlreadyPresent } else { result };
        let returned = issued.len() as u32;
        // What is named above is no further match.
        let total = (total.saturating_sub(present.len() + too_large.len()) as u32).max(returned);
        let hint = if total > returned {
            format!("{} more match; say the need in other words if none of these fits.", total - returned)
        } else {
            String::new()
        };
        if !hint.is_empty() {
            lines.push(hint.clone());
        }
        let text = lines.join(" ");
        let listing = Listing { total, returned, limit, hint };
        let left_out = too_large.into_iter().map(|tool| (tool.clone(), Fate::OverBudget)).collect();
        let (kind, nearest) = (ResultKind::Answer, Vec::new());
        Answer { result, exclusion: None, issued, text, kind, listing, nearest, left_out }
    }

    fn why_not(&self, tool: &ToolId) -> Option<Fate> {
        self.session.exclusion(&self.view.registry, tool).map(Fate::Excluded)
    }

    /// Says that what would fit may not be used now; `None` where nothing would.
    fn nothing_usable(&self, query: &Query<'_>) -> Option<Answer> {
        let left_out = planning::unusable(self.view, self.session.spec(), query);
        if left_out.is_empty() {
            return None;
        }
        let mut said = Vec::new();
        for (tool, fate) in &left_out {
            // A name that the runtime took for a tool of its own means that one to the model.
            if let (Some(alias), Fate::Excluded(why)) = (self.view.alias(tool), fate)
                && *why != Exclusion::NameTaken
            {
                said.push(format!("{alias} {}", exclusion_in_words(*why)));
            }
        }
        let mut text = String::from("No tool that can be used now fits.");
        if !said.is_empty() {
            text.push_str(&format!(" What would fit: {}.", said.join(", ")));
        }
        Some(Answer { left_out, ..self.plain(RequestResult::NotFound, ResultKind::Error, text) })
    }

    /// Says why a known tool is not given, and names what could do instead. Of a tool that was never served no more is
    /// said than the name that the model used.
    fn not_usable(&self, tool: &ToolId, asked: &str) -> Answer {
        let Some(entry) = self.view.registry.get(tool) else { return self.not_found(&tool.name) };
        let nearest = alternatives(self.view, self.session, tool);
        let result =
            if entry.state() == ToolState::Retired { RequestResult::Retired } else { RequestResult::Unavailable };
        let name = if entry.current().is_some() { entry.alias().as_str() } else { asked };
        let why = self.session.exclusion(&self.view.registry, tool);
        let why = why.unwrap_or(Exclusion::State(entry.state()));
        let mut text = format!("{name} {}.", exclusion_in_words(why));
        push_nearest(&mut text, &nearest);
        Answer { exclusion: Some(why), nearest, ..self.plain(result, ResultKind::Error, text) }
    }

    fn not_found(&self, asked: &str) -> Answer {
        let spec = self.session.spec();
        let mut admits = |tool: &ToolId| block::exclusion(&self.view.registry, spec, tool).is_none();
        let near = self.view.index.near_names(asked, &mut admits, NEAREST);
        let nearest: Vec<Alias> = near.iter().filter_map(|tool| self.view.alias(tool).cloned()).collect();
        let mut text = String::from("No such tool.");
        push_nearest(&mut text, &nearest);
        let asks_by = render::asks_by(spec);
        text.push_str(&format!(" Ask {asks_by} for a name from the directory, or say the need in a few words."));
        Answer { nearest, ..self.plain(RequestResult::NotFound, ResultKind::Error, text) }
    }

    fn plain(&self, result: RequestResult, kind: ResultKind, text: String) -> Answer {
        let listing = Listing { limit: self.view.policy.plan.recall_limit, ..Listing::default() };
        let (issued, nearest, left_out) = (Vec::new(), Vec::new(), Vec::new());
        Answer { result, exclusion: None, issued, text, kind, listing, nearest, left_out }
    }

    fn names<'t>(&self, tools: impl Iterator<Item = &'t ToolId>) -> String {
        let names: Vec<&str> = tools.filter_map(|tool| self.view.alias(tool).map(Alias::as_str)).collect();
        names.join(", ")
    }
}

/// Finds tools that could do instead of one that may not be used now: by its own summary, or by its name where nobody
/// has approved a summary.
pub fn alternatives(view: &View, session: &Session, tool: &ToolId) -> Vec<Alias> {
    let Some(entry) = view.registry.get(tool) else { return Vec::new() };
    let about = entry.current().map_or(&*tool.name, |shown| shown.admitted().definition.summary.as_str());
    let query = Query { user: about, model: "", goal: "" };
    let found = planning::search(view, session.spec(), &query, NEAREST);
    found.ranked.iter().filter_map(|ranked| view.alias(&ranked.tool).cloned()).collect()
}

/// Says in words why a tool is not given.
pub fn exclusion_in_words(why: Exclusion) -> &'static str {
    match why {
        Exclusion::State(state) => state_in_words(state),
        Exclusion::NotRenderable => "cannot be shown to this model: its provider refuses the names of its parameters",
        Exclusion::Unknown => "is not registered",
        Exclusion::NotInPool => "is not in the session's pool",
        Exclusion::NameTaken => "has the name of one of the runtime's own tools",
    }
}

/// Says in words why a tool in a state is not given.
pub fn state_in_words(state: ToolState) -> &'static str {
    match state {
        ToolState::Quarantined => "is out of order at the moment",
        ToolState::Held => "is out of order until an operator has looked at it",
        ToolState::Pending => "waits for an operator's approval",
        ToolState::Withdrawn => "is no longer offered by its source",
        ToolState::Retired => "was retired",
        ToolState::Active | ToolState::Probation => "is available",
    }
}

/// Adds the nearest names to an answer.
pub fn push_nearest(text: &mut String, nearest: &[Alias]) {
    if !nearest.is_empty() {
        let names: Vec<&str> = nearest.iter().map(Alias::as_str).collect();
        text.push_str(&format!(" Nearest: {}.", names.join(", ")));
    }
}

/// Returns whether a name is so close to what was asked that it is what was meant.
fn is_near(name: &str, asked: &str) -> bool {
    let asked = asked.rsplit("__").next().unwrap_or(asked);
    // Two edits of a three-letter name make another name.
    let allowed = NEAR_EDITS.min(name.chars().count() / 4);
    edits(&name.to_lowercase(), &asked.to_lowercase(), allowed) <= allowed
}

/// Counts the edits (insert, delete, replace) between two texts; more than `limit` is not counted out.
fn edits(a: &str, b: &str, limit: usize) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > limit {
        return limit + 1;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_however_a_model_writes_them() {
        let read = |text: &str| Ask::from_arguments(text.as_bytes());
        assert_eq!(read(r#"{"name":"a"}"#).name.as_deref(), Some("a"));
        assert_eq!(read(r#"{"need":"send mail","name":""}"#), Ask { name: None, need: Some("send mail".into()) });
        assert_eq!(read("\"send mail\"").need.as_deref(), Some("send mail"));
        assert_eq!(read("send mail").need.as_deref(), Some("send mail"));
        assert_eq!(read("{}"), Ask::default());
    }

    #[test]
    fn a_name_off_by_a_letter_is_meant_and_an_invented_one_is_not() {
        assert!(is_near("create_issue", "creat_issue"));
        assert!(is_near("create_issue", "github__create_isue"));
        assert!(!is_near("image_search", "image_search_tool"));
        assert!(!is_near("add", "and"));
    }
}

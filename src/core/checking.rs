//! Checking the calls of one reply before they run: who answers each, which tool it is, and whether it may run.
//!
//! A registered tool may run whether it was present or not; one that is withheld never does. A call that is not to run
//! brings the tool result to give the model: what is wrong, what would be accepted, and the schema where the model has
//! not seen it.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use super::block::{self, Exclusion};
use super::event::{self, CallsChecked, Piece, Presence, Verdict};
use super::ids::{Alias, CallId, StepId, ToolId, Version};
use super::recall::{self, push_nearest};
use super::registry::Tool;
use super::render::{self, CALL_TOOL, REQUEST_TOOL, ResultKind, Shown};
use super::session::Session;
use super::validation::Violation;
use super::view::View;

/// Nearest names that a refusal gives.
const NEAREST: usize = 5;

/// Violations that a refusal tells the model.
const VIOLATIONS_TOLD: usize = 8;

/// One call as the model wrote it.
pub struct RawCall<'a> {
    /// The provider's id.
    pub call_id: CallId,
    /// The name as called.
    pub name: &'a str,
    /// The arguments as written.
    pub arguments: &'a [u8],
}

/// Who answers a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallKind {
    /// An admitted tool.
    Tool,
    /// The meta tool `request_tool`.
    Request,
    /// The runtime's own tool.
    Own,
}

/// A call of a version that is no longer the one served: it was written by, and checked against, what its session was
/// shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stale {
    /// The version that is served.
    pub current: Version,
    /// Whether the arguments fit that one too. Where they do not, whoever runs the tool may refuse them.
    pub fits_current: bool,
}

/// The answer for one call.
pub struct Checked {
    /// The call.
    pub call_id: CallId,
    /// Who answers it.
    pub kind: CallKind,
    /// Whether to run it.
    pub run: bool,
    /// What is wrong with it; `Unjudged` where nothing is.
    pub verdict: Verdict,
    /// The tool and version behind the name.
    pub tool: Option<(ToolId, Version)>,
    /// Arguments for the tool where they differ from those sent.
    pub arguments: Option<String>,
    /// Whether its definition was in front of the model.
    pub presence: Option<Presence>,
    /// Why it may not be used.
    pub exclusion: Option<Exclusion>,
    /// Where another version is served by now than the session was shown.
    pub stale: Option<Stale>,
    /// What does not fit.
    pub violations: Vec<Violation>,
    /// Where it is not to run: the tool result to give.
    pub pieces: Vec<Piece>,
    /// The definition that those pieces carry.
    pub carried: Option<Arc<Shown>>,
    /// Nearest names.
    pub nearest: Vec<Alias>,
}

/// Checks all calls of a reply; the event is what goes into the log. Presence is filled in by [`Session::apply_check`],
/// which settles it in the order of the reply.
pub fn check(
    view: &View,
    session: &Session,
    step: Option<StepId>,
    calls: &[RawCall<'_>],
) -> (CallsChecked, Vec<Checked>) {
    let checker = Checker { view, session, step };
    let answers: Vec<Checked> = calls.iter().map(|call| checker.check(call)).collect();
    let mut event = CallsChecked { session: session.id().clone(), step, calls: Vec::new() };
    for answer in &answers {
        if answer.kind != CallKind::Tool {
            continue;
        }
        event.calls.push(event::CheckedCall {
            call_id: answer.call_id.clone(),
            tool: answer.tool.as_ref().map(|(tool, _)| tool.clone()),
            version: answer.tool.as_ref().map(|(_, version)| *version).unwrap_or_default(),
            verdict: answer.verdict,
            issued: answer.carried.is_some(),
            state: match answer.exclusion {
                Some(Exclusion::State(state)) => Some(state),
                _ => None,
            },
        });
    }
    (event, answers)
}

/// Checks arguments against the version that a session was shown, after the fact; `None` where they cannot be checked.
pub fn arguments_fit(view: &View, session: &Session, tool: &ToolId, arguments: &[u8]) -> Option<bool> {
    let shown = view.registry.get(tool)?.version_or_current(session.shown_version(tool))?.clone();
    let arguments = parse(arguments).ok()?;
    Some(shown.validator()?.validate(&arguments).is_empty())
}

/// Returns the name of the tool that a `call_tool` calls.
pub fn inner_name(arguments: &[u8]) -> Option<String> {
    unwrap(arguments).ok().map(|(name, _)| name)
}

struct Checker<'a> {
    view: &'a View,
    session: &'a Session,
    step: Option<StepId>,
}

impl Checker<'_> {
    fn check(&self, call: &RawCall<'_>) -> Checked {
        let spec = self.session.spec();
        if block::is_own(spec, &Alias::from(call.name)) {
            return answer(call, CallKind::Own);
        }
        match call.name {
            REQUEST_TOOL => answer(call, CallKind::Request),
            CALL_TOOL => match unwrap(call.arguments).and_then(|inner| self.refuse_direct(inner)) {
                Ok((name, arguments)) => {
                    let inner = RawCall { call_id: call.call_id.clone(), name: &name, arguments: arguments.as_bytes() };
                    let mut checked = self.check_tool(&inner);
                    checked.arguments = Some(arguments);
                    checked
                }
                Err(violation) => {
                    let checked = answer(call, CallKind::Tool);
                    self.refuse_arguments(checked, None, vec![violation])
                }
            },
            _ => self.check_tool(call),
        }
    }

    /// Refuses to unwrap a call of what the model calls directly: it is there, only not behind `call_tool`.
    fn refuse_direct(&self, inner: (String, String)) -> Result<(String, String), Violation> {
        let name = &inner.0;
        if !block::is_own(self.session.spec(), &Alias::from(name.as_str())) && !block::is_meta(name) {
            return Ok(inner);
        }
        let (pointer, description) = ("/name".into(), format!("{name} is no tool of the directory"));
        Err(Violation { pointer, description, accepted: "must be called directly".into() })
    }

    fn check_tool(&self, call: &RawCall<'_>) -> Checked {
        let registry = &self.view.registry;
        let mut checked = answer(call, CallKind::Tool);
        let Some(tool) = registry.by_alias(&Alias::from(call.name)) else {
            return self.refuse_unknown(checked, call.name);
        };
        let Some(entry) = registry.get(tool) else { return self.refuse_unknown(checked, call.name) };
        match self.session.exclusion(registry, tool) {
            None => {}
            Some(why @ (Exclusion::State(_) | Exclusion::NotRenderable)) => {
                checked.exclusion = Some(why);
                let version = entry.current().map(|shown| shown.admitted().version).unwrap_or_default();
                checked.tool = Some((tool.clone(), version));
                checked.nearest = recall::alternatives(self.view, self.session, tool);
                checked.verdict = Verdict::Unavailable;
                let mut text = format!("{} {}. The call was not run.", call.name, recall::exclusion_in_words(why));
                push_nearest(&mut text, &checked.nearest);
                return self.refuse(checked, &text, None);
            }
            // What a session may not see is not there.
            Some(Exclusion::NotInPool | Exclusion::Unknown | Exclusion::NameTaken) => {
                return self.refuse_unknown(checked, call.name);
            }
        }
        let Some(shown) = entry.version_or_current(self.session.shown_version(tool)).cloned() else {
            return self.refuse_unknown(checked, call.name);
        };
        checked.tool = Some((tool.clone(), shown.admitted().version));
        let violations = match parse(call.arguments) {
            Ok(arguments) => {
                checked.stale = stale(entry, &shown, &arguments);
                violations_of(&shown, &arguments)
            }
            Err(violation) => vec![violation],
        };
        if !violations.is_empty() {
            return self.refuse_arguments(checked, Some(shown), violations);
        }
        checked.run = true;
        checked
    }

    fn refuse_unknown(&self, mut checked: Checked, name: &str) -> Checked {
        let spec = self.session.spec();
        let mut admits = |tool: &ToolId| block::exclusion(&self.view.registry, spec, tool).is_none();
        let near = self.view.index.near_names(name, &mut admits, NEAREST);
        checked.nearest = near.iter().filter_map(|tool| self.view.alias(tool).cloned()).collect();
        checked.verdict = Verdict::UnknownTool;
        let mut text = String::from("There is no tool of that name. The call was not run.");
        push_nearest(&mut text, &checked.nearest);
        // A session that was sent every tool has nothing to ask by.
        if self.session.block().is_some_and(|block| !block.pass_through) {
            text.push_str(&format!(" Ask {} for a tool by name or need.", render::asks_by(spec)));
        }
        self.refuse(checked, &text, None)
    }

    fn refuse_arguments(&self, mut checked: Checked, shown: Option<Arc<Shown>>, violations: Vec<Violation>) -> Checked {
        checked.verdict = Verdict::InvalidArguments;
        let mut text = String::from("The arguments do not fit, so the call was not run.");
        for violation in violations.iter().take(VIOLATIONS_TOLD) {
            let place = if violation.pointer.is_empty() { "arguments" } else { &violation.pointer };
            text.push_str(&format!("\n- {place}: {}; {}", violation.description, violation.accepted));
        }
        checked.violations = violations;
        // The schema goes along where the model has not seen it, or may have lost it.
        let carried = shown.filter(|_| !checked.tool.as_ref().is_some_and(|(tool, _)| self.is_surely_present(tool)));
        self.refuse(checked, &text, carried)
    }

    /// Tells whether a definition is in front of the model: in the block, or on demand in a step for which the runtime said
    /// what is present.
    fn is_surely_present(&self, tool: &ToolId) -> bool {
        let step = self.step.and_then(|step| self.session.step(step));
        let was_told = step.is_some_and(|step| step.planned.present.is_some());
        match self.session.presence(self.step, tool) {
            Presence::Resident => true,
            Presence::Issued | Presence::Recalled => was_told,
            Presence::Absent | Presence::Unknown => false,
        }
    }

    fn refuse(&self, mut checked: Checked, text: &str, carried: Option<Arc<Shown>>) -> Checked {
        let spec = self.session.spec();
        let list: Vec<&Shown> = carried.iter().map(|shown| &**shown).collect();
        checked.pieces = render::tool_result(spec, &checked.call_id, ResultKind::Error, text, &list);
        checked.carried = carried;
        checked
    }
}

fn answer(call: &RawCall<'_>, kind: CallKind) -> Checked {
    Checked {
        call_id: call.call_id.clone(),
        kind,
        run: matches!(kind, CallKind::Own | CallKind::Request),
        verdict: Verdict::Unjudged,
        tool: None,
        arguments: None,
        presence: None,
        exclusion: None,
        stale: None,
        violations: Vec::new(),
        pieces: Vec::new(),
        carried: None,
        nearest: Vec::new(),
    }
}

/// Says whether another version is served than a call was checked against.
fn stale(entry: &Tool, shown: &Shown, arguments: &Value) -> Option<Stale> {
    let current = entry.current().filter(|current| current.admitted().version != shown.admitted().version)?;
    let fits_current = violations_of(current, arguments).is_empty();
    Some(Stale { current: current.admitted().version, fits_current })
}

fn violations_of(shown: &Shown, arguments: &Value) -> Vec<Violation> {
    let Some(validator) = shown.validator() else { return Vec::new() };
    validator.validate(arguments)
}

/// Reads arguments; providers send nothing at all where a tool takes none.
fn parse(arguments: &[u8]) -> Result<Value, Violation> {
    if arguments.iter().all(u8::is_ascii_whitespace) {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    serde_json::from_slice(arguments).map_err(|error| Violation {
        pointer: String::new(),
        description: format!("not JSON: {error}"),
        accepted: "must be a JSON object".into(),
    })
}

/// Takes a `call_tool` apart. The inner arguments may be an object or a string holding one: some models and typed
/// schemas make free objects into strings.
fn unwrap(arguments: &[u8]) -> Result<(String, String), Violation> {
    let violation = |pointer: &str, description: &str, accepted: &str| Violation {
        pointer: pointer.into(),
        description: description.into(),
        accepted: accepted.into(),
    };
    let outer = parse(arguments)?;
    let name = outer.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
    let Some(name) = name else {
        return Err(violation("/name", "missing", "must be the name of a tool"));
    };
    let inner = match outer.get("arguments") {
        None | Some(Value::Null) => Cow::Borrowed("{}"),
        Some(Value::String(text)) => Cow::Borrowed(text.as_str()),
        Some(object) => Cow::Owned(object.to_string()),
    };
    Ok((name.to_owned(), inner.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_tool_takes_an_object_or_a_string_holding_one() {
        let object = unwrap(br#"{"name":"a","arguments":{"x":1}}"#).unwrap();
        let string = unwrap(br#"{"name":"a","arguments":"{\"x\":1}"}"#).unwrap();
        assert_eq!(object, ("a".into(), r#"{"x":1}"#.into()));
        assert_eq!(object, string);
        assert_eq!(unwrap(br#"{"name":"a"}"#).unwrap().1, "{}");
        assert_eq!(unwrap(br#"{"arguments":{}}"#).unwrap_err().pointer, "/name");
    }
}

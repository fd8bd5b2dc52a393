//! A namespace's history as the daemon's writer would have written it: commands decided and then applied, traffic
//! folded, every unit stamped and numbered.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::json;

use super::super::definitions::Definitions;
use super::super::trace::TraceTool;
use super::*;
use crate::core::admission::{Checked, check};
use crate::core::checking::{RawCall, check as check_calls};
use crate::core::definition::Json;
use crate::core::event::{
    Delivery, Ending, Format, NamespaceCreated, OutcomeReported, PoolSpec, SessionClosed, SessionOpened,
    SessionRefreshed, SessionSpec, StepEnd, StepEnded, ToolAction, ToolChanged, ToolRequested, UsageReported,
};
use crate::core::ids::{CallId, Digest, Selector, SessionId, StepId, ToolId};
use crate::core::namespace::commands::{Batch, Registration};
use crate::core::planning::{self, StepAsk};
use crate::core::policy::{AdmissionPolicy, WhenRule};
use crate::core::recall::{self, Ask};
use crate::core::retrieval::Query;
use crate::core::session::Session;

/// Tools of a history, three sources of ten.
pub const N_TOOLS: usize = 30;

/// Names that a history's tools are made of.
const VERBS: [&str; 5] = ["read", "write", "list", "find", "send"];
const THINGS: [&str; 6] = ["file", "letter", "invoice", "branch", "ticket", "photo"];

/// Wordings that each tool comes in.
const N_EDITIONS: usize = 3;

/// Every tool in every wording as it went through the gate, which is the costly part of a history.
static CHECKED: LazyLock<Vec<Checked>> = LazyLock::new(|| {
    let policy = AdmissionPolicy { when: WhenRule::Flag, ..Policy::default().admission };
    let mut checked = Vec::new();
    for edition in 0..N_EDITIONS {
        let tools: Vec<TraceTool> = (0..N_TOOLS).map(|number| trace_tool(number, edition)).collect();
        let made = Definitions::of(&tools, &policy);
        checked.extend(made.admitted.iter().map(|admitted| check(&admitted.definition, &policy)));
    }
    checked
});

/// Something that happens; numbers pick a tool or session, whatever their range.
#[derive(Clone, Debug)]
pub enum Act {
    /// The tools of a source are registered, all but the first `n_left_out`, in wording `edition`.
    Register { source: usize, n_left_out: usize, edition: u8 },
    /// An operator does something to a tool, if it is possible.
    Change { tool: usize, action: ToolAction },
    /// A value of the policy is set.
    Policy { key: &'static str, value: &'static str },
    /// A session opens, as a fork of another one if that is open.
    Open { session: usize, fork_of: Option<usize>, own_source: Option<usize> },
    /// A session takes what is pending.
    Refresh { session: usize, keep: usize },
    /// A session closes.
    Close { session: usize },
    /// A step is planned for the words of a tool's name.
    Plan { session: usize, about: Option<usize>, forgets: bool },
    /// A step ends without a call.
    EndStep { session: usize },
    /// The model asks for a tool.
    Request { session: usize, tool: usize },
    /// A call is checked before it runs; `fits` says whether its arguments do.
    Check { session: usize, call: usize, tool: usize, fits: bool },
    /// A call has ended.
    Outcome { session: usize, call: usize, tool: usize, ending: Ending, retry_of: Option<usize> },
    /// The provider's bill for a step.
    Usage { session: usize, input_tokens: u64, cached_tokens: u64 },
    /// Seconds pass.
    Pass { secs: u64 },
}

/// A history being written.
pub struct History {
    /// As the daemon holds it.
    pub namespace: Namespace,
    /// The log.
    pub records: Vec<Record>,
    /// How many records stood after each unit, and the state as a snapshot there.
    pub snapshots: Vec<(usize, Vec<u8>)>,
    now: UnixMillis,
}

/// The name of a history's namespace.
pub fn id() -> NamespaceId {
    NamespaceId::new("history")
}

/// Returns the tool that a number picks.
pub fn tool(number: usize) -> ToolId {
    let number = number % N_TOOLS;
    let name = format!("{}_{}", VERBS[number % VERBS.len()], THINGS[number / VERBS.len()]);
    ToolId::new(format!("s{}", number / 10), name)
}

/// Writes a history of these acts; `at_snapshots` says after which units to take a snapshot.
pub fn write(acts: &[Act], at_snapshots: &[usize]) -> History {
    let mut history = History {
        namespace: Namespace::new(id()),
        records: Vec::new(),
        snapshots: Vec::new(),
        now: UnixMillis(1_700_000_000_000),
    };
    history.fold(Event::NamespaceCreated(NamespaceCreated { salt: Digest::of(b"salt") }));
    for (number, act) in acts.iter().enumerate() {
        history.play(act);
        if at_snapshots.contains(&number) {
            let snapshot = history.namespace.to_snapshot().unwrap();
            history.snapshots.push((history.records.len(), snapshot));
        }
    }
    history
}

impl History {
    fn fold(&mut self, cause: Event) {
        let drawn = self.namespace.fold(self.now, &cause);
        self.note(std::iter::once(cause).chain(drawn));
    }

    /// As the writer commits a command: what was decided goes to the log, and is applied.
    fn commit(&mut self, events: Vec<Event>) {
        let Some(cause) = events.first().cloned() else { return };
        for event in &events {
            self.namespace.apply(self.now, &cause, event);
        }
        self.note(events);
    }

    fn note(&mut self, events: impl IntoIterator<Item = Event>) {
        for event in events {
            self.records.push(Record { seq: Seq(self.records.len() as u64 + 1), at: self.now, event });
        }
    }

    /// Returns the hash that an operator who looks would quote.
    fn hash_to_quote(&self, number: usize, action: ToolAction) -> Option<Digest> {
        let entry = self.namespace.registry().get(&tool(number))?;
        let waiting = entry.waiting().filter(|_| action == ToolAction::Approve)?;
        Some(waiting.admitted().hash)
    }

    fn open(&self, session: usize) -> Option<&Session> {
        let session = self.namespace.session(&session_id(session))?;
        session.ended().is_none().then_some(session)
    }

    fn last_step(&self, session: usize) -> Option<StepId> {
        self.open(session)?.last_step().map(|step| step.planned.step)
    }

    fn play(&mut self, act: &Act) {
        match act {
            Act::Register { source, n_left_out, edition } => self.register(source % 3, *n_left_out, *edition),
            Act::Change { tool: number, action } => {
                let change = ToolChanged {
                    request_id: String::new(),
                    actor: "operator".into(),
                    tool: tool(*number),
                    action: *action,
                    reason: "because".into(),
                    hash: self.hash_to_quote(*number, *action),
                };
                let decided = self.namespace.decide_change(self.now, change);
                self.commit(decided.unwrap_or_default());
            }
            Act::Policy { key, value } => {
                let values = BTreeMap::from([(key.to_string(), value.to_string())]);
                let set = PolicySet { request_id: format!("{key}={value}"), actor: "operator".into(), values };
                let decided = self.namespace.decide_policy(set, 0);
                self.commit(decided.unwrap());
            }
            Act::Open { session, fork_of, own_source } => self.open_session(*session, *fork_of, *own_source),
            Act::Refresh { session, keep } => {
                if self.open(*session).is_some() {
                    let keep = [tool(*keep)].into();
                    self.fold(Event::SessionRefreshed(SessionRefreshed { session: session_id(*session), keep }));
                }
            }
            Act::Close { session } => {
                if self.open(*session).is_some() {
                    self.fold(Event::SessionClosed(SessionClosed { session: session_id(*session) }));
                }
            }
            Act::Plan { session, about, forgets } => self.plan(*session, *about, *forgets),
            Act::EndStep { session } => {
                if let Some(step) = self.last_step(*session) {
                    let end = StepEnd::Answered;
                    self.fold(Event::StepEnded(StepEnded { session: session_id(*session), step, end }));
                }
            }
            Act::Request { session, tool: number } => self.request(*session, *number),
            Act::Check { session, call, tool: number, fits } => self.check(*session, *call, *number, *fits),
            Act::Outcome { session, call, tool: number, ending, retry_of } => {
                let outcome = OutcomeReported {
                    session: session_id(*session),
                    call_id: call_id(*call),
                    step: self.last_step(*session),
                    tool: Some(tool(*number)),
                    ending: *ending,
                    message: String::new(),
                    duration_ms: 3,
                    retry_of: retry_of.map(call_id),
                    arguments_fit: call.is_multiple_of(3).then_some(call.is_multiple_of(2)),
                    judgement: None,
                };
                self.fold(Event::OutcomeReported(outcome));
            }
            Act::Usage { session, input_tokens, cached_tokens } => {
                let (input_tokens, cached_tokens) = (*input_tokens, *cached_tokens);
                let session = session_id(*session);
                let usage = UsageReported { session, input_tokens, cached_tokens, miss_reason: String::new() };
                self.fold(Event::UsageReported(usage));
            }
            Act::Pass { secs } => {
                self.now = self.now.plus_secs(*secs);
                if self.namespace.next_deadline().is_some_and(|deadline| deadline <= self.now) {
                    self.fold(Event::TimePassed);
                }
            }
        }
    }

    fn register(&mut self, source: usize, n_left_out: usize, edition: u8) {
        let listed = (source * 10..source * 10 + 10).skip(n_left_out);
        let checked = listed.map(|number| CHECKED[usize::from(edition) % N_EDITIONS * N_TOOLS + number].clone());
        let registration = Registration {
            request_id: String::new(),
            actor: "importer".into(),
            checked: checked.enumerate().map(|(i, checked)| (i as u32, checked)).collect(),
            batch: Batch::PerItem,
            complete_sources: [Arc::from(format!("s{source}"))].into(),
            unreadable: Default::default(),
        };
        let decided = self.namespace.decide_register(&registration).unwrap();
        assert!(decided.admissions.iter().all(|admission| admission.violations.is_empty()));
        self.commit(decided.events);
    }

    fn open_session(&mut self, session: usize, fork_of: Option<usize>, own_source: Option<usize>) {
        let fork_of = fork_of.filter(|original| self.open(*original).is_some()).map(session_id);
        if self.open(session).is_some() {
            return;
        }
        let mut pool = PoolSpec::default();
        if let Some(source) = own_source {
            pool.allow.insert(Selector::Source(Arc::from(format!("s{}", source % 3))));
        }
        let spec = SessionSpec {
            format: Format::Mcp,
            delivery: Delivery::Invoke,
            model: String::new(),
            window: 4_000,
            pool,
            own_tools: Vec::new(),
            on_demand_budget: 0,
            ephemeral: false,
            parent: None,
            fork_of,
            played: false,
            mark_cache: false,
        };
        self.fold(Event::SessionOpened(SessionOpened { session: session_id(session), spec: Arc::new(spec) }));
    }

    fn plan(&mut self, session: usize, about: Option<usize>, forgets: bool) {
        let view = self.namespace.view();
        let Some(open) = self.open(session) else { return };
        let Some(block) = open.block().cloned() else { return };
        let words = about.map(|number| tool(number).name.replace('_', " ")).unwrap_or_default();
        let ask = StepAsk {
            key: "",
            query: Query { user: &words, model: "", goal: "" },
            present: forgets.then(Default::default),
            max_tools: 2,
            max_tokens: 0,
        };
        let everything = planning::everything_tokens(&view.registry, open.spec());
        let planned = planning::plan(&view, open, &block, everything, &ask).planned;
        self.fold(Event::StepPlanned(planned));
    }

    fn request(&mut self, session: usize, number: usize) {
        let view = self.namespace.view();
        let Some(open) = self.open(session) else { return };
        let Some(block) = open.block().cloned() else { return };
        let ask = Ask { name: Some(tool(number).name.to_string()), need: None };
        let answer = recall::answer(&view, open, &block, &open.shelf_before(None), &ask);
        let requested = ToolRequested {
            session: session_id(session),
            call_id: CallId::new(format!("r{}", self.records.len())),
            step: self.last_step(session),
            issued: answer.issued,
            result: answer.result,
        };
        self.fold(Event::ToolRequested(requested));
    }

    fn check(&mut self, session: usize, call: usize, number: usize, fits: bool) {
        let view = self.namespace.view();
        let Some(open) = self.open(session) else { return };
        let Some(alias) = view.alias(&tool(number)) else { return };
        let arguments: &[u8] = if fits { br#"{"path":"x"}"# } else { br#"{"path":1}"# };
        let raw = RawCall { call_id: call_id(call), name: alias.as_str(), arguments };
        let (checked, _) = check_calls(&view, open, self.last_step(session), &[raw]);
        self.fold(Event::CallsChecked(checked));
    }
}

fn session_id(number: usize) -> SessionId {
    SessionId::new(format!("session{number}"))
}

fn call_id(number: usize) -> CallId {
    CallId::new(format!("call{number}"))
}

fn trace_tool(number: usize, edition: usize) -> TraceTool {
    let id = tool(number);
    let words = id.name.replace('_', " ");
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    TraceTool {
        description: format!("Edition {edition}: {words} at a path. Use it when {words} is asked for."),
        input_schema: Some(Json::from_value(&schema)),
        domain: None,
        schema_tokens: None,
        index_line_tokens: None,
        initial_score: if number % 10 == 4 { 2.0 } else { 0.0 },
        id,
    }
}

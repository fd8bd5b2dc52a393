//! A namespace under test: tools from short text, and each thing that a runtime or an operator can do in one line.
//!
//! Does what the engine does between a request and the log, and keeps the log, so that a test can recover from it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::core::admission;
use crate::core::checking::{self, Checked, RawCall};
use crate::core::definition::{Definition, Json};
use crate::core::event::{
    Block, CallJudged, Delivery, Ending, Event, Format, NamespaceCreated, OutcomeReported, OwnTool, PolicySet,
    PoolSpec, Presence, SessionClosed, SessionOpened, SessionRefreshed, SessionSpec, StepEnd, StepEnded, StepPlanned,
    ToolAction, ToolChanged, ToolMoved, ToolRequested, ToolState,
};
use crate::core::ids::{Alias, CallId, Digest, NamespaceId, SessionId, StepId, ToolId, UnixMillis};
use crate::core::namespace::Namespace;
use crate::core::namespace::commands::{Batch, Refusal, Registered, Registration};
use crate::core::planning::{self, StepAsk};
use crate::core::policy::Policy;
use crate::core::recall::{self, Answer, Ask};
use crate::core::retrieval::Query;
use crate::core::session::Session;
use crate::core::tokens;

/// Subjects without a word or a stem in common, so that a query finds one tool.
pub const SUBJECTS: [&str; 24] = [
    "invoice",
    "weather",
    "flight",
    "hotel",
    "ticket",
    "calendar",
    "contact",
    "translation",
    "currency",
    "podcast",
    "recipe",
    "workout",
    "parcel",
    "garden",
    "museum",
    "bicycle",
    "library",
    "concert",
    "painting",
    "volcano",
    "satellite",
    "dentist",
    "orchard",
    "glacier",
];

/// Writes a tool that takes one text argument, from `source/name` and what it does.
pub fn tool(id: &str, summary: &str) -> Definition {
    let mut definition = Definition {
        id: id.parse().unwrap(),
        title: None,
        summary: summary.into(),
        when_to_use: "Use when asked.".into(),
        keywords: vec!["chore".into()],
        size_tokens: 0,
        description: format!("{summary}."),
        input_schema: Json::from_value(&serde_json::json!({
            "type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"],
        })),
        output_schema: None,
        annotations: None,
        group: String::new(),
        tags: Vec::new(),
        attributes: BTreeMap::new(),
        initial_score: 0.0,
        derived: BTreeSet::new(),
    };
    definition.size_tokens = tokens::count(&definition.measured_text());
    definition
}

/// Writes the tools `s/find_invoice`, `s/find_weather` and so on, up to 24.
pub fn tools(n: usize) -> Vec<Definition> {
    let write = |subject: &&str| tool(&format!("s/find_{subject}"), &format!("Looks up one {subject} in the records"));
    SUBJECTS.iter().take(n).map(write).collect()
}

/// Lets the gate look at tools.
pub fn check_all(tools: &[Definition]) -> Vec<admission::Checked> {
    let policy = Policy::default().admission;
    tools.iter().map(|tool| admission::check(tool, &policy)).collect()
}

/// Returns the id of a tool of [`tools`].
pub fn id_of(subject: &str) -> ToolId {
    ToolId::new("s", format!("find_{subject}"))
}

/// Returns the name under which a model sees a tool of [`tools`].
pub fn alias_of(subject: &str) -> String {
    format!("s__find_{subject}")
}

/// Returns what a plain session asks for.
pub fn spec() -> SessionSpec {
    SessionSpec {
        format: Format::OpenaiChat,
        delivery: Delivery::Invoke,
        model: String::new(),
        window: 100_000,
        pool: PoolSpec::default(),
        own_tools: vec![OwnTool { name: Alias::from("bash"), tokens: 10 }],
        on_demand_budget: 0,
        ephemeral: false,
        parent: None,
        fork_of: None,
        played: false,
        mark_cache: false,
    }
}

/// One line of the log: when, under which cause, what.
type Line = (UnixMillis, Event, Event);

/// A namespace with its log and a clock.
pub struct Crib {
    pub ns: Namespace,
    pub now: UnixMillis,
    log: Vec<Line>,
    n_calls: u32,
}

impl Crib {
    /// Makes a namespace with these tools in which nothing passes through because it is small.
    pub fn new(tools: &[Definition]) -> Self {
        let ns = Namespace::new(NamespaceId::from("test"));
        let mut crib = Self { ns, now: UnixMillis(1_000_000), log: Vec::new(), n_calls: 0 };
        crib.fold(Event::NamespaceCreated(NamespaceCreated { salt: Digest::of(b"test") }));
        crib.set("session.pass_through_share", "0");
        crib.register(tools);
        crib
    }

    /// Takes a cause in and returns what was drawn.
    pub fn fold(&mut self, cause: Event) -> Vec<Event> {
        let drawn = self.ns.fold(self.now, &cause);
        self.log.push((self.now, cause.clone(), cause.clone()));
        self.log.extend(drawn.iter().map(|event| (self.now, cause.clone(), event.clone())));
        drawn
    }

    /// Applies what a command decided.
    pub fn commit(&mut self, events: Vec<Event>) -> Vec<Event> {
        let Some(cause) = events.first().cloned() else { return events };
        for event in &events {
            self.ns.apply(self.now, &cause, event);
            self.log.push((self.now, cause.clone(), event.clone()));
        }
        events
    }

    /// Checks that a namespace recovered from the log is this one, byte for byte.
    pub fn assert_recovers(&self) {
        let mut recovered = Namespace::new(self.ns.id().clone());
        for (at, cause, event) in &self.log {
            recovered.apply(*at, cause, event);
        }
        let text = |ns: &Namespace| String::from_utf8(ns.to_snapshot().unwrap()).unwrap();
        assert_eq!(text(&recovered), text(&self.ns));
        let reread = Namespace::from_snapshot(text(&self.ns).as_bytes()).unwrap();
        assert_eq!(text(&reread), text(&self.ns));
    }

    /// Registers tools, all of which must be admitted.
    pub fn register(&mut self, tools: &[Definition]) -> Vec<Event> {
        self.list(tools, &[])
    }

    /// Registers the whole list of some sources.
    pub fn list(&mut self, tools: &[Definition], complete_sources: &[&str]) -> Vec<Event> {
        self.list_checked(&check_all(tools), complete_sources)
    }

    /// Registers the whole list of some sources, looked at before.
    pub fn list_checked(&mut self, checked: &[admission::Checked], complete_sources: &[&str]) -> Vec<Event> {
        let registration = Registration {
            request_id: String::new(),
            actor: "op".into(),
            checked: checked.iter().enumerate().map(|(i, checked)| (i as u32, checked.clone())).collect(),
            batch: Batch::PerItem,
            complete_sources: complete_sources.iter().map(|source| Arc::from(*source)).collect(),
            unreadable: BTreeSet::new(),
        };
        let Registered { events, admissions, .. } = self.ns.decide_register(&registration).unwrap();
        let refused = admissions.iter().find(|admission| !admission.violations.is_empty());
        assert!(refused.is_none(), "{refused:?}");
        self.commit(events)
    }

    /// Does something to a tool as an operator.
    pub fn change(&mut self, tool: &ToolId, action: ToolAction) -> Result<Vec<Event>, Refusal> {
        self.change_quoting(tool, action, None)
    }

    /// Does something to a tool as an operator who quotes a hash.
    pub fn change_quoting(
        &mut self,
        tool: &ToolId,
        action: ToolAction,
        hash: Option<Digest>,
    ) -> Result<Vec<Event>, Refusal> {
        let (actor, reason) = ("op".into(), "why".into());
        let change = ToolChanged { request_id: String::new(), actor, tool: tool.clone(), action, reason, hash };
        let events = self.ns.decide_change(self.now, change)?;
        Ok(self.commit(events))
    }

    /// Sets one value of the policy.
    pub fn set(&mut self, key: &str, value: &str) {
        let values = BTreeMap::from([(key.to_owned(), value.to_owned())]);
        let set = PolicySet { request_id: String::new(), actor: "op".into(), values };
        let events = self.ns.decide_policy(set, 0).unwrap();
        self.commit(events);
    }

    /// Opens a plain session.
    pub fn open(&mut self, session: &str) -> Arc<Block> {
        self.open_with(session, spec())
    }

    /// Opens a session.
    pub fn open_with(&mut self, session: &str, spec: SessionSpec) -> Arc<Block> {
        self.fold(Event::SessionOpened(SessionOpened { session: session.into(), spec: Arc::new(spec) }));
        self.block(session)
    }

    /// Gives a session its next block.
    pub fn refresh(&mut self, session: &str, keep: &[ToolId]) -> Arc<Block> {
        let keep = keep.iter().cloned().collect();
        self.fold(Event::SessionRefreshed(SessionRefreshed { session: session.into(), keep }));
        self.block(session)
    }

    /// Closes a session.
    pub fn close(&mut self, session: &str) -> Vec<Event> {
        self.fold(Event::SessionClosed(SessionClosed { session: session.into() }))
    }

    /// Returns a session.
    pub fn session(&self, session: &str) -> &Session {
        self.ns.session(&SessionId::from(session)).unwrap()
    }

    /// Returns a session's block.
    pub fn block(&self, session: &str) -> Arc<Block> {
        self.session(session).block().unwrap().clone()
    }

    /// Plans a step for what a user says, where the runtime does not say what is present.
    pub fn plan(&mut self, session: &str, user: &str) -> StepPlanned {
        self.plan_with(session, user, None)
    }

    /// Plans a step for what a user says, with these names present.
    pub fn plan_present(&mut self, session: &str, user: &str, present: &[&str]) -> StepPlanned {
        let present = self.ns.view().tools_named(present);
        self.plan_with(session, user, Some(present))
    }

    fn plan_with(&mut self, session: &str, user: &str, present: Option<BTreeSet<ToolId>>) -> StepPlanned {
        let query = Query { user, model: "", goal: "" };
        self.plan_ask(session, &StepAsk { key: "", query, present, max_tools: 0, max_tokens: 0 })
    }

    /// Plans a step as asked.
    pub fn plan_ask(&mut self, session: &str, ask: &StepAsk<'_>) -> StepPlanned {
        let view = self.ns.view();
        let front = self.session(session);
        if let Some(step) = front.step_with_key(ask.key) {
            return (*step.planned).clone();
        }
        let everything = planning::everything_tokens(&view.registry, front.spec());
        let planned = planning::plan(&view, front, &self.block(session), everything, ask).planned;
        self.fold(Event::StepPlanned(planned.clone()));
        planned
    }

    /// Says how a step ended without a call.
    pub fn end_step(&mut self, session: &str, step: StepId, end: StepEnd) {
        self.fold(Event::StepEnded(StepEnded { session: session.into(), step, end }));
    }

    /// Answers the meta call with these arguments in the reply of a step.
    pub fn request(&mut self, session: &str, step: Option<StepId>, arguments: &str) -> Answer {
        let view = self.ns.view();
        let front = self.session(session);
        let (block, shelf) = (self.block(session), front.shelf_before(None));
        let answer = recall::answer(&view, front, &block, &shelf, &Ask::from_arguments(arguments.as_bytes()));
        let call_id = self.next_call_id();
        let (issued, result) = (answer.issued.clone(), answer.result);
        self.fold(Event::ToolRequested(ToolRequested { session: session.into(), call_id, step, issued, result }));
        answer
    }

    /// Checks calls of one reply, each an id, a name and arguments.
    pub fn check(&mut self, session: &str, step: Option<StepId>, calls: &[(&str, &str, &str)]) -> Vec<Checked> {
        let mut raw = Vec::new();
        for (id, name, arguments) in calls {
            raw.push(RawCall { call_id: CallId::from(*id), name, arguments: arguments.as_bytes() });
        }
        let (event, mut answers) = checking::check(&self.ns.view(), self.session(session), step, &raw);
        self.fold(Event::CallsChecked(event));
        for answer in &mut answers {
            answer.presence = self.session(session).judged_presence(&answer.call_id);
        }
        answers
    }

    fn next_call_id(&mut self) -> CallId {
        self.n_calls += 1;
        CallId::new(format!("call{}", self.n_calls))
    }

    /// Writes the outcome of a new call.
    pub fn outcome(&mut self, session: &str, step: Option<StepId>, tool: &ToolId, ending: Ending) -> OutcomeReported {
        OutcomeReported {
            session: session.into(),
            call_id: self.next_call_id(),
            step,
            tool: Some(tool.clone()),
            ending,
            message: String::new(),
            duration_ms: 5,
            retry_of: None,
            arguments_fit: None,
            judgement: None,
        }
    }

    /// Takes an outcome in.
    pub fn report(&mut self, outcome: OutcomeReported) -> Vec<Event> {
        self.fold(Event::OutcomeReported(outcome))
    }

    /// Makes a call and reports it; returns what was drawn.
    pub fn call(&mut self, session: &str, step: Option<StepId>, tool: &ToolId, ending: Ending) -> Vec<Event> {
        let outcome = self.outcome(session, step, tool, ending);
        self.report(outcome)
    }

    /// Makes calls that end well, each in no step.
    pub fn call_often(&mut self, session: &str, tool: &ToolId, n_calls: usize) {
        for _ in 0..n_calls {
            self.call(session, None, tool, Ending::Ok);
        }
    }

    /// Lets time pass, and whatever waited for it happen.
    pub fn pass(&mut self, secs: u64) -> Vec<Event> {
        self.now = self.now.plus_secs(secs);
        self.fold(Event::TimePassed)
    }

    /// Fails a tool three times in a row, each in a step of its own.
    pub fn break_tool(&mut self, session: &str, tool: &ToolId) -> Vec<Event> {
        let mut drawn = Vec::new();
        for _ in 0..3 {
            let step = self.plan(session, "").step;
            drawn = self.call(session, Some(step), tool, Ending::Timeout);
        }
        drawn
    }

    /// Returns where a tool stands.
    pub fn state(&self, tool: &ToolId) -> ToolState {
        self.ns.registry().get(tool).unwrap().state()
    }
}

/// Returns the presence of the call that was counted among what was drawn.
pub fn presence_in(drawn: &[Event]) -> Option<Presence> {
    drawn.iter().find_map(|event| match event {
        Event::CallCounted(counted) => Some(counted.presence),
        _ => None,
    })
}

/// Returns the move among what was drawn.
pub fn move_in(drawn: &[Event]) -> Option<&ToolMoved> {
    drawn.iter().find_map(|event| match event {
        Event::ToolMoved(moved) => Some(moved),
        _ => None,
    })
}

/// Returns the verdicts among what was drawn.
pub fn verdicts_in(drawn: &[Event]) -> Vec<&CallJudged> {
    let mut verdicts = Vec::new();
    for event in drawn {
        if let Event::CallJudged(judged) = event {
            verdicts.push(judged);
        }
    }
    verdicts
}

/// Returns the tools that a plan issued.
pub fn issued(planned: &StepPlanned) -> Vec<ToolId> {
    planned.issued.iter().map(|issue| issue.tool.clone()).collect()
}

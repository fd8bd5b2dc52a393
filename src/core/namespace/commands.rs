//! What operators ask for: each is turned into a cause and its consequences, or into a refusal; nothing is changed.
//!
//! A command's events are applied only once they are on disk, so a failed write leaves nothing to undo.

mod change;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::admission::beside::Beside;
use super::super::admission::change::{Change, classify};
use super::super::admission::neighbours::{Neighbour, Neighbours};
use super::super::admission::{Checked, MOST_VIOLATIONS, Violation, ViolationCode, sort_flags};
use super::super::event::{
    AdmissionNote, AdmissionResult, Admitted, Event, Flag, MoveCause, PolicySet, ToolAction, ToolState,
    ToolsRegistered, WaitCause, Word,
};
use super::super::ids::{Alias, Digest, ToolId, UnixMillis, Version};
use super::super::policy::{AdmissionPolicy, FlagRule, PolicyViolation};
use super::super::render::Shown;
use super::{KnownRequest, Namespace};

/// What a command comes to: the cause and all it draws, in order.
pub type Events = Vec<Event>;

/// Whether one refused tool refuses the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Batch {
    /// All or none.
    Atomic,
    /// Each for itself.
    PerItem,
}

/// Definitions that went through the gate, to be taken in.
pub struct Registration {
    /// The caller's key for this change; empty for none.
    pub request_id: String,
    /// Who does it.
    pub actor: String,
    /// The definitions as checked, each with its place in the request.
    pub checked: Vec<(u32, Checked)>,
    /// Whether one refused tool refuses the others.
    pub batch: Batch,
    /// Sources whose whole list this is.
    pub complete_sources: BTreeSet<Arc<str>>,
    /// Tools that those sources list although they could not be read: they have not vanished.
    pub unreadable: BTreeSet<ToolId>,
}

/// The answer for one tool.
#[derive(Clone, Debug)]
pub struct Admission {
    /// Place in the request.
    pub index: u32,
    /// The tool.
    pub tool: ToolId,
    /// The version that it was registered as, or has; 0 where it was refused and never was.
    pub version: Version,
    /// What was said.
    pub result: AdmissionResult,
    /// Why refused, all at once.
    pub violations: Vec<Violation>,
    /// What was flagged.
    pub warnings: Vec<Violation>,
    /// Measured size in tokens.
    pub measured_tokens: u32,
    /// Its content hash.
    pub hash: Digest,
    /// The version that a new one was compared with: the one that is served, else the one that waited.
    pub before: Option<Version>,
    /// What differs from that version; `None` where nothing is new, or was before.
    pub change: Option<Change>,
    /// The tools that a model may take for it, the closest first, five at most; none where nothing entered.
    pub confusable: Vec<Neighbour>,
    /// When models see it.
    pub effect: AdmissionEffect,
    /// Why it waits for approval, where it does.
    pub waits: Option<WaitCause>,
    /// The version that waited and no longer does.
    pub stops_waiting: Option<Version>,
}

/// When a registration is seen by models.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AdmissionEffect {
    /// Not at all: nothing changes for them.
    Nothing,
    /// From the next plan on.
    NextPlan,
    /// Once an operator approves it.
    AfterApproval,
    /// Once the tool may be used again: it is retired, quarantined or held.
    OnceUsable,
}

/// What a registration comes to.
pub struct Registered {
    /// The cause and its consequences; empty where nothing changes.
    pub events: Events,
    /// The answer for each tool, in order.
    pub admissions: Vec<Admission>,
    /// Tools that their source no longer lists, and that are withdrawn for it.
    pub vanished: Vec<ToolId>,
    /// Withdrawn tools that their source lists again.
    pub returned: Vec<ToolId>,
}

impl Registered {
    fn without_change(admissions: Vec<Admission>) -> Self {
        Self { events: Vec::new(), admissions, vanished: Vec::new(), returned: Vec::new() }
    }
}

/// Why a command is refused.
#[derive(Clone, PartialEq, Debug)]
pub enum Refusal {
    /// No such tool.
    UnknownTool {
        /// As it was named.
        tool: ToolId,
        /// What it may have meant, the nearest name first.
        nearest: Vec<ToolId>,
    },
    /// The tool's state does not allow the action.
    NotPossible {
        /// Which tool.
        tool: ToolId,
        /// Where it stands.
        state: ToolState,
        /// What was asked.
        action: ToolAction,
    },
    /// Nothing of the tool waits for approval.
    NothingWaits(ToolId),
    /// The hash that was quoted is not that of the definition that is meant.
    HashDiffers {
        /// Which tool.
        tool: ToolId,
        /// What was asked.
        action: ToolAction,
        /// The hash that would be taken.
        expected: Digest,
    },
    /// Nothing that is served of the tool has a flag that nobody accepted.
    NoOpenFlags(ToolId),
    /// Values that the policy cannot take.
    Policy(Vec<PolicyViolation>),
    /// The policy is not at the version that the caller read.
    PolicyVersion {
        /// The version that was named.
        wanted: u64,
        /// The version now.
        current: u64,
    },
    /// The caller's key was used for something else.
    RequestDiffers,
}

impl Namespace {
    /// Decides a registration. Never refused as a whole: each tool has its answer.
    pub fn decide_register(&self, registration: &Registration) -> Result<Registered, Refusal> {
        self.decide_register_under(&self.policy.admission, registration)
    }

    /// Decides a registration as if another policy were in force, by which its definitions were checked already: for a
    /// look before that policy is set. Nothing of what is decided may be applied.
    pub fn decide_register_under(
        &self,
        policy: &AdmissionPolicy,
        registration: &Registration,
    ) -> Result<Registered, Refusal> {
        let mut admissions = Vec::new();
        let mut admitted = Vec::new();
        let mut by_alias = BTreeMap::new();
        let entering = entering(&registration.checked);
        let gate = Gate { policy, beside: Beside { known: &self.neighbours, entering: &entering } };
        for (index, checked) in &registration.checked {
            let (admission, fresh) = self.decide_one(*index, checked, &gate, &mut by_alias);
            admissions.push(admission);
            admitted.extend(fresh);
        }
        if let Some(known) = self.request(&registration.request_id) {
            return self.answer_again(known, admissions);
        }
        let is_refused = |admission: &Admission| admission.result == AdmissionResult::Refused;
        if registration.batch == Batch::Atomic && admissions.iter().any(is_refused) {
            return Ok(Registered::without_change(admissions));
        }
        let mut listed: BTreeSet<ToolId> = registration.unreadable.clone();
        listed.extend(admissions.iter().map(|admission| admission.tool.clone()));
        let settled = admissions.iter().filter(|admission| admission.stops_waiting.is_some());
        let settled = settled.filter(|admission| admission.result == AdmissionResult::Unchanged);
        let no_longer_waiting: BTreeSet<ToolId> = settled.map(|admission| admission.tool.clone()).collect();
        let taken = admissions.iter().filter(|admission| !is_refused(admission));
        let notes = if registration.request_id.is_empty() { Vec::new() } else { taken.map(note).collect() };
        let cause = Event::ToolsRegistered(ToolsRegistered {
            request_id: registration.request_id.clone(),
            actor: registration.actor.clone(),
            admitted,
            notes,
            complete_sources: registration.complete_sources.clone(),
            listed,
            no_longer_waiting,
        });
        let drawn = self.draw(UnixMillis::default(), &cause);
        // What changes nothing leaves no trace, its key included: a catalog that is imported every hour would fill the
        // log. A retry of it is decided once more.
        let changes_nothing = matches!(&cause, Event::ToolsRegistered(r)
            if r.admitted.is_empty() && r.no_longer_waiting.is_empty());
        if changes_nothing && drawn.is_empty() {
            return Ok(Registered::without_change(admissions));
        }
        let moved_by = |wanted| {
            let tools = drawn.iter().filter_map(move |event| match event {
                Event::ToolMoved(moved) if moved.cause == wanted => Some(moved.tool.clone()),
                _ => None,
            });
            tools.collect()
        };
        let (vanished, returned) = (moved_by(MoveCause::Vanished), moved_by(MoveCause::ListedAgain));
        Ok(Registered { events: with_drawn(cause, drawn), admissions, vanished, returned })
    }

    fn decide_one<'c>(
        &self,
        index: u32,
        checked: &'c Checked,
        gate: &Gate<'_>,
        by_alias: &mut BTreeMap<&'c Alias, &'c ToolId>,
    ) -> (Admission, Option<Arc<Admitted>>) {
        let tool = &checked.definition.id;
        let known = self.registry.get(tool);
        let mut admission = Admission {
            index,
            tool: tool.clone(),
            version: known
                .and_then(|entry| entry.for_operators())
                .map(|shown| shown.admitted().version)
                .unwrap_or_default(),
            result: AdmissionResult::Refused,
            violations: checked.violations.clone(),
            warnings: checked.warnings.clone(),
            measured_tokens: checked.measured_tokens,
            hash: checked.hash,
            before: None,
            change: None,
            effect: AdmissionEffect::Nothing,
            waits: None,
            stops_waiting: None,
            confusable: Vec::new(),
        };
        let taken = self.registry.by_alias(&checked.alias).or_else(|| by_alias.get(&checked.alias).copied());
        if let Some(other) = taken.filter(|other| *other != tool) {
            let said = format!("models would see it as {}, which stands for {other}", checked.alias);
            let wanted = "must differ from every other tool's name as models see it";
            admission.violations.push(Violation::new("name", ViolationCode::Duplicate, said, wanted));
        } else if by_alias.contains_key(&checked.alias) {
            let said = "stands more than once in the request";
            admission.violations.push(Violation::new("name", ViolationCode::Duplicate, said, "each tool once"));
        }
        if !admission.violations.is_empty() {
            return (admission, None);
        }
        let current = known.and_then(|entry| entry.current()).filter(|shown| has_hash(shown, checked));
        let waiting = known.and_then(|entry| entry.waiting());
        let is_unchanged = current.is_some() || waiting.is_some_and(|shown| has_hash(shown, checked));
        gate.flag_beside_others(checked, is_unchanged, &mut admission);
        if !admission.violations.is_empty() {
            return (admission, None);
        }
        by_alias.insert(&checked.alias, tool);
        if let Some(current) = current {
            admission.result = AdmissionResult::Unchanged;
            admission.version = current.admitted().version;
            admission.stops_waiting = waiting.map(|shown| shown.admitted().version);
            return (admission, None);
        }
        if let Some(waiting) = waiting.filter(|shown| has_hash(shown, checked)) {
            admission.result = AdmissionResult::Unchanged;
            admission.version = waiting.admitted().version;
            admission.waits = waiting.admitted().waits;
            admission.effect = AdmissionEffect::AfterApproval;
            return (admission, None);
        }
        self.decide_version(&mut admission, checked, gate.policy);
        admission.confusable = gate.beside.near(&checked.definition);
        let admitted = Admitted {
            definition: (*checked.definition).clone(),
            version: admission.version,
            hash: checked.hash,
            measured_tokens: checked.measured_tokens,
            flags: admission.warnings.iter().map(flag).collect(),
            waits: admission.waits,
        };
        (admission, Some(Arc::new(admitted)))
    }

    /// Numbers a new version, and settles whether it waits.
    fn decide_version(&self, admission: &mut Admission, checked: &Checked, policy: &AdmissionPolicy) {
        let known = self.registry.get(&admission.tool);
        let before = known.and_then(|entry| entry.current().or(entry.waiting()));
        admission.version = known.map(|entry| entry.newest()).unwrap_or_default().next();
        admission.before = before.map(|shown| shown.admitted().version);
        admission.change = before.map(|shown| classify(&shown.admitted().definition, &checked.definition));
        admission.stops_waiting = known.and_then(|entry| entry.waiting()).map(|shown| shown.admitted().version);
        admission.waits = self.why_it_waits(&admission.tool, &admission.warnings, policy);
        admission.result = result_of(admission.waits, &admission.warnings);
        admission.effect = match admission.waits {
            Some(_) => AdmissionEffect::AfterApproval,
            None => self.effect_on(&admission.tool),
        };
    }

    /// Settles whether a new definition of a tool waits for approval. Flags that an operator accepted on the tool ask for
    /// nothing again; where definitions are pinned they all wait, whatever was accepted.
    fn why_it_waits(&self, tool: &ToolId, warnings: &[Violation], policy: &AdmissionPolicy) -> Option<WaitCause> {
        if policy.pin_definitions {
            return Some(WaitCause::Pinned);
        }
        let entry = self.registry.get(tool);
        let is_accepted =
            |flag: &Violation| entry.is_some_and(|entry| entry.acceptance(flag.code.as_str(), &flag.field).is_some());
        let asking = || warnings.iter().filter(|flag| flag.rule(policy) == Some(FlagRule::Pending));
        // Accepted ones may have pushed another out of a list that is full.
        let waits = asking().count() >= MOST_VIOLATIONS || asking().any(|flag| !is_accepted(flag));
        waits.then_some(WaitCause::Flagged)
    }

    /// Returns when models see a version of a tool that needs no approval.
    fn effect_on(&self, tool: &ToolId) -> AdmissionEffect {
        let state = match self.registry.get(tool).map(|entry| entry.state()) {
            // Registered, it is listed again.
            Some(ToolState::Withdrawn) => self.past(tool).before_withdrawal,
            Some(state) => state,
            None => return AdmissionEffect::NextPlan,
        };
        match state {
            ToolState::Quarantined | ToolState::Held | ToolState::Retired => AdmissionEffect::OnceUsable,
            ToolState::Active | ToolState::Probation | ToolState::Pending | ToolState::Withdrawn => {
                AdmissionEffect::NextPlan
            }
        }
    }

    /// Returns the tools that a model may take for this one as it stands now, the closest first, five at most.
    pub fn neighbours_of(&self, tool: &ToolId) -> Vec<Neighbour> {
        let Some(shown) = self.registry.get(tool).and_then(|entry| entry.for_operators()) else { return Vec::new() };
        let beside = Beside { known: &self.neighbours, entering: &Neighbours::default() };
        beside.near(&shown.admitted().definition)
    }

    /// Answers a retry: decided again, it finds everything unchanged; what was new the first time is said to be. Under one
    /// key stand the same definitions, so that nothing is said to be taken in that was not.
    fn answer_again(&self, known: &KnownRequest, mut admissions: Vec<Admission>) -> Result<Registered, Refusal> {
        let KnownRequest::Registered(notes) = known else { return Err(Refusal::RequestDiffers) };
        let noted: BTreeSet<u32> = notes.iter().map(|note| note.index).collect();
        let is_other = |one: &Admission| one.result != AdmissionResult::Refused && !noted.contains(&one.index);
        if admissions.iter().any(is_other) {
            return Err(Refusal::RequestDiffers);
        }
        for note in notes {
            let place = admissions.iter_mut().find(|admission| admission.index == note.index);
            let Some(admission) = place.filter(|admission| admission.tool == note.tool) else {
                return Err(Refusal::RequestDiffers);
            };
            let noted = self.registry.get(&note.tool).and_then(|entry| entry.version(note.version));
            if noted.is_some_and(|shown| shown.admitted().hash != admission.hash) {
                return Err(Refusal::RequestDiffers);
            }
            if admission.result == AdmissionResult::Refused {
                // Policy became stricter since; it was taken in.
                admission.violations.clear();
                admission.result = AdmissionResult::Unchanged;
            }
            admission.version = note.version;
            if let Some(noted) = noted.filter(|_| note.is_new && admission.result == AdmissionResult::Unchanged) {
                admission.result = noted.admitted().result();
                admission.change = self.change_to(note);
                if admission.waits.is_none() {
                    admission.effect = self.effect_on(&note.tool);
                }
                admission.confusable = self.neighbours_of(&note.tool);
            }
        }
        Ok(Registered::without_change(admissions))
    }

    /// Returns what a new version changed; `None` for the first.
    fn change_to(&self, note: &AdmissionNote) -> Option<Change> {
        let entry = self.registry.get(&note.tool)?;
        let before = entry.version(note.before.or_else(|| entry.before(note.version))?)?;
        let after = entry.version(note.version)?;
        Some(classify(&before.admitted().definition, &after.admitted().definition))
    }

    /// Decides a change of the policy. A `version` of 0 does not ask what the policy is now.
    pub fn decide_policy(&self, set: PolicySet, version: u64) -> Result<Events, Refusal> {
        if let Some(known) = self.request(&set.request_id) {
            return match known {
                KnownRequest::PolicySet(values) if *values == set.values => Ok(Vec::new()),
                _ => Err(Refusal::RequestDiffers),
            };
        }
        if version != 0 && version != self.policy_version {
            return Err(Refusal::PolicyVersion { wanted: version, current: self.policy_version });
        }
        self.policy.with(&set.values).map_err(Refusal::Policy)?;
        let cause = Event::PolicySet(set);
        let drawn = self.draw(UnixMillis::default(), &cause);
        Ok(with_drawn(cause, drawn))
    }
}

/// What each definition of a registration is looked at with.
struct Gate<'g> {
    policy: &'g AdmissionPolicy,
    beside: Beside<'g>,
}

impl Gate<'_> {
    /// Adds what is flagged for the tools beside a definition. What is in already is refused for nothing that came later.
    fn flag_beside_others(&self, checked: &Checked, is_unchanged: bool, admission: &mut Admission) {
        let flags = self.beside.flags(&checked.definition.id, &checked.mentions);
        if is_unchanged {
            admission.warnings.extend(flags);
        } else {
            sort_flags(flags, self.policy, &mut admission.violations, &mut admission.warnings);
        }
    }
}

/// Returns what enters with a registration, to be looked at together: the order of a request decides nothing.
fn entering(checked: &[(u32, Checked)]) -> Neighbours {
    let mut entering = Neighbours::default();
    for (_, checked) in checked.iter().filter(|(_, checked)| checked.is_admitted()) {
        entering.insert(&checked.definition);
    }
    entering
}

fn with_drawn(cause: Event, drawn: Events) -> Events {
    let mut events = vec![cause];
    events.extend(drawn);
    events
}

fn note(admission: &Admission) -> AdmissionNote {
    AdmissionNote {
        index: admission.index,
        tool: admission.tool.clone(),
        version: admission.version,
        is_new: !matches!(admission.result, AdmissionResult::Unchanged | AdmissionResult::Refused),
        before: admission.before,
    }
}

fn has_hash(shown: &Shown, checked: &Checked) -> bool {
    shown.admitted().hash == checked.hash
}

fn result_of(waits: Option<WaitCause>, warnings: &[Violation]) -> AdmissionResult {
    match waits {
        Some(_) => AdmissionResult::Pending,
        None if warnings.is_empty() => AdmissionResult::Admitted,
        None => AdmissionResult::Flagged,
    }
}

fn flag(warning: &Violation) -> Flag {
    Flag {
        rule: warning.code.as_str().to_owned(),
        field: warning.field.clone(),
        description: warning.description.clone(),
        accepted: warning.accepted.clone(),
    }
}

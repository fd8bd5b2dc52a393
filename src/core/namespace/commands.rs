//! What operators ask for: each is turned into a cause and its consequences, or into a refusal; nothing is changed.
//!
//! A command's events are applied only once they are on disk, so a failed write leaves nothing to undo.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::admission::beside::Beside;
use super::super::admission::change::{Change, classify};
use super::super::admission::neighbours::{Neighbour, Neighbours};
use super::super::admission::{Checked, Violation, ViolationCode, sort_flags};
use super::super::event::{
    AdmissionNote, AdmissionResult, Admitted, Event, MoveCause, PolicySet, ToolAction, ToolChanged, ToolState,
    ToolsRegistered,
};
use super::super::ids::{Alias, ToolId, UnixMillis, Version};
use super::super::lifecycle;
use super::super::policy::PolicyViolation;
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
    /// Its version now; 0 where it was refused and never was.
    pub version: Version,
    /// What was said.
    pub result: AdmissionResult,
    /// Why refused, all at once.
    pub violations: Vec<Violation>,
    /// What was flagged.
    pub warnings: Vec<Violation>,
    /// Measured size in tokens.
    pub measured_tokens: u32,
    /// What differs from the version before; `None` where none was replaced.
    pub change: Option<Change>,
    /// The tools that a model may take for it, the closest first, five at most; none where nothing entered.
    pub confusable: Vec<Neighbour>,
}

/// What a registration comes to.
pub struct Registered {
    /// The cause and its consequences; empty where nothing changes.
    pub events: Events,
    /// The answer for each tool, in order.
    pub admissions: Vec<Admission>,
    /// Tools that their source no longer lists.
    pub n_withdrawn: u32,
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
        let mut admissions = Vec::new();
        let mut admitted = Vec::new();
        let mut by_alias = BTreeMap::new();
        let entering = entering(&registration.checked);
        let counts = |tool: &ToolId| self.counts_as_neighbour(tool);
        let beside = Beside { known: &self.neighbours, entering: &entering, counts: &counts };
        for (index, checked) in &registration.checked {
            let (admission, fresh) = self.decide_one(*index, checked, &beside, &mut by_alias);
            admissions.push(admission);
            admitted.extend(fresh);
        }
        if let Some(known) = self.request(&registration.request_id) {
            return self.answer_again(known, admissions);
        }
        let is_refused = |admission: &Admission| admission.result == AdmissionResult::Refused;
        if registration.batch == Batch::Atomic && admissions.iter().any(is_refused) {
            return Ok(Registered { events: Vec::new(), admissions, n_withdrawn: 0 });
        }
        let mut listed: BTreeSet<ToolId> = registration.unreadable.clone();
        listed.extend(admissions.iter().map(|admission| admission.tool.clone()));
        let taken = admissions.iter().filter(|admission| !is_refused(admission));
        let notes = if registration.request_id.is_empty() { Vec::new() } else { taken.map(note).collect() };
        let cause = Event::ToolsRegistered(ToolsRegistered {
            request_id: registration.request_id.clone(),
            actor: registration.actor.clone(),
            admitted,
            notes,
            complete_sources: registration.complete_sources.clone(),
            listed,
        });
        let drawn = self.draw(UnixMillis::default(), &cause);
        let changes_nothing =
            matches!(&cause, Event::ToolsRegistered(r) if r.admitted.is_empty() && r.notes.is_empty());
        let events = if changes_nothing && drawn.is_empty() { Vec::new() } else { with_drawn(cause, drawn) };
        let has_vanished = |event: &&Event| matches!(event, Event::ToolMoved(m) if m.cause == MoveCause::Vanished);
        let n_withdrawn = events.iter().filter(has_vanished).count() as u32;
        Ok(Registered { events, admissions, n_withdrawn })
    }

    fn decide_one<'c>(
        &self,
        index: u32,
        checked: &'c Checked,
        beside: &Beside<'_>,
        by_alias: &mut BTreeMap<&'c Alias, &'c ToolId>,
    ) -> (Admission, Option<Arc<Admitted>>) {
        let tool = &checked.definition.id;
        let known = self.registry.get(tool);
        let mut admission = Admission {
            index,
            tool: tool.clone(),
            version: known.map(|entry| entry.current().admitted().version).unwrap_or_default(),
            result: AdmissionResult::Refused,
            violations: checked.violations.clone(),
            warnings: checked.warnings.clone(),
            measured_tokens: checked.measured_tokens,
            change: None,
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
        let is_unchanged = known.is_some_and(|entry| entry.current().admitted().hash == checked.hash);
        self.flag_beside_others(beside, checked, is_unchanged, &mut admission);
        if !admission.violations.is_empty() {
            return (admission, None);
        }
        by_alias.insert(&checked.alias, tool);
        if is_unchanged {
            admission.result = AdmissionResult::Unchanged;
            return (admission, None);
        }
        admission.version = admission.version.next();
        admission.change = known.map(|entry| classify(&entry.current().admitted().definition, &checked.definition));
        admission.confusable = beside.near(&checked.definition);
        let is_flagged = !admission.warnings.is_empty();
        admission.result = if is_flagged { AdmissionResult::Flagged } else { AdmissionResult::Admitted };
        let admitted = Admitted {
            definition: (*checked.definition).clone(),
            version: admission.version,
            hash: checked.hash,
            measured_tokens: checked.measured_tokens,
        };
        (admission, Some(Arc::new(admitted)))
    }

    /// Adds what is flagged for the tools beside a definition. What is in already is refused for nothing that came later.
    fn flag_beside_others(
        &self,
        beside: &Beside<'_>,
        checked: &Checked,
        is_unchanged: bool,
        admission: &mut Admission,
    ) {
        let flags = beside.flags(&checked.definition.id, &checked.mentions);
        if is_unchanged {
            admission.warnings.extend(flags);
        } else {
            sort_flags(flags, &self.policy.admission, &mut admission.violations, &mut admission.warnings);
        }
    }

    /// Tells whether a tool is one that others may be taken for: not once it is retired.
    fn counts_as_neighbour(&self, tool: &ToolId) -> bool {
        self.registry.get(tool).is_some_and(|entry| entry.state() != ToolState::Retired)
    }

    /// Returns the tools that a model may take for this one as it stands now, the closest first, five at most.
    pub fn neighbours_of(&self, tool: &ToolId) -> Vec<Neighbour> {
        let Some(entry) = self.registry.get(tool) else { return Vec::new() };
        let counts = |tool: &ToolId| self.counts_as_neighbour(tool);
        let none = Neighbours::default();
        let beside = Beside { known: &self.neighbours, entering: &none, counts: &counts };
        beside.near(&entry.current().admitted().definition)
    }

    /// Answers a retry: decided again, it finds everything unchanged; what was new the first time is said to be.
    fn answer_again(&self, known: &KnownRequest, mut admissions: Vec<Admission>) -> Result<Registered, Refusal> {
        let KnownRequest::Registered(notes) = known else { return Err(Refusal::RequestDiffers) };
        for note in notes {
            let place = admissions.iter_mut().find(|admission| admission.index == note.index);
            let Some(admission) = place.filter(|admission| admission.tool == note.tool) else {
                return Err(Refusal::RequestDiffers);
            };
            admission.version = note.version;
            if note.is_new && admission.result == AdmissionResult::Unchanged {
                let is_flagged = !admission.warnings.is_empty();
                admission.result = if is_flagged { AdmissionResult::Flagged } else { AdmissionResult::Admitted };
                admission.change = self.change_to(&note.tool, note.version);
                admission.confusable = self.neighbours_of(&note.tool);
            }
        }
        Ok(Registered { events: Vec::new(), admissions, n_withdrawn: 0 })
    }

    /// Returns what a version of a tool changed; `None` for the first.
    fn change_to(&self, tool: &ToolId, version: Version) -> Option<Change> {
        let entry = self.registry.get(tool)?;
        let before = entry.version(Version(version.0.checked_sub(1)?))?;
        let after = entry.version(version)?;
        Some(classify(&before.admitted().definition, &after.admitted().definition))
    }

    /// Decides what an operator does to a tool.
    pub fn decide_change(&self, at: UnixMillis, change: ToolChanged) -> Result<Events, Refusal> {
        if let Some(known) = self.request(&change.request_id) {
            return match known {
                KnownRequest::Changed(tool, action) if *tool == change.tool && *action == change.action => {
                    Ok(Vec::new())
                }
                _ => Err(Refusal::RequestDiffers),
            };
        }
        let Some(entry) = self.registry.get(&change.tool) else {
            let nearest = self.index.nearest_names(&change.tool.name);
            return Err(Refusal::UnknownTool { tool: change.tool, nearest });
        };
        if let Some(cause) = lifecycle::cause_of(change.action)
            && self.next_state(&change.tool, cause).is_none()
        {
            return Err(Refusal::NotPossible { tool: change.tool, state: entry.state(), action: change.action });
        }
        let cause = Event::ToolChanged(change);
        let drawn = self.draw(at, &cause);
        Ok(with_drawn(cause, drawn))
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
        is_new: matches!(admission.result, AdmissionResult::Admitted | AdmissionResult::Flagged),
    }
}

//! One tool: its versions, the one that is served, and the one that waits.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::event::ToolState;
use super::super::ids::{Alias, Digest, UnixMillis, Version};
use super::super::render::Shown;

/// A flag that an operator took for a false alarm. It stands for its rule on its field of the tool, in later versions
/// too.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AcceptedFlag {
    /// The rule.
    pub rule: String,
    /// Path of the field.
    pub field: String,
    /// When.
    pub at: UnixMillis,
    /// Who.
    pub actor: String,
    /// Why, in the operator's words.
    pub note: String,
}

/// One tool, with every version it ever had.
#[derive(Clone)]
pub struct Tool {
    alias: Alias,
    pub(super) versions: BTreeMap<Version, Arc<Shown>>,
    pub(super) current: Option<Arc<Shown>>,
    pub(super) waiting: Option<Arc<Shown>>,
    pub(super) state: ToolState,
    pub(super) is_pinned: bool,
    pub(super) accepted: Vec<AcceptedFlag>,
}

impl Tool {
    pub(super) fn new(shown: Arc<Shown>) -> Self {
        let mut tool = Self {
            alias: shown.alias().clone(),
            versions: BTreeMap::new(),
            current: None,
            waiting: None,
            state: ToolState::Pending,
            is_pinned: false,
            accepted: Vec::new(),
        };
        tool.insert(shown);
        tool
    }

    /// Returns the name that models see, which is the same in every version.
    pub fn alias(&self) -> &Alias {
        &self.alias
    }

    /// Returns the version that is served; `None` where none was ever approved.
    pub fn current(&self) -> Option<&Arc<Shown>> {
        self.current.as_ref()
    }

    /// Returns the version that waits for approval. Not to be shown to a model.
    pub fn waiting(&self) -> Option<&Arc<Shown>> {
        self.waiting.as_ref()
    }

    /// Returns what an operator is shown of the tool: the version that is served, else the newest. Not to be shown to a
    /// model.
    pub fn for_operators(&self) -> Option<&Arc<Shown>> {
        self.current.as_ref().or_else(|| self.versions.values().next_back())
    }

    /// Returns a version that was shown, or the one that is served where that version never was.
    pub fn version_or_current(&self, version: Option<Version>) -> Option<&Arc<Shown>> {
        version.and_then(|version| self.versions.get(&version)).or(self.current.as_ref())
    }

    /// Returns a version, if it ever was.
    pub fn version(&self, version: Version) -> Option<&Arc<Shown>> {
        self.versions.get(&version)
    }

    /// Returns the number of the newest version, whether it is served or not.
    pub fn newest(&self) -> Version {
        self.versions.keys().next_back().copied().unwrap_or_default()
    }

    /// Returns which versions are compared, the older first, by what is named of them. Where nothing is: what is served
    /// with what waits, else the last two. `None` stands for no version at all.
    pub fn to_compare(&self, from: Option<Version>, to: Option<Version>) -> (Option<Version>, Version) {
        let number = |shown: &Arc<Shown>| shown.admitted().version;
        let waiting = self.waiting.as_ref().map(number);
        let newer = to.or(waiting).unwrap_or(self.newest());
        let older = match (from, to) {
            (Some(from), _) => Some(from),
            (None, None) if waiting.is_some() => self.current.as_ref().map(number),
            (None, _) => self.before(newer),
        };
        (older, newer)
    }

    /// Returns the version before one.
    pub fn before(&self, version: Version) -> Option<Version> {
        self.versions.range(..version).next_back().map(|(before, _)| *before)
    }

    /// Returns where the tool stands in its life.
    pub fn state(&self) -> ToolState {
        self.state
    }

    /// Returns whether the tool may be put in front of a model: approved, and not out of order.
    pub fn is_issuable(&self) -> bool {
        self.current.is_some() && self.state.is_issuable()
    }

    /// Returns whether an operator keeps it in the hot pool.
    pub fn is_pinned(&self) -> bool {
        self.is_pinned
    }

    /// Returns how a flag was accepted, if it was.
    pub fn acceptance(&self, rule: &str, field: &str) -> Option<&AcceptedFlag> {
        self.accepted.iter().find(|accepted| accepted.rule == rule && accepted.field == field)
    }

    /// Returns whether what is served has a flag that nobody accepted.
    pub fn has_open_flags(&self) -> bool {
        self.current.as_ref().is_some_and(|shown| self.has_open_flags_in(shown))
    }

    /// Returns whether what is served, or what waits, has a flag that nobody accepted.
    pub fn is_flagged(&self) -> bool {
        self.has_open_flags() || self.waiting.as_ref().is_some_and(|shown| self.has_open_flags_in(shown))
    }

    fn has_open_flags_in(&self, shown: &Shown) -> bool {
        shown.admitted().flags.iter().any(|flag| self.acceptance(&flag.rule, &flag.field).is_none())
    }

    pub(super) fn insert(&mut self, shown: Arc<Shown>) {
        let admitted = shown.admitted();
        self.versions.insert(admitted.version, shown.clone());
        if admitted.waits.is_some() {
            self.waiting = Some(shown);
        } else {
            self.current = Some(shown);
            self.waiting = None;
        }
    }

    pub(super) fn approve(&mut self, hash: &Digest) {
        if let Some(waiting) = self.waiting.take_if(|waiting| waiting.admitted().hash == *hash) {
            self.current = Some(waiting);
        }
    }

    pub(super) fn stop_waiting(&mut self) {
        self.waiting = None;
    }

    pub(super) fn accept_flags(&mut self, at: UnixMillis, actor: &str, note: &str) {
        let Some(current) = self.current.clone() else { return };
        for flag in &current.admitted().flags {
            if self.acceptance(&flag.rule, &flag.field).is_none() {
                self.accepted.push(AcceptedFlag {
                    rule: flag.rule.clone(),
                    field: flag.field.clone(),
                    at,
                    actor: actor.to_owned(),
                    note: note.to_owned(),
                });
            }
        }
    }

    pub(super) fn set_state(&mut self, state: ToolState) {
        self.state = state;
    }

    pub(super) fn set_pinned(&mut self, is_pinned: bool) {
        self.is_pinned = is_pinned;
    }
}

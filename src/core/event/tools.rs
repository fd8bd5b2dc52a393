//! What is done to the tools of a registry: definitions taken in, with what the gate said, and what operators do.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::definition::Definition;
use super::super::ids::{Digest, ToolId, Version};
use super::{AdmissionResult, ToolAction, WaitCause};

/// A finding of the gate on a definition that it let in.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Flag {
    /// The rule that found it.
    pub rule: String,
    /// Path of the field.
    pub field: String,
    /// What was found.
    pub description: String,
    /// What would not be flagged.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub accepted: String,
}

/// A definition that passed the gate, with what the gate measured.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Admitted {
    /// As registered.
    pub definition: Definition,
    /// Its version, from 1.
    pub version: Version,
    /// Its content hash.
    pub hash: Digest,
    /// Measured size in tokens.
    pub measured_tokens: u32,
    /// What the gate flagged on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
    /// Why it waits for approval; `None` where it is served at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<WaitCause>,
}

impl Admitted {
    /// Returns what was said of it when it came in.
    pub fn result(&self) -> AdmissionResult {
        match self.waits {
            Some(_) => AdmissionResult::Pending,
            None if self.flags.is_empty() => AdmissionResult::Admitted,
            None => AdmissionResult::Flagged,
        }
    }
}

/// What came of one tool of a registration.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct AdmissionNote {
    /// Place in the request or file, from 0.
    pub index: u32,
    /// The tool.
    pub tool: ToolId,
    /// Its version now.
    pub version: Version,
    /// Whether that version is new.
    pub is_new: bool,
    /// The version that a new one was compared with; `None` where there was none, and in logs of earlier builds, which
    /// compared with the version before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Version>,
}

/// Definitions passed the gate and were taken in.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ToolsRegistered {
    /// The caller's key for this change; a retry with the same key is answered, not repeated.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub request_id: String,
    /// Who did it.
    pub actor: String,
    /// New tools and new versions.
    pub admitted: Vec<Arc<Admitted>>,
    /// What every tool of the request came to, so that a retry can be answered; only kept with a `request_id`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<AdmissionNote>,
    /// Sources whose whole list this was: their other tools have vanished.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub complete_sources: BTreeSet<Arc<str>>,
    /// Tools of those sources that the list still names.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub listed: BTreeSet<ToolId>,
    /// Tools that were registered as they are served, so that what waited of them waits no longer.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub no_longer_waiting: BTreeSet<ToolId>,
}

/// An operator did something to a tool.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ToolChanged {
    /// The caller's key for this change.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub request_id: String,
    /// Who did it.
    pub actor: String,
    /// Which tool.
    pub tool: ToolId,
    /// What was done.
    pub action: ToolAction,
    /// Why, in the operator's words.
    pub reason: String,
    /// The content hash of the definition that is meant, as the operator quoted it; `None` where none was quoted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<Digest>,
}

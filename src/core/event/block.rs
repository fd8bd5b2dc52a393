//! A session's block: what is put into a provider's request, byte for byte, and which tools it shows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::ids::{Alias, Digest, Epoch, ToolId, Version};
use super::StepTokens;

/// Where a piece goes in the provider's request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// An element of the tools array, in the order given.
    Tools,
    /// Text for the system prompt, after the runtime's own.
    System,
    /// One message appended to the conversation before the request and kept there unchanged.
    Messages,
    /// The content of the tool result that answers a call.
    ToolResult,
}

/// Something to put into a provider's request, byte for byte.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Piece {
    /// Where it goes.
    pub place: Place,
    /// JSON in the session's format; for the system prompt plain text, but for Anthropic's, which is JSON too.
    pub content: String,
    /// Its cost; 0 for a deferred definition.
    pub tokens: u32,
    /// Names it makes callable; none for a deferred definition.
    pub names: Vec<Alias>,
    /// Whether it is a definition that the model sees only once it is referred to.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deferred: bool,
}

impl Piece {
    /// Makes a piece that is not deferred.
    pub fn new(place: Place, content: String, tokens: u32, names: Vec<Alias>) -> Self {
        Self { place, content, tokens, names, deferred: false }
    }
}

/// A tool whose whole definition stands in a block.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Resident {
    /// Which.
    pub tool: ToolId,
    /// The version shown.
    pub version: Version,
    /// The name the model sees.
    pub alias: Alias,
    /// Cost of its definition.
    pub tokens: u32,
}

/// The frozen part of a session's context. Its bytes hold nothing of the session.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Block {
    /// SHA-256 over places and contents in order.
    pub digest: Digest,
    /// The epoch of the hot pool it was built from.
    pub epoch: Epoch,
    /// Its pieces in order.
    pub pieces: Vec<Piece>,
    /// The tools whose definitions stand in it.
    pub residents: Vec<Resident>,
    /// The tools that have a line of their own in its directory, with the version shown.
    pub directory: BTreeMap<ToolId, Version>,
    /// The tools whose definitions stand in it deferred, with the version; none unless the delivery is by reference.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub deferred: BTreeMap<ToolId, Version>,
    /// Whether all candidates are resident and nothing is retrieved.
    pub pass_through: bool,
    /// Index of the piece after which a cache breakpoint belongs.
    pub cache_after: u32,
    /// Its cost by part; `issued`, `everything` and `window` are 0.
    pub tokens: StepTokens,
}

impl Block {
    /// Returns what sending everything would cost, given the measured size of all candidates. Where the block does send
    /// everything, that is what it costs; elsewhere the measured size stands, which is a little less than as rendered.
    pub fn cost_of_everything(&self, candidates_tokens: u32) -> u32 {
        if self.pass_through { self.tokens.resident } else { candidates_tokens }
    }

    /// Returns the version of a tool whose definition stands in the tools array, deferred or not.
    pub fn declared_version(&self, tool: &ToolId) -> Option<Version> {
        self.resident_version(tool).or_else(|| self.deferred.get(tool).copied())
    }

    /// Returns the version of a resident tool, or `None` if it is not resident.
    pub fn resident_version(&self, tool: &ToolId) -> Option<Version> {
        self.residents.iter().find(|resident| &resident.tool == tool).map(|resident| resident.version)
    }
}

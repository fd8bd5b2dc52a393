//! Identities: small types with one meaning each, so that no two of them can be confused in a signature.
//!
//! Knows nothing above it. Ids are cheap to clone (shared text), ordered, and print as they are written by people.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Wraps the text as it is; what may stand in it is checked where it enters the daemon.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }
    };
}

text_id! {
    /// One agent role or responsibility domain: its own registry, hot pool, policy and clock.
    NamespaceId
}
text_id! {
    /// One context (one message list) of one agent, named by the runtime; unique in its namespace.
    SessionId
}
text_id! {
    /// The provider's id of one tool call; unique in its session.
    CallId
}
text_id! {
    /// The name under which a model sees a tool (see [`crate::core::admission::alias`]).
    Alias
}

/// A tool's identity: its name at the source it comes from.
///
/// Ordered by name, then source, which is the tie order of every rank (HOTPOOL: "name, then source, bytewise").
/// Written `source/name`; neither part may hold a slash.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolId {
    /// The tool's name at its source, 1–128 of `A-Za-z0-9_.-`.
    pub name: Arc<str>,
    /// The server, package or team it comes from, 1–64 of `A-Za-z0-9_.-`.
    pub source: Arc<str>,
}

impl ToolId {
    /// Joins a source and a name as they are; admission checks both.
    pub fn new(source: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self { source: source.into(), name: name.into() }
    }
}

impl fmt::Display for ToolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.source, self.name)
    }
}

impl fmt::Debug for ToolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text is not `source/name`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be source/name")]
pub struct NotAToolId;

impl FromStr for ToolId {
    type Err = NotAToolId;

    fn from_str(text: &str) -> Result<Self, NotAToolId> {
        match text.split_once('/') {
            Some((source, name)) if !source.is_empty() && !name.is_empty() && !name.contains('/') => {
                Ok(Self::new(source, name))
            }
            _ => Err(NotAToolId),
        }
    }
}

impl Serialize for ToolId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ToolId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// One tool, written `source/name`, or all tools of a source, written `source/*`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Selector {
    /// All tools of a source.
    Source(Arc<str>),
    /// One tool.
    Tool(ToolId),
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(source) => write!(f, "{source}/*"),
            Self::Tool(tool) => fmt::Display::fmt(tool, f),
        }
    }
}

/// A text selects nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be source/name or source/*")]
pub struct NotASelector;

impl FromStr for Selector {
    type Err = NotASelector;

    fn from_str(text: &str) -> Result<Self, NotASelector> {
        let tool: ToolId = text.parse().map_err(|_| NotASelector)?;
        Ok(if &*tool.name == "*" { Self::Source(tool.source) } else { Self::Tool(tool) })
    }
}

impl Serialize for Selector {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Selector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl $name {
            /// Returns the next one.
            pub fn next(self) -> Self {
                Self(self.0 + 1)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

number_id! {
    /// A version of a tool's definition, from 1; versions are immutable.
    Version(u32)
}
number_id! {
    /// The count of counted calls in a namespace: the clock of heat, re-ranks and density.
    Tick(u64)
}
number_id! {
    /// The number of a hot pool; each re-rank that changes membership makes the next one.
    Epoch(u64)
}
number_id! {
    /// A place in a namespace's event log, from 1.
    Seq(u64)
}
number_id! {
    /// 1 when a session opens, and one more at each refresh of its block.
    Generation(u32)
}

/// Wall time in milliseconds since 1970, as stamped on a cause. The core never reads a clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixMillis(pub i64);

impl UnixMillis {
    /// Returns the time so many seconds later.
    pub fn plus_secs(self, secs: u64) -> Self {
        Self(self.0.saturating_add_unsigned(secs.saturating_mul(1000)))
    }
}

/// One step of a session: opaque to runtimes, at most 32 bytes, written `generation.number`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StepId {
    /// The generation of the block the step was planned with.
    pub generation: Generation,
    /// The step's number in its session, from 1.
    pub number: u64,
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.generation, self.number)
    }
}

/// A text is not a step id that the daemon gave out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be a step_id as PlanStep returned it")]
pub struct NotAStepId;

impl FromStr for StepId {
    type Err = NotAStepId;

    fn from_str(text: &str) -> Result<Self, NotAStepId> {
        let (generation, number) = text.split_once('.').ok_or(NotAStepId)?;
        Ok(Self {
            generation: Generation(generation.parse().map_err(|_| NotAStepId)?),
            number: number.parse().map_err(|_| NotAStepId)?,
        })
    }
}

impl Serialize for StepId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for StepId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A SHA-256, written as 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Hashes the parts in order, each behind its length, so that no two lists of parts look alike.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }

    /// Hashes one piece of bytes as it is.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Returns the raw hash.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text is not 64 hex digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be 64 hex digits")]
pub struct NotADigest;

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return Err(NotADigest);
        }
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * i..2 * i + 2], 16).map_err(|_| NotADigest)?;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_read_back_as_they_print() {
        let tool: ToolId = "github/create_issue".parse().unwrap();
        assert_eq!(tool, ToolId::new("github", "create_issue"));
        assert_eq!(serde_json::from_str::<ToolId>("\"github/create_issue\"").unwrap(), tool);
        let step = StepId { generation: Generation(2), number: 17 };
        assert_eq!(step.to_string().parse::<StepId>().unwrap(), step);
        let digest = Digest::of(b"block");
        assert_eq!(digest.to_string().parse::<Digest>().unwrap(), digest);
    }

    #[test]
    fn malformed_ids_are_refused() {
        for text in ["", "name", "/name", "source/", "a/b/c"] {
            assert!(text.parse::<ToolId>().is_err(), "{text:?}");
        }
        assert!("1".parse::<StepId>().is_err());
        assert!("é".repeat(32).parse::<Digest>().is_err());
    }

    #[test]
    fn tools_order_by_name_before_source() {
        assert!(ToolId::new("z", "a") < ToolId::new("a", "b"));
    }

    #[test]
    fn moving_a_byte_between_parts_changes_the_digest() {
        assert_ne!(Digest::of_parts([b"ab".as_slice(), b"c"]), Digest::of_parts([b"a".as_slice(), b"bc"]));
    }
}

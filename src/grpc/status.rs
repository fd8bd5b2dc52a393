//! The one place where a refusal becomes a gRPC status: a code for whoever can mend it, a reason for programs, a
//! sentence for people.

use std::collections::HashMap;
use std::time::Duration;

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, FieldViolation, StatusExt};

use crate::core::event::{ToolAction, Word};
use crate::core::ids::ToolId;
use crate::core::namespace::commands::Refusal;
use crate::engine::EngineError;
use crate::proto::ErrorReason;

/// The domain of every reason.
const DOMAIN: &str = "toolcrib";

/// When to try again after shedding.
const RETRY_SOON: Duration = Duration::from_millis(200);

/// When to try again after the store refused.
const RETRY_STORE: Duration = Duration::from_secs(1);

/// Bytes of field names and descriptions in one refusal. A status travels in HTTP/2 headers, twice (as a sentence, and in
/// base64 as details), and clients take as little as 8 KiB of those; a larger one would reach them as a broken stream.
const NAMED_BYTES: usize = 2_560;

/// Bytes of one text in a refusal.
const TEXT_BYTES: usize = 512;

/// Puts a status together.
pub fn status(code: Code, reason: ErrorReason, message: impl Into<String>, mut details: ErrorDetails) -> Status {
    let word = reason.as_str_name().trim_start_matches("ERROR_REASON_");
    details.set_error_info(word, DOMAIN, HashMap::new());
    Status::with_error_details(code, message, details)
}

/// Cuts a text that may hold what a client sent.
fn shorten(text: &mut String) {
    if text.len() > TEXT_BYTES {
        text.truncate(text.floor_char_boundary(TEXT_BYTES));
        text.push('…');
    }
}

/// Fields of a request that cannot be taken, gathered so that all are named at once.
#[derive(Default)]
pub struct Fields(Vec<FieldViolation>);

impl Fields {
    /// Notes a field and what would be accepted.
    pub fn refuse(&mut self, field: impl Into<String>, description: impl Into<String>) {
        self.0.push(FieldViolation::new(field, description));
    }

    /// Notes a field unless it holds what it must.
    pub fn require(&mut self, holds: bool, field: &str, description: impl Into<String>) {
        if !holds {
            self.refuse(field, description);
        }
    }

    /// Refuses the request if any field was noted.
    pub fn finish(self) -> Result<(), Status> {
        self.finish_as(ErrorReason::InvalidField)
    }

    /// Refuses the request for a reason of its own if any field was noted.
    pub fn finish_as(self, reason: ErrorReason) -> Result<(), Status> {
        if self.0.is_empty() {
            return Ok(());
        }
        let n_violations = self.0.len();
        let mut named = Vec::new();
        let mut room = NAMED_BYTES;
        for mut violation in self.0 {
            shorten(&mut violation.field);
            shorten(&mut violation.description);
            let size = violation.field.len() + violation.description.len();
            if size > room {
                break;
            }
            room -= size;
            named.push(violation);
        }
        let mut said: Vec<String> = named.iter().map(|v| format!("{}: {}", v.field, v.description)).collect();
        if named.len() < n_violations {
            said.push(format!("and {} more", n_violations - named.len()));
        }
        let details = ErrorDetails::with_bad_request(named);
        Err(status(Code::InvalidArgument, reason, said.join("; "), details))
    }
}

/// A request that cannot be served now because too many are.
pub fn overloaded(message: &str) -> Status {
    let details = ErrorDetails::with_retry_info(Some(RETRY_SOON));
    status(Code::ResourceExhausted, ErrorReason::Overloaded, message, details)
}

/// A request that took longer than it may. What it asked for may have been done, or be done yet.
pub fn too_late(most: Duration) -> Status {
    let message = format!("not done within {} s; send a change again with the same request_id", most.as_secs());
    status(Code::DeadlineExceeded, ErrorReason::Deadline, message, ErrorDetails::new())
}

/// A stream that was open for as long as it may be.
pub fn stream_over(most: Duration) -> Status {
    let message = format!("ended after {} s, the most there are; ask again behind what was read", most.as_secs());
    status(Code::DeadlineExceeded, ErrorReason::Deadline, message, ErrorDetails::new())
}

/// Something that is our own fault; logged here, since nobody else will see it.
pub fn internal(what: &str, error: &dyn std::fmt::Display) -> Status {
    tracing::error!(%error, what, "request failed inside the daemon");
    status(Code::Internal, ErrorReason::Internal, what, ErrorDetails::new())
}

impl From<EngineError> for Status {
    fn from(error: EngineError) -> Self {
        let plain = |code, reason, message: String| status(code, reason, message, ErrorDetails::new());
        match error {
            EngineError::UnknownNamespace(id) => plain(
                Code::NotFound,
                ErrorReason::UnknownNamespace,
                format!("there is no namespace {id}; registering a tool or setting a policy makes it"),
            ),
            EngineError::TooManyNamespaces(most) => plain(
                Code::FailedPrecondition,
                ErrorReason::TooManyNamespaces,
                format!("there are {most} namespaces already; raise limits.namespaces in the configuration"),
            ),
            EngineError::UnknownSession(id) => plain(
                Code::NotFound,
                ErrorReason::UnknownSession,
                format!("there is no session {id}; open it with OpenSession"),
            ),
            EngineError::NothingToErase(id) => plain(
                Code::NotFound,
                ErrorReason::UnknownSession,
                format!("nothing is kept of a session {id}; what was erased is not known by its id any more"),
            ),
            EngineError::SessionEnded(id) => plain(
                Code::NotFound,
                ErrorReason::SessionEnded,
                format!("session {id} has ended; open it again with the same id"),
            ),
            EngineError::SessionDiffers(id) => plain(
                Code::AlreadyExists,
                ErrorReason::SessionDiffers,
                format!("session {id} is open with other values; use another id, or close it first"),
            ),
            EngineError::ForkDiffers(id) => {
                let wanted =
                    format!("must be a session of the same format, delivery and mark_cache, which {id} is not");
                let violation = FieldViolation::new("fork_of", &wanted);
                let details = ErrorDetails::with_bad_request(vec![violation]);
                status(Code::InvalidArgument, ErrorReason::InvalidField, format!("fork_of: {wanted}"), details)
            }
            EngineError::TooManySessions(most) => {
                let details = ErrorDetails::with_retry_info(Some(RETRY_SOON));
                let message = format!("{most} sessions are open; close some, or raise the policy session.max_open");
                status(Code::ResourceExhausted, ErrorReason::TooManySessions, message, details)
            }
            EngineError::Refused(refusal) => refusal.into(),
            EngineError::Overloaded => overloaded("the namespace has more to do than it can take; try again"),
            EngineError::NotWritable(error) => {
                let details = ErrorDetails::with_retry_info(Some(RETRY_STORE));
                let message = format!("the store takes no writes, planning goes on: {error}");
                status(Code::Unavailable, ErrorReason::StoreNotWritable, message, details)
            }
            EngineError::NotReadable(error) if error.is_passing() => {
                let details = ErrorDetails::with_retry_info(Some(RETRY_STORE));
                let message = format!("the log cannot be read now: {error}");
                status(Code::Unavailable, ErrorReason::StoreNotWritable, message, details)
            }
            EngineError::NotReadable(error) => internal("the log cannot be read", &error),
            EngineError::Stopping => {
                let details = ErrorDetails::with_retry_info(Some(RETRY_STORE));
                status(Code::Unavailable, ErrorReason::Stopping, "the daemon is stopping", details)
            }
        }
    }
}

/// Says that there is no such tool, or not in that version, and what may have been meant.
pub fn unknown_tool(tool: &ToolId, nearest: &[ToolId]) -> Status {
    let mut message =
        format!("there is no tool {tool}, or not in that version; `toolcrib tool list` shows what there is");
    if !nearest.is_empty() {
        let names: Vec<String> = nearest.iter().map(ToolId::to_string).collect();
        message.push_str(&format!("; nearest: {}", names.join(", ")));
    }
    status(Code::NotFound, ErrorReason::UnknownTool, message, ErrorDetails::new())
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        let plain = |code, reason, message: String| status(code, reason, message, ErrorDetails::new());
        match refusal {
            Refusal::UnknownTool { tool, nearest } => unknown_tool(&tool, &nearest),
            Refusal::NotPossible { tool, state, action } => plain(
                Code::FailedPrecondition,
                ErrorReason::ActionNotPossible,
                format!("{tool} is {}, so {} does nothing to it", state.as_str(), action.as_str()),
            ),
            Refusal::NothingWaits(tool) => plain(
                Code::FailedPrecondition,
                ErrorReason::ActionNotPossible,
                format!("nothing of {tool} waits for approval; `toolcrib tool list --waiting` shows what does"),
            ),
            Refusal::HashDiffers { tool, action: ToolAction::Approve, expected } => plain(
                Code::FailedPrecondition,
                ErrorReason::HashMismatch,
                format!("what waits of {tool} has the hash {expected}; look at it with `toolcrib tool diff {tool}`"),
            ),
            Refusal::HashDiffers { tool, action: _, expected } => plain(
                Code::FailedPrecondition,
                ErrorReason::HashMismatch,
                format!(
                    "what is served of {tool} has the hash {expected}; look at it with `toolcrib tool show {tool}`"
                ),
            ),
            Refusal::NoOpenFlags(tool) => plain(
                Code::FailedPrecondition,
                ErrorReason::ActionNotPossible,
                format!(
                    "what is served of {tool} has no flag that nobody accepted; of what waits, `toolcrib tool diff \
                     {tool}` shows what an approval would let in"
                ),
            ),
            Refusal::Policy(violations) => {
                let mut fields = Fields::default();
                for violation in violations {
                    fields.refuse(format!("values.{}", violation.key), violation.wanted);
                }
                match fields.finish() {
                    Err(status) => status,
                    Ok(()) => plain(Code::InvalidArgument, ErrorReason::InvalidField, "bad policy".into()),
                }
            }
            Refusal::PolicyVersion { wanted, current } => plain(
                Code::FailedPrecondition,
                ErrorReason::VersionMismatch,
                format!("the policy is at version {current}, not {wanted}; read it again"),
            ),
            Refusal::RequestDiffers => plain(
                Code::AlreadyExists,
                ErrorReason::RequestDiffers,
                "this request_id was used for another change; use a new one".into(),
            ),
        }
    }
}

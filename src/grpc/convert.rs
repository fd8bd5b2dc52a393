//! Values of the core as messages of the protocol.

use std::time::Duration;

use bytes::Bytes;

use crate::core::admission::Violation;
use crate::core::block::{Exclusion, PendingChange};
use crate::core::event::{Block, Event, Issue, Origin, Piece, Record, SessionSpec, StepTokens, ToolState, Word};
use crate::core::ids::{Alias, Generation, NamespaceId, SessionId, ToolId, UnixMillis, Version};
use crate::core::narrowing::Listing;
use crate::core::planning::Fate;
use crate::core::policy::Policy;
use crate::core::recall::{exclusion_in_words, state_in_words};
use crate::core::render::Form;
use crate::core::session::Session;
use crate::core::tokens::TOKENIZER;
use crate::core::view::View;
use crate::core::{block, validation};
use crate::engine::steps::Ack;
use crate::grpc::status::Fields;
use crate::proto;

/// Longest namespace name, in characters.
const NAMESPACE_CHARS: usize = 64;

/// Longest session id, in characters.
const SESSION_CHARS: usize = 128;

/// Longest call id, key or model name, in characters.
const ID_CHARS: usize = 256;

/// Reads a namespace's name.
pub fn namespace(name: &str, fields: &mut Fields) -> NamespaceId {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let fits = (1..=NAMESPACE_CHARS).contains(&name.len()) && name.chars().all(is_name);
    fields.require(fits, "namespace", "must be 1-64 characters of A-Za-z0-9_.-");
    NamespaceId::from(name)
}

/// Reads an id that a runtime or a provider chose.
pub fn id<'a>(text: &'a str, field: &str, fields: &mut Fields) -> &'a str {
    bounded(text, ID_CHARS, field, fields)
}

/// Reads an id or a name that may be left out.
pub fn optional_id<'a>(text: &'a str, field: &str, fields: &mut Fields) -> Option<&'a str> {
    if text.is_empty() { None } else { Some(id(text, field, fields)) }
}

fn bounded<'a>(text: &'a str, most: usize, field: &str, fields: &mut Fields) -> &'a str {
    let fits = !text.is_empty() && text.chars().count() <= most && !text.chars().any(char::is_control);
    fields.require(fits, field, format!("must be 1-{most} characters without control characters"));
    text
}

/// Reads a session's id.
pub fn session_id(text: &str, fields: &mut Fields) -> SessionId {
    SessionId::from(bounded(text, SESSION_CHARS, "session_id", fields))
}

/// Reads the id of another session, where one is given.
pub fn other_session(text: &str, field: &str, fields: &mut Fields) -> Option<SessionId> {
    if text.is_empty() { None } else { Some(SessionId::from(bounded(text, SESSION_CHARS, field, fields))) }
}

/// Reads the caller's key for a change, where one is given.
pub fn request_id(text: &str, fields: &mut Fields) -> String {
    optional_id(text, "request_id", fields).unwrap_or_default().to_owned()
}

/// Reads how long something took; nothing is no time.
pub fn span(span: Option<&prost_types::Duration>, field: &str, fields: &mut Fields) -> Duration {
    let Some(span) = span else { return Duration::ZERO };
    let read = Duration::try_from(*span);
    fields.require(read.is_ok(), field, "must be 0 or more");
    read.unwrap_or_default()
}

/// Reads a step id, where one is given.
pub fn step_id(text: &str, field: &str, fields: &mut Fields) -> Option<crate::core::ids::StepId> {
    if text.is_empty() {
        return None;
    }
    let parsed = text.parse().ok();
    fields.require(parsed.is_some(), field, "must be a step_id as PlanStep returned it, or empty");
    parsed
}

/// Writes a time.
pub fn timestamp(at: UnixMillis) -> prost_types::Timestamp {
    let nanos = (at.0.rem_euclid(1000) * 1_000_000) as i32;
    prost_types::Timestamp { seconds: at.0.div_euclid(1000), nanos }
}

/// Writes a duration.
pub fn duration(duration: Duration) -> prost_types::Duration {
    prost_types::Duration { seconds: duration.as_secs() as i64, nanos: duration.subsec_nanos() as i32 }
}

/// Writes a tool's identity.
pub fn tool_ref(tool: &ToolId, version: Version) -> proto::ToolRef {
    proto::ToolRef { source: tool.source.to_string(), name: tool.name.to_string(), version: version.0 }
}

/// Writes a piece.
pub fn piece(piece: &Piece) -> proto::Piece {
    proto::Piece {
        place: proto::Place::from(piece.place).into(),
        content: Bytes::from(piece.content.clone()),
        tokens: piece.tokens,
        names: names(&piece.names),
        deferred: piece.deferred,
    }
}

/// Writes pieces.
pub fn pieces(list: &[Piece]) -> Vec<proto::Piece> {
    list.iter().map(piece).collect()
}

/// Writes names.
pub fn names(list: &[Alias]) -> Vec<String> {
    list.iter().map(|name| name.to_string()).collect()
}

/// Writes counts and hint.
pub fn listing(listing: &Listing) -> proto::Listing {
    proto::Listing {
        total: listing.total,
        returned: listing.returned,
        has_more: listing.has_more(),
        limit: listing.limit,
        hint: listing.hint.clone(),
    }
}

/// Writes tokens by part.
pub fn tokens(tokens: &StepTokens) -> proto::Tokens {
    proto::Tokens {
        directory: tokens.directory,
        resident: tokens.resident,
        issued: tokens.issued,
        meta: tokens.meta,
        everything: tokens.everything,
        window: tokens.window,
        tokenizer: TOKENIZER.into(),
    }
}

/// Writes what was issued as offers.
pub fn offers(view: &View, spec: &SessionSpec, issued: &[Issue]) -> Vec<proto::Offer> {
    let form = Form::on_demand(spec);
    let mut offers = Vec::new();
    for issue in issued {
        let Some(shown) = view.shown(issue) else { continue };
        offers.push(proto::Offer {
            name: shown.alias().to_string(),
            tool: Some(tool_ref(&issue.tool, issue.version)),
            origin: proto::Origin::from(issue.origin).into(),
            tokens: shown.rendered(form).tokens,
            score: issue.score,
            reason: origin_in_words(issue.origin).into(),
        });
    }
    offers
}

fn origin_in_words(origin: Origin) -> &'static str {
    match origin {
        Origin::Resident => "in the session's block",
        Origin::Issued => "among the best matches of the query",
        Origin::Recalled => "asked for by the model",
        Origin::CalledAbsent => "called while it was absent",
        Origin::Reissued => "called lately and no longer present",
        Origin::Meta => "the daemon's own",
    }
}

/// Writes a block; its pieces are left out where the runtime holds them, or where they are to be read as a stream.
pub fn block(block: &Block, generation: Generation, with_pieces: bool) -> proto::Block {
    let mut offers = Vec::new();
    for resident in &block.residents {
        offers.push(proto::Offer {
            name: resident.alias.to_string(),
            tool: Some(tool_ref(&resident.tool, resident.version)),
            origin: proto::Origin::Resident.into(),
            tokens: resident.tokens,
            score: 0.0,
            reason: origin_in_words(Origin::Resident).into(),
        });
    }
    for meta in block.pieces.iter().filter(|piece| piece.names.iter().any(|name| block::is_meta(name.as_str()))) {
        for name in &meta.names {
            offers.push(proto::Offer {
                name: name.to_string(),
                tool: None,
                origin: proto::Origin::Meta.into(),
                tokens: meta.tokens,
                score: 0.0,
                reason: origin_in_words(Origin::Meta).into(),
            });
        }
    }
    proto::Block {
        digest: block.digest.to_string(),
        generation: generation.0,
        epoch: block.epoch.0,
        pieces: if with_pieces { pieces(&block.pieces) } else { Vec::new() },
        offers,
        cache_after: block.cache_after,
        tokens: Some(tokens(&block.tokens)),
        size_bytes: block.pieces.iter().map(|piece| piece.content.len() as u64).sum(),
        pass_through: block.pass_through,
    }
}

/// Writes why a tool is not given.
pub fn reason(exclusion: Exclusion) -> proto::Reason {
    match exclusion {
        Exclusion::Unknown => proto::Reason::Unknown,
        Exclusion::NotInPool => proto::Reason::NotInPool,
        Exclusion::NameTaken => proto::Reason::NameTaken,
        Exclusion::NotRenderable => proto::Reason::NotRenderable,
        Exclusion::State(ToolState::Quarantined) => proto::Reason::Quarantined,
        Exclusion::State(ToolState::Held) => proto::Reason::Held,
        Exclusion::State(ToolState::Pending) => proto::Reason::Pending,
        Exclusion::State(ToolState::Withdrawn) => proto::Reason::Withdrawn,
        Exclusion::State(ToolState::Retired) => proto::Reason::Retired,
        Exclusion::State(ToolState::Active | ToolState::Probation) => proto::Reason::Unspecified,
    }
}

/// Writes a tool left out.
pub fn exclusion(name: &str, exclusion: Exclusion) -> proto::Exclusion {
    let detail = exclusion_in_words(exclusion).into();
    proto::Exclusion { name: name.into(), reason: reason(exclusion).into(), detail }
}

/// Writes what became of a tool that is not issued, where it is named as left out.
pub fn left_out(view: &View, list: &[(ToolId, Fate)]) -> Vec<proto::Exclusion> {
    let mut left_out = Vec::new();
    for (tool, fate) in list {
        let name = view.alias(tool).map_or_else(|| tool.to_string(), Alias::to_string);
        left_out.push(match fate {
            Fate::Excluded(why) => exclusion(&name, *why),
            fate => {
                proto::Exclusion { name, reason: fate_reason(*fate).into(), detail: fate_in_words(Some(*fate)).into() }
            }
        });
    }
    left_out
}

/// Writes the reason that a fate is, where it is one.
pub fn fate_reason(fate: Fate) -> proto::Reason {
    match fate {
        Fate::Excluded(why) => reason(why),
        Fate::OverBudget => proto::Reason::OverBudget,
        Fate::Confusable => proto::Reason::Confusable,
        Fate::Issued
        | Fate::Owed
        | Fate::Resident
        | Fate::Present
        | Fate::BeyondM
        | Fate::NoMatch
        | Fate::NotSought
        | Fate::Own => proto::Reason::Unspecified,
    }
}

/// Says in words what became of a tool; `None` stands for a tool that there is not.
pub fn fate_in_words(fate: Option<Fate>) -> &'static str {
    match fate {
        None => exclusion_in_words(Exclusion::Unknown),
        Some(Fate::Issued) => origin_in_words(Origin::Issued),
        Some(Fate::Owed) => origin_in_words(Origin::Reissued),
        Some(Fate::Resident) => origin_in_words(Origin::Resident),
        Some(Fate::Present) => "in the context already",
        Some(Fate::OverBudget) => "larger than what is left for on-demand definitions",
        Some(Fate::Confusable) => "a model may take it for another tool that fits far better",
        Some(Fate::BeyondM) => "others match better",
        Some(Fate::NoMatch) => "shares no word with the query",
        Some(Fate::NotSought) => "nothing is looked for in this step",
        Some(Fate::Excluded(why)) => exclusion_in_words(why),
        Some(Fate::Own) => "the runtime's own tool or a meta tool, always there",
    }
}

/// Writes what became of a tool.
pub fn fate(fate: Option<Fate>) -> proto::Fate {
    match fate {
        None => proto::Fate::Unspecified,
        Some(Fate::Issued) => proto::Fate::Issued,
        Some(Fate::Owed) => proto::Fate::Owed,
        Some(Fate::Resident) => proto::Fate::Resident,
        Some(Fate::Present) => proto::Fate::Present,
        Some(Fate::OverBudget) => proto::Fate::OverBudget,
        Some(Fate::Confusable) => proto::Fate::Confusable,
        Some(Fate::BeyondM) => proto::Fate::BeyondM,
        Some(Fate::NoMatch) => proto::Fate::NoMatch,
        Some(Fate::NotSought) => proto::Fate::NotSought,
        Some(Fate::Excluded(_)) => proto::Fate::Excluded,
        Some(Fate::Own) => proto::Fate::Own,
    }
}

/// Writes changes that wait for a session boundary.
pub fn pending(view: &View, changes: &[PendingChange]) -> Vec<proto::PendingChange> {
    let mut list = Vec::new();
    for change in changes {
        let (tool, kind, detail) = match change {
            PendingChange::Enters(tool) => (tool, proto::ChangeKind::Enters, "would become resident"),
            PendingChange::Leaves(tool) => (tool, proto::ChangeKind::Leaves, "would no longer be resident"),
            PendingChange::Added(tool) => (tool, proto::ChangeKind::Added, "would get a line in the directory"),
            PendingChange::Removed(tool) => (tool, proto::ChangeKind::Removed, "would lose its line in the directory"),
            PendingChange::NewVersion(tool) => (tool, proto::ChangeKind::Version, "has a new version"),
            PendingChange::Unavailable(tool, state) => (tool, proto::ChangeKind::Unavailable, state_in_words(*state)),
        };
        let name = view.alias(tool).map_or_else(|| tool.to_string(), Alias::to_string);
        list.push(proto::PendingChange { name, kind: kind.into(), detail: detail.into() });
    }
    list
}

/// Writes a transition; `None` for a record of anything else.
pub fn transition(record: &Record) -> Option<proto::Transition> {
    let Event::ToolMoved(moved) = &record.event else { return None };
    let diagnosis = moved.diagnosis.as_ref().and_then(|diagnosis| serde_json::to_vec(diagnosis).ok());
    Some(proto::Transition {
        sequence: record.seq.0,
        time: Some(timestamp(record.at)),
        tool: Some(tool_ref(&moved.tool, Version(0))),
        old_state: moved.old.map_or(proto::ToolState::Unspecified, proto::ToolState::from).into(),
        new_state: proto::ToolState::from(moved.new).into(),
        cause: proto::MoveCause::from(moved.cause).into(),
        actor: moved.actor.clone(),
        reason: moved.reason.clone(),
        until_time: moved.until.map(timestamp),
        diagnosis: diagnosis.unwrap_or_default().into(),
    })
}

/// Writes what is wrong with a definition.
pub fn violation(violation: &Violation) -> proto::Violation {
    proto::Violation {
        field: violation.field.clone(),
        description: violation.description.clone(),
        accepted: violation.accepted.clone(),
        rule: violation.code.as_str().into(),
    }
}

/// Writes what is wrong with a call's arguments.
pub fn argument_violation(violation: &validation::Violation) -> proto::Violation {
    proto::Violation {
        field: violation.pointer.clone(),
        description: violation.description.clone(),
        accepted: violation.accepted.clone(),
        rule: String::new(),
    }
}

/// Writes the answers to outcomes.
pub fn acks(acks: &[Ack]) -> Vec<proto::OutcomeAck> {
    let one = |ack: &Ack| proto::OutcomeAck {
        call_id: ack.call_id.to_string(),
        result: proto::OutcomeResult::from(ack.result).into(),
        presence: ack.presence.map_or(proto::Presence::Unspecified, proto::Presence::from).into(),
    };
    acks.iter().map(one).collect()
}

/// Writes when a session ends if nothing is heard of it.
pub fn expire_time(session: &Session, policy: &Policy) -> prost_types::Timestamp {
    timestamp(session.last_heard().plus_secs(u64::from(policy.session.idle_secs)))
}

/// Writes a session's entry.
pub fn session_record(session: &Session, policy: &Policy) -> proto::SessionRecord {
    let spec = session.spec();
    proto::SessionRecord {
        session_id: session.id().to_string(),
        format: proto::Format::from(spec.format).into(),
        delivery: proto::Delivery::from(spec.delivery).into(),
        model: spec.model.clone(),
        parent_session_id: spec.parent.as_ref().map(SessionId::to_string).unwrap_or_default(),
        generation: session.generation().0,
        block_digest: session.digest().to_string(),
        steps: session.n_steps(),
        calls: session.n_calls(),
        open_time: Some(timestamp(session.opened())),
        expire_time: session.ended().is_none().then(|| expire_time(session, policy)),
        end_time: session.ended().map(|(at, _)| timestamp(at)),
        end: session.ended().map_or(proto::SessionEnd::Unspecified, |(_, end)| end.into()).into(),
    }
}

/// Returns the words of a list, for saying what would be accepted.
pub fn words<W: Word>() -> String {
    let words: Vec<&str> = W::ALL.iter().map(|word| word.as_str()).collect();
    words.join(", ")
}

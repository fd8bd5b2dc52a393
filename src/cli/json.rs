//! The daemon's answers as JSON: the same names as in the protocol, enums as the words of the log.
//!
//! Contents of pieces are text, byte for byte; schemas are JSON values, since a program that reads a definition wants
//! to look into it.

use std::time::SystemTime;

use prost_types::Timestamp;
use serde_json::{Value, json};

use super::output::word;
use crate::proto;

/// Writes a tool's identity as text: `source/name`.
pub(super) fn tool_name(tool: Option<&proto::ToolRef>) -> String {
    tool.map_or_else(String::new, |tool| format!("{}/{}", tool.source, tool.name))
}

/// Writes a time as RFC 3339, to the second; empty where there is none.
pub(super) fn time(time: Option<&Timestamp>) -> String {
    let Some(time) = time.and_then(|time| SystemTime::try_from(*time).ok()) else { return String::new() };
    humantime::format_rfc3339_seconds(time).to_string()
}

/// Returns JSON that travelled as bytes; as text where it is none, `null` where there are no bytes.
pub(super) fn embedded(bytes: &[u8]) -> Value {
    if bytes.is_empty() {
        return Value::Null;
    }
    serde_json::from_slice(bytes).unwrap_or_else(|_| Value::String(String::from_utf8_lossy(bytes).into_owned()))
}

/// Returns the word for a tool's state.
pub(super) fn state(state: proto::ToolState) -> String {
    word(state.as_str_name(), "TOOL_STATE_")
}

/// Returns the word for why a tool moved.
pub(super) fn cause(cause: proto::MoveCause) -> String {
    word(cause.as_str_name(), "MOVE_CAUSE_")
}

/// Returns the word for why a tool may not be used.
pub(super) fn reason(reason: proto::Reason) -> String {
    word(reason.as_str_name(), "REASON_")
}

/// Returns a list as JSON.
pub(super) fn list<T>(items: &[T], to_json: fn(&T) -> Value) -> Value {
    Value::Array(items.iter().map(to_json).collect())
}

pub(super) fn violation(violation: &proto::Violation) -> Value {
    let mut written =
        json!({ "field": violation.field, "description": violation.description, "accepted": violation.accepted });
    if !violation.rule.is_empty() {
        written["rule"] = json!(violation.rule);
    }
    written
}

pub(super) fn tool_ref(tool: &proto::ToolRef) -> Value {
    json!({ "source": tool.source, "name": tool.name, "version": tool.version })
}

pub(super) fn tool_record(record: &proto::ToolRecord) -> Value {
    json!({
        "tool": record.tool.as_ref().map(tool_ref),
        "alias": record.alias,
        "state": state(record.state()),
        "cause": cause(record.cause()),
        "state_reason": record.state_reason,
        "group": record.group,
        "summary": record.summary,
        "full_tokens": record.full_tokens,
        "slim_tokens": record.slim_tokens,
        "derived": record.derived,
        "hash": record.hash,
        "calls": record.calls,
        "heat": record.heat,
        "resident": record.resident,
        "pinned": record.pinned,
        "flags": list(&record.flags, flag),
        "waiting": record.waiting.as_ref().map(waiting),
    })
}

fn flag(flag: &proto::Flag) -> Value {
    json!({
        "finding": flag.finding.as_ref().map(violation),
        "accepted": flag.accepted,
        "note": flag.note,
        "actor": flag.actor,
        "accept_time": time(flag.accept_time.as_ref()),
    })
}

fn waiting(waiting: &proto::WaitingVersion) -> Value {
    json!({
        "version": waiting.version,
        "hash": waiting.hash,
        "cause": word(waiting.cause().as_str_name(), "WAIT_CAUSE_"),
        "flags": list(&waiting.flags, flag),
        "change": word(waiting.change().as_str_name(), "CHANGE_CLASS_"),
    })
}

/// Returns a definition in the form that `tool register` reads.
pub(super) fn definition(definition: &proto::ToolDefinition) -> Value {
    let mut attributes: Vec<_> = definition.attributes.iter().collect();
    attributes.sort();
    let attributes: serde_json::Map<_, _> = attributes.into_iter().map(|(k, v)| (k.clone(), json!(v))).collect();
    json!({
        "source": definition.source,
        "name": definition.name,
        "title": definition.title,
        "summary": definition.summary,
        "when_to_use": definition.when_to_use,
        "keywords": definition.keywords,
        "size_tokens": definition.size_tokens,
        "description": definition.description,
        "input_schema": embedded(&definition.input_schema),
        "output_schema": embedded(&definition.output_schema),
        "annotations": embedded(&definition.annotations),
        "group": definition.group,
        "tags": definition.tags,
        "attributes": attributes,
        "initial_score": definition.initial_score,
    })
}

pub(super) fn transition(transition: &proto::Transition) -> Value {
    json!({
        "sequence": transition.sequence,
        "time": time(transition.time.as_ref()),
        "tool": transition.tool.as_ref().map(tool_ref),
        "old_state": state(transition.old_state()),
        "new_state": state(transition.new_state()),
        "cause": cause(transition.cause()),
        "actor": transition.actor,
        "reason": transition.reason,
        "until_time": time(transition.until_time.as_ref()),
        "diagnosis": embedded(&transition.diagnosis),
    })
}

pub(super) fn piece(piece: &proto::Piece) -> Value {
    json!({
        "place": word(piece.place().as_str_name(), "PLACE_"),
        "content": String::from_utf8_lossy(&piece.content),
        "tokens": piece.tokens,
        "names": piece.names,
        "deferred": piece.deferred,
    })
}

pub(super) fn offer(offer: &proto::Offer) -> Value {
    json!({
        "name": offer.name,
        "tool": offer.tool.as_ref().map(tool_ref),
        "origin": word(offer.origin().as_str_name(), "ORIGIN_"),
        "tokens": offer.tokens,
        "score": offer.score,
        "reason": offer.reason,
    })
}

pub(super) fn listing(listing: &proto::Listing) -> Value {
    json!({
        "total": listing.total,
        "returned": listing.returned,
        "has_more": listing.has_more,
        "limit": listing.limit,
        "hint": listing.hint,
    })
}

pub(super) fn tokens(tokens: &proto::Tokens) -> Value {
    json!({
        "directory": tokens.directory,
        "resident": tokens.resident,
        "issued": tokens.issued,
        "meta": tokens.meta,
        "everything": tokens.everything,
        "window": tokens.window,
        "tokenizer": tokens.tokenizer,
    })
}

pub(super) fn block(block: &proto::Block) -> Value {
    json!({
        "digest": block.digest,
        "generation": block.generation,
        "epoch": block.epoch,
        "pieces": list(&block.pieces, piece),
        "offers": list(&block.offers, offer),
        "cache_after": block.cache_after,
        "tokens": block.tokens.as_ref().map(tokens),
        "size_bytes": block.size_bytes,
        "pass_through": block.pass_through,
    })
}

pub(super) fn exclusion(exclusion: &proto::Exclusion) -> Value {
    json!({ "name": exclusion.name, "reason": reason(exclusion.reason()), "detail": exclusion.detail })
}

pub(super) fn pending_change(change: &proto::PendingChange) -> Value {
    json!({
        "name": change.name,
        "kind": word(change.kind().as_str_name(), "CHANGE_KIND_"),
        "detail": change.detail,
    })
}

pub(super) fn session_record(session: &proto::SessionRecord) -> Value {
    json!({
        "session_id": session.session_id,
        "format": word(session.format().as_str_name(), "FORMAT_"),
        "delivery": word(session.delivery().as_str_name(), "DELIVERY_"),
        "model": session.model,
        "parent_session_id": session.parent_session_id,
        "generation": session.generation,
        "block_digest": session.block_digest,
        "steps": session.steps,
        "calls": session.calls,
        "open_time": time(session.open_time.as_ref()),
        "expire_time": time(session.expire_time.as_ref()),
        "end_time": time(session.end_time.as_ref()),
        "end": word(session.end().as_str_name(), "SESSION_END_"),
    })
}

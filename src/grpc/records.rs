//! Entries of the registry as messages: a tool's record, its flags, what waits of it, and what differs between versions.

use std::sync::Arc;

use tonic::Status;

use super::convert;
use super::definitions::definition_message;
use crate::core::admission::change::{Difference, classify};
use crate::core::definition::DerivedField;
use crate::core::event::{Admitted, Flag, MoveCause};
use crate::core::ids::{ToolId, Version};
use crate::core::namespace::Namespace;
use crate::core::registry::Tool;
use crate::core::render::{Form, Shown};
use crate::engine::Handle;
use crate::proto;

/// Writes a tool's entry as it stands; `None` where there is no such tool.
pub async fn of(handle: &Handle, id: &ToolId) -> Result<Option<proto::ToolRecord>, Status> {
    let id = id.clone();
    Ok(handle.look(move |namespace| record(namespace, &id)).await?)
}

/// Writes a tool's entry; `None` where there is no such tool.
pub fn record(namespace: &Namespace, id: &ToolId) -> Option<proto::ToolRecord> {
    let entry = namespace.registry().get(id)?;
    let shown = entry.for_operators()?;
    let admitted = shown.admitted();
    let served = entry.current().map(|shown| shown.admitted().version).unwrap_or_default();
    let usage = namespace.pool().usage(id);
    let last_move = namespace.health(id).and_then(|health| health.last_move());
    let (cause, reason) = last_move.unwrap_or((MoveCause::Admitted, ""));
    Some(proto::ToolRecord {
        tool: Some(convert::tool_ref(id, served)),
        alias: entry.alias().to_string(),
        state: proto::ToolState::from(entry.state()).into(),
        cause: proto::MoveCause::from(cause).into(),
        state_reason: reason.into(),
        group: admitted.definition.group().into(),
        summary: admitted.definition.summary.clone(),
        full_tokens: admitted.measured_tokens,
        slim_tokens: shown.rendered(Form::Mcp).tokens,
        derived: admitted.definition.derived.iter().map(|field: &DerivedField| field.as_str().into()).collect(),
        hash: admitted.hash.to_string(),
        calls: usage.map_or(0, |usage| usage.calls),
        heat: namespace.heat_key(id) as f64 / (1u64 << 30) as f64,
        resident: namespace.pool().members().contains(id),
        pinned: entry.is_pinned(),
        flags: flags(entry, admitted),
        waiting: entry.waiting().map(|waiting| self::waiting(entry, waiting)),
    })
}

fn waiting(entry: &Tool, waiting: &Shown) -> proto::WaitingVersion {
    let admitted = waiting.admitted();
    let change = entry.current().map(|shown| classify(&shown.admitted().definition, &admitted.definition).class);
    proto::WaitingVersion {
        version: admitted.version.0,
        hash: admitted.hash.to_string(),
        cause: admitted.waits.map_or(proto::WaitCause::Unspecified, proto::WaitCause::from).into(),
        flags: flags(entry, admitted),
        change: change.map_or(proto::ChangeClass::Unspecified, proto::ChangeClass::from).into(),
    }
}

fn flags(entry: &Tool, admitted: &Admitted) -> Vec<proto::Flag> {
    let write = |flag: &Flag| {
        let acceptance = entry.acceptance(&flag.rule, &flag.field);
        proto::Flag {
            finding: Some(proto::Violation {
                field: flag.field.clone(),
                description: flag.description.clone(),
                accepted: flag.accepted.clone(),
                rule: flag.rule.clone(),
            }),
            accepted: acceptance.is_some(),
            note: acceptance.map(|acceptance| acceptance.note.clone()).unwrap_or_default(),
            actor: acceptance.map(|acceptance| acceptance.actor.clone()).unwrap_or_default(),
            accept_time: acceptance.map(|acceptance| convert::timestamp(acceptance.at)),
        }
    };
    admitted.flags.iter().map(write).collect()
}

/// Writes what differs between two versions.
pub fn diff(
    record: Option<proto::ToolRecord>,
    older: Option<&Arc<Shown>>,
    newer: &Arc<Shown>,
) -> proto::DiffToolResponse {
    let newer = newer.admitted();
    let older = older.map(|shown| shown.admitted());
    let change = older.map(|older| classify(&older.definition, &newer.definition));
    let is_changed = change.as_ref().filter(|change| !change.differences.is_empty());
    proto::DiffToolResponse {
        record,
        from_version: older.map_or(Version(0), |older| older.version).0,
        to_version: newer.version.0,
        change: is_changed.map_or(proto::ChangeClass::Unspecified, |change| change.class.into()).into(),
        differences: change.iter().flat_map(|change| &change.differences).map(difference).collect(),
        from_definition: older.map(|older| definition_message(&older.definition)),
        to_definition: Some(definition_message(&newer.definition)),
        to_hash: newer.hash.to_string(),
    }
}

/// Writes one thing that differs.
pub fn difference(difference: &Difference) -> proto::Difference {
    proto::Difference {
        field: difference.field.clone(),
        reach: proto::ChangeClass::from(difference.class).into(),
        description: difference.description.clone(),
    }
}

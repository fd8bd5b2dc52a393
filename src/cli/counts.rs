//! Counts by word as JSON: of a namespace, of one tool, of one session.

use serde_json::{Value, json};

use crate::proto::{
    CacheBreakFigures, CallFigures, DeliveryFigures, EndingFigures, PlanFigures, RequestFigures, SelectionFigures,
    StepEndFigures, ToolStateFigures,
};

/// Returns calls by presence.
pub(super) fn calls(calls: CallFigures) -> Value {
    json!({
        "resident": calls.resident,
        "issued": calls.issued,
        "recalled": calls.recalled,
        "absent": calls.absent,
        "unknown": calls.unknown,
    })
}

/// Returns calls by how they ended.
pub(super) fn endings(endings: EndingFigures) -> Value {
    json!({
        "unspecified": endings.unspecified,
        "ok": endings.ok,
        "bad_arguments": endings.bad_arguments,
        "not_found": endings.not_found,
        "refused": endings.refused,
        "auth": endings.auth,
        "timeout": endings.timeout,
        "transport": endings.transport,
        "server_error": endings.server_error,
    })
}

/// Returns selections by verdict.
pub(super) fn selections(selections: SelectionFigures) -> Value {
    json!({
        "right": selections.right,
        "wrong_tool": selections.wrong_tool,
        "unknown_tool": selections.unknown_tool,
        "unavailable": selections.unavailable,
        "invalid_arguments": selections.invalid_arguments,
        "unjudged": selections.unjudged,
    })
}

/// Returns plans by result.
pub(super) fn plans(plans: PlanFigures) -> Value {
    json!({
        "issued": plans.issued,
        "present_suffices": plans.present_suffices,
        "nothing_found": plans.nothing_found,
        "no_query": plans.no_query,
        "degraded": plans.degraded,
    })
}

/// Returns steps without a call by their end.
pub(super) fn step_ends(ends: StepEndFigures) -> Value {
    json!({
        "answered": ends.answered,
        "gave_up": ends.gave_up,
        "asked_user": ends.asked_user,
        "unknown": ends.unknown,
    })
}

/// Returns requests for tools by result.
pub(super) fn requests(requests: RequestFigures) -> Value {
    json!({
        "exact": requests.exact,
        "near": requests.near,
        "retrieved": requests.retrieved,
        "already_present": requests.already_present,
        "own": requests.own,
        "unavailable": requests.unavailable,
        "retired": requests.retired,
        "not_found": requests.not_found,
    })
}

/// Returns cache breaks by cause.
pub(super) fn cache_breaks(breaks: CacheBreakFigures) -> Value {
    json!({
        "tools": breaks.tools,
        "other": breaks.other,
        "expired": breaks.expired,
        "unknown": breaks.unknown,
    })
}

/// Returns sessions by delivery.
pub(super) fn deliveries(sessions: DeliveryFigures) -> Value {
    json!({
        "append": sessions.append,
        "reference": sessions.reference,
        "invoke": sessions.invoke,
        "tools": sessions.tools,
    })
}

/// Returns counts by the state of a tool.
pub(super) fn states(states: ToolStateFigures) -> Value {
    json!({
        "active": states.active,
        "quarantined": states.quarantined,
        "probation": states.probation,
        "held": states.held,
        "pending": states.pending,
        "withdrawn": states.withdrawn,
        "retired": states.retired,
    })
}

//! Counts of the core as messages: of a namespace, of one tool, of one session.

use super::convert;
use crate::core::event::{
    CacheBreak, Delivery, Ending, PlanResult, Presence, RequestResult, SessionEnd, StepEnd, ToolState, Verdict,
};
use crate::core::figures::Tally;
use crate::core::namespace::{Namespace, ToolStat};
use crate::proto;

/// Writes calls by presence.
pub fn calls(tally: &Tally<Presence>) -> proto::CallFigures {
    proto::CallFigures {
        resident: tally.get(Presence::Resident),
        issued: tally.get(Presence::Issued),
        recalled: tally.get(Presence::Recalled),
        absent: tally.get(Presence::Absent),
        unknown: tally.get(Presence::Unknown),
    }
}

/// Writes calls by how they ended; those that were not run are never counted.
pub fn endings(tally: &Tally<Ending>) -> proto::EndingFigures {
    proto::EndingFigures {
        unspecified: tally.get(Ending::Unspecified),
        ok: tally.get(Ending::Ok),
        bad_arguments: tally.get(Ending::BadArguments),
        not_found: tally.get(Ending::NotFound),
        refused: tally.get(Ending::Refused),
        auth: tally.get(Ending::Auth),
        timeout: tally.get(Ending::Timeout),
        transport: tally.get(Ending::Transport),
        server_error: tally.get(Ending::ServerError),
    }
}

/// Writes selections by verdict.
pub fn selections(tally: &Tally<Verdict>) -> proto::SelectionFigures {
    proto::SelectionFigures {
        right: tally.get(Verdict::Right),
        wrong_tool: tally.get(Verdict::WrongTool),
        unknown_tool: tally.get(Verdict::UnknownTool),
        unavailable: tally.get(Verdict::Unavailable),
        invalid_arguments: tally.get(Verdict::InvalidArguments),
        unjudged: tally.get(Verdict::Unjudged),
    }
}

/// Writes plans by result.
pub fn plans(tally: &Tally<PlanResult>) -> proto::PlanFigures {
    proto::PlanFigures {
        issued: tally.get(PlanResult::Issued),
        present_suffices: tally.get(PlanResult::PresentSuffices),
        nothing_found: tally.get(PlanResult::NothingFound),
        no_query: tally.get(PlanResult::NoQuery),
        degraded: tally.get(PlanResult::Degraded),
    }
}

/// Writes steps without a call by their end.
pub fn step_ends(tally: &Tally<StepEnd>) -> proto::StepEndFigures {
    proto::StepEndFigures {
        answered: tally.get(StepEnd::Answered),
        gave_up: tally.get(StepEnd::GaveUp),
        asked_user: tally.get(StepEnd::AskedUser),
        unknown: tally.get(StepEnd::Unknown),
    }
}

/// Writes requests for tools by result.
pub fn requests(tally: &Tally<RequestResult>) -> proto::RequestFigures {
    proto::RequestFigures {
        exact: tally.get(RequestResult::Exact),
        near: tally.get(RequestResult::Near),
        retrieved: tally.get(RequestResult::Retrieved),
        already_present: tally.get(RequestResult::AlreadyPresent),
        own: tally.get(RequestResult::Own),
        unavailable: tally.get(RequestResult::Unavailable),
        retired: tally.get(RequestResult::Retired),
        not_found: tally.get(RequestResult::NotFound),
    }
}

/// Writes cache breaks by cause.
pub fn cache_breaks(tally: &Tally<CacheBreak>) -> proto::CacheBreakFigures {
    proto::CacheBreakFigures {
        tools: tally.get(CacheBreak::Tools),
        other: tally.get(CacheBreak::Other),
        expired: tally.get(CacheBreak::Expired),
        unknown: tally.get(CacheBreak::Unknown),
    }
}

fn deliveries(tally: &Tally<Delivery>) -> proto::DeliveryFigures {
    proto::DeliveryFigures {
        append: tally.get(Delivery::Append),
        reference: tally.get(Delivery::Reference),
        invoke: tally.get(Delivery::Invoke),
        tools: tally.get(Delivery::Tools),
    }
}

/// Writes counts by the state of a tool.
pub fn states(count: impl Fn(ToolState) -> u64) -> proto::ToolStateFigures {
    proto::ToolStateFigures {
        active: count(ToolState::Active),
        quarantined: count(ToolState::Quarantined),
        probation: count(ToolState::Probation),
        held: count(ToolState::Held),
        pending: count(ToolState::Pending),
        withdrawn: count(ToolState::Withdrawn),
        retired: count(ToolState::Retired),
    }
}

/// Writes one tool's figures.
pub fn tool(stat: &ToolStat) -> proto::ToolStat {
    let last_call = stat.figures.last_call;
    proto::ToolStat {
        tool: Some(convert::tool_ref(&stat.tool, stat.version)),
        state: proto::ToolState::from(stat.state).into(),
        calls: stat.calls,
        heat: stat.heat_key as f64 / (1u64 << 30) as f64,
        directory_exposures: stat.exposure.directory,
        resident_exposures: stat.exposure.resident,
        issued_exposures: stat.exposure.issued,
        alias: stat.alias.to_string(),
        presence: Some(calls(&stat.figures.calls)),
        endings: Some(endings(&stat.figures.endings)),
        retries: Some(endings(&stat.figures.retries)),
        selections: Some(selections(&stat.figures.selections)),
        last_call_tick: last_call.map_or(0, |call| call.tick.0),
        last_call_time: last_call.map(|call| convert::timestamp(call.at)),
        density: stat.density,
    }
}

/// Writes the figures of a namespace, its recall latency left out; of `top` tools, the most called first.
pub fn namespace(namespace: &Namespace, top: usize) -> proto::Figures {
    let figures = namespace.figures();
    let by_state = namespace.tools_by_state();
    let ended = |end: SessionEnd| figures.sessions_ended.get(end);
    let mut stats = namespace.tool_stats();
    let members = namespace.pool().members();
    let hot_pool = members.iter().filter_map(|member| stats.iter().find(|stat| &stat.tool == member));
    let hot_pool = hot_pool.map(tool).collect();
    // Stable, and they come by name: ties stay in that order.
    stats.sort_by_key(|stat| std::cmp::Reverse(stat.calls));
    proto::Figures {
        namespace: namespace.id().to_string(),
        tick: namespace.tick().0,
        epoch: namespace.pool().epoch().0,
        steps: figures.steps(),
        calls: Some(calls(&figures.calls)),
        selections: Some(selections(&figures.selections)),
        tokens: Some(proto::TokenFigures {
            directory: figures.tokens.directory,
            resident: figures.tokens.resident,
            issued: figures.tokens.issued,
            meta: figures.tokens.meta,
            window: figures.tokens.window,
            everything: figures.tokens.everything,
        }),
        plans: Some(plans(&figures.plans)),
        plans_without_call: Some(step_ends(&figures.plans_without_call)),
        requests: Some(requests(&figures.requests)),
        extra_hops: figures.extra_hops,
        reranks: Some(proto::RerankFigures {
            changed: figures.reranks_changed,
            unchanged: figures.reranks_unchanged,
            swapped_in: figures.swapped_in,
        }),
        tools: Some(states(|state| by_state.get(&state).copied().unwrap_or(0))),
        transitions: figures
            .moves
            .iter()
            .map(|((state, cause), count)| proto::TransitionCount {
                new_state: proto::ToolState::from(*state).into(),
                cause: proto::MoveCause::from(*cause).into(),
                count: *count,
            })
            .collect(),
        sessions: Some(proto::SessionFigures {
            open: namespace.n_open() as u64,
            closed: ended(SessionEnd::Closed),
            expired: ended(SessionEnd::Expired),
            distinct_blocks_per_session_max: figures.distinct_blocks_per_session_max,
            opened: Some(deliveries(&figures.deliveries)),
        }),
        recall_p50: None,
        recall_p99: None,
        hot_pool,
        top: stats.iter().take(top).map(tool).collect(),
        cache_breaks: Some(cache_breaks(&figures.cache_breaks)),
    }
}

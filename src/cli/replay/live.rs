//! Policies side by side with live residency, as a table and as JSON.

use serde_json::Value;

use super::super::output::{Column, count, percent, table};
use super::{describe_unknown, rounded};
use crate::core::policy::Policy;
use crate::offline::replay::{ReplayPolicy, replay_live};
use crate::offline::report::LiveReport;
use crate::offline::trace::{TraceLine, TraceTool};

/// Plays every policy that was asked for.
pub(super) fn play(
    tools: &[TraceTool],
    trace: &[TraceLine],
    asked: &[ReplayPolicy],
    policy: &Policy,
) -> anyhow::Result<(Value, String)> {
    let mut figures = Vec::new();
    for one in asked {
        figures.push(replay_live(tools, trace, *one, &policy.hot_pool));
    }
    let mut rows = Vec::new();
    for one in &figures {
        rows.push(vec![
            one.policy.to_owned(),
            percent(one.presence),
            count(one.absent),
            count(one.calls),
            count(one.steps),
            count(one.swapped_in),
            count(one.changes),
            count(one.changes_in_session),
            rounded(one.tokens_per_step),
        ]);
    }
    let columns = [
        Column::Left("policy"),
        Column::Right("presence"),
        Column::Right("absent"),
        Column::Right("calls"),
        Column::Right("steps"),
        Column::Right("swapped in"),
        Column::Right("changes"),
        Column::Right("in session"),
        Column::Right("tokens/step"),
    ];
    let unknown = figures.first().map_or(0, |one| one.unknown_calls);
    let note = "live residency: the pool changes under running sessions, which the daemon never does to a block";
    let text = format!("{}\n{note}{}\n", table(&columns, rows, "no policy"), describe_unknown(unknown));
    Ok((serde_json::to_value(LiveReport::new(figures))?, text))
}

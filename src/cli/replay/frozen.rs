//! Policies side by side with frozen residency, as a table and as JSON.

use serde_json::Value;

use super::super::output::{Column, count, percent, table};
use super::{describe_unknown, rounded};
use crate::core::policy::Policy;
use crate::offline::definitions::Definitions;
use crate::offline::frozen::replay_frozen;
use crate::offline::replay::ReplayPolicy;
use crate::offline::report::FrozenReport;
use crate::offline::trace::{TraceLine, TraceTool};

/// Plays every policy that was asked for.
pub(super) fn play(
    tools: &[TraceTool],
    trace: &[TraceLine],
    asked: &[ReplayPolicy],
    policy: &Policy,
) -> anyhow::Result<(Value, String)> {
    let definitions = Definitions::of(tools, &policy.admission);
    let mut figures = Vec::new();
    for one in asked {
        figures.push(replay_frozen(&definitions, trace, *one, policy));
    }
    let mut rows = Vec::new();
    for one in &figures {
        rows.push(vec![
            one.policy.to_owned(),
            percent(one.presence),
            percent(one.resident_share),
            count(one.absent),
            count(one.calls),
            count(one.steps),
            count(one.swapped_in),
            rounded(one.tokens_per_step),
            percent(one.injection_share),
            percent(one.saving),
        ]);
    }
    let columns = [
        Column::Left("policy"),
        Column::Right("presence"),
        Column::Right("in block"),
        Column::Right("absent"),
        Column::Right("calls"),
        Column::Right("steps"),
        Column::Right("swapped in"),
        Column::Right("tokens/step"),
        Column::Right("of window"),
        Column::Right("saving"),
    ];
    let unknown = figures.first().map_or(0, |one| one.unknown_calls);
    let mut text = table(&columns, rows, "no policy");
    text.push_str("\nfrozen residency: each session keeps the block it was given, as the daemon serves it");
    text.push_str(&describe_unknown(unknown));
    if let Some(n) = definitions.would_be_refused.filter(|n| *n > 0) {
        text.push_str(&format!("\n{} tools would be refused by the gate; they are played all the same", count(n)));
    }
    Ok((serde_json::to_value(FrozenReport::new(definitions.would_be_refused, figures))?, text))
}

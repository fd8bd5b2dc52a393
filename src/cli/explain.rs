//! `explain`: why a tool is or is not issued.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::output::{Column, count, facts, table, word};
use super::{DONE, FAILED, Shell, json};
use crate::proto::{
    ExclusionCount, ExplainRequest, ExplainResponse, Fate, PastIssue, Present, Query, Standing, StepBudget,
};

/// Say why a tool is or is not issued: ranks, scores and their parts, budget, and what is left out
///
/// Plans a step as `plan` would, and changes, counts and logs nothing. Without --session it speaks of a session that is
/// opened now and asks for nothing in particular. The query of a past step is not kept in the log: give it again.
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib explain --query \"create an issue\" --tool github/create_issue")]
pub(super) struct Args {
    /// The user's last message
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    query: String,
    /// What the model wrote since
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    model_text: String,
    /// The standing task
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    goal: String,
    /// Which session; it stays as it is
    #[arg(long, value_name = "ID", default_value = "", hide_default_value = true)]
    session: String,
    /// Explain this tool wherever it stands: source/name, an alias, or a name
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    tool: String,
    /// Names of the on-demand definitions in the context; without it, all that was issued. Empty says none
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    present: Option<Vec<String>>,
    /// At most this many tools in the step
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    max_tools: u32,
    /// At most this many tokens in the step
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    max_tokens: u32,
    /// Show this many tools of the ranking, 200 at most
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: u32,
}

/// Prints the explanation; fails where the tool that was named is unknown.
pub(super) async fn run(args: Args, shell: &Shell) -> anyhow::Result<u8> {
    let remote = shell.connect().await?;
    let request = ExplainRequest {
        namespace: remote.namespace.clone(),
        session_id: args.session,
        query: Some(Query { user: args.query, model: args.model_text, goal: args.goal }),
        name: args.tool,
        present: args.present.map(|mut names| {
            names.retain(|name| !name.is_empty());
            Present { names }
        }),
        max_tools: args.max_tools,
        max_tokens: args.max_tokens,
        limit: args.limit,
    };
    let answer = remote.sessions().explain(request).await?.into_inner();
    shell.print(&to_json(&answer), &describe(&answer))?;
    let is_unknown = answer.named.iter().any(|standing| standing.fate() == Fate::Unspecified);
    Ok(if is_unknown { FAILED } else { DONE })
}

fn fate(standing: &Standing) -> String {
    match standing.fate() {
        Fate::Unspecified => "unknown".to_owned(),
        Fate::Excluded => json::reason(standing.reason()),
        fate => word(fate.as_str_name(), "FATE_"),
    }
}

fn to_json(answer: &ExplainResponse) -> Value {
    json!({
        "result": word(answer.result().as_str_name(), "PLAN_RESULT_"),
        "pass_through": answer.pass_through,
        "issued": json::list(&answer.issued, json::offer),
        "budget": answer.budget.as_ref().map(budget_to_json),
        "top_m": answer.top_m,
        "tools": answer.tools,
        "candidates": answer.candidates,
        "matching": answer.matching,
        "exclusions": json::list(&answer.exclusions, count_to_json),
        "standings": json::list(&answer.standings, standing_to_json),
        "named": json::list(&answer.named, standing_to_json),
        "nearest": answer.nearest,
        "past": json::list(&answer.past, past_to_json),
    })
}

fn budget_to_json(budget: &StepBudget) -> Value {
    json!({ "window": budget.window, "most": budget.most, "held": budget.held, "left": budget.left })
}

fn count_to_json(count: &ExclusionCount) -> Value {
    json!({ "reason": json::reason(count.reason()), "tools": count.tools, "matching": count.matching })
}

fn standing_to_json(standing: &Standing) -> Value {
    let parts: Vec<Value> =
        standing.parts.iter().map(|part| json!({ "name": part.name, "value": part.value })).collect();
    json!({
        "name": standing.name,
        "tool": standing.tool.as_ref().map(json::tool_ref),
        "rank": standing.rank,
        "score": standing.score,
        "parts": parts,
        "words": standing.words,
        "tokens": standing.tokens,
        "fate": word(standing.fate().as_str_name(), "FATE_"),
        "reason": json::reason(standing.reason()),
        "detail": standing.detail,
        "next_step": standing.next_step,
        "last_transition": standing.last_transition.as_ref().map(json::transition),
    })
}

fn past_to_json(past: &PastIssue) -> Value {
    json!({
        "step_id": past.step_id,
        "call_id": past.call_id,
        "name": past.name,
        "tool": past.tool.as_ref().map(json::tool_ref),
        "origin": word(past.origin().as_str_name(), "ORIGIN_"),
        "score": past.score,
    })
}

fn describe(answer: &ExplainResponse) -> String {
    let mut text = String::new();
    for standing in &answer.named {
        text.push_str(&describe_named(standing));
    }
    if !answer.nearest.is_empty() {
        let _ = writeln!(text, "Nearest: {}.", answer.nearest.join(", "));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    let all_resident = if answer.pass_through { "the block was made to hold every tool" } else { "" };
    text.push_str(&facts(&[
        ("result", word(answer.result().as_str_name(), "PLAN_RESULT_")),
        ("pass-through", all_resident.to_owned()),
        ("budget", answer.budget.as_ref().map(describe_budget).unwrap_or_default()),
        (
            "tools",
            format!(
                "{}, of which {} may be issued here, {} match, and the best {} are looked at",
                count(answer.tools),
                count(answer.candidates),
                count(answer.matching),
                answer.top_m
            ),
        ),
        ("left out", describe_counts(&answer.exclusions)),
    ]));
    text.push('\n');
    text.push_str(&describe_standings(&answer.standings));
    if !answer.past.is_empty() {
        let _ = write!(text, "\nGiven before, the latest first:\n{}", describe_past(&answer.past));
    }
    text
}

/// Says in one line what became of a tool, and in a second what could be done.
fn describe_named(standing: &Standing) -> String {
    let (verdict, place) = match standing.fate() {
        Fate::Issued | Fate::Owed => ("is issued", String::new()),
        _ => ("is not issued", format!("{}: ", fate(standing).replace('_', " "))),
    };
    let mut text = format!("{} {verdict}: {place}{}", standing.name, standing.detail);
    if let Some(moved) = &standing.last_transition {
        let _ = write!(text, ", since {} ({}", json::time(moved.time.as_ref()), json::cause(moved.cause()));
        if !moved.reason.is_empty() {
            let _ = write!(text, ": {}", moved.reason);
        }
        text.push(')');
    }
    if standing.rank > 0 {
        let _ = write!(text, "; rank {}, score {:.2}", standing.rank, standing.score);
    }
    text.push_str(".\n");
    if !standing.parts.is_empty() {
        let _ = writeln!(text, "  score: {}", describe_parts(standing));
        let _ = writeln!(text, "  words: {}", standing.words.join(", "));
    }
    if !standing.next_step.is_empty() {
        let _ = writeln!(text, "  next: {}", standing.next_step);
    }
    text
}

fn describe_budget(budget: &StepBudget) -> String {
    format!(
        "{} tokens left of {} for on-demand definitions, {} held; window {}",
        count(budget.left),
        count(budget.most),
        count(budget.held),
        count(budget.window)
    )
}

fn describe_counts(counts: &[ExclusionCount]) -> String {
    let one = |out: &ExclusionCount| {
        format!("{} {} ({} match)", count(out.tools), json::reason(out.reason()), count(out.matching))
    };
    counts.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn describe_parts(standing: &Standing) -> String {
    standing.parts.iter().map(|part| format!("{} {:+.2}", part.name, part.value)).collect::<Vec<_>>().join(" ")
}

fn describe_standings(standings: &[Standing]) -> String {
    let rows = standings.iter().map(|standing| {
        vec![
            if standing.rank > 0 { standing.rank.to_string() } else { "-".to_owned() },
            standing.name.clone(),
            format!("{:.2}", standing.score),
            count(standing.tokens),
            fate(standing),
            describe_parts(standing),
        ]
    });
    let columns = [
        Column::Right("rank"),
        Column::Left("tool"),
        Column::Right("score"),
        Column::Right("tokens"),
        Column::Left("fate"),
        Column::Left("parts"),
    ];
    table(&columns, rows.collect(), "nothing matches")
}

fn describe_past(past: &[PastIssue]) -> String {
    let rows = past.iter().map(|past| {
        let origin = word(past.origin().as_str_name(), "ORIGIN_");
        vec![past.step_id.clone(), past.name.clone(), origin, past.call_id.clone()]
    });
    table(&["step", "tool", "origin", "request"].map(Column::Left), rows.collect(), "nothing")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{MoveCause, Reason, ScorePart, Transition};

    #[test]
    fn the_first_line_says_why_a_tool_is_not_issued() {
        let standing = Standing {
            name: "s__send_mail".to_owned(),
            score: 5.25,
            parts: vec![
                ScorePart { name: "name".to_owned(), value: 5.5 },
                ScorePart { name: "mean".to_owned(), value: -0.25 },
            ],
            words: vec!["mail".to_owned()],
            fate: Fate::Excluded.into(),
            reason: Reason::Quarantined.into(),
            detail: "is out of order at the moment".to_owned(),
            next_step: "mend it".to_owned(),
            last_transition: Some(Transition {
                time: Some(prost_types::Timestamp { seconds: 0, nanos: 0 }),
                cause: MoveCause::Failures.into(),
                ..Transition::default()
            }),
            ..Standing::default()
        };
        let text = describe(&ExplainResponse { named: vec![standing], ..ExplainResponse::default() });
        let expected = "s__send_mail is not issued: quarantined: is out of order at the moment, since \
                        1970-01-01T00:00:00Z (failures).\n  score: name +5.50 mean -0.25\n  words: mail\n  next: mend it\n";
        assert!(text.starts_with(expected), "{text}");
    }
}

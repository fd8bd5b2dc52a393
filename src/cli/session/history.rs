//! What happened in a session, as `session show` prints it.

use serde_json::{Value, json};

use crate::cli::output::{Column, count, facts, table, word};
use crate::cli::{counts, json};
use crate::proto::{CallRecord, MissedTool, RequestResult, SessionFinding, SessionHistory, StepRecord};

/// Returns the history as JSON.
pub(super) fn to_json(history: &SessionHistory) -> Value {
    json!({
        "findings": json::list(&history.findings, finding_to_json),
        "plans": counts::plans(history.plans.unwrap_or_default()),
        "plans_without_call": counts::step_ends(history.plans_without_call.unwrap_or_default()),
        "calls": counts::calls(history.calls.unwrap_or_default()),
        "selections": counts::selections(history.selections.unwrap_or_default()),
        "requests": counts::requests(history.requests.unwrap_or_default()),
        "unavailable": counts::states(history.unavailable.unwrap_or_default()),
        "cache_breaks": counts::cache_breaks(history.cache_breaks.unwrap_or_default()),
        "missed": json::list(&history.missed, missed_to_json),
        "steps": json::list(&history.steps, step_to_json),
    })
}

fn finding_to_json(finding: &SessionFinding) -> Value {
    json!({ "text": finding.text, "since_time": json::time(finding.since_time.as_ref()) })
}

fn missed_to_json(missed: &MissedTool) -> Value {
    json!({
        "name": missed.name,
        "tool": missed.tool.as_ref().map(json::tool_ref),
        "absent": missed.absent,
        "unavailable": missed.unavailable,
        "reason": json::reason(missed.reason()),
        "state": json::state(missed.state()),
        "state_since": json::time(missed.state_since.as_ref()),
        "step_id": missed.step_id,
        "time": json::time(missed.time.as_ref()),
    })
}

fn step_to_json(step: &StepRecord) -> Value {
    json!({
        "step_id": step.step_id,
        "time": json::time(step.time.as_ref()),
        "result": result(step),
        "matched": step.matched,
        "issued": json::list(&step.issued, |issued| json!({
            "name": issued.name,
            "tool": issued.tool.as_ref().map(json::tool_ref),
            "origin": word(issued.origin().as_str_name(), "ORIGIN_"),
        })),
        "tokens": step.tokens.as_ref().map(json::tokens),
        "calls": json::list(&step.calls, call_to_json),
        "requests": requests(step),
        "end": word(step.end().as_str_name(), "STEP_END_"),
        "cache_break": cache_break(step),
    })
}

fn call_to_json(call: &CallRecord) -> Value {
    let ending = call.counted.then(|| call.ending().as_str_name().trim_start_matches("ENDING_").to_ascii_lowercase());
    json!({
        "call_id": call.call_id,
        "name": call.name,
        "tool": call.tool.as_ref().map(json::tool_ref),
        "presence": word(call.presence().as_str_name(), "PRESENCE_"),
        "verdict": word(call.verdict().as_str_name(), "VERDICT_"),
        "reason": json::reason(call.reason()),
        "counted": call.counted,
        "ending": ending,
    })
}

fn result(step: &StepRecord) -> String {
    word(step.result().as_str_name(), "PLAN_RESULT_")
}

fn cache_break(step: &StepRecord) -> String {
    word(step.cache_break().as_str_name(), "CACHE_BREAK_")
}

fn requests(step: &StepRecord) -> Vec<String> {
    step.requests().map(|result: RequestResult| word(result.as_str_name(), "REQUEST_RESULT_")).collect()
}

/// Writes what stands out, a line each and an empty one behind; nothing where nothing does.
pub(super) fn describe_findings(history: &SessionHistory) -> String {
    let mut text = String::new();
    for finding in &history.findings {
        text.push_str(&finding.text);
        let since = json::time(finding.since_time.as_ref());
        if !since.is_empty() {
            text.push_str(&format!(" since {since}"));
        }
        text.push('\n');
    }
    if text.is_empty() { text } else { text + "\n" }
}

/// Writes the counters, the tools that were called in vain, and the last steps.
pub(super) fn describe(history: &SessionHistory) -> String {
    let written = to_json(history);
    let counts = |name: &str| describe_counts(&written[name]);
    let counters = facts(&[
        ("steps", counts("plans")),
        ("without a call", counts("plans_without_call")),
        ("calls", counts("calls")),
        ("selections", counts("selections")),
        ("tools asked for", counts("requests")),
        ("not run", counts("unavailable")),
        ("cache breaks", counts("cache_breaks")),
    ]);
    let mut text = String::new();
    if !counters.is_empty() {
        text.push_str(&format!("\nsince it was opened\n{counters}"));
    }
    if !history.missed.is_empty() {
        text.push_str(&format!("\ncalled in vain, the last first\n{}", describe_missed(&history.missed)));
    }
    text.push_str(&format!("\nlast steps\n{}", describe_steps(&history.steps)));
    text
}

/// Writes the counts of a list of words that are not zero: `3 issued, 1 no_query`.
fn describe_counts(counts: &Value) -> String {
    let Some(counts) = counts.as_object() else { return String::new() };
    let mut parts = Vec::new();
    for (word, n) in counts {
        if let Some(n) = n.as_u64().filter(|n| *n > 0) {
            parts.push(format!("{} {word}", count(n)));
        }
    }
    parts.join(", ")
}

fn describe_missed(missed: &[MissedTool]) -> String {
    let rows = missed.iter().map(|missed| {
        let since = json::time(missed.state_since.as_ref());
        let state = json::state(missed.state());
        vec![
            missed.name.clone(),
            count(missed.absent),
            count(missed.unavailable),
            missed.step_id.clone(),
            json::time(missed.time.as_ref()),
            if since.is_empty() { state } else { format!("{state} since {since}") },
        ]
    });
    let columns = [
        Column::Left("tool"),
        Column::Right("absent"),
        Column::Right("not run"),
        Column::Left("last in step"),
        Column::Left("at"),
        Column::Left("now"),
    ];
    table(&columns, rows.collect(), "nothing")
}

/// Writes one line a step, and one more for each further call of it.
fn describe_steps(steps: &[StepRecord]) -> String {
    let mut rows = Vec::new();
    for step in steps {
        let mut events: Vec<String> = step.calls.iter().map(describe_call).collect();
        events.extend(requests(step).iter().map(|result| format!("asked for a tool: {result}")));
        let end = word(step.end().as_str_name(), "STEP_END_");
        if !end.is_empty() {
            events.push(format!("no call: {end}"));
        }
        if !cache_break(step).is_empty() {
            events.push(format!("cache broke: {}", cache_break(step)));
        }
        let issued = describe_issued(step);
        // A line for each tool and for each event: sixteen names side by side would push the rest out of sight.
        for line in 0..issued.len().max(events.len()).max(1) {
            let mut row = match line {
                0 => vec![step.step_id.clone(), json::time(step.time.as_ref()), result(step)],
                _ => vec![String::new(); 3],
            };
            row.push(issued.get(line).cloned().unwrap_or_default());
            row.push(events.get(line).cloned().unwrap_or_default());
            rows.push(row);
        }
    }
    let columns = ["step", "planned", "result", "issued", "then"].map(Column::Left);
    table(&columns, rows, "no step was planned")
}

fn describe_issued(step: &StepRecord) -> Vec<String> {
    let mut names = Vec::new();
    for issued in &step.issued {
        match word(issued.origin().as_str_name(), "ORIGIN_").as_str() {
            "issued" => names.push(issued.name.clone()),
            other => names.push(format!("{} ({other})", issued.name)),
        }
    }
    names
}

fn describe_call(call: &CallRecord) -> String {
    let name = if call.name.is_empty() { "an unknown tool" } else { &call.name };
    let mut parts = vec![word(call.presence().as_str_name(), "PRESENCE_")];
    parts.push(word(call.verdict().as_str_name(), "VERDICT_"));
    parts.push(json::reason(call.reason()));
    if call.counted {
        parts.push(call.ending().as_str_name().trim_start_matches("ENDING_").to_ascii_lowercase());
    }
    parts.retain(|part| !part.is_empty());
    format!("called {name}: {}", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{Ending, Origin, PlanFigures, PlanResult, Presence, StepEnd, ToolState, Verdict};

    fn step() -> StepRecord {
        let issued =
            crate::proto::IssuedTool { name: "s__a".to_owned(), origin: Origin::Reissued.into(), ..Default::default() };
        let call = |name: &str, verdict: Verdict, counted| CallRecord {
            name: name.to_owned(),
            presence: Presence::Absent.into(),
            verdict: verdict.into(),
            counted,
            ending: Ending::Unspecified.into(),
            ..CallRecord::default()
        };
        StepRecord {
            step_id: "1.7".to_owned(),
            result: PlanResult::NothingFound.into(),
            issued: vec![issued.clone(), issued.clone(), issued],
            calls: vec![call("s__a", Verdict::Unspecified, true), call("", Verdict::UnknownTool, false)],
            end: StepEnd::Unspecified.into(),
            ..StepRecord::default()
        }
    }

    #[test]
    fn step_has_a_line_for_each_call_and_each_tool() {
        let text = describe_steps(&[step()]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].ends_with("called s__a: absent, unspecified"), "{text}");
        assert!(lines[1].contains("nothing_found  s__a (reissued)"), "{text}");
        assert!(lines[2].ends_with("s__a (reissued)  called an unknown tool: absent, unknown_tool"), "{text}");
        assert_eq!(lines[3].trim(), "s__a (reissued)");
    }

    #[test]
    fn findings_come_first_and_say_since_when() {
        let since_time = Some(prost_types::Timestamp { seconds: 60, nanos: 0 });
        let findings = vec![
            SessionFinding { text: "called s/a in vain once: it is quarantined".to_owned(), since_time },
            SessionFinding { text: "gave up in step 1.7".to_owned(), since_time: None },
        ];
        let history = SessionHistory { findings, ..SessionHistory::default() };
        assert_eq!(
            describe_findings(&history),
            "called s/a in vain once: it is quarantined since 1970-01-01T00:01:00Z\ngave up in step 1.7\n\n"
        );
        assert_eq!(describe_findings(&SessionHistory::default()), "");
    }

    #[test]
    fn only_what_was_counted_is_said() {
        let plans = Some(PlanFigures { issued: 1_200, no_query: 1, ..PlanFigures::default() });
        let missed = MissedTool { name: "s__a".to_owned(), state: ToolState::Held.into(), ..MissedTool::default() };
        let text = describe(&SessionHistory { plans, missed: vec![missed], ..SessionHistory::default() });
        assert!(text.contains("\nsteps            1,200 issued, 1 no_query\n"), "{text}");
        assert!(text.contains("held") && !text.contains("cache breaks") && text.ends_with("no step was planned\n"));
    }
}

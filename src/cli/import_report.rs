//! What an import came to, or would come to: the same for `import`, `apply` and `tool withdraw`.
//!
//! One line of counts; then a line for everything that is refused, changed, gone, back or new. What is unchanged is
//! counted only, and where nothing changes one line says so.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::output::{count, word};
use super::{admissions, failure, json};
use crate::proto::{Admission, AdmissionResult, Difference, ImportToolsResponse, Violation};

/// Lines of each kind that are shown unasked.
const SHOWN: usize = 5;

/// Differences of one tool that are shown unasked.
const DIFFERENCES: usize = 3;

/// How to show it.
pub(super) struct Show<'s> {
    /// Show everything.
    pub(super) is_verbose: bool,
    /// Whether nothing was done.
    pub(super) is_dry_run: bool,
    /// Names the place of a tool in the files.
    pub(super) place: &'s dyn Fn(u32) -> String,
}

/// Returns whether anything changed, or would.
pub(super) fn changes(answer: &ImportToolsResponse) -> bool {
    n_changed(answer) + counts(answer).added > 0 || answer.withdrawn > 0 || answer.returned_total > 0
}

/// Returns whether an import failed: nothing came in, or a source has no tool left.
pub(super) fn has_failed(answer: &ImportToolsResponse) -> bool {
    let counts = counts(answer);
    let n_in = counts.unchanged + counts.added + n_changed(answer);
    answer.turned_away || !answer.empty_sources.is_empty() || (counts.refused > 0 && n_in == 0)
}

/// Returns the answer as JSON, with everything that the daemon names.
pub(super) fn to_json(answer: &ImportToolsResponse, is_dry_run: bool) -> Value {
    let counts = counts(answer);
    let names = |tools: &[crate::proto::ToolRef]| -> Vec<String> {
        tools.iter().map(|tool| json::tool_name(Some(tool))).collect()
    };
    let passed: Vec<Value> = answer
        .passed_over
        .iter()
        .map(|passed| json!({ "index": passed.index, "name": passed.name, "reason": passed.reason }))
        .collect();
    json!({
        "dry_run": is_dry_run,
        "changes": changes(answer),
        "admitted": counts.admitted,
        "unchanged": counts.unchanged,
        "flagged": counts.flagged,
        "refused": counts.refused,
        "added": counts.added,
        "cosmetic": counts.cosmetic,
        "compatible": counts.compatible,
        "breaking": counts.breaking,
        "pending": counts.pending,
        "repeated": counts.repeated,
        "withdrawn": answer.withdrawn,
        "vanished": names(&answer.vanished),
        "returned_total": answer.returned_total,
        "returned": names(&answer.returned),
        "passed_over_total": counts.passed_over,
        "passed_over": passed,
        "empty_sources": answer.empty_sources,
        "nameless": answer.nameless,
        "turned_away": answer.turned_away,
        "refusals": admissions::refusals(&answer.admissions),
        "flags": admissions::flags(&answer.admissions),
        "admissions": json::list(&answer.admissions, admissions::to_json),
        "durable": answer.durable,
    })
}

/// Writes the answer for people; begins with the counts, without a name before them.
pub(super) fn describe(answer: &ImportToolsResponse, show: &Show<'_>) -> String {
    let mut text = format!("{}\n", sum(answer));
    let is_news = changes(answer) || answer.turned_away || show.is_verbose;
    let named = |wanted: fn(&Admission) -> bool| answer.admissions.iter().filter(move |admission| wanted(admission));
    let total = counts(answer);
    if is_news || has_failed(answer) {
        let lines = named(|a| a.result() == AdmissionResult::Refused).map(|a| refusal(a, show));
        push_some(&mut text, lines, total.refused, "refused", show);
    }
    let changed = named(|a| is_taken(a) && a.change() != crate::proto::ChangeClass::Unspecified);
    push_some(&mut text, changed.map(|a| change(a, show)), n_changed(answer), "changed", show);
    let gone = answer.vanished.iter().map(|tool| format!("- {} vanished", json::tool_name(Some(tool))));
    push_some(&mut text, gone, answer.withdrawn.into(), "vanished", show);
    let back = answer.returned.iter().map(|tool| format!("+ {} is back", json::tool_name(Some(tool))));
    push_some(&mut text, back, answer.returned_total.into(), "back", show);
    let new = named(|a| is_taken(a) && a.change() == crate::proto::ChangeClass::Unspecified);
    push_some(&mut text, new.map(|a| addition(a, show)), total.added, "new", show);
    if is_news {
        let passed = answer
            .passed_over
            .iter()
            .map(|passed| format!(". {} {} passed over: {}", (show.place)(passed.index), passed.name, passed.reason));
        push_some(&mut text, passed, total.passed_over, "passed over", show);
    }
    if answer.nameless > 0 {
        let n = count(answer.nameless);
        let _ = writeln!(text, "{n} could not be told by name, so nothing is withdrawn: it may be one of them");
    }
    if !answer.empty_sources.is_empty() {
        let sources = shortened(&answer.empty_sources);
        let _ = writeln!(text, "no tool is in of {sources}; {}", failure::EMPTY_SOURCE);
    }
    if total.pending > 0 {
        let n = count(total.pending);
        let _ = writeln!(text, "{n} waiting for approval: not served until then; see `toolcrib tool list --waiting`");
    }
    if answer.turned_away {
        text.push_str("nothing was changed: one refusal keeps the others out\n");
    } else if show.is_dry_run {
        text.push_str("nothing was done: this is a dry run\n");
    }
    text
}

/// Names a few, and counts the rest.
pub(super) fn shortened(names: &[String]) -> String {
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{shown} and {} more", names.len() - SHOWN) } else { shown }
}

fn counts(answer: &ImportToolsResponse) -> crate::proto::AdmissionCounts {
    answer.counts.unwrap_or_default()
}

fn n_changed(answer: &ImportToolsResponse) -> u64 {
    let counts = counts(answer);
    counts.cosmetic + counts.compatible + counts.breaking
}

fn is_taken(admission: &Admission) -> bool {
    !matches!(admission.result(), AdmissionResult::Refused | AdmissionResult::Unchanged)
}

/// Writes the counts in one line, zeros left out.
fn sum(answer: &ImportToolsResponse) -> String {
    let counts = counts(answer);
    let mut parts = Vec::new();
    let mut put = |n: u64, what: &str| {
        if n > 0 {
            parts.push(format!("{} {what}", count(n)));
        }
    };
    put(counts.added, "new");
    put(counts.breaking, "changed (breaking)");
    put(counts.compatible, "changed (compatible)");
    put(counts.cosmetic, "changed (cosmetic)");
    put(answer.withdrawn.into(), "vanished");
    put(answer.returned_total.into(), "back");
    put(counts.refused, "refused");
    put(counts.flagged, "flagged");
    put(counts.pending, "waiting for approval");
    put(counts.unchanged, "unchanged");
    put(counts.passed_over, "passed over");
    let sum = parts.join(", ");
    match (changes(answer), sum.is_empty()) {
        (true, _) => sum,
        (false, true) => "nothing to do".to_owned(),
        (false, false) if counts.refused > 0 => format!("nothing to do: {sum}; --verbose names the refused"),
        (false, false) => format!("nothing to do: {sum}"),
    }
}

/// Writes the lines, or without `--verbose` a few of them; `total` counts also those that the daemon did not name.
fn push_some(text: &mut String, lines: impl Iterator<Item = String>, total: u64, what: &str, show: &Show<'_>) {
    let most = if show.is_verbose { usize::MAX } else { SHOWN };
    let mut n_shown = 0;
    for line in lines.take(most) {
        let _ = writeln!(text, "  {}", line.replace('\n', " "));
        n_shown += 1;
    }
    match total.saturating_sub(n_shown) {
        0 => {}
        left if show.is_verbose => {
            let _ = writeln!(text, "  {} more {what}, which the daemon does not name", count(left));
        }
        left => {
            let _ = writeln!(text, "  {} more {what}; --verbose shows them", count(left));
        }
    }
}

fn refusal(admission: &Admission, show: &Show<'_>) -> String {
    let findings: Vec<String> = admission.violations.iter().map(finding).collect();
    let tool = json::tool_name(admission.tool.as_ref());
    let name = if tool == "/" { String::new() } else { format!(" {tool}") };
    format!("! {}{name} refused: {}", (show.place)(admission.index), findings.join("; "))
}

fn change(admission: &Admission, show: &Show<'_>) -> String {
    let differences: Vec<String> = admission
        .differences
        .iter()
        .take(if show.is_verbose { usize::MAX } else { DIFFERENCES })
        .map(|Difference { field, description, .. }| format!("{field}: {description}"))
        .collect();
    let left = admission.differences.len() - differences.len();
    let more = if left > 0 { format!("; {left} more") } else { String::new() };
    let class = word(admission.change().as_str_name(), admissions::CHANGE);
    let tool = json::tool_name(admission.tool.as_ref());
    format!("~ {tool} changed ({class}): {}{more}{}", differences.join("; "), remarks(admission, show))
}

fn addition(admission: &Admission, show: &Show<'_>) -> String {
    format!("+ {}{}", json::tool_name(admission.tool.as_ref()), remarks(admission, show))
}

/// Says what else admission had to say of a tool that is in.
fn remarks(admission: &Admission, show: &Show<'_>) -> String {
    if admission.result() == AdmissionResult::Admitted {
        return String::new();
    }
    let mut text = format!(" [{}", admissions::result(admission));
    if admission.result() == AdmissionResult::Pending && !admission.warnings.is_empty() {
        text.push_str(", flagged");
    }
    if show.is_verbose {
        let warnings: Vec<String> = admission.warnings.iter().map(finding).collect();
        let _ = write!(text, ": {}", warnings.join("; "));
    }
    text.push(']');
    text
}

fn finding(violation: &Violation) -> String {
    let Violation { field, description, accepted, .. } = violation;
    let mut text = if field.is_empty() { description.clone() } else { format!("{field}: {description}") };
    if !accepted.is_empty() {
        let _ = write!(text, ", {accepted}");
    }
    text
}

//! What admission said of tools, as `import` and `tool register` show it.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::json;
use super::output::word;
use crate::proto::{Admission, AdmissionEffect, AdmissionResult, ChangeClass, ConfusableTool, Difference, Violation};

/// What the words for a change begin with in the protocol.
pub(super) const CHANGE: &str = "CHANGE_CLASS_";

/// Returns one tool's answer.
pub(super) fn to_json(admission: &Admission) -> Value {
    json!({
        "index": admission.index,
        "tool": admission.tool.as_ref().map(json::tool_ref),
        "result": result(admission),
        "violations": json::list(&admission.violations, json::violation),
        "warnings": json::list(&admission.warnings, json::violation),
        "measured_tokens": admission.measured_tokens,
        "change": change(admission),
        "differences": json::list(&admission.differences, difference),
        "effect": word(admission.effect().as_str_name(), "ADMISSION_EFFECT_"),
        "wait_cause": word(admission.wait_cause().as_str_name(), "WAIT_CAUSE_"),
        "hash": admission.hash,
        "stops_waiting": admission.stops_waiting,
        "confusable": confusable_to_json(&admission.confusable),
    })
}

/// Returns the tools that one may be taken for.
pub(super) fn confusable_to_json(tools: &[ConfusableTool]) -> Value {
    json::list(tools, |near| json!({ "tool": json::tool_name(near.tool.as_ref()), "by": near_by(near) }))
}

/// Writes the tools that one may be taken for, after another.
pub(super) fn confusable(tools: &[ConfusableTool]) -> String {
    let written = tools.iter().map(|near| format!("{} ({})", json::tool_name(near.tool.as_ref()), near_by(near)));
    written.collect::<Vec<_>>().join(", ")
}

fn near_by(near: &ConfusableTool) -> String {
    word(near.by().as_str_name(), "NEAR_BY_")
}

/// Returns everything that was refused, with why.
pub(super) fn refusals(admissions: &[Admission]) -> Value {
    findings(admissions, AdmissionResult::Refused, "violations", |admission| &admission.violations)
}

/// Returns everything that is in with warnings, with these.
pub(super) fn flags(admissions: &[Admission]) -> Value {
    findings(admissions, AdmissionResult::Flagged, "warnings", |admission| &admission.warnings)
}

fn findings(
    admissions: &[Admission],
    result: AdmissionResult,
    name: &str,
    get: fn(&Admission) -> &Vec<Violation>,
) -> Value {
    let mut found = Vec::new();
    for admission in admissions {
        if admission.result() == result {
            let tool = json::tool_name(admission.tool.as_ref());
            found.push(json!({
                "index": admission.index,
                "tool": tool,
                name: json::list(get(admission), json::violation),
                "confusable": confusable_to_json(&admission.confusable),
            }));
        }
    }
    Value::Array(found)
}

/// Writes one tool's answer: a line of its own, and one for each finding.
pub(super) fn describe(text: &mut String, admission: &Admission) {
    let tool = json::tool_name(admission.tool.as_ref());
    let _ = write!(text, "{} #{} {tool}", result(admission), admission.index);
    if let Some(change) = change(admission) {
        let _ = write!(text, ", a {change} change");
    }
    text.push_str(effect(admission));
    text.push('\n');
    for Difference { field, description, .. } in &admission.differences {
        let _ = writeln!(text, "  {field}: {description}");
    }
    for violation in admission.violations.iter().chain(&admission.warnings) {
        let Violation { field, description, accepted, rule } = violation;
        let _ = write!(text, "  {field}: {description}");
        if !accepted.is_empty() {
            let _ = write!(text, "; {accepted}");
        }
        let _ = writeln!(text, " [{rule}]");
    }
    if admission.effect() == AdmissionEffect::AfterApproval {
        let _ = writeln!(text, "  see `toolcrib tool diff {tool}`; hash {}", admission.hash);
    }
    if admission.stops_waiting != 0 {
        let _ = writeln!(text, "  version {} waits no longer", admission.stops_waiting);
    }
    if !admission.confusable.is_empty() {
        let _ = writeln!(text, "  close to: {}", confusable(&admission.confusable));
    }
}

/// Says when models see it, where that is not at once.
fn effect(admission: &Admission) -> &'static str {
    match admission.effect() {
        AdmissionEffect::AfterApproval => ", waits for approval",
        AdmissionEffect::OnceUsable => ", to be served once the tool may be used again",
        AdmissionEffect::Unspecified | AdmissionEffect::None | AdmissionEffect::NextPlan => "",
    }
}

/// Returns the word for how far a new version is from the one before, where there is one.
fn change(admission: &Admission) -> Option<String> {
    let change = admission.change();
    (change != ChangeClass::Unspecified).then(|| word(change.as_str_name(), CHANGE))
}

/// Returns one thing that differs.
pub(super) fn difference(difference: &Difference) -> Value {
    let reach = word(difference.reach().as_str_name(), CHANGE);
    json!({ "field": difference.field, "reach": reach, "description": difference.description })
}

/// Returns the word for what admission said.
pub(super) fn result(admission: &Admission) -> String {
    word(admission.result().as_str_name(), "ADMISSION_RESULT_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{NearBy, ToolRef};

    #[test]
    fn the_tools_that_one_may_be_taken_for_are_shown() {
        let tool = ToolRef { source: "gitlab".into(), name: "create_issue".into(), version: 0 };
        let near = ConfusableTool { tool: Some(tool), by: NearBy::Name.into() };
        let admission =
            Admission { result: AdmissionResult::Admitted.into(), confusable: vec![near], ..Admission::default() };
        let mut text = String::new();
        describe(&mut text, &admission);
        assert!(text.ends_with("  close to: gitlab/create_issue (name)\n"), "{text}");
        assert_eq!(to_json(&admission)["confusable"], json!([{ "tool": "gitlab/create_issue", "by": "name" }]));
    }
}

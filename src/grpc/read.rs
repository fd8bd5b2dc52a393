//! What a runtime sends, read into the core's values; what cannot be read is noted with what would be accepted.

use std::collections::BTreeSet;

use super::convert::{self, step_id};
use super::status::Fields;
use super::words;
use crate::core::block::{self, Exclusion};
use crate::core::event::{Delivery, Ending, Format, Judge, Judgement, OwnTool, SessionSpec, StepEnd, Verdict, Word};
use crate::core::ids::{Alias, CallId, Selector, StepId, ToolId};
use crate::core::retrieval::Query;
use crate::core::view::View;
use crate::engine::steps::{Outcome, Reports};
use crate::proto;

/// Most calls or outcomes in one request.
pub const BATCH: usize = 256;

/// Most names in a list of a request.
pub const NAMES: usize = 4_096;

/// Longest `source/name`: 64 and 128 characters, and the slash.
const SELECTOR_BYTES: usize = 193;

/// Reads the runtime's own tools.
pub fn own_tools(list: &[proto::OwnTool], fields: &mut Fields) -> Vec<OwnTool> {
    fields.require(list.len() <= NAMES, "own_tools", format!("must be at most {NAMES}"));
    let mut own = Vec::new();
    for (i, tool) in list.iter().enumerate() {
        let field = format!("own_tools[{i}].name");
        convert::id(&tool.name, &field, fields);
        fields.require(!block::is_meta(&tool.name), &field, "must not be request_tool or call_tool");
        own.push(OwnTool { name: Alias::from(tool.name.as_str()), tokens: tool.tokens });
    }
    own
}

/// Reads how on-demand definitions are to arrive; `None` where that is left to the daemon.
pub fn delivery(number: i32, format: Option<Format>, fields: &mut Fields) -> Option<Delivery> {
    let delivery = words::delivery(number);
    let can_carry = |delivery: &Delivery| format.is_none_or(|format| format.carries(*delivery));
    let is_read = number == 0 || delivery.is_some_and(|delivery| can_carry(&delivery));
    if !is_read {
        let carried = Delivery::ALL.iter().filter(|delivery| can_carry(delivery)).map(|delivery| delivery.as_str());
        let carried: Vec<&str> = carried.collect();
        let of_format = format.map_or(String::new(), |format| format!(" in the format {}", format.as_str()));
        fields.refuse("delivery", format!("must be left out or one of {}{of_format}", carried.join(", ")));
    }
    delivery
}

/// Reads which tools a pool takes in or leaves out.
pub fn selectors(list: &[String], field: &str, fields: &mut Fields) -> BTreeSet<Selector> {
    fields.require(list.len() <= NAMES, field, format!("must be at most {NAMES}"));
    let mut selectors = BTreeSet::new();
    for (i, text) in list.iter().enumerate() {
        match text.parse() {
            Ok(selector) if text.len() <= SELECTOR_BYTES => {
                selectors.insert(selector);
            }
            _ => fields.refuse(format!("{field}[{i}]"), "must be source/name or source/*"),
        }
    }
    selectors
}

/// Names what stands in `allow` and selects nothing that the session can use.
pub fn selecting_nothing(view: &View, spec: &SessionSpec) -> Vec<proto::Exclusion> {
    let mut excluded = Vec::new();
    for selector in &spec.pool.allow {
        let why = match selector {
            Selector::Tool(tool) => block::exclusion(&view.registry, spec, tool),
            Selector::Source(source) => {
                let is_known = view.registry.iter().any(|(tool, _)| tool.source == *source);
                (!is_known).then_some(Exclusion::Unknown)
            }
        };
        excluded.extend(why.map(|why| convert::exclusion(&selector.to_string(), why)));
    }
    excluded
}

/// Finds must-haves by `source/name` or by the name that models see; those that are not there are named.
pub fn must_have(view: &View, list: &[String]) -> (BTreeSet<ToolId>, Vec<proto::Exclusion>) {
    let mut found = BTreeSet::new();
    let mut excluded = Vec::new();
    for name in list {
        let by_id = name.parse::<ToolId>().ok().filter(|tool| view.registry.get(tool).is_some());
        match by_id.or_else(|| view.registry.by_alias(&Alias::from(name.as_str())).cloned()) {
            Some(tool) => {
                found.insert(tool);
            }
            None => excluded.push(convert::exclusion(name, Exclusion::Unknown)),
        }
    }
    (found, excluded)
}

/// Reads what a step is about; nothing is an empty query.
pub fn query(query: Option<&proto::Query>) -> Query<'_> {
    query.map_or_else(Query::default, |query| Query { user: &query.user, model: &query.model, goal: &query.goal })
}

/// Notes a list of present tools that is too long.
pub fn check_present(present: Option<&proto::Present>, fields: &mut Fields) {
    let fits = present.is_none_or(|present| present.names.len() <= NAMES);
    fields.require(fits, "present.names", format!("must be at most {NAMES}"));
}

/// Finds the tools that a runtime says are present; `None` where it does not say.
pub fn present(view: &View, present: Option<&proto::Present>) -> Option<BTreeSet<ToolId>> {
    present.map(|present| view.tools_named(&present.names))
}

/// Reads what travels with a step: outcomes, endings, usage.
pub fn reports<'a>(
    outcomes: &'a [proto::Outcome],
    endings: &[proto::StepEnding],
    usage: Option<&proto::Usage>,
    fields: &mut Fields,
) -> Reports<'a> {
    fields.require(outcomes.len() <= BATCH, "outcomes", format!("must be at most {BATCH}"));
    fields.require(endings.len() <= BATCH, "endings", format!("must be at most {BATCH}"));
    let outcomes = outcomes.iter().enumerate().map(|(i, outcome)| read_outcome(i, outcome, fields)).collect();
    let mut ends: Vec<(StepId, StepEnd)> = Vec::new();
    for (i, ending) in endings.iter().enumerate() {
        let field = format!("endings[{i}].step_id");
        match step_id(&ending.step_id, &field, fields) {
            Some(step) => ends.push((step, words::step_end(ending.reason).unwrap_or(StepEnd::Unknown))),
            None => fields.require(!ending.step_id.is_empty(), &field, "must be a step_id as PlanStep returned it"),
        }
    }
    if let Some(usage) = usage {
        step_id(&usage.step_id, "usage.step_id", fields);
    }
    let usage = usage.map(|usage| (usage.input_tokens, usage.cached_tokens, usage.miss_reason.clone()));
    Reports { outcomes, endings: ends, usage }
}

fn read_outcome<'a>(i: usize, outcome: &'a proto::Outcome, fields: &mut Fields) -> Outcome<'a> {
    let field = |name: &str| format!("outcomes[{i}].{name}");
    let call_id = convert::id(&outcome.call_id, &field("call_id"), fields);
    let step = step_id(&outcome.step_id, &field("step_id"), fields);
    let ending = words::ending(outcome.ending);
    fields.require(ending.is_some(), &field("ending"), "must be an Ending of this version");
    let verdict = words::verdict(outcome.verdict);
    let judge = words::judge(outcome.judge);
    let is_judged = outcome.verdict != 0;
    fields.require(!is_judged || verdict.is_some(), &field("verdict"), "must be a Verdict of this version");
    let by_somebody = matches!(judge, Some(Judge::Label | Judge::Person | Judge::Model));
    fields.require(
        !is_judged || by_somebody,
        &field("judge"),
        "must be label, person or model where there is a verdict",
    );
    let duration = convert::span(outcome.duration.as_ref(), &field("duration"), fields);
    let retry_of = convert::optional_id(&outcome.retry_of, &field("retry_of"), fields);
    let judged = |verdict: Verdict| Judgement { verdict, judge: judge.unwrap_or(Judge::Label) };
    Outcome {
        call_id: CallId::from(call_id),
        step,
        name: &outcome.name,
        ending: ending.unwrap_or(Ending::Unspecified),
        message: &outcome.message,
        duration,
        retry_of: retry_of.map(CallId::from),
        arguments: &outcome.arguments,
        judgement: verdict.map(judged),
    }
}

//! What is clear-cut in a session's history, in words.
//!
//! Says only what the history shows and what an operator can act on; where nothing stands out it says nothing.

use super::{History, StepNote};
use crate::core::event::{PlanResult, RequestResult, StepEnd, ToolState, Word as _};
use crate::core::ids::{ToolId, UnixMillis};

/// Calls of an absent tool from which on they are no accident.
const ABSENT_CALLS: u64 = 2;

/// Vain requests for tools from which on they are no accident.
const VAIN_REQUESTS: u64 = 2;

/// Tools named in one finding.
const NAMED: usize = 5;

/// Something that stands out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// In words, without a full stop.
    pub text: String,
    /// Since when the tool that it names stands in the state that it names; `None` where it names none.
    pub since: Option<UnixMillis>,
}

/// Where a tool stands now, and since when that is known.
pub type Standing = (ToolState, Option<UnixMillis>);

/// Returns what stands out, what is most likely the cause of the rest first. `standing` says where a tool stands now.
pub fn findings(history: &History, standing: impl Fn(&ToolId) -> Option<Standing>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut missed: Vec<_> = history.missed().collect();
    missed.sort_by_key(|missed| std::cmp::Reverse(missed.absent + missed.unavailable));
    let (mut out, mut absent) = (None, None);
    for missed in missed {
        let now = standing(&missed.tool);
        match now.filter(|(state, _)| !state.is_issuable()) {
            Some(now) => out = out.or(Some((missed, now))),
            None => absent = absent.or(Some(missed)),
        }
    }
    if let Some((missed, (state, since))) = out {
        let n_calls = missed.absent + missed.unavailable;
        let text = format!("called {} in vain {}: it is {}", missed.tool, times(n_calls), state.as_str());
        found.push(Finding { text, since });
    }
    found.extend(history.steps().rev().find(|note| note.end == Some(StepEnd::GaveUp)).map(gave_up));
    if let Some(missed) = absent.filter(|missed| missed.absent >= ABSENT_CALLS) {
        let text = format!(
            "called {} absent {}: its definition was not in front of the model",
            missed.tool,
            times(missed.absent)
        );
        found.push(Finding { text, since: None });
    }
    let vain = history.requests.get(RequestResult::NotFound);
    if vain >= VAIN_REQUESTS && vain == history.requests.total() {
        let text = format!("asked for a tool {} and none was found", times(vain));
        found.push(Finding { text, since: None });
    }
    found
}

fn gave_up(note: &StepNote) -> Finding {
    let result = note.result.as_str();
    let why = match note.result {
        PlanResult::NothingFound => format!("nothing was issued for it ({result})"),
        PlanResult::NoQuery => format!("it was planned without a query, so nothing was issued for it ({result})"),
        PlanResult::PresentSuffices => format!("nothing was issued for it beyond what was present ({result})"),
        PlanResult::Issued | PlanResult::Degraded => {
            let mut names: Vec<String> = note.issued.iter().take(NAMED).map(|(tool, _)| tool.to_string()).collect();
            if note.issued.len() > NAMED {
                names.push(format!("{} more", note.issued.len() - NAMED));
            }
            format!("it called none of what was issued for it: {}", names.join(", "))
        }
    };
    Finding { text: format!("gave up in step {}: {why}", note.step), since: None }
}

fn times(n: u64) -> String {
    match n {
        1 => "once".to_owned(),
        n => format!("{n} times"),
    }
}

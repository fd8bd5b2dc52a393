//! Judging selections by what followed: the rule for switched calls.
//!
//! A call is a *wrong tool* when it ended with the caller's fault (not found, refused, bad arguments) and the session's
//! next call is a different, confusable tool that ends well. It is *right* when its arguments were checked, it ended
//! well, and two further calls (or the session's end) passed without that. Everything else is *unjudged* (DESIGN 5).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::event::{Ending, Verdict};
use super::ids::{CallId, ToolId};

/// Further calls after which a call is judged.
const CALLS_WAITED: u8 = 2;

/// A counted call whose verdict is still open.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Undecided {
    call_id: CallId,
    tool: ToolId,
    ending: Ending,
    arguments_fit: bool,
    calls_since: u8,
}

impl Undecided {
    fn verdict(&self) -> Verdict {
        if self.arguments_fit && self.ending == Ending::Ok { Verdict::Right } else { Verdict::Unjudged }
    }
}

/// The calls of one session whose verdict is still open, oldest first.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SwitchWindow {
    undecided: VecDeque<Undecided>,
}

/// One counted call, as the window needs it.
pub struct CountedCall<'a> {
    /// The call.
    pub call_id: &'a CallId,
    /// The tool.
    pub tool: &'a ToolId,
    /// How it ended.
    pub ending: Ending,
    /// Whether its arguments were checked and fitted.
    pub arguments_fit: bool,
}

impl SwitchWindow {
    /// Takes the session's next call into account and returns the verdicts that it settles, oldest first.
    pub fn next_call(
        &mut self,
        call: &CountedCall<'_>,
        are_confusable: impl Fn(&ToolId, &ToolId) -> bool,
    ) -> Vec<(CallId, Verdict)> {
        let mut settled = Vec::new();
        let mut still_open = VecDeque::new();
        for mut open in std::mem::take(&mut self.undecided) {
            open.calls_since += 1;
            let is_switch = open.calls_since == 1
                && open.ending.is_callers()
                && call.ending == Ending::Ok
                && *call.tool != open.tool
                && are_confusable(&open.tool, call.tool);
            if is_switch {
                settled.push((open.call_id, Verdict::WrongTool));
            } else if open.calls_since >= CALLS_WAITED {
                let verdict = open.verdict();
                settled.push((open.call_id, verdict));
            } else {
                still_open.push_back(open);
            }
        }
        self.undecided = still_open;
        self.undecided.push_back(Undecided {
            call_id: call.call_id.clone(),
            tool: call.tool.clone(),
            ending: call.ending,
            arguments_fit: call.arguments_fit,
            calls_since: 0,
        });
        settled
    }

    /// Closes the window at the session's end and returns the verdicts of what was still open.
    pub fn close(&mut self) -> Vec<(CallId, Verdict)> {
        std::mem::take(&mut self.undecided).into_iter().map(|open| (open.call_id.clone(), open.verdict())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call<'a>(call_id: &'a CallId, tool: &'a ToolId, ending: Ending) -> CountedCall<'a> {
        CountedCall { call_id, tool, ending, arguments_fit: true }
    }

    fn verdicts(calls: &[(&str, Ending)], is_confusable: bool) -> Vec<(String, Verdict)> {
        let mut window = SwitchWindow::default();
        let mut settled = Vec::new();
        for (i, (name, ending)) in calls.iter().enumerate() {
            let (id, tool) = (CallId::new(i.to_string()), ToolId::new("s", *name));
            settled.extend(window.next_call(&call(&id, &tool, *ending), |_, _| is_confusable));
        }
        settled.extend(window.close());
        settled.into_iter().map(|(id, verdict)| (id.to_string(), verdict)).collect()
    }

    #[test]
    fn a_switch_to_a_confusable_tool_that_works_makes_the_first_call_wrong() {
        let settled = verdicts(&[("a", Ending::NotFound), ("b", Ending::Ok)], true);
        assert_eq!(settled, [("0".into(), Verdict::WrongTool), ("1".into(), Verdict::Right)]);
    }

    #[test]
    fn a_switch_to_an_unlike_tool_judges_nothing() {
        let settled = verdicts(&[("a", Ending::NotFound), ("b", Ending::Ok)], false);
        assert_eq!(settled[0], ("0".into(), Verdict::Unjudged));
    }

    #[test]
    fn only_the_next_call_can_be_a_switch() {
        let settled = verdicts(&[("a", Ending::NotFound), ("a", Ending::Ok), ("b", Ending::Ok)], true);
        assert_eq!(settled[0], ("0".into(), Verdict::Unjudged));
    }

    #[test]
    fn a_call_that_ended_well_is_right_after_two_more() {
        let mut window = SwitchWindow::default();
        let tool = ToolId::new("s", "a");
        let ids: Vec<CallId> = ["0", "1", "2"].map(CallId::from).to_vec();
        assert!(window.next_call(&call(&ids[0], &tool, Ending::Ok), |_, _| true).is_empty());
        assert!(window.next_call(&call(&ids[1], &tool, Ending::Ok), |_, _| true).is_empty());
        let settled = window.next_call(&call(&ids[2], &tool, Ending::Ok), |_, _| true);
        assert_eq!(settled, [(ids[0].clone(), Verdict::Right)]);
    }

    #[test]
    fn a_failure_of_the_tool_is_unjudged() {
        assert_eq!(verdicts(&[("a", Ending::Timeout)], true), [("0".into(), Verdict::Unjudged)]);
    }
}

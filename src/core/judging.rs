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
    /// Returns the verdicts that the session's next call settles, oldest first.
    pub fn verdicts(
        &self,
        call: &CountedCall<'_>,
        are_confusable: impl Fn(&ToolId, &ToolId) -> bool,
    ) -> Vec<(CallId, Verdict)> {
        let mut settled = Vec::new();
        for open in &self.undecided {
            let is_switch = open.calls_since == 0
                && open.ending.is_callers()
                && call.ending == Ending::Ok
                && *call.tool != open.tool
                && are_confusable(&open.tool, call.tool);
            if is_switch {
                settled.push((open.call_id.clone(), Verdict::WrongTool));
            } else if open.calls_since + 1 >= CALLS_WAITED {
                settled.push((open.call_id.clone(), open.verdict()));
            }
        }
        settled
    }

    /// Returns the tool of a call whose verdict is open.
    pub fn tool(&self, call: &CallId) -> Option<&ToolId> {
        self.undecided.iter().find(|open| &open.call_id == call).map(|open| &open.tool)
    }

    /// Returns the verdicts that the session's end settles, oldest first.
    pub fn verdicts_at_end(&self) -> Vec<(CallId, Verdict)> {
        self.undecided.iter().map(|open| (open.call_id.clone(), open.verdict())).collect()
    }

    /// Takes in the session's next call.
    pub fn push(&mut self, call: &CountedCall<'_>) {
        self.interrupt();
        self.undecided.push_back(Undecided {
            call_id: call.call_id.clone(),
            tool: call.tool.clone(),
            ending: call.ending,
            arguments_fit: call.arguments_fit,
            calls_since: 0,
        });
    }

    /// Takes in a call that is not the daemon's, so that what follows it is no longer the next call.
    pub fn interrupt(&mut self) {
        for open in &mut self.undecided {
            open.calls_since = open.calls_since.saturating_add(1);
        }
    }

    /// Gives every call its new id.
    pub fn rename(&mut self, renamed: impl Fn(&CallId) -> CallId) {
        for open in &mut self.undecided {
            open.call_id = renamed(&open.call_id);
        }
    }

    /// Forgets a call that was judged.
    pub fn settle(&mut self, call: &CallId) {
        self.undecided.retain(|open| &open.call_id != call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call<'a>(call_id: &'a CallId, tool: &'a ToolId, ending: Ending) -> CountedCall<'a> {
        CountedCall { call_id, tool, ending, arguments_fit: true }
    }

    /// Plays a session's calls and returns each call's verdict, by its place.
    fn verdicts(calls: &[(&str, Ending)], is_confusable: bool) -> Vec<Verdict> {
        let mut window = SwitchWindow::default();
        let mut settled = Vec::new();
        for (i, (name, ending)) in calls.iter().enumerate() {
            let (id, tool) = (CallId::new(i.to_string()), ToolId::new("s", *name));
            let call = call(&id, &tool, *ending);
            for (judged, verdict) in window.verdicts(&call, |_, _| is_confusable) {
                window.settle(&judged);
                settled.push((judged, verdict));
            }
            window.push(&call);
        }
        settled.extend(window.verdicts_at_end());
        settled.sort();
        settled.into_iter().map(|(_, verdict)| verdict).collect()
    }

    #[test]
    fn a_switch_to_a_confusable_tool_that_works_makes_the_first_call_wrong() {
        let settled = verdicts(&[("a", Ending::NotFound), ("b", Ending::Ok)], true);
        assert_eq!(settled, [Verdict::WrongTool, Verdict::Right]);
    }

    #[test]
    fn a_switch_to_an_unlike_tool_judges_nothing() {
        let settled = verdicts(&[("a", Ending::NotFound), ("b", Ending::Ok)], false);
        assert_eq!(settled, [Verdict::Unjudged, Verdict::Right]);
    }

    #[test]
    fn only_the_next_call_can_be_a_switch() {
        let settled = verdicts(&[("a", Ending::NotFound), ("a", Ending::Ok), ("b", Ending::Ok)], true);
        assert_eq!(settled[0], Verdict::Unjudged);
    }

    #[test]
    fn a_call_of_the_runtimes_own_closes_the_window() {
        let (ids, tools) = (["0", "1"].map(CallId::from), ["a", "b"].map(|name| ToolId::new("s", name)));
        let mut window = SwitchWindow::default();
        window.push(&call(&ids[0], &tools[0], Ending::NotFound));
        window.interrupt();
        let settled = window.verdicts(&call(&ids[1], &tools[1], Ending::Ok), |_, _| true);
        assert_eq!(settled, [(ids[0].clone(), Verdict::Unjudged)]);
    }

    #[test]
    fn a_call_that_ended_well_is_right_after_two_more() {
        let ids = ["0", "1", "2"].map(CallId::from);
        let tool = ToolId::new("s", "a");
        let mut window = SwitchWindow::default();
        window.push(&call(&ids[0], &tool, Ending::Ok));
        assert!(window.verdicts(&call(&ids[1], &tool, Ending::Ok), |_, _| true).is_empty());
        window.push(&call(&ids[1], &tool, Ending::Ok));
        let settled = window.verdicts(&call(&ids[2], &tool, Ending::Ok), |_, _| true);
        assert_eq!(settled, [(ids[0].clone(), Verdict::Right)]);
    }

    #[test]
    fn a_failure_of_the_tool_is_unjudged() {
        assert_eq!(verdicts(&[("a", Ending::Timeout)], true), [Verdict::Unjudged]);
    }
}

//! What the demo says at its end, as JSON and as text.
//!
//! Every figure is the daemon's own count. Only the saving is stricter here than in its `Stats`: requests for tools cost
//! turns that sending everything would not have needed, and the replies to them cost words.

use std::fmt::Write as _;

use serde::Serialize;

use super::super::output::{count, percent, ratio};
use super::player::Played;
use super::recording::{MODEL, TRACE_NAME};
use crate::proto::{AdmissionCounts, Figures};

/// The end of the demo.
#[derive(Debug, Serialize)]
pub struct Summary {
    tools: u64,
    tools_refused: u64,
    sessions: u64,
    steps: u64,
    recorded_steps: u64,
    calls: u64,
    presence_rate: Option<f64>,
    coverage: Option<f64>,
    injection_share: Option<f64>,
    mis_selection_rate: Option<f64>,
    judged_share: Option<f64>,
    recall_latency_us: RecallLatency,
    saving: Option<f64>,
    tokens: Tokens,
    requests_for_tools: u64,
    /// Requests that brought a definition.
    extra_hops: u64,
    reranks: u64,
    reranks_changed: u64,
    swapped_in: u64,
    distinct_blocks_per_session_max: u32,
    calls_refused: CallsRefused,
    traffic: Traffic,
}

/// Time from query to on-demand definitions, at the daemon, in microseconds.
#[derive(Debug, Serialize)]
struct RecallLatency {
    p50: Option<u64>,
    p99: Option<u64>,
}

/// Tokens of tool text in the context, summed over steps.
#[derive(Debug, Serialize)]
struct Tokens {
    directory: u64,
    resident: u64,
    issued: u64,
    meta: u64,
    replies: u64,
    /// What every definition would have cost at every recorded step.
    everything: u64,
    tokenizer: String,
}

/// Calls of the traffic that the daemon did not let run.
#[derive(Debug, Serialize)]
struct CallsRefused {
    unfit_arguments: u64,
    unusable_tools: u64,
}

/// What was played.
#[derive(Debug, Serialize)]
struct Traffic {
    recorded: &'static str,
    model: &'static str,
    arguments: &'static str,
}

impl Summary {
    /// Puts the daemon's figures together with what only the player knows.
    pub fn new(figures: &Figures, admissions: &AdmissionCounts, played: &Played) -> Self {
        let calls = figures.calls.unwrap_or_default();
        let selections = figures.selections.unwrap_or_default();
        let sums = figures.tokens.unwrap_or_default();
        let requests = figures.requests.unwrap_or_default();
        let reranks = figures.reranks.unwrap_or_default();
        let sessions = figures.sessions.unwrap_or_default();
        let present = calls.resident + calls.issued;
        let known = present + calls.recalled + calls.absent;
        let wrong =
            selections.wrong_tool + selections.unknown_tool + selections.unavailable + selections.invalid_arguments;
        let judged = wrong + selections.right;
        let placed = sums.directory + sums.resident + sums.issued + sums.meta;
        let everything = everything_at_recorded_steps(sums.everything, figures.steps, played.recorded_steps);
        Self {
            tools: figures.tools.unwrap_or_default().active,
            tools_refused: admissions.refused,
            sessions: sessions.open + sessions.closed + sessions.expired,
            steps: figures.steps,
            recorded_steps: played.recorded_steps,
            calls: known + calls.unknown,
            presence_rate: ratio(present, known),
            coverage: ratio(present + calls.recalled, known),
            injection_share: ratio(placed, sums.window),
            mis_selection_rate: ratio(wrong, judged),
            judged_share: ratio(judged, judged + selections.unjudged),
            recall_latency_us: RecallLatency { p50: micros(figures.recall_p50), p99: micros(figures.recall_p99) },
            saving: ratio(placed + played.reply_tokens, everything).map(|spent| 1.0 - spent),
            tokens: Tokens {
                directory: sums.directory,
                resident: sums.resident,
                issued: sums.issued,
                meta: sums.meta,
                replies: played.reply_tokens,
                everything,
                tokenizer: played.tokenizer.clone(),
            },
            requests_for_tools: requests.exact
                + requests.near
                + requests.retrieved
                + requests.already_present
                + requests.own
                + requests.unavailable
                + requests.retired
                + requests.not_found,
            extra_hops: figures.extra_hops,
            reranks: reranks.changed + reranks.unchanged,
            reranks_changed: reranks.changed,
            swapped_in: reranks.swapped_in,
            distinct_blocks_per_session_max: sessions.distinct_blocks_per_session_max,
            calls_refused: CallsRefused {
                unfit_arguments: played.unfit_arguments,
                unusable_tools: played.unusable_tools,
            },
            traffic: Traffic {
                recorded: TRACE_NAME,
                model: MODEL,
                arguments: "made: the smallest that fit the schema",
            },
        }
    }

    /// Writes it as one JSON object on one line.
    pub fn to_json(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string(self)?)
    }

    /// Writes it for people.
    pub fn to_text(&self) -> String {
        let tokens = &self.tokens;
        let spent = tokens.directory + tokens.resident + tokens.issued + tokens.meta + tokens.replies;
        let mut text = format!(
            "Played, not live: {} sessions of {TRACE_NAME} ({MODEL}), {} at a time.\n\
             An absent tool was asked for in the trace's own words, never by its name.\n\
             No trace holds arguments: every call was given the smallest that fit its tool's schema.\n\n",
            self.sessions,
            super::SESSIONS_AT_ONCE,
        );
        let judged = match self.mis_selection_rate {
            Some(_) => format!("{} of the selections were judged", percent(self.judged_share)),
            None => "nothing judged: the traffic is played and its arguments are made up".to_owned(),
        };
        let latency = &self.recall_latency_us;
        let rows = [
            ("presence rate", percent(self.presence_rate), "the definition was in front of the model".to_owned()),
            ("coverage", percent(self.coverage), "... or came when the model asked for it".to_owned()),
            ("injection share", percent(self.injection_share), "of the context window is tool text".to_owned()),
            ("mis-selection rate", percent(self.mis_selection_rate), judged),
            (
                "recall latency",
                micros_text(latency.p50),
                format!("p50; p99 {}, at the daemon", micros_text(latency.p99)),
            ),
            (
                "saving",
                percent(self.saving),
                format!(
                    "{} tokens instead of {} for all definitions at each recorded step ({})",
                    count(spent),
                    count(tokens.everything),
                    tokens.tokenizer
                ),
            ),
            (
                "",
                String::new(),
                format!(
                    "directory {}, residents {}, issued {}, meta tools {}, replies {}; extra turns counted",
                    count(tokens.directory),
                    count(tokens.resident),
                    count(tokens.issued),
                    count(tokens.meta),
                    count(tokens.replies)
                ),
            ),
            ("tools", self.tools.to_string(), format!("{} refused by the gate: no description", self.tools_refused)),
            (
                "steps",
                self.steps.to_string(),
                format!(
                    "{} recorded, {} more after a request for a tool; {} requests brought definitions",
                    self.recorded_steps, self.requests_for_tools, self.extra_hops
                ),
            ),
            ("calls", self.calls.to_string(), self.refusals()),
            (
                "swaps",
                self.swapped_in.to_string(),
                format!("in {} re-ranks, of which {} changed the hot pool", self.reranks, self.reranks_changed),
            ),
            (
                "blocks",
                self.distinct_blocks_per_session_max.to_string(),
                "at most for one session: at 1, no re-rank broke its prompt cache".to_owned(),
            ),
        ];
        for (name, value, meaning) in rows {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{}", format!("{name:<18}  {value:>9}  {meaning}").trim_end());
        }
        text
    }

    fn refusals(&self) -> String {
        let CallsRefused { unfit_arguments, unusable_tools } = self.calls_refused;
        format!(
            "counted; not run: {unfit_arguments} whose made arguments do not fit, {unusable_tools} of unusable tools"
        )
    }
}

/// Returns what sending every definition would have cost: at the recorded steps, since nothing would have been asked for.
fn everything_at_recorded_steps(everything: u64, steps: u64, recorded_steps: u64) -> u64 {
    // The registry does not change while the demo plays, so every step adds the same.
    everything.checked_div(steps).unwrap_or(0) * recorded_steps
}

fn micros(time: Option<prost_types::Duration>) -> Option<u64> {
    let time = std::time::Duration::try_from(time?).ok()?;
    u64::try_from(time.as_micros()).ok()
}

fn micros_text(micros: Option<u64>) -> String {
    micros.map_or_else(|| "-".to_owned(), |micros| format!("{} µs", count(micros)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{CallFigures, SelectionFigures, TokenFigures};

    /// Two recorded steps, each of which took a turn more to ask for a tool.
    fn figures() -> Figures {
        Figures {
            steps: 4,
            calls: Some(CallFigures { resident: 1, issued: 1, recalled: 1, absent: 1, unknown: 2 }),
            selections: Some(SelectionFigures { unjudged: 6, ..SelectionFigures::default() }),
            tokens: Some(TokenFigures {
                directory: 40,
                resident: 30,
                issued: 20,
                meta: 10,
                window: 1_000,
                everything: 4_000,
            }),
            recall_p50: Some(prost_types::Duration { seconds: 0, nanos: 210_900 }),
            ..Figures::default()
        }
    }

    fn summary() -> Summary {
        let played =
            Played { tokenizer: "o200k_base".into(), recorded_steps: 2, reply_tokens: 100, ..Played::default() };
        Summary::new(&figures(), &AdmissionCounts::default(), &played)
    }

    #[test]
    fn unknown_presence_is_outside_the_rates_and_inside_the_calls() {
        let summary = summary();
        assert_eq!((summary.presence_rate, summary.coverage), (Some(0.5), Some(0.75)));
        assert_eq!(summary.calls, 6);
    }

    #[test]
    fn saving_counts_replies_and_the_turns_that_sending_everything_would_not_need() {
        let summary = summary();
        assert_eq!(summary.tokens.everything, 2_000);
        assert_eq!(summary.saving, Some(0.9));
    }

    #[test]
    fn nothing_judged_is_null_with_the_judged_share_beside_it() {
        let json: serde_json::Value = serde_json::from_str(&summary().to_json().unwrap()).unwrap();
        assert!(json["mis_selection_rate"].is_null());
        assert_eq!(json["judged_share"], 0.0);
        assert_eq!(json["recall_latency_us"]["p50"], 210);
        assert!(json["recall_latency_us"]["p99"].is_null());
        assert!(summary().to_text().contains("nothing judged"));
    }

    #[test]
    fn nothing_played_gives_no_rates() {
        let summary = Summary::new(&Figures::default(), &AdmissionCounts::default(), &Played::default());
        assert_eq!((summary.presence_rate, summary.saving, summary.judged_share), (None, None, None));
    }
}

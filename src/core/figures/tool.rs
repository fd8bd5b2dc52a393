//! What is counted of one tool.
//!
//! Every counted call and every verdict that names a tool stands in that tool's figures and in the namespace's, so sums
//! over the tools are the namespace's own. A tool costs a few counters, however often it is called.

use serde::{Deserialize, Serialize};

use super::Tally;
use crate::core::event::{Ending, Presence, Verdict};
use crate::core::ids::{Tick, UnixMillis};

/// When a tool was last called.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LastCall {
    /// The tick it was.
    pub tick: Tick,
    /// When its outcome came in.
    pub at: UnixMillis,
}

/// The figures of one tool since it was made.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolFigures {
    /// Counted calls, by presence.
    pub calls: Tally<Presence>,
    /// The same calls, by how they ended.
    pub endings: Tally<Ending>,
    /// Repeats that the runtime dispatched by itself, by how they ended: no calls of their own, but the tool's health.
    pub retries: Tally<Ending>,
    /// Verdicts on calls of it, those that were not run included. A name that stands for no tool is in none.
    pub selections: Tally<Verdict>,
    /// Its last call; `None` where it was never called.
    pub last_call: Option<LastCall>,
}

impl ToolFigures {
    /// Takes in a counted call.
    pub fn count(&mut self, at: UnixMillis, tick: Tick, presence: Presence, ending: Ending) {
        self.calls.add(presence);
        self.endings.add(ending);
        self.last_call = Some(LastCall { tick, at });
    }

    /// Returns the failures that are the tool's own, those of retries included.
    pub fn failures(&self) -> u64 {
        self.endings.sum(Ending::is_countable) + self.retries.sum(Ending::is_countable)
    }

    /// Returns the wrong picks among its calls.
    pub fn wrong(&self) -> u64 {
        self.selections.sum(Verdict::is_wrong)
    }
}

/// Returns calls for each step in which a tool had a line in the directory; `None` where it never had one.
pub fn density(calls: u64, directory_exposures: u64) -> Option<f64> {
    super::ratio(calls, directory_exposures)
}

/// Returns a density over the namespace's mean, so that 1 is a tool called as often as the others when it is seen
/// (DESIGN 6); `None` without an exposure, and where nothing was called at all.
pub fn normalised_density(density: Option<f64>, mean: Option<f64>) -> Option<f64> {
    let mean = mean.filter(|mean| *mean > 0.0)?;
    density.map(|density| density / mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_the_tools_own_and_count_retries() {
        let mut figures = ToolFigures::default();
        for ending in [Ending::Ok, Ending::NotFound, Ending::BadArguments, Ending::Timeout] {
            figures.count(UnixMillis(5), Tick(1), Presence::Resident, ending);
        }
        figures.retries.add(Ending::Auth);
        figures.retries.add(Ending::Ok);
        assert_eq!((figures.failures(), figures.calls.total(), figures.endings.total()), (2, 4, 4));
    }

    #[test]
    fn density_without_an_exposure_or_without_any_call_is_none() {
        let cases = [(3, 0, Some(0.1), None), (0, 10, Some(0.1), Some(0.0)), (2, 10, Some(0.1), Some(2.0))];
        for (calls, exposures, mean, expected) in cases {
            assert_eq!(normalised_density(density(calls, exposures), mean), expected);
        }
        assert_eq!(normalised_density(density(0, 10), Some(0.0)), None);
        assert_eq!(normalised_density(density(0, 10), None), None);
    }

    #[test]
    fn an_older_record_reads_with_what_it_lacks_at_zero() {
        let read: ToolFigures = serde_json::from_str(r#"{"calls":{"resident":2}}"#).unwrap();
        assert_eq!((read.calls.total(), read.endings.total(), read.last_call), (2, 0, None));
    }
}

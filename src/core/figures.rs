//! What is counted in a namespace, and the rates that are made of it.
//!
//! Plain sums, folded in log order with everything else, so that `Stats`, `/metrics` and `replay` say the same to the
//! unit. Exported elsewhere.

mod tool;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::event::{
    CacheBreak, Delivery, MoveCause, PlanResult, Presence, RequestResult, SessionEnd, StepEnd, StepTokens, ToolState,
    Verdict, Word,
};

pub use tool::{LastCall, ToolFigures, density, normalised_density};

/// A count for each word of a closed list.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent, bound(serialize = "W: Ord + Serialize", deserialize = "W: Ord + Deserialize<'de>"))]
pub struct Tally<W>(BTreeMap<W, u64>);

impl<W> Default for Tally<W> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<W: Word + Ord> Tally<W> {
    /// Counts one more.
    pub fn add(&mut self, word: W) {
        *self.0.entry(word).or_default() += 1;
    }

    /// Returns the count of a word.
    pub fn get(&self, word: W) -> u64 {
        self.0.get(&word).copied().unwrap_or(0)
    }

    /// Returns the sum of all counts.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Goes through every word of the list, the ones never counted included.
    pub fn iter(&self) -> impl Iterator<Item = (W, u64)> {
        W::ALL.iter().map(|word| (*word, self.get(*word)))
    }

    fn sum(&self, counts: impl Fn(W) -> bool) -> u64 {
        self.iter().filter(|(word, _)| counts(*word)).map(|(_, count)| count).sum()
    }
}

/// Tokens of tool text over all steps, by part.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TokenSums {
    /// The directory.
    pub directory: u64,
    /// The residents.
    pub resident: u64,
    /// On-demand definitions; what was issued before and is still present counts again.
    pub issued: u64,
    /// The meta tools.
    pub meta: u64,
    /// What sending everything would have cost.
    pub everything: u64,
    /// The windows of the same steps.
    pub window: u64,
}

impl TokenSums {
    /// Adds a step's.
    pub fn add(&mut self, step: &StepTokens) {
        self.directory += u64::from(step.directory);
        self.resident += u64::from(step.resident);
        self.issued += u64::from(step.issued);
        self.meta += u64::from(step.meta);
        self.everything += u64::from(step.everything);
        self.window += u64::from(step.window);
    }

    /// Returns the tokens placed, the daemon's own overhead included.
    pub fn placed(&self) -> u64 {
        self.directory + self.resident + self.issued + self.meta
    }
}

/// The figures of a namespace since it was made.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Figures {
    /// Steps planned, by what the plan came to.
    pub plans: Tally<PlanResult>,
    /// Steps that ended without a call, by reason.
    pub plans_without_call: Tally<StepEnd>,
    /// Counted calls, by presence.
    pub calls: Tally<Presence>,
    /// Selections, by verdict; one verdict a call.
    pub selections: Tally<Verdict>,
    /// Tokens over all steps.
    pub tokens: TokenSums,
    /// Steps by how many definitions they issued.
    pub issued_tools: BTreeMap<u32, u64>,
    /// Answers to `request_tool`, by result.
    pub requests: Tally<RequestResult>,
    /// Model turns spent on recall: every request is one, whatever it brought.
    pub extra_hops: u64,
    /// Re-ranks that changed the pool.
    pub reranks_changed: u64,
    /// Re-ranks that did not.
    pub reranks_unchanged: u64,
    /// Tools that entered the pool.
    pub swapped_in: u64,
    /// Tools that moved, by the state they went to and why.
    #[serde(with = "moves_as_list")]
    pub moves: BTreeMap<(ToolState, MoveCause), u64>,
    /// Cache breaks, by cause.
    #[serde(default)]
    pub cache_breaks: Tally<CacheBreak>,
    /// Sessions opened.
    pub sessions_opened: u64,
    /// Sessions opened, by delivery.
    #[serde(default)]
    pub deliveries: Tally<Delivery>,
    /// Sessions ended, by reason.
    pub sessions_ended: Tally<SessionEnd>,
    /// Most distinct blocks that any session ever had; 1 unless one was refreshed.
    pub distinct_blocks_per_session_max: u32,
}

impl Figures {
    /// Returns the steps planned.
    pub fn steps(&self) -> u64 {
        self.plans.total()
    }

    /// Returns the share of calls whose definition was in front of the model without being asked for: (resident +
    /// issued) ÷ (resident + issued + recalled + absent); `None` before the first call. In 0..=1, as every rate here.
    pub fn presence_rate(&self) -> Option<f64> {
        ratio(self.calls.sum(|p| matches!(p, Presence::Resident | Presence::Issued)), self.known_calls())
    }

    /// Returns the presence rate with recalls counted in.
    pub fn coverage(&self) -> Option<f64> {
        ratio(self.known_calls() - self.calls.get(Presence::Absent), self.known_calls())
    }

    fn known_calls(&self) -> u64 {
        self.calls.sum(|presence| presence != Presence::Unknown)
    }

    /// Returns tokens of tool text placed ÷ context windows, over the same steps.
    pub fn injection_share(&self) -> Option<f64> {
        ratio(self.tokens.placed(), self.tokens.window)
    }

    /// Returns what was not spent, as a share of sending everything; negative where it cost more.
    pub fn saving(&self) -> Option<f64> {
        ratio(self.tokens.placed(), self.tokens.everything).map(|spent| 1.0 - spent)
    }

    /// Returns wrong picks ÷ (wrong + right); `None` where nothing was judged.
    pub fn mis_selection_rate(&self) -> Option<f64> {
        ratio(self.selections.sum(Verdict::is_wrong), self.judged())
    }

    /// Returns the share of selections that were judged.
    pub fn judged_share(&self) -> Option<f64> {
        ratio(self.judged(), self.selections.total())
    }

    fn judged(&self) -> u64 {
        self.selections.sum(|verdict| verdict != Verdict::Unjudged)
    }
}

/// Returns a share, or `None` where there is nothing to share.
fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// JSON has no keys of two parts, so the moves are written as a list.
mod moves_as_list {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::super::event::{MoveCause, ToolState};

    type Moves = BTreeMap<(ToolState, MoveCause), u64>;

    pub fn serialize<S: Serializer>(moves: &Moves, serializer: S) -> Result<S::Ok, S::Error> {
        let list: Vec<_> = moves.iter().collect();
        list.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Moves, D::Error> {
        let list: Vec<((ToolState, MoveCause), u64)> = Vec::deserialize(deserializer)?;
        Ok(list.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_presence_is_outside_the_rate_and_recalls_are_covered() {
        let mut figures = Figures::default();
        for presence in [Presence::Resident, Presence::Issued, Presence::Recalled, Presence::Absent, Presence::Unknown]
        {
            figures.calls.add(presence);
        }
        assert_eq!(figures.presence_rate(), Some(0.5));
        assert_eq!(figures.coverage(), Some(0.75));
    }

    #[test]
    fn nothing_judged_is_no_rate() {
        let mut figures = Figures::default();
        figures.selections.add(Verdict::Unjudged);
        assert_eq!(figures.mis_selection_rate(), None);
        assert_eq!(figures.judged_share(), Some(0.0));
    }

    #[test]
    fn figures_read_back_the_same() {
        let mut figures = Figures::default();
        figures.moves.insert((ToolState::Active, MoveCause::Admitted), 3);
        figures.plans.add(PlanResult::Issued);
        let text = serde_json::to_string(&figures).unwrap();
        assert_eq!(serde_json::from_str::<Figures>(&text).unwrap(), figures);
    }
}

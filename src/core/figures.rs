//! The figures of a namespace since it was made: plain sums, folded from the log, with the four ratios they give.
//!
//! Summed by the namespace, read by `GetStats`, the metrics and replay alike, so that all of them show the same numbers.
//! Every sum only grows: a selection is added once its verdict is final. Ratios are `None` where nothing was counted
//! yet, since neither 0 nor 1 would be true.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::event::{
    MoveCause, PlanResult, Presence, RequestResult, SessionEnd, StepEnd, StepTokens, ToolState, Verdict, Word,
};

/// A counter for each word of a list, written as a map from word to count; words never counted are left out.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(transparent, bound(serialize = "W: Ord + Serialize", deserialize = "W: Ord + Deserialize<'de>"))]
pub struct Tally<W>(BTreeMap<W, u64>);

impl<W> Default for Tally<W> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<W: Word + Ord> Tally<W> {
    /// Counts the word once.
    pub fn add(&mut self, word: W) {
        self.add_many(word, 1);
    }

    /// Counts the word so many times.
    pub fn add_many(&mut self, word: W, n: u64) {
        if n > 0 {
            *self.0.entry(word).or_default() += n;
        }
    }

    /// Returns how often the word was counted.
    pub fn get(&self, word: W) -> u64 {
        self.0.get(&word).copied().unwrap_or(0)
    }

    /// Returns the sum over all words.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Returns every word of the list with its count, zeros included, in the list's order.
    pub fn iter(&self) -> impl Iterator<Item = (W, u64)> {
        W::ALL.iter().map(|word| (*word, self.get(*word)))
    }

    /// Adds another tally to this one.
    pub fn merge(&mut self, other: &Self) {
        for (word, n) in &other.0 {
            self.add_many(*word, *n);
        }
    }
}

/// Tokens summed over steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TokenSums {
    /// Directories.
    pub directory: u64,
    /// Residents.
    pub resident: u64,
    /// On-demand definitions that were present; what was issued earlier and was still there counts again.
    pub issued: u64,
    /// Meta tools.
    pub meta: u64,
    /// Context windows of the same steps.
    pub window: u64,
    /// What sending every definition of the candidate pool would have cost.
    pub everything: u64,
}

impl TokenSums {
    /// Adds one step.
    pub fn add(&mut self, step: &StepTokens) {
        self.directory += u64::from(step.directory);
        self.resident += u64::from(step.resident);
        self.issued += u64::from(step.issued);
        self.meta += u64::from(step.meta);
        self.window += u64::from(step.window);
        self.everything += u64::from(step.everything);
    }

    /// Returns the tokens of tool text that were placed in contexts, the daemon's own overhead included.
    pub fn placed(&self) -> u64 {
        self.directory + self.resident + self.issued + self.meta
    }

    fn merge(&mut self, other: &Self) {
        self.directory += other.directory;
        self.resident += other.resident;
        self.issued += other.issued;
        self.meta += other.meta;
        self.window += other.window;
        self.everything += other.everything;
    }
}

/// Everything that is counted in a namespace.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Figures {
    /// Calls by presence.
    pub calls: Tally<Presence>,
    /// Selections by final verdict, one a call.
    pub selections: Tally<Verdict>,
    /// Tokens by part.
    pub tokens: TokenSums,
    /// Steps planned, by what the plan came to.
    pub plans: Tally<PlanResult>,
    /// Steps that made no call, by their end.
    pub plans_without_call: Tally<StepEnd>,
    /// Steps by the number of definitions issued for them.
    pub issued_tools: BTreeMap<u32, u64>,
    /// Requests for tools.
    pub requests: Tally<RequestResult>,
    /// Model turns spent on asking for tools.
    pub extra_hops: u64,
    /// Re-ranks that changed the hot pool.
    pub reranks_changed: u64,
    /// Re-ranks that did not.
    pub reranks_unchanged: u64,
    /// Tools that entered the hot pool.
    pub swapped_in: u64,
    /// Transitions by the state after and the cause.
    pub moves: BTreeMap<ToolState, Tally<MoveCause>>,
    /// Sessions that ended, by why.
    pub sessions_closed: Tally<SessionEnd>,
}

impl Figures {
    /// Counts a planned step: its result, its tokens, and how many definitions were issued for it.
    pub fn add_step(&mut self, result: PlanResult, tokens: &StepTokens, issued: u32) {
        self.plans.add(result);
        self.tokens.add(tokens);
        *self.issued_tools.entry(issued).or_default() += 1;
    }

    /// Counts a tool's move to a state.
    pub fn add_move(&mut self, new: ToolState, cause: MoveCause) {
        self.moves.entry(new).or_default().add(cause);
    }

    /// Returns the number of steps planned.
    pub fn steps(&self) -> u64 {
        self.plans.total()
    }

    /// Returns the share of calls whose tool was present: (resident + issued) ÷ (those + recalled + absent).
    pub fn presence_rate(&self) -> Option<f64> {
        ratio(self.calls.get(Presence::Resident) + self.calls.get(Presence::Issued), self.calls_in_rate())
    }

    /// Returns the presence rate with recalls counted as present.
    pub fn coverage(&self) -> Option<f64> {
        let absent = self.calls.get(Presence::Absent);
        ratio(self.calls_in_rate() - absent, self.calls_in_rate())
    }

    /// Returns the share of the context window that tool text took: directory, residents, issued and meta tools ÷
    /// windows.
    pub fn injection_share(&self) -> Option<f64> {
        ratio(self.tokens.placed(), self.tokens.window)
    }

    /// Returns what was not sent: 1 − placed ÷ everything. Negative where the overhead exceeded what it saved.
    pub fn saving(&self) -> Option<f64> {
        ratio(self.tokens.placed(), self.tokens.everything).map(|share| 1.0 - share)
    }

    /// Returns wrong ÷ (wrong + right). Says little without [`Figures::judged_share`].
    pub fn mis_selection_rate(&self) -> Option<f64> {
        ratio(self.wrong(), self.judged())
    }

    /// Returns the share of selections that were judged at all.
    pub fn judged_share(&self) -> Option<f64> {
        ratio(self.judged(), self.selections.total())
    }

    /// Adds another namespace's figures.
    pub fn merge(&mut self, other: &Self) {
        self.calls.merge(&other.calls);
        self.selections.merge(&other.selections);
        self.tokens.merge(&other.tokens);
        self.plans.merge(&other.plans);
        self.plans_without_call.merge(&other.plans_without_call);
        for (issued, steps) in &other.issued_tools {
            *self.issued_tools.entry(*issued).or_default() += steps;
        }
        self.requests.merge(&other.requests);
        self.extra_hops += other.extra_hops;
        self.reranks_changed += other.reranks_changed;
        self.reranks_unchanged += other.reranks_unchanged;
        self.swapped_in += other.swapped_in;
        for (state, causes) in &other.moves {
            self.moves.entry(*state).or_default().merge(causes);
        }
        self.sessions_closed.merge(&other.sessions_closed);
    }

    /// Calls of which it can be said whether the tool was present.
    fn calls_in_rate(&self) -> u64 {
        self.calls.total() - self.calls.get(Presence::Unknown)
    }

    fn wrong(&self) -> u64 {
        self.selections.iter().filter(|(verdict, _)| verdict.is_wrong()).map(|(_, n)| n).sum()
    }

    fn judged(&self) -> u64 {
        self.wrong() + self.selections.get(Verdict::Right)
    }
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Figures {
        let mut figures = Figures::default();
        figures.calls.add_many(Presence::Resident, 6);
        figures.calls.add_many(Presence::Issued, 2);
        figures.calls.add(Presence::Recalled);
        figures.calls.add(Presence::Absent);
        figures.calls.add_many(Presence::Unknown, 90);
        figures.selections.add_many(Verdict::Right, 3);
        figures.selections.add(Verdict::WrongTool);
        figures.selections.add_many(Verdict::Unjudged, 4);
        let tokens = StepTokens {
            directory: 1_000,
            resident: 2_000,
            issued: 900,
            meta: 100,
            everything: 16_000,
            window: 40_000,
        };
        figures.add_step(PlanResult::Issued, &tokens, 3);
        figures.add_move(ToolState::Retired, MoveCause::Unused);
        figures
    }

    #[test]
    fn calls_of_unknown_presence_stand_outside_the_rates() {
        assert_eq!(figures().presence_rate(), Some(0.8));
        assert_eq!(figures().coverage(), Some(0.9));
    }

    #[test]
    fn unjudged_selections_count_for_the_judged_share_only() {
        assert_eq!(figures().mis_selection_rate(), Some(0.25));
        assert_eq!(figures().judged_share(), Some(0.5));
    }

    #[test]
    fn shares_count_the_daemons_own_overhead() {
        assert_eq!(figures().injection_share(), Some(0.1));
        assert_eq!(figures().saving(), Some(0.75));
    }

    #[test]
    fn nothing_counted_gives_no_ratio() {
        let none = Figures::default();
        assert_eq!(none.presence_rate(), None);
        assert_eq!(none.coverage(), None);
        assert_eq!(none.injection_share(), None);
        assert_eq!(none.saving(), None);
        assert_eq!(none.mis_selection_rate(), None);
        assert_eq!(none.judged_share(), None);
    }

    #[test]
    fn figures_read_back_as_written_and_words_are_keys() {
        let text = serde_json::to_string(&figures()).unwrap();
        assert!(text.contains(r#""selections":{"right":3,"wrong_tool":1,"unjudged":4}"#), "{text}");
        assert!(text.contains(r#""moves":{"retired":{"unused":1}}"#), "{text}");
        assert_eq!(serde_json::from_str::<Figures>(&text).unwrap(), figures());
    }

    #[test]
    fn merging_doubles_every_sum() {
        let mut twice = figures();
        twice.merge(&figures());
        assert_eq!(twice.steps(), 2);
        assert_eq!(twice.calls.get(Presence::Resident), 12);
        assert_eq!(twice.tokens.window, 80_000);
        assert_eq!(twice.issued_tools, BTreeMap::from([(3, 2)]));
        assert_eq!(twice.moves[&ToolState::Retired].get(MoveCause::Unused), 2);
        assert_eq!(twice.presence_rate(), figures().presence_rate());
    }
}

//! Fuses the parts of a score and hands out tools best first, looking at no more of them than it must.
//!
//! A score is a sum of named parts. The prior is asked for lazily: it is bounded, so a tool whose text falls that far
//! short of the best one open cannot overtake it.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::names::NameHow;
use crate::core::ids::ToolId;

/// Points between the ways to be named. A standardised score never exceeds √n of n tools, so any named tool ranks
/// before every tool that only matches.
const NAME_STEP: f32 = 4096.0;
/// The most a prior adds, in standard deviations of the lexical scores. A good match lies 5 to 20 above the mean: heat
/// decides between near equals and lifts nothing over a better text.
pub(super) const PRIOR_MAX: f32 = 0.5;
/// Candidates are put in order so many at a time.
const BATCH: usize = 64;

/// The parts of a score; their sum is the score.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Parts {
    /// The query names the tool; 0 where it does not.
    pub name: f32,
    /// Words in common, in standard deviations above the mean of all tools. Below 0 for a match worse than that.
    pub lexical: f32,
    /// The prior given by the caller, squeezed into 0..0.5.
    pub prior: f32,
}

impl Parts {
    /// Returns every part with its name, in the order in which they are added up.
    pub fn named(&self) -> [(&'static str, f32); 3] {
        [("named", self.name), ("lexical", self.lexical), ("prior", self.prior)]
    }

    /// Returns the score.
    pub fn sum(&self) -> f32 {
        self.named().iter().map(|(_, part)| part).sum()
    }
}

/// A tool found.
#[derive(Clone, PartialEq, Debug)]
pub struct Ranked {
    /// The tool.
    pub tool: ToolId,
    /// The sum of the parts; comparable within one search only.
    pub score: f32,
    /// What the score is made of.
    pub parts: Parts,
}

/// Returns the points for being named.
pub(super) fn name_part(how: Option<NameHow>) -> f32 {
    match how {
        None => 0.0,
        Some(NameHow::Folded) => NAME_STEP,
        Some(NameHow::Suffix) => 2.0 * NAME_STEP,
        Some(NameHow::Exact) => 3.0 * NAME_STEP,
    }
}

/// Squeezes a prior into 0..[`PRIOR_MAX`], keeping its order; what is no number or below 0 gives 0.
fn prior_part(prior: f32) -> f32 {
    // `max` takes the number where the other is none; written so that infinity does not divide itself.
    let prior = prior.max(0.0);
    PRIOR_MAX * (1.0 - 1.0 / (1.0 + prior))
}

/// A tool that some arm found, before its prior is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) slot: u32,
    /// The sum of its parts without the prior.
    pub(super) score: f32,
}

/// What a ranking asks about a candidate, and only about those that come near the top.
pub(super) trait Lookup {
    fn tool(&self, slot: u32) -> &ToolId;
    /// Returns the parts without the prior; their sum is the candidate's score.
    fn parts(&self, slot: u32) -> Parts;
}

/// Hands out candidates best first; ties by [`ToolId`].
pub(super) struct Ranking<'a, L> {
    lookup: &'a L,
    prior: &'a dyn Fn(&ToolId) -> f32,
    /// Not yet in any order.
    unsorted: Vec<Candidate>,
    /// Better than all of the unsorted by what is known without the prior; best last.
    sorted: Vec<Candidate>,
    /// With their prior; best first.
    open: BinaryHeap<Open<'a>>,
}

struct Open<'a> {
    tool: &'a ToolId,
    score: f32,
    parts: Parts,
}

impl<'a, L: Lookup> Ranking<'a, L> {
    pub(super) fn new(candidates: Vec<Candidate>, lookup: &'a L, prior: &'a dyn Fn(&ToolId) -> f32) -> Self {
        Self { lookup, prior, unsorted: candidates, sorted: Vec::new(), open: BinaryHeap::new() }
    }

    /// Returns the best candidate not yet handed out.
    pub(super) fn next(&mut self) -> Option<Ranked> {
        while let Some(candidate) = self.best_without_prior() {
            let out_of_reach = self.open.peek().is_some_and(|open| candidate.score + PRIOR_MAX < open.score);
            if out_of_reach {
                break;
            }
            self.sorted.pop();
            let tool = self.lookup.tool(candidate.slot);
            let parts = Parts { prior: prior_part((self.prior)(tool)), ..self.lookup.parts(candidate.slot) };
            self.open.push(Open { tool, score: parts.sum(), parts });
        }
        let Open { tool, score, parts } = self.open.pop()?;
        Some(Ranked { tool: tool.clone(), score, parts })
    }

    fn best_without_prior(&mut self) -> Option<Candidate> {
        if self.sorted.is_empty() {
            self.sort_next_batch();
        }
        self.sorted.last().copied()
    }

    /// Sorts the best of the unsorted, with all that equal the last of them.
    fn sort_next_batch(&mut self) {
        if self.unsorted.len() > BATCH {
            // Bare numbers are selected several times faster than candidates with their ties.
            let mut scores: Vec<f32> = self.unsorted.iter().map(|candidate| candidate.score).collect();
            let rest = scores.len() - BATCH;
            let (_, least, _) = scores.select_nth_unstable_by(rest, f32::total_cmp);
            self.sorted.extend(self.unsorted.extract_if(.., |candidate| candidate.score.total_cmp(least).is_ge()));
        } else {
            self.sorted.append(&mut self.unsorted);
        }
        let lookup = self.lookup;
        self.sorted.sort_unstable_by(|a, b| {
            a.score.total_cmp(&b.score).then_with(|| lookup.tool(b.slot).cmp(lookup.tool(a.slot)))
        });
    }
}

impl Ord for Open<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then_with(|| other.tool.cmp(self.tool))
    }
}

impl PartialOrd for Open<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Open<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Open<'_> {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Plain {
        tools: Vec<ToolId>,
        parts: Vec<Parts>,
    }

    impl Lookup for Plain {
        fn tool(&self, slot: u32) -> &ToolId {
            &self.tools[slot as usize]
        }

        fn parts(&self, slot: u32) -> Parts {
            self.parts[slot as usize]
        }
    }

    #[test]
    fn a_prior_is_bounded_and_keeps_its_order() {
        let priors = [f32::NAN, -3.0, 0.0, 0.1, 5.0, 20.0, f32::INFINITY].map(prior_part);
        assert!(priors.is_sorted());
        assert_eq!((priors[0], priors[6]), (0.0, PRIOR_MAX));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn lazy_order_is_the_plain_order(
            scored in prop::collection::vec((0u8..20, 0u8..4, any::<bool>()), 0..300),
        ) {
            let plain_catalog = Plain {
                tools: (0..scored.len()).map(|i| ToolId::new("s", format!("t{i}"))).collect(),
                parts: scored.iter().map(|(lexical, _, named)| Parts {
                    name: name_part(named.then_some(NameHow::Folded)),
                    lexical: f32::from(*lexical) / 10.0,
                    prior: 0.0,
                }).collect(),
            };
            let prior = |tool: &ToolId| {
                let at: usize = tool.name[1..].parse().unwrap();
                f32::from(scored[at].1)
            };
            let mut expected: Vec<(f32, ToolId)> = Vec::new();
            for (tool, parts) in plain_catalog.tools.iter().zip(&plain_catalog.parts) {
                expected.push((Parts { prior: prior_part(prior(tool)), ..*parts }.sum(), tool.clone()));
            }
            expected.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));

            let candidate = |(slot, parts): (usize, &Parts)| Candidate { slot: slot as u32, score: parts.sum() };
            let candidates = plain_catalog.parts.iter().enumerate().map(candidate).collect();
            let mut ranking = Ranking::new(candidates, &plain_catalog, &prior);
            let mut lazy = Vec::new();
            while let Some(ranked) = ranking.next() {
                lazy.push((ranked.score, ranked.tool));
            }
            prop_assert_eq!(lazy, expected);
        }
    }
}

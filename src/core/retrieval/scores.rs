//! One arm's scores of one query: a number for every tool the arm found something in, and how they are spread.
//!
//! Whole numbers, so that a sum is the same in any order, on any machine. Each arm has a scale of its own; the spread
//! brings them onto one.

use std::cell::Cell;

/// Scores by slot. Only what was touched is ever read or cleared: a query costs what it matches, not what there is.
#[derive(Default)]
pub(super) struct Scores {
    by_slot: Vec<u32>,
    /// The first `n_touched` are the slots with a score. As long as `by_slot`, and one more: every amount writes behind
    /// the last, and only a new slot moves the end, which spares a branch that cannot be predicted.
    touched: Vec<u32>,
    n_touched: usize,
}

thread_local! {
    // Kept between queries for its allocation only; always handed out cleared.
    static SPARE: Cell<Option<Scores>> = const { Cell::new(None) };
}

impl Scores {
    /// Lends `work` cleared scores for slots below `n_slots`. Work that searches again inside gets others.
    pub(super) fn with<T>(n_slots: usize, work: impl FnOnce(&mut Self) -> T) -> T {
        let mut scores = SPARE.take().unwrap_or_default();
        if scores.by_slot.len() < n_slots {
            scores.by_slot.resize(n_slots, 0);
            scores.touched.resize(n_slots + 1, 0);
        }
        let result = work(&mut scores);
        for slot in &scores.touched[..scores.n_touched] {
            scores.by_slot[*slot as usize] = 0;
        }
        scores.n_touched = 0;
        SPARE.set(Some(scores));
        result
    }

    /// Adds to the score of a slot; the amount is at least 1, and all amounts together stay below 2³².
    pub(super) fn add(&mut self, slot: u32, amount: u32) {
        let score = &mut self.by_slot[slot as usize];
        self.touched[self.n_touched] = slot;
        self.n_touched += usize::from(*score == 0);
        *score += amount;
    }

    /// Returns the score of a slot, 0 where nothing matched.
    pub(super) fn get(&self, slot: u32) -> u32 {
        self.by_slot[slot as usize]
    }

    /// Returns the slots with a score, in the order found.
    pub(super) fn touched(&self) -> &[u32] {
        &self.touched[..self.n_touched]
    }

    /// Returns how the scores of all `n_tools` tools are spread, those without a match counting as 0.
    pub(super) fn spread(&self, n_tools: usize) -> Spread {
        let (mut sum, mut sum_of_squares) = (0u64, 0u128);
        for slot in self.touched() {
            let score = u64::from(self.get(*slot));
            sum += score;
            sum_of_squares += u128::from(score * score);
        }
        let n = n_tools.max(1) as f64;
        let mean = sum as f64 / n;
        let variance = (sum_of_squares as f64 / n - mean * mean).max(0.0);
        let deviation = variance.sqrt();
        Spread { mean, scale: if deviation > 0.0 { 1.0 / deviation } else { 0.0 } }
    }
}

/// Mean and inverse standard deviation of an arm's scores for one query.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    mean: f64,
    scale: f64,
}

impl Spread {
    /// Returns how many standard deviations a score lies above the mean; never more than √n of n tools. 0 for all when
    /// all scores are equal.
    pub(super) fn standardise(&self, score: u32) -> f32 {
        ((f64::from(score) - self.mean) * self.scale) as f32
    }

    /// Returns what a part of a score counts for, in standard deviations; with [`Spread::mean_part`] the parts of a score
    /// add up to the standardised one.
    pub(super) fn part(&self, score: f64) -> f32 {
        (score * self.scale) as f32
    }

    /// Returns what the mean of all tools takes off every score, in standard deviations; 0 or less.
    pub(super) fn mean_part(&self) -> f32 {
        (-self.mean * self.scale) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_handed_out_cleared_even_inside_each_other() {
        Scores::with(4, |outer| {
            outer.add(2, 5);
            Scores::with(4, |inner| assert_eq!(inner.get(2), 0));
            assert_eq!(outer.get(2), 5);
        });
        Scores::with(8, |scores| {
            assert!(scores.touched().is_empty());
            assert_eq!(scores.get(2), 0);
        });
    }

    #[test]
    fn standard_scores_have_mean_zero_and_keep_order() {
        Scores::with(3, |scores| {
            scores.add(0, 10);
            scores.add(1, 20);
            let spread = scores.spread(3);
            let z: Vec<f32> = [0, 10, 20].map(|score| spread.standardise(score)).to_vec();
            assert!(z.is_sorted());
            assert!(z.iter().sum::<f32>().abs() < 1e-5);
        });
    }
}

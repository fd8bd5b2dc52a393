//! A sorted list of numbers, the value of every map in the index: tools by slot, alone or with an impact packed below.
//!
//! Most words belong to one tool, so a list of one needs no allocation; that halves the memory of the index.

use std::ops::RangeInclusive;
use std::sync::Arc;

/// Ascending numbers without repeats. Clones share.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Postings {
    One(u32),
    Many(Arc<Vec<u32>>),
}

impl Default for Postings {
    fn default() -> Self {
        Self::Many(Arc::default())
    }
}

impl Postings {
    /// Returns the numbers, ascending.
    pub(super) fn as_slice(&self) -> &[u32] {
        match self {
            Self::One(number) => std::slice::from_ref(number),
            Self::Many(numbers) => numbers,
        }
    }

    /// Adds a number; one already there stays.
    pub(super) fn add(&mut self, number: u32) {
        match self {
            Self::One(only) if *only == number => {}
            Self::One(only) => {
                let both = [(*only).min(number), (*only).max(number)];
                *self = Self::Many(Arc::new(both.to_vec()));
            }
            Self::Many(numbers) if numbers.is_empty() => *self = Self::One(number),
            Self::Many(numbers) => {
                if let Err(at) = numbers.binary_search(&number) {
                    Arc::make_mut(numbers).insert(at, number);
                }
            }
        }
    }

    /// Takes out every number in the range.
    pub(super) fn take_out(&mut self, range: RangeInclusive<u32>) {
        match self {
            Self::One(only) => {
                if range.contains(only) {
                    *self = Self::default();
                }
            }
            Self::Many(numbers) => {
                let from = numbers.partition_point(|number| number < range.start());
                let to = numbers.partition_point(|number| number <= range.end());
                if from < to {
                    Arc::make_mut(numbers).drain(from..to);
                }
                if let [only] = numbers[..] {
                    *self = Self::One(only);
                }
            }
        }
    }

    /// Says whether nothing is left.
    pub(super) fn is_empty(&self) -> bool {
        self.as_slice().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_sorted_and_leave_by_range() {
        let mut list = Postings::default();
        for number in [30, 10, 20, 10] {
            list.add(number);
        }
        assert_eq!(list.as_slice(), [10, 20, 30]);
        list.take_out(15..=35);
        assert_eq!(list, Postings::One(10));
        list.take_out(10..=10);
        assert!(list.is_empty());
    }
}

//! Heat: the exponentially decayed call count of one tool, aged when it is read.
//!
//! Who is called and what follows from heat is left to [`crate::core::hot_pool`]. Before editing, know that no result
//! here may depend on a platform's maths library: powers are products of a table, so that equal logs give equal ranks
//! bit for bit on every machine.

use serde::{Deserialize, Serialize};

use super::ids::Tick;

/// Parts of one call that a rank can tell apart. Coarser than a float, so that heats which differ only by the order
/// in which roundings happened are equal, and the tie-break decides.
const KEY_SCALE: f64 = (1_u64 << 30) as f64;

/// A decay factor, with its powers d^1, d^2, d^4 … at hand.
///
/// Building one costs 64 multiplications; raising it to any number of ticks costs one for each set bit.
#[derive(Clone, PartialEq, Debug)]
pub struct Decay {
    powers: [f64; u64::BITS as usize],
}

impl Decay {
    /// Takes what one tick leaves of heat, 0 or more and below 1. With 0 only the last tick's call has heat.
    pub fn new(factor: f64) -> Self {
        let mut powers = [factor; u64::BITS as usize];
        for i in 1..powers.len() {
            powers[i] = powers[i - 1] * powers[i - 1];
        }
        Self { powers }
    }

    /// Returns what one tick leaves of heat.
    pub fn factor(&self) -> f64 {
        self.powers[0]
    }

    /// Returns what so many ticks leave of heat; 1 for none.
    pub fn over(&self, ticks: u64) -> f64 {
        let mut left = 1.0;
        let mut ticks = ticks;
        while ticks > 0 && left > 0.0 {
            left *= self.powers[ticks.trailing_zeros() as usize];
            ticks &= ticks - 1;
        }
        left
    }
}

/// Exponentially decayed call count: each tick multiplies it by the decay factor, a call adds 1.
///
/// Aged when read, so a tick costs nothing for the tools it did not call.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Heat {
    value: f64,
    at: Tick,
}

impl Heat {
    /// Returns a heat of `value` calls as of the end of tick `at`.
    pub fn new(value: f64, at: Tick) -> Self {
        Self { value, at }
    }

    /// Returns the heat in calls after tick `now`; a tick before the last change ages nothing.
    pub fn value(&self, decay: &Decay, now: Tick) -> f64 {
        self.value * decay.over(now.0.saturating_sub(self.at.0))
    }

    /// Returns the heat as it was written last, not aged.
    pub fn settled_value(&self) -> f64 {
        self.value
    }

    /// Returns the tick at which the heat was written last.
    pub fn settled_at(&self) -> Tick {
        self.at
    }

    /// Returns the one number by which heats are ranked: calls times 2^30, rounded, at most `u64::MAX`.
    pub fn key(&self, decay: &Decay, now: Tick) -> u64 {
        to_key(self.value(decay, now))
    }

    /// Ages the heat to tick `now` and adds the call that this tick is.
    pub fn add_call(&mut self, decay: &Decay, now: Tick) {
        *self = Self::new(self.value(decay, now) + 1.0, now);
    }

    /// Ages the heat to tick `now`, so that from there on another factor, or none, may apply.
    pub fn settle(&mut self, decay: &Decay, now: Tick) {
        *self = Self::new(self.value(decay, now), now);
    }

    /// Takes up the heat at tick `now` as it was left: the ticks between do not age it.
    pub fn resume(&mut self, now: Tick) {
        self.at = now;
    }
}

/// Converts calls to the key that ranks them.
pub(super) fn to_key(calls: f64) -> u64 {
    // A float-to-integer cast saturates, so no heat is too large for its key.
    (calls * KEY_SCALE).round() as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The plain form: every tick visits every tool.
    struct EagerHeats {
        values: Vec<f64>,
    }

    impl EagerHeats {
        fn tick(&mut self, called: usize, factor: f64) {
            for value in &mut self.values {
                *value *= factor;
            }
            self.values[called] += 1.0;
        }
    }

    /// Plays calls both ways and compares every tool's key after every tick.
    ///
    /// `slack` is how far, in parts of a key, the two orders of multiplication may be apart around a rounding edge; 0
    /// where all products are exact.
    fn check_lazy_against_eager(factor: f64, calls: &[usize], slack: f64) {
        let decay = Decay::new(factor);
        let n_tools = 8;
        let mut lazy = vec![Heat::new(0.0, Tick(0)); n_tools];
        let mut eager = EagerHeats { values: vec![0.0; n_tools] };
        for (i, &called) in calls.iter().enumerate() {
            let now = Tick(i as u64 + 1);
            lazy[called].add_call(&decay, now);
            eager.tick(called, factor);
            for (heat, &value) in lazy.iter().zip(&eager.values) {
                let (key, expected) = (heat.key(&decay, now), to_key(value));
                let off = (key as f64 - value * KEY_SCALE).abs();
                assert!(key == expected || off <= 0.5 + slack, "tick {now}: {key}, swept {expected}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn lazy_key_is_the_swept_key_for_any_factor(
            factor in 0.0..0.999_999_f64,
            calls in prop::collection::vec(0..8_usize, 0..200),
        ) {
            check_lazy_against_eager(factor, &calls, 1e-3);
        }

        #[test]
        fn lazy_key_is_the_swept_key_bit_for_bit_where_products_are_exact(
            factor in prop::sample::select(vec![0.0, 0.25, 0.5]),
            calls in prop::collection::vec(0..8_usize, 0..200),
        ) {
            check_lazy_against_eager(factor, &calls, 0.0);
        }

        #[test]
        fn splitting_a_span_changes_no_more_than_the_last_bits(
            factor in 0.5..0.999_999_f64, first in 0..3_000_u64, second in 0..3_000_u64,
        ) {
            let decay = Decay::new(factor);
            let whole = decay.over(first + second);
            let apart = (whole - decay.over(first) * decay.over(second)).abs();
            // Below the smallest normal float the last bits are all there is.
            prop_assert!(apart <= whole * 1e-12 + f64::MIN_POSITIVE);
        }
    }

    #[test]
    fn no_ticks_leave_heat_as_it_is_even_at_factor_0() {
        assert_eq!(Decay::new(0.0).over(0), 1.0);
        assert_eq!(Decay::new(0.0).over(1), 0.0);
    }

    #[test]
    fn ticks_beyond_any_use_leave_nothing() {
        assert_eq!(Decay::new(0.999_999).over(u64::MAX), 0.0);
    }

    #[test]
    fn key_saturates() {
        assert_eq!(Heat::new(1e300, Tick(0)).key(&Decay::new(0.5), Tick(0)), u64::MAX);
    }

    #[test]
    fn idle_heat_keeps_falling_where_a_sweep_would_stick() {
        // Swept, 0.95 a tick never leaves the smallest float: rounding lifts it back, so idle tools would tie above 0.
        let mut swept = 1.0_f64;
        for _ in 0..20_000 {
            swept *= 0.95;
        }
        assert!(swept > 0.0);
        assert_eq!(Heat::new(1.0, Tick(0)).value(&Decay::new(0.95), Tick(20_000)), 0.0);
    }

    #[test]
    fn resumed_heat_has_not_aged() {
        let decay = Decay::new(0.5);
        let mut heat = Heat::new(4.0, Tick(10));
        heat.settle(&decay, Tick(11));
        heat.resume(Tick(1_000));
        assert_eq!(heat.value(&decay, Tick(1_001)), 1.0);
    }

    #[test]
    fn heat_reads_back_the_same() {
        let heat = Heat::new(1.0 + 0.95_f64 * 0.95, Tick(7));
        assert_eq!(serde_json::from_str::<Heat>(&serde_json::to_string(&heat).unwrap()).unwrap(), heat);
    }
}

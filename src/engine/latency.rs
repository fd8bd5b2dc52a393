//! Latencies of one kind, counted by size, so that quantiles can be told without keeping every value.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Buckets a doubling; a quantile is off by less than 6 %.
const PER_DOUBLING: u32 = 8;

/// Doublings covered from one microsecond on: up to about four minutes.
const DOUBLINGS: u32 = 28;

const N_BUCKETS: usize = (PER_DOUBLING * DOUBLINGS) as usize;

/// A histogram that many threads may count into.
pub struct Latencies {
    buckets: [AtomicU64; N_BUCKETS],
}

impl Default for Latencies {
    fn default() -> Self {
        Self { buckets: std::array::from_fn(|_| AtomicU64::new(0)) }
    }
}

impl Latencies {
    /// Counts one.
    pub fn record(&self, latency: Duration) {
        let micros = latency.as_secs_f64() * 1e6;
        let place = (micros.max(1.0).log2() * f64::from(PER_DOUBLING)) as usize;
        self.buckets[place.min(N_BUCKETS - 1)].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the latency that a share `q` of all is below, `None` before the first; `q` in 0..=1.
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        let counts: Vec<u64> = self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).collect();
        let total: u64 = counts.iter().sum();
        if total == 0 {
            return None;
        }
        let wanted = ((total as f64 * q).ceil() as u64).max(1);
        let mut seen = 0;
        for (place, count) in counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                // The middle of the bucket.
                let micros = 2f64.powf((place as f64 + 0.5) / f64::from(PER_DOUBLING));
                return Some(Duration::from_secs_f64(micros / 1e6));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_a_bucket() {
        let latencies = Latencies::default();
        for micros in 1..=1000 {
            latencies.record(Duration::from_micros(micros));
        }
        let check = |q: f64, micros: f64| {
            let found = latencies.quantile(q).unwrap().as_secs_f64() * 1e6;
            assert!((found / micros - 1.0).abs() < 0.06, "{q}: {found} is not {micros}");
        };
        check(0.5, 500.0);
        check(0.99, 990.0);
    }

    #[test]
    fn nothing_counted_has_no_quantile() {
        assert_eq!(Latencies::default().quantile(0.5), None);
    }
}

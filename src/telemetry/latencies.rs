//! Durations counted finely enough to name a quantile. Prometheus' buckets are too coarse for that, and are read by
//! others; this answers `GetStats`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Buckets to a doubling: a quantile is off by at most 1/64 of itself.
const STEPS: u64 = 32;
/// Buckets in all; the last one begins above two hours.
const BUCKETS: usize = 1_280;

/// Counts durations without waiting for anybody; about 10 KiB.
pub(super) struct Latencies(Box<[AtomicU64]>);

impl Default for Latencies {
    fn default() -> Self {
        Self((0..BUCKETS).map(|_| AtomicU64::new(0)).collect())
    }
}

impl Latencies {
    /// Counts one duration.
    pub(super) fn record(&self, elapsed: Duration) {
        let nanos = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        self.0[bucket(nanos)].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the duration that a share `quantile` (0..=1) of all durations did not exceed, or `None` where there are
    /// none.
    pub(super) fn quantile(&self, quantile: f64) -> Option<Duration> {
        let counts: Vec<u64> = self.0.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        let total: u64 = counts.iter().sum();
        let wanted = ((total as f64 * quantile).ceil() as u64).clamp(1, total.max(1));
        let mut seen = 0;
        for (i, count) in counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return Some(Duration::from_nanos(middle(i as u64)));
            }
        }
        None
    }
}

/// Below 32 ns a bucket a nanosecond, from there on 32 buckets to each doubling.
fn bucket(nanos: u64) -> usize {
    if nanos < STEPS {
        return nanos as usize;
    }
    let doublings = u64::from(nanos.ilog2() - STEPS.ilog2());
    let step = (nanos >> doublings) - STEPS;
    ((STEPS + doublings * STEPS + step) as usize).min(BUCKETS - 1)
}

/// Returns the middle of a bucket, in nanoseconds.
fn middle(bucket: u64) -> u64 {
    if bucket < STEPS {
        return bucket;
    }
    let (doublings, step) = ((bucket - STEPS) / STEPS, (bucket - STEPS) % STEPS);
    ((STEPS + step) << doublings) + (1 << doublings) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_counted_has_no_quantile() {
        assert_eq!(Latencies::default().quantile(0.5), None);
    }

    #[test]
    fn quantiles_are_off_by_less_than_two_percent() {
        let latencies = Latencies::default();
        for micros in 1..=1_000 {
            latencies.record(Duration::from_micros(micros));
        }
        for (quantile, micros) in [(0.0, 1.0), (0.5, 500.0), (0.99, 990.0), (1.0, 1_000.0)] {
            let found = latencies.quantile(quantile).unwrap().as_nanos() as f64 / 1_000.0;
            assert!((found / micros - 1.0).abs() < 0.02, "{quantile}: {found} µs");
        }
    }

    #[test]
    fn every_duration_has_a_bucket() {
        let latencies = Latencies::default();
        for elapsed in [Duration::ZERO, Duration::from_nanos(31), Duration::from_nanos(32), Duration::MAX] {
            latencies.record(elapsed);
        }
        assert_eq!(latencies.quantile(0.0), Some(Duration::ZERO));
        assert!(latencies.quantile(1.0).unwrap() > Duration::from_secs(3_600));
    }

    #[test]
    fn a_bucket_holds_its_own_middle() {
        for i in 0..BUCKETS as u64 {
            assert_eq!(bucket(middle(i)), i as usize);
        }
    }
}

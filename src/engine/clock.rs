//! The only reader of time. Everything else is told the time or asks a [`Clock`], so that a test can be one.
//!
//! Two times, because they answer different questions: wall time is stamped on causes and may be stepped by whoever
//! sets the machine's clock; monotonic time measures durations and only moves forward.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use crate::core::ids::UnixMillis;

/// Tells the time.
pub trait Clock: Send + Sync + 'static {
    /// Returns the wall time; it may step in either direction between two calls.
    fn now(&self) -> UnixMillis;

    /// Returns the time since the clock was made; never less than before.
    fn monotonic(&self) -> Duration;
}

/// The machine's clock.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// Starts the monotonic time at zero.
    #[allow(clippy::disallowed_methods, reason = "this file is the one place that reads the machine's clock")]
    pub fn new() -> Self {
        Self { start: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "this file is the one place that reads the machine's clock")]
    fn now(&self) -> UnixMillis {
        let millis = |span: Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
            Ok(since) => UnixMillis(millis(since)),
            Err(before) => UnixMillis(-millis(before.duration())),
        }
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }
}

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub struct ManualClock {
    times: Mutex<(UnixMillis, Duration)>,
}

impl ManualClock {
    /// Makes a clock that shows `now`, with the monotonic time at zero.
    pub fn at(now: UnixMillis) -> Self {
        Self { times: Mutex::new((now, Duration::ZERO)) }
    }

    /// Lets time pass: wall and monotonic time both move forward.
    pub fn advance(&self, by: Duration) {
        self.change(|(now, monotonic)| {
            now.0 = now.0.saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX));
            *monotonic = monotonic.saturating_add(by);
        });
    }

    /// Sets the wall time, as somebody setting the machine's clock would: no time passes.
    pub fn step_to(&self, to: UnixMillis) {
        self.change(|(now, _)| *now = to);
    }

    fn change(&self, how: impl FnOnce(&mut (UnixMillis, Duration))) {
        how(&mut self.times.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn read(&self) -> (UnixMillis, Duration) {
        *self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> UnixMillis {
        self.read().0
    }

    fn monotonic(&self) -> Duration {
        self.read().1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advancing_moves_both_times_and_stepping_only_the_wall() {
        let clock = ManualClock::at(UnixMillis(1_000));
        clock.advance(Duration::from_secs(2));
        clock.step_to(UnixMillis(0));
        assert_eq!(clock.now(), UnixMillis(0));
        assert_eq!(clock.monotonic(), Duration::from_secs(2));
    }

    #[test]
    fn system_clock_shows_this_century() {
        let clock = SystemClock::new();
        assert!(clock.now() > UnixMillis(946_684_800_000));
        assert!(clock.monotonic() <= clock.monotonic());
    }
}

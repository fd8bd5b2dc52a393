//! Two of the figures over the last five minutes, so that a plain look at `/metrics` shows them without a query.

use std::collections::VecDeque;

use crate::core::event::Presence;
use crate::core::figures::Figures;
use crate::core::ids::UnixMillis;

const LENGTH_MS: i64 = 5 * 60 * 1_000;
/// Samples closer together than this are not kept, so that a window holds some 60 of them however often it is read.
const SPACING_MS: i64 = 5_000;

/// The sums of one moment.
#[derive(Clone, Copy, Default)]
pub(super) struct Sums {
    present: u64,
    calls: u64,
    placed: u64,
    window: u64,
}

impl Sums {
    /// Adds a namespace's figures.
    pub(super) fn add(&mut self, figures: &Figures) {
        self.present += figures.calls.get(Presence::Resident) + figures.calls.get(Presence::Issued);
        self.calls += figures.calls.total() - figures.calls.get(Presence::Unknown);
        self.placed += figures.tokens.placed();
        self.window += figures.tokens.window;
    }
}

/// The two ratios; not a number where nothing was counted, since neither 0 nor 1 would be true.
#[derive(Debug, PartialEq)]
pub(super) struct Ratios {
    pub(super) presence: f64,
    pub(super) injection_share: f64,
}

/// The sums of the last five minutes, oldest first.
#[derive(Default)]
pub(super) struct Window(VecDeque<(UnixMillis, Sums)>);

impl Window {
    /// Takes the sums as they stand at `now` and returns the ratios of what was added within five minutes.
    pub(super) fn ratios(&mut self, now: UnixMillis, sums: Sums) -> Ratios {
        // A clock that was set back would otherwise hold old samples for as long as it was set back.
        self.0.retain(|(at, _)| *at <= now);
        // The newest sample that is five minutes old is where the window begins.
        while self.0.get(1).is_some_and(|(at, _)| now.0 - at.0 >= LENGTH_MS) {
            self.0.pop_front();
        }
        if self.0.back().is_none_or(|(at, _)| now.0 - at.0 >= SPACING_MS) {
            self.0.push_back((now, sums));
        }
        let start = self.0.front().map_or(sums, |(_, sums)| *sums);
        let since = |now: u64, then: u64| now.saturating_sub(then) as f64;
        Ratios {
            presence: since(sums.present, start.present) / since(sums.calls, start.calls),
            injection_share: since(sums.placed, start.placed) / since(sums.window, start.window),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(window: &mut Window, secs: i64, present: u64, calls: u64) -> f64 {
        window.ratios(UnixMillis(secs * 1_000), Sums { present, calls, placed: 0, window: 0 }).presence
    }

    #[test]
    fn what_was_counted_before_the_window_is_left_out() {
        let mut window = Window::default();
        assert!(at(&mut window, 0, 100, 100).is_nan());
        assert_eq!(at(&mut window, 60, 101, 102), 0.5);
        assert_eq!(at(&mut window, 300, 101, 110), 0.1);
        assert_eq!(at(&mut window, 360, 102, 112), 0.1);
        assert!(at(&mut window, 1_000, 102, 112).is_nan());
    }

    #[test]
    fn reading_often_keeps_few_samples() {
        let mut window = Window::default();
        for tenths in 0..10_000 {
            window.ratios(UnixMillis(tenths * 100), Sums::default());
        }
        assert!(window.0.len() <= 62, "{}", window.0.len());
    }

    #[test]
    fn a_clock_set_back_starts_the_window_again() {
        let mut window = Window::default();
        at(&mut window, 1_000, 0, 0);
        assert!(at(&mut window, 10, 5, 10).is_nan());
        assert_eq!(at(&mut window, 20, 10, 20), 0.5);
    }
}

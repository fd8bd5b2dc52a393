//! What the hot pool remembers of one tool's use.

use serde::{Deserialize, Serialize};

use crate::core::heat::{Decay, Heat, to_key};
use crate::core::ids::Tick;

/// Where the order of seeding starts on the scale of ticks: so far below tick 1 that no number of seeds reaches it, and
/// small enough for every JSON reader.
const FIRST_SEED: i64 = -(1 << 40);

/// The use of one tool that was called or seeded.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Usage {
    /// Its decayed call count.
    pub heat: Heat,
    /// The tick of its last call. Seeded tools stand before tick 1 in the order of seeding, the first one furthest
    /// back: negative.
    pub last_use: i64,
    /// Calls counted.
    pub calls: u64,
    /// The heat that its registration gave it, 0 for none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub seed: f64,
    /// Whether its heat stands still.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub frozen: bool,
}

impl Usage {
    /// Returns the record of a tool called for the first time; the call itself is not in it.
    pub(super) fn uncalled(tick: Tick) -> Self {
        Self { heat: Heat::new(0.0, tick), last_use: 0, calls: 0, seed: 0.0, frozen: false }
    }

    /// Returns the record of the tool seeded as the `n_before + 1`st.
    pub(super) fn seeded(initial_score: f64, n_before: u32, tick: Tick) -> Self {
        Self {
            heat: Heat::new(initial_score, tick),
            last_use: FIRST_SEED + i64::from(n_before),
            seed: initial_score,
            ..Self::uncalled(tick)
        }
    }

    /// Returns the key of its heat after tick `now`.
    pub fn heat_key(&self, decay: &Decay, now: Tick) -> u64 {
        if self.frozen { to_key(self.heat.settled_value()) } else { self.heat.key(decay, now) }
    }

    /// Adds the call that tick `now` is.
    pub(super) fn count(&mut self, decay: &Decay, now: Tick) {
        if self.frozen {
            self.heat.resume(now);
        }
        self.heat.add_call(decay, now);
        // Ticks are counted one by one, so they stay far below the sign bit.
        self.last_use = now.0 as i64;
        self.calls += 1;
    }

    /// Ages the heat to tick `now`, unless it stands still.
    pub(super) fn settle(&mut self, decay: &Decay, now: Tick) {
        if !self.frozen {
            self.heat.settle(decay, now);
        }
    }

    /// Stops the heat at tick `now`.
    pub(super) fn freeze(&mut self, decay: &Decay, now: Tick) {
        self.settle(decay, now);
        self.frozen = true;
    }

    /// Lets the heat age again from tick `now` on.
    pub(super) fn thaw(&mut self, now: Tick) {
        if self.frozen {
            self.heat.resume(now);
            self.frozen = false;
        }
    }
}

fn is_zero(score: &f64) -> bool {
    *score == 0.0
}

//! The closed set of pool policies: when a pool is due for a re-rank, and by what a tool ranks.
//!
//! Everything else (slots, pins, eligibility, ties, reasons) is the same for all of them and stands in the parent
//! module. Before editing, know that a rank decides from one tool's own record: comparing pairs of decayed heats is
//! not transitive, one number per tool is.

use serde::{Deserialize, Serialize};

use super::table::UsageTable;
use super::usage::Usage;
use crate::core::heat::{Decay, to_key};
use crate::core::ids::Tick;
use crate::core::policy::{HotPoolPolicy, PoolPolicy};

/// By what a tool competes for a slot; the greater one is resident. Equal ranks go by tool id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct Rank {
    /// What the policy ranks by, calls times 2^30.
    pub key: u64,
    /// The last use, as [`Usage::last_use`] counts.
    pub last_use: i64,
}

/// What one pool policy decides.
pub(super) trait PoolRule: Sync {
    /// Returns whether the pool is ranked anew after this tick.
    fn is_due(&self, policy: &HotPoolPolicy, tick: Tick) -> bool;

    /// Returns how a tool with this record and this heat now ranks; `None` where it is resident only if pinned.
    fn rank(&self, usage: &Usage, heat_key: u64) -> Option<Rank>;

    /// Returns a bound on the rank, after tick `now`, of every tool whose heat ages and was last written at `written` or
    /// before; `None` where that says nothing of it.
    fn bound(&self, written: Tick, now: Tick, decay: &Decay, usage: &UsageTable) -> Option<Rank>;
}

/// Returns the rule behind the word of a policy.
pub(super) fn rule_of(policy: PoolPolicy) -> &'static dyn PoolRule {
    match policy {
        PoolPolicy::Ewma => &Ewma,
        PoolPolicy::Lru => &Lru,
        PoolPolicy::Static => &Static,
    }
}

/// By heat, every so many ticks: a one-off call does not push out a regular.
struct Ewma;

impl PoolRule for Ewma {
    fn is_due(&self, policy: &HotPoolPolicy, tick: Tick) -> bool {
        tick.0.is_multiple_of(u64::from(policy.every))
    }

    fn rank(&self, usage: &Usage, heat_key: u64) -> Option<Rank> {
        Some(Rank { key: heat_key, last_use: usage.last_use })
    }

    fn bound(&self, written: Tick, now: Tick, decay: &Decay, usage: &UsageTable) -> Option<Rank> {
        // A call writes the heat, so the last use is no later.
        Some(Rank { key: to_key(usage.most_left(written, decay, now)), last_use: written.0 as i64 })
    }
}

/// By last use at every tick: whatever is called is resident from the next step on.
struct Lru;

impl PoolRule for Lru {
    fn is_due(&self, _policy: &HotPoolPolicy, _tick: Tick) -> bool {
        true
    }

    fn rank(&self, usage: &Usage, _heat_key: u64) -> Option<Rank> {
        Some(Rank { key: 0, last_use: usage.last_use })
    }

    fn bound(&self, written: Tick, _now: Tick, _decay: &Decay, _usage: &UsageTable) -> Option<Rank> {
        Some(Rank { key: 0, last_use: written.0 as i64 })
    }
}

/// By what registration gave: calls move nothing, so it is never due.
struct Static;

impl PoolRule for Static {
    fn is_due(&self, _policy: &HotPoolPolicy, _tick: Tick) -> bool {
        false
    }

    fn rank(&self, usage: &Usage, _heat_key: u64) -> Option<Rank> {
        let is_seeded = usage.seed > 0.0;
        is_seeded.then(|| Rank { key: to_key(usage.seed), last_use: 0 })
    }

    fn bound(&self, _written: Tick, _now: Tick, _decay: &Decay, _usage: &UsageTable) -> Option<Rank> {
        None
    }
}

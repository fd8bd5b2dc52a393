//! The hot pool: which tools' definitions are resident, chosen from use.
//!
//! Decides and says why; whether a tool may be resident at all, and whether it is pinned, is the caller's to say.
//! `rules` holds what the pool policies differ in, `usage` what is remembered of a tool, `table` of all of them,
//! `published` what plans read.
//! Before editing, know the two moments: a *re-rank* lets everybody compete and comes when the policy says; a *refill*
//! comes when eligibility, seeds, pins or slots changed, and lets members keep their slots.

mod published;
mod rules;
mod table;
mod usage;

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use published::{PublishedPool, Score};
pub use rules::Rank;
pub use usage::Usage;

use super::event::{PoolMove, PoolReason, PoolReranked};
use super::heat::Decay;
use super::ids::{Epoch, Tick, ToolId};
use super::policy::HotPoolPolicy;
use table::UsageTable;

/// The tools whose definitions are resident, and the use they are chosen from.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct HotPool {
    epoch: Epoch,
    members: Vec<ToolId>,
    usage: UsageTable,
    n_seeded: u32,
    published: Arc<PublishedPool>,
}

/// Whether those who hold a slot keep it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Incumbents {
    Compete,
    Stay,
}

/// A tool that could hold a slot, by what it is chosen: the greatest first, then by id.
struct Candidate<'a> {
    tool: &'a ToolId,
    is_pinned: bool,
    stays: bool,
    rank: Rank,
}

impl<'a> Candidate<'a> {
    /// The order in which slots are given.
    fn claim(&self) -> impl Ord + use<'a> {
        (Reverse(self.is_pinned), Reverse(self.stays), Reverse(self.rank), self.tool)
    }

    /// The order in which members are listed.
    fn place(&self) -> impl Ord + use<'a> {
        (Reverse(self.is_pinned), Reverse(self.rank), self.tool)
    }
}

/// The best ranks met so far.
struct Best {
    n: usize,
    ranks: BinaryHeap<Reverse<Rank>>,
}

impl Best {
    fn new(n: usize) -> Self {
        Self { n, ranks: BinaryHeap::new() }
    }

    /// Returns whether a tool of this rank may be among the best. Where ranks are equal the tool's name decides, so it may.
    fn may_take(&self, rank: Rank) -> bool {
        self.ranks.len() < self.n || self.ranks.peek().is_some_and(|Reverse(worst)| rank >= *worst)
    }

    fn note(&mut self, rank: Rank) {
        self.ranks.push(Reverse(rank));
        if self.ranks.len() > self.n {
            self.ranks.pop();
        }
    }
}

impl HotPool {
    /// Returns the pool's number: 0 before it ever had a member, and one more with every change of members.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Returns the members, best first as of the epoch's start: one epoch names one list.
    pub fn members(&self) -> &[ToolId] {
        &self.members
    }

    /// Returns what is known of a tool's use; `None` for a tool neither called nor seeded.
    pub fn usage(&self, tool: &ToolId) -> Option<&Usage> {
        self.usage.get(tool)
    }

    /// Returns a tool's heat after `tick`, in calls times 2^30; 0 for a tool never used.
    pub fn heat_key(&self, tool: &ToolId, tick: Tick, decay: &Decay) -> u64 {
        self.usage.get(tool).map_or(0, |usage| usage.heat_key(decay, tick))
    }

    /// Returns what plans may read: pool and scores as of the last boundary.
    pub fn published(&self) -> &Arc<PublishedPool> {
        &self.published
    }

    /// Gives a registered tool the heat it starts with, so that it can be resident before anybody called it.
    ///
    /// A score of 0 seeds nothing. A tool that is known already keeps its heat; its new score counts for the static
    /// policy only.
    pub fn seed(&mut self, tool: &ToolId, initial_score: f64, tick: Tick) {
        let is_known = self.usage.change(tool, |usage| usage.seed = initial_score).is_some();
        if !is_known && initial_score > 0.0 {
            self.usage.insert(tool.clone(), Usage::seeded(initial_score, self.n_seeded, tick));
            self.n_seeded += 1;
        }
    }

    /// Counts the call that `tick` is: every heat ages by one tick, the called tool's grows by 1.
    ///
    /// Heat that stands still does not age, and grows all the same.
    pub fn count(&mut self, policy: &HotPoolPolicy, tool: &ToolId, tick: Tick) {
        let decay = Decay::new(policy.decay);
        if self.usage.change(tool, |usage| usage.count(&decay, tick)).is_none() {
            let mut usage = Usage::uncalled(tick);
            usage.count(&decay, tick);
            self.usage.insert(tool.clone(), usage);
        }
    }

    /// Stops a tool's heat at `tick`, as for the time of a quarantine: a popular tool that broke comes back to its
    /// place. Does nothing for a tool never used, which has no heat to keep.
    pub fn freeze(&mut self, policy: &HotPoolPolicy, tool: &ToolId, tick: Tick) {
        let decay = Decay::new(policy.decay);
        self.usage.change(tool, |usage| usage.freeze(&decay, tick));
    }

    /// Lets a tool's heat age again from `tick` on.
    pub fn thaw(&mut self, tool: &ToolId, tick: Tick) {
        self.usage.change(tool, |usage| usage.thaw(tick));
    }

    /// Takes note at `tick` that another policy holds from here on: what was counted until then stands as it was counted.
    pub fn change_policy(&mut self, old: &HotPoolPolicy, new: &HotPoolPolicy, tick: Tick) {
        if old.decay != new.decay {
            let decay = Decay::new(old.decay);
            self.usage.change_all(|usage| usage.settle(&decay, tick));
        }
    }

    /// Returns whether the policy re-ranks after this tick.
    pub fn is_due(&self, policy: &HotPoolPolicy, tick: Tick) -> bool {
        rules::rule_of(policy.policy).is_due(policy, tick)
    }

    /// Chooses the pool anew at `tick` and says who goes in and out, and why.
    ///
    /// Pinned tools come first, then the best by the policy's rank; ties go to the last used, then to name and source:
    /// equal inputs give equal pools. A tool never called is no candidate unless it is pinned or seeded, so the pool may
    /// be short. Where nobody moves, epoch and order stay as they are.
    pub fn rerank(
        &self,
        policy: &HotPoolPolicy,
        tick: Tick,
        pinned: &BTreeSet<ToolId>,
        is_eligible: &dyn Fn(&ToolId) -> bool,
    ) -> PoolReranked {
        self.choose(policy, tick, pinned, is_eligible, Incumbents::Compete)
    }

    /// Mends the pool between re-ranks, after eligibility, seeds, pins or slots changed; `None` where nobody moves.
    ///
    /// Members that may not be resident any more leave at once, pinned tools enter at once, and free slots go to the
    /// next by rank. All others keep their slots until the next re-rank.
    pub fn refill(
        &self,
        policy: &HotPoolPolicy,
        tick: Tick,
        pinned: &BTreeSet<ToolId>,
        is_eligible: &dyn Fn(&ToolId) -> bool,
    ) -> Option<PoolReranked> {
        let chosen = self.choose(policy, tick, pinned, is_eligible, Incumbents::Stay);
        (chosen.epoch != self.epoch).then_some(chosen)
    }

    /// Takes over a pool that was decided. Plans read it once it is published.
    pub fn apply(&mut self, reranked: &PoolReranked) {
        self.epoch = reranked.epoch;
        self.members.clone_from(&reranked.members);
    }

    /// Lets plans read the pool, and every score as it stands after `tick`. Costs one pass over all tools.
    pub fn publish(&mut self, policy: &HotPoolPolicy, tick: Tick) {
        let decay = Decay::new(policy.decay);
        let rule = rules::rule_of(policy.policy);
        let to_score = |usage: &Usage| {
            let heat = usage.heat_key(&decay, tick);
            Score { heat, rank: rule.rank(usage, heat) }
        };
        // Collected, because a map built from what is sorted already costs a fraction of as many insertions.
        let scores = self.usage.iter().map(|(tool, usage)| (tool.clone(), to_score(usage)));
        let scores: Arc<BTreeMap<ToolId, Score>> = Arc::new(scores.collect());
        let is_same_epoch = self.published.epoch == self.epoch;
        let epoch_scores = if is_same_epoch { self.published.epoch_scores.clone() } else { scores.clone() };
        self.published = Arc::new(PublishedPool {
            epoch: self.epoch,
            tick,
            decay: policy.decay,
            members: self.members.clone(),
            scores,
            epoch_scores,
        });
    }

    fn choose(
        &self,
        policy: &HotPoolPolicy,
        tick: Tick,
        pinned: &BTreeSet<ToolId>,
        is_eligible: &dyn Fn(&ToolId) -> bool,
        incumbents: Incumbents,
    ) -> PoolReranked {
        let slots = policy.slots as usize;
        let before: BTreeSet<&ToolId> = self.members.iter().collect();
        // Those who would have held a slot of the former pool are looked for too: they tell fewer slots from being
        // outranked.
        let n_best = slots.max(self.members.len());
        let mut candidates = self.candidates(policy, tick, pinned, is_eligible, n_best);
        if incumbents == Incumbents::Stay {
            for candidate in &mut candidates {
                candidate.stays = before.contains(candidate.tool);
            }
        }
        candidates.sort_unstable_by_key(Candidate::claim);
        candidates.truncate(n_best);
        let cut_off = candidates.split_off(slots.min(candidates.len()));
        candidates.sort_unstable_by_key(Candidate::place);

        let mut entered = Vec::new();
        for candidate in candidates.iter().filter(|candidate| !before.contains(candidate.tool)) {
            let reason = self.entry_reason(candidate, incumbents);
            entered.push(PoolMove { tool: candidate.tool.clone(), reason });
        }
        let now: BTreeSet<&ToolId> = candidates.iter().map(|candidate| candidate.tool).collect();
        let mut left = Vec::new();
        for tool in self.members.iter().filter(|tool| !now.contains(tool)) {
            let reason = if !is_eligible(tool) {
                PoolReason::Unavailable
            } else if slots < before.len() && cut_off.iter().any(|candidate| candidate.tool == tool) {
                PoolReason::FewerSlots
            } else {
                PoolReason::Outranked
            };
            left.push(PoolMove { tool: tool.clone(), reason });
        }

        debug_assert!(candidates.len() <= slots);
        debug_assert!(candidates.iter().all(|candidate| is_eligible(candidate.tool)));
        if entered.is_empty() && left.is_empty() {
            return PoolReranked { epoch: self.epoch, tick, members: self.members.clone(), entered, left };
        }
        let members = candidates.iter().map(|candidate| candidate.tool.clone()).collect();
        PoolReranked { epoch: self.epoch.next(), tick, members, entered, left }
    }

    /// Lists tools that may hold a slot, in no order, each once: the members, the pinned ones, and of all others at least
    /// those that are among the `n_best` by rank.
    fn candidates<'a>(
        &'a self,
        policy: &HotPoolPolicy,
        tick: Tick,
        pinned: &'a BTreeSet<ToolId>,
        is_eligible: &dyn Fn(&ToolId) -> bool,
        n_best: usize,
    ) -> Vec<Candidate<'a>> {
        let decay = Decay::new(policy.decay);
        let rule = rules::rule_of(policy.policy);
        let rank_of = |usage: &Usage| rule.rank(usage, usage.heat_key(&decay, tick));
        let mut candidates = Vec::new();
        let mut best = Best::new(n_best);

        // These are wanted, or may be hot, whenever their heat was written.
        let mut named: BTreeSet<&ToolId> = pinned.iter().chain(&self.members).collect();
        named.extend(self.usage.standing());
        for &tool in &named {
            let rank = self.usage.get(tool).and_then(rank_of);
            let is_pinned = pinned.contains(tool);
            if (is_pinned || rank.is_some()) && is_eligible(tool) {
                let rank = rank.unwrap_or_default();
                best.note(rank);
                candidates.push(Candidate { tool, is_pinned, stays: false, rank });
            }
        }
        for (tool, usage) in self.usage.youngest_first() {
            let bound = rule.bound(usage.heat.settled_at(), tick, &decay, &self.usage);
            if bound.is_some_and(|bound| !best.may_take(bound)) {
                break;
            }
            if let Some(rank) = rank_of(usage)
                && best.may_take(rank)
                && !named.contains(tool)
                && is_eligible(tool)
            {
                best.note(rank);
                candidates.push(Candidate { tool, is_pinned: false, stays: false, rank });
            }
        }
        candidates
    }

    fn entry_reason(&self, candidate: &Candidate<'_>, incumbents: Incumbents) -> PoolReason {
        let was_called = self.usage.get(candidate.tool).is_some_and(|usage| usage.calls > 0);
        if candidate.is_pinned {
            PoolReason::Pinned
        } else if !was_called {
            PoolReason::Seeded
        } else if incumbents == Incumbents::Stay {
            PoolReason::FilledSlot
        } else {
            PoolReason::Score
        }
    }
}

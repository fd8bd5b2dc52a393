//! Counting calls and choosing the hot pool, against the plain form in the same run: a sweep over every tool at every
//! tick, and a sort of all of them at every re-rank.
//!
//! `ticks` are the ten calls of one interval of the default policy, `rerank` is the choice that follows them. `publish`
//! has no plain form: it is what readers without a lock cost at each boundary.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use divan::{Bencher, black_box};
use toolcrib::core::hot_pool::HotPool;
use toolcrib::core::ids::{Tick, ToolId};
use toolcrib::core::policy::{HotPoolPolicy, Policy};

const N_TOOLS: [usize; 3] = [40, 1_000, 10_000];

fn main() {
    divan::main();
}

fn tool_ids(n_tools: usize) -> Vec<ToolId> {
    (0..n_tools).map(|i| ToolId::new(format!("source_{}", i % 50), format!("tool_{i}"))).collect()
}

/// Which tool tick `tick` calls: a fixed, uneven walk over all of them.
fn called(tick: u64, n_tools: usize) -> usize {
    (tick.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as usize % n_tools
}

fn warm_ticks(n_tools: usize) -> u64 {
    2 * n_tools as u64
}

/// Every other tick walks over all tools, so that each has a record; the rest is as uneven as later.
fn warm_call(tick: u64, n_tools: usize) -> usize {
    // 7919 is prime to every number of tools here, so the walk leaves none out.
    if tick.is_multiple_of(2) { tick as usize / 2 * 7919 % n_tools } else { called(tick, n_tools) }
}

/// A pool in which every tool was called, some of them often, in no sorted order.
fn warm_pool(ids: &[ToolId], policy: &HotPoolPolicy) -> (HotPool, u64) {
    let mut pool = HotPool::default();
    for tick in 1..=warm_ticks(ids.len()) {
        pool.count(policy, &ids[warm_call(tick, ids.len())], Tick(tick));
    }
    (pool, warm_ticks(ids.len()))
}

/// The plain form: one flat list, swept.
struct EagerHeats {
    /// Heat and last use, in the order of `ids`.
    heats: Vec<(f64, u64)>,
    ids: Vec<ToolId>,
}

impl EagerHeats {
    fn warm(ids: Vec<ToolId>, decay: f64) -> Self {
        let mut eager = Self { heats: vec![(0.0, 0); ids.len()], ids };
        for tick in 1..=warm_ticks(eager.ids.len()) {
            eager.count(warm_call(tick, eager.ids.len()), tick, decay);
        }
        eager
    }

    fn count(&mut self, called: usize, tick: u64, decay: f64) {
        for (heat, _) in &mut self.heats {
            *heat *= decay;
        }
        let (heat, last_use) = &mut self.heats[called];
        *heat += 1.0;
        *last_use = tick;
    }

    fn rerank(&self, slots: usize) -> Vec<ToolId> {
        let mut order: Vec<usize> = (0..self.ids.len()).collect();
        order.sort_by_key(|&i| {
            let (heat, last_use) = self.heats[i];
            (Reverse((heat * f64::from(1 << 30)).round() as u64), Reverse(last_use), &self.ids[i])
        });
        order.iter().take(slots).map(|&i| self.ids[i].clone()).collect()
    }
}

#[divan::bench(args = N_TOOLS)]
fn ticks_lazy(bencher: Bencher, n_tools: usize) {
    let policy = Policy::default().hot_pool;
    let ids = tool_ids(n_tools);
    let (mut pool, mut tick) = warm_pool(&ids, &policy);
    bencher.bench_local(|| {
        for _ in 0..policy.every {
            tick += 1;
            pool.count(&policy, &ids[called(tick, n_tools)], Tick(tick));
        }
    });
}

#[divan::bench(args = N_TOOLS)]
fn ticks_swept(bencher: Bencher, n_tools: usize) {
    let policy = Policy::default().hot_pool;
    let mut eager = EagerHeats::warm(tool_ids(n_tools), policy.decay);
    let mut tick = warm_ticks(n_tools);
    bencher.bench_local(|| {
        for _ in 0..policy.every {
            tick += 1;
            eager.count(called(tick, n_tools), tick, black_box(policy.decay));
        }
    });
}

#[divan::bench(args = N_TOOLS)]
fn rerank_lazy(bencher: Bencher, n_tools: usize) {
    let policy = Policy::default().hot_pool;
    let (pool, tick) = warm_pool(&tool_ids(n_tools), &policy);
    bencher.bench_local(|| pool.rerank(&policy, Tick(tick), &BTreeSet::new(), &|_| true));
}

#[divan::bench(args = N_TOOLS)]
fn rerank_swept(bencher: Bencher, n_tools: usize) {
    let policy = Policy::default().hot_pool;
    let eager = EagerHeats::warm(tool_ids(n_tools), policy.decay);
    bencher.bench_local(|| eager.rerank(policy.slots as usize));
}

#[divan::bench(args = N_TOOLS)]
fn publish(bencher: Bencher, n_tools: usize) {
    let policy = Policy::default().hot_pool;
    let (mut pool, tick) = warm_pool(&tool_ids(n_tools), &policy);
    let reranked = pool.rerank(&policy, Tick(tick), &BTreeSet::new(), &|_| true);
    pool.apply(&reranked);
    bencher.bench_local(|| pool.publish(black_box(&policy), Tick(tick)));
}

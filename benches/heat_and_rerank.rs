//! Counting calls and choosing the hot pool, against the plain form in the same run: a sweep over every tool at every
//! tick, and a sort of all of them at every re-rank.
//!
//! One iteration is one re-rank interval of the default policy: ten ticks, one re-rank, its publication.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use divan::{Bencher, black_box};
use toolcrib::core::heat::Decay;
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

/// A pool in which every tool was called.
fn warm_pool(ids: &[ToolId], policy: &HotPoolPolicy) -> (HotPool, u64) {
    let decay = Decay::new(policy.decay);
    let mut pool = HotPool::default();
    for (i, id) in ids.iter().enumerate() {
        pool.count(id, Tick(i as u64 + 1), &decay);
    }
    (pool, ids.len() as u64)
}

#[divan::bench(args = N_TOOLS)]
fn lazy_heat(bencher: Bencher, n_tools: usize) {
    let policy = Policy::default().hot_pool;
    let decay = Decay::new(policy.decay);
    let ids = tool_ids(n_tools);
    let (mut pool, mut tick) = warm_pool(&ids, &policy);
    bencher.bench_local(|| {
        for _ in 0..policy.every {
            tick += 1;
            pool.count(&ids[called(tick, n_tools)], Tick(tick), &decay);
        }
        let reranked = pool.rerank(&policy, Tick(tick), &BTreeSet::new(), &|_| true);
        pool.apply(&reranked, &policy);
        black_box(pool.epoch())
    });
}

/// The ten ticks alone: what a call costs between re-ranks.
#[divan::bench(args = N_TOOLS)]
fn lazy_heat_ticks_only(bencher: Bencher, n_tools: usize) {
    let policy = Policy::default().hot_pool;
    let decay = Decay::new(policy.decay);
    let ids = tool_ids(n_tools);
    let (mut pool, mut tick) = warm_pool(&ids, &policy);
    bencher.bench_local(|| {
        for _ in 0..policy.every {
            tick += 1;
            pool.count(&ids[called(tick, n_tools)], Tick(tick), &decay);
        }
    });
}

#[divan::bench(args = N_TOOLS)]
fn eager_sweep(bencher: Bencher, n_tools: usize) {
    let policy = Policy::default().hot_pool;
    let ids = tool_ids(n_tools);
    let mut heats: Vec<(f64, u64)> = (0..n_tools).map(|i| (1.0, i as u64)).collect();
    let mut tick = n_tools as u64;
    bencher.bench_local(|| {
        for _ in 0..policy.every {
            tick += 1;
            for (heat, _) in &mut heats {
                *heat *= policy.decay;
            }
            let (heat, last_use) = &mut heats[called(tick, n_tools)];
            *heat += 1.0;
            *last_use = tick;
        }
        let mut order: Vec<usize> = (0..n_tools).collect();
        order.sort_by_key(|&i| {
            let (heat, last_use) = heats[i];
            (Reverse((heat * f64::from(1 << 30)).round() as u64), Reverse(last_use), &ids[i])
        });
        order.truncate(policy.slots as usize);
        black_box(order)
    });
}

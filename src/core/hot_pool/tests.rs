//! Who is resident, in which order and why; and the pool against a plain sweep over all tools.

use proptest::prelude::*;

use super::*;
use crate::core::policy::PoolPolicy;

fn tool(name: &str) -> ToolId {
    ToolId::new("s", name)
}

fn policy(kind: PoolPolicy, slots: u32) -> HotPoolPolicy {
    HotPoolPolicy { policy: kind, slots, every: 10, decay: 0.95 }
}

fn nobody() -> BTreeSet<ToolId> {
    BTreeSet::new()
}

/// Takes over what was decided and publishes it, as a namespace does.
fn take(pool: &mut HotPool, reranked: &PoolReranked, policy: &HotPoolPolicy) {
    pool.apply(reranked);
    pool.publish(policy, reranked.tick);
}

/// A pool after these calls, one a tick from 1, re-ranked at the last one.
fn called(names: &[&str], policy: &HotPoolPolicy) -> (HotPool, Tick) {
    let mut pool = HotPool::default();
    for (i, name) in names.iter().enumerate() {
        pool.count(policy, &tool(name), Tick(i as u64 + 1));
    }
    let tick = Tick(names.len() as u64);
    let reranked = pool.rerank(policy, tick, &nobody(), &|_| true);
    take(&mut pool, &reranked, policy);
    (pool, tick)
}

fn names(members: &[ToolId]) -> Vec<&str> {
    members.iter().map(|tool| &*tool.name).collect()
}

fn moves(moves: &[PoolMove]) -> Vec<(&str, PoolReason)> {
    moves.iter().map(|moved| (&*moved.tool.name, moved.reason)).collect()
}

#[test]
fn one_off_call_does_not_push_out_a_regular() {
    let calls = ["a", "b", "a", "b", "c"];
    assert_eq!(names(called(&calls, &policy(PoolPolicy::Ewma, 2)).0.members()), ["b", "a"]);
    assert_eq!(names(called(&calls, &policy(PoolPolicy::Lru, 2)).0.members()), ["c", "b"]);
}

#[test]
fn equal_heat_goes_to_the_last_used() {
    let mut policy = policy(PoolPolicy::Ewma, 1);
    policy.decay = 0.0;
    assert_eq!(names(called(&["a", "c", "b", "d"], &policy).0.members()), ["d"]);
    policy.slots = 3;
    assert_eq!(names(called(&["a", "c", "b", "d"], &policy).0.members()), ["d", "b", "c"]);
}

#[test]
fn equal_in_everything_else_the_name_decides_and_then_the_source() {
    let policy = policy(PoolPolicy::Ewma, 2);
    let twins = [ToolId::new("z", "b"), ToolId::new("y", "b"), ToolId::new("z", "a")];
    let pinned: BTreeSet<ToolId> = twins.iter().cloned().collect();
    let filled = HotPool::default().refill(&policy, Tick(0), &pinned, &|_| true).unwrap();
    assert_eq!(filled.members, [ToolId::new("z", "a"), ToolId::new("y", "b")]);
}

#[test]
fn pool_is_short_while_few_tools_were_called() {
    let (pool, tick) = called(&["a"], &policy(PoolPolicy::Ewma, 10));
    assert_eq!(names(pool.members()), ["a"]);
    assert_eq!((pool.epoch(), tick), (Epoch(1), Tick(1)));
}

#[test]
fn first_seeded_tool_is_least_recent() {
    let policy = policy(PoolPolicy::Lru, 2);
    let mut pool = HotPool::default();
    for name in ["b", "a", "c"] {
        pool.seed(&tool(name), 1.0, Tick(0));
    }
    let filled = pool.refill(&policy, Tick(0), &nobody(), &|_| true).unwrap();
    assert_eq!(moves(&filled.entered), [("c", PoolReason::Seeded), ("a", PoolReason::Seeded)]);
}

#[test]
fn seeding_again_keeps_the_heat_of_a_used_tool() {
    let policy = policy(PoolPolicy::Ewma, 2);
    let (mut pool, tick) = called(&["a", "a"], &policy);
    let before = pool.heat_key(&tool("a"), tick, &Decay::new(policy.decay));
    pool.seed(&tool("a"), 50.0, tick);
    pool.seed(&tool("b"), 0.0, tick);
    assert_eq!(pool.heat_key(&tool("a"), tick, &Decay::new(policy.decay)), before);
    assert!(pool.usage(&tool("b")).is_none());
}

#[test]
fn quarantined_member_leaves_at_once_and_the_next_fills() {
    let policy = policy(PoolPolicy::Ewma, 2);
    let (pool, tick) = called(&["a", "a", "b", "b", "c"], &policy);
    let is_eligible = |id: &ToolId| *id != tool("a");
    let mended = pool.refill(&policy, tick, &nobody(), &is_eligible).unwrap();
    assert_eq!(moves(&mended.left), [("a", PoolReason::Unavailable)]);
    assert_eq!(moves(&mended.entered), [("c", PoolReason::FilledSlot)]);
    assert_eq!(names(&mended.members), ["b", "c"]);
}

#[test]
fn refill_does_not_replace_a_member_by_a_hotter_tool() {
    let policy = policy(PoolPolicy::Ewma, 1);
    let (mut pool, tick) = called(&["a"], &policy);
    for i in 1..=3 {
        pool.count(&policy, &tool("b"), Tick(tick.0 + i));
    }
    assert_eq!(pool.refill(&policy, Tick(4), &nobody(), &|_| true), None);
    let reranked = pool.rerank(&policy, Tick(4), &nobody(), &|_| true);
    assert_eq!(moves(&reranked.entered), [("b", PoolReason::Score)]);
    assert_eq!(moves(&reranked.left), [("a", PoolReason::Outranked)]);
}

#[test]
fn pinned_tool_enters_at_once_and_stays_before_all_others() {
    let policy = policy(PoolPolicy::Ewma, 2);
    let (mut pool, tick) = called(&["a", "b", "b"], &policy);
    let pinned = BTreeSet::from([tool("never_called")]);
    let mended = pool.refill(&policy, tick, &pinned, &|_| true).unwrap();
    assert_eq!(moves(&mended.entered), [("never_called", PoolReason::Pinned)]);
    assert_eq!(moves(&mended.left), [("a", PoolReason::Outranked)]);
    take(&mut pool, &mended, &policy);
    assert_eq!(names(&pool.rerank(&policy, tick, &pinned, &|_| true).members), ["never_called", "b"]);
    assert_eq!(names(&pool.rerank(&policy, tick, &nobody(), &|_| true).members), ["b", "a"]);
}

#[test]
fn more_pinned_tools_than_slots_go_by_rank() {
    let policy = policy(PoolPolicy::Ewma, 2);
    let (pool, tick) = called(&["a", "b", "b", "c", "c", "c"], &policy);
    let pinned = BTreeSet::from([tool("a"), tool("b"), tool("never_called")]);
    assert_eq!(names(&pool.rerank(&policy, tick, &pinned, &|_| true).members), ["b", "a"]);
}

#[test]
fn fewer_slots_are_told_from_being_outranked() {
    let wide = policy(PoolPolicy::Ewma, 3);
    let (mut pool, _) = called(&["a", "b", "b", "c", "c", "c"], &wide);
    for i in 7..=9 {
        pool.count(&wide, &tool("d"), Tick(i));
    }
    let narrow = HotPoolPolicy { slots: 2, ..wide };
    let reranked = pool.rerank(&narrow, Tick(9), &nobody(), &|_| true);
    assert_eq!(moves(&reranked.left), [("b", PoolReason::FewerSlots), ("a", PoolReason::Outranked)]);
}

#[test]
fn static_pool_holds_seeded_tools_whatever_is_called() {
    let policy = policy(PoolPolicy::Static, 2);
    let mut pool = HotPool::default();
    pool.seed(&tool("b"), 1.0, Tick(0));
    pool.seed(&tool("a"), 1.0, Tick(0));
    pool.seed(&tool("c"), 2.0, Tick(0));
    for i in 1..=5 {
        pool.count(&policy, &tool("z"), Tick(i));
        assert!(!pool.is_due(&policy, Tick(i)));
    }
    let filled = pool.refill(&policy, Tick(5), &nobody(), &|_| true).unwrap();
    assert_eq!(names(&filled.members), ["c", "a"]);
}

#[test]
fn heat_does_not_age_in_quarantine() {
    let policy = policy(PoolPolicy::Ewma, 2);
    let decay = Decay::new(policy.decay);
    let (mut pool, tick) = called(&["a", "a"], &policy);
    let before = pool.heat_key(&tool("a"), tick, &decay);
    pool.freeze(&policy, &tool("a"), tick);
    pool.freeze(&policy, &tool("a"), Tick(500));
    assert_eq!(pool.heat_key(&tool("a"), Tick(900), &decay), before);
    pool.change_policy(&policy, &HotPoolPolicy { decay: 0.5, ..policy.clone() }, Tick(950));
    pool.thaw(&tool("a"), Tick(1_000));
    assert_eq!(pool.heat_key(&tool("a"), Tick(1_000), &decay), before);
    assert!(pool.heat_key(&tool("a"), Tick(1_001), &decay) < before);
}

#[test]
fn call_in_quarantine_adds_to_the_heat_that_stands_still() {
    let policy = HotPoolPolicy { decay: 0.5, ..policy(PoolPolicy::Ewma, 2) };
    let decay = Decay::new(policy.decay);
    let mut pool = HotPool::default();
    pool.count(&policy, &tool("a"), Tick(1));
    pool.freeze(&policy, &tool("a"), Tick(1));
    pool.count(&policy, &tool("a"), Tick(100));
    assert_eq!(pool.heat_key(&tool("a"), Tick(200), &decay), 2 << 30);
}

#[test]
fn scores_are_published_at_boundaries_only() {
    let policy = policy(PoolPolicy::Ewma, 2);
    let decay = Decay::new(policy.decay);
    let (mut pool, tick) = called(&["a"], &policy);
    pool.count(&policy, &tool("a"), Tick(2));
    assert_eq!(pool.published().heat_key(&tool("a")), 1 << 30);
    let unmoved = pool.rerank(&policy, Tick(2), &nobody(), &|_| true);
    assert_eq!((unmoved.epoch, unmoved.entered.len(), unmoved.left.len()), (pool.epoch(), 0, 0));
    take(&mut pool, &unmoved, &policy);
    assert_eq!(pool.published().heat_key(&tool("a")), pool.heat_key(&tool("a"), Tick(2), &decay));
    assert_eq!((pool.published().tick, tick), (Tick(2), Tick(1)));
}

#[test]
fn session_with_other_candidates_is_filled_by_published_rank() {
    let (pool, _) = called(&["a", "a", "a", "b", "b", "c", "d"], &policy(PoolPolicy::Ewma, 2));
    assert_eq!(names(pool.members()), ["a", "b"]);
    let residents = pool.published().residents(2, &|id| *id != tool("a"));
    assert_eq!(names(&residents), ["b", "d"]);
}

#[test]
fn pool_reads_back_the_same() {
    let policy = policy(PoolPolicy::Ewma, 2);
    let (mut pool, tick) = called(&["a", "b", "a"], &policy);
    pool.seed(&tool("c"), 0.1, tick);
    pool.freeze(&policy, &tool("a"), tick);
    let text = serde_json::to_string(&pool).unwrap();
    assert_eq!(serde_json::from_str::<HotPool>(&text).unwrap(), pool);
}

/// The plain form of the reference policy: every tick visits every tool, every re-rank sorts all of them.
#[derive(Default)]
struct EagerPool {
    heats: BTreeMap<ToolId, (f64, i64)>,
}

impl EagerPool {
    fn count(&mut self, called: &ToolId, tick: Tick, factor: f64) {
        for (heat, _) in self.heats.values_mut() {
            *heat *= factor;
        }
        let (heat, last_use) = self.heats.entry(called.clone()).or_default();
        *heat += 1.0;
        *last_use = tick.0 as i64;
    }

    fn best(&self, slots: usize) -> Vec<ToolId> {
        let mut all: Vec<_> = self.heats.iter().collect();
        all.sort_by_key(|&(tool, &(heat, last_use))| {
            (Reverse((heat * f64::from(1 << 30)).round() as u64), Reverse(last_use), tool)
        });
        all.into_iter().take(slots).map(|(tool, _)| tool.clone()).collect()
    }
}

fn any_kind() -> impl Strategy<Value = PoolPolicy> {
    prop::sample::select(vec![PoolPolicy::Ewma, PoolPolicy::Lru, PoolPolicy::Static])
}

fn any_decay() -> impl Strategy<Value = f64> {
    prop::sample::select(vec![0.0, 0.5, 0.9, 0.95, 0.999])
}

fn nth(n: u8) -> ToolId {
    // Two sources share names, so that the last tie-break is reached.
    ToolId::new(if n.is_multiple_of(2) { "even" } else { "odd" }, format!("t{}", n / 2))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pool_is_the_one_a_sweep_would_choose(
        calls in prop::collection::vec((0..20_u8, prop::option::weighted(0.02, any_decay())), 1..300),
        slots in 1..12_u32,
    ) {
        let mut policy = HotPoolPolicy { policy: PoolPolicy::Ewma, slots, every: 1, decay: 0.95 };
        let mut pool = HotPool::default();
        let mut eager = EagerPool::default();
        for (i, (called, new_decay)) in calls.into_iter().enumerate() {
            let tick = Tick(i as u64 + 1);
            if let Some(decay) = new_decay {
                let old = policy.clone();
                policy.decay = decay;
                pool.change_policy(&old, &policy, Tick(i as u64));
            }
            pool.count(&policy, &nth(called), tick);
            eager.count(&nth(called), tick, policy.decay);
            let reranked = pool.rerank(&policy, tick, &nobody(), &|_| true);
            take(&mut pool, &reranked, &policy);
            let members: BTreeSet<_> = reranked.members.into_iter().collect();
            prop_assert_eq!(members, eager.best(slots as usize).into_iter().collect::<BTreeSet<_>>());
        }
    }

    /// What stands still and what ages again, long after it was called, is not overlooked: the plain form looks at all.
    #[test]
    fn no_tool_is_overlooked_whenever_its_heat_was_written(
        kind in any_kind(),
        slots in 1..6_u32,
        seeds in prop::collection::vec((0..40_u8, 0.0..9.0_f64), 0..6),
        acts in prop::collection::vec((0..40_u8, 0..12_u8), 1..300),
    ) {
        let policy = policy(kind, slots);
        let decay = Decay::new(policy.decay);
        let mut pool = HotPool::default();
        for (n, score) in seeds {
            pool.seed(&nth(n), score, Tick(0));
        }
        let mut tick = Tick(0);
        for (n, act) in acts {
            match act {
                0 => pool.freeze(&policy, &nth(n), tick),
                1 => pool.thaw(&nth(n), tick),
                // A tool of the first few is called most of the time, so that the others' heat grows old.
                _ => {
                    tick = tick.next();
                    pool.count(&policy, &nth(if act > 3 { n % 4 } else { n }), tick);
                }
            }
            let reranked = pool.rerank(&policy, tick, &nobody(), &|_| true);
            let rule = rules::rule_of(kind);
            let mut all = Vec::new();
            for (tool, usage) in pool.usage.iter() {
                if let Some(rank) = rule.rank(usage, usage.heat_key(&decay, tick)) {
                    all.push((Reverse(rank), tool.clone()));
                }
            }
            all.sort();
            let best: BTreeSet<ToolId> = all.into_iter().take(slots as usize).map(|(_, tool)| tool).collect();
            take(&mut pool, &reranked, &policy);
            prop_assert_eq!(pool.members().iter().cloned().collect::<BTreeSet<_>>(), best);
        }
    }

    #[test]
    fn no_boundary_breaks_a_promise_and_a_second_one_changes_nothing(
        kind in any_kind(),
        slots in 1..8_u32,
        seeds in prop::collection::vec((0..20_u8, 0.0..5.0_f64), 0..6),
        pins in prop::collection::btree_set(0..20_u8, 0..4),
        rounds in prop::collection::vec(
            (prop::collection::vec(0..20_u8, 0..12), prop::collection::btree_set(0..20_u8, 0..8), any::<bool>()),
            1..12,
        ),
    ) {
        let policy = policy(kind, slots);
        let pinned: BTreeSet<ToolId> = pins.into_iter().map(nth).collect();
        let mut pool = HotPool::default();
        for (n, score) in seeds {
            pool.seed(&nth(n), score, Tick(0));
        }
        let mut tick = Tick(0);
        for (calls, out, is_rerank) in rounds {
            for n in calls {
                tick = tick.next();
                pool.count(&policy, &nth(n), tick);
            }
            let out: BTreeSet<ToolId> = out.into_iter().map(nth).collect();
            let is_eligible = |tool: &ToolId| !out.contains(tool);
            let before: BTreeSet<ToolId> = pool.members().iter().cloned().collect();
            let (epoch, chosen) = (pool.epoch(), if is_rerank {
                Some(pool.rerank(&policy, tick, &pinned, &is_eligible))
            } else {
                pool.refill(&policy, tick, &pinned, &is_eligible)
            });
            if let Some(chosen) = chosen {
                take(&mut pool, &chosen, &policy);
                let mut after = before;
                for moved in &chosen.left {
                    prop_assert!(after.remove(&moved.tool));
                }
                for moved in &chosen.entered {
                    prop_assert!(after.insert(moved.tool.clone()));
                }
                prop_assert_eq!(&after, &pool.members().iter().cloned().collect::<BTreeSet<_>>());
                let has_moved = !chosen.entered.is_empty() || !chosen.left.is_empty();
                prop_assert_eq!(chosen.epoch, if has_moved { epoch.next() } else { epoch });
            }

            prop_assert!(pool.members().len() <= slots as usize);
            prop_assert!(pool.members().iter().all(is_eligible));
            let n_pinned = pinned.iter().filter(|tool| is_eligible(tool)).count();
            let n_resident = pool.members().iter().filter(|tool| pinned.contains(tool)).count();
            prop_assert_eq!(n_resident, n_pinned.min(slots as usize));

            prop_assert_eq!(pool.refill(&policy, tick, &pinned, &is_eligible), None);
            if is_rerank {
                let again = pool.rerank(&policy, tick, &pinned, &is_eligible);
                let before = pool.clone();
                take(&mut pool, &again, &policy);
                prop_assert_eq!(&pool, &before);
            }
        }
    }

    #[test]
    fn static_pool_is_the_same_in_whatever_order_tools_came(
        order in Just((0..12_u8).collect::<Vec<_>>()).prop_shuffle(),
        slots in 1..12_u32,
    ) {
        // By heat or last use, the order of seeding is itself a rank; among seeded tools that never change it is not.
        let policy = policy(PoolPolicy::Static, slots);
        let pool_of = |order: &[u8]| {
            let mut pool = HotPool::default();
            for &n in order {
                pool.seed(&nth(n), f64::from(n % 3 + 1), Tick(0));
            }
            pool.rerank(&policy, Tick(0), &nobody(), &|_| true)
        };
        prop_assert_eq!(pool_of(&order), pool_of(&(0..12).collect::<Vec<_>>()));
    }
}

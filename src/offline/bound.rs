//! The exact clairvoyant bound: the best that any hot pool could have done that knew the whole trace beforehand.
//!
//! The pool is fixed between boundaries, and a tool can enter only at the end of an interval in which it was called: a
//! ranking by decayed use never moves up what nobody called. Residency is then a choice among stretches, each from one
//! interval with calls of a tool to the next, worth the calls of that next one; no more than `slots` of them may overlap.
//! That is a flow of `slots` units through the boundaries, and the best one is found by as many shortest paths (Carlisle
//! and Lloyd, *On the k-coloring of intervals*, 1995). Of equally good choices, the one with the fewest entries counts.
//!
//! Costs a few shortest paths over as many nodes as the trace has calls: time grows as `slots` × calls × log(calls).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::trace::{TraceLine, TraceTool};
use crate::core::ids::ToolId;

/// What the best possible pool would have come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bound {
    /// Slots that it had.
    pub slots: u32,
    /// Calls from one boundary to the next.
    pub every: u32,
    /// Calls of tools that the tools file knows.
    pub calls: u64,
    /// Calls whose tool was resident.
    pub present: u64,
    /// Tools that entered, the seeded ones at the start not counted.
    pub swapped_in: u64,
}

impl Bound {
    /// Returns the share of calls whose tool was resident, 0 to 1; `None` without calls.
    pub fn presence(&self) -> Option<f64> {
        (self.calls > 0).then(|| self.present as f64 / self.calls as f64)
    }
}

/// Finds the bound of a trace; `every` is at least 1. Tools with an initial score may be resident from the start.
pub fn clairvoyant(tools: &[TraceTool], trace: &[TraceLine], slots: u32, every: u32) -> Bound {
    let is_seeded: BTreeMap<&ToolId, bool> = tools.iter().map(|tool| (&tool.id, tool.initial_score > 0.0)).collect();
    let every = u64::from(every.max(1));
    let mut calls = 0;
    let mut intervals: BTreeMap<&ToolId, Vec<(usize, u64)>> = BTreeMap::new();
    for call in trace.iter().filter_map(|line| line.call.as_ref()) {
        if !is_seeded.contains_key(&call.tool) {
            continue;
        }
        let interval = (calls / every) as usize;
        calls += 1;
        let called = intervals.entry(&call.tool).or_default();
        match called.last_mut() {
            Some((last, n)) if *last == interval => *n += 1,
            _ => called.push((interval, 1)),
        }
    }
    // One call is worth more than any number of entries saved.
    let worth = calls as i64 + 1;
    let mut flow = Flow::new(calls.div_ceil(every) as usize + 1, slots);
    for (tool, called) in &intervals {
        flow.add_tool(called, worth, is_seeded.get(tool) == Some(&true));
    }
    let gained = flow.best();
    let swapped_in = flow.n_entries();
    let present = (gained + swapped_in as i64) / worth;
    Bound { slots, every: every as u32, calls, present: present as u64, swapped_in }
}

/// One direction of an arc; its reverse stands beside it, at the place with the last bit changed.
struct Arc {
    to: usize,
    capacity: u32,
    /// What a unit along it costs; gains are below 0.
    cost: i64,
}

/// Units that wander through the boundaries, each a slot: along the line while it is empty, along a tool while that tool
/// holds it.
struct Flow {
    slots: u32,
    arcs: Vec<Arc>,
    /// The arcs that leave a node.
    leaving: Vec<Vec<usize>>,
    /// Nodes in an order in which every arc leads forward: by boundary, and at each boundary those who arrive, the line,
    /// those who depart.
    order: Vec<(usize, Place)>,
    n_boundaries: usize,
    /// The arcs along which a tool enters.
    entries: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Arriving,
    Vacating,
    Filling,
    Departing,
}

impl Flow {
    fn new(n_boundaries: usize, slots: u32) -> Self {
        let mut flow =
            Self { slots, arcs: Vec::new(), leaving: Vec::new(), order: Vec::new(), n_boundaries, entries: Vec::new() };
        for boundary in 0..n_boundaries {
            flow.node(boundary, Place::Vacating);
            flow.node(boundary, Place::Filling);
        }
        for boundary in 0..n_boundaries {
            flow.arc(Self::vacating(boundary), Self::filling(boundary), slots, 0);
            if boundary + 1 < n_boundaries {
                flow.arc(Self::filling(boundary), Self::vacating(boundary + 1), slots, 0);
            }
        }
        flow
    }

    /// Where a slot is given up.
    fn vacating(boundary: usize) -> usize {
        2 * boundary
    }

    /// Where a slot is taken up.
    fn filling(boundary: usize) -> usize {
        2 * boundary + 1
    }

    fn node(&mut self, boundary: usize, place: Place) -> usize {
        self.order.push((boundary, place));
        self.leaving.push(Vec::new());
        self.leaving.len() - 1
    }

    fn arc(&mut self, from: usize, to: usize, capacity: u32, cost: i64) -> usize {
        let at = self.arcs.len();
        self.leaving[from].push(at);
        self.leaving[to].push(at + 1);
        self.arcs.push(Arc { to, capacity, cost });
        self.arcs.push(Arc { to: from, capacity: 0, cost: -cost });
        at
    }

    /// Adds the stretches of a tool that was called so often in these intervals.
    fn add_tool(&mut self, called: &[(usize, u64)], worth: i64, is_seeded: bool) {
        let mut departing: Option<usize> = None;
        for (i, &(interval, calls)) in called.iter().enumerate() {
            let gain = -(calls as i64 * worth);
            let boundary = interval + 1;
            let arriving = match departing {
                Some(from) => {
                    let arriving = self.node(boundary, Place::Arriving);
                    self.arc(from, arriving, 1, gain);
                    Some(arriving)
                }
                None if is_seeded => {
                    let arriving = self.node(boundary, Place::Arriving);
                    self.arc(Self::filling(0), arriving, 1, gain);
                    Some(arriving)
                }
                None => None,
            };
            if let Some(arriving) = arriving {
                self.arc(arriving, Self::vacating(boundary), 1, 0);
            }
            departing = (i + 1 < called.len()).then(|| {
                let departing = self.node(boundary, Place::Departing);
                let entry = self.arc(Self::filling(boundary), departing, 1, 1);
                self.entries.push(entry);
                if let Some(arriving) = arriving {
                    self.arc(arriving, departing, 1, 0);
                }
                departing
            });
        }
    }

    /// Sends every unit along the best way left, and returns what they gained together.
    fn best(&mut self) -> i64 {
        let (source, sink) = (Self::vacating(0), Self::filling(self.n_boundaries - 1));
        let mut potentials = self.forward_costs(source);
        let mut gained = 0;
        for _ in 0..self.slots {
            let (distances, reached_by) = self.shortest_paths(source, &potentials);
            for (potential, distance) in potentials.iter_mut().zip(&distances) {
                // Nodes out of reach now stay so: a unit opens ways back along its own path only.
                *potential += distance.unwrap_or(0);
            }
            let cost = potentials[sink] - potentials[source];
            if cost >= 0 {
                break;
            }
            gained -= cost;
            let mut node = sink;
            while node != source {
                let Some(arc) = reached_by[node] else { break };
                self.arcs[arc].capacity -= 1;
                self.arcs[arc ^ 1].capacity += 1;
                node = self.arcs[arc ^ 1].to;
            }
        }
        gained
    }

    /// Returns the cost of the cheapest way to each node while nothing flows: one pass in the order of the arcs. Nodes
    /// that cannot be reached get 0.
    fn forward_costs(&self, source: usize) -> Vec<i64> {
        let mut nodes: Vec<usize> = (0..self.order.len()).collect();
        nodes.sort_by_key(|&node| self.order[node]);
        let mut costs: Vec<Option<i64>> = vec![None; self.order.len()];
        costs[source] = Some(0);
        for node in nodes {
            let Some(cost) = costs[node] else { continue };
            for &at in &self.leaving[node] {
                let arc = &self.arcs[at];
                if arc.capacity > 0 {
                    let through = cost + arc.cost;
                    costs[arc.to] = Some(costs[arc.to].map_or(through, |known| known.min(through)));
                }
            }
        }
        costs.into_iter().map(|cost| cost.unwrap_or(0)).collect()
    }

    /// Returns how much further than its potential each node is, and the arc by which it is reached (Dijkstra).
    fn shortest_paths(&self, source: usize, potentials: &[i64]) -> (Vec<Option<i64>>, Vec<Option<usize>>) {
        let mut distances: Vec<Option<i64>> = vec![None; potentials.len()];
        let mut reached_by = vec![None; potentials.len()];
        let mut open = BinaryHeap::from([Reverse((0, source))]);
        distances[source] = Some(0);
        while let Some(Reverse((distance, node))) = open.pop() {
            if distances[node].is_some_and(|known| known < distance) {
                continue;
            }
            for &at in &self.leaving[node] {
                let arc = &self.arcs[at];
                if arc.capacity == 0 {
                    continue;
                }
                let through = distance + arc.cost + potentials[node] - potentials[arc.to];
                if distances[arc.to].is_none_or(|known| through < known) {
                    distances[arc.to] = Some(through);
                    reached_by[arc.to] = Some(at);
                    open.push(Reverse((through, arc.to)));
                }
            }
        }
        (distances, reached_by)
    }

    fn n_entries(&self) -> u64 {
        self.entries.iter().filter(|&&entry| self.arcs[entry].capacity == 0).count() as u64
    }
}

#[cfg(test)]
mod tests;

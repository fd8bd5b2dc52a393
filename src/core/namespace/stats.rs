//! Every tool with its figures, in the orders that operators ask for.

use super::super::event::{Presence, ToolState};
use super::super::figures::{ToolFigures, density, normalised_density};
use super::super::ids::{Alias, ToolId, Version};
use super::{Exposure, Namespace};

/// One tool with its figures.
#[derive(Clone, PartialEq, Debug)]
pub struct ToolStat {
    /// Which.
    pub tool: ToolId,
    /// Its current version.
    pub version: Version,
    /// The name under which models see it.
    pub alias: Alias,
    /// Where it stands now.
    pub state: ToolState,
    /// Calls counted.
    pub calls: u64,
    /// Heat now, in calls times 2^30.
    pub heat_key: u64,
    /// In how many steps it was in front of a model.
    pub exposure: Exposure,
    /// Calls by presence, endings and verdicts.
    pub figures: ToolFigures,
    /// Its normalised call density since it was made; `None` where it never had a line in the directory.
    pub density: Option<f64>,
}

/// How tools are ordered; ties go to the name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ToolOrder {
    /// Most calls first.
    Calls,
    /// Hottest first.
    Heat,
    /// Most failures of its own first.
    Failures,
    /// Most calls while absent first.
    Absent,
    /// Least called for what it was seen first; at equal density the one seen more often. Those never seen last.
    Density,
    /// By name, then source.
    Name,
}

/// A tool's place in an order: what is greater comes first.
pub type Rank = (u64, u64);

impl ToolStat {
    /// Returns its place in an order.
    pub fn rank(&self, order: ToolOrder) -> Rank {
        match order {
            ToolOrder::Calls => (self.calls, 0),
            ToolOrder::Heat => (self.heat_key, 0),
            ToolOrder::Failures => (self.figures.failures(), 0),
            ToolOrder::Absent => (self.figures.calls.get(Presence::Absent), 0),
            // The bits of numbers from 0 up are in the numbers' order.
            ToolOrder::Density => {
                self.density.map_or((0, 0), |density| (u64::MAX - density.to_bits(), self.exposure.directory))
            }
            ToolOrder::Name => (0, 0),
        }
    }
}

impl Namespace {
    /// Returns the figures of every tool, the never called ones included, by name.
    ///
    /// The mean of densities is that of all calls over all exposures, of the tools that were ever in the directory.
    pub fn tool_stats(&self) -> Vec<ToolStat> {
        let exposures = self.exposures();
        let calls_of = |tool: &ToolId| self.pool.usage(tool).map_or(0, |usage| usage.calls);
        let seen = exposures.iter().filter(|(_, exposure)| exposure.directory > 0);
        let (calls, seen) =
            seen.fold((0, 0), |sum, (tool, exposure)| (sum.0 + calls_of(tool), sum.1 + exposure.directory));
        let mean = density(calls, seen);
        let mut stats = Vec::new();
        for (tool, entry) in self.registry.iter() {
            let calls = calls_of(tool);
            let exposure = exposures.get(tool).copied().unwrap_or_default();
            stats.push(ToolStat {
                tool: tool.clone(),
                version: entry.current().map(|shown| shown.admitted().version).unwrap_or_default(),
                alias: entry.alias().clone(),
                state: entry.state(),
                calls,
                heat_key: self.heat_key(tool),
                exposure,
                figures: self.tool_figures.get(tool).cloned().unwrap_or_default(),
                density: normalised_density(density(calls, exposure.directory), mean),
            });
        }
        stats
    }
}

//! Which retrieved tools are left out because another one, that a model may take them for, fits clearly better.
//!
//! Only tools of different sources: those of one source are made to be used side by side, and leaving out siblings costs
//! recall (docs/decisions/confusable-tools.md has the figures).

use super::super::ids::ToolId;
use super::super::retrieval::Ranked;
use super::super::view::View;

/// A tool that is not issued, and for whose sake.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Double {
    /// What matched and is left out.
    pub tool: ToolId,
    /// What a model may take it for: issued in this step, or present already, with a score so much higher.
    pub for_the_sake_of: ToolId,
}

/// Returns the first of the tools ranked above a candidate, each issued in this step or present, for whose sake it is
/// left out: a confusable tool of another source, of whose score the candidate has less than the policy's share.
pub fn double_of(view: &View, candidate: &Ranked, above: &[&Ranked]) -> Option<Double> {
    let share = view.policy.plan.confusable_share as f32;
    let served = |tool: &ToolId| view.registry.get(tool).and_then(|entry| entry.current());
    let shown = served(&candidate.tool)?;
    let is_double = |other: &&&Ranked| {
        // Scores are standard deviations above the mean: of one that is below, no share says anything.
        let is_far_above = other.score > 0.0 && candidate.score < share * other.score;
        let is_confusable = || served(&other.tool).is_some_and(|other| other.is_confusable_with(shown));
        is_far_above && other.tool.source != candidate.tool.source && is_confusable()
    };
    let other = above.iter().find(is_double)?;
    Some(Double { tool: candidate.tool.clone(), for_the_sake_of: other.tool.clone() })
}

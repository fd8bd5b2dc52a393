//! A log drawn again from its causes, and what came of it.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use super::super::output::{count, facts, percent};
use super::super::stats::describe_mis_selection;
use super::super::{DONE, FAILED, Shell};
use super::{all_or_none, open};
use crate::core::ids::NamespaceId;
use crate::offline::refold::{read_events, replay_events};
use crate::offline::report::EventReport;

/// Draws the log and prints; fails where it was drawn differently from what it says.
pub(super) fn run(path: &Path, overrides: &BTreeMap<String, String>, shell: &Shell) -> anyhow::Result<u8> {
    let records = all_or_none(path, read_events(open(path)?))?;
    let namespace = NamespaceId::new(shell.namespace.as_str());
    let report = replay_events(namespace, &records, overrides)?;
    shell.print(&serde_json::to_value(&report)?, &describe_events(&report))?;
    Ok(if report.difference.is_some() { FAILED } else { DONE })
}

fn describe_events(report: &EventReport) -> String {
    let compared = match (&report.difference, report.compared) {
        (Some(difference), _) => {
            format!(
                "differs at {}: {}",
                difference.seq,
                json!({ "log": difference.recorded, "drawn": difference.drawn })
            )
        }
        (None, true) => "every consequence is drawn as the log has it".to_owned(),
        (None, false) => "the log holds causes only: nothing to compare".to_owned(),
    };
    facts(&[
        ("log", compared),
        ("records", format!("{}, of them {} causes", count(report.records), count(report.causes))),
        ("calls", count(report.ticks)),
        ("presence", format!("{}, coverage {}", percent(report.presence), percent(report.coverage))),
        ("injection share", percent(report.injection_share)),
        ("mis-selection", describe_mis_selection(report.mis_selection, report.judged_share)),
        (
            "hot pool",
            format!(
                "{} epochs, {} re-ranks, {} tools swapped in",
                count(report.epochs),
                count(report.reranks),
                count(report.swapped_in)
            ),
        ),
    ])
}

//! What `/metrics` says, line by line, and how many lines there can be.

use std::collections::BTreeSet;

use tonic::Code;

use super::*;
use crate::core::admission::ViolationCode;
use crate::core::event::{AdmissionResult, MoveCause, OutcomeResult, PlanResult, Presence, StepTokens, ToolState};
use crate::core::figures::Figures;

fn sample<'a>(namespace: &'a NamespaceId, figures: &'a Figures) -> NamespaceSample<'a> {
    NamespaceSample {
        namespace,
        figures,
        tools: BTreeMap::from([(ToolState::Active, 40)]),
        resident_tools: 10,
        sessions: 2,
        policy_version: 3,
        log_bytes: 0,
        log_begin_at: None,
    }
}

fn check_line(text: &str, line: &str) {
    assert!(text.lines().any(|have| have == line), "{line} is missing in\n{text}");
}

/// Returns the name and labels of every series.
fn series(text: &str) -> BTreeSet<&str> {
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .filter_map(|line| line.rsplit_once(' '))
        .map(|(name, _)| name)
        .collect()
}

#[test]
fn every_metric_is_exported_at_zero_from_the_start() {
    let metrics = Metrics::new(4);
    metrics.namespace(&"github".into());
    let text = metrics.render();
    for family in FAMILIES {
        let name = family.name;
        assert!(text.contains(&format!("# HELP {name} ")), "{name}");
        assert!(text.contains(&format!("\n{name}")), "{name}");
    }
    check_line(&text, r#"toolcrib_calls_total{namespace="github",presence="absent"} 0"#);
    check_line(&text, r#"toolcrib_transitions_total{namespace="github",to="held",cause="too_many_quarantines"} 0"#);
    check_line(&text, r#"toolcrib_issued_tools_bucket{namespace="github",le="0"} 0"#);
    check_line(&text, r#"toolcrib_plan_duration_seconds_bucket{namespace="github",le="0.000025"} 0"#);
}

#[test]
fn histograms_are_not_summaries() {
    let metrics = Metrics::new(4);
    metrics.namespace(&"github".into());
    assert!(!metrics.render().contains(" summary"));
}

#[test]
fn figures_are_mirrored_and_not_added_twice() {
    let metrics = Metrics::new(4);
    let namespace = NamespaceId::from("github");
    let mut figures = Figures::default();
    figures.plans.add(PlanResult::Issued);
    figures.calls.add(Presence::Resident);
    figures.moves.insert((ToolState::Retired, MoveCause::Unused), 1);
    figures.tokens.add(&StepTokens { directory: 7, resident: 5, issued: 3, meta: 1, everything: 90, window: 80 });
    for _ in 0..2 {
        metrics.mirror(UnixMillis(0), &[sample(&namespace, &figures)]);
    }
    let text = metrics.render();
    check_line(&text, r#"toolcrib_plans_total{namespace="github",result="issued"} 1"#);
    check_line(&text, r#"toolcrib_calls_total{namespace="github",presence="resident"} 1"#);
    check_line(&text, r#"toolcrib_transitions_total{namespace="github",to="retired",cause="unused"} 1"#);
    check_line(&text, r#"toolcrib_context_tokens_total{namespace="github",part="issued"} 3"#);
    check_line(&text, r#"toolcrib_context_window_tokens_total{namespace="github"} 80"#);
    check_line(&text, r#"toolcrib_tools{namespace="github",state="active"} 40"#);
    check_line(&text, r#"toolcrib_resident_tools{namespace="github"} 10"#);
    check_line(&text, r#"toolcrib_policy_info{namespace="github",version="3"} 1"#);
}

#[test]
fn only_the_policy_in_force_is_exported() {
    let metrics = Metrics::new(4);
    let namespace = NamespaceId::from("github");
    let figures = Figures::default();
    for policy_version in [3, 4] {
        metrics.mirror(UnixMillis(0), &[NamespaceSample { policy_version, ..sample(&namespace, &figures) }]);
    }
    let text = metrics.render();
    let infos: Vec<&str> = series(&text).into_iter().filter(|name| name.starts_with("toolcrib_policy_info")).collect();
    assert_eq!(infos, [r#"toolcrib_policy_info{namespace="github",version="4"}"#]);
}

#[test]
fn the_ratios_speak_of_the_last_five_minutes() {
    let metrics = Metrics::new(4);
    let namespace = NamespaceId::from("github");
    let mut figures = Figures::default();
    metrics.mirror(UnixMillis(0), &[sample(&namespace, &figures)]);
    check_line(&metrics.render(), r#"toolcrib_presence_ratio{namespace="github"} NaN"#);
    figures.calls.add(Presence::Resident);
    figures.calls.add(Presence::Absent);
    metrics.mirror(UnixMillis(10_000), &[sample(&namespace, &figures)]);
    check_line(&metrics.render(), r#"toolcrib_presence_ratio{namespace="github"} 0.5"#);
}

#[test]
fn namespaces_beyond_the_bound_count_together_as_other() {
    let metrics = Metrics::new(1);
    let names: Vec<NamespaceId> = ["b", "a", "c"].map(NamespaceId::from).to_vec();
    let mut figures = Figures::default();
    figures.calls.add(Presence::Absent);
    metrics.namespace(&names[0]);
    metrics.mirror(
        UnixMillis(0),
        &[sample(&names[1], &figures), sample(&names[0], &figures), sample(&names[2], &figures)],
    );
    let text = metrics.render();
    check_line(&text, r#"toolcrib_calls_total{namespace="b",presence="absent"} 1"#);
    check_line(&text, r#"toolcrib_calls_total{namespace="other",presence="absent"} 2"#);
    assert!(!text.contains(r#"namespace="a""#));
}

#[test]
fn a_namespace_called_other_shares_the_label_with_the_rest() {
    let metrics = Metrics::new(1);
    let names: Vec<NamespaceId> = ["other", "b", "c"].map(NamespaceId::from).to_vec();
    let mut figures = Figures::default();
    figures.calls.add(Presence::Absent);
    metrics.mirror(UnixMillis(0), &names.iter().map(|name| sample(name, &figures)).collect::<Vec<_>>());
    let text = metrics.render();
    check_line(&text, r#"toolcrib_calls_total{namespace="other",presence="absent"} 2"#);
    check_line(&text, r#"toolcrib_calls_total{namespace="b",presence="absent"} 1"#);
}

#[test]
fn what_happens_is_recorded() {
    let metrics = Metrics::new(4);
    let github = metrics.namespace(&"github".into());
    github.planned(Duration::from_micros(40), 3);
    github.recalled(Duration::from_micros(200));
    github.outcome(OutcomeResult::Late);
    github.admitted(AdmissionResult::Refused, 4);
    metrics.log_shed(1);
    metrics.log_committed(Duration::from_millis(3), 17);
    metrics.log_queue(5);
    metrics.log_lost(2);
    metrics.store_writable(true);
    metrics.snapshot_age(Some(1_500));
    metrics.config_reloaded(ConfigReload::Refused);
    metrics.upkeep();
    let text = metrics.render();
    check_line(&text, r#"toolcrib_plan_duration_seconds_bucket{namespace="github",le="0.00005"} 1"#);
    check_line(&text, r#"toolcrib_issued_tools_bucket{namespace="github",le="3"} 1"#);
    check_line(&text, r#"toolcrib_recall_duration_seconds_count{namespace="github",stage="total"} 1"#);
    check_line(&text, r#"toolcrib_outcomes_total{namespace="github",result="late"} 1"#);
    check_line(&text, r#"toolcrib_admissions_total{namespace="github",result="refused"} 4"#);
    check_line(&text, r#"toolcrib_shed_total{reason="log_buffer"} 1"#);
    check_line(&text, r#"toolcrib_log_batch_events_sum 17"#);
    check_line(&text, "toolcrib_log_queue_events 5");
    check_line(&text, "toolcrib_log_lost_events_total 2");
    check_line(&text, "toolcrib_store_writable 1");
    check_line(&text, "toolcrib_snapshot_age_seconds 1.5");
    check_line(&text, r#"toolcrib_config_reloads_total{result="ok"} 0"#);
    check_line(&text, r#"toolcrib_config_reloads_total{result="refused"} 1"#);
    let p50 = github.recall_quantile(0.5).unwrap();
    assert!((190..=210).contains(&p50.as_micros()), "{p50:?}");
}

#[test]
fn findings_count_by_group() {
    let metrics = Metrics::new(4);
    let finding = |field, code| Violation::new(field, code, "said", "wanted");
    metrics.found(&[
        finding("name", ViolationCode::Malformed),
        finding("keywords[2]", ViolationCode::Duplicate),
        finding("input_schema/properties/a", ViolationCode::BadPattern),
        finding("description", ViolationCode::ForbiddenCharacter),
    ]);
    let text = metrics.render();
    for (group, n) in [("name", 1), ("field", 1), ("schema", 1), ("characters", 1), ("phrases", 0), ("size", 0)] {
        check_line(&text, &format!("toolcrib_admission_findings_total{{group=\"{group}\"}} {n}"));
    }
}

#[test]
fn requests_count_by_method_and_code_and_abandoned_ones_as_cancelled() {
    let metrics = Metrics::new(4);
    let plan = metrics.request_started("/toolcrib.v1.SessionService/PlanStep");
    check_line(&metrics.render(), "toolcrib_grpc_inflight 1");
    plan.end(Code::NotFound, Duration::from_micros(30));
    metrics.request_started("/toolcrib.v1.StatsService/GetStats").end(Code::Ok, Duration::ZERO);
    metrics.request_started("/grpc.health.v1.Health/Check").end(Code::Ok, Duration::ZERO);
    drop(metrics.request_started("/toolcrib.v1.SessionService/PlanStep"));
    let text = metrics.render();
    check_line(&text, "toolcrib_grpc_inflight 0");
    check_line(&text, r#"toolcrib_grpc_requests_total{method="PlanStep",code="NOT_FOUND"} 1"#);
    check_line(&text, r#"toolcrib_grpc_requests_total{method="PlanStep",code="CANCELLED"} 1"#);
    check_line(&text, r#"toolcrib_grpc_requests_total{method="GetStats",code="OK"} 1"#);
    check_line(&text, r#"toolcrib_grpc_requests_total{method="other",code="OK"} 1"#);
    check_line(&text, r#"toolcrib_grpc_request_duration_seconds_count{method="PlanStep"} 1"#);
}

#[test]
fn the_number_of_series_is_bounded_whatever_the_number_of_namespaces() {
    let metrics = Metrics::new(4);
    for i in 0..20 {
        metrics.namespace(&NamespaceId::new(format!("namespace-{i}")));
    }
    let text = metrics.render();
    assert!(series(&text).len() < 2_000, "{}", series(&text).len());
    assert!(text.len() < 512 * 1024, "{}", text.len());
}

#[test]
fn daemons_in_one_process_do_not_mix() {
    let (one, two) = (Metrics::new(4), Metrics::new(4));
    one.log_lost(1);
    check_line(&two.render(), "toolcrib_log_lost_events_total 0");
}

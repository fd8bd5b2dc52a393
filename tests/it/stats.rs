//! Figures by tool, the history of a session and the origin of policy values, through the front door.

use std::time::Duration;

use toolcrib::proto::*;

use crate::common::{NAMESPACE, TestDaemon, definition};

const NAMES: [&str; 12] = [
    "create_issue",
    "close_issue",
    "send_email",
    "read_email",
    "list_files",
    "delete_file",
    "add_label",
    "merge_branch",
    "book_flight",
    "convert_currency",
    "play_music",
    "translate_text",
];

async fn daemon_with_tools() -> TestDaemon {
    let mut daemon = TestDaemon::start().await;
    daemon.set_policy("session.pass_through_share", "0").await;
    daemon.register(NAMES.iter().map(|name| definition(name)).collect()).await;
    daemon
}

fn ask(order: ToolOrder) -> ListToolStatsRequest {
    ListToolStatsRequest { namespace: NAMESPACE.into(), order: order.into(), ..Default::default() }
}

async fn page(daemon: &mut TestDaemon, request: ListToolStatsRequest) -> ListToolStatsResponse {
    daemon.stats.list_tool_stats(request).await.expect("figures").into_inner()
}

fn names(tools: &[ToolStat]) -> Vec<String> {
    tools.iter().map(|stat| stat.tool.clone().unwrap_or_default().name).collect()
}

/// Calls `send_email` twice, once absent, and `read_email` once, which times out.
async fn call_some(daemon: &mut TestDaemon) {
    daemon.open("a").await;
    let step = daemon.plan("a", "send an email to Ann").await.step_id;
    daemon.report("a", &step, "1", "s__send_email", Ending::Ok).await;
    let step = daemon.plan_with("a", "", |request| request.present = Some(Present::default())).await.step_id;
    daemon.report("a", &step, "2", "s__read_email", Ending::Timeout).await;
    daemon.report("a", "", "3", "s__send_email", Ending::Ok).await;
}

#[tokio::test]
async fn every_tool_is_listed_with_its_figures_also_after_a_restart() {
    let mut daemon = daemon_with_tools().await;
    call_some(&mut daemon).await;
    let all = page(&mut daemon, ask(ToolOrder::Unspecified)).await;
    assert_eq!((all.tools.len(), all.total_size, all.next_page_token.as_str()), (12, 12, ""));
    let first = &all.tools[0];
    assert_eq!((names(&all.tools)[0].as_str(), first.calls, first.last_call_tick), ("send_email", 2, 3));
    assert_eq!(first.endings.map(|endings| endings.ok), Some(2));
    assert!(first.last_call_time.is_some() && first.density.is_some_and(|density| density > 1.0));
    let failed = page(&mut daemon, ask(ToolOrder::Failures)).await;
    assert_eq!(names(&failed.tools)[0], "read_email");
    let never = &page(&mut daemon, ask(ToolOrder::Density)).await.tools[0];
    assert_eq!((never.calls, never.density, never.last_call_time), (0, Some(0.0), None));
    let figures = daemon.figures().await;
    let sum = |get: fn(&CallFigures) -> u64| all.tools.iter().filter_map(|stat| stat.presence.as_ref().map(get)).sum();
    let calls = figures.calls.expect("calls");
    assert_eq!((calls.absent, calls.issued), (sum(|calls| calls.absent), sum(|calls| calls.issued)));
    let mut daemon = daemon.restart().await;
    assert_eq!(page(&mut daemon, ask(ToolOrder::Unspecified)).await, all);
    daemon.stop().await;
}

#[tokio::test]
async fn pages_follow_each_other_in_every_order_without_a_gap() {
    let mut daemon = daemon_with_tools().await;
    call_some(&mut daemon).await;
    for order in
        [ToolOrder::Calls, ToolOrder::Heat, ToolOrder::Failures, ToolOrder::Absent, ToolOrder::Density, ToolOrder::Name]
    {
        let whole = names(&page(&mut daemon, ask(order)).await.tools);
        let mut paged = Vec::new();
        let mut request = ListToolStatsRequest { page_size: 5, ..ask(order) };
        loop {
            let page = page(&mut daemon, request.clone()).await;
            paged.extend(names(&page.tools));
            if page.next_page_token.is_empty() {
                break;
            }
            request.page_token = page.next_page_token;
        }
        assert_eq!(paged, whole, "{order:?}");
        assert_eq!(whole.len(), 12);
    }
    let some = ListToolStatsRequest { contains: "EMAIL".into(), source: "s".into(), ..ask(ToolOrder::Name) };
    assert_eq!(names(&page(&mut daemon, some).await.tools), ["read_email", "send_email"]);
    let none = ListToolStatsRequest { source: "other".into(), ..ask(ToolOrder::Name) };
    assert_eq!(page(&mut daemon, none).await.total_size, 0);
    daemon.stop().await;
}

#[tokio::test]
async fn a_page_of_another_order_and_unknown_orders_are_refused() {
    let mut daemon = daemon_with_tools().await;
    let first = page(&mut daemon, ListToolStatsRequest { page_size: 2, ..ask(ToolOrder::Calls) }).await;
    let mut other = ask(ToolOrder::Heat);
    other.page_token = first.next_page_token;
    let mut unknown = ask(ToolOrder::Calls);
    unknown.order = 99;
    for (request, field) in [(other, "page_token"), (unknown, "order")] {
        let status = daemon.stats.list_tool_stats(request).await.expect_err("a refusal");
        assert_eq!(status.code(), tonic::Code::InvalidArgument);
        assert!(status.message().starts_with(field), "{}", status.message());
    }
    daemon.stop().await;
}

#[tokio::test]
async fn a_session_says_why_it_went_as_it_did_and_still_does_once_it_has_ended() {
    let mut daemon = daemon_with_tools().await;
    daemon.open("a").await;
    daemon.clock.advance(Duration::from_secs(5));
    daemon.change("send_email", ToolAction::Quarantine).await;
    let step = daemon.plan("a", "xylophone").await.step_id;
    daemon.check("a", &step, "1", "s__send_email", "{}").await;
    let last = daemon.plan("a", "xylophone").await.step_id;
    let ending = StepEnding { step_id: last.clone(), reason: StepEnd::GaveUp.into() };
    daemon.plan_with("a", "", |request| request.endings = vec![ending]).await;
    let shown = daemon.get("a").await;
    let history = shown.history.clone().expect("a history");
    let said: Vec<&str> = history.findings.iter().map(|finding| finding.text.as_str()).collect();
    let gave_up = format!("gave up in step {last}: nothing was issued for it (nothing_found)");
    assert_eq!(said, ["called s/send_email in vain once: it is quarantined", gave_up.as_str()]);
    assert!(history.findings[0].since_time.is_some());
    let missed = &history.missed[0];
    assert_eq!((missed.name.as_str(), missed.unavailable, missed.reason()), ("s__send_email", 1, Reason::Quarantined));
    assert_eq!(history.steps.len(), 3);
    assert_eq!(history.steps[0].calls[0].verdict(), Verdict::Unavailable);
    assert_eq!(history.steps[1].end(), StepEnd::GaveUp);
    assert_eq!(history.plans.map(|plans| (plans.nothing_found, plans.no_query)), Some((2, 1)));
    assert_eq!((shown.on_demand_budget, shown.on_demand_left), (10_000, 7_500));

    let close = CloseSessionRequest { namespace: NAMESPACE.into(), session_id: "a".into(), ..Default::default() };
    daemon.sessions.close_session(close).await.expect("it is closed");
    let mut request = GetSessionRequest { namespace: NAMESPACE.into(), session_id: "a".into(), ended: false };
    let status = daemon.sessions.get_session(request.clone()).await.expect_err("it has ended");
    assert_eq!(status.code(), tonic::Code::NotFound);
    request.ended = true;
    let ended = daemon.sessions.get_session(request).await.expect("it is remembered").into_inner();
    let record = ended.session.expect("its record");
    assert_eq!((record.end(), record.steps, record.expire_time), (SessionEnd::Closed, 3, None));
    assert!(ended.block.is_none() && record.end_time.is_some());
    assert_eq!(ended.history.expect("a history").findings, history.findings);
    daemon.stop().await;
}

#[tokio::test]
async fn what_is_left_for_on_demand_definitions_shrinks_by_what_is_present() {
    let mut daemon = daemon_with_tools().await;
    daemon.open("a").await;
    let tokens = daemon.plan("a", "send an email to Ann").await.tokens.expect("tokens");
    assert!(tokens.issued > 0);
    assert_eq!(daemon.get("a").await.on_demand_left, 7_500 - tokens.issued);
    daemon.stop().await;
}

#[tokio::test]
async fn a_policy_value_says_who_set_it_also_after_a_restart() {
    let mut daemon = daemon_with_tools().await;
    daemon.set_policy("plan.top_m", "3").await;
    let request = GetPolicyRequest { namespace: NAMESPACE.into() };
    let before = daemon.policy.get_policy(request.clone()).await.expect("a policy").into_inner();
    let origin = |policy: &GetPolicyResponse, key: &str| {
        policy.values.iter().find(|value| value.key == key).expect("the key").origin.clone()
    };
    let set = origin(&before, "plan.top_m").expect("an origin");
    assert_eq!((set.version, set.actor.as_str()), (before.version, "operator"));
    assert!(set.time.is_some());
    assert_eq!(origin(&before, "hot_pool.slots"), None);
    let mut daemon = daemon.restart().await;
    let after = daemon.policy.get_policy(request).await.expect("a policy").into_inner();
    assert_eq!(after, before);
    daemon.stop().await;
}

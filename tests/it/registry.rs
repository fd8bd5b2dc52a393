//! Registering tools through the front door.

use tonic::Code;
use toolcrib::proto::*;

use crate::common::{NAMESPACE, TestDaemon, definition, fields_of, reason_of};

async fn refused(tool: ToolDefinition) -> tonic::Status {
    let mut daemon = TestDaemon::start().await;
    let request = RegisterToolsRequest { namespace: "test".into(), tools: vec![tool], ..Default::default() };
    let status = daemon.registry.register_tools(request).await.expect_err("the tool is refused");
    daemon.stop().await;
    status
}

#[tokio::test]
async fn a_tool_lacking_a_mandatory_field_is_refused_naming_exactly_it() {
    for field in ["tools[0].summary", "tools[0].keywords", "tools[0].size_tokens"] {
        let mut tool = definition("create_issue");
        match field {
            "tools[0].summary" => tool.summary.clear(),
            "tools[0].keywords" => tool.keywords.clear(),
            _ => tool.size_tokens = 0,
        }
        let status = refused(tool).await;
        assert_eq!(status.code(), Code::InvalidArgument);
        assert_eq!(fields_of(&status), [field]);
        assert_eq!(reason_of(&status), "ADMISSION_REFUSED");
    }
}

#[tokio::test]
async fn a_tool_lacking_all_three_is_refused_naming_all_at_once() {
    let mut tool = definition("create_issue");
    tool.summary.clear();
    tool.keywords.clear();
    tool.size_tokens = 0;
    let status = refused(tool).await;
    assert_eq!(fields_of(&status), ["tools[0].summary", "tools[0].keywords", "tools[0].size_tokens"]);
}

#[tokio::test]
async fn a_wrong_size_estimate_is_refused_with_the_measured_figure() {
    let mut tool = definition("create_issue");
    let measured = tool.size_tokens;
    tool.size_tokens = measured * 3;
    let status = refused(tool).await;
    assert_eq!(fields_of(&status), ["tools[0].size_tokens"]);
    assert!(status.message().contains(&measured.to_string()), "{}", status.message());
}

#[tokio::test]
async fn a_zero_width_space_is_refused_with_its_place() {
    let mut tool = definition("create_issue");
    tool.summary = "Opens an\u{200B} issue when a bug is found".into();
    let status = refused(tool).await;
    assert_eq!(fields_of(&status), ["tools[0].summary"]);
    assert!(status.message().contains("U+200B"), "{}", status.message());
    assert!(status.message().contains('8'), "{}", status.message());
}

#[tokio::test]
async fn the_same_tool_again_changes_nothing_and_a_retry_is_answered_as_the_first_time() {
    let mut daemon = TestDaemon::start().await;
    let request = RegisterToolsRequest {
        namespace: "test".into(),
        tools: vec![definition("create_issue")],
        request_id: "once".into(),
        ..Default::default()
    };
    let mut results = Vec::new();
    for _ in 0..2 {
        let answer = daemon.registry.register_tools(request.clone()).await.expect("admitted").into_inner();
        results.push(answer.admissions[0].result());
    }
    assert_eq!(results, [AdmissionResult::Admitted, AdmissionResult::Admitted]);
    let again = daemon.register(vec![definition("create_issue")]).await;
    assert_eq!(again.admissions[0].result(), AdmissionResult::Unchanged);
    daemon.stop().await;
}

#[tokio::test]
async fn a_changed_definition_says_how_far_it_reaches_also_when_asked_again() {
    let mut daemon = TestDaemon::start().await;
    daemon.register(vec![definition("send_email")]).await;
    let mut changed = definition("send_email");
    changed.input_schema = r#"{"type":"object","properties":{"to":{"type":"string"}},"required":["to"]}"#.into();
    let request = RegisterToolsRequest {
        namespace: NAMESPACE.into(),
        tools: vec![changed],
        request_id: "once".into(),
        ..Default::default()
    };
    for time in ["first", "again"] {
        let answer = daemon.registry.register_tools(request.clone()).await.expect("admitted").into_inner();
        let admission = &answer.admissions[0];
        assert_eq!(admission.change(), ChangeClass::Breaking, "{time}: {admission:?}");
        assert!(admission.differences.iter().any(|difference| difference.field.starts_with("input_schema")), "{time}");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn a_tool_without_a_schema_is_told_all_else_that_is_wrong_too() {
    let mut tool = definition("create_issue");
    tool.summary.clear();
    tool.keywords.clear();
    tool.input_schema = "".into();
    let status = refused(tool).await;
    assert_eq!(fields_of(&status), ["tools[0].summary", "tools[0].keywords", "tools[0].input_schema"]);
}

#[tokio::test]
async fn a_refused_registration_makes_no_namespace() {
    let mut daemon = TestDaemon::start().await;
    let mut tool = definition("create_issue");
    tool.summary.clear();
    let request = RegisterToolsRequest { namespace: "typo".into(), tools: vec![tool], ..Default::default() };
    daemon.registry.register_tools(request).await.expect_err("the tool is refused");
    let request = ListToolsRequest { namespace: "typo".into(), ..Default::default() };
    let status = daemon.registry.list_tools(request).await.expect_err("there is no such namespace");
    assert_eq!(reason_of(&status), "UNKNOWN_NAMESPACE");
    daemon.stop().await;
}

#[tokio::test]
async fn an_unknown_tool_is_answered_with_the_nearest_names() {
    let mut daemon = TestDaemon::start().await;
    daemon.register(vec![definition("send_email"), definition("book_flight")]).await;
    let tool = Some(ToolRef { source: "s".into(), name: "send_emial".into(), version: 0 });
    let request = GetToolRequest { namespace: NAMESPACE.into(), tool: tool.clone() };
    let shown = daemon.registry.get_tool(request).await.expect_err("no such tool");
    let request = ChangeToolRequest {
        namespace: NAMESPACE.into(),
        tool,
        action: ToolAction::Retire.into(),
        ..Default::default()
    };
    let changed = daemon.registry.change_tool(request).await.expect_err("no such tool");
    for status in [shown, changed] {
        assert_eq!(reason_of(&status), "UNKNOWN_TOOL");
        assert!(status.message().ends_with("nearest: s/send_email"), "{}", status.message());
    }
    daemon.stop().await;
}

#[tokio::test]
async fn tools_that_are_close_are_named_when_one_enters_and_when_it_is_shown() {
    let mut daemon = TestDaemon::start().await;
    daemon.register(vec![definition("create_issue")]).await;
    let mut twin = definition("create_issue");
    twin.source = "twin".into();
    let entered = daemon.register(vec![twin]).await;
    let near = &entered.admissions[0].confusable[0];
    let tool = near.tool.clone().expect("a tool");
    assert_eq!((&*tool.name, near.by()), ("create_issue", NearBy::Name));
    assert_eq!(entered.admissions[0].result(), AdmissionResult::Admitted, "close is no flag");
    let request = GetToolRequest { namespace: NAMESPACE.into(), tool: Some(tool) };
    let shown = daemon.registry.get_tool(request).await.expect("the tool").into_inner();
    let sources: Vec<String> =
        shown.confusable.into_iter().filter_map(|near| near.tool).map(|tool| tool.source).collect();
    assert_eq!(sources, ["twin"]);
    daemon.stop().await;
}

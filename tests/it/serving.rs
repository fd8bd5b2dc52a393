//! The server itself: what it refuses and how, what it bounds, how it is watched, and how it stops.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::{v1, v1alpha};
use toolcrib::proto::*;
use toolcrib::server::Ended;

use crate::common::{NAMESPACE, PATIENCE, TestDaemon, definition, fields_of, reason_of, scrape};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Checks that a request was refused for exactly these fields, in a way that programs can read.
#[track_caller]
fn check_refused<T: std::fmt::Debug>(answer: Result<tonic::Response<T>, Status>, fields: &[&str]) {
    let status = answer.expect_err("it is refused");
    assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
    assert_eq!(fields_of(&status), fields);
    assert_eq!(reason_of(&status), "INVALID_FIELD");
}

#[tokio::test]
async fn what_an_opening_cannot_hold_is_refused_by_field() {
    let mut daemon = TestDaemon::start().await;
    daemon.register(vec![definition("send_email")]).await;
    let request = OpenSessionRequest {
        session_id: "s".repeat(129),
        format: 99,
        delivery: 99,
        model: "m".repeat(257),
        parent_session_id: "p\n".into(),
        fork_of: "f".repeat(129),
        own_tools: vec![OwnTool { name: "call_tool".into(), tokens: 0 }],
        pool: Some(Pool { allow: vec!["x".into(), format!("s/{}", "n".repeat(200))], ..Default::default() }),
        ..Default::default()
    };
    let fields = [
        "namespace",
        "session_id",
        "format",
        "delivery",
        "own_tools[0].name",
        "pool.allow[0]",
        "pool.allow[1]",
        "model",
        "parent_session_id",
        "fork_of",
    ];
    check_refused(daemon.sessions.open_session(request).await, &fields);
    daemon.stop().await;
}

#[tokio::test]
async fn what_an_outcome_cannot_hold_is_refused_by_field() {
    let mut daemon = TestDaemon::start().await;
    daemon.register(vec![definition("send_email")]).await;
    daemon.open("a").await;
    let outcome = Outcome {
        step_id: "first".into(),
        ending: 77,
        duration: Some(prost_types::Duration { seconds: -1, nanos: 0 }),
        retry_of: "r".repeat(257),
        verdict: Verdict::Right.into(),
        judge: Judge::Rule.into(),
        ..Default::default()
    };
    let request = ReportOutcomesRequest {
        namespace: NAMESPACE.into(),
        session_id: "a".into(),
        outcomes: vec![outcome],
        endings: vec![StepEnding::default()],
        usage: Some(Usage { step_id: "first".into(), ..Default::default() }),
        ..Default::default()
    };
    let fields = [
        "outcomes[0].call_id",
        "outcomes[0].step_id",
        "outcomes[0].ending",
        "outcomes[0].judge",
        "outcomes[0].duration",
        "outcomes[0].retry_of",
        "endings[0].step_id",
        "usage.step_id",
    ];
    check_refused(daemon.sessions.report_outcomes(request).await, &fields);
    daemon.stop().await;
}

#[tokio::test]
async fn keys_of_changes_kinds_and_page_tokens_are_checked() {
    let mut daemon = TestDaemon::start().await;
    daemon.register(vec![definition("send_email")]).await;
    let namespace = NAMESPACE.to_owned();
    let request_id = "k".repeat(257);
    let request = RegisterToolsRequest {
        namespace: namespace.clone(),
        tools: vec![definition("read_email")],
        request_id: request_id.clone(),
        ..Default::default()
    };
    check_refused(daemon.registry.register_tools(request).await, &["request_id"]);
    let tool = Some(ToolRef { source: "s".into(), name: "send_email".into(), version: 0 });
    let request = ChangeToolRequest { namespace: namespace.clone(), tool, request_id, ..Default::default() };
    check_refused(daemon.registry.change_tool(request).await, &["action", "request_id"]);
    let page_token = "next".to_owned();
    let request = ListSessionsRequest { namespace: namespace.clone(), page_token, ..Default::default() };
    check_refused(daemon.sessions.list_sessions(request).await, &["page_token"]);
    let request = ExportTrafficRequest { namespace: namespace.clone(), kind: 9, after: 0 };
    check_refused(daemon.stats.export_traffic(request).await, &["kind"]);
    let request = ExportTrafficRequest { namespace, kind: ExportKind::Events.into(), after: u64::MAX };
    let mut stream = daemon.stats.export_traffic(request).await.expect("an export").into_inner();
    assert_eq!(stream.message().await.expect("it ends well"), None, "nothing stands behind the last place");
    daemon.stop().await;
}

#[tokio::test]
async fn a_refusal_of_many_tools_fits_into_what_a_client_reads() {
    let mut daemon = TestDaemon::start().await;
    let tools = vec![ToolDefinition { input_schema: "{".into(), ..definition("send_email") }; 1_000];
    let request = RegisterToolsRequest { namespace: NAMESPACE.into(), tools, atomic: true, ..Default::default() };
    let status = daemon.registry.register_tools(request).await.expect_err("refused");
    assert_eq!((status.code(), reason_of(&status).as_str()), (Code::InvalidArgument, "ADMISSION_REFUSED"));
    let named = fields_of(&status).len();
    assert!(named > 10 && status.message().ends_with(&format!("and {} more", 1_000 - named)), "{}", status.message());
    let values = std::collections::HashMap::from([("hot_pool.slots".to_owned(), "9".repeat(100_000))]);
    let request = SetPolicyRequest { namespace: NAMESPACE.into(), values, ..Default::default() };
    check_refused(daemon.policy.set_policy(request).await, &["values.hot_pool.slots"]);
    daemon.stop().await;
}

#[tokio::test]
async fn a_dry_run_is_not_counted_and_makes_no_namespace() {
    let mut daemon = TestDaemon::start().await;
    let request = RegisterToolsRequest {
        namespace: "nobody".into(),
        tools: vec![definition("send_email")],
        dry_run: true,
        ..Default::default()
    };
    let answer = daemon.registry.register_tools(request).await.expect("looked at").into_inner();
    assert_eq!((answer.admissions[0].result(), answer.durable), (AdmissionResult::Admitted, false));
    let page = scrape(&daemon.metrics_url).await;
    assert!(!page.contains("nobody"), "{page}");
    daemon.stop().await;
}

#[tokio::test]
async fn names_in_allow_that_select_nothing_are_named() {
    let mut daemon = TestDaemon::start().await;
    daemon.register(vec![definition("send_email")]).await;
    let allow = ["s/*", "s/send_email", "s/no_such", "elsewhere/*"].map(String::from).to_vec();
    let opened = daemon.open_with("a", |request| request.pool = Some(Pool { allow, ..Default::default() })).await;
    let named: Vec<_> = opened.excluded.iter().map(|excluded| (excluded.name.as_str(), excluded.reason())).collect();
    assert_eq!(named, [("elsewhere/*", Reason::Unknown), ("s/no_such", Reason::Unknown)]);
    daemon.stop().await;
}

#[tokio::test]
async fn the_same_opening_is_the_same_session_whatever_changed_meanwhile() {
    let mut daemon = TestDaemon::start().await;
    daemon.register(vec![definition("send_email")]).await;
    let ask = |request: &mut OpenSessionRequest| {
        request.context_window = 0;
        request.pool = Some(Pool { must_have: vec!["s/read_email".into()], ..Default::default() });
    };
    let first = daemon.open_with("a", ask).await;
    assert_eq!(first.excluded.len(), 1);
    daemon.set_policy("session.default_window", "64000").await;
    daemon.register(vec![definition("read_email")]).await;
    let again = daemon.open_with("a", ask).await;
    assert!(again.resumed);
    assert_eq!(first.block, again.block);
    daemon.stop().await;
}

#[tokio::test]
async fn sessions_are_listed_newest_first_a_page_at_a_time() {
    let mut daemon = TestDaemon::start().await;
    daemon.register(vec![definition("send_email")]).await;
    for id in ["b", "c", "a"] {
        daemon.open(id).await;
        daemon.clock.advance(Duration::from_secs(1));
    }
    let mut ids = Vec::new();
    let mut page_token = String::new();
    loop {
        let request = ListSessionsRequest { namespace: NAMESPACE.into(), page_size: 2, page_token };
        let page = daemon.sessions.list_sessions(request).await.expect("a page").into_inner();
        assert_eq!(page.total_size, 3);
        ids.extend(page.sessions.into_iter().map(|session| session.session_id));
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    assert_eq!(ids, ["a", "c", "b"]);
    daemon.stop().await;
}

#[tokio::test]
async fn a_session_is_read_again_byte_for_byte() {
    let mut daemon = TestDaemon::start().await;
    daemon.set_policy("session.pass_through_share", "0").await;
    daemon.set_policy("session.pass_through_tools", "0").await;
    daemon.register(vec![definition("send_email"), definition("read_email")]).await;
    let block = daemon.open("a").await.block.expect("a block");
    let plan = daemon.plan("a", "send an email").await;
    let request = ReadSessionRequest { namespace: NAMESPACE.into(), session_id: "a".into(), ..Default::default() };
    let mut stream = daemon.sessions.read_session(request).await.expect("a stream").into_inner();
    let (mut of_block, mut of_step) = (Vec::new(), Vec::new());
    while let Some(answer) = stream.message().await.expect("it ends well") {
        let pieces = if answer.step_id.is_empty() { &mut of_block } else { &mut of_step };
        pieces.push(answer.piece.expect("a piece"));
    }
    assert_eq!((of_block, of_step), (block.pieces, plan.pieces));
    daemon.stop().await;
}

/// An import that goes on until `_more` is dropped.
struct SlowImport {
    _more: mpsc::Sender<ImportToolsRequest>,
    answer: tokio::task::JoinHandle<Result<tonic::Response<ImportToolsResponse>, Status>>,
}

/// Starts an import and sends 40,000 bytes of it, which are no catalog.
async fn begin_import(daemon: &TestDaemon) -> SlowImport {
    use import_tools_request::Part;
    let (more, parts) = mpsc::channel(4);
    let target = ImportTarget { namespace: NAMESPACE.into(), source: "s".into(), ..Default::default() };
    for part in [Part::Target(target), Part::Chunk(vec![b' '; 40_000].into())] {
        more.send(ImportToolsRequest { part: Some(part) }).await.expect("there is room");
    }
    let mut registry = daemon.registry.clone();
    let answer = tokio::spawn(async move { registry.import_tools(ReceiverStream::new(parts)).await });
    SlowImport { _more: more, answer }
}

#[tokio::test]
async fn imports_share_one_budget_of_memory() {
    let daemon = TestDaemon::start_with(|config| config.limits.import_bytes = 65_536).await;
    let code = |answer: Result<Result<tonic::Response<ImportToolsResponse>, Status>, tokio::task::JoinError>| {
        answer.expect("no panic").expect_err("no catalog").code()
    };
    let (mut one, mut other) = (begin_import(&daemon).await, begin_import(&daemon).await);
    // There is room for one of them, whichever comes first.
    let (shed, mut kept) = tokio::select! {
        shed = &mut one.answer => (shed, other),
        shed = &mut other.answer => (shed, one),
    };
    assert_eq!(code(shed), Code::ResourceExhausted);
    assert!(!kept.answer.is_finished());
    drop(kept._more);
    assert_eq!(code((&mut kept.answer).await), Code::InvalidArgument);
    let again = begin_import(&daemon).await;
    drop(again._more);
    assert_eq!(code(again.answer.await), Code::InvalidArgument, "its memory was given back");
    daemon.stop().await;
}

#[tokio::test]
async fn health_answers_for_every_service_and_reflection_in_both_versions() {
    let daemon = TestDaemon::start_with(|config| config.server.reflection = true).await;
    let mut health = HealthClient::new(daemon.channel.clone());
    let services = ["SessionService", "RegistryService", "PolicyService", "StatsService"];
    let names = services.map(|service| format!("toolcrib.v1.{service}"));
    for service in names.iter().cloned().chain([String::new()]) {
        let answer = health.check(HealthCheckRequest { service }).await.expect("known").into_inner();
        assert_eq!(answer.status(), ServingStatus::Serving);
    }

    let request = v1::ServerReflectionRequest {
        message_request: Some(v1::server_reflection_request::MessageRequest::ListServices(String::new())),
        ..Default::default()
    };
    let mut client = v1::server_reflection_client::ServerReflectionClient::new(daemon.channel.clone());
    let answers = client.server_reflection_info(tokio_stream::iter([request])).await.expect("reflection");
    let answer = answers.into_inner().message().await.expect("it goes on").expect("an answer");
    let Some(v1::server_reflection_response::MessageResponse::ListServicesResponse(list)) = answer.message_response
    else {
        panic!("another answer");
    };
    for name in &names {
        assert!(list.service.iter().any(|service| service.name == *name), "{name}");
    }

    let request = v1alpha::ServerReflectionRequest {
        message_request: Some(v1alpha::server_reflection_request::MessageRequest::FileContainingSymbol(
            names[0].clone(),
        )),
        ..Default::default()
    };
    let mut client = v1alpha::server_reflection_client::ServerReflectionClient::new(daemon.channel.clone());
    let answers = client.server_reflection_info(tokio_stream::iter([request])).await.expect("reflection");
    let answer = answers.into_inner().message().await.expect("it goes on").expect("an answer");
    use v1alpha::server_reflection_response::MessageResponse;
    assert!(matches!(answer.message_response, Some(MessageResponse::FileDescriptorResponse(_))));
    daemon.stop().await;
}

/// Reads until the other side closes.
async fn closed(stream: &mut TcpStream) {
    let mut rest = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut rest)).await.expect("it is closed");
    // Closed with something unread is a reset.
    let _ = read;
}

#[tokio::test]
async fn connections_that_stop_in_their_first_words_give_their_slot_back() {
    let daemon = TestDaemon::start_with(|config| {
        // One is the test's own.
        config.limits.connections = 2;
        config.limits.first_bytes_secs = 1;
    })
    .await;
    let mut half = TcpStream::connect(&daemon.address).await.expect("a connection");
    half.write_all(&PREFACE[..10]).await.expect("sent");
    let mut surplus = TcpStream::connect(&daemon.address).await.expect("a connection");
    closed(&mut surplus).await;
    closed(&mut half).await;
    let mut stranger = TcpStream::connect(&daemon.address).await.expect("a connection");
    stranger.write_all(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n").await.expect("sent");
    closed(&mut stranger).await;
    let mut whole = TcpStream::connect(&daemon.address).await.expect("a connection");
    whole.write_all(PREFACE).await.expect("sent");
    // An empty SETTINGS frame.
    whole.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await.expect("sent");
    let mut frame = [0; 9];
    whole.read_exact(&mut frame).await.expect("the server speaks");
    assert_eq!(frame[3], 4, "its SETTINGS");
    let page = scrape(&daemon.metrics_url).await;
    assert!(page.contains(r#"toolcrib_shed_total{reason="connections"} 1"#), "{page}");
    daemon.stop().await;
}

#[tokio::test]
async fn a_stop_is_bounded_whatever_clients_do() {
    let mut daemon = TestDaemon::start_with(|config| config.limits.drain_secs = 1).await;
    daemon.register(vec![definition("send_email")]).await;
    let _silent = TcpStream::connect(&daemon.address).await.expect("a connection");
    let mut idle = TcpStream::connect(&daemon.address).await.expect("a connection");
    idle.write_all(PREFACE).await.expect("sent");
    let _half_open = begin_import(&daemon).await;
    let mut health = HealthClient::new(daemon.channel.clone());
    let service = "toolcrib.v1.StatsService".to_owned();
    let mut watched = health.watch(HealthCheckRequest { service }).await.expect("watched").into_inner();
    let status = |answer: Option<tonic_health::pb::HealthCheckResponse>| answer.expect("an answer").status();
    assert_eq!(status(watched.message().await.expect("it goes on")), ServingStatus::Serving);
    let started = tokio::time::Instant::now();
    assert_eq!(daemon.stop().await, Ended::Clean);
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
    assert_eq!(status(watched.message().await.expect("it goes on")), ServingStatus::NotServing);
}

#[tokio::test]
async fn a_policy_is_changed_at_the_version_that_was_read_and_at_no_other() {
    let mut daemon = TestDaemon::start().await;
    daemon.register(vec![definition("send_email")]).await;
    let namespace = NAMESPACE.to_owned();
    let read = daemon.policy.get_policy(GetPolicyRequest { namespace: namespace.clone() }).await.expect("a policy");
    let read = read.into_inner().version;
    let values = std::collections::HashMap::from([("plan.top_m".to_owned(), "5".to_owned())]);
    let request = SetPolicyRequest { namespace, values, expected_version: read, ..Default::default() };
    let changed = daemon.policy.set_policy(request.clone()).await.expect("nobody was faster").into_inner();
    assert_eq!(changed.version, read + 1);
    let status = daemon.policy.set_policy(request).await.expect_err("it is at another version now");
    assert_eq!(status.code(), tonic::Code::FailedPrecondition);
    daemon.stop().await;
}

//! How definitions reach each provider's model: what stands in the block, what a step brings, and what answers a call.

use serde_json::{Value, json};
use tonic::Code;
use toolcrib::proto::*;

use crate::common::{NAMESPACE, TestDaemon, definition, fields_of, scrape};

const SCHEMA: &str = r#"{"type":"object","properties":{"thing":{"type":"string"}},"required":["thing"]}"#;

const TOOLS: [&str; 12] = [
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

/// Twelve tools: too many to be sent whole. None is called yet, so none is resident.
async fn daemon() -> TestDaemon {
    let mut daemon = TestDaemon::start().await;
    daemon.set_policy("session.pass_through_share", "0").await;
    daemon.register(TOOLS.iter().map(|name| definition(name)).collect()).await;
    daemon
}

async fn open(daemon: &mut TestDaemon, id: &str, format: Format, delivery: Delivery) -> OpenSessionResponse {
    let opened = daemon
        .open_with(id, |open| {
            open.format = format.into();
            open.delivery = delivery.into();
        })
        .await;
    assert_eq!(opened.delivery(), delivery);
    opened
}

fn read(piece: &Piece) -> Value {
    serde_json::from_slice(&piece.content).expect("a piece is JSON")
}

fn pieces_at(pieces: &[Piece], place: Place) -> Vec<&Piece> {
    pieces.iter().filter(|piece| piece.place() == place).collect()
}

async fn ask(daemon: &mut TestDaemon, session: &str, call: &str, name: &str) -> RequestToolResponse {
    let request = RequestToolRequest {
        namespace: NAMESPACE.into(),
        session_id: session.into(),
        call_id: call.into(),
        ask: Some(request_tool_request::Ask::Name(name.into())),
        ..Default::default()
    };
    daemon.sessions.request_tool(request).await.expect("an answer").into_inner()
}

/// Returns a definition of one of the tools as a provider's tools array has it.
fn native(format: Format, name: &str) -> Value {
    let words = name.trim_start_matches("s__").replace('_', " ");
    let description = format!("Does {words} with the thing that is named.");
    let schema: Value = serde_json::from_str(SCHEMA).expect("a schema");
    match format {
        Format::Anthropic => json!({"name": name, "description": description, "input_schema": schema}),
        Format::OpenaiResponses => json!({
            "type": "function", "name": name, "description": description, "parameters": schema, "strict": false,
        }),
        _ => unreachable!("only these two have items that carry definitions"),
    }
}

#[tokio::test]
async fn a_delivery_that_the_format_lacks_is_refused_with_those_that_it_has() {
    let mut daemon = daemon().await;
    for (format, delivery, accepted) in [
        (Format::Mcp, Delivery::Append, "invoke, tools in the format mcp"),
        (Format::OpenaiChat, Delivery::Append, "invoke, tools in the format openai_chat"),
        (Format::OpenaiResponses, Delivery::Reference, "append, invoke, tools in the format openai_responses"),
    ] {
        let request = OpenSessionRequest {
            namespace: NAMESPACE.into(),
            session_id: "a".into(),
            format: format.into(),
            delivery: delivery.into(),
            ..Default::default()
        };
        let status = daemon.sessions.open_session(request).await.expect_err("the format lacks it");
        assert_eq!((status.code(), fields_of(&status)), (Code::InvalidArgument, vec!["delivery".to_owned()]));
        assert!(status.message().ends_with(accepted), "{}", status.message());
    }
    daemon.stop().await;
}

#[tokio::test]
async fn the_model_decides_where_the_runtime_does_not_and_an_open_session_keeps_what_it_has() {
    let mut daemon = daemon().await;
    let model = |id: &'static str, format: Format, model: &'static str| {
        move |open: &mut OpenSessionRequest| {
            open.session_id = id.into();
            open.format = format.into();
            open.model = model.into();
        }
    };
    for (id, format, name, delivery) in [
        ("a", Format::Anthropic, "claude-opus-5-20260301", Delivery::Append),
        ("b", Format::Anthropic, "claude-sonnet-5-20260301", Delivery::Reference),
        ("c", Format::OpenaiResponses, "gpt-5.6", Delivery::Append),
        ("d", Format::OpenaiChat, "gpt-5.6", Delivery::Invoke),
        ("e", Format::Anthropic, "somebody-elses-model", Delivery::Invoke),
    ] {
        assert_eq!(daemon.open_with(id, model(id, format, name)).await.delivery(), delivery, "{name}");
    }
    let opened = daemon.open_with("a", model("a", Format::Anthropic, "claude-opus-5-20260301")).await;
    assert_eq!(opened.betas, ["inline-tools-2026-09-15"]);

    daemon.set_policy("session.deliveries", "claude-opus-5=tools").await;
    let again = daemon.open_with("a", model("a", Format::Anthropic, "claude-opus-5-20260301")).await;
    assert!(again.resumed);
    assert_eq!((again.delivery(), again.block), (Delivery::Append, opened.block));
    let new = daemon.open_with("f", model("f", Format::Anthropic, "claude-opus-5-20260301")).await;
    assert_eq!((new.delivery(), new.betas.len()), (Delivery::Tools, 0));
    let opened = daemon.figures().await.sessions.expect("sessions").opened.expect("by delivery");
    assert_eq!(opened, DeliveryFigures { append: 2, reference: 1, invoke: 2, tools: 1 });
    let page = scrape(&daemon.metrics_url).await;
    assert!(page.contains(r#"toolcrib_sessions_opened_total{namespace="test",delivery="append"} 2"#), "{page}");
    daemon.stop().await;
}

#[tokio::test]
async fn a_copied_context_goes_on_with_the_delivery_that_it_has_and_takes_no_other() {
    let mut daemon = daemon().await;
    open(&mut daemon, "a", Format::Anthropic, Delivery::Append).await;
    let fork = |open: &mut OpenSessionRequest| {
        open.format = Format::Anthropic.into();
        open.fork_of = "a".into();
    };
    assert_eq!(daemon.open_with("b", fork).await.delivery(), Delivery::Append);
    let mut other = OpenSessionRequest { namespace: NAMESPACE.into(), session_id: "c".into(), ..Default::default() };
    fork(&mut other);
    other.format = Format::Mcp.into();
    let status = daemon.sessions.open_session(other).await.expect_err("another format");
    assert_eq!((status.code(), fields_of(&status)), (Code::InvalidArgument, vec!["fork_of".to_owned()]));
    daemon.stop().await;
}

#[tokio::test]
async fn by_append_an_item_of_the_provider_carries_the_definition() {
    let mut daemon = daemon().await;
    let names = ["s__send_email"];

    let block = open(&mut daemon, "a", Format::Anthropic, Delivery::Append).await.block.expect("a block");
    let tools = pieces_at(&block.pieces, Place::Tools);
    assert_eq!(tools.iter().map(|piece| read(piece)["name"].clone()).collect::<Vec<_>>(), ["request_tool"]);
    let plan = daemon.plan_with("a", "send an email", |step| step.max_tools = 1).await;
    let addition = json!({"role": "system", "content": [{
        "type": "tool_addition",
        "tool": {"type": "tool_definition", "definition": native(Format::Anthropic, "s__send_email")},
    }]});
    let piece = &plan.pieces[0];
    assert_eq!(
        (piece.place(), read(piece), &piece.names[..]),
        (Place::Messages, addition, &names.map(String::from)[..])
    );
    assert!(!plan.breaks_cache);

    open(&mut daemon, "b", Format::OpenaiResponses, Delivery::Append).await;
    let plan = daemon.plan_with("b", "send an email", |step| step.max_tools = 1).await;
    let tools = [native(Format::OpenaiResponses, "s__send_email")];
    let item = json!({"type": "additional_tools", "role": "developer", "tools": tools});
    assert_eq!((plan.pieces[0].place(), read(&plan.pieces[0])), (Place::Messages, item));
    daemon.stop().await;
}

#[tokio::test]
async fn by_append_the_models_own_request_is_answered_as_the_provider_has_it() {
    let mut daemon = daemon().await;
    open(&mut daemon, "a", Format::Anthropic, Delivery::Append).await;
    let answer = ask(&mut daemon, "a", "toolu_1", "s__book_flight").await;
    let [result, addition] = &answer.pieces[..] else { panic!("{answer:?}") };
    assert_eq!(
        read(result),
        json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "Loaded: s__book_flight."}]})
    );
    assert_eq!((result.place(), addition.place()), (Place::ToolResult, Place::Messages));
    assert_eq!((result.names.len(), &addition.names[..]), (0, &["s__book_flight".to_owned()][..]));
    let missed = ask(&mut daemon, "a", "toolu_2", "zzzz").await;
    assert_eq!((missed.pieces.len(), &read(&missed.pieces[0])["is_error"]), (1, &Value::Bool(true)));

    let block = open(&mut daemon, "b", Format::OpenaiResponses, Delivery::Append).await.block.expect("a block");
    let search = read(pieces_at(&block.pieces, Place::Tools)[0]);
    assert_eq!((&search["type"], &search["execution"]), (&json!("tool_search"), &json!("client")));
    let answer = ask(&mut daemon, "b", "call_1", "s__book_flight").await;
    let tools = [native(Format::OpenaiResponses, "s__book_flight")];
    assert_eq!(
        read(&answer.pieces[0]),
        json!({"type": "tool_search_output", "call_id": "call_1", "execution": "client", "status": "completed", "tools": tools})
    );
    assert_eq!((answer.pieces.len(), &answer.pieces[0].names[..]), (1, &["s__book_flight".to_owned()][..]));

    // The item has no room for words; a model that gets nothing is told why all the same.
    let missed = ask(&mut daemon, "b", "call_2", "zzzz").await;
    let [output, why] = &missed.pieces[..] else { panic!("{missed:?}") };
    assert_eq!((read(output)["tools"].clone(), why.place()), (json!([]), Place::Messages));
    let text = read(why)["content"][0]["text"].as_str().expect("words").to_owned();
    assert!(text.starts_with("No such tool."), "{text}");
    daemon.stop().await;
}

#[tokio::test]
async fn what_answers_a_refused_call_is_whole_and_bears_its_id() {
    let mut daemon = daemon().await;
    for (id, format, delivery) in [
        ("a", Format::Anthropic, Delivery::Append),
        ("b", Format::Anthropic, Delivery::Invoke),
        ("c", Format::OpenaiResponses, Delivery::Append),
        ("d", Format::OpenaiResponses, Delivery::Invoke),
        ("e", Format::OpenaiChat, Delivery::Invoke),
    ] {
        open(&mut daemon, id, format, delivery).await;
        let plan = daemon.plan(id, "").await;
        let checked = daemon.check(id, &plan.step_id, "call-7", "s__send_email", r#"{"thing":3}"#).await;
        assert!(!checked.run);
        let results = pieces_at(&checked.pieces, Place::ToolResult);
        let [result] = &results[..] else { panic!("{checked:?}") };
        let result = read(result);
        let told = match format {
            Format::Anthropic => {
                assert_eq!(result["is_error"], json!(true));
                assert_eq!((&result["type"], &result["tool_use_id"]), (&json!("tool_result"), &json!("call-7")));
                &result["content"][0]["text"]
            }
            Format::OpenaiResponses => {
                assert_eq!((&result["type"], &result["call_id"]), (&json!("function_call_output"), &json!("call-7")));
                &result["output"]
            }
            _ => {
                assert_eq!((&result["role"], &result["tool_call_id"]), (&json!("tool"), &json!("call-7")));
                &result["content"]
            }
        };
        let told = told.as_str().expect("words");
        assert!(told.contains("/thing"), "{told}");
        // The definition comes along: beside the words where the provider carries it, among them where it does not.
        let brought: Vec<String> = checked.pieces.iter().flat_map(|piece| piece.names.clone()).collect();
        assert_eq!(brought, ["s__send_email"]);
        assert_eq!(told.contains("arguments (JSON Schema)"), delivery == Delivery::Invoke);
    }
    daemon.stop().await;
}

#[tokio::test]
async fn by_reference_the_pool_stands_deferred_and_a_request_is_answered_with_references() {
    let mut daemon = daemon().await;
    daemon.set_policy("session.reference_tools", "11").await;
    let block = open(&mut daemon, "a", Format::Anthropic, Delivery::Reference).await.block.expect("a block");
    let deferred: Vec<&Piece> = block.pieces.iter().filter(|piece| piece.deferred).collect();
    assert_eq!(deferred.len(), 11, "the policy's bound");
    for piece in &deferred {
        let tool = read(piece);
        assert_eq!((piece.place(), piece.tokens, piece.names.len()), (Place::Tools, 0, 0));
        assert_eq!(tool["defer_loading"], json!(true));
        assert_eq!(tool["input_schema"], serde_json::from_str::<Value>(SCHEMA).expect("a schema"));
    }
    assert!(!block.pieces[block.cache_after as usize].deferred);
    assert!(block.offers.iter().any(|offer| offer.name == "call_tool"));
    let declared: Vec<String> = deferred.iter().map(|piece| read(piece)["name"].as_str().unwrap().to_owned()).collect();

    // A reference needs a tool result: what a step brings is text.
    let plan = daemon.plan_with("a", "send an email", |step| step.max_tools = 1).await;
    assert_eq!(read(&plan.pieces[0])["role"], json!("user"));

    let name = declared.iter().find(|name| *name != "s__send_email").expect("another tool");
    let answer = ask(&mut daemon, "a", "toolu_1", name).await;
    assert_eq!(
        read(&answer.pieces[0]),
        json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "tool_reference", "tool_name": name}]})
    );
    assert_eq!((answer.pieces.len(), &answer.pieces[0].names[..]), (1, &[name.clone()][..]));
    assert!(answer.pieces[0].tokens > 0, "a reference is expanded");

    // What the block does not declare cannot be referred to.
    let left =
        TOOLS.iter().map(|name| format!("s__{name}")).find(|name| !declared.contains(name)).expect("the twelfth");
    let answer = ask(&mut daemon, "a", "toolu_2", &left).await;
    let text = read(&answer.pieces[0])["content"][0]["text"].as_str().expect("words").to_owned();
    assert!(text.contains(&format!("## {left}")), "{text}");
    daemon.stop().await;
}

#[tokio::test]
async fn a_deferred_tool_is_absent_until_it_is_referred_to() {
    let mut daemon = daemon().await;
    open(&mut daemon, "a", Format::Anthropic, Delivery::Reference).await;
    let plan = daemon.plan("a", "").await;
    let unasked = daemon.check("a", &plan.step_id, "1", "s__book_flight", r#"{"thing":"x"}"#).await;
    assert_eq!((unasked.run, unasked.presence()), (true, Presence::Absent));
    ask(&mut daemon, "a", "toolu_1", "s__play_music").await;
    let plan = daemon.plan("a", "").await;
    let asked = daemon.check("a", &plan.step_id, "2", "s__play_music", r#"{"thing":"x"}"#).await;
    assert_eq!((asked.run, asked.presence()), (true, Presence::Recalled));
    daemon.stop().await;
}

#[tokio::test]
async fn a_session_goes_by_the_version_that_stands_deferred_in_its_block() {
    let mut daemon = daemon().await;
    open(&mut daemon, "a", Format::Anthropic, Delivery::Reference).await;
    let mut changed = definition("send_email");
    changed.input_schema = r#"{"type":"object","properties":{"thing":{"type":"number"}},"required":["thing"]}"#.into();
    daemon.register(vec![changed]).await;
    let plan = daemon.plan("a", "").await;
    let checked = daemon.check("a", &plan.step_id, "1", "s__send_email", r#"{"thing":"x"}"#).await;
    assert!(checked.run);
    assert_eq!(checked.tool.expect("a tool").version, 1);
    assert_eq!(checked.stale, Some(StaleVersion { current_version: 2, arguments_fit: false }));
    daemon.stop().await;
}

#[tokio::test]
async fn a_cache_breakpoint_is_written_on_request_and_where_the_provider_has_one() {
    let mut daemon = daemon().await;
    let mut opened = Vec::new();
    for (id, format, mark) in [
        ("a", Format::Anthropic, false),
        ("b", Format::Anthropic, true),
        ("c", Format::OpenaiResponses, false),
        ("d", Format::OpenaiResponses, true),
    ] {
        let answer = daemon
            .open_with(id, |open| {
                open.format = format.into();
                open.mark_cache = mark;
            })
            .await;
        opened.push(answer.block.expect("a block"));
    }
    let [plain, marked, responses, responses_marked] = &opened[..] else { panic!("four blocks") };
    let at = marked.cache_after as usize;
    let mut system = read(&marked.pieces[at]);
    assert_eq!(system["cache_control"], json!({"type": "ephemeral"}));
    system.as_object_mut().expect("a block of text").remove("cache_control");
    assert_eq!(system, read(&plain.pieces[at]));
    assert_eq!(plain.pieces[..at], marked.pieces[..at]);
    assert_ne!(plain.digest, marked.digest);
    assert_eq!(responses.digest, responses_marked.digest);
    daemon.stop().await;
}

/// The block is the same with and without the mark, where the format has none.
#[tokio::test]
async fn a_mark_that_a_format_has_not_makes_no_other_session() {
    let mut daemon = daemon().await;
    let of = |format: Format, mark: bool, fork: &'static str| {
        move |open: &mut OpenSessionRequest| {
            open.format = format.into();
            open.mark_cache = mark;
            open.fork_of = fork.into();
        }
    };
    daemon.open_with("a", of(Format::OpenaiChat, true, "")).await;
    assert!(daemon.open_with("a", of(Format::OpenaiChat, false, "")).await.resumed);
    daemon.open_with("b", of(Format::OpenaiChat, false, "a")).await;
    daemon.open_with("c", of(Format::Anthropic, true, "")).await;
    let mut other = OpenSessionRequest { namespace: NAMESPACE.into(), session_id: "d".into(), ..Default::default() };
    of(Format::Anthropic, false, "c")(&mut other);
    let status = daemon.sessions.open_session(other).await.expect_err("its block has a mark");
    assert_eq!(fields_of(&status), ["fork_of"]);
    daemon.stop().await;
}

/// A crash took the record of it, and the runtime still has it.
#[tokio::test]
async fn what_a_runtime_has_and_the_daemon_lost_is_told_in_the_version_that_is_served() {
    let mut daemon = daemon().await;
    open(&mut daemon, "a", Format::Anthropic, Delivery::Append).await;
    let present = |step: &mut PlanStepRequest| step.present = Some(Present { names: vec!["s__play_music".into()] });
    daemon.plan_with("a", "", present).await;
    let request = GetSessionRequest { namespace: NAMESPACE.into(), session_id: "a".into(), ..Default::default() };
    let session = daemon.sessions.get_session(request).await.expect("a session").into_inner();
    let versions: Vec<u32> = session.present.into_iter().map(|offer| offer.tool.expect("a tool").version).collect();
    assert_eq!(versions, [1]);
    daemon.stop().await;
}

#[tokio::test]
async fn a_tool_whose_schema_the_provider_refuses_is_left_out_there_and_nowhere_else() {
    let mut daemon = daemon().await;
    let mut tool = definition("tax_car");
    tool.input_schema = r#"{"type":"object","properties":{"año":{"type":"string"}},"required":["año"]}"#.into();
    tool.size_tokens = 60;
    daemon.set_policy("admission.size_tolerance", "5").await;
    daemon.register(vec![tool]).await;
    open(&mut daemon, "a", Format::Anthropic, Delivery::Invoke).await;
    open(&mut daemon, "b", Format::OpenaiChat, Delivery::Invoke).await;
    let answer = ask(&mut daemon, "a", "1", "s__tax_car").await;
    assert_eq!((answer.result(), answer.reason()), (RequestResult::Unavailable, Reason::NotRenderable));
    let plan = daemon.plan("a", "").await;
    let call = r#"{"name":"s__tax_car","arguments":{"año":"1999"}}"#;
    let checked = daemon.check("a", &plan.step_id, "2", "call_tool", call).await;
    assert_eq!((checked.run, checked.reason()), (false, Reason::NotRenderable));
    assert_eq!(ask(&mut daemon, "b", "1", "s__tax_car").await.result(), RequestResult::Exact);
    daemon.stop().await;
}

#[tokio::test]
async fn a_session_is_read_again_as_it_was_given_and_what_was_asked_for_as_a_step_gives_it() {
    let mut daemon = daemon().await;
    let block = open(&mut daemon, "a", Format::Anthropic, Delivery::Append).await.block.expect("a block");
    let plan = daemon.plan_with("a", "send an email", |step| step.max_tools = 1).await;
    let asked = ask(&mut daemon, "a", "toolu_1", "s__book_flight").await;
    let refused = daemon.check("a", &plan.step_id, "1", "s__play_music", "{}").await;
    let given = [&block.pieces[..], &plan.pieces[..], &asked.pieces[1..], &refused.pieces[1..]].concat();

    let request = ReadSessionRequest { namespace: NAMESPACE.into(), session_id: "a".into(), ..Default::default() };
    let mut stream = daemon.sessions.read_session(request).await.expect("a stream").into_inner();
    let mut again = Vec::new();
    while let Some(message) = stream.message().await.expect("the stream goes on") {
        again.push(message.piece.expect("a piece"));
    }
    assert_eq!(again, given);
    daemon.stop().await;
}

//! What users of other tool registries ran into, tried on this one. Each test is named after the trouble it would be.

use std::collections::{BTreeMap, BTreeSet};

use toolcrib::core::tokens;
use toolcrib::proto::*;

use crate::common::{NAMESPACE, TestDaemon, definition};

/// A tool with its own source, words and schema; its size is measured.
fn tool(source: &str, name: &str, description: &str, schema: &str) -> ToolDefinition {
    let text = |text: &str| serde_json::Value::from(text).to_string();
    let measured = format!(r#"{{"name":{},"description":{},"input_schema":{schema}}}"#, text(name), text(description));
    ToolDefinition {
        source: source.into(),
        name: name.into(),
        summary: description.into(),
        when_to_use: "When it is asked for.".into(),
        keywords: vec!["chore".into()],
        size_tokens: tokens::count(&measured),
        description: description.into(),
        input_schema: schema.to_owned().into(),
        ..Default::default()
    }
}

const NO_ARGUMENTS: &str = r#"{"type":"object","properties":{}}"#;

fn plain(source: &str, name: &str, description: &str) -> ToolDefinition {
    tool(source, name, description, NO_ARGUMENTS)
}

/// Starts a daemon that narrows however few tools there are.
async fn narrowing_daemon() -> TestDaemon {
    let mut daemon = TestDaemon::start().await;
    daemon.set_policy("session.pass_through_tools", "0").await;
    daemon.set_policy("session.pass_through_share", "0").await;
    daemon
}

async fn request(daemon: &mut TestDaemon, session: &str, call: &str, name: &str) -> RequestToolResponse {
    let request = RequestToolRequest {
        namespace: NAMESPACE.into(),
        session_id: session.into(),
        call_id: call.into(),
        ask: Some(request_tool_request::Ask::Name(name.into())),
        ..Default::default()
    };
    daemon.sessions.request_tool(request).await.expect("an answer").into_inner()
}

fn text_of(pieces: &[Piece]) -> String {
    pieces.iter().map(|piece| String::from_utf8_lossy(&piece.content).into_owned()).collect()
}

fn sixty_tools() -> Vec<ToolDefinition> {
    let verbs = ["create", "list", "read", "update", "delete", "search"];
    let things = ["issue", "branch", "commit", "label", "release", "gist", "team", "wiki", "fork", "tag"];
    let pairs = verbs.iter().flat_map(|verb| things.iter().map(move |thing| format!("{verb}_{thing}")));
    pairs.map(|name| definition(&name)).collect()
}

/// What a session of a fresh daemon sees and may call, when the tools come in this order.
async fn visible_and_callable(tools: Vec<ToolDefinition>) -> (String, Vec<String>, BTreeMap<String, bool>) {
    let mut daemon = narrowing_daemon().await;
    let names: BTreeSet<String> = tools.iter().map(|tool| format!("s__{}", tool.name)).collect();
    daemon.register(tools).await;
    let block = daemon.open("a").await.block.expect("a block");
    let plan = daemon.plan("a", "open a new ticket about a branch").await;
    let issued = plan.issued.iter().map(|offer| offer.name.clone()).collect();
    let mut runs = BTreeMap::new();
    for (i, name) in names.into_iter().enumerate() {
        let checked = daemon.check("a", &plan.step_id, &i.to_string(), &name, r#"{"thing":"x"}"#).await;
        runs.insert(name, checked.run);
    }
    daemon.stop().await;
    (block.digest, issued, runs)
}

#[tokio::test]
async fn what_is_visible_and_callable_does_not_hang_on_the_order_of_registration() {
    let forward = visible_and_callable(sixty_tools()).await;
    let backward = visible_and_callable(sixty_tools().into_iter().rev().collect()).await;
    assert_eq!(forward, backward);
    assert!(!forward.1.is_empty() && forward.1.len() <= 8, "{:?}", forward.1);
    assert!(forward.2.values().all(|runs| *runs), "a tool that the directory lists can be called");
}

#[tokio::test]
async fn a_withheld_tool_never_runs_and_says_why() {
    let mut daemon = narrowing_daemon().await;
    daemon.register(sixty_tools()).await;
    daemon.open("a").await;
    daemon.change("create_issue", ToolAction::Quarantine).await;
    let plan = daemon.plan("a", "create issue").await;
    assert!(plan.issued.iter().all(|offer| offer.name != "s__create_issue"), "{:?}", plan.issued);
    let checked = daemon.check("a", &plan.step_id, "1", "s__create_issue", r#"{"thing":"x"}"#).await;
    assert!(!checked.run && checked.reason() == Reason::Quarantined, "{checked:?}");
    assert!(text_of(&checked.pieces).contains("out of order"), "{checked:?}");
    daemon.stop().await;
}

#[tokio::test]
async fn an_invented_name_is_answered_with_the_nearest_names_and_the_next_step() {
    let mut daemon = narrowing_daemon().await;
    let mut tools = sixty_tools();
    tools.push(plain("giphy", "image_search", "Finds moving pictures by words"));
    daemon.register(tools).await;
    daemon.open("a").await;
    let answer = request(&mut daemon, "a", "1", "giphy__image_search_tool").await;
    let known = answer.issued.iter().map(|offer| &offer.name).chain(&answer.nearest);
    assert!(known.into_iter().any(|name| name == "giphy__image_search"), "{answer:?}");
    let nothing = request(&mut daemon, "a", "2", "frobnicate_zzz").await;
    assert_eq!(nothing.result(), RequestResult::NotFound);
    assert_eq!(nothing.pieces.len(), 1, "exactly one tool result");
    let said = text_of(&nothing.pieces);
    assert!(said.contains("No such tool") && said.contains("say the need"), "{said}");
    daemon.stop().await;
}

#[tokio::test]
async fn whole_words_come_before_parts_of_words() {
    let mut daemon = narrowing_daemon().await;
    daemon
        .register(vec![
            plain("contacts", "address_book", "Shows the address book of a person"),
            plain("math", "add", "Sums two numbers"),
            plain("mail", "send_email", "Delivers a message to a mailbox"),
            plain("users", "getUserByEmail", "Looks somebody up by an address"),
        ])
        .await;
    for (i, (query, wanted)) in
        [("add", "math__add"), ("mail", "mail__send_email"), ("get user", "users__getUserByEmail")].iter().enumerate()
    {
        daemon.open(&i.to_string()).await;
        let plan = daemon.plan(&i.to_string(), query).await;
        assert_eq!(plan.issued.first().map(|offer| offer.name.as_str()), Some(*wanted), "{query}");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn an_overlong_message_is_planned_and_the_runtimes_own_tools_pass_through() {
    let mut daemon = narrowing_daemon().await;
    daemon.register(sixty_tools()).await;
    daemon.open_with("a", |open| open.own_tools = vec![OwnTool { name: "bash".into(), tokens: 50 }]).await;
    let long = format!("{} create issue", "the user pasted a log line. ".repeat(30_000));
    let plan = daemon.plan("a", &long).await;
    assert!(!plan.issued.is_empty(), "{:?}", plan.result());
    let own = daemon.check("a", &plan.step_id, "1", "bash", r#"{"command":"ls"}"#).await;
    assert!(own.run && own.kind() == CallKind::Own, "{own:?}");
    daemon.stop().await;
}

#[tokio::test]
async fn tools_outside_the_pool_are_not_found_nor_named_as_the_nearest() {
    let mut daemon = narrowing_daemon().await;
    let mut tools = sixty_tools();
    tools.push(plain("payroll", "export_salaries", "Writes down what everybody earns"));
    daemon.register(tools).await;
    daemon
        .open_with("a", |open| {
            open.pool = Some(Pool { deny: vec!["payroll/*".into()], ..Default::default() });
        })
        .await;
    let block = daemon.get("a").await;
    assert!(!format!("{block:?}").contains("salaries"));
    let plan = daemon.plan("a", "export salaries: what everybody earns").await;
    assert!(plan.issued.iter().all(|offer| !offer.name.contains("payroll")), "{:?}", plan.issued);
    for (call, name) in [("1", "payroll__export_salaries"), ("2", "export_salarie"), ("3", "payroll__export")] {
        let answer = request(&mut daemon, "a", call, name).await;
        let offers = answer.issued.iter().map(|offer| &offer.name).chain(&answer.nearest);
        assert!(offers.into_iter().all(|found| !found.contains("salaries")), "{answer:?}");
        let said = text_of(&answer.pieces).replace(name, "");
        assert!(!said.contains("salaries") && !said.contains("earns"), "{said}");
    }
    daemon.stop().await;
}

const WITH_DEFS: &str = r##"{"type":"object","properties":{"query_model":{"$ref":"#/$defs/ScheduleQuery"},"tree":{"$ref":"#/$defs/Node"},"target":{"oneOf":[{"type":"object","properties":{"id":{"type":"string"},"region":{"type":"string"}},"required":["id","region"]},{"type":"string"}],"description":"where"}},"required":["query_model"],"$defs":{"ScheduleQuery":{"type":"object","properties":{"ids":{"type":"array","items":{"type":"string"}}},"required":["ids"]},"Node":{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#/$defs/Node"}}}}}}"##;

#[tokio::test]
async fn references_their_definitions_and_required_fields_inside_one_of_reach_the_model_whole() {
    let mut daemon = narrowing_daemon().await;
    let mut tools = sixty_tools();
    tools.push(tool("pager", "list_schedules", "Lists who is on call", WITH_DEFS));
    daemon.register(tools).await;
    daemon.open("a").await;
    let plan = daemon.plan("a", "list schedules: who is on call").await;
    let shown = text_of(&plan.pieces);
    let quoted = |text: &str| shown.contains(text) || shown.contains(&text.replace('"', "\\\""));
    for kept in [
        r##""query_model":{"$ref":"#/$defs/ScheduleQuery"}"##,
        r#""required":["ids"]"#,
        r##""children":{"type":"array","items":{"$ref":"#/$defs/Node"}}"##,
        r#""required":["id","region"]"#,
        r#""required":["query_model"]"#,
    ] {
        assert!(quoted(kept), "{kept} is not in {shown}");
    }
    let call = |arguments: &'static str| arguments;
    for (id, arguments, runs) in [
        ("1", call(r#"{"query_model":{"ids":["a"]}}"#), true),
        ("2", call(r#"{"query_model":{}}"#), false),
        ("3", call(r#"{"query_model":{"ids":[]},"target":{"id":"x"}}"#), false),
        ("4", call(r#"{"query_model":{"ids":[]},"tree":{"children":[{"children":[{}]}]}}"#), true),
        ("5", call(r#"{"query_model":{"ids":[]},"tree":{"children":[{"children":[1]}]}}"#), false),
    ] {
        let checked = daemon.check("a", &plan.step_id, id, "pager__list_schedules", arguments).await;
        assert_eq!(checked.run, runs, "{arguments}: {:?}", checked.violations);
    }
    daemon.stop().await;
}

/// Returns what each identity is called by models, when the tools come in this order, and checks that each name leads
/// back to its tool.
async fn aliases(tools: Vec<ToolDefinition>) -> BTreeMap<String, String> {
    let mut daemon = narrowing_daemon().await;
    daemon.register(tools).await;
    daemon.open("a").await;
    let plan = daemon.plan("a", "anything").await;
    let request = ListToolsRequest { namespace: NAMESPACE.into(), ..Default::default() };
    let listed = daemon.registry.list_tools(request).await.expect("a list").into_inner().tools;
    let mut aliases = BTreeMap::new();
    for (i, record) in listed.into_iter().enumerate() {
        let tool = record.tool.expect("its identity");
        let checked = daemon.check("a", &plan.step_id, &i.to_string(), &record.alias, "{}").await;
        let led_to = checked.tool.expect("a tool behind the name");
        assert_eq!((&led_to.source, &led_to.name), (&tool.source, &tool.name));
        aliases.insert(format!("{}/{}", tool.source, tool.name), record.alias);
    }
    daemon.stop().await;
    aliases
}

#[tokio::test]
async fn names_that_a_cut_would_make_equal_stay_apart_and_lead_back() {
    let stem = "a_very_long_name_of_a_tool_".repeat(3);
    let stem = &stem[..65];
    let names = [
        ("s", format!("{stem}_v001")),
        ("s", format!("{stem}_v002")),
        ("s", "domains.list".into()),
        ("s", "domains_list".into()),
        ("s", "x".repeat(128)),
        ("one", "search".into()),
        ("two", "search".into()),
    ];
    let tools: Vec<ToolDefinition> =
        names.iter().map(|(source, name)| plain(source, name, "Does one of several things")).collect();
    let forward = aliases(tools.clone()).await;
    let backward = aliases(tools.into_iter().rev().collect()).await;
    assert_eq!(forward, backward);
    let distinct: BTreeSet<&String> = forward.values().collect();
    assert_eq!(distinct.len(), names.len(), "{forward:?}");
    assert!(forward.values().all(|alias| alias.len() <= 64), "{forward:?}");
}

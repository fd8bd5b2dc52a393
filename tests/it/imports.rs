//! Catalog files through the front door: what an import says beforehand, does, and says of it; and what is an alarm.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use toolcrib::proto::import_tools_request::Part;
use toolcrib::proto::*;

use crate::common::{NAMESPACE, TestDaemon, definition, reason_of, scrape};

fn tool(name: &str) -> Value {
    json!({
        "name": name,
        "description": format!("Does {name} with the thing that is named."),
        "inputSchema": { "type": "object", "properties": { "thing": { "type": "string" } }, "required": ["thing"] },
    })
}

fn target() -> ImportTarget {
    ImportTarget { namespace: NAMESPACE.into(), file_name: "mcp/git.json".into(), ..Default::default() }
}

async fn send(daemon: &TestDaemon, target: ImportTarget, text: &str) -> Result<ImportToolsResponse, tonic::Status> {
    let mut parts = vec![Part::Target(target)];
    if !text.is_empty() {
        parts.push(Part::Chunk(text.to_owned().into()));
    }
    let requests = parts.into_iter().map(|part| ImportToolsRequest { part: Some(part) });
    let requests: Vec<_> = requests.collect();
    Ok(daemon.registry.clone().import_tools(tokio_stream::iter(requests)).await?.into_inner())
}

async fn import(daemon: &TestDaemon, tools: &[Value]) -> ImportToolsResponse {
    send(daemon, target(), &json!({ "tools": tools }).to_string()).await.expect("an import")
}

async fn dry_run(daemon: &TestDaemon, tools: &[Value]) -> ImportToolsResponse {
    let target = ImportTarget { dry_run: true, ..target() };
    send(daemon, target, &json!({ "tools": tools }).to_string()).await.expect("a dry run")
}

/// Returns every tool's version and state.
async fn tools(daemon: &mut TestDaemon) -> BTreeMap<String, (u32, ToolState)> {
    let request = ListToolsRequest { namespace: NAMESPACE.into(), ..Default::default() };
    let listed = daemon.registry.list_tools(request).await.expect("a list").into_inner().tools;
    let entry = |record: ToolRecord| {
        let state = record.state();
        let tool = record.tool.expect("its identity");
        (tool.name, (tool.version, state))
    };
    listed.into_iter().map(entry).collect()
}

fn names(tools: &[ToolRef]) -> Vec<&str> {
    tools.iter().map(|tool| tool.name.as_str()).collect()
}

async fn n_events(daemon: &mut TestDaemon) -> usize {
    daemon.export(ExportKind::Events).await.len()
}

async fn empty_sources(daemon: &TestDaemon) -> u64 {
    let page = scrape(&daemon.metrics_url).await;
    let line = page.lines().find(|line| line.starts_with("toolcrib_empty_sources_total")).expect("the metric");
    line.rsplit(' ').next().expect("its value").parse().expect("a count")
}

#[tokio::test]
async fn a_dry_run_says_what_the_import_then_does_and_changes_nothing() {
    let mut daemon = TestDaemon::start().await;
    let nothing_said = json!({ "name": "mute", "inputSchema": { "type": "object" } });
    let first = [tool("a"), tool("b"), tool("c"), nothing_said];
    let said = dry_run(&daemon, &first).await;
    let request = ListToolsRequest { namespace: NAMESPACE.into(), ..Default::default() };
    let status = daemon.registry.list_tools(request).await.expect_err("no namespace was made");
    assert_eq!(reason_of(&status), "UNKNOWN_NAMESPACE");
    assert!(!scrape(&daemon.metrics_url).await.contains("toolcrib_admissions_total{"), "nothing was counted");
    let done = import(&daemon, &first).await;
    assert_eq!((said.durable, done.durable), (false, true));
    assert_eq!(ImportToolsResponse { durable: true, ..said }, done);
    assert_eq!(done.counts.map(|counts| (counts.added, counts.refused)), Some((3, 1)));

    let mut changed = tool("b");
    changed["description"] = json!("Does b, and does it well, with the thing that is named.");
    let second = [tool("a"), changed, tool("d")];
    let before = n_events(&mut daemon).await;
    let said = dry_run(&daemon, &second).await;
    assert_eq!((n_events(&mut daemon).await, tools(&mut daemon).await["b"].0), (before, 1));
    let done = import(&daemon, &second).await;
    assert_eq!(ImportToolsResponse { durable: true, ..said }, done);
    let counts = done.counts.expect("counts");
    assert_eq!((counts.added, counts.cosmetic, counts.unchanged, done.withdrawn), (1, 1, 1, 1));
    assert_eq!(names(&done.vanished), ["c"]);
    let changed = done.admissions.iter().find(|a| a.change() == ChangeClass::Cosmetic).expect("the changed tool");
    assert_eq!(changed.differences[0].field, "description");
    daemon.stop().await;
}

#[tokio::test]
async fn an_import_of_the_same_again_appends_nothing_however_it_is_written() {
    let mut daemon = TestDaemon::start().await;
    let request_id = |id: &str| ImportTarget { request_id: id.into(), ..target() };
    let text = json!({ "tools": [tool("a"), tool("b")] }).to_string();
    send(&daemon, request_id("one"), &text).await.expect("an import");
    let before = n_events(&mut daemon).await;
    let turned = r#"[{"inputSchema":{"required":["thing"],"properties":{"thing":{"type":"string"}},"type":"object"},"description":"Does b with the thing that is named.","name":"b"},"#;
    let other_order = format!("\u{FEFF}{turned}\r\n{}]\r\n", tool("a"));
    for (id, text) in [("two", &text), ("three", &other_order)] {
        let again = send(&daemon, request_id(id), text).await.expect("an import");
        assert_eq!(again.counts, Some(AdmissionCounts { unchanged: 2, ..Default::default() }));
        assert_eq!(again.admissions, []);
    }
    assert_eq!(n_events(&mut daemon).await, before);
    daemon.stop().await;
}

#[tokio::test]
async fn a_change_is_a_new_version_of_its_class() {
    let mut daemon = TestDaemon::start().await;
    let mut edited = tool("a");
    edited["inputSchema"]["properties"]["place"] = json!({ "type": "string" });
    import(&daemon, &[edited.clone()]).await;
    let mut version = 1;
    for (path, value, class) in [
        ("/description", json!("Does a with whatever thing is named."), ChangeClass::Cosmetic),
        ("/inputSchema/required", json!(["thing", "place"]), ChangeClass::Breaking),
        ("/inputSchema/required", json!(["place"]), ChangeClass::Compatible),
    ] {
        *edited.pointer_mut(path).expect("a value") = value;
        let answer = import(&daemon, &[edited.clone()]).await;
        version += 1;
        assert_eq!(answer.admissions[0].change(), class, "{path}: {answer:?}");
        assert_eq!(tools(&mut daemon).await["a"].0, version, "{path}");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn an_annotation_is_a_compatible_version_and_the_order_of_keys_is_none() {
    let mut daemon = TestDaemon::start().await;
    import(&daemon, &[tool("a")]).await;
    let mut annotated = tool("a");
    annotated["annotations"] = json!({ "readOnlyHint": true, "openWorldHint": false });
    let answer = import(&daemon, &[annotated.clone()]).await;
    assert_eq!(answer.counts.map(|counts| counts.compatible), Some(1), "{answer:?}");
    annotated["annotations"] = json!({ "openWorldHint": false, "readOnlyHint": true });
    let answer = import(&daemon, &[annotated]).await;
    assert_eq!(answer.counts.map(|counts| counts.unchanged), Some(1));
    assert_eq!(tools(&mut daemon).await["a"].0, 2);
    daemon.stop().await;
}

#[tokio::test]
async fn vanished_tools_are_withdrawn_and_come_back_by_themselves() {
    let mut daemon = TestDaemon::start().await;
    import(&daemon, &[tool("a"), tool("b")]).await;
    assert_eq!(names(&import(&daemon, &[tool("a")]).await.vanished), ["b"]);
    assert_eq!(tools(&mut daemon).await["b"], (1, ToolState::Withdrawn));
    let back = import(&daemon, &[tool("a"), tool("b")]).await;
    assert_eq!((names(&back.returned), back.returned_total, back.withdrawn), (vec!["b"], 1, 0));
    assert_eq!(tools(&mut daemon).await["b"], (1, ToolState::Active));
    daemon.stop().await;
}

#[tokio::test]
async fn a_source_without_tools_is_an_alarm_and_loses_none() {
    let mut daemon = TestDaemon::start().await;
    assert_eq!(empty_sources(&daemon).await, 0);
    import(&daemon, &[tool("a")]).await;
    for dry_run in [true, false] {
        let target = ImportTarget { dry_run, ..target() };
        let status = send(&daemon, target, r#"{"tools":[]}"#).await.expect_err("no tools");
        assert_eq!(reason_of(&status), "EMPTY_CATALOG");
    }
    assert_eq!(empty_sources(&daemon).await, 1, "a dry run counts nothing");
    let mut mute = tool("a");
    mute["description"] = json!("");
    let answer = import(&daemon, &[mute]).await;
    assert_eq!((answer.empty_sources, answer.withdrawn), (vec!["git".to_owned()], 0));
    assert_eq!(empty_sources(&daemon).await, 2);
    assert_eq!(tools(&mut daemon).await["a"], (1, ToolState::Active));
    daemon.stop().await;
}

#[tokio::test]
async fn while_a_tool_cannot_be_told_by_name_none_is_withdrawn() {
    let mut daemon = TestDaemon::start().await;
    import(&daemon, &[tool("a"), tool("b")]).await;
    let answer = import(&daemon, &[tool("a"), json!({ "nmae": "b" })]).await;
    assert_eq!((answer.nameless, answer.withdrawn), (1, 0));
    assert_eq!(tools(&mut daemon).await["b"].1, ToolState::Active);
    daemon.stop().await;
}

#[tokio::test]
async fn an_atomic_import_of_which_one_is_refused_changes_nothing() {
    let mut daemon = TestDaemon::start().await;
    import(&daemon, &[tool("a"), tool("b")]).await;
    let before = n_events(&mut daemon).await;
    // One that cannot be read, and one that the gate does not take.
    let unreadable = json!({ "name": "x", "description": "Says x.", "inputSchema": 7 });
    let wrong = json!({ "name": "y", "description": "Says y.", "inputSchema": { "type": "nothing" } });
    for refused in [unreadable, wrong] {
        let target = ImportTarget { atomic: true, ..target() };
        let text = json!({ "tools": [tool("a"), tool("n"), refused] }).to_string();
        let answer = send(&daemon, target, &text).await.expect("an answer");
        assert_eq!((answer.turned_away, answer.durable, answer.withdrawn), (true, false, 0));
        assert_eq!(answer.admissions[0].index, 2, "the refused first: {answer:?}");
    }
    assert_eq!(n_events(&mut daemon).await, before);
    daemon.stop().await;
}

#[tokio::test]
async fn a_source_that_is_gone_is_withdrawn_when_it_is_named() {
    let mut daemon = TestDaemon::start().await;
    daemon.register(vec![definition("other")]).await;
    import(&daemon, &[tool("a"), tool("b")]).await;
    let gone = |source: &str, dry_run| ImportTarget { gone_sources: vec![source.into()], dry_run, ..target() };
    let unknown = send(&daemon, gone("gti", false), "").await.expect_err("no such source");
    assert!(unknown.message().contains("gti has no tools here"), "{unknown:?}");
    let both = send(&daemon, gone("git", false), &json!([tool("a")]).to_string()).await.expect_err("both");
    assert!(both.message().contains("git has tools in the file"), "{both:?}");
    assert_eq!(names(&send(&daemon, gone("git", true), "").await.expect("a dry run").vanished), ["a", "b"]);
    assert_eq!(tools(&mut daemon).await["a"].1, ToolState::Active);
    let done = send(&daemon, gone("git", false), "").await.expect("withdrawn");
    assert_eq!((done.withdrawn, done.empty_sources.len()), (2, 0));
    let states: Vec<ToolState> = tools(&mut daemon).await.into_values().map(|(_, state)| state).collect();
    assert_eq!(states, [ToolState::Withdrawn, ToolState::Withdrawn, ToolState::Active]);
    let again = send(&daemon, gone("git", false), "").await.expect("nothing to do");
    assert_eq!(again.withdrawn, 0);
    assert_eq!(empty_sources(&daemon).await, 0, "on purpose");
    daemon.stop().await;
}

#[tokio::test]
async fn a_dry_run_may_ask_under_another_policy() {
    let daemon = TestDaemon::start().await;
    let policy = std::collections::HashMap::from([("admission.description_bytes".to_owned(), "1024".to_owned())]);
    let mut long = tool("a");
    long["description"] = json!("Does a thing. ".repeat(100));
    let text = json!([long]).to_string();
    for (dry_run, policy, expected) in [(true, Default::default(), 0), (true, policy.clone(), 1)] {
        let target = ImportTarget { dry_run, policy, ..target() };
        let answer = send(&daemon, target, &text).await.expect("a dry run");
        assert_eq!(answer.counts.map(|counts| counts.refused), Some(expected), "{answer:?}");
    }
    let target = ImportTarget { policy, ..target() };
    let status = send(&daemon, target, &text).await.expect_err("no dry run");
    assert!(status.message().contains("target.policy"), "{status:?}");
    daemon.stop().await;
}

#[tokio::test]
async fn what_a_provider_runs_is_named_and_the_functions_beside_it_are_taken() {
    let mut daemon = TestDaemon::start().await;
    let request = json!({ "model": "m", "input": "hello", "tools": [
        { "type": "web_search" },
        { "type": "function", "name": "now", "description": "Tells the time of a city.", "strict": true,
          "parameters": { "type": "object", "properties": { "city": { "type": "string" } } } },
    ] });
    let answer = send(&daemon, target(), &request.to_string()).await.expect("an import");
    assert_eq!(answer.counts.map(|counts| (counts.added, counts.refused, counts.passed_over)), Some((1, 0, 1)));
    assert_eq!(answer.passed_over[0].name, "web_search");
    assert_eq!(tools(&mut daemon).await["now"].1, ToolState::Active);
    daemon.stop().await;
}

//! Tools as providers have them in their requests, and what stands among them.

use super::*;

const SCHEMA: &str = r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#;

fn chat(name: &str) -> String {
    format!(
        r#"{{"type":"function","function":{{"name":"{name}","description":"Tells the weather.","strict":true,"parameters":{SCHEMA}}}}}"#
    )
}

fn responses(name: &str) -> String {
    format!(
        r#"{{"type":"function","name":"{name}","description":"Tells the weather.","strict":true,"defer_loading":true,"parameters":{SCHEMA}}}"#
    )
}

fn anthropic(name: &str) -> String {
    format!(
        r#"{{"name":"{name}","description":"Tells the weather.","input_schema":{SCHEMA},"cache_control":{{"type":"ephemeral"}}}}"#
    )
}

fn mcp(name: &str) -> String {
    format!(r#"{{"name":"{name}","description":"Tells the weather.","inputSchema":{SCHEMA}}}"#)
}

#[test]
fn every_shape_of_a_tool_is_the_same_definition() {
    let expected = read_ok(format!("[{}]", mcp("now")).as_bytes(), Shape::Mcp, "weather.json", None);
    for (tool, shape) in [
        (chat("now"), Shape::OpenAi),
        (responses("now"), Shape::OpenAi),
        (anthropic("now"), Shape::Anthropic),
        (mcp("now"), Shape::Detect),
    ] {
        for text in [format!("[{tool}]"), format!(r#"{{"model":"m","messages":[{{"role":"user"}}],"tools":[{tool}]}}"#)]
        {
            for shape in [shape, Shape::Detect] {
                let catalog = read_ok(text.as_bytes(), shape, "x/weather.json", None);
                assert_eq!(catalog.tools[0].definition, expected.tools[0].definition, "{shape:?}: {text}");
                assert_eq!(catalog.sources, expected.sources);
            }
        }
        let line = tool.replace("\"now\"", "\"weather__now\"");
        let lines = read_ok(line.as_bytes(), Shape::Detect, "tools.jsonl", None);
        assert_eq!(lines.tools[0].definition, expected.tools[0].definition, "{line}");
    }
}

#[test]
fn a_provider_name_has_its_source_in_front_unless_one_is_given() {
    for tool in [chat("github__get_issue"), responses("github__get_issue"), anthropic("github__get_issue")] {
        let text = format!("[{tool}]");
        assert_eq!(ids(&read_ok(text.as_bytes(), Shape::Detect, "req.json", None)), ["github/get_issue"]);
        assert_eq!(ids(&read_ok(text.as_bytes(), Shape::Detect, "req.json", Some("s"))), ["s/github__get_issue"]);
    }
    let text = format!("[{}]", mcp("github__get_issue"));
    assert_eq!(ids(&read_ok(text.as_bytes(), Shape::Detect, "req.json", None)), ["req/github__get_issue"]);
}

#[test]
fn what_its_provider_runs_is_passed_over_with_a_reason_and_keeps_no_tool_out() {
    let text = format!(
        r#"{{"tools":[{{"type":"web_search_20250305","name":"web_search"}},{},{{"type":"custom","name":"code_exec","format":{{"type":"text"}}}},
        {{"type":"custom","custom":{{"name":"grammar"}}}},{{"type":"computer_20250124","name":"computer","display_width_px":1}},
        {{"type":"mcp","server_label":"x"}},{{"type":"namespace","name":"crm","tools":[]}},{}]}}"#,
        chat("now"),
        anthropic("request_tool")
    );
    let catalog = read_ok(text.as_bytes(), Shape::Detect, "req.json", None);
    assert_eq!(ids(&catalog), ["req/now"]);
    assert_eq!(catalog.refused, []);
    let passed: Vec<(usize, &str)> = catalog.passed_over.iter().map(|p| (p.index, p.name.as_str())).collect();
    let names = ["web_search", "code_exec", "grammar", "computer", "mcp", "crm", "request_tool"];
    assert_eq!(passed, [0, 2, 3, 4, 5, 6, 7].into_iter().zip(names).collect::<Vec<_>>());
    assert!(catalog.passed_over[0].reason.contains("web_search_20250305"), "{:?}", catalog.passed_over);
    assert!(catalog.passed_over[1].reason.contains("free text"), "{:?}", catalog.passed_over);
}

#[test]
fn a_custom_tool_with_a_schema_is_a_tool() {
    let text = format!("[{}]", anthropic("now").replace("{\"name\"", "{\"type\":\"custom\",\"name\""));
    assert_eq!(ids(&read_ok(text.as_bytes(), Shape::Anthropic, "w.json", None)), ["w/now"]);
}

#[test]
fn a_list_of_nothing_but_provider_tools_withdraws_nothing() {
    let text = br#"[{"type":"web_search_20250305","name":"web_search"}]"#;
    let refused = read(text, Shape::Detect, "req.json", Some("s")).unwrap_err();
    assert_eq!(refused, ImportError::NoneToRegister("web_search".into()));
}

#[test]
fn a_function_without_parameters_takes_none_and_another_tool_without_schema_is_refused_by_its_own_field() {
    let lacking = r#"[{"type":"function","function":{"name":"ping","description":"Answers."}}]"#;
    let catalog = read_ok(lacking.as_bytes(), Shape::Detect, "s.json", None);
    assert_eq!(catalog.tools[0].definition.input_schema.as_str(), r#"{"type":"object","properties":{}}"#);
    let refused = |text: String, shape| read_ok(text.as_bytes(), shape, "s.json", None).refused[0].field.clone();
    let bare = r#"{"name":"ping","description":"Answers."}"#;
    assert_eq!(refused(format!("[{bare}]"), Shape::Anthropic), "input_schema");
    assert_eq!(refused(format!("[{},{bare}]", anthropic("a")), Shape::Detect), "input_schema");
    assert_eq!(refused(format!("[{},{bare}]", mcp("a")), Shape::Detect), "inputSchema");
    assert_eq!(refused(format!("[{}]", chat("a").replace(SCHEMA, "7")), Shape::Detect), "function/parameters");
}

#[test]
fn full_form_reads_back_as_the_same_definition() {
    let given = r#"{"source":"s","name":"a","title":"","summary":"Does a when asked","keywords":["k"],"size_tokens":9,"description":"Does a.","input_schema":{"b":1.50,"type":"object"},"output_schema":{"type":"object"},"annotations":{"title":"T"},"group":"g","tags":["t"],"attributes":{"x":"y"},"initial_score":1.5}"#;
    let derived = chat("s__b c");
    for text in [given, &derived] {
        let catalog = read_ok(text.as_bytes(), Shape::Jsonl, "x/t.jsonl", None);
        let definition = &catalog.tools[0].definition;
        let again = read_ok(to_line(definition).as_bytes(), Shape::Jsonl, "other.jsonl", None);
        assert_eq!(again.tools[0].definition, *definition, "{text}");
        assert_eq!(again.tools[0].definition.content_hash(), definition.content_hash());
    }
}

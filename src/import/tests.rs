//! Files read into definitions: sources, wrappings, lines that cannot be read.

mod catalogs;
mod damage;
mod shapes;

use super::*;
use crate::core::definition::DerivedField;

fn read_ok(bytes: &[u8], shape: Shape, file_name: &str, source: Option<&str>) -> Catalog {
    read(bytes, shape, file_name, source).unwrap()
}

fn ids(catalog: &Catalog) -> Vec<String> {
    catalog.tools.iter().map(|found| found.definition.id.to_string()).collect()
}

const LINE: &str =
    r#"{"name":"a.b__get_issue","description":"Reads one issue.","input_schema":{"type":"object"},"domain":"Code"}"#;

#[test]
fn a_jsonl_name_before_the_first_separator_is_the_source() {
    let catalog = read_ok(LINE.as_bytes(), Shape::Jsonl, "x/tools.jsonl", None);
    assert_eq!(ids(&catalog), ["a.b/get_issue"]);
    assert_eq!(catalog.tools[0].definition.group, "Code");
    assert_eq!(catalog.sources.len(), 1);
}

#[test]
fn a_given_source_keeps_the_whole_name() {
    let catalog = read_ok(LINE.as_bytes(), Shape::Jsonl, "x/tools.jsonl", Some("team"));
    assert_eq!(ids(&catalog), ["team/a.b__get_issue"]);
}

#[test]
fn a_jsonl_name_without_source_takes_the_folder() {
    let line = LINE.replace("a.b__", "");
    assert_eq!(ids(&read_ok(line.as_bytes(), Shape::Jsonl, "data/bfcl/tools.jsonl", None)), ["bfcl/get_issue"]);
    assert_eq!(read(line.as_bytes(), Shape::Jsonl, "tools.jsonl", None).unwrap_err(), ImportError::NoSource);
}

#[test]
fn a_source_that_the_line_names_comes_before_the_name() {
    let line = LINE.replace("{\"name\"", "{\"source\":\"git\",\"name\"");
    assert_eq!(ids(&read_ok(line.as_bytes(), Shape::Jsonl, "x/tools.jsonl", None)), ["git/a.b__get_issue"]);
}

#[test]
fn every_wrapping_of_an_mcp_list_is_read_with_its_stem_as_source() {
    let list = r#"[{"name":"git_status","description":"Shows the status.","inputSchema":{"type":"object"}}]"#;
    for text in
        [list.to_owned(), format!("{{\"tools\":{list}}}"), format!("{{\"id\":1,\"result\":{{\"tools\":{list}}}}}")]
    {
        for shape in [Shape::Mcp, Shape::Detect] {
            assert_eq!(ids(&read_ok(text.as_bytes(), shape, "mcp/git.json", None)), ["git/git_status"]);
        }
    }
}

#[test]
fn what_would_withdraw_a_source_by_accident_is_refused() {
    let empty = read(br#"{"tools":[]}"#, Shape::Detect, "git.json", None);
    assert_eq!(empty.unwrap_err(), ImportError::Empty);
    let page = br#"{"tools":[{"name":"a","description":"Does a.","inputSchema":{"type":"object"}}],"nextCursor":"2"}"#;
    assert_eq!(read(page, Shape::Mcp, "git.json", None).unwrap_err(), ImportError::OnePage);
}

#[test]
fn byte_order_mark_carriage_returns_and_blank_lines_are_passed_over() {
    let text = format!("\u{FEFF}{LINE}\r\n\r\n  \n{}\r\n", LINE.replace("get", "put"));
    let catalog = read_ok(text.as_bytes(), Shape::Detect, "catalog", None);
    assert_eq!(ids(&catalog), ["a.b/get_issue", "a.b/put_issue"]);
    assert_eq!(catalog.tools[1].index, 3);
    assert!(catalog.refused.is_empty());
}

#[test]
fn one_unreadable_line_keeps_no_other_out() {
    let text = format!("{{oops\n{LINE}\n[]\n{{\"name\":\"s__x\",\"description\":\"Says.\"}}\n");
    let catalog = read_ok(text.as_bytes(), Shape::Jsonl, "x/tools.jsonl", None);
    assert_eq!(ids(&catalog), ["a.b/get_issue"]);
    let places: Vec<(usize, &str)> = catalog.refused.iter().map(|r| (r.index, r.field.as_str())).collect();
    assert_eq!(places, [(0, ""), (2, ""), (3, "input_schema")]);
    assert_eq!(catalog.refused[2].tool, Some(ToolId::new("s", "x")));
    assert!(catalog.sources.contains("s"), "a listed tool has not vanished");
}

#[test]
fn a_duplicate_key_in_a_line_is_refused() {
    let line = LINE.replace("\"domain\":\"Code\"", "\"description\":\"Something else.\"");
    let catalog = read_ok(line.as_bytes(), Shape::Jsonl, "x/tools.jsonl", None);
    assert!(catalog.refused[0].reason.contains("stands twice"), "{:?}", catalog.refused);
}

#[test]
fn the_same_tool_again_is_passed_over_and_another_of_its_name_refused() {
    let text = format!("{LINE}\n{LINE}\n{}\n", LINE.replace("Reads", "Deletes"));
    let catalog = read_ok(text.as_bytes(), Shape::Jsonl, "x/tools.jsonl", None);
    assert_eq!(catalog.tools.len(), 1);
    assert_eq!(catalog.repeated, [1]);
    assert_eq!((catalog.refused[0].index, catalog.refused[0].field.as_str()), (2, "name"));
    assert!(catalog.refused[0].reason.contains("at #0 and #2"), "{}", catalog.refused[0].reason);
}

#[test]
fn a_name_of_other_characters_is_mapped_and_kept_as_title() {
    let line = LINE.replace("get_issue", "Get issue (one)");
    let catalog = read_ok(line.as_bytes(), Shape::Jsonl, "x/tools.jsonl", None);
    let definition = &catalog.tools[0].definition;
    assert!(definition.id.name.starts_with("Get_issue__one__"), "{}", definition.id);
    assert_eq!(definition.title.as_deref(), Some("Get issue (one)"));
}

#[test]
fn a_tool_without_description_is_refused_with_that_reason() {
    let line = LINE.replace("Reads one issue.", "  ");
    let catalog = read_ok(line.as_bytes(), Shape::Jsonl, "x/tools.jsonl", None);
    assert_eq!(catalog.refused[0].field, "description");
}

#[test]
fn given_fields_are_kept_and_only_the_others_derived() {
    let line = LINE.replace(
        "\"domain\"",
        r#""summary":"Reads an issue by its number","keywords":["ticket"],"tags":["t"],"attributes":{"a":"b"},"domain""#,
    );
    let catalog = read_ok(line.as_bytes(), Shape::Jsonl, "x/tools.jsonl", None);
    let definition = &catalog.tools[0].definition;
    assert_eq!(definition.keywords, ["ticket"]);
    assert_eq!(definition.derived, BTreeSet::from([DerivedField::WhenToUse, DerivedField::SizeTokens]));
    assert_eq!(definition.attributes["a"], "b");
}

#[test]
fn what_is_no_catalog_is_refused_as_a_whole() {
    assert_eq!(read(b"{}", Shape::Detect, "a.json", None).unwrap_err(), ImportError::NoTools);
    assert!(matches!(read(b"nope", Shape::Mcp, "a.json", None), Err(ImportError::Json(_))));
}

#[test]
fn any_bytes_are_read_or_refused() {
    use proptest::prelude::*;
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(text in r#"[\[\]{}:,"a-z_0-9 \n\\]{0,80}"#, bytes in proptest::collection::vec(any::<u8>(), 0..80))| {
        for shape in [Shape::Detect, Shape::Mcp, Shape::Jsonl, Shape::OpenAi, Shape::Anthropic] {
            let _ = read(text.as_bytes(), shape, "x/y.json", None);
            let _ = read(&bytes, shape, "", None);
        }
    });
}

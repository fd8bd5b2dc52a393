//! Files as they come from broken servers, editors and shells: each has a sane answer.

use super::*;

fn tool(name: &str) -> String {
    format!(r#"{{"name":"{name}","description":"Does {name}.","inputSchema":{{"type":"object"}}}}"#)
}

fn refusal(bytes: &[u8], file_name: &str) -> String {
    read(bytes, Shape::Detect, file_name, Some("s")).unwrap_err().to_string()
}

#[test]
fn what_is_wrong_inside_one_tool_of_a_list_keeps_no_other_out_and_is_told_by_name() {
    let repeated = tool("b").replace(r#""name""#, r#""title":"x","title":"y","name""#);
    let text = format!("[{},\r\n{repeated},\r\nBAD,{}, 7]", tool("a"), tool("d"));
    let mut bytes = text.into_bytes();
    let at = bytes.windows(3).position(|w| w == b"BAD").unwrap();
    let bad = tool("c").replace("Does", "\u{1}oes").into_bytes();
    bytes.splice(at..at + 3, bad.into_iter().map(|byte| if byte == 1 { 0xE9 } else { byte }));
    let catalog = read_ok(&bytes, Shape::Detect, "s.json", None);
    assert_eq!(ids(&catalog), ["s/a", "s/d"]);
    let refused: Vec<(usize, Option<String>)> =
        catalog.refused.iter().map(|r| (r.index, r.tool.as_ref().map(ToString::to_string))).collect();
    assert_eq!(refused, [(1, Some("s/b".into())), (2, Some("s/c".into())), (4, None)]);
    assert_eq!(catalog.n_nameless(), 1);
    assert!(catalog.refused[0].reason.contains("\"title\" stands twice"), "{:?}", catalog.refused);
    let offset = bytes.iter().position(|&byte| byte == 0xE9).unwrap();
    assert!(catalog.refused[1].reason.contains(&format!("byte {offset};")), "{:?}", catalog.refused);
}

#[test]
fn a_name_that_stands_twice_tells_no_tool() {
    let text = format!("[{},{}]", tool("a"), tool("b").replace(r#""name""#, r#""name":"a","name""#));
    let catalog = read_ok(text.as_bytes(), Shape::Detect, "s.json", None);
    assert_eq!((catalog.refused[0].tool.clone(), catalog.n_nameless()), (None, 1));
}

#[test]
fn a_damaged_function_of_openai_is_told_by_name_too() {
    let text =
        r#"[{"type":"function","function":{"name":"x__a","description":"A.","description":"B.","parameters":{}}}]"#;
    let catalog = read_ok(text.as_bytes(), Shape::Detect, "s.json", None);
    assert_eq!(catalog.refused[0].tool, Some(ToolId::new("x", "a")));
}

#[test]
fn a_line_that_is_no_json_is_refused_with_its_line_and_column() {
    let text =
        "{\"name\":\"s__a\",\"description\":\"A.\",\"input_schema\":{\"type\":\"object\"}}\n\n  {\"name\":\"s__b\",}\n";
    let catalog = read_ok(text.as_bytes(), Shape::Jsonl, "t.jsonl", None);
    let [refused] = &catalog.refused[..] else { panic!("{catalog:?}") };
    assert_eq!(refused.index, 2);
    assert!(refused.reason.starts_with("not JSON at line 3, column 18: trailing comma"), "{refused:?}");
}

#[test]
fn around_the_tools_a_file_is_strict() {
    let list = tool("a");
    assert_eq!(
        refusal(format!(r#"{{"tools":[{list}],"tools":[]}}"#).as_bytes(), "s.json"),
        r#"catalog is key "tools" stands twice in the object around the tools; must stand once"#
    );
    let comma = format!("{{\n \"tools\": [\n  {list},\n ]\n}}");
    assert_eq!(refusal(comma.as_bytes(), "s.json"), "catalog is not JSON at line 4, column 2: trailing comma");
    let mut bytes = format!(r#"{{"_":"?","tools":[{list}]}}"#).into_bytes();
    bytes[6] = 0xFF;
    assert_eq!(refusal(&bytes, "s.json"), "catalog is not UTF-8 at byte 6; must be JSON in UTF-8");
    let cut = format!("[{list},{}", &list[..20]);
    assert!(refusal(cut.as_bytes(), "s.json").starts_with("catalog is not JSON at line 1"));
}

#[test]
fn text_of_another_encoding_and_pages_for_people_are_named_as_such() {
    let wide: Vec<u8> = "[{}]".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let marked: Vec<u8> = [0xFE, 0xFF].into_iter().chain("[{}]".encode_utf16().flat_map(u16::to_be_bytes)).collect();
    for file in ["s.json", "s.jsonl"] {
        for bytes in [&wide, &marked] {
            assert_eq!(refusal(bytes, file), "catalog is UTF-16 or UTF-32; must be UTF-8");
        }
        let page = b"\n<!DOCTYPE html>\n<html><body>502 Bad Gateway</body></html>\n";
        assert!(refusal(page, file).contains("HTML or XML page"), "{file}");
    }
}

#[test]
fn a_file_without_a_tool_is_empty_in_every_form() {
    for (text, file) in
        [("", "s.json"), ("\u{FEFF}", "s.json"), (" \r\n", "s.jsonl"), ("[]", "s.json"), ("[]", "s.jsonl")]
    {
        assert_eq!(read(text.as_bytes(), Shape::Detect, file, Some("s")).unwrap_err(), ImportError::Empty, "{text:?}");
    }
}

#[test]
fn a_list_is_known_also_under_the_ending_of_lines() {
    let text = format!("\u{FEFF}[\r\n{},\r\n{}\r\n]\r\n", tool("a"), tool("b"));
    assert_eq!(ids(&read_ok(text.as_bytes(), Shape::Detect, "x/git.jsonl", None)), ["git/a", "git/b"]);
}

#[test]
fn the_same_tool_twice_in_a_list_is_counted_and_another_of_its_name_refused_with_both_places() {
    let text = format!("[{0},{0},{1}]", tool("a"), tool("a").replace("Does", "Undoes"));
    let catalog = read_ok(text.as_bytes(), Shape::Detect, "s.json", None);
    assert_eq!((catalog.tools.len(), catalog.repeated), (1, vec![1]));
    assert!(catalog.refused[0].reason.starts_with("stands at #0 and #2"), "{:?}", catalog.refused);
}

/// Each would take gigabytes, hours or the whole stack if it were read as it asks to be.
#[test]
fn a_file_that_is_made_to_be_expensive_is_refused_at_once() {
    let many = "1,".repeat(2_000_000);
    let read_as = |text: &str, file: &str| read(text.as_bytes(), Shape::Detect, file, Some("s"));
    assert_eq!(read_as(&format!("[{many}1]"), "a.json").unwrap_err(), ImportError::TooManyTools);
    assert_eq!(read_as(&"{\n".repeat(2_000_000), "a.jsonl").unwrap_err(), ImportError::TooManyTools);
    let members: String = (0..100_000).map(|n| format!("\"{n}\":1,")).collect();
    assert_eq!(read_as(&format!("{{{members}\"tools\":[]}}"), "a.json").unwrap_err(), ImportError::NoTools);

    // Broken lines behind each other, each of which is told its place.
    let broken = "{\"name\":\n".repeat(40_000);
    let catalog = read_as(&format!("{}{broken}", " ".repeat(8 << 20)), "a.jsonl").unwrap();
    assert_eq!(catalog.n_nameless(), 40_000);
    assert!(catalog.refused[39_999].reason.contains("line 40000, column"), "{}", catalog.refused[39_999].reason);

    let deep = format!("{}{}", r#"{"function":"#.repeat(200_000), "1".to_owned() + &"}".repeat(200_000));
    let catalog = read_as(&format!("[{deep},{{\"name\":\"a\",\"description\":\"b\",\"inputSchema\":{{}}}}]"), "a.json");
    let catalog = catalog.unwrap();
    assert_eq!((catalog.n_nameless(), catalog.tools.len()), (1, 1));

    let large = format!(r#"[{{"name":"a","description":"b","inputSchema":{{"enum":[{many}1]}},"x":[{many}1]}}]"#);
    let refused = &read_as(&large, "a.json").unwrap().refused[0];
    assert!(refused.reason.starts_with("larger than") && refused.tool.is_some(), "{refused:?}");
}

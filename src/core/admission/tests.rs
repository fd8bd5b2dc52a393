//! The gate as a whole: one definition that is admitted, and what each change to it is refused for.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::core::event::Word as _;
use crate::core::ids::ToolId;

/// A definition that is admitted as it is.
pub(super) fn definition() -> Definition {
    let mut definition = Definition {
        id: ToolId::new("github", "create_issue"),
        title: None,
        summary: "Opens an issue in a repository when a bug is found".into(),
        when_to_use: String::new(),
        keywords: vec!["bug".into(), "ticket".into()],
        size_tokens: 0,
        description: "Opens an issue in a repository.".into(),
        input_schema: serde_json::from_str(
            r#"{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}"#,
        )
        .unwrap(),
        output_schema: None,
        annotations: None,
        group: String::new(),
        tags: vec![],
        attributes: BTreeMap::new(),
        initial_score: 0.0,
        derived: BTreeSet::new(),
    };
    definition.size_tokens = size::measure(&definition);
    definition
}

fn policy() -> AdmissionPolicy {
    crate::core::policy::Policy::default().admission
}

/// Changes an admissible definition and returns the fields it is refused for.
fn refused_for(change: impl FnOnce(&mut Definition)) -> Vec<String> {
    let mut changed = definition();
    change(&mut changed);
    check(&changed, &policy()).violations.into_iter().map(|violation| violation.field).collect()
}

fn schema_of(text: &str) -> Json {
    serde_json::from_str(text).unwrap()
}

#[test]
fn an_admissible_definition_is_admitted() {
    let checked = check(&definition(), &policy());
    assert_eq!(checked.violations, []);
    assert_eq!(checked.warnings, []);
    assert_eq!(checked.alias.as_str(), "github__create_issue");
    assert_eq!(checked.measured_tokens, definition().size_tokens);
}

#[test]
fn a_tool_lacking_one_mandatory_field_is_refused_naming_exactly_that_field() {
    assert_eq!(refused_for(|d| d.summary.clear()), ["summary"]);
    assert_eq!(refused_for(|d| d.keywords.clear()), ["keywords"]);
    assert_eq!(refused_for(|d| d.size_tokens = 0), ["size_tokens"]);
}

#[test]
fn a_tool_lacking_all_mandatory_fields_is_told_so_at_once() {
    let fields = refused_for(|d| {
        d.summary.clear();
        d.keywords.clear();
        d.size_tokens = 0;
    });
    assert_eq!(fields, ["summary", "keywords", "size_tokens"]);
}

#[test]
fn a_line_must_say_when_in_its_own_field_or_by_a_word() {
    let without = |d: &mut Definition| d.summary = "Opens issues in repositories".into();
    assert_eq!(refused_for(without), ["when_to_use"]);
    for summary in ["Opens an issue when asked", "WHEN asked, opens an issue", "需要报告缺陷时打开一个问题"]
    {
        assert!(refused_for(|d| d.summary = summary.into()).is_empty(), "{summary}");
    }
    assert_eq!(refused_for(|d| d.summary = "Opens issues altogether".into()), ["when_to_use"], "`to` is no word there");
    assert!(
        refused_for(|d| {
            without(d);
            d.when_to_use = "A bug was found".into();
        })
        .is_empty()
    );
}

#[test]
fn a_line_without_when_is_flagged_where_policy_says_so() {
    let mut line = definition();
    line.summary = "Opens issues in repositories".into();
    let flagged = check(&line, &AdmissionPolicy { when: crate::core::policy::WhenRule::Flag, ..policy() });
    assert!(flagged.is_admitted());
    assert_eq!(flagged.warnings[0].field, "when_to_use");
}

#[test]
fn a_line_that_import_derived_is_marked_and_neither_refused_nor_flagged() {
    use crate::core::policy::WhenRule;
    let mut line = definition();
    line.summary = "Opens issues in repositories".into();
    line.derived.insert(crate::core::definition::DerivedField::WhenToUse);
    for when in [WhenRule::Require, WhenRule::Flag] {
        let checked = check(&line, &AdmissionPolicy { when, ..policy() });
        assert!(checked.is_admitted() && checked.warnings.is_empty(), "{when:?}: {:?}", checked.warnings);
    }
}

#[test]
fn a_summary_is_one_line_of_8_to_200_characters_that_says_more_than_the_name() {
    for summary in ["Create issue", "create_issue.", "to get", "…………………………"] {
        assert_eq!(
            refused_for(|d| (d.summary, d.when_to_use) = (summary.into(), "Asked".into())),
            ["summary"],
            "{summary}"
        );
    }
    assert_eq!(refused_for(|d| d.summary = "Opens an issue\nwhen asked".into()), ["summary"]);
    assert!(refused_for(|d| d.summary = format!("to {}", "é".repeat(197))).is_empty());
    assert!(refused_for(|d| d.summary = format!("to {}", "問".repeat(197))).is_empty(), "200 of any script fit");
    assert_eq!(refused_for(|d| d.summary = format!("to {}", "é".repeat(198))), ["summary"]);
}

#[test]
fn keywords_are_distinct_after_folding_and_say_more_than_the_name() {
    let set = |keywords: &[&str]| {
        let keywords: Vec<String> = keywords.iter().map(|word| (*word).to_owned()).collect();
        refused_for(|d| d.keywords = keywords)
    };
    assert_eq!(set(&["bug", "Ｂug"]), ["keywords[1]"]);
    assert_eq!(set(&["issue", "Create", "create-issue"]), ["keywords"]);
    assert_eq!(set(&["bug", " ", &"x".repeat(65)]), ["keywords[1]", "keywords[2]"]);
    let many: Vec<String> = (0..33).map(|i| format!("word{i}")).collect();
    assert_eq!(refused_for(|d| d.keywords = many), ["keywords"]);
}

#[test]
fn a_wrong_size_is_refused_with_the_measured_figure() {
    let measured = definition().size_tokens;
    let mut off = definition();
    off.size_tokens = measured * 2;
    let violation = &check(&off, &policy()).violations[0];
    assert_eq!((violation.field.as_str(), violation.code), ("size_tokens", ViolationCode::SizeMismatch));
    assert!(violation.description.contains(&measured.to_string()), "{}", violation.description);
    assert!(refused_for(|d| d.size_tokens = measured * 13 / 10).is_empty());
}

#[test]
fn texts_above_their_limits_are_refused() {
    let long = |n: usize| "word ".repeat(n / 5 + 1);
    let fields = refused_for(|d| d.description = long(9_000));
    assert_eq!(fields, ["size_tokens", "description"]);
    let fields = refused_for(|d| d.output_schema = Some(schema_of(&format!("{{\"title\":{:?}}}", long(70_000)))));
    assert_eq!(fields, ["definition"]);
}

#[test]
fn names_and_sources_of_other_characters_are_refused_with_the_place() {
    for (name, field) in [("", "name"), ("a b", "name"), ("ä", "name"), (&*"a".repeat(129), "name")] {
        let fields = refused_for(|d| (d.id, d.size_tokens) = (ToolId::new("github", name), 0));
        assert!(fields.contains(&field.to_owned()), "{name:?}");
    }
    let checked = check(&Definition { id: ToolId::new("git\u{200B}hub", "x"), ..definition() }, &policy());
    assert_eq!(checked.violations[0].description, "U+200B at character 3");
}

/// The list of the threat model, written down a second time so that a slip in the table shows.
fn forbidden_ranges() -> Vec<std::ops::RangeInclusive<u32>> {
    let list = "0-8 B-C E-1F 7F-9F E0000-E007F 61C 200E-200F 202A-202E 2066-2069 AD 34F 115F-1160 17B4-17B5 180B-180F \
                200B 2060-2065 206A-206F 3164 FEFF FFA0 FFF0-FFFB 1BCA0-1BCA3 1D173-1D17A FE00-FE0D E0080-E0FFF \
                E000-F8FF F0000-FFFFD 100000-10FFFD FDD0-FDEF 2028-2029";
    let hex = |text: &str| u32::from_str_radix(text, 16).unwrap();
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        hex(first)..=hex(last)
    };
    list.split_whitespace().map(range).collect()
}

#[test]
fn exactly_the_forbidden_code_points_are_refused() {
    let ranges = forbidden_ranges();
    for c in '\0'..=char::MAX {
        let point = u32::from(c);
        let is_forbidden = point & 0xFFFE == 0xFFFE || ranges.iter().any(|range| range.contains(&point));
        assert_eq!(text::is_refused(c), is_forbidden, "U+{point:04X}");
    }
}

/// One way to put a text into a definition.
type Put = fn(&mut Definition, &str);

const PLAIN_FIELDS: &[(&str, Put)] = &[
    ("name", |d, text| d.id = ToolId::new("github", text)),
    ("source", |d, text| d.id = ToolId::new(text, "create_issue")),
    ("title", |d, text| d.title = Some(text.into())),
    ("summary", |d, text| d.summary = format!("to open issues {text}")),
    ("when_to_use", |d, text| d.when_to_use = text.into()),
    ("keywords[1]", |d, text| d.keywords = vec!["bug".into(), text.into()]),
    ("description", |d, text| d.description = text.into()),
    ("group", |d, text| d.group = text.into()),
    ("tags[0]", |d, text| d.tags = vec![text.into()]),
    ("attributes[0].key", |d, text| d.attributes = BTreeMap::from([(text.into(), "x".into())])),
    ("attributes[0].value", |d, text| d.attributes = BTreeMap::from([("x".into(), text.into())])),
];

/// Where a JSON string may stand; `T` is replaced by its text.
const JSON_PLACES: &[(&str, &str)] = &[
    (r#"{"type":"object","description":"T"}"#, "/description"),
    (r#"{"type":"object","title":"T"}"#, "/title"),
    (r#"{"type":"object","properties":{"T":{}}}"#, "/properties/key[0]"),
    (r#"{"type":"object","properties":{"a":{"enum":["x","T"]}}}"#, "/properties/a/enum/1"),
    (r#"{"type":"object","properties":{"a":{"default":{"T":1}}}}"#, "/properties/a/default/key[0]"),
    (r#"{"type":"object","x-note":["T"]}"#, "/x-note/0"),
    (r#"{"type":"object","properties":{"a":{"const":"T"}}}"#, "/properties/a/const"),
    (r#"{"type":"object","properties":{"a":{"pattern":"T"}}}"#, "/properties/a/pattern"),
    (r#"{"type":"object","properties":{"a":{"examples":[["T"]]}}}"#, "/properties/a/examples/0/0"),
    (r#"{"type":"object","$comment":"T"}"#, "/$comment"),
    (r#"{"type":"object","required":["T"]}"#, "/required/0"),
    (r#"{"type":"object","$defs":{"T":{"description":"x"}}}"#, "/$defs/key[0]"),
    (r#"{"type":"object","anyOf":[{"properties":{"a":{"description":"T"}}}]}"#, "/anyOf/0/properties/a/description"),
];

/// The ends of every range, the non-characters, and what only descriptions may hold.
fn refused_code_points() -> Vec<char> {
    let ends = text::REFUSED.iter().flat_map(|&(first, last)| [first, last]);
    let noncharacters = (0..=0x10).flat_map(|plane| [plane << 16 | 0xFFFE, plane << 16 | 0xFFFF]);
    ends.chain([0xFDD0, 0xFDEF]).chain(noncharacters).filter_map(char::from_u32).collect()
}

#[test]
fn every_forbidden_code_point_in_every_plain_field_is_refused_with_its_place() {
    for c in refused_code_points() {
        for (field, put) in PLAIN_FIELDS {
            let mut tainted = definition();
            put(&mut tainted, &format!("ab{c}cd"));
            let violations = check(&tainted, &policy()).violations;
            let found = violations.iter().any(|v| {
                v.field == *field
                    && v.code == ViolationCode::ForbiddenCharacter
                    && v.description.starts_with(&format!("U+{:04X} at character", c as u32))
            });
            assert!(found, "U+{:04X} in {field}: {violations:?}", c as u32);
        }
    }
}

#[test]
fn every_forbidden_code_point_in_every_json_place_is_refused_raw_and_escaped() {
    for c in refused_code_points() {
        let mut units = [0; 2];
        let escaped: String = c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect();
        for (template, place) in JSON_PLACES {
            for written in [c.to_string(), escaped.clone()] {
                // JSON has no raw control characters at all.
                if written.len() == 1 && c < ' ' {
                    continue;
                }
                let json = schema_of(&template.replace('T', &format!("ab{written}")));
                for field in ["input_schema", "output_schema", "annotations"] {
                    let mut tainted = definition();
                    match field {
                        "input_schema" => tainted.input_schema = json.clone(),
                        "output_schema" => tainted.output_schema = Some(json.clone()),
                        _ => tainted.annotations = Some(json.clone()),
                    }
                    let mut violations = Vec::new();
                    check_json(&tainted, &policy(), &mut violations);
                    let expected = format!("{field}{place}");
                    let found =
                        violations.iter().any(|v| v.field == expected && v.description.ends_with("character 2"));
                    assert!(found, "U+{:04X} in {expected}: {violations:?}", c as u32);
                }
            }
        }
    }
}

/// All of them in three fields; every field has the ends of every range above.
#[test]
fn every_single_forbidden_code_point_is_refused_with_its_place() {
    let mut tainted = definition();
    let mut n_points = 0;
    for c in ('\0'..=char::MAX).filter(|c| text::is_refused(*c)) {
        n_points += 1;
        let text = format!("ab{c}");
        tainted.summary.clone_from(&text);
        tainted.description.clone_from(&text);
        let mut violations = Vec::new();
        check_texts(&tainted, &mut violations);
        let json = Value::Array(vec![Value::String(text)]);
        check_strings(&mut "input_schema".to_owned(), "", &json, &mut violations);
        let said = format!("U+{:04X} at character 2", c as u32);
        let fields: Vec<&str> = violations.iter().filter(|v| v.description == said).map(|v| &*v.field).collect();
        assert_eq!(fields, ["summary", "description", "input_schema/0"], "U+{:04X}", c as u32);
    }
    assert!(n_points > 137_000);
}

#[test]
fn lines_and_tabs_stand_in_descriptions_only() {
    for text in ["a\tb", "a\nb", "a\r\nb"] {
        for (field, put) in PLAIN_FIELDS {
            let fields = refused_for(|d| put(d, text));
            assert_eq!(fields.contains(&(*field).to_owned()), *field != "description", "{field}");
        }
        for (template, place) in JSON_PLACES {
            let json = template.replace('T', &text.escape_default().to_string());
            let mut violations = Vec::new();
            read_json("annotations", &schema_of(&json), &mut violations);
            assert_eq!(violations.is_empty(), place.ends_with("/description"), "{json}");
        }
    }
}

#[test]
fn a_path_shows_no_refused_code_point_and_has_an_end() {
    let long = "b".repeat(5_000);
    let schema = serde_json::json!({"properties": {"a\u{202E}": {"type": "x"}, long: {"type": "x"}}}).to_string();
    for field in refused_for(|d| d.input_schema = schema_of(&schema)) {
        assert!(!field.contains('\u{202E}') && field.len() <= 500, "{field}");
    }
}

#[test]
fn a_code_is_written_as_it_is_stored() {
    for code in ViolationCode::ALL.iter().copied() {
        assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
    }
}

#[test]
fn duplicate_keys_inside_a_schema_are_refused() {
    let fields = refused_for(|d| d.input_schema = schema_of(r#"{"type":"object","type":"object"}"#));
    assert!(fields.contains(&"input_schema".to_owned()));
}

#[test]
fn any_definition_is_checked_without_a_panic() {
    use proptest::prelude::*;
    let config = ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() };
    proptest!(config, |(name in ".{0,70}", summary in ".{0,220}", word in ".{0,70}", depth in 0usize..150)| {
        let mut odd = definition();
        odd.id = ToolId::new(summary.as_str(), name.as_str());
        odd.summary = summary;
        odd.keywords = vec![word.clone(), word];
        odd.input_schema = schema_of(&(r#"{"items":"#.repeat(depth) + "{}" + &"}".repeat(depth)));
        let checked = check(&odd, &policy());
        prop_assert!(checked.alias.as_str().len() <= 64);
    });
}

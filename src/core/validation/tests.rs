//! Arguments against schemas: what fits, and what a violation says.

use serde_json::json;

use super::*;

fn validate(schema: Value, arguments: Value) -> Vec<Violation> {
    Validator::of_value(&schema).unwrap().validate(&arguments)
}

/// Asserts that a value of property `a` is refused at `pointer`, and what would be accepted.
fn assert_refused(schema: Value, value: Value, pointer: &str, accepted: &str) {
    let found = validate(json!({"properties": {"a": schema}}), json!({ "a": value }));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].pointer.as_str(), found[0].accepted.as_str()), (pointer, accepted), "{found:?}");
}

#[test]
fn arguments_that_fit_have_no_violation() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    assert_eq!(validate(schema, json!({"a": 1})), []);
}

#[test]
fn every_violation_says_what_would_be_accepted() {
    assert_refused(json!({"type": "integer"}), json!("x"), "/a", "integer");
    assert_refused(json!({"type": ["string", "null"]}), json!(1), "/a", "null or string");
    assert_refused(json!({"enum": ["on", "off"]}), json!("x"), "/a", "one of \"on\", \"off\"");
    assert_refused(json!({"const": 5}), json!(6), "/a", "5");
    assert_refused(json!({"minimum": 2}), json!(1), "/a", "at least 2");
    assert_refused(json!({"exclusiveMaximum": 2}), json!(2), "/a", "less than 2");
    assert_refused(json!({"minLength": 2}), json!("x"), "/a", "at least 2 characters");
    assert_refused(json!({"maxItems": 1}), json!([1, 2]), "/a", "at most 1 items");
    assert_refused(json!({"items": {"type": "string"}}), json!(["x", 1]), "/a/1", "string");
    assert_refused(json!({"pattern": "^a$"}), json!("b"), "/a", "text matching ^a$");
    assert_refused(json!({"format": "date"}), json!("today"), "/a", "a date such as 2024-01-31");
    assert_refused(json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), json!(1), "/a", "any of: string, null");
    assert_refused(json!({"multipleOf": 5}), json!(7), "/a", "a multiple of 5");
    assert_refused(json!({"additionalProperties": false}), json!({"x": 1}), "/a", "no properties");
}

#[test]
fn a_missing_property_is_named_with_what_it_takes() {
    let schema = json!({"required": ["a/b"], "properties": {"a/b": {"type": "integer", "minimum": 1}}});
    let found = &validate(schema, json!({}))[0];
    assert_eq!((found.pointer.as_str(), found.accepted.as_str()), ("/a~1b", "integer, at least 1"));
}

#[test]
fn an_unknown_property_is_named_with_those_there_are() {
    let schema = json!({"properties": {"path": {}, "mode": {}}, "additionalProperties": false});
    let found = &validate(schema, json!({"file": 1}))[0];
    assert_eq!(found.description, "unknown \"file\"");
    assert_eq!(found.accepted, "only \"path\", \"mode\"");
}

#[test]
fn a_tool_without_parameters_takes_no_arguments() {
    let found = validate(json!({"type": "object", "properties": {}, "additionalProperties": false}), json!({"x": 1}));
    assert_eq!(found[0].description, "unknown \"x\"");
    assert_eq!(found[0].accepted, "no properties");
}

#[test]
fn a_violation_behind_a_reference_is_described_like_any_other() {
    let schema = json!({
        "properties": {"q": {"$ref": "#/$defs/q"}},
        "$defs": {"q": {"required": ["id"], "properties": {"id": {"type": "string"}}}},
    });
    let found = &validate(schema, json!({"q": {}}))[0];
    assert_eq!((found.pointer.as_str(), found.accepted.as_str()), ("/q/id", "string"));
}

#[test]
fn values_are_never_repeated_and_names_only_escaped_and_cut() {
    let secret = "hunter2-".repeat(100);
    let schema = json!({"properties": {"a": {"type": "integer"}}, "additionalProperties": false});
    let name = format!("x\n\u{202E}{secret}");
    for violation in validate(schema, json!({"a": secret, name: secret})) {
        let said = format!("{}{}", violation.description, violation.accepted);
        assert!(said.len() < 200 && !said.contains('\n') && !said.contains('\u{202E}'), "{said}");
        assert!(violation.pointer.is_empty() || !said.contains("hunter2"), "{said}");
    }
}

#[test]
fn at_most_sixteen_violations_are_reported() {
    let found = validate(json!({"items": {"type": "string"}}), json!(vec![0; 100]));
    assert_eq!(found.len(), MOST_VIOLATIONS);
}

#[test]
fn a_schema_that_would_fetch_something_does_not_compile() {
    for reference in ["https://example.com/s.json", "file:///etc/hosts"] {
        assert!(Validator::of_value(&json!({"$ref": reference})).is_err());
    }
}

#[test]
fn arguments_deep_in_a_branching_recursion_are_refused_in_bounded_time() {
    let same = json!({"properties": {"a": {"$ref": "#"}}, "required": ["b"]});
    let validator = Validator::of_value(&json!({"type": "object", "anyOf": [same, same]})).unwrap();
    let nested = |depth: usize| (0..depth).fold(json!({}), |inner, _| json!({ "a": inner }));
    assert!(validator.validate(&nested(3))[0].accepted.contains("\"b\""));
    assert!(validator.validate(&nested(60))[0].description.contains("nested too deep"));
}

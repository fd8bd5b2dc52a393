//! Which changes of a definition are cosmetic, compatible or breaking.

use serde_json::json;

use super::super::tests::definition;
use super::*;

fn with_schema(schema: &serde_json::Value) -> Definition {
    Definition { input_schema: Json::from_value(schema), ..definition() }
}

fn assert_class(old: serde_json::Value, new: serde_json::Value, class: ChangeClass) {
    let change = classify(&with_schema(&old), &with_schema(&new));
    assert_eq!(change.class, class, "{old} → {new}: {:?}", change.differences);
    assert_eq!(change.differences.is_empty(), old == new);
}

fn object(properties: serde_json::Value, required: &[&str]) -> serde_json::Value {
    json!({"type": "object", "properties": properties, "required": required})
}

#[test]
fn nothing_changed_has_no_differences() {
    assert_eq!(classify(&definition(), &definition()).differences, []);
    let (a, b) = (
        with_schema(&json!({"type": "object", "required": []})),
        with_schema(&json!({"required": [], "type": "object"})),
    );
    assert_eq!(classify(&a, &b).differences, [], "key order is none");
}

#[test]
fn words_are_cosmetic_and_annotations_are_not() {
    let mut new = definition();
    new.description.push_str(" Quickly.");
    new.keywords.push("defect".into());
    assert_eq!(classify(&definition(), &new).class, ChangeClass::Cosmetic);
    new.annotations = Some(Json::from_value(&json!({"destructiveHint": true})));
    assert_eq!(classify(&definition(), &new).class, ChangeClass::Compatible);
    assert_class(
        object(json!({"a": {"description": "x"}}), &[]),
        object(json!({"a": {"description": "y"}}), &[]),
        ChangeClass::Cosmetic,
    );
}

#[test]
fn what_lets_every_old_call_through_is_compatible() {
    let old = object(json!({"a": {"type": "integer", "enum": [1], "minimum": 1, "maximum": 9}}), &["a"]);
    for (pointer, value) in [
        ("/properties/a/type", json!("number")),
        ("/properties/a/type", json!(["integer", "null"])),
        ("/properties/a/enum", json!([1, 2])),
        ("/properties/a/minimum", json!(0)),
        ("/properties/a/maximum", json!(10)),
        ("/required", json!([])),
        ("/properties", json!({"a": old["properties"]["a"], "b": {"type": "string"}})),
    ] {
        let mut new = old.clone();
        *new.pointer_mut(pointer).unwrap() = value;
        assert_class(old.clone(), new, ChangeClass::Compatible);
    }
}

#[test]
fn what_may_refuse_an_old_call_is_breaking() {
    let old = object(json!({"a": {"type": "integer", "enum": [1, 2], "minimum": 1}, "b": {"type": "string"}}), &["a"]);
    for (pointer, value) in [
        ("/properties/a/type", json!("string")),
        ("/properties/a/enum", json!([1])),
        ("/properties/a/minimum", json!(2)),
        ("/required", json!(["a", "b"])),
        ("/properties", json!({"a": old["properties"]["a"]})),
        ("/properties/b", json!({"type": "string", "pattern": "^x$"})),
        ("/properties/b", json!({"type": "string", "not": {"const": "x"}})),
    ] {
        let mut new = old.clone();
        *new.pointer_mut(pointer).unwrap() = value;
        assert_class(old.clone(), new, ChangeClass::Breaking);
    }
    let mut closed = old.clone();
    closed["additionalProperties"] = json!(false);
    assert_class(old.clone(), closed.clone(), ChangeClass::Breaking);
    assert_class(closed, old, ChangeClass::Compatible);
}

#[test]
fn a_change_behind_a_reference_is_found_and_recursion_ends() {
    let schema = |kind: &str| {
        json!({
            "properties": {"q": {"$ref": "#/$defs/q"}},
            "$defs": {"q": {"properties": {"id": {"type": kind}, "next": {"$ref": "#/$defs/q"}}}},
        })
    };
    assert_class(schema("string"), schema("integer"), ChangeClass::Breaking);
    assert_class(schema("integer"), schema("number"), ChangeClass::Compatible);
    let unused = |kind: &str| json!({"$defs": {"unused": {"type": kind}}});
    assert_class(unused("string"), unused("integer"), ChangeClass::Cosmetic);
}

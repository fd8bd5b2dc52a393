//! The smallest arguments of small schemas; those of real ones are in `import::tests::catalogs`.

use serde_json::json;

use super::*;

fn assert_smallest(schema: Value, expected: Value) {
    assert_eq!(smallest_instance(&schema), expected, "{schema}");
}

fn assert_fits(schema: Value) {
    let instance = smallest_instance(&schema);
    assert!(Validator::of_value(&schema).unwrap().fits(&instance), "{schema}: {instance}");
}

#[test]
fn only_required_properties_are_built() {
    let schema = json!({
        "type": "object",
        "required": ["b"],
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
    });
    assert_smallest(schema, json!({"b": 0}));
    assert_smallest(json!({"type": "object", "properties": {}}), json!({}));
}

#[test]
fn the_first_value_of_a_choice_is_taken() {
    assert_smallest(json!({"enum": ["x", "y"]}), json!("x"));
    assert_smallest(json!({"const": [1]}), json!([1]));
    assert_smallest(json!({"type": "string", "default": "d"}), json!("d"));
    assert_smallest(json!({"anyOf": [false, {"type": "boolean"}]}), json!(false));
}

#[test]
fn bounds_formats_and_patterns_are_met() {
    for schema in [
        json!({"type": "integer", "minimum": 3, "multipleOf": 5}),
        json!({"type": "integer", "exclusiveMaximum": -3}),
        json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.25}),
        json!({"type": "string", "minLength": 5}),
        json!({"type": "string", "pattern": "^[A-Z]{2,}-\\d+$", "minLength": 9}),
        json!({"type": "string", "format": "date-time"}),
        json!({"type": "string", "format": "ipv6"}),
        json!({"type": "string", "format": "uuid"}),
        json!({"type": "array", "minItems": 3, "uniqueItems": true, "items": {"enum": [1, 2, 3]}}),
        json!({"type": "array", "minItems": 2, "uniqueItems": true, "items": {"type": "string"}}),
        json!({"type": "array", "contains": {"const": 7}}),
        json!({"type": "object", "minProperties": 2, "properties": {"a": {"type": "string"}}}),
    ] {
        assert_fits(schema);
    }
}

#[test]
fn references_and_combinations_are_followed() {
    for schema in [
        json!({"$ref": "#/$defs/q", "$defs": {"q": {"required": ["a"], "properties": {"a": {"type": "string"}}}}}),
        json!({"allOf": [
            {"required": ["a"], "properties": {"a": {"type": "integer"}}},
            {"properties": {"a": {"minimum": 4}}},
        ]}),
        json!({"type": "object", "oneOf": [
            {"required": ["a"], "properties": {"a": {"const": 1}}},
            {"required": ["b"]},
        ]}),
        json!({"oneOf": [{"type": "integer"}, {"type": "number"}, {"type": "string"}]}),
        json!({"required": ["next"], "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}}),
    ] {
        assert_fits(schema);
    }
}

#[test]
fn a_schema_that_nothing_fits_still_gives_an_answer() {
    assert_smallest(json!({"type": "array", "enum": ["a"]}), json!({}));
}

#[test]
fn a_schema_that_only_an_endless_value_fits_is_given_up() {
    let again = json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]});
    assert_smallest(json!({"type": "object", "required": ["a"], "properties": {"a": again}}), json!({}));
    let wide = (0..6).fold(json!({}), |inner, _| json!({"type": "array", "minItems": 60, "items": inner}));
    assert_smallest(wide, json!({}));
}

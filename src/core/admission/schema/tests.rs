//! Schemas that are admitted and schemas that are refused, each with its path.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::core::policy::Policy;

fn violations_of(schema: &Value) -> Vec<Violation> {
    let mut violations = Vec::new();
    check("input_schema", schema, &Policy::default().admission, &mut violations);
    violations
}

fn assert_admitted(schema: Value) {
    assert_eq!(violations_of(&schema), [], "{schema}");
}

/// Asserts that a schema has exactly one violation, of this code and at this place.
fn assert_refused(schema: Value, code: ViolationCode, field: &str) {
    let found = violations_of(&schema);
    let found: Vec<_> = found.iter().map(|v| (v.code, v.field.strip_prefix("input_schema").unwrap())).collect();
    assert_eq!(found, [(code, field)], "{schema}");
}

fn property(schema: Value) -> Value {
    json!({"type": "object", "properties": {"a": schema}})
}

#[test]
fn object_schemas_are_admitted_also_where_the_type_is_left_out() {
    for schema in [
        json!({}),
        json!({"type": "object"}),
        json!({"type": ["object", "null"]}),
        json!({"properties": {"a": {}}, "required": ["a"]}),
        json!({"$ref": "#/$defs/q", "$defs": {"q": {"type": "object"}}}),
        json!({"oneOf": [{"type": "object"}]}),
    ] {
        assert_admitted(schema);
    }
}

#[test]
fn roots_of_another_type_are_refused() {
    assert_refused(json!({"type": "string"}), ViolationCode::NotAnObject, "/type");
    assert_refused(json!({"enum": ["a"]}), ViolationCode::NotAnObject, "");
    assert_refused(json!(true), ViolationCode::NotAnObject, "");
    assert_refused(json!([]), ViolationCode::NotAnObject, "");
}

#[test]
fn an_unknown_type_is_named_once_with_the_words_there_are() {
    assert_refused(property(json!({"type": "int"})), ViolationCode::UnknownType, "/properties/a/type");
    assert_refused(property(json!({"type": ["string", "any"]})), ViolationCode::UnknownType, "/properties/a/type/1");
    let violation = &violations_of(&property(json!({"type": "int"})))[0];
    assert!(violation.accepted.contains("integer"), "{}", violation.accepted);
}

#[test]
fn every_violation_is_reported_at_once_with_its_path() {
    let schema = json!({"type": "object", "required": "a", "properties": {
        "a": {"type": "str"},
        "b": {"pattern": "(?=x)"},
        "c": {"$ref": "#/$defs/none"},
        "d": {"minLength": -1},
    }});
    let fields: Vec<String> = violations_of(&schema).into_iter().map(|v| v.field).collect();
    let expected =
        ["properties/a/type", "properties/b/pattern", "properties/c/$ref", "required", "properties/d/minLength"];
    assert_eq!(fields.len(), expected.len(), "{fields:?}");
    for place in expected {
        assert!(fields.contains(&format!("input_schema/{place}")), "{place}: {fields:?}");
    }
}

#[test]
fn only_references_within_the_schema_that_lead_somewhere_are_admitted() {
    for reference in ["https://example.com/s.json", "file:///etc/passwd", "other.json", "#/$defs/none", "#none", ""] {
        assert_refused(property(json!({"$ref": reference})), ViolationCode::BadReference, "/properties/a/$ref");
    }
    assert_refused(property(json!({"$dynamicRef": "x#y"})), ViolationCode::BadReference, "/properties/a/$dynamicRef");
    assert_refused(property(json!({"$id": "urn:x", "$ref": "#"})), ViolationCode::BadReference, "/properties/a/$id");
}

#[test]
fn references_that_only_lead_to_themselves_are_refused() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"anyOf": [{"type": "object"}, {"not": {"$ref": "#"}}]}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        property(json!({"$ref": "#/properties/a"})),
    ] {
        let found = violations_of(&schema);
        assert_eq!(found.len(), 1, "{schema}");
        assert_eq!(found[0].code, ViolationCode::BadReference, "{schema}");
    }
}

#[test]
fn recursive_data_is_admitted() {
    assert_admitted(json!({"type": "object", "properties": {"next": {"$ref": "#"}}}));
    assert_admitted(json!({
        "type": "object",
        "required": ["query_model"],
        "properties": {"query_model": {"$ref": "#/$defs/ScheduleQuery"}},
        "$defs": {"ScheduleQuery": {"type": "object", "properties": {
            "children": {"type": "array", "items": {"$ref": "#/$defs/ScheduleQuery"}},
        }}},
    }));
    // Where no keyword puts a schema, a reference does.
    assert_admitted(json!({"properties": {"a": {"$ref": "#/x-shared/q"}}, "x-shared": {"q": {"type": "string"}}}));
}

#[test]
fn depth_and_nodes_are_bounded() {
    let nested = |depth: usize| (1..depth).fold(json!({}), |schema, _| json!({"properties": {"a": schema}}));
    assert_admitted(nested(16));
    assert_eq!(violations_of(&nested(17))[0].code, ViolationCode::TooComplex);
    let wide = |n: usize| {
        let properties: Map<String, Value> = (0..n).map(|i| (format!("p{i}"), json!({}))).collect();
        json!({"type": "object", "properties": properties})
    };
    assert_admitted(wide(1_999));
    assert_refused(wide(2_000), ViolationCode::TooComplex, "");
}

#[test]
fn references_that_multiply_are_refused() {
    let mut definitions = Map::new();
    for i in 0..20 {
        let next = json!({"$ref": format!("#/$defs/d{}", i + 1)});
        definitions.insert(format!("d{i}"), json!({"properties": {"l": next, "r": next}}));
    }
    definitions.insert("d20".into(), json!({}));
    assert_refused(
        json!({"$ref": "#/$defs/d0", "$defs": definitions, "type": "object"}),
        ViolationCode::TooComplex,
        "",
    );
}

#[test]
fn long_chains_of_references_are_refused_and_shorter_ones_compile() {
    let chain = |n: usize| {
        let mut definitions = Map::new();
        for i in 0..n {
            definitions.insert(format!("d{i}"), json!({"$ref": format!("#/$defs/d{}", i + 1)}));
        }
        definitions.insert(format!("d{n}"), json!({"type": "object"}));
        json!({"$ref": "#/$defs/d0", "$defs": definitions})
    };
    assert_admitted(chain(60));
    assert_eq!(violations_of(&chain(1_900))[0].code, ViolationCode::TooComplex);
}

#[test]
fn nesting_by_reference_compiles_on_the_stack_of_a_test_thread() {
    let mut definitions = Map::new();
    for i in 0..900 {
        definitions.insert(format!("d{i}"), property(json!({"$ref": format!("#/$defs/d{}", i + 1)})));
    }
    definitions.insert("d900".into(), json!({"type": "object"}));
    assert_admitted(json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions}));
}

#[test]
fn patterns_are_bounded_and_must_compile_in_linear_time() {
    for pattern in ["(?=a)", "(?<!a)b", r"(a)\1", "(", &*"a".repeat(513), "((a{100}){100}){100}"] {
        assert_refused(property(json!({"pattern": pattern})), ViolationCode::BadPattern, "/properties/a/pattern");
    }
    assert_refused(json!({"patternProperties": {"(?!x)": {}}}), ViolationCode::BadPattern, "/patternProperties");
    assert_admitted(property(json!({"pattern": r"^[\w.-]+@\d{3}$"})));
    let refusal = &violations_of(&property(json!({"pattern": "(?=a)"})))[0];
    assert!(refusal.description.contains("look-around"), "{}", refusal.description);
}
#[test]
fn patterns_that_together_cost_too_much_are_refused() {
    let properties = |n: usize| {
        let each = |i| (format!("p{i}"), json!({"pattern": format!("^\\p{{L}}{{5}}{i}$")}));
        json!({"type": "object", "properties": (0..n).map(each).collect::<Map<String, Value>>()})
    };
    assert_admitted(properties(2));
    let found = violations_of(&properties(400));
    assert!(!found.is_empty() && found.iter().all(|v| v.code == ViolationCode::BadPattern), "{found:?}");
    // The same pattern again costs nothing.
    let same: Map<String, Value> = (0..400).map(|i| (format!("p{i}"), json!({"pattern": "^\\p{L}{5}$"}))).collect();
    assert_admitted(json!({"type": "object", "properties": same}));
}

#[test]
fn anchors_are_found_once_however_many_references_there_are() {
    let properties: Map<String, Value> =
        (0..900).map(|i| (format!("p{i}"), json!({"$ref": format!("#a{i}")}))).collect();
    let found = violations_of(&json!({"type": "object", "properties": properties}));
    assert_eq!(found.len(), 900);
    assert_admitted(json!({
        "properties": {"a": {"$ref": "#here"}},
        "$defs": {"h": {"$anchor": "here", "type": "string"}},
    }));
}
#[test]
fn spellings_of_older_drafts_are_refused_with_the_spelling_of_this_one() {
    for (schema, place, hint) in [
        (json!({"items": [{"type": "string"}]}), "items", "prefixItems"),
        (json!({"type": "string", "required": true}), "required", "list of property names"),
        (json!({"minimum": 1, "exclusiveMinimum": true}), "exclusiveMinimum", "a number"),
    ] {
        let found = violations_of(&property(schema));
        assert_eq!(found[0].field, format!("input_schema/properties/a/{place}"));
        assert!(found[0].accepted.contains(hint), "{}", found[0].accepted);
    }
    assert_admitted(json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "definitions": {}}));
}

/// Schemas as a careless or hostile author might write them.
fn any_schema() -> impl Strategy<Value = Value> {
    let references = prop_oneof![Just("#"), Just("#/$defs/d"), Just("#/properties/a"), Just("#x"), Just("y")];
    let leaf = prop_oneof![
        Just(json!({})),
        any::<bool>().prop_map(Value::Bool),
        references.prop_map(|to| json!({ "$ref": to })),
        prop_oneof![Just("string"), Just("object"), Just("int")].prop_map(|word| json!({ "type": word })),
        "[a-z(){}|*0-9]{0,8}".prop_map(|pattern| json!({ "pattern": pattern })),
        any::<i8>().prop_map(|n| json!({"minLength": n, "enum": [n, "x"]})),
    ];
    leaf.prop_recursive(5, 32, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..3).prop_map(|all| json!({ "allOf": all })),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|any| json!({ "anyOf": any })),
            inner.clone().prop_map(|items| json!({"type": "array", "items": items, "minItems": 1})),
            (inner.clone(), inner.clone()).prop_map(|(a, d)| json!({
                "type": "object", "properties": {"a": a}, "required": ["a"], "$defs": {"d": d},
            })),
            inner.prop_map(|not| json!({ "not": not })),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn what_is_admitted_compiles_and_judges_without_a_panic(schema in any_schema()) {
        if violations_of(&schema).is_empty() {
            let validator = validation::Validator::of_value(&schema).unwrap();
            let instance = crate::core::instance::smallest_instance(&schema);
            prop_assert_eq!(validator.fits(&instance), validator.validate(&instance).is_empty());
            let _ = validator.validate(&json!({"a": {"a": [{"a": 1}]}}));
        }
    }
}

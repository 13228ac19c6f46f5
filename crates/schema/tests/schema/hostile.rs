//! Schemas and values that are made to keep a validator busy. Each is refused, or evaluated within the budget; the net is
//! that the test ends at all.

use std::{sync::mpsc, thread, time::Duration};

use couplet_schema::{Budget, Schema};
use serde_json::{Value, json};

/// What happens to a schema, and to a value beneath it.
#[derive(Debug, PartialEq)]
enum Fate {
    Refused,
    TooCostly,
    Decided(bool),
}
use Fate::{Decided, Refused, TooCostly};

/// Runs on a thread with the stack that a worker of a runtime has, and gives up after a minute.
#[track_caller]
fn check(name: &str, schema: &Value, value: &Value, expected: &[Fate]) {
    let (schema, value) = (schema.to_string(), value.to_string());
    let (tell, told) = mpsc::channel();
    let run = move || {
        let fate = match Schema::new(&schema) {
            Err(_) => Refused,
            Ok(schema) => match schema.check(&value) {
                Ok(()) => Decided(true),
                Err(mismatch) if mismatch.is_too_costly() => TooCostly,
                Err(_) => Decided(false),
            },
        };
        let _ = tell.send(fate);
    };
    thread::Builder::new().stack_size(2 << 20).spawn(run).expect("a thread");
    let fate = told.recv_timeout(Duration::from_secs(60)).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert!(expected.contains(&fate), "{name}: {fate:?}");
}

/// Definitions `d0` to `d{n}`, each made from the name of the next one.
fn chain(n: usize, link: impl Fn(Value) -> Value, end: Value) -> Value {
    let mut defs = serde_json::Map::new();
    for i in 0..n {
        defs.insert(format!("d{i}"), link(json!({ "$ref": format!("#/$defs/d{}", i + 1) })));
    }
    defs.insert(format!("d{n}"), end);
    json!({ "$ref": "#/$defs/d0", "$defs": defs })
}

/// `{"a":{"a":…}}`, so deep.
fn nested(depth: usize, inner: Value) -> Value {
    (0..depth).fold(inner, |value, _| json!({ "a": value }))
}

#[test]
fn chains_that_double() {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let doubled = chain(28, |next| json!({ keyword: [next, next] }), json!({ "type": "string" }));
        assert!(doubled.to_string().len() < 2_500);
        check(keyword, &doubled, &json!("x"), &[Refused]);
    }
    let guarded = chain(28, |next| json!({ "if": next, "then": next, "else": next }), json!({ "type": "string" }));
    check("if", &guarded, &json!("x"), &[Refused]);
    let negated = chain(28, |next| json!({ "not": { "allOf": [next, next] } }), json!(true));
    check("not", &negated, &json!("x"), &[Refused]);
    let dependent = chain(28, |next| json!({ "dependentSchemas": { "a": next, "b": next } }), json!(true));
    check("dependentSchemas", &dependent, &json!({ "a": 1, "b": 2 }), &[Refused]);
}

#[test]
fn chains_that_double_on_the_way_down() {
    let down = |next: Value| json!({ "anyOf": [{ "properties": { "a": next } }, { "properties": { "a": next } }] });
    let schema = chain(28, down, json!({ "type": "string" }));
    check("acyclic", &schema, &nested(28, json!(5)), &[TooCostly]);
    check("acyclic, shallow", &schema, &nested(3, json!(5)), &[Decided(true)]);
    // The same in a circle: there it is remembered what was looked at.
    let circle = json!({
        "anyOf": [{ "properties": { "a": { "$ref": "#" } } }, { "properties": { "a": { "$ref": "#" } } }],
        "type": "object"
    });
    check("circle", &circle, &nested(60, json!(5)), &[Decided(false), TooCostly]);
    check("circle", &circle, &nested(60, json!({})), &[Decided(true), TooCostly]);
}

#[test]
fn what_was_looked_at_is_looked_at_again() {
    let marked = chain(40, |next| json!({ "allOf": [next], "unevaluatedProperties": false }), json!({}));
    check("unevaluatedProperties", &marked, &json!({ "a": 1 }), &[Refused]);
    let items = chain(40, |next| json!({ "allOf": [next], "unevaluatedItems": false }), json!({}));
    check("unevaluatedItems", &items, &json!([1]), &[Refused]);
}

#[test]
fn circles_without_an_end() {
    for circle in [
        json!({ "$ref": "#" }),
        json!({ "allOf": [{ "$ref": "#" }] }),
        json!({ "anyOf": [{ "$ref": "#" }, { "$ref": "#" }] }),
        json!({ "not": { "$ref": "#" } }),
        json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } } }),
        json!({ "$dynamicAnchor": "x", "$dynamicRef": "#x" }),
        json!({ "$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveAnchor": true,
            "unevaluatedProperties": { "$recursiveRef": "#" } }),
    ] {
        let fates = [Refused, TooCostly, Decided(true), Decided(false)];
        check("circle", &circle, &json!({ "a": [1, { "a": 2 }] }), &fates);
    }
}

#[test]
fn long_and_deep_schemas() {
    let long = chain(5_000, |next| next, json!(true));
    check("a long chain", &long, &json!(1), &[Refused]);
    let deep = (0..60).fold(json!({ "type": "string" }), |schema, _| json!({ "properties": { "a": schema } }));
    check("nested", &deep, &nested(60, json!(5)), &[Decided(false)]);
    let mut text = "5".to_owned();
    for _ in 0..10_000 {
        text = format!(r#"{{"not":{text}}}"#);
    }
    assert!(Schema::new(&text).expect_err("deep").to_string().contains("recursion limit"));
    let wide: Vec<_> = (0..20_000).map(|i| json!({ "const": i })).collect();
    check("many alternatives", &json!({ "anyOf": wide }), &json!(-1), &[Refused]);
    check("many bytes", &json!({ "description": "x".repeat(300_000) }), &json!(1), &[Refused]);
}

#[test]
fn a_circle_under_a_deep_value_does_not_exhaust_the_stack() {
    // 90 references for each level of the value.
    let mut schema = chain(90, |next| next, json!({}));
    schema["$defs"]["d90"] = json!({ "properties": { "a": { "$ref": "#/$defs/d0" } } });
    check("a long circle", &schema, &nested(120, json!(5)), &[TooCostly]);
    let deepest = json!({ "properties": { "a": { "$ref": "#" } }, "type": "object" });
    check("a short circle", &deepest, &nested(120, json!(5)), &[Decided(false)]);
}

#[test]
fn hostile_patterns() {
    let text = format!("{}!", "a".repeat(50_000));
    for pattern in ["^(a+)+$", "^(a|aa)*$", "^(a|a?)+$", "^(([a-z])+.)+[A-Z]([a-z])+$", "(.*)*b"] {
        check(pattern, &json!({ "pattern": pattern }), &json!(text), &[Decided(false)]);
    }
    for pattern in ["(a{1000}){1000}", "((a{100}){100}){100}", r"(\p{L}{500}){500}", "(?=a)a", r"(a)\1"] {
        check(pattern, &json!({ "pattern": pattern }), &json!(text), &[Refused]);
    }
    let many: Vec<_> = (0..5_000).map(|i| json!({ "pattern": format!("(a|b)*{i}") })).collect();
    check("many patterns", &json!({ "allOf": many }), &json!(text), &[Refused, TooCostly]);
}

#[test]
fn huge_lists_of_choices_under_huge_values() {
    let choices: Vec<_> = (0..30_000).map(|i| json!(format!("c{i}"))).collect();
    let schema = json!({ "items": { "enum": choices } });
    check("huge enum", &schema, &json!(["c1", "c29999"]), &[Decided(true)]);
    check("huge enum", &schema, &json!(vec!["no"; 30_000]), &[TooCostly]);
    let rows: Vec<_> = (0..20_000).map(|i| json!({ "a": i, "b": [i] })).collect();
    check("many rows", &json!({ "uniqueItems": true }), &json!(rows), &[Decided(true)]);
}

#[test]
fn a_large_honest_value_under_an_honest_schema_is_decided() {
    let schema = json!({ "type": "array", "items": { "$ref": "#/$defs/row" }, "$defs": { "row": {
        "type": "object",
        "properties": { "id": { "type": "integer" }, "name": { "type": "string", "pattern": "^[a-z ]+$" },
            "kind": { "enum": ["a", "b", "c"] }, "next": { "anyOf": [{ "$ref": "#/$defs/row" }, { "type": "null" }] } },
        "required": ["id", "name"], "additionalProperties": false
    } } });
    let mut rows: Vec<_> = (0..20_000)
        .map(|i| json!({ "id": i, "name": "some name", "kind": "b", "next": { "id": 1, "name": "n" } }))
        .collect();
    check("rows", &schema, &json!(rows), &[Decided(true)]);
    rows[19_999]["kind"] = json!("d");
    check("rows", &schema, &json!(rows), &[Decided(false)]);
}

#[test]
fn a_budget_can_be_narrower() {
    let tree = r##"{"type":"object","additionalProperties":{"$ref":"#"}}"##;
    let mut budget = Budget::default();
    budget.steps = 3;
    let schema = Schema::with_budget(tree, &budget).expect("a schema");
    assert!(schema.check("{}").is_ok());
    assert!(schema.check(r#"{"a":{},"b":{},"c":{}}"#).expect_err("too much").is_too_costly());
    budget.subschemas = 1;
    assert!(Schema::with_budget(tree, &budget).is_err());
}

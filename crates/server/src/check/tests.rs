//! What fits a schema, what does not, what is said about it, and which schemas are refused.

use serde_json::{Value, json};

use super::*;

fn check(schema: &Value, cases: &[(&str, &str)]) {
    let checker = Checker::new(schema, Origin::Given).unwrap();
    for (json, expected) in cases {
        let said = checker.check(json).err().map(|fault| fault.to_string()).unwrap_or_default();
        assert_eq!(said, *expected, "{schema} {json}");
    }
}

/// The schema of one argument, `a`.
fn check_argument(schema: Value, cases: &[(&str, &str)]) {
    let schema = json!({ "type": "object", "properties": { "a": schema } });
    let checker = Checker::new(&schema, Origin::Given).unwrap();
    for (value, expected) in cases {
        let said = checker.check(&format!(r#" {{ "a" : {value} }} "#)).err().map(|fault| fault.to_string());
        let expected = (!expected.is_empty()).then(|| format!("argument `a`: {expected}"));
        assert_eq!(said, expected, "{schema} {value}");
    }
}

#[test]
fn types() {
    check_argument(
        json!({ "type": "integer" }),
        &[
            ("5", ""),
            ("-5", ""),
            ("1000.0", ""),
            ("1e3", ""),
            ("1.5", "expected an integer, got the number 1.5"),
            (r#""5""#, r#"expected an integer, got the string "5""#),
            ("null", "expected an integer, got null"),
            ("[1]", "expected an integer, got an array"),
        ],
    );
    check_argument(
        json!({ "type": ["string", "null"] }),
        &[("null", ""), (r#""x""#, ""), ("true", "expected null or a string, got the boolean true")],
    );
    check_argument(json!({ "type": "number" }), &[("5", ""), ("5.5", ""), ("{}", "expected a number, got an object")]);
    check_argument(json!(true), &[("5", "")]);
    check_argument(json!(false), &[("5", "expected nothing here, got the number 5")]);
}

#[test]
fn limits() {
    check_argument(
        json!({ "minimum": 1, "maximum": 5 }),
        &[
            ("1", ""),
            ("5.0", ""),
            (r#""99""#, ""),
            ("0", "expected a number of at least 1, got the number 0"),
            ("99", "expected a number of at most 5, got the number 99"),
        ],
    );
    check_argument(
        json!({ "exclusiveMinimum": 0, "exclusiveMaximum": 1.5 }),
        &[
            ("1", ""),
            ("0", "expected a number above 0, got the number 0"),
            ("1.5", "expected a number below 1.5, got the number 1.5"),
        ],
    );
    // As draft-04 has it.
    check_argument(
        json!({ "minimum": 0, "exclusiveMinimum": true }),
        &[("0", "expected a number above 0, got the number 0"), ("1", "")],
    );
    check_argument(
        json!({ "maximum": 9_007_199_254_740_993_u64 }),
        &[
            ("9007199254740993", ""),
            ("9007199254740994", "expected a number of at most 9007199254740993, got the number 9007199254740994"),
        ],
    );
    check_argument(
        json!({ "multipleOf": 0.1 }),
        &[("0.3", ""), ("0.35", "expected a multiple of 0.1, got the number 0.35")],
    );
    check_argument(json!({ "multipleOf": 3 }), &[("9", ""), ("10", "expected a multiple of 3, got the number 10")]);
    check_argument(
        json!({ "minLength": 1, "maxLength": 3 }),
        &[
            (r#""éàü""#, ""),
            (r#""\u00e9ab""#, ""),
            (r#""""#, "expected a string of at least 1 character, got the string \"\""),
            (r#""abcd""#, "expected a string of at most 3 characters, got the string \"abcd\""),
        ],
    );
    check_argument(
        json!({ "minItems": 1, "maxItems": 2 }),
        &[
            ("[1]", ""),
            ("[]", "expected an array of at least 1 item, got 0"),
            ("[1,[2,3],{}]", "expected an array of at most 2 items, got 3"),
        ],
    );
    check_argument(
        json!({ "minProperties": 1, "maxProperties": 1 }),
        &[
            (r#"{"x":1}"#, ""),
            ("{}", "expected an object of at least 1 member, got 0"),
            (r#"{"x":1,"y":2}"#, "expected an object of at most 1 member, got 2"),
        ],
    );
}

#[test]
fn choices() {
    check_argument(
        json!({ "enum": ["low", "high", 5, null, [1, { "x": 1.0 }]] }),
        &[
            (r#""low""#, ""),
            (r#""\u006cow""#, ""),
            ("5.0", ""),
            ("null", ""),
            (r#"[1.0,{"x":1}]"#, ""),
            (r#""mid""#, "expected one of `low`, `high`, `5`, `null`, `[1,{\"x\":1.0}]`, got the string \"mid\""),
        ],
    );
    check_argument(json!({ "const": "only" }), &[("1", "expected `only`, got the number 1"), (r#""only""#, "")]);
}

#[test]
fn objects_and_arrays() {
    let schema = json!({
        "type": "object",
        "properties": {
            "city": { "type": "string" },
            "labels": { "type": "array", "items": { "type": "string" }, "uniqueItems": true },
            "pair": { "prefixItems": [{ "type": "integer" }, { "type": "string" }], "items": false },
            "counts": { "additionalProperties": { "type": "integer" } },
        },
        "required": ["city"],
        "additionalProperties": false,
    });
    check(
        &schema,
        &[
            (r#"{"city":"Oslo","labels":["a","b"],"pair":[1,"x"],"counts":{"x":1}}"#, ""),
            ("[]", "arguments: expected an object, got an array"),
            ("{}", "argument `city` is missing (required)"),
            (r#"{"ctiy":"Oslo"}"#, "argument `ctiy` is unknown; did you mean `city`?"),
            (r#"{"zzz":1}"#, "argument `zzz` is unknown; known are `city`, `counts`, `labels`, `pair`"),
            (r#"{"city":"a","labels":[7]}"#, "argument `labels[0]`: expected a string, got the number 7"),
            (
                r#"{"city":"a","labels":["a","b","a"]}"#,
                "argument `labels[2]`: expected an array without repetitions, got the string \"a\"",
            ),
            (r#"{"city":"a","pair":[1,2]}"#, "argument `pair[1]`: expected a string, got the number 2"),
            (r#"{"city":"a","pair":[1,"x",3]}"#, "argument `pair[2]`: expected nothing here, got the number 3"),
            (r#"{"city":"a","counts":{"x":"y"}}"#, "argument `counts.x`: expected an integer, got the string \"y\""),
        ],
    );
    // Members that patterns may allow are left alone.
    let patterns = json!({ "type": "object", "patternProperties": { "^x-": {} }, "additionalProperties": false });
    check(&patterns, &[(r#"{"x-a":1}"#, "")]);
}

#[test]
fn alternatives() {
    check_argument(
        json!({ "anyOf": [{ "type": "string", "minLength": 3 }, { "type": "integer" }] }),
        &[
            ("7", ""),
            (r#""abc""#, ""),
            (r#""ab""#, "expected a string of at least 3 characters, got the string \"ab\""),
            ("true", "expected a string or an integer, got the boolean true"),
        ],
    );
    let documented = json!({ "oneOf": [{ "enum": ["normal"] }, { "const": "low" }, { "const": "very-high" }] });
    check_argument(
        documented,
        &[(r#""low""#, ""), (r#""x""#, "expected one of `normal`, `low`, `very-high`, got the string \"x\"")],
    );
    let shapes = json!({ "oneOf": [
        { "properties": { "kind": { "const": "point" } }, "required": ["kind"] },
        { "properties": { "kind": { "const": "circle" }, "r": { "type": "number", "minimum": 0 } }, "required": ["kind", "r"] },
    ] });
    let schema = json!({ "type": "object", "properties": { "a": shapes } });
    check(
        &schema,
        &[
            (r#"{"a":{"kind":"circle","r":1}}"#, ""),
            (r#"{"a":{"kind":"circle","r":-1}}"#, "argument `a.r`: expected a number of at least 0, got the number -1"),
            (r#"{"a":{"kind":"circle"}}"#, "argument `a.r` is missing (required)"),
        ],
    );
    check_argument(
        json!({ "oneOf": [{ "minimum": 1 }, { "minimum": 5 }] }),
        &[("3", ""), ("7", "expected a value that fits exactly one alternative, got the number 7")],
    );
    check_argument(
        json!({ "not": { "type": "string" } }),
        &[("3", ""), (r#""x""#, "expected a value that the schema does not exclude, got the string \"x\"")],
    );
    check_argument(
        json!({ "allOf": [{ "minimum": 1 }, { "maximum": 2 }] }),
        &[("3", "expected a number of at most 2, got the number 3")],
    );
    check_argument(
        json!({ "if": { "type": "string" }, "then": { "minLength": 2 }, "else": { "minimum": 2 } }),
        &[
            ("3", ""),
            ("1", "expected a number of at least 2, got the number 1"),
            (r#""x""#, "expected a string of at least 2 characters, got the string \"x\""),
        ],
    );
}

#[test]
fn references() {
    let schema = json!({
        "type": "object",
        "properties": { "tree": { "$ref": "#/$defs/a%20tree" }, "named": { "$ref": "#count" } },
        "$defs": {
            "a tree": { "type": "object", "properties": { "kids": { "type": "array", "items": { "$ref": "#/$defs/a tree" } } } },
            "count": { "$anchor": "count", "type": "integer" },
        },
    });
    check(
        &schema,
        &[
            (r#"{"tree":{"kids":[{"kids":[]}]},"named":1}"#, ""),
            (
                r#"{"tree":{"kids":[{"kids":[5]}]}}"#,
                "argument `tree.kids[0].kids[0]`: expected an object, got the number 5",
            ),
            (r#"{"named":"x"}"#, "argument `named`: expected an integer, got the string \"x\""),
        ],
    );
}

#[test]
fn broken_schemas_are_refused_with_their_place() {
    for (schema, expected) in [
        (json!({ "properties": 5 }), "at `/properties`: expected an object of schemas, got `5`"),
        (json!({ "properties": { "a": 5 } }), "at `/properties/a`: expected a schema: an object or a boolean, got `5`"),
        (json!({ "type": "strin" }), "at `/type`: expected a type of JSON, or several of them, got `\"strin\"`"),
        (
            json!({ "properties": { "a/b": { "minLength": -1 } } }),
            "at `/properties/a~1b/minLength`: expected an integer of 0 or more, got `-1`",
        ),
        (
            json!({ "properties": { "a": { "required": true } } }),
            "at `/properties/a/required`: expected an array, got `true`",
        ),
        (
            json!({ "items": { "$ref": "#/$defs/none" } }),
            "at `/items/$ref`: `#/$defs/none` leads nowhere within the schema",
        ),
        (
            json!({ "$ref": "http://example.com/s.json" }),
            "at `/$ref`: it refers to `http://example.com/s.json`, which is outside of it, and nothing is fetched",
        ),
        (json!({ "anyOf": [] }), "at `/anyOf`: expected one schema or more, got `[]`"),
        (json!({ "multipleOf": 0 }), "at `/multipleOf`: expected a number above 0, got `0`"),
        (json!({ "$ref": "#" }), "a `$ref` leads back to itself"),
        (
            json!({ "$defs": { "unused": { "minimum": "x" } } }),
            "at `/$defs/unused/minimum`: expected a number, got `\"x\"`",
        ),
    ] {
        assert_eq!(Checker::new(&schema, Origin::Given).unwrap_err(), expected, "{schema}");
    }
    let known = json!({ "$schema": "http://json-schema.org/draft-07/schema#", "items": [{ "type": "string" }] });
    check(&known, &[(r#"["a",1]"#, ""), ("[1]", "argument `[0]`: expected a string, got the number 1")]);
    let unknown = json!({ "$schema": "https://example.com/unknown" });
    let refused = Checker::new(&unknown, Origin::Given).unwrap_err();
    assert!(refused.starts_with(r#"the dialect "https://example.com/unknown" is not known"#), "{refused}");
    let mut doubling = json!({ "$defs": { "d30": {} }, "allOf": [{ "$ref": "#/$defs/d0" }] });
    for i in 0..30 {
        let next = json!({ "$ref": format!("#/$defs/d{}", i + 1) });
        doubling["$defs"][format!("d{i}")] = json!({ "allOf": [next, next] });
    }
    assert!(Checker::new(&doubling, Origin::Given).unwrap_err().ends_with("which is beyond the budget"));
    let deep = (0..200).fold(json!({}), |inner, _| json!({ "items": inner }));
    assert!(Checker::new(&deep, Origin::Given).unwrap_err().ends_with("nested deeper than 96"));
}

#[test]
fn only_constraints_of_types_are_checked() {
    for schema in [
        json!({ "type": "object", "properties": { "n": { "type": "integer", "format": "uint8", "minimum": 0, "maximum": 255 } } }),
        json!({ "type": "object", "properties": { "s": { "type": "string", "enum": ["a"] } }, "required": ["s"] }),
        json!({ "properties": { "t": { "prefixItems": [{}, {}], "minItems": 2, "maxItems": 2 } } }),
    ] {
        assert!(Checker::of_type(&schema).unwrap().is_none(), "{schema}");
    }
    let schema = json!({
        "type": "object",
        "properties": {
            "n": { "type": "integer", "format": "uint8", "minimum": 1, "maximum": 255 },
            "shape": { "oneOf": [
                { "type": "object", "properties": { "side": { "type": "integer", "maximum": 9 } }, "required": ["side"] },
                { "type": "string" },
            ] },
            "small": { "type": "number", "format": "float" },
        },
        "required": ["n"],
    });
    let checker = Checker::of_type(&schema).unwrap().unwrap();
    for (json, expected) in [
        (r#"{"n":1,"shape":{"side":9},"small":1e30}"#, ""),
        // What the type says itself is left to it.
        (r#"{"n":"x","shape":true}"#, ""),
        ("{}", ""),
        (r#"{"n":0}"#, "argument `n`: expected a number of at least 1, got the number 0"),
        (r#"{"shape":{"side":10}}"#, "argument `shape.side`: expected a number of at most 9, got the number 10"),
        (r#"{"small":1e300}"#, "argument `small`: expected a number from -3.4e38 to 3.4e38, got the number 1e300"),
    ] {
        let said = checker.check(json).err().map(|fault| fault.to_string()).unwrap_or_default();
        assert_eq!(said, expected, "{json}");
    }
}

#[test]
fn work_is_bounded() {
    // Each level of the value doubles the work.
    let circle = json!({ "anyOf": [{ "items": { "$ref": "#" } }, { "items": { "$ref": "#" }, "maxItems": 0 }] });
    let checker = Checker::new(&circle, Origin::Given).unwrap();
    let deep = format!("{}{}", "[".repeat(60), "]".repeat(60));
    let said = checker.check(&deep).err().map(|fault| fault.to_string());
    assert_eq!(said.as_deref(), Some("arguments: the value is too large to be checked against the schema"));
}

#[test]
fn any_text_is_passed() {
    let checker =
        Checker::new(&json!({ "properties": { "a": { "items": { "type": "string" } } } }), Origin::Given).unwrap();
    for text in ["", "{", "{\"a\"", "{\"a\":", "{\"a\":[", "{\"a\":[,", "]]]", "\"\\", "{:::}", "é", "{\"a\":[\"é\\"]
    {
        let _ = checker.check(text);
    }
    assert!(has_fraction(r#"{"a":[1,1.5]}"#) && !has_fraction(r#"{"a.e":"1.5","b":15,"c":true}"#));
}

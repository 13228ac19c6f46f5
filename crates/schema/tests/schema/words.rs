//! What is said about a value that does not fit.

use couplet_schema::Schema;

#[track_caller]
fn check(schema: &str, value: &str, expected: &str) {
    let schema = Schema::new(schema).expect(schema);
    let said = schema.check(value).map_or_else(|m| m.to_string(), |()| "fits".to_owned());
    assert_eq!(said, expected, "{value}");
}

#[test]
fn a_sentence_says_where_and_what() {
    let form = r#"{
        "type": "object",
        "properties": {
            "city": { "type": "string", "minLength": 2, "pattern": "^[A-Z]" },
            "days": { "type": "integer", "minimum": 1, "exclusiveMaximum": 10 },
            "unit": { "enum": ["celsius", "fahrenheit"] },
            "at": { "type": ["string", "null"] },
            "tags": { "type": "array", "maxItems": 2, "uniqueItems": true, "items": { "type": "string" } },
            "a/b": { "const": 5 }
        },
        "required": ["city"],
        "additionalProperties": false
    }"#;
    check(form, r#"{"city":"Oslo","at":null,"tags":["a","b"],"a/b":5}"#, "fits");
    for (value, expected) in [
        ("[]", "expected an object, got an array of 0 items"),
        ("{}", "expected the member `city`, which is missing"),
        (r#"{"city":5}"#, "at `/city`: expected a string, got the number 5"),
        (r#"{"city":"O"}"#, "at `/city`: expected a string of at least 2 characters, got the string \"O\""),
        (r#"{"city":"oslo"}"#, "at `/city`: expected a string that matches `^[A-Z]`, got the string \"oslo\""),
        (r#"{"city":"Oslo","days":0}"#, "at `/days`: expected a number of at least 1, got the number 0"),
        (r#"{"city":"Oslo","days":10}"#, "at `/days`: expected a number below 10, got the number 10"),
        (r#"{"city":"Oslo","days":1.5}"#, "at `/days`: expected an integer, got the number 1.5"),
        (
            r#"{"city":"Oslo","unit":"kelvin"}"#,
            "at `/unit`: expected one of \"celsius\", \"fahrenheit\", got the string \"kelvin\"",
        ),
        (r#"{"city":"Oslo","at":false}"#, "at `/at`: expected null or a string, got the boolean false"),
        (r#"{"city":"Oslo","tags":["a",7]}"#, "at `/tags/1`: expected a string, got the number 7"),
        (
            r#"{"city":"Oslo","tags":["a","a"]}"#,
            "at `/tags`: expected an array without repetitions, got an array of 2 items",
        ),
        (r#"{"city":"Oslo","a/b":6}"#, "at `/a~1b`: expected the number 5, got the number 6"),
        (r#"{"city":"Oslo","town":1}"#, "expected no other members than those of the schema, got `town`"),
    ] {
        check(form, value, expected);
    }
}

#[test]
fn an_alternative_is_named_by_its_kind_or_by_what_is_wrong_in_it() {
    let either = r#"{"anyOf":[{"type":"string"},{"type":"number"}]}"#;
    let documented = r#"{"oneOf":[{"enum":["normal"]},{"const":"low"},{"const":"very-high"}]}"#;
    check(documented, "\"x\"", "expected one of \"normal\", \"low\", \"very-high\", got the string \"x\"");
    check(r#"{"minLength":1}"#, "\"\"", "expected a string of at least 1 character, got the string \"\"");
    check(either, "true", "expected a string or a number, got the boolean true");
    let shapes = r#"{"oneOf":[
        {"type":"object","properties":{"kind":{"const":"circle"},"radius":{"type":"number"}},"required":["kind","radius"]},
        {"type":"object","properties":{"kind":{"const":"square"},"side":{"type":"number"}},"required":["kind","side"]}
    ]}"#;
    check(shapes, r#"{"kind":"circle","radius":1}"#, "fits");
    check(
        shapes,
        r#"{"kind":"circle","radius":"wide"}"#,
        "expected one of 2 alternatives; the nearest fails: at `/radius`: expected a number, got the string \"wide\"",
    );
}

#[test]
fn long_values_are_cut() {
    let long = format!("{:?}", "x".repeat(1_000_000));
    let said = Schema::new(r#"{"type":"number"}"#).expect("a schema").check(&long).expect_err("a string");
    assert_eq!(said.to_string(), format!("expected a number, got the string \"{}…\"", "x".repeat(40)));
}

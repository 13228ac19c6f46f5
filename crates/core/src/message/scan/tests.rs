//! What is JSON and what is not.

use crate::message::scan::*;

fn check(text: &str, fault: Option<&str>) {
    let found = JsonText::new(text.to_owned()).err().map(|f| f.to_string());
    match (fault, &found) {
        (None, None) => {}
        (Some(want), Some(got)) if got.contains(want) => {}
        _ => panic!("{text}: wanted {fault:?}, found {found:?}"),
    }
    // What we accept, serde_json accepts; the other way round we are stricter.
    if found.is_none() {
        serde_json::from_str::<serde_json::Value>(text).unwrap();
    }
}

#[test]
fn one_strict_scanner() {
    for good in ["{}", " [ 1 , -0.5e+3 ] ", r#""\ud83d\ude00 \u00e9""#, "true", "null", "0", r#"{"a":{"b":[[]]}}"#] {
        check(good, None);
    }
    for (bad, why) in [
        ("", "ends where a value"),
        ("{", "expected a key"),
        (r#"{"a" 1}"#, "expected `:`"),
        (r#"{"a":1,}"#, "expected a key"),
        ("[1 2]", "expected `,` or `]`"),
        ("01", "more text"),
        ("1.", "expected a digit"),
        ("1e", "expected a digit"),
        ("-", "expected a digit"),
        ("tru", "expected a value"),
        ("NaN", "expected a value"),
        ("'a'", "expected a value"),
        ("\"a\nb\"", "control character"),
        (r#""\x""#, "unknown escape"),
        (r#""\u12g4""#, "four hexadecimal"),
        (r#""\ud800""#, "surrogate"),
        (r#""\ud800\u0041""#, "surrogate"),
        (r#""\udc00""#, "surrogate"),
        ("\"abc", "ends inside a string"),
        ("{} {}", "more text"),
    ] {
        check(bad, Some(why));
    }
}

#[test]
fn depth_is_bounded_also_in_values_that_are_not_parsed() {
    check(&format!("{}{}", "[".repeat(64), "]".repeat(64)), None);
    check(&format!("{}{}", "[".repeat(65), "]".repeat(65)), Some("deeper than 64"));
    check(&"[".repeat(1_000_000), Some("deeper than 64"));
}

#[test]
fn nodes_are_bounded() {
    let mut scanner = Scanner::new("[1,2,3,4]", Bounds::new(64, 4));
    assert!(scanner.value(0).unwrap_err().to_string().contains("too many values"));
}

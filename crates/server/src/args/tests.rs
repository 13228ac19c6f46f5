//! What is said about arguments of every wrong shape.

use std::collections::HashMap;

use serde_json::Value;

use super::*;

#[derive(Debug, Deserialize)]
#[allow(dead_code)]
struct Add {
    a: f64,
    b: Option<u8>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
struct Order<'a> {
    city: &'a str,
    #[serde(default)]
    items: Vec<Item>,
    #[serde(default)]
    unit: Option<Unit>,
    #[serde(default)]
    shape: Option<Shape>,
    #[serde(default)]
    tagged: Option<Tagged>,
    #[serde(default)]
    by_number: HashMap<u32, bool>,
    #[serde(default)]
    pair: Option<(i64, Name)>,
    #[serde(default)]
    any: Value,
    #[serde(borrow)]
    raw: Option<&'a RawValue>,
    big: Option<u128>,
    ip: Option<std::net::IpAddr>,
}

#[derive(Debug, Deserialize)]
#[allow(dead_code)]
struct Item {
    name: Name,
    count: i32,
}

#[derive(Debug, Deserialize)]
#[allow(dead_code)]
struct Name(String);

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Celsius,
    Kelvin,
}

#[derive(Debug, Deserialize)]
#[allow(dead_code)]
enum Shape {
    Point,
    Circle(f64),
    Rect { w: u8, h: u8 },
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind")]
#[allow(dead_code)]
enum Tagged {
    Circle { r: f64 },
}

fn check<'a, T: Deserialize<'a> + fmt::Debug>(cases: &[(&'a str, &str)]) {
    for (json, expected) in cases {
        assert_eq!(parse::<T>(json).expect_err(json), *expected, "{json}");
    }
}

#[test]
fn the_message_names_the_argument_and_the_trouble() {
    check::<Add>(&[
        (r#"{"a":"x"}"#, r#"argument `a`: expected a number, got the string "x""#),
        (r#"{"a":null}"#, "argument `a`: expected a number, got null"),
        (r#"{"a":[1]}"#, "argument `a`: expected a number, got an array"),
        (r#"{"a":{}}"#, "argument `a`: expected a number, got an object"),
        (r#"{"a":true}"#, "argument `a`: expected a number, got the boolean true"),
        ("{}", "argument `a` is missing (required)"),
        (r#"{"a":1,"a":2}"#, "argument `a` is given twice"),
        (r#"{"a":1,"b":300}"#, "argument `b`: expected an integer from 0 to 255, got the number 300"),
        (r#"{"a":1,"b":-1}"#, "argument `b`: expected an integer from 0 to 255, got the number -1"),
        (r#"{"a":1,"b":1.5}"#, "argument `b`: expected an integer, got the number 1.5"),
        (r#"{"a":1,"b":300.0}"#, "argument `b`: expected an integer from 0 to 255, got the number 300"),
        ("[]", "arguments: expected an object, got an array"),
        ("null", "arguments: expected an object, got null"),
        (r#" "x" "#, r#"arguments: expected an object, got the string "x""#),
        (r#"{"a":"#, "arguments are not JSON: EOF while parsing a value at line 1 column 5"),
    ]);
}

#[test]
fn paths_lead_into_lists_maps_and_enums() {
    check::<Order<'_>>(&[
        (r#"{"city":7}"#, "argument `city`: expected a string, got the number 7"),
        (r#"{"city":"a\tb"}"#, r#"argument `city`: expected a string without escapes, got the string "a\tb""#),
        (r#"{"city":"a","items":{}}"#, "argument `items`: expected an array, got an object"),
        (
            r#"{"city":"a","items":[{"name":"n","count":1},{"name":"n","count":1},{"name":5}]}"#,
            "argument `items[2].name`: expected a string, got the number 5",
        ),
        (r#"{"city":"a","items":[{"name":"n"}]}"#, "argument `items[0].count` is missing (required)"),
        (r#"{"city":"a","items":[7]}"#, "argument `items[0]`: expected an object, got the number 7"),
        (r#"{"city":"a","by_number":{"5":1}}"#, "argument `by_number.5`: expected a boolean, got the number 1"),
        (r#"{"city":"a","by_number":{"x":true}}"#, r#"argument `by_number`: expected an integer, got the string "x""#),
        (r#"{"city":"a","pair":[1]}"#, "argument `pair`: expected a tuple of size 2, got 1 items"),
        (r#"{"city":"a","pair":[1,"n",3]}"#, "argument `pair`: expected 2 items, got 3"),
        (r#"{"city":"a","pair":[1,2]}"#, "argument `pair[1]`: expected a string, got the number 2"),
        (r#"{"city":"a","unit":"k"}"#, r#"argument `unit`: expected one of `celsius`, `kelvin`, got the string "k""#),
        (r#"{"city":"a","unit":1}"#, "argument `unit`: expected one of `celsius`, `kelvin`, got the number 1"),
        (
            r#"{"city":"a","unit":{}}"#,
            "argument `unit`: expected an object with one member, one of `celsius`, `kelvin`",
        ),
        (r#"{"city":"a","unit":{"kelvin":1}}"#, "argument `unit.kelvin`: expected null, got the number 1"),
        (r#"{"city":"a","shape":{"Circle":"x"}}"#, r#"argument `shape.Circle`: expected a number, got the string "x""#),
        (
            r#"{"city":"a","shape":"Circle"}"#,
            "argument `shape`: `Circle` needs a value: an object with the one member `Circle`",
        ),
        (r#"{"city":"a","shape":{"Rect":{"w":1}}}"#, "argument `shape.Rect.h` is missing (required)"),
        (
            r#"{"city":"a","shape":{"Rect":{"w":1,"h":"x"}}}"#,
            r#"argument `shape.Rect.h`: expected an integer, got the string "x""#,
        ),
        (r#"{"city":"a","tagged":{"kind":"Circle"}}"#, "argument `tagged.r` is missing (required)"),
        (
            r#"{"city":"a","tagged":{"kind":"Disc"}}"#,
            r#"argument `tagged.kind`: expected `Circle`, got the string "Disc""#,
        ),
        (r#"{"city":"a","ip":"x"}"#, "argument `ip`: invalid IP address syntax"),
        // What comes before the trouble is read without any.
        (
            r#"{"city":"a","raw":{"x":[1]},"any":{"y":[1e3,-2,"\n"]},"big":340282366920938463463374607431768211455,"unit":0}"#,
            "argument `unit`: expected one of `celsius`, `kelvin`, got the number 0",
        ),
    ]);
}

#[test]
fn unknown_arguments_get_a_hint() {
    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}
    check::<Order<'_>>(&[
        (r#"{"ctiy":"a"}"#, "argument `ctiy` is unknown; did you mean `city`?"),
        (r#"{"City":"a"}"#, "argument `City` is unknown; did you mean `city`?"),
        (
            r#"{"zzzzzz":"a"}"#,
            "argument `zzzzzz` is unknown; known are `city`, `items`, `unit`, `shape`, `tagged`, `by_number`, `pair`, \
             `any`, `raw`, `big`, `ip`",
        ),
    ]);
    check::<Nothing>(&[(r#"{"a":1}"#, "argument `a` is unknown; no arguments are known here")]);
}

#[test]
fn long_values_are_not_quoted_whole() {
    let long = "é".repeat(1000);
    let shown = "é".repeat(40);
    let json = format!(r#"{{"a":"{long}"}}"#);
    assert_eq!(
        parse::<Add>(&json).unwrap_err(),
        format!("argument `a`: expected a number, got the string \"{shown}…\"")
    );
    let json = format!(r#"{{"city":"a","{long}":1}}"#);
    assert!(parse::<Order<'_>>(&json).unwrap_err().starts_with(&format!("argument `{shown}…` is unknown")));
    let json = format!(r#"{{"{long}":1}}"#);
    assert_eq!(
        parse::<HashMap<String, bool>>(&json).unwrap_err(),
        format!("argument `{shown}…`: expected a boolean, got the number 1")
    );
}

#[test]
fn deep_nesting_is_refused() {
    #[derive(Debug, Deserialize)]
    #[allow(dead_code)]
    enum Deep {
        Of(Box<Deep>),
    }
    fn deep(open: &str, middle: &str, close: &str) -> String {
        format!("{}{middle}{}", open.repeat(10_000), close.repeat(10_000))
    }
    for json in [deep("[", "", "]"), deep(r#"{"a":"#, "1", "}")] {
        assert!(parse::<Value>(&json).unwrap_err().ends_with("`: recursion limit exceeded"));
    }
    let error = parse::<Deep>(&deep(r#"{"Of":"#, "1", "}")).unwrap_err();
    assert!(error.starts_with("argument `Of.Of.") && error.ends_with("`: recursion limit exceeded"), "{error}");
    let json = format!("{}1{}", r#"{"Of":"#.repeat(20), "}".repeat(20));
    assert!(parse::<Deep>(&json).unwrap_err().starts_with("argument `Of.Of."));
}

#[test]
fn misspelt_optional_arguments_are_named() {
    check::<Add>(&[
        (r#"{"A":1}"#, "argument `a` is missing (required); `A` is unknown: did you mean `a`?"),
        (
            r#"{"a":"x","c":1}"#,
            "argument `a`: expected a number, got the string \"x\"; `c` is unknown: did you mean `b`?",
        ),
        (r#"{"a":"x","far":1}"#, r#"argument `a`: expected a number, got the string "x""#),
    ]);
}

#[test]
fn integers_may_have_a_fraction_of_nothing() {
    #[derive(Debug, Deserialize, PartialEq)]
    struct Counts {
        n: i64,
        many: Vec<u8>,
        #[serde(flatten)]
        rest: Rest,
    }
    #[derive(Debug, Deserialize, PartialEq)]
    struct Rest {
        deep: u32,
        part: f64,
    }
    let read = parse::<Counts>(r#"{"n":-1000.0,"many":[1.0,2e1,3],"deep":1e3,"part":2.0}"#);
    let want = Counts { n: -1000, many: vec![1, 20, 3], rest: Rest { deep: 1000, part: 2.0 } };
    assert_eq!(read, Ok(want));
}

#[test]
fn good_arguments_are_read() {
    assert_eq!(parse::<Add>(r#"{"a":1,"b":2,"c":3}"#).unwrap().b, Some(2));
    assert_eq!(parse::<Order<'_>>(r#"{"city":"Oslo","raw":[1]}"#).unwrap().raw.unwrap().get(), "[1]");
    assert!(parse::<Order<'_>>(r#"{"city":"a","by_number":{"5":true},"shape":"Point","ip":"::1"}"#).is_ok());
}

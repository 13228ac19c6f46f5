//! Schemas of many types, as every host accepts them.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::*;

fn check<T: JsonSchema>(expected: Value) {
    assert_eq!(of::<T>(SchemaDialect::Portable), Ok(expected), "{}", short_name::<T>());
}

fn property<T: JsonSchema>(expected: &Value) {
    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Holder<T> {
        it: T,
    }
    let schema = of::<Holder<T>>(SchemaDialect::Portable).unwrap();
    assert_eq!(schema["properties"]["it"], *expected, "{}", short_name::<T>());
}

#[derive(JsonSchema, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
enum Bare {
    A,
    B,
}

/// The scale.
#[derive(JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Unit {
    /// Water freezes at 0.
    Celsius,
    Kelvin,
}

#[derive(JsonSchema, Serialize, Deserialize)]
struct Node {
    name: String,
    kids: Vec<Node>,
    next: Option<Box<Node>>,
}

#[derive(JsonSchema, Serialize, Deserialize)]
struct Square {
    side: u8,
}

/// A shape.
#[derive(JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Shape {
    /// Round.
    Circle {
        r: f64,
    },
    Square(Square),
}

#[test]
fn types_of_properties() {
    property::<String>(&json!({ "type": "string" }));
    property::<Option<String>>(&json!({ "type": "string" }));
    property::<u32>(&json!({ "type": "integer", "minimum": 0 }));
    property::<Option<i64>>(&json!({ "type": "integer" }));
    property::<u8>(&json!({ "type": "integer", "minimum": 0, "maximum": 255 }));
    property::<f32>(&json!({ "type": "number" }));
    property::<Value>(&json!({}));
    property::<Option<Value>>(&json!({}));
    property::<Vec<Option<f64>>>(&json!({ "type": "array", "items": { "type": "number" } }));
    property::<Vec<Value>>(&json!({ "type": "array", "items": {} }));
    property::<(f64, f64)>(&json!({ "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2 }));
    property::<(bool, String)>(&json!({
        "type": "array", "items": { "anyOf": [{ "type": "boolean" }, { "type": "string" }] },
        "minItems": 2, "maxItems": 2,
    }));
    property::<HashMap<String, u16>>(&json!({
        "type": "object", "additionalProperties": { "type": "integer", "minimum": 0, "maximum": 65535 },
    }));
    property::<Bare>(&json!({ "type": "string", "enum": ["A", "B"] }));
    property::<Option<Bare>>(&json!({ "type": "string", "enum": ["A", "B"] }));
    property::<BTreeSet<Bare>>(
        &json!({ "type": "array", "items": { "type": "string", "enum": ["A", "B"] }, "uniqueItems": true }),
    );
    let unit = json!({
        "type": "string", "enum": ["kelvin", "celsius"],
        "description": "The scale.\n- `celsius`: Water freezes at 0.",
    });
    property::<Unit>(&unit);
    property::<Option<Unit>>(&unit);
    property::<std::net::Ipv4Addr>(&json!({ "type": "string", "format": "ipv4" }));
    property::<std::net::IpAddr>(&json!({ "type": "string" }));
    property::<Shape>(&json!({
        "description": "A shape.",
        "oneOf": [
            {
                "type": "object", "description": "Round.", "required": ["kind", "r"],
                "properties": { "kind": { "type": "string", "enum": ["Circle"] }, "r": { "type": "number" } },
            },
            {
                "type": "object", "required": ["kind", "side"],
                "properties": {
                    "kind": { "type": "string", "enum": ["Square"] },
                    "side": { "type": "integer", "minimum": 0, "maximum": 255 },
                },
            },
        ],
    }));
}

#[test]
fn roots() {
    check::<Square>(json!({
        "type": "object", "required": ["side"],
        "properties": { "side": { "type": "integer", "minimum": 0, "maximum": 255 } },
    }));
    check::<Value>(json!({ "type": "object", "properties": {} }));
    check::<HashMap<String, String>>(json!({
        "type": "object", "properties": {}, "additionalProperties": { "type": "string" },
    }));
    check::<Shape>(json!({
        "type": "object", "required": ["kind"],
        "description": "A shape.\nGive one of these sets:\n\
            - `kind` \"Circle\", `r`: Round.\n- `kind` \"Square\", `side`",
        "properties": {
            "kind": { "type": "string", "enum": ["Circle", "Square"] },
            "r": { "type": "number" },
            "side": { "type": "integer", "minimum": 0, "maximum": 255 },
        },
    }));
    let again = json!({ "type": "object", "description": "a `Node`, of the same shape" });
    let node = json!({
        "type": "object", "required": ["name", "kids"],
        "properties": { "name": { "type": "string" }, "kids": { "type": "array", "items": again }, "next": again },
    });
    check::<Node>(node.clone());
    property::<Node>(&node);
}

#[test]
fn attributes_and_documentation() {
    /// All of it.
    #[derive(JsonSchema, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Args {
        /// Nearer.
        unit: Unit,
        /// Who.
        #[schemars(length(min = 1, max = 5))]
        who: Option<String>,
        #[serde(default)]
        pages: Option<u32>,
        #[serde(default = "ten")]
        limit: u32,
        #[serde(flatten)]
        square: Square,
    }
    fn ten() -> u32 {
        10
    }
    check::<Args>(json!({
        "type": "object", "description": "All of it.", "additionalProperties": false,
        "required": ["unit", "side"],
        "properties": {
            "unit": {
                "type": "string", "enum": ["kelvin", "celsius"],
                "description": "Nearer.\n- `celsius`: Water freezes at 0.",
            },
            "who": { "type": "string", "description": "Who.", "minLength": 1, "maxLength": 5 },
            "pages": { "type": "integer", "minimum": 0 },
            "limit": { "type": "integer", "minimum": 0, "default": 10 },
            "side": { "type": "integer", "minimum": 0, "maximum": 255 },
        },
    }));
}

#[test]
fn arguments_that_are_not_objects_are_refused() {
    fn refused<T: JsonSchema>(name: &str, kind: &str) {
        for dialect in [SchemaDialect::Portable, SchemaDialect::Plain] {
            let expected = format!("tool arguments must be an object (a struct or a map); `{name}` gives {kind}");
            assert_eq!(of::<T>(dialect), Err(expected));
        }
    }
    #[derive(JsonSchema)]
    #[serde(untagged)]
    #[allow(dead_code)]
    enum Either {
        One(String),
        Many(Square),
    }
    refused::<Vec<String>>("Vec<String>", "`array`");
    refused::<()>("()", "`null`");
    refused::<Option<u8>>("Option<u8>", "`integer`");
    refused::<Unit>("Unit", "`string`");
    refused::<Either>("Either", "`string` or `object`");
}

#[test]
fn output_keeps_null_and_any_root() {
    #[derive(JsonSchema, Serialize)]
    struct Out {
        unit: Option<Unit>,
        n: Option<u8>,
    }
    let unit = json!({
        "type": "string", "enum": ["kelvin", "celsius"],
        "description": "The scale.\n- `celsius`: Water freezes at 0.",
    });
    assert_eq!(
        of_output::<Out>(SchemaDialect::Portable),
        json!({
            "type": "object", "required": ["unit", "n"],
            "properties": {
                "unit": { "anyOf": [unit, { "type": "null" }] },
                "n": { "type": ["integer", "null"], "minimum": 0, "maximum": 255 },
            },
        })
    );
    assert_eq!(
        of_output::<Vec<bool>>(SchemaDialect::Portable),
        json!({ "type": "array", "items": { "type": "boolean" } })
    );
    assert!(of_output::<Out>(SchemaDialect::Plain)["$schema"].is_string());
    assert!(of::<Node>(SchemaDialect::Plain).unwrap()["properties"]["kids"]["items"]["$ref"].is_string());
}

#[test]
fn forms() {
    #[derive(JsonSchema, Deserialize)]
    #[allow(dead_code)]
    struct Form {
        /// Your name.
        #[schemars(title = "Name", length(max = 9), regex(pattern = "^a"))]
        name: String,
        #[schemars(email)]
        mail: Option<String>,
        #[schemars(range(min = 1, max = 5))]
        stars: u8,
        #[serde(default)]
        agree: bool,
        bare: Bare,
        unit: Option<Unit>,
        bares: Vec<Bare>,
        #[schemars(length(min = 1))]
        units: Vec<Unit>,
    }
    let titled = json!([
        { "const": "kelvin", "title": "kelvin" },
        { "const": "celsius", "title": "Water freezes at 0." },
    ]);
    assert_eq!(
        elicit_form::<Form>(),
        Ok(json!({
            "type": "object", "required": ["name", "stars", "bare", "bares", "units"],
            "properties": {
                "name": { "type": "string", "title": "Name", "description": "Your name.", "maxLength": 9 },
                "mail": { "type": "string", "format": "email" },
                "stars": { "type": "integer", "minimum": 1, "maximum": 5 },
                "agree": { "type": "boolean", "default": false },
                "bare": { "type": "string", "enum": ["A", "B"] },
                "unit": { "type": "string", "description": "The scale.", "oneOf": titled },
                "bares": { "type": "array", "items": { "type": "string", "enum": ["A", "B"] } },
                "units": { "type": "array", "items": { "anyOf": titled }, "minItems": 1 },
            },
        }))
    );
}

#[test]
fn forms_that_elicitation_does_not_permit() {
    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Form<T> {
        it: T,
    }
    fn refused<T: JsonSchema>(name: &str, kind: &str) {
        let error = elicit_form::<Form<T>>().unwrap_err();
        let start = format!("elicitation form `Form<{name}>`: field `it` is of type {kind}; a form holds");
        assert!(error.starts_with(&start), "{error}");
    }
    refused::<Square>("Square", "`object`");
    refused::<Vec<String>>("Vec<String>", "`array`");
    refused::<Shape>("Shape", "`object`");
    refused::<()>("()", "`null`");
    assert!(elicit_form::<Shape>().is_err());
    assert!(elicit_form::<Vec<Bare>>().is_err());
}

#[test]
fn types_that_contain_each_other_stay_small() {
    macro_rules! knot {
        ($($name:ident)*) => {$(
            #[derive(JsonSchema)]
            #[allow(dead_code)]
            struct $name { a: Vec<A>, b: Vec<B>, c: Vec<C>, d: Vec<D>, e: Vec<E>, f: Vec<F>, g: Vec<G>, h: Vec<H> }
        )*};
    }
    knot!(A B C D E F G H);
    assert!(of::<A>(SchemaDialect::Portable).unwrap().to_string().len() < 300_000);
}

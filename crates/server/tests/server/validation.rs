//! Constraints of schemas are kept to, by default and without the complete validator.

use couplet_server::{
    Json, Server, Validation,
    extract::{Args, RawArgs},
    prompt,
    schemars::{self, JsonSchema},
    tool,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::Client;

#[derive(Deserialize, JsonSchema)]
struct Stay {
    #[schemars(range(min = 1, max = 5))]
    nights: i32,
    #[serde(default)]
    #[schemars(inner(length(min = 1, max = 3)))]
    labels: Vec<String>,
    #[serde(default)]
    _or: Option<Either>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)]
enum Either {
    Number(i64),
    Name(String),
}

fn stay() -> Server {
    Server::new("hotel", "1")
        .tool(tool("stay", |Args(stay): Args<Stay>| (stay.nights, stay.labels.len()).0.to_string()))
}

fn raw(schema: Value) -> Server {
    Server::new("raw", "1").tool(tool("raw", |RawArgs(args): RawArgs| args.as_str().to_owned()).input_schema(schema))
}

#[tokio::test]
async fn constraints_of_types_are_checked() {
    let mut client = Client::new(stay()).await;
    for (arguments, want) in [
        (json!({ "nights": 3 }), "3"),
        (json!({ "nights": 3.0 }), "3"),
        (json!({ "nights": 99 }), "error: argument `nights`: expected a number of at most 5, got the number 99"),
        (json!({ "nights": 1.5 }), "error: argument `nights`: expected an integer, got the number 1.5"),
        (json!({}), "error: argument `nights` is missing (required)"),
        (
            json!({ "nights": 1, "labels": ["abc", "abcd"] }),
            "error: argument `labels[1]`: expected a string of at most 3 characters, got the string \"abcd\"",
        ),
        (
            json!({ "nights": 1, "labels": [""] }),
            "error: argument `labels[0]`: expected a string of at least 1 character, got the string \"\"",
        ),
        (json!({ "nights": 1, "labels": [7] }), "error: argument `labels[0]`: expected a string, got the number 7"),
        (
            json!({ "nights": 1, "_or": true }),
            "error: argument `_or`: expected an integer, a string or null, got the boolean true",
        ),
    ] {
        assert_eq!(client.call("stay", arguments.clone()).await, want, "{arguments}");
    }
}

#[tokio::test]
async fn raw_schemas_are_checked() {
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["id"],
        "properties": { "id": { "type": "integer" }, "kind": { "enum": ["a", "b"] } },
    });
    let mut client = Client::new(raw(schema)).await;
    for (arguments, want) in [
        (json!({ "id": 1 }), r#"{"id":1}"#),
        (json!({ "id": "x" }), r#"error: argument `id`: expected an integer, got the string "x""#),
        (json!({}), "error: argument `id` is missing (required)"),
        (json!({ "id": 1, "kin": 1 }), "error: argument `kin` is unknown; did you mean `kind`?"),
        (json!({ "id": 1, "kind": "c" }), r#"error: argument `kind`: expected one of `a`, `b`, got the string "c""#),
    ] {
        assert_eq!(client.call("raw", arguments.clone()).await, want, "{arguments}");
    }
}

#[tokio::test]
async fn validation_can_be_switched_off_for_all_tools() {
    let mut client = Client::new(stay().validation(Validation::Off)).await;
    assert_eq!(client.call("stay", json!({ "nights": 99 })).await, "99");
}

#[tokio::test]
async fn unknown_arguments_can_be_refused() {
    let known = json!({ "nights": 3, "labls": ["a"] });
    assert_eq!(Client::new(stay()).await.call("stay", known.clone()).await, "3");
    let mut client = Client::new(stay().deny_unknown_arguments()).await;
    let want = "error: argument `labls` is unknown; did you mean `labels`?";
    assert_eq!(client.call("stay", known).await, want);
    let listed = client.ask("tools/list", json!({})).await;
    assert_eq!(listed["tools"][0]["inputSchema"]["additionalProperties"], false);
}

#[tokio::test]
async fn arguments_are_listed_as_they_are_declared() {
    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    #[allow(dead_code)]
    enum Level {
        Normal,
        /// Slow.
        Low,
        VeryHigh,
        /// Fast.
        Top,
    }
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Search {
        text: String,
        unit: Option<String>,
        level: Option<Level>,
        after: Option<u8>,
    }
    let search = tool("search", |Args(_): Args<Search>| "");
    let find = prompt("find", |Args(_): Args<Search>| "");
    let server = Server::new("s", "1").tool(search).prompt(find).build();
    let schema = server.tools().remove(0).input_schema.get().to_owned();
    let place = |name: &str| schema.find(&format!("\"{name}\":{{")).unwrap();
    assert!(
        place("text") < place("unit") && place("unit") < place("level") && place("level") < place("after"),
        "{schema}"
    );
    assert!(schema.contains(r#"["normal","low","very-high","top"]"#), "{schema}");
    let arguments: Vec<_> = server.prompts().remove(0).arguments.unwrap().into_iter().map(|a| a.name).collect();
    assert_eq!(arguments, ["text", "unit", "level", "after"]);
}

#[test]
#[should_panic = "tool `raw`: the input schema is broken: at `/properties`: expected an object of schemas, got `5`"]
fn a_broken_schema_is_refused() {
    let _ = raw(json!({ "type": "object", "properties": 5 }));
}

#[test]
#[should_panic = "tool `raw`: the input schema is broken: at `/properties/a/$ref`: `#/$defs/A` leads nowhere"]
fn a_broken_reference_is_refused() {
    let _ = raw(json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/A" } } }));
}

#[tokio::test]
async fn results_keep_to_their_schema() {
    #[derive(Serialize, JsonSchema)]
    struct Mean {
        mean: f64,
        note: Option<String>,
    }
    let mean = |mean| move || Json(Mean { mean, note: None });
    let given = json!({ "type": "object", "properties": { "mean": { "type": "number", "maximum": 5 } } });
    let server = Server::new("s", "1")
        .tool(tool("good", mean(1.5)))
        .tool(tool("nan", mean(f64::NAN)))
        .tool(tool("given", mean(9.0)).output_schema(given));
    let mut client = Client::new(server).await;
    assert_eq!(client.call("good", json!({})).await, r#"{"mean":1.5,"note":null}"#);
    let start =
        "-32603: the result of the tool: the structured content does not fit the output schema: `mean`: expected";
    let nan = client.call("nan", json!({})).await;
    assert!(nan.starts_with(&format!("{start} a number, got null (JSON has no numbers")), "{nan}");
    let given = client.call("given", json!({})).await;
    assert_eq!(given, format!("{start} a number of at most 5, got the number 9.0"));
}

#[tokio::test]
async fn plain_schemas_apply_to_tools_before_and_after() {
    let other = || tool("other", |Args(stay): Args<Stay>| stay.nights);
    let mut client = Client::new(stay().plain_schemas().tool(other())).await;
    let listed = client.ask("tools/list", json!({})).await;
    for tool in listed["tools"].as_array().unwrap() {
        assert!(tool["inputSchema"]["$schema"].is_string(), "{tool}");
    }
}

#[tokio::test]
async fn arguments_of_prompts_may_be_lists() {
    #[derive(Deserialize, JsonSchema)]
    struct Review {
        files: Vec<String>,
    }
    let server = Server::new("s", "1").prompt(prompt("review", |Args(review): Args<Review>| review.files.join("+")));
    let mut client = Client::new(server).await;
    for (files, want) in [
        (json!(r#"["a", "b"]"#), json!("a+b")),
        (json!("a"), json!(r#"argument `files`: expected JSON, such as `["a", "b"]`, got the string "a""#)),
        (json!(["a"]), json!("argument `files`: expected a string, got an array")),
    ] {
        let got = client.ask("prompts/get", json!({ "name": "review", "arguments": { "files": files } })).await;
        let text = &got["messages"][0]["content"]["text"];
        assert_eq!(if text.is_null() { &got["message"] } else { text }, &want, "{files}");
    }
}

#[cfg(feature = "validate")]
#[tokio::test]
async fn the_complete_validator_is_used_when_it_is_asked_for() {
    let schema = json!({
        "type": "object", "properties": { "id": { "type": "string", "pattern": "^[a-z]+$" }, "n": { "maximum": 5 } },
    });
    let mut basic = Client::new(raw(schema.clone())).await;
    assert_eq!(basic.call("raw", json!({ "id": "5" })).await, r#"{"id":"5"}"#);
    let mut full = Client::new(raw(schema).validation(Validation::Full)).await;
    for (arguments, want) in [
        (json!({ "id": "abc" }), r#"{"id":"abc"}"#),
        (
            json!({ "id": "5" }),
            r#"error: argument `id`: expected a string that matches `^[a-z]+$`, got the string "5""#,
        ),
        (json!({ "n": 6 }), "error: argument `n`: expected a number of at most 5, got the number 6"),
    ] {
        assert_eq!(full.call("raw", arguments.clone()).await, want, "{arguments}");
    }
}

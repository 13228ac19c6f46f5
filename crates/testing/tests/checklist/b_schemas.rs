//! Lines 43 to 48: JSON Schema, in what is sent and in what is taken.

use std::net::TcpListener;

use couplet_core::{Error, ErrorKind};
use couplet_server::{
    Json, Server, ServerHandle,
    extract::{Args, RawArgs},
    tool,
};
use couplet_testing::types::{CallToolResult, ProtocolVersion, code};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::kit::{
    RawServer, STATELESS, able, call, client, converse, everything, example, open, result, revisions, said, text, yes,
};

#[derive(Deserialize, Serialize, JsonSchema)]
struct Shape {
    /// Which one.
    kind: Kind,
    size: Option<f64>,
    parts: Vec<Part>,
    tags: std::collections::BTreeMap<String, i64>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Round,
    Square { side: u32 },
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Part {
    name: String,
    inner: Option<Box<Part>>,
}

/// Every schema that a server with all kinds of types lists.
async fn schemas(version: ProtocolVersion) -> Vec<Value> {
    let mut all = Vec::new();
    for server in [Server::new("portable", "1"), Server::new("plain", "1").plain_schemas()] {
        let server = server
            .tool(tool("shape", |Args(shape): Args<Shape>| Json(shape)))
            .tool(tool("none", || "nothing"))
            .tool(tool("list", || Json(vec![1, 2, 3])));
        let mut wire = open(server.build(), version, json!({})).await;
        let listed = wire.request("tools/list", json!({})).await;
        for tool in listed["result"]["tools"].as_array().unwrap() {
            all.push(tool["inputSchema"].clone());
            all.extend(tool.get("outputSchema").cloned());
        }
    }
    let mut wire = open(example().build(), version, able()).await;
    let (questions, _) = converse(&mut wire, version, ("tools/call", json!({ "name": "sure" })), |_| yes()).await;
    all.push(questions[0]["params"]["requestedSchema"].clone());
    assert!(all.len() > 8, "{all:#?}");
    all
}

/// Line 43: a schema without a dialect is one of JSON Schema 2020-12, in what is sent and in what is taken.
#[tokio::test]
async fn line_043_the_default_dialect() {
    let dialect = "https://json-schema.org/draft/2020-12/schema";
    for version in revisions("2025-11-25"..) {
        for schema in schemas(*version).await {
            assert!(schema.get("$schema").is_none_or(|s| s == dialect), "{version}: {schema}");
            assert!(jsonschema::draft202012::new(&schema).is_ok(), "{version}: {schema}");
        }
        let newer = json!({ "type": "object", "properties": { "a": { "prefixItems": [{ "type": "string" }] } },
                            "unevaluatedProperties": false, "$defs": { "b": {} } });
        called_by_client(*version, &newer, json!({ "a": ["x"] })).await.unwrap();
        let refused = called_by_client(*version, &newer, json!({ "a": [1] })).await.unwrap_err();
        assert!(refused.to_string().ends_with("at `/a/0`: expected a string, got the number 1"), "{refused}");
    }
}

/// Lists a tool with a schema, which has to arrive as it is, and calls it.
async fn called_by_client(version: ProtocolVersion, schema: &Value, data: Value) -> Result<(), Error> {
    let listed = json!([{ "name": "odd", "inputSchema": schema, "outputSchema": schema }]);
    let raw = RawServer::speaking(version, everything(), move |m| match m["method"].as_str() {
        Some("tools/list") => vec![result(m, json!({ "resultType": "complete", "tools": listed }))],
        Some("tools/call") => {
            vec![result(m, json!({ "resultType": "complete", "content": [], "structuredContent": data }))]
        }
        _ => vec![],
    });
    let client = client(version).connect(raw).await.unwrap();
    let tools = client.tools().await.unwrap();
    assert_eq!(tools[0].input_schema.parse::<Value>().unwrap(), *schema);
    assert_eq!(tools[0].output_schema.as_ref().unwrap(), &tools[0].input_schema);
    client.call("odd", json!({ "a": 1 })).await.map(drop)
}

/// A server with a tool that has a schema on both sides, or why there can be none.
fn serving(schema: &Value) -> Result<ServerHandle, Error> {
    let run = |RawArgs(args): RawArgs| CallToolResult::text("called").structured_content(args.to_raw());
    let odd = tool("odd", run).input_schema(schema.clone()).output_schema(schema.clone());
    let server = Server::new("s", "1").advertise_empty_lists().build();
    server.add_tool(odd).map(|()| server)
}

/// Line 44: a schema is read in the dialect that it names. One that is not known is named in a clear error: where the
/// tool is registered, and where its result would have to be checked. Listing it breaks nothing.
#[tokio::test]
async fn line_044_dialects() {
    for version in revisions("2025-11-25"..) {
        let older = json!({ "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
                            "properties": { "a": { "items": [{ "type": "string" }] } } });
        called_by_client(*version, &older, json!({ "a": ["x", 1] })).await.unwrap();
        assert_eq!(
            called_by_client(*version, &older, json!({ "a": [1] })).await.unwrap_err().kind(),
            ErrorKind::Protocol
        );
        let mut wire = open(serving(&older).unwrap(), *version, json!({})).await;
        assert_eq!(text(&call(&mut wire, "odd", json!({ "a": ["x", 1] })).await), "called", "{version}");
        let refused = call(&mut wire, "odd", json!({ "a": [1] })).await;
        assert_eq!(text(&refused), "argument `a[0]`: expected a string, got the number 1", "{version}");
        for dialect in ["https://example.com/unknown", ""] {
            let schema = json!({ "$schema": dialect, "type": "object", "divisibleBy": 2 });
            let refused = called_by_client(*version, &schema, json!({})).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Protocol);
            for error in [refused, serving(&schema).unwrap_err()] {
                assert!(error.to_string().contains(&format!("the dialect \"{dialect}\" is not known")), "{error}");
            }
        }
    }
}

/// Line 45: the schemas that are sent are valid ones.
#[tokio::test]
async fn line_045_schemas_are_valid() {
    for version in revisions("2025-11-25"..) {
        for schema in schemas(*version).await {
            if let Err(error) = jsonschema::draft202012::meta::validate(&schema) {
                panic!("{version}: {error}: {schema:#}");
            }
        }
    }
}

/// A place on the network that notices when it is asked.
pub(crate) struct Trap(TcpListener);

impl Trap {
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        Self(listener)
    }

    pub(crate) fn address(&self, scheme: &str) -> String {
        format!("{scheme}://{}/a", self.0.local_addr().unwrap())
    }

    pub(crate) fn assert_untouched(&self) {
        let asked = self.0.accept().map(|(_, from)| from);
        assert_eq!(asked.map_err(|e| e.kind()), Err(std::io::ErrorKind::WouldBlock), "somebody was here");
    }
}

/// Line 46: a reference in a schema is never followed over the network.
#[tokio::test]
async fn line_046_references_are_not_fetched() {
    let trap = Trap::new();
    let schema = json!({ "$schema": trap.address("http"), "type": "object", "$ref": trap.address("http"),
                         "properties": { "a": { "$ref": trap.address("https") }, "b": { "$dynamicRef": trap.address("http") } } });
    let mut known = schema.clone();
    known.as_object_mut().unwrap().remove("$schema");
    for schema in [schema, known] {
        assert!(called_by_client(STATELESS, &schema, json!({ "a": 1 })).await.is_err());
        assert!(serving(&schema).is_err());
    }
    trap.assert_untouched();
}

/// Line 47: a schema of our own refers to nothing outside of itself; one that does is rejected, not ignored.
#[tokio::test]
async fn line_047_external_references() {
    for schema in schemas(STATELESS).await {
        let text = schema.to_string();
        let outside: Vec<&str> = text.split(r#""$ref":""#).skip(1).filter(|r| !r.starts_with('#')).collect();
        assert!(outside.is_empty(), "{text}");
    }
    let schema = json!({ "type": "object", "properties": { "a": { "$ref": "https://example.com/a" } } });
    let refused = called_by_client(STATELESS, &schema, json!({ "b": 1 })).await.unwrap_err();
    for error in [refused, serving(&schema).unwrap_err()] {
        assert!(error.to_string().contains("refers to `https://example.com/a`, which is outside of it"), "{error}");
    }
}

/// Line 48: a schema cannot be deeper or larger than the bounds of a message, nor make more work than there is a budget
/// for, however small it is.
#[tokio::test]
async fn line_048_schemas_are_bounded() {
    let mut doubling = json!({ "type": "object", "$defs": { "d30": {} }, "allOf": [{ "$ref": "#/$defs/d0" }] });
    for i in 0..30 {
        let next = json!({ "$ref": format!("#/$defs/d{}", i + 1) });
        doubling["$defs"][format!("d{i}")] = json!({ "allOf": [next, next] });
    }
    let refused = called_by_client(STATELESS, &doubling, json!({ "a": 1 })).await.unwrap_err();
    for error in [refused, serving(&doubling).unwrap_err()] {
        assert!(error.to_string().ends_with("which is beyond the budget"), "{error}");
    }

    let mut deep = json!({ "type": "object" });
    for _ in 0..200 {
        deep = json!({ "not": deep });
    }
    let listed = json!([{ "name": "deep", "inputSchema": deep }]);
    let raw = RawServer::speaking(STATELESS, everything(), move |m| match m["method"].as_str() {
        Some("tools/list") => vec![result(m, json!({ "resultType": "complete", "tools": listed }))],
        _ => vec![said(m, "ok")],
    });
    let client = client(STATELESS).connect(raw).await.unwrap();
    let refused = client.tools().await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Protocol, "{refused}");
    assert_eq!(client.call("a", ()).await.unwrap().text(), "ok", "the connection lives on");

    let mut wire = open(example().build(), STATELESS, json!({})).await;
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    wire.send_text(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"a":{deep}}}}}"#));
    assert_eq!(wire.response(1).await["error"]["code"], code::PARSE_ERROR);
}

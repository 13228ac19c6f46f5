//! Lines 238 to 241: structured output.

use std::collections::BTreeMap;

use couplet::{
    server::{Json, Server, ToolError, extract::RawArgs, tool},
    types::CallToolResult,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::kit::{RawServer, STATELESS, call, client, everything, open, result, revisions};

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Sky {
    Clear,
    Rain { mm: f32 },
}

#[derive(Serialize, JsonSchema)]
struct Report {
    city: String,
    sky: Vec<Sky>,
    wind: Option<u8>,
    more: BTreeMap<String, i64>,
}

fn reporting() -> Server {
    let report = || {
        let sky = vec![Sky::Clear, Sky::Rain { mm: 1.5 }];
        Json(Report { city: "Oslo".into(), sky, wind: None, more: [("n".to_owned(), 1)].into() })
    };
    Server::new("s", "1")
        .tool(tool("report", report))
        .tool(tool("list", || Json(vec![1, 2, 3])))
        .tool(tool("failing", || Err::<Json<Report>, _>(ToolError::new("no city"))))
        .tool(tool("forgot", || "only text").output_schema(json!({ "type": "object" })))
        .tool(tool("by_hand", || {
            let mut result = CallToolResult::default();
            result.structured_content = Some(json!({ "a": 1 }).into());
            result
        }))
}

/// What a tool returns as data fits the schema that it is listed with. A tool that promised data and returns none has
/// failed.
#[tokio::test]
async fn line_238_structured_output_fits() {
    for &version in revisions("2025-06-18"..) {
        let mut wire = open(reporting().build(), version, json!({})).await;
        let list = wire.request("tools/list", json!({})).await;
        let mut checked = 0;
        for listed in list["result"]["tools"].as_array().unwrap() {
            let result = call(&mut wire, listed["name"].as_str().unwrap(), json!({})).await;
            let Some(schema) = listed.get("outputSchema") else { continue };
            if result["result"]["isError"] == true || listed["name"] == "forgot" {
                continue;
            }
            let data = &result["result"]["structuredContent"];
            assert!(jsonschema::is_valid(schema, data), "{version}: {schema} {data}");
            checked += 1;
        }
        assert_eq!(checked, if version == STATELESS { 2 } else { 1 });
        assert_eq!(call(&mut wire, "forgot", json!({})).await["error"]["code"], -32603, "{version}");
        let schema =
            json!({ "type": "object", "properties": { "total": { "type": "integer" } }, "required": ["total"] });
        let promised = |RawArgs(data): RawArgs| CallToolResult::default().structured_content(data.to_raw());
        let promised = tool("promised", promised).input_schema(json!({ "type": "object" })).output_schema(schema);
        let narrow = tool("narrow", |RawArgs(data): RawArgs| Json(data.parse::<Narrow>().unwrap()));
        let server = Server::new("s", "1").tool(promised).tool(narrow.input_schema(json!({ "type": "object" })));
        let mut wire = open(server.build(), version, json!({})).await;
        for (name, fits, wrong, what) in [
            (
                "promised",
                json!({ "total": 3 }),
                json!({ "total": "many" }),
                "expected an integer, got the string \"many\"",
            ),
            (
                "narrow",
                json!({ "total": 10 }),
                json!({ "total": 11 }),
                "expected a number of at most 10, got the number 11",
            ),
        ] {
            assert_eq!(call(&mut wire, name, fits.clone()).await["result"]["structuredContent"], fits, "{version}");
            let error = call(&mut wire, name, wrong).await["error"].take();
            assert_eq!(error["code"], -32603, "{version}");
            assert!(error["message"].as_str().unwrap().ends_with(&format!("`total`: {what}")), "{error}");
        }
    }
}

/// A type that says less than its schema.
#[derive(Deserialize, Serialize, JsonSchema)]
pub(crate) struct Narrow {
    #[schemars(range(max = 10))]
    total: u8,
}

/// The client checks data against the schema that the tool was listed with, and refuses what does not fit, says nothing
/// where there must be data, or comes with a schema that cannot be used. A tool that failed promised nothing.
#[tokio::test]
async fn line_239_structured_output_is_checked() {
    let schema = json!({ "type": "object", "properties": { "total": { "type": "integer" } }, "required": ["total"] });
    for &version in revisions("2025-06-18"..) {
        let listed = json!([
            { "name": "sum", "inputSchema": { "type": "object" }, "outputSchema": schema },
            { "name": "free", "inputSchema": { "type": "object" } },
        ]);
        let raw = RawServer::speaking(version, everything(), move |m| match m["method"].as_str() {
            Some("tools/list") => vec![result(m, json!({ "tools": listed }))],
            Some("tools/call") => vec![result(m, m["params"]["arguments"].clone())],
            _ => vec![],
        });
        let client = client(version).connect(raw).await.unwrap();
        let wrong = json!({ "content": [], "structuredContent": { "total": "many" } });
        client.call("sum", &wrong).await.expect("nothing was listed yet");
        client.tools().await.unwrap();
        for (name, answer, refused) in [
            ("sum", json!({ "content": [], "structuredContent": { "total": 3 } }), None),
            ("sum", wrong.clone(), Some("at `/total`: expected an integer, got the string \"many\"")),
            ("sum", json!({ "content": [] }), Some("gave no structured content")),
            ("sum", json!({ "content": [], "isError": true }), None),
            ("free", wrong, None),
        ] {
            let error = client.call(name, &answer).await.err();
            assert_eq!(error.is_some(), refused.is_some(), "{version}: {answer}: {error:?}");
            if let (Some(error), Some(what)) = (error, refused) {
                assert!(error.to_string().ends_with(what), "{version}: {error}");
            }
        }
    }
}

/// Data is also there as text, for clients that do not look at it.
#[tokio::test]
async fn line_240_structured_content_is_also_text() {
    for &version in revisions("2025-06-18"..) {
        let mut wire = open(reporting().build(), version, json!({})).await;
        for name in ["report", "by_hand"] {
            let result = call(&mut wire, name, json!({})).await["result"].take();
            let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
            assert_eq!(text, result["structuredContent"], "{version}: {name}");
        }
    }
}

/// Where data has to be an object, data that is not one is told as text only, and its schema is not listed.
#[tokio::test]
async fn line_241_structured_content_is_an_object() {
    for &version in revisions("2025-06-18"..="2025-11-25") {
        let mut wire = open(reporting().build(), version, json!({})).await;
        let list = wire.request("tools/list", json!({})).await;
        for listed in list["result"]["tools"].as_array().unwrap() {
            let root = listed.get("outputSchema").map(|s| s["type"].clone());
            assert!(root.is_none_or(|kind| kind == "object"), "{version}: {listed}");
            let result = call(&mut wire, listed["name"].as_str().unwrap(), json!({})).await;
            let data = result["result"].get("structuredContent");
            assert!(data.is_none_or(Value::is_object), "{version}: {result}");
        }
        assert!(list["result"]["tools"][1].get("outputSchema").is_none());
        assert_eq!(call(&mut wire, "list", json!({})).await["result"]["content"][0]["text"], "[1,2,3]");
    }
}

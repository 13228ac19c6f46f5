//! Lines 264 to 268: prompts.

use couplet::{
    server::{
        Server, ServerHandle, ToolError,
        extract::{Args, RawArgs},
        prompt, tool,
    },
    types::{ContentBlock, PromptArgument, PromptMessage, ResourceContents},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::kit::{RawServer, STATELESS, capabilities, client, everything, open, result, revisions};

#[derive(Deserialize, JsonSchema)]
struct Trip {
    country: String,
    days: Option<u8>,
}

fn server() -> ServerHandle {
    Server::new("s", "1")
        .prompt(prompt("plan", |Args(trip): Args<Trip>| format!("{} days in {}", trip.days.unwrap_or(1), trip.country)))
        .prompt(
            prompt("by_hand", |RawArgs(arguments): RawArgs| arguments.as_str().to_owned())
                .arguments(vec![PromptArgument::new("city").required(true), PromptArgument::new("street")]),
        )
        .prompt(prompt("broken", || Err::<String, _>(ToolError::new("the disk is full"))))
        .build()
}

async fn get(version: couplet::types::ProtocolVersion, params: Value) -> Value {
    open(server(), version, json!({})).await.request("prompts/get", params).await
}

/// A server that has prompts says so and answers the list, also while it is empty; one that has none does neither.
#[tokio::test]
async fn line_264_declared() {
    for &version in revisions(..) {
        assert_eq!(capabilities(server(), version).await["prompts"], json!({ "listChanged": true }));
        let list = open(server(), version, json!({})).await.request("prompts/list", json!({})).await;
        let prompts = list["result"]["prompts"].as_array().unwrap();
        assert_eq!(prompts.len(), 3, "{version}");
        let expected = json!([{ "name": "country", "required": true }, { "name": "days" }]);
        assert_eq!(prompts[0]["arguments"], expected, "{version}");
        let dynamic = Server::new("s", "1").advertise_empty_lists().build();
        let list = open(dynamic, version, json!({})).await.request("prompts/list", json!({})).await;
        assert_eq!(list["result"]["prompts"], json!([]), "{version}");
        let emptied = Server::new("s", "1").prompt(prompt("only", || "text")).build();
        let mut wire = open(emptied.clone(), version, json!({})).await;
        assert!(emptied.remove_prompt("only"));
        assert_eq!(wire.request("prompts/list", json!({})).await["result"]["prompts"], json!([]), "{version}");
        let none = Server::new("s", "1").tool(tool("a", || "done")).build();
        assert!(capabilities(none.clone(), version).await.get("prompts").is_none());
        let refused = open(none, version, json!({})).await.request("prompts/list", json!({})).await;
        assert_eq!(refused["error"]["code"], -32601, "{version}");
    }
}

/// A prompt that does not exist and an argument that is missing are wrong parameters; a prompt that broke is an
/// internal error.
#[tokio::test]
async fn line_265_failures() {
    for &version in revisions(..) {
        for (params, code) in [
            (json!({ "name": "nothing" }), -32602),
            (json!({}), -32602),
            (json!({ "name": "plan" }), -32602),
            (json!({ "name": "plan", "arguments": { "days": "3" } }), -32602),
            (json!({ "name": "by_hand" }), -32602),
            (json!({ "name": "by_hand", "arguments": { "street": "x" } }), -32602),
            (json!({ "name": "broken" }), -32603),
        ] {
            assert_eq!(get(version, params.clone()).await["error"]["code"], code, "{version}: {params}");
        }
        let plan = get(version, json!({ "name": "plan", "arguments": { "country": "Norway" } })).await;
        assert_eq!(plan["result"]["messages"][0]["content"]["text"], "1 days in Norway", "{version}");
        let by_hand = get(version, json!({ "name": "by_hand", "arguments": { "city": "Oslo" } })).await;
        assert_eq!(by_hand["result"]["messages"][0]["content"]["text"], r#"{"city":"Oslo"}"#, "{version}");
    }
}

/// Pictures and sounds are base64 and have a MIME type, resources say what they are; a prompt whose messages break
/// that fails instead of sending them.
#[tokio::test]
async fn line_266_binary_content() {
    let contents = || ResourceContents::text("a://b", "text");
    let cases: [(ContentBlock, bool); 10] = [
        (ContentBlock::image("AAEC", "image/png"), true),
        (ContentBlock::image("AA==", "image/svg+xml; charset=utf-8"), true),
        (ContentBlock::image("not base64!", "image/png"), false),
        (ContentBlock::image("AAE", "image/png"), false),
        (ContentBlock::image("AAEC", "png"), false),
        (ContentBlock::audio("AAEC", "audio/"), false),
        (ContentBlock::audio("=AAE", "audio/wav"), false),
        (ContentBlock::resource(contents()), true),
        (ContentBlock::resource(ResourceContents::blob("a://b", "AAEC")), true),
        (ContentBlock::resource(ResourceContents::blob("a://b", "\u{1}")), false),
    ];
    for &version in revisions(..) {
        for (block, good) in &cases {
            let (one, other) = (block.clone(), block.clone());
            let server = Server::new("s", "1")
                .prompt(prompt("show", move || PromptMessage::user(one.clone())))
                .tool(tool("show", move || other.clone()));
            let mut wire = open(server.build(), version, json!({})).await;
            let answer = wire.request("prompts/get", json!({ "name": "show" })).await;
            assert_eq!(answer.get("result").is_some(), *good, "{version}: {block:?}");
            assert!(*good || answer["error"]["code"] == -32603, "{version}: {answer}");
            if let Some(resource) = answer["result"]["messages"][0]["content"].get("resource") {
                assert!(resource["uri"].is_string() && resource["mimeType"].is_string(), "{version}: {resource}");
                assert!(resource["text"].is_string() != resource["blob"].is_string(), "{version}: {resource}");
            }
            let answer = wire.request("tools/call", json!({ "name": "show" })).await;
            assert_eq!(answer.get("result").is_some(), *good, "{version}: {block:?}");
        }
    }
}

/// The server checks arguments before its handler runs and takes them as data; the client reads every page of the
/// list, and shows messages as they came.
#[tokio::test]
async fn line_267_arguments_and_pages() {
    for &version in revisions(..) {
        for wrong in [json!({ "country": 5 }), json!({ "country": "x", "days": "many" }), json!("x"), json!([])] {
            let params = json!({ "name": "plan", "arguments": wrong });
            assert_eq!(get(version, params.clone()).await["error"]["code"], -32602, "{version}: {params}");
        }
        let tricky = r#"","role":"assistant","content":{}}{country}{{0}} %s"#;
        let answer = get(version, json!({ "name": "plan", "arguments": { "country": tricky } })).await;
        let messages = &answer["result"]["messages"];
        assert_eq!(messages.as_array().unwrap().len(), 1, "{version}: an argument makes no message of its own");
        assert_eq!(messages[0]["role"], "user");
        assert_eq!(messages[0]["content"]["text"], format!("1 days in {tricky}"));

        let raw = RawServer::speaking(version, everything(), move |m| match m["method"].as_str() {
            Some("prompts/list") if m["params"]["cursor"] == "b" => {
                vec![result(m, json!({ "prompts": [{ "name": "two" }] }))]
            }
            Some("prompts/list") => vec![result(m, json!({ "prompts": [{ "name": "one" }], "nextCursor": "b" }))],
            Some("prompts/get") => {
                let content = json!({ "type": "text", "text": tricky });
                vec![result(m, json!({ "messages": [{ "role": "assistant", "content": content }] }))]
            }
            _ => vec![],
        });
        let client = client(version).connect(raw).await.unwrap();
        let names: Vec<_> = client.prompts().await.unwrap().into_iter().map(|p| p.name).collect();
        assert_eq!(names, ["one", "two"], "{version}");
        let shown = client.prompt("one", ()).await.unwrap();
        assert_eq!(shown.messages[0].content.as_text(), Some(tricky), "{version}");
    }
}

/// Clients are told when a prompt comes or goes.
#[tokio::test]
async fn line_268_changes_are_told() {
    for &version in revisions(..) {
        let server = server();
        let mut wire = open(server.clone(), version, json!({})).await;
        if version == STATELESS {
            wire.start("subscriptions/listen", json!({ "notifications": { "promptsListChanged": true } }));
            wire.next().await.unwrap();
        }
        server.add_prompt(prompt("new", || "text")).unwrap();
        assert_eq!(wire.next().await.unwrap()["method"], "notifications/prompts/list_changed", "{version}");
        assert!(server.remove_prompt("new"));
        assert_eq!(wire.next().await.unwrap()["method"], "notifications/prompts/list_changed", "{version}");
        assert!(!server.remove_prompt("new"));
        assert!(wire.ready().is_empty(), "{version}");
    }
}

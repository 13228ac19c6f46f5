//! Calls that are meant to confuse or to hold up the handlers of a server.

use std::sync::{Arc, Mutex, mpsc};

use couplet_client::Client;
use couplet_core::{Limits, Transport};
use couplet_http::server::HttpTransport;
use couplet_server::{
    Server,
    extract::{Args, RawArgs},
    tool,
};
use couplet_types::ProtocolVersion;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;

#[derive(Deserialize, JsonSchema)]
struct Filter {
    owner: String,
}

/// A client of a server on this machine.
async fn connected(server: Server, version: ProtocolVersion) -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let served = HttpTransport::from_listener(listener).serve(Arc::new(server.build()), Limits::default());
    tokio::spawn(served);
    Client::new("attacker", "1.0.0").versions([version]).connect(couplet_http::connect(url)).await.unwrap()
}

async fn said(client: &Client, tool: &str, arguments: Value) -> String {
    client.call(tool, arguments).await.map_or_else(|error| error.to_string(), |result| result.text())
}

/// A filter that cannot be read is not the absence of one.
#[tokio::test]
async fn attack_02_malformed_arguments_do_not_pass_for_none() {
    for &version in ProtocolVersion::ALL {
        let list = |filter: Option<Args<Filter>>| filter.map_or_else(|| "all".to_owned(), |Args(f)| f.owner);
        let client = connected(Server::new("s", "1").tool(tool("list", list)), version).await;
        assert_eq!(said(&client, "list", json!({})).await, "all");
        assert_eq!(said(&client, "list", json!({ "owner": "ada" })).await, "ada");
        let refused = said(&client, "list", json!({ "owner": ["ada"] })).await;
        assert!(refused.ends_with("argument `owner`: expected a string, got an array"), "{version}: {refused}");
    }
}

/// Names are compared with those that exist only as far as that is cheap.
#[tokio::test]
async fn attack_12_unknown_names_of_any_length_get_an_answer() {
    let many = (0..2_000).map(|n| tool(format!("{}{n}", "x".repeat(100)), || "x"));
    let server = many.fold(Server::new("s", "1").tool(tool("close", || "closed")), Server::tool);
    let client = connected(server, ProtocolVersion::V2026_07_28).await;
    let refused = said(&client, "cloze", json!({})).await;
    assert!(refused.ends_with("there is no tool `cloze`; did you mean `close`?"), "{refused}");
    let refused = said(&client, &"x".repeat(4_000), json!({})).await;
    assert!(refused.ends_with("x…`") && refused.len() < 400, "{refused}");
}

/// Each level of the value doubles the work of this schema.
#[tokio::test]
async fn attack_17_checking_a_value_is_bounded() {
    let item =
        json!({ "anyOf": [{ "items": { "$ref": "#/$defs/a" } }, { "items": { "$ref": "#/$defs/a" }, "maxItems": 0 }] });
    let schema = json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/a" } }, "$defs": { "a": item } });
    let raw = tool("raw", |RawArgs(_): RawArgs| "ran").input_schema(schema);
    let client = connected(Server::new("s", "1").tool(raw), ProtocolVersion::V2026_07_28).await;
    assert_eq!(said(&client, "raw", json!({ "a": [[], []] })).await, "ran");
    let deep = (0..50).fold(json!([]), |inner, _| json!([inner]));
    let refused = said(&client, "raw", json!({ "a": deep })).await;
    assert!(refused.ends_with("too large to be checked against the schema"), "{refused}");
}

/// A function that blocks holds up neither its connection nor the server.
#[tokio::test]
async fn attack_18_blocking_tools_do_not_stop_the_others() {
    for &version in ProtocolVersion::ALL {
        let (go_on, may_go_on) = mpsc::channel();
        let may_go_on = Arc::new(Mutex::new(may_go_on));
        let wait = move || may_go_on.lock().unwrap().recv().map_or("gone", |()| "done");
        let server = Server::new("s", "1").tool(tool("wait", wait).blocking()).tool(tool("quick", || "quick"));
        let client = connected(server, version).await;
        let quick = async {
            assert_eq!(said(&client, "quick", json!({})).await, "quick", "{version}");
            go_on.send(()).unwrap();
        };
        let (waited, ()) = tokio::join!(said(&client, "wait", json!({})), quick);
        assert_eq!(waited, "done", "{version}");
    }
}

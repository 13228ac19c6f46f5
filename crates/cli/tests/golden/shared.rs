//! Replicas of `couplet run` that share a store.

use serde_json::{Value, json};

use crate::{
    kit::{couplet, shop},
    replicas::{Replica, Store, a_session_is_shared},
};

/// A process that has a server of its own, which has sessions.
fn replica(store: &Store) -> Replica {
    Replica::start(store, |port| {
        let mut command = couplet();
        command.args(["run", &format!("{} 2025-11-25", shop()), "--http", &format!("127.0.0.1:{port}")]);
        command
    })
}

#[test]
fn replicas_share_a_session() {
    let Some(store) = Store::start() else { return };
    let (first, second) = (replica(&store), replica(&store));
    a_session_is_shared(first, &second, ("add", json!({ "a": 1, "b": 2 })), r#""text":"3""#);
}

/// Sends a call of 2026-07-28.
fn call(replica: &Replica, mut params: Value) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
    });
    params["_meta"] = meta;
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "order")];
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let text = replica.post(&headers, &request);
    let body = text.split_once("\r\n\r\n").map(|(_, body)| body);
    let body = body.and_then(|body| serde_json::from_str(body).ok());
    body.unwrap_or_else(|| panic!("no message: {text}"))
}

/// A call of a stateless client waits at the server of one replica.
#[test]
fn an_answer_belongs_to_the_replica_that_asked() {
    let Some(store) = Store::start() else { return };
    let (first, second) = (replica(&store), replica(&store));
    let mut params = json!({ "name": "order", "arguments": {} });
    let asked = call(&first, params.clone());
    let asks = asked["result"]["inputRequests"].as_object().unwrap_or_else(|| panic!("no question: {asked}"));
    let order = json!({ "action": "accept", "content": { "what": "tea", "size": "Large", "count": 2 } });
    params["inputResponses"] = asks.keys().map(|key| (key.clone(), order.clone())).collect();
    params["requestState"] = asked["result"]["requestState"].clone();
    let refused = call(&second, params.clone());
    let message = refused["error"]["message"].as_str().unwrap_or_else(|| panic!("{refused}"));
    assert!(message.contains("another replica of the proxy"), "{message}");
    let done = call(&first, params);
    assert_eq!(done["result"]["content"][0]["text"], "2 large tea", "{done}");
}

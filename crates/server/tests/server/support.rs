//! A client of a few lines: JSON in, JSON out.

use std::{future::poll_fn, sync::Arc};

use couplet_core::{Caller, Revision, ServerConnection, types::ProtocolVersion};
use couplet_server::{Server, ServerHandle};
use serde_json::{Value, json};

/// A server, and a connection to it on which the handshake is done.
pub(crate) struct Client {
    connection: ServerConnection,
    /// The `_meta` of every request, in a stateless revision.
    meta: Option<Value>,
}

impl Client {
    pub(crate) async fn new(server: Server) -> Self {
        Self::of(server.build(), None).await
    }

    /// The same with an authenticated caller.
    pub(crate) async fn of(server: ServerHandle, caller: Option<Caller>) -> Self {
        let mut client = Self::stateless(&server, caller);
        client.open("2025-11-25", &json!({})).await;
        client
    }

    /// A connection without a handshake: each request has its revision.
    pub(crate) fn stateless(server: &ServerHandle, caller: Option<Caller>) -> Self {
        let mut connection = ServerConnection::new(Arc::new(server.clone()), server.limits().clone());
        connection.set_caller(caller.map(Arc::new));
        Self { connection, meta: None }
    }

    /// A client of one revision, with these capabilities.
    pub(crate) async fn speaking(server: &ServerHandle, version: ProtocolVersion, capabilities: &Value) -> Self {
        let mut client = Self::stateless(server, None);
        if Revision::of(version).has_sessions() {
            client.open(version.as_str(), capabilities).await;
        } else {
            client.meta = Some(json!({
                "io.modelcontextprotocol/protocolVersion": version.as_str(),
                "io.modelcontextprotocol/clientCapabilities": capabilities,
            }));
        }
        client
    }

    async fn open(&mut self, version: &str, capabilities: &Value) {
        let info = json!({ "name": "test", "version": "1" });
        let hello = json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": info });
        let welcome = self.ask("initialize", hello).await;
        assert_eq!(welcome["protocolVersion"], version);
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    }

    /// The result of a request, or its error.
    pub(crate) async fn ask(&mut self, method: &str, mut params: Value) -> Value {
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        self.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }));
        let mut answer = self.next().await;
        let key = if answer.get("error").is_some() { "error" } else { "result" };
        answer[key].take()
    }

    /// The next message of the server.
    pub(crate) async fn next(&mut self) -> Value {
        let message = poll_fn(|cx| self.connection.poll_send(cx)).await.unwrap();
        serde_json::from_slice(&message.into_bytes()).unwrap()
    }

    /// The text that a tool answers with; errors for the model and for the program are marked.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.ask("tools/call", json!({ "name": tool, "arguments": arguments })).await;
        let text = result["content"][0]["text"].as_str();
        match (result["message"].as_str(), result["isError"] == true) {
            (Some(message), _) => format!("{}: {message}", result["code"]),
            (_, true) => format!("error: {}", text.unwrap_or_default()),
            (_, false) => text.unwrap_or_default().to_owned(),
        }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.connection.receive(message.to_string().into());
    }
}

//! A client of a few lines: JSON in, JSON out.

use std::{future::poll_fn, sync::Arc};

use couplet::{Server, core::ServerConnection};
use serde_json::{Value, json};

/// A server, and a connection to it on which the handshake is done.
pub(crate) struct Client(ServerConnection);

impl Client {
    pub(crate) async fn new(server: Server) -> Self {
        let handle = server.build();
        let limits = handle.limits().clone();
        let mut client = Self(ServerConnection::new(Arc::new(handle), limits));
        let hello = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        client.ask("initialize", hello).await;
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    /// The result of a request, or its error.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }));
        let answer = poll_fn(|cx| self.0.poll_send(cx)).await.unwrap();
        let mut answer: Value = serde_json::from_slice(&answer.into_bytes()).unwrap();
        let key = if answer.get("error").is_some() { "error" } else { "result" };
        answer[key].take()
    }

    /// The text that a tool answers with, errors marked.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.ask("tools/call", json!({ "name": tool, "arguments": arguments })).await;
        // Revisions differ in whether wrong arguments are for the model or for the program.
        match (&result["message"], result["isError"] == true) {
            (Value::String(message), _) => format!("error: {message}"),
            (_, true) => format!("error: {}", text(&result["content"][0]["text"])),
            (_, false) => text(&result["content"][0]["text"]),
        }
    }

    /// The text of a resource, or the message of the error.
    pub(crate) async fn read(&mut self, uri: &str) -> String {
        let result = self.ask("resources/read", json!({ "uri": uri })).await;
        result["contents"][0]["text"].as_str().map_or_else(|| text(&result["message"]), str::to_owned)
    }

    /// The text of the first message of a prompt, or the message of the error.
    pub(crate) async fn get(&mut self, prompt: &str, arguments: Value) -> String {
        let result = self.ask("prompts/get", json!({ "name": prompt, "arguments": arguments })).await;
        result["messages"][0]["content"]["text"].as_str().map_or_else(|| text(&result["message"]), str::to_owned)
    }

    fn send(&mut self, message: &Value) {
        self.0.receive(message.to_string().into());
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

//! A client by hand: every message that it sends or gets is checked against the official schema of its revision.

use std::collections::HashMap;

use couplet_core::{Limits, Service};
use couplet_testing::Wire;
use couplet_types::ClientCapabilities;
use serde_json::{Value, json};

use crate::{
    fixture,
    rows::Row,
    schema::{self, From},
};

/// A conversation with a server in memory.
pub(crate) struct Talk {
    wire: Wire,
    row: &'static Row,
    capabilities: Value,
    /// What the server said about itself.
    pub(crate) greeting: Value,
    /// What the server told while it was asked.
    pub(crate) notes: Vec<Value>,
    methods: HashMap<i64, String>,
    last: i64,
}

impl Talk {
    /// Opens a conversation with the fixture, as a client that can do everything.
    pub(crate) async fn open(row: &'static Row) -> Self {
        Self::with(fixture::server(), row, row.capabilities()).await
    }

    /// Opens a conversation with any server, as a client with these capabilities.
    pub(crate) async fn with(server: impl Service, row: &'static Row, capabilities: Value) -> Self {
        let wire = Wire::with(server, row.version, ClientCapabilities::default(), Limits::default());
        let (methods, greeting) = (HashMap::new(), Value::Null);
        let mut talk = Self { wire, row, capabilities, greeting, notes: Vec::new(), methods, last: 0 };
        if row.session {
            let params = json!({
                "protocolVersion": row.version.as_str(),
                "capabilities": talk.capabilities,
                "clientInfo": { "name": "talk", "version": "1.0.0" },
            });
            talk.greeting = talk.ask("initialize", params).await;
            talk.notify("notifications/initialized", json!({}));
        } else {
            talk.greeting = talk.ask("server/discover", json!({})).await;
        }
        talk
    }

    /// Sends a request of the protocol, and returns its id.
    pub(crate) fn start(&mut self, method: &str, params: Value) -> i64 {
        let message = self.message(method, params);
        schema::request(self.row.version, From::Client, &message);
        self.wire.send(&message);
        self.last
    }

    /// Sends a request of the protocol and returns the response.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.start(method, params);
        self.response(id).await
    }

    /// Sends a request that the revision does not have, and returns the code of the error.
    pub(crate) async fn refused(&mut self, method: &str, params: Value) -> i64 {
        let message = self.message(method, params);
        self.wire.send(&message);
        let answer = self.wire.response(self.last).await;
        schema::error(self.row.version, &answer);
        answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("`{method}` was not refused: {answer}"))
    }

    /// Calls a tool and returns the result.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments })).await;
        answer.get("result").unwrap_or_else(|| panic!("`{tool}` failed: {answer}")).clone()
    }

    /// Waits for the response to a request.
    pub(crate) async fn response(&mut self, id: i64) -> Value {
        let answer = self.wire.response(id).await;
        schema::response(self.row.version, &self.methods[&id], &answer);
        answer
    }

    /// Waits for the next request or notification of the server.
    pub(crate) async fn next(&mut self) -> Value {
        let message = self.wire.next().await.expect("the server has not ended");
        self.check(&message);
        message
    }

    /// Everything that the server says without waiting.
    pub(crate) fn ready(&mut self) -> Vec<Value> {
        let messages = self.wire.ready();
        messages.iter().for_each(|m| self.check(m));
        messages
    }

    /// Sends a notification.
    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        schema::notification(self.row.version, From::Client, &message);
        self.wire.send(&message);
    }

    /// Answers a request of the server.
    pub(crate) fn answer(&mut self, request: &Value, result: Value) {
        let message = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
        schema::response(self.row.version, request["method"].as_str().expect("a request"), &message);
        self.wire.send(&message);
    }

    /// Calls a tool, answers all questions in whichever way they come, and returns them by method and the response.
    pub(crate) async fn converse(
        &mut self,
        method: &str,
        params: Value,
        answer: impl Fn(&Value) -> Value,
    ) -> (Vec<Value>, Value) {
        let mut questions = Vec::new();
        let mut id = self.start(method, params.clone());
        loop {
            if self.row.session {
                let message = self.wire.next().await.expect("the server has not ended");
                if message.get("method").is_none() {
                    assert_eq!(message["id"], id, "{message}");
                    schema::response(self.row.version, method, &message);
                    return (questions, message);
                }
                self.check(&message);
                if message.get("id").is_none() {
                    self.notes.push(message);
                    continue;
                }
                self.answer(&message, answer(&message));
                questions.push(message);
                continue;
            }
            let response = self.response(id).await;
            if response["result"]["resultType"] != "input_required" {
                return (questions, response);
            }
            let mut again = params.clone();
            again["requestState"] = response["result"]["requestState"].clone();
            for (key, question) in response["result"]["inputRequests"].as_object().expect("questions") {
                schema::question(self.row.version, question);
                let result = answer(question);
                schema::result(self.row.version, question["method"].as_str().expect("a method"), &result);
                again["inputResponses"][key] = result;
                questions.push(question.clone());
            }
            id = self.start(method, again);
        }
    }

    /// Ends the input and returns what the server still says.
    pub(crate) async fn finish(self) -> Vec<Value> {
        self.wire.finish().await
    }

    fn check(&self, message: &Value) {
        match (message.get("method"), message.get("id")) {
            (Some(_), Some(_)) => schema::request(self.row.version, From::Server, message),
            (Some(_), None) => schema::notification(self.row.version, From::Server, message),
            _ => panic!("nobody waits for {message}"),
        }
    }

    fn message(&mut self, method: &str, mut params: Value) -> Value {
        self.last += 1;
        self.methods.insert(self.last, method.to_owned());
        if !self.row.session {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(self.row.version.as_str());
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
            params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({ "name": "talk", "version": "1.0.0" });
        }
        json!({ "jsonrpc": "2.0", "id": self.last, "method": method, "params": params })
    }
}

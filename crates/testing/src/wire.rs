//! A connection in plain JSON.

use std::{
    collections::VecDeque,
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use couplet_core::{Dialect, JsonText, Limits, ServerConnection, Service};
use couplet_types::{ClientCapabilities, Implementation, ProtocolVersion, RequestId};
use serde_json::{Value, json};

/// A connection to a server, for clients that write their messages by hand.
///
/// [`Wire::request`] adds the members that the revision requires; [`Wire::send`] sends a message unchanged.
#[derive(Debug)]
pub struct Wire {
    connection: ServerConnection,
    dialect: Dialect,
    version: ProtocolVersion,
    capabilities: ClientCapabilities,
    last: i64,
    unread: VecDeque<Value>,
}

impl Wire {
    /// Opens a connection, without a handshake.
    pub fn new(service: impl Service, version: ProtocolVersion) -> Self {
        Self::with(service, version, ClientCapabilities::default(), Limits::default())
    }

    /// Opens a connection of a client with capabilities to a server with limits, without a handshake.
    pub fn with(
        service: impl Service,
        version: ProtocolVersion,
        capabilities: ClientCapabilities,
        limits: Limits,
    ) -> Self {
        let dialect = Dialect::new(version, Implementation::new("wire", "1.0.0"), capabilities.clone());
        let connection = ServerConnection::new(Arc::new(service), limits);
        Self { connection, dialect, version, capabilities, last: 0, unread: VecDeque::new() }
    }

    /// Performs the handshake, if the revision has one, and returns the server's description of itself.
    pub async fn open(&mut self) -> Value {
        if !self.dialect.has_sessions() {
            return self.request("server/discover", json!({})).await;
        }
        let params = json!({
            "protocolVersion": self.version.as_str(),
            "capabilities": self.capabilities,
            "clientInfo": { "name": "wire", "version": "1.0.0" },
        });
        self.last += 1;
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "initialize", "params": params }));
        let answer = self.response(id).await;
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        answer
    }

    /// Sends a message unchanged.
    pub fn send(&mut self, message: &Value) {
        self.send_text(message.to_string());
    }

    /// Sends text unchanged.
    pub fn send_text(&mut self, text: impl Into<String>) {
        self.connection.receive(text.into().into());
    }

    /// Sends a request with the members that the revision requires, and returns its id.
    pub fn start(&mut self, method: &str, params: Value) -> i64 {
        self.last += 1;
        let params = JsonText::new(params.to_string()).expect("a value is JSON");
        self.connection.receive(self.dialect.raw_request(&RequestId::Number(self.last), method, &params));
        self.last
    }

    /// Sends a request and waits for its response. Other messages are buffered for [`Wire::next`].
    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.start(method, params);
        self.response(id).await
    }

    /// Waits for the response to a request. Other messages are buffered for [`Wire::next`].
    pub async fn response(&mut self, id: impl Into<Value>) -> Value {
        let id = id.into();
        let answers = |m: &Value| m.get("id") == Some(&id) && m.get("method").is_none();
        if let Some(at) = self.unread.iter().position(answers) {
            return self.unread.remove(at).expect("it is there");
        }
        loop {
            let message = self.receive().await.expect("the server answers before it ends");
            if answers(&message) {
                return message;
            }
            self.unread.push_back(message);
        }
    }

    /// Waits for the next other message; `None` when the server has closed the connection.
    pub async fn next(&mut self) -> Option<Value> {
        match self.unread.pop_front() {
            Some(message) => Some(message),
            None => self.receive().await,
        }
    }

    /// Returns all messages that the server sends without further input.
    pub fn ready(&mut self) -> Vec<Value> {
        let mut messages: Vec<Value> = self.unread.drain(..).collect();
        let mut cx = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(text)) = self.connection.poll_send(&mut cx) {
            messages.push(parse(&text.into_bytes()));
        }
        messages
    }

    /// Closes the input, and returns all remaining messages of the server.
    pub async fn finish(mut self) -> Vec<Value> {
        self.connection.end_input();
        let mut messages: Vec<Value> = self.unread.drain(..).collect();
        while let Some(message) = self.receive().await {
            messages.push(message);
        }
        messages
    }

    /// Returns the server's side of the connection.
    pub fn connection(&mut self) -> &mut ServerConnection {
        &mut self.connection
    }

    async fn receive(&mut self) -> Option<Value> {
        let next = poll_fn(|cx| self.connection.poll_send(cx));
        let text = tokio::time::timeout(Duration::from_secs(30), next).await.expect("the server says something");
        text.map(|text| parse(&text.into_bytes()))
    }
}

fn parse(text: &[u8]) -> Value {
    serde_json::from_slice(text).expect("a server sends JSON")
}

//! Servers, requests, and a connection that is polled by hand.

use std::{
    sync::Arc,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use couplet::{
    core::{Limits, ServerConnection, Service},
    prelude::*,
    server::ServerHandle,
};
use serde_json::{Value, json};

/// The stateless revision.
pub(crate) const STATELESS: &str = "2026-07-28";

/// Return the text unchanged
#[tool]
fn echo(
    /// text to return
    text: String,
) -> String {
    text
}

/// A yes or a no.
#[derive(serde::Deserialize, JsonSchema)]
struct Consent {
    /// Shall it be?
    yes: bool,
}

/// Ask before doing it
#[tool]
async fn ask(ctx: Ctx) -> Result<String, ToolError> {
    let consent = ctx.elicit::<Consent>("consent", "Shall it be?").await?.accepted()?;
    Ok(consent.yes.to_string())
}

/// A server with `echo`, `ask` and a number of other tools.
pub(crate) fn server(dummies: usize) -> ServerHandle {
    let server = Server::new("bench", "1.0.0").tool(echo).tool(ask);
    let dummy = |i| tool(format!("dummy_{i:03}"), || "ok").description(format!("Dummy tool number {i}"));
    (0..dummies).fold(server, |server, i| server.tool(dummy(i))).build()
}

/// A connection without a transport. It needs a runtime, because handlers have deadlines.
pub(crate) struct Wire {
    connection: ServerConnection,
    runtime: tokio::runtime::Runtime,
}

impl Wire {
    /// Creates a connection in a revision, after the handshake.
    pub(crate) fn new(server: &ServerHandle, version: &str) -> Self {
        Self::with(Arc::new(server.clone()), version)
    }

    /// Creates a connection to any service.
    pub(crate) fn with(service: Arc<dyn Service>, version: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let connection = ServerConnection::new(service, Limits::default());
        let mut wire = Self { connection, runtime };
        if version != STATELESS {
            let params = json!({
                "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1.0.0"},
            });
            let first = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
            wire.ask(Bytes::from(first.to_string()));
            let second = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            wire.connection.receive(Bytes::from(second.to_string()));
        }
        wire
    }

    /// Sends a request and returns its response.
    pub(crate) fn ask(&mut self, request: Bytes) -> Bytes {
        let _entered = self.runtime.enter();
        self.connection.receive(request);
        match self.connection.poll_send(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(answer)) => answer.into_bytes(),
            other => panic!("there is no answer: {}", matches!(other, Poll::Pending)),
        }
    }
}

/// Serializes a request as a client of a revision does.
pub(crate) fn request(version: &str, method: &str, mut params: Value) -> Bytes {
    if version == STATELESS {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1.0.0"},
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
        });
    }
    Bytes::from(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string())
}

/// A call of `echo`.
pub(crate) fn call(version: &str, text: &str) -> Bytes {
    request(version, "tools/call", json!({"name": "echo", "arguments": {"text": text}}))
}

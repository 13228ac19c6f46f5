//! A small server, a client that takes notes, and both ends of a pipe.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_core::{
    BoxFuture, Call, Channel, ClientNotification, Description, Dialect, Event, Exchange, Hub, Inbound, JsonText, Reply,
    RequestOptions, ResultBody, Service,
    message::{Malformed, Params},
};
use couplet_types::{
    CallTool, CallToolParams, ClientCapabilities, Implementation, ProtocolVersion, RawJson, RpcError,
    ServerCapabilities,
};
use serde_json::{Value, json};

/// Long enough for anything that happens at all.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// A server whose tools are `now`, `later` (which lets others go first) and `big` (which says a lot).
#[derive(Default)]
pub(crate) struct Tools {
    hub: Hub,
    pub(crate) calls: AtomicUsize,
    pub(crate) notes: AtomicUsize,
}

impl Service for Tools {
    fn describe(&self) -> Arc<Description> {
        let mut capabilities = ServerCapabilities::default();
        capabilities.tools = Some(Default::default());
        Arc::new(Description::new(Implementation::new("tools", "1.0.0"), capabilities))
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            let tool: String = call.params.read("name").unwrap();
            let text = match &*tool {
                "later" => {
                    tokio::task::yield_now().await;
                    "later".to_owned()
                }
                "big" => "x".repeat(1 << 20),
                _ => "now".to_owned(),
            };
            Reply::Complete(ResultBody::value(&json!({ "content": [{ "type": "text", "text": text }] })))
        })
    }

    fn hub(&self) -> &Hub {
        &self.hub
    }

    fn notified(&self, _: ClientNotification) {
        self.notes.fetch_add(1, Ordering::Relaxed);
    }
}

/// The two ways to speak: with a session, and without.
pub(crate) const VERSIONS: [&str; 2] = ["2025-06-18", "2026-07-28"];

/// What opens a conversation in a revision.
pub(crate) fn opening(version: &str) -> String {
    match version {
        "2026-07-28" => String::new(),
        _ => {
            let client = json!({ "name": "test", "version": "1" });
            let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client });
            let hello = json!({ "jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params });
            format!("{hello}\n{}\n", json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
        }
    }
}

/// A request on a line of its own.
pub(crate) fn request(version: &str, id: usize, tool: &str) -> String {
    let mut params = json!({ "name": tool });
    if version == "2026-07-28" {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
        });
    }
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }))
}

/// The ids of the results in some output; anything that is not a result fails.
pub(crate) fn results(output: &[u8]) -> Vec<usize> {
    let messages = values(output).into_iter().filter(|m| m["id"] != "hello");
    messages
        .map(|m| {
            assert!(m["result"].is_object(), "{m}");
            usize::try_from(m["id"].as_u64().unwrap()).unwrap()
        })
        .collect()
}

pub(crate) fn values(output: &[u8]) -> Vec<Value> {
    assert!(output.is_empty() || output.ends_with(b"\n"), "the last line is not whole");
    output.split(|b| *b == b'\n').filter(|l| !l.is_empty()).map(|l| serde_json::from_slice(l).unwrap()).collect()
}

/// What a client heard that it did not ask for.
#[derive(Clone, Default)]
pub(crate) struct Ears(Arc<Mutex<Vec<String>>>);

impl Ears {
    pub(crate) fn inbound(&self) -> Arc<dyn Inbound> {
        Arc::new(self.clone())
    }

    pub(crate) fn heard(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn hear(&self, what: &str) {
        self.0.lock().unwrap().push(what.to_owned());
    }
}

impl Inbound for Ears {
    fn request(&self, method: &str, _: &Params) -> BoxFuture<'static, Result<JsonText, RpcError>> {
        let error = RpcError::method_not_found(method);
        Box::pin(async { Err(error) })
    }

    fn notification(&self, method: &str, _: Params) {
        self.hear(method);
    }

    fn malformed(&self, malformed: &Malformed) {
        self.hear(&format!("malformed: {} in {}", malformed.error.message, malformed.excerpt.escape_ascii()));
    }
}

/// Calls a tool without a session.
pub(crate) fn call(channel: &dyn Channel, tool: &str) -> Exchange {
    call_with(channel, tool, &json!({}))
}

/// The same with arguments.
pub(crate) fn call_with(channel: &dyn Channel, tool: &str, arguments: &Value) -> Exchange {
    let info = Implementation::new("test", "1");
    let dialect = Dialect::new(ProtocolVersion::V2026_07_28, info, ClientCapabilities::default());
    let mut params = CallToolParams::new(tool);
    params.arguments = Some(RawJson::new(arguments).unwrap());
    channel.open(dialect.request::<CallTool>(channel.next_id(), params, &RequestOptions::default()).unwrap())
}

/// The result of a call, or why there is none.
pub(crate) async fn answer(mut exchange: Exchange) -> Result<Value, couplet_core::Error> {
    loop {
        match soon(exchange.next()).await {
            Event::Answer(answer) => return Ok(answer.unwrap().parse().unwrap()),
            Event::Failed(error) => return Err(error),
            Event::Notification { .. } => {}
            Event::Ended => panic!("it is no subscription"),
        }
    }
}

/// Waits, but not for ever.
pub(crate) async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(TIMEOUT, future).await.expect("it takes far too long")
}

/// Waits until something is true.
pub(crate) async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = tokio::time::Instant::now() + TIMEOUT;
    while !condition() {
        assert!(tokio::time::Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

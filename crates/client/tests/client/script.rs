//! A server that is a function from one message to some others.

use std::{
    collections::VecDeque,
    future::poll_fn,
    sync::{Arc, Mutex},
    task::{Poll, Waker},
};

use couplet_core::{BoxFuture, ClientConnection, Connect, Connected, Error, Inbound, Limits, Oversized};
use couplet_types::ProtocolVersion;
use serde_json::{Value, json};

/// What the server does with a message.
pub(crate) enum Say {
    /// Sends some messages, or none.
    Send(Vec<Value>),
    /// Goes away.
    Exit,
}

type Behaviour = Arc<dyn Fn(&Value) -> Say + Send + Sync>;

/// A server by hand. Clones are the same server.
#[derive(Clone)]
pub(crate) struct Script {
    behaviour: Behaviour,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    seen: Vec<Value>,
    connections: usize,
    pushed: VecDeque<Value>,
    waker: Option<Waker>,
}

impl Script {
    pub(crate) fn new(behaviour: impl Fn(&Value) -> Say + Send + Sync + 'static) -> Self {
        Self { behaviour: Arc::new(behaviour), shared: Arc::default() }
    }

    /// A server that negotiates well in any revision, and answers everything else by the function.
    pub(crate) fn speaking(
        version: ProtocolVersion,
        capabilities: Value,
        rest: impl Fn(&Value) -> Vec<Value> + Send + Sync + 'static,
    ) -> Self {
        Self::new(move |message| {
            let modern = version == ProtocolVersion::V2026_07_28;
            Say::Send(match message["method"].as_str() {
                Some("server/discover") if modern => vec![result(
                    message,
                    json!({ "supportedVersions": [version.as_str()], "capabilities": capabilities,
                            "resultType": "complete", "ttlMs": 0, "cacheScope": "public",
                            "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "script", "version": "1" } } }),
                )],
                Some("server/discover") => vec![error(message, -32601, "what?")],
                Some("initialize") => vec![result(
                    message,
                    json!({ "protocolVersion": version.as_str(), "capabilities": capabilities,
                            "serverInfo": { "name": "script", "version": "1" } }),
                )],
                _ => rest(message),
            })
        })
    }

    /// What the server does with a message.
    pub(crate) fn say(&self, message: &Value) -> Say {
        (self.behaviour)(message)
    }

    /// Sends a message out of the blue.
    pub(crate) fn push(&self, message: Value) {
        let mut shared = self.shared.lock().unwrap();
        shared.pushed.push_back(message);
        if let Some(waker) = shared.waker.take() {
            waker.wake();
        }
    }

    /// Every message that the client sent.
    pub(crate) fn seen(&self) -> Vec<Value> {
        self.shared.lock().unwrap().seen.clone()
    }

    /// The messages of one method.
    pub(crate) fn seen_of(&self, method: &str) -> Vec<Value> {
        self.seen().into_iter().filter(|m| m["method"] == method).collect()
    }

    pub(crate) fn connections(&self) -> usize {
        self.shared.lock().unwrap().connections
    }
}

impl Connect for Script {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        self.shared.lock().unwrap().connections += 1;
        let longest = limits.message;
        let (mut link, handle) = ClientConnection::new(inbound, limits);
        let script = self.clone();
        let driver = poll_fn(move |cx| {
            loop {
                let pushed = {
                    let mut shared = script.shared.lock().unwrap();
                    shared.waker = Some(cx.waker().clone());
                    shared.pushed.pop_front()
                };
                if let Some(message) = pushed {
                    let text = message.to_string();
                    if text.len() > longest {
                        link.receive_oversized(&Oversized::of(text.as_bytes()));
                    } else {
                        link.receive(text.into());
                    }
                    continue;
                }
                let message: Value = match link.poll_send(cx) {
                    Poll::Ready(Some(text)) => serde_json::from_slice(&text.into_bytes()).unwrap(),
                    Poll::Ready(None) => return Poll::Ready(Ok(())),
                    Poll::Pending => return Poll::Pending,
                };
                script.shared.lock().unwrap().seen.push(message.clone());
                match (script.behaviour)(&message) {
                    Say::Send(messages) => messages.iter().for_each(|m| link.receive(m.to_string().into())),
                    Say::Exit => {
                        link.end_input("the server exited");
                        return Poll::Ready(Ok(()));
                    }
                }
            }
        });
        Box::pin(async move { Ok(Connected { channel: Arc::new(handle), driver: Box::pin(driver) }) })
    }
}

/// The answer to a request.
pub(crate) fn result(request: &Value, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })
}

/// The refusal of a request.
pub(crate) fn error(request: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": request["id"], "error": { "code": code, "message": message } })
}

/// A message that wants no answer.
pub(crate) fn notification(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

/// Lets everything run that can.
pub(crate) async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

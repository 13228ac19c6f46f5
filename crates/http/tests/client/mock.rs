//! Servers that follow a script.

use std::{
    collections::VecDeque,
    fmt,
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use couplet_client::Client;
use couplet_core::{BoxFuture, Error, ErrorKind};
use couplet_http::client::{Body, HttpClient, HttpTarget};
use futures_core::Stream;
use http::{HeaderMap, Request, Response};
use serde_json::{Value, json};
use tokio::time::{Instant, Sleep};

pub(crate) const URL: &str = "https://server.example/mcp";
pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const LEGACY: &str = "2025-11-25";

/// A request that arrived.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) verb: String,
    pub(crate) uri: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
    pub(crate) at: Instant,
}

impl Seen {
    /// What is asked: the method of the message, or the verb where there is none.
    pub(crate) fn what(&self) -> &str {
        match &self.body {
            Value::Null => &self.verb,
            message => message["method"].as_str().unwrap_or("answer"),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|v| v.to_str().unwrap())
    }

    /// A result for this request.
    pub(crate) fn result(&self, result: Value) -> Value {
        json!({ "jsonrpc": "2.0", "id": self.body["id"], "result": result })
    }

    /// An error for this request.
    pub(crate) fn error(&self, code: i32, data: Value) -> Value {
        json!({ "jsonrpc": "2.0", "id": self.body["id"], "error": { "code": code, "message": "no", "data": data } })
    }
}

type Script = dyn Fn(&Seen) -> Result<Response<Body>, Error> + Send + Sync;

/// A server, and what it has seen.
#[derive(Clone)]
pub(crate) struct Mock(Arc<Inner>);

struct Inner {
    script: Box<Script>,
    seen: Mutex<Vec<Seen>>,
}

impl Mock {
    pub(crate) fn new(script: impl Fn(&Seen) -> Response<Body> + Send + Sync + 'static) -> Self {
        Self::failing(move |seen| Ok(script(seen)))
    }

    pub(crate) fn failing(script: impl Fn(&Seen) -> Result<Response<Body>, Error> + Send + Sync + 'static) -> Self {
        Self(Arc::new(Inner { script: Box::new(script), seen: Mutex::default() }))
    }

    /// A stateless server that answers everything but the probe as the script says.
    pub(crate) fn modern(script: impl Fn(&Seen) -> Response<Body> + Send + Sync + 'static) -> Self {
        Self::new(move |seen| match seen.what() {
            "server/discover" => reply(200, &seen.result(discovered())),
            _ => script(seen),
        })
    }

    /// A server with a session that answers everything but the handshake as the script says.
    pub(crate) fn legacy(script: impl Fn(&Seen) -> Response<Body> + Send + Sync + 'static) -> Self {
        Self::session(LEGACY, script)
    }

    /// The same in another revision.
    pub(crate) fn session(
        version: &'static str,
        script: impl Fn(&Seen) -> Response<Body> + Send + Sync + 'static,
    ) -> Self {
        Self::new(move |seen| match seen.what() {
            "server/discover" => empty(400),
            "initialize" => {
                let mut result = initialized();
                result["protocolVersion"] = version.into();
                with(reply(200, &seen.result(result)), "mcp-session-id", "s1")
            }
            "notifications/initialized" => empty(202),
            _ => script(seen),
        })
    }

    /// What the script says to this, without anybody noticing.
    pub(crate) fn script(&self, seen: &Seen) -> Response<Body> {
        (self.0.script)(seen).unwrap()
    }

    pub(crate) fn target(&self) -> HttpTarget {
        couplet_http::connect(URL).client(Arc::new(self.clone()))
    }

    pub(crate) async fn connect(&self) -> Client {
        Client::new("test", "1.0.0").connect(self.target()).await.unwrap()
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.0.seen.lock().unwrap().clone()
    }

    /// What was asked, in its order.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.seen().iter().map(|s| s.what().to_owned()).collect()
    }

    /// The last request for something.
    pub(crate) fn last(&self, what: &str) -> Seen {
        self.seen().into_iter().rfind(|s| s.what() == what).unwrap_or_else(|| panic!("no {what} in {:?}", self.asked()))
    }

    pub(crate) fn count(&self, what: &str) -> usize {
        self.asked().iter().filter(|a| *a == what).count()
    }
}

impl HttpClient for Mock {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'static, Result<Response<Body>, Error>> {
        let body = match request.body() {
            b if b.is_empty() => Value::Null,
            b => serde_json::from_slice(b).unwrap(),
        };
        let seen = Seen {
            verb: request.method().to_string(),
            uri: request.uri().to_string(),
            headers: request.headers().clone(),
            body,
            at: Instant::now(),
        };
        self.0.seen.lock().unwrap().push(seen.clone());
        let response = (self.0.script)(&seen);
        Box::pin(async move {
            let delay = response.as_ref().ok().and_then(|r| r.headers().get("x-delay"));
            if let Some(delay) = delay.map(|d| d.to_str().unwrap().parse().unwrap()) {
                tokio::time::sleep(Duration::from_millis(delay)).await;
            }
            response
        })
    }
}

impl fmt::Debug for Mock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mock")
    }
}

pub(crate) fn discovered() -> Value {
    json!({
        "resultType": "complete", "supportedVersions": [MODERN], "ttlMs": 0, "cacheScope": "private",
        "capabilities": { "tools": {}, "resources": {}, "prompts": {} },
    })
}

pub(crate) fn initialized() -> Value {
    json!({
        "protocolVersion": LEGACY, "capabilities": { "tools": {} },
        "serverInfo": { "name": "mock", "version": "1" },
    })
}

/// The result of a tool that says this.
pub(crate) fn says(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

/// A list of tools.
pub(crate) fn tools(tools: &[(&str, Value)]) -> Value {
    let tool = |(name, properties): &(&str, Value)| json!({ "name": name, "inputSchema": { "type": "object", "properties": properties } });
    json!({ "resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": tools.iter().map(tool).collect::<Vec<_>>() })
}

pub(crate) fn empty(status: u16) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status.try_into().unwrap();
    response
}

pub(crate) fn text(status: u16, kind: &str, body: impl Into<String>) -> Response<Body> {
    let mut response = empty(status).map(|_| Body::from(Bytes::from(body.into())));
    response.headers_mut().insert("content-type", kind.parse().unwrap());
    response
}

pub(crate) fn reply(status: u16, message: &Value) -> Response<Body> {
    text(status, "application/json; charset=utf-8", message.to_string())
}

pub(crate) fn with(mut response: Response<Body>, name: &'static str, value: &str) -> Response<Body> {
    response.headers_mut().insert(name, value.parse().unwrap());
    response
}

/// A step of a stream.
pub(crate) enum Step {
    Send(String),
    Wait(u64),
    /// The connection breaks.
    Break,
    /// Nothing more comes, for ever.
    Hang,
    /// The same over and over.
    Endless(&'static str),
}

pub(crate) fn event(message: &Value) -> Step {
    Step::Send(format!("data: {message}\n\n"))
}

pub(crate) fn send(text: &str) -> Step {
    Step::Send(text.to_owned())
}

pub(crate) fn stream(steps: impl IntoIterator<Item = Step>) -> Response<Body> {
    watched(steps, Arc::default())
}

/// A stream that tells how often such a stream was left or ended.
pub(crate) fn watched(steps: impl IntoIterator<Item = Step>, left: Arc<AtomicUsize>) -> Response<Body> {
    let steps = Steps { steps: steps.into_iter().collect(), sleep: None, left };
    let mut response = Response::new(Body::new(steps));
    response.headers_mut().insert("content-type", "text/event-stream".parse().unwrap());
    response
}

struct Steps {
    steps: VecDeque<Step>,
    sleep: Option<Pin<Box<Sleep>>>,
    left: Arc<AtomicUsize>,
}

impl Stream for Steps {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(sleep) = &mut self.sleep {
                std::task::ready!(sleep.as_mut().poll(cx));
                self.sleep = None;
            }
            match self.steps.pop_front() {
                None => return Poll::Ready(None),
                Some(Step::Send(text)) => return Poll::Ready(Some(Ok(text.into()))),
                Some(Step::Wait(ms)) => self.sleep = Some(Box::pin(tokio::time::sleep(Duration::from_millis(ms)))),
                Some(Step::Break) => {
                    return Poll::Ready(Some(Err(Error::new(ErrorKind::Transport, "the connection broke"))));
                }
                Some(Step::Hang) => {
                    self.steps.push_front(Step::Hang);
                    return Poll::Pending;
                }
                Some(Step::Endless(text)) => {
                    self.steps.push_front(Step::Endless(text));
                    return Poll::Ready(Some(Ok(text.into())));
                }
            }
        }
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        self.left.fetch_add(1, Ordering::SeqCst);
    }
}

//! A server with a bit of everything, and requests to its endpoint without any sockets.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use couplet_core::http::sse::{Event, Parser};
use couplet_http::server::{Endpoint, EndpointBody, HttpLimits};
use couplet_server::{
    Ctx, Server, ServerHandle, ToolError,
    extract::{Args, State},
    resource, tool,
};
use http::{HeaderMap, Request, StatusCode};
use http_body::Body;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tower_service::Service;

pub(crate) const OLDEST: &str = "2024-11-05";
pub(crate) const BATCHES: &str = "2025-03-26";
pub(crate) const POLLING: &str = "2025-11-25";
pub(crate) const STATELESS: &str = "2026-07-28";
/// Those that have sessions.
pub(crate) const VERSIONS: [&str; 4] = [OLDEST, BATCHES, "2025-06-18", POLLING];

/// What the handlers have done.
#[derive(Clone, Default)]
pub(crate) struct Seen {
    pub(crate) finished: Arc<AtomicUsize>,
    pub(crate) dropped: Arc<AtomicUsize>,
    /// The notifications that the roots have changed.
    pub(crate) notified: Arc<AtomicUsize>,
    /// Lets calls of `gate` go on, one for each permit.
    pub(crate) gate: Arc<Gate>,
}

pub(crate) struct Gate(pub(crate) tokio::sync::Semaphore);

impl Default for Gate {
    fn default() -> Self {
        Self(tokio::sync::Semaphore::new(0))
    }
}

impl Seen {
    pub(crate) fn finished(&self) -> usize {
        self.finished.load(Ordering::SeqCst)
    }

    pub(crate) fn dropped(&self) -> usize {
        self.dropped.load(Ordering::SeqCst)
    }
}

/// Counts a handler that is dropped before its end.
struct Guard(Seen, bool);

impl Drop for Guard {
    fn drop(&mut self) {
        let count = if self.1 { &self.0.finished } else { &self.0.dropped };
        count.fetch_add(1, Ordering::SeqCst);
    }
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    yes: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Anything {}

#[derive(Deserialize, JsonSchema)]
struct Echo {
    region: String,
}

async fn slow(State(seen): State<Seen>, ctx: Ctx) -> &'static str {
    let mut guard = Guard(seen, false);
    for part in 1..=10 {
        ctx.progress(f64::from(part) / 10.0, "working").await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    guard.1 = true;
    "done"
}

async fn large_event(ctx: Ctx) -> String {
    ctx.progress(0.5, "working").await;
    tokio::task::yield_now().await;
    "x".repeat(3 << 20)
}

/// Says nothing until it is done.
async fn quiet(State(seen): State<Seen>) -> &'static str {
    let mut guard = Guard(seen, false);
    tokio::time::sleep(Duration::from_secs(40)).await;
    guard.1 = true;
    "done quietly"
}

/// The same, until it is let go.
async fn gate(State(seen): State<Seen>) -> &'static str {
    let mut guard = Guard(seen.clone(), false);
    seen.gate.0.acquire().await.unwrap().forget();
    guard.1 = true;
    "through the gate"
}

async fn forever(State(seen): State<Seen>, ctx: Ctx) -> &'static str {
    let _guard = Guard(seen, false);
    ctx.progress(0.5, "working").await;
    std::future::pending().await
}

async fn polled(ctx: Ctx) -> &'static str {
    ctx.release_stream(Duration::from_millis(250));
    tokio::time::sleep(Duration::from_millis(100)).await;
    "at last"
}

async fn ask(ctx: Ctx) -> Result<String, ToolError> {
    let answer = ctx.elicit::<Confirm>("sure", "Sure?").await?.accepted()?;
    Ok(format!("yes: {}", answer.yes))
}

/// Asks, and does not wait for the answer.
async fn hasty(ctx: Ctx) -> &'static str {
    let limit = Duration::from_millis(10);
    match tokio::time::timeout(limit, ctx.elicit::<Confirm>("sure", "Sure?")).await {
        Ok(_) => "answered",
        Err(_) => "given up",
    }
}

async fn slow_ask(ctx: Ctx) -> Result<String, ToolError> {
    ctx.progress(0.5, "thinking of a question").await;
    ask(ctx).await
}

async fn log(ctx: Ctx) -> &'static str {
    ctx.debug("a detail").await;
    ctx.info("something").await;
    "logged"
}

async fn flood(ctx: Ctx) -> &'static str {
    for part in 1..=5000 {
        ctx.progress_with(f64::from(part), None, Some("x".repeat(1000))).await;
    }
    "flooded"
}

pub(crate) fn server(seen: &Seen) -> ServerHandle {
    let region = json!({
        "type": "object",
        "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "count": { "type": "integer", "x-mcp-header": "Count" },
            "where": { "type": "object", "properties": { "dry": { "type": "boolean", "x-mcp-header": "Dry-Run" } } }
        }
    });
    let notified = seen.notified.clone();
    let server: Server<Seen> = Server::new("test", "1.0.0")
        .advertise_empty_lists()
        .on_notification(move |notification| {
            if notification.method == "notifications/roots/list_changed" {
                notified.fetch_add(1, Ordering::SeqCst);
            }
        })
        .tool(tool("hello", || "Hello!"))
        .tool(tool("region", |Args(Anything {}): Args<Anything>| "there").input_schema(region.clone()))
        .tool(tool("slow", slow))
        .tool(tool("quiet", quiet))
        .tool(tool("gate", gate))
        .tool(tool("large", || "x".repeat(3 << 20)))
        .tool(tool("large_event", large_event))
        .tool(tool("forever", forever))
        .tool(tool("polled", polled))
        .tool(tool("hasty", hasty))
        .tool(tool("ask", ask))
        .tool(tool("slow_ask", slow_ask))
        .tool(tool("log", log))
        .tool(tool("echo", |Args(Echo { region }): Args<Echo>| region).input_schema(region))
        .tool(tool("flood", flood))
        .resource(resource("test://a", || "text").subscribable());
    server.with_state(seen.clone()).build()
}

/// An endpoint, and what its handlers do.
pub(crate) fn endpoint() -> (Endpoint, Seen) {
    let seen = Seen::default();
    (Endpoint::new(server(&seen)), seen)
}

/// The limits of an endpoint, but for some.
pub(crate) fn limits(change: impl FnOnce(&mut HttpLimits)) -> HttpLimits {
    let mut limits = HttpLimits::default();
    change(&mut limits);
    limits
}

/// The same endpoint, for users that a header names.
pub(crate) fn by_user(endpoint: Endpoint) -> Endpoint {
    endpoint.principal(|parts| Some(parts.headers.get("x-user")?.to_str().ok()?.to_owned()))
}

pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Stream,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn is_stream(&self) -> bool {
        self.header("content-type") == Some("text/event-stream")
    }

    /// The one message of the response.
    pub(crate) async fn json(mut self) -> Value {
        let text = self.body.text().await;
        serde_json::from_slice(&text).unwrap_or_else(|e| panic!("{e}: {text:?}"))
    }

    /// The code of the error that the response is.
    pub(crate) async fn code(self) -> i64 {
        let message = self.json().await;
        message["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {message}"))
    }
}

/// The body of a response as it comes.
pub(crate) struct Stream {
    body: EndpointBody,
    parser: Parser,
}

impl Stream {
    pub(crate) async fn piece(&mut self) -> Option<Bytes> {
        let frame = poll_fn(|cx| Pin::new(&mut self.body).poll_frame(cx)).await?;
        Some(frame.expect("it cannot fail").into_data().expect("there are no trailers"))
    }

    pub(crate) async fn text(&mut self) -> Bytes {
        let mut text = Vec::new();
        while let Some(piece) = self.piece().await {
            text.extend_from_slice(&piece);
        }
        text.into()
    }

    /// The next event.
    pub(crate) async fn event(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.parser.next().expect("events are small") {
                return Some(event);
            }
            let piece = self.piece().await?;
            self.parser.push(&piece);
        }
    }

    /// The next event that is a message.
    pub(crate) async fn message(&mut self) -> Option<Value> {
        loop {
            let event = self.event().await?;
            if event.is_message() {
                return Some(serde_json::from_slice(&event.data).expect("it is JSON"));
            }
        }
    }

    /// All messages until the end.
    pub(crate) async fn messages(&mut self) -> Vec<Value> {
        let mut all = Vec::new();
        while let Some(message) = self.message().await {
            all.push(message);
        }
        all
    }
}

pub(crate) async fn send(endpoint: &Endpoint, request: Request<String>) -> Reply {
    let response = endpoint.clone().call(request).await.expect("it cannot fail");
    let (parts, body) = response.into_parts();
    let body = Stream { body, parser: Parser::new(1 << 20) };
    Reply { status: parts.status, headers: parts.headers, body }
}

/// A request with some headers; one with an empty value is left out.
pub(crate) fn request(method: &str, headers: &[(&str, &str)], body: impl Into<String>) -> Request<String> {
    let defaults = [
        ("host", "localhost:8080"),
        ("accept", if method == "GET" { "text/event-stream" } else { "application/json, text/event-stream" }),
        ("content-type", "application/json"),
    ];
    let mut request = Request::builder().method(method).uri("/mcp");
    for (name, value) in defaults.iter().filter(|(d, _)| !headers.iter().any(|(h, _)| h == d)).chain(headers) {
        if !value.is_empty() {
            request = request.header(*name, *value);
        }
    }
    request.body(body.into()).expect("the headers are good")
}

pub(crate) fn call(id: i64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

pub(crate) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
        "progressToken": "token"
    })
}

/// A stateless request with the right headers, but for those that are given.
pub(crate) fn alone(method: &str, params: Value, headers: &[(&str, &str)]) -> Request<String> {
    let mut params = params;
    if params.get("_meta").is_none() {
        params["_meta"] = meta();
    }
    let name = params.get("name").or(params.get("uri")).and_then(Value::as_str).unwrap_or_default().to_owned();
    let right = [("mcp-protocol-version", STATELESS), ("mcp-method", method), ("mcp-name", &name)];
    let mut all: Vec<_> = right.into_iter().filter(|(r, _)| !headers.iter().any(|(h, _)| h == r)).collect();
    all.extend(headers);
    request("POST", &all, call(1, method, &params).to_string())
}

/// The parameters of a request, the headers that differ from the right ones, and the status and code of the answer.
pub(crate) type Case<'a> = (Value, &'a [(&'a str, &'a str)], u16, Option<i64>);

/// Checks what stateless requests lead to.
pub(crate) async fn check(method: &str, cases: &[Case<'_>]) {
    let (endpoint, _) = endpoint();
    for (params, headers, status, code) in cases {
        let reply = send(&endpoint, alone(method, params.clone(), headers)).await;
        let what = format!("{method} {params} with {headers:?}");
        assert_eq!(reply.status.as_u16(), *status, "{what}");
        let message = reply.json().await;
        assert_eq!(message["error"]["code"].as_i64(), *code, "{what}: {message}");
        assert_eq!(message["id"], 1, "{what}: {message}");
    }
}

/// A session.
pub(crate) struct Session {
    pub(crate) endpoint: Endpoint,
    pub(crate) id: String,
    pub(crate) version: String,
}

impl Session {
    pub(crate) async fn open(endpoint: &Endpoint, version: &str) -> Self {
        let opening = initialize(version);
        let reply = send(endpoint, request("POST", &[], opening.to_string())).await;
        assert_eq!(reply.status, 200);
        let id = reply.header("mcp-session-id").expect("there is a session").to_owned();
        assert_eq!(reply.json().await["result"]["protocolVersion"], version);
        let session = Self { endpoint: endpoint.clone(), id, version: version.to_owned() };
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(session.post(&ready).await.status, 202);
        session
    }

    /// The same session at another endpoint, after the first one has released it.
    pub(crate) async fn move_to(self, other: &Endpoint) -> Self {
        self.endpoint.release_sessions().await;
        self.at(other)
    }

    /// The same session at another endpoint.
    pub(crate) fn at(&self, other: &Endpoint) -> Self {
        Self { endpoint: other.clone(), id: self.id.clone(), version: self.version.clone() }
    }

    pub(crate) fn headers(&self) -> Vec<(&str, &str)> {
        let mut headers = vec![("mcp-session-id", &*self.id)];
        // The first revision with this transport has no such header.
        if self.version != BATCHES {
            headers.push(("mcp-protocol-version", &self.version));
        }
        headers
    }

    pub(crate) async fn post(&self, message: &Value) -> Reply {
        send(&self.endpoint, request("POST", &self.headers(), message.to_string())).await
    }

    pub(crate) async fn get(&self, last: Option<&str>) -> Reply {
        let mut headers = self.headers();
        headers.extend(last.map(|last| ("last-event-id", last)));
        send(&self.endpoint, request("GET", &headers, "")).await
    }

    pub(crate) async fn delete(&self) -> Reply {
        send(&self.endpoint, request("DELETE", &self.headers(), "")).await
    }

    pub(crate) async fn tool(&self, id: i64, name: &str) -> Reply {
        self.post(&call(id, "tools/call", &json!({ "name": name, "_meta": { "progressToken": id } }))).await
    }
}

pub(crate) fn initialize(version: &str) -> Value {
    let info = json!({ "name": "tests", "version": "1.0.0" });
    let params = json!({ "protocolVersion": version, "capabilities": { "elicitation": {} }, "clientInfo": info });
    call(0, "initialize", &params)
}

/// Waits until something is so.
pub(crate) async fn eventually(what: impl Fn() -> bool) {
    for _ in 0..200 {
        if what() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it never came to that");
}

//! One connection of HTTP/1.1, and what is said on it.

use bytes::Bytes;
use couplet_core::http::sse::{Event, Parser};
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{net::TcpStream, time::timeout};

use super::PATIENCE;

pub(crate) const POLLING: &str = "2025-11-25";
pub(crate) const STATELESS: &str = "2026-07-28";

/// A connection.
pub(crate) struct Http(http1::SendRequest<Full<Bytes>>);

impl Http {
    pub(crate) async fn connect(address: &str) -> Self {
        let socket = timeout(PATIENCE, TcpStream::connect(address)).await.expect("in time").expect("a server is there");
        socket.set_nodelay(true).unwrap();
        let (sender, connection) = http1::handshake(TokioIo::new(socket)).await.unwrap();
        tokio::spawn(connection);
        Self(sender)
    }

    /// Sends a request, once the response before it was read.
    pub(crate) async fn send(&mut self, request: Request<Full<Bytes>>) -> Reply {
        self.0.ready().await.expect("the connection is open");
        let response = timeout(PATIENCE, self.0.send_request(request)).await.expect("it is answered in time");
        Reply(response.expect("it is answered"))
    }

    /// What a tool says to a call that stands alone.
    pub(crate) async fn tool(&mut self, name: &str) -> String {
        text_of(&self.send(called(name, 1, None)).await.json().await)
    }

    /// What the server has done so far.
    pub(crate) async fn stats(&mut self) -> Value {
        serde_json::from_str(&self.tool("stats").await).unwrap()
    }

    /// Waits until the server has come to something.
    pub(crate) async fn until(&mut self, what: impl Fn(&Value) -> bool) -> Value {
        let began = std::time::Instant::now();
        loop {
            let stats = self.stats().await;
            if what(&stats) {
                return stats;
            }
            assert!(began.elapsed() < PATIENCE, "it never came to that: {stats}");
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    }

    /// Opens a session.
    pub(crate) async fn open_session(&mut self) -> String {
        let reply = self.send(request(Method::POST, &[], &initialize())).await;
        assert_eq!(reply.0.status(), 200);
        let id = reply.header("mcp-session-id").expect("a session has an id").to_owned();
        reply.json().await;
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let reply = self.send(request(Method::POST, &in_session(&id), &ready)).await;
        assert_eq!(reply.0.status(), 202);
        reply.bytes().await;
        id
    }
}

/// What came back.
pub(crate) struct Reply(pub(crate) Response<Incoming>);

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.0.headers().get(name)?.to_str().ok()
    }

    pub(crate) async fn bytes(self) -> Bytes {
        let all = timeout(PATIENCE, self.0.into_body().collect()).await.expect("the body comes in time");
        all.expect("the body comes").to_bytes()
    }

    pub(crate) async fn json(self) -> Value {
        let text = self.bytes().await;
        serde_json::from_slice(&text).unwrap_or_else(|e| panic!("{e}: {text:?}"))
    }

    pub(crate) fn events(self) -> Events {
        assert_eq!(self.header("content-type"), Some("text/event-stream"), "{:?}", self.0);
        Events { body: self.0.into_body(), parser: Parser::new(1 << 20) }
    }
}

/// A stream of events.
pub(crate) struct Events {
    body: Incoming,
    parser: Parser,
}

impl Events {
    /// The next event; nothing at the end.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.parser.next().expect("events are small") {
                return Some(event);
            }
            let frame = timeout(PATIENCE, self.body.frame()).await.expect("the stream goes on or ends")?;
            self.parser.push(&frame.expect("the stream is whole").into_data().expect("there are no trailers"));
        }
    }

    /// All messages until the end.
    pub(crate) async fn messages(mut self) -> Vec<Value> {
        let mut all = Vec::new();
        while let Some(event) = self.next().await {
            if event.is_message() {
                all.push(serde_json::from_slice(&event.data).expect("it is JSON"));
            }
        }
        all
    }
}

/// A request with these headers.
pub(crate) fn request(method: Method, headers: &[(&str, &str)], body: &Value) -> Request<Full<Bytes>> {
    let mut request = Request::builder().uri("/mcp").header("host", "localhost");
    request = match method {
        Method::POST => {
            request.header("accept", "application/json, text/event-stream").header("content-type", "application/json")
        }
        _ => request.header("accept", "text/event-stream"),
    };
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = if method == Method::POST { body.to_string() } else { String::new() };
    request.method(method).body(Full::new(body.into())).expect("the headers are good")
}

/// What opens a session.
pub(crate) fn initialize() -> Value {
    let info = json!({ "name": "tests", "version": "1.0.0" });
    let params = json!({ "protocolVersion": POLLING, "capabilities": {}, "clientInfo": info });
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })
}

/// The headers of a message in a session.
pub(crate) fn in_session(id: &str) -> [(&str, &str); 2] {
    [("mcp-session-id", id), ("mcp-protocol-version", POLLING)]
}

/// A call of a tool: in a session, or alone.
pub(crate) fn called(tool: &str, id: usize, session: Option<&str>) -> Request<Full<Bytes>> {
    let mut meta = json!({ "progressToken": id });
    if session.is_none() {
        meta["io.modelcontextprotocol/protocolVersion"] = STATELESS.into();
        meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    }
    let params = json!({ "name": tool, "arguments": {}, "_meta": meta });
    let body = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
    match session {
        Some(session) => request(Method::POST, &in_session(session), &body),
        None => {
            let headers = [("mcp-protocol-version", STATELESS), ("mcp-method", "tools/call"), ("mcp-name", tool)];
            request(Method::POST, &headers, &body)
        }
    }
}

/// What a tool said.
pub(crate) fn text_of(answer: &Value) -> String {
    let text = answer["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("no text: {answer}")).to_owned()
}

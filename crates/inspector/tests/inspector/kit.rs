//! An inspector, a small HTTP client, and servers to inspect.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use couplet_client::Client;
use couplet_core::{
    BoxFuture, Connect, Connected, Error, ErrorKind, Inbound, Limits, Service, Transport, http::sse::Parser,
};
use couplet_http::server::Endpoint;
use couplet_inspector::{Body, Direction, Find, Inspector, KnownServer, Mounted, Opening, Place, PlaceKind, Tap};
use couplet_server::{
    Ctx, Server, ToolError,
    extract::Args,
    schemars::{self, JsonSchema},
    tool,
};
use couplet_stdio::pipe;
use couplet_types::ProtocolVersion;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinHandle,
    time::timeout,
};
use tower_service::Service as _;

/// Longer than anything here takes.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A running inspector. It ends when it is dropped.
pub(crate) struct Kit {
    pub(crate) inspector: Inspector,
    pub(crate) sandbox: u16,
    pub(crate) port: u16,
    pub(crate) token: String,
    serving: JoinHandle<()>,
}

impl Drop for Kit {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Kit {
    pub(crate) async fn new() -> Self {
        let bind = || TcpListener::bind("127.0.0.1:0");
        let (page, sandbox) = (bind().await.unwrap(), bind().await.unwrap());
        let inspector = Inspector::builder(Arc::new(Nowhere), mount).build(&page, &sandbox).unwrap();
        let token = inspector.url().split_once("#token=").unwrap().1.to_owned();
        let (port, other) = (page.local_addr().unwrap().port(), sandbox.local_addr().unwrap().port());
        let serving = tokio::spawn(inspector.clone().serve(page, sandbox));
        Self { inspector, sandbox: other, port, token, serving }
    }

    /// Sends a request with the token.
    pub(crate) async fn send(&self, method: &str, path: &str, body: impl Into<String>) -> Reply {
        let token = format!("Bearer {}", self.token);
        let host = format!("127.0.0.1:{}", self.port);
        self.send_with(self.port, method, path, &[("host", &host), ("authorization", &token)], body).await
    }

    pub(crate) async fn send_with(
        &self,
        port: u16,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<String>,
    ) -> Reply {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let request = Request::builder().method(method).uri(path);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let response = sender.send_request(request.body(Full::new(Bytes::from(body.into()))).unwrap()).await.unwrap();
        let (head, body) = response.into_parts();
        Reply { status: head.status, headers: head.headers, body }
    }

    pub(crate) async fn json(&self, method: &str, path: &str, body: Value) -> Value {
        self.send(method, path, body.to_string()).await.json().await
    }

    /// Waits until the first target is in a state.
    pub(crate) async fn until(&self, state: &str) -> Value {
        let looking = async {
            loop {
                let targets = self.json("GET", "/api/targets", json!({})).await;
                if targets["targets"][0]["state"] == state {
                    return targets["targets"][0].clone();
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(LONG, looking).await.unwrap_or_else(|_| panic!("the target is never `{state}`"))
    }

    /// Calls a tool of the first target through the proxy.
    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Reply {
        let version = ProtocolVersion::LATEST.as_str();
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": name, "arguments": arguments,
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": version,
                "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
                "progressToken": 1,
            },
        }});
        let (token, host) = (format!("Bearer {}", self.token), format!("127.0.0.1:{}", self.port));
        let headers = [
            ("host", host.as_str()),
            ("authorization", &token),
            ("accept", "application/json, text/event-stream"),
            ("content-type", "application/json"),
            ("mcp-protocol-version", version),
            ("mcp-method", "tools/call"),
            ("mcp-name", name),
        ];
        self.send_with(self.port, "POST", "/mcp/t1", &headers, body.to_string()).await
    }
}

pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: Incoming,
}

impl Reply {
    pub(crate) async fn text(self) -> String {
        let body = timeout(LONG, self.body.collect()).await.unwrap().unwrap();
        String::from_utf8(body.to_bytes().to_vec()).unwrap()
    }

    pub(crate) async fn json(self) -> Value {
        let text = self.text().await;
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// Reads events until one that is wanted; returns all of them.
    pub(crate) async fn events(mut self, is_last: impl Fn(&Value) -> bool) -> Vec<Value> {
        let (mut parser, mut events) = (Parser::new(8 << 20), Vec::new());
        let reading = async {
            loop {
                while let Some(event) = parser.next().unwrap() {
                    let value: Value = serde_json::from_slice(&event.data).unwrap();
                    let last = is_last(&value);
                    events.push(value);
                    if last {
                        return;
                    }
                }
                match self.body.frame().await {
                    Some(frame) => parser.push(frame.unwrap().data_ref().unwrap()),
                    None => return,
                }
            }
        };
        let outcome = timeout(LONG, reading).await;
        assert!(outcome.is_ok(), "the event does not come; last: {:?}", events.last());
        events
    }
}

/// Resolves nothing but one name.
struct Nowhere;

impl Find for Nowhere {
    fn find(&self, text: &str) -> Result<Arc<dyn Place>, String> {
        match text {
            "local" => Ok(Local::new()),
            _ => Err(format!("`{text}` is nowhere")),
        }
    }

    fn known(&self) -> Result<Vec<KnownServer>, String> {
        Ok(vec![KnownServer::new("host", "local", "local --stdio", "/etc/host.json")])
    }
}

struct Front(Endpoint);

fn mount(service: Arc<dyn Service>) -> Arc<dyn Mounted> {
    Arc::new(Front(Endpoint::from_shared(service)))
}

impl Mounted for Front {
    fn respond(&self, request: Request<Incoming>) -> BoxFuture<'static, Response<Body>> {
        let answering = self.0.clone().call(request);
        Box::pin(async move { answering.await.unwrap().map(|body| body.boxed_unsync()) })
    }

    fn shut_down(&self) {
        self.0.shut_down();
    }
}

/// A server in this process, whose lines are observed, and that can be killed and revived.
#[derive(Clone)]
pub(crate) struct Local {
    service: Arc<dyn Service>,
    alive: Arc<AtomicBool>,
    killed: Arc<Notify>,
}

#[derive(Deserialize, JsonSchema)]
struct Echo {
    text: String,
}

async fn echo(Args(echo): Args<Echo>) -> String {
    echo.text
}

async fn big(ctx: Ctx) -> Result<String, ToolError> {
    ctx.progress(0.5, "half").await;
    Ok("x".repeat(3 << 19))
}

async fn flood(ctx: Ctx) -> String {
    for step in 0..12_000 {
        ctx.progress(f64::from(step), "more").await;
    }
    "done".to_owned()
}

impl Local {
    pub(crate) fn new() -> Arc<Self> {
        let server = Server::new("local", "1.0.0")
            .instructions("Be kind.")
            .tool(tool("echo", echo))
            .tool(tool("big", big))
            .tool(tool("flood", flood));
        let service: Arc<dyn Service> = Arc::new(server.build());
        Arc::new(Self { service, alive: Arc::new(AtomicBool::new(true)), killed: Arc::default() })
    }

    /// Ends the connection, and refuses others.
    pub(crate) fn kill(&self) {
        self.alive.store(false, Ordering::SeqCst);
        self.killed.notify_waiters();
    }

    pub(crate) fn revive(&self) {
        self.alive.store(true, Ordering::SeqCst);
    }
}

impl Place for Local {
    fn name(&self) -> String {
        "local".to_owned()
    }

    fn target(&self) -> String {
        "local --stdio".to_owned()
    }

    fn kind(&self) -> PlaceKind {
        PlaceKind::Command
    }

    fn open(&self, revision: Option<ProtocolVersion>, tap: &Tap) -> Result<Opening, String> {
        let client = Client::new("inspector", "1.0.0");
        let client = revision.into_iter().fold(client, |client, revision| client.versions([revision]));
        Ok(Opening { client, server: Box::new(Wire { local: self.clone(), tap: tap.clone() }) })
    }
}

struct Wire {
    local: Local,
    tap: Tap,
}

impl Connect for Wire {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        if !self.local.alive.load(Ordering::SeqCst) {
            let error = Error::new(ErrorKind::Closed, "the server exited with status 1; its last words: no luck");
            return Box::pin(std::future::ready(Err(error)));
        }
        let (near, middle) = tokio::io::duplex(64 << 10);
        let (other, far) = tokio::io::duplex(64 << 10);
        let (reader, writer) = tokio::io::split(far);
        let service = self.local.service.clone();
        let (tap, killed) = (self.tap.clone(), self.local.killed.clone());
        tokio::spawn(async move {
            let ((from_client, to_client), (from_server, to_server)) =
                (tokio::io::split(middle), tokio::io::split(other));
            tokio::select! {
                () = killed.notified() => {}
                _ = pipe(reader, writer).serve(service, Limits::default()) => {}
                () = copy(from_client, to_server, Direction::Out, &tap) => {}
                () = copy(from_server, to_client, Direction::In, &tap) => {}
            }
        });
        Box::pin(async move {
            let (reader, writer) = tokio::io::split(near);
            pipe(reader, writer).connect(inbound, limits).await
        })
    }
}

async fn copy(from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, direction: Direction, tap: &Tap) {
    let mut lines = BufReader::new(from).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        tap.message(direction, line.clone());
        if to.write_all(format!("{line}\n").as_bytes()).await.is_err() {
            return;
        }
    }
}

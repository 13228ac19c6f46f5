//! A server behind a verifier, an authorization server beside it, and requests by hand.

use std::{future::poll_fn, pin::Pin, time::Duration};

use couplet_auth::server::{Claims, Verifier};
use couplet_http::server::Endpoint;
use couplet_server::{Server, ServerHandle, extract::Auth, tool};
use couplet_testing::auth::AuthServer;
use http::{HeaderMap, Request};
use http_body::Body;
use serde_json::{Value, json};
use tower_service::Service;

/// What the server is called by clients.
pub(crate) const RESOURCE: &str = "https://mcp.example.com/mcp";
pub(crate) const METADATA: &str = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";

pub(crate) const STATELESS: &str = "2026-07-28";
/// The revisions that have both this transport and authorization.
pub(crate) const VERSIONS: [&str; 4] = ["2025-03-26", "2025-06-18", "2025-11-25", STATELESS];

pub(crate) fn server() -> ServerHandle {
    let whoami = |claims: Auth<Claims>| {
        let (subject, client) = (claims.subject.clone(), claims.client.clone());
        format!("{} by {}", subject.unwrap_or_default(), client.unwrap_or_default())
    };
    let server: Server = Server::new("test", "1.0.0")
        .tool(tool("whoami", whoami))
        .tool(tool("read", || "read").scopes(["files:read"]))
        .tool(tool("write", || "written").scopes(["files:read", "files:write"]));
    server.build()
}

pub(crate) fn verifier(auth: &AuthServer) -> Verifier {
    Verifier::new(RESOURCE, auth.issuer()).expect("two addresses")
}

pub(crate) fn endpoint(verifier: Verifier) -> Endpoint {
    Endpoint::new(server()).authorize(verifier)
}

/// An authorization server, and a server that believes it.
pub(crate) async fn both() -> (AuthServer, Endpoint) {
    let auth = AuthServer::start().await.expect("it starts");
    let endpoint = endpoint(verifier(&auth));
    (auth, endpoint)
}

pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The one challenge that there is.
    pub(crate) fn challenge(&self) -> &str {
        assert_eq!(self.headers.get_all("www-authenticate").iter().count(), 1, "{:?}", self.headers);
        self.header("www-authenticate").unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body))
    }

    /// The text of a tool's result.
    pub(crate) fn text(&self) -> String {
        let answer = self.json();
        answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }
}

pub(crate) async fn send(endpoint: &Endpoint, request: Request<String>) -> Reply {
    let answering = async {
        let response = endpoint.clone().call(request).await.expect("it cannot fail");
        let (head, mut body) = response.into_parts();
        let mut text = Vec::new();
        // What goes on is a stream; its first piece is enough.
        let is_stream = head.headers.get("content-type").is_some_and(|kind| kind == "text/event-stream");
        while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
            text.extend_from_slice(&frame.expect("it cannot fail").into_data().expect("there are no trailers"));
            if is_stream {
                break;
            }
        }
        Reply { status: head.status.as_u16(), headers: head.headers, body: String::from_utf8(text).unwrap() }
    };
    tokio::time::timeout(Duration::from_secs(60), answering).await.expect("an answer in time")
}

/// A request with some headers; one that is given takes the place of the usual one.
pub(crate) fn request(method: &str, uri: &str, headers: &[(&str, &str)], body: &Value) -> Request<String> {
    let usual = [
        ("host", "localhost:8080"),
        ("accept", if method == "GET" { "text/event-stream" } else { "application/json, text/event-stream" }),
        ("content-type", "application/json"),
    ];
    let mut request = Request::builder().method(method).uri(uri);
    for (name, value) in usual.iter().filter(|(name, _)| !headers.iter().any(|(other, _)| other == name)).chain(headers)
    {
        request = request.header(*name, *value);
    }
    request.body(if body.is_null() { String::new() } else { body.to_string() }).unwrap()
}

/// The call of a tool by a client of the latest revision.
pub(crate) fn call(tool: &str, headers: &[(&str, &str)]) -> Request<String> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "_meta": meta }
    });
    let usual = [("mcp-protocol-version", STATELESS), ("mcp-method", "tools/call"), ("mcp-name", tool)];
    let headers: Vec<_> = usual.into_iter().chain(headers.iter().copied()).collect();
    request("POST", "/mcp", &headers, &message)
}

/// Calls a tool with a token.
pub(crate) async fn ask(endpoint: &Endpoint, tool: &str, token: &str) -> Reply {
    send(endpoint, call(tool, &[("authorization", &format!("Bearer {token}"))])).await
}

/// A session of a revision that has them, opened with a token; without one for the others.
pub(crate) async fn open(endpoint: &Endpoint, version: &str, token: &str) -> Option<String> {
    if version == STATELESS {
        return None;
    }
    let info = json!({ "name": "tests", "version": "1.0.0" });
    let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": info });
    let message = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    let bearer = format!("Bearer {token}");
    let reply = send(endpoint, request("POST", "/mcp", &[("authorization", &bearer)], &message)).await;
    assert_eq!(reply.status, 200, "{version}: {}", reply.body);
    Some(reply.header("mcp-session-id").unwrap().to_owned())
}

/// Calls a tool in any revision.
pub(crate) async fn call_in(endpoint: &Endpoint, session: Option<&str>, tool: &str, token: &str) -> Reply {
    let Some(session) = session else { return ask(endpoint, tool, token).await };
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool } });
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", &*bearer), ("mcp-session-id", session)];
    send(endpoint, request("POST", "/mcp", &headers, &message)).await
}

//! What handlers and middleware see of the request.

use std::sync::{Arc, Mutex};

use couplet_core::{Call, Limits, ServerConnection};
use couplet_http::server::{Endpoint, HttpRequest};
use couplet_server::{Ctx, Next, Server, ServerHandle, extract::Request, tool};
use serde_json::{Value, json};

use crate::{
    legacy,
    support::{OLDEST, POLLING, STATELESS, Session, VERSIONS, alone, call, initialize, request, send},
};

fn header(request: &HttpRequest) -> String {
    let name = request.headers.get("x-tenant").and_then(|name| name.to_str().ok());
    format!("{} of {}", name.unwrap_or("none"), request.uri.path())
}

fn tenant(request: Request<HttpRequest>) -> String {
    header(&request)
}

/// It is not done at once, so that it goes on in the session's task.
async fn later(ctx: Ctx) -> String {
    ctx.progress(0.5, "thinking").await;
    tokio::task::yield_now().await;
    let request = ctx.request::<HttpRequest>();
    let tenant = request.as_deref().map_or_else(|| "no request".to_owned(), header);
    format!("{tenant}, session {}", ctx.session_id().unwrap_or("none"))
}

/// A server, and what its middleware saw.
fn server() -> (ServerHandle, Arc<Mutex<Vec<String>>>) {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = seen.clone();
    let middleware = move |call: Call, next: Next| {
        let tenant = call.request::<HttpRequest>().as_deref().map(header);
        let shown = format!("{call:?}");
        assert!(!shown.contains("the secret"), "{shown}");
        log.lock().unwrap().push(format!("{tenant:?}"));
        next.run(call)
    };
    let server: Server =
        Server::new("context", "1.0.0").tool(tool("tenant", tenant)).tool(tool("later", later)).middleware(middleware);
    (server.build(), seen)
}

fn text(message: &Value) -> &str {
    message["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{message}"))
}

const HEADERS: [(&str, &str); 2] = [("x-tenant", "acme"), ("authorization", "the secret")];

#[tokio::test]
async fn a_request_without_a_session_has_its_head() {
    let (server, seen) = server();
    let endpoint = Endpoint::new(server);
    let one = send(&endpoint, alone("tools/call", json!({ "name": "tenant" }), &HEADERS)).await;
    assert_eq!(text(&one.json().await), "acme of /mcp");
    let messages =
        send(&endpoint, alone("tools/call", json!({ "name": "later" }), &HEADERS)).await.body.messages().await;
    assert_eq!(text(messages.last().unwrap()), "acme of /mcp, session none", "{STATELESS}");
    // Connections are used again, what was known of a request is not.
    let other = send(&endpoint, alone("tools/call", json!({ "name": "tenant" }), &[])).await;
    assert_eq!(text(&other.json().await), "none of /mcp");
    assert_eq!(seen.lock().unwrap().concat(), r#"Some("acme of /mcp")Some("acme of /mcp")Some("none of /mcp")"#);
}

#[tokio::test]
async fn a_request_in_a_session_has_its_head_and_the_session() {
    let endpoint = Endpoint::new(server().0);
    for version in VERSIONS {
        let session = Session::open(&endpoint, version).await;
        for (name, expected) in [("acme", "acme of /mcp"), ("other", "other of /mcp")] {
            let mut headers = session.headers();
            headers.push(("x-tenant", name));
            let one = call(1, "tools/call", &json!({ "name": "tenant" })).to_string();
            let reply = send(&endpoint, request("POST", &headers, one)).await;
            assert_eq!(text(&reply.json().await), expected, "{version}");
            let params = json!({ "name": "later", "_meta": { "progressToken": 1 } });
            let two = call(2, "tools/call", &params).to_string();
            let messages = send(&endpoint, request("POST", &headers, two)).await.body.messages().await;
            assert_eq!(text(messages.last().unwrap()), format!("{expected}, session {}", session.id), "{version}");
        }
    }
    let stateless = endpoint.clone().without_sessions();
    let session = Session { endpoint: stateless, id: "none".to_owned(), version: POLLING.to_owned() };
    let reply = session.post(&call(1, "tools/call", &json!({ "name": "later" }))).await;
    assert_eq!(text(&reply.json().await), "none of /mcp, session none");
    let endpoint = endpoint.http_sse();
    let (mut stream, address) = legacy::open(&endpoint).await;
    legacy::post(&endpoint, &address, &initialize(OLDEST)).await;
    stream.body.message().await.unwrap();
    legacy::post(&endpoint, &address, &call(1, "tools/call", &json!({ "name": "later" }))).await;
    let id = address.split_once('=').unwrap().1;
    assert_eq!(text(&stream.body.message().await.unwrap()), format!("none of /mcp, session {id}"));
}

#[tokio::test]
async fn other_transports_have_none() {
    let (server, _) = server();
    let mut connection = ServerConnection::new(Arc::new(server), Limits::default());
    let mut ask = async |message: Value| {
        connection.receive(message.to_string().into());
        let text = std::future::poll_fn(|cx| connection.poll_send(cx)).await.unwrap();
        serde_json::from_slice::<Value>(&text.into_bytes()).unwrap()
    };
    ask(initialize(POLLING)).await;
    let later = ask(call(1, "tools/call", &json!({ "name": "later" }))).await;
    assert_eq!(text(&later), "no request, session none");
    let refused = ask(call(2, "tools/call", &json!({ "name": "tenant" }))).await;
    assert_eq!(refused["error"]["message"], "this needs a transport whose requests have `HttpRequest`");
}

#[cfg(feature = "listen")]
#[tokio::test]
async fn our_own_listener_knows_the_address() {
    use couplet_core::Transport;
    use couplet_http::server::HttpTransport;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let remote = |request: Request<HttpRequest>| request.remote_addr().map_or("unknown".to_owned(), |a| a.to_string());
    let server = Server::<()>::new("context", "1.0.0").tool(tool("remote", remote)).build();
    tokio::spawn(HttpTransport::from_listener(listener).serve(Arc::new(server), Limits::default()));
    let (parts, body) = alone("tools/call", json!({ "name": "remote" }), &[]).into_parts();
    let mut text = format!("POST /mcp HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in &parts.headers {
        text += &format!("{name}: {}\r\n", value.to_str().unwrap());
    }
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream.write_all(format!("{text}\r\n{body}").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.contains(&stream.local_addr().unwrap().to_string()), "{answer}");
}

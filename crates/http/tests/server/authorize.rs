//! Who is let in, as whom, and what for.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use couplet_core::{BoxFuture, Caller};
use couplet_http::server::{Authorize, Challenge, Endpoint, MemorySessions};
use couplet_server::{Ctx, Server, ToolError, extract::Auth, prompt, resource, tool};
use http::{HeaderValue, StatusCode, header, request::Parts};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{BATCHES, OLDEST, POLLING, Reply, STATELESS, alone, call, initialize, request, send};

/// Lets in whoever says `Bearer name:scope,scope`.
pub(crate) struct Door;

/// What is known of whoever asks.
struct Person {
    name: String,
    scopes: usize,
}

pub(crate) const DOCUMENT: &str = "/.well-known/how-to-get-in";

impl Authorize for Door {
    fn authorize<'a>(&'a self, request: &'a Parts) -> BoxFuture<'a, Result<Option<Arc<Caller>>, Challenge>> {
        Box::pin(async move {
            // It may have to ask somebody.
            tokio::task::yield_now().await;
            let said = request.headers.get(header::AUTHORIZATION).and_then(|said| said.to_str().ok());
            let said = said.and_then(|said| said.strip_prefix("Bearer ")?.split_once(':'));
            let Some((name, scopes)) = said else {
                let mut challenge = Challenge::new(StatusCode::UNAUTHORIZED, "who are you?");
                challenge.headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
                return Err(challenge);
            };
            let scopes: Vec<&str> = scopes.split(',').collect();
            let person = Person { name: name.to_owned(), scopes: scopes.len() };
            let caller = Caller::new(name).with_scopes(scopes).with_claims(person);
            let until = request.headers.get("x-until").and_then(|until| until.to_str().ok()?.parse().ok());
            Ok(Some(Arc::new(match until {
                Some(until) => caller.with_expiry(until),
                None => caller,
            })))
        })
    }

    fn insufficient(&self, _: &Parts, _: Option<&Caller>, needed: &[String]) -> Challenge {
        let mut challenge = Challenge::new(StatusCode::FORBIDDEN, "not for you");
        let needs = format!("Bearer error=\"insufficient_scope\", scope=\"{}\"", needed.join(" "));
        challenge.headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_str(&needs).unwrap());
        challenge
    }

    fn document(&self, path: &str) -> Option<Bytes> {
        (path == DOCUMENT).then(|| Bytes::from_static(b"{\"say\":\"please\"}"))
    }
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    yes: bool,
}

async fn whoami(person: Auth<Person>) -> String {
    format!("{} with {}", person.name, person.scopes)
}

/// It is not done at once, so that it goes on in the session's task.
async fn slowly(person: Auth<Person>, ctx: Ctx) -> String {
    ctx.progress(0.5, "thinking").await;
    tokio::task::yield_now().await;
    format!("{} with {}", person.name, person.scopes)
}

async fn ask(ctx: Ctx) -> Result<String, ToolError> {
    let answer = ctx.elicit::<Confirm>("sure", "Sure?").await?.accepted()?;
    Ok(format!("yes: {}", answer.yes))
}

fn endpoint() -> Endpoint {
    Endpoint::new(server()).authorize(Door)
}

fn server() -> couplet_server::ServerHandle {
    let inside: Server = Server::new("inside", "1")
        .tool(tool("write", || "written").scopes(["inside:write"]))
        .resource(resource("notes://all", || "all").scopes(["inside:read"]))
        .prompt(prompt("audit", || "Audit.").scopes(["inside:audit"]));
    let server: Server = Server::new("test", "1.0.0")
        .tool(tool("whoami", whoami))
        .tool(tool("slowly", slowly))
        .tool(tool("ask", ask))
        .tool(tool("open", || "open"))
        .tool(tool("anybody", |who: Option<Auth<Person>>| format!("{}", who.is_some())))
        .tool(tool("confused", |_: Auth<u8>| "never"))
        .tool(tool("write", || "written").scopes(["write"]))
        .tool(tool("both", || "both").scopes(["read", "write"]))
        .resource(resource("notes://public", || "public"))
        .resource(resource("notes://{name}", || "private").scopes(["read", "notes"]))
        .prompt(prompt("audit", || "Audit.").scopes(["audit"]))
        .mount("in", inside);
    server.build()
}

/// Somebody who speaks one revision to an endpoint, with a token for each message.
struct Client {
    endpoint: Endpoint,
    session: Option<String>,
}

impl Client {
    async fn open(endpoint: &Endpoint, version: &'static str, token: &str) -> Self {
        let session = match version {
            STATELESS => None,
            _ => {
                let reply = send(endpoint, authorized("POST", token, &[], &initialize(version))).await;
                assert_eq!(reply.status, 200);
                Some(reply.header("mcp-session-id").unwrap().to_owned())
            }
        };
        Self { endpoint: endpoint.clone(), session }
    }

    async fn call(&self, token: &str, params: Value) -> Reply {
        self.request(token, "tools/call", params).await
    }

    async fn request(&self, token: &str, method: &str, params: Value) -> Reply {
        match &self.session {
            None => send(&self.endpoint, alone(method, params, &[("authorization", token)])).await,
            Some(id) => {
                let message = call(7, method, &params);
                send(&self.endpoint, authorized("POST", token, &[("mcp-session-id", id)], &message)).await
            }
        }
    }
}

fn authorized(method: &str, token: &str, headers: &[(&str, &str)], body: &Value) -> http::Request<String> {
    let headers: Vec<_> = headers.iter().copied().chain([("authorization", token)]).collect();
    let body = if body.is_null() { String::new() } else { body.to_string() };
    request(method, &headers, body)
}

/// The text of a tool's result, however it comes.
async fn text(mut reply: Reply) -> String {
    assert_eq!(reply.status, 200);
    let answer = match reply.is_stream() {
        true => reply.body.messages().await.pop().unwrap(),
        false => reply.json().await,
    };
    let text = answer["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// Those that this transport has; the first one has another.
const ALL: [&str; 4] = [BATCHES, "2025-06-18", POLLING, STATELESS];

#[tokio::test]
async fn nobody_is_let_in_without_a_name() {
    let endpoint = endpoint().http_sse();
    let listen = alone("subscriptions/listen", json!({ "notifications": {} }), &[]);
    let messages = [
        alone("tools/list", json!({}), &[]),
        listen,
        request("POST", &[], initialize(POLLING).to_string()),
        request("POST", &[("mcp-session-id", "x")], call(1, "ping", &json!({})).to_string()),
        request("POST", &[], "not even a message"),
        request("GET", &[("mcp-session-id", "x")], ""),
        request("GET", &[], ""),
        request("DELETE", &[("mcp-session-id", "x")], ""),
        request("PUT", &[], ""),
    ];
    for message in messages {
        let what = format!("{message:?}");
        let reply = send(&endpoint, message).await;
        assert_eq!((reply.status.as_u16(), reply.header("www-authenticate")), (401, Some("Bearer")), "{what}");
    }
    assert_eq!((endpoint.session_count(), endpoint.stream_count()), (0, 0));
}

/// Pages of others do not even learn that a name is wanted.
#[tokio::test]
async fn where_a_request_comes_from_is_looked_at_first() {
    for headers in [[("host", "evil.example")], [("origin", "https://evil.example")]] {
        let reply = send(&endpoint(), request("POST", &headers, "{}")).await;
        assert_eq!((reply.status.as_u16(), reply.header("www-authenticate")), (403, None));
    }
}

#[tokio::test]
async fn handlers_know_who_asks() {
    for version in ALL {
        let client = Client::open(&endpoint(), version, "Bearer alice:read").await;
        for (token, want) in [("Bearer alice:read", "alice with 1"), ("Bearer alice:read,write", "alice with 2")] {
            for tool in ["whoami", "slowly"] {
                let params = json!({ "name": tool, "_meta": meta(version) });
                assert_eq!(text(client.call(token, params).await).await, want, "{version}: {tool}");
            }
        }
        let mut confused = client.call("Bearer alice:read", json!({ "name": "confused" })).await.json().await;
        assert_eq!(confused["error"]["code"].take(), -32603, "{version}: {confused}");
        assert!(!confused.to_string().contains("u8"), "what the developer did is nobody's business: {confused}");
    }
}

fn meta(version: &str) -> Value {
    if version == STATELESS { crate::support::meta() } else { json!({ "progressToken": 1 }) }
}

#[tokio::test]
async fn nobody_has_no_claims() {
    let endpoint = Endpoint::new(server());
    for (tool, want) in [("whoami", None), ("anybody", Some("false")), ("open", Some("open")), ("write", None)] {
        let reply = send(&endpoint, alone("tools/call", json!({ "name": tool }), &[])).await;
        match want {
            Some(want) => assert_eq!(text(reply).await, want),
            None => assert_eq!(reply.code().await, -32600, "{tool}"),
        }
    }
}

#[tokio::test]
async fn scopes_are_asked_for_before_anything_runs() {
    for version in ALL {
        let client = Client::open(&endpoint(), version, "Bearer alice:read").await;
        for (token, tool, want) in [
            ("Bearer alice:read", "open", None),
            ("Bearer alice:read", "write", Some("write")),
            ("Bearer alice:write", "write", None),
            // All that is needed, and not only what is missing.
            ("Bearer alice:read", "both", Some("read write")),
            ("Bearer alice:x", "both", Some("read write")),
            ("Bearer alice:read,write", "both", None),
            ("Bearer alice:write", "in_write", Some("inside:write")),
            ("Bearer alice:inside:write", "in_write", None),
        ] {
            let reply = client.call(token, json!({ "name": tool })).await;
            let challenge = want.map(|want| format!("Bearer error=\"insufficient_scope\", scope=\"{want}\""));
            let status = if want.is_some() { 403 } else { 200 };
            let what = format!("{version}: {token} {tool}");
            assert_eq!(
                (reply.status.as_u16(), reply.header("www-authenticate")),
                (status, challenge.as_deref()),
                "{what}"
            );
        }
    }
}

#[tokio::test]
async fn resources_and_prompts_require_scopes_like_tools() {
    for version in ALL {
        let client = Client::open(&endpoint(), version, "Bearer alice:read").await;
        for (token, method, target, want) in [
            ("Bearer alice:read", "resources/read", "notes://public", None),
            ("Bearer alice:read", "resources/read", "notes://mine", Some("notes read")),
            ("Bearer alice:read,notes", "resources/read", "notes://mine", None),
            ("Bearer alice:read", "resources/read", "notes://in/all", Some("inside:read")),
            ("Bearer alice:inside:read", "resources/read", "notes://in/all", None),
            ("Bearer alice:read", "prompts/get", "audit", Some("audit")),
            ("Bearer alice:audit", "prompts/get", "audit", None),
            ("Bearer alice:audit", "prompts/get", "in_audit", Some("inside:audit")),
            ("Bearer alice:inside:audit", "prompts/get", "in_audit", None),
        ] {
            let key = if method == "prompts/get" { "name" } else { "uri" };
            let reply = client.request(token, method, json!({ key: target })).await;
            let challenge = want.map(|want| format!("Bearer error=\"insufficient_scope\", scope=\"{want}\""));
            let status = if want.is_some() { 403 } else { 200 };
            assert_eq!(
                (reply.status.as_u16(), reply.header("www-authenticate")),
                (status, challenge.as_deref()),
                "{version}: {token} {method} {target}"
            );
        }
    }
}

#[tokio::test]
async fn a_batch_needs_what_all_of_it_needs() {
    let endpoint = endpoint();
    let client = Client::open(&endpoint, BATCHES, "Bearer alice:read").await;
    let tool = |id, name: &str| call(id, "tools/call", &json!({ "name": name }));
    let batch = json!([tool(1, "open"), tool(2, "in_write"), tool(3, "both")]);
    let headers = [("mcp-session-id", client.session.as_deref().unwrap())];
    let reply = send(&endpoint, authorized("POST", "Bearer alice:read", &headers, &batch)).await;
    let want = "Bearer error=\"insufficient_scope\", scope=\"inside:write read write\"";
    assert_eq!((reply.status.as_u16(), reply.header("www-authenticate")), (403, Some(want)));
    let reply = send(&endpoint, authorized("POST", "Bearer alice:read,write,inside:write", &headers, &batch)).await;
    assert_eq!(reply.json().await.as_array().map(Vec::len), Some(3));
}

/// With an endpoint that keeps no sessions it is the same.
#[tokio::test]
async fn scopes_without_sessions() {
    let endpoint = endpoint().without_sessions();
    for (token, status) in [("Bearer alice:read", 403), ("Bearer alice:write", 200)] {
        let headers = [("mcp-protocol-version", POLLING)];
        let message = call(1, "tools/call", &json!({ "name": "write" }));
        assert_eq!(send(&endpoint, authorized("POST", token, &headers, &message)).await.status, status);
    }
}

/// A session is there for whoever opened it, with whatever token; for others there is none, here and where it is taken
/// over.
#[tokio::test]
async fn a_session_belongs_to_whoever_opened_it() {
    for version in &ALL[..3] {
        let store = Arc::new(MemorySessions::new());
        let home = endpoint().sessions(store.clone());
        let client = Client::open(&home, version, "Bearer alice:read").await;
        let headers = [("mcp-session-id", client.session.as_deref().unwrap())];
        let ping = call(1, "ping", &json!({}));
        for place in [home, endpoint().sessions(store)] {
            for method in ["POST", "GET", "DELETE"] {
                let body = if method == "POST" { &ping } else { &Value::Null };
                let eve = send(&place, authorized(method, "Bearer eve:read,write", &headers, body)).await;
                assert_eq!(eve.status, 404, "{version}: {method}");
                let nobody = send(&place, request(method, &headers, body.to_string())).await;
                assert_eq!(nobody.status, 401, "{version}: {method}");
            }
            let alice = send(&place, authorized("POST", "Bearer alice:other", &headers, &ping)).await;
            assert_eq!(alice.status, 200, "{version}: she has another token now");
            place.release_sessions().await;
        }
    }
}

/// What another principal sends about a session is answered as if there were none: its id, and the ids of its events.
#[tokio::test]
async fn s12_a_session_of_another_principal_does_not_exist() {
    for version in &ALL[..3] {
        let home = endpoint();
        let client = Client::open(&home, version, "Bearer alice:read").await;
        let ping = call(1, "ping", &json!({}));
        for (method, body) in [("POST", &ping), ("GET", &Value::Null), ("DELETE", &Value::Null)] {
            let mut answers = Vec::new();
            for session in [client.session.as_deref().unwrap(), "00000000-0000-4000-8000-000000000000"] {
                let headers = [("mcp-session-id", session), ("last-event-id", "1-1")];
                let reply = send(&home, authorized(method, "Bearer eve:read,write", &headers, body)).await;
                let status = reply.status.as_u16();
                answers.push((status, reply.json().await));
            }
            assert_eq!(answers[0].0, 404, "{version}: {method}");
            assert_eq!(answers[0], answers[1], "{version}: {method}");
        }
        let headers = [("mcp-session-id", client.session.as_deref().unwrap())];
        let alice = send(&home, authorized("POST", "Bearer alice:read", &headers, &ping)).await;
        assert_eq!(alice.status, 200, "{version}: it was not ended");
    }
}

/// The first transport has no scopes of its own; but its sessions belong to somebody, too, and its tools ask.
#[tokio::test]
async fn the_first_transport_knows_who_asks() {
    let endpoint = endpoint().http_sse();
    let mut stream = send(&endpoint, authorized("GET", "Bearer alice:read", &[], &Value::Null)).await;
    let address = String::from_utf8(stream.body.event().await.unwrap().data.to_vec()).unwrap();
    let post = |token: &str, message: &Value| {
        let mut request = authorized("POST", token, &[], message);
        *request.uri_mut() = format!("/mcp{address}").parse().unwrap();
        request
    };
    let hello = initialize(OLDEST);
    assert_eq!(send(&endpoint, post("Bearer eve:read", &hello)).await.status, 404);
    assert_eq!(send(&endpoint, post("Bearer alice:read", &hello)).await.status, 202);
    stream.body.message().await.unwrap();
    for (token, tool, want) in [
        ("Bearer alice:read", "whoami", Some("alice with 1")),
        ("Bearer alice:read,write", "whoami", Some("alice with 2")),
        ("Bearer alice:read", "write", None),
        ("Bearer alice:write", "write", Some("written")),
    ] {
        let message = call(3, "tools/call", &json!({ "name": tool }));
        assert_eq!(send(&endpoint, post(token, &message)).await.status, 202);
        let answer = stream.body.message().await.unwrap();
        match want {
            Some(want) => assert_eq!(answer["result"]["content"][0]["text"], want),
            None => assert_eq!(answer["error"]["data"]["scopes"], json!(["write"]), "{answer}"),
        }
    }
}

/// What travels through the client is good for whoever was asked.
#[tokio::test]
async fn state_belongs_to_whoever_was_asked() {
    let endpoint = endpoint();
    let asked =
        send(&endpoint, alone("tools/call", json!({ "name": "ask" }), &[("authorization", "Bearer alice:read")]));
    let asked = asked.await.json().await;
    let state = asked["result"]["requestState"].as_str().unwrap();
    let yes = json!({ "sure": { "action": "accept", "content": { "yes": true } } });
    let again = json!({ "name": "ask", "requestState": state, "inputResponses": yes });
    for (token, good) in [("Bearer eve:read", false), ("Bearer alice:other", true)] {
        let reply = send(&endpoint, alone("tools/call", again.clone(), &[("authorization", token)])).await;
        let answer = reply.json().await;
        assert_eq!(answer["result"]["content"][0]["text"] == "yes: true", good, "{token}: {answer}");
    }
}

/// What goes on by itself goes on for as long as whoever opened it is who they are; a call is finished.
#[tokio::test]
async fn streams_end_with_the_time_of_their_reader() {
    let endpoint = endpoint().limits(crate::support::limits(|l| l.keep_alive = Duration::from_millis(30)));
    let client = Client::open(&endpoint, POLLING, "Bearer alice:read").await;
    let session = client.session.as_deref().unwrap();
    for (until, ends) in [("1", true), ("99999999999", false), ("18446744073709551615", false)] {
        let alice = [("authorization", "Bearer alice:read"), ("x-until", until)];
        let get = request("GET", &[alice[0], alice[1], ("mcp-session-id", session)], "");
        let listen = alone("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }), &alice);
        for asked in [get, listen] {
            let mut reply = send(&endpoint, asked).await;
            assert!(reply.is_stream());
            let over =
                tokio::time::timeout(Duration::from_secs(if ends { 60 } else { 1 }), reply.body.messages()).await;
            assert_eq!(over.is_ok(), ends, "{until}");
        }
        let slowly = alone("tools/call", json!({ "name": "slowly" }), &alice);
        assert_eq!(text(send(&endpoint, slowly).await).await, "alice with 1");
    }
}

#[tokio::test]
async fn documents_are_for_everybody() {
    let endpoint = endpoint();
    let at = |method: &str, path: &str| {
        let mut request = request(method, &[], "");
        *request.uri_mut() = path.parse().unwrap();
        request
    };
    let reply = send(&endpoint, at("GET", DOCUMENT)).await;
    assert_eq!((reply.status.as_u16(), reply.header("content-type")), (200, Some("application/json")));
    assert_eq!(reply.json().await, json!({ "say": "please" }));
    assert_eq!(send(&endpoint, at("POST", DOCUMENT)).await.status, 405);
    assert_eq!(send(&endpoint, at("GET", "/.well-known/other")).await.status, 401);
    let mut evil = at("GET", DOCUMENT);
    evil.headers_mut().insert("host", HeaderValue::from_static("evil.example"));
    assert_eq!(send(&endpoint, evil).await.status, 403);
    // Without anybody at the door there are no documents.
    assert_eq!(send(&Endpoint::new(server()), at("GET", DOCUMENT)).await.status, 400);
}

/// Whoever is not let in counts while somebody looks at them: a flood cannot pile up at the door.
#[tokio::test]
async fn the_door_is_not_overrun() {
    struct Stuck;
    impl Authorize for Stuck {
        fn authorize<'a>(&'a self, _: &'a Parts) -> BoxFuture<'a, Result<Option<Arc<Caller>>, Challenge>> {
            Box::pin(std::future::pending())
        }
    }
    let endpoint = Endpoint::new(server()).limits(crate::support::limits(|l| l.requests = 2)).authorize(Stuck);
    let waiting: Vec<_> = (0..2).map(|_| tokio::spawn(send_owned(endpoint.clone()))).collect();
    tokio::task::yield_now().await;
    assert_eq!(send_owned(endpoint).await, 503);
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
}

async fn send_owned(endpoint: Endpoint) -> StatusCode {
    send(&endpoint, alone("tools/list", json!({}), &[])).await.status
}

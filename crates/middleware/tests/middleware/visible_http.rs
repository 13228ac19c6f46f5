//! What a caller over HTTP learns of hidden items whose scopes it lacks: nothing.

use std::sync::Arc;

use couplet_core::{BoxFuture, Caller, Limits, Service, Transport};
use couplet_http::server::{Authorize, Challenge, HttpTransport};
use couplet_middleware::{Item, Tags, Visibility};
use couplet_server::{Server, extract::Path, prompt, resource, tool};
use http::{StatusCode, request::Parts};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// The caller is its token, without scopes.
struct Names;

impl Authorize for Names {
    fn authorize<'a>(&'a self, request: &'a Parts) -> BoxFuture<'a, Result<Option<Arc<Caller>>, Challenge>> {
        let name = request.headers.get("authorization").and_then(|name| name.to_str().ok()).unwrap_or("nobody");
        let caller = Some(Arc::new(Caller::new(name)));
        Box::pin(std::future::ready(Ok(caller)))
    }

    fn insufficient(&self, _: &Parts, _: Option<&Caller>, _: &[String]) -> Challenge {
        Challenge::new(StatusCode::FORBIDDEN, "more scopes")
    }
}

fn server() -> Server {
    Server::new("app", "1")
        .tool(tool("purge", || "purged").scopes(["admin"]))
        .tool(tool("hello", || "hello"))
        .resource(resource("secret://one", || "one").scopes(["admin"]))
        .resource(
            resource("vault://{name}", |Path(name): Path<String>| name)
                .scopes(["admin"])
                .complete_from("name", ["one"]),
        )
        .prompt(prompt("audit", || "audit").scopes(["admin"]))
}

/// Hides from Bob what Ann can see.
fn by_caller() -> Visibility {
    Visibility::new(server(), |caller: Option<&Caller>, item: Item<'_>| {
        let is_ann = caller.is_some_and(|caller| &**caller.principal() == "ann");
        is_ann || matches!(item, Item::Tool("hello") | Item::Resource("vault://one" | "vault://none"))
    })
}

async fn listen(service: Arc<dyn Service>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let transport = HttpTransport::from_listener(listener).endpoint(|endpoint| endpoint.authorize(Names));
    // It ends with the runtime of the test.
    tokio::spawn(transport.serve(service, Limits::default()));
    host
}

#[derive(Clone, Copy, Debug)]
enum Era {
    Session,
    Stateless,
}

pub(crate) struct Caught {
    status: u16,
    pub(crate) body: Value,
    session: Option<String>,
}

/// Posts one message, and reads the whole response.
pub(crate) async fn post(host: &str, caller: &str, more: &str, body: &Value) -> Caught {
    let mut stream = TcpStream::connect(host).await.unwrap();
    let body = body.to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\nauthorization: {caller}\r\n\
         accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n{more}content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    let status = response[9..12].parse().unwrap();
    let session = response.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).map(str::to_owned);
    let (start, end) = (response.find('{'), response.rfind('}'));
    let body = start.zip(end).map(|(start, end)| serde_json::from_str(&response[start..=end]).unwrap());
    Caught { status, body: body.unwrap_or_default(), session }
}

impl Era {
    /// The status and the error of a request.
    async fn ask(self, host: &str, caller: &str, method: &str, params: &Value) -> (u16, Value) {
        let mut params = params.clone();
        let name = params.get("name").or_else(|| params.get("uri")).map(|name| name.as_str().unwrap().to_owned());
        let more = match self {
            Self::Session => {
                let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } } });
                let session = post(host, caller, "", &hello).await.session.expect("a session");
                format!("mcp-session-id: {session}\r\nmcp-protocol-version: 2025-11-25\r\n")
            }
            Self::Stateless => {
                params["_meta"] = json!({
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {},
                });
                let name = name.map(|name| format!("mcp-name: {name}\r\n")).unwrap_or_default();
                format!("mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n{name}")
            }
        };
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let Caught { status, mut body, .. } = post(host, caller, &more, &message).await;
        (status, body["error"].take())
    }
}

/// The method and the parameters of a request about an item.
type About = fn(&str) -> (&'static str, Value);

const CALL: About = |name| ("tools/call", json!({ "name": name }));
const PROMPT: About = |name| ("prompts/get", json!({ "name": name }));
const READ: About = |uri| ("resources/read", json!({ "uri": uri }));
const COMPLETE: About = |uri| {
    let argument = json!({ "name": "name", "value": "" });
    ("completion/complete", json!({ "ref": { "type": "ref/resource", "uri": uri }, "argument": argument }))
};

#[tokio::test]
async fn a_hidden_item_is_answered_like_an_unknown_one() {
    let inside: Arc<dyn Service> = Arc::new(by_caller());
    let plain = listen(inside.clone()).await;
    let mounted = listen(Arc::new(Server::new("outer", "1").mount("in", inside).build())).await;
    for (host, about, hidden, unknown) in [
        (&plain, CALL, "purge", "gone"),
        (&plain, PROMPT, "audit", "gone"),
        (&plain, READ, "secret://one", "gone://one"),
        // Only its template is hidden.
        (&plain, READ, "vault://one", "gone://one"),
        (&plain, COMPLETE, "vault://{name}", "gone://{name}"),
        (&mounted, CALL, "in_purge", "in_gone"),
        (&mounted, PROMPT, "in_audit", "in_gone"),
        (&mounted, READ, "secret://in/one", "gone://in/one"),
        (&mounted, READ, "vault://in/one", "gone://in/one"),
    ] {
        for era in [Era::Session, Era::Stateless] {
            let ask = async |caller: &str, name: &str| {
                let (method, params) = about(name);
                let (status, error) = era.ask(host, caller, method, &params).await;
                // A mounted server answers with the names inside.
                let inside = name.replace("in_", "").replace("://in/", "://");
                (status, error.to_string().replace(name, "ITEM").replace(&inside, "ITEM"))
            };
            assert_eq!(ask("bob", hidden).await, ask("bob", unknown).await, "{era:?} {hidden}");
            // Ann can see that there is something, and that she lacks a scope.
            assert_eq!(ask("ann", hidden).await.0, 403, "{era:?} {hidden}");
        }
    }
}

#[tokio::test]
async fn a_disabled_tag_hides_the_scopes() {
    let tags = Tags::new().tools("admin", ["purge"]).disabled("admin");
    let host = listen(Arc::new(Visibility::by_tags(server(), tags))).await;
    for era in [Era::Session, Era::Stateless] {
        let (hidden, _) = era.ask(&host, "bob", "tools/call", &json!({ "name": "purge" })).await;
        let (unknown, _) = era.ask(&host, "bob", "tools/call", &json!({ "name": "gone" })).await;
        assert_eq!(hidden, unknown, "{era:?}");
        assert_ne!(hidden, 403, "{era:?}");
    }
}

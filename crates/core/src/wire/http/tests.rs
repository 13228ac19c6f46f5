//! Requests over HTTP as tables: headers and a body, and the connection that they belong to.

use std::{
    sync::Arc,
    task::{Context, Poll, Waker},
};

use couplet_types::{Implementation, ServerCapabilities};
use serde_json::{Value, json};

use super::*;
use crate::{
    Bounds, BoxFuture, Call, ExtensionMethod, ExtensionSpec, Hub, Limits, Reply, ResultBody, ServerConnection,
    http::headers::ParamHeader, message,
};

/// Headers, each in one string; a name that occurs twice is repeated.
struct Headers(Vec<(String, String)>);

impl Headers {
    fn new(lines: &[&str]) -> Self {
        let pairs = lines.iter().map(|line| line.split_once(": ").unwrap());
        Self(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }
}

impl Fields for Headers {
    fn field(&self, name: &str) -> Field<'_> {
        let mut all = self.0.iter().filter(|(key, _)| key == name);
        match (all.next(), all.next()) {
            (None, _) => Field::Absent,
            (Some((_, value)), None) => Field::Value(value.as_bytes()),
            (Some(_), Some(_)) => Field::Repeated,
        }
    }
}

/// A server with these revisions, a tool `t` whose argument `region` is mirrored, and an extension.
struct Server(Vec<ProtocolVersion>, Hub);

impl Server {
    fn new(versions: &str) -> Self {
        Self(versions.split(' ').map(|version| version.parse().unwrap()).collect(), Hub::new())
    }
}

impl Service for Server {
    fn describe(&self) -> Arc<Description> {
        let mut capabilities = ServerCapabilities::default();
        (capabilities.tools, capabilities.resources) = (Some(Default::default()), Some(Default::default()));
        let mut about = Description::new(Implementation::new("s", "1"), capabilities);
        about.versions.clone_from(&self.0);
        let method = ExtensionMethod::new("clock/get").named_by("zone");
        about.extensions = vec![ExtensionSpec::new("com.example/clock").method(method)];
        Arc::new(about)
    }

    fn call(&self, _: Call) -> BoxFuture<'static, Reply> {
        Box::pin(std::future::ready(Reply::Complete(ResultBody::empty())))
    }

    fn hub(&self) -> &Hub {
        &self.1
    }

    fn header_params(&self, tool: &str) -> Option<Arc<[ParamHeader]>> {
        let region = json!({ "type": "string", "x-mcp-header": "Region" });
        let schema = json!({ "type": "object", "properties": { "region": region } });
        (tool == "t").then(|| ParamHeader::all(&schema).unwrap().into())
    }
}

fn frame(body: &str) -> Frame {
    message::read(body.to_owned().into(), Bounds::default()).unwrap()
}

fn request(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}

fn refusal_shown(refusal: &Refusal) -> String {
    let id = refusal.id.as_ref().map_or("-".to_owned(), |id| json!(id).to_string());
    format!("{} {id} {} {}", refusal.status, refusal.error.code, refusal.error.message)
}

fn shown(placement: Result<Placement, Refusal>) -> String {
    match placement {
        Ok(Placement::Stateless(checked)) => {
            let method = checked.request().map_or("-", |method| method.as_str());
            format!("stateless {} {method}", checked.revision.version())
        }
        Ok(Placement::Unbound) => "unbound".to_owned(),
        Ok(Placement::Initialize) => "initialize".to_owned(),
        Ok(Placement::Session(id)) => format!("session {id}"),
        Ok(Placement::MissingSession) => "no session".to_owned(),
        Err(refusal) => refusal_shown(&refusal),
    }
}

const ALL: &str = "2026-07-28 2025-11-25 2025-03-26";
const NEW: &str = "mcp-protocol-version: 2026-07-28";
const OLD: &str = "mcp-protocol-version: 2025-11-25";

#[track_caller]
fn check(headers: &[&str], body: &str, expected: &str) {
    assert_eq!(shown(place(&Headers::new(headers), &frame(body), &Server::new(ALL))), expected, "{headers:?} {body}");
}

/// The parameters of a stateless request.
fn stateless(version: &str, more: Value) -> Value {
    let mut params = more;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}

#[test]
fn messages_of_sessions() {
    let session = "mcp-session-id: abc";
    let call = request("tools/call", &json!({ "name": "t" }));
    let ping = request("ping", &json!({}));
    let hello = request("initialize", &json!({}));
    let note = |method: &str| json!({ "jsonrpc": "2.0", "method": method }).to_string();
    let response = json!({ "jsonrpc": "2.0", "id": 1, "result": {} }).to_string();
    let batch = format!("[{call}]");
    let unknown = "mcp-protocol-version: 2024-11-05";
    for (headers, body, expected) in [
        (&[OLD, session][..], &*call, "session abc"),
        (&[session], &call, "session abc"),
        (&["mcp-protocol-version:  2025-11-25 ", "mcp-session-id: \tabc "], &call, "session abc"),
        (&[OLD], &call, "no session"),
        (&[unknown, session], &call, "400 1 -32022 protocol version `2024-11-05` is not supported"),
        (&["mcp-protocol-version: x", session], &call, "400 1 -32022 protocol version `x` is not supported"),
        (&[OLD, OLD, session], &call, "400 1 -32020 the header `mcp-protocol-version` is there more than once"),
        (&[OLD, session, session], &call, "400 1 -32020 the header `mcp-session-id` is there more than once"),
        (
            &[OLD, "mcp-session-id: a\u{7f}b"],
            &call,
            "400 1 -32020 the header `mcp-session-id` has characters that a header must not have",
        ),
        (
            &[OLD, "mcp-session-id: é"],
            &call,
            "400 1 -32020 the header `mcp-session-id` has characters that a header must not have",
        ),
        (&[], &hello, "initialize"),
        (&[session], &hello, "initialize"),
        (&[unknown], &hello, "400 1 -32022 protocol version `2024-11-05` is not supported"),
        (&[], &note("initialize"), "no session"),
        (&[], &ping, "unbound"),
        (&[session], &ping, "session abc"),
        (&[], &note("ping"), "no session"),
        (&[session], &note("notifications/initialized"), "session abc"),
        (&[OLD, session], &response, "session abc"),
        (&[OLD, session], &batch, "session abc"),
        (&[], &response, "no session"),
        (&[unknown, session], &response, "400 - -32022 protocol version `2024-11-05` is not supported"),
        (&[NEW, session], &response, "400 - -32600 a response needs a session"),
        (&[NEW, session], &batch, "400 - -32600 a batch needs a session"),
    ] {
        check(headers, body, expected);
    }
}

#[test]
fn stateless_requests_repeat_their_body() {
    let list = "mcp-method: tools/list";
    let body = request("tools/list", &stateless("2026-07-28", json!({})));
    let unmarked = request("tools/list", &json!({}));
    let meta = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } });
    for (headers, body, expected) in [
        (&[NEW, list][..], &*body, "stateless 2026-07-28 tools/list"),
        (&[list], &body, "400 1 -32020 the header `mcp-protocol-version` is missing"),
        (&[NEW], &body, "400 1 -32020 the header `mcp-method` is missing"),
        (&[NEW, "mcp-method: tools/call"], &body, "400 1 -32020 the header `mcp-method` is not what the body says"),
        (&[NEW, list, list], &body, "400 1 -32020 the header `mcp-method` is there more than once"),
        (&[OLD, list], &body, "400 1 -32020 the header `mcp-protocol-version` is not what the body says"),
        (&[NEW, list], &unmarked, "400 1 -32602 `_meta` lacks `io.modelcontextprotocol/protocolVersion`"),
        (
            &[NEW, list],
            &request("tools/list", &meta),
            "400 1 -32602 `_meta` lacks `io.modelcontextprotocol/clientCapabilities`",
        ),
        (
            &[OLD, list],
            &request("tools/list", &stateless("2025-11-25", json!({}))),
            "400 1 -32022 protocol version `2025-11-25` is not supported",
        ),
        (
            &["mcp-protocol-version: 2030-01-01", list],
            &request("tools/list", &stateless("2030-01-01", json!({}))),
            "400 1 -32022 protocol version `2030-01-01` is not supported",
        ),
        (
            &[NEW, "mcp-method: prompts/list"],
            &request("prompts/list", &stateless("2026-07-28", json!({}))),
            "404 1 -32601 method `prompts/list` is not available",
        ),
        (
            &[NEW, "mcp-method: ping"],
            &request("ping", &stateless("2026-07-28", json!({}))),
            "404 1 -32601 method `ping` is not available",
        ),
    ] {
        check(headers, body, expected);
    }
    let note =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": stateless("2026-07-28", json!({})) });
    for (headers, expected) in [
        (&[NEW][..], "unbound"),
        (&[], "unbound"),
        (&[NEW, "mcp-method: notifications/cancelled"], "unbound"),
        (&[NEW, "mcp-method: x"], "400 - -32020 the header `mcp-method` is not what the body says"),
    ] {
        check(headers, &note.to_string(), expected);
    }
}

/// A checked request is answered as one that the connection checks itself.
#[test]
fn a_checked_request_is_not_checked_again() {
    let text = request("tools/list", &stateless("2026-07-28", json!({})));
    let service: Arc<dyn Service> = Arc::new(Server::new(ALL));
    let headers = Headers::new(&[NEW, "mcp-method: tools/list"]);
    let Ok(Placement::Stateless(checked)) = place(&headers, &frame(&text), &*service) else { panic!() };
    let answer = |receive: &dyn Fn(&mut ServerConnection)| {
        let mut connection = ServerConnection::new(service.clone(), Limits::default());
        receive(&mut connection);
        match connection.poll_send(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(text)) => text.into_bytes(),
            other => panic!("{other:?}"),
        }
    };
    let unchecked = answer(&|connection| connection.receive_frame(frame(&text)));
    assert_eq!(answer(&|connection| connection.receive_checked(frame(&text), checked)), unchecked);
    assert!(unchecked.starts_with(br#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete""#));
    // The proof counts: a method that the server lacks is not looked up again.
    let absent = text.replace("tools/list", "prompts/list");
    let absent = answer(&|connection| connection.receive_checked(frame(&absent), checked));
    assert!(absent.starts_with(br#"{"jsonrpc":"2.0","id":1,"result""#));
}

#[test]
fn stateless_requests_repeat_the_name_of_their_target() {
    let call = |params: Value| request("tools/call", &stateless("2026-07-28", params));
    let read = request("resources/read", &stateless("2026-07-28", json!({ "uri": "a:b" })));
    let clock = request("clock/get", &stateless("2026-07-28", json!({ "zone": "UTC" })));
    let plain = call(json!({ "name": "plain", "arguments": { "region": "eu" } }));
    let tool = call(json!({ "name": "t", "arguments": { "region": "eu" } }));
    let called = "stateless 2026-07-28 tools/call";
    let [by_tool, by_read, by_clock] =
        ["mcp-method: tools/call", "mcp-method: resources/read", "mcp-method: clock/get"];
    let region = "mcp-param-region: eu";
    for (headers, body, expected) in [
        (&[NEW, by_tool, "mcp-name: plain"][..], &*plain, called),
        (&[NEW, by_tool, "mcp-name: =?base64?cGxhaW4=?="], &plain, called),
        (&[NEW, by_tool], &plain, "400 1 -32020 the header `mcp-name` is missing"),
        (&[NEW, by_tool, "mcp-name: t"], &plain, "400 1 -32020 the header `mcp-name` is not what the body says"),
        (
            &[NEW, by_tool, "mcp-name: =?base64?!?="],
            &plain,
            "400 1 -32020 the header `mcp-name` cannot be read: it is not valid Base64",
        ),
        (
            &[NEW, by_tool, "mcp-name: plain", "mcp-name: plain"],
            &plain,
            "400 1 -32020 the header `mcp-name` is there more than once",
        ),
        (&[NEW, by_tool], &call(json!({})), called),
        (&[NEW, by_tool], &call(json!({ "name": 7 })), called),
        (&[NEW, by_tool, "mcp-name: t", region], &tool, called),
        (&[NEW, by_tool, "mcp-name: t"], &tool, "400 1 -32020 the header `mcp-param-Region` is missing"),
        (
            &[NEW, by_tool, "mcp-name: t", "mcp-param-region: us"],
            &tool,
            "400 1 -32020 the header `mcp-param-Region` is not what the body says",
        ),
        (
            &[NEW, by_tool, "mcp-name: t", region, region],
            &tool,
            "400 1 -32020 the header `mcp-param-Region` is there more than once",
        ),
        (&[NEW, by_tool, "mcp-name: t"], &call(json!({ "name": "t" })), called),
        (&[NEW, by_read, "mcp-name: a:b"], &read, "stateless 2026-07-28 resources/read"),
        (&[NEW, by_read], &read, "400 1 -32020 the header `mcp-name` is missing"),
        (&[NEW, by_clock, "mcp-name: UTC"], &clock, "stateless 2026-07-28 -"),
        (&[NEW, by_clock], &clock, "400 1 -32020 the header `mcp-name` is missing"),
    ] {
        check(headers, body, expected);
    }
    // Only tools have mirrored arguments, whatever the name of a resource.
    let read =
        request("resources/read", &stateless("2026-07-28", json!({ "uri": "t", "arguments": { "region": "eu" } })));
    check(&[NEW, by_read, "mcp-name: t"], &read, "stateless 2026-07-28 resources/read");
}

#[test]
fn requests_without_a_body_name_their_session() {
    for (headers, expected) in [
        (&["mcp-session-id: abc"][..], "abc"),
        (&[OLD, "mcp-session-id: abc"], "abc"),
        (&[OLD], "-"),
        (&[NEW, "mcp-session-id: abc"], "405 - -32600 this revision has no sessions"),
        (&["mcp-protocol-version: x"], "400 - -32022 protocol version `x` is not supported"),
        (&[OLD, OLD], "400 - -32020 the header `mcp-protocol-version` is there more than once"),
    ] {
        let found = session(&Headers::new(headers), &Server::new(ALL).describe());
        let found = found.map_or_else(|e| refusal_shown(&e), |id| id.unwrap_or_else(|| "-".to_owned()));
        assert_eq!(found, expected, "{headers:?}");
    }
}

#[test]
fn sessions_have_a_revision() {
    for (server, headers, version, sessions) in [
        (ALL, &[OLD][..], "2025-11-25", true),
        (ALL, &["mcp-protocol-version: 2024-11-05"], "2024-11-05", true),
        (ALL, &[], "2025-03-26", true),
        (ALL, &[NEW], "2025-03-26", true),
        (ALL, &[OLD, OLD], "2025-03-26", true),
        ("2026-07-28 2025-11-25 2025-06-18", &[], "2025-11-25", true),
        ("2026-07-28", &[], "-", false),
    ] {
        let about = Server::new(server).describe();
        let found = session_version(&Headers::new(headers), &about);
        assert_eq!(found.map_or("-", ProtocolVersion::as_str), version, "{server} {headers:?}");
        assert_eq!(has_sessions(&about), sessions, "{server}");
    }
}

#[test]
fn a_message_without_a_session_is_refused() {
    let needs = "needs `_meta` with `io.modelcontextprotocol/protocolVersion` and \
                 `io.modelcontextprotocol/clientCapabilities`, or a session opened by `initialize`; this server supports \
                 2026-07-28, 2025-11-25, 2025-03-26";
    for (body, expected) in [
        (request("tools/list", &json!({})), format!("400 1 -32602 `tools/list` {needs}")),
        (r#"{"jsonrpc":"2.0","method":"x"}"#.to_owned(), format!("400 - -32602 `x` {needs}")),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_owned(), "400 - -32600 a response needs a session".to_owned()),
        (r#"[{"jsonrpc":"2.0","method":"x"}]"#.to_owned(), "400 - -32600 a batch needs a session".to_owned()),
    ] {
        let refusal = no_session(&frame(&body), &Server::new(ALL).describe());
        assert_eq!(refusal_shown(&refusal), expected, "{body}");
    }
}

#[test]
fn refusals_have_a_body_and_a_status() {
    let error = RpcError::new(-32020, "no");
    let with_id = Refusal::bad(Some(&RequestId::Number(1)), error.clone());
    assert_eq!(with_id.text(), r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"no"}}"#);
    assert_eq!(refuse(&error), r#"{"jsonrpc":"2.0","error":{"code":-32020,"message":"no"}}"#);
    for (headers, id) in
        [(&[OLD][..], ""), (&["mcp-protocol-version: 2025-06-18"], r#""id":null,"#), (&[], r#""id":null,"#)]
    {
        let found = unreadable(&Headers::new(headers), &Malformed::new(None, error.clone()));
        assert_eq!(
            found,
            format!(r#"{{"jsonrpc":"2.0",{id}"error":{{"code":-32020,"message":"no"}}}}"#),
            "{headers:?}"
        );
    }
    for (code, expected) in [
        (None, 200),
        (Some(-32601), 404),
        (Some(-32020), 400),
        (Some(-32021), 400),
        (Some(-32022), 400),
        (Some(-32602), 200),
        (Some(-32603), 200),
    ] {
        assert_eq!(status(code), expected, "{code:?}");
    }
}

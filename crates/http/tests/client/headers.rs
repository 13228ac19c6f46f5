//! What stands in the headers of a request that stands alone.

use couplet_client::Client;
use couplet_core::ErrorKind;
use couplet_http::client::Body;
use http::Response;
use serde_json::{Value, json};

use crate::mock::{MODERN, Mock, Seen, empty, reply, says, text, tools};

fn annotated() -> Value {
    json!({
        "region": { "type": "string", "x-mcp-header": "Region" },
        "count": { "type": "integer", "x-mcp-header": "Count" },
        "dry": { "type": "boolean", "x-mcp-header": "Method" },
        "deep": { "type": "object", "properties": { "er": { "type": "string", "x-mcp-header": "Deep" } } },
        "query": { "type": "string" },
    })
}

fn serve(seen: &Seen) -> Response<Body> {
    let result = match seen.what() {
        "tools/list" => tools(&[("find", annotated())]),
        "tools/call" => says("done"),
        "prompts/get" => json!({ "messages": [] }),
        "resources/read" => json!({ "contents": [], "ttlMs": 0, "cacheScope": "private" }),
        _ => return empty(400),
    };
    reply(200, &seen.result(result))
}

#[tokio::test(start_paused = true)]
async fn lines_193_194_195_204_every_request_says_what_it_is() {
    let mock = Mock::modern(serve);
    let client = mock.connect().await;
    client.tools().await.unwrap();
    client.call("find", ()).await.unwrap();
    client.prompt("ask", ()).await.unwrap();
    client.read("file:///a b/ü").await.unwrap();
    let names = [
        ("server/discover", None),
        ("tools/list", None),
        ("tools/call", Some("find")),
        ("prompts/get", Some("ask")),
        ("resources/read", Some("=?base64?ZmlsZTovLy9hIGIvw7w=?=")),
    ];
    assert_eq!(mock.asked(), names.map(|(method, _)| method));
    for (seen, (method, name)) in mock.seen().iter().zip(names) {
        assert_eq!((&*seen.verb, seen.header("mcp-method"), seen.header("mcp-name")), ("POST", Some(method), name));
        assert_eq!(seen.header("accept"), Some("application/json, text/event-stream"));
        assert_eq!(seen.header("content-type"), Some("application/json"));
        assert_eq!(seen.header("mcp-protocol-version"), Some(MODERN));
        assert_eq!(seen.body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], MODERN);
        assert_eq!(seen.header("mcp-session-id"), None);
    }
}

#[tokio::test(start_paused = true)]
async fn lines_213_214_217_221_annotated_arguments_are_mirrored() {
    let mock = Mock::modern(serve);
    let client = mock.connect().await;
    client.call("find", json!({ "region": "unseen" })).await.unwrap();
    assert_eq!(mock.last("tools/call").header("mcp-param-region"), None);
    client.tools().await.unwrap();
    for (arguments, header, expected) in [
        (json!({ "region": "us-west1" }), "region", Some("us-west1")),
        (json!({ "region": "us west" }), "region", Some("us west")),
        (json!({ "region": "" }), "region", Some("")),
        (json!({ "region": "Hello, 世界" }), "region", Some("=?base64?SGVsbG8sIOS4lueVjA==?=")),
        (json!({ "region": " padded " }), "region", Some("=?base64?IHBhZGRlZCA=?=")),
        (json!({ "region": "a\nb" }), "region", Some("=?base64?YQpi?=")),
        (json!({ "region": "=?base64?literal?=" }), "region", Some("=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=")),
        (json!({ "region": null }), "region", None),
        (json!({}), "region", None),
        (json!({ "count": 42 }), "count", Some("42")),
        (json!({ "count": -7 }), "count", Some("-7")),
        (json!({ "dry": false }), "method", Some("false")),
        (json!({ "deep": { "er": "x" } }), "deep", Some("x")),
        (json!({ "er": "x" }), "deep", None),
        (json!({ "query": "x" }), "query", None),
    ] {
        client.call("find", &arguments).await.unwrap();
        let seen = mock.last("tools/call");
        assert_eq!(seen.header(&format!("mcp-param-{header}")), expected, "{arguments}");
        assert_eq!(seen.header("mcp-method"), Some("tools/call"));
    }
    let before = mock.count("tools/call");
    let error = client.call("find", json!({ "count": 9_007_199_254_740_993_i64 })).await.unwrap_err();
    assert_eq!((error.kind(), mock.count("tools/call")), (ErrorKind::Config, before));
}

#[tokio::test(start_paused = true)]
async fn line_223_a_tool_that_breaks_the_rules_is_left_out() {
    let wrong = |annotation: Value, kind: &str| json!({ "a": { "type": kind, "x-mcp-header": annotation } });
    let twice = json!({
        "a": { "type": "string", "x-mcp-header": "Same" }, "b": { "type": "string", "x-mcp-header": "sAME" },
    });
    let items = json!({ "a": { "type": "array", "items": { "type": "string", "x-mcp-header": "X" } } });
    let list = [
        ("good", annotated()),
        ("empty", wrong(json!(""), "string")),
        ("space", wrong(json!("a b"), "string")),
        ("colon", wrong(json!("a:b"), "string")),
        ("wide", wrong(json!("ä"), "string")),
        ("control", wrong(json!("a\nb"), "string")),
        ("number", wrong(json!("X"), "number")),
        ("object", wrong(json!("X"), "object")),
        ("twice", twice),
        ("items", items),
        ("plain", json!({})),
    ];
    let mock = Mock::modern(move |seen| {
        let mut page = tools(&list);
        page["nextCursor"] = if seen.body["params"]["cursor"].is_null() { json!("2") } else { Value::Null };
        if page["nextCursor"].is_null() {
            page = tools(&[("other", json!({}))]);
        }
        reply(200, &seen.result(page))
    });
    let names: Vec<_> = mock.connect().await.tools().await.unwrap().into_iter().map(|t| t.name).collect();
    assert_eq!(names, ["good", "plain", "other"]);
}

#[tokio::test(start_paused = true)]
async fn line_224_the_list_is_read_again_when_headers_do_not_match() {
    let mock = Mock::modern(|seen| match seen.what() {
        "tools/call" if seen.header("mcp-param-region").is_none() => reply(400, &seen.error(-32020, Value::Null)),
        _ => serve(seen),
    });
    let client = mock.connect().await;
    let called = client.call("find", json!({ "region": "x" })).await.unwrap();
    assert_eq!(called.text(), "done");
    assert_eq!(mock.asked()[1..], ["tools/call", "tools/list", "tools/call"]);
    let ids: Vec<_> = mock.seen().iter().map(|s| s.body["id"].clone()).collect();
    assert_ne!(ids[1], ids[3]);
    // Without anything to change it is not tried again.
    let error = client.call("find", json!({})).await.unwrap_err();
    assert_eq!(error.rpc().unwrap().code, -32020);
    assert_eq!(mock.asked()[4..], ["tools/call", "tools/list"]);
}

#[tokio::test(start_paused = true)]
async fn line_229_what_is_too_large_is_said() {
    for (status, expected) in [(413, "too large"), (431, "headers"), (429, "too many")] {
        let mock = Mock::modern(move |_| text(status, "text/html", "<html>"));
        let error = mock.connect().await.call("find", ()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transport);
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn errors_with_a_status_are_answers() {
    for (status, code) in [(404, -32601), (400, -32021), (400, -32602), (200, -32603)] {
        let mock = Mock::modern(move |seen| reply(status, &seen.error(code, Value::Null)));
        let error = mock.connect().await.call("find", ()).await.unwrap_err();
        assert_eq!(error.rpc().unwrap().code, code);
    }
}

#[tokio::test(start_paused = true)]
async fn headers_of_the_user_go_along_and_are_not_shown() {
    let mock = Mock::modern(serve);
    let target = mock.target().header("X-Tenant", "acme").bearer("secret");
    let shown = format!("{target:?}");
    assert!(!shown.contains("secret") && !shown.contains("acme"), "{shown}");
    Client::new("test", "1").connect(target).await.unwrap();
    let seen = mock.last("server/discover");
    assert_eq!((seen.header("x-tenant"), seen.header("authorization")), (Some("acme"), Some("Bearer secret")));
    for (name, value) in
        [("mcp-method", "x"), ("Accept", "x"), ("bad name", "x"), ("x", "a\r\nb"), ("Last-Event-ID", "1")]
    {
        let target = mock.target().header(name, value);
        let error = Client::new("test", "1").connect(target).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{name}");
    }
    for url in ["ftp://a/", "a/b", "https://user:pass@a/", ""] {
        let error = Client::new("test", "1").connect(couplet_http::client::http(url)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{url}");
        assert!(!error.to_string().contains("pass"));
    }
}

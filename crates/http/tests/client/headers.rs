//! What stands in the headers of a request that stands alone.

use std::time::Duration;

use couplet_client::Client;
use couplet_core::ErrorKind;
use couplet_http::client::Body;
use http::Response;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    log::Log,
    mock::{MODERN, Mock, Seen, Step, empty, reply, says, stream, text, tools},
};

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

/// What a client of the stateless era sends: requests of every kind, one that asks something back, and one that is
/// taken back.
async fn conversation() -> Vec<Seen> {
    let mock = Mock::modern(|seen| match (seen.what(), seen.body["params"]["name"].as_str()) {
        ("tools/call", Some("ask")) if seen.body["params"]["inputResponses"].is_null() => {
            let params =
                json!({ "mode": "form", "message": "?", "requestedSchema": { "type": "object", "properties": {} } });
            let inputs = json!({ "a": { "method": "elicitation/create", "params": params } });
            reply(200, &seen.result(json!({ "resultType": "input_required", "inputRequests": inputs })))
        }
        ("tools/call", Some("slow")) => stream([Step::Hang]),
        _ => serve(seen),
    });
    let builder = Client::new("test", "1").on_elicit(|ask| async move { ask.accept(json!({})) });
    let client = builder.connect(mock.target()).await.unwrap();
    client.tools().await.unwrap();
    client.call("find", ()).await.unwrap();
    client.call("ask", ()).await.unwrap();
    assert!(timeout(Duration::from_secs(1), client.call("slow", ()).into_future()).await.is_err());
    client.prompt("ask", ()).await.unwrap();
    client.read("file:///a b/ü").await.unwrap();
    client.close().await.unwrap();
    let calls = ["tools/call"; 4];
    let asked = [&["server/discover", "tools/list"], &calls[..], &["prompts/get", "resources/read"]].concat();
    assert_eq!(mock.asked(), asked);
    mock.seen()
}

#[tokio::test(start_paused = true)]
async fn line_193_each_message_is_a_post_of_its_own() {
    let mut ids = Vec::new();
    for seen in conversation().await {
        assert_eq!((&*seen.verb, seen.header("content-type")), ("POST", Some("application/json")));
        assert!(seen.body["method"].is_string() && seen.body["jsonrpc"] == "2.0", "{}", seen.body);
        assert!(!ids.contains(&seen.body["id"]), "{}", seen.body);
        ids.push(seen.body["id"].clone());
    }
}

#[tokio::test(start_paused = true)]
async fn line_194_either_kind_of_response_is_accepted() {
    for seen in conversation().await {
        assert_eq!(seen.header("accept"), Some("application/json, text/event-stream"));
    }
}

#[tokio::test(start_paused = true)]
async fn line_195_every_request_says_what_it_is() {
    for seen in conversation().await {
        assert_eq!(seen.header("mcp-method"), Some(seen.what()));
        assert!(seen.headers.contains_key("mcp-protocol-version"));
        let name = seen.body["params"]["name"].as_str();
        let expected = if seen.what() == "resources/read" { Some("=?base64?ZmlsZTovLy9hIGIvw7w=?=") } else { name };
        assert_eq!(seen.header("mcp-name"), expected, "{}", seen.body);
        assert_eq!(seen.header("mcp-session-id"), None);
    }
}

#[tokio::test(start_paused = true)]
async fn line_204_the_header_names_the_revision_of_the_body() {
    for seen in conversation().await {
        assert_eq!(seen.header("mcp-protocol-version"), Some(MODERN));
        assert_eq!(seen.body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], MODERN);
    }
}

/// Calls a tool whose annotations are known, and compares one of its headers.
async fn check_mirrored(cases: &[(Value, &str, Option<&str>)]) {
    let mock = Mock::modern(serve);
    let client = mock.connect().await;
    client.tools().await.unwrap();
    for (arguments, header, expected) in cases {
        client.call("find", arguments).await.unwrap();
        let seen = mock.last("tools/call");
        assert_eq!(seen.header(&format!("mcp-param-{header}")), *expected, "{arguments}");
        assert_eq!(seen.body["params"]["arguments"], *arguments);
        assert_eq!(seen.header("mcp-method"), Some("tools/call"));
    }
}

#[tokio::test(start_paused = true)]
async fn line_213_annotated_arguments_are_mirrored_from_where_they_are() {
    check_mirrored(&[
        (json!({ "region": "us-west1" }), "region", Some("us-west1")),
        (json!({ "deep": { "er": "x" } }), "deep", Some("x")),
        (json!({ "er": "x" }), "deep", None),
        (json!({ "deep": { "deep": { "er": "x" } } }), "deep", None),
        (json!({ "query": "x" }), "query", None),
        (json!({ "dry": true }), "method", Some("true")),
    ])
    .await;
    // What is not known is not mirrored.
    let mock = Mock::modern(serve);
    mock.connect().await.call("find", json!({ "region": "unseen" })).await.unwrap();
    assert_eq!(mock.last("tools/call").header("mcp-param-region"), None);
}

#[tokio::test(start_paused = true)]
async fn line_214_nothing_has_no_header() {
    check_mirrored(&[
        (json!({ "region": null }), "region", None),
        (json!({}), "region", None),
        (json!({ "deep": null }), "deep", None),
        (json!({ "deep": {} }), "deep", None),
        (json!({ "deep": { "er": null } }), "deep", None),
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn line_217_values_are_written_in_one_way() {
    check_mirrored(&[
        (json!({ "count": 42 }), "count", Some("42")),
        (json!({ "count": -7 }), "count", Some("-7")),
        (json!({ "count": 0 }), "count", Some("0")),
        (json!({ "dry": false }), "method", Some("false")),
        (json!({ "region": "us west" }), "region", Some("us west")),
        (json!({ "region": "" }), "region", Some("")),
        (json!({ "region": "Hello, 世界" }), "region", Some("=?base64?SGVsbG8sIOS4lueVjA==?=")),
        (json!({ "region": " padded " }), "region", Some("=?base64?IHBhZGRlZCA=?=")),
        (json!({ "region": "a\nb" }), "region", Some("=?base64?YQpi?=")),
        (json!({ "region": "=?base64?literal?=" }), "region", Some("=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=")),
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn line_221_integers_that_others_cannot_read_are_not_sent() {
    const MOST: i64 = (1 << 53) - 1;
    check_mirrored(&[
        (json!({ "count": MOST }), "count", Some("9007199254740991")),
        (json!({ "count": -MOST }), "count", Some("-9007199254740991")),
    ])
    .await;
    let mock = Mock::modern(serve);
    let client = mock.connect().await;
    client.tools().await.unwrap();
    for count in [json!(MOST + 1), json!(-MOST - 1), json!(u64::MAX), json!(1e300)] {
        let error = client.call("find", json!({ "count": count })).await.unwrap_err();
        assert_eq!((error.kind(), mock.count("tools/call")), (ErrorKind::Config, 0), "{count}");
    }
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
    let (log, _guard) = Log::start();
    let names: Vec<_> = mock.connect().await.tools().await.unwrap().into_iter().map(|t| t.name).collect();
    assert_eq!(names, ["good", "plain", "other"]);
    let warnings = log.warnings();
    for name in ["empty", "space", "colon", "wide", "control", "number", "object", "twice", "items"] {
        let told = |w: &&String| w.contains(&format!("tool=\"{name}\"")) && w.contains("reason=");
        assert_eq!(warnings.iter().filter(told).count(), 1, "{name}: {warnings:?}");
    }
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
        let mock = Mock::modern(move |seen| match seen.what() {
            "tools/call" => text(status, "text/html", "<html>"),
            _ => serve(seen),
        });
        let client = mock.connect().await;
        let error = client.call("find", ()).await.unwrap_err();
        assert_eq!((error.kind(), mock.count("tools/call")), (ErrorKind::Transport, 1));
        assert!(error.to_string().contains(expected), "{error}");
        // Only that request was too large.
        client.tools().await.unwrap();
        // And it says nothing about what the server speaks.
        let mock = Mock::new(move |_| text(status, "text/html", "<html>"));
        let error = Client::new("test", "1").connect(mock.target()).await.unwrap_err();
        assert_eq!((error.kind(), mock.asked()), (ErrorKind::Transport, vec!["server/discover".to_owned()]));
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
        let error = Client::new("test", "1").connect(couplet_http::connect(url)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{url}");
        assert!(!error.to_string().contains("pass"));
    }
}

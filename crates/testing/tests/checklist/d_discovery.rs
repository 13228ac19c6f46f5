//! Lines 68 to 82: versions, discovery, eras.

use std::time::Duration;

use couplet_client::Client;
use couplet_core::ErrorKind;
use couplet_server::{Server, tool};
use couplet_testing::{
    Wire, connect,
    types::{CacheScope, Meta, ProtocolVersion, code},
};
use serde_json::{Value, json};

use crate::kit::{
    RawServer, SESSIONS, STATELESS, able, call, client, error, everything, example, initialized, is_request,
    notification, open, request, result, said, stateless_meta, text,
};

/// A server that answers the first question of all in some way, and the handshake as one of 2025-11-25.
fn probed(answer: impl Fn(&Value) -> Vec<Value> + Send + Sync + 'static) -> RawServer {
    RawServer::new(move |m| match m["method"].as_str() {
        Some("server/discover") => answer(m),
        Some("initialize") => vec![initialized(m, "2025-11-25", &everything())],
        Some("tools/call") => vec![said(m, "ok")],
        _ => vec![],
    })
}

/// The refusal of a revision.
fn unsupported(message: &Value, supported: &[&str]) -> Vec<Value> {
    let mut refusal = error(message, code::UNSUPPORTED_VERSION, "not spoken here");
    refusal["error"]["data"] = json!({ "supported": supported, "requested": "2026-07-28" });
    vec![refusal]
}

/// A client that speaks everything.
fn any() -> couplet_client::ClientBuilder {
    Client::new("check", "1.0.0")
}

/// Line 68: a server says which revisions it speaks, what it can do, and how long that may be kept.
#[tokio::test]
async fn line_068_servers_can_be_discovered() {
    let mut wire = Wire::new(example().instructions("Ask.").build(), STATELESS);
    let about = wire.open().await["result"].clone();
    let mut versions: Vec<&str> =
        about["supportedVersions"].as_array().unwrap().iter().flat_map(Value::as_str).collect();
    versions.sort_unstable();
    assert_eq!(versions, ProtocolVersion::ALL.iter().map(|v| v.as_str()).collect::<Vec<_>>());
    assert_eq!(about["capabilities"]["tools"], json!({ "listChanged": true }));
    assert_eq!((&about["ttlMs"], &about["cacheScope"]), (&json!(0), &json!("private")));
    assert_eq!(about["instructions"], "Ask.");
    let kept = Server::<()>::new("s", "1").cache(Duration::from_secs(5), CacheScope::Public).build();
    let about = Wire::new(kept, STATELESS).open().await;
    assert_eq!((&about["result"]["ttlMs"], &about["result"]["cacheScope"]), (&json!(5000), &json!("public")));
}

/// Line 69: a revision that is not spoken is refused, with those that are.
#[tokio::test]
async fn line_069_unspoken_revisions_are_refused() {
    for (server, requested) in [
        (example().build(), "1999-01-01"),
        (example().build(), ""),
        (example().build(), "2025-11-25"),
        (example().versions(SESSIONS).build(), "2026-07-28"),
    ] {
        let speaks: Vec<&str> = couplet_core::Service::describe(&server).versions.iter().map(|v| v.as_str()).collect();
        for method in ["server/discover", "tools/list", "subscriptions/listen"] {
            let mut wire = Wire::new(server.clone(), STATELESS);
            let mut meta = stateless_meta(&json!({}));
            meta["io.modelcontextprotocol/protocolVersion"] = json!(requested);
            wire.send(&request(1, method, &json!({ "_meta": meta })));
            let refusal = wire.response(1).await["error"].clone();
            assert_eq!(refusal["code"], code::UNSUPPORTED_VERSION, "{requested}: {refusal}");
            assert_eq!(refusal["data"], json!({ "supported": speaks, "requested": requested }));
        }
    }
}

/// Line 70: a client whose revision is refused takes one that both speak, or says that there is none.
#[tokio::test]
async fn line_070_clients_take_a_common_revision() {
    let raw = probed(|m| unsupported(m, &["2025-11-25", "2030-01-01"]));
    let client = any().connect(raw.clone()).await.unwrap();
    assert_eq!(client.server().version, ProtocolVersion::V2025_11_25);
    assert_eq!(client.call("a", ()).await.unwrap().text(), "ok");
    let raw = probed(|m| unsupported(m, &["2030-01-01"]));
    let failure = any().connect(raw.clone()).await.unwrap_err();
    assert_eq!(failure.kind(), ErrorKind::Version);
    for named in ["2030-01-01", "2026-07-28"] {
        assert!(failure.to_string().contains(named), "{failure}");
    }
    // One that says it speaks what it refuses is not asked for ever.
    let raw = probed(|m| unsupported(m, &["2026-07-28"]));
    assert_eq!(any().connect(raw.clone()).await.unwrap_err().kind(), ErrorKind::Version);
    assert!(raw.seen().len() <= 2, "{:?}", raw.seen());
}

/// Line 71: a client may leave discovery out: a server answers any method as the first one.
#[tokio::test]
async fn line_071_discovery_can_be_left_out() {
    for (method, params) in [
        ("tools/list", json!({})),
        ("tools/call", json!({ "name": "echo", "arguments": { "text": "hi" } })),
        ("resources/read", json!({ "uri": "note://today" })),
        ("prompts/list", json!({})),
    ] {
        let mut wire = Wire::new(example().build(), STATELESS);
        let answer = wire.request(method, params).await;
        assert_eq!(answer["result"]["resultType"], "complete", "{method}: {answer}");
    }
}

/// Line 72: everything that is served is declared, and what is not declared is not served.
#[tokio::test]
async fn line_072_what_is_served_is_declared() {
    let gated = [
        ("tools", "tools/list"),
        ("tools", "tools/call"),
        ("resources", "resources/list"),
        ("resources", "resources/templates/list"),
        ("resources", "resources/read"),
        ("prompts", "prompts/list"),
        ("prompts", "prompts/get"),
        ("completions", "completion/complete"),
    ];
    let one = Server::new("s", "1").tool(tool("t", || "t"));
    for server in [example(), one, Server::new("s", "1"), Server::new("s", "1").advertise_empty_lists()] {
        let mut wire = Wire::new(server.build(), STATELESS);
        let declared = wire.open().await["result"]["capabilities"].clone();
        for (capability, method) in gated {
            let served = wire.request(method, json!({})).await["error"]["code"] != code::METHOD_NOT_FOUND;
            assert_eq!(served, declared.get(capability).is_some(), "{method} {declared}");
        }
    }
}

/// Line 73: the identifier of an extension is a key with a prefix.
#[test]
fn line_073_identifiers_of_extensions() {
    for id in ["io.modelcontextprotocol/tasks", "com.example/my-ext", "a/b"] {
        assert!(Meta::is_valid_extension(id), "{id}");
    }
    for id in ["tasks", "", "/tasks", "com..example/a", "com.example/-a", "1com/a", "com.example/a/b"] {
        assert!(!Meta::is_valid_extension(id), "{id}");
    }
}

/// Line 74: a peer that lacks an extension, or has one that is not known, gets what the core of the protocol says.
#[tokio::test]
async fn line_074_missing_extensions() {
    let extended = json!({ "extensions": { "com.example/odd": { "a": 1 }, "io.modelcontextprotocol/tasks": {} } });
    let mut answers = Vec::new();
    for declared in [json!({}), extended.clone()] {
        let mut wire = open(example().build(), STATELESS, declared).await;
        answers.push(call(&mut wire, "echo", json!({ "text": "hi" })).await);
        let unknown = wire.request("tasks/get", json!({ "taskId": "1" })).await;
        assert_eq!(unknown["error"]["code"], code::METHOD_NOT_FOUND);
    }
    assert_eq!((text(&answers[0]), &answers[0]["result"]), ("hi", &answers[1]["result"]));

    for declared in [everything(), {
        let mut all = everything();
        all["extensions"] = extended["extensions"].clone();
        all
    }] {
        let raw = RawServer::speaking(STATELESS, declared, |m| match m["params"]["name"].as_str() {
            Some("task") => vec![result(m, json!({ "resultType": "task", "taskId": "1" }))],
            _ => vec![said(m, "ok")],
        });
        let client = client(STATELESS).connect(raw.clone()).await.unwrap();
        assert_eq!(client.call("a", ()).await.unwrap().text(), "ok");
        // The client declared no extension, so this is none of the answers that it may get.
        assert_eq!(client.call("task", ()).await.unwrap_err().kind(), ErrorKind::Protocol);
        let sent = &raw.seen()[1]["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        assert_eq!(sent.get("extensions"), None);
    }
}

/// Line 75: a client that speaks both eras begins with `server/discover`, and so does one of the new era.
#[tokio::test]
async fn line_075_clients_probe_first() {
    for builder in [any(), client(STATELESS)] {
        let raw = RawServer::speaking(STATELESS, everything(), |m| vec![said(m, "ok")]);
        let client = builder.connect(raw.clone()).await.unwrap();
        client.call("a", ()).await.unwrap();
        assert_eq!(raw.seen()[0]["method"], "server/discover");
        assert_eq!(raw.seen()[1]["method"], "tools/call");
    }
}

/// Line 76: whatever an older server says to the probe, or if it says nothing or goes away, the handshake follows.
#[tokio::test(start_paused = true)]
async fn line_076_any_failure_leads_to_the_handshake() {
    for code in [-32601, -32602, -32600, -32603, -32700, -32000, -32001, -32004, -32002, -32042, -1, 0, 1, 404] {
        let raw = probed(move |m| vec![error(m, code, "what?")]);
        let client = any().connect(raw.clone()).await.unwrap();
        assert_eq!(client.server().version, ProtocolVersion::V2025_11_25, "{code}");
        assert_eq!(raw.connections(), 1, "on the same process");
    }
    let silent = probed(|_| vec![]);
    any().connect(silent.clone()).await.unwrap();
    let odd = probed(|m| vec![result(m, json!({ "tools": [] }))]);
    any().connect(odd.clone()).await.unwrap();
    let broken = probed(|m| vec![json!({ "jsonrpc": "2.0", "id": m["id"] })]);
    any().connect(broken.clone()).await.unwrap();
    let crashing = probed(|_| vec![]);
    let connecting = tokio::spawn(any().connect(crashing.clone()));
    crashing.expect("server/discover", 1).await;
    crashing.hang_up();
    connecting.await.unwrap().unwrap();
    assert_eq!(crashing.connections(), 2, "it is started again");
    for raw in [silent, odd, broken, crashing] {
        assert_eq!(raw.seen()[1]["method"], "initialize");
    }
}

/// Line 77: after an error that only a server of the new era knows, there is no handshake.
#[tokio::test]
async fn line_077_no_handshake_after_a_modern_error() {
    for code in [code::HEADER_MISMATCH, code::MISSING_CLIENT_CAPABILITY] {
        let raw = probed(move |m| vec![error(m, code, "no")]);
        let failure = any().connect(raw.clone()).await.unwrap_err();
        assert_eq!(failure.rpc().map(|e| e.code), Some(code));
        assert_eq!(raw.seen_of("initialize").len(), 0);
    }
    for supported in [&["2030-01-01"][..], &[]] {
        let raw = probed(move |m| unsupported(m, supported));
        assert_eq!(any().connect(raw.clone()).await.unwrap_err().kind(), ErrorKind::Version);
        assert_eq!(raw.seen_of("initialize").len(), 0);
    }
}

/// Line 79: the era of a server is found out once per connection, and anew on the next one.
#[tokio::test]
async fn line_079_the_era_is_remembered() {
    let modern = RawServer::speaking(STATELESS, everything(), |m| vec![said(m, "ok")]);
    let legacy = probed(|m| vec![error(m, -32601, "what?")]);
    for raw in [modern, legacy] {
        for connections in 1..3 {
            let client = any().connect(raw.clone()).await.unwrap();
            for _ in 0..3 {
                client.call("a", ()).await.unwrap();
            }
            assert_eq!(raw.seen_of("server/discover").len(), connections);
        }
    }
}

/// Line 80: a server of the new era only says so to an older client.
#[tokio::test]
async fn line_080_older_clients_are_told_why() {
    let server = example().versions([STATELESS]).build();
    for version in SESSIONS {
        let mut wire = Wire::new(server.clone(), version);
        let refusal = wire.open().await["error"].clone();
        assert!(refusal["message"].as_str().is_some_and(|m| m.contains("2026-07-28")), "{refusal}");
        assert_eq!(refusal["data"]["supported"], json!(["2026-07-28"]));
        let failure = connect(server.clone(), version).await.unwrap_err();
        assert!(failure.to_string().contains("2026-07-28"), "{failure}");
    }
}

/// Line 81: one connection serves both eras at the same time, each request in its own.
#[tokio::test]
async fn line_081_both_eras_at_once() {
    for version in SESSIONS {
        let mut wire = open(example().build(), version, able()).await;
        let modern = |id: &str, method: &str, name: &str| {
            request(id, method, &json!({ "name": name, "_meta": stateless_meta(&able()) }))
        };
        let asking = wire.start("tools/call", json!({ "name": "sample" }));
        let question = wire.next().await.unwrap();
        assert_eq!(question["method"], "sampling/createMessage", "{version}");
        wire.send(&modern("m1", "tools/call", "sample"));
        assert_eq!(wire.response("m1").await["result"]["resultType"], "input_required", "{version}");
        wire.send(&modern("m2", "ping", ""));
        assert_eq!(wire.response("m2").await["error"]["code"], code::METHOD_NOT_FOUND, "{version}");
        let listed = wire.request("tools/list", json!({})).await;
        assert_eq!(listed["result"].get("resultType"), None, "{version}");
        wire.send(&modern("m3", "tools/call", "stuck"));
        wire.send(&notification("notifications/cancelled", &json!({ "requestId": "m3" })));
        let answer = json!({ "model": "m", "role": "assistant", "content": { "type": "text", "text": "a" } });
        wire.send(&result(&question, answer));
        assert_eq!(text(&wire.response(asking).await), "m", "{version}");
        assert_eq!(wire.connection().unanswered(), 0, "{version}");
    }
}

/// Line 82: a list is the same on every connection, whoever asks and whatever was asked before.
#[tokio::test]
async fn line_082_lists_do_not_depend_on_the_connection() {
    let server = example().build();
    let methods = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"];
    let mut expected = Vec::new();
    let mut fresh = open(server.clone(), STATELESS, json!({})).await;
    for method in methods {
        expected.push(fresh.request(method, json!({})).await["result"].clone());
    }
    let mut used = open(server.clone(), STATELESS, able()).await;
    for tool in ["echo", "fail", "sure", "talk", "nobody"] {
        call(&mut used, tool, json!({ "text": "a" })).await;
    }
    used.start("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
    used.start("tools/call", json!({ "name": "stuck" }));
    used.request("tools/list", json!({ "_meta": { "io.modelcontextprotocol/logLevel": "debug" } })).await;
    let mut session = open(server, SESSIONS[3], able()).await;
    call(&mut session, "echo", json!({ "text": "a" })).await;
    for (method, expected) in methods.iter().zip(expected) {
        assert_eq!(used.request(method, json!({})).await["result"], expected, "{method}");
    }
    assert!(!used.ready().iter().any(is_request));
}

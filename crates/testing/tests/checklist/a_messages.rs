//! Lines 1 to 13: messages.

use std::collections::HashSet;

use couplet_core::{ErrorKind, Limits, Reply};
use couplet_server::{Server, tool};
use couplet_testing::{
    Wire,
    types::{ProtocolVersion, RpcError, code},
};
use serde_json::{Value, json};

use crate::kit::{
    RawServer, SESSIONS, STATELESS, able, call, client, converse, error, everything, example, is_request, is_response,
    notification, open, request, result, said, settle, stateless_meta, text, yes,
};

/// A client that is connected to a server which answers each call of a tool by a function.
pub(crate) async fn calling(
    version: ProtocolVersion,
    answer: impl Fn(&Value) -> Vec<Value> + Send + Sync + 'static,
) -> (RawServer, couplet_client::Client) {
    let raw = RawServer::speaking(version, everything(), move |m| match m["method"].as_str() {
        Some("tools/call") => answer(m),
        _ => vec![],
    });
    let client = client(version).connect(raw.clone()).await.unwrap();
    (raw, client)
}

/// Line 1: every message is JSON-RPC 2.0 in UTF-8, and what is not is refused.
#[tokio::test]
async fn line_001_json_rpc_in_utf_8() {
    for &version in ProtocolVersion::ALL {
        let mut wire = open(example().build(), version, able()).await;
        let greeting = "größer 雪 🦀";
        let answer = call(&mut wire, "echo", json!({ "text": greeting })).await;
        assert_eq!((&answer["jsonrpc"], text(&answer)), (&json!("2.0"), greeting));
        for (broken, expected) in [
            (&b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}"[..], code::PARSE_ERROR),
            (&b"not json"[..], code::PARSE_ERROR),
            (&br#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#[..], code::INVALID_REQUEST),
            (&br#"{"id":7,"method":"ping"}"#[..], code::INVALID_REQUEST),
        ] {
            wire.connection().receive(bytes::Bytes::from_static(broken));
            let refusal = wire.next().await.unwrap();
            assert_eq!(
                (&refusal["jsonrpc"], &refusal["error"]["code"]),
                (&json!("2.0"), &json!(expected)),
                "{version}"
            );
        }
        let (raw, client) =
            calling(version, |m| vec![said(m, m["params"]["arguments"]["text"].as_str().unwrap())]).await;
        assert_eq!(client.call("echo", json!({ "text": greeting })).await.unwrap().text(), greeting);
        assert!(raw.seen().iter().all(|m| m["jsonrpc"] == "2.0"), "{version}: {:#?}", raw.seen());
    }
}

/// Line 2: an id is a string or an integer, and never null; this goes for both sides, sending and receiving.
#[tokio::test]
async fn line_002_ids_are_strings_or_integers() {
    for &version in ProtocolVersion::ALL {
        let mut wire = open(example().build(), version, able()).await;
        for id in [json!(null), json!(1.5), json!(true), json!([1]), json!({})] {
            let params = json!({ "_meta": stateless_meta(&json!({})) });
            wire.send(&request(id.clone(), "tools/list", &params));
            let refusal = wire.next().await.unwrap();
            assert_eq!(refusal["error"]["code"], code::INVALID_REQUEST, "{version}: {id} {refusal}");
            assert!(refusal.get("id").is_none_or(Value::is_null), "{version}: {refusal}");
        }
        let (raw, client) = calling(version, |m| vec![said(m, "ok")]).await;
        client.call("a", ()).await.unwrap();
        let ids: Vec<Value> = raw.seen().into_iter().filter(is_request).map(|mut m| m["id"].take()).collect();
        assert!(ids.len() >= 2 && ids.iter().all(is_id), "{version}: {ids:?}");
    }
    for version in SESSIONS {
        let mut wire = open(example().build(), version, able()).await;
        wire.start("tools/call", json!({ "name": "sample" }));
        let question = wire.next().await.unwrap();
        assert!(is_id(&question["id"]), "{version}: {question}");
    }
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64()
}

/// Line 3: in a session neither side ever uses an id of its own again, whatever became of the first request.
#[tokio::test]
async fn line_003_ids_are_not_reused_in_a_session() {
    for version in SESSIONS {
        let (raw, client) = calling(version, |m| match m["params"]["name"].as_str() {
            Some("good") => vec![said(m, "ok")],
            Some("bad") => vec![error(m, -32603, "no")],
            _ => vec![],
        })
        .await;
        for round in 1..4 {
            client.call("good", ()).await.unwrap();
            client.call("bad", ()).await.unwrap_err();
            let dropped = tokio::spawn(client.call("never", ()).into_future());
            raw.expect("tools/call", 3 * round).await;
            dropped.abort();
            settle().await;
        }
        let ids: Vec<String> = raw.seen().iter().filter(|m| is_request(m)).map(|m| m["id"].to_string()).collect();
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len(), "{version}: {ids:?}");

        let mut wire = open(example().build(), version, able()).await;
        let mut asked = HashSet::new();
        for _ in 0..3 {
            let answer = json!({ "model": "m", "role": "assistant", "content": { "type": "text", "text": "a" } });
            let (questions, response) =
                converse(&mut wire, version, ("tools/call", json!({ "name": "sample" })), |_| answer.clone()).await;
            assert_eq!(text(&response), "m");
            assert!(questions.iter().all(|q| asked.insert(q["id"].to_string())), "{version}: {questions:?}");
        }
        assert_eq!(asked.len(), 3);
    }
}

/// Line 4: without sessions, an id is not that of another request which still waits for its answer.
#[tokio::test]
async fn line_004_ids_of_open_requests_are_distinct() {
    let (raw, client) = calling(STATELESS, |_| vec![]).await;
    let calls: Vec<_> = (0..20).map(|_| tokio::spawn(client.call("never", ()).into_future())).collect();
    raw.expect("tools/call", 20).await;
    let ids: HashSet<String> = raw.seen_of("tools/call").iter().map(|m| m["id"].to_string()).collect();
    assert_eq!(ids.len(), 20);
    calls.iter().for_each(|c| c.abort());

    // A client that breaks the rule does not get an answer that could be taken for another one.
    let mut wire = open(example().build(), STATELESS, json!({})).await;
    let stuck = wire.start("tools/call", json!({ "name": "stuck" }));
    wire.send(&request(stuck, "tools/list", &json!({ "_meta": stateless_meta(&json!({})) })));
    let refusal = wire.next().await.unwrap();
    assert_eq!((refusal.get("id"), &refusal["error"]["code"]), (None, &json!(code::INVALID_REQUEST)));
}

/// Line 5: a response has the id of its request, of the same type; only where it could not be read it is missing, or
/// in the older revisions null.
#[tokio::test]
async fn line_005_responses_repeat_the_id() {
    for &version in ProtocolVersion::ALL {
        let mut wire = open(example().build(), version, json!({})).await;
        for id in [json!(0), json!(-7), json!(i64::MAX), json!("7"), json!(""), json!("ä \"b\"")] {
            for method in ["tools/list", "no/such"] {
                wire.send(&request(id.clone(), method, &json!({ "_meta": stateless_meta(&json!({})) })));
                let response = wire.next().await.unwrap();
                assert_eq!(response["id"], id, "{version}: {response}");
            }
        }
        wire.send_text("{");
        let refusal = wire.next().await.unwrap();
        let old = ["2024-11-05", "2025-03-26", "2025-06-18"].contains(&version.as_str());
        assert_eq!(refusal.get("id"), old.then_some(&Value::Null), "{version}: {refusal}");
    }
    for version in SESSIONS {
        let (raw, _client) = calling(version, |_| vec![]).await;
        for id in [json!(5), json!("5"), json!("ä")] {
            raw.push(&request(id.clone(), "ping", &json!({})));
            settle().await;
            assert_eq!(raw.seen().last().unwrap()["id"], id, "{version}");
        }
    }
}

/// Line 6: a response has a result or an error, and not both; one that has neither or both is not taken for an answer.
#[tokio::test]
async fn line_006_result_or_error() {
    for &version in ProtocolVersion::ALL {
        let mut wire = open(example().build(), version, json!({})).await;
        for (method, params) in [
            ("tools/list", json!({})),
            ("tools/call", json!({ "name": "fail" })),
            ("tools/call", json!({ "name": "nobody" })),
            ("resources/read", json!({ "uri": "note://nowhere" })),
            ("no/such", json!({})),
        ] {
            let response = wire.request(method, params).await;
            assert_ne!(response.get("result").is_some(), response.get("error").is_some(), "{version}: {response}");
        }
        let broken = json!({ "code": 1, "message": "no" });
        for flaw in [json!({}), json!({ "result": { "content": [] }, "error": broken })] {
            let (_, client) = calling(version, move |m| {
                let mut response = flaw.clone();
                (response["jsonrpc"], response["id"]) = (json!("2.0"), m["id"].clone());
                vec![response]
            })
            .await;
            assert_eq!(client.call("a", ()).await.unwrap_err().kind(), ErrorKind::Protocol, "{version}");
        }
    }
    for version in SESSIONS {
        let (raw, _client) = calling(version, |_| vec![]).await;
        raw.push(&request("good", "ping", &json!({})));
        raw.push(&request("bad", "no/such", &json!({})));
        settle().await;
        let answers: Vec<Value> = raw.seen().into_iter().filter(is_response).collect();
        assert_eq!(answers.len(), 2, "{version}");
        assert!(
            answers.iter().all(|a| a.get("result").is_some() != a.get("error").is_some()),
            "{version}: {answers:?}"
        );
    }
}

/// Line 7: an error has an integer as its code, and a message; a client does not take anything else for an error.
#[tokio::test]
async fn line_007_errors_have_code_and_message() {
    for &version in ProtocolVersion::ALL {
        for refusal in every_refusal(version).await {
            assert!(refusal["error"]["code"].is_i64(), "{version}: {refusal}");
            assert!(refusal["error"]["message"].as_str().is_some_and(|m| !m.is_empty()), "{version}: {refusal}");
        }
        for flaw in
            [json!({ "code": 1 }), json!({ "message": "m" }), json!({ "code": "1", "message": "m" }), json!("m")]
        {
            let (_, client) =
                calling(version, move |m| vec![json!({ "jsonrpc": "2.0", "id": m["id"], "error": flaw })]).await;
            assert_eq!(client.call("a", ()).await.unwrap_err().kind(), ErrorKind::Protocol, "{version}");
        }
    }
    for version in SESSIONS {
        let (raw, _client) = calling(version, |_| vec![]).await;
        raw.push(&request(1, "no/such", &json!({})));
        settle().await;
        let refusal = raw.seen().pop().unwrap();
        assert_eq!(refusal["error"]["code"], code::METHOD_NOT_FOUND, "{version}");
        assert!(refusal["error"]["message"].is_string(), "{version}: {refusal}");
    }
}

/// The errors of a server for all kinds of wrong requests, and of handlers that return errors with any code.
pub(crate) async fn every_refusal(version: ProtocolVersion) -> Vec<Value> {
    let mut server = example().method("odd/state", |_| async { Reply::Error(RpcError::new(-32050, "mine")) });
    let codes = [-32002, -32042, -32019, -32020, -32021, -32022, -32023, -32050, -32099, -32603, 7];
    for code in codes {
        server = server.tool(tool(format!("e{code}"), move || Err::<String, _>(RpcError::new(code, "odd"))));
    }
    let mut limits = Limits::default();
    limits.subscriptions = 0;
    let mut wire = Wire::with(server.build(), version, serde_json::from_value(json!({})).unwrap(), limits);
    wire.open().await;
    let mut requests = vec![
        ("no/such", json!({})),
        ("odd/state", json!({})),
        ("tools/call", json!({ "name": "nobody" })),
        ("tools/call", json!({ "name": 5 })),
        ("tools/call", json!({ "name": "echo", "arguments": 5 })),
        ("tools/call", json!({ "name": "sure" })),
        ("tools/call", json!({ "name": "sample" })),
        ("tools/call", json!({ "name": "roots" })),
        ("tools/list", json!({ "cursor": "?" })),
        ("resources/read", json!({ "uri": "note://nowhere" })),
        ("resources/read", json!({})),
        ("resources/subscribe", json!({ "uri": "note://nowhere" })),
        ("prompts/get", json!({ "name": "nobody" })),
        ("completion/complete", json!({})),
        ("logging/setLevel", json!({ "level": "loud" })),
        ("subscriptions/listen", json!({ "notifications": {} })),
        ("sampling/createMessage", json!({})),
    ];
    requests.extend(codes.map(|code| ("tools/call", json!({ "name": format!("e{code}") }))));
    let mut refusals = Vec::new();
    for (method, params) in requests {
        refusals.push(wire.request(method, params).await);
    }
    wire.send_text("{");
    wire.send_text("[]");
    wire.send(&request(900, "tools/list", &json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "1999" } })));
    refusals.extend(wire.ready());
    refusals.retain(|r| r.get("error").is_some());
    assert!(refusals.len() > 20, "{version}: {refusals:#?}");
    refusals
}

/// Line 8: a notification has no id and is never answered.
#[tokio::test]
async fn line_008_notifications_are_not_answered() {
    for &version in ProtocolVersion::ALL {
        let mut wire = open(example().build(), version, json!({})).await;
        for (method, params) in [
            ("no/such", json!({})),
            ("notifications/cancelled", json!([1])),
            ("notifications/cancelled", json!("x")),
            ("notifications/no/such", json!({ "a": 1 })),
            ("notifications/progress", json!({ "progressToken": 1 })),
            ("notifications/cancelled", json!({})),
            ("tools/list", json!({ "_meta": stateless_meta(&json!({})) })),
            ("tools/call", json!({ "name": "nobody" })),
        ] {
            wire.send(&notification(method, &params));
            assert_eq!(wire.ready(), [] as [Value; 0], "{version}: {method}");
        }
        let talk = json!({ "name": "talk", "_meta": { "progressToken": 1 } });
        let id = wire.start("tools/call", talk);
        wire.response(id).await;
        let notes = wire.ready();
        assert!(!notes.is_empty() && notes.iter().all(|n| n.get("id").is_none()), "{version}: {notes:?}");

        let (raw, client) = calling(version, |_| vec![]).await;
        settle().await;
        let before = raw.seen().len();
        for method in ["notifications/message", "notifications/no/such", "notifications/tools/list_changed"] {
            raw.push(&notification(method, &json!({})));
        }
        settle().await;
        assert_eq!(raw.seen().len(), before, "{version}");
        let dropped = tokio::spawn(client.call("never", ()).into_future());
        raw.expect("tools/call", 1).await;
        dropped.abort();
        raw.expect("notifications/cancelled", 1).await;
        let notes: Vec<Value> =
            raw.seen().into_iter().filter(|m| m["method"].as_str().is_some_and(|m| m.starts_with("not"))).collect();
        assert!(notes.iter().all(|n| n.get("id").is_none()), "{version}: {notes:?}");
    }
}

/// Line 9: in 2025-03-26 both sides take several messages in one array.
#[tokio::test]
async fn line_009_batches_are_accepted() {
    let version = ProtocolVersion::V2025_03_26;
    let mut wire = open(example().build(), version, json!({})).await;
    wire.send(&json!([
        request("a", "tools/call", &json!({ "name": "echo", "arguments": { "text": "hi" } })),
        notification("notifications/no/such", &json!({})),
        request("b", "ping", &json!({})),
        { "jsonrpc": "2.0", "id": 1.5, "method": "ping" },
    ]));
    let answers = wire.next().await.unwrap();
    let answers = answers.as_array().expect("the answers come together");
    assert_eq!(answers.len(), 3, "{answers:?}");
    let of = |id: &str| answers.iter().find(|a| a["id"] == id).unwrap();
    assert_eq!((text(of("a")), &of("b")["result"]), ("hi", &json!({})));

    let (raw, client) = calling(version, |_| vec![]).await;
    let calls = [client.call("a", ()), client.call("b", ())].map(|c| tokio::spawn(c.into_future()));
    raw.expect("tools/call", 2).await;
    let asked = raw.seen_of("tools/call");
    raw.push(&json!([said(&asked[1], "2"), said(&asked[0], "1"), request("p", "ping", &json!({}))]));
    let mut texts = Vec::new();
    for call in calls {
        texts.push(call.await.unwrap().unwrap().text());
    }
    texts.sort();
    assert_eq!(texts, ["1", "2"]);
    settle().await;
    assert!(raw.seen().iter().any(|m| m.to_string().contains(r#""id":"p""#)), "the ping in the batch was answered");
}

/// Line 10: `initialize` is never part of a batch.
#[tokio::test]
async fn line_010_initialize_is_not_in_a_batch() {
    let version = ProtocolVersion::V2025_03_26;
    let (raw, _client) = calling(version, |_| vec![]).await;
    let first = &raw.seen()[0];
    assert_eq!(first["method"], "initialize", "a message of its own: {first}");

    let params = json!({ "protocolVersion": version.as_str(), "capabilities": {},
                         "clientInfo": { "name": "n", "version": "1" } });
    let mut wire = Wire::new(example().build(), version);
    wire.send(&json!([request(1, "initialize", &params)]));
    assert_eq!(wire.next().await.unwrap()["error"]["code"], code::INVALID_REQUEST);
    wire.open().await;
    wire.send(&json!([request("x", "initialize", &params)]));
    assert_eq!(wire.next().await.unwrap()[0]["error"]["code"], code::INVALID_REQUEST);
}

/// Line 11: in all other revisions an array is not a message, and nothing in it is done.
#[tokio::test]
async fn line_011_arrays_are_invalid() {
    for version in ProtocolVersion::ALL.iter().copied().filter(|v| *v != ProtocolVersion::V2025_03_26) {
        let mut wire = open(example().build(), version, json!({})).await;
        let params = json!({ "name": "echo", "arguments": { "text": "hi" }, "_meta": stateless_meta(&json!({})) });
        wire.send(&json!([request("a", "tools/call", &params), request("b", "tools/list", &params)]));
        let refusals = wire.ready();
        assert_eq!(refusals.len(), 1, "{version}: {refusals:?}");
        assert_eq!(refusals[0]["error"]["code"], code::INVALID_REQUEST, "{version}");

        let (raw, client) = calling(version, |_| vec![]).await;
        let waiting = tokio::spawn(client.call("a", ()).into_future());
        let asked = raw.expect("tools/call", 1).await;
        raw.push(&json!([said(&asked, "from a batch"), request("p", "ping", &json!({}))]));
        settle().await;
        assert!(!waiting.is_finished(), "{version}");
        raw.push(&said(&asked, "from a message"));
        assert_eq!(waiting.await.unwrap().unwrap().text(), "from a message", "{version}");
        assert!(raw.seen().iter().all(Value::is_object), "{version}: one message at a time");
    }
}

/// Line 12: with a session, messages and lifecycle are all that is needed: a peer without any feature works.
#[tokio::test]
async fn line_012_nothing_else_is_needed() {
    for version in SESSIONS {
        let mut wire = Wire::new(Server::<()>::new("bare", "1").build(), version);
        assert_eq!(wire.open().await["result"]["capabilities"], json!({}), "{version}");
        assert_eq!(wire.request("ping", json!({})).await["result"], json!({}), "{version}");
        for method in ["tools/list", "resources/list", "prompts/list", "logging/setLevel", "completion/complete"] {
            assert_eq!(wire.request(method, json!({})).await["error"]["code"], code::METHOD_NOT_FOUND, "{version}");
        }
        let raw = RawServer::speaking(version, json!({}), |m| match m["method"].as_str() {
            Some("ping") => vec![result(m, json!({}))],
            _ => vec![],
        });
        let client = client(version).connect(raw).await.unwrap();
        client.ping().await.unwrap();
        assert!(client.tools().await.unwrap().is_empty());
    }
}

/// Line 13: without sessions there are messages, versions, and three patterns: an answer, questions first, and a
/// subscription. One client uses all of them with one server.
#[tokio::test]
async fn line_013_versions_and_three_patterns() {
    let server = example().build();
    let mut wire = open(server.clone(), STATELESS, able()).await;
    assert_eq!(text(&call(&mut wire, "echo", json!({ "text": "hi" })).await), "hi");
    let (questions, answer) =
        converse(&mut wire, STATELESS, ("tools/call", json!({ "name": "sure" })), |_| yes()).await;
    assert_eq!((questions.len(), text(&answer)), (1, "sure: true"));
    wire.start("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
    assert_eq!(wire.next().await.unwrap()["method"], "notifications/subscriptions/acknowledged");
    server.remove_tool("echo");
    assert_eq!(wire.next().await.unwrap()["method"], "notifications/tools/list_changed");

    let client = client(STATELESS)
        .on_elicit(|ask| async move { ask.accept(json!({ "yes": true })) })
        .connect(server.clone())
        .await
        .unwrap();
    assert_eq!(client.call("fail", ()).await.unwrap().text(), "it failed");
    assert_eq!(client.call("sure", ()).await.unwrap().text(), "sure: true");
    let mut changes = client.listen(couplet_client::Filter::new().tools()).await.unwrap();
    server.remove_tool("fail");
    assert_eq!(changes.next().await, Some(couplet_client::Change::Tools));
}

//! Lines 14 to 31: results, errors and requests that stand alone.

use std::time::Duration;

use couplet_core::{Call, ErrorKind, JsonText, Reply, ResultBody};
use couplet_server::{Next, Server, tool};
use couplet_testing::{
    Wire, connect,
    types::{ProtocolVersion, RpcError, code},
};
use serde_json::{Value, json};

use crate::{
    a_messages::{calling, every_refusal},
    kit::{
        RawServer, STATELESS, able, call, client, error, everything, example, initialized, is_refused, is_request,
        is_response, notification, open, request, result, said, settle, stateless_meta, text, yes,
    },
};

/// Line 14: without sessions every result says what it is, and an ordinary one is `complete`.
#[tokio::test]
async fn line_014_results_say_what_they_are() {
    let listed = |method: &'static str| (method, json!({}));
    for &version in ProtocolVersion::ALL {
        let mut wire = open(example().build(), version, able()).await;
        let expected = (version == STATELESS).then(|| json!("complete"));
        for (method, params) in [
            listed("tools/list"),
            listed("resources/list"),
            listed("resources/templates/list"),
            listed("prompts/list"),
            ("tools/call", json!({ "name": "echo", "arguments": { "text": "hi" } })),
            ("tools/call", json!({ "name": "fail" })),
            ("resources/read", json!({ "uri": "note://today" })),
            ("prompts/get", json!({ "name": "about", "arguments": { "text": "cats" } })),
            (
                "completion/complete",
                json!({ "ref": { "type": "ref/prompt", "name": "about" }, "argument": { "name": "text", "value": "" } }),
            ),
        ] {
            let answer = wire.request(method, params).await;
            assert!(answer.get("result").is_some(), "{version} {method}: {answer}");
            assert_eq!(answer["result"].get("resultType"), expected.as_ref(), "{version} {method}");
        }
    }
    let mut wire = Wire::new(example().build(), STATELESS);
    assert_eq!(wire.open().await["result"]["resultType"], "complete");
    wire.start("subscriptions/listen", json!({ "notifications": {} }));
    let last = wire.finish().await;
    assert!(last.iter().any(|m| m["result"]["resultType"] == "complete"), "{last:?}");
}

/// Line 15: results of other kinds come only with an extension that was advertised; a method cannot make one up.
#[tokio::test]
async fn line_015_no_result_types_without_an_extension() {
    let odd = || JsonText::new(r#"{"resultType":"task","taskId":"1"}"#).unwrap();
    let server = example()
        .method("odd/method", move |_| async move { Reply::Complete(ResultBody::json(&odd())) })
        .middleware(move |call: Call, next: Next| async move {
            if &*call.method == "prompts/list" {
                Reply::Complete(ResultBody::json(&odd()))
            } else {
                next.run(call).await
            }
        });
    let mut wire = open(server.build(), STATELESS, json!({})).await;
    for method in ["odd/method", "prompts/list"] {
        assert_eq!(wire.request(method, json!({})).await["result"]["resultType"], "complete", "{method}");
    }
}

/// Line 16: a result that does not say what it is, is complete.
#[tokio::test]
async fn line_016_a_missing_result_type_means_complete() {
    let (_, client) =
        calling(STATELESS, |m| vec![result(m, json!({ "content": [{ "type": "text", "text": "ok" }] }))]).await;
    assert_eq!(client.call("a", ()).await.unwrap().text(), "ok");
}

/// Line 17: a result of an unknown kind is not an answer. Kinds of extensions that were not agreed on are unknown.
#[tokio::test]
async fn line_017_an_unknown_result_type_is_invalid() {
    for kind in [json!("task"), json!("done"), json!("Complete"), json!(""), json!(5)] {
        let name = kind.to_string();
        let (_, client) =
            calling(STATELESS, move |m| vec![result(m, json!({ "resultType": kind, "content": [] }))]).await;
        assert_eq!(client.call("a", ()).await.unwrap_err().kind(), ErrorKind::Protocol, "{name}");
    }
}

/// Line 18: without sessions a server sends no requests, whatever its handlers ask.
#[tokio::test]
async fn line_018_servers_send_no_requests() {
    let mut wire = open(example().build(), STATELESS, able()).await;
    for tool in ["sure", "two", "visit", "sample", "sample_tools", "roots"] {
        let id = wire.start("tools/call", json!({ "name": tool }));
        assert_eq!(wire.response(id).await["result"]["resultType"], "input_required", "{tool}");
        assert!(!wire.ready().iter().any(is_request), "{tool}");
    }
}

/// Line 19: without sessions a client sends no responses, not even to refuse a request that should not have come.
#[tokio::test]
async fn line_019_clients_send_no_responses() {
    let raw = RawServer::speaking(STATELESS, everything(), |_| vec![]);
    let _client = client(STATELESS)
        .on_elicit(|ask| async move { ask.accept(json!({ "yes": true })) })
        .roots([])
        .connect(raw.clone())
        .await
        .unwrap();
    for method in ["ping", "roots/list", "elicitation/create", "sampling/createMessage", "no/such"] {
        raw.push(&request(method, method, &json!({ "message": "?", "requestedSchema": { "type": "object" } })));
    }
    raw.push_text("{ broken");
    settle().await;
    assert!(!raw.seen().iter().any(is_response), "{:#?}", raw.seen());
}

/// Line 20: of the codes -32020 to -32099 only those of the specification are sent, and with their meaning.
#[tokio::test]
async fn line_020_no_undefined_codes() {
    for refusal in every_refusal(STATELESS).await {
        let code = refusal["error"]["code"].as_i64().unwrap();
        let reserved = (-32099..=-32020).contains(&code);
        assert!(!reserved || [-32020, -32021, -32022].contains(&code), "{refusal}");
        if code == i64::from(code::MISSING_CLIENT_CAPABILITY) && refusal["error"]["message"] != "odd" {
            assert!(refusal["error"]["data"]["requiredCapabilities"].is_object(), "{refusal}");
        }
        if code == i64::from(code::UNSUPPORTED_VERSION) && refusal["error"]["message"] != "odd" {
            assert!(refusal["error"]["data"]["supported"].is_array(), "{refusal}");
        }
    }
}

/// Line 21: nothing of the library's own uses -32000 to -32019.
#[tokio::test]
async fn line_021_no_codes_of_the_old_range() {
    let own = every_refusal(STATELESS).await.into_iter().filter(|r| r["error"]["message"] != "odd");
    for refusal in own {
        let code = refusal["error"]["code"].as_i64().unwrap();
        assert!(!(-32019..=-32000).contains(&code), "{refusal}");
    }
}

/// Line 22: a code of -32000 to -32019 means nothing to a client: it is an error of the server, and no more.
#[tokio::test]
async fn line_022_the_old_range_means_nothing() {
    for code in [-32000, -32001, -32003, -32004, -32019] {
        let (_, client) = calling(STATELESS, move |m| vec![error(m, code, "odd")]).await;
        let failure = client.call("a", ()).await.unwrap_err();
        assert_eq!((failure.kind(), failure.rpc().unwrap().code), (ErrorKind::Rpc, code));
        // In answer to the first question of all it is like any other error: the server is an older one.
        let raw = RawServer::new(move |m| match m["method"].as_str() {
            Some("server/discover") => vec![error(m, code, "odd")],
            Some("initialize") => vec![initialized(m, "2025-11-25", &json!({}))],
            _ => vec![],
        });
        let client = couplet_client::Client::new("c", "1").connect(raw).await.unwrap();
        assert_eq!(client.server().version, ProtocolVersion::V2025_11_25);
    }
}

/// Line 23: -32002 and -32042 are not sent any more, not even for a handler that returns them.
#[tokio::test]
async fn line_023_codes_of_older_revisions_are_not_sent() {
    let refusals = every_refusal(STATELESS).await;
    assert!(refusals.iter().all(|r| r["error"]["code"] != -32002 && r["error"]["code"] != -32042), "{refusals:#?}");
    let mut wire = open(example().build(), STATELESS, json!({})).await;
    let missing = wire.request("resources/read", json!({ "uri": "note://nowhere" })).await;
    assert_eq!(
        (&missing["error"]["code"], &missing["error"]["data"]["uri"]),
        (&json!(-32602), &json!("note://nowhere"))
    );
}

/// Line 24: an application's own codes are outside of the range of JSON-RPC, and pass as they are.
#[tokio::test]
async fn line_024_codes_of_applications_pass() {
    for code in [1, 42, -1, -31999, -32769] {
        let failing =
            tool("failing", move || Err::<String, _>(RpcError::new(code, "mine").with_data(json!({ "a": 1 }))));
        let client = connect(Server::new("s", "1").tool(failing).build(), STATELESS).await.unwrap();
        let failure = client.call("failing", ()).await.unwrap_err();
        let rpc = failure.rpc().unwrap();
        assert_eq!((rpc.code, &*rpc.message, rpc.data.as_ref().unwrap().get()), (code, "mine", r#"{"a":1}"#));
    }
}

/// Line 25: what fails on this side cannot be taken for an error that the peer reported.
#[tokio::test(start_paused = true)]
async fn line_025_local_errors_are_told_apart() {
    let (raw, client) = calling(STATELESS, |m| match m["params"]["name"].as_str() {
        Some("refused") => vec![error(m, -32603, "`tools/call` was not answered within 1s")],
        Some("odd") => vec![result(m, json!([]))],
        _ => vec![],
    })
    .await;
    let refused = client.call("refused", ()).await.unwrap_err();
    assert_eq!((refused.kind(), refused.rpc().map(|e| e.code)), (ErrorKind::Rpc, Some(-32603)));
    let late = client.call("never", ()).timeout(Duration::from_secs(1)).await.unwrap_err();
    assert_eq!((late.kind(), late.rpc()), (ErrorKind::Timeout, None));
    let odd = client.call("odd", ()).await.unwrap_err();
    assert_eq!((odd.kind(), odd.rpc()), (ErrorKind::Protocol, None));
    let lost = tokio::spawn(client.call("never", ()).into_future());
    raw.expect("tools/call", 4).await;
    raw.hang_up();
    let lost = lost.await.unwrap().unwrap_err();
    assert_eq!((lost.kind(), lost.rpc()), (ErrorKind::Closed, None));
}

/// Line 26: a method that is unknown, or behind a capability that was not advertised, is not found.
#[tokio::test]
async fn line_026_unknown_methods_are_not_found() {
    let gone = ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];
    let odd = ["no/such", "", "sampling/createMessage", "roots/list", "elicitation/create", "tasks/get", "tasks/list"];
    let gated = ["tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read"];
    let more = ["prompts/list", "prompts/get", "completion/complete"];
    let mut bare = open(Server::<()>::new("bare", "1").build(), STATELESS, able()).await;
    for method in gone.iter().chain(&odd).chain(&gated).chain(&more) {
        assert_eq!(bare.request(method, json!({})).await["error"]["code"], code::METHOD_NOT_FOUND, "{method}");
    }
    let mut full = open(example().build(), STATELESS, able()).await;
    for method in gone.iter().chain(&odd) {
        assert_eq!(full.request(method, json!({})).await["error"]["code"], code::METHOD_NOT_FOUND, "{method}");
    }
    for method in gated.iter().chain(&more) {
        assert_ne!(full.request(method, json!({})).await["error"]["code"], code::METHOD_NOT_FOUND, "{method}");
    }
}

/// Line 27: what an earlier request said about its client does not count for the next one.
#[tokio::test]
async fn line_027_earlier_requests_do_not_count() {
    let mut wire = Wire::new(example().build(), STATELESS);
    let ask = |id: i64, meta: Value| request(id, "tools/call", &json!({ "name": "sure", "_meta": meta }));
    wire.send(&ask(1, stateless_meta(&able())));
    assert_eq!(wire.response(1).await["result"]["resultType"], "input_required");
    wire.send(&ask(2, stateless_meta(&json!({}))));
    assert!(is_refused(&wire.response(2).await));
    wire.send(&ask(3, json!({})));
    assert_eq!(wire.response(3).await["error"]["code"], code::INVALID_PARAMS);
    // A log level is for the request that names it.
    let mut meta = stateless_meta(&json!({}));
    meta["io.modelcontextprotocol/logLevel"] = json!("debug");
    wire.send(&request(4, "tools/call", &json!({ "name": "talk", "_meta": meta })));
    wire.response(4).await;
    assert_eq!(wire.ready().len(), 3);
    wire.send(&request(5, "tools/call", &json!({ "name": "talk", "_meta": stateless_meta(&json!({})) })));
    wire.response(5).await;
    assert_eq!(wire.ready(), [] as [Value; 0]);
}

/// Line 28: requests that have nothing to do with each other can be mixed on one connection.
#[tokio::test]
async fn line_028_conversations_can_be_mixed() {
    let mut wire = open(example().build(), STATELESS, json!({})).await;
    let stuck = wire.start("tools/call", json!({ "name": "stuck" }));
    for n in 0..10 {
        let mut meta = stateless_meta(&if n % 2 == 0 { able() } else { json!({}) });
        meta["io.modelcontextprotocol/clientInfo"]["name"] = json!(format!("client {n}"));
        wire.send(&request(format!("c{n}"), "tools/call", &json!({ "name": "sure", "_meta": meta })));
    }
    for n in (0..10).rev() {
        let answer = wire.response(format!("c{n}")).await;
        assert_eq!(is_refused(&answer), n % 2 == 1, "{answer}");
    }
    wire.send(&notification("notifications/cancelled", &json!({ "requestId": stuck })));
    assert_eq!(wire.ready(), [] as [Value; 0]);
}

/// Line 29: requests that belong together may come on different connections, and even to different processes.
#[tokio::test]
async fn line_029_no_connection_is_needed_twice() {
    let server = || example().page_size(4).request_state_key([7; 32]).build();
    let mut first = open(server(), STATELESS, able()).await;
    let asked = call(&mut first, "sure", json!({})).await;
    let page = first.request("tools/list", json!({})).await;
    drop(first);
    let mut second = open(server(), STATELESS, able()).await;
    let state = &asked["result"]["requestState"];
    let again = json!({ "name": "sure", "arguments": {}, "requestState": state, "inputResponses": { "sure": yes() } });
    assert_eq!(text(&second.request("tools/call", again).await), "sure: true");
    let next = second.request("tools/list", json!({ "cursor": page["result"]["nextCursor"] })).await;
    assert_eq!(next["result"]["tools"].as_array().unwrap().len(), 4, "{next}");
    assert_ne!(next["result"]["tools"][0], page["result"]["tools"][0]);
}

/// Line 30: a connection does not end with the task that opened it or the first owner that lets go, only with the last.
#[tokio::test]
async fn line_030_a_process_outlives_a_conversation() {
    let raw = RawServer::speaking(STATELESS, everything(), |m| match m["method"].as_str() {
        Some("tools/call") => vec![said(m, "ok")],
        _ => vec![],
    });
    let target = raw.clone();
    let first = tokio::spawn(async move { client(STATELESS).connect(target).await.unwrap() }).await.unwrap();
    let second = first.clone();
    let conversation = tokio::spawn(async move { first.call("a", ()).await.unwrap().text() });
    assert_eq!(conversation.await.unwrap(), "ok");
    assert_eq!(second.call("b", ()).await.unwrap().text(), "ok");
    assert_eq!((raw.connections(), raw.closed()), (1, 0));
    drop(second);
    settle().await;
    assert_eq!(raw.closed(), 1);
}

/// Line 31: what a request leaves behind is found by an identifier that each later request names, and by nothing else.
#[tokio::test]
async fn line_031_state_has_an_identifier() {
    let mut wire = open(example().build(), STATELESS, able()).await;
    let first = call(&mut wire, "twice", json!({})).await;
    let state = first["result"]["requestState"].as_str().expect("an identifier").to_owned();
    // The same call on the same connection, without it, begins anew.
    let anew = call(&mut wire, "twice", json!({})).await;
    assert!(anew["result"]["inputRequests"].get("first").is_some(), "{anew}");
    let again =
        json!({ "name": "twice", "arguments": {}, "requestState": state, "inputResponses": { "first": yes() } });
    let second = wire.request("tools/call", again).await;
    assert!(second["result"]["inputRequests"].get("second").is_some(), "{second}");
    assert_eq!(second["result"]["inputRequests"].get("first"), None);
}

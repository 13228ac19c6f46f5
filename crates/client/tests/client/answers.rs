//! Questions of the server, in both eras, answered by the same callbacks.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_client::{Client, ClientBuilder};
use couplet_core::ErrorKind;
use couplet_types::{CallTool, CallToolParams, ContentBlock, CreateMessageResult, ProtocolVersion, Root, RpcError};
use serde_json::{Value, json};

use crate::script::{Script, result, settle};

const STATELESS: ProtocolVersion = ProtocolVersion::V2026_07_28;
const SESSION: ProtocolVersion = ProtocolVersion::V2025_11_25;

fn done() -> Value {
    json!({ "content": [{ "type": "text", "text": "done" }] })
}

fn form() -> Value {
    let schema = json!({ "type": "object", "properties": { "yes": { "type": "boolean" } }, "required": ["yes"] });
    json!({ "method": "elicitation/create", "params": { "message": "sure?", "requestedSchema": schema } })
}

fn visit() -> Value {
    let params = json!({ "mode": "url", "message": "go", "url": "https://example.com", "elicitationId": "1" });
    json!({ "method": "elicitation/create", "params": params })
}

fn sample() -> Value {
    let message = json!({ "role": "user", "content": { "type": "text", "text": "hi" } });
    json!({ "method": "sampling/createMessage", "params": { "messages": [message], "maxTokens": 9 } })
}

fn sample_with_tools() -> Value {
    let mut ask = sample();
    ask["params"]["tools"] = json!([]);
    ask
}

fn roots() -> Value {
    json!({ "method": "roots/list" })
}

/// A server that asks once, with all questions in one round.
fn asking_in_rounds(asks: Value) -> Script {
    Script::speaking(STATELESS, json!({ "tools": {} }), move |m| {
        if m["method"] == "tools/list" {
            return vec![result(m, json!({ "tools": [] }))];
        }
        let answer = match m["params"].get("requestState") {
            Some(_) => done(),
            None => json!({ "resultType": "input_required", "inputRequests": asks, "requestState": "a\"b" }),
        };
        vec![result(m, answer)]
    })
}

/// Asks on a session, and returns what came back.
async fn ask_on_session(builder: ClientBuilder, version: ProtocolVersion, ask: &Value) -> Value {
    let script = Script::speaking(version, json!({ "tools": {} }), |_| vec![]);
    let _client = builder.versions([version]).connect(script.clone()).await.unwrap();
    let mut request = ask.clone();
    request["jsonrpc"] = json!("2.0");
    request["id"] = json!("q");
    script.push(request);
    settle().await;
    script.seen().into_iter().find(|m| m["id"] == "q").unwrap()
}

fn able() -> ClientBuilder {
    Client::new("test", "1")
        .on_elicit(|ask| async move { ask.accept(json!({ "yes": true })) })
        .on_elicit_url(|ask| async move { ask.accept_url() })
        .on_sample(|_| async { Ok(CreateMessageResult::new("m", ContentBlock::text("hello"))) })
        .roots([Root::new("file:///x")])
}

#[tokio::test]
async fn the_same_callbacks_answer_both_eras() {
    let expected = [
        (form(), json!({ "action": "accept", "content": { "yes": true } })),
        (visit(), json!({ "action": "accept" })),
        (sample(), json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "hello" } })),
        (roots(), json!({ "roots": [{ "uri": "file:///x" }] })),
    ];
    for (ask, answer) in &expected {
        assert_eq!(ask_on_session(able(), SESSION, ask).await["result"], *answer);
    }
    let asks: serde_json::Map<_, _> =
        expected.iter().enumerate().map(|(n, (ask, _))| (format!("k{n}"), ask.clone())).collect();
    let script = asking_in_rounds(json!(asks));
    let client = able().connect(script.clone()).await.unwrap();
    let text = client.call("t", json!({ "deep": [1.50] })).on_progress(|_| ()).await.unwrap().text();
    assert_eq!(text, "done");
    let calls = script.seen_of("tools/call");
    assert_eq!(calls.len(), 2);
    for (n, (_, answer)) in expected.iter().enumerate() {
        assert_eq!(calls[1]["params"]["inputResponses"][format!("k{n}")], *answer);
    }
    assert_eq!(calls[1]["params"]["requestState"], "a\"b");
    assert_ne!(calls[0]["id"], calls[1]["id"]);
    assert_eq!(calls[0]["params"]["arguments"], calls[1]["params"]["arguments"]);
    assert_eq!(calls[1]["params"]["_meta"]["progressToken"], calls[1]["id"]);
    assert_eq!(
        calls[0]["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"],
        calls[1]["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    );
}

#[tokio::test]
async fn what_is_not_declared_is_refused() {
    let bare = || Client::new("test", "1");
    let forms = || bare().on_elicit(|ask| async move { ask.decline() });
    let urls = || bare().on_elicit_url(|ask| async move { ask.accept_url() });
    let refused: [(ClientBuilder, ProtocolVersion, Value, i32); 11] = [
        (bare(), SESSION, form(), -32601),
        (bare(), SESSION, visit(), -32601),
        (bare(), SESSION, sample(), -32601),
        (bare(), SESSION, roots(), -32601),
        (able(), SESSION, json!({ "method": "tasks/get" }), -32601),
        (able(), SESSION, json!({ "method": "elicitation/create", "params": {} }), -32602),
        (forms(), SESSION, visit(), -32602),
        (urls(), SESSION, form(), -32602),
        (able(), SESSION, sample_with_tools(), -32602),
        (able().sampling_tools(true), ProtocolVersion::V2025_06_18, sample_with_tools(), -32602),
        (able(), ProtocolVersion::V2024_11_05, form(), -32601),
    ];
    for (builder, version, ask, code) in refused {
        assert_eq!(ask_on_session(builder, version, &ask).await["error"]["code"], code, "{version} {ask}");
    }
    let tools = ask_on_session(able().sampling_tools(true), SESSION, &sample_with_tools()).await;
    assert_eq!(tools["result"]["model"], "m");

    for (builder, ask, what) in [
        (bare(), form(), "elicitation/create"),
        (forms(), visit(), "elicitation mode `url`"),
        (bare(), roots(), "roots/list"),
        (able(), sample_with_tools(), "sampling with tools"),
    ] {
        let script = asking_in_rounds(json!({ "confirm": ask }));
        let client = builder.connect(script.clone()).await.unwrap();
        let failed = client.call("t", ()).await.unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::Unsupported);
        assert!(failed.to_string().contains("`confirm`") && failed.to_string().contains(what), "{failed}");
        assert_eq!(script.seen_of("tools/call").len(), 1);
    }
}

#[tokio::test]
async fn callbacks_that_fail_or_panic_harm_nobody_else() {
    let failing = || Client::new("test", "1").on_elicit(|_| async { Err(RpcError::new(-1, "not now")) });
    let panicking = || {
        Client::new("test", "1")
            .on_elicit(|ask| async move { if ask.is_url() { ask.cancel() } else { panic!("in the future") } })
            .on_sample(|_| -> std::future::Ready<Result<CreateMessageResult, RpcError>> { panic!("at once") })
    };
    let code = |answer: Value| answer["error"]["code"].clone();
    assert_eq!(code(ask_on_session(failing(), SESSION, &form()).await), -1);
    assert_eq!(code(ask_on_session(panicking(), SESSION, &form()).await), -32603);
    assert_eq!(code(ask_on_session(panicking(), SESSION, &sample()).await), -32603);
    let incomplete = Client::new("test", "1").on_elicit(|ask| async move { ask.accept(json!({})) });
    assert_eq!(code(ask_on_session(incomplete, SESSION, &form()).await), -32603);
    for builder in [failing(), panicking()] {
        let client = builder.connect(asking_in_rounds(json!({ "k": form() }))).await.unwrap();
        let failed = client.call("t", ()).await.unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::Callback);
        assert!(failed.rpc().is_none());
        assert!(client.tools().await.is_ok());
    }
}

/// A server that asks again and again; returns how often it was asked.
async fn rounds(ask: Value, allowed: usize, needed: usize) -> (Result<String, ErrorKind>, usize) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let script = Script::speaking(STATELESS, json!({ "tools": {} }), move |m| {
        let at = counted.fetch_add(1, Ordering::Relaxed);
        let state = m["params"].get("requestState");
        assert_eq!(state.and_then(Value::as_str), (at > 0).then(|| format!("s{at}")).as_deref());
        if at >= needed {
            return vec![result(m, done())];
        }
        let mut answer = ask.clone();
        answer["resultType"] = json!("input_required");
        answer["requestState"] = json!(format!("s{}", at + 1));
        vec![result(m, answer)]
    });
    let client = able().max_rounds(allowed).connect(script).await.unwrap();
    let outcome = client.call("t", ()).await.map(|r| r.text()).map_err(|e| e.kind());
    (outcome, count.load(Ordering::Relaxed))
}

/// The error of a client that was asked these questions, one round each.
async fn given_up(questions: impl Fn(usize) -> Value + Send + Sync + 'static) -> String {
    let count = AtomicUsize::new(0);
    let script = Script::speaking(STATELESS, json!({ "tools": {} }), move |m| {
        let asks = questions(count.fetch_add(1, Ordering::Relaxed) + 1);
        vec![result(m, json!({ "resultType": "input_required", "inputRequests": asks, "requestState": "s" }))]
    });
    let client = able().connect(script).await.unwrap();
    client.call("t", ()).await.unwrap_err().to_string()
}

#[tokio::test]
async fn the_error_after_too_many_rounds_names_the_questions() {
    let ask = |message: String| {
        let mut ask = form();
        ask["params"]["message"] = json!(message);
        ask
    };
    let told = given_up(move |n| json!({ format!("age#{n}"): ask("How old\nare you?".to_owned()) })).await;
    let given_up = "`tools/call` was abandoned: after 10 rounds the server still requests input";
    let same = "they are the same in every round, so the responses do not satisfy the server";
    assert_eq!(told, format!("{given_up} `age#11` (`How old are you?`); {same}"));
    let told = self::given_up(move |n| json!({ "page": ask(format!("page {n}?")) })).await;
    assert_eq!(told, format!("{given_up} `page` (`page 11?`); `max_rounds` allows more"));
    let long = move |n| (0..5).map(|k| (format!("k{k}"), ask("x".repeat(1000 + n)))).collect::<Value>();
    let told = self::given_up(long).await;
    assert!(told.contains("`k0` (`xxx") && told.contains("…`) and 2 more; `max_rounds`"), "{told}");
    assert!(told.len() < 600, "{told}");
    let told = self::given_up(|_| json!({})).await;
    assert_eq!(told, format!("{given_up}; `max_rounds` allows more"));
}

#[tokio::test]
async fn rounds_are_bounded() {
    for ask in [json!({}), json!({ "inputRequests": { "k": form() } })] {
        assert_eq!(rounds(ask.clone(), 10, 10).await, (Ok("done".into()), 11));
        assert_eq!(rounds(ask.clone(), 10, 11).await, (Err(ErrorKind::Protocol), 11));
        assert_eq!(rounds(ask, 0, 1).await, (Err(ErrorKind::Protocol), 1));
    }
    let script = Script::speaking(STATELESS, json!({ "tools": {} }), |m| {
        vec![result(m, json!({ "resultType": "input_required" }))]
    });
    let client = able().connect(script).await.unwrap();
    assert_eq!(client.call("t", ()).await.unwrap_err().kind(), ErrorKind::Protocol);
}

#[tokio::test]
async fn rounds_that_somebody_else_began_can_be_carried_on() {
    let script = Script::speaking(STATELESS, json!({ "tools": {} }), |m| {
        let again = m["params"]["requestState"] == "theirs";
        let ask = json!({ "resultType": "input_required", "requestState": "next", "inputRequests": { "b": form() } });
        vec![result(m, if again { ask } else { done() })]
    });
    let client = able().connect(script.clone()).await.unwrap();
    let answers = [("a", json!({ "action": "cancel" }).into())].into();
    let params = CallToolParams::new("t").request_state("theirs").input_responses(answers);
    client.request::<CallTool>(params).await.unwrap();
    let calls = script.seen_of("tools/call");
    assert_eq!(calls[0]["params"]["inputResponses"], json!({ "a": { "action": "cancel" } }));
    assert_eq!(calls[1]["params"]["requestState"], "next");
    let next = &calls[1]["params"]["inputResponses"];
    assert_eq!(*next, json!({ "b": { "action": "accept", "content": { "yes": true } } }));
}

#[tokio::test(start_paused = true)]
async fn a_person_may_think_longer_than_the_server_may() {
    let slow = || {
        Client::new("test", "1").on_elicit(|ask| async move {
            tokio::time::sleep(Duration::from_secs(150)).await;
            ask.accept(json!({ "yes": true }))
        })
    };
    let client = slow().connect(asking_in_rounds(json!({ "k": form() }))).await.unwrap();
    assert_eq!(client.call("t", ()).await.unwrap().text(), "done");

    let call = Arc::new(std::sync::Mutex::new(Value::Null));
    let script = Script::speaking(SESSION, json!({ "tools": {} }), move |m| {
        if m["method"] == "tools/call" {
            *call.lock().unwrap() = m.clone();
            let mut ask = form();
            (ask["jsonrpc"], ask["id"]) = (json!("2.0"), json!(1));
            return vec![ask];
        }
        if m.get("result").is_some() { vec![result(&call.lock().unwrap(), done())] } else { vec![] }
    });
    let client = slow().connect(script).await.unwrap();
    assert_eq!(client.call("t", ()).await.unwrap().text(), "done");
}

#[tokio::test]
async fn roots_can_change() {
    for &version in ProtocolVersion::ALL {
        let script = Script::speaking(version, json!({}), |_| vec![]);
        let builder = Client::new("test", "1").versions([version]);
        let client = builder.roots([Root::new("file:///a")]).connect(script.clone()).await.unwrap();
        client.set_roots([Root::new("file:///b")]).await.unwrap();
        settle().await;
        let told = script.seen_of("notifications/roots/list_changed").len();
        assert_eq!(told, usize::from(version != STATELESS));
        assert_eq!(client.set_roots([Root::new("/b")]).await.unwrap_err().kind(), ErrorKind::Config);
    }
    let script = Script::speaking(SESSION, json!({}), |_| vec![]);
    let client = Client::new("test", "1").connect(script.clone()).await.unwrap();
    assert_eq!(client.set_roots([]).await.unwrap_err().kind(), ErrorKind::Config);
    let wrong = Client::new("test", "1").roots([Root::new("https://a")]).connect(script).await;
    assert_eq!(wrong.unwrap_err().kind(), ErrorKind::Config);
}

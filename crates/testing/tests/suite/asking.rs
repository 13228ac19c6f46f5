//! Questions and steps whose keys are used again, whose texts change, and clients that cannot be asked.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

use couplet_client::{Client, ClientBuilder, Elicitation};
use couplet_server::{Ctx, Server, ServerHandle, ToolError, tool};
use couplet_testing::{
    Wire,
    types::{ProtocolVersion, RpcError},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// The revisions in which a server can ask the user.
pub(crate) const ASKING: [ProtocolVersion; 3] =
    [ProtocolVersion::V2025_06_18, ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28];

/// More often than a handler of these tests asks in one run: one that spins ends here.
const MOST: u64 = 1_000;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Age {
    pub(crate) age: u64,
}

/// The questions that a client was asked, in order.
pub(crate) type Asked = Arc<Mutex<Vec<String>>>;

/// A client that answers the n-th question with the n-th age, and the rest with the last one.
pub(crate) fn answering(version: ProtocolVersion, ages: &[u64]) -> (ClientBuilder, Asked) {
    let (asked, ages) = (Asked::default(), ages.to_vec());
    let seen = asked.clone();
    let answer = move |ask: Elicitation| {
        let mut seen = seen.lock().expect("nothing panics with it");
        seen.push(ask.message().to_owned());
        let age = ages.get(seen.len() - 1).or(ages.last()).copied().unwrap_or_default();
        async move { ask.accept(json!({ "age": age })) }
    };
    (Client::new("test", "1.0.0").versions([version]).on_elicit(answer), asked)
}

/// What a tool answers to a client that gives these ages, and what it asked.
async fn call(server: &ServerHandle, version: ProtocolVersion, name: &str, ages: &[u64]) -> (String, Vec<String>) {
    let (builder, asked) = answering(version, ages);
    let client = builder.connect(server.clone()).await.expect("a server in memory");
    let text = match client.call(name, json!({})).await {
        Ok(result) => result.text(),
        Err(error) => error.to_string(),
    };
    let asked = asked.lock().expect("nothing panics with it").clone();
    (text, asked)
}

/// Asks until the answer is good.
pub(crate) async fn register(ctx: Ctx) -> Result<String, ToolError> {
    for _ in 0..MOST {
        let answer = ctx.elicit::<Age>("age", "How old are you? (18 or more)").await?.accepted()?;
        if answer.age >= 18 {
            return Ok(format!("welcome, {}", answer.age));
        }
    }
    Ok("it spins".to_owned())
}

#[tokio::test]
async fn a_key_that_is_used_again_is_the_next_question_of_that_name() {
    let twice = |ctx: Ctx| async move {
        let one = ctx.elicit::<Age>("k", "one?").await?.accepted()?.age;
        let two = ctx.elicit::<Age>("k", "two?").await?.accepted()?.age;
        Ok::<_, ToolError>(format!("{one} {two}"))
    };
    let together = |ctx: Ctx| async move {
        let (one, two) = tokio::join!(ctx.elicit::<Age>("k", "one?"), ctx.elicit::<Age>("k", "two?"));
        Ok::<_, ToolError>(format!("{} {}", one?.accepted()?.age, two?.accepted()?.age))
    };
    // Keys that look like those of a second use.
    let odd = |ctx: Ctx| async move {
        let mut ages = Vec::new();
        for (key, text) in [("k#2", "a"), ("k", "b"), ("k", "c"), ("k#2", "d"), ("k#2#2", "e"), ("k#1", "f")] {
            ages.push(ctx.elicit::<Age>(key, text).await?.accepted()?.age.to_string());
        }
        Ok::<_, ToolError>(ages.join(" "))
    };
    let server = Server::new("s", "1")
        .tool(tool("register", register))
        .tool(tool("twice", twice))
        .tool(tool("together", together))
        .tool(tool("odd", odd))
        .build();
    for version in ASKING {
        for (name, ages, expected, questions) in [
            ("register", &[7, 30][..], "welcome, 30", 2),
            ("register", &[1, 2, 3, 4, 20], "welcome, 20", 5),
            ("twice", &[1, 2], "1 2", 2),
            ("together", &[1, 2], "1 2", 2),
            ("odd", &[1, 2, 3, 4, 5, 6], "1 2 3 4 5 6", 6),
        ] {
            let (text, asked) = call(&server, version, name, ages).await;
            assert_eq!((&*text, asked.len()), (expected, questions), "{version}: {name}: {asked:?}");
        }
    }
}

#[tokio::test]
async fn a_step_that_is_used_again_is_the_next_step_of_that_name() {
    let steps = |ctx: Ctx| async move {
        let (next, mut seen) = (AtomicU64::new(0), Vec::new());
        for _ in 0..3 {
            seen.push(ctx.step("n", || async { next.fetch_add(1, Ordering::SeqCst) }).await?);
        }
        if ctx.peer().capabilities.elicitation.is_some() {
            ctx.elicit::<Age>("n", "a question may have the name of a step").await?.accepted()?;
        }
        for _ in 0..2 {
            seen.push(ctx.step("n", || async { 10 + next.fetch_add(1, Ordering::SeqCst) }).await?);
        }
        Ok::<_, ToolError>(format!("{:?}", &seen[..3]))
    };
    let server = Server::new("s", "1").tool(tool("steps", steps)).build();
    for &version in ProtocolVersion::ALL {
        let (builder, _) = answering(version, &[1]);
        let builder = if ASKING.contains(&version) { builder } else { Client::new("t", "1").versions([version]) };
        let client = builder.connect(server.clone()).await.unwrap();
        assert_eq!(client.call("steps", json!({})).await.unwrap().text(), "[0, 1, 2]", "{version}");
    }
}

#[tokio::test]
async fn a_question_that_changes_fails_in_the_second_round() {
    let count = Arc::new(AtomicU64::new(3));
    let unstable = move |ctx: Ctx| {
        let order = count.fetch_add(1, Ordering::SeqCst);
        async move {
            // The handler cannot hide it either.
            let answer = ctx.elicit::<Age>("a", format!("order {order}: ok?")).await;
            answer.map_or_else(|_| "hidden".to_owned(), |_| "answered".to_owned())
        }
    };
    let server = Server::new("s", "1").tool(tool("unstable", unstable)).build();
    let (text, asked) = call(&server, ProtocolVersion::V2026_07_28, "unstable", &[1]).await;
    let told = "the question `a` was `order 3: ok?` and is now `order 4: ok?`: put what changes into a `step`";
    assert_eq!(asked, ["order 3: ok?"]);
    assert!(text.contains(told), "{text}");
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_is_an_error_that_the_model_sees() {
    let server = Server::new("s", "1").tool(tool("register", register)).build();
    for &version in ProtocolVersion::ALL {
        let client = Client::new("test", "1.0.0").versions([version]).connect(server.clone()).await.unwrap();
        let result = client.call("register", json!({})).await.unwrap_or_else(|e| panic!("{version}: {e}"));
        assert!(result.is_error(), "{version}");
        assert!(result.text().contains("the client cannot ask the user: it does not support elicitation"), "{version}");
    }
}

#[tokio::test]
async fn a_handler_knows_beforehand_what_can_be_asked() {
    let can = |ctx: Ctx| async move {
        let all = [ctx.can_elicit(), ctx.can_elicit_url(), ctx.can_sample(), ctx.can_list_roots()];
        all.map(|can| if can { 'x' } else { '-' }).into_iter().collect::<String>()
    };
    let server = Server::new("s", "1").tool(tool("can", can)).build();
    for (capabilities, revisions) in [
        (json!({}), ["----"; 5]),
        (json!({ "elicitation": {} }), ["----", "----", "x---", "x---", "x---"]),
        (json!({ "elicitation": { "url": {} } }), ["----", "----", "----", "-x--", "-x--"]),
        (json!({ "elicitation": { "url": {}, "form": {} } }), ["----", "----", "x---", "xx--", "xx--"]),
        (json!({ "sampling": {}, "roots": {} }), ["--xx"; 5]),
    ] {
        for (version, expected) in ProtocolVersion::ALL.iter().copied().zip(revisions) {
            let declared = serde_json::from_value(capabilities.clone()).unwrap();
            let mut wire = Wire::with(server.clone(), version, declared, Default::default());
            wire.open().await;
            let answer = wire.request("tools/call", json!({ "name": "can" })).await;
            assert_eq!(answer["result"]["content"][0]["text"], expected, "{version} {capabilities}");
        }
    }
}

/// A developer's own error is one of the protocol, whatever code it has.
#[tokio::test]
async fn errors_that_are_made_on_purpose_stay_errors_of_the_protocol() {
    let purpose = |ctx: Ctx| async move {
        let refused = ctx.elicit::<Age>("age", "?").await.err();
        let own = RpcError::new(refused.map_or(0, |refused| refused.code), "not with this client");
        Err::<String, ToolError>(own.into())
    };
    let server = Server::new("s", "1").tool(tool("purpose", purpose)).build();
    for &version in ProtocolVersion::ALL {
        let client = Client::new("test", "1.0.0").versions([version]).connect(server.clone()).await.unwrap();
        let error = client.call("purpose", json!({})).await.unwrap_err();
        assert_eq!(error.rpc().map(|e| &*e.message), Some("not with this client"), "{version}");
    }
}

/// A replayed answer gives way: other calls on the connection go on before the handler does.
#[tokio::test]
async fn a_replayed_answer_is_a_yield_point() {
    let server = Server::new("s", "1").tool(tool("register", register)).tool(tool("quick", || "quick")).build();
    let capabilities = serde_json::from_value(json!({ "elicitation": {} })).unwrap();
    let mut wire = Wire::with(server, ProtocolVersion::V2026_07_28, capabilities, Default::default());
    wire.open().await;
    let mut params = json!({ "name": "register" });
    for round in 1..=3 {
        let asked = wire.request("tools/call", params.clone()).await["result"].take();
        let key = if round == 1 { "age".to_owned() } else { format!("age#{round}") };
        let questions: Vec<_> = asked["inputRequests"].as_object().unwrap().keys().collect();
        assert_eq!(questions, [&key]);
        let answer = json!({ "action": "accept", "content": { "age": 7 } });
        params["requestState"] = asked["requestState"].clone();
        params["inputResponses"] = json!({ key: answer });
    }
    let register = wire.start("tools/call", params);
    let quick = wire.start("tools/call", json!({ "name": "quick" }));
    let (mut rests, mut answered) = (0, Vec::new());
    while !answered.contains(&json!(register)) {
        rests += 1;
        answered.extend(wire.ready().iter().map(|answer| answer["id"].clone()));
    }
    assert_eq!(answered, [quick, register]);
    assert!(rests >= 3, "three answers are replayed, and each gives way: {rests}");
}

//! Lines 83 to 103: requests of several rounds.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use couplet_client::Client;
use couplet_core::{
    Ask, BoxFuture, Call, Caller, Description, ErrorKind, Hub, Inputs, Outcome, Reply, ResultBody, Sealer, Service,
};
use couplet_server::{Ctx, Next, Server, ToolError, extract::Args, prompt, resource, tool};
use couplet_testing::types::{
    CreateMessageResult, ElicitParams, ElicitSchema, Implementation, InputRequest, ListRoots, ListRootsParams, Ping,
    PingParams, PromptsCapability, Root, RpcError, ServerCapabilities, ToolsCapability, code,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::kit::{
    RawServer, STATELESS, Text, Yes, able, call, client, converse, everything, example, is_refused, is_request, open,
    result, said, settle, text, yes,
};

/// The parameters of the next round of a call of a tool.
fn again(tool: &str, response: &Value, answers: Value) -> Value {
    json!({ "name": tool, "arguments": {}, "requestState": response["result"]["requestState"], "inputResponses": answers })
}

/// A question that a server may ask in a result.
fn form() -> Value {
    json!({ "method": "elicitation/create",
            "params": { "mode": "form", "message": "?", "requestedSchema": { "type": "object", "properties": {} } } })
}

/// A server that asks, for each call of a tool, what the function says, until it gets an answer.
fn asking(ask: impl Fn(&Value) -> Value + Send + Sync + 'static) -> RawServer {
    RawServer::speaking(STATELESS, everything(), move |m| match m["params"].get("requestState") {
        _ if m["method"] != "tools/call" => vec![],
        None if m["params"].get("inputResponses").is_none() => {
            let mut body = ask(m);
            body["resultType"] = json!("input_required");
            vec![result(m, body)]
        }
        _ => vec![said(m, "done")],
    })
}

/// A client that fills in every form.
async fn filling(raw: &RawServer) -> Client {
    client(STATELESS)
        .on_elicit(|ask| async move { ask.accept(json!({ "yes": true })) })
        .connect(raw.clone())
        .await
        .unwrap()
}

/// Line 83: what a server wants from the client is in its result, and nowhere else.
#[tokio::test]
async fn line_083_questions_are_in_results() {
    let mut wire = open(example().build(), STATELESS, able()).await;
    for (tool, key, method) in [
        ("sure", "sure", "elicitation/create"),
        ("visit", "visit", "elicitation/create"),
        ("sample", "model", "sampling/createMessage"),
        ("roots", "roots", "roots/list"),
    ] {
        let asked = call(&mut wire, tool, json!({})).await;
        assert_eq!(asked["result"]["inputRequests"][key]["method"], method, "{asked}");
        assert_eq!(wire.ready(), [] as [Value; 0]);
    }
}

/// Line 84: only tools, prompts and resources can answer with questions.
#[tokio::test]
async fn line_084_who_may_ask() {
    let curious = |ctx: Ctx| async move { ctx.elicit::<Yes>("sure", "Sure?").await.map(|_| "asked".to_owned()) };
    let nosy = |ctx: Ctx| async move { ctx.elicit::<Yes>("sure", "?").await.map(|_| vec!["asked"]) };
    let server = Server::new("s", "1")
        .tool(tool("t", curious))
        .resource(resource("a://b", curious))
        .prompt(prompt("p", move |_: Args<Text>, ctx: Ctx| async move { curious(ctx).await }).complete("text", nosy))
        .method("odd/method", |_| async { Reply::InputRequired { asks: vec![], state: Some("s".to_owned()) } })
        .middleware(|call: Call, next: Next| async move {
            let asks = vec![("a".to_owned(), InputRequest::new::<ListRoots>(&ListRootsParams::new()).unwrap())];
            if &*call.method == "tools/list" {
                Reply::InputRequired { asks, state: None }
            } else {
                next.run(call).await
            }
        });
    let mut wire = open(server.build(), STATELESS, able()).await;
    let reference = json!({ "type": "ref/prompt", "name": "p" });
    for (method, params, asks) in [
        ("tools/call", json!({ "name": "t" }), true),
        ("resources/read", json!({ "uri": "a://b" }), true),
        ("prompts/get", json!({ "name": "p", "arguments": { "text": "a" } }), true),
        ("completion/complete", json!({ "ref": reference, "argument": { "name": "text", "value": "" } }), false),
        ("odd/method", json!({}), false),
        ("tools/list", json!({}), false),
    ] {
        let answer = wire.request(method, params).await;
        assert_eq!(answer["result"]["resultType"] == "input_required", asks, "{method}: {answer}");
        assert_eq!(answer.get("error").is_some(), !asks, "{method}: {answer}");
    }
}

/// A server whose only tool answers with what it is given.
async fn replying(reply: impl Fn() -> Reply + Send + Sync + 'static) -> Value {
    let server = Server::new("s", "1").tool(tool("t", || "t")).middleware(move |_: Call, _: Next| {
        let reply = reply();
        async move { reply }
    });
    call(&mut open(server.build(), STATELESS, able()).await, "t", json!({})).await
}

/// Line 85: a result that asks has questions, or state, or both.
#[tokio::test]
async fn line_085_questions_or_state() {
    let mut wire = open(example().build(), STATELESS, able()).await;
    let asked = call(&mut wire, "sure", json!({})).await;
    assert!(asked["result"]["inputRequests"].is_object() && asked["result"]["requestState"].is_string(), "{asked}");
    let roots = || ("a".to_owned(), InputRequest::new::<ListRoots>(&ListRootsParams::new()).unwrap());
    let both = replying(move || Reply::InputRequired { asks: vec![roots()], state: None }).await;
    assert_eq!((both["result"].get("requestState"), both["result"]["inputRequests"].is_object()), (None, true));
    let state = replying(|| Reply::InputRequired { asks: vec![], state: Some("s".to_owned()) }).await;
    assert_eq!((&state["result"]["requestState"], state["result"].get("inputRequests")), (&json!("s"), None));
    let neither = replying(|| Reply::InputRequired { asks: vec![], state: None }).await;
    assert_eq!(neither["error"]["code"], code::INTERNAL_ERROR, "{neither}");
}

/// Line 86: the questions are those three, and each has a key of its own.
#[tokio::test]
async fn line_086_three_kinds_of_questions() {
    let mut wire = open(example().build(), STATELESS, able()).await;
    let asked = call(&mut wire, "two", json!({})).await;
    let keys: Vec<&String> = asked["result"]["inputRequests"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["a", "b"]);
    let ping = || ("a".to_owned(), InputRequest::new::<Ping>(&PingParams::new()).unwrap());
    let odd = replying(move || Reply::InputRequired { asks: vec![ping()], state: None }).await;
    assert_eq!(odd["error"]["code"], code::INTERNAL_ERROR, "{odd}");
    let roots = || ("a".to_owned(), InputRequest::new::<ListRoots>(&ListRootsParams::new()).unwrap());
    let same = replying(move || Reply::InputRequired { asks: vec![roots(), roots()], state: None }).await;
    assert_eq!(same["error"]["code"], code::INTERNAL_ERROR, "{same}");
}

/// Line 87: nothing is asked that the request's capabilities do not cover, also when an earlier question was.
#[tokio::test]
async fn line_087_capabilities_cover_the_questions() {
    let mixed = |ctx: Ctx| async move {
        let (_, roots) = tokio::join!(ctx.elicit::<Yes>("sure", "Sure?"), ctx.roots());
        roots.map(|r| r.len().to_string())
    };
    let server = example().tool(tool("mixed", mixed)).build();
    for (tool, declared, asked) in [
        ("sure", json!({ "elicitation": {} }), true),
        ("sure", json!({ "elicitation": { "form": {} } }), true),
        ("sure", json!({ "elicitation": { "url": {} } }), false),
        ("sure", json!({ "sampling": {}, "roots": {} }), false),
        ("visit", json!({ "elicitation": { "url": {} } }), true),
        ("visit", json!({ "elicitation": {} }), false),
        ("visit", json!({ "elicitation": { "form": {} } }), false),
        ("sample", json!({ "sampling": {} }), true),
        ("sample", json!({ "elicitation": {} }), false),
        ("sample_tools", json!({ "sampling": { "tools": {} } }), true),
        ("sample_tools", json!({ "sampling": {} }), false),
        ("roots", json!({ "roots": {} }), true),
        ("roots", json!({}), false),
    ] {
        let answer = call(&mut open(server.clone(), STATELESS, declared.clone()).await, tool, json!({})).await;
        assert_eq!(is_refused(&answer), !asked, "{tool} {declared}: {answer}");
        assert_eq!(answer["result"]["resultType"] == "input_required", asked, "{tool} {declared}: {answer}");
    }
    let answer = call(&mut open(server, STATELESS, json!({ "elicitation": {} })).await, "mixed", json!({})).await;
    assert_eq!(answer["result"]["inputRequests"].get("roots"), None, "{answer}");
}

/// Line 88: whatever comes as state is taken for an attack until it is proven to be ours.
#[tokio::test]
async fn line_088_state_is_not_trusted() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let server = Server::new("s", "1").tool(tool("t", move || counted.fetch_add(1, Ordering::SeqCst).to_string()));
    let mut wire = open(server.build(), STATELESS, able()).await;
    let long = "A".repeat(100_000);
    for state in [
        json!(""),
        json!("x"),
        json!("e30"),
        json!("{}"),
        json!("\u{0}"),
        json!("äöü"),
        json!("////"),
        json!(long),
        json!("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
        json!(5),
        json!({}),
        json!(["a"]),
    ] {
        let refusal = wire.request("tools/call", json!({ "name": "t", "requestState": state })).await;
        assert_eq!(refusal["error"]["code"], code::INVALID_PARAMS, "{state}: {refusal}");
    }
    assert_eq!(runs.load(Ordering::SeqCst), 0, "the handler never ran");
}

/// Line 89: state that was changed is refused with an error, and not with another question.
#[tokio::test]
async fn line_089_changed_state_is_refused() {
    let mut wire = open(example().build(), STATELESS, able()).await;
    let asked = call(&mut wire, "sure", json!({})).await;
    let state = asked["result"]["requestState"].as_str().unwrap().to_owned();
    let mut changed: Vec<String> = (0..state.len())
        .step_by(7)
        .map(|at| {
            let other = if state.as_bytes()[at] == b'A' { "B" } else { "A" };
            format!("{}{other}{}", &state[..at], &state[at + 1..])
        })
        .collect();
    changed.extend([state[1..].to_owned(), format!("{state}A"), format!("{state}{state}")]);
    let mut foreign = open(example().build(), STATELESS, able()).await;
    changed.push(call(&mut foreign, "sure", json!({})).await["result"]["requestState"].as_str().unwrap().to_owned());
    for forged in changed {
        let params =
            json!({ "name": "sure", "arguments": {}, "requestState": forged, "inputResponses": { "sure": yes() } });
        let refusal = wire.request("tools/call", params).await;
        assert_eq!(refusal["error"]["code"], code::INVALID_PARAMS, "{forged}: {refusal}");
    }
    let good = wire.request("tools/call", again("sure", &asked, json!({ "sure": yes() }))).await;
    assert_eq!(text(&good), "sure: true");
}

/// A server with a clock that the test sets, and clients that it knows.
#[derive(Clone)]
struct Clocked {
    hub: Hub,
    sealer: Sealer,
    now: Arc<AtomicU64>,
    principal: Option<&'static str>,
}

impl Service for Clocked {
    fn describe(&self) -> Arc<Description> {
        let can = ServerCapabilities::new().tools(ToolsCapability::new()).prompts(PromptsCapability::new());
        Arc::new(Description::new(Implementation::new("clocked", "1"), can))
    }

    fn call(&self, mut call: Call) -> BoxFuture<'static, Reply> {
        call.caller = self.principal.map(|name| Arc::new(Caller::new(name)));
        let Self { sealer, now, .. } = self.clone();
        Box::pin(async move { Inputs::drive(call, &sealer, || now.load(Ordering::SeqCst), sure).await })
    }

    fn hub(&self) -> &Hub {
        &self.hub
    }
}

async fn sure(call: Call) -> Reply {
    let ask = Ask::Elicit(Box::new(ElicitParams::form("Sure?", &ElicitSchema::new())));
    match call.inputs.ask(call.revision, &call.peer, "sure", ask).await {
        Ok(_) => Reply::Complete(ResultBody::value(&json!({ "content": [{ "type": "text", "text": "done" }] }))),
        Err(error) => Reply::Error(error),
    }
}

/// Line 90: state is for one client, one request and a short time.
#[tokio::test]
async fn line_090_state_is_bound() {
    let now = Arc::new(AtomicU64::new(1_000_000));
    let ada = Clocked {
        hub: Hub::new(),
        sealer: Sealer::new([1; 32]).lifetime(60),
        now: now.clone(),
        principal: Some("ada"),
    };
    let nobody = Clocked { principal: None, ..ada.clone() };
    let eve = Clocked { principal: Some("eve"), ..ada.clone() };
    let params = json!({ "name": "t", "arguments": { "a": 1, "b": [2] } });
    let asked = open(ada.clone(), STATELESS, able()).await.request("tools/call", params.clone()).await;
    let retry = |change: Value| {
        let mut retry = params.clone();
        retry["requestState"] = asked["result"]["requestState"].clone();
        retry["inputResponses"] = json!({ "sure": yes() });
        change.as_object().unwrap().iter().for_each(|(key, value)| retry[key] = value.clone());
        retry
    };
    for (what, server, method, change, seconds, good) in [
        ("the same", &ada, "tools/call", json!({}), 0, true),
        ("in other order", &ada, "tools/call", json!({ "arguments": { "b": [2], "a": 1 } }), 60, true),
        ("too late", &ada, "tools/call", json!({}), 61, false),
        ("another client", &eve, "tools/call", json!({}), 0, false),
        ("no client", &nobody, "tools/call", json!({}), 0, false),
        ("other arguments", &ada, "tools/call", json!({ "arguments": { "a": 2, "b": [2] } }), 0, false),
        ("another tool", &ada, "tools/call", json!({ "name": "u" }), 0, false),
        ("another method", &ada, "prompts/get", json!({}), 0, false),
    ] {
        let mut wire = open(server.clone(), STATELESS, able()).await;
        now.store(1_000_000 + seconds, Ordering::SeqCst);
        let answer = wire.request(method, retry(change)).await;
        now.store(1_000_000, Ordering::SeqCst);
        assert_eq!(answer["result"]["resultType"] == "complete", good, "{what}: {answer}");
        assert_eq!(answer["error"]["code"] == code::INVALID_PARAMS, !good, "{what}: {answer}");
    }
}

/// Line 91: where something must happen only once, the server can see to it: a step gives each call a number that it
/// keeps, and the server remembers which numbers were used.
#[tokio::test]
async fn line_091_single_use() {
    let (numbers, used) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(HashSet::new())));
    let pay = move |ctx: Ctx| {
        let (numbers, used) = (numbers.clone(), used.clone());
        async move {
            let number = ctx.step("number", || async { numbers.fetch_add(1, Ordering::SeqCst) }).await?;
            ctx.elicit::<Yes>("sure", "Pay?").await?.accepted()?;
            let fresh = used.lock().unwrap().insert(number);
            if fresh { Ok(format!("paid {number}")) } else { Err(ToolError::new("it was paid already")) }
        }
    };
    let mut wire = open(Server::new("s", "1").tool(tool("pay", pay)).build(), STATELESS, able()).await;
    let asked = call(&mut wire, "pay", json!({})).await;
    let retry = again("pay", &asked, json!({ "sure": yes() }));
    assert_eq!(text(&wire.request("tools/call", retry.clone()).await), "paid 0");
    let replayed = wire.request("tools/call", retry).await;
    assert_eq!((&replayed["result"]["isError"], text(&replayed)), (&json!(true), "it was paid already"));
}

/// Line 92: a server that has asked keeps nothing: the client may never come back.
#[tokio::test]
async fn line_092_nothing_waits_for_the_client() {
    let alive = Arc::new(());
    let held = alive.clone();
    let ask = move |ctx: Ctx| {
        let held = held.clone();
        async move {
            let answer = ctx.elicit::<Yes>("sure", "Sure?").await;
            drop(held);
            answer.map(|_| "answered")
        }
    };
    let mut wire = open(Server::new("s", "1").tool(tool("ask", ask)).build(), STATELESS, able()).await;
    let before = Arc::strong_count(&alive);
    for _ in 0..100 {
        assert_eq!(call(&mut wire, "ask", json!({})).await["result"]["resultType"], "input_required");
    }
    assert_eq!((Arc::strong_count(&alive), wire.connection().unanswered()), (before, 0));
    assert_eq!(wire.finish().await, [] as [Value; 0]);
}

/// Line 93: a server may ask again and again.
#[tokio::test]
async fn line_093_several_rounds() {
    let many = |ctx: Ctx| async move {
        for n in 0..5 {
            ctx.elicit::<Yes>(&format!("q{n}"), "?").await?.accepted()?;
        }
        Ok::<_, ToolError>("done")
    };
    let mut wire = open(Server::new("s", "1").tool(tool("many", many)).build(), STATELESS, able()).await;
    let (questions, answer) =
        converse(&mut wire, STATELESS, ("tools/call", json!({ "name": "many" })), |_| yes()).await;
    assert_eq!((questions.len(), text(&answer)), (5, "done"));
}

/// Line 94: answers of the wrong shape are an error of the protocol.
#[tokio::test]
async fn line_094_answers_of_the_wrong_shape() {
    let mut wire = open(example().build(), STATELESS, able()).await;
    let asked = call(&mut wire, "sure", json!({})).await;
    for answers in [
        json!(5),
        json!("sure"),
        json!([yes()]),
        json!({ "sure": 5 }),
        json!({ "sure": null }),
        json!({ "sure": {} }),
        json!({ "sure": { "action": "perhaps" } }),
        json!({ "sure": { "action": "accept", "content": { "yes": "maybe" } } }),
        json!({ "sure": { "action": "accept" } }),
    ] {
        let refusal = wire.request("tools/call", again("sure", &asked, answers.clone())).await;
        assert_eq!(refusal["error"]["code"], code::INVALID_PARAMS, "{answers}: {refusal}");
    }
}

/// Line 95: keys and members that nobody asked for do not matter.
#[tokio::test]
async fn line_095_surplus_answers_are_ignored() {
    let mut wire = open(example().build(), STATELESS, able()).await;
    let asked = call(&mut wire, "sure", json!({})).await;
    let mut answer = yes();
    (answer["odd"], answer["_meta"], answer["content"]["more"]) = (json!(1), json!({ "a": 1 }), json!([]));
    let answers = json!({ "sure": answer, "other": { "action": "perhaps" }, "third": 5 });
    assert_eq!(text(&wire.request("tools/call", again("sure", &asked, answers)).await), "sure: true");
}

/// Line 96: an answer that is still missing is asked for again.
#[tokio::test]
async fn line_096_missing_answers_are_asked_for_again() {
    let mut wire = open(example().build(), STATELESS, able()).await;
    let asked = call(&mut wire, "two", json!({})).await;
    let partly = wire.request("tools/call", again("two", &asked, json!({ "a": yes() }))).await;
    let open: Vec<&String> = partly["result"]["inputRequests"].as_object().unwrap().keys().collect();
    assert_eq!(open, ["b"], "{partly}");
    let nothing = wire.request("tools/call", again("two", &partly, json!({}))).await;
    assert_eq!(nothing["result"]["inputRequests"], partly["result"]["inputRequests"]);
    let done = wire.request("tools/call", again("two", &nothing, json!({ "b": yes() }))).await;
    assert_eq!(text(&done), "a: true b: true");
}

/// Line 97: a client answers all questions before it asks again; without questions it asks again at once.
#[tokio::test]
async fn line_097_all_answers_at_once() {
    let raw =
        asking(|_| json!({ "inputRequests": { "a": form(), "b": { "method": "roots/list" } }, "requestState": "s" }));
    let gate = Arc::new(Notify::new());
    let wait = gate.clone();
    let client = client(STATELESS)
        .on_elicit(move |ask| {
            let wait = wait.clone();
            async move {
                wait.notified().await;
                ask.accept(json!({}))
            }
        })
        .roots([Root::new("file:///a")])
        .connect(raw.clone())
        .await
        .unwrap();
    let calling = tokio::spawn(client.call("t", ()).into_future());
    raw.expect("tools/call", 1).await;
    settle().await;
    assert_eq!(raw.seen_of("tools/call").len(), 1, "one answer is missing");
    gate.notify_one();
    calling.await.unwrap().unwrap();
    let answers = &raw.seen_of("tools/call")[1]["params"]["inputResponses"];
    assert_eq!(answers["a"], json!({ "action": "accept", "content": {} }));
    assert_eq!(answers["b"], json!({ "roots": [{ "uri": "file:///a" }] }));

    let raw = asking(|_| json!({ "requestState": "s" }));
    assert_eq!(filling(&raw).await.call("t", ()).await.unwrap().text(), "done");
    let retry = &raw.seen_of("tools/call")[1]["params"];
    assert_eq!((&retry["requestState"], retry.get("inputResponses")), (&json!("s"), None));
}

/// Line 98: a client sends state back as it came, whatever it looks like.
#[tokio::test]
async fn line_098_state_comes_back_as_it_was() {
    for state in ["", " ", "{\"a\":  1}", "ä\u{301}🦀", "a\nb\t\"c\"\\u0041\u{0}", "AAAA====", &"x".repeat(50_000)] {
        let given = state.to_owned();
        let raw = asking(move |_| json!({ "requestState": given, "inputRequests": { "a": form() } }));
        filling(&raw).await.call("t", ()).await.unwrap();
        assert_eq!(raw.seen_of("tools/call")[1]["params"]["requestState"], state);
    }
}

/// Line 99: a client that got no state sends none.
#[tokio::test]
async fn line_099_no_state_where_none_was_given() {
    let raw = asking(|_| json!({ "inputRequests": { "a": form() } }));
    filling(&raw).await.call("t", ()).await.unwrap();
    let calls = raw.seen_of("tools/call");
    assert_eq!(calls.len(), 2);
    assert!(calls.iter().all(|c| c["params"].get("requestState").is_none()), "{calls:?}");
}

/// Line 100: the next round has an id of its own and the parameters of the first.
#[tokio::test]
async fn line_100_the_next_round_is_a_new_request() {
    let raw = asking(|_| json!({ "inputRequests": { "a": form() }, "requestState": "s" }));
    let arguments = json!({ "n": 1.50, "text": "ä", "deep": { "b": [1, null], "a": {} } });
    filling(&raw).await.call("t", &arguments).await.unwrap();
    let calls = raw.seen_of("tools/call");
    assert_ne!(calls[0]["id"], calls[1]["id"]);
    let mut retry = calls[1]["params"].clone();
    assert_eq!(retry["inputResponses"]["a"]["action"], "accept");
    retry.as_object_mut().unwrap().retain(|key, _| key != "inputResponses" && key != "requestState");
    assert_eq!(retry, calls[0]["params"]);
}

/// Line 101: answers and state are for the request that they were given for; calls at the same time do not mix.
#[tokio::test]
async fn line_101_calls_do_not_mix() {
    let raw = asking(|m| {
        let name = m["params"]["name"].as_str().unwrap();
        let mut ask = form();
        ask["params"]["message"] = json!(name);
        json!({ "inputRequests": { name: ask }, "requestState": format!("state of {name}") })
    });
    let client = client(STATELESS)
        .on_elicit(|ask| async move {
            settle().await;
            ask.accept(json!({ "of": ask.message() }))
        })
        .connect(raw.clone())
        .await
        .unwrap();
    let calls: Vec<_> = (0..5).map(|n| tokio::spawn(client.call(format!("t{n}"), ()).into_future())).collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    client.call("t9", ()).await.unwrap();
    let sent = raw.seen_of("tools/call");
    assert_eq!(sent.len(), 12);
    for params in sent.iter().map(|m| &m["params"]).filter(|p| p.get("requestState").is_some()) {
        let name = params["name"].as_str().unwrap();
        assert_eq!(params["requestState"], format!("state of {name}"));
        let answer = json!({ "action": "accept", "content": { "of": name } });
        assert_eq!(params["inputResponses"], json!({ name: answer }));
    }
    assert_eq!(sent.iter().filter(|m| m["params"].get("requestState").is_none()).count(), 6);
}

/// Line 102: a client does not go on for ever.
#[tokio::test]
async fn line_102_rounds_are_bounded() {
    for rounds in [0, 1, 7] {
        let raw = RawServer::speaking(STATELESS, everything(), |m| match m["method"].as_str() {
            Some("tools/call") => {
                vec![result(
                    m,
                    json!({ "resultType": "input_required", "inputRequests": { "a": form() }, "requestState": "s" }),
                )]
            }
            _ => vec![],
        });
        let builder = client(STATELESS).max_rounds(rounds).on_elicit(|ask| async move { ask.accept(json!({})) });
        let client = builder.connect(raw.clone()).await.unwrap();
        let failure = client.call("t", ()).await.unwrap_err();
        assert_eq!(failure.kind(), ErrorKind::Protocol, "{failure}");
        assert_eq!(raw.seen_of("tools/call").len(), rounds + 1);
    }
}

/// Line 103: a client whose user says no to a question drops the request, and owes the server nothing. A program may
/// also take the questions itself.
#[tokio::test]
async fn line_103_the_flow_can_be_dropped() {
    let sampling = json!({ "method": "sampling/createMessage", "params": { "messages": [], "maxTokens": 1 } });
    let raw = asking(move |_| json!({ "inputRequests": { "a": sampling }, "requestState": "s" }));
    let client = client(STATELESS)
        .on_sample(|_| async { Err::<CreateMessageResult, _>(RpcError::new(code::USER_REJECTED, "the user said no")) })
        .connect(raw.clone())
        .await
        .unwrap();
    let failure = client.call("t", ()).await.unwrap_err();
    assert!(failure.to_string().contains("the user said no") && failure.rpc().is_none(), "{failure:?}");
    settle().await;
    assert_eq!(raw.seen().iter().filter(|m| is_request(m)).count(), 2, "discovery, and one round: {:?}", raw.seen());
    assert_eq!(raw.seen().len(), 2, "no error was sent: {:?}", raw.seen());
    let Outcome::InputRequired { asks, state } = client.call_outcome("t", ()).await.unwrap() else { panic!() };
    assert_eq!((asks.len(), state.as_deref()), (1, Some("s")));
}

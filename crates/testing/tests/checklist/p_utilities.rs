//! Lines 269 to 282: completion, pagination, logging.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use couplet::{
    core::{Call, Reply},
    server::{
        Ctx, Next, Server, ServerHandle, ToolError,
        extract::{Args, Completing, Path},
        prompt, resource, tool,
    },
    types::{CompletionReference, LoggingLevel, RpcError},
};
use couplet_testing::Wire;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::kit::{RawServer, STATELESS, call, capabilities, client, everything, open, result, revisions, settle};

#[derive(Deserialize, JsonSchema)]
struct Trip {
    country: String,
    #[expect(dead_code, reason = "only completed")]
    city: Option<String>,
}

fn trips() -> ServerHandle {
    let many = |_: Completing| (0..250).map(|n| format!("c{n}")).rev().collect::<Vec<_>>();
    let broken = |_: Completing| Err::<Vec<String>, _>(ToolError::new("the disk is full"));
    let trip = |Args(trip): Args<Trip>| trip.country;
    Server::new("s", "1")
        .prompt(prompt("trip", trip).complete_from("country", ["Chile", "Norway", "Nepal"]))
        .prompt(prompt("many", trip).complete("country", many).complete("city", broken))
        .resource(resource("day://{n}", |Path(n): Path<String>| n).complete_from("n", ["1", "12"]))
        .build()
}

async fn complete(wire: &mut Wire, reference: Value, argument: &str, value: &str) -> Value {
    let argument = json!({ "name": argument, "value": value });
    wire.request("completion/complete", json!({ "ref": reference, "argument": argument })).await
}

fn of_prompt(name: &str) -> Value {
    json!({ "type": "ref/prompt", "name": name })
}

/// A server that completes says so, in the revisions that have a word for it.
#[tokio::test]
async fn line_269_completions_are_declared() {
    for &version in revisions("2025-03-26"..) {
        assert_eq!(capabilities(trips(), version).await["completions"], json!({}), "{version}");
        let without = Server::new("s", "1").prompt(prompt("a", || "text")).build();
        assert!(capabilities(without, version).await.get("completions").is_none(), "{version}");
    }
    assert!(capabilities(trips(), revisions(..="2024-11-05")[0]).await.get("completions").is_none());
}

/// There are at most 100 values, in the order in which the handler ranked them, and it is said that there are more.
/// A layer can limit how often somebody asks.
#[tokio::test]
async fn line_270_at_most_a_hundred_values() {
    for &version in revisions(..) {
        let mut wire = open(trips(), version, json!({})).await;
        let completion = complete(&mut wire, of_prompt("many"), "country", "").await["result"]["completion"].take();
        let values = completion["values"].as_array().unwrap();
        assert_eq!((values.len(), &values[0], &values[99]), (100, &json!("c249"), &json!("c150")), "{version}");
        assert_eq!((&completion["total"], &completion["hasMore"]), (&json!(250), &json!(true)), "{version}");
        let few = complete(&mut wire, of_prompt("trip"), "country", "n").await["result"]["completion"].take();
        assert_eq!(few["values"], json!(["Norway", "Nepal"]), "{version}");
        assert_ne!(few["hasMore"], true);
    }
}

/// The client sends the arguments that are already settled, where the revision has a place for them; takes an answer
/// that tells neither the total nor whether there is more; and lets a request that is no longer wanted go.
#[tokio::test]
async fn line_271_completion_of_the_client() {
    for &version in revisions(..) {
        let raw = RawServer::speaking(version, everything(), |m| match m["params"]["argument"]["value"].as_str() {
            Some("Os") => vec![result(m, json!({ "completion": { "values": ["Oslo"] } }))],
            _ => vec![],
        });
        let client = client(version).connect(raw.clone()).await.unwrap();
        let ask = |typed: &str| {
            let request = client.complete(CompletionReference::prompt("trip"), "city", typed);
            request.context([("country", "Norway")])
        };
        // What was typed first is overtaken before it is answered: sent, and cancelled.
        let overtaken = tokio::spawn(std::future::IntoFuture::into_future(ask("O")));
        raw.expect("completion/complete", 1).await;
        overtaken.abort();
        raw.expect("notifications/cancelled", 1).await;
        // What is never awaited is never sent.
        drop(ask("Osl"));
        let found = ask("Os").await.unwrap();
        assert_eq!((found.values, found.total, found.has_more), (vec!["Oslo".to_owned()], None, None), "{version}");
        let sent = raw.seen_of("completion/complete");
        assert_eq!(sent.len(), 2);
        let context = sent[1]["params"].get("context").cloned();
        let expected = json!({ "arguments": { "country": "Norway" } });
        assert_eq!(context, revisions("2025-06-18"..).contains(&version).then_some(expected), "{version}");
    }
}

/// Without the capability there is no such method; a reference or an argument that does not exist is a wrong
/// parameter; a handler that broke is an internal error.
#[tokio::test]
async fn line_272_completion_errors() {
    for &version in revisions("2025-03-26"..) {
        let without = Server::new("s", "1").prompt(prompt("trip", |Args(t): Args<Trip>| t.country)).build();
        let mut wire = open(without, version, json!({})).await;
        assert_eq!(complete(&mut wire, of_prompt("trip"), "country", "").await["error"]["code"], -32601, "{version}");
        let mut wire = open(trips(), version, json!({})).await;
        let day = json!({ "type": "ref/resource", "uri": "day://{n}" });
        for (reference, argument, code) in [
            (of_prompt("nothing"), "country", -32602),
            (of_prompt("trip"), "nothing", -32602),
            (json!({ "type": "ref/resource", "uri": "day://{m}" }), "n", -32602),
            (json!({ "type": "ref/tool", "name": "trip" }), "country", -32602),
            (json!({ "type": "ref/prompt" }), "country", -32602),
            (day.clone(), "m", -32602),
            (of_prompt("many"), "city", -32603),
        ] {
            let answer = complete(&mut wire, reference.clone(), argument, "").await;
            assert_eq!(answer["error"]["code"], code, "{version}: {reference} {argument}");
        }
        let found = complete(&mut wire, day, "n", "1").await;
        assert_eq!(found["result"]["completion"]["values"], json!(["1", "12"]), "{version}");
    }
}

/// What is not a completion request is refused, and a layer can limit the rate and hide suggestions from some.
#[tokio::test]
async fn line_273_completion_is_guarded() {
    for &version in revisions(..) {
        let count = Arc::new(AtomicUsize::new(0));
        let limit = move |call: Call, next: Next| {
            let count = count.fetch_add(usize::from(call.method == "completion/complete"), Ordering::SeqCst);
            async move { if count < 5 { next.run(call).await } else { Reply::Error(RpcError::new(1, "too often")) } }
        };
        let trip = prompt("trip", |Args(t): Args<Trip>| t.country).complete_from("country", ["Norway"]);
        let mut wire = open(Server::new("s", "1").middleware(limit).prompt(trip).build(), version, json!({})).await;
        let argument = json!({ "name": "country", "value": "" });
        for wrong in [
            json!({}),
            json!({ "ref": of_prompt("trip") }),
            json!({ "ref": "trip", "argument": argument }),
            json!({ "ref": of_prompt("trip"), "argument": { "name": "country", "value": 5 } }),
        ] {
            let answer = wire.request("completion/complete", wrong.clone()).await;
            assert_eq!(answer["error"]["code"], -32602, "{version}: {wrong}");
        }
        assert!(complete(&mut wire, of_prompt("trip"), "country", "").await.get("result").is_some(), "{version}");
        assert_eq!(complete(&mut wire, of_prompt("trip"), "country", "").await["error"]["code"], 1, "{version}");
    }
}

/// A list of tools in pages: each page has so many entries, and the cursor of the next.
fn paged(version: couplet::types::ProtocolVersion, pages: &[(usize, Option<&str>)]) -> RawServer {
    let pages: Vec<(usize, Option<String>)> = pages.iter().map(|(n, c)| (*n, c.map(str::to_owned))).collect();
    RawServer::speaking(version, everything(), move |m| {
        if m["method"] != "tools/list" {
            return vec![];
        }
        let cursor = m["params"].get("cursor").and_then(Value::as_str);
        let at = cursor.map_or(0, |c| 1 + pages.iter().position(|(_, next)| next.as_deref() == Some(c)).unwrap());
        let (count, next) = &pages[at];
        let tools: Vec<_> = (0..*count).map(|n| json!({ "name": format!("t{at}-{n}"), "inputSchema": {} })).collect();
        let mut page = json!({ "tools": tools });
        if let Some(next) = next {
            page["nextCursor"] = json!(next);
        }
        vec![result(m, page)]
    })
}

/// Cursors go back exactly as they came, whatever they look like, and pages may have any size, also none.
#[tokio::test]
async fn line_274_cursors_are_opaque() {
    let odd = ["2", "{\"page\":1}", "a b\n\t\"\\", "\u{1F600}=%2F", "MTA=", "0"];
    for &version in revisions(..) {
        let mut pages: Vec<_> = odd.iter().enumerate().map(|(n, cursor)| (n % 3, Some(*cursor))).collect();
        pages.push((7, None));
        let raw = paged(version, &pages);
        let tools = client(version).connect(raw.clone()).await.unwrap().tools().await.unwrap();
        assert_eq!(tools.len(), 13, "{version}");
        let sent: Vec<_> = raw.seen_of("tools/list").iter().map(|m| m["params"]["cursor"].clone()).collect();
        assert_eq!(sent[0], Value::Null);
        assert_eq!(sent[1..], odd.map(Value::from), "{version}");
    }
}

/// An empty text is a cursor like any other: the list goes on.
#[tokio::test]
async fn line_275_the_empty_cursor_is_not_the_end() {
    let raw = paged(STATELESS, &[(1, Some("")), (2, None)]);
    let tools = client(STATELESS).connect(raw.clone()).await.unwrap().tools().await.unwrap();
    assert_eq!(tools.len(), 3);
    assert_eq!(raw.seen_of("tools/list")[1]["params"]["cursor"], "");
}

/// A cursor of one session is not used in another: each list begins at the beginning.
#[tokio::test]
async fn line_276_cursors_stay_in_their_session() {
    for &version in revisions(..="2025-11-25") {
        let raw = paged(version, &[(1, Some("x")), (1, None)]);
        for session in 1..=2 {
            let client = client(version).connect(raw.clone()).await.unwrap();
            // The list is left in the middle, with the cursor in hand.
            client.tool_pages().next().await.unwrap().unwrap();
            assert_eq!(client.tools().await.unwrap().len(), 2);
            let sent = raw.seen_of("tools/list");
            let mine: Vec<_> = sent[3 * (session - 1)..].iter().map(|m| m["params"].get("cursor")).collect();
            assert_eq!(mine, [None, None, Some(&json!("x"))], "{version}");
        }
    }
}

/// The server's cursors stay good when the list changes, and those that are none are refused; for the client, a list
/// ends with the page that has no cursor.
#[tokio::test]
async fn line_277_stable_cursors() {
    for &version in revisions(..) {
        let server = (0..6).fold(Server::new("s", "1").page_size(2), |s, n| s.tool(tool(format!("t{n}"), || "done")));
        let server = server.prompt(prompt("p", || "text")).build();
        let mut wire = open(server.clone(), version, json!({})).await;
        let mut names = Vec::new();
        let mut params = json!({});
        for round in 0.. {
            let page = wire.request("tools/list", params.clone()).await["result"].take();
            names.extend(page["tools"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap().to_owned()));
            if round == 0 {
                // What was read already, what is about to be read, and something new.
                server.remove_tool("t0");
                server.remove_tool("t2");
                server.add_tool(tool("t6", || "done")).unwrap();
                let (again, once_more) = (
                    page["nextCursor"].clone(),
                    wire.request("tools/list", json!({ "cursor": page["nextCursor"] })).await,
                );
                assert_eq!(once_more["result"], wire.request("tools/list", json!({ "cursor": again })).await["result"]);
            }
            match page.get("nextCursor") {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => break,
            }
        }
        assert_eq!(names, ["t0", "t1", "t3", "t4", "t5", "t6"], "{version}");
        let cursor = wire.request("tools/list", json!({})).await["result"]["nextCursor"].take();
        for wrong in [json!(""), json!("2"), json!("nonsense!"), json!(5), json!({}), cursor.clone()] {
            // A cursor of one list is none of another.
            let list = if wrong == cursor { "prompts/list" } else { "tools/list" };
            let answer = wire.request(list, json!({ "cursor": wrong })).await;
            assert_eq!(answer["error"]["code"], -32602, "{version}: {wrong}");
        }
        let raw = paged(version, &[(2, None)]);
        client(version).connect(raw.clone()).await.unwrap().tools().await.unwrap();
        settle().await;
        assert_eq!(raw.seen_of("tools/list").len(), 1, "{version}");
    }
}

/// Says a line at three levels, and whatever else it is told to say.
async fn chatter(ctx: Ctx) -> &'static str {
    ctx.debug("details").await;
    ctx.warn("careful").await;
    ctx.error("broken").await;
    "said"
}

fn chatty() -> ServerHandle {
    Server::new("s", "1").tool(tool("chatter", chatter)).tool(tool("silent", || "nothing")).build()
}

/// The lines that came before the response, and whether any came after.
async fn lines(wire: &mut Wire, params: Value) -> Vec<Value> {
    let id = wire.start("tools/call", params);
    wire.response(id).await;
    let notes = wire.ready();
    assert!(notes.iter().all(|m| m["method"] == "notifications/message"), "{notes:?}");
    notes.into_iter().map(|mut m| m["params"]["data"].take()).collect()
}

fn level(level: &str) -> Value {
    json!({ "name": "chatter", "_meta": { "io.modelcontextprotocol/logLevel": level } })
}

/// A server that can log says so; one whose handlers cannot does not, and logs nothing even where a handler without a
/// declaration tries.
#[tokio::test]
async fn line_278_logging_is_declared() {
    for &version in revisions(..) {
        assert_eq!(capabilities(chatty(), version).await["logging"], json!({}), "{version}");
        let sneaky = |call: Call, next: Next| async move {
            call.outbox.log(LoggingLevel::Emergency, None, json!("psst").into()).await;
            next.run(call).await
        };
        let silent = || Server::new("s", "1").middleware(sneaky).tool(tool("chatter", || "nothing")).build();
        assert!(capabilities(silent(), version).await.get("logging").is_none(), "{version}");
        let mut wire = open(silent(), version, json!({})).await;
        assert!(lines(&mut wire, level("debug")).await.is_empty(), "{version}");
    }
}

/// After a level was set, only lines of that level and above are sent. A level that does not exist is refused.
#[tokio::test]
async fn line_279_levels_in_sessions() {
    for &version in revisions(..="2025-11-25") {
        let mut wire = open(chatty(), version, json!({})).await;
        for (set, expected) in [
            ("debug", json!(["details", "careful", "broken"])),
            ("warning", json!(["careful", "broken"])),
            ("error", json!(["broken"])),
            ("emergency", json!([])),
        ] {
            assert_eq!(wire.request("logging/setLevel", json!({ "level": set })).await["result"], json!({}));
            assert_eq!(json!(lines(&mut wire, json!({ "name": "chatter" })).await), expected, "{version}: {set}");
        }
        for wrong in [json!({ "level": "loud" }), json!({ "level": 3 }), json!({ "level": "ERROR" }), json!({})] {
            let answer = wire.request("logging/setLevel", wrong.clone()).await;
            assert_eq!(answer["error"]["code"], -32602, "{version}: {wrong}");
        }
        assert!(lines(&mut wire, json!({ "name": "chatter" })).await.is_empty(), "{version}: the level stays");
    }
}

/// Without sessions, only a request that names a level gets lines: its own, before its answer.
#[tokio::test]
async fn line_280_levels_per_request() {
    let heard = Arc::new(Mutex::new(None::<Ctx>));
    let keep = heard.clone();
    let server = Server::new("s", "1").tool(tool("chatter", chatter)).tool(tool("keep", move |ctx: Ctx| {
        *keep.lock().unwrap() = Some(ctx);
        "kept"
    }));
    let mut wire = open(server.build(), STATELESS, json!({})).await;
    assert!(lines(&mut wire, json!({ "name": "chatter" })).await.is_empty());
    assert_eq!(lines(&mut wire, level("warning")).await, ["careful", "broken"]);
    assert!(lines(&mut wire, json!({ "name": "chatter" })).await.is_empty(), "the level was that request's alone");
    // Two at the same time: one wants lines, one does not.
    let (quiet, loud) =
        (wire.start("tools/call", json!({ "name": "chatter" })), wire.start("tools/call", level("error")));
    wire.response(quiet).await;
    wire.response(loud).await;
    assert_eq!(wire.ready().len(), 1);
    // A handler that is done can say no more, and a stream of changes has no lines.
    wire.start("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
    wire.next().await.unwrap();
    let mut params = level("debug");
    params["name"] = json!("keep");
    wire.request("tools/call", params).await;
    let late = heard.lock().unwrap().take().expect("the handler ran");
    late.error("too late").await;
    assert!(wire.ready().is_empty());
}

/// A level that does not exist is a wrong parameter of the request that names it.
#[tokio::test]
async fn line_281_unknown_level() {
    for wrong in [json!("loud"), json!(3), json!("Error"), json!({})] {
        let mut wire = open(chatty(), STATELESS, json!({})).await;
        let mut params = level("debug");
        params["_meta"]["io.modelcontextprotocol/logLevel"] = wrong.clone();
        assert_eq!(wire.request("tools/call", params).await["error"]["code"], -32602, "{wrong}");
    }
}

/// The library itself puts nothing into log messages or errors that a handler did not say: no arguments, no metadata,
/// no panic messages. Whoever logs too much is slowed down by the client's reading.
#[tokio::test]
async fn line_282_no_secrets_in_logs() {
    #[derive(Deserialize, JsonSchema)]
    struct Login {
        token: String,
    }
    for &version in revisions(..) {
        let server = Server::new("s", "1")
            .tool(tool("login", |ctx: Ctx, Args(Login { token }): Args<Login>| async move {
                ctx.info("logging in").await;
                assert!(!token.contains("panic"), "the token {token} is wrong");
                "fine"
            }))
            .build();
        let mut wire = open(server, version, json!({})).await;
        for (secret, more) in [("sesame", 1), ("sesame panic", 1)] {
            let mut params = level("debug");
            (params["name"], params["arguments"]) = (json!("login"), json!({ "token": secret }));
            params["_meta"]["authorization"] = json!("Bearer sesame");
            let id = wire.start("tools/call", params);
            let answer = wire.response(id).await;
            let told = wire.ready();
            assert_eq!(told.len(), more, "{version}: {told:?}");
            assert!(!format!("{answer}{told:?}").contains("sesame"), "{version}: {answer}");
        }
        call(&mut wire, "login", json!({ "token": 5 })).await;
        assert!(wire.ready().is_empty(), "{version}: wrong arguments are not logged");
    }
}

//! Lines 230 to 251: tools.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet::{
    client::Client,
    core::{Call, Caller, Reply, Sealer},
    server::{
        Ctx, Next, Server, ToolError,
        extract::{Args, RawArgs},
        resource, tool,
    },
    types::{CallToolResult, ContentBlock, ResourceContents, RpcError},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    kit::{
        RawServer, STATELESS, able, call, capabilities, client, error, everything, open, result, revisions, said,
        settle, text,
    },
    m_structured::Narrow,
};

#[derive(Deserialize, JsonSchema)]
struct Numbers {
    a: u8,
    b: u8,
}

fn names(list: &Value) -> Vec<&str> {
    list["result"]["tools"].as_array().expect("a list").iter().map(|t| t["name"].as_str().unwrap()).collect()
}

/// A server that has tools says so; one that has none neither says so nor answers.
#[tokio::test]
async fn line_230_declared() {
    for &version in revisions(..) {
        let with = || Server::new("s", "1").tool(tool("a", || "done")).build();
        assert_eq!(capabilities(with(), version).await["tools"], json!({ "listChanged": true }), "{version}");
        let without = || Server::new("s", "1").resource(resource("a://b", || "text")).build();
        assert!(capabilities(without(), version).await.get("tools").is_none(), "{version}");
        let refused = open(without(), version, json!({})).await.request("tools/list", json!({})).await;
        assert_eq!(refused["error"]["code"], -32601, "{version}");
    }
}

/// The list is answered where tools are declared, also while there are none, and when there are none any more.
#[tokio::test]
async fn line_231_empty_list_is_answered() {
    let server = Server::new("s", "1").advertise_empty_lists().build();
    assert!(capabilities(server.clone(), STATELESS).await.get("tools").is_some());
    let list = open(server, STATELESS, json!({})).await.request("tools/list", json!({})).await;
    assert_eq!(list["result"]["tools"], json!([]));
    let server = Server::new("s", "1").tool(tool("only", || "done")).build();
    let mut wire = open(server.clone(), STATELESS, json!({})).await;
    assert!(server.remove_tool("only"));
    assert_eq!(wire.request("tools/list", json!({})).await["result"]["tools"], json!([]));
}

/// The list has the same order each time, and keeps it when something is added or removed.
#[tokio::test]
async fn line_232_order_is_deterministic() {
    let added = ["zeta", "alpha", "m", "Beta", "k", "b1", "b0"];
    let server = || added.iter().fold(Server::new("s", "1"), |s, name| s.tool(tool(*name, || "done"))).build();
    let handle = server();
    let mut wire = open(handle.clone(), STATELESS, json!({})).await;
    for _ in 0..3 {
        assert_eq!(names(&wire.request("tools/list", json!({})).await), added);
        assert_eq!(names(&open(server(), STATELESS, json!({})).await.request("tools/list", json!({})).await), added);
    }
    handle.remove_tool("m");
    handle.add_tool(tool("aa", || "done")).unwrap();
    let expected = ["zeta", "alpha", "Beta", "k", "b1", "b0", "aa"];
    assert_eq!(names(&wire.request("tools/list", json!({})).await), expected);
}

/// Clients are told when the list of tools changes: on the session, or on the stream that asked for it.
#[tokio::test]
async fn line_233_changes_are_told() {
    for &version in revisions(..) {
        let server = Server::new("s", "1").tool(tool("a", || "done")).build();
        let mut wire = open(server.clone(), version, json!({})).await;
        if version == STATELESS {
            wire.start("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
            wire.next().await.unwrap();
        }
        assert!(wire.ready().is_empty());
        server.add_tool(tool("b", || "done")).unwrap();
        assert_eq!(wire.next().await.unwrap()["method"], "notifications/tools/list_changed", "{version}");
        assert!(server.remove_tool("b"));
        assert_eq!(wire.next().await.unwrap()["method"], "notifications/tools/list_changed", "{version}");
        assert!(!server.remove_tool("b"));
        assert!(wire.ready().is_empty(), "{version}: nothing changed");
    }
}

/// Every input schema is a valid schema of an object; a tool without parameters takes none.
#[tokio::test]
async fn line_234_input_schemas() {
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Deep {
        list: Vec<Option<BTreeMap<String, f64>>>,
        again: Option<Box<Deep>>,
    }
    for &version in revisions("2025-11-25"..) {
        let server = Server::new("s", "1")
            .tool(tool("none", || "done"))
            .tool(tool("plain", |Args(Numbers { a, b }): Args<Numbers>| u32::from(a) + u32::from(b)))
            .tool(tool("deep", |Args(_): Args<Deep>| "done"))
            .tool(tool("any", |RawArgs(a): RawArgs| a.as_str().to_owned()).input_schema(json!({ "type": "object" })));
        let list = open(server.build(), version, json!({})).await.request("tools/list", json!({})).await;
        let tools = list["result"]["tools"].as_array().unwrap();
        assert_eq!(
            tools[0]["inputSchema"],
            json!({ "type": "object", "properties": {}, "additionalProperties": false })
        );
        for tool in tools {
            let schema = &tool["inputSchema"];
            assert_eq!(schema["type"], "object", "{tool}");
            assert!(jsonschema::meta::is_valid(schema), "{tool}");
        }
    }
    for wrong in [json!(null), json!(true), json!([]), json!({}), json!({ "type": "string" })] {
        let refused = catch_unwind(AssertUnwindSafe(|| {
            let _: Server = Server::new("s", "1").tool(tool("a", || "done").input_schema(wrong.clone()));
        }));
        assert!(refused.is_err(), "{wrong}");
    }
}

/// Names have 1 to 128 letters, digits, `_`, `.` and `-`; case matters, and no name is there twice.
#[test]
fn line_235_names() {
    let add = |names: &[&str]| {
        let server = || names.iter().fold(Server::new("s", "1"), |s, name| s.tool(tool(*name, || "done"))).build();
        catch_unwind(AssertUnwindSafe(server)).ok()
    };
    let longest = "x".repeat(128);
    for good in [&["a"][..], &["get.user-2_x"], &["add", "Add"], &[&longest]] {
        let server = add(good).unwrap_or_else(|| panic!("{good:?} are names"));
        // What is added later keeps to the same rules.
        assert!(server.add_tool(tool(good[0], || "again")).is_err(), "{good:?}");
        assert!(server.add_tool(tool("no spaces", || "done")).is_err());
    }
    for wrong in [&[""][..], &["a b"], &["a,b"], &["ä"], &["a/b"], &["a", "a"], &[&format!("{longest}x")]] {
        assert!(add(wrong).is_none(), "{wrong:?}");
    }
}

/// Two servers may call themselves the same and have tools of the same name. The client tells them apart by the
/// connection, never by what they say about themselves.
#[tokio::test]
async fn line_236_servers_are_told_apart_by_connection() {
    let server = |what: &'static str| Server::new("twin", "1").tool(tool("who", move || what)).build();
    let connect = |what| client(STATELESS).connect(server(what));
    let (first, second) = (connect("first").await.unwrap(), connect("second").await.unwrap());
    assert_eq!(first.server().info, second.server().info);
    assert_eq!(first.tools().await.unwrap()[0].name, second.tools().await.unwrap()[0].name);
    assert_eq!(second.call("who", ()).await.unwrap().text(), "second");
    assert_eq!(first.call("who", ()).await.unwrap().text(), "first");
}

/// Hints of a tool are told to the program and change nothing that the client does: a call that failed is not made
/// again because the tool says that this would be harmless, and nothing is called because it says that it only reads.
#[tokio::test]
async fn line_237_annotations_are_data_only() {
    for &version in revisions("2025-03-26"..) {
        let hints = json!({ "readOnlyHint": true, "idempotentHint": true, "destructiveHint": false });
        let tools = [
            json!({ "name": "safe", "inputSchema": { "type": "object" }, "annotations": hints }),
            json!({ "name": "other", "inputSchema": { "type": "object" } }),
        ];
        let raw = RawServer::speaking(version, everything(), move |m| match m["method"].as_str() {
            Some("tools/list") => vec![result(m, json!({ "tools": tools }))],
            Some("tools/call") => vec![error(m, -32603, "it broke")],
            _ => vec![],
        });
        let client = client(version).connect(raw.clone()).await.unwrap();
        let listed = client.tools().await.unwrap();
        assert_eq!(listed[0].annotations.as_ref().unwrap().read_only_hint, Some(true));
        assert!(raw.seen_of("tools/call").is_empty());
        for name in ["safe", "other"] {
            client.call(name, ()).await.unwrap_err();
        }
        settle().await;
        let calls = raw.seen_of("tools/call");
        assert_eq!(calls.len(), 2, "{version}: each is called once");
        assert_eq!(calls[0]["params"]["_meta"], calls[1]["params"]["_meta"]);
    }
}

/// A server whose tool hands out a resource declares resources, and the resource can be read.
#[tokio::test]
async fn line_242_embedded_resources_are_declared() {
    for &version in revisions("2025-06-18"..) {
        let embed = || ContentBlock::resource(ResourceContents::text("notes://a", "text").mime_type("text/plain"));
        let server = Server::new("s", "1").tool(tool("embed", embed)).resource(resource("notes://a", || "text"));
        let server = server.build();
        assert!(capabilities(server.clone(), version).await.get("resources").is_some());
        let mut wire = open(server, version, json!({})).await;
        let embedded = call(&mut wire, "embed", json!({})).await["result"]["content"][0]["resource"].take();
        let read = wire.request("resources/read", json!({ "uri": embedded["uri"] })).await;
        assert_eq!(read["result"]["contents"][0]["text"], embedded["text"], "{version}");
        // Where there is nothing to read beside what tools hand out, the server can say so.
        let only = Server::new("s", "1").tool(tool("embed", embed)).advertise_empty_lists().build();
        assert!(capabilities(only, version).await.get("resources").is_some());
    }
}

/// A tool that fails says so in its result, where the model sees it.
#[tokio::test]
async fn line_243_failures_are_results() {
    for &version in revisions(..) {
        let server = Server::new("s", "1")
            .tool(tool("words", || Err::<String, _>(ToolError::new("it rains"))))
            .tool(tool("io", || Err::<String, _>(std::io::Error::other("the disk is full"))))
            .tool(tool("number", || "x".parse::<i32>()))
            .tool(tool("own", || CallToolResult::error("my own")));
        let mut wire = open(server.build(), version, json!({})).await;
        for (name, why) in [("words", "rains"), ("io", "disk"), ("number", "invalid digit"), ("own", "my own")] {
            let result = call(&mut wire, name, json!({})).await["result"].take();
            assert_eq!(result["isError"], true, "{version}: {name}");
            assert!(result["content"][0]["text"].as_str().unwrap().contains(why), "{version}: {result}");
        }
    }
}

/// Arguments that the server cannot take, all of them wrong in their own way.
fn wrong_arguments() -> [Value; 6] {
    [
        json!({ "a": 1 }),
        json!({ "a": 1, "b": "two" }),
        json!({ "a": 1, "b": 300 }),
        json!({ "a": -1, "b": 1 }),
        json!({ "a": 1.5, "b": 1 }),
        json!({ "a": null, "b": [] }),
    ]
}

fn adding(ran: &Arc<AtomicUsize>) -> Server {
    let ran = ran.clone();
    Server::new("s", "1").tool(tool("add", move |Args(Numbers { a, b }): Args<Numbers>| {
        ran.fetch_add(1, Ordering::SeqCst);
        u32::from(a) + u32::from(b)
    }))
}

/// Wrong arguments are told to the model since 2025-11-25; before, they are an error of the protocol.
#[tokio::test]
async fn line_244_wrong_arguments() {
    for &version in revisions(..) {
        let mut wire = open(adding(&Arc::default()).build(), version, json!({})).await;
        for wrong in wrong_arguments() {
            let answer = call(&mut wire, "add", wrong.clone()).await;
            if revisions("2025-11-25"..).contains(&version) {
                assert_eq!(answer["result"]["isError"], true, "{version}: {wrong}");
                assert!(
                    answer["result"]["content"][0]["text"].as_str().unwrap().contains('`'),
                    "it names the argument"
                );
            } else {
                assert_eq!(answer["error"]["code"], -32602, "{version}: {wrong}");
            }
        }
    }
}

/// A tool that does not exist is an error of the protocol.
#[tokio::test]
async fn line_245_unknown_tool() {
    for &version in revisions(..) {
        let mut wire = open(adding(&Arc::default()).build(), version, json!({})).await;
        for params in [json!({ "name": "Add" }), json!({ "name": "" }), json!({}), json!({ "name": 1 })] {
            let answer = wire.request("tools/call", params.clone()).await;
            assert_eq!(answer["error"]["code"], -32602, "{version}: {params}");
        }
    }
}

/// A tool that failed is a result for the program, with the text that the model should see; only an error of the
/// protocol is an error.
#[tokio::test]
async fn line_246_failures_are_shown() {
    for &version in revisions("2025-11-25"..) {
        let raw = RawServer::speaking(version, everything(), |m| match m["params"]["name"].as_str() {
            Some("fails") => {
                let text = json!({ "type": "text", "text": "the date is in the past" });
                vec![result(m, json!({ "content": [text], "isError": true }))]
            }
            Some(_) => vec![error(m, -32602, "no such tool")],
            None => vec![],
        });
        let client = client(version).connect(raw).await.unwrap();
        let failed = client.call("fails", ()).await.unwrap();
        assert!(failed.is_error(), "{version}");
        assert_eq!(failed.text(), "the date is in the past");
        assert_eq!(client.call("other", ()).await.unwrap_err().rpc().unwrap().code, -32602);
    }
}

/// No handler runs with arguments that are not what it takes.
#[tokio::test]
async fn line_247_inputs_are_validated() {
    for &version in revisions(..) {
        let ran = Arc::new(AtomicUsize::new(0));
        let mut wire = open(adding(&ran).build(), version, json!({})).await;
        for wrong in wrong_arguments().into_iter().chain([json!([1, 2]), json!("x"), json!(7)]) {
            call(&mut wire, "add", wrong).await;
        }
        assert_eq!(ran.load(Ordering::SeqCst), 0, "{version}");
        assert_eq!(call(&mut wire, "add", json!({ "a": 1, "b": 2 })).await["result"]["content"][0]["text"], "3");
        assert_eq!(ran.load(Ordering::SeqCst), 1);
        // What no type says, the schema does: one that was given, and one of a type with more to it.
        let schema = json!({ "type": "object", "properties": { "total": { "maximum": 10 } }, "required": ["total"] });
        let raw = tool("raw", |RawArgs(_): RawArgs| "ran").input_schema(schema);
        let server = Server::new("s", "1").tool(raw).tool(tool("typed", |Args(_): Args<Narrow>| "ran"));
        let mut wire = open(server.build(), version, json!({})).await;
        for name in ["raw", "typed"] {
            assert_eq!(text(&call(&mut wire, name, json!({ "total": 10 })).await), "ran", "{version}");
            let refused = call(&mut wire, name, json!({ "total": 11 })).await;
            let said = refused["error"]["message"].as_str().unwrap_or_else(|| text(&refused));
            assert_eq!(said, "argument `total`: expected a number of at most 10, got the number 11", "{version}");
            assert_eq!(refused.get("error").is_none(), revisions("2025-11-25"..).contains(&version), "{version}");
        }
    }
}

/// A layer sees every call before its handler, knows who calls, and can refuse, count and replace: access control, a
/// rate limit, and outputs that are made harmless. What a handler panics with is never told.
#[tokio::test]
async fn line_248_access_control_and_rate_limits() {
    for &version in revisions(..) {
        let calls = Arc::new(AtomicUsize::new(0));
        let guard = move |call: Call, next: Next| {
            let count = calls.fetch_add(usize::from(call.method == "tools/call"), Ordering::SeqCst);
            async move {
                let name: String = call.params.read_opt("name").ok().flatten().unwrap_or_default();
                if name == "admin" && call.principal() != Some("root") {
                    return Reply::Error(RpcError::new(1, "not yours"));
                }
                if count >= 3 {
                    return Reply::Error(RpcError::new(2, "too often"));
                }
                match next.run(call).await {
                    Reply::Error(_) => Reply::Error(RpcError::new(3, "hidden")),
                    reply => reply,
                }
            }
        };
        let server = Server::new("s", "1")
            .tool(tool("admin", || "secret"))
            .tool(tool("open", || "fine"))
            .tool(tool("boom", || -> String { panic!("the password is 1234") }));
        let mut bare = open(server.build(), version, json!({})).await;
        let told = call(&mut bare, "boom", json!({})).await.to_string();
        assert!(!told.contains("1234"), "{version}: {told}");

        let server = Server::new("s", "1").middleware(guard);
        let server = server.tool(tool("admin", || "secret")).tool(tool("open", || "fine"));
        let server = server.tool(tool("refuse", || Err::<String, _>(RpcError::new(9, "inner secret"))));
        let mut wire = open(server.build(), version, json!({})).await;
        assert_eq!(call(&mut wire, "admin", json!({})).await["error"]["code"], 1, "{version}");
        assert_eq!(call(&mut wire, "open", json!({})).await["result"]["content"][0]["text"], "fine");
        assert_eq!(call(&mut wire, "refuse", json!({})).await["error"]["message"], "hidden");
        assert_eq!(call(&mut wire, "open", json!({})).await["error"]["code"], 2, "{version}");
    }
}

/// A program can look at a call before it is sent, leave it, give it a time limit, and look at the result; a log of
/// the server's calls needs one layer.
#[tokio::test(start_paused = true)]
async fn line_249_calls_can_be_confirmed_and_timed_out() {
    for &version in revisions(..) {
        let raw = RawServer::speaking(version, everything(), |m| match m["params"]["name"].as_str() {
            Some("quick") => vec![said(m, "fine")],
            _ => vec![],
        });
        let client = client(version).connect(raw.clone()).await.unwrap();
        let prepared = client.call("delete", json!({ "path": "/home" }));
        assert!(format!("{prepared:?}").contains("/home"), "the inputs can be shown");
        settle().await;
        drop(prepared);
        settle().await;
        assert!(raw.seen_of("tools/call").is_empty(), "{version}: nothing was sent without a yes");
        let late = client.call("slow", ()).timeout(Duration::from_secs(5)).await.unwrap_err();
        assert!(late.is_timeout(), "{version}");
        raw.expect("notifications/cancelled", 1).await;
        assert_eq!(client.call("quick", ()).await.unwrap().text(), "fine");
    }
    let log = Arc::new(Mutex::new(Vec::new()));
    let audit = log.clone();
    let server = adding(&Arc::default()).middleware(move |call: Call, next: Next| {
        audit.lock().unwrap().push(format!("{} {}", call.method, call.params.text().as_str()));
        next.run(call)
    });
    call(&mut open(server.build(), STATELESS, json!({})).await, "add", json!({ "a": 7, "b": 2 })).await;
    assert!(log.lock().unwrap()[0].contains("tools/call") && log.lock().unwrap()[0].contains(r#""a":7"#));
}

/// The client never calls a tool by itself: not when it connects, lists, listens, or is asked for a sample that uses
/// one. Whoever asks a person first can deny every call.
#[tokio::test]
async fn line_250_nothing_is_called_unasked() {
    for &version in revisions(..) {
        let called = Arc::new(AtomicUsize::new(0));
        let count = called.clone();
        let server = Server::new("s", "1").tool(
            tool("tempting", move || {
                count.fetch_add(1, Ordering::SeqCst);
                "done"
            })
            .read_only(),
        );
        let handle = server.build();
        let client: Client = client(version)
            .on_sample(|_| async { Err(RpcError::new(-1, "no")) })
            .sampling_tools(true)
            .connect(handle.clone())
            .await
            .unwrap();
        let shown = client.tools().await.unwrap();
        assert_eq!(shown[0].display_name(), "tempting", "{version}: the tool can be shown");
        let mut changes = client.listen(couplet::client::Filter::new().tools()).await.unwrap();
        handle.add_tool(tool("later", || "done")).unwrap();
        changes.next().await.unwrap();
        settle().await;
        assert_eq!(called.load(Ordering::SeqCst), 0, "{version}");
    }
}

/// Handles that travel through the client cannot be guessed or changed, are good for one principal and one request,
/// and not for ever; a tool can say that one has expired.
#[tokio::test]
async fn line_251_state_handles() {
    #[derive(Deserialize, JsonSchema)]
    struct Yes {
        #[expect(dead_code, reason = "only asked for")]
        yes: bool,
    }
    let server = |sealer: Sealer| {
        let ask = |ctx: Ctx| async move { ctx.elicit::<Yes>("yes", "Yes?").await?.accepted().map(|_| "done") };
        let who = |mut call: Call, next: Next| {
            let meta = call.meta().unwrap();
            call.caller = meta.get("who").map(|who| Arc::new(Caller::new(who.get())));
            next.run(call)
        };
        Server::new("s", "1")
            .request_state_key(sealer)
            .middleware(who)
            .tool(tool("ask", ask))
            .tool(tool("other", ask))
            .build()
    };
    async fn state_of(server: couplet::server::ServerHandle) -> String {
        let mut wire = open(server, STATELESS, able()).await;
        let params = json!({ "name": "ask", "_meta": { "who": "ann" } });
        let first = wire.request("tools/call", params).await;
        first["result"]["requestState"].as_str().unwrap().to_owned()
    }
    async fn again(server: couplet::server::ServerHandle, name: &str, who: &str, state: &str) -> Value {
        let mut wire = open(server, STATELESS, able()).await;
        let answers = json!({ "yes": { "action": "accept", "content": { "yes": true } } });
        let meta = json!({ "who": who });
        let params = json!({ "name": name, "requestState": state, "inputResponses": answers, "_meta": meta });
        wire.request("tools/call", params).await
    }
    let key = Sealer::new([7; 32]);
    let state = state_of(server(key.clone())).await;
    assert_eq!(again(server(key.clone()), "ask", "ann", &state).await["result"]["content"][0]["text"], "done");
    // Keys are rotated: the previous one is known for a while.
    let rotated = Sealer::new([9; 32]).also_opens([7; 32]);
    assert_eq!(again(server(rotated), "ask", "ann", &state).await["result"]["content"][0]["text"], "done");
    let changed = state.chars().rev().collect::<String>();
    for (sealer, name, who, state) in [
        (key.clone(), "ask", "bob", &state),
        (key.clone(), "other", "ann", &state),
        (key.clone(), "ask", "ann", &changed),
        (key.clone(), "ask", "ann", &"1".to_owned()),
        (Sealer::new([8; 32]), "ask", "ann", &state),
        (Sealer::random(), "ask", "ann", &state),
    ] {
        assert_eq!(again(server(sealer), name, who, state).await["error"]["code"], -32602, "{name} {who}");
    }
    // A handle of the server's own that is no longer good is told to the model, which can begin again.
    #[derive(Deserialize, JsonSchema)]
    struct Basket {
        basket: String,
    }
    let look = |Args(Basket { basket }): Args<Basket>| match &*basket {
        "b-5f1c" => Ok("3 apples"),
        _ => Err(ToolError::new("the basket has expired; begin again")),
    };
    let mut wire = open(Server::new("s", "1").tool(tool("look", look)).build(), STATELESS, json!({})).await;
    let gone = call(&mut wire, "look", json!({ "basket": "old" })).await;
    assert_eq!(gone["result"]["isError"], true, "{gone}");
}

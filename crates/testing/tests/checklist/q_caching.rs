//! Lines 283 to 295: caching.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet::{
    client::{Cache, Change, Client, ClientBuilder, Filter},
    core::{Call, Caller, JsonText, Reply},
    server::{Ctx, Next, Server, ServerHandle, extract::Path, prompt, resource, tool},
    types::{
        CacheScope, Meta, ProtocolVersion, ReadResource, ReadResourceParams, ReadResourceResult, ResourceContents,
        RpcError, Tool,
    },
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::kit::{RawServer, SESSIONS, STATELESS, able, client, error, everything, notification, open, result, settle};

#[derive(Deserialize, JsonSchema)]
struct Yes {
    yes: bool,
}

fn kept() -> Server {
    let own = || {
        let contents = vec![ResourceContents::text("a://own", "text")];
        ReadResourceResult::new(contents).ttl_ms(7).cache_scope(CacheScope::Private)
    };
    (0..5)
        .fold(Server::new("s", "1").page_size(2), |s, n| {
            s.tool(tool(format!("t{n}"), || "done"))
                .prompt(prompt(format!("p{n}"), || "text"))
                .resource(resource(format!("a://fixed/{n}"), || "text"))
                .resource(resource(format!("a://many/{n}/{{id}}"), |Path(id): Path<String>| id))
        })
        .resource(resource("a://own", own))
        .resource(resource("a://asked", |ctx: Ctx| async move {
            Ok::<_, couplet::server::ToolError>(ctx.elicit::<Yes>("yes", "Yes?").await?.accepted()?.yes)
        }))
}

const LISTS: [&str; 4] = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"];

/// Results that may be kept say for how long, which is not negative, and by whom; others do not. The server's setting
/// holds where a result has none of its own.
#[tokio::test]
async fn line_283_hints_are_on_six_results() {
    for (server, ttl, scope) in
        [(kept(), 0, "private"), (kept().cache(Duration::from_secs(60), CacheScope::Public), 60_000, "public")]
    {
        let mut wire = open(server.build(), STATELESS, able()).await;
        let mut requests: Vec<_> = LISTS.iter().map(|list| (*list, json!({}))).collect();
        requests.push(("server/discover", json!({})));
        requests.push(("resources/read", json!({ "uri": "a://fixed/1" })));
        for (method, params) in requests {
            let answer = wire.request(method, params).await["result"].take();
            assert_eq!((&answer["ttlMs"], &answer["cacheScope"]), (&json!(ttl), &json!(scope)), "{method}");
            assert_eq!(answer["resultType"], "complete");
        }
        let own = wire.request("resources/read", json!({ "uri": "a://own" })).await["result"].take();
        assert_eq!((&own["ttlMs"], &own["cacheScope"]), (&json!(7), &json!("private")));
        for (method, name) in [("tools/call", "t1"), ("prompts/get", "p1")] {
            let answer = wire.request(method, json!({ "name": name })).await["result"].take();
            assert!(answer.get("ttlMs").is_none() && answer.get("cacheScope").is_none(), "{method}: {answer}");
        }
    }
}

/// A result that asks for input has no such hints.
#[tokio::test]
async fn line_284_no_hints_on_questions() {
    let server = kept().cache(Duration::from_secs(60), CacheScope::Public);
    let mut wire = open(server.build(), STATELESS, able()).await;
    let asked = wire.request("resources/read", json!({ "uri": "a://asked" })).await["result"].take();
    assert_eq!(asked["resultType"], "input_required");
    assert!(asked.get("ttlMs").is_none() && asked.get("cacheScope").is_none(), "{asked}");
}

/// A server whose every answer says which one it is, and may be kept as the hints say.
fn counting(version: ProtocolVersion, hints: Value) -> RawServer {
    let count = AtomicUsize::new(0);
    RawServer::speaking(version, everything(), move |m| {
        let n = count.fetch_add(1, Ordering::SeqCst);
        let mut answer = match m["method"].as_str() {
            Some("tools/list") => json!({ "tools": [{ "name": format!("t{n}"), "inputSchema": {} }] }),
            Some("resources/read") => {
                json!({ "contents": [{ "uri": m["params"]["uri"], "text": format!("{} {n}", m["params"]["uri"]) }] })
            }
            Some("prompts/list") => json!({ "prompts": [] }),
            _ => return vec![],
        };
        answer.as_object_mut().unwrap().extend(hints.as_object().unwrap().clone());
        vec![result(m, answer)]
    })
}

fn for_an_hour(scope: &str) -> Value {
    json!({ "ttlMs": 3_600_000, "cacheScope": scope, "resultType": "complete" })
}

async fn connect(raw: &RawServer) -> Client {
    client(STATELESS).connect(raw.clone()).await.unwrap()
}

async fn read(client: &Client, uri: &str) -> String {
    client.read(uri).await.unwrap().all_text()
}

/// An answer is only ever given to the request that it answers: the same method with the same parameters, and nothing
/// else that the server may look at.
#[tokio::test]
async fn line_285_no_answer_of_another_request() {
    let raw = counting(STATELESS, for_an_hour("public"));
    let client = connect(&raw).await;
    let uris = ["a://b", "a://c", "a://b?c", "A://b"];
    for _ in 0..3 {
        for uri in uris {
            let text = read(&client, uri).await;
            assert!(text.starts_with(&format!("{uri:?}")), "{uri}: {text}");
        }
        assert!(client.prompts().await.unwrap().is_empty());
        assert_eq!(client.tools().await.unwrap().len(), 1);
    }
    assert_eq!(raw.seen_of("resources/read").len(), uris.len());
    assert_eq!((raw.seen_of("tools/list").len(), raw.seen_of("prompts/list").len()), (1, 1));
    let said = |who: &str| Meta::new().with("who", json!(who));
    for (n, who) in ["ann", "bob", "ann"].into_iter().enumerate() {
        client.read("a://b").meta(said(who)).await.unwrap();
        assert_eq!(raw.seen_of("resources/read").len(), uris.len() + n + 1, "what else was said may matter");
    }
}

/// What came of answers to questions is not served again: the next read asks again. That also holds for programs that
/// send the answers themselves.
#[tokio::test]
async fn line_286_answers_after_questions_are_not_kept() {
    let raw = RawServer::speaking(STATELESS, everything(), |m| match m["params"].get("requestState") {
        Some(_) => {
            let contents = json!([{ "uri": "a://b", "text": "for you only" }]);
            vec![result(m, json!({ "contents": contents, "ttlMs": 3_600_000, "cacheScope": "public" }))]
        }
        None => vec![result(m, json!({ "resultType": "input_required", "requestState": "s" }))],
    });
    let client = connect(&raw).await;
    for n in 1..=3 {
        assert_eq!(read(&client, "a://b").await, "for you only");
        let sent = raw.seen_of("resources/read");
        assert_eq!(sent.len(), 2 * n);
        assert!(sent[2 * n - 2]["params"].get("requestState").is_none(), "each read begins anew");
    }
    for n in 7..=8 {
        let by_hand = ReadResourceParams::new("a://b").request_state("s");
        client.request::<ReadResource>(by_hand).await.unwrap();
        assert_eq!(raw.seen_of("resources/read").len(), n);
    }
}

/// What is private stays with whoever asked, also in a memory that many use; what is public does not. Clients that can
/// do different things are different, and so are servers.
#[tokio::test]
async fn line_287_private_answers_are_not_shared() {
    let cache = Cache::new();
    let here = cache.for_server("here");
    let capable = |b: ClientBuilder| b.on_elicit(|ask| async move { ask.decline() });
    for (scope, seats, asked) in [
        ("private", [here.clone(), here.clone()], 2),
        ("private", [here.for_principal("ann"), here.for_principal("bob")], 2),
        ("private", [here.for_principal("ann"), here.for_principal("ann")], 1),
        ("private", [cache.for_principal("ann"), cache.for_principal("ann")], 2),
        ("private", [here.for_principal("ann"), cache.for_server("there").for_principal("ann")], 2),
        ("else", [here.for_principal("ann"), here.for_principal("bob")], 2),
        ("public", [here.for_principal("ann"), here.for_principal("bob")], 1),
        ("public", [here.clone(), here.clone()], 1),
        ("public", [cache.clone(), cache.clone()], 2),
        ("public", [here.clone(), cache.for_server("there")], 2),
    ] {
        cache.clear();
        let raw = counting(STATELESS, for_an_hour(scope));
        let [one, other] = seats.each_ref().map(|seat| client(STATELESS).cache(seat.clone()).connect(raw.clone()));
        let (one, other) = (one.await.unwrap(), other.await.unwrap());
        let (first, second) = tokio::join!(read(&one, "a://b"), read(&other, "a://b"));
        let (third, fourth) = (read(&one, "a://b").await, read(&other, "a://b").await);
        if scope == "private" {
            assert_eq!(first == second, asked == 1, "{scope} {seats:?}");
        }
        // Two who ask at the same time ask for themselves, unless they are the same.
        let most = if scope == "public" { 2 } else { asked };
        assert!((asked..=most).contains(&raw.seen_of("resources/read").len()), "{scope} {seats:?}");
        assert_eq!(third == fourth, asked == 1, "{scope} {seats:?}");
        let count = raw.seen_of("resources/read").len();
        let able = capable(client(STATELESS)).cache(seats[0].clone()).connect(raw.clone()).await.unwrap();
        read(&able, "a://b").await;
        assert_eq!(raw.seen_of("resources/read").len(), count + 1, "{scope}: another who can do more");
    }
}

/// An answer is fresh for as long as it says, from when it came. Without a time, with none and with a negative one it is
/// not, and in revisions that know nothing of it nothing is kept.
#[tokio::test(start_paused = true)]
async fn line_288_freshness() {
    let ms = Duration::from_millis;
    for (version, hints, fresh_for) in [
        (STATELESS, json!({ "ttlMs": 5000, "cacheScope": "private" }), 5000),
        (STATELESS, json!({ "ttlMs": 1, "cacheScope": "public" }), 1),
        (STATELESS, json!({ "ttlMs": 5000 }), 5000),
        (STATELESS, json!({ "ttlMs": 1e12, "cacheScope": "public" }), 24 * 60 * 60 * 1000),
        (STATELESS, json!({ "ttlMs": 0, "cacheScope": "public" }), 0),
        (STATELESS, json!({ "ttlMs": -1, "cacheScope": "public" }), 0),
        (STATELESS, json!({ "cacheScope": "public" }), 0),
    ]
    .into_iter()
    .chain(SESSIONS.map(|version| (version, json!({ "ttlMs": 5000, "cacheScope": "public" }), 0)))
    {
        let raw = counting(version, hints.clone());
        let asked = || raw.seen_of("resources/read").len();
        let client = client(version).connect(raw.clone()).await.unwrap();
        read(&client, "a://b").await;
        if fresh_for > 0 {
            tokio::time::advance(ms(fresh_for - 1)).await;
            read(&client, "a://b").await;
            assert_eq!(asked(), 1, "{version} {hints}");
            tokio::time::advance(ms(1)).await;
        }
        read(&client, "a://b").await;
        assert_eq!(asked(), 2, "{version} {hints}");
        client.read("a://b").no_cache().await.unwrap();
        assert_eq!(asked(), 3, "{version} {hints}");
    }
    let raw = counting(STATELESS, for_an_hour("public"));
    let client = client(STATELESS).cache(None).connect(raw.clone()).await.unwrap();
    assert_ne!(read(&client, "a://b").await, read(&client, "a://b").await, "whoever wants no cache has none");
}

/// The client asks for nothing by itself, however much time passes, and however old what it has becomes.
#[tokio::test(start_paused = true)]
async fn line_289_no_polling() {
    let raw = counting(STATELESS, json!({ "ttlMs": 1000, "cacheScope": "public" }));
    let client = connect(&raw).await;
    client.tools().await.unwrap();
    client.read("a://b").await.unwrap();
    let before = raw.seen().len();
    for _ in 0..48 {
        tokio::time::advance(Duration::from_secs(1800)).await;
        settle().await;
    }
    assert_eq!(raw.seen().len(), before);
    client.tools().await.unwrap();
    assert_eq!(raw.seen().len(), before + 1);
}

/// A change makes old what it is about, and nothing else, as soon as the client hears of it: nobody has to read the
/// stream of changes.
#[tokio::test]
async fn line_290_changes_make_old() {
    let counts: Arc<Mutex<BTreeMap<String, usize>>> = Arc::default();
    let count = counts.clone();
    let server =
        kept().cache(Duration::from_secs(3600), CacheScope::Public).middleware(move |call: Call, next: Next| {
            let what = [&*call.method, call.params.get("uri").as_ref().map_or("", JsonText::as_str)].concat();
            *count.lock().unwrap().entry(what).or_default() += 1;
            next.run(call)
        });
    let server: ServerHandle = server.resource(resource("a://dir/x", || "text").subscribable()).build();
    let client = client(STATELESS).connect(server.clone()).await.unwrap();
    let filter = Filter::new().tools().prompts().resources().resource("a://dir/x");
    let _unread = client.listen(filter).await.unwrap();
    let ask_all = || async {
        counts.lock().unwrap().clear();
        let _ = (client.tools().await.unwrap(), client.prompts().await.unwrap());
        let _ = (client.resources().await.unwrap(), client.resource_templates().await.unwrap());
        for uri in ["a://fixed/1", "a://dir/x"] {
            client.read(uri).await.unwrap();
        }
        counts.lock().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    ask_all().await;
    let both = ["resources/list", "resources/templates/list"];
    for (change, old) in [
        (Change::Tools, &["tools/list"][..]),
        (Change::Prompts, &["prompts/list"]),
        (Change::Resources, &both),
        (Change::Updated("a://dir/x".into()), &[r#"resources/read"a://dir/x""#]),
    ] {
        assert_eq!(ask_all().await, [""; 0], "all is kept");
        match &change {
            Change::Tools => server.add_tool(tool("more", || "done")).unwrap(),
            Change::Prompts => server.add_prompt(prompt("more", || "text")).unwrap(),
            Change::Resources => server.add_resource(resource("a://more", || "text")).unwrap(),
            _ => server.updated("a://dir/x"),
        };
        settle().await;
        assert_eq!(ask_all().await, old, "{change:?}");
    }
}

/// An answer that was under way when something changed is for whoever asked, and is not kept.
#[tokio::test]
async fn line_290_an_answer_under_way_is_old_too() {
    let raw = RawServer::speaking(STATELESS, everything(), |m| match m["method"].as_str() {
        Some("subscriptions/listen") => {
            let about = json!({ "io.modelcontextprotocol/subscriptionId": m["id"] });
            let params = json!({ "notifications": m["params"]["notifications"], "_meta": about });
            vec![notification("notifications/subscriptions/acknowledged", &params)]
        }
        _ => vec![],
    });
    let client = connect(&raw).await;
    let _changes = client.listen(Filter::new().tools()).await.unwrap();
    let about = json!({ "_meta": { "io.modelcontextprotocol/subscriptionId": raw.expect("subscriptions/listen", 1).await["id"] } });
    for n in 1..=2 {
        let asking = tokio::spawn({
            let client = client.clone();
            async move { client.tools().await }
        });
        let asked = raw.expect("tools/list", n).await;
        raw.push(&notification("notifications/tools/list_changed", &about));
        let mut answer = for_an_hour("public");
        answer["tools"] = json!([]);
        raw.push(&result(&asked, answer));
        asking.await.unwrap().unwrap();
    }
}

/// An error that suggests that a list is old makes it old. When asking again fails, the program is told: nothing old is
/// served.
#[tokio::test]
async fn line_291_suspicion() {
    let failing = Arc::new(AtomicUsize::new(0));
    let fail = failing.clone();
    let raw = RawServer::speaking(STATELESS, everything(), move |m| match m["method"].as_str() {
        Some("tools/call") if m["params"]["name"] == "old" => vec![error(m, -32602, "there is no tool `old`")],
        Some("tools/call") => vec![error(m, -32603, "not now")],
        Some("tools/list") if fail.load(Ordering::SeqCst) > 0 => vec![error(m, -32603, "not now")],
        Some("tools/list") => {
            let tools = json!([{ "name": "new", "inputSchema": {} }]);
            vec![result(m, json!({ "tools": tools, "ttlMs": 3_600_000, "cacheScope": "public" }))]
        }
        _ => vec![],
    });
    let client = connect(&raw).await;
    for (name, code, asked) in [("new", -32603, 1), ("old", -32602, 2)] {
        client.tools().await.unwrap();
        assert_eq!(client.call(name, ()).await.unwrap_err().rpc().unwrap().code, code);
        client.tools().await.unwrap();
        assert_eq!(raw.seen_of("tools/list").len(), asked, "{name}");
    }
    failing.store(1, Ordering::SeqCst);
    assert_eq!(client.tools().await.unwrap().len(), 1, "it is fresh");
    assert_eq!(client.tool_pages().no_cache().all().await.unwrap_err().rpc().unwrap().code, -32603);
    client.call("old", ()).await.unwrap_err();
    assert_eq!(client.tools().await.unwrap_err().rpc().unwrap().code, -32603);
}

/// Each page has its own time, and one that is old is asked for with its own cursor.
#[tokio::test(start_paused = true)]
async fn line_292_single_pages() {
    let raw = RawServer::speaking(STATELESS, everything(), |m| match m["params"]["cursor"].as_str() {
        _ if m["method"] != "tools/list" => vec![],
        None => vec![result(m, json!({ "tools": [], "nextCursor": "b", "ttlMs": 1000, "cacheScope": "public" }))],
        Some(_) => vec![result(m, json!({ "tools": [], "ttlMs": 50, "cacheScope": "public" }))],
    });
    let client = connect(&raw).await;
    let cursors = || raw.seen_of("tools/list").iter().map(|m| m["params"]["cursor"].clone()).collect::<Vec<_>>();
    client.tools().await.unwrap();
    tokio::time::advance(Duration::from_millis(49)).await;
    client.tools().await.unwrap();
    assert_eq!(cursors(), [Value::Null, json!("b")]);
    tokio::time::advance(Duration::from_millis(1)).await;
    client.tools().await.unwrap();
    assert_eq!(cursors(), [Value::Null, json!("b"), json!("b")]);
    tokio::time::advance(Duration::from_millis(950)).await;
    client.tools().await.unwrap();
    assert_eq!(cursors()[3..], [Value::Null, json!("b")]);
}

/// All pages of a list may be kept by the same.
#[tokio::test]
async fn line_293_one_scope_for_all_pages() {
    for scope in [CacheScope::Public, CacheScope::Private] {
        let server = kept().cache(Duration::from_secs(1), scope.clone());
        let mut wire = open(server.build(), STATELESS, json!({})).await;
        for list in LISTS {
            let mut params = json!({});
            let mut pages = 0;
            loop {
                let page = wire.request(list, params).await["result"].take();
                assert_eq!(page["cacheScope"], json!(scope), "{list}");
                pages += 1;
                match page.get("nextCursor") {
                    Some(cursor) => params = json!({ "cursor": cursor }),
                    None => break,
                }
            }
            assert!(pages >= 3, "{list}");
        }
    }
}

/// When the server no longer knows a cursor, the pages that are kept are dropped, and the list is read from its
/// beginning, once; no half list is taken for a whole one. Where pages are taken one by one, the program is told.
#[tokio::test(start_paused = true)]
async fn line_294_an_invalid_cursor_starts_over() {
    let epoch = Arc::new(AtomicUsize::new(0));
    let now = epoch.clone();
    let raw = RawServer::speaking(STATELESS, everything(), move |m| {
        let valid = format!("c{}", now.load(Ordering::SeqCst));
        let page = |name: &str, more: Value| {
            let tools = json!([{ "name": name, "inputSchema": {} }]);
            let mut page = json!({ "tools": tools, "ttlMs": 9999, "cacheScope": "public" });
            page.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            vec![result(m, page)]
        };
        match m["params"]["cursor"].as_str() {
            _ if m["method"] != "tools/list" => vec![],
            None => page("a", json!({ "nextCursor": valid })),
            Some(cursor) if cursor == valid => page("b", json!({ "ttlMs": 10 })),
            Some(_) => vec![error(m, -32602, "the cursor has expired")],
        }
    });
    let client = connect(&raw).await;
    let cursors = || raw.seen_of("tools/list").iter().map(|m| m["params"]["cursor"].clone()).collect::<Vec<_>>();
    let names = |tools: Vec<Tool>| tools.into_iter().map(|t| t.name).collect::<Vec<_>>();
    assert_eq!(names(client.tools().await.unwrap()), ["a", "b"]);
    epoch.store(1, Ordering::SeqCst);
    tokio::time::advance(Duration::from_millis(10)).await;
    assert_eq!(names(client.tools().await.unwrap()), ["a", "b"]);
    let first = [Value::Null, json!("c0")];
    assert_eq!(cursors(), [&first[..], &[json!("c0"), Value::Null, json!("c1")]].concat());

    epoch.store(2, Ordering::SeqCst);
    tokio::time::advance(Duration::from_millis(10)).await;
    let mut pages = client.tool_pages();
    assert_eq!(pages.next().await.unwrap().unwrap().len(), 1);
    assert_eq!(pages.next().await.unwrap().unwrap_err().rpc().unwrap().code, -32602);
    assert_eq!(names(client.tools().await.unwrap()), ["a", "b"]);
    assert_eq!(cursors()[5..], [json!("c1"), Value::Null, json!("c2")]);
}

/// That something may be kept by anybody does not let anybody in: each read is checked again.
#[tokio::test]
async fn line_295_scope_is_no_access_control() {
    let guard = |mut call: Call, next: Next| async move {
        let meta = call.meta().unwrap_or_default();
        call.caller = meta.get("who").map(|who| Arc::new(Caller::new(who.get())));
        if call.method == "resources/read" && call.principal() != Some("\"ann\"") {
            return Reply::Error(RpcError::new(1, "not yours"));
        }
        next.run(call).await
    };
    let server = Server::new("s", "1").cache(Duration::from_secs(3600), CacheScope::Public).middleware(guard);
    let server = server.resource(resource("a://b", || "for ann")).build();
    let mut wire = open(server, STATELESS, json!({})).await;
    for _ in 0..2 {
        let ann = wire.request("resources/read", json!({ "uri": "a://b", "_meta": { "who": "ann" } })).await;
        assert_eq!(
            (&ann["result"]["cacheScope"], &ann["result"]["contents"][0]["text"]),
            (&json!("public"), &json!("for ann"))
        );
        let bob = wire.request("resources/read", json!({ "uri": "a://b", "_meta": { "who": "bob" } })).await;
        assert_eq!(bob["error"]["code"], 1);
    }
}

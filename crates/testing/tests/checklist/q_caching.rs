//! Lines 283 to 295: caching. This client keeps nothing, so nothing stale or foreign can be served; what a program
//! needs to keep answers itself is there.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet::{
    client::{Change, Client, Filter},
    core::{Call, Reply},
    server::{Ctx, Handle, Next, Server, extract::Path, prompt, resource, tool},
    types::{CacheScope, ListTools, ListToolsParams, ReadResourceResult, ResourceContents, RpcError},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::kit::{RawServer, STATELESS, able, client, error, everything, open, result, settle};

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

/// A server whose every answer says which one it is, may be kept for an hour by anybody, and is still asked again.
fn counting() -> RawServer {
    let count = AtomicUsize::new(0);
    RawServer::speaking(STATELESS, everything(), move |m| {
        let n = count.fetch_add(1, Ordering::SeqCst);
        let hints = json!({ "ttlMs": 3_600_000, "cacheScope": "public", "resultType": "complete" });
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

async fn connect(raw: &RawServer) -> Client {
    client(STATELESS).connect(raw.clone()).await.unwrap()
}

/// An answer is only ever given to the request that it answers.
#[tokio::test]
async fn line_285_no_answer_of_another_request() {
    let raw = counting();
    let client = connect(&raw).await;
    for uri in ["a://b", "a://c", "a://b?c", "A://b"] {
        let answer = client.read(uri).await.unwrap();
        assert!(answer.all_text().starts_with(&format!("{uri:?}")), "{uri}: {}", answer.all_text());
        assert_eq!(answer.contents[0].uri, uri);
    }
    assert!(client.prompts().await.unwrap().is_empty());
    assert_eq!(raw.seen_of("resources/read").len(), 4);
}

/// What came of answers to questions is not served again: the next read asks again.
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
        assert_eq!(client.read("a://b").await.unwrap().all_text(), "for you only");
        let sent = raw.seen_of("resources/read");
        assert_eq!(sent.len(), 2 * n);
        assert!(sent[2 * n - 2]["params"].get("requestState").is_none(), "each read begins anew");
    }
}

/// Nothing is shared between connections, whoever they belong to.
#[tokio::test]
async fn line_287_nothing_is_shared() {
    let raw = counting();
    let (ann, bob) = (connect(&raw).await, connect(&raw).await);
    let (first, second) = (ann.read("a://b").await.unwrap(), bob.read("a://b").await.unwrap());
    assert_ne!(first.all_text(), second.all_text());
    assert_eq!(raw.seen_of("resources/read").len(), 2);
}

/// How long an answer is fresh is told to the program; a negative time is none, and so is an absent one. The client
/// itself takes nothing as fresh.
#[tokio::test]
async fn line_288_freshness_is_told() {
    let hints = [
        (json!({ "ttlMs": 5000, "cacheScope": "private" }), Some(5000), Some(CacheScope::Private)),
        (json!({ "ttlMs": 0, "cacheScope": "public" }), Some(0), Some(CacheScope::Public)),
        (json!({ "ttlMs": -1 }), Some(0), None),
        (json!({}), None, None),
    ];
    let sent = hints.clone();
    let raw = RawServer::speaking(STATELESS, everything(), move |m| {
        let Some(n) = m["params"]["uri"].as_str().and_then(|u| u.strip_prefix("a://")) else { return vec![] };
        let mut answer = sent[n.parse::<usize>().unwrap()].0.clone();
        answer["contents"] = json!([]);
        vec![result(m, answer)]
    });
    let client = connect(&raw).await;
    for (n, (_, ttl, scope)) in hints.into_iter().enumerate() {
        for _ in 0..2 {
            let answer = client.read(format!("a://{n}")).await.unwrap();
            assert_eq!((answer.ttl_ms, answer.cache_scope.clone()), (ttl, scope.clone()), "{n}");
        }
    }
    assert_eq!(raw.seen_of("resources/read").len(), 8);
}

/// The client asks for nothing by itself, however much time passes.
#[tokio::test(start_paused = true)]
async fn line_289_no_polling() {
    let raw = counting();
    let client = connect(&raw).await;
    client.tools().await.unwrap();
    client.read("a://b").await.unwrap();
    let before = raw.seen().len();
    for _ in 0..48 {
        tokio::time::advance(Duration::from_secs(1800)).await;
        settle().await;
    }
    assert_eq!(raw.seen().len(), before);
    drop(client);
}

/// A program that keeps answers hears of every change that makes them stale, and the next answer is the new one.
#[tokio::test]
async fn line_290_changes_are_heard() {
    let server: Handle =
        Server::new("s", "1").tool(tool("a", || "done")).resource(resource("a://b", || "text").subscribable()).build();
    let client = client(STATELESS).connect(server.clone()).await.unwrap();
    let mut changes = client.listen(Filter::new().tools().resources().resource("a://b")).await.unwrap();
    assert_eq!(client.tools().await.unwrap().len(), 1);
    server.add_tool(tool("b", || "done")).unwrap();
    assert_eq!(changes.next().await, Some(Change::Tools));
    assert_eq!(client.tools().await.unwrap().len(), 2);
    server.updated("a://b");
    assert_eq!(changes.next().await, Some(Change::Updated("a://b".into())));
    server.remove_resource("a://b");
    assert_eq!(changes.next().await, Some(Change::Resources));
    assert!(client.resources().await.unwrap().is_empty());
}

/// When something suggests that a list is old, asking again is always possible and always reaches the server; when
/// that fails, the program is told, and can use what it has.
#[tokio::test]
async fn line_291_asking_again() {
    let failing = Arc::new(AtomicUsize::new(0));
    let fail = failing.clone();
    let raw = RawServer::speaking(STATELESS, everything(), move |m| match m["method"].as_str() {
        Some("tools/call") => vec![error(m, -32602, "there is no tool `old`")],
        Some("tools/list") if fail.load(Ordering::SeqCst) > 0 => vec![error(m, -32603, "not now")],
        Some("tools/list") => {
            let tools = json!([{ "name": "new", "inputSchema": {} }]);
            vec![result(m, json!({ "tools": tools, "ttlMs": 3_600_000, "cacheScope": "public" }))]
        }
        _ => vec![],
    });
    let client = connect(&raw).await;
    let known = client.tools().await.unwrap();
    assert_eq!(client.call("old", ()).await.unwrap_err().rpc().unwrap().code, -32602);
    assert_eq!(client.tools().await.unwrap(), known);
    failing.store(1, Ordering::SeqCst);
    assert_eq!(client.tools().await.unwrap_err().rpc().unwrap().code, -32603);
    assert_eq!(raw.seen_of("tools/list").len(), 3);
}

/// One page can be asked for again with its own cursor, and each page tells its own time.
#[tokio::test]
async fn line_292_single_pages() {
    let raw = RawServer::speaking(STATELESS, everything(), |m| match m["params"]["cursor"].as_str() {
        _ if m["method"] != "tools/list" => vec![],
        None => vec![result(m, json!({ "tools": [], "nextCursor": "b", "ttlMs": 1000, "cacheScope": "public" }))],
        Some(_) => vec![result(m, json!({ "tools": [], "ttlMs": 50, "cacheScope": "public" }))],
    });
    let client = connect(&raw).await;
    let first = client.request::<ListTools>(ListToolsParams::new()).await.unwrap();
    let page = || ListToolsParams::new().cursor(first.next_cursor.clone().unwrap());
    let second = client.request::<ListTools>(page()).await.unwrap();
    assert_eq!((first.ttl_ms, second.ttl_ms), (Some(1000), Some(50)));
    client.request::<ListTools>(page()).await.unwrap();
    let sent: Vec<_> = raw.seen_of("tools/list").iter().map(|m| m["params"]["cursor"].clone()).collect();
    assert_eq!(sent, [Value::Null, json!("b"), json!("b")]);
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

/// When the server no longer knows a cursor, the program is told, no half list is taken for a whole one, and the next
/// list begins at the beginning.
#[tokio::test]
async fn line_294_an_invalid_cursor_starts_over() {
    let lists = Arc::new(AtomicUsize::new(0));
    let count = lists.clone();
    let raw = RawServer::speaking(STATELESS, everything(), move |m| {
        if m["method"] != "tools/list" {
            return vec![];
        }
        let round = count.fetch_add(1, Ordering::SeqCst);
        let one = |name: &str| json!([{ "name": name, "inputSchema": {} }]);
        match m["params"]["cursor"].as_str() {
            None => vec![result(m, json!({ "tools": one("a"), "nextCursor": format!("c{round}"), "ttlMs": 9999 }))],
            Some("c0") => vec![error(m, -32602, "the cursor has expired")],
            Some(_) => vec![result(m, json!({ "tools": one("b") }))],
        }
    });
    let client = connect(&raw).await;
    assert_eq!(client.tools().await.unwrap_err().rpc().unwrap().code, -32602);
    let names: Vec<_> = client.tools().await.unwrap().into_iter().map(|t| t.name).collect();
    assert_eq!(names, ["a", "b"]);
    let sent: Vec<_> = raw.seen_of("tools/list").iter().map(|m| m["params"]["cursor"].clone()).collect();
    assert_eq!(sent, [Value::Null, json!("c0"), Value::Null, json!("c2")]);
}

/// That something may be kept by anybody does not let anybody in: each read is checked again.
#[tokio::test]
async fn line_295_scope_is_no_access_control() {
    let guard = |mut call: Call, next: Next| async move {
        let meta = call.meta().unwrap_or_default();
        call.principal = meta.get("who").map(|who| who.get().into());
        if call.method == "resources/read" && call.principal.as_deref() != Some("\"ann\"") {
            return Reply::Error(RpcError::new(1, "not yours"));
        }
        next.run(call).await
    };
    let server = Server::new("s", "1").cache(Duration::from_secs(3600), CacheScope::Public).layer(guard);
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

//! Limits of calls and results.

use std::{sync::Arc, time::Duration};

use couplet_core::{BoxFuture, Call, Caller, Error, ErrorKind, Limits, Service, Transport};
use couplet_http::server::{HttpRequest, HttpTransport, TrustedProxies};
use couplet_middleware::{Buckets, ConcurrencyLimit, MemoryBuckets, RateLimit, ResponseLimit, Spill, Taken};
use couplet_server::{Json, Server, ServerHandle, tool};
use couplet_testing::contract;
use couplet_types::ContentBlock;
use serde_json::json;
use tokio::{net::TcpListener, sync::Notify};

use crate::{
    kit::{Count, as_caller, call, client, in_each_revision, links},
    log::Log,
    visible_http::post,
};

const SECOND: Duration = Duration::from_secs(1);

fn two_tools() -> Server {
    Server::new("s", "1").tool(tool("a", || "a")).tool(tool("b", || "b"))
}

#[test]
fn a_rate_limit_refuses_and_recovers() {
    in_each_revision(async |version| {
        let client = client(two_tools().middleware(RateLimit::in_memory(2, SECOND).tools_only()), version).await;
        assert_eq!(call(&client, "a", json!({})).await, ("a".into(), false));
        assert_eq!(call(&client, "b", json!({})).await, ("b".into(), false));
        let (text, failed) = call(&client, "a", json!({})).await;
        assert!(failed && text.starts_with("too many calls; retry in "), "{text}");
        assert_eq!(client.tools().await.unwrap().len(), 2, "lists are not limited");
        tokio::time::advance(SECOND).await;
        assert_eq!(call(&client, "a", json!({})).await, ("a".into(), false));
    });
}

#[test]
fn a_rate_limit_can_be_per_tool_and_for_all_requests() {
    in_each_revision(async |version| {
        let limit = RateLimit::in_memory(1, SECOND).per_tool();
        let client = client(two_tools().middleware(limit), version).await;
        assert!(!call(&client, "a", json!({})).await.1);
        assert!(!call(&client, "b", json!({})).await.1);
        assert!(call(&client, "a", json!({})).await.1);
        client.tools().await.unwrap();
        let error = client.tool_pages().next().await.unwrap().unwrap_err();
        let rpc = error.rpc().unwrap();
        assert_eq!(rpc.code, -32000, "{rpc:?}");
        assert!(rpc.data.as_ref().unwrap().get().contains("retryAfterMs"), "{rpc:?}");
    });
}

#[tokio::test(start_paused = true)]
async fn buckets_in_memory_fulfil_the_contract() {
    let store = MemoryBuckets::new(3, Duration::from_secs(3600));
    contract::buckets(&store, &store).await;
    contract::bucket_refill(&MemoryBuckets::new(2, Duration::from_millis(5))).await;
}

#[test]
fn callers_have_buckets_of_their_own() {
    in_each_revision(async |version| {
        let limit = RateLimit::in_memory(1, SECOND).tools_only();
        for name in ["ada", "bob"] {
            let server = two_tools().middleware(as_caller(Caller::new(name))).middleware(limit.clone());
            let client = client(server, version).await;
            assert!(!call(&client, "a", json!({})).await.1, "{name}");
            assert!(call(&client, "a", json!({})).await.1, "{name}");
        }
    });
}

#[test]
fn calls_can_have_a_key_of_their_own() {
    in_each_revision(async |version| {
        let by = |call: &Call| {
            let arguments: serde_json::Value = call.arguments().parse().ok()?;
            arguments["tenant"].as_str().map(str::to_owned)
        };
        let limit = RateLimit::in_memory(1, SECOND).tools_only().by(by);
        let echo = |name| tool(name, || "done").input_schema(json!({ "type": "object" }));
        let server = || Server::new("s", "1").tool(echo("a")).tool(echo("b"));
        let as_x = as_caller(Caller::new("x"));
        let caller = client(server().middleware(as_x).middleware(limit.clone()), version).await;
        let client = client(server().middleware(limit), version).await;
        let long = "x".repeat(100_000);
        for tenant in
            [json!({ "tenant": "x" }), json!({ "tenant": "principal x" }), json!({ "tenant": long }), json!({})]
        {
            assert!(!call(&client, "a", tenant.clone()).await.1, "{tenant}");
            assert!(call(&client, "b", tenant.clone()).await.1, "{tenant}");
        }
        // No key is one of a caller.
        assert!(!call(&caller, "a", json!({})).await.1);
        assert!(call(&caller, "a", json!({})).await.1);
    });
}

/// Calls a tool without a principal and a session, through a proxy that names the client; returns whether it was refused.
async fn is_refused(host: &str, address: &str) -> bool {
    let params = json!({ "name": "a", "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    } });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let more = format!(
        "x-forwarded-for: {address}\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: a\r\n"
    );
    let body = post(host, "", &more, &message).await.body;
    assert!(body["result"].is_object(), "{body}");
    body["result"]["isError"] == json!(true)
}

#[tokio::test]
async fn anonymous_callers_have_buckets_by_address() {
    let address = |call: &Call| Some(call.request::<HttpRequest>()?.client_ip()?.to_string());
    let day = Duration::from_secs(24 * 60 * 60);
    for (limit, expected) in [
        (RateLimit::in_memory(1, day), [false, true, true]),
        (RateLimit::in_memory(1, day).by(address), [false, true, false]),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let trusted = TrustedProxies::new(["127.0.0.0/8".parse().unwrap()]);
        let service = Arc::new(two_tools().middleware(limit).build());
        // It ends with the runtime of the test.
        tokio::spawn(HttpTransport::from_listener(listener).trust_proxy(trusted).serve(service, Limits::default()));
        for (address, expected) in ["203.0.113.1", "203.0.113.1", "203.0.113.2"].into_iter().zip(expected) {
            assert_eq!(is_refused(&host, address).await, expected, "{address}");
        }
    }
}

/// A store that does not answer.
struct Silent;

impl Buckets for Silent {
    fn take<'a>(&'a self, _: &'a str, _: u32) -> BoxFuture<'a, Result<Taken, Error>> {
        Box::pin(std::future::pending())
    }
}

#[test]
fn a_store_that_does_not_answer_allows_or_refuses() {
    in_each_revision(async |version| {
        let open = client(two_tools().middleware(RateLimit::new(Silent).tools_only()), version).await;
        assert!(!call(&open, "a", json!({})).await.1);
        let closed = client(two_tools().middleware(RateLimit::new(Silent).tools_only().fail_closed()), version).await;
        let (text, failed) = call(&closed, "a", json!({})).await;
        assert!(failed && text.starts_with("the rate limit cannot be checked"), "{text}");
    });
}

/// A store that fails for some calls, and answers again.
struct Fails(Count, ErrorKind);

impl Buckets for Fails {
    fn take<'a>(&'a self, _: &'a str, _: u32) -> BoxFuture<'a, Result<Taken, Error>> {
        let result = match self.0.add() {
            1..=5 | 8..=10 => Err(Error::new(self.1, "gone")),
            _ => Ok(Taken::Allowed),
        };
        Box::pin(std::future::ready(result))
    }
}

#[test]
fn an_outage_is_logged_when_it_begins_and_when_it_ends() {
    for kind in [ErrorKind::Transport, ErrorKind::Config] {
        in_each_revision(async |version| {
            let (log, _guard) = Log::start();
            let limit = RateLimit::new(Fails(Count::default(), kind)).tools_only();
            let client = client(two_tools().middleware(limit), version).await;
            for _ in 0..12 {
                assert!(!call(&client, "a", json!({})).await.1);
            }
            let lines = log.lines("the store of rate limits");
            let (away, back) = ("cannot be used: calls are not limited", "can be used again");
            for (line, expected) in lines.iter().zip([away, back, away, back]) {
                assert!(line.contains(expected), "{lines:?}");
            }
            assert_eq!(lines.len(), 4, "{lines:?}");
        });
    }
}

/// A store that cannot be used.
struct Gone;

impl Buckets for Gone {
    fn take<'a>(&'a self, _: &'a str, _: u32) -> BoxFuture<'a, Result<Taken, Error>> {
        Box::pin(async { Err(Error::new(ErrorKind::Transport, "gone")) })
    }
}

#[test]
fn a_store_that_is_gone_allows_or_refuses() {
    in_each_revision(async |version| {
        let open = client(two_tools().middleware(RateLimit::new(Gone).tools_only()), version).await;
        assert!(!call(&open, "a", json!({})).await.1);
        let closed = client(two_tools().middleware(RateLimit::new(Gone).tools_only().fail_closed()), version).await;
        assert!(call(&closed, "a", json!({})).await.1);
        let server = two_tools().middleware(RateLimit::new(Gone).tools_only()).build();
        let open = couplet_testing::connect(server.clone(), version).await.unwrap();
        call(&open, "a", json!({})).await;
        assert_eq!(number(&server, "couplet_store_errors_total"), 1);
    });
}

/// A number that the server reports.
fn number(server: &ServerHandle, name: &str) -> u64 {
    let metrics = server.metrics();
    metrics.iter().find(|metric| metric.name == name).unwrap_or_else(|| panic!("no `{name}` in {metrics:?}")).value
}

#[test]
fn calls_wait_for_their_turn_and_the_queue_is_bounded() {
    in_each_revision(async |version| {
        let go = Arc::new(Notify::new());
        let waits = go.clone();
        let slow = tool("slow", move || {
            let go = waits.clone();
            async move {
                go.notified().await;
                "done"
            }
        });
        let limit = ConcurrencyLimit::new(1).queue(1);
        let server = Server::new("s", "1").tool(slow).tool(tool("fast", || "fast")).middleware(limit);
        let server = server.build();
        let client = couplet_testing::connect(server.clone(), version).await.unwrap();
        let (first, second) = (client.clone(), client.clone());
        let first = tokio::spawn(async move { call(&first, "slow", json!({})).await });
        tokio::time::sleep(SECOND).await;
        let second = tokio::spawn(async move { call(&second, "slow", json!({})).await });
        tokio::time::sleep(SECOND).await;
        let (text, failed) = call(&client, "fast", json!({})).await;
        assert!(failed && text == "too many calls are running; retry later", "{text}");
        assert!(!second.is_finished());
        assert_eq!(number(&server, "couplet_queued_calls"), 1);
        go.notify_one();
        assert_eq!(first.await.unwrap(), ("done".into(), false));
        go.notify_one();
        assert_eq!(second.await.unwrap(), ("done".into(), false));
        assert_eq!(call(&client, "fast", json!({})).await, ("fast".into(), false));
        assert_eq!(number(&server, "couplet_queued_calls"), 0);
    });
}

#[test]
fn a_tool_has_a_limit_of_its_own_and_a_call_waits_only_so_long() {
    in_each_revision(async |version| {
        let slow = tool("slow", std::future::pending::<&str>);
        let limit = ConcurrencyLimit::new(8).tool("slow", 1).max_wait(SECOND);
        let server = Server::new("s", "1").tool(slow).tool(tool("fast", || "fast")).middleware(limit);
        let client = client(server, version).await;
        let first = client.clone();
        let first = tokio::spawn(async move { first.call("slow", json!({})).timeout(None).await.map(drop) });
        tokio::time::sleep(SECOND).await;
        assert!(call(&client, "slow", json!({})).await.1, "it waited for a second");
        assert!(!call(&client, "fast", json!({})).await.1);
        // A cancelled call leaves its place.
        first.abort();
        let _ = first.await;
        tokio::time::sleep(SECOND).await;
        let third = client.clone();
        let third = tokio::spawn(async move { third.call("slow", json!({})).timeout(None).await.map(drop) });
        tokio::time::sleep(5 * SECOND).await;
        assert!(!third.is_finished());
    });
}

#[test]
fn long_results_are_truncated_with_a_hint() {
    let refused = Count::default();
    in_each_revision(async |version| {
        let long = "ä\"\n".repeat(10_000);
        let server = Server::new("s", "1")
            .tool(tool("long", move || long.clone()))
            .tool(tool("structured", || couplet_server::Json(json!({ "list": vec!["x"; 10_000] }))))
            .tool(tool("short", || "short"))
            .middleware(ResponseLimit::new(5_000).hint("use `offset`"));
        let client = client(server, version).await;
        let (text, failed) = call(&client, "long", json!({})).await;
        assert!(!failed && text.starts_with("ä\"\nä") && text.ends_with("use `offset`]"), "{text}");
        assert!((3_000..5_000).contains(&text.len()), "{}", text.len());
        let (text, failed) = call(&client, "structured", json!({})).await;
        // Older revisions have the text alone, which can be truncated.
        match failed {
            true => {
                assert!(text.contains("at most 5000 are allowed; use `offset`"), "{text}");
                refused.add();
            }
            false => assert!(text.ends_with("use `offset`]") && text.len() < 5_000, "{text}"),
        }
        assert_eq!(call(&client, "short", json!({})).await, ("short".into(), false));
    });
    assert_eq!(refused.get(), 3, "three revisions have structured content");
}

const LIMIT: usize = 5_000;

/// A server whose large results are stored.
fn spilling(spill: &Spill, caller: Option<&str>) -> ServerHandle {
    let long = "ä\"\n".repeat(10_000);
    let server = Server::new("s", "1")
        .tool(tool("long", move || long.clone()))
        .tool(tool("structured", || Json(json!({ "list": vec!["x"; 10_000] }))))
        .tool(tool("short", || "short"))
        .resource(spill.resource());
    // The caller is set outside, as a transport would do it.
    let server = match caller {
        Some(caller) => server.middleware(as_caller(Caller::new(caller))),
        None => server,
    };
    server.middleware(ResponseLimit::new(LIMIT).spill(spill)).build()
}

#[test]
fn large_results_are_read_in_parts() {
    in_each_revision(async |version| {
        let spill = Spill::new();
        let client = couplet_testing::connect(spilling(&spill, None), version).await.unwrap();
        let result = client.call("long", json!({})).await.unwrap();
        assert!(!result.is_error() && serde_json::to_string(result.content()).unwrap().len() <= LIMIT);
        let text = result.content()[0].as_text().unwrap();
        let parts: usize = text.split("read its ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        assert!(text.starts_with("ä\"\nä") && parts > 8, "{text}");
        let links = links(&result);
        assert_eq!(links.len(), 6, "{links:?}");
        let first = links[0].strip_suffix('1').unwrap();
        let mut whole = String::new();
        for part in 1..=parts {
            let text = client.read(format!("{first}{part}")).await.unwrap().all_text();
            assert!(serde_json::to_string(&text).unwrap().len() <= LIMIT);
            whole += &text;
        }
        assert_eq!(whole, "ä\"\n".repeat(10_000));
        for wrong in ["0", "x", &(parts + 1).to_string()] {
            assert!(client.read(format!("{first}{wrong}")).await.is_err(), "{wrong}");
        }
        assert_eq!(call(&client, "short", json!({})).await, ("short".into(), false));
        // A result with structured content fails, because it would not fit its schema.
        let result = client.call("structured", json!({})).await.unwrap();
        let first = self::links(&result).remove(0);
        let start = client.read(first.as_str()).no_cache().await.unwrap().all_text();
        assert!(start.starts_with(r#"{"list":["x","x""#), "{start}");
        tokio::time::advance(600 * SECOND).await;
        assert!(client.read(first).no_cache().await.is_err(), "it has expired");
    });
}

#[test]
fn another_caller_cannot_read_a_large_result() {
    let sessions = Count::default();
    in_each_revision(async |version| {
        let spill = Spill::new();
        let connect = async |caller| couplet_testing::connect(spilling(&spill, caller), version).await.unwrap();
        let (ada, bob, none) = (connect(Some("ada")).await, connect(Some("bob")).await, connect(None).await);
        let link = links(&ada.call("long", json!({})).await.unwrap()).remove(0);
        assert!(ada.read(link.as_str()).await.is_ok());
        assert!(connect(Some("ada")).await.read(link.as_str()).await.is_ok(), "the same principal");
        assert!(bob.read(link.as_str()).await.is_err() && none.read(link.as_str()).await.is_err());
        // Without a principal, the session decides. The stateless revision has none, so the URI does.
        let link = links(&none.call("long", json!({})).await.unwrap()).remove(0);
        assert!(none.read(link.as_str()).await.is_ok() && ada.read(link.as_str()).await.is_err());
        if connect(None).await.read(link.as_str()).await.is_err() {
            sessions.add();
        }
    });
    assert_eq!(sessions.get(), 4, "four revisions have sessions");
}

#[test]
fn a_store_that_is_not_registered_is_not_used() {
    in_each_revision(async |version| {
        let limit = ResponseLimit::new(LIMIT).hint("use `offset`").spill(&Spill::new());
        let server = Server::new("s", "1").tool(tool("long", || "x".repeat(10_000))).middleware(limit);
        let client = client(server, version).await;
        let (text, failed) = call(&client, "long", json!({})).await;
        assert!(!failed && text.ends_with("use `offset`]"), "{text}");
    });
}

#[test]
fn large_results_of_mounted_servers_are_read() {
    let with_links = Count::default();
    in_each_revision(async |version| {
        let server: Server = Server::new("outer", "1").mount("m", spilling(&Spill::new(), None));
        let client = client(server, version).await;
        let result = client.call("m_long", json!({})).await.unwrap();
        let link = result.content().iter().find_map(|block| match block {
            ContentBlock::ResourceLink(link) => Some(link.uri.clone()),
            _ => None,
        });
        // Older revisions have text in place of links, whose URIs a mount leaves alone.
        let Some(link) = link else { return };
        assert!(client.read(link).await.unwrap().all_text().starts_with("ä\"\n"));
        with_links.add();
    });
    assert_eq!(with_links.get(), 3, "three revisions have links");
}

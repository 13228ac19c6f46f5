//! Limits of calls and results.

use std::time::Duration;

use couplet_core::{BoxFuture, Caller, Error, ErrorKind};
use couplet_middleware::{Buckets, ConcurrencyLimit, RateLimit, ResponseLimit, Taken};
use couplet_server::{Server, tool};
use serde_json::json;
use tokio::sync::Notify;

use crate::kit::{Count, as_caller, call, client, in_each_revision};

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
    });
}

#[test]
fn calls_wait_for_their_turn_and_the_queue_is_bounded() {
    in_each_revision(async |version| {
        let go = std::sync::Arc::new(Notify::new());
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
        let client = client(server, version).await;
        let (first, second) = (client.clone(), client.clone());
        let first = tokio::spawn(async move { call(&first, "slow", json!({})).await });
        tokio::time::sleep(SECOND).await;
        let second = tokio::spawn(async move { call(&second, "slow", json!({})).await });
        tokio::time::sleep(SECOND).await;
        let (text, failed) = call(&client, "fast", json!({})).await;
        assert!(failed && text == "too many calls are running; retry later", "{text}");
        assert!(!second.is_finished());
        go.notify_one();
        assert_eq!(first.await.unwrap(), ("done".into(), false));
        go.notify_one();
        assert_eq!(second.await.unwrap(), ("done".into(), false));
        assert_eq!(call(&client, "fast", json!({})).await, ("fast".into(), false));
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

//! Middleware around tools of mounted and proxied servers.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use couplet_client::Client;
use couplet_core::{Call, Caller, Reply, Service};
use couplet_middleware::{CircuitBreaker, Coercion, Item, ResponseCache, Retry, Timing, Visibility};
use couplet_proxy::Proxy;
use couplet_server::{Next, Server, ServerHandle, extract::Args, tool};
use couplet_types::{ProtocolVersion, RpcError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::kit::{Count, as_caller, call, client, in_each_revision};

const SECOND: Duration = Duration::from_secs(1);

#[derive(Deserialize, JsonSchema)]
struct Input {
    n: u32,
}

/// A server whose tools count their calls, and whose lists are counted.
struct Inner {
    server: ServerHandle,
    lists: Count,
    calls: Count,
}

/// The way to a tool.
#[derive(Clone, Copy, Debug)]
enum Way {
    Mounted,
    Nested,
    Proxied,
}

const WAYS: [Way; 3] = [Way::Mounted, Way::Nested, Way::Proxied];

impl Inner {
    fn new() -> Self {
        let (lists, calls) = (Count::default(), Count::default());
        let (listed, read, failing) = (lists.clone(), calls.clone(), calls.clone());
        let server: Server = Server::new("inner", "1")
            .tool(tool("read", move |Args(input): Args<Input>| format!("{}: {}", input.n, read.add())).read_only())
            .tool(tool("down", move || match failing.add() {
                1..=2 => Err(RpcError::internal("down")),
                n => Ok(n.to_string()),
            }))
            .middleware(move |call: Call, next: Next| {
                if &*call.method == "tools/list" {
                    listed.add();
                }
                next.run(call)
            });
        Self { server: server.build(), lists, calls }
    }

    async fn service(&self, way: Way) -> Arc<dyn Service> {
        match way {
            Way::Mounted => Arc::new(self.server.clone()),
            Way::Nested => Arc::new(Server::<()>::new("between", "1").mount("b", self.server.clone()).build()),
            Way::Proxied => Proxy::connect(Client::new("proxy", "1"), self.server.clone()).await.unwrap().service(),
        }
    }

    /// The outer server, and the prefix of the inner one's tools.
    async fn outer(&self, way: Way) -> (Server, &'static str) {
        let prefix = if let Way::Nested = way { "a_b_" } else { "a_" };
        (Server::new("outer", "1").mount("a", self.service(way).await), prefix)
    }
}

/// Runs a check for each way, in every revision.
fn each(check: impl AsyncFn(Inner, Way, ProtocolVersion)) {
    in_each_revision(async |version| {
        for way in WAYS {
            check(Inner::new(), way, version).await;
        }
    });
}

#[test]
fn arguments_of_mounted_tools_are_converted() {
    each(async |inner, way, version| {
        let (server, prefix) = inner.outer(way).await;
        let client = client(server.middleware(Coercion::new()), version).await;
        let read = format!("{prefix}read");
        assert_eq!(call(&client, &read, json!({ "n": "3" })).await, ("3: 1".into(), false), "{way:?}");
    });
}

#[test]
fn results_of_mounted_tools_are_cached() {
    each(async |inner, way, version| {
        let (server, prefix) = inner.outer(way).await;
        let client = client(server.middleware(ResponseCache::new(60 * SECOND)), version).await;
        for _ in 0..2 {
            assert_eq!(call(&client, &format!("{prefix}read"), json!({ "n": 3 })).await.0, "3: 1", "{way:?}");
        }
        assert_eq!(inner.lists.get(), 1, "{way:?}");
    });
}

#[test]
fn mounted_reads_are_repeated() {
    each(async |inner, way, version| {
        let (server, prefix) = inner.outer(way).await;
        let down = format!("{prefix}down");
        let read = client(server.middleware(Retry::new(3)), version).await;
        assert!(read.call(&down, json!({})).await.is_err(), "it may change something");
        assert_eq!(inner.calls.get(), 1);
        inner
            .server
            .replace_tool(
                tool("down", {
                    let calls = inner.calls.clone();
                    move || match calls.add() {
                        1..=2 => Err(RpcError::internal("down")),
                        n => Ok(n.to_string()),
                    }
                })
                .idempotent(),
            )
            .unwrap();
        settled().await;
        assert_eq!(call(&read, &down, json!({})).await, ("3".into(), false), "{way:?}");
        let (server, _) = inner.outer(way).await;
        let excepted = client(server.middleware(Retry::new(3).except(&down)), version).await;
        assert_eq!(call(&excepted, &down, json!({})).await.0, "4");
    });
}

#[test]
fn a_failing_mounted_tool_is_not_called_for_a_while() {
    each(async |inner, way, version| {
        let (server, prefix) = inner.outer(way).await;
        let client = client(server.middleware(CircuitBreaker::new(2, 30 * SECOND)), version).await;
        let down = format!("{prefix}down");
        for _ in 0..2 {
            assert!(client.call(&down, json!({})).await.is_err(), "{way:?}");
        }
        let (text, failed) = call(&client, &down, json!({})).await;
        assert!(failed && text.contains(&format!("the tool `{down}` failed several times")), "{way:?}: {text}");
        assert_eq!(inner.calls.get(), 2);
    });
}

#[test]
fn times_of_mounted_tools_have_their_names() {
    each(async |inner, way, version| {
        let (timing, (server, prefix)) = (Timing::new(), inner.outer(way).await);
        let client = client(server.middleware(timing.clone()), version).await;
        call(&client, &format!("{prefix}read"), json!({ "n": 1 })).await;
        assert!(client.call(format!("{prefix}none"), json!({})).await.is_err());
        let mut names: Vec<_> = timing.times().into_iter().map(|times| times.name).collect();
        names.retain(|name| !name.contains('/'));
        assert_eq!(names, [format!("{prefix}read"), "other".into()], "{way:?}");
    });
}

/// Lets notifications arrive.
async fn settled() {
    tokio::time::sleep(SECOND).await;
}

#[test]
fn a_list_is_requested_once_and_after_changes() {
    each(async |inner, way, version| {
        let (timing, (server, prefix)) = (Timing::new(), inner.outer(way).await);
        let client = client(server.middleware(timing.clone()).middleware(Coercion::new()), version).await;
        let lists = |expected: u32| assert_eq!(inner.lists.get(), expected, "{way:?} {version}");
        lists(0);
        let read = format!("{prefix}read");
        let together = (0..3).map(|_| {
            let (client, read) = (client.clone(), read.clone());
            tokio::spawn(async move { call(&client, &read, json!({ "n": "3" })).await.1 })
        });
        for failed in together.collect::<Vec<_>>() {
            assert!(!failed.await.unwrap());
        }
        // An unknown name does not lead to another list.
        assert!(client.call(format!("{prefix}none"), json!({})).await.is_err());
        lists(1);
        inner.server.replace_tool(tool("read", |Args(text): Args<Text>| text.n)).unwrap();
        settled().await;
        assert_eq!(call(&client, &read, json!({ "n": "3" })).await, ("3".into(), false), "{way:?}");
        lists(2);
        tokio::time::advance(301 * SECOND).await;
        call(&client, &read, json!({ "n": "3" })).await;
        lists(3);
    });
}

#[derive(Deserialize, JsonSchema)]
struct Text {
    n: String,
}

#[test]
fn a_list_that_fails_leaves_the_definitions_from_before() {
    in_each_revision(async |version| {
        let (inner, lists, is_broken) = (Inner::new(), Count::default(), Arc::new(Mutex::new(true)));
        let (listed, broken) = (lists.clone(), is_broken.clone());
        let fails = move |call: Call, next: Next| -> couplet_core::BoxFuture<'static, Reply> {
            if &*call.method != "tools/list" {
                return next.run(call);
            }
            listed.add();
            match *broken.lock().unwrap() {
                true => Box::pin(std::future::ready(RpcError::internal("broken").into())),
                false => next.run(call),
            }
        };
        let between = Server::<()>::new("between", "1").mount("b", inner.server.clone()).middleware(fails);
        let client = client(Server::new("outer", "1").mount("a", between).middleware(Coercion::new()), version).await;
        let is_converted = async || {
            let result = client.call("a_b_read", json!({ "n": "3" })).await;
            result.is_ok_and(|result| !result.is_error())
        };
        assert!(!is_converted().await && !is_converted().await);
        assert_eq!(lists.get(), 1, "it is not requested for each call");
        *is_broken.lock().unwrap() = false;
        tokio::time::advance(11 * SECOND).await;
        assert!(is_converted().await && lists.get() == 2);
        *is_broken.lock().unwrap() = true;
        inner.server.add_tool(tool("more", || "more")).unwrap();
        assert!(is_converted().await && is_converted().await, "the schema from before is used");
        assert_eq!(lists.get(), 3);
    });
}

#[test]
fn callers_with_lists_of_their_own_have_definitions_of_their_own() {
    in_each_revision(async |version| {
        let inner = Inner::new();
        let rule = |caller: Option<&Caller>, item: Item<'_>| {
            !matches!(item, Item::Tool("read")) || caller.is_some_and(|caller| &**caller.principal() == "ada")
        };
        let visible: Arc<dyn Service> = Arc::new(Visibility::new(inner.server.clone(), rule));
        let (timing, who) = (Timing::new(), Arc::new(Mutex::new("bob")));
        let caller = who.clone();
        let sets = move |call: Call, next: Next| as_caller(Caller::new(*caller.lock().unwrap()))(call, next);
        let server = Server::new("outer", "1").mount("a", visible).middleware(sets).middleware(timing.clone());
        let client = client(server, version).await;
        for (name, lists) in [("bob", 1), ("ada", 2), ("bob", 2), ("ada", 2)] {
            *who.lock().unwrap() = name;
            let allowed = client.call("a_read", json!({ "n": 1 })).await.is_ok();
            assert_eq!((allowed, inner.lists.get()), (name == "ada", lists), "{name}");
        }
        let times = timing.times();
        let counts: Vec<_> = times.iter().filter(|it| !it.name.contains('/')).map(|it| (&*it.name, it.count)).collect();
        assert_eq!(counts, [("a_read", 2), ("other", 2)]);
    });
}

//! Several calls at the same time, and the end of the connection.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_client::Client;
use couplet_core::{BoxFuture, Connect, Connected, Error, Inbound, Limits, Service};
use couplet_proxy::Proxy;
use couplet_server::{Ctx, Server, tool};
use couplet_types::{ElicitParams, ProtocolVersion, RpcError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::kit::{SESSIONS, caller};

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

async fn who(ctx: Ctx) -> Result<String, RpcError> {
    let answer = ctx.elicit::<Name>("name", "who are you?").await?;
    Ok(answer.accepted().map_or_else(|_| "nobody".to_owned(), |n| n.name))
}

/// A question never reaches another caller than the one whose call it is about.
#[tokio::test]
async fn each_caller_answers_for_itself() {
    for far in [ProtocolVersion::V2025_06_18, ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        for near in [ProtocolVersion::V2025_06_18, ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
            let server = Server::new("far", "1").versions([far]).tool(tool("who", who)).build();
            let proxy = Proxy::connect(Client::new("proxy", "1"), server).await.unwrap();
            let mut calls = Vec::new();
            for name in ["Ada", "Grace", "Edith", "Jean"] {
                let client = Client::new("asker", "1").versions([near]).on_elicit(move |ask| async move {
                    tokio::task::yield_now().await;
                    ask.accept(json!({ "name": name }))
                });
                let client = client.connect(proxy.service()).await.unwrap();
                calls.push(tokio::spawn(async move {
                    for _ in 0..5 {
                        assert_eq!(client.call("who", ()).await.unwrap().text(), name, "{near} over {far}");
                    }
                }));
            }
            for call in calls {
                tokio::time::timeout(Duration::from_secs(60), call).await.expect("an end").unwrap();
            }
        }
    }
}

/// Whoever cannot be asked is not; the server hears why.
#[tokio::test]
async fn a_caller_that_cannot_answer() {
    for &far in ProtocolVersion::ALL {
        for &near in ProtocolVersion::ALL {
            let ask = |ctx: Ctx| async move {
                let asked = ctx.elicit_with("name", ElicitParams::visit("look", "https://example.com/")).await;
                asked.err().map_or("asked", |_| "not asked")
            };
            let server = Server::new("far", "1").versions([far]).tool(tool("ask", ask)).build();
            let proxy = Proxy::connect(Client::new("proxy", "1"), server).await.unwrap();
            let client = Client::new("asker", "1").versions([near]).connect(proxy.service()).await.unwrap();
            let said = client.call("ask", ()).await.unwrap();
            assert_eq!(said.text(), "not asked", "{near} over {far}");
        }
    }
}

#[tokio::test]
async fn the_connection_ends_with_the_proxy_and_the_proxy_says_when_it_has() {
    let server = Server::new("far", "1").tool(tool("one", || 1)).build();
    let proxy = Proxy::connect(Client::new("proxy", "1"), server).await.unwrap();
    let client = Client::new("asker", "1").connect(proxy.service()).await.unwrap();
    assert_eq!(client.call("one", ()).await.unwrap().text(), "1");
    proxy.close().await.unwrap();
    let error = client.call("one", ()).await.unwrap_err();
    assert_eq!(error.rpc().unwrap().code, -32603, "{error}");
    assert!(error.to_string().contains("the server behind the proxy"), "{error}");
}

/// A server whose second connection takes 15 s to open.
struct Slow(Arc<AtomicUsize>, Arc<dyn Service>);

impl Slow {
    fn new() -> (Self, Arc<AtomicUsize>) {
        let server = Server::new("far", "1").versions([SESSIONS]).tool(tool("name", || "far")).build();
        let opened = Arc::new(AtomicUsize::new(0));
        (Self(opened.clone(), Arc::new(server)), opened)
    }
}

impl Connect for Slow {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        let first = self.0.fetch_add(1, Ordering::SeqCst) == 0;
        Box::pin(async move {
            if !first {
                tokio::time::sleep(Duration::from_secs(15)).await;
            }
            self.1.connect(inbound, limits).await
        })
    }
}

/// Connecting has its own timeout: neither the queue's nor one that is fixed.
#[tokio::test(start_paused = true)]
async fn a_caller_waits_for_its_connection_as_long_as_connecting_may_take() {
    for (connect, takes) in [(60, 15), (5, 5)] {
        let (target, opened) = Slow::new();
        let builder = Proxy::builder(Client::new("proxy", "1")).wait_timeout(Duration::from_secs(2));
        let proxy = builder.connect_timeout(Duration::from_secs(connect)).connect(target).await.unwrap();
        let ann = caller("ann", SESSIONS).connect(proxy.service()).await.unwrap();
        let bob = caller("bob", SESSIONS).connect(proxy.service()).await.unwrap();
        assert_eq!(ann.call("name", ()).await.unwrap().text(), "far");
        let began = tokio::time::Instant::now();
        // Without a further connection, callers take turns.
        assert_eq!(bob.call("name", ()).await.unwrap().text(), "far");
        assert_eq!((began.elapsed().as_secs(), opened.load(Ordering::SeqCst)), (takes, 2), "{connect}");
    }
}

/// The next caller finds a connection that the caller before has not waited for.
#[tokio::test(start_paused = true)]
async fn a_slow_connection_is_opened_although_its_caller_is_gone() {
    let (target, opened) = Slow::new();
    let proxy = Proxy::connect(Client::new("proxy", "1"), target).await.unwrap();
    let ann = caller("ann", SESSIONS).connect(proxy.service()).await.unwrap();
    let bob = caller("bob", SESSIONS).connect(proxy.service()).await.unwrap();
    assert_eq!(ann.call("name", ()).await.unwrap().text(), "far");
    assert!(tokio::time::timeout(Duration::from_secs(10), bob.call("name", ())).await.is_err());
    assert_eq!(bob.call("name", ()).await.unwrap().text(), "far");
    assert_eq!(opened.load(Ordering::SeqCst), 2, "it was opened once");
}

/// After a cancelled call, further calls and lists use the same new connection.
#[tokio::test]
async fn lists_come_from_where_calls_go() {
    struct Each(Arc<AtomicUsize>);
    impl Connect for Each {
        fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
            // A process of its own for each connection, as with a child.
            self.0.fetch_add(1, Ordering::SeqCst);
            let add = |ctx: Ctx| async move { ctx.server().add_tool(tool("new", || "new")).map_or("no", |()| "yes") };
            let server = Server::new("far", "1").versions([SESSIONS]).tool(tool("who", who)).tool(tool("add", add));
            let wait = tool("wait", std::future::pending::<()>);
            let mut service: Arc<dyn Service> = Arc::new(server.tool(wait).build());
            Box::pin(async move { service.connect(inbound, limits).await })
        }
    }
    let opened = Arc::new(AtomicUsize::new(0));
    let proxy = Proxy::connect(Client::new("proxy", "1"), Each(opened.clone())).await.unwrap();
    let ann = caller("ann", crate::kit::STATELESS).connect(proxy.service()).await.unwrap();
    assert_eq!(ann.call("who", ()).await.unwrap().text(), "ann");
    let waiting = tokio::time::timeout(Duration::from_millis(50), ann.call("wait", ()));
    assert!(waiting.await.is_err(), "it was cancelled");
    assert_eq!(ann.call("who", ()).await.unwrap().text(), "ann");
    assert_eq!(opened.load(Ordering::SeqCst), 2, "requests of the old connection are refused");
    assert_eq!(ann.call("add", ()).await.unwrap().text(), "yes");
    let has_new = async || proxy.client().tools().await.is_ok_and(|all| all.iter().any(|tool| tool.name == "new"));
    tokio::time::timeout(Duration::from_secs(60), async {
        while !has_new().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .expect("the first connection is the new one");
    assert_eq!(opened.load(Ordering::SeqCst), 2);
}

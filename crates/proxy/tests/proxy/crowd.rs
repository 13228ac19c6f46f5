//! More calls at once than there are connections.

use std::{
    future::IntoFuture,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_client::Client;
use couplet_core::Outcome;
use couplet_proxy::{Isolation, Proxy};
use couplet_server::{Ctx, Server, ServerHandle, ToolError, tool};
use couplet_types::ProtocolVersion;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::{
    task::JoinSet,
    time::{Instant, timeout},
};

use crate::kit::{Cable, SESSIONS, STATELESS, authenticated, caller, silent};

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

/// A server whose tool asks twice, and the number of its runs.
fn far(version: ProtocolVersion) -> (ServerHandle, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let who = move |ctx: Ctx| {
        counted.fetch_add(1, Ordering::SeqCst);
        async move {
            let first = ctx.elicit::<Name>("first", "who are you?").await?.accepted()?.name;
            let again = ctx.elicit::<Name>("again", "really?").await?.accepted()?.name;
            Ok::<_, ToolError>(format!("{first} {again}"))
        }
    };
    let slow = || async { tokio::time::sleep(Duration::from_secs(20)).await };
    let server = Server::new("far", "1").versions([version]);
    (server.tool(tool("who", who)).tool(tool("one", || 1)).tool(tool("slow", slow)).build(), runs)
}

/// A client that takes its time to answer.
async fn thoughtful(at: usize, near: ProtocolVersion, proxy: &Proxy) -> Client {
    let client = Client::new("thoughtful", "1").timeout(None).versions([near]).on_elicit(move |ask| async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        ask.accept(json!({ "name": format!("client {at}") }))
    });
    client.connect(proxy.service()).await.unwrap()
}

/// All calls succeed, each runs once, and each client answers for itself.
#[tokio::test(start_paused = true)]
async fn calls_that_ask_wait_for_a_connection() {
    const CALLS: usize = 12;
    for far_version in [SESSIONS, ProtocolVersion::V2025_06_18] {
        for (near, isolation) in [(STATELESS, Isolation::Session), (SESSIONS, Isolation::Shared)] {
            for connections in [1, 2, 4] {
                let case = format!("{near} over {far_version}, {connections} connections");
                let (server, runs) = far(far_version);
                let builder = Proxy::builder(Client::new("proxy", "1")).isolation(isolation).connections(connections);
                let proxy = builder.connect(server).await.unwrap();
                let mut calls = JoinSet::new();
                for at in 0..CALLS {
                    let client = thoughtful(at, near, &proxy).await;
                    calls.spawn(async move { (at, client.call("who", ()).await.map(|done| done.text())) });
                }
                while let Some(done) = calls.join_next().await {
                    let (at, said) = done.unwrap();
                    assert_eq!(said.unwrap(), format!("client {at} client {at}"), "{case}");
                }
                assert_eq!(runs.load(Ordering::SeqCst), CALLS, "{case}");
            }
        }
    }
}

/// The first request of a server is that of the one call which may be the first to receive one, whichever others run.
#[tokio::test(start_paused = true)]
async fn the_first_request_is_assigned_beside_calls_that_receive_none() {
    let (server, runs) = far(SESSIONS);
    let cable = Cable::new();
    let proxy = Proxy::connect(Client::new("proxy", "1"), cable.to(server)).await.unwrap();
    let client = thoughtful(0, STATELESS, &proxy).await;
    assert_eq!(client.call("one", ()).await.unwrap().text(), "1");
    client.call("slow", ()).await.unwrap();
    // A call that was given up leaves a connection whose requests could be those of that call.
    assert!(timeout(Duration::from_secs(1), client.call("slow", ())).await.is_err());
    let slow = tokio::spawn(client.call("slow", ()).into_future());
    let (first, second) =
        tokio::join!(client.call("who", ()).into_future(), thoughtful(1, STATELESS, &proxy).await.call("who", ()));
    let said = (first.unwrap().text(), second.unwrap().text());
    assert_eq!(said, ("client 0 client 0".to_owned(), "client 1 client 1".to_owned()));
    slow.await.unwrap().unwrap();
    assert_eq!(runs.load(Ordering::SeqCst), 2);
}

/// The first requests of a server may be several at once, beside a call of a tool that has never received any: they wait
/// until that call has ended, however many they are.
#[tokio::test(start_paused = true)]
async fn first_requests_that_are_sent_at_once_wait_for_other_calls() {
    let names = |ctx: Ctx| async move {
        let ask = async |key| Ok::<_, ToolError>(ctx.elicit::<Name>(key, "who are you?").await?.accepted()?.name);
        let (one, two, three) = tokio::try_join!(ask("1"), ask("2"), ask("3"))?;
        Ok::<_, ToolError>(format!("{one}, {two}, {three}"))
    };
    let (server, _) = far(SESSIONS);
    server.add_tool(tool("names", names)).unwrap();
    let proxy = Proxy::connect(Client::new("proxy", "1"), server).await.unwrap();
    let client = thoughtful(0, STATELESS, &proxy).await;
    client.call("slow", ()).await.unwrap();
    let slow = tokio::spawn(client.call("slow", ()).into_future());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(client.call("names", ()).await.unwrap().text(), "client 0, client 0, client 0");
    slow.await.unwrap().unwrap();
}

/// Where no connection is free in time, the error says which are in use.
#[tokio::test(start_paused = true)]
async fn a_call_that_waited_too_long_is_refused() {
    let (server, _) = far(SESSIONS);
    let builder = Proxy::builder(Client::new("proxy", "1")).connections(1).wait_timeout(Duration::from_secs(10));
    let proxy = builder.connect(server).await.unwrap();
    let client = thoughtful(0, STATELESS, &proxy).await;
    assert_eq!(client.call("who", ()).await.unwrap().text(), "client 0 client 0");
    let slow = tokio::spawn(client.call("slow", ()).into_future());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let error = client.call("who", ()).await.unwrap_err();
    assert!(error.to_string().contains("all 1 connections to the server are in use"), "{error}");
    slow.await.unwrap().unwrap();
}

/// The requests that a server with sessions sends at once are in one round; its call runs once.
#[tokio::test(start_paused = true)]
async fn requests_that_are_sent_at_once_are_in_one_round() {
    for far in [SESSIONS, ProtocolVersion::V2025_06_18] {
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = runs.clone();
        let names = move |ctx: Ctx| {
            counted.fetch_add(1, Ordering::SeqCst);
            async move {
                let ask = async |key, text| Ok::<_, ToolError>(ctx.elicit::<Name>(key, text).await?.accepted()?.name);
                let (one, two, three) =
                    tokio::try_join!(ask("1", "the first?"), ask("2", "the second?"), ask("3", "the third?"))?;
                Ok::<_, ToolError>(format!("{one} {two} {three} {}", ask("4", "the last?").await?))
            }
        };
        let server = Server::new("far", "1").versions([far]).tool(tool("names", names)).build();
        let proxy = Proxy::connect(Client::new("proxy", "1"), server).await.unwrap();
        let client = Client::new("near", "1").versions([STATELESS]).on_elicit(|ask| async move {
            let name = ask.message().split(' ').next_back().unwrap_or_default().to_owned();
            ask.accept(json!({ "name": name }))
        });
        let client = client.connect(proxy.service()).await.unwrap();
        let outcome = client.call_outcome("names", ()).await.unwrap();
        let Outcome::InputRequired { asks, .. } = outcome else { panic!("input requests") };
        assert_eq!(asks.len(), 3, "{far}");
        let said = client.call("names", ()).await.unwrap().text();
        assert_eq!(said, "first? second? third? last?", "{far}");
        assert_eq!(runs.load(Ordering::SeqCst), 2, "{far}");
    }
}

/// Forms that one user leaves open give way at once to a call of another user, and later to those of the same one.
#[tokio::test(start_paused = true)]
async fn attack_10_open_forms_of_one_user_block_no_other_one() {
    for (name, seconds) in [("ann", 0), ("mallory", 27)] {
        let (server, runs) = far(SESSIONS);
        let proxy = Proxy::builder(Client::new("proxy", "1")).connections(3).connect(server).await.unwrap();
        for begun in 1..=3 {
            let client = silent(STATELESS).connect(authenticated("mallory", &proxy)).await.unwrap();
            let call = tokio::spawn(client.call("who", ()).timeout(None).into_future());
            while runs.load(Ordering::SeqCst) < begun {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            call.abort();
        }
        let began = Instant::now();
        let client = caller(name, STATELESS).connect(authenticated(name, &proxy)).await.unwrap();
        assert_eq!(client.call("who", ()).await.unwrap().text(), format!("{name} {name}"));
        assert_eq!(began.elapsed().as_secs(), seconds, "{name}");
    }
}

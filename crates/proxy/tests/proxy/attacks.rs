//! What users of a gateway must not do to each other, and what a server's failure must not do to them.

use std::{
    future::IntoFuture,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_client::{Change, Client, Filter};
use couplet_core::Service;
use couplet_proxy::Proxy;
use couplet_server::{Ctx, Server, ServerHandle, ToolError, resource, tool};
use couplet_types::ProtocolVersion;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::{sync::Barrier, time::timeout};

use crate::kit::{Cable, SESSIONS, STATELESS, caller, one_by_one, silent};

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

/// A server whose tool `who` does something, asks twice, and does something again.
struct Far {
    handle: ServerHandle,
    begun: Arc<AtomicUsize>,
    done: Arc<AtomicUsize>,
}

impl Far {
    fn new(version: ProtocolVersion) -> Self {
        let (begun, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (b, d) = (begun.clone(), done.clone());
        let who = move |ctx: Ctx| {
            let (begun, done) = (b.clone(), d.clone());
            async move {
                begun.fetch_add(1, Ordering::SeqCst);
                let first = ctx.elicit::<Name>("first", "who are you?").await?.accepted()?.name;
                let again = ctx.elicit::<Name>("again", "really?").await?.accepted()?.name;
                done.fetch_add(1, Ordering::SeqCst);
                Ok::<_, ToolError>(format!("{first} {again}"))
            }
        };
        let meeting = Arc::new(Barrier::new(2));
        let meet = move || {
            let meeting = meeting.clone();
            async move {
                meeting.wait().await;
                "met"
            }
        };
        let handle = Server::new("far", "1")
            .versions([version])
            .tool(tool("who", who))
            .tool(tool("meet", meet))
            .tool(tool("one", || 1))
            .build();
        Self { handle, begun, done }
    }

    fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }
}

/// Bounded only so that a failure is one: nothing here takes any time.
async fn soon<T>(work: impl IntoFuture<Output = T>) -> T {
    timeout(Duration::from_secs(3600), work.into_future()).await.expect("an end")
}

async fn until(what: impl Fn() -> bool) {
    soon(async {
        while !what() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn attack_10_an_open_form_blocks_no_other_caller() {
    for near in [SESSIONS, STATELESS] {
        let far = Far::new(SESSIONS);
        let proxy = Proxy::connect(Client::new("proxy", "1"), far.handle.clone()).await.unwrap();
        let stuck = silent(near).connect(proxy.service()).await.unwrap();
        let open = tokio::spawn(stuck.call("who", ()).timeout(None).into_future());
        until(|| far.begun() == 1).await;
        for name in ["Ada", "Grace"] {
            let client = caller(name, near).connect(proxy.service()).await.unwrap();
            assert_eq!(soon(client.call("one", ())).await.unwrap().text(), "1", "{near}");
            assert_eq!(soon(client.call("who", ())).await.unwrap().text(), format!("{name} {name}"), "{near}");
        }
        open.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn attack_10_calls_of_several_callers_run_at_the_same_time() {
    for near in [SESSIONS, STATELESS] {
        let far = Far::new(SESSIONS);
        let proxy = Proxy::connect(Client::new("proxy", "1"), far.handle).await.unwrap();
        let ada = caller("Ada", near).connect(proxy.service()).await.unwrap();
        let grace = caller("Grace", near).connect(proxy.service()).await.unwrap();
        let (one, other) =
            soon(async { tokio::join!(ada.call("meet", ()).into_future(), grace.call("meet", ())) }).await;
        assert_eq!((one.unwrap().text(), other.unwrap().text()), ("met".into(), "met".into()), "{near}");
    }
}

#[tokio::test(start_paused = true)]
async fn attack_10_a_call_that_asks_runs_once() {
    for (near, far) in [(STATELESS, SESSIONS), (SESSIONS, SESSIONS), (STATELESS, ProtocolVersion::V2025_06_18)] {
        let server = Far::new(far);
        let proxy = Proxy::connect(Client::new("proxy", "1"), server.handle.clone()).await.unwrap();
        let client = caller("Ada", near).connect(proxy.service()).await.unwrap();
        assert_eq!(soon(client.call("who", ())).await.unwrap().text(), "Ada Ada", "{near} over {far}");
        assert_eq!((server.begun(), server.done.load(Ordering::SeqCst)), (1, 1), "{near} over {far}");
    }
}

/// Callers that left their forms open give way after a while when all connections are in use.
#[tokio::test(start_paused = true)]
async fn attack_10_abandoned_forms_give_way() {
    let far = Far::new(SESSIONS);
    let proxy = Proxy::builder(Client::new("proxy", "1")).connections(2).connect(far.handle.clone()).await.unwrap();
    for begun in 1..=5 {
        let client = silent(STATELESS).connect(proxy.service()).await.unwrap();
        let call = tokio::spawn(client.call("who", ()).timeout(None).into_future());
        until(|| far.begun() == begun).await;
        // The form is open by now.
        tokio::time::sleep(Duration::from_secs(1)).await;
        call.abort();
    }
    let client = caller("Ada", STATELESS).connect(proxy.service()).await.unwrap();
    assert_eq!(soon(client.call("who", ())).await.unwrap().text(), "Ada Ada");
}

/// Where there is one connection only, callers take turns, and none holds it for ever.
#[tokio::test(start_paused = true)]
async fn attack_10_one_connection_is_not_held_for_ever() {
    let far = Far::new(SESSIONS);
    let cable = Cable::new().most(1);
    let builder = Proxy::builder(Client::new("proxy", "1")).answer_timeout(Duration::from_secs(120));
    let proxy = builder.connect(cable.to(far.handle.clone())).await.unwrap();
    let stuck = silent(SESSIONS).connect(proxy.service()).await.unwrap();
    let open = tokio::spawn(stuck.call("who", ()).timeout(None).into_future());
    until(|| far.begun() == 1).await;
    let client = caller("Ada", SESSIONS).timeout(None).connect(proxy.service()).await.unwrap();
    let busy = soon(client.call("one", ()).timeout(None)).await.unwrap_err();
    assert!(busy.to_string().contains("in use"), "{busy}");
    // The caller does not answer in time, so its call ends.
    assert!(soon(open).await.unwrap().is_err());
    assert_eq!(soon(client.call("who", ())).await.unwrap().text(), "Ada Ada");
    assert_eq!(cable.connected(), 1);
}

/// A session has its connection to itself; other sessions have theirs, and those of sessions that are gone are replaced.
#[tokio::test(start_paused = true)]
async fn sessions_do_not_share_connections() {
    let far = Far::new(SESSIONS);
    let cable = Cable::new();
    let proxy = Proxy::connect(Client::new("proxy", "1"), cable.to(far.handle.clone())).await.unwrap();
    let ada = caller("Ada", SESSIONS).connect(proxy.service()).await.unwrap();
    ada.tools().await.unwrap();
    ada.call("one", ()).await.unwrap();
    ada.call("one", ()).await.unwrap();
    assert_eq!(cable.connected(), 1, "the first session has the first connection");
    let grace = caller("Grace", SESSIONS).connect(proxy.service()).await.unwrap();
    grace.call("one", ()).await.unwrap();
    assert_eq!(cable.connected(), 2);
    for _ in 0..2 {
        let client = caller("Edith", STATELESS).connect(proxy.service()).await.unwrap();
        client.call("one", ()).await.unwrap();
    }
    assert_eq!(cable.connected(), 3, "callers without a session share");
}

#[tokio::test(start_paused = true)]
async fn attack_10_a_server_that_is_gone_is_connected_to_again() {
    for (near, far) in [(SESSIONS, SESSIONS), (STATELESS, SESSIONS), (SESSIONS, STATELESS), (STATELESS, STATELESS)] {
        let server = Far::new(far);
        let cable = Cable::new();
        let proxy = Proxy::connect(Client::new("proxy", "1"), cable.to(server.handle.clone())).await.unwrap();
        let client = caller("Ada", near).connect(proxy.service()).await.unwrap();
        let mut changes = client.listen(Filter::new().tools()).await.unwrap();
        assert_eq!(client.call("one", ()).await.unwrap().text(), "1");
        cable.set_out_of_order(true);
        let lost = tokio::spawn(client.call("meet", ()).into_future());
        tokio::time::sleep(Duration::from_millis(1)).await;
        cable.cut();
        assert!(soon(lost).await.unwrap().is_err(), "{near} over {far}");
        assert_eq!(soon(changes.next()).await, Some(Change::Tools), "{near} over {far}: it is gone");
        let begun = tokio::time::Instant::now();
        let error = soon(client.call("one", ())).await.unwrap_err();
        assert!(error.to_string().contains("restarting"), "{near} over {far}: {error}");
        assert_eq!(begun.elapsed(), Duration::ZERO, "{near} over {far}: nothing waits");
        assert!(proxy.failure().is_some());
        // It stays away for a while: attempts become rare.
        tokio::time::sleep(Duration::from_secs(300)).await;
        cable.set_out_of_order(false);
        assert_eq!(soon(changes.next()).await, Some(Change::Tools), "{near} over {far}: it is back");
        assert_eq!(soon(client.call("one", ())).await.unwrap().text(), "1", "{near} over {far}");
        assert_eq!(cable.connected(), 2, "{near} over {far}");
        assert!(proxy.failure().is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_proxy_can_give_up() {
    let cable = Cable::new();
    let builder = Proxy::builder(Client::new("proxy", "1")).reconnect_attempts(3);
    let proxy = builder.connect(cable.to(Far::new(SESSIONS).handle)).await.unwrap();
    cable.set_out_of_order(true);
    cable.cut();
    let error = soon(proxy.closed()).await;
    assert!(error.to_string().contains("the cable is cut"), "{error}");
}

/// A server that does not know `subscriptions/listen` is served, and can be called.
#[tokio::test(start_paused = true)]
async fn attack_10_a_server_without_subscriptions_is_served() {
    for near in [SESSIONS, STATELESS] {
        let cable = Cable::new().deaf();
        let proxy = Proxy::connect(Client::new("proxy", "1"), cable.to(Far::new(STATELESS).handle)).await.unwrap();
        let client = caller("Ada", near).connect(proxy.service()).await.unwrap();
        assert_eq!(soon(client.call("who", ())).await.unwrap().text(), "Ada Ada", "{near}");
        assert_eq!(client.tools().await.unwrap().len(), 3, "{near}");
    }
}

/// A mounted server that is gone hides no other one, and is back when it is.
#[tokio::test(start_paused = true)]
async fn attack_10_a_mounted_server_that_is_gone_comes_back() {
    for near in [SESSIONS, STATELESS] {
        let cable = Cable::new();
        let proxy = Proxy::connect(Client::new("proxy", "1"), cable.to(Far::new(SESSIONS).handle)).await.unwrap();
        let near_by = Server::new("near", "1").tool(tool("two", || 2));
        let city = Server::new("city", "1").mount("far", proxy.service()).mount("near", near_by).build();
        let client = caller("Ada", near).connect(city.clone()).await.unwrap();
        let mut changes = client.listen(Filter::new().tools()).await.unwrap();
        assert_eq!(client.tools().await.unwrap().len(), 4, "{near}");
        assert_eq!(soon(client.call("far_who", ())).await.unwrap().text(), "Ada Ada", "{near}");
        cable.set_out_of_order(true);
        cable.cut();
        assert_eq!(soon(changes.next()).await, Some(Change::Tools), "{near}");
        let names: Vec<_> = client.tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, ["near_two"], "{near}");
        let failure = city.mounts()[0].failure.clone().unwrap();
        assert!(failure.contains("`far` is restarting"), "{near}: {failure}");
        cable.set_out_of_order(false);
        assert_eq!(soon(changes.next()).await, Some(Change::Tools), "{near}");
        assert_eq!(client.tools().await.unwrap().len(), 4, "{near}");
        assert!(city.mounts()[0].failure.is_none(), "{near}");
    }
}

/// A subscription to a resource that the server does not have costs no other one.
#[tokio::test(start_paused = true)]
async fn attack_10_a_wrong_subscription_harms_no_other() {
    for near in [SESSIONS, STATELESS] {
        for far in [SESSIONS, STATELESS] {
            let one = resource("far://one", || "first").subscribable();
            let server = Server::new("far", "1").versions([far]).resource(one).build();
            let proxy = Proxy::connect(Client::new("proxy", "1"), server.clone()).await.unwrap();
            let wrong = caller("wrong", near).connect(proxy.service()).await.unwrap();
            let none = wrong.listen(Filter::new().resource("far://none")).await;
            // A stateless server accepts resources that it may have later.
            assert_eq!(none.is_err(), far == SESSIONS, "{near} over {far}");
            let right = caller("right", near).connect(proxy.service()).await.unwrap();
            let mut changes = right.listen(Filter::new().resource("far://one")).await.unwrap();
            until(|| server.hub().interest().uris.contains("far://one")).await;
            server.updated("far://one");
            assert_eq!(soon(changes.next()).await, Some(Change::Updated("far://one".into())), "{near} over {far}");
        }
    }
}

/// Requests that a transport serves one by one, each as a session, share a connection.
#[tokio::test(start_paused = true)]
async fn requests_without_a_session_share_a_connection() {
    let cable = Cable::new();
    let proxy = Proxy::connect(Client::new("proxy", "1"), cable.to(Far::new(SESSIONS).handle)).await.unwrap();
    for _ in 0..3 {
        let client = caller("Ada", SESSIONS).connect(one_by_one(&proxy)).await.unwrap();
        assert_eq!(client.call("one", ()).await.unwrap().text(), "1");
        client.close().await.unwrap();
    }
    assert_eq!(cable.connected(), 1);
}

//! Calls that take long, and calls that are cancelled.

use std::{
    future::IntoFuture,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_host::{Host, Server as Entry, upstream::UpstreamOptions};
use couplet_server::{Ctx, Server, tool};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    kit::{SESSIONS, STATELESS, able, connect, id, in_time},
    raw::Raw,
};

/// Ten minutes with progress every 20 s, where a call without progress ends after one.
#[tokio::test(start_paused = true)]
async fn acceptance_10_progress_extends_a_call() {
    for (near, far) in [(SESSIONS, SESSIONS), (SESSIONS, STATELESS), (STATELESS, SESSIONS), (STATELESS, STATELESS)] {
        let slow = |ctx: Ctx| async move {
            for step in 1..=30 {
                tokio::time::sleep(Duration::from_secs(20)).await;
                ctx.progress_with(f64::from(step), Some(30.0), None).await;
            }
            "done"
        };
        let silent = || async {
            tokio::time::sleep(Duration::from_secs(600)).await;
            "done"
        };
        let server = Server::new("slow", "1").versions([far]).timeout(None);
        let server = server.tool(tool("slow", slow)).tool(tool("silent", silent));
        let host = Host::builder().server("slow", server.build()).build();
        let client = connect(able(near).0.max_timeout(None), host.service()).await;
        client.tools().await.unwrap();
        let (steps, began) = (Arc::new(AtomicUsize::new(0)), Instant::now());
        let count = steps.clone();
        let call = client.call("slow__slow", ()).on_progress(move |_| {
            count.fetch_add(1, Ordering::SeqCst);
        });
        assert_eq!(call.await.unwrap().text(), "done", "{near} to {far}");
        assert_eq!((steps.load(Ordering::SeqCst), began.elapsed().as_secs()), (30, 600), "{near} to {far}");
        let began = Instant::now();
        let error = client.call("slow__silent", ()).timeout(None).await.unwrap_err().to_string();
        assert!(error.contains("within 60s after its last message"), "{error}");
        assert_eq!(began.elapsed().as_secs(), 60, "{near} to {far}");
    }
}

/// A cancellation reaches the server of the call, with the id that the call has there, and ends no other call; one that is
/// still queued is never sent.
#[tokio::test(start_paused = true)]
async fn acceptance_10_a_cancellation_reaches_its_owner_only() {
    for (near, far) in [(SESSIONS, SESSIONS), (SESSIONS, STATELESS), (STATELESS, SESSIONS), (STATELESS, STATELESS)] {
        in_time(format_args!("{near} to {far}"), async {
            let (raw, other) = (Raw::new(far), Raw::new(far));
            let mut options = UpstreamOptions::default();
            (options.calls, options.queue, options.queue_timeout) = (2, 16, Duration::from_secs(1000));
            options.call_timeout = None;
            let entry = |server: &str, raw: &Raw| Entry::new(id(server), raw.clone()).options(options.clone());
            let host = Host::builder().add(entry("raw", &raw)).add(entry("other", &other)).build();
            let client = |name: &'static str| {
                let client = couplet_client::Client::new(name, "1").versions([near]);
                connect(client.timeout(None).max_timeout(None), host.service())
            };
            let (ann, bob) = (client("ann").await, client("bob").await);
            ann.tools().await.unwrap();
            let call = |client: &couplet_client::Client, server: &str, who: &str| {
                let call = client.call(format!("{server}__hang"), json!({ "who": who }));
                tokio::spawn(call.into_future())
            };
            let sent = |raw: &Raw| raw.received("tools/call");
            let until = async |what: &str, done: &dyn Fn() -> bool| {
                for _ in 0..10_000 {
                    if done() {
                        return;
                    }
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                panic!("{near} to {far}: {what}: {:?}", (sent(&raw), raw.received("notifications/cancelled")));
            };
            let elsewhere = call(&bob, "other", "bob");
            let mine = call(&ann, "raw", "ann");
            until("ann's call is sent", &|| sent(&raw).len() == 1).await;
            let theirs = call(&bob, "raw", "bob");
            until("bob's call is sent", &|| sent(&raw).len() == 2 && sent(&other).len() == 1).await;
            let queued: Vec<_> = (0..8).map(|at| call(&bob, "raw", &format!("queued-{at}"))).collect();
            let waiting = || host.status()[0].upstream.queued;
            until("eight calls wait", &|| waiting() == 8).await;
            queued[0].abort();
            until("seven calls wait", &|| waiting() == 7).await;
            assert!(raw.received("notifications/cancelled").is_empty(), "what was not sent is not cancelled");

            let began = Instant::now();
            mine.abort();
            until("it is cancelled", &|| !raw.received("notifications/cancelled").is_empty()).await;
            assert!(began.elapsed() <= Duration::from_millis(50), "{:?}", began.elapsed());
            let of = |who: &str| -> Value {
                let calls = sent(&raw);
                calls.iter().find(|call| call["params"]["arguments"]["who"] == who).unwrap()["id"].clone()
            };
            let cancelled = raw.received("notifications/cancelled");
            assert_eq!(cancelled.len(), 1);
            assert_eq!(cancelled[0]["params"]["requestId"], of("ann"));
            until("the next one is sent", &|| sent(&raw).len() == 3).await;
            assert_eq!(waiting(), 6);
            assert!(other.received("notifications/cancelled").is_empty());
            assert!(!theirs.is_finished() && !elsewhere.is_finished());
            assert!(sent(&raw).iter().all(|call| call["params"]["arguments"]["who"] != "queued-0"));
        })
        .await;
    }
}

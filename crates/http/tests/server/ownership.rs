//! A session has one owner.

use std::{
    future::Future,
    sync::{Arc, OnceLock},
    task::{Context, Waker},
    time::Duration,
};

use couplet_http::server::{Claim, Endpoint, EventStore, Node, SessionStore};
use couplet_server::{Server, tool};
use serde_json::json;

use crate::{
    store::{Fault, TestStore},
    support::{POLLING, Seen, Session, call, endpoint, eventually, limits},
};

/// A replica and what its handlers have done.
fn replica(store: &Arc<TestStore>) -> (Endpoint, Seen) {
    let (endpoint, seen) = endpoint();
    (endpoint.sessions(store.clone()).events(store.clone()), seen)
}

/// Longer than a lease.
async fn lease_passes() {
    tokio::time::sleep(Duration::from_secs(16)).await;
}

async fn owner(store: &TestStore, id: &str) -> Option<Node> {
    store.sessions.load(id).await.unwrap().expect("the session exists").1
}

#[tokio::test(start_paused = true)]
async fn a_session_has_one_owner_until_its_lease_has_expired() {
    let store = Arc::new(TestStore::default());
    let ((one, _), (two, _)) = (replica(&store), replica(&store));
    let session = Session::open(&one, POLLING).await;
    let running = session.tool(0, "forever").await;
    // The owner renews the lease for as long as the session is in use.
    for _ in 0..5 {
        lease_passes().await;
        let refused = session.at(&two).tool(1, "hello").await;
        assert_eq!((refused.status.as_u16(), refused.header("retry-after")), (503, Some("1")));
        assert!(refused.json().await["error"]["message"].as_str().unwrap().contains("another replica"));
    }
    assert_eq!(session.tool(1, "hello").await.status, 200);
    // A replica that cannot reach the store stops before the lease is over for others.
    store.break_one("renew", Fault::Hangs);
    lease_passes().await;
    assert_eq!(one.session_count(), 0);
    assert_eq!(session.at(&two).tool(2, "hello").await.status, 200);
    assert_eq!(session.tool(3, "hello").await.status, 503, "now the other one owns it");
    drop(running);
}

#[tokio::test(start_paused = true)]
async fn the_streams_of_two_owners_have_different_numbers() {
    let store = Arc::new(TestStore::default());
    let ((one, _), (two, _)) = (replica(&store), replica(&store));
    let session = Session::open(&one, POLLING).await;
    let mut reply = session.tool(1, "slow").await;
    let first = reply.body.event().await.unwrap().id.unwrap();
    assert_eq!(reply.body.messages().await.len(), 11);
    let session = session.move_to(&two).await;
    let mut reply = session.tool(2, "slow").await;
    let second = reply.body.event().await.unwrap().id.unwrap();
    assert_eq!(reply.body.messages().await.len(), 11);
    assert_ne!(first, second);
    for (prime, id) in [(&first, 1), (&second, 2)] {
        let messages = session.get(Some(prime)).await.body.messages().await;
        assert_eq!((messages.len(), &messages[10]["id"]), (11, &json!(id)), "the events of one call, and no others");
    }
}

#[tokio::test(start_paused = true)]
async fn an_owner_hears_that_its_session_was_deleted_elsewhere() {
    let store = Arc::new(TestStore::default());
    let ((one, seen), (two, _)) = (replica(&store), replica(&store));
    let session = Session::open(&one, POLLING).await;
    let call = session.tool(1, "forever").await;
    assert_eq!(session.at(&two).delete().await.status, 204);
    assert_eq!(session.at(&two).tool(2, "hello").await.status, 404);
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!((session.tool(3, "hello").await.status.as_u16(), one.session_count()), (404, 0));
    assert_eq!(seen.dropped(), 1, "its calls are cancelled");
    drop(call);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_idle_here_keeps_its_events() {
    let store = Arc::new(TestStore::default());
    let ((one, _), (two, _)) = (replica(&store), replica(&store));
    let session = Session::open(&one, POLLING).await;
    let mut reply = session.tool(1, "slow").await;
    let prime = reply.body.event().await.unwrap().id.unwrap();
    reply.body.messages().await;
    // Without a URL, others can have it after the time of a lease; it still counts here.
    tokio::time::sleep(Duration::from_secs(25)).await;
    assert_eq!((owner(&store, &session.id).await, one.session_count()), (None, 1));
    let elsewhere = session.at(&two);
    let running = elsewhere.tool(0, "forever").await;
    tokio::time::sleep(Duration::from_secs(31 * 60)).await;
    assert_eq!((one.session_count(), two.session_count()), (0, 1));
    assert_eq!(elsewhere.get(Some(&prime)).await.body.messages().await.len(), 11, "the events are there");
    assert_eq!(elsewhere.tool(2, "hello").await.status, 200, "and the session as well");
    drop(running);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_rests_goes_on_where_it_is_used_next() {
    let store = Arc::new(TestStore::default());
    let (one, _) = replica(&store);
    let one = one.limits(limits(|l| l.sessions = 1));
    let session = Session::open(&one, POLLING).await;
    tokio::time::sleep(Duration::from_secs(25)).await;
    assert_eq!(owner(&store, &session.id).await, None);
    assert_eq!(session.tool(1, "hello").await.status, 200);
    assert_eq!((owner(&store, &session.id).await.is_some(), one.session_count()), (true, 1));
    tokio::time::sleep(Duration::from_secs(25)).await;
    // It gives way to others as if it were here.
    let other = Session::open(&one, POLLING).await;
    assert_eq!((session.tool(2, "hello").await.status.as_u16(), one.session_count()), (404, 1));
    assert_eq!(other.tool(3, "hello").await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_rests_here_is_not_removed_while_another_replica_uses_it() {
    let store = Arc::new(TestStore::default());
    let ((one, _), (two, _)) = (replica(&store), replica(&store));
    let one = one.limits(limits(|l| l.sessions = 1));
    let session = Session::open(&one, POLLING).await;
    tokio::time::sleep(Duration::from_secs(25)).await;
    let session = session.at(&two);
    let running = session.tool(1, "forever").await;
    Session::open(&one, POLLING).await;
    assert_eq!((one.session_count(), session.tool(2, "hello").await.status.as_u16()), (1, 200));
    assert!(owner(&store, &session.id).await.is_some());
    drop(running);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_does_not_wait_for_a_store_that_hangs() {
    let store = Arc::new(TestStore::default());
    let (one, seen) = replica(&store);
    let mut running = Vec::new();
    for _ in 0..100 {
        running.push(Session::open(&one, POLLING).await.tool(1, "forever").await);
    }
    store.break_all(Fault::Hangs);
    let began = tokio::time::Instant::now();
    one.release_sessions().await;
    assert_eq!((one.session_count(), seen.dropped(), began.elapsed().as_secs()), (0, 100, 5));
}

/// A session and its owner.
async fn owned() -> (Arc<TestStore>, Session, Seen) {
    let store = Arc::new(TestStore::default());
    let (one, seen) = replica(&store);
    let session = Session::open(&one, POLLING).await;
    (store, session, seen)
}

#[tokio::test(start_paused = true)]
async fn an_owner_that_wakes_after_a_take_over_writes_nothing() {
    let (store, session, seen) = owned().await;
    let mut reply = session.tool(1, "slow").await;
    let prime = reply.body.event().await.unwrap().id.unwrap();
    reply.body.message().await.unwrap();
    // The other one takes it over; the clock of the first does not tell.
    let (id, other) = (&*session.id, Node::new("other"));
    let now = store.sessions.renew(&[(id.into(), 1)], &owner(&store, id).await.unwrap(), Duration::ZERO).await;
    assert!(now.unwrap().lost.is_empty());
    let Claim::Owned(_, generation) = store.sessions.claim(id, &other, Duration::from_secs(3600)).await.unwrap() else {
        panic!("the lease is over")
    };
    store.events.fence(id, generation).await.unwrap();
    let number = prime[1..].split_once('-').unwrap().0.parse().unwrap();
    let before = store.events.after(id, number, 0).await.unwrap().unwrap().len();
    let rest = reply.body.messages().await;
    assert!(rest.iter().all(|message| message["id"] != 1), "there is no answer: {rest:?}");
    assert_eq!(seen.dropped(), 1, "the call is cancelled");
    assert_eq!(store.events.after(id, number, 0).await.unwrap().unwrap().len(), before, "nothing was added");
    let level = call(2, "logging/setLevel", &json!({ "level": "debug" }));
    assert_eq!(session.post(&level).await.status, 503);
    let (record, owner) = store.sessions.load(id).await.unwrap().unwrap();
    assert_eq!((record.memory, owner), (None, Some(other)), "the session is as it was");
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_is_not_sent() {
    let (store, session, seen) = owned().await;
    store.break_one("renew", Fault::Fails);
    let waiting = tokio::spawn({
        let session = session.at(&session.endpoint);
        async move { session.tool(1, "gate").await }
    });
    tokio::time::sleep(Duration::from_secs(12)).await;
    seen.gate.0.add_permits(1);
    assert_eq!(waiting.await.unwrap().status, 200, "in time");
    let waiting = tokio::spawn({
        let session = session.at(&session.endpoint);
        async move { session.tool(2, "gate").await }
    });
    tokio::time::sleep(Duration::from_millis(1500)).await;
    seen.gate.0.add_permits(1);
    let reply = waiting.await.unwrap();
    assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (503, None));
    let message = reply.json().await;
    assert!(message["error"]["message"].as_str().unwrap().contains("not known"), "{message}");
}

/// A tool whose session is released while it runs.
fn hasty_shutdown() -> (Endpoint, Arc<OnceLock<Endpoint>>) {
    let own: Arc<OnceLock<Endpoint>> = Arc::default();
    let inner = own.clone();
    let release = move || {
        let endpoint = inner.get().unwrap().clone();
        let mut release = Box::pin(async move { endpoint.release_sessions().await });
        assert!(release.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        "released"
    };
    (Endpoint::new(Server::<()>::new("test", "1.0.0").tool(tool("release", release)).build()), own)
}

#[tokio::test]
async fn what_may_have_been_executed_is_not_said_to_be_refused() {
    let (endpoint, own) = hasty_shutdown();
    let endpoint = endpoint.sessions(Arc::new(TestStore::default()));
    own.set(endpoint.clone()).unwrap();
    let session = Session::open(&endpoint, POLLING).await;
    let reply = session.tool(1, "release").await;
    assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (503, None));
    let error = reply.json().await["error"].clone();
    assert!(error["message"].as_str().unwrap().contains("not known") && error.get("data").is_none(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_releases_sessions_when_their_calls_are_done() {
    let store = Arc::new(TestStore::default());
    let ((one, seen), (two, _)) = (replica(&store), replica(&store));
    let (busy, idle) = (Session::open(&one, POLLING).await, Session::open(&one, POLLING).await);
    let mut stream = idle.get(None).await;
    let mut reply = busy.tool(1, "slow").await;
    one.shut_down();
    while stream.body.event().await.is_some() {}
    drop(stream);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(idle.at(&two).tool(1, "hello").await.status, 200, "it can go on at once");
    assert_eq!(busy.at(&two).tool(2, "hello").await.status, 503, "its call still runs");
    assert_eq!(reply.body.messages().await.len(), 11);
    assert_eq!(seen.finished(), 1);
    eventually(|| one.session_count() == 0).await;
    assert_eq!(busy.at(&two).tool(2, "hello").await.status, 200);
}

/// The process may end when this future does.
#[tokio::test(start_paused = true)]
async fn the_end_waits_for_sessions_that_are_being_released() {
    let store = Arc::new(TestStore::default());
    let (one, _) = replica(&store);
    let _session = Session::open(&one, POLLING).await;
    store.break_one("release", Fault::Hangs);
    one.shut_down();
    eventually(|| store.calls("release") == 1).await;
    assert_eq!(one.session_count(), 0);
    let mut end = Box::pin(one.release_sessions());
    assert!(end.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    // Not for longer than the store may take.
    end.await;
}

#[tokio::test(start_paused = true)]
async fn requests_at_once_claim_a_session_once() {
    let store = Arc::new(TestStore::default());
    let ((one, _), (two, _)) = (replica(&store), replica(&store));
    let session = Session::open(&one, POLLING).await.move_to(&two).await;
    let all = tokio::join!(session.tool(1, "hello"), session.tool(2, "hello"), session.tool(3, "hello"));
    assert_eq!([all.0.status, all.1.status, all.2.status].map(|status| status.as_u16()), [200; 3]);
    assert_eq!((store.calls("claim"), store.calls("fence"), two.session_count()), (1, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn the_age_of_a_session_is_that_of_its_first_owner() {
    let store = Arc::new(TestStore::default());
    let ((one, _), (two, _)) = (replica(&store), replica(&store));
    let session = Session::open(&one, POLLING).await.move_to(&two).await;
    let (record, _) = store.sessions.load(&session.id).await.unwrap().unwrap();
    let opened = record.opened - 24 * 60 * 60;
    store.sessions.create(record.opened(opened), &Node::new("gone"), Duration::ZERO).await.unwrap();
    let mut stream = session.get(None).await;
    assert_eq!(stream.status, 200);
    while stream.body.event().await.is_some() {}
    assert_eq!(session.tool(1, "hello").await.status, 404, "it was too old, and was removed");
}

#[tokio::test]
async fn without_a_store_there_are_no_leases() {
    let (endpoint, _) = endpoint();
    let session = Session::open(&endpoint, POLLING).await;
    let mut reply = session.tool(1, "slow").await;
    assert_eq!(reply.body.event().await.unwrap().id.as_deref(), Some("r1-0"));
}

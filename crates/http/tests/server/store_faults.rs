//! Stores that fail, or do not answer in time: operation by operation.

use std::{sync::Arc, time::Duration};

use couplet_core::BoxFuture;
use couplet_http::server::Endpoint;
use serde_json::json;

use crate::{
    log::Log,
    store::{Fault, TestStore},
    support::{POLLING, Reply, Session, alone, call, endpoint, initialize, limits, request, send},
};

const FAULTS: [Fault; 2] = [Fault::Fails, Fault::Hangs];

fn replica(store: &Arc<TestStore>) -> Endpoint {
    // Long enough for several timeouts of the store.
    let limits = limits(|l| l.session_lease = Duration::from_secs(120));
    endpoint().0.sessions(store.clone()).events(store.clone()).limits(limits)
}

/// A session at one replica, another session that was released, the event id of a stream, and another replica.
struct Scene {
    session: Session,
    released: Session,
    prime: String,
    other: Endpoint,
}

impl Scene {
    async fn new(store: &Arc<TestStore>) -> Self {
        let (one, other) = (replica(store), replica(store));
        let released = Session::open(&replica(store), POLLING).await.move_to(&other).await;
        let session = Session::open(&one, POLLING).await;
        let mut reply = session.tool(1, "slow").await;
        let prime = reply.body.event().await.unwrap().id.unwrap();
        reply.body.messages().await;
        Self { session, released, prime, other }
    }
}

type Provoke = for<'a> fn(&'a Scene) -> BoxFuture<'a, Reply>;

/// Each operation, the request that needs it, and its status when the store works.
const OPERATIONS: [(&str, Provoke, u16); 7] = [
    ("create", |scene| Box::pin(send(&scene.other, request("POST", &[], initialize(POLLING).to_string()))), 200),
    ("load", |scene| Box::pin(scene.released.tool(2, "hello")), 200),
    ("claim", |scene| Box::pin(scene.released.tool(2, "hello")), 200),
    ("fence", |scene| Box::pin(scene.released.tool(2, "hello")), 200),
    ("after", |scene| Box::pin(scene.session.get(Some(&scene.prime))), 200),
    ("remember", |scene| Box::pin(set_level(&scene.session)), 200),
    ("remove", |scene| Box::pin(scene.session.delete()), 204),
];

async fn set_level(session: &Session) -> Reply {
    session.post(&call(3, "logging/setLevel", &json!({ "level": "debug" }))).await
}

fn check_busy(reply: &Reply, what: &str) {
    assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (503, Some("1")), "{what}");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_needs_the_store_is_refused_until_the_store_is_back() {
    for fault in FAULTS {
        for (operation, provoke, status) in OPERATIONS {
            let store = Arc::new(TestStore::default());
            let scene = Scene::new(&store).await;
            store.break_one(operation, fault);
            let what = format!("{operation} {fault:?}");
            for _ in 0..2 {
                check_busy(&provoke(&scene).await, &what);
            }
            assert!(store.calls(operation) > 0, "{what}");
            store.mend();
            assert_eq!(provoke(&scene).await.status.as_u16(), status, "{what}: afterwards");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn without_any_store_everything_is_refused_and_nothing_hangs() {
    for fault in FAULTS {
        let store = Arc::new(TestStore::default());
        let scene = Scene::new(&store).await;
        store.break_all(fault);
        for (operation, provoke, _) in OPERATIONS.iter().filter(|(operation, ..)| *operation != "remove") {
            check_busy(&provoke(&scene).await, &format!("{operation} {fault:?}"));
        }
        assert_eq!(scene.session.tool(5, "hello").await.status, 200, "a session that is here needs no store");
        // The stateless revision does not even notice.
        let began = tokio::time::Instant::now();
        let reply = send(&scene.other, alone("tools/call", json!({ "name": "hello" }), &[])).await;
        assert_eq!((reply.status.as_u16(), began.elapsed()), (200, Duration::ZERO));
        store.mend();
        for (operation, provoke, status) in OPERATIONS {
            assert_eq!(provoke(&scene).await.status.as_u16(), status, "{operation} {fault:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn requests_at_once_do_not_wait_for_each_other() {
    let store = Arc::new(TestStore::default());
    let scene = Scene::new(&store).await;
    store.break_one("claim", Fault::Hangs);
    let began = tokio::time::Instant::now();
    let call = |id| scene.released.tool(id, "hello");
    let all = tokio::join!(call(1), call(2), call(3), call(4));
    for reply in [&all.0, &all.1, &all.2, &all.3] {
        check_busy(reply, "each");
    }
    assert_eq!(began.elapsed().as_secs(), 5, "the timeout of one");
}

#[tokio::test(start_paused = true)]
async fn leases_that_cannot_be_renewed_end_and_are_had_again() {
    for fault in FAULTS {
        let store = Arc::new(TestStore::default());
        let (one, seen) = endpoint();
        let one = one.sessions(store.clone()).events(store.clone());
        let session = Session::open(&one, POLLING).await;
        let running = session.tool(1, "forever").await;
        store.break_all(fault);
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(session.tool(2, "hello").await.status, 200, "{fault:?}: the lease is still valid");
        tokio::time::sleep(Duration::from_secs(4)).await;
        assert_eq!((one.session_count(), seen.dropped()), (0, 1), "{fault:?}: before it is over for others");
        check_busy(&session.tool(3, "hello").await, &format!("{fault:?}"));
        store.mend();
        assert_eq!(session.tool(4, "hello").await.status, 200, "{fault:?}");
        drop(running);
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_could_not_be_released_is_free_after_its_lease() {
    for fault in FAULTS {
        let store = Arc::new(TestStore::default());
        let (one, two) = (replica(&store), replica(&store));
        let session = Session::open(&one, POLLING).await;
        store.break_one("release", fault);
        let session = session.move_to(&two).await;
        check_busy(&session.tool(1, "hello").await, &format!("{fault:?}"));
        tokio::time::sleep(Duration::from_secs(121)).await;
        assert_eq!(session.tool(2, "hello").await.status, 200, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn settings_that_could_not_be_stored_are_stored_later() {
    let store = Arc::new(TestStore::default());
    let one = replica(&store);
    let session = Session::open(&one, POLLING).await;
    let running = session.tool(1, "forever").await;
    store.break_one("remember", Fault::Fails);
    check_busy(&set_level(&session).await, "it is not stored");
    store.mend();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let (record, _) = couplet_http::server::SessionStore::load(&store.sessions, &session.id).await.unwrap().unwrap();
    assert!(record.memory.is_some_and(|memory| memory.windows(5).any(|part| part == b"debug")));
    drop(running);
}

/// A store that is full refuses what would store something, and answers the rest in between.
#[tokio::test(start_paused = true)]
async fn an_outage_is_logged_once_however_many_requests_there_are() {
    for fault in FAULTS {
        let store = Arc::new(TestStore::default());
        let scene = Scene::new(&store).await;
        let (log, _guard) = Log::start();
        store.break_one("create", fault);
        for _ in 0..20 {
            let refused = send(&scene.other, request("POST", &[], initialize(POLLING).to_string())).await;
            check_busy(&refused, "create");
            // It is not here: the store is asked, and answers.
            let unknown = request("POST", &[("mcp-session-id", "unknown")], call(1, "ping", &json!({})).to_string());
            assert_eq!(send(&scene.other, unknown).await.status, 404);
        }
        assert_eq!(log.warnings().len(), 1, "{fault:?}: {:?}", log.warnings());
        assert!(log.warnings()[0].contains("the store of sessions is away"), "{:?}", log.warnings());
        store.mend();
        Session::open(&scene.other, POLLING).await;
        assert_eq!(log.warnings().len(), 1, "{:?}", log.warnings());
        assert_eq!(log.text().matches("the store of sessions is back").count(), 1, "{}", log.text());
    }
}

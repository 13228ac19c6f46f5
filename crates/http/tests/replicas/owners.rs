//! The owner of a session is known for a second, and the store is asked when it is another one by then.

use couplet_http::server::SessionStore;

use crate::{
    member::{Member, expire, store},
    support::{POLLING, Session, eventually},
};

#[tokio::test]
async fn the_store_is_not_asked_for_every_request() {
    let store = store();
    let (one, two) = (Member::new(&store).await, Member::new(&store).await);
    let session = Session::open(&one.endpoint, POLLING).await.at(&two.endpoint);
    for id in 0..40 {
        assert_eq!(session.tool(id, "hello").await.status, 200);
    }
    let loads = store.calls("load");
    assert!((1..20).contains(&loads), "{loads} times");
    assert_eq!(one.wire.count(), 40);
}

#[tokio::test]
async fn a_session_that_has_moved_is_found() {
    let store = store();
    let (one, two, three) = (Member::new(&store).await, Member::new(&store).await, Member::new(&store).await);
    let session = Session::open(&one.endpoint, POLLING).await;
    let (second, third) = (session.at(&two.endpoint), session.at(&three.endpoint));
    assert_eq!(second.tool(1, "hello").await.status, 200);
    one.endpoint.shut_down();
    eventually(|| one.endpoint.session_count() == 0).await;
    one.endpoint.release_sessions().await;
    // The store may not know yet that it was released.
    for id in 2..100 {
        if third.tool(id, "hello").await.status == 200 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(three.endpoint.session_count(), 1);
    assert_eq!(second.tool(100, "hello").await.status, 200, "the replica that was the owner says that it is not");
    assert_eq!(second.tool(101, "hello").await.status, 200);
    assert_eq!((three.wire.count(), two.endpoint.session_count()), (2, 0), "and another one is");
}

#[tokio::test]
async fn a_shutdown_does_not_end_before_the_store_knows_of_it() {
    let store = store();
    let one = Member::new(&store).await;
    let session = Session::open(&one.endpoint, POLLING).await;
    one.endpoint.shut_down();
    // The session is out of the table, and not yet released.
    while one.endpoint.session_count() > 0 {
        tokio::task::yield_now().await;
    }
    one.endpoint.release_sessions().await;
    let (_, owner) = store.sessions.load(&session.id).await.unwrap().unwrap();
    assert_eq!(owner, None);
}

/// A request to the client that the owner sends at the end of its shutdown would have no answer.
#[tokio::test]
async fn a_replica_that_drains_hands_over_the_sessions_in_which_nothing_runs() {
    let store = store();
    let (one, two) = (Member::new(&store).await, Member::new(&store).await);
    let (idle, busy) = (Session::open(&one.endpoint, POLLING).await, Session::open(&one.endpoint, POLLING).await);
    let mut stream = idle.get(None).await;
    let running = busy.tool(1, "forever").await;
    one.endpoint.begin_drain();
    assert_eq!(idle.tool(2, "hello").await.status, 200, "requests that arrive here are served");
    assert_eq!((one.endpoint.session_count(), two.endpoint.session_count()), (2, 0));
    assert_eq!(idle.at(&two.endpoint).tool(3, "hello").await.status, 200);
    assert_eq!(busy.at(&two.endpoint).tool(3, "hello").await.status, 200);
    assert_eq!((one.endpoint.session_count(), two.endpoint.session_count()), (1, 1));
    while stream.body.event().await.is_some() {}
    assert_eq!(idle.at(&two.endpoint).get(None).await.status, 200, "the client opens its stream again");
    drop(running);
}

#[tokio::test]
async fn a_session_whose_owner_is_gone_is_taken_over() {
    let store = store();
    let (one, two) = (Member::new(&store).await, Member::new(&store).await);
    let session = Session::open(&one.endpoint, POLLING).await.at(&two.endpoint);
    assert_eq!(session.tool(1, "hello").await.status, 200);
    one.kill().await;
    let busy = session.tool(2, "hello").await;
    assert_eq!((busy.status.as_u16(), two.endpoint.session_count()), (503, 0), "the lease is respected");
    expire(&store, &session.id, 1).await;
    assert_eq!(session.tool(3, "hello").await.status, 200);
    assert_eq!(two.endpoint.session_count(), 1);
}

#[tokio::test]
async fn a_session_that_was_deleted_is_unknown_at_once() {
    let store = store();
    let (one, two) = (Member::new(&store).await, Member::new(&store).await);
    let session = Session::open(&one.endpoint, POLLING).await;
    let other = session.at(&two.endpoint);
    assert_eq!(other.tool(1, "hello").await.status, 200);
    assert_eq!(session.delete().await.status, 204);
    assert_eq!(other.tool(2, "hello").await.status, 404);
    assert_eq!(other.tool(3, "hello").await.status, 404);
}

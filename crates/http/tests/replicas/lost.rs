//! Owners that are gone.

use std::{sync::Arc, time::Duration};

use couplet_http::server::{HttpLimits, Node, Replica, SessionStore};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::mpsc,
};

use crate::{
    member::{KEY, Member, expire, store},
    store::TestStore,
    support::{POLLING, Session, call, eventually},
};

#[tokio::test]
async fn a_session_is_taken_over_when_the_lease_of_a_dead_owner_is_over() {
    let store = store();
    let (one, two) = (Member::new(&store).await, Member::new(&store).await);
    let session = Session::open(&one.endpoint, POLLING).await;
    let mut reply = session.tool(1, "forever").await;
    let prime = reply.body.event().await.unwrap().id.unwrap();
    reply.body.message().await.unwrap();
    drop(reply);
    let session = session.at(&two.endpoint);
    one.kill().await;
    for reply in [session.tool(2, "hello").await, session.get(Some(&prime)).await, session.delete().await] {
        assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (503, Some("1")));
    }
    assert_eq!(two.endpoint.session_count(), 0, "the lease is respected");
    expire(&store, &session.id, 1).await;
    let mut resumed = session.get(Some(&prime)).await;
    let event = resumed.body.event().await.unwrap();
    assert!(String::from_utf8_lossy(&event.data).contains("notifications/progress"), "what was stored is there");
    assert_eq!(resumed.body.event().await, None);
    assert_eq!(
        session.get(event.id.as_deref()).await.status,
        400,
        "there will be no more, and the client need not wait"
    );
    assert_eq!(session.tool(3, "hello").await.status, 200);
    assert_eq!(two.endpoint.session_count(), 1);
}

/// A session whose owner is an earlier process at the address of a replica.
async fn of_earlier(store: &Arc<TestStore>, replica: &Member) -> Session {
    let other = Member::new(store).await;
    let session = Session::open(&other.endpoint, POLLING).await;
    expire(store, &session.id, 1).await;
    let earlier = Node::new("earlier").with_url(&*replica.url);
    store.sessions.claim(&session.id, &earlier, Duration::from_secs(3600)).await.unwrap();
    session
}

#[tokio::test]
async fn a_session_is_taken_over_at_once_when_another_process_has_the_address_of_its_owner() {
    let store = store();
    let (one, two) = (Member::new(&store).await, Member::new(&store).await);
    let session = of_earlier(&store, &one).await.at(&two.endpoint);
    assert_eq!(session.tool(1, "hello").await.status, 200, "the process at that address says that it is another one");
    assert_eq!((two.endpoint.session_count(), one.wire.count()), (1, 1));
    assert_eq!(session.tool(2, "hello").await.status, 200);
    assert_eq!(session.at(&one.endpoint).tool(3, "hello").await.status, 200, "the other one knows the new owner");
    assert_eq!((one.endpoint.session_count(), two.wire.count()), (0, 1));
}

#[tokio::test]
async fn a_process_takes_over_the_sessions_of_an_earlier_one_at_its_address() {
    let store = store();
    let one = Member::new(&store).await;
    let session = of_earlier(&store, &one).await.at(&one.endpoint);
    assert_eq!(session.tool(1, "hello").await.status, 200);
    assert_eq!((one.endpoint.session_count(), one.wire.count()), (1, 0));
}

/// The leases of an earlier process have expired when this one has run for longer: the owner runs at the same time.
#[tokio::test]
async fn sessions_of_a_process_that_has_the_same_url_by_mistake_are_left_to_it() {
    let store = store();
    let limits = HttpLimits::default().session_lease(Duration::ZERO);
    let one = Member::with(&store, |endpoint, url| endpoint.limits(limits).replica(Replica::new(url, KEY).unwrap()));
    let (one, two) = (one.await, Member::new(&store).await);
    let session = of_earlier(&store, &one).await;
    for replica in [&one, &two] {
        assert_eq!(session.at(&replica.endpoint).tool(1, "hello").await.status, 503);
        assert_eq!(replica.endpoint.session_count(), 0);
    }
}

/// A session that a replica owns which reads requests and cuts the connection.
async fn cut(store: &Arc<TestStore>, session: &Session) -> mpsc::Receiver<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let node = Node::new("cut").with_url(format!("http://{}/mcp", listener.local_addr().unwrap()));
    expire(store, &session.id, 1).await;
    store.sessions.claim(&session.id, &node, Duration::from_secs(3600)).await.unwrap();
    let (sender, receiver) = mpsc::channel(16);
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut buffer = vec![0; 65536];
            let length = stream.read(&mut buffer).await.unwrap();
            let _ = sender.send(String::from_utf8_lossy(&buffer[..length]).into_owned()).await;
            let _ = stream.shutdown().await;
        }
    });
    receiver
}

/// What only reads is sent again, here to the session that was released in the meantime.
#[tokio::test]
async fn a_read_whose_connection_is_cut_is_repeated() {
    let store = store();
    let (one, two) = (Member::new(&store).await, Member::new(&store).await);
    let session = Session::open(&one.endpoint, POLLING).await;
    let mut requests = cut(&store, &session).await;
    let session = session.at(&two.endpoint);
    let read = async { session.post(&call(1, "tools/list", &json!({}))).await };
    let release = async {
        let request = requests.recv().await.unwrap();
        expire(&store, &session.id, 2).await;
        request
    };
    let (reply, request) = tokio::join!(read, release);
    assert!(request.contains("tools/list"));
    assert_eq!((reply.status.as_u16(), two.endpoint.session_count()), (200, 1));
}

#[tokio::test]
async fn a_call_whose_connection_is_cut_is_not_sent_again() {
    let store = store();
    let (one, two) = (Member::new(&store).await, Member::new(&store).await);
    let session = Session::open(&one.endpoint, POLLING).await;
    let mut requests = cut(&store, &session).await;
    let session = session.at(&two.endpoint);
    let reply = session.tool(1, "slow").await;
    assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (503, None), "it may have been executed");
    let error = reply.json().await["error"].clone();
    assert!(error["message"].as_str().unwrap().contains("outcome of the request is not known"), "{error}");
    assert_eq!(error.get("data"), None, "so nothing says that it was not");
    assert!(requests.recv().await.unwrap().starts_with("POST /mcp HTTP/1.1\r\n"));
    // What has no effects may be tried again, when the lease is over.
    let reply = session.get(None).await;
    assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (503, Some("1")));
    assert!(requests.recv().await.unwrap().starts_with("GET /mcp HTTP/1.1\r\n"));
    assert!(requests.try_recv().is_err(), "once each");
    assert_eq!((two.seen.finished(), two.seen.dropped(), two.endpoint.session_count()), (0, 0, 0));
}

#[tokio::test]
async fn a_session_moves_when_its_owner_shuts_down() {
    let store = store();
    let (one, two) = (Member::new(&store).await, Member::new(&store).await);
    let session = Session::open(&one.endpoint, POLLING).await.at(&two.endpoint);
    let mut reply = session.tool(1, "slow").await;
    let prime = reply.body.event().await.unwrap().id.unwrap();
    one.endpoint.shut_down();
    let busy = session.tool(2, "hello").await;
    assert_eq!((busy.status.as_u16(), busy.header("retry-after")), (503, Some("1")), "its call still runs");
    let messages = reply.body.messages().await;
    assert_eq!((messages.len(), &messages[10]["id"]), (11, &json!(1)), "and is finished");
    eventually(|| one.endpoint.session_count() == 0).await;
    one.endpoint.release_sessions().await;
    let level = call(3, "logging/setLevel", &json!({ "level": "debug" }));
    let mut moved = session.post(&level).await;
    // The store may not know yet that it was released.
    for _ in 0..100 {
        if moved.status == 200 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        moved = session.post(&level).await;
    }
    assert_eq!((moved.status.as_u16(), two.endpoint.session_count()), (200, 1));
    assert_eq!(session.get(Some(&prime)).await.body.messages().await.len(), 11, "and its events came along");
}

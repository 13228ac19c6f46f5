//! Replicas of one server that share nothing but Redis, without sticky routing.

use std::{sync::Arc, time::Duration};

use couplet_core::ErrorKind;
use couplet_http::server::{Endpoint, Replica, SessionStore};
use couplet_redis::{Redis, RedisBus, RedisEvents, RedisSessions};
use couplet_server::{Server as McpServer, ServerHandle, resource};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
    service::TowerToHyperService,
};
use serde_json::json;
use tokio::{
    net::TcpListener,
    task::{JoinHandle, JoinSet},
};

use crate::{
    server::{KEY, Server},
    support::{POLLING, Seen, Session, alone, call, send, server},
};

/// A replica with a connection of its own.
struct Member {
    endpoint: Endpoint,
    task: JoinHandle<()>,
}

impl Member {
    async fn new(redis: &Redis, handle: ServerHandle) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let replica = Replica::new(format!("http://{}/mcp", listener.local_addr().unwrap()), KEY).unwrap();
        let (sessions, events) = (RedisSessions::new(redis), RedisEvents::new(redis));
        let endpoint = Endpoint::new(handle).sessions(Arc::new(sessions)).events(Arc::new(events)).replica(replica);
        Self { task: tokio::spawn(serve(listener, endpoint.clone())), endpoint }
    }

    /// Ends it as a crash would.
    async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

async fn serve(listener: TcpListener, endpoint: Endpoint) {
    // Dropping the set closes the connections.
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let service = TowerToHyperService::new(endpoint.clone());
        connections.spawn(async move {
            let _ = auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn two_members(redis: impl Fn() -> Redis) -> (Member, Member) {
    let member = async || Member::new(&redis(), server(&Seen::default())).await;
    (member().await, member().await)
}

#[tokio::test]
async fn requests_and_answers_reach_the_owner() {
    let Some(redis) = Server::start().await else { return };
    let (one, two) = two_members(|| redis.redis()).await;
    let session = Session::open(&one.endpoint, POLLING).await;
    for (id, asks, answers) in [(1, &one, &two), (2, &two, &one), (3, &two, &two)] {
        let mut reply = session.at(&asks.endpoint).tool(id, "ask").await;
        let question = reply.body.message().await.unwrap();
        let result = json!({ "action": "accept", "content": { "yes": true } });
        let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": result });
        assert_eq!(session.at(&answers.endpoint).post(&answer).await.status, 202);
        let result = reply.body.message().await.unwrap();
        assert_eq!(result["result"]["content"][0]["text"], "yes: true", "{result}");
    }
    redis.assert_all_expire("couplet:").await;
    assert_eq!(session.at(&two.endpoint).delete().await.status, 204);
    assert_eq!(session.tool(4, "hello").await.status, 404);
    let keys: Vec<String> = redis.command(&["KEYS", "*"]).await;
    assert_eq!(keys, Vec::<String>::new(), "nothing is left");
}

#[tokio::test]
async fn the_session_of_a_dead_owner_is_taken_over_with_its_events() {
    let Some(redis) = Server::start().await else { return };
    let (one, two) = two_members(|| redis.redis()).await;
    let session = Session::open(&one.endpoint, POLLING).await;
    let mut reply = session.tool(1, "forever").await;
    let first = reply.body.event().await.unwrap().id.unwrap();
    reply.body.message().await.unwrap();
    drop(reply);
    let session = session.at(&two.endpoint);
    one.kill().await;
    let refused = session.tool(2, "hello").await;
    assert_eq!((refused.status.as_u16(), refused.header("retry-after")), (503, Some("1")));

    // The end of its lease.
    let store = RedisSessions::new(&redis.redis());
    let (_, owner) = store.load(&session.id).await.unwrap().unwrap();
    store.renew(&[(session.id.as_str().into(), 1)], &owner.unwrap(), Duration::ZERO).await.unwrap();
    let messages = session.get(Some(&first)).await.body.messages().await;
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert_eq!(messages[0]["method"], "notifications/progress");
    assert_eq!(session.tool(3, "hello").await.status, 200);
}

#[tokio::test]
async fn without_redis_a_session_is_unavailable_and_a_stateless_call_works() {
    let Some(redis) = Server::start().await else { return };
    let brief = || redis.builder().timeout(Duration::from_millis(500)).build().unwrap();
    let (one, two) = two_members(brief).await;
    let session = Session::open(&one.endpoint, POLLING).await.at(&two.endpoint);
    redis.signal("STOP");
    let refused = session.tool(1, "hello").await;
    assert_eq!((refused.status.as_u16(), refused.header("retry-after")), (503, Some("1")));
    let reply = send(&two.endpoint, alone("tools/call", json!({ "name": "hello" }), &[])).await;
    assert_eq!(reply.status, 200);
    redis.signal("CONT");
    while let Err(error) = brief().ping().await {
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    }
    assert_eq!(session.tool(2, "hello").await.status, 200);
}

#[tokio::test]
async fn a_change_reaches_subscribers_of_other_replicas() {
    let Some(redis) = Server::start().await else { return };
    let handle = || {
        let server = McpServer::new("test", "1.0.0").resource(resource("test://a", || "text").subscribable());
        server.change_bus(RedisBus::new(&redis.redis())).build()
    };
    let (first, second) = (handle(), handle());
    let one = Member::new(&redis.redis(), first.clone()).await;
    let two = Member::new(&redis.redis(), second).await;
    // Requests start the work in the background.
    Session::open(&one.endpoint, POLLING).await;
    let session = Session::open(&two.endpoint, POLLING).await;
    loop {
        let (_, subscribers): (String, u64) = redis.command(&["PUBSUB", "NUMSUB", "couplet:changes"]).await;
        if subscribers == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let subscribed = session.post(&call(1, "resources/subscribe", &json!({ "uri": "test://a" }))).await;
    assert_eq!(subscribed.status, 200);
    let mut stream = session.get(None).await;
    first.updated("test://a");
    let message = stream.body.message().await.unwrap();
    assert_eq!(message["method"], "notifications/resources/updated", "{message}");
    assert_eq!(message["params"]["uri"], "test://a");
}

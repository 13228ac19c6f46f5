//! Two replicas with a change bus: a change on one reaches the streams of the other.

use std::sync::Arc;

use bytes::Bytes;
use couplet_core::{BoxFuture, BusSubscription, ChangeBus, Error, MemoryBus};
use couplet_http::server::Endpoint;
use couplet_server::{Server, ServerHandle, resource, tool};
use serde_json::json;

use crate::support::{STATELESS, Session, VERSIONS, alone, call, eventually, send};

fn replica(bus: impl ChangeBus) -> ServerHandle {
    Server::new("replica", "1")
        .tool(tool("t", || "t"))
        .resource(resource("test://a", || "text").subscribable())
        .change_bus(bus)
        .build()
}

#[tokio::test(start_paused = true)]
async fn a_change_on_one_replica_reaches_the_streams_of_the_other() {
    let bus = MemoryBus::new();
    let (here, there) = (replica(bus.clone()), replica(bus));
    let (_publisher, endpoint) = (Endpoint::new(here.clone()), Endpoint::new(there));
    // Both have subscribed.
    tokio::task::yield_now().await;
    for version in VERSIONS {
        let session = Session::open(&endpoint, version).await;
        session.post(&call(1, "resources/subscribe", &json!({ "uri": "test://a" }))).await;
        let mut stream = session.get(None).await;
        here.updated("test://a");
        let message = stream.body.message().await.unwrap();
        assert_eq!(message["method"], "notifications/resources/updated", "{version}: {message}");
    }
    let filter = json!({ "notifications": { "resourceSubscriptions": ["test://a"] } });
    let mut stream = send(&endpoint, alone("subscriptions/listen", filter, &[])).await;
    stream.body.message().await.unwrap();
    here.updated("test://a");
    let message = stream.body.message().await.unwrap();
    assert_eq!(message["method"], "notifications/resources/updated", "{STATELESS}: {message}");
}

/// A bus that knows how many subscriptions there are.
#[derive(Clone, Default)]
struct Counted(MemoryBus, Arc<()>);

struct CountedSubscription(Box<dyn BusSubscription>, #[allow(dead_code, reason = "it is counted")] Arc<()>);

impl ChangeBus for Counted {
    fn publish(&self, message: Bytes) -> BoxFuture<'_, Result<(), Error>> {
        self.0.publish(message)
    }

    fn subscribe(&self) -> BoxFuture<'_, Result<Box<dyn BusSubscription>, Error>> {
        Box::pin(async {
            let subscription = CountedSubscription(self.0.subscribe().await?, self.1.clone());
            Ok(Box::new(subscription) as Box<dyn BusSubscription>)
        })
    }
}

impl BusSubscription for CountedSubscription {
    fn next(&mut self) -> BoxFuture<'_, Result<Bytes, Error>> {
        self.0.next()
    }
}

#[tokio::test(start_paused = true)]
async fn the_subscription_ends_with_the_endpoint() {
    let bus = Counted::default();
    let server = replica(bus.clone());
    // One for the bus here, one for that of the server.
    let others = Arc::strong_count(&bus.1);
    let endpoint = Endpoint::new(server.clone());
    eventually(|| Arc::strong_count(&bus.1) == others + 1).await;
    let clone = endpoint.clone();
    drop(endpoint);
    tokio::task::yield_now().await;
    assert_eq!(Arc::strong_count(&bus.1), others + 1, "a clone is the same endpoint");
    drop(clone);
    eventually(|| Arc::strong_count(&bus.1) == others).await;
}

#[test]
fn an_endpoint_made_outside_of_a_runtime_subscribes_with_its_first_stream() {
    let bus = Counted::default();
    let endpoint = Endpoint::new(replica(bus.clone()));
    let others = Arc::strong_count(&bus.1);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        Session::open(&endpoint, VERSIONS[1]).await;
        eventually(|| Arc::strong_count(&bus.1) == others + 1).await;
    });
}

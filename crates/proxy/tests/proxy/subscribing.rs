//! Subscriptions are acknowledged when the server behind the proxy has acknowledged them.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use couplet_client::{Client, Filter};
use couplet_core::{
    BoxFuture, Call, Change, ClientNotification, Connect, Connected, Description, Error, Hub, Inbound, Limits, Project,
    Refusals, Reply, Revision, Service,
};
use couplet_proxy::Proxy;
use couplet_server::{Ctx, Server, ServerHandle, resource, tool};
use couplet_types::{ProtocolVersion, RpcError};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::kit::{SESSIONS, STATELESS};

/// A server that acknowledges subscriptions once it is told to, and none to some resources.
#[derive(Clone)]
struct Slow {
    server: ServerHandle,
    acknowledges: Arc<watch::Sender<bool>>,
    refuses: Arc<watch::Sender<bool>>,
}

impl Slow {
    fn new(version: ProtocolVersion) -> Self {
        let server = Server::new("slow", "1").versions([version]);
        let server = ["slow://one", "slow://two", "slow://refused"]
            .into_iter()
            .fold(server, |server, uri| server.resource(resource(uri, move || uri).subscribable()));
        Self {
            server: server.build(),
            acknowledges: Arc::new(watch::Sender::new(false)),
            refuses: Arc::new(watch::Sender::new(true)),
        }
    }

    fn acknowledge(&self) {
        self.acknowledges.send_replace(true);
    }
}

impl Service for Slow {
    fn describe(&self) -> Arc<Description> {
        self.server.describe()
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        self.server.call(call)
    }

    fn hub(&self) -> &Hub {
        self.server.hub()
    }

    fn notified(&self, note: ClientNotification) {
        self.server.notified(note);
    }

    fn subscribing(&self, uris: &BTreeSet<String>) -> Option<BoxFuture<'static, Refusals>> {
        let (mut acknowledges, refuses) = (self.acknowledges.subscribe(), *self.refuses.borrow());
        let refused = uris.iter().filter(|uri| refuses && uri.contains("refused")).cloned();
        let refused: Refusals = refused.map(|uri| (uri, RpcError::invalid_params("not this one"))).collect();
        Some(Box::pin(async move {
            let _ = acknowledges.wait_for(|is| *is).await;
            refused
        }))
    }
}

/// The server as a target.
struct Target(Slow);

impl Connect for Target {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        let mut service: Arc<dyn Service> = Arc::new(self.0.clone());
        Box::pin(async move { service.connect(inbound, limits).await })
    }
}

async fn connect(slow: &Slow, wait: Duration, near: ProtocolVersion) -> (Proxy, Client) {
    let builder = Proxy::builder(Client::new("proxy", "1").timeout(None)).wait_timeout(wait);
    let proxy = builder.connect(Target(slow.clone())).await.unwrap();
    let client = Client::new("near", "1").versions([near]).timeout(None).connect(proxy.service()).await.unwrap();
    (proxy, client)
}

fn pairs() -> impl Iterator<Item = (ProtocolVersion, ProtocolVersion)> {
    [SESSIONS, STATELESS].into_iter().flat_map(|near| [SESSIONS, STATELESS].map(|far| (near, far)))
}

#[tokio::test(start_paused = true)]
async fn a_subscription_is_acknowledged_after_the_server_has_acknowledged_it() {
    for (near, far) in pairs() {
        let slow = Slow::new(far);
        let (_proxy, client) = connect(&slow, Duration::from_secs(60), near).await;
        let listening = tokio::spawn({
            let client = client.clone();
            async move { client.listen(Filter::new().resource("slow://one")).await }
        });
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert!(!listening.is_finished(), "{near} to {far}: the server has not acknowledged");
        slow.acknowledge();
        let mut changes = listening.await.unwrap().unwrap();
        // The first change after the acknowledgement is not missed.
        slow.hub().send(Change::Updated("slow://one".into()));
        assert_eq!(changes.next().await, Some(Change::Updated("slow://one".into())), "{near} to {far}");
        // A further one of another client, which does not disturb the first.
        let mut more = client.listen(Filter::new().resource("slow://two")).await.unwrap();
        for uri in ["slow://one", "slow://two"] {
            slow.hub().send(Change::Updated(uri.into()));
        }
        assert_eq!(changes.next().await, Some(Change::Updated("slow://one".into())), "{near} to {far}");
        assert_eq!(more.next().await, Some(Change::Updated("slow://two".into())), "{near} to {far}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_the_server_is_an_error() {
    for (near, far) in pairs() {
        let slow = Slow::new(far);
        slow.acknowledge();
        let (_proxy, client) = connect(&slow, Duration::from_secs(60), near).await;
        let mut changes = client.listen(Filter::new().resource("slow://one")).await.unwrap();
        for _ in 0..2 {
            let refused = client.listen(Filter::new().resource("slow://refused")).await;
            let error = refused.map(drop).unwrap_err().to_string();
            assert!(error.contains("not this one") || error.contains("slow://refused"), "{near} to {far}: {error}");
        }
        // The other subscription is still open.
        slow.hub().send(Change::Updated("slow://one".into()));
        assert_eq!(changes.next().await, Some(Change::Updated("slow://one".into())), "{near} to {far}");
        // The server may decide otherwise later.
        slow.refuses.send_replace(false);
        let mut later = client.listen(Filter::new().resource("slow://refused")).await.unwrap();
        slow.hub().send(Change::Updated("slow://refused".into()));
        assert_eq!(later.next().await, Some(Change::Updated("slow://refused".into())), "{near} to {far}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_acknowledges_is_not_waited_for() {
    for (near, far) in pairs() {
        let slow = Slow::new(far);
        let (_proxy, client) = connect(&slow, Duration::from_secs(10), near).await;
        let error = client.listen(Filter::new().resource("slow://one")).await.map(drop).unwrap_err().to_string();
        assert!(error.contains("has not confirmed the subscription within 10s"), "{near} to {far}: {error}");
    }
}

/// Changes its resource, and notifies the session of the call alone, as servers of some SDKs do.
async fn touch(ctx: Ctx) -> &'static str {
    let updated = json!({ "uri": "one://file" });
    ctx.call().outbox.lasting().notify("notifications/resources/updated", Updated(updated)).await;
    "touched"
}

#[derive(Serialize)]
struct Updated(Value);

impl Project for Updated {
    fn project(&mut self, _: Revision) {}
}

/// A server with sessions may notify only the session in which something changed: each session hears of its own.
#[tokio::test]
async fn an_update_in_one_session_reaches_its_subscribers() {
    let server = Server::new("far", "1").versions([SESSIONS]).tool(tool("touch", touch));
    let server = server.resource(resource("one://file", || "content").subscribable()).build();
    let proxy = Proxy::connect(Client::new("proxy", "1"), server).await.unwrap();
    // The first one has the connection on which the proxy subscribes.
    let mut clients = Vec::new();
    for _ in 0..2 {
        let client = Client::new("listener", "1").versions([SESSIONS]).connect(proxy.service()).await.unwrap();
        let mut changes = client.listen(Filter::new().resource("one://file")).await.unwrap();
        assert_eq!(client.call("touch", ()).await.unwrap().text(), "touched");
        let change = tokio::time::timeout(Duration::from_secs(20), changes.next()).await.expect("it is notified");
        assert!(matches!(change, Some(couplet_client::Change::Updated(uri)) if uri == "one://file"));
        clients.push(client);
    }
}

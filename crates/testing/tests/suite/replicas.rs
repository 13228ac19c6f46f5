//! Several replicas of one server: a change on one reaches the clients of all.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use bytes::Bytes;
use couplet::{
    client::{Change, Client, Filter},
    core::{BoxFuture, BusSubscription, ChangeBus, Error, ErrorKind, MemoryBus, Service},
    server::{Server, ServerHandle, prompt, resource, tool},
    types::ProtocolVersion,
};

const URI: &str = "clock://now";

fn replica(bus: impl ChangeBus) -> ServerHandle {
    Server::new("replica", "1")
        .tool(tool("t", || "t"))
        .prompt(prompt("p", || "p"))
        .resource(resource(URI, || "noon").subscribable())
        .change_bus(bus)
        .build()
}

async fn client(server: ServerHandle, version: ProtocolVersion) -> Client {
    couplet_testing::connect(server, version).await.expect("it connects")
}

fn all() -> Filter {
    Filter::new().tools().prompts().resources().resource(URI)
}

fn everything() -> Vec<Change> {
    vec![Change::Tools, Change::Prompts, Change::Resources, Change::Updated(URI.into())]
}

/// The next changes of a subscription, in any order.
async fn next(changes: &mut couplet::client::Changes, number: usize) -> Vec<Change> {
    let mut all = Vec::new();
    while all.len() < number {
        all.push(changes.next().await.expect("the subscription goes on"));
    }
    all.sort();
    all
}

#[tokio::test]
async fn a_change_on_one_replica_reaches_the_clients_of_the_other() {
    for &version in ProtocolVersion::ALL {
        let bus = MemoryBus::new();
        let (here, there) = (replica(bus.clone()), replica(bus));
        let (near, far) = (client(here.clone(), version).await, client(there.clone(), version).await);
        let mut near = near.listen(all()).await.unwrap();
        let mut far = far.listen(all()).await.unwrap();
        here.remove_tool("t");
        here.remove_prompt("p");
        here.add_resource(resource("clock://zone", || "UTC")).unwrap();
        here.updated(URI);
        assert_eq!(next(&mut far, 4).await, everything(), "{version}");
        assert_eq!(next(&mut near, 4).await, everything(), "{version}");
        // A replica ignores its own echo: the next change is the one of the other replica.
        there.remove_tool("t");
        assert_eq!(next(&mut near, 1).await, [Change::Tools], "{version}");
        there.updated(URI);
        assert_eq!(next(&mut near, 1).await, [Change::Updated(URI.into())], "{version}");
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_lost_subscription_everything_may_have_changed() {
    for &version in ProtocolVersion::ALL {
        let bus = MemoryBus::new();
        let (here, there) = (replica(bus.clone()), replica(bus.clone()));
        let client = client(there, version).await;
        let mut changes = client.listen(all()).await.unwrap();
        bus.disconnect();
        assert_eq!(next(&mut changes, 4).await, everything(), "{version}");
        // The new subscription works.
        let sender = couplet_testing::connect(here.clone(), version).await.unwrap();
        here.updated(URI);
        assert_eq!(next(&mut changes, 1).await, [Change::Updated(URI.into())], "{version}");
        sender.close().await.unwrap();
    }
}

/// A bus that can be switched off: publishing then fails, or never ends.
#[derive(Clone, Default)]
struct Switch {
    bus: MemoryBus,
    off: Arc<AtomicBool>,
    attempts: Arc<AtomicUsize>,
    hangs: bool,
}

impl ChangeBus for Switch {
    fn publish(&self, message: Bytes) -> BoxFuture<'_, Result<(), Error>> {
        self.attempts.fetch_add(1, Ordering::SeqCst);
        match (self.off.load(Ordering::SeqCst), self.hangs) {
            (true, true) => Box::pin(std::future::pending()),
            (true, false) => Box::pin(async { Err(Error::new(ErrorKind::Transport, "switched off")) }),
            (false, _) => self.bus.publish(message),
        }
    }

    fn subscribe(&self) -> BoxFuture<'_, Result<Box<dyn BusSubscription>, Error>> {
        if self.off.load(Ordering::SeqCst) {
            return Box::pin(async { Err(Error::new(ErrorKind::Transport, "switched off")) });
        }
        self.bus.subscribe()
    }
}

/// Neither blocks the server, nor loses a change for good.
/// A number that a replica reports.
fn number(server: &ServerHandle, name: &str) -> u64 {
    let metrics = server.metrics();
    metrics.iter().find(|metric| metric.name == name).unwrap_or_else(|| panic!("no `{name}` in {metrics:?}")).value
}

async fn check_outage(version: ProtocolVersion, hangs: bool) {
    let bus = Switch { hangs, ..Switch::default() };
    let (here, there) = (replica(bus.clone()), replica(bus.clone()));
    let (near, far) = (client(here.clone(), version).await, client(there, version).await);
    let mut local = near.listen(all()).await.expect("a subscription");
    let mut changes = far.listen(all()).await.expect("a subscription");
    bus.off.store(true, Ordering::SeqCst);
    for number in 0..10_000 {
        here.updated(format!("clock://{number}"));
    }
    here.remove_tool("t");
    assert_eq!(next(&mut local, 1).await, [Change::Tools], "local clients are notified meanwhile: {version}");
    // Several attempts, which fail.
    while bus.attempts.load(Ordering::SeqCst) < 3 {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    }
    // Everything, and nothing of it twice.
    assert_eq!(number(&here, "couplet_unpublished_changes"), 1, "{version}");
    assert!(number(&here, "couplet_store_errors_total") >= 2, "{version}");
    bus.off.store(false, Ordering::SeqCst);
    assert_eq!(next(&mut changes, 4).await, everything(), "there were too many changes to name: {version}");
}

#[tokio::test(start_paused = true)]
async fn a_bus_that_fails_or_hangs_blocks_nothing() {
    for &version in ProtocolVersion::ALL {
        check_outage(version, false).await;
        check_outage(version, true).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_bus_that_cannot_be_reached_at_first_is_subscribed_to_later() {
    for &version in ProtocolVersion::ALL {
        let bus = Switch::default();
        bus.off.store(true, Ordering::SeqCst);
        let client = client(replica(bus.clone()), version).await;
        let mut changes = client.listen(all()).await.unwrap();
        bus.off.store(false, Ordering::SeqCst);
        assert_eq!(next(&mut changes, 4).await, everything(), "{version}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_of_several_connections_runs_the_bridge() {
    for &version in ProtocolVersion::ALL {
        let bus = MemoryBus::new();
        let (here, there) = (replica(bus.clone()), replica(bus));
        let (first, second) = (client(there.clone(), version).await, client(there.clone(), version).await);
        let _sender = client(here.clone(), version).await;
        let mut changes = second.listen(all()).await.unwrap();
        here.updated(URI);
        assert_eq!(next(&mut changes, 1).await, [Change::Updated(URI.into())], "{version}");
        // The one that ran it ends; in between, changes may have been lost.
        first.close().await.unwrap();
        assert_eq!(next(&mut changes, 4).await, everything(), "{version}");
        here.updated(URI);
        assert_eq!(next(&mut changes, 1).await, [Change::Updated(URI.into())], "{version}");
    }
}

#[tokio::test]
async fn changes_of_a_mounted_server_reach_the_other_replica_once() {
    for &version in ProtocolVersion::ALL {
        let bus = MemoryBus::new();
        // The mounted servers share the bus, and not those around them.
        let (inner, other) = (replica(bus.clone()), replica(bus));
        let outer = |inner: &ServerHandle| Server::<()>::new("outer", "1").mount("m", inner.clone()).build();
        let (near, far) = (client(outer(&inner), version).await, client(outer(&other), version).await);
        let filter = || Filter::new().tools().resource("clock://m/now");
        let (mut near, mut far) = (near.listen(filter()).await.unwrap(), far.listen(filter()).await.unwrap());
        inner.updated(URI);
        assert_eq!(next(&mut near, 1).await, [Change::Updated("clock://m/now".into())], "{version}");
        assert_eq!(next(&mut far, 1).await, [Change::Updated("clock://m/now".into())], "{version}");
        other.remove_tool("t");
        assert_eq!(next(&mut near, 1).await, [Change::Tools], "{version}");
        assert_eq!(next(&mut far, 1).await, [Change::Tools], "{version}");
    }
}

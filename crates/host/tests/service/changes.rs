//! Changes of lists and resources.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_client::{Change, Filter};
use couplet_core::{BoxFuture, Connect, Connected, Error, Inbound, Limits, Service};
use couplet_host::{
    Host,
    upstream::{State, UpstreamOptions},
};
use couplet_server::{Server, resource, tool};
use couplet_types::ProtocolVersion;

use crate::kit::{SESSIONS, STATELESS, able, connect, entry, in_all_pairs, in_time, server, size, within};

/// A new tool of one server is announced once, and is there.
#[tokio::test]
async fn a_new_tool_appears() {
    in_all_pairs(|near, far| async move {
        let files = server("files", far).build();
        let host = Host::builder().server("files", files.clone()).server("mail", server("mail", far).build()).build();
        let client = connect(able(near).0, host.service()).await;
        assert_eq!(client.tools().await.unwrap().len(), 12);
        let mut changes = client.listen(Filter::new().tools()).await.unwrap();
        files.add_tool(tool("new", || "new")).unwrap();
        assert_eq!(changes.next().await, Some(Change::Tools));
        assert!(client.tools().await.unwrap().iter().any(|tool| tool.name == "files__new"));
        assert_eq!(client.call("files__new", ()).await.unwrap().text(), "new");
    })
    .await;
}

/// Exactly the subscribers of a resource get an update, and one for many changes at once.
#[tokio::test]
async fn updates_reach_their_subscribers_only() {
    const CLIENTS: usize = 40;
    const URIS: usize = 10;
    for (near, far) in [(SESSIONS, SESSIONS), (SESSIONS, STATELESS), (STATELESS, SESSIONS), (STATELESS, STATELESS)] {
        in_time(format_args!("{near} to {far}"), async {
            let server = |name: &'static str| {
                let add = |server: Server, at| {
                    server.resource(resource(format!("{name}://{at}"), move || format!("{at}")).subscribable())
                };
                (0..URIS).fold(Server::new(name, "1").versions([far]), add).build()
            };
            let (one, two) = (server("one"), server("two"));
            let host = Host::builder().server("one", one.clone()).server("two", two.clone()).build();
            let mut subscribers = Vec::new();
            for at in 0..CLIENTS {
                let client = connect(able(near).0, host.service()).await;
                if at == 0 {
                    client.resources().await.unwrap();
                }
                let (a, b) = (format!("one://{}", at % URIS), format!("two://{}", (at + 1) % URIS));
                let changes = client.listen(Filter::new().resource(&a).resource(&b)).await.unwrap();
                subscribers.push((client, changes, [a, b]));
            }
            let all: BTreeSet<_> = subscribers.iter().flat_map(|(.., uris)| uris.clone()).collect();
            let interest = || {
                let mut interest = one.hub().interest().uris;
                interest.extend(two.hub().interest().uris);
                interest
            };
            while interest() != all {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            for _ in 0..100 {
                one.hub().send(Change::Updated("one://3".into()));
            }
            for (_, changes, uris) in &mut subscribers {
                let is_subscribed = uris.contains(&"one://3".to_owned());
                if is_subscribed {
                    assert_eq!(changes.next().await, Some(Change::Updated("one://3".into())));
                }
            }
            // A later change of everything shows that nothing else was on its way.
            two.hub().send(Change::Updated("two://4".into()));
            for (_, changes, uris) in &mut subscribers {
                if uris.contains(&"two://4".to_owned()) {
                    let mut change = changes.next().await;
                    // A burst may be delivered in parts.
                    while change == Some(Change::Updated("one://3".into())) {
                        change = changes.next().await;
                    }
                    assert_eq!(change, Some(Change::Updated("two://4".into())));
                }
            }
        })
        .await;
    }
}

/// The variable with the number of listeners. There are a tenth as many resources.
const LISTENERS: &str = "COUPLET_LISTENERS";

/// Exactly the subscribers get an update, once; a restart of the server is not noticed by any of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acceptance_12_many_subscribers_and_a_restart() {
    let clients = size(LISTENERS, 200);
    // Of each server.
    let count = clients / 20;
    let mut updates = 0;
    for (near, far) in [(SESSIONS, SESSIONS), (SESSIONS, STATELESS), (STATELESS, SESSIONS), (STATELESS, STATELESS)] {
        within(60 + clients as u64 / 10, format_args!("{near} to {far}"), async {
            let server = |name: &'static str| {
                let add = |server: Server, at| {
                    server.resource(resource(format!("{name}://{at}"), move || format!("{at}")).subscribable())
                };
                (0..count).fold(Server::new(name, "1").versions([far]), add).build()
            };
            let (one, two) = (server("one"), server("two"));
            let (connected, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let target = Counted { service: Arc::new(one.clone()), connected: connected.clone(), ended: ended.clone() };
            let host = Host::builder().server("one", target).server("two", two.clone()).build();
            let mut subscribers = Vec::new();
            for at in 0..clients {
                let client = connect(able(near).0, host.service()).await;
                if at == 0 {
                    assert_eq!(client.resources().await.unwrap().len(), 2 * count);
                }
                let uris = [format!("one://{}", at % count), format!("two://{}", (at + 1) % count)];
                let changes = client.listen(Filter::new().resource(&uris[0]).resource(&uris[1])).await.unwrap();
                subscribers.push((client, changes, uris));
            }
            let all = |name: &str| (0..count).map(|at| format!("{name}://{at}")).collect::<BTreeSet<_>>();
            let until_subscribed = async || {
                while one.hub().interest().uris != all("one") || two.hub().interest().uris != all("two") {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            let update_all = |hub: &couplet_core::Hub, name: &str| {
                all(name).into_iter().for_each(|uri| hub.send(Change::Updated(uri)));
            };
            until_subscribed().await;
            for round in 0..2 {
                update_all(one.hub(), "one");
                for (_, changes, uris) in &mut subscribers {
                    assert_eq!(changes.next().await, Some(Change::Updated(uris[0].clone())), "round {round}");
                }
                // The next one is that of the other server: there was one each, and none of another subscriber.
                update_all(two.hub(), "two");
                for (_, changes, uris) in &mut subscribers {
                    assert_eq!(changes.next().await, Some(Change::Updated(uris[1].clone())), "round {round}");
                }
                updates += 2 * clients;
                if round == 0 {
                    let before = connected.load(Ordering::SeqCst);
                    host.upstreams()[0].restart();
                    // The server is the same one in this process: what it sends to a connection that ends is lost.
                    while ended.load(Ordering::SeqCst) < before
                        || connected.load(Ordering::SeqCst) == before
                        || host.upstreams()[0].running().is_none()
                    {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                    until_subscribed().await;
                }
            }
            // A storm is one update for those that did not read meanwhile, and is over when it is over.
            for _ in 0..10_000 {
                one.hub().send(Change::Updated("one://7".into()));
            }
            update_all(two.hub(), "two");
            for (_, changes, uris) in &mut subscribers {
                let mut storm = 0;
                loop {
                    match changes.next().await {
                        Some(Change::Updated(uri)) if uri == uris[1] => break,
                        Some(Change::Updated(uri)) if uri == uris[0] && uri == "one://7" => storm += 1,
                        other => panic!("{other:?} for {uris:?}"),
                    }
                }
                assert!(storm <= 100, "a storm of 10000 became {storm}");
                assert_eq!(storm > 0, uris[0] == "one://7");
                updates += 1 + storm;
            }
        })
        .await;
    }
    println!(
        "acceptance 12: {clients} listeners, {} resources, 4 pairs of eras: {updates} updates, each where it belongs",
        2 * count
    );
}

/// A server in this process that counts its connections, and those that have ended.
struct Counted {
    service: Arc<dyn Service>,
    connected: Arc<AtomicUsize>,
    ended: Arc<AtomicUsize>,
}

/// Counts its end.
struct CountedEnd(Arc<AtomicUsize>);

impl Drop for CountedEnd {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Connect for Counted {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        self.connected.fetch_add(1, Ordering::SeqCst);
        let (connecting, end) = (self.service.connect(inbound, limits), CountedEnd(self.ended.clone()));
        Box::pin(async move {
            let Connected { channel, driver } = connecting.await?;
            let driver = async move {
                let _end = end;
                driver.await
            };
            Ok(Connected { channel, driver: Box::pin(driver) })
        })
    }
}

/// A server that stops when it is idle runs while a client is subscribed to one of its resources.
#[tokio::test(start_paused = true)]
async fn a_server_with_subscribers_is_not_stopped() {
    for far in [SESSIONS, STATELESS] {
        let mut options = UpstreamOptions::default();
        options.idle_stop = Some(Duration::from_secs(5));
        let entry = entry("files", server("files", far)).options(options);
        let host = Host::builder().add(entry).build();
        let client = connect(able(STATELESS).0, host.service()).await;
        client.resources().await.unwrap();
        let state = || host.status()[0].upstream.state;
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(state(), State::Configured, "{far}: it is idle");
        let changes = client.listen(Filter::new().resource("files://one")).await.unwrap();
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(state(), State::Ready, "{far}: it is subscribed to");
        drop(changes);
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(state(), State::Configured, "{far}: it is idle again");
    }
}

/// Subscriptions survive a restart of the server.
#[tokio::test]
async fn subscriptions_survive_a_restart() {
    for far in [SESSIONS, STATELESS] {
        in_time(far, async {
            let files = server("files", far).build();
            let connected = Arc::new(AtomicUsize::new(0));
            let target =
                Counted { service: Arc::new(files.clone()), connected: connected.clone(), ended: Arc::default() };
            let host = Host::builder().server("files", target).build();
            let client = connect(able(ProtocolVersion::V2025_11_25).0, host.service()).await;
            client.resources().await.unwrap();
            let mut changes = client.listen(Filter::new().resource("files://one")).await.unwrap();
            let is_subscribed = || files.hub().interest().uris.contains("files://one");
            while !is_subscribed() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            let before = connected.load(Ordering::SeqCst);
            host.upstreams()[0].restart();
            while connected.load(Ordering::SeqCst) == before || host.upstreams()[0].running().is_none() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            // The new connection subscribes a moment later than it opens.
            let update = Change::Updated("files://one".into());
            loop {
                files.hub().send(update.clone());
                if let Ok(change) = tokio::time::timeout(Duration::from_millis(20), changes.next()).await {
                    break assert_eq!(change, Some(update));
                }
            }
        })
        .await;
    }
}

/// Stateless callers share the connection that the lists come from, and a session has it as well while it is alone.
#[tokio::test]
async fn the_first_caller_uses_the_connection_of_the_lists() {
    for near in [SESSIONS, STATELESS] {
        in_time(near, async {
            let files = server("files", SESSIONS).build();
            let connected = Arc::new(AtomicUsize::new(0));
            let target =
                Counted { service: Arc::new(files.clone()), connected: connected.clone(), ended: Arc::default() };
            let host = Host::builder().server("files", target).build();
            let client = connect(able(near).0, host.service()).await;
            client.tools().await.unwrap();
            for _ in 0..3 {
                client.call("files__who", ()).await.unwrap();
                client.call("files__sure", ()).await.unwrap();
                client.read("files://one").await.unwrap();
            }
            assert_eq!(connected.load(Ordering::SeqCst), 1);
        })
        .await;
    }
}

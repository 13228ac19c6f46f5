//! A configuration that is replaced while clients are connected.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_client::{Change, Filter};
use couplet_core::Service;
use couplet_host::{Host, HostBuilder, Profile, Server as Entry, pins::Digest};
use couplet_server::{Server, tool};
use tokio::sync::Semaphore;

use crate::kit::{STATELESS, able, connect, id, in_all_pairs, in_time, server};

fn launched(key: &str, target: Arc<dyn Service>, launch: &str) -> Entry {
    Entry::new(id(key), target).launch(Digest::of(launch))
}

#[tokio::test]
async fn unchanged_servers_stay_and_clients_are_notified_once() {
    in_all_pairs(|near, far| async move {
        let files: Arc<dyn Service> = Arc::new(server("files", far).build());
        let mail: Arc<dyn Service> = Arc::new(server("mail", far).build());
        let config = |servers: Vec<Entry>| servers.into_iter().fold(Host::builder(), HostBuilder::add);
        let host = config(vec![launched("files", files.clone(), "1")]).build();
        let client = connect(able(near).0, host.service()).await;
        assert_eq!(client.tools().await.unwrap().len(), 6);
        let mut changes = client.listen(Filter::new().tools()).await.unwrap();
        let before = host.upstreams()[0].clone();

        host.replace(config(vec![launched("files", files.clone(), "1"), launched("mail", mail.clone(), "1")])).await;
        assert_eq!(client.tools().await.unwrap().len(), 12);
        assert_eq!(changes.next().await, Some(Change::Tools));
        assert_eq!(client.call("mail__who", ()).await.unwrap().text(), "mail");
        assert_eq!(before.status().restarts, host.upstreams()[0].status().restarts);
        assert!(before.running().is_some(), "the unchanged server was not stopped");

        // The same configuration again changes nothing, and the view without `mail` is announced.
        host.replace(config(vec![launched("files", files.clone(), "1"), launched("mail", mail.clone(), "1")])).await;
        host.replace(config(vec![launched("files", files.clone(), "1")])).await;
        assert_eq!(changes.next().await, Some(Change::Tools));
        assert_eq!(client.tools().await.unwrap().len(), 6);
        assert!(client.call("mail__who", ()).await.is_err());
    })
    .await;
}

/// A server that is replaced by another one is announced once, not once for its end and once for its start.
#[tokio::test]
async fn a_replaced_server_is_announced_once() {
    for far in [crate::kit::SESSIONS, STATELESS] {
        in_time(far, async {
            let server = |tool_name: &'static str| -> Arc<dyn Service> {
                Arc::new(Server::new("s", "1").versions([far]).tool(tool(tool_name, || "x")).build())
            };
            let config = |tool_name, launch| Host::builder().add(launched("s", server(tool_name), launch));
            let host = config("one", "1").build();
            host.ready(Duration::from_secs(10)).await;
            let changes = host.service().hub().subscribe(Filter::new().tools());
            let count = Arc::new(AtomicUsize::new(0));
            let seen = count.clone();
            let counting = tokio::spawn(async move {
                loop {
                    seen.fetch_add(usize::from(changes.take().is_some()), Ordering::SeqCst);
                    tokio::task::yield_now().await;
                }
            });
            for (at, name) in ["two", "three", "four"].into_iter().enumerate() {
                host.replace(config(name, name)).await;
                let tools = host.tools().await.unwrap();
                assert_eq!(tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), [format!("s__{name}")]);
                for _ in 0..100 {
                    tokio::task::yield_now().await;
                }
                assert_eq!(count.load(Ordering::SeqCst), at + 1, "{name}");
            }
            counting.abort();
        })
        .await;
    }
}

#[tokio::test]
async fn a_call_in_flight_ends_at_the_old_server() {
    for far in [crate::kit::SESSIONS, STATELESS] {
        in_time(far, async {
            let (gate, begun) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
            let (open, count) = (gate.clone(), begun.clone());
            let slow = move || {
                let (open, count) = (open.clone(), count.clone());
                async move {
                    count.fetch_add(1, Ordering::SeqCst);
                    drop(open.acquire().await);
                    "old"
                }
            };
            let old: Arc<dyn Service> =
                Arc::new(Server::new("s", "1").versions([far]).tool(tool("slow", slow)).build());
            let new: Arc<dyn Service> =
                Arc::new(Server::new("s", "2").versions([far]).tool(tool("slow", || "new")).build());
            let host = Host::builder().add(launched("s", old, "old")).build();
            let client = connect(able(STATELESS).0, host.service()).await;
            client.tools().await.unwrap();
            let call = tokio::spawn({
                let client = client.clone();
                async move { client.call("s__slow", ()).await }
            });
            while begun.load(Ordering::SeqCst) == 0 {
                tokio::task::yield_now().await;
            }
            host.replace(Host::builder().add(launched("s", new, "new"))).await;
            assert_eq!(client.call("s__slow", ()).await.unwrap().text(), "new");
            gate.add_permits(1);
            assert_eq!(call.await.unwrap().unwrap().text(), "old");
            assert_eq!(begun.load(Ordering::SeqCst), 1, "it was sent once");
        })
        .await;
    }
}

#[tokio::test]
async fn a_view_follows_its_profile() {
    in_time("profile", async {
        let files: Arc<dyn Service> = Arc::new(server("files", STATELESS).build());
        let config = |profile| Host::builder().add(launched("files", files.clone(), "1")).profile(profile);
        let host = config(Profile::new("p")).build();
        let view = host.view("p").unwrap();
        let client = connect(able(STATELESS).0, view.service()).await;
        assert_eq!(client.tools().await.unwrap()[0].name, "files__echo");
        host.replace(config(Profile::new("p").bare())).await;
        assert_eq!(client.tools().await.unwrap()[0].name, "echo");
        host.replace(config(Profile::new("other"))).await;
        assert!(client.tools().await.unwrap().is_empty(), "the profile is gone");
        assert!(host.view("p").is_none());
    })
    .await;
}

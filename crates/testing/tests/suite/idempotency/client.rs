//! A client whose connection is lost repeats its call, if the server honours keys.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use couplet::{
    client::{Backoff, Client, Reconnecting},
    core::{BoxFuture, Connect, Connected, Error, ErrorKind, Inbound, Limits},
    server::{ServerHandle, outcomes::MemoryOutcomes},
    types::ProtocolVersion,
};
use serde_json::json;
use tokio::sync::Notify;

use super::kit::{Seen, eventually, tools};

/// A server in this process, with a connection that can be cut.
#[derive(Clone)]
struct Cable {
    server: ServerHandle,
    cut: Arc<Notify>,
    connections: Arc<AtomicUsize>,
}

impl Cable {
    fn to(server: ServerHandle) -> Self {
        Self { server, cut: Arc::default(), connections: Arc::default() }
    }
}

impl Connect for Cable {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        Box::pin(async move {
            self.connections.fetch_add(1, Ordering::SeqCst);
            let Connected { channel, driver } = self.server.connect(inbound, limits).await?;
            let cut = self.cut.clone();
            let driver = Box::pin(async move {
                tokio::select! {
                    end = driver => end,
                    () = cut.notified() => Err(Error::new(ErrorKind::Closed, "the cable was cut")),
                }
            });
            Ok(Connected { channel, driver })
        })
    }
}

async fn connect(cable: &Cable, version: ProtocolVersion) -> Client {
    let target = Reconnecting::new(cable.clone()).backoff(Backoff::new());
    Client::new("c", "1").versions([version]).connect(target).await.expect("it connects")
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_cut_is_repeated_and_executed_once() {
    for &version in ProtocolVersion::ALL {
        let seen = Seen::new();
        let cable = Cable::to(tools(&seen).outcomes(MemoryOutcomes::new()).build());
        let client = connect(&cable, version).await;
        assert!(client.honours_idempotency_keys(), "{version}");
        let call = tokio::spawn(client.call("gate", ()).idempotent().into_future());
        for connection in 1..=3 {
            eventually(|| seen.started() == 1 && cable.connections.load(Ordering::SeqCst) == connection).await;
            // The repeated call has arrived, or will.
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            cable.cut.notify_one();
        }
        seen.gate.add_permits(1);
        assert_eq!(call.await.unwrap().unwrap().text(), "run 1", "{version}");
        assert_eq!((seen.started(), seen.dropped()), (1, 0), "{version}");
    }
}

#[tokio::test(start_paused = true)]
async fn other_calls_are_not_repeated() {
    for &version in ProtocolVersion::ALL {
        for (honoured, keyed) in [(false, true), (true, false)] {
            let seen = Seen::new();
            let server = if honoured { tools(&seen).outcomes(MemoryOutcomes::new()) } else { tools(&seen) };
            let cable = Cable::to(server.build());
            let client = connect(&cable, version).await;
            let call = client.call("gate", ());
            let call = tokio::spawn(if keyed { call.idempotent() } else { call }.into_future());
            eventually(|| seen.started() == 1).await;
            cable.cut.notify_one();
            let error = call.await.unwrap().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Closed, "{version} {honoured} {keyed}: {error}");
            eventually(|| cable.connections.load(Ordering::SeqCst) == 2).await;
            assert_eq!(client.call("pay", ()).await.unwrap().text(), "0: run 2", "{version}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_is_repeated_within_its_timeout() {
    for &version in ProtocolVersion::ALL {
        let seen = Seen::new();
        let cable = Cable::to(tools(&seen).outcomes(MemoryOutcomes::new()).build());
        let client = connect(&cable, version).await;
        let limit = std::time::Duration::from_secs(20);
        let call = tokio::spawn(client.call("gate", ()).idempotent().timeout(limit).into_future());
        eventually(|| seen.started() == 1).await;
        cable.cut.notify_one();
        let error = call.await.unwrap().unwrap_err();
        assert!(error.is_timeout(), "{version}: {error}");
    }
}

/// Without a target that connects again there is no use in it.
#[tokio::test(start_paused = true)]
async fn a_closed_connection_is_the_end() {
    for &version in ProtocolVersion::ALL {
        let seen = Seen::new();
        let cable = Cable::to(tools(&seen).outcomes(MemoryOutcomes::new()).build());
        let client = Client::new("c", "1").versions([version]).connect(cable.clone()).await.unwrap();
        let call = tokio::spawn(client.call("gate", ()).idempotent().into_future());
        eventually(|| seen.started() == 1).await;
        let before = tokio::time::Instant::now();
        cable.cut.notify_one();
        assert!(call.await.unwrap().unwrap_err().is_closed(), "{version}");
        assert!(before.elapsed() < std::time::Duration::from_secs(5), "{version}: it gave up early");
    }
}

#[tokio::test]
async fn keys_are_checked_and_do_not_replace_other_metadata() {
    for &version in ProtocolVersion::ALL {
        let seen = Seen::new();
        let client = connect(&Cable::to(tools(&seen).build()), version).await;
        for key in ["", "a b", "ä", &"k".repeat(129)] {
            let error = client.call("pay", ()).idempotency_key(key).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config, "{version} {key}");
        }
        assert_eq!(seen.started(), 0, "{version}");
        assert!(!client.honours_idempotency_keys(), "{version}");
        let meta = couplet::types::Meta::new().with("com.example/a", json!(1));
        let key = client.call("key", ()).idempotency_key("k-1").meta(meta).await.unwrap();
        assert_eq!(key.text(), "k-1", "{version}");
        let random = client.call("key", ()).idempotent().await.unwrap().text();
        let other = client.call("key", ()).idempotent().await.unwrap().text();
        assert!(random.len() == 32 && random != other, "{version}: {random} {other}");
    }
}

//! Events of sessions.

use std::time::Duration;

use couplet_http::server::{EventStore, StoredEvent};
use couplet_redis::RedisEvents;
use couplet_testing::contract;

use crate::server::{Server, nowhere};

const STREAM: u64 = 1 << 60 | 1;

fn event(seq: u64, size: usize) -> StoredEvent {
    StoredEvent { seq, text: "x".repeat(size).into() }
}

async fn numbers(store: &RedisEvents, stream: u64, seq: u64) -> Option<Vec<u64>> {
    store.after("a", stream, seq).await.unwrap().map(|events| events.iter().map(|event| event.seq).collect())
}

#[tokio::test]
async fn contract_of_events() {
    let Some(server) = Server::start().await else { return };
    let store = RedisEvents::new(&server.redis());
    contract::event_store(&store).await;
    contract::event_limits(&store.clone().max_events(4)).await;
    contract::event_limits(&store.clone().max_bytes(1000)).await;
    contract::event_expiry(&store.lifetime(Duration::from_millis(50))).await;
    contract::event_store_away(&RedisEvents::new(&nowhere())).await;
}

#[tokio::test]
async fn contract_in_a_cluster() {
    let Some(server) = Server::cluster().await else { return };
    contract::event_store(&RedisEvents::new(&server.redis())).await;
}

#[tokio::test]
async fn the_oldest_are_dropped_by_count() {
    let Some(server) = Server::start().await else { return };
    let store = RedisEvents::new(&server.redis()).max_events(4);
    store.append("a", 1, STREAM + 1, event(1, 1)).await.unwrap();
    for seq in 1..=4 {
        store.append("a", 1, STREAM, event(seq, 1)).await.unwrap();
    }
    assert_eq!(numbers(&store, STREAM + 1, 0).await, None, "a stream without events is not known");
    assert_eq!(numbers(&store, STREAM, 0).await, Some(vec![1, 2, 3, 4]));
    store.append("a", 1, STREAM, event(5, 1)).await.unwrap();
    assert_eq!(numbers(&store, STREAM, 0).await, None, "the first is gone");
    assert_eq!(numbers(&store, STREAM, 1).await, Some(vec![2, 3, 4, 5]));
    server.assert_all_expire("couplet:events:{").await;
    let keys: Vec<String> = server.command(&["KEYS", "*:known"]).await;
    let known: Vec<String> = server.command(&["HKEYS", &keys[0]]).await;
    assert_eq!(known.len(), 3, "nothing is known of streams that are gone: {known:?}");
}

#[tokio::test]
async fn the_oldest_are_dropped_by_size() {
    let Some(server) = Server::start().await else { return };
    let store = RedisEvents::new(&server.redis()).max_bytes(1000);
    for seq in 1..=3 {
        store.append("a", 1, STREAM, event(seq, 300)).await.unwrap();
    }
    assert_eq!(numbers(&store, STREAM, 0).await, None);
    assert_eq!(numbers(&store, STREAM, 1).await, Some(vec![2, 3]));
    store.append("a", 1, STREAM, event(4, 5000)).await.unwrap();
    assert_eq!(numbers(&store, STREAM, 3).await, None, "one that is too large is not stored");
    store.append("a", 1, STREAM, event(5, 1)).await.unwrap();
    assert_eq!(numbers(&store, STREAM, 3).await, None, "and leaves a gap");
    assert_eq!(numbers(&store, STREAM, 4).await, Some(vec![5]));
}

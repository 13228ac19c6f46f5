//! The stores that come with the crate.

use std::time::Duration;

use bytes::Bytes;
use couplet_http::server::{EventStore, MemoryEvents, MemorySessions, StoredEvent};
use couplet_testing::contract;

#[tokio::test]
async fn the_stores_keep_their_contracts() {
    contract::session_store(&MemorySessions::new()).await;
    contract::session_expiry(&MemorySessions::with_lifetime(Duration::from_millis(1))).await;
    contract::event_store(&MemoryEvents::new()).await;
    contract::event_limits(&MemoryEvents::with_bounds(4, 1 << 20, 1 << 20)).await;
    contract::event_limits(&MemoryEvents::with_bounds(1000, 200, 1 << 20)).await;
}

#[tokio::test]
async fn events_are_forgotten_and_nobody_gets_a_part() {
    let store = MemoryEvents::with_bounds(4, 100, 150);
    let event = |seq, size: usize| StoredEvent { seq, text: Bytes::from(vec![b'x'; size]) };
    for seq in 1..=6 {
        store.append("a", 0, 1, event(seq, 1)).await.unwrap();
    }
    assert_eq!(store.after("a", 1, 1).await.unwrap(), None);
    assert_eq!(store.after("a", 1, 2).await.unwrap().unwrap().len(), 4);
    // Too many bytes in one session: what is newest stays.
    store.append("a", 0, 1, event(7, 200)).await.unwrap();
    assert_eq!(store.after("a", 1, 2).await.unwrap(), None);
    // Too many bytes in all.
    for session in ["b", "c", "d", "e"] {
        store.append(session, 0, 1, event(1, 60)).await.unwrap();
    }
    assert!(store.after("b", 1, 0).await.unwrap().is_none());
    assert!(store.after("e", 1, 0).await.unwrap().is_some());
}

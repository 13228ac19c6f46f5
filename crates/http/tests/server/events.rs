//! The stores that come with the crate.

use bytes::Bytes;
use couplet_http::server::{EventStore, MemoryEvents, MemorySessions, StoredEvent, contract};

#[tokio::test]
async fn the_stores_keep_their_contracts() {
    contract::session_store(&MemorySessions::new()).await;
    contract::event_store(&MemoryEvents::new()).await;
}

#[tokio::test]
async fn events_are_forgotten_and_nobody_gets_a_part() {
    let store = MemoryEvents::with_bounds(4, 100, 150);
    let event = |seq, size: usize| StoredEvent { seq, text: Bytes::from(vec![b'x'; size]) };
    for seq in 1..=6 {
        store.append("a", 1, event(seq, 1)).await;
    }
    assert_eq!(store.after("a", 1, 1).await, None);
    assert_eq!(store.after("a", 1, 2).await.unwrap().len(), 4);
    // Too many bytes in one session: what is newest stays.
    store.append("a", 1, event(7, 200)).await;
    assert_eq!(store.after("a", 1, 2).await, None);
    // Too many bytes in all.
    for session in ["b", "c", "d", "e"] {
        store.append(session, 1, event(1, 60)).await;
    }
    assert!(store.after("b", 1, 0).await.is_none());
    assert!(store.after("e", 1, 0).await.is_some());
}

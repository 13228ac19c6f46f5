//! The contract of event stores.

use couplet_http::server::{EventStore, StoredEvent};

/// Checks what an [`EventStore`] must do. The store must not contain events of sessions whose ids begin with `contract-`,
/// and must have room for a dozen small ones.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use couplet_http::server::MemoryEvents;
/// use couplet_testing::contract;
///
/// contract::event_store(&MemoryEvents::new()).await;
/// # });
/// ```
///
/// # Panics
/// If the store violates the contract.
pub async fn event_store(store: &dyn EventStore) {
    streams(store).await;
    fences(store).await;
}

fn event(stream: u64, seq: u64) -> StoredEvent {
    StoredEvent { seq, text: format!("{{\"stream\":{stream},\"seq\":{seq}}}").into() }
}

async fn append(store: &dyn EventStore, session: &str, generation: u64, stream: u64, event: StoredEvent) -> bool {
    store.append(session, generation, stream, event).await.expect("an event is appended")
}

async fn streams(store: &dyn EventStore) {
    /// Numbers of streams have the generation in their upper half.
    const ONE: u64 = 1 << 32 | 1;
    const TWO: u64 = 1 << 32 | 2;
    let after = async |session, stream, seq| store.after(session, stream, seq).await.expect("events are looked for");
    assert_eq!(after("contract-a", ONE, 0).await, None, "a stream without events is not known");
    for seq in 1..=3 {
        for (session, stream, mark) in [("contract-a", ONE, 1), ("contract-a", TWO, 2), ("contract-b", ONE, 9)] {
            assert!(append(store, session, 1, stream, event(mark, seq)).await, "the owner appends events");
        }
    }
    let all = vec![event(1, 1), event(1, 2), event(1, 3)];
    assert_eq!(after("contract-a", ONE, 0).await.as_ref(), Some(&all), "one stream of one session, in order");
    assert_eq!(after("contract-a", ONE, 2).await, Some(vec![event(1, 3)]), "only the events after the number");
    assert_eq!(after("contract-a", ONE, 3).await, Some(vec![]), "there are none after the last");
    assert_eq!(after("contract-a", ONE, 4).await, None, "a number that was not sent is not known");
    assert_eq!(after("contract-a", ONE, u64::MAX).await, None, "nor is the largest");
    assert_eq!(after("contract-a", 7, 0).await, None, "another stream is not known");
    store.remove("contract-a").await.expect("events are removed");
    assert_eq!(after("contract-a", ONE, 0).await, None, "the events of a session that was removed are gone");
    assert!(after("contract-b", ONE, 0).await.is_some(), "others stay");
    store.remove("contract-b").await.expect("events are removed");
    store.remove("contract-b").await.expect("a session without events is no error");
}

async fn fences(store: &dyn EventStore) {
    const OLD: u64 = 2 << 32 | 1;
    const NEW: u64 = 3 << 32 | 1;
    assert!(append(store, "contract-a", 2, OLD, event(1, 1)).await, "a first event has any generation");
    assert!(append(store, "contract-a", 3, NEW, event(2, 1)).await, "a higher generation is the new owner");
    assert!(!append(store, "contract-a", 2, OLD, event(1, 2)).await, "the old owner appends nothing");
    assert!(append(store, "contract-a", 3, NEW, event(2, 2)).await, "the new one does");
    let old = store.after("contract-a", OLD, 0).await.expect("events are looked for");
    assert_eq!(old, Some(vec![event(1, 1)]), "the events before the take-over stay, and no others come");
    store.fence("contract-a", 5).await.expect("a fence is set");
    assert!(!append(store, "contract-a", 3, NEW, event(2, 3)).await, "a fence needs no event");
    store.fence("contract-a", 4).await.expect("a lower fence is no error");
    assert!(!append(store, "contract-a", 4, 4 << 32 | 1, event(3, 1)).await, "and changes nothing");
    assert!(append(store, "contract-a", 5, 5 << 32 | 1, event(4, 1)).await, "the generation of the fence is admitted");
    assert!(append(store, "contract-b", 1, 1 << 32 | 1, event(1, 1)).await, "other sessions are not fenced");
    for session in ["contract-a", "contract-b"] {
        store.remove(session).await.expect("events are removed");
    }
}

//! The contract of event stores.

use std::time::Duration;

use bytes::Bytes;
use couplet_http::server::{EventStore, StoredEvent};

use super::at_once;

/// Checks what an [`EventStore`] must do. The store must not contain events of sessions whose ids begin with `contract-`,
/// and must have room for a hundred small ones.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
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
    repeated(store).await;
    gaps(store).await;
    concurrent(store).await;
    // Last: a fence may outlive the events of its session.
    fences(store).await;
}

/// Checks that no part of a stream is returned after the oldest events were dropped, with a store that has room for fewer
/// than 100 small events of a session.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// use couplet_http::server::MemoryEvents;
/// use couplet_testing::contract;
///
/// contract::event_limits(&MemoryEvents::with_bounds(4, 1 << 20, 64 << 20)).await;
/// # });
/// ```
///
/// # Panics
/// If the store violates the contract.
pub async fn event_limits(store: &dyn EventStore) {
    const QUIET: u64 = 1 << 32 | 1;
    const BUSY: u64 = 1 << 32 | 2;
    assert!(append(store, "contract-a", 1, QUIET, event(1, 1)).await, "an event is appended");
    assert!(append(store, "contract-b", 1, QUIET, event(9, 1)).await, "an event is appended");
    for seq in 1..=100 {
        assert!(append(store, "contract-a", 1, BUSY, event(2, seq)).await, "a store that is full drops old events");
    }
    assert_eq!(after(store, "contract-a", BUSY, 0).await, None, "there is a limit, and a part is not returned");
    assert_eq!(after(store, "contract-a", QUIET, 0).await, None, "the oldest events are dropped, of any stream");
    for seq in 1..=99 {
        let rest: Vec<StoredEvent> = (seq + 1..=100).map(|seq| event(2, seq)).collect();
        let found = after(store, "contract-a", BUSY, seq).await;
        assert!(found.is_none() || found.as_ref() == Some(&rest), "all events after {seq} are returned, or none");
    }
    assert_eq!(after(store, "contract-a", BUSY, 99).await, Some(vec![event(2, 100)]), "the last event is stored");
    let other = after(store, "contract-b", QUIET, 0).await;
    assert_eq!(other, Some(vec![event(9, 1)]), "the limit is that of a session");
    for session in ["contract-a", "contract-b"] {
        store.remove(session).await.expect("events are removed");
    }
}

/// Checks that events expire, with a store in which they do within seconds after the last one.
///
/// # Panics
/// If the store violates the contract.
pub async fn event_expiry(store: &dyn EventStore) {
    const STREAM: u64 = 1 << 32 | 1;
    for _ in 0..2 {
        assert!(append(store, "contract-a", 1, STREAM, event(1, 1)).await, "an event is appended");
        let mut looks = 0;
        while after(store, "contract-a", STREAM, 0).await.is_some() {
            looks += 1;
            assert!(looks < 1000, "events with a lifetime of milliseconds have not expired after 10 s");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

fn event(stream: u64, seq: u64) -> StoredEvent {
    StoredEvent { seq, text: format!("{{\"stream\":{stream},\"seq\":{seq}}}").into() }
}

async fn append(store: &dyn EventStore, session: &str, generation: u64, stream: u64, event: StoredEvent) -> bool {
    store.append(session, generation, stream, event).await.expect("an event is appended")
}

async fn after(store: &dyn EventStore, session: &str, stream: u64, seq: u64) -> Option<Vec<StoredEvent>> {
    store.after(session, stream, seq).await.expect("events are looked for")
}

/// An event whose append failed may have been stored: it is appended again, and stored once.
async fn repeated(store: &dyn EventStore) {
    const STREAM: u64 = 1 << 32 | 1;
    for seq in [1, 2, 2, 1, 3] {
        let is_admitted = append(store, "contract-a", 1, STREAM, event(1, seq)).await;
        assert!(is_admitted, "an event that is appended again is not one of an earlier owner");
    }
    let all = vec![event(1, 1), event(1, 2), event(1, 3)];
    assert_eq!(after(store, "contract-a", STREAM, 0).await, Some(all), "an event is stored once");
    let empty = StoredEvent { seq: 4, text: Bytes::new() };
    assert!(append(store, "contract-a", 1, STREAM, empty.clone()).await, "an event is bytes");
    assert_eq!(after(store, "contract-a", STREAM, 3).await, Some(vec![empty]), "also an empty one");
    store.remove("contract-a").await.expect("events are removed");
}

/// An event that could not be stored is a gap, over which no part is returned.
async fn gaps(store: &dyn EventStore) {
    const STREAM: u64 = 1 << 32 | 1;
    const LATE: u64 = 1 << 32 | 2;
    for seq in [1, 2, 4, 5] {
        assert!(append(store, "contract-a", 1, STREAM, event(1, seq)).await, "an event after a gap is appended");
    }
    for seq in 0..=2 {
        assert_eq!(after(store, "contract-a", STREAM, seq).await, None, "the third event is missing after {seq}");
    }
    let rest = vec![event(1, 4), event(1, 5)];
    assert_eq!(after(store, "contract-a", STREAM, 3).await, Some(rest), "a client that has it needs the others only");
    assert_eq!(after(store, "contract-a", STREAM, 4).await, Some(vec![event(1, 5)]));
    // The first event of a stream may be the one that is missing.
    assert!(append(store, "contract-a", 1, LATE, event(2, 2)).await, "an event is appended");
    assert_eq!(after(store, "contract-a", LATE, 0).await, None, "the first event is missing");
    store.remove("contract-a").await.expect("events are removed");
}

/// Streams to which events are appended at the same time do not mix, and lose nothing.
async fn concurrent(store: &dyn EventStore) {
    const STREAMS: u64 = 16;
    let stream = |number: u64| 1 << 32 | number;
    let writers = (1..=STREAMS).map(|number| async move {
        for seq in 1..=4 {
            assert!(append(store, "contract-a", 1, stream(number), event(number, seq)).await, "an event is appended");
        }
    });
    at_once("events at the same time", writers).await;
    for number in 1..=STREAMS {
        let all: Vec<StoredEvent> = (1..=4).map(|seq| event(number, seq)).collect();
        let found = after(store, "contract-a", stream(number), 0).await;
        assert_eq!(found, Some(all), "events of streams at the same time are all stored, in the order of their stream");
    }
    store.remove("contract-a").await.expect("events are removed");
}

async fn streams(store: &dyn EventStore) {
    /// Numbers of streams have the generation in their upper half.
    const ONE: u64 = 1 << 32 | 1;
    const TWO: u64 = 1 << 32 | 2;
    let after = async |session, stream, seq| after(store, session, stream, seq).await;
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

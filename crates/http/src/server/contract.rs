//! The contract of stores, as functions to call from the tests of an implementation. They panic on a violation.

use bytes::Bytes;

use crate::server::{
    session::store::{SessionRecord, SessionStore},
    stream::event_store::{EventStore, StoredEvent},
};

/// What a [`SessionStore`] must do.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use couplet_http::server::{MemorySessions, contract};
///
/// contract::session_store(&MemorySessions::new()).await;
/// # });
/// ```
///
/// # Panics
/// Where the store does something else.
pub async fn session_store(store: &dyn SessionStore) {
    let ours = SessionRecord::new("contract-a", Some("alice".into()), Bytes::from_static(b"{\"a\":1}"));
    let other = SessionRecord::new("contract-b", None, Bytes::from_static(b"{}"));
    let found = async |id| store.load(id).await.expect("the store answers");
    assert_eq!(found("contract-a").await, None, "a store knows no sessions that were not opened");
    for record in [&ours, &other] {
        store.create(record.clone()).await.expect("the store takes a session");
    }
    assert_eq!(found("contract-a").await.as_ref(), Some(&ours), "a session comes back as it was");
    assert_eq!(found("contract-b").await.as_ref(), Some(&other), "sessions do not mix");
    assert_eq!(found("CONTRACT-A").await, None, "ids differ by case");
    for memory in ["{}", "{\"level\":\"debug\"}"] {
        store.remember("contract-a", memory.into()).await.expect("the store answers");
        let mut reminded = ours.clone();
        reminded.memory = Some(memory.into());
        assert_eq!(found("contract-a").await, Some(reminded), "what a session remembers comes back, the last of it");
    }
    assert_eq!(found("contract-b").await.as_ref(), Some(&other), "one session's memory is not another's");
    store.remember("contract-c", "{}".into()).await.expect("the store answers");
    assert_eq!(found("contract-c").await, None, "only what was opened is a session");
    assert!(store.remove("contract-a").await.expect("the store answers"), "a session can be forgotten");
    assert!(!store.remove("contract-a").await.expect("the store answers"), "but only once");
    assert_eq!(found("contract-a").await, None, "a session that was forgotten is gone");
    assert_eq!(found("contract-b").await.as_ref(), Some(&other), "and the others stay");
    store.remove("contract-b").await.expect("the store answers");
}

/// What an [`EventStore`] must do.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use couplet_http::server::{MemoryEvents, contract};
///
/// contract::event_store(&MemoryEvents::new()).await;
/// # });
/// ```
///
/// # Panics
/// Where the store does something else.
pub async fn event_store(store: &dyn EventStore) {
    let event = |stream: u64, seq| StoredEvent { seq, text: format!("{{\"stream\":{stream},\"seq\":{seq}}}").into() };
    assert_eq!(store.after("contract-a", 1, 0).await, None, "a stream without events is not known");
    for seq in 1..=3 {
        store.append("contract-a", 1, event(1, seq)).await;
        store.append("contract-a", 2, event(2, seq)).await;
        store.append("contract-b", 1, event(9, seq)).await;
    }
    let all = vec![event(1, 1), event(1, 2), event(1, 3)];
    assert_eq!(store.after("contract-a", 1, 0).await.as_ref(), Some(&all), "one stream of one session, in order");
    assert_eq!(store.after("contract-a", 1, 2).await, Some(vec![event(1, 3)]), "only what came later");
    assert_eq!(store.after("contract-a", 1, 3).await, Some(vec![]), "nothing came later");
    assert_eq!(store.after("contract-a", 1, 4).await, None, "a number that was not sent is not known");
    assert_eq!(store.after("contract-a", 1, u64::MAX).await, None, "nor is the largest");
    assert_eq!(store.after("contract-a", 7, 0).await, None, "another stream is not known");
    store.remove("contract-a").await;
    assert_eq!(store.after("contract-a", 1, 0).await, None, "a session that was forgotten is gone");
    assert!(store.after("contract-b", 1, 0).await.is_some(), "and the others stay");
    store.remove("contract-b").await;
}

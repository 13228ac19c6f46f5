//! Idempotency keys.

use std::sync::Arc;

use couplet_tasks::{Change, Record, RequestKey, Store};

use super::{LONG, add, change, random, record, records::gone};

/// An owner has one task for a key.
pub(super) async fn one_task_per_key(store: &dyn Store) {
    let (owner, key) = (random("owner"), random("key"));
    let keyed = |owner: Option<&str>, key: &str| {
        let (owner, key) = (owner.map(Arc::from), RequestKey::new(key, "digest"));
        move |record: &mut Record| (record.owner, record.key) = (owner, Some(key))
    };
    let first = add(store, LONG, keyed(Some(&owner), &key)).await;
    let again = record(keyed(Some(&owner), &key));
    let id = again.id.clone();
    let found = store.insert(again, LONG).await.expect("the store answers").expect("the key finds the task");
    assert_eq!((&*found.id, found.key), (&*first, Some(RequestKey::new(&*key, "digest"))));
    assert_eq!(store.get(&id).await.expect("the store answers"), None, "nothing is inserted then");
    let page = store.list(Some(&owner), None, 10).await.expect("the store answers").expect("it has no position");
    assert_eq!(page.len(), 1, "nothing is inserted then");
    // These differ.
    add(store, LONG, keyed(Some(&random("other")), &key)).await;
    add(store, LONG, keyed(None, &key)).await;
    add(store, LONG, keyed(Some(""), &key)).await;
    add(store, LONG, keyed(Some(&owner), &random("key"))).await;
    add(store, LONG, keyed(Some(&owner), &key.to_uppercase())).await;
    // Also when it is over.
    let ended = change(store, &first, None, Change::Cancelled).await.expect("it changes");
    let found = store.insert(record(keyed(Some(&owner), &key)), LONG).await.expect("the store answers");
    assert_eq!(found, Some(ended), "the key finds the task as it is now");
}

/// Of several tasks with one key at once, one is inserted.
pub(super) async fn concurrent_inserts(store: &Arc<dyn Store>) {
    let (owner, key): (Arc<str>, _) = (random("owner").into(), random("key"));
    let inserts = (0..8).map(|_| {
        let new = record(|record| {
            (record.owner, record.key) = (Some(owner.clone()), Some(RequestKey::new(&*key, "digest")));
        });
        let store = store.clone();
        tokio::spawn(async move {
            let id = new.id.clone();
            let same = store.insert(new, LONG).await.expect("the store answers");
            (same.is_none(), same.map_or(id, |record| record.id))
        })
    });
    let mut results = Vec::new();
    for insert in inserts.collect::<Vec<_>>() {
        results.push(insert.await.expect("the store takes tasks"));
    }
    assert_eq!(results.iter().filter(|(inserted, _)| *inserted).count(), 1, "one task is inserted");
    assert!(results.iter().all(|(_, id)| *id == results[0].1), "all of them find it");
}

/// The key of a task that has expired can be used again.
pub(super) async fn expired_keys_are_free(store: &dyn Store) {
    let (owner, key): (Arc<str>, _) = (random("owner").into(), random("key"));
    let keyed = |ttl: u64| {
        let (owner, key) = (owner.clone(), RequestKey::new(&*key, "digest"));
        move |record: &mut Record| (record.ttl, record.owner, record.key) = (ttl, Some(owner), Some(key))
    };
    let first = add(store, LONG, keyed(1)).await;
    gone(store, &first).await;
    add(store, LONG, keyed(super::TTL)).await;
}

//! The contract of a store of logins.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use couplet_auth::{
    Secret,
    client::{Store, StoreLock},
};

use super::{at_once, in_time, unique};

/// Checks the contract of a [`Store`] of logins, with the handles that two processes have of one store. The lock has a
/// contract of its own, [`login_lock`].
///
/// ```
/// # couplet_testing::block_on(async {
/// use couplet_auth::client::MemoryStore;
/// use couplet_testing::contract;
///
/// let store = MemoryStore::new();
/// contract::login_store(&store, &store).await;
/// contract::login_lock(&store, &store).await;
/// # });
/// ```
///
/// # Panics
/// If the store violates its contract.
pub async fn login_store(first: &dyn Store, second: &dyn Store) {
    values(first, second).await;
    keys(first, second).await;
    texts(first, second).await;
    concurrent_writes(first, second).await;
}

/// The last value of a key is found by all, until it is deleted.
async fn values(first: &dyn Store, second: &dyn Store) {
    let key = unique("login");
    for store in [first, second] {
        assert_eq!(load(store, &key).await, None, "a key without a value is not found");
    }
    for (writer, reader, value) in [(first, second, "one"), (second, first, "two"), (first, first, "three")] {
        save(writer, &key, Some(value)).await;
        assert_eq!(load(reader, &key).await.as_deref(), Some(value), "the last value is found by every process");
    }
    save(second, &key, None).await;
    for store in [first, second] {
        assert_eq!(load(store, &key).await, None, "a value that was deleted is gone");
    }
    save(second, &key, None).await;
    save(first, &key, Some("again")).await;
    assert_eq!(load(second, &key).await.as_deref(), Some("again"), "a deleted key can be used again");
    save(first, &key, None).await;
}

/// Keys are authorization servers: one must not get the tokens of another.
async fn keys(first: &dyn Store, second: &dyn Store) {
    let base = format!("https://{}.example", unique("key"));
    let all = [&base, &base.to_uppercase(), &format!("{base}/"), &format!("{base}/é token"), &format!("{base}\n\"x")];
    for key in all {
        save(first, key, Some(key)).await;
    }
    for key in all {
        assert_eq!(load(second, key).await.as_ref(), Some(key), "keys do not share a value");
    }
    save(second, all[0], None).await;
    for key in &all[1..] {
        assert_eq!(load(first, key).await.as_ref(), Some(*key), "the values of other keys stay");
        save(first, key, None).await;
    }
}

/// A value is a string of any length.
async fn texts(first: &dyn Store, second: &dyn Store) {
    let key = unique("text");
    for text in ["", "é\u{1F980}\n\t\"\\", "{\"a\":\"\\u0000\"}", &"x".repeat(64 * 1024), "short again"] {
        save(first, &key, Some(text)).await;
        let found = load(second, &key).await;
        assert!(found.as_deref() == Some(text), "a value of {} bytes is changed", text.len());
    }
    save(first, &key, None).await;
}

/// Processes that store different logins at the same time lose none.
async fn concurrent_writes(first: &dyn Store, second: &dyn Store) {
    let keys: Vec<String> = (0..8).map(|_| unique("write")).collect();
    let writes = keys.iter().enumerate().map(|(number, key)| {
        let store = if number % 2 == 0 { first } else { second };
        store.save(key, Some(Secret::new(&**key)))
    });
    let written: Result<Vec<()>, _> = at_once("writes at the same time", writes).await.into_iter().collect();
    written.expect("a value is saved");
    for key in &keys {
        assert_eq!(load(second, key).await.as_ref(), Some(key), "writes at the same time lose nothing");
        save(first, key, None).await;
    }
}

/// Checks [`Store::lock`], for stores that do not use its default, with the handles that two processes have of one store: a
/// refresh token is used by one of them at a time.
///
/// # Panics
/// If the store violates its contract.
pub async fn login_lock(first: &dyn Store, second: &dyn Store) {
    exclusion(first, second).await;
    let server = unique("lock");
    let held = locked(first, &server).await;
    for store in [first, second] {
        save(store, &server, Some("token")).await;
        assert_eq!(load(store, &server).await.as_deref(), Some("token"), "values are read and written under the lock");
    }
    // However slow the store is: it is not acquired.
    for store in [first, second] {
        let waiting = tokio::time::timeout(Duration::from_millis(50), store.lock(&server)).await;
        assert!(waiting.is_err(), "a lock that is held is not acquired");
    }
    drop(held);
    drop(locked(second, &server).await);
    // The attempts that were given up hold nothing.
    drop(locked(first, &server).await);
    save(first, &server, None).await;
}

/// Of several holders at the same time one is inside, and none loses what the others have written.
async fn exclusion(first: &dyn Store, second: &dyn Store) {
    const TURNS: u32 = 3;
    let (server, counter) = (unique("lock"), unique("counter"));
    let inside = AtomicU32::new(0);
    let holders = (0..4).map(|number| {
        let store = if number % 2 == 0 { first } else { second };
        let (server, counter, inside) = (&server, &counter, &inside);
        async move {
            for _ in 0..TURNS {
                let held = locked(store, server).await;
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "one process holds the lock at a time");
                let count = load(store, counter).await.map_or(0, |count| count.parse::<u32>().expect("it is a number"));
                tokio::task::yield_now().await;
                save(store, counter, Some(&(count + 1).to_string())).await;
                assert_eq!(inside.fetch_sub(1, Ordering::SeqCst), 1, "one process holds the lock at a time");
                drop(held);
            }
        }
    });
    at_once("holders of a lock", holders).await;
    assert_eq!(
        load(first, &counter).await.as_deref(),
        Some("12"),
        "the next holder sees what the last one has written"
    );
    save(first, &counter, None).await;
}

async fn load(store: &dyn Store, key: &str) -> Option<String> {
    let found = in_time("load", store.load(key)).await.expect("a value is loaded");
    found.map(|secret| secret.reveal().to_owned())
}

async fn save(store: &dyn Store, key: &str, value: Option<&str>) {
    in_time("save", store.save(key, value.map(Secret::new))).await.expect("a value is saved");
}

async fn locked(store: &dyn Store, server: &str) -> StoreLock {
    in_time("a lock that is free", store.lock(server)).await.expect("a lock is acquired")
}

//! The contract of a store of tasks.

mod keys;
mod leases;
mod records;

use std::{sync::Arc, time::Duration};

use couplet_tasks::{Change, Record, Runner, Store};
use couplet_types::{InputRequest, RawJson};

/// A lease that does not expire during a test.
const LONG: Duration = Duration::from_secs(3600);
/// A lease that has expired when it begins.
const NONE: Duration = Duration::ZERO;
/// The time to live of tasks that do not expire during a test, in milliseconds.
const TTL: u64 = 3_600_000;

/// Checks everything that a [`Store`] of tasks must do, except [`watch`](Store::watch). Call it in a tokio runtime. The
/// store may have other tasks; those of the contract have random ids, and most of them random owners.
///
/// ```
/// # couplet_testing::block_on(async {
/// use couplet_tasks::Memory;
/// use couplet_testing::contract;
///
/// contract::task_store(Memory::new()).await;
/// contract::task_watch(Memory::new()).await;
/// # });
/// ```
///
/// # Panics
/// If the store violates the contract.
pub async fn task_store(store: impl Store) {
    let store: Arc<dyn Store> = Arc::new(store);
    records::come_back(&*store).await;
    records::mailbox(&*store).await;
    records::end(&*store).await;
    records::concurrent_changes(&store).await;
    records::lists(&*store).await;
    records::expiry(&*store).await;
    leases::fencing(&*store).await;
    leases::renewal(&*store).await;
    leases::concurrent_claims(&store).await;
    leases::release(&*store).await;
    keys::one_task_per_key(&*store).await;
    keys::concurrent_inserts(&store).await;
    keys::expired_keys_are_free(&*store).await;
}

/// Checks [`watch`](Store::watch), for stores that do not use its default. Call it in a tokio runtime.
///
/// # Panics
/// If the store violates the contract.
pub async fn task_watch(store: impl Store) {
    let store: Arc<dyn Store> = Arc::new(store);
    let id = add(&*store, NONE, |_| {}).await;
    let watch = |id: &str, revision| {
        let (store, id) = (store.clone(), id.to_owned());
        let waited = async move { tokio::time::timeout(Duration::from_secs(60), store.watch(&id, revision)).await };
        tokio::spawn(waited)
    };
    let done = async |what: &str, watched: tokio::task::JoinHandle<_>| {
        let returned: Result<Result<(), _>, _> = watched.await.expect("`watch` does not panic");
        returned.unwrap_or_else(|_| panic!("`watch` returns {what}")).expect("the store answers");
    };
    let stored = get(&*store, &id).await;
    done("for a task that does not exist", watch("contract-unknown", 1)).await;
    done("at once for an old revision", watch(&id, stored.revision.wrapping_sub(1))).await;
    let watched = watch(&id, stored.revision);
    tokio::task::yield_now().await;
    let changed = change(&*store, &id, None, Change::Message("changed".to_owned())).await.expect("it changes");
    done("after a change", watched).await;
    let watched = watch(&id, changed.revision);
    tokio::task::yield_now().await;
    store.claim(&id, "other", LONG).await.expect("the store answers").expect("it is free");
    done("after a take-over", watched).await;
    let claimed = get(&*store, &id).await;
    let watched = watch(&id, claimed.revision);
    tokio::task::yield_now().await;
    assert!(store.release(&id, claimed.generation()).await.expect("the store answers"), "it is released");
    done("after a release", watched).await;
}

/// A random name: contracts may run at the same time, on one store.
fn random(what: &str) -> String {
    use std::hash::{BuildHasher, Hasher, RandomState};
    format!("contract-{what}-{:016x}", RandomState::new().build_hasher().finish())
}

/// A new task that `node` runs.
fn record(edit: impl FnOnce(&mut Record)) -> Record {
    let mut record = Record::new(random("task"), None, TTL, 500);
    record.runner = Some(Runner::first("node"));
    edit(&mut record);
    record
}

/// Inserts a new task, and returns its id.
async fn add(store: &dyn Store, lease: Duration, edit: impl FnOnce(&mut Record)) -> String {
    let record = record(edit);
    let id = record.id.clone();
    let same = store.insert(record, lease).await.expect("the store answers");
    assert_eq!(same, None, "a new task is inserted");
    id
}

async fn get(store: &dyn Store, id: &str) -> Record {
    store.get(id).await.expect("the store answers").expect("a task that was inserted is found")
}

async fn change(store: &dyn Store, id: &str, fence: Option<u64>, change: Change) -> Option<Record> {
    store.change(id, fence, change).await.expect("the store answers")
}

fn ask(message: &str) -> InputRequest {
    let params = format!(r#"{{"message":"{message}"}}"#);
    InputRequest::raw("elicitation/create", RawJson::from_text(params).expect("it is JSON"))
}

fn json(text: &str) -> RawJson {
    RawJson::from_text(text).expect("it is JSON")
}

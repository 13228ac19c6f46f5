//! Runners and their leases.

use std::sync::Arc;

use couplet_tasks::{Change, Store};

use super::{LONG, NONE, add, change, get, random};

/// The writes of an earlier runner are rejected.
pub(super) async fn fencing(store: &dyn Store) {
    let message = |text: &str| Change::Message(text.to_owned());
    let id = add(store, NONE, |_| {}).await;
    assert!(change(store, &id, Some(1), message("first")).await.is_some(), "the runner writes");
    for generation in [0, 2] {
        assert_eq!(change(store, &id, Some(generation), message("wrong")).await, None, "it is not the runner");
    }
    let before = get(store, &id).await;
    let claimed = store.claim(&id, "other", LONG).await.expect("the store answers").expect("the lease has expired");
    assert!(claimed.revision > before.revision, "a take-over has a revision");
    assert_eq!(claimed, get(store, &id).await, "the runner that is returned is the one that is stored");
    let runner = claimed.runner.as_ref().map(|runner| (&*runner.node, runner.generation));
    assert_eq!(runner, Some(("other", 2)), "the generation grows");
    assert_eq!(change(store, &id, Some(1), message("late")).await, None, "the old runner is fenced");
    assert_eq!(change(store, &id, Some(1), Change::Cancelled).await, None, "also when it ends the task");
    assert!(change(store, &id, Some(2), message("second")).await.is_some(), "the new runner writes");
    assert!(change(store, &id, None, message("client")).await.is_some(), "others are not fenced");
    let taken = store.claim(&id, "third", LONG).await.expect("the store answers");
    assert_eq!(taken, None, "a task with a live runner is not taken over");
    let again = store.claim(&id, "other", LONG).await.expect("the store answers");
    assert_eq!(again.map(|record| record.generation()), Some(3), "a runner can claim its own task");
    let unknown = store.claim(&random("unknown"), "other", LONG).await.expect("the store answers");
    assert_eq!(unknown, None, "an unknown task is not taken over");
}

/// A lease that is renewed does not expire.
pub(super) async fn renewal(store: &dyn Store) {
    let (kept, free) = (add(store, NONE, |_| {}).await, add(store, NONE, |_| {}).await);
    let unknown = random("unknown");
    let tasks = [(kept.clone(), 1), (free.clone(), 7), (unknown.clone(), 1)];
    let mut lost = store.renew(&tasks, LONG).await.expect("the store answers");
    lost.sort_unstable();
    let mut expected = vec![free.clone(), unknown];
    expected.sort_unstable();
    assert_eq!(lost, expected, "`renew` names the tasks that have another runner, or do not exist");
    let taken = store.claim(&kept, "other", LONG).await.expect("the store answers");
    assert_eq!(taken, None, "a lease that was renewed has not expired");
    assert!(get(store, &kept).await.runner.is_some_and(|runner| runner.until > store.now()));
    store.renew(&[(kept.clone(), 1)], NONE).await.expect("the store answers");
    change(store, &kept, Some(1), Change::Message("a change".to_owned())).await.expect("it changes");
    let taken = store.claim(&kept, "other", LONG).await.expect("the store answers");
    assert_eq!(taken, None, "neither a shorter renewal nor a change ends a lease");
    let taken = store.claim(&free, "other", LONG).await.expect("the store answers");
    assert!(taken.is_some(), "a lease that was not renewed has expired");
    assert_eq!(store.renew(&[], LONG).await.expect("the store answers"), Vec::<String>::new());
}

/// Of several replicas at once, one takes a task over.
pub(super) async fn concurrent_claims(store: &Arc<dyn Store>) {
    let id = add(&**store, NONE, |_| {}).await;
    let claims = (0..8).map(|n| {
        let (store, id) = (store.clone(), id.clone());
        tokio::spawn(async move { store.claim(&id, &format!("node-{n}"), LONG).await.expect("the store answers") })
    });
    let mut winners = Vec::new();
    for claim in claims.collect::<Vec<_>>() {
        winners.extend(claim.await.expect("the store takes claims"));
    }
    assert_eq!(winners.len(), 1, "one replica takes a task over");
    assert_eq!(winners.pop(), Some(get(&**store, &id).await));
}

/// A task that its runner releases can be taken over at once.
pub(super) async fn release(store: &dyn Store) {
    let id = add(store, LONG, |_| {}).await;
    let release = async |generation| store.release(&id, generation).await.expect("the store answers");
    for generation in [0, 2] {
        assert!(!release(generation).await, "it is not the runner");
    }
    let taken = store.claim(&id, "other", LONG).await.expect("the store answers");
    assert_eq!(taken, None, "the lease has not expired");
    let before = get(store, &id).await;
    assert!(release(1).await, "the runner releases its task");
    let after = get(store, &id).await;
    assert!(after.revision > before.revision, "a release has a revision");
    assert_eq!((after.generation(), after.released), (1, 1), "the generation stays, and releases are counted");
    assert!(after.runner.is_some_and(|runner| runner.until == 0), "the lease is over");
    assert!(!release(1).await, "it is released once");
    let lost = store.renew(&[(id.clone(), 1)], LONG).await.expect("the store answers");
    assert_eq!(lost, [&*id], "a renewal that comes late does not take the task back");
    let claimed = store.claim(&id, "other", LONG).await.expect("the store answers").expect("it is free");
    assert_eq!((claimed.generation(), claimed.released), (2, 1));
    assert!(claimed.runner.is_some_and(|runner| runner.until > store.now()), "the new runner has a lease");
    assert!(!release(1).await, "the old runner is fenced");
    let late = change(store, &id, Some(1), Change::Message("late".to_owned())).await;
    assert_eq!(late, None, "also when it writes");
    let taken = store.claim(&id, "third", LONG).await.expect("the store answers");
    assert_eq!(taken, None, "the task has a live runner again");
    change(store, &id, Some(2), Change::Cancelled).await.expect("it ends");
    assert!(!release(2).await, "a task that has ended is not released");
    assert!(!store.release(&random("unknown"), 1).await.expect("the store answers"), "nor is an unknown one");
}

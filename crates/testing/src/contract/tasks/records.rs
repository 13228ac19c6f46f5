//! Records, their changes, lists and expiry.

use std::{sync::Arc, time::Duration};

use couplet_core::clock::unix_millis;
use couplet_tasks::{Answer, Change, Entry, Finished, Record, RequestKey, Response, Store};
use couplet_types::{RpcError, TaskStatus};

use super::{LONG, NONE, add, ask, change, get, json, random, record};

/// A record comes back as it was, with all that it can have.
pub(super) async fn come_back(store: &dyn Store) {
    let unknown = random("unknown");
    assert_eq!(store.get(&unknown).await.expect("the store answers"), None, "an unknown task is not found");
    assert_eq!(change(store, &unknown, None, Change::Cancelled).await, None, "an unknown task does not change");
    let full = record(|record| {
        let response = Response::Error(RpcError::internal("\"quoted\" \u{1F980}"));
        let answer = Answer::new("input-2", ask("b"), response);
        record.owner = Some(random("owner").into());
        record.message = Some("a message\nin two lines".to_owned());
        record.asks = vec![("input-1".to_owned(), ask("a"))];
        record.status = TaskStatus::InputRequired;
        record.key = Some(RequestKey::new("key", "digest"));
        record.request = Some(json(r#"{"name":"t","arguments":{"large":12345678901234567890,"empty":[]}}"#));
        record.journal = vec![Entry::Step("s".to_owned(), json(r#"{"b":1.0,"a":[]}"#)), Entry::Input(answer.clone())];
        record.answers = vec![Answer::new("input-3", answer.ask, answer.response)];
    });
    let mut expected = full.clone();
    assert_eq!(store.insert(full, LONG).await.expect("the store answers"), None, "a new task is inserted");
    let found = get(store, &expected.id).await;
    let until = found.runner.as_ref().map_or(0, |runner| runner.until);
    assert!(until > store.now(), "`insert` starts the lease");
    expected.start_lease(until, NONE);
    assert_eq!(found, expected, "a task comes back as it was");
    assert_eq!(store.get(&expected.id.to_uppercase()).await.expect("the store answers"), None, "ids differ by case");
}

/// Answers wait for the runner in their order, and the first one counts.
pub(super) async fn mailbox(store: &dyn Store) {
    let id = add(store, LONG, |record| record.request = Some(json("{}"))).await;
    for key in ["a", "b", "c"] {
        change(store, &id, Some(1), Change::Asked(key.to_owned(), ask(key))).await.expect("it is opened");
    }
    assert_eq!(get(store, &id).await.status, TaskStatus::InputRequired);
    let answered = |key: &str, value: &str| Change::Answered(key.to_owned(), Response::Result(json(value)));
    for key in ["c", "a", "b"] {
        change(store, &id, None, answered(key, "1")).await.expect("it is answered");
        assert_eq!(change(store, &id, None, answered(key, "2")).await, None, "the first answer counts");
    }
    assert_eq!(change(store, &id, None, answered("d", "1")).await, None, "what was not asked is not answered");
    let record = get(store, &id).await;
    let arrived: Vec<_> = record.answers.iter().map(|answer| (&*answer.key, &answer.response)).collect();
    let one = Response::Result(json("1"));
    assert_eq!(arrived, [("c", &one), ("a", &one), ("b", &one)], "answers are in the order of arrival");
    assert_eq!(record.status, TaskStatus::Working, "a task whose requests are answered works");
    let taken = change(store, &id, Some(1), Change::Settled("a".to_owned())).await.expect("it is taken");
    assert_eq!(taken.answers.iter().map(|answer| &*answer.key).collect::<Vec<_>>(), ["c", "b"]);
    assert!(matches!(&taken.journal[..], [Entry::Input(answer)] if answer.key == "a"), "it is in the journal");
    assert_eq!(change(store, &id, Some(1), Change::Settled("a".to_owned())).await, None, "it is taken once");
}

/// What is over does not change.
pub(super) async fn end(store: &dyn Store) {
    let id = add(store, NONE, |record| record.request = Some(json("{}"))).await;
    let outcome = Finished::Result(json(r#"{"content":[]}"#), TaskStatus::Completed);
    let ended = change(store, &id, Some(1), Change::Finished(outcome.clone())).await.expect("it ends");
    assert_eq!((ended.status, ended.finished.as_ref()), (TaskStatus::Completed, Some(&outcome)));
    assert_eq!(get(store, &id).await, ended, "the change that is returned is the one that is stored");
    for late in [Change::Cancelled, Change::Message("late".to_owned()), Change::Step("s".to_owned(), json("1"))] {
        assert_eq!(change(store, &id, None, late).await, None, "a task that has ended does not change");
    }
    let claimed = store.claim(&id, "other", LONG).await.expect("the store answers");
    assert_eq!(claimed, None, "a task that has ended is not taken over");
    let lost = store.renew(&[(id.clone(), 1)], LONG).await.expect("the store answers");
    assert_eq!(lost, [&*id], "a task that has ended has no lease");
    assert_eq!(get(store, &id).await, ended);
}

/// Concurrent changes are all made.
pub(super) async fn concurrent_changes(store: &Arc<dyn Store>) {
    const EACH: usize = 25;
    let id = add(&**store, LONG, |record| record.request = Some(json("{}"))).await;
    let before = get(&**store, &id).await.revision;
    let writers = ["left", "right"].map(|name| {
        let (store, id) = (store.clone(), id.clone());
        tokio::spawn(async move {
            for n in 0..EACH {
                let step = Change::Step(format!("{name}-{n}"), json(&n.to_string()));
                change(&*store, &id, Some(1), step).await.expect("it changes");
                tokio::task::yield_now().await;
            }
        })
    });
    for writer in writers {
        writer.await.expect("the store takes changes");
    }
    let record = get(&**store, &id).await;
    assert_eq!(record.journal.len(), 2 * EACH, "no change is lost");
    assert_eq!(record.revision, before + 2 * EACH as u64, "each change has a revision");
    for name in ["left", "right"] {
        let own = record.journal.iter().filter_map(|entry| match entry {
            Entry::Step(step, _) => step.strip_prefix(name),
            _ => None,
        });
        let expected = (0..EACH).map(|n| format!("-{n}"));
        assert!(own.eq(expected), "the changes of one writer are in their order");
    }
}

/// Lists are in the order of creation, by owner.
pub(super) async fn lists(store: &dyn Store) {
    let (alice, bob) = (random("alice"), random("bob"));
    let mut ids = Vec::new();
    for n in 0..5 {
        ids.push(add(store, LONG, |record| record.owner = Some(alice.as_str().into())).await);
        if n == 2 {
            ids.push(add(store, LONG, |record| record.owner = Some(bob.as_str().into())).await);
        }
    }
    let of_bob = ids.remove(3);
    // A change does not move a task.
    change(store, &ids[0], None, Change::Cancelled).await.expect("it changes");
    let list = async |owner: &str, after: Option<&str>, most: usize| {
        let page = store.list(Some(owner), after, most).await.expect("the store answers");
        page.map(|page| page.into_iter().map(|record| record.id).collect::<Vec<_>>())
    };
    assert_eq!(list(&alice, None, 10).await.as_ref(), Some(&ids), "tasks are in the order of creation");
    assert_eq!(list(&alice, None, 2).await.as_deref(), Some(&ids[..2]));
    assert_eq!(list(&alice, Some(&ids[1]), 2).await.as_deref(), Some(&ids[2..4]));
    assert_eq!(list(&alice, Some(&ids[4]), 2).await.as_deref(), Some(&[][..]), "after the last one there is none");
    assert_eq!(list(&bob, None, 10).await, Some(vec![of_bob.clone()]), "an owner has its own tasks");
    assert_eq!(list(&random("carol"), None, 10).await, Some(vec![]));
    assert_eq!(list(&alice, Some("contract-unknown"), 2).await, None, "an unknown position is no page");
    assert_eq!(list(&alice, Some(&of_bob), 2).await, None, "another owner's task is no position");
}

/// Tasks that have expired are deleted, at the latest by `purge`; the others are not.
pub(super) async fn expiry(store: &dyn Store) {
    let owner: Arc<str> = random("expiry").into();
    let own = |record: &mut Record| record.owner = Some(owner.clone());
    let stays = add(store, LONG, own).await;
    let goes = add(store, LONG, |record| (record.ttl, record.owner) = (1, Some(owner.clone()))).await;
    gone(store, &goes).await;
    let page = store.list(Some(&owner), None, 10).await.expect("the store answers").expect("it has no position");
    assert_eq!(page.iter().map(|record| &record.id).collect::<Vec<_>>(), [&stays], "lists have no expired tasks");
}

/// Waits until a task that expires is deleted.
pub(super) async fn gone(store: &dyn Store, id: &str) {
    for _ in 0..2_000 {
        tokio::time::sleep(Duration::from_millis(5)).await;
        store.purge(unix_millis()).await.expect("the store answers");
        if store.get(id).await.expect("the store answers").is_none() {
            return;
        }
    }
    panic!("a task that has expired is deleted");
}

//! Tasks that replicas share.

use std::{future::pending, sync::Arc, time::Duration};

use couplet_redis::RedisTasks;
use couplet_tasks::{Change, Record, RequestKey, Runner, Store};
use couplet_testing::contract;

use crate::server::{Server, nowhere};

const HOUR: Duration = Duration::from_secs(3600);
const SOON: Duration = Duration::from_millis(1);

fn record(id: &str, owner: Option<&str>) -> Record {
    let mut record = Record::new(id, owner.map(Arc::from), 3_600_000, 500);
    record.runner = Some(Runner::first("one"));
    record
}

fn with_key(id: &str, owner: Option<&str>, key: &str) -> Record {
    let mut record = record(id, owner);
    record.key = Some(RequestKey::new(key, "digest"));
    record
}

fn message(number: u32) -> Change {
    Change::Message(number.to_string())
}

#[tokio::test]
async fn contract_of_tasks() {
    let Some(server) = Server::start().await else { return };
    let store = RedisTasks::new(&server.redis());
    contract::task_store(store.clone()).await;
    contract::task_watch(store).await;
    contract::task_store_away(&RedisTasks::new(&nowhere())).await;
}

#[tokio::test]
async fn tasks_keep_their_runners_when_the_server_is_full() {
    let Some(server) = Server::start().await else { return };
    let store = RedisTasks::new(&server.redis());
    store.insert(record("a", None), SOON).await.unwrap();
    server.fill().await;
    assert_eq!(store.renew(&[("a".to_owned(), 1)], HOUR).await.unwrap(), Vec::<String>::new());
    assert_eq!(store.claim("a", "two", HOUR).await.unwrap(), None, "the lease is valid");
    assert!(store.insert(record("b", None), HOUR).await.is_err());
}

#[tokio::test]
async fn contract_in_a_cluster() {
    let Some(server) = Server::cluster().await else { return };
    let store = RedisTasks::new(&server.redis());
    contract::task_store(store.clone()).await;
    contract::task_watch(store).await;
}

#[tokio::test]
async fn replicas_share_tasks() {
    let Some(server) = Server::start().await else { return };
    let (one, two) = (RedisTasks::new(&server.redis()), RedisTasks::new(&server.redis()));
    assert_eq!(two.get("a").await.unwrap(), None);
    assert_eq!(one.insert(record("a", Some("alice")), HOUR).await.unwrap(), None);
    let found = two.get("a").await.unwrap().unwrap();
    assert!(found.runner.as_ref().unwrap().until > two.now(), "its lease is valid");
    let changed = two.change("a", None, message(1)).await.unwrap().unwrap();
    assert_eq!(one.get("a").await.unwrap(), Some(changed));
    assert_eq!(two.change("a", Some(9), message(1)).await.unwrap(), None, "another runner");
    assert_eq!(two.change("b", None, message(1)).await.unwrap(), None, "no such task");
    assert!(two.change("a", None, Change::Cancelled).await.unwrap().is_some());
    assert_eq!(one.change("a", Some(1), message(2)).await.unwrap(), None, "it has ended");
    assert_eq!(one.renew(&[("a".into(), 1), ("a".into(), 0)], HOUR).await.unwrap(), ["a", "a"]);
    server.assert_all_expire("couplet:task").await;
}

#[tokio::test]
async fn no_change_is_lost() {
    let Some(server) = Server::start().await else { return };
    let store = RedisTasks::new(&server.redis());
    store.insert(record("a", None), HOUR).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..8 {
        let store = RedisTasks::new(&server.redis());
        tasks.spawn(async move {
            for _ in 0..5 {
                assert!(store.change("a", Some(1), message(number)).await.unwrap().is_some());
                assert!(store.renew(&[("a".into(), 1)], HOUR).await.unwrap().is_empty());
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    assert_eq!(store.get("a").await.unwrap().unwrap().revision, 41);
}

#[tokio::test]
async fn one_replica_takes_over() {
    let Some(server) = Server::start().await else { return };
    let store = RedisTasks::new(&server.redis());
    store.insert(record("a", None), HOUR).await.unwrap();
    assert_eq!(store.claim("a", "two", HOUR).await.unwrap(), None, "its runner lives");
    store.insert(record("b", None), SOON).await.unwrap();
    while store.get("b").await.unwrap().unwrap().runner.unwrap().until > store.now() {
        tokio::time::sleep(SOON).await;
    }
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..8 {
        let store = RedisTasks::new(&server.redis());
        tasks.spawn(async move { store.claim("b", &number.to_string(), HOUR).await.unwrap() });
    }
    let claimed: Vec<_> = tasks.join_all().await.into_iter().flatten().collect();
    assert_eq!(claimed.iter().map(Record::generation).collect::<Vec<_>>(), [2]);
    assert_eq!(store.change("b", Some(1), message(1)).await.unwrap(), None, "the old one is fenced");
    assert_eq!(store.renew(&[("b".into(), 1), ("b".into(), 2)], HOUR).await.unwrap(), ["b"]);
}

#[tokio::test]
async fn a_lease_is_either_extended_or_taken_over() {
    let Some(server) = Server::start().await else { return };
    let (one, two) = (RedisTasks::new(&server.redis()), RedisTasks::new(&server.redis()));
    for number in 0..200 {
        let id = number.to_string();
        one.insert(record(&id, None), Duration::ZERO).await.unwrap();
        let leases = [(id.clone(), 1)];
        // The renewal arrives between the reading and the writing of the other one, more often than not.
        let (claimed, lost) = tokio::join!(two.claim(&id, "two", HOUR), one.renew(&leases, HOUR));
        assert_eq!(lost.unwrap().is_empty(), claimed.unwrap().is_none(), "one of the two, in round {number}");
    }
}

#[tokio::test]
async fn a_key_has_one_task() {
    let Some(server) = Server::start().await else { return };
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..16 {
        let store = RedisTasks::new(&server.redis());
        tasks.spawn(async move {
            let id = format!("task-{number}");
            let existing = store.insert(with_key(&id, Some("alice"), "order"), HOUR).await.unwrap();
            existing.map_or(id, |existing| existing.id)
        });
    }
    let ids = tasks.join_all().await;
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    let store = RedisTasks::new(&server.redis());
    let listed = store.list(Some("alice"), None, 100).await.unwrap().unwrap();
    assert_eq!(listed.iter().map(|record| &record.id).collect::<Vec<_>>(), [&ids[0]], "the others are gone");
    for owner in [Some("bob"), Some(""), None] {
        let id = format!("of {owner:?}");
        assert_eq!(store.insert(with_key(&id, owner, "order"), HOUR).await.unwrap(), None, "{owner:?}");
    }
    let again = with_key(&ids[0], Some("alice"), "order");
    assert_eq!(store.insert(again, HOUR).await.unwrap(), None, "the same task, inserted again");
}

#[tokio::test]
async fn a_key_is_free_when_its_task_has_expired() {
    let Some(server) = Server::start().await else { return };
    let store = RedisTasks::new(&server.redis());
    store.insert(with_key("a", None, "order"), HOUR).await.unwrap();
    let keys: Vec<String> = server.command(&["KEYS", "couplet:task:*"]).await;
    let _: i64 = server.command(&["DEL", &keys[0]]).await;
    assert_eq!(store.insert(with_key("b", None, "order"), HOUR).await.unwrap(), None);
    let existing = store.insert(with_key("c", None, "order"), HOUR).await.unwrap();
    assert_eq!(existing.map(|existing| existing.id).as_deref(), Some("b"));
}

#[tokio::test]
async fn tasks_are_listed_by_owner() {
    let Some(server) = Server::start().await else { return };
    let store = RedisTasks::new(&server.redis());
    for number in 0..600 {
        store.insert(record(&number.to_string(), Some("alice")), HOUR).await.unwrap();
    }
    store.insert(record("bob's", Some("bob")), HOUR).await.unwrap();
    store.insert(record("without owner", None), HOUR).await.unwrap();
    let list = async |owner, after, most| {
        let found = store.list(owner, after, most).await.unwrap();
        found.map(|found| found.into_iter().map(|record| record.id).collect::<Vec<_>>())
    };
    let numbers = |from: u32, to: u32| Some((from..to).map(|number| number.to_string()).collect::<Vec<_>>());
    assert_eq!(list(Some("alice"), None, 3).await, numbers(0, 3));
    assert_eq!(list(Some("alice"), Some("2"), 3).await, numbers(3, 6));
    assert_eq!(list(Some("alice"), None, 1000).await, numbers(0, 600));
    assert_eq!(list(Some("alice"), Some("599"), 3).await, numbers(0, 0));
    assert_eq!(list(Some("alice"), None, 0).await, numbers(0, 0));
    assert_eq!(list(Some("alice"), Some("bob's"), 3).await, None);
    assert_eq!(list(Some("bob"), None, 3).await, Some(vec!["bob's".into()]));
    assert_eq!(list(None, None, 3).await, Some(vec!["without owner".into()]));
    assert_eq!(list(Some("carol"), None, 3).await, Some(vec![]));
}

#[tokio::test]
async fn the_order_survives_a_clock_that_is_set_back() {
    let Some(server) = Server::start().await else { return };
    let store = RedisTasks::new(&server.redis());
    store.insert(record("a", None), HOUR).await.unwrap();
    let keys: Vec<String> = server.command(&["KEYS", "couplet:tasks:*}"]).await;
    let members: Vec<String> = server.command(&["ZRANGE", &keys[0], "0", "-1"]).await;
    let _: i64 = server.command(&["ZADD", &keys[0], "XX", "8000000000000000", &members[0]]).await;
    store.insert(record("b", None), HOUR).await.unwrap();
    let listed = store.list(None, None, 9).await.unwrap().unwrap();
    assert_eq!(listed.iter().map(|record| &*record.id).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(store.list(None, Some("a"), 9).await.unwrap().unwrap().len(), 1);
}

#[tokio::test]
async fn expired_tasks_are_gone_from_the_list() {
    let Some(server) = Server::start().await else { return };
    let store = RedisTasks::new(&server.redis());
    let mut brief = record("brief", None);
    brief.ttl = 1;
    store.insert(brief, HOUR).await.unwrap();
    while store.get("brief").await.unwrap().is_some() {
        tokio::time::sleep(SOON).await;
    }
    store.insert(record("long", None), HOUR).await.unwrap();
    let listed = store.list(None, None, 10).await.unwrap().unwrap();
    assert_eq!(listed.iter().map(|record| &*record.id).collect::<Vec<_>>(), ["long"]);
    let keys: Vec<String> = server.command(&["KEYS", "couplet:tasks:*:expiry"]).await;
    let members: Vec<String> = server.command(&["ZRANGE", &keys[0], "0", "-1"]).await;
    assert_eq!(members.len(), 1, "the index has shrunk");
}

#[tokio::test]
async fn watchers_on_other_replicas_are_notified() {
    let Some(server) = Server::start().await else { return };
    let (one, two) = (RedisTasks::new(&server.redis()), RedisTasks::new(&server.redis()));
    one.insert(record("a", None), HOUR).await.unwrap();
    one.insert(record("b", None), HOUR).await.unwrap();
    two.watch("a", 9).await.unwrap();
    two.watch("unknown", 1).await.unwrap();
    for revision in 1..4 {
        let changes = async {
            one.change("b", None, message(1)).await.unwrap();
            tokio::task::yield_now().await;
            one.change("a", None, message(1)).await.unwrap();
            pending::<()>().await;
        };
        tokio::select! {
            watched = two.watch("a", revision) => watched.unwrap(),
            () = changes => {}
        }
        assert_eq!(two.get("a").await.unwrap().unwrap().revision, revision + 1);
    }
}

#[tokio::test]
async fn a_watcher_learns_of_a_lost_server() {
    let Some(mut server) = Server::start().await else { return };
    let store = RedisTasks::new(&server.redis());
    store.insert(record("a", None), HOUR).await.unwrap();
    let watcher = tokio::spawn({
        let store = store.clone();
        async move { store.watch("a", 1).await }
    });
    loop {
        let list: String = server.command(&["CLIENT", "LIST", "TYPE", "pubsub"]).await;
        if !list.is_empty() {
            break;
        }
        tokio::time::sleep(SOON).await;
    }
    server.kill();
    assert!(watcher.await.unwrap().is_err());
    server.run().await.unwrap();
    store.watch("a", 1).await.expect("an empty server has no such task");
}

#[tokio::test]
async fn nothing_is_stored_in_plain_text() {
    let Some(server) = Server::start().await else { return };
    let store = RedisTasks::new(&server.redis());
    store.insert(with_key("task-id", Some("alice"), "order-1"), HOUR).await.unwrap();
    store.change("task-id", None, Change::Message("secret".into())).await.unwrap();
    let mut all = Vec::new();
    let keys: Vec<String> = server.command(&["KEYS", "*"]).await;
    assert_eq!(keys.len(), 4, "{keys:?}");
    for key in keys {
        let dump: Vec<u8> = server.command(&["DUMP", &key]).await;
        all.extend_from_slice(key.as_bytes());
        all.extend_from_slice(&dump);
    }
    for secret in ["task-id", "alice", "order-1", "secret"] {
        assert!(!all.windows(secret.len()).any(|bytes| bytes == secret.as_bytes()), "{secret}");
    }
}

//! Sessions that replicas share.

use std::{sync::Arc, time::Duration};

use couplet_core::{ErrorKind, Outage};
use couplet_http::server::{Claim, Node, Renewed, SessionRecord, SessionStore};
use couplet_redis::RedisSessions;
use couplet_testing::contract;

use crate::server::{Server, nowhere};

const HOUR: Duration = Duration::from_secs(3600);

fn record(id: &str) -> SessionRecord {
    SessionRecord::new(id, Some("alice".into()), "{\"opening\":true}".into()).opened(7)
}

#[tokio::test]
async fn contract_of_sessions() {
    let Some(server) = Server::start().await else { return };
    let store = RedisSessions::new(&server.redis());
    contract::session_store(&store).await;
    contract::session_expiry(&store.lifetime(Duration::from_millis(1))).await;
    contract::session_store_away(&RedisSessions::new(&nowhere())).await;
}

#[tokio::test]
async fn contract_in_a_cluster() {
    let Some(server) = Server::cluster().await else { return };
    contract::session_store(&RedisSessions::new(&server.redis())).await;
}

#[tokio::test]
async fn one_replica_takes_over() {
    let Some(server) = Server::start().await else { return };
    let store = RedisSessions::new(&server.redis());
    let dead = Node::new("dead");
    store.create(record("a"), &dead, Duration::from_millis(1)).await.unwrap();
    while store.load("a").await.unwrap().unwrap().1.is_some() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..16 {
        let store = RedisSessions::new(&server.redis());
        tasks.spawn(async move {
            let node = Node::new(number.to_string()).with_url(format!("http://10.0.0.{number}/mcp"));
            store.claim("a", &node, HOUR).await.unwrap()
        });
    }
    let claims = tasks.join_all().await;
    let owned: Vec<_> =
        claims.iter().filter(|claim| matches!(claim, Claim::Owned(found, 2) if *found == record("a"))).collect();
    let elsewhere = claims.iter().filter_map(|claim| match claim {
        Claim::Elsewhere(node) => Some(node.clone()),
        _ => None,
    });
    let elsewhere: Vec<Node> = elsewhere.collect();
    assert_eq!((owned.len(), elsewhere.len()), (1, 15), "{claims:?}");
    assert!(elsewhere.iter().all(|node| *node == elsewhere[0] && node.url.is_some()));
    assert!(!store.remember("a", 1, "{}".into()).await.unwrap(), "the dead one is fenced");
    server.assert_all_expire("couplet:session:{").await;
}

#[tokio::test]
async fn many_leases_are_renewed_at_once() {
    let Some(server) = Server::start().await else { return };
    let store = RedisSessions::new(&server.redis());
    let node = Node::new("one");
    let mut owned: Vec<(Arc<str>, u64)> = Vec::new();
    for number in 0..600 {
        let id: Arc<str> = number.to_string().into();
        owned.push((id.clone(), store.create(record(&id), &node, HOUR).await.unwrap()));
    }
    assert_eq!(store.renew(&owned, &node, HOUR).await.unwrap(), Renewed::default());
    assert!(store.remove("7").await.unwrap());
    store.claim("599", &node, HOUR).await.unwrap();
    let lost = vec!["7".into(), "599".into()];
    let expected = Renewed { lost, ..Renewed::default() };
    assert_eq!(store.renew(&owned, &node, HOUR).await.unwrap(), expected);
    assert_eq!(store.renew(&[], &node, HOUR).await.unwrap(), Renewed::default());
}

#[tokio::test]
async fn nothing_is_stored_in_plain_text() {
    let Some(server) = Server::start().await else { return };
    let store = RedisSessions::new(&server.redis());
    let node = Node::new("one").with_url("http://10.0.0.1/mcp");
    store.create(record("session-id").with_memory(Some("remembered".into())), &node, HOUR).await.unwrap();
    let keys: Vec<String> = server.command(&["KEYS", "*"]).await;
    let fields: Vec<Vec<u8>> = server.command(&["HVALS", &keys[0]]).await;
    let all = [keys[0].as_bytes(), &fields.concat()].concat();
    for secret in ["session-id", "alice", "opening", "remembered", "10.0.0.1"] {
        assert!(!all.windows(secret.len()).any(|bytes| bytes == secret.as_bytes()), "{secret}");
    }
}

#[tokio::test]
async fn a_restarted_empty_server_has_no_sessions() {
    let Some(mut server) = Server::start().await else { return };
    let store = RedisSessions::new(&server.redis());
    let node = Node::new("one");
    let generation = store.create(record("a"), &node, HOUR).await.unwrap();
    server.kill();
    assert_eq!(store.load("a").await.unwrap_err().kind(), ErrorKind::Transport);
    server.run().await.unwrap();
    assert_eq!(store.load("a").await.unwrap(), None);
    assert_eq!(store.renew(&[("a".into(), generation)], &node, HOUR).await.unwrap().lost, [Arc::<str>::from("a")]);
    assert!(!store.remember("a", generation, "{}".into()).await.unwrap());
    assert!(matches!(store.claim("a", &node, HOUR).await.unwrap(), Claim::Missing));
}

#[tokio::test]
async fn a_value_of_another_type_is_a_clear_error() {
    let Some(server) = Server::start().await else { return };
    let store = RedisSessions::new(&server.redis());
    store.create(record("a"), &Node::new("one"), HOUR).await.unwrap();
    let keys: Vec<String> = server.command(&["KEYS", "*"]).await;
    let _: i64 = server.command(&["HSET", &keys[0], "record", "\u{2}newer"]).await;
    let error = store.load("a").await.unwrap_err();
    assert!(error.to_string().contains("has version 2"), "{error}");
    let _: String = server.command(&["SET", &keys[0], "a string"]).await;
    let error = store.load("a").await.unwrap_err();
    assert!(error.to_string().ends_with("has a value of another type under a key; use another prefix"), "{error}");
    let error = store.claim("a", &Node::new("one"), HOUR).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
}

#[tokio::test]
async fn a_full_server_is_a_clear_error() {
    let Some(server) = Server::with(&["--maxmemory", "1", "--maxmemory-policy", "noeviction"]).await else { return };
    let store = RedisSessions::new(&server.redis());
    let error = store.create(record("a"), &Node::new("one"), HOUR).await.unwrap_err();
    assert!(error.to_string().ends_with("is out of memory: raise its `maxmemory`"), "{error}");
    assert!(Outage::is_outage(&error), "it is logged once, and not for each request");
    assert_eq!(store.load("a").await.unwrap(), None, "reading works");
}

#[tokio::test]
async fn sessions_go_on_when_the_server_is_full() {
    let Some(server) = Server::start().await else { return };
    let (store, one, two) = (RedisSessions::new(&server.redis()), Node::new("one"), Node::new("two"));
    for id in ["a", "b"] {
        store.create(record(id), &one, HOUR).await.unwrap();
    }
    server.fill().await;
    let renewed = store.renew(&[("a".into(), 1), ("b".into(), 1), ("c".into(), 1)], &one, HOUR).await.unwrap();
    assert_eq!(renewed.lost, [Arc::<str>::from("c")]);
    store.release("a", 1).await.unwrap();
    assert_eq!(store.claim("a", &two, HOUR).await.unwrap(), Claim::Owned(record("a"), 2));
    let error = store.create(record("c"), &one, HOUR).await.unwrap_err();
    assert!(error.to_string().contains("out of memory"), "{error}");
}

#[tokio::test]
async fn a_session_that_is_created_again_has_no_state() {
    let Some(server) = Server::start().await else { return };
    let store = RedisSessions::new(&server.redis());
    let node = Node::new("one");
    let first = store.create(record("a").with_memory(Some("{}".into())), &node, HOUR).await.unwrap();
    let second = store.create(record("a"), &node, HOUR).await.unwrap();
    assert!(second > first, "the earlier generation is over");
    assert_eq!(store.load("a").await.unwrap(), Some((record("a"), Some(node))));
}

#[tokio::test]
async fn a_demoted_primary_is_a_clear_error() {
    let Some(server) = Server::start().await else { return };
    let store = RedisSessions::new(&server.redis());
    let node = Node::new("one");
    store.create(record("a"), &node, HOUR).await.unwrap();
    let _: String = server.command(&["REPLICAOF", "127.0.0.1", "1"]).await;
    let error = store.create(record("b"), &node, HOUR).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport, "{error}");
    assert!(error.to_string().ends_with("is a read-only replica; the URL must lead to the primary"), "{error}");
    let _: String = server.command(&["REPLICAOF", "NO", "ONE"]).await;
    store.create(record("b"), &node, HOUR).await.unwrap();
}

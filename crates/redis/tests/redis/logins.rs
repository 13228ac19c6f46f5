//! RedisLogins that replicas of a client share.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use couplet_auth::client::Store;
use couplet_core::ErrorKind;
use couplet_redis::{Redis, RedisLogins};
use couplet_testing::contract;

use crate::server::{KEY, Server, nowhere};

async fn found(store: &dyn Store, key: &str) -> Option<String> {
    store.load(key).await.unwrap().map(|secret| secret.reveal().to_owned())
}

#[tokio::test]
async fn contract_of_logins() {
    let Some(server) = Server::start().await else { return };
    let (one, two) = (RedisLogins::new(&server.redis()), RedisLogins::new(&server.redis()));
    contract::login_store(&one, &two).await;
    contract::login_lock(&one, &two).await;
    contract::login_store_away(&RedisLogins::new(&nowhere())).await;
}

#[tokio::test]
async fn contract_in_a_cluster() {
    let Some(server) = Server::cluster().await else { return };
    let (one, two) = (RedisLogins::new(&server.redis()), RedisLogins::new(&server.redis()));
    contract::login_store(&one, &two).await;
    contract::login_lock(&one, &two).await;
}

#[tokio::test]
async fn replicas_share_logins() {
    let Some(server) = Server::start().await else { return };
    let (one, two) = (RedisLogins::new(&server.redis()), RedisLogins::new(&server.redis()));
    assert_eq!(found(&one, "https://a.example token").await, None);
    one.save("https://a.example token", Some("secret".into())).await.unwrap();
    one.save("https://b.example token", Some("other".into())).await.unwrap();
    assert_eq!(found(&two, "https://a.example token").await.as_deref(), Some("secret"));
    two.save("https://a.example token", Some("newer".into())).await.unwrap();
    assert_eq!(found(&one, "https://a.example token").await.as_deref(), Some("newer"));
    server.assert_all_expire("couplet:login:{").await;
    two.save("https://a.example token", None).await.unwrap();
    assert_eq!(found(&one, "https://a.example token").await, None);
    assert_eq!(found(&one, "https://b.example token").await.as_deref(), Some("other"));
}

#[tokio::test]
async fn nothing_is_stored_in_plain_text() {
    let Some(server) = Server::start().await else { return };
    RedisLogins::new(&server.redis()).save("https://a.example", Some("secret".into())).await.unwrap();
    let keys: Vec<String> = server.command(&["KEYS", "*"]).await;
    let [key] = &keys[..] else { panic!("{keys:?}") };
    let value: Vec<u8> = server.command(&["GET", key]).await;
    assert!(!key.contains("a.example"), "{key}");
    assert!(!value.windows(6).any(|bytes| bytes == b"secret"));
    let other = Redis::new(&server.url(), [8; 32]).unwrap();
    let error = RedisLogins::new(&other).load("https://a.example").await.unwrap_err();
    assert!(
        error.to_string().ends_with("is sealed with a key that is not configured: add it with `also_opens`"),
        "{error}"
    );
}

#[tokio::test]
async fn one_process_refreshes_at_a_time() {
    let Some(server) = Server::start().await else { return };
    let inside = Arc::new(AtomicU32::new(0));
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let (store, inside) = (RedisLogins::new(&server.redis()), inside.clone());
        tasks.spawn(async move {
            for _ in 0..3 {
                let lock = store.lock("https://a.example").await.unwrap();
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                tokio::task::yield_now().await;
                store.load("anything").await.unwrap();
                assert_eq!(inside.fetch_sub(1, Ordering::SeqCst), 1);
                drop(lock);
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    let store = RedisLogins::new(&server.redis());
    let _one = store.lock("https://a.example").await.unwrap();
    let _two = store.lock("https://b.example").await.unwrap();
    server.assert_all_expire("couplet:lock:{").await;
}

#[tokio::test]
async fn values_that_cannot_be_opened_are_errors() {
    let Some(server) = Server::start().await else { return };
    let store = RedisLogins::new(&server.redis());
    store.save("a", Some("secret".into())).await.unwrap();
    let keys: Vec<String> = server.command(&["KEYS", "*"]).await;
    for (value, expected) in [
        ("\u{2}newer", "has version 2, and this release reads 1: update all replicas"),
        ("\u{1}short", "was not written by this library, or was changed"),
        ("", "is empty"),
    ] {
        let _: String = server.command(&["SET", &keys[0], value]).await;
        let error = store.load("a").await.unwrap_err();
        assert!(error.kind() == ErrorKind::Config && error.to_string().ends_with(expected), "{error}");
    }
    let _: i64 = server.command(&["DEL", &keys[0]]).await;
    let _: i64 = server.command(&["LPUSH", &keys[0], "of another type"]).await;
    let error = store.load("a").await.unwrap_err();
    assert!(error.to_string().ends_with("has a value of another type under a key; use another prefix"), "{error}");
    assert_eq!(error.kind(), ErrorKind::Config);
}

#[tokio::test]
async fn prefixes_are_apart() {
    let Some(server) = Server::start().await else { return };
    let (one, two) =
        (server.builder().prefix("one:").build().unwrap(), server.builder().prefix("two:").build().unwrap());
    let (one, two) = (RedisLogins::new(&one), RedisLogins::new(&two));
    one.save("a", Some("secret".into())).await.unwrap();
    assert_eq!(found(&two, "a").await, None);
    server.assert_all_expire("one:login:{").await;
}

#[tokio::test]
async fn a_full_server_is_a_clear_error() {
    let Some(server) = Server::with(&["--maxmemory", "1", "--maxmemory-policy", "noeviction"]).await else { return };
    let error = RedisLogins::new(&server.redis()).save("a", Some("secret".into())).await.unwrap_err();
    assert!(error.to_string().ends_with("is out of memory: raise its `maxmemory`"), "{error}");
}

#[tokio::test]
async fn a_hanging_server_does_not_hang_a_login() {
    let Some(server) = Server::start().await else { return };
    let redis = Redis::builder(&server.url(), KEY).timeout(Duration::from_millis(100)).build().unwrap();
    let store = RedisLogins::new(&redis);
    server.signal("STOP");
    for error in [store.load("a").await.err(), store.lock("a").await.err()] {
        assert_eq!(error.unwrap().kind(), ErrorKind::Timeout);
    }
    server.signal("CONT");
}

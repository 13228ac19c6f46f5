//! Outcomes of calls with an idempotency key.

use std::time::Duration;

use couplet_core::ErrorKind;
use couplet_redis::RedisOutcomes;
use couplet_server::outcomes::{Begun, OutcomeKey, OutcomeStore};
use couplet_testing::contract;

use crate::server::{Server, nowhere};

const HOUR: Duration = Duration::from_secs(3600);
const SOON: Duration = Duration::from_millis(1);

fn key() -> OutcomeKey {
    OutcomeKey::new(Some("alice".into()), "order-1")
}

#[tokio::test]
async fn contract_of_outcomes() {
    let Some(server) = Server::start().await else { return };
    contract::outcome_store(&RedisOutcomes::new(&server.redis())).await;
    contract::outcome_store_away(&RedisOutcomes::new(&nowhere())).await;
}

#[tokio::test]
async fn contract_in_a_cluster() {
    let Some(server) = Server::cluster().await else { return };
    contract::outcome_store(&RedisOutcomes::new(&server.redis())).await;
}

#[tokio::test]
async fn a_running_call_keeps_its_lease_when_the_server_is_full() {
    let Some(server) = Server::start().await else { return };
    let store = RedisOutcomes::new(&server.redis());
    let Begun::First(token) = store.begin(&key(), [1; 32], HOUR, HOUR).await.unwrap() else { panic!() };
    server.fill().await;
    assert!(store.renew(&key(), token, HOUR).await.unwrap());
    let other = OutcomeKey::new(Some("alice".into()), "order-2");
    assert!(store.begin(&other, [1; 32], HOUR, HOUR).await.is_err());
}

#[tokio::test]
async fn one_replica_executes_a_call() {
    let Some(server) = Server::start().await else { return };
    let (one, two) = (RedisOutcomes::new(&server.redis()), RedisOutcomes::new(&server.redis()));
    let Begun::First(token) = one.begin(&key(), [1; 32], HOUR, HOUR).await.unwrap() else { panic!() };
    assert_eq!(two.begin(&key(), [1; 32], HOUR, HOUR).await.unwrap(), Begun::Running);
    assert_eq!(two.begin(&key(), [2; 32], HOUR, HOUR).await.unwrap(), Begun::Different);
    assert!(one.renew(&key(), token, HOUR).await.unwrap());
    assert!(!two.renew(&key(), token ^ 1, HOUR).await.unwrap());
    assert!(!two.finish(&key(), token ^ 1, "forged".into(), HOUR).await.unwrap());
    assert!(one.finish(&key(), token, "paid".into(), HOUR).await.unwrap());
    assert!(!one.finish(&key(), token, "paid again".into(), HOUR).await.unwrap());
    one.abandon(&key(), token).await.unwrap();
    assert_eq!(two.begin(&key(), [1; 32], HOUR, HOUR).await.unwrap(), Begun::Done("paid".into()));
    server.assert_all_expire("couplet:outcome:{").await;
}

#[tokio::test]
async fn a_dead_executor_is_unknown() {
    let Some(server) = Server::start().await else { return };
    let store = RedisOutcomes::new(&server.redis());
    let Begun::First(token) = store.begin(&key(), [1; 32], SOON, HOUR).await.unwrap() else { panic!() };
    while store.begin(&key(), [1; 32], HOUR, HOUR).await.unwrap() == Begun::Running {
        tokio::time::sleep(SOON).await;
    }
    assert_eq!(store.begin(&key(), [1; 32], HOUR, HOUR).await.unwrap(), Begun::Unknown);
    assert!(store.renew(&key(), token, HOUR).await.unwrap(), "it was alive after all");
    assert_eq!(store.begin(&key(), [1; 32], HOUR, HOUR).await.unwrap(), Begun::Running);
    store.abandon(&key(), token).await.unwrap();
    assert!(matches!(store.begin(&key(), [1; 32], HOUR, HOUR).await.unwrap(), Begun::First(other) if other != token));
}

#[tokio::test]
async fn a_running_call_outlives_the_lifetime_of_its_record() {
    let Some(server) = Server::start().await else { return };
    let store = RedisOutcomes::new(&server.redis());
    let Begun::First(token) = store.begin(&key(), [1; 32], HOUR, HOUR / 60).await.unwrap() else { panic!() };
    assert!(store.renew(&key(), token, HOUR).await.unwrap());
    let keys: Vec<String> = server.command(&["KEYS", "*"]).await;
    let left: u64 = server.command(&["PTTL", &keys[0]]).await;
    assert!(Duration::from_millis(left) > HOUR / 2, "{left} ms");
}

#[tokio::test]
async fn many_replicas_begin_at_once() {
    let Some(server) = Server::start().await else { return };
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let store = RedisOutcomes::new(&server.redis());
        tasks.spawn(async move { store.begin(&key(), [1; 32], HOUR, HOUR).await.unwrap() });
    }
    let begun = tasks.join_all().await;
    assert_eq!(begun.iter().filter(|begun| matches!(begun, Begun::First(_))).count(), 1);
    assert_eq!(begun.iter().filter(|begun| **begun == Begun::Running).count(), 15);
}

#[tokio::test]
async fn a_lost_server_is_an_error_and_not_a_first_call() {
    let Some(mut server) = Server::start().await else { return };
    let store = RedisOutcomes::new(&server.redis());
    let Begun::First(token) = store.begin(&key(), [1; 32], HOUR, HOUR).await.unwrap() else { panic!() };
    server.kill();
    assert_eq!(store.begin(&key(), [1; 32], HOUR, HOUR).await.unwrap_err().kind(), ErrorKind::Transport);
    assert_eq!(store.finish(&key(), token, "paid".into(), HOUR).await.unwrap_err().kind(), ErrorKind::Transport);
    server.run().await.unwrap();
    assert!(!store.finish(&key(), token, "paid".into(), HOUR).await.unwrap(), "an empty server has no record");
}

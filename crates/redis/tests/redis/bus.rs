//! Changes between replicas.

use std::time::Duration;

use couplet_core::{ChangeBus, ErrorKind};
use couplet_redis::{Redis, RedisBus};
use couplet_testing::contract;

use crate::server::{Server, nowhere};

#[tokio::test]
async fn contract_of_a_bus() {
    let Some(server) = Server::start().await else { return };
    contract::change_bus(&RedisBus::new(&server.redis()), &RedisBus::new(&server.redis())).await;
    let cut = async || {
        let _: i64 = server.command(&["CLIENT", "KILL", "TYPE", "pubsub"]).await;
    };
    contract::change_bus_cut(&RedisBus::new(&server.redis()), cut).await;
    contract::change_bus_away(&RedisBus::new(&nowhere())).await;
}

#[tokio::test]
async fn contract_in_a_cluster() {
    let Some(server) = Server::cluster().await else { return };
    contract::change_bus(&RedisBus::new(&server.redis()), &RedisBus::new(&server.redis())).await;
}

#[tokio::test]
async fn a_server_that_hangs_ends_the_subscription() {
    let Some(server) = Server::start().await else { return };
    let mut subscription = RedisBus::new(&server.redis()).subscribe().await.unwrap();
    server.signal("STOP");
    // From here on, time is what is waited for.
    tokio::time::pause();
    assert_eq!(subscription.next().await.unwrap_err().kind(), ErrorKind::Timeout);
    server.signal("CONT");
}

#[tokio::test]
async fn a_quiet_subscription_goes_on() {
    let Some(server) = Server::start().await else { return };
    let bus = RedisBus::new(&server.redis());
    let mut subscription = bus.subscribe().await.unwrap();
    for _ in 0..3 {
        tokio::time::pause();
        assert!(tokio::time::timeout(Duration::from_secs(9), subscription.next()).await.is_err());
        tokio::time::advance(Duration::from_secs(2)).await;
        tokio::time::resume();
        bus.publish("a".into()).await.unwrap();
        assert_eq!(subscription.next().await.unwrap(), "a");
    }
}

#[tokio::test]
async fn replicas_hear_of_changes() {
    let Some(server) = Server::start().await else { return };
    let (one, two) = (RedisBus::new(&server.redis()), RedisBus::new(&server.redis()));
    let mut first = one.subscribe().await.unwrap();
    let mut second = two.subscribe().await.unwrap();
    for text in ["a", "b", "", "c"] {
        one.publish(text.into()).await.unwrap();
    }
    for subscription in [&mut first, &mut second] {
        for text in ["a", "b", "", "c"] {
            assert_eq!(subscription.next().await.unwrap(), text);
        }
    }
}

#[tokio::test]
async fn a_cancelled_wait_loses_nothing() {
    let Some(server) = Server::start().await else { return };
    let bus = RedisBus::new(&server.redis());
    let mut subscription = bus.subscribe().await.unwrap();
    for number in 0..20 {
        let _ = tokio::time::timeout(Duration::ZERO, subscription.next()).await;
        bus.publish(number.to_string().into()).await.unwrap();
        assert_eq!(subscription.next().await.unwrap(), number.to_string());
    }
}

#[tokio::test]
async fn prefixes_are_apart() {
    let Some(server) = Server::start().await else { return };
    let bus = |prefix| RedisBus::new(&server.builder().prefix(prefix).build().unwrap());
    let (one, two) = (bus("one:"), bus("two:"));
    let mut subscription = one.subscribe().await.unwrap();
    two.publish("of another server".into()).await.unwrap();
    one.publish("of this server".into()).await.unwrap();
    assert_eq!(subscription.next().await.unwrap(), "of this server");
}

#[tokio::test]
async fn a_gap_ends_the_subscription() {
    let Some(mut server) = Server::start().await else { return };
    let bus = RedisBus::new(&server.redis());
    let mut cut = bus.subscribe().await.unwrap();
    let _: i64 = server.command(&["CLIENT", "KILL", "TYPE", "pubsub"]).await;
    assert_eq!(cut.next().await.unwrap_err().kind(), ErrorKind::Closed);

    let mut killed = bus.subscribe().await.unwrap();
    server.kill();
    assert_eq!(killed.next().await.unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(bus.publish("a".into()).await.unwrap_err().kind(), ErrorKind::Transport);
    assert_eq!(bus.subscribe().await.err().unwrap().kind(), ErrorKind::Transport);

    server.run().await.unwrap();
    let mut again = bus.subscribe().await.unwrap();
    bus.publish("a".into()).await.unwrap();
    assert_eq!(again.next().await.unwrap(), "a");
}

#[tokio::test]
async fn a_slow_subscriber_learns_of_its_loss() {
    let Some(server) = Server::start().await else { return };
    let bus = RedisBus::new(&server.redis());
    let mut subscription = bus.subscribe().await.unwrap();
    for number in 0..2000 {
        bus.publish(number.to_string().into()).await.unwrap();
    }
    let mut next = 0;
    while let Ok(message) = subscription.next().await {
        assert_eq!(message, next.to_string(), "no gap before the end");
        next += 1;
    }
    assert!((1..2000).contains(&next), "{next}");
}

#[tokio::test]
async fn messages_are_sealed() {
    let Some(server) = Server::start().await else { return };
    let bus = RedisBus::new(&server.redis());
    let mut subscription = bus.subscribe().await.unwrap();
    let stranger = RedisBus::new(&Redis::new(&server.url(), [8; 32]).unwrap());
    stranger.publish("forged".into()).await.unwrap();
    assert_eq!(subscription.next().await.unwrap_err().kind(), ErrorKind::Config);
}

#[tokio::test]
async fn a_dropped_subscription_closes_its_connection() {
    let Some(server) = Server::start().await else { return };
    let bus = RedisBus::new(&server.redis());
    let subscribers = async || {
        let list: String = server.command(&["CLIENT", "LIST", "TYPE", "pubsub"]).await;
        list.lines().count()
    };
    let subscription = bus.subscribe().await.unwrap();
    assert_eq!(subscribers().await, 1);
    drop(subscription);
    while subscribers().await > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

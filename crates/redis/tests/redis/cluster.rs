//! A cluster of several nodes.

use std::{sync::Arc, time::Duration};

use couplet_core::ErrorKind;
use couplet_http::server::{Node, SessionRecord, SessionStore};
use couplet_redis::{Redis, RedisBus, RedisEvents, RedisLimits, RedisOutcomes, RedisSessions, RedisTasks, Taken};
use couplet_testing::contract;

use crate::server::{KEY, Server, free_port};

const HOUR: Duration = Duration::from_secs(3600);
/// The last slots of three nodes.
const LAST: [u16; 3] = [5460, 10_922, 16_383];

fn record(id: &str) -> SessionRecord {
    SessionRecord::new(id, None, "{}".into()).opened(7)
}

/// A node, and its port.
struct Member {
    server: Server,
    port: String,
    id: String,
}

impl Member {
    async fn start() -> Option<Self> {
        let (port, bus) = (free_port(), free_port());
        let options = ["--port", &port, "--cluster-enabled", "yes", "--cluster-port", &bus];
        let times = ["--cluster-node-timeout", "1000", "--repl-diskless-sync-delay", "0"];
        let server = Server::with(&[&options[..], &times].concat()).await?;
        let id = server.command(&["CLUSTER", "MYID"]).await;
        let member = Self { server, port, id };
        // Where the others find it.
        let _: String = member.server.command(&["CONFIG", "SET", "cluster-announce-ip", "127.0.0.1"]).await;
        Some(member)
    }

    async fn meet(&self, other: &Self) {
        let bus: Vec<String> = other.server.command(&["CONFIG", "GET", "cluster-port"]).await;
        let _: String = self.server.command(&["CLUSTER", "MEET", "127.0.0.1", &other.port, &bus[1]]).await;
    }

    async fn says(&self, command: &[&str], what: &str) -> bool {
        self.server.command::<String>(command).await.contains(what)
    }
}

/// Three primaries, and replicas of the first one.
async fn cluster(replicas: usize) -> Option<Vec<Member>> {
    let mut members = Vec::new();
    for at in 0..3 + replicas {
        let member = Member::start().await?;
        let epoch = (at + 1).to_string();
        let _: String = member.server.command(&["CLUSTER", "SET-CONFIG-EPOCH", &epoch]).await;
        if let Some(last) = LAST.get(at) {
            let first = if at == 0 { 0 } else { LAST[at - 1] + 1 };
            let range = ["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &last.to_string()];
            let _: String = member.server.command(&range).await;
        }
        members.push(member);
    }
    for other in &members[1..] {
        members[0].meet(other).await;
    }
    let known = format!("cluster_known_nodes:{}", members.len());
    for member in &members {
        until(async || {
            member.says(&["CLUSTER", "INFO"], &known).await && member.says(&["CLUSTER", "INFO"], "state:ok").await
        })
        .await;
    }
    for replica in &members[3..] {
        let _: String = replica.server.command(&["CLUSTER", "REPLICATE", &members[0].id]).await;
        until(async || replica.says(&["INFO", "replication"], "master_link_status:up").await).await;
        let line = format!("slave {}", members[0].id);
        until(async || members[1].says(&["CLUSTER", "NODES"], &line).await).await;
    }
    Some(members)
}

/// Waits; a cluster that is not ready after half a minute is broken.
async fn until(is_so: impl AsyncFn() -> bool) {
    for _ in 0..3000 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the cluster is not ready");
}

/// The library's connection, which knows some nodes.
fn redis(members: &[&Member]) -> Redis {
    let hosts: Vec<_> = members.iter().map(|member| format!("127.0.0.1:{}", member.port)).collect();
    let url = format!("redis+cluster://{}", hosts.join(","));
    Redis::builder(&url, KEY).timeout(Duration::from_secs(30)).build().unwrap()
}

#[tokio::test]
async fn contracts() {
    let Some(members) = cluster(0).await else { return };
    let redis = redis(&[&members[0]]);
    contract::session_store(&RedisSessions::new(&redis)).await;
    contract::event_store(&RedisEvents::new(&redis)).await;
    contract::change_bus(&RedisBus::new(&redis), &RedisBus::new(&redis)).await;
    contract::outcome_store(&RedisOutcomes::new(&redis)).await;
    let tasks = RedisTasks::new(&redis);
    contract::task_store(tasks.clone()).await;
    contract::task_watch(tasks).await;
    redis.ping().await.unwrap();
    let limits = RedisLimits::new(&redis, "calls", 1, HOUR);
    assert_eq!(limits.take("alice", 1).await.unwrap(), Taken::Allowed);
    assert!(matches!(limits.take("alice", 1).await.unwrap(), Taken::Retry(_)));
}

#[tokio::test]
async fn keys_are_on_all_nodes_and_leases_are_renewed_at_once() {
    let Some(members) = cluster(0).await else { return };
    let (store, node) = (RedisSessions::new(&redis(&[&members[1]])), Node::new("one"));
    let mut owned: Vec<(Arc<str>, u64)> = Vec::new();
    for number in 0..600 {
        let id: Arc<str> = number.to_string().into();
        owned.push((id.clone(), store.create(record(&id), &node, HOUR).await.unwrap()));
    }
    for member in &members {
        assert!(member.server.command::<i64>(&["DBSIZE"]).await > 100);
    }
    assert!(store.remove("7").await.unwrap());
    assert_eq!(store.renew(&owned, &node, HOUR).await.unwrap().lost, [Arc::<str>::from("7")]);
    // A restarted node has no scripts; the others have.
    let _: String = members[2].server.command(&["SCRIPT", "FLUSH"]).await;
    assert_eq!(store.renew(&owned, &node, HOUR).await.unwrap().lost, [Arc::<str>::from("7")]);
}

#[tokio::test]
async fn a_slot_that_moves_is_followed() {
    let Some(members) = cluster(0).await else { return };
    let (store, node) = (RedisSessions::new(&redis(&[&members[0]])), Node::new("one"));
    let mut owned: Vec<(Arc<str>, u64)> = Vec::new();
    for id in ["a", "b", "c", "d", "e", "f"] {
        owned.push((id.into(), store.create(record(id), &node, HOUR).await.unwrap()));
    }
    let mut from = None;
    for member in &members {
        let keys: Vec<String> = member.server.command(&["KEYS", "*"]).await;
        if let Some(key) = keys.into_iter().next() {
            from = Some((member, key));
        }
    }
    let (from, key) = from.unwrap();
    let to = members.iter().find(|member| member.id != from.id).unwrap();
    let slot = from.server.command::<u16>(&["CLUSTER", "KEYSLOT", &key]).await.to_string();
    let _: String = to.server.command(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &from.id]).await;
    let _: String = from.server.command(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &to.id]).await;
    let _: String = from.server.command(&["MIGRATE", "127.0.0.1", &to.port, &key, "0", "5000"]).await;
    let works = async || {
        for (id, _) in &owned {
            assert_eq!(store.load(id).await.unwrap(), Some((record(id), Some(node.clone()))));
        }
        assert_eq!(store.renew(&owned, &node, HOUR).await.unwrap().lost, Vec::<Arc<str>>::new());
    };
    works().await;
    for member in [to, from] {
        let _: String = member.server.command(&["CLUSTER", "SETSLOT", &slot, "NODE", &to.id]).await;
    }
    works().await;
    works().await;
}

#[tokio::test]
async fn a_replica_replaces_its_primary() {
    let Some(mut members) = cluster(1).await else { return };
    let (redis, node) = (redis(&[&members[0], &members[1]]), Node::new("one"));
    let (store, bus) = (RedisSessions::new(&redis), RedisBus::new(&redis));
    for number in 0..30 {
        store.create(record(&number.to_string()), &node, HOUR).await.unwrap();
    }
    // Replication is asynchronous.
    let size: i64 = members[0].server.command(&["DBSIZE"]).await;
    until(async || members[3].server.command::<i64>(&["DBSIZE"]).await == size).await;
    members[0].server.kill();
    until(async || {
        for number in 0..30 {
            match store.load(&number.to_string()).await {
                Ok(found) => assert!(found.is_some(), "{number}"),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Transport, "{error}");
                    return false;
                }
            }
        }
        true
    })
    .await;
    contract::change_bus(&bus, &bus).await;
}

#[tokio::test]
async fn a_node_is_no_server_of_its_own() {
    let Some(members) = cluster(0).await else { return };
    let url = format!("redis://127.0.0.1:{}", members[0].port);
    let store = RedisSessions::new(&Redis::new(&url, KEY).unwrap());
    let mut refused = None;
    for number in 0..100 {
        refused = store.create(record(&number.to_string()), &Node::new("one"), HOUR).await.err().or(refused);
    }
    let error = refused.expect("two of three keys are elsewhere");
    assert!(error.kind() == ErrorKind::Config && error.to_string().contains("`redis+cluster://`"), "{error}");
}

#[tokio::test]
async fn a_cluster_that_is_not_there() {
    let redis = Redis::new("redis+cluster://127.0.0.1:1,127.0.0.1:2", KEY).unwrap();
    let error = redis.ping().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport, "{error}");
}

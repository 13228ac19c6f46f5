//! Replicas and stores that fail.

use std::time::Duration;

use couplet::{
    server::{
        ServerHandle,
        outcomes::{MemoryOutcomes, Outcomes},
    },
    types::ProtocolVersion,
};
use couplet_core::Service;
use serde_json::json;

use super::kit::{Link, Seen, call, eventually, keyed, open, tools};

#[tokio::test(start_paused = true)]
async fn a_call_whose_replica_is_lost_is_not_executed_again() {
    for &version in ProtocolVersion::ALL {
        let (seen, store) = (Seen::new(), MemoryOutcomes::new());
        let (lost, link) = (Link::to(&store), Link::to(&store));
        let lost_server = tools(&seen).timeout(None).outcomes(lost.clone()).build();
        let server = tools(&seen).outcomes(link).build();
        let mut wire = open(&lost_server, version).await;
        wire.start("tools/call", keyed("gate", "k"));
        let _ = wire.ready();
        eventually(|| seen.started() == 1).await;
        lost.cut(true);
        let mut wire = open(&server, version).await;
        let response = wire.request("tools/call", keyed("gate", "k")).await;
        assert_eq!(response["error"]["data"], json!({ "outcome": "unknown" }), "{version}: {response}");
        assert_eq!(seen.started(), 1, "{version}");
        // It was not lost after all.
        lost.cut(false);
        seen.gate.add_permits(1);
        let outcome = async {
            while call(&mut wire, "gate", "k").await != "run 1" {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), outcome).await.expect("the outcome arrives late");
        assert_eq!(seen.started(), 1, "{version}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_call_keeps_its_lease() {
    for &version in ProtocolVersion::ALL {
        let (seen, store) = (Seen::new(), MemoryOutcomes::new());
        let outcomes = Outcomes::new(store).lease(Duration::from_secs(3));
        let server = tools(&seen).timeout(None).outcomes(outcomes).build();
        let (mut one, mut two) = (open(&server, version).await, open(&server, version).await);
        let first = tokio::spawn(async move { call(&mut one, "gate", "k").await });
        eventually(|| seen.started() == 1).await;
        let second = tokio::spawn(async move { call(&mut two, "gate", "k").await });
        // Several leases.
        tokio::time::sleep(Duration::from_secs(20)).await;
        seen.gate.add_permits(1);
        assert_eq!((first.await.unwrap(), second.await.unwrap()), ("run 1".into(), "run 1".into()), "{version}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_is_not_executed_without_the_store() {
    for &version in ProtocolVersion::ALL {
        let (seen, link) = (Seen::new(), Link::default());
        let server = tools(&seen).outcomes(link.clone()).build();
        let mut wire = open(&server, version).await;
        link.cut(true);
        let response = wire.request("tools/call", keyed("pay", "k")).await;
        assert_eq!(response["error"]["data"], json!({ "outcome": "not executed" }), "{version}: {response}");
        assert_eq!(seen.started(), 0, "{version}");
        link.cut(false);
        assert_eq!(call(&mut wire, "pay", "k").await, "0: run 1", "{version}");
    }
}

/// A number that the server reports.
fn number(server: &ServerHandle, name: &str) -> u64 {
    let metrics = server.metrics();
    metrics.iter().find(|metric| metric.name == name).unwrap_or_else(|| panic!("no `{name}` in {metrics:?}")).value
}

#[tokio::test(start_paused = true)]
async fn an_outcome_that_cannot_be_stored_is_stored_later() {
    for &version in ProtocolVersion::ALL {
        let (seen, link) = (Seen::new(), Link::default());
        let server = tools(&seen).outcomes(link.clone()).build();
        let mut one = open(&server, version).await;
        let first = tokio::spawn(async move { call(&mut one, "gate", "k").await });
        eventually(|| seen.started() == 1).await;
        link.cut(true);
        seen.gate.add_permits(1);
        assert_eq!(first.await.unwrap(), "run 1", "the answer does not depend on the store: {version}");
        assert_eq!(number(&server, "couplet_unstored_outcomes"), 1, "{version}");
        assert_eq!(number(&server, "couplet_keyed_calls"), 1, "it is not over before its outcome is stored: {version}");
        let failed = number(&server, "couplet_store_errors_total");
        assert!(failed >= 1, "{version}");
        link.cut(false);
        eventually(|| number(&server, "couplet_unstored_outcomes") == 0).await;
        assert_eq!(number(&server, "couplet_store_errors_total"), failed, "{version}");
        let mut wire = open(&server, version).await;
        assert_eq!(call(&mut wire, "gate", "k").await, "run 1", "{version}");
        assert_eq!(seen.started(), 1, "{version}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_full_store_refuses_new_keys_and_keeps_old_ones() {
    for &version in ProtocolVersion::ALL {
        let seen = Seen::new();
        let outcomes = Outcomes::new(MemoryOutcomes::new().max_records(2)).lifetime(Duration::from_secs(60));
        let server = tools(&seen).outcomes(outcomes).build();
        let mut wire = open(&server, version).await;
        for (key, expected) in [("a", "0: run 1"), ("b", "0: run 2")] {
            assert_eq!(call(&mut wire, "pay", key).await, expected, "{version}");
        }
        assert!(call(&mut wire, "pay", "c").await.contains("not executed"), "{version}");
        assert_eq!(call(&mut wire, "pay", "a").await, "0: run 1", "{version}");
        tokio::time::sleep(Duration::from_secs(61)).await;
        assert_eq!(call(&mut wire, "pay", "c").await, "0: run 3", "the others have expired: {version}");
    }
}

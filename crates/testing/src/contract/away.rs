//! The contracts of stores that cannot be reached: each operation fails, and none is answered as if the store were empty.

use std::time::Duration;

use bytes::Bytes;
use couplet_core::{ChangeBus, Error, Outage};
use couplet_server::outcomes::{OutcomeKey, OutcomeStore};

use super::in_time;

const LEASE: Duration = Duration::from_secs(15);
const DATA: Bytes = Bytes::from_static(b"{}");

/// Checks that an operation fails, with an error of an outage.
async fn fails<T>(what: &str, operation: impl Future<Output = Result<T, Error>>) {
    let error = in_time(what, operation).await.err();
    let error = error.unwrap_or_else(|| panic!("`{what}` must fail while the store is away"));
    assert!(Outage::is_outage(&error), "the error of `{what}` must have the kind `Transport` or `Timeout`: {error}");
}

/// Checks a [`ChangeBus`] that cannot be reached.
///
/// # Panics
/// If an operation does not fail, or its error is not that of an outage ([`Outage::is_outage`]).
pub async fn change_bus_away(bus: &dyn ChangeBus) {
    fails("publish", bus.publish(DATA)).await;
    fails("subscribe", bus.subscribe()).await;
}

/// Checks an [`OutcomeStore`] that cannot be reached.
///
/// ```should_panic
/// # couplet_testing::block_on(async {
/// use couplet_server::outcomes::MemoryOutcomes;
/// use couplet_testing::contract;
///
/// // Memory is never away.
/// contract::outcome_store_away(&MemoryOutcomes::new()).await;
/// # });
/// ```
///
/// # Panics
/// If an operation does not fail, or its error is not that of an outage ([`Outage::is_outage`]).
pub async fn outcome_store_away(store: &dyn OutcomeStore) {
    let key = OutcomeKey::new(None, "contract");
    fails("begin", store.begin(&key, [7; 32], LEASE, LEASE)).await;
    fails("renew", store.renew(&key, 1, LEASE)).await;
    fails("finish", store.finish(&key, 1, DATA, LEASE)).await;
    fails("abandon", store.abandon(&key, 1)).await;
}

/// Checks a [`SessionStore`](couplet_http::server::SessionStore) that cannot be reached.
///
/// # Panics
/// If an operation does not fail, or its error is not that of an outage ([`Outage::is_outage`]).
#[cfg(feature = "http")]
pub async fn session_store_away(store: &dyn couplet_http::server::SessionStore) {
    use couplet_http::server::{Node, SessionRecord};

    let (id, node) = ("contract-a", Node::new("contract-one"));
    fails("create", store.create(SessionRecord::new(id, None, DATA), &node, LEASE)).await;
    fails("load", store.load(id)).await;
    fails("claim", store.claim(id, &node, LEASE)).await;
    fails("claim_from", store.claim_from(id, &Node::new("contract-gone"), &node, LEASE)).await;
    fails("renew", store.renew(&[(id.into(), 1)], &node, LEASE)).await;
    fails("post", store.post(id, &node, DATA)).await;
    fails("take", store.take(id, 1, 0)).await;
    fails("remember", store.remember(id, 1, DATA)).await;
    fails("release", store.release(id, 1)).await;
    fails("remove", store.remove(id)).await;
}

/// Checks an [`EventStore`](couplet_http::server::EventStore) that cannot be reached.
///
/// # Panics
/// If an operation does not fail, or its error is not that of an outage ([`Outage::is_outage`]).
#[cfg(feature = "http")]
pub async fn event_store_away(store: &dyn couplet_http::server::EventStore) {
    let event = couplet_http::server::StoredEvent { seq: 1, text: DATA };
    fails("append", store.append("contract-a", 1, 1, event)).await;
    fails("fence", store.fence("contract-a", 2)).await;
    fails("after", store.after("contract-a", 1, 0)).await;
    fails("remove", store.remove("contract-a")).await;
}

/// Checks a [`Store`](couplet_tasks::Store) of tasks that cannot be reached.
///
/// # Panics
/// If an operation does not fail.
#[cfg(feature = "tasks")]
pub async fn task_store_away(store: &dyn couplet_tasks::Store) {
    use couplet_tasks::{Change, Record, StoreError};

    async fn fails<T>(what: &str, operation: impl Future<Output = Result<T, StoreError>>) {
        let is_error = in_time(what, operation).await.is_err();
        assert!(is_error, "`{what}` must fail while the store is away");
    }
    let id = "contract-task";
    fails("insert", store.insert(Record::new(id.to_owned(), None, 1000, 500), LEASE)).await;
    fails("get", store.get(id)).await;
    fails("change", store.change(id, None, Change::Cancelled)).await;
    fails("claim", store.claim(id, "contract-node", LEASE)).await;
    fails("renew", store.renew(&[(id.to_owned(), 1)], LEASE)).await;
    fails("release", store.release(id, 1)).await;
    fails("list", store.list(None, None, 10)).await;
}

/// Checks a [`Store`](couplet_auth::client::Store) of logins that cannot be reached, with a lock of its own.
///
/// # Panics
/// If an operation does not fail, or its error is not that of an outage ([`Outage::is_outage`]).
#[cfg(feature = "logins")]
pub async fn login_store_away(store: &dyn couplet_auth::client::Store) {
    fails("load", store.load("contract")).await;
    fails("save", store.save("contract", Some(couplet_auth::Secret::new("token")))).await;
    fails("save", store.save("contract", None)).await;
    // A lock may wait for longer than other operations.
    let locked = tokio::time::timeout(Duration::from_secs(60), store.lock("contract")).await;
    let error = locked.expect("`lock` has a timeout").expect_err("`lock` must fail while the store is away");
    assert!(Outage::is_outage(&error), "the error of `lock` must have the kind `Transport` or `Timeout`: {error}");
}

/// Checks [`Buckets`](couplet_middleware::Buckets) that cannot be reached.
///
/// # Panics
/// If an operation does not fail, or its error is not that of an outage ([`Outage::is_outage`]).
#[cfg(feature = "middleware")]
pub async fn buckets_away(store: &dyn couplet_middleware::Buckets) {
    fails("take", store.take("contract", 1)).await;
}

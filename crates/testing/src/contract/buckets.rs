//! The contract of token buckets.

use std::time::Duration;

use couplet_middleware::{Buckets, Taken};

use super::{at_once, in_time, unique};

const HOUR: Duration = Duration::from_secs(3600);

/// Checks the contract of [`Buckets`], with the handles that two replicas have of one store. Its buckets must have 3 tokens
/// and gain one in an hour.
///
/// ```
/// # couplet_testing::block_on(async {
/// use std::time::Duration;
///
/// use couplet_middleware::MemoryBuckets;
/// use couplet_testing::contract;
///
/// let store = MemoryBuckets::new(3, Duration::from_secs(3600));
/// contract::buckets(&store, &store).await;
/// contract::bucket_refill(&MemoryBuckets::new(2, Duration::from_millis(5))).await;
/// # });
/// ```
///
/// # Panics
/// If the store violates its contract.
pub async fn buckets(first: &dyn Buckets, second: &dyn Buckets) {
    refusals(first, second).await;
    costs(first).await;
    keys(first, second).await;
    for round in 0..10 {
        let key = unique("race");
        let calls = (0..16).map(|number| if number % 2 == 0 { first } else { second }.take(&key, 1));
        let taken: Result<Vec<Taken>, _> = at_once("calls at the same time", calls).await.into_iter().collect();
        let allowed = taken.expect("the store answers").iter().filter(|taken| **taken == Taken::Allowed).count();
        assert_eq!(allowed, 3, "round {round}: of calls at the same time as many are allowed as there are tokens");
    }
}

/// A bucket of both replicas begins full, and a refusal takes nothing.
async fn refusals(first: &dyn Buckets, second: &dyn Buckets) {
    let key = unique("bucket");
    assert_eq!(take(first, &key, 2).await, Taken::Allowed, "a bucket begins full");
    let Taken::Retry(after) = take(second, &key, 2).await else { panic!("replicas share a bucket") };
    assert!(after <= HOUR && after > HOUR / 2, "one token is missing: {after:?}");
    assert_eq!(take(second, &key, 1).await, Taken::Allowed, "a refusal takes nothing");
    for store in [first, second] {
        assert!(matches!(take(store, &key, 1).await, Taken::Retry(_)), "the bucket is empty");
    }
}

/// A cost above the size of a bucket takes a full one: the call would never be allowed otherwise.
async fn costs(store: &dyn Buckets) {
    let key = unique("cost");
    assert_eq!(take(store, &key, 99).await, Taken::Allowed, "a high cost takes a full bucket");
    let Taken::Retry(after) = take(store, &key, 99).await else { panic!("a high cost has emptied the bucket") };
    assert!(after <= 3 * HOUR && after > 2 * HOUR, "all tokens are missing: {after:?}");
}

/// Keys that differ have buckets of their own.
async fn keys(first: &dyn Buckets, second: &dyn Buckets) {
    let key = unique("key");
    let half = key.len() / 2;
    let all =
        [key.as_str(), &key.to_uppercase(), &key[..half], &key[half..], &format!("{key} "), &format!("{key}\né\u{0}")];
    for one in all {
        assert_eq!(take(first, one, 3).await, Taken::Allowed, "callers do not share a bucket: {one:?}");
    }
    for one in all {
        assert!(matches!(take(second, one, 1).await, Taken::Retry(_)), "each has one bucket: {one:?}");
    }
}

/// Checks that tokens come back, with a store whose buckets have 2 tokens and gain one each 5 ms.
///
/// # Panics
/// If the store violates its contract.
pub async fn bucket_refill(store: &dyn Buckets) {
    let key = unique("refill");
    for round in 0..20 {
        let taken = async {
            while let Taken::Retry(after) = take(store, &key, 2).await {
                let most = Duration::from_millis(10);
                assert!(!after.is_zero() && after <= most, "round {round}: at most two tokens are missing: {after:?}");
                tokio::time::sleep(after).await;
            }
        };
        in_time("tokens come back", taken).await;
    }
}

async fn take(store: &dyn Buckets, key: &str, cost: u32) -> Taken {
    in_time("take", store.take(key, cost)).await.expect("the store answers")
}

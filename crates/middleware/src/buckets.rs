//! Token buckets.

use std::{collections::HashMap, sync::Mutex, time::Duration};

use couplet_core::{BoxFuture, Error, sync::lock};
use tokio::time::Instant;

/// A store of token buckets, one for each key. A bucket begins full, and a call that is refused takes nothing; a cost above the
/// size of a bucket takes a full one.
///
/// The contract is a test in `couplet_testing::contract::buckets`.
///
/// `couplet_redis::RedisLimits` implements it for replicas, with the feature `middleware` of that crate.
pub trait Buckets: Send + Sync + 'static {
    /// Takes tokens from the bucket of a key, if there are enough of them.
    ///
    /// # Errors
    /// If the store cannot be used.
    fn take<'a>(&'a self, key: &'a str, cost: u32) -> BoxFuture<'a, Result<Taken, Error>>;
}

/// The answer of [`Buckets::take`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The tokens were taken: the call may proceed.
    Allowed,
    /// There are not enough tokens, and none were taken. There may be after this time.
    Retry(Duration),
}

/// Token buckets in the memory of this process.
///
/// A bucket begins full, with `burst` tokens, and gains one at each interval. Full buckets are not stored, and at most
/// 100,000 others; beyond that, new keys share one bucket.
#[derive(Debug)]
pub struct MemoryBuckets {
    burst: u32,
    interval: Duration,
    max_keys: usize,
    buckets: Mutex<HashMap<String, Bucket>>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

/// The bucket that keys share when there are too many. No caller has this name.
const SHARED: &str = "\u{0}";

impl MemoryBuckets {
    /// Creates buckets of `burst` tokens that gain one at each interval.
    ///
    /// # Panics
    /// If `burst` is 0, or the interval is shorter than a microsecond.
    pub fn new(burst: u32, interval: Duration) -> Self {
        assert!(burst > 0, "a bucket without tokens allows nothing: expected a `burst` of at least 1");
        assert!(interval >= Duration::from_micros(1), "expected an interval of at least a microsecond");
        Self { burst, interval, max_keys: 100_000, buckets: Mutex::default() }
    }

    fn take_at(&self, key: &str, cost: u32, now: Instant) -> Taken {
        let mut buckets = lock(&self.buckets);
        if buckets.len() >= self.max_keys && !buckets.contains_key(key) {
            buckets.retain(|_, bucket| self.tokens(*bucket, now) < f64::from(self.burst));
        }
        let key = if buckets.len() >= self.max_keys && !buckets.contains_key(key) { SHARED } else { key };
        let cost = f64::from(cost.min(self.burst));
        let tokens = buckets.get(key).map_or(f64::from(self.burst), |bucket| self.tokens(*bucket, now));
        if tokens < cost {
            return Taken::Retry(self.interval.mul_f64(cost - tokens));
        }
        let bucket = Bucket { tokens: tokens - cost, at: now };
        match buckets.get_mut(key) {
            Some(stored) => *stored = bucket,
            None => drop(buckets.insert(key.to_owned(), bucket)),
        }
        Taken::Allowed
    }

    fn tokens(&self, bucket: Bucket, now: Instant) -> f64 {
        let gained = now.saturating_duration_since(bucket.at).as_secs_f64() / self.interval.as_secs_f64();
        (bucket.tokens + gained).min(f64::from(self.burst))
    }
}

impl Buckets for MemoryBuckets {
    fn take<'a>(&'a self, key: &'a str, cost: u32) -> BoxFuture<'a, Result<Taken, Error>> {
        Box::pin(std::future::ready(Ok(self.take_at(key, cost, Instant::now()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_bucket_refills() {
        let (buckets, now) = (MemoryBuckets::new(2, SECOND), Instant::now());
        assert_eq!(buckets.take_at("a", 1, now), Taken::Allowed);
        assert_eq!(buckets.take_at("a", 1, now), Taken::Allowed);
        assert_eq!(buckets.take_at("a", 1, now), Taken::Retry(SECOND));
        assert_eq!(buckets.take_at("b", 1, now), Taken::Allowed);
        assert_eq!(buckets.take_at("a", 1, now + SECOND), Taken::Allowed);
        assert_eq!(
            buckets.take_at("a", 9, now + 9 * SECOND),
            Taken::Allowed,
            "a cost above the size takes a full bucket"
        );
    }

    #[test]
    fn keys_are_bounded() {
        let (mut buckets, now) = (MemoryBuckets::new(1, SECOND), Instant::now());
        buckets.max_keys = 2;
        assert_eq!(buckets.take_at("a", 1, now), Taken::Allowed);
        assert_eq!(buckets.take_at("b", 1, now), Taken::Allowed);
        assert_eq!(buckets.take_at("c", 1, now), Taken::Allowed, "the shared bucket");
        assert_eq!(buckets.take_at("d", 1, now), Taken::Retry(SECOND), "the shared bucket is empty");
        assert_eq!(buckets.take_at("e", 1, now + SECOND), Taken::Allowed);
        assert_eq!(lock(&buckets.buckets).len(), 1, "full buckets are not stored");
    }
}

//! Rate limits that replicas share.

use std::time::Duration;

use couplet_core::Error;

use crate::{
    client::Redis,
    connection::Repeat,
    script::{Input, Lua},
};

static TAKE: Lua = Lua::new(include_str!("take.lua"));

/// Rate limits that replicas share: a token bucket for each key, such as a principal or a tool.
///
/// A bucket begins full, with `burst` tokens, and gains one at each interval. The clock is the one of the server.
///
/// ```no_run
/// # async fn example() -> Result<(), couplet_core::Error> {
/// use std::time::Duration;
///
/// use couplet_redis::{RedisLimits, Redis, Taken};
///
/// let redis = Redis::new("redis://localhost", [7; 32])?;
/// // 60 calls a minute, 10 of them at once.
/// let calls = RedisLimits::new(&redis, "calls", 10, Duration::from_secs(1));
/// match calls.take("alice", 1).await? {
///     Taken::Allowed => {}
///     Taken::Retry(after) => println!("too many calls; retry in {after:?}"),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RedisLimits {
    redis: Redis,
    name: String,
    burst: u32,
    interval: Duration,
}

/// The answer of [`RedisLimits::take`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The tokens were taken: the operation may proceed.
    Allowed,
    /// There are not enough tokens, and none were taken. There may be after this time.
    Retry(Duration),
}

impl RedisLimits {
    /// Creates limits with a name, which separates their buckets from those of other limits.
    ///
    /// # Panics
    /// If `burst` is 0, or the interval is shorter than a microsecond.
    pub fn new(redis: &Redis, name: &str, burst: u32, interval: Duration) -> Self {
        assert!(burst > 0, "a bucket without tokens allows nothing: expected a `burst` of at least 1");
        assert!(interval >= Duration::from_micros(1), "expected an interval of at least a microsecond");
        Self { redis: redis.clone(), name: name.to_owned(), burst, interval }
    }

    /// Takes tokens from the bucket of a key, if there are enough of them. A cost above the size of the bucket takes a
    /// full one.
    ///
    /// # Errors
    /// See [`Redis`]. The tokens may have been taken.
    pub async fn take(&self, key: &str, cost: u32) -> Result<Taken, Error> {
        let bucket = self.redis.names().key("limit", &[&self.name, key]);
        let input = Input::new(&bucket)
            .number(self.burst.into())
            .bytes((self.interval.as_secs_f64() * 1000.0).to_string())
            .number(cost.min(self.burst).into());
        let wait: u64 = self.redis.run(&TAKE, input, Repeat::Never).await?;
        Ok(match wait {
            0 => Taken::Allowed,
            wait => Taken::Retry(Duration::from_millis(wait)),
        })
    }
}

#[cfg(feature = "middleware")]
impl couplet_middleware::Buckets for RedisLimits {
    fn take<'a>(
        &'a self,
        key: &'a str,
        cost: u32,
    ) -> couplet_core::BoxFuture<'a, Result<couplet_middleware::Taken, Error>> {
        Box::pin(async move {
            Ok(match Self::take(self, key, cost).await? {
                Taken::Allowed => couplet_middleware::Taken::Allowed,
                Taken::Retry(after) => couplet_middleware::Taken::Retry(after),
            })
        })
    }
}

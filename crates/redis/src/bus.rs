//! Changes between the replicas of a server.

use bytes::Bytes;
use couplet_core::{BoxFuture, BusSubscription, ChangeBus, Error};

use crate::{client::Redis, subscribe::Subscription};

/// A change bus on a channel, sealed: a change on one replica reaches the subscribers on all of them.
///
/// Messages are not stored. A subscription has a connection of its own, which is checked every 10 seconds.
///
/// ```no_run
/// # async fn example() -> Result<(), couplet_core::Error> {
/// use couplet_core::ChangeBus;
/// use couplet_redis::{RedisBus, Redis};
///
/// let redis = Redis::new("redis://localhost", [7; 32])?;
/// let bus = RedisBus::new(&redis);
/// let mut subscription = bus.subscribe().await?;
/// bus.publish("a message".into()).await?;
/// assert_eq!(subscription.next().await?, "a message");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RedisBus {
    redis: Redis,
    channel: String,
}

impl RedisBus {
    /// Creates a bus.
    pub fn new(redis: &Redis) -> Self {
        Self { channel: redis.names().channel("changes"), redis: redis.clone() }
    }
}

impl ChangeBus for RedisBus {
    fn publish(&self, message: Bytes) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            let sealed = self.redis.seal(&self.channel, "", &message)?;
            let mut command = redis::cmd("PUBLISH");
            command.arg(&self.channel).arg(sealed);
            self.redis.ask::<redis::Value>(command).await.map(drop)
        })
    }

    fn subscribe(&self) -> BoxFuture<'_, Result<Box<dyn BusSubscription>, Error>> {
        Box::pin(async move {
            let messages = Subscription::open(&self.redis, &self.channel).await?;
            Ok(Box::new(Changes { bus: self.clone(), messages }) as Box<dyn BusSubscription>)
        })
    }
}

struct Changes {
    bus: RedisBus,
    messages: Subscription,
}

impl BusSubscription for Changes {
    fn next(&mut self) -> BoxFuture<'_, Result<Bytes, Error>> {
        Box::pin(async move {
            let sealed = self.messages.next().await?;
            // A message that cannot be opened is a lost one.
            self.bus.redis.open(&self.bus.channel, "", &sealed).map(Bytes::from)
        })
    }
}

//! Logins of clients.

mod lock;

use std::time::Duration;

use couplet_auth::{
    Secret,
    client::{Store, StoreLock},
};
use couplet_core::{BoxFuture, Error};

use crate::{client::Redis, error::foreign, script::millis};

/// Logins of a client, shared by its replicas: tokens and client registrations, sealed. Only one replica at a time
/// refreshes a token.
///
/// A login that was not used for 90 days is deleted.
///
/// ```no_run
/// # fn example() -> Result<(), couplet_core::Error> {
/// use couplet_auth::client::OAuth;
/// use couplet_redis::{RedisLogins, Redis};
///
/// let redis = Redis::new("redis://localhost", [7; 32])?;
/// let oauth = OAuth::new("Notes").store(RedisLogins::new(&redis));
/// # drop(oauth);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RedisLogins {
    redis: Redis,
    lifetime: Duration,
}

impl RedisLogins {
    /// Creates a store.
    pub fn new(redis: &Redis) -> Self {
        Self { redis: redis.clone(), lifetime: Duration::from_secs(90 * 24 * 3600) }
    }

    /// Sets the time after which a login that was not used is deleted (default: 90 days).
    #[must_use]
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    fn name(&self, key: &str) -> String {
        self.redis.names().key("login", &[key])
    }
}

impl Store for RedisLogins {
    fn load(&self, key: &str) -> BoxFuture<'_, Result<Option<Secret>, Error>> {
        let name = self.name(key);
        Box::pin(async move {
            let mut command = redis::cmd("GETEX");
            command.arg(&name).arg("PX").arg(millis(self.lifetime).max(1));
            let Some(sealed) = self.redis.ask::<Option<Vec<u8>>>(command).await? else { return Ok(None) };
            let text = String::from_utf8(self.redis.open(&name, "", &sealed)?);
            text.map(|text| Some(Secret::new(text))).map_err(|_| foreign(&name))
        })
    }

    fn save(&self, key: &str, value: Option<Secret>) -> BoxFuture<'_, Result<(), Error>> {
        let name = self.name(key);
        Box::pin(async move {
            let command = match value {
                Some(value) => {
                    let sealed = self.redis.seal(&name, "", value.reveal().as_bytes())?;
                    let mut command = redis::cmd("SET");
                    command.arg(&name).arg(sealed).arg("PX").arg(millis(self.lifetime).max(1));
                    command
                }
                None => {
                    let mut command = redis::cmd("DEL");
                    command.arg(&name);
                    command
                }
            };
            self.redis.ask::<redis::Value>(command).await.map(drop)
        })
    }

    fn lock(&self, server: &str) -> BoxFuture<'_, Result<StoreLock, Error>> {
        let name = self.redis.names().key("lock", &[server]);
        Box::pin(async move { lock::acquire(&self.redis, name).await.map(StoreLock::new) })
    }
}

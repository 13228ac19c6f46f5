//! A lock across processes: a key with the token of its owner, which expires if the owner dies.

use std::time::Duration;

use couplet_core::{Error, ErrorKind};
use tokio::{
    runtime::Handle,
    task::AbortHandle,
    time::{Instant, sleep, sleep_until, timeout},
};

use crate::{
    client::Redis,
    connection::Repeat,
    random,
    script::{Input, Lua, millis},
};

static UNLOCK: Lua = Lua::new(include_str!("unlock.lua"));
static EXTEND: Lua = Lua::new(include_str!("extend.lua"));

/// The time that a lock outlives its owner.
const LEASE: Duration = Duration::from_secs(10);
/// The timeout of acquiring one.
const WAIT: Duration = Duration::from_secs(30);
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(50);

/// An acquired lock. It is extended until it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    redis: Redis,
    name: String,
    token: String,
    renewal: Option<AbortHandle>,
}

/// Acquires a lock as soon as no other process has it.
pub(super) async fn acquire(redis: &Redis, name: String) -> Result<Lock, Error> {
    let token = random::number()?.to_string();
    // From here on: an attempt that is dropped half-way may have set the key.
    let mut lock = Lock { redis: redis.clone(), name, token, renewal: None };
    let held = timeout(WAIT, async {
        while !lock.try_set().await? {
            sleep(PAUSE).await;
        }
        Ok(())
    });
    held.await.unwrap_or_else(|_| {
        Err(Error::new(ErrorKind::Timeout, format!("another process has held `{}` for {WAIT:?}", lock.name)))
    })?;
    let renewal = extend(lock.redis.clone(), lock.name.clone(), lock.token.clone());
    lock.renewal = Some(tokio::spawn(renewal).abort_handle());
    Ok(lock)
}

impl Lock {
    async fn try_set(&self) -> Result<bool, Error> {
        let mut command = redis::cmd("SET");
        command.arg(&self.name).arg(&self.token).arg("NX").arg("PX").arg(millis(LEASE));
        if self.redis.ask::<Option<String>>(command).await?.is_some() {
            return Ok(true);
        }
        // An attempt that was repeated may have found its own token.
        let mut command = redis::cmd("GET");
        command.arg(&self.name);
        Ok(self.redis.ask::<Option<String>>(command).await?.as_ref() == Some(&self.token))
    }
}

async fn extend(redis: Redis, name: String, token: String) {
    let mut until = Instant::now() + LEASE;
    loop {
        sleep_until(until - LEASE * 2 / 3).await;
        let input = Input::new(&name).bytes(token.as_str()).number(millis(LEASE));
        let asked = Instant::now();
        match redis.run::<bool>(&EXTEND, input, Repeat::Safe).await {
            Ok(true) => until = asked + LEASE,
            Ok(false) => {
                tracing::warn!(lock = name, "a lock has expired before its work was done");
                return;
            }
            Err(error) => {
                tracing::debug!(%error, lock = name, "a lock was not extended");
                until += LEASE / 3;
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some(renewal) = self.renewal.take() {
            renewal.abort();
        }
        // Without a runtime it expires.
        let Ok(runtime) = Handle::try_current() else { return };
        let (redis, name, token) = (self.redis.clone(), self.name.clone(), self.token.clone());
        runtime.spawn(async move {
            let input = Input::new(&name).bytes(token);
            if let Err(error) = redis.run::<bool>(&UNLOCK, input, Repeat::Safe).await {
                tracing::debug!(%error, lock = name, "a lock was not released, and will expire");
            }
        });
    }
}

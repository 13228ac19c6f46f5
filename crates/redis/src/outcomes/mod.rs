//! Outcomes of calls with an idempotency key.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use couplet_core::{BoxFuture, Error};
use couplet_server::outcomes::{Begun, OutcomeKey, OutcomeStore};

use crate::{
    client::Redis,
    connection::Repeat,
    error::foreign,
    random,
    script::{Input, Lua, millis},
};

static BEGIN: Lua = Lua::new(include_str!("begin.lua"));
static RENEW: Lua = Lua::lease(include_str!("renew.lua"));
static FINISH: Lua = Lua::new(include_str!("finish.lua"));
static ABANDON: Lua = Lua::new(include_str!("abandon.lua"));

const DIGEST: &str = "digest";
const OUTCOME: &str = "outcome";

/// Outcomes of calls with an idempotency key, sealed: a call that is repeated, on any replica, is executed once.
#[derive(Clone, Debug)]
pub struct RedisOutcomes {
    redis: Redis,
}

impl RedisOutcomes {
    /// Creates a store.
    pub fn new(redis: &Redis) -> Self {
        Self { redis: redis.clone() }
    }

    fn name(&self, key: &OutcomeKey) -> String {
        self.redis.names().key("outcome", &[&URL_SAFE_NO_PAD.encode(key.digest())])
    }

    async fn begin_call(&self, name: &str, digest: [u8; 32], lease: Duration, keep: Duration) -> Result<Begun, Error> {
        let token = random::number()?;
        let input = Input::new(name)
            .number(token)
            .bytes(self.redis.seal(name, DIGEST, &digest)?)
            .number(millis(lease))
            .number(millis(keep));
        let answer: Vec<Vec<u8>> = self.redis.run(&BEGIN, input, Repeat::Safe).await?;
        let (state, found) = answer.split_first().ok_or_else(|| foreign(name))?;
        if state == b"first" {
            return Ok(Begun::First(token));
        }
        let first = found.first().ok_or_else(|| foreign(name))?;
        if self.redis.open(name, DIGEST, first)? != digest {
            return Ok(Begun::Different);
        }
        match (&**state, found.get(1)) {
            (b"done", Some(outcome)) => Ok(Begun::Done(self.redis.open(name, OUTCOME, outcome)?.into())),
            (b"running", _) => Ok(Begun::Running),
            (b"unknown", _) => Ok(Begun::Unknown),
            _ => Err(foreign(name)),
        }
    }
}

impl OutcomeStore for RedisOutcomes {
    fn begin<'a>(
        &'a self,
        key: &'a OutcomeKey,
        digest: [u8; 32],
        lease: Duration,
        keep: Duration,
    ) -> BoxFuture<'a, Result<Begun, Error>> {
        Box::pin(async move { self.begin_call(&self.name(key), digest, lease, keep).await })
    }

    fn renew<'a>(&'a self, key: &'a OutcomeKey, token: u64, lease: Duration) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(async move {
            let name = self.name(key);
            let input = Input::new(&name).number(token).number(millis(lease));
            self.redis.run(&RENEW, input, Repeat::Safe).await
        })
    }

    fn finish<'a>(
        &'a self,
        key: &'a OutcomeKey,
        token: u64,
        outcome: Bytes,
        keep: Duration,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(async move {
            let name = self.name(key);
            let input = Input::new(&name)
                .number(token)
                .number(random::number()?)
                .bytes(self.redis.seal(&name, OUTCOME, &outcome)?)
                .number(millis(keep));
            self.redis.run(&FINISH, input, Repeat::Safe).await
        })
    }

    fn abandon<'a>(&'a self, key: &'a OutcomeKey, token: u64) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let name = self.name(key);
            let removed: bool = self.redis.run(&ABANDON, Input::new(&name).number(token), Repeat::Safe).await?;
            tracing::trace!(removed, "a call was abandoned");
            Ok(())
        })
    }
}

//! Sessions that replicas share.

mod form;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use couplet_core::{BoxFuture, Error};
use couplet_http::server::{Claim, Node, Posted, Renewed, SessionRecord, SessionStore};

use crate::{
    client::Redis,
    connection::Repeat,
    error::foreign,
    script::{Input, Lua, millis},
};

static CREATE: Lua = Lua::new(include_str!("create.lua"));
static LOAD: Lua = Lua::new(include_str!("load.lua"));
static CLAIM: Lua = Lua::lease(include_str!("claim.lua"));
static RENEW: Lua = Lua::lease(include_str!("renew.lua"));
static POST: Lua = Lua::new(include_str!("post.lua"));
static TAKE: Lua = Lua::lease(include_str!("take.lua"));
static REMEMBER: Lua = Lua::new(include_str!("remember.lua"));
static RELEASE: Lua = Lua::new(include_str!("release.lua"));

const RECORD: &str = "record";
const MEMORY: &str = "memory";
const OWNER: &str = "owner";
const MESSAGE: &str = "message";

/// The largest number of messages for a session, and their largest size.
const MESSAGES: u64 = 64;
const MESSAGE_BYTES: u64 = 1 << 20;

/// Sessions that all replicas of a server share, sealed. Leases are measured by the clock of the Redis server.
///
/// ```no_run
/// # fn example<S: couplet_core::Service>(service: S) -> Result<(), couplet_core::Error> {
/// use std::sync::Arc;
///
/// use couplet_http::server::Endpoint;
/// use couplet_redis::{Redis, RedisEvents, RedisSessions};
///
/// let redis = Redis::new("redis://localhost", [7; 32])?;
/// let (sessions, events) = (RedisSessions::new(&redis), RedisEvents::new(&redis));
/// let endpoint = Endpoint::new(service).sessions(Arc::new(sessions)).events(Arc::new(events));
/// # drop(endpoint);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RedisSessions {
    redis: Redis,
    lifetime: Duration,
}

impl RedisSessions {
    /// Creates a store.
    pub fn new(redis: &Redis) -> Self {
        Self { redis: redis.clone(), lifetime: Duration::from_secs(24 * 3600) }
    }

    /// Sets the time after which a session without an owner is deleted (default: 24 hours after the end of its lease).
    #[must_use]
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    fn name(&self, id: &str) -> String {
        self.redis.names().key("session", &[id])
    }

    /// The time to live of a session whose lease begins now.
    fn expiry(&self, lease: Duration) -> u64 {
        millis(lease.saturating_add(self.lifetime))
    }

    fn seal_node(&self, name: &str, node: &Node) -> Result<Vec<u8>, Error> {
        self.redis.seal(name, OWNER, &form::write_node(node))
    }

    fn open_node(&self, name: &str, sealed: &[u8]) -> Result<Node, Error> {
        form::read_node(&self.redis.open(name, OWNER, sealed)?).ok_or_else(|| foreign(name))
    }

    fn open_record(&self, name: &str, id: &str, record: &[u8], memory: &[u8]) -> Result<SessionRecord, Error> {
        let opened = self.redis.open(name, RECORD, record)?;
        let record = form::read_record(id, &opened).ok_or_else(|| foreign(name))?;
        Ok(match memory {
            [] => record,
            sealed => record.with_memory(Some(self.redis.open(name, MEMORY, sealed)?.into())),
        })
    }

    async fn create_session(&self, record: SessionRecord, node: &Node, lease: Duration) -> Result<u64, Error> {
        let name = self.name(&record.id);
        let memory = record.memory.as_ref().map(|memory| self.redis.seal(&name, MEMORY, memory)).transpose()?;
        let input = Input::new(&name)
            .bytes(self.redis.seal(&name, RECORD, &form::write_record(&record))?)
            .bytes(memory.unwrap_or_default())
            .bytes(&*node.id)
            .bytes(self.seal_node(&name, node)?)
            .number(millis(lease))
            .number(self.expiry(lease));
        self.redis.run(&CREATE, input, Repeat::Safe).await
    }

    async fn load_session(&self, id: &str) -> Result<Option<(SessionRecord, Option<Node>)>, Error> {
        let name = self.name(id);
        let found: Vec<Vec<u8>> = self.redis.run(&LOAD, Input::new(&name), Repeat::Safe).await?;
        let [record, memory, owner] = &found[..] else { return Ok(None) };
        let record = self.open_record(&name, id, record, memory)?;
        let owner = if owner.is_empty() { None } else { Some(self.open_node(&name, owner)?) };
        Ok(Some((record, owner)))
    }

    async fn claim_session(&self, id: &str, gone: &Node, node: &Node, lease: Duration) -> Result<Claim, Error> {
        let name = self.name(id);
        let input = Input::new(&name)
            .bytes(&*node.id)
            .bytes(self.seal_node(&name, node)?)
            .number(millis(lease))
            .number(self.expiry(lease))
            .bytes(&*gone.id);
        let found: Vec<Vec<u8>> = self.redis.run(&CLAIM, input, Repeat::Safe).await?;
        match &found[..] {
            [] => Ok(Claim::Missing),
            [owner] => Ok(Claim::Elsewhere(self.open_node(&name, owner)?)),
            [record, memory, generation] => {
                let generation = std::str::from_utf8(generation).ok().and_then(|text| text.parse().ok());
                let generation = generation.ok_or_else(|| foreign(&name))?;
                Ok(Claim::Owned(self.open_record(&name, id, record, memory)?, generation))
            }
            _ => Err(foreign(&name)),
        }
    }

    async fn renew_leases(&self, owned: &[(Arc<str>, u64)], node: &Node, lease: Duration) -> Result<Renewed, Error> {
        let mut renewed = Renewed::default();
        for some in owned.chunks(crate::BATCH) {
            let names: Vec<_> = some.iter().map(|(id, _)| self.name(id)).collect();
            let inputs = some.iter().zip(&names).map(|((_, generation), name)| {
                let input = Input::new(name).bytes(&*node.id).number(*generation);
                input.number(millis(lease)).number(self.expiry(lease))
            });
            let inputs: Vec<_> = inputs.collect();
            let answers: Vec<u64> = self.redis.run_all(&RENEW, &inputs).await?;
            for ((id, _), answer) in some.iter().zip(answers) {
                match answer {
                    0 => renewed.lost.push(id.clone()),
                    1 => {}
                    _ => renewed.with_messages.push(id.clone()),
                }
            }
        }
        Ok(renewed)
    }

    async fn post_message(&self, id: &str, owner: &Node, message: &[u8]) -> Result<Posted, Error> {
        let name = self.name(id);
        let input = Input::new(&name)
            .bytes(&*owner.id)
            .bytes(self.redis.seal(&name, MESSAGE, message)?)
            .number(MESSAGES)
            .number(MESSAGE_BYTES);
        match self.redis.run(&POST, input, Repeat::Safe).await? {
            0_u64 => Ok(Posted::Elsewhere),
            1 => Ok(Posted::Stored),
            _ => Ok(Posted::Full),
        }
    }

    async fn take_messages(&self, id: &str, generation: u64, after: u64) -> Result<Vec<(u64, Bytes)>, Error> {
        let name = self.name(id);
        let input = Input::new(&name).number(generation).number(after);
        let found: Vec<Vec<u8>> = self.redis.run(&TAKE, input, Repeat::Safe).await?;
        let message = |pair: &[Vec<u8>]| {
            let number = std::str::from_utf8(&pair[0]).ok().and_then(|text| text.parse().ok());
            let message = self.redis.open(&name, MESSAGE, &pair[1])?;
            Ok((number.ok_or_else(|| foreign(&name))?, message.into()))
        };
        found.chunks_exact(2).map(message).collect()
    }
}

impl SessionStore for RedisSessions {
    fn create<'a>(
        &'a self,
        record: SessionRecord,
        node: &'a Node,
        lease: Duration,
    ) -> BoxFuture<'a, Result<u64, Error>> {
        Box::pin(self.create_session(record, node, lease))
    }

    fn load<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<(SessionRecord, Option<Node>)>, Error>> {
        Box::pin(self.load_session(id))
    }

    fn claim_from<'a>(
        &'a self,
        id: &'a str,
        gone: &'a Node,
        node: &'a Node,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Claim, Error>> {
        Box::pin(self.claim_session(id, gone, node, lease))
    }

    fn renew<'a>(
        &'a self,
        owned: &'a [(Arc<str>, u64)],
        node: &'a Node,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Renewed, Error>> {
        Box::pin(self.renew_leases(owned, node, lease))
    }

    fn post<'a>(&'a self, id: &'a str, owner: &'a Node, message: Bytes) -> BoxFuture<'a, Result<Posted, Error>> {
        Box::pin(async move { self.post_message(id, owner, &message).await })
    }

    fn take<'a>(&'a self, id: &'a str, generation: u64, after: u64) -> BoxFuture<'a, Result<Vec<(u64, Bytes)>, Error>> {
        Box::pin(self.take_messages(id, generation, after))
    }

    fn remember<'a>(&'a self, id: &'a str, generation: u64, memory: Bytes) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(async move {
            let name = self.name(id);
            let input = Input::new(&name).number(generation).bytes(self.redis.seal(&name, MEMORY, &memory)?);
            self.redis.run(&REMEMBER, input, Repeat::Safe).await
        })
    }

    fn release<'a>(&'a self, id: &'a str, generation: u64) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let name = self.name(id);
            self.redis.run::<u64>(&RELEASE, Input::new(&name).number(generation), Repeat::Safe).await.map(drop)
        })
    }

    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(async move {
            let mut command = redis::cmd("DEL");
            command.arg(self.name(id));
            self.redis.ask(command).await
        })
    }
}

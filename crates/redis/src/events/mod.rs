//! Events of sessions, for streams that are resumed on any replica.

use std::time::Duration;

use couplet_core::{BoxFuture, Error};
use couplet_http::server::{EventStore, StoredEvent};

use crate::{
    client::Redis,
    connection::Repeat,
    error::foreign,
    script::{Input, Lua, millis},
};

static APPEND: Lua = Lua::new(include_str!("append.lua"));
static FENCE: Lua = Lua::new(include_str!("fence.lua"));
static AFTER: Lua = Lua::new(include_str!("after.lua"));

/// Events of sessions that all replicas of a server share, sealed: a stream that broke is resumed on any of them.
///
/// The oldest events of a session are dropped when there are more than 4,096 or their size exceeds 1 MiB, and all of them
/// an hour after the last one.
#[derive(Clone, Debug)]
pub struct RedisEvents {
    redis: Redis,
    events: u64,
    bytes: u64,
    lifetime: Duration,
}

/// The keys of one session.
struct EventKeys {
    events: String,
    known: String,
}

impl RedisEvents {
    /// Creates a store.
    pub fn new(redis: &Redis) -> Self {
        Self { redis: redis.clone(), events: 4096, bytes: 1 << 20, lifetime: Duration::from_secs(3600) }
    }

    /// Sets the maximum number of events of a session (default: 4,096).
    #[must_use]
    pub fn max_events(mut self, events: u32) -> Self {
        self.events = events.into();
        self
    }

    /// Sets the maximum size of the events of a session in bytes (default: 1 MiB).
    #[must_use]
    pub fn max_bytes(mut self, bytes: u32) -> Self {
        self.bytes = bytes.into();
        self
    }

    /// Sets the time after the last event at which the events of a session are deleted (default: one hour).
    #[must_use]
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    fn keys(&self, session: &str) -> EventKeys {
        let events = self.redis.names().key("events", &[session]);
        EventKeys { known: format!("{events}:known"), events }
    }

    async fn append_event(
        &self,
        session: &str,
        generation: u64,
        stream: u64,
        event: StoredEvent,
    ) -> Result<bool, Error> {
        let keys = self.keys(session);
        let input = keys
            .input()
            .number(generation)
            .number(stream)
            .number(event.seq)
            .bytes(self.redis.seal(&keys.events, &place(stream, event.seq), &event.text)?)
            .number(self.events)
            .number(self.bytes)
            .number(millis(self.lifetime));
        self.redis.run(&APPEND, input, Repeat::Safe).await
    }

    async fn events_after(&self, session: &str, stream: u64, seq: u64) -> Result<Option<Vec<StoredEvent>>, Error> {
        let keys = self.keys(session);
        let number = |text: &[u8]| {
            let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<u64>().ok());
            number.ok_or_else(|| foreign(&keys.events))
        };
        let found: Vec<Vec<u8>> = self.redis.run(&AFTER, keys.input().number(stream).number(seq), Repeat::Safe).await?;
        let Some((last, found)) = found.split_first() else { return Ok(None) };
        let last = number(last)?;
        let mut events = Vec::with_capacity(found.len() / 2);
        let mut next = seq;
        for pair in found.chunks_exact(2) {
            let at = number(&pair[0])?;
            if next.checked_add(1) != Some(at) {
                return Ok(None);
            }
            next = at;
            let text = self.redis.open(&keys.events, &place(stream, at), &pair[1])?;
            events.push(StoredEvent { seq: at, text: text.into() });
        }
        // Otherwise the number was never sent, or later events were dropped.
        Ok((next == last).then_some(events))
    }
}

impl EventKeys {
    fn input(&self) -> Input<'_> {
        Input::new(&self.events).key(&self.known)
    }
}

/// The field that an event is sealed for.
fn place(stream: u64, seq: u64) -> String {
    format!("{stream}:{seq}")
}

impl EventStore for RedisEvents {
    fn append<'a>(
        &'a self,
        session: &'a str,
        generation: u64,
        stream: u64,
        event: StoredEvent,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(self.append_event(session, generation, stream, event))
    }

    fn fence<'a>(&'a self, session: &'a str, generation: u64) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let keys = self.keys(session);
            let input = keys.input().number(generation).number(millis(self.lifetime));
            self.redis.run::<bool>(&FENCE, input, Repeat::Safe).await.map(drop)
        })
    }

    fn after<'a>(
        &'a self,
        session: &'a str,
        stream: u64,
        seq: u64,
    ) -> BoxFuture<'a, Result<Option<Vec<StoredEvent>>, Error>> {
        Box::pin(self.events_after(session, stream, seq))
    }

    fn remove<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let keys = self.keys(session);
            let mut command = redis::cmd("DEL");
            command.arg(&keys.events).arg(&keys.known);
            self.redis.ask::<u64>(command).await.map(drop)
        })
    }
}

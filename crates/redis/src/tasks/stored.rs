//! One task: a hash with its sealed record, a tag that each write replaces, and the lease of its runner.
//!
//! The lease is a field of its own, so that it is extended without a new record.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use couplet_core::{Error, ErrorKind, clock::unix_millis};
use couplet_tasks::Record;

use super::RedisTasks;
use crate::{
    connection::Repeat,
    error::foreign,
    random,
    script::{Input, Lua, millis},
};

static INSERT: Lua = Lua::new(include_str!("insert.lua"));
static READ: Lua = Lua::new(include_str!("read.lua"));
static WRITE: Lua = Lua::new(include_str!("write.lua"));
static RENEW: Lua = Lua::lease(include_str!("renew.lua"));

const RECORD: &str = "record";

/// The attempts to change a task that others change as well. Each failure is a success of another writer.
const ATTEMPTS: usize = 100;

/// A task as it was read.
pub(super) struct Stored {
    pub(super) record: Record,
    tag: Vec<u8>,
    until: Vec<u8>,
    now: u64,
}

impl RedisTasks {
    pub(super) fn task_name(&self, id: &str) -> String {
        self.redis.names().key("task", &[id])
    }

    /// Stores a new task. It is not in any index yet.
    pub(super) async fn create(&self, record: &Record, lease: Duration) -> Result<(), Error> {
        let name = self.task_name(&record.id);
        let input = Input::new(&name)
            .number(random::number()?)
            .bytes(self.seal_record(&name, record)?)
            .number(record.generation())
            .number(millis(lease))
            .number(expiry(record));
        self.redis.run::<bool>(&INSERT, input, Repeat::Safe).await.map(drop)
    }

    /// Reads a task by the name of its key.
    pub(super) async fn read(&self, name: &str) -> Result<Option<Stored>, Error> {
        let answer = self.redis.run(&READ, Input::new(name), Repeat::Safe).await?;
        self.parse_record(name, answer)
    }

    /// Reads several tasks by the names of their keys.
    pub(super) async fn read_all(&self, names: &[String]) -> Result<Vec<Option<Stored>>, Error> {
        let inputs: Vec<_> = names.iter().map(|name| Input::new(name)).collect();
        let answers = self.redis.run_all(&READ, &inputs).await?;
        names.iter().zip(answers).map(|(name, answer)| self.parse_record(name, answer)).collect()
    }

    /// Changes a task, atomically: `None` if it does not exist or `change` returns `false`.
    pub(super) async fn update(
        &self,
        id: &str,
        change: impl Fn(&mut Record, u64) -> bool + Send,
    ) -> Result<Option<Record>, Error> {
        let name = self.task_name(id);
        for _ in 0..ATTEMPTS {
            let Some(mut stored) = self.read(&name).await? else { return Ok(None) };
            let lease = |record: &Record| record.runner.as_ref().map(|runner| (runner.generation, runner.until));
            let before = lease(&stored.record);
            if !change(&mut stored.record, stored.now) {
                return Ok(None);
            }
            let mut input = Input::new(&name)
                .bytes(stored.tag)
                .number(random::number()?)
                .bytes(self.seal_record(&name, &stored.record)?)
                .number(stored.record.generation())
                .bytes(&*self.channel)
                .bytes(&*name);
            if let Some((_, until)) = lease(&stored.record).filter(|after| Some(*after) != before) {
                input = input.bytes(stored.until).number(until);
            }
            if self.redis.run(&WRITE, input, Repeat::Safe).await? {
                return Ok(Some(stored.record));
            }
        }
        Err(Error::new(ErrorKind::Other, format!("`{name}` was changed by others {ATTEMPTS} times in a row")))
    }

    /// Extends leases; returns the tasks whose lease was not extended.
    pub(super) async fn extend(&self, tasks: &[(String, u64)], lease: Duration) -> Result<Vec<String>, Error> {
        let mut lost = Vec::new();
        for some in tasks.chunks(crate::BATCH) {
            let names: Vec<_> = some.iter().map(|(id, _)| self.task_name(id)).collect();
            let tasks = some.iter().zip(&names);
            let inputs =
                tasks.map(|((_, generation), name)| Input::new(name).number(*generation).number(millis(lease)));
            let inputs: Vec<_> = inputs.collect();
            let renewed: Vec<bool> = self.redis.run_all(&RENEW, &inputs).await?;
            let failed = some.iter().zip(renewed).filter(|(_, renewed)| !renewed);
            lost.extend(failed.map(|((id, _), _)| id.clone()));
        }
        Ok(lost)
    }

    fn seal_record(&self, name: &str, record: &Record) -> Result<Vec<u8>, Error> {
        self.redis.seal(name, RECORD, &serde_json::to_vec(record)?)
    }

    fn parse_record(&self, name: &str, answer: Vec<Vec<u8>>) -> Result<Option<Stored>, Error> {
        let number = |text: &[u8]| std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        let mut answer = answer.into_iter();
        let now = answer.next().and_then(|now| number(&now)).ok_or_else(|| foreign(name))?;
        self.clock.set(now);
        let (Some(tag), Some(sealed), Some(until)) = (answer.next(), answer.next(), answer.next()) else {
            return Ok(None);
        };
        let text = self.redis.open(name, RECORD, &sealed)?;
        let mut record: Record = serde_json::from_slice(&text).map_err(|_| foreign(name))?;
        if let Some(runner) = &mut record.runner {
            runner.until = number(&until).ok_or_else(|| foreign(name))?;
        }
        Ok(Some(Stored { record, tag, until, now }))
    }
}

/// The time of expiry. Larger numbers than that are not exact in Lua.
pub(super) fn expiry(record: &Record) -> u64 {
    record.expires().clamp(1, 1 << 52)
}

/// The clock of the server, as it was at the last answer, and continued here.
#[derive(Debug)]
pub(super) struct Clock {
    origin: Instant,
    /// The server's time at the origin; 0 if it is not known yet.
    server: AtomicU64,
}

impl Default for Clock {
    fn default() -> Self {
        Self { origin: Instant::now(), server: AtomicU64::new(0) }
    }
}

impl Clock {
    fn set(&self, now: u64) {
        self.server.store(now.saturating_sub(self.elapsed()), Ordering::Relaxed);
    }

    pub(super) fn now(&self) -> u64 {
        match self.server.load(Ordering::Relaxed) {
            0 => unix_millis(),
            server => server.saturating_add(self.elapsed()),
        }
    }

    fn elapsed(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

//! A store of outcomes within one process.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use couplet_core::{BoxFuture, Error, ErrorKind, sync::lock};
use tokio::time::Instant;

use super::{Begun, OutcomeKey, OutcomeStore};

/// An [`OutcomeStore`] in memory, for one process. Clones are the same store.
///
/// It holds up to 65,536 records and 64 MiB of outcomes by default. A full store accepts no further keys: dropping a
/// record early could execute its call twice.
///
/// ```
/// use couplet_server::outcomes::MemoryOutcomes;
///
/// let outcomes = MemoryOutcomes::new().max_records(1000).max_bytes(1 << 20);
/// # let _ = outcomes;
/// ```
#[derive(Clone, Debug)]
pub struct MemoryOutcomes {
    records: Arc<Mutex<Records>>,
    max_records: usize,
    max_bytes: usize,
}

#[derive(Debug, Default)]
struct Records {
    all: HashMap<OutcomeKey, Record>,
    /// The bytes of all outcomes.
    bytes: usize,
    last_token: u64,
    /// The number of records at which expired ones are removed. It doubles with those that stay, so that the time for
    /// it is shared by as many calls.
    sweep_at: usize,
}

#[derive(Debug)]
struct Record {
    digest: [u8; 32],
    token: u64,
    lease_until: Instant,
    expires: Instant,
    outcome: Option<Bytes>,
}

impl MemoryOutcomes {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self { records: Arc::default(), max_records: 65_536, max_bytes: 64 << 20 }
    }

    /// Sets the maximum number of records.
    #[must_use]
    pub fn max_records(mut self, records: usize) -> Self {
        self.max_records = records;
        self
    }

    /// Sets the maximum size of all outcomes in bytes.
    #[must_use]
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    fn begin_now(&self, key: &OutcomeKey, digest: [u8; 32], lease: Duration, keep: Duration) -> Result<Begun, Error> {
        let now = Instant::now();
        let mut records = lock(&self.records);
        if let Some(record) = records.alive(key, now) {
            return Ok(record.found(&digest, now));
        }
        if records.all.len() >= records.sweep_at.min(self.max_records) {
            records.sweep(now);
        }
        if records.all.len() >= self.max_records {
            return Err(full("records"));
        }
        records.last_token += 1;
        let token = records.last_token;
        let record = Record { digest, token, lease_until: later(now, lease), expires: later(now, keep), outcome: None };
        records.all.insert(key.clone(), record);
        Ok(Begun::First(token))
    }

    fn finish_now(&self, key: &OutcomeKey, token: u64, outcome: Bytes, keep: Duration) -> Result<bool, Error> {
        let now = Instant::now();
        let mut records = lock(&self.records);
        if records.running(key, token, now).is_none() {
            return Ok(false);
        }
        let size = outcome.len();
        if records.bytes.saturating_add(size) > self.max_bytes {
            records.sweep(now);
        }
        if records.bytes.saturating_add(size) > self.max_bytes {
            return Err(full("bytes"));
        }
        records.bytes += size;
        if let Some(record) = records.running(key, token, now) {
            (record.outcome, record.expires) = (Some(outcome), later(now, keep));
        }
        Ok(true)
    }
}

impl Default for MemoryOutcomes {
    fn default() -> Self {
        Self::new()
    }
}

impl Records {
    /// The record of a key, unless its lifetime is over.
    fn alive(&mut self, key: &OutcomeKey, now: Instant) -> Option<&mut Record> {
        if self.all.get(key)?.expires <= now {
            self.remove(key);
            return None;
        }
        self.all.get_mut(key)
    }

    /// The record of a call that has no outcome yet.
    fn running(&mut self, key: &OutcomeKey, token: u64, now: Instant) -> Option<&mut Record> {
        self.alive(key, now).filter(|record| record.token == token && record.outcome.is_none())
    }

    fn remove(&mut self, key: &OutcomeKey) {
        if let Some(record) = self.all.remove(key) {
            self.bytes -= record.size();
        }
    }

    /// Removes the records whose lifetime is over.
    fn sweep(&mut self, now: Instant) {
        let Self { all, bytes, .. } = self;
        all.retain(|_, record| {
            let stays = record.expires > now;
            *bytes -= if stays { 0 } else { record.size() };
            stays
        });
        self.sweep_at = (self.all.len() * 2).max(256);
    }
}

impl Record {
    fn size(&self) -> usize {
        self.outcome.as_ref().map_or(0, Bytes::len)
    }

    fn found(&self, digest: &[u8; 32], now: Instant) -> Begun {
        match &self.outcome {
            _ if self.digest != *digest => Begun::Different,
            Some(outcome) => Begun::Done(outcome.clone()),
            None if self.lease_until > now => Begun::Running,
            None => Begun::Unknown,
        }
    }
}

impl OutcomeStore for MemoryOutcomes {
    fn begin<'a>(
        &'a self,
        key: &'a OutcomeKey,
        digest: [u8; 32],
        lease: Duration,
        keep: Duration,
    ) -> BoxFuture<'a, Result<Begun, Error>> {
        Box::pin(async move { self.begin_now(key, digest, lease, keep) })
    }

    fn renew<'a>(&'a self, key: &'a OutcomeKey, token: u64, lease: Duration) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(async move {
            let now = Instant::now();
            let mut records = lock(&self.records);
            let running = records.running(key, token, now);
            Ok(running.map(|record| record.lease_until = later(now, lease)).is_some())
        })
    }

    fn finish<'a>(
        &'a self,
        key: &'a OutcomeKey,
        token: u64,
        outcome: Bytes,
        keep: Duration,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(async move { self.finish_now(key, token, outcome, keep) })
    }

    fn abandon<'a>(&'a self, key: &'a OutcomeKey, token: u64) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let mut records = lock(&self.records);
            if records.running(key, token, Instant::now()).is_some() {
                records.remove(key);
            }
            Ok(())
        })
    }
}

/// A time from now; one beyond the clock's range is a century away.
fn later(now: Instant, time: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
    now + time.min(CENTURY)
}

fn full(what: &str) -> Error {
    Error::new(ErrorKind::Other, format!("the store of outcomes is full: too many {what}"))
}

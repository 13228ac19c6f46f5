//! A session store in memory.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    future::ready,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use couplet_core::{BoxFuture, Error};
use tokio::time::Instant;

use crate::server::{
    lock,
    session::store::{Claim, LoadedSession, Node, Posted, Renewed, SessionRecord, SessionStore},
    shrink,
};

/// A session store in memory, for endpoints in one process: for tests of what replicas do, and for processes that
/// replace an endpoint while they run. Sessions end with the process; [`SessionStore`] has the contract for one that
/// shares them.
///
/// ```
/// use std::sync::Arc;
/// use couplet_http::server::{Endpoint, MemorySessions};
/// use couplet_server::Server;
///
/// let store = Arc::new(MemorySessions::new());
/// let endpoint = || Endpoint::new(Server::<()>::new("hello", "1.0.0").build()).sessions(store.clone());
/// // A session that one of them opens goes on at the other when the first has shut down.
/// let (first, second) = (endpoint(), endpoint());
/// assert!(store.is_empty());
/// # drop((first, second));
/// ```
pub struct MemorySessions {
    stored: Mutex<Stored>,
    lifetime: Duration,
}

#[derive(Default)]
struct Stored {
    sessions: HashMap<Arc<str>, StoredSession>,
    /// The number of sessions at which the expired ones are removed.
    sweep_at: usize,
}

struct StoredSession {
    record: SessionRecord,
    generation: u64,
    /// The owner, and when its lease expires.
    owner: Option<(Node, Instant)>,
    expires: Instant,
    /// The messages for the owner, with their numbers.
    messages: VecDeque<(u64, Bytes)>,
    /// The number of the last message.
    posted: u64,
}

impl MemorySessions {
    /// Creates an empty store, from which sessions expire that are not renewed for 24 hours.
    pub fn new() -> Self {
        Self::with_lifetime(Duration::from_secs(24 * 60 * 60))
    }

    /// Creates an empty store, from which sessions expire that are not renewed for so long after their lease. Expired
    /// ones are never returned; their memory is freed each time that the number of sessions has doubled, from 1,024 on.
    pub fn with_lifetime(lifetime: Duration) -> Self {
        Self { stored: Mutex::default(), lifetime }
    }

    /// Returns the number of sessions, expired ones included that are not removed yet.
    pub fn len(&self) -> usize {
        lock(&self.stored).sessions.len()
    }

    /// Returns whether there are no sessions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Does something with a session that has not expired.
    fn with<T>(&self, id: &str, then: impl FnOnce(&mut StoredSession, Instant) -> T) -> Option<T> {
        let now = Instant::now();
        let mut stored = lock(&self.stored);
        stored.sessions.get_mut(id).filter(|entry| now < entry.expires).map(|entry| then(entry, now))
    }

    fn expiry(&self, now: Instant, lease: Duration) -> (Instant, Instant) {
        let until = later(now, lease);
        (until, later(until, self.lifetime))
    }

    fn try_claim(&self, id: &str, gone: &Node, node: &Node, lease: Duration) -> Claim {
        let claimed = self.with(id, |entry, now| {
            if let Some(owner) = entry.owner_at(now).filter(|owner| owner.id != node.id && owner.id != gone.id) {
                return Claim::Elsewhere(owner.clone());
            }
            let (until, expires) = self.expiry(now, lease);
            entry.generation += 1;
            entry.owner = Some((node.clone(), until));
            entry.expires = expires;
            Claim::Owned(entry.record.clone(), entry.generation)
        });
        claimed.unwrap_or(Claim::Missing)
    }

    /// Returns whether there are messages; `None` if the node does not own the session.
    fn try_renew(&self, id: &str, generation: u64, node: &Node, lease: Duration) -> Option<bool> {
        self.with(id, |entry, now| {
            let owns = entry.generation == generation && entry.owner.as_ref().is_some_and(|(own, _)| own.id == node.id);
            if !owns {
                return None;
            }
            let (until, expires) = self.expiry(now, lease);
            entry.owner = Some((node.clone(), until));
            entry.expires = expires;
            Some(!entry.messages.is_empty())
        })?
    }
}

/// A time in the future, and the latest possible one if it is too far away.
fn later(now: Instant, pause: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);
    now + pause.min(FAR)
}

impl StoredSession {
    /// The largest number of messages, and their size.
    const MESSAGES: usize = 64;
    const BYTES: usize = 1 << 20;

    fn post(&mut self, owner: &Node, message: Bytes, now: Instant) -> Posted {
        if self.owner_at(now).is_none_or(|own| own.id != owner.id) {
            return Posted::Elsewhere;
        }
        let bytes: usize = self.messages.iter().map(|(_, message)| message.len()).sum();
        if self.messages.len() >= Self::MESSAGES || bytes + message.len() > Self::BYTES {
            return Posted::Full;
        }
        self.posted += 1;
        self.messages.push_back((self.posted, message));
        Posted::Stored
    }

    fn owner_at(&self, now: Instant) -> Option<&Node> {
        self.owner.as_ref().filter(|(_, until)| now < *until).map(|(node, _)| node)
    }
}

impl Stored {
    /// Removes what has expired, each time that the number of sessions has doubled.
    fn sweep(&mut self, now: Instant) {
        const LEAST: usize = 1024;
        if self.sessions.len() >= self.sweep_at.max(LEAST) {
            self.sessions.retain(|_, entry| now < entry.expires);
            self.sweep_at = 2 * self.sessions.len();
            shrink(&mut self.sessions);
        }
    }
}

impl SessionStore for MemorySessions {
    fn create<'a>(
        &'a self,
        record: SessionRecord,
        node: &'a Node,
        lease: Duration,
    ) -> BoxFuture<'a, Result<u64, Error>> {
        let now = Instant::now();
        let (until, expires) = self.expiry(now, lease);
        let entry = StoredSession {
            generation: 1,
            owner: Some((node.clone(), until)),
            expires,
            record,
            messages: VecDeque::new(),
            posted: 0,
        };
        let mut stored = lock(&self.stored);
        stored.sweep(now);
        stored.sessions.insert(entry.record.id.clone(), entry);
        Box::pin(ready(Ok(1)))
    }

    fn load<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<LoadedSession>, Error>> {
        let found = self.with(id, |entry, now| (entry.record.clone(), entry.owner_at(now).cloned()));
        Box::pin(ready(Ok(found)))
    }

    fn claim_from<'a>(
        &'a self,
        id: &'a str,
        gone: &'a Node,
        node: &'a Node,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Claim, Error>> {
        Box::pin(ready(Ok(self.try_claim(id, gone, node, lease))))
    }

    fn renew<'a>(
        &'a self,
        owned: &'a [(Arc<str>, u64)],
        node: &'a Node,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Renewed, Error>> {
        let mut renewed = Renewed::default();
        for (id, generation) in owned {
            match self.try_renew(id, *generation, node, lease) {
                None => renewed.lost.push(id.clone()),
                Some(true) => renewed.with_messages.push(id.clone()),
                Some(false) => {}
            }
        }
        Box::pin(ready(Ok(renewed)))
    }

    fn post<'a>(&'a self, id: &'a str, owner: &'a Node, message: Bytes) -> BoxFuture<'a, Result<Posted, Error>> {
        let posted = self.with(id, |entry, now| entry.post(owner, message, now));
        Box::pin(ready(Ok(posted.unwrap_or(Posted::Elsewhere))))
    }

    fn take<'a>(&'a self, id: &'a str, generation: u64, after: u64) -> BoxFuture<'a, Result<Vec<(u64, Bytes)>, Error>> {
        let messages = self.with(id, |entry, _| {
            if entry.generation != generation {
                return Vec::new();
            }
            entry.messages.retain(|(number, _)| *number > after);
            entry.messages.iter().cloned().collect()
        });
        Box::pin(ready(Ok(messages.unwrap_or_default())))
    }

    fn remember<'a>(&'a self, id: &'a str, generation: u64, memory: Bytes) -> BoxFuture<'a, Result<bool, Error>> {
        let stored = self.with(id, |entry, _| {
            let is_current = entry.generation == generation;
            if is_current {
                entry.record.memory = Some(memory);
            }
            is_current
        });
        Box::pin(ready(Ok(stored.unwrap_or(false))))
    }

    fn release<'a>(&'a self, id: &'a str, generation: u64) -> BoxFuture<'a, Result<(), Error>> {
        self.with(id, |entry, _| {
            if entry.generation == generation {
                entry.owner = None;
            }
        });
        Box::pin(ready(Ok(())))
    }

    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, Error>> {
        let existed = self.with(id, |_, _| ()).is_some();
        let mut stored = lock(&self.stored);
        stored.sessions.remove(id);
        shrink(&mut stored.sessions);
        Box::pin(ready(Ok(existed)))
    }
}

impl Default for MemorySessions {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemorySessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ids are secrets.
        f.debug_struct("MemorySessions").field("sessions", &self.len()).finish_non_exhaustive()
    }
}

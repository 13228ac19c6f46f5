//! The sessions that were opened, for processes that share them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use couplet_core::{BoxFuture, Error};

use crate::server::{lock, shrink};

/// Knows which sessions were opened and by whom.
///
/// An endpoint keeps what runs in a session to itself. What it finds here it can take over: a session that another
/// process opened, or this one before it was started again. It asks only for sessions that it does not have, so the
/// requests of a session should come to the same process for as long as that is there.
pub trait SessionStore: Send + Sync + 'static {
    /// Keeps a session.
    fn create(&self, record: SessionRecord) -> BoxFuture<'_, Result<(), Error>>;

    /// Keeps what a session remembers: the log level that its client set, and the resources that it subscribed to.
    fn remember(&self, id: &str, memory: Bytes) -> BoxFuture<'_, Result<(), Error>>;

    /// Finds a session.
    fn load(&self, id: &str) -> BoxFuture<'_, Result<Option<SessionRecord>, Error>>;

    /// Forgets a session; true if it was there.
    fn remove(&self, id: &str) -> BoxFuture<'_, Result<bool, Error>>;

    /// The session's time in this process is over, because nobody used it here or there was no room. It is forgotten;
    /// a store that several processes share may keep it for the others, and has to end it some time by itself.
    fn evict(&self, id: &str) -> BoxFuture<'_, Result<bool, Error>> {
        self.remove(id)
    }
}

/// What is known of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionRecord {
    /// Its id, which must be kept secret.
    pub id: Arc<str>,
    /// Who opened it, if somebody was authenticated. Nobody else may use it.
    pub principal: Option<Arc<str>>,
    /// The message that opened it.
    pub opening: Bytes,
    /// What it remembers, if anything.
    pub memory: Option<Bytes>,
}

impl SessionRecord {
    /// What is known of a session.
    pub fn new(id: impl Into<Arc<str>>, principal: Option<Arc<str>>, opening: Bytes) -> Self {
        Self { id: id.into(), principal, opening, memory: None }
    }
}

/// Keeps nothing, for an endpoint whose sessions end with it.
#[derive(Debug)]
pub(crate) struct Nowhere;

impl SessionStore for Nowhere {
    fn create(&self, _: SessionRecord) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn remember(&self, _: &str, _: Bytes) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn load(&self, _: &str) -> BoxFuture<'_, Result<Option<SessionRecord>, Error>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn remove(&self, _: &str) -> BoxFuture<'_, Result<bool, Error>> {
        Box::pin(std::future::ready(Ok(false)))
    }
}

/// The sessions of this process, for several endpoints in it.
#[derive(Debug, Default)]
pub struct MemorySessions(Mutex<HashMap<Arc<str>, SessionRecord>>);

impl MemorySessions {
    /// No sessions yet.
    pub fn new() -> Self {
        Self::default()
    }
}

impl SessionStore for MemorySessions {
    fn create(&self, record: SessionRecord) -> BoxFuture<'_, Result<(), Error>> {
        lock(&self.0).insert(record.id.clone(), record);
        Box::pin(std::future::ready(Ok(())))
    }

    fn remember(&self, id: &str, memory: Bytes) -> BoxFuture<'_, Result<(), Error>> {
        if let Some(record) = lock(&self.0).get_mut(id) {
            record.memory = Some(memory);
        }
        Box::pin(std::future::ready(Ok(())))
    }

    fn load(&self, id: &str) -> BoxFuture<'_, Result<Option<SessionRecord>, Error>> {
        Box::pin(std::future::ready(Ok(lock(&self.0).get(id).cloned())))
    }

    fn remove(&self, id: &str) -> BoxFuture<'_, Result<bool, Error>> {
        let mut sessions = lock(&self.0);
        let gone = sessions.remove(id);
        shrink(&mut sessions);
        Box::pin(std::future::ready(Ok(gone.is_some())))
    }
}

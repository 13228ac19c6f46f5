//! The sessions that were opened, for processes that share them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use couplet_core::{BoxFuture, Error};

use super::lock;

/// Knows which sessions were opened and by whom.
///
/// An endpoint keeps what runs in a session to itself. What it finds here it can take over: a session that another
/// process opened, or this one before it was started again.
pub trait SessionStore: Send + Sync + 'static {
    /// Keeps a session.
    fn create(&self, record: SessionRecord) -> BoxFuture<'_, Result<(), Error>>;

    /// Finds a session.
    fn load(&self, id: &str) -> BoxFuture<'_, Result<Option<SessionRecord>, Error>>;

    /// Forgets a session; true if it was there.
    fn remove(&self, id: &str) -> BoxFuture<'_, Result<bool, Error>>;
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
}

impl SessionRecord {
    /// What is known of a session.
    pub fn new(id: impl Into<Arc<str>>, principal: Option<Arc<str>>, opening: Bytes) -> Self {
        Self { id: id.into(), principal, opening }
    }
}

/// The sessions of this process.
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

    fn load(&self, id: &str) -> BoxFuture<'_, Result<Option<SessionRecord>, Error>> {
        Box::pin(std::future::ready(Ok(lock(&self.0).get(id).cloned())))
    }

    fn remove(&self, id: &str) -> BoxFuture<'_, Result<bool, Error>> {
        Box::pin(std::future::ready(Ok(lock(&self.0).remove(id).is_some())))
    }
}

//! Session stores, which replicas share.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use couplet_core::{BoxFuture, Error};

use crate::server::{lock, shrink};

/// A store of sessions, so that a replica can take over a session that another one opened, or that this one opened
/// before a restart.
///
/// Running calls are not stored. The endpoint loads only sessions that it does not have in memory, so use sticky routing
/// by `Mcp-Session-Id`.
pub trait SessionStore: Send + Sync + 'static {
    /// Stores a new session.
    fn create(&self, record: SessionRecord) -> BoxFuture<'_, Result<(), Error>>;

    /// Stores the state of a session: its log level and subscriptions.
    fn remember(&self, id: &str, memory: Bytes) -> BoxFuture<'_, Result<(), Error>>;

    /// Loads a session.
    fn load(&self, id: &str) -> BoxFuture<'_, Result<Option<SessionRecord>, Error>>;

    /// Removes a session; returns whether it existed.
    fn remove(&self, id: &str) -> BoxFuture<'_, Result<bool, Error>>;

    /// Called when this process drops a session that was idle or had to make room. The default removes it; a store that
    /// replicas share may keep it, and must then expire it.
    fn evict(&self, id: &str) -> BoxFuture<'_, Result<bool, Error>> {
        self.remove(id)
    }
}

/// A stored session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionRecord {
    /// The id. It is a secret.
    pub id: Arc<str>,
    /// The principal that opened it, if it was authenticated. No other principal may use it.
    pub principal: Option<Arc<str>>,
    /// The `initialize` request.
    pub opening: Bytes,
    /// The state, if there is any.
    pub memory: Option<Bytes>,
}

impl SessionRecord {
    /// Creates a record without state.
    pub fn new(id: impl Into<Arc<str>>, principal: Option<Arc<str>>, opening: Bytes) -> Self {
        Self { id: id.into(), principal, opening, memory: None }
    }
}

/// Stores nothing, for an endpoint whose sessions end with it.
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

/// A session store in memory, for endpoints in one process.
#[derive(Debug, Default)]
pub struct MemorySessions(Mutex<HashMap<Arc<str>, SessionRecord>>);

impl MemorySessions {
    /// Creates an empty store.
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

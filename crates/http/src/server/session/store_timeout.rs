//! Store calls with a timeout: a store that hangs must not hang the server.

use std::sync::Arc;

use bytes::Bytes;
use couplet_core::{BoxFuture, Error, ErrorKind};

use crate::server::{
    endpoint::Config,
    metrics::Store,
    request::deadline::within,
    session::{live::LiveSession, store::SessionRecord},
    stream::event_store::StoredEvent,
};

/// The store of events did not answer in time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Late;

impl Config {
    /// Stores a session.
    ///
    /// # Errors
    /// When the store fails or does not answer in time.
    pub(crate) async fn create(&self, record: SessionRecord) -> Result<(), Error> {
        self.in_time(self.store.create(record)).await
    }

    /// Finds a session.
    ///
    /// # Errors
    /// When the store fails or does not answer in time.
    pub(crate) async fn load(&self, id: &str) -> Result<Option<SessionRecord>, Error> {
        self.in_time(self.store.load(id)).await
    }

    /// Stores the settings of a session, if that can be done.
    pub(crate) async fn remember(&self, id: &str, memory: Bytes) {
        if let Err(error) = self.in_time(self.store.remember(id, memory)).await {
            tracing::warn!(%error, "the settings of a session cannot be stored");
        }
    }

    /// Removes a session and its events.
    ///
    /// # Errors
    /// When the store fails or does not answer in time.
    pub(crate) async fn remove(&self, id: &str) -> Result<(), Error> {
        let removed = self.in_time(self.store.remove(id)).await;
        let _ = self.forget(id).await;
        removed.map(|_| ())
    }

    /// Tells the stores of sessions that gave way. After one of them did not answer in time the others are not asked:
    /// what they still have has to expire.
    pub(crate) async fn evict(&self, gone: &[Arc<LiveSession>]) {
        for live in gone {
            let evicted = self.in_time(self.store.evict(&live.id)).await;
            let forgotten = self.forget(&live.id).await;
            if let Err(error) = &evicted {
                tracing::warn!(%error, "a session whose time is over stays in the store");
            }
            if forgotten.is_err() || evicted.is_err_and(|error| error.kind() == ErrorKind::Timeout) {
                return;
            }
        }
    }

    /// Stores an event.
    ///
    /// # Errors
    /// When the store does not answer in time.
    pub(crate) async fn append(&self, session: &str, stream: u64, event: StoredEvent) -> Result<(), Late> {
        let kept = self.events_in_time(self.events.append(session, stream, event)).await;
        if kept.is_none() {
            tracing::warn!("an event cannot be stored: the store does not answer");
        }
        kept.ok_or(Late)
    }

    /// The events of a stream behind a number.
    ///
    /// # Errors
    /// When the store does not answer in time.
    pub(crate) async fn after(&self, session: &str, stream: u64, seq: u64) -> Result<Option<Vec<StoredEvent>>, Late> {
        self.events_in_time(self.events.after(session, stream, seq)).await.ok_or(Late)
    }

    async fn forget(&self, session: &str) -> Result<(), Late> {
        let forgotten = self.events_in_time(self.events.remove(session)).await;
        if forgotten.is_none() {
            tracing::warn!("the events of a session that is over stay in the store: it does not answer");
        }
        forgotten.ok_or(Late)
    }

    async fn events_in_time<T>(&self, work: BoxFuture<'_, T>) -> Option<T> {
        let timer = self.metrics.store(Store::Events);
        let done = within(self.limits.store_time, work).await;
        timer.stored(done.is_some());
        done
    }

    async fn in_time<T>(&self, work: BoxFuture<'_, Result<T, Error>>) -> Result<T, Error> {
        let late = || {
            let seconds = self.limits.store_time.as_secs_f64();
            Err(Error::new(ErrorKind::Timeout, format!("the store did not answer within {seconds} s")))
        };
        let timer = self.metrics.store(Store::Sessions);
        let done = within(self.limits.store_time, work).await.unwrap_or_else(late);
        timer.stored(done.is_ok());
        done
    }
}

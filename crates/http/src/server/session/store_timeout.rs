//! Store calls with a timeout: a store that hangs must not hang the server.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use couplet_core::{BoxFuture, Error, ErrorKind, Outage, OutageChange};
use tokio::time::Instant;

#[cfg(feature = "replicas")]
use crate::server::session::store::Posted;
use crate::server::{
    endpoint::Config,
    metrics::Store,
    request::deadline::within,
    session::{
        lease::Lease,
        live::LiveSession,
        store::{Claim, LoadedSession, Node, Renewed, SessionRecord, SessionStore},
    },
    stream::event_store::StoredEvent,
};

/// The session store that the replicas share, and this replica.
#[derive(Clone)]
pub(crate) struct SharedStore {
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) node: Node,
}

/// The result of a write to the store.
pub(crate) enum Written {
    /// It is stored.
    Stored,
    /// The store failed, or did not answer in time.
    Failed,
    /// Another replica owns the session.
    Fenced,
}

/// What an operation does in a store. One that is full answers reads and deletions in between: an outage ends only with an
/// operation that stores something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Stores,
    Other,
}

impl Written {
    fn new(result: Result<bool, Error>, what: &str) -> Self {
        match result {
            Ok(true) => Self::Stored,
            Ok(false) => Self::Fenced,
            Err(error) => {
                log_failure(&error, what);
                Self::Failed
            }
        }
    }
}

impl Config {
    /// Stores a session, if there is a store. Returns this replica's lease.
    ///
    /// # Errors
    /// When the store fails or does not answer in time.
    pub(crate) async fn create(&self, record: SessionRecord) -> Result<Option<Lease>, Error> {
        let Some(shared) = &self.shared else { return Ok(None) };
        let (asked, lease) = (Instant::now(), self.limits.session_lease);
        let generation = self.in_time(Effect::Stores, shared.store.create(record, &shared.node, lease)).await?;
        Ok(Some(Lease::new(generation, asked, lease)))
    }

    /// Finds a session and its owner.
    ///
    /// # Errors
    /// When the store fails or does not answer in time.
    pub(crate) async fn load(&self, shared: &SharedStore, id: &str) -> Result<Option<LoadedSession>, Error> {
        self.in_time(Effect::Other, shared.store.load(id)).await
    }

    /// Claims a session that only `gone` may have a lease for, and fences its earlier owner.
    ///
    /// # Errors
    /// When a store fails or does not answer in time.
    pub(crate) async fn claim(&self, shared: &SharedStore, id: &str, gone: &Node) -> Result<(Claim, Instant), Error> {
        let (asked, lease) = (Instant::now(), self.limits.session_lease);
        let claim = self.in_time(Effect::Stores, shared.store.claim_from(id, gone, &shared.node, lease)).await?;
        if let Claim::Owned(_, generation) = claim
            && let Err(error) = self.in_time(Effect::Stores, self.events.fence(id, generation)).await
        {
            let _ = self.in_time(Effect::Other, shared.store.release(id, generation)).await;
            return Err(error);
        }
        Ok((claim, asked))
    }

    /// Stores the settings of a session, if there is a store.
    pub(crate) async fn remember(&self, live: &LiveSession, memory: Bytes) -> Written {
        let (Some(shared), Some(lease)) = (&self.shared, &live.lease) else { return Written::Stored };
        let stored = self.in_time(Effect::Stores, shared.store.remember(&live.id, lease.generation, memory)).await;
        Written::new(stored, "the settings of a session cannot be stored")
    }

    /// Removes a session and its events.
    ///
    /// # Errors
    /// When the session store fails or does not answer in time.
    pub(crate) async fn remove(&self, id: &str) -> Result<bool, Error> {
        let removed = match &self.shared {
            Some(shared) => self.in_time(Effect::Other, shared.store.remove(id)).await,
            None => Ok(true),
        };
        let _ = self.remove_events(id).await;
        removed
    }

    /// Ends this replica's ownership of sessions that it has dropped: those that may go on elsewhere are released, the
    /// others removed. After a store did not answer in time the rest is left to expire, and it returns false.
    pub(crate) async fn give_up(&self, gone: &[Arc<LiveSession>], goes_on: impl Fn(&LiveSession) -> bool) -> bool {
        for live in gone {
            let done = match (&self.shared, &live.lease) {
                (Some(_), _) if !live.is_owned() && goes_on(live) => Ok(()),
                (Some(shared), _) if !live.is_owned() => self.remove_unowned(shared, &live.id).await,
                (Some(shared), Some(lease)) if goes_on(live) => {
                    self.in_time(Effect::Other, shared.store.release(&live.id, lease.generation)).await
                }
                (Some(_), _) => self.remove(&live.id).await.map(|_| ()),
                (None, _) => self.remove_events(&live.id).await,
            };
            if let Err(error) = done {
                log_failure(&error, "the store does not know that a session has ended here");
                if error.kind() == ErrorKind::Timeout {
                    return false;
                }
            }
        }
        true
    }

    /// Removes a session that this replica has released, unless another one uses it.
    async fn remove_unowned(&self, shared: &SharedStore, id: &str) -> Result<(), Error> {
        match self.in_time(Effect::Stores, shared.store.claim(id, &shared.node, self.limits.session_lease)).await? {
            Claim::Owned(..) => self.remove(id).await.map(|_| ()),
            Claim::Elsewhere(_) | Claim::Missing => Ok(()),
        }
    }

    /// Stores an event.
    pub(crate) async fn append(&self, live: &LiveSession, stream: u64, event: StoredEvent) -> Written {
        let stored =
            self.events_in_time(Effect::Stores, self.events.append(&live.id, live.generation(), stream, event)).await;
        Written::new(stored, "an event cannot be stored")
    }

    /// The events of a stream after a number.
    ///
    /// # Errors
    /// When the store fails or does not answer in time.
    pub(crate) async fn after(&self, session: &str, stream: u64, seq: u64) -> Result<Option<Vec<StoredEvent>>, Error> {
        self.events_in_time(Effect::Other, self.events.after(session, stream, seq)).await
    }

    async fn remove_events(&self, session: &str) -> Result<(), Error> {
        let removed = self.events_in_time(Effect::Other, self.events.remove(session)).await;
        if let Err(error) = &removed {
            log_failure(error, "the events of a session that is over stay in the store");
        }
        removed
    }

    /// Ends the ownership of a session; false if the store does not answer in time.
    pub(crate) async fn release(&self, shared: &SharedStore, id: &str, generation: u64) -> bool {
        let released = self.in_time(Effect::Other, shared.store.release(id, generation)).await;
        if let Err(error) = &released {
            log_failure(error, "a session cannot be released");
        }
        !released.is_err_and(|error| error.kind() == ErrorKind::Timeout)
    }

    /// Extends leases, of which one ends after the time that is left.
    ///
    /// # Errors
    /// When the store fails or does not answer in time.
    pub(crate) async fn renew(
        &self,
        shared: &SharedStore,
        owned: &[(Arc<str>, u64)],
        left: Duration,
    ) -> Result<Renewed, Error> {
        let lease = self.limits.session_lease;
        // There should be time for another attempt.
        let limit = self.limits.store_time.min(lease / 3).min(left);
        self.timed((Store::Sessions, Effect::Stores), limit, shared.store.renew(owned, &shared.node, lease)).await
    }

    /// Stores a message for the owner of a session.
    ///
    /// # Errors
    /// When the store fails or does not answer in time.
    #[cfg(feature = "replicas")]
    pub(crate) async fn post(
        &self,
        shared: &SharedStore,
        id: &str,
        owner: &Node,
        message: Bytes,
    ) -> Result<Posted, Error> {
        self.in_time(Effect::Stores, shared.store.post(id, owner, message)).await
    }

    /// Returns the messages for a session after a number.
    ///
    /// # Errors
    /// When the store fails or does not answer in time.
    #[cfg(feature = "replicas")]
    pub(crate) async fn take(
        &self,
        shared: &SharedStore,
        live: &LiveSession,
        after: u64,
    ) -> Result<Vec<(u64, Bytes)>, Error> {
        self.in_time(Effect::Other, shared.store.take(&live.id, live.generation(), after)).await
    }

    async fn events_in_time<T>(&self, effect: Effect, work: BoxFuture<'_, Result<T, Error>>) -> Result<T, Error> {
        self.timed((Store::Events, effect), self.limits.store_time, work).await
    }

    async fn in_time<T>(&self, effect: Effect, work: BoxFuture<'_, Result<T, Error>>) -> Result<T, Error> {
        self.timed((Store::Sessions, effect), self.limits.store_time, work).await
    }

    async fn timed<T>(
        &self,
        (which, effect): (Store, Effect),
        limit: Duration,
        work: BoxFuture<'_, Result<T, Error>>,
    ) -> Result<T, Error> {
        let timer = self.metrics.store(which);
        let done = in_time(limit, work).await;
        timer.stored(done.is_ok());
        if done.is_ok() && effect == Effect::Other {
            return done;
        }
        match (self.outage.note(done.as_ref().err()), &done) {
            (Some(OutageChange::Began), Err(error)) => tracing::warn!(%error, "the store of sessions is away"),
            (Some(OutageChange::Ended), _) => tracing::info!("the store of sessions is back"),
            _ => {}
        }
        done
    }
}

/// Logs that an operation has failed. During an outage that is a detail: one line says that the store is away.
pub(crate) fn log_failure(error: &Error, what: &str) {
    if Outage::is_outage(error) {
        tracing::debug!(%error, "{what}");
    } else {
        tracing::warn!(%error, "{what}");
    }
}

async fn in_time<T>(limit: Duration, work: BoxFuture<'_, Result<T, Error>>) -> Result<T, Error> {
    let late = || {
        let seconds = limit.as_secs_f64();
        Err(Error::new(ErrorKind::Timeout, format!("the store did not answer within {seconds} s")))
    };
    within(limit, work).await.unwrap_or_else(late)
}

impl fmt::Debug for SharedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedStore").field("node", &self.node).finish_non_exhaustive()
    }
}

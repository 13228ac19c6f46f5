//! How a session is found: here, at another replica, or in the store.

use std::{
    collections::{HashMap, hash_map},
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use couplet_core::{Error, clock::unix_seconds};
use http::StatusCode;
use tokio::sync::watch;

use crate::server::{
    endpoint::Endpoint,
    lock,
    response::{self, Reply},
    session::{
        lease::Lease,
        live::LiveSession,
        not_found,
        sessionless::reopen,
        store::{Claim, Node, SessionRecord},
        store_timeout::{SharedStore, log_failure},
    },
};

/// A session that a request names.
#[derive(Debug)]
pub(crate) enum Found {
    /// It is here.
    Here(Arc<LiveSession>),
    /// Another replica owns it.
    There(Box<There>),
}

/// A session that another replica owns.
#[derive(Debug)]
pub(crate) struct There {
    #[cfg_attr(not(feature = "replicas"), allow(dead_code, reason = "it is for forwarding"))]
    pub(crate) id: Arc<str>,
    /// The session as it is stored; `None` if its owner is known from an earlier request.
    #[cfg_attr(not(feature = "replicas"), allow(dead_code, reason = "it is for forwarding"))]
    pub(crate) record: Option<SessionRecord>,
    #[cfg_attr(not(feature = "replicas"), allow(dead_code, reason = "it is for forwarding"))]
    pub(crate) owner: Node,
}

impl There {
    fn new(record: SessionRecord, owner: Node) -> Box<Self> {
        Box::new(Self { id: record.id.clone(), record: Some(record), owner })
    }
}

impl Endpoint {
    /// Returns the session of this id, if it belongs to the caller. A session without an owner is claimed.
    pub(crate) async fn find(&self, id: &str, principal: Option<&Arc<str>>) -> Result<Found, Box<Reply>> {
        if let Some(live) = self.state.sessions.get(id) {
            if live.principal.as_ref() != principal {
                return Err(not_found().into());
            }
            if live.is_owned() {
                return Ok(Found::Here(live));
            }
            self.abandon(&live);
        }
        #[cfg(feature = "replicas")]
        if let Some(there) = self.known_owner(id, principal)? {
            return Ok(Found::There(there));
        }
        match &self.config.shared {
            Some(shared) => Box::pin(self.look_up(shared, id, principal)).await,
            None => Err(not_found().into()),
        }
    }

    /// Looks for a session in the store.
    pub(crate) async fn look_up(
        &self,
        shared: &SharedStore,
        id: &str,
        principal: Option<&Arc<str>>,
    ) -> Result<Found, Box<Reply>> {
        let found = self.config.load(shared, id).await.map_err(|error| unavailable(&error))?;
        let found = found.filter(|(record, _)| record.principal.as_ref() == principal);
        let Some((record, owner)) = found else { return Err(not_found().into()) };
        match owner.filter(|owner| owner.id != shared.node.id) {
            #[cfg(feature = "replicas")]
            Some(owner) if self.succeeds(shared, &owner) => self.claim_from(shared, &record, &owner).await,
            Some(owner) => Ok(Found::There(There::new(record, owner))),
            None => self.claim(shared, &record).await,
        }
    }

    /// Claims a session that no other replica has a lease for.
    pub(crate) async fn claim(&self, shared: &SharedStore, record: &SessionRecord) -> Result<Found, Box<Reply>> {
        self.claim_from(shared, record, &shared.node).await
    }

    /// Claims a session that only a process that is gone has a lease for. Of several requests at a time one does so, and the
    /// others wait for it.
    pub(crate) async fn claim_from(
        &self,
        shared: &SharedStore,
        record: &SessionRecord,
        gone: &Node,
    ) -> Result<Found, Box<Reply>> {
        loop {
            let turn = match self.state.claims.begin(&record.id) {
                Ok(turn) => turn,
                Err(mut other) => {
                    if other.changed().await.is_ok() {
                        return Err(busy().into());
                    }
                    continue;
                }
            };
            // Another request may have been faster.
            if let Some(live) = self.state.sessions.get(&record.id).filter(|live| live.is_owned()) {
                return Ok(Found::Here(live));
            }
            self.state.sessions.check(record.principal.as_ref(), record.opening.len(), &self.config.limits)?;
            return match self.config.claim(shared, &record.id, gone).await {
                Ok((Claim::Owned(record, generation), asked)) => {
                    let lease = Lease::new(generation, asked, self.config.limits.session_lease);
                    self.take_over(shared, record, lease).await.map(Found::Here)
                }
                Ok((Claim::Elsewhere(owner), _)) => Ok(Found::There(There::new(record.clone(), owner))),
                Ok((Claim::Missing, _)) => Err(not_found().into()),
                Err(error) => {
                    turn.fail();
                    Err(unavailable(&error))
                }
            };
        }
    }

    /// Goes on with a session that lived elsewhere.
    async fn take_over(
        &self,
        shared: &SharedStore,
        record: SessionRecord,
        lease: Lease,
    ) -> Result<Arc<LiveSession>, Box<Reply>> {
        let (size, id, generation) = (record.opening.len(), record.id.clone(), lease.generation);
        let mut connection = self.connection(None);
        connection.number_client_requests_after(earlier_ids(generation));
        reopen(&mut connection, record.opening, &self.config.connection).await;
        connection.receive(Bytes::from_static(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#));
        if let Some(memory) = &record.memory {
            connection.restore_memory(memory);
        }
        let inserted = match connection.revision() {
            Some(revision) => {
                let age = Duration::from_secs(unix_seconds().saturating_sub(record.opened));
                let live = LiveSession::new(record.id, record.principal, revision, connection, size, Some(lease));
                let (inserted, evicted) = self.state.sessions.insert(live.taken_over(age), &self.config.limits);
                self.look_after();
                self.renew_leases();
                self.evict(&evicted).await;
                inserted
            }
            None => Err(Box::new(not_found())),
        };
        match &inserted {
            #[cfg(feature = "replicas")]
            Ok(live) => self.collect(shared, live).await,
            #[cfg(not(feature = "replicas"))]
            Ok(_) => {}
            Err(_) => {
                self.config.release(shared, &id, generation).await;
            }
        }
        inserted
    }

    /// Drops a session that this replica does not own any more. Nothing is stored or sent.
    pub(crate) fn abandon(&self, live: &Arc<LiveSession>) {
        self.state.sessions.remove_this(live);
        live.fence();
    }
}

/// The number after which an owner numbers its requests to the client: there is room for 2²⁰ of each of 2¹¹ owners, and
/// clients that read ids as 32 bits understand them.
fn earlier_ids(generation: u64) -> i64 {
    i64::try_from((generation.saturating_sub(1) % (1 << 11)) << 20).unwrap_or_default()
}

fn busy() -> Reply {
    response::busy(StatusCode::SERVICE_UNAVAILABLE, "the session cannot be looked for")
}

fn unavailable(error: &Error) -> Box<Reply> {
    log_failure(error, "the store of sessions does not answer");
    busy().into()
}

/// The claims under way.
#[derive(Debug, Default)]
pub(crate) struct Claims(Arc<Mutex<HashMap<Arc<str>, watch::Receiver<()>>>>);

impl Claims {
    /// Begins a claim, unless one is under way.
    ///
    /// # Errors
    /// The claim that is under way: it changes if that fails, and closes when it is over.
    fn begin(&self, id: &Arc<str>) -> Result<Turn, watch::Receiver<()>> {
        match lock(&self.0).entry(id.clone()) {
            hash_map::Entry::Occupied(other) => Err(other.get().clone()),
            hash_map::Entry::Vacant(entry) => {
                let (sender, receiver) = watch::channel(());
                entry.insert(receiver);
                Ok(Turn { id: id.clone(), claims: self.0.clone(), sender })
            }
        }
    }
}

/// A claim under way, until this is dropped.
#[derive(Debug)]
struct Turn {
    id: Arc<str>,
    claims: Arc<Mutex<HashMap<Arc<str>, watch::Receiver<()>>>>,
    sender: watch::Sender<()>,
}

impl Turn {
    /// Lets the requests that wait fail as well.
    fn fail(&self) {
        self.sender.send_replace(());
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        lock(&self.claims).remove(&self.id);
    }
}

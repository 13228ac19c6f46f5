//! Session stores, which replicas share.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use couplet_core::{BoxFuture, Error, clock::unix_seconds};

use crate::server::session::new_id;

/// A store of sessions that the replicas of one server share.
///
/// A session has one owner at a time: the replica that runs its calls. The owner has a lease, which it renews, and a
/// generation, which grows with each claim. All writes name the generation, so a replica that lost the session, and does
/// not know it yet, cannot change it. When the lease has expired, or the owner has released it, another replica claims it. A
/// process that restarts at the address of an owner has no part in its sessions: they are claimed from the earlier process
/// at once.
///
/// Each operation must be atomic. The store's clock decides whether a lease has expired. Sessions that are not renewed
/// must expire some time after their lease: 24 hours is the usual maximum age of a session.
///
/// The contract is a test in `couplet_testing::contract::session_store`.
#[doc = include_str!("../../docs/session_store.md")]
pub trait SessionStore: Send + Sync + 'static {
    /// Stores a new session, owned by `node` for the time of the lease. Returns its generation, which is at least 1.
    ///
    /// # Errors
    /// If the store fails. The session may have been stored nevertheless.
    fn create<'a>(
        &'a self,
        record: SessionRecord,
        node: &'a Node,
        lease: Duration,
    ) -> BoxFuture<'a, Result<u64, Error>>;

    /// Loads a session and its owner; the owner is `None` if there is none or its lease has expired.
    ///
    /// # Errors
    /// If the store fails.
    fn load<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<LoadedSession>, Error>>;

    /// Claims a session that no other node has a valid lease for. The generation grows also if `node` owns the session
    /// already: its earlier claim ends.
    ///
    /// # Errors
    /// If the store fails. The session may have been claimed nevertheless.
    fn claim<'a>(&'a self, id: &'a str, node: &'a Node, lease: Duration) -> BoxFuture<'a, Result<Claim, Error>> {
        self.claim_from(id, node, node, lease)
    }

    /// Claims a session that no node but `gone` has a valid lease for, as [`claim`](Self::claim) does: the process of that node
    /// has ended, or `gone` is `node` itself.
    ///
    /// # Errors
    /// If the store fails. The session may have been claimed nevertheless.
    fn claim_from<'a>(
        &'a self,
        id: &'a str,
        gone: &'a Node,
        node: &'a Node,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Claim, Error>>;

    /// Extends the leases of sessions, given with their generations, and the time after which they expire. A lease that
    /// has expired is extended as well, if the session was not claimed since. Returns the sessions that `node` does not
    /// own in that generation (any more), and those of the others for which there are messages.
    ///
    /// # Errors
    /// If the store fails. Some of the leases may have been extended nevertheless.
    fn renew<'a>(
        &'a self,
        owned: &'a [(Arc<str>, u64)],
        node: &'a Node,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Renewed, Error>>;

    /// Stores a message for the owner of a session, which cannot be reached: usually it shuts down. It stays until an owner has
    /// taken it, `owner` or the next one, or the session expires. Nothing is stored unless `owner` has a valid lease, or if
    /// there is no room: a store limits the number and the size of the messages of a session, to no less than 16 and 256
    /// KiB.
    ///
    /// # Errors
    /// If the store fails. The message may have been stored nevertheless.
    fn post<'a>(&'a self, id: &'a str, owner: &'a Node, message: Bytes) -> BoxFuture<'a, Result<Posted, Error>>;

    /// Returns the messages for a session with their numbers, in the order in which they were stored, and removes those up to
    /// the number `after`, which were taken before. Numbers begin with 1 and are not used again. Returns nothing, and removes
    /// nothing, if the generation is not the current one.
    ///
    /// # Errors
    /// If the store fails.
    fn take<'a>(&'a self, id: &'a str, generation: u64, after: u64) -> BoxFuture<'a, Result<Vec<(u64, Bytes)>, Error>>;

    /// Stores the state of a session: its log level and subscriptions. Returns false, and stores nothing, if the session
    /// does not exist or the generation is not the current one.
    ///
    /// # Errors
    /// If the store fails.
    fn remember<'a>(&'a self, id: &'a str, generation: u64, memory: Bytes) -> BoxFuture<'a, Result<bool, Error>>;

    /// Ends the ownership if the generation is the current one, so that any replica can claim the session at once. The
    /// session stays until it expires.
    ///
    /// # Errors
    /// If the store fails.
    fn release<'a>(&'a self, id: &'a str, generation: u64) -> BoxFuture<'a, Result<(), Error>>;

    /// Removes a session, whichever node owns it; returns whether it existed.
    ///
    /// # Errors
    /// If the store fails.
    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, Error>>;
}

/// A stored session. Stores treat everything but the id as opaque.
///
/// ```
/// use bytes::Bytes;
/// use couplet_http::server::SessionRecord;
///
/// // As a store builds it from its columns.
/// let record = SessionRecord::new("4fd0", Some("ada".into()), Bytes::from_static(b"{}"))
///     .opened(1_800_000_000)
///     .with_memory(Some(Bytes::from_static(b"{}")));
/// assert_eq!((&*record.id, record.opened), ("4fd0", 1_800_000_000));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionRecord {
    /// The id. It is a secret.
    pub id: Arc<str>,
    /// The principal that opened it, if it was authenticated. No other principal may use it.
    pub principal: Option<Arc<str>>,
    /// The `initialize` request, as the client sent it: a replica that takes the session over replays it. At most
    /// [`HttpLimits::opening`](crate::server::HttpLimits::opening) bytes.
    pub opening: Bytes,
    /// When it was opened, in seconds since the Unix epoch. Its maximum age is counted from then, on every replica.
    pub opened: u64,
    /// The state, if there is any: the log level and the subscriptions, in a form of their own.
    pub memory: Option<Bytes>,
}

impl SessionRecord {
    /// Creates a record without state, opened now.
    pub fn new(id: impl Into<Arc<str>>, principal: Option<Arc<str>>, opening: Bytes) -> Self {
        Self { id: id.into(), principal, opening, opened: unix_seconds(), memory: None }
    }

    /// Sets the time of its opening, in seconds since the Unix epoch.
    #[must_use]
    pub fn opened(mut self, seconds: u64) -> Self {
        self.opened = seconds;
        self
    }

    /// Sets its state.
    #[must_use]
    pub fn with_memory(mut self, memory: Option<Bytes>) -> Self {
        self.memory = memory;
        self
    }
}

/// A session and its owner, as [`SessionStore::load`] returns them. The owner is `None` while any replica may claim it.
///
/// ```
/// use std::time::Duration;
/// use bytes::Bytes;
/// use couplet_http::server::{LoadedSession, MemorySessions, Node, SessionRecord, SessionStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), couplet_core::Error> {
/// let (store, node) = (MemorySessions::new(), Node::new("one"));
/// let record = SessionRecord::new("4fd0", None, Bytes::from_static(b"{}"));
/// let generation = store.create(record, &node, Duration::from_secs(15)).await?;
/// let loaded: Option<LoadedSession> = store.load("4fd0").await?;
/// assert_eq!(loaded.and_then(|(_, owner)| owner), Some(node));
///
/// store.release("4fd0", generation).await?;
/// assert_eq!(store.load("4fd0").await?.and_then(|(_, owner)| owner), None);
/// # Ok(())
/// # }
/// ```
pub type LoadedSession = (SessionRecord, Option<Node>);

/// The result of [`SessionStore::renew`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Renewed {
    /// The sessions that the node does not own in that generation.
    pub lost: Vec<Arc<str>>,
    /// The sessions that it owns and for which there are messages.
    pub with_messages: Vec<Arc<str>>,
}

/// The result of [`SessionStore::post`].
///
/// ```
/// use std::time::Duration;
/// use bytes::Bytes;
/// use couplet_http::server::{MemorySessions, Node, Posted, SessionRecord, SessionStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), couplet_core::Error> {
/// let (store, node) = (MemorySessions::new(), Node::new("one"));
/// let record = SessionRecord::new("4fd0", None, Bytes::from_static(b"{}"));
/// let generation = store.create(record, &node, Duration::from_secs(15)).await?;
///
/// let message = Bytes::from_static(b"a message");
/// assert_eq!(store.post("4fd0", &node, message.clone()).await?, Posted::Stored);
/// assert_eq!(store.take("4fd0", generation, 0).await?, [(1, message)]);
/// assert_eq!(store.take("4fd0", generation, 1).await?, []);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posted {
    /// The message is stored.
    Stored,
    /// The session has another owner or none, or does not exist.
    Elsewhere,
    /// There is no room for the message.
    Full,
}

/// A replica of a server, as the owner of sessions.
///
/// ```
/// use couplet_http::server::Node;
///
/// let node = Node::new("7c2a").with_url("http://10.0.0.7:8080/mcp");
/// assert_eq!(node.url.as_deref(), Some("http://10.0.0.7:8080/mcp"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Node {
    /// The id, which no other process has: a process that restarts has another one.
    pub id: Arc<str>,
    /// The URL of its endpoint for the other replicas, if it has one.
    pub url: Option<Arc<str>>,
}

impl Node {
    /// A node with an id of its own.
    pub(crate) fn random() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        // The id need not be secret, so something else will do for a system without random numbers.
        let other =
            || format!("{}-{}-{}", std::process::id(), unix_seconds(), LAST.fetch_add(1, Ordering::Relaxed)).into();
        Self { id: new_id().unwrap_or_else(other), url: None }
    }

    /// Creates a node without a URL.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self { id: id.into(), url: None }
    }

    /// Sets the URL of its endpoint for the other replicas.
    #[must_use]
    pub fn with_url(mut self, url: impl Into<Arc<str>>) -> Self {
        self.url = Some(url.into());
        self
    }
}

/// The result of [`SessionStore::claim`].
///
/// ```
/// use std::time::Duration;
/// use bytes::Bytes;
/// use couplet_http::server::{Claim, MemorySessions, Node, SessionRecord, SessionStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), couplet_core::Error> {
/// let (store, lease) = (MemorySessions::new(), Duration::from_secs(15));
/// let (one, two) = (Node::new("one"), Node::new("two"));
/// let record = SessionRecord::new("4fd0", None, Bytes::from_static(b"{}"));
/// let generation = store.create(record.clone(), &one, lease).await?;
///
/// assert_eq!(store.claim("4fd0", &two, lease).await?, Claim::Elsewhere(one));
/// store.release("4fd0", generation).await?;
/// assert_eq!(store.claim("4fd0", &two, lease).await?, Claim::Owned(record, generation + 1));
/// assert_eq!(store.claim("beef", &two, lease).await?, Claim::Missing);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The session, and the generation in which the node owns it now.
    Owned(SessionRecord, u64),
    /// Another node owns it.
    Elsewhere(Node),
    /// There is no such session.
    Missing,
}

//! Event stores, for clients that resume a stream.

use bytes::Bytes;
use couplet_core::{BoxFuture, Error};

/// A store of sent events, so that a client that lost its connection can resume a stream with `Last-Event-ID`.
///
/// Replicas share it as they share the session store. An implementation may drop old events, and must drop those of
/// sessions that are not used for long, but must not return a part: [`EventStore::after`] returns `None` then.
///
/// The contract is a test in `couplet_testing::contract::event_store`.
#[doc = include_str!("../../docs/event_store.md")]
pub trait EventStore: Send + Sync + 'static {
    /// Appends an event. The sequence numbers of a stream begin with 1 and have no gaps. The generation is that of the
    /// session's owner; returns false, and stores nothing, if the store has seen a higher one.
    ///
    /// # Errors
    /// If the store fails. The event may have been stored nevertheless.
    fn append<'a>(
        &'a self,
        session: &'a str,
        generation: u64,
        stream: u64,
        event: StoredEvent,
    ) -> BoxFuture<'a, Result<bool, Error>>;

    /// Refuses events of lower generations from now on. A replica that took a session over calls it before it uses the
    /// session, so that the earlier owner cannot add to what clients have been sent since.
    ///
    /// # Errors
    /// If the store fails.
    fn fence<'a>(&'a self, session: &'a str, generation: u64) -> BoxFuture<'a, Result<(), Error>>;

    /// Returns the events of one stream after a sequence number; `None` if the stream or the number is unknown, or if any
    /// of the events was dropped.
    ///
    /// # Errors
    /// If the store fails.
    fn after<'a>(
        &'a self,
        session: &'a str,
        stream: u64,
        seq: u64,
    ) -> BoxFuture<'a, Result<Option<Vec<StoredEvent>>, Error>>;

    /// Removes the events of a session. Its fence may go with them: the session is over.
    ///
    /// # Errors
    /// If the store fails.
    fn remove<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<(), Error>>;
}

/// A sent event.
///
/// ```
/// use couplet_http::server::{EventStore, MemoryEvents, StoredEvent};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), couplet_core::Error> {
/// let store = MemoryEvents::new();
/// let event = StoredEvent { seq: 1, text: "{}".into() };
/// assert!(store.append("4fd0", 1, 7, event.clone()).await?);
/// assert_eq!(store.after("4fd0", 7, 0).await?, Some(vec![event]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEvent {
    /// The sequence number in its stream.
    pub seq: u64,
    /// The message.
    pub text: Bytes,
}

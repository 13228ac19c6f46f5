//! The change bus between the replicas of one server.
//!
//! A bus carries bytes: what they mean is known to this crate alone, so an implementation cannot get it wrong, and
//! replicas of different releases can share one.
//!
//! | file | subject |
//! |---|---|
//! | `bridge` | publishes a hub's changes, and delivers those of other replicas |
//! | `message` | changes as bytes |
//! | `unpublished` | changes that wait to be published |
//! | `memory` | a bus within one process |

pub(crate) mod bridge;
pub(crate) mod memory;
pub(crate) mod message;
pub(crate) mod unpublished;

use bytes::Bytes;

use crate::{error::Error, server::running::BoxFuture};

/// A bus that carries changes between the replicas of one server, such as a channel of Redis.
///
/// With it, a change on one replica reaches the subscribers on all of them. Delivery is best effort: a message that is
/// lost is an [error of the subscription](BusSubscription::next), after which a [`Bridge`](crate::Bridge) assumes that
/// everything has changed.
///
/// An implementation must not block, need not order messages of different replicas, and need not have timeouts of its
/// own. Its contract is a function in `couplet-testing`.
///
/// ```
/// use bytes::Bytes;
/// use couplet_core::{ChangeBus, MemoryBus};
///
/// # async fn example() -> Result<(), couplet_core::Error> {
/// let bus = MemoryBus::new();
/// let mut subscription = bus.subscribe().await?;
/// bus.publish(Bytes::from_static(b"a message")).await?;
/// assert_eq!(subscription.next().await?, "a message");
/// # Ok(())
/// # }
/// # let mut example = std::pin::pin!(example());
/// # let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
/// # assert!(matches!(example.as_mut().poll(&mut cx), std::task::Poll::Ready(Ok(()))));
/// ```
pub trait ChangeBus: Send + Sync + 'static {
    /// Publishes a message to every subscription of every replica; it may include those of this one.
    ///
    /// # Errors
    /// If subscribers may not receive it. The message is published again later, so they may receive it twice.
    fn publish(&self, message: Bytes) -> BoxFuture<'_, Result<(), Error>>;

    /// Subscribes to the messages that are published from now on. They are received from the moment that the future is
    /// ready, whether or not [`next`](BusSubscription::next) waits for them.
    ///
    /// # Errors
    /// If the bus cannot be reached; it is tried again later.
    fn subscribe(&self) -> BoxFuture<'_, Result<Box<dyn BusSubscription>, Error>>;
}

/// A subscription to a [`ChangeBus`]. Dropping it ends it.
pub trait BusSubscription: Send {
    /// Waits for the next message. Cancel safe: dropping the future loses no message.
    ///
    /// # Errors
    /// If the subscription has ended: messages may have been lost, because the connection broke or because this side
    /// was too slow. It is dropped then, and replaced by a new one.
    fn next(&mut self) -> BoxFuture<'_, Result<Bytes, Error>>;
}

//! The bridge between a hub and a bus.

use std::{
    fmt,
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
    time::Duration,
};

use bytes::Bytes;

use super::{BusSubscription, ChangeBus, message::News, unpublished::Unpublished};
use crate::{
    error::{Error, ErrorKind},
    server::{
        hub::{Change, Hub},
        running::BoxFuture,
    },
    sync::lock,
};

/// The bridge between a [`Hub`] and the hubs of other replicas; created by [`Hub::bridge`].
///
/// Local changes are published, and changes of other replicas are delivered to local subscribers. When messages may have
/// been lost, subscribers are notified that all lists, and the resources that they subscribed to, have changed.
pub struct Bridge {
    hub: Hub,
    bus: Arc<dyn ChangeBus>,
    /// Identifies this replica.
    id: String,
    /// Whether it has been subscribed, so that messages may have been lost since.
    was_subscribed: AtomicBool,
}

/// The parts of a [`Bridge`] that need a runtime: time and a log.
pub trait BridgeRuntime: Send + Sync {
    /// Waits.
    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()>;

    /// Logs a failure, after which the bridge goes on.
    fn failed(&self, what: BridgeFailure, error: &Error);
}

/// An operation of a [`Bridge`] that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BridgeFailure {
    /// A change could not be published; it is published again after a pause.
    Publish,
    /// The bus could not be subscribed to; it is tried again after a pause.
    Subscribe,
    /// The subscription has ended; it is replaced after a pause.
    Receive,
    /// A message could not be decoded, and is skipped: a replica of another release may have sent it.
    Decode,
}

impl Hub {
    /// Creates a bridge between this hub and those of other replicas on the same bus. From now on, changes wait to be
    /// published, at most 1,024 of them; [`Bridge::run`] publishes them. A hub has one bridge; a second call replaces it.
    ///
    /// ```
    /// use std::{sync::Arc, time::Duration};
    /// use couplet_core::{BoxFuture, BridgeFailure, BridgeRuntime, Error, Hub, MemoryBus};
    ///
    /// struct Tokio;
    ///
    /// impl BridgeRuntime for Tokio {
    ///     fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
    /// #       let sleep = |_| std::future::pending();
    ///         Box::pin(sleep(time))
    ///     }
    ///     fn failed(&self, what: BridgeFailure, error: &Error) {
    ///         eprintln!("the change bus: {what:?}: {error}");
    ///     }
    /// }
    ///
    /// let bridge = Hub::new().bridge(Arc::new(MemoryBus::new()));
    /// let running = bridge.run(&Tokio); // Await it while the server runs.
    /// # drop(running);
    /// ```
    ///
    /// # Panics
    /// If the system has no source of randomness.
    pub fn bridge(&self, bus: Arc<dyn ChangeBus>) -> Bridge {
        lock(&self.0).unpublished = Some(Unpublished::default());
        let random = getrandom::u64().expect("the system's random source works");
        Bridge { hub: self.clone(), bus, id: format!("{random:016x}"), was_subscribed: AtomicBool::new(false) }
    }
}

impl Bridge {
    /// The time after which a call of the bus counts as failed.
    const TIMEOUT: Duration = Duration::from_secs(5);
    /// The number of messages that are received before other tasks run.
    const BURST: usize = 64;

    /// Publishes and receives until it is dropped. It can be run again, but only once at a time.
    pub async fn run(&self, runtime: &dyn BridgeRuntime) {
        let (mut publishing, mut receiving) = (pin!(self.publish(runtime)), pin!(self.receive(runtime)));
        poll_fn(|cx| -> Poll<()> {
            let _: (Poll<()>, Poll<()>) = (receiving.as_mut().poll(cx), publishing.as_mut().poll(cx));
            Poll::Pending
        })
        .await;
    }

    async fn publish(&self, runtime: &dyn BridgeRuntime) {
        let mut failures = 0;
        loop {
            let mut news = self.next().await;
            let published = in_time(runtime, self.bus.publish(news.encoded(&self.id))).await;
            match published {
                Ok(()) => {
                    failures = 0;
                    news.0 = None;
                }
                Err(error) => {
                    drop(news);
                    runtime.failed(BridgeFailure::Publish, &error);
                    pause(runtime, &mut failures).await;
                }
            }
        }
    }

    /// Waits for news to publish.
    async fn next(&self) -> InTransit<'_> {
        poll_fn(|cx| {
            let mut sinks = lock(&self.hub.0);
            let Some(waiting) = &mut sinks.unpublished else { return Poll::Pending };
            match waiting.take() {
                Some(news) => Poll::Ready(InTransit(Some(news), &self.hub)),
                None => {
                    waiting.register(cx.waker());
                    Poll::Pending
                }
            }
        })
        .await
    }

    async fn receive(&self, runtime: &dyn BridgeRuntime) {
        let mut failures = 0;
        loop {
            match in_time(runtime, self.bus.subscribe()).await {
                Ok(subscription) => {
                    // Messages may have been lost since an earlier subscription, or attempt.
                    if self.was_subscribed.swap(true, Ordering::Relaxed) || failures > 0 {
                        self.deliver_everything();
                    }
                    let error = self.listen(subscription, runtime, &mut failures).await;
                    runtime.failed(BridgeFailure::Receive, &error);
                }
                Err(error) => runtime.failed(BridgeFailure::Subscribe, &error),
            }
            pause(runtime, &mut failures).await;
        }
    }

    /// Delivers messages until the subscription ends; returns why.
    async fn listen(
        &self,
        mut subscription: Box<dyn BusSubscription>,
        runtime: &dyn BridgeRuntime,
        failures: &mut u32,
    ) -> Error {
        for received in 1_usize.. {
            match subscription.next().await {
                Ok(message) => self.deliver(&message, runtime),
                Err(error) => return error,
            }
            *failures = 0;
            if received % Self::BURST == 0 {
                yield_once().await;
            }
        }
        Error::new(ErrorKind::Closed, "the subscription has ended")
    }

    fn deliver(&self, message: &Bytes, runtime: &dyn BridgeRuntime) {
        match News::decode(message, &self.id) {
            Ok(Some(News::Change(change))) => self.hub.deliver(change),
            Ok(Some(News::Everything)) => self.deliver_everything(),
            Ok(None) => {}
            Err(error) => runtime.failed(BridgeFailure::Decode, &error),
        }
    }

    /// Delivers every change that a subscriber may have missed. Events of extensions cannot be made up.
    fn deliver_everything(&self) {
        [Change::Tools, Change::Prompts, Change::Resources].into_iter().for_each(|list| self.hub.deliver(list));
        self.hub.interest().uris.into_iter().for_each(|uri| self.hub.deliver(Change::Updated(uri)));
    }
}

impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bridge").field("id", &self.id).finish_non_exhaustive()
    }
}

/// News that are being published. Dropped before they were, they wait again.
struct InTransit<'a>(Option<News>, &'a Hub);

impl InTransit<'_> {
    fn encoded(&self, from: &str) -> Bytes {
        self.0.as_ref().map_or_else(Bytes::new, |news| news.encode(from))
    }
}

impl Drop for InTransit<'_> {
    fn drop(&mut self) {
        if let (Some(news), Some(waiting)) = (self.0.take(), &mut lock(&self.1.0).unpublished) {
            waiting.put_back(news);
        }
    }
}

/// Waits for a call of the bus, within limits.
async fn in_time<T>(runtime: &dyn BridgeRuntime, call: BoxFuture<'_, Result<T, Error>>) -> Result<T, Error> {
    let (mut call, mut timer) = (call, None);
    poll_fn(|cx| {
        if let Poll::Ready(done) = Pin::new(&mut call).poll(cx) {
            return Poll::Ready(done);
        }
        let timer: &mut BoxFuture<'static, ()> = timer.get_or_insert_with(|| runtime.sleep(Bridge::TIMEOUT));
        timer.as_mut().poll(cx).map(|()| Err(Error::new(ErrorKind::Timeout, "the bus did not answer in time")))
    })
    .await
}

/// Waits before the next attempt: twice as long each time, and a random part of it.
async fn pause(runtime: &dyn BridgeRuntime, failures: &mut u32) {
    const FIRST: Duration = Duration::from_millis(100);
    const LONGEST: Duration = Duration::from_secs(10);
    let half = FIRST.saturating_mul(1 << (*failures).min(10)).min(LONGEST) / 2;
    *failures = failures.saturating_add(1);
    let random = getrandom::u32().unwrap_or_default() % 1001;
    runtime.sleep(half + half * random / 1000).await;
}

/// Lets other tasks run.
async fn yield_once() {
    let mut yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

//! Protection from a server that sends without an end what was not requested.
//!
//! Lines that are no messages cost time to read, and so do notifications. A server may send many at once, and a few all
//! the time. Beyond that, it has failed if they are no messages; if they are notifications, its connection is read more
//! slowly. Responses do not count, and no other server is affected.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    task::{Poll, ready},
    time::Duration,
};

use couplet_core::{
    BoxFuture, Connected, Error, ErrorKind, Inbound, JsonText,
    message::{Malformed, Params},
};
use couplet_types::RpcError;
use tokio::time::{Instant, Sleep, sleep};

/// Lines that are no messages: a banner, the output of an installer, data that someone prints for a look.
const JUNK: Rate = Rate { burst: 256.0, per_second: 32.0 };
/// Notifications that belong to no request.
const NOTIFICATIONS: Rate = Rate { burst: 4096.0, per_second: 2048.0 };
/// The number of lines in a row that are logged.
const LOGGED: u32 = 16;
/// The shortest time for which a connection is not read.
const PAUSE: Duration = Duration::from_millis(20);

/// A number of messages at once, and the number per second in the long run.
#[derive(Clone, Copy)]
struct Rate {
    burst: f64,
    per_second: f64,
}

/// The messages that may still be sent.
struct Allowance {
    rate: Rate,
    left: f64,
    at: Instant,
}

impl Allowance {
    fn new(rate: Rate) -> Self {
        Self { rate, left: rate.burst, at: Instant::now() }
    }

    /// Counts messages. Returns the time until further ones are within the rate, if these are not.
    fn spend(&mut self, count: u32) -> Option<Duration> {
        let now = Instant::now();
        let earned = (now - self.at).as_secs_f64() * self.rate.per_second;
        self.left = (self.left + earned).min(self.rate.burst) - f64::from(count);
        self.at = now;
        (self.left < 0.0).then(|| Duration::from_secs_f64(-self.left / self.rate.per_second))
    }
}

/// What arrived since the connection was last looked at.
#[derive(Default)]
struct Counts {
    junk: AtomicU32,
    notifications: AtomicU32,
    /// The lines that were logged; lines within the rate are logged again later.
    logged: AtomicU32,
}

/// Takes a count, without a write where there is nothing.
fn take(count: &AtomicU32) -> u32 {
    if count.load(Relaxed) == 0 { 0 } else { count.swap(0, Relaxed) }
}

/// The handler of a connection that counts.
struct Counted {
    inner: Arc<dyn Inbound>,
    counts: Arc<Counts>,
}

impl Inbound for Counted {
    fn request(&self, method: &str, params: &Params) -> BoxFuture<'static, Result<JsonText, RpcError>> {
        self.inner.request(method, params)
    }

    fn notification(&self, method: &str, params: Params) {
        self.counts.notifications.fetch_add(1, Relaxed);
        self.inner.notification(method, params);
    }

    fn overhear(&self, method: &str, params: &Params) {
        self.counts.notifications.fetch_add(1, Relaxed);
        self.inner.overhear(method, params);
    }

    fn silent(&self, why: Option<Error>) {
        self.inner.silent(why);
    }

    fn malformed(&self, malformed: &Malformed) {
        self.counts.junk.fetch_add(1, Relaxed);
        if self.counts.logged.fetch_add(1, Relaxed) < LOGGED {
            self.inner.malformed(malformed);
        }
    }
}

/// The guard of one connection: [`Guard::inbound`] counts, and [`Guard::watch`] acts.
#[derive(Default)]
pub(super) struct Guard(Arc<Counts>);

impl Guard {
    pub(super) fn inbound(&self, inner: Arc<dyn Inbound>) -> Arc<dyn Inbound> {
        Arc::new(Counted { inner, counts: self.0.clone() })
    }

    pub(super) fn watch(self, connected: Connected) -> Connected {
        let Connected { channel, mut driver } = connected;
        let counts = self.0;
        let (mut junk, mut notifications) = (Allowance::new(JUNK), Allowance::new(NOTIFICATIONS));
        let mut pause: Option<Pin<Box<Sleep>>> = None;
        let driver = poll_fn(move |cx| {
            loop {
                if let Some(pausing) = &mut pause {
                    ready!(pausing.as_mut().poll(cx));
                    pause = None;
                }
                if let Poll::Ready(ended) = driver.as_mut().poll(cx) {
                    return Poll::Ready(ended);
                }
                let lines = take(&counts.junk);
                if lines > 0 {
                    if junk.spend(lines).is_some() {
                        return Poll::Ready(Err(flooded()));
                    }
                    if junk.left > JUNK.burst / 2.0 {
                        counts.logged.store(0, Relaxed);
                    }
                }
                match take(&counts.notifications) {
                    0 => return Poll::Pending,
                    count => match notifications.spend(count) {
                        None => return Poll::Pending,
                        Some(wait) => pause = Some(Box::pin(sleep(wait.max(PAUSE)))),
                    },
                }
            }
        });
        Connected { channel, driver: Box::pin(driver) }
    }
}

fn flooded() -> Error {
    let most = JUNK.burst;
    Error::new(ErrorKind::Protocol, format!("it was stopped: it sent more than {most} lines that are no messages"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A handler that counts notifications.
    #[derive(Default)]
    struct Sink(AtomicU32);

    impl Inbound for Sink {
        fn request(&self, _: &str, _: &Params) -> BoxFuture<'static, Result<JsonText, RpcError>> {
            Box::pin(std::future::pending())
        }

        fn notification(&self, _: &str, _: Params) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    struct NoChannel;

    impl couplet_core::Channel for NoChannel {
        fn next_id(&self) -> couplet_types::RequestId {
            couplet_types::RequestId::Number(0)
        }

        fn open(&self, _: couplet_core::Outgoing) -> couplet_core::Exchange {
            couplet_core::Exchange::failed(Error::new(ErrorKind::Closed, "closed"))
        }

        fn notify(&self, _: bytes::Bytes) {}

        fn agree(&self, _: &couplet_core::Dialect) {}

        fn close(&self) {}
    }

    /// The clock advances only while every task waits: without a pause this would never end.
    #[tokio::test(start_paused = true)]
    async fn endless_notifications_are_read_at_a_rate() {
        let (guard, sink) = (Guard::default(), Arc::new(Sink::default()));
        let inbound = guard.inbound(sink.clone());
        let driver = poll_fn(move |cx| {
            for _ in 0..64 {
                inbound.notification("notifications/message", Params::default());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        });
        let flooding = guard.watch(Connected { channel: Arc::new(NoChannel), driver: Box::pin(driver) });
        let flooding = tokio::spawn(flooding.driver);
        sleep(Duration::from_secs(10)).await;
        let received = sink.0.load(Relaxed);
        assert!((20_000..26_000).contains(&received), "{received}");
        assert!(!flooding.is_finished(), "the connection is as it was");
        flooding.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn many_at_once_and_a_few_all_the_time() {
        let mut allowance = Allowance::new(Rate { burst: 10.0, per_second: 2.0 });
        assert_eq!(allowance.spend(10), None);
        assert_eq!(allowance.spend(4), Some(Duration::from_secs(2)));
        tokio::time::sleep(Duration::from_secs(2)).await;
        for _ in 0..100 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(allowance.spend(2), None);
        }
        assert!(allowance.spend(3).is_some());
        tokio::time::sleep(Duration::from_secs(1000)).await;
        assert_eq!(allowance.spend(10), None);
        assert!(allowance.spend(1).is_some(), "what was not used is not saved up");
    }
}

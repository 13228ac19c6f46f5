//! The loop that runs and replaces connections.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
};

use couplet_core::{BoxFuture, Connected, Error, ErrorKind, Inbound, Limits};
use tokio::time::{Instant, timeout};

use super::{Backoff, ConnectionState, OnState, Target, channel::Slot};

type Ending = Result<(), Error>;

pub(super) struct Supervisor {
    pub(super) slot: Arc<Slot>,
    pub(super) target: Target,
    pub(super) inbound: Arc<dyn Inbound>,
    pub(super) limits: Limits,
    pub(super) backoff: Backoff,
    pub(super) on_state: Option<OnState>,
}

/// The reason why there is no new connection.
enum Failed {
    /// Another attempt may succeed.
    Temporarily(Error),
    /// Another attempt would fail, too.
    Permanently(Error),
    /// The client closed the connection.
    Closed,
}

impl Supervisor {
    /// Runs one connection after the other, until the client closes the connection or gives up.
    pub(super) async fn drive(self, first: BoxFuture<'static, Ending>) -> Ending {
        // Waiting requests have to fail, also if this future is dropped.
        let over = Over(self.slot.clone());
        let ending = self.run(first).await;
        if let Err(error) = &ending {
            self.slot.over(error);
        }
        drop(over);
        ending
    }

    async fn run(&self, first: BoxFuture<'static, Ending>) -> Ending {
        let mut driver = first;
        let mut failures = 0;
        loop {
            let since = Instant::now();
            let ending = self.run_connection(&mut driver).await;
            drop(driver);
            // Before negotiation, `connect` reports the error.
            if self.slot.is_closing() || self.slot.negotiated().is_none() {
                return ending;
            }
            failures = self.backoff.failures(failures, since.elapsed());
            let lost = Error::new(ErrorKind::Closed, "the server closed the connection");
            let (connection, attempts) = match self.reconnect(ending.err().unwrap_or(lost), failures).await {
                Ok(connected) => connected,
                Err(Failed::Closed) => return Ok(()),
                Err(Failed::Temporarily(error) | Failed::Permanently(error)) => {
                    self.report(&ConnectionState::GivenUp(error.clone()));
                    return Err(error);
                }
            };
            failures = attempts;
            driver = connection.driver;
            self.slot.up(&connection.channel);
            if let Some((dialect, session)) = self.slot.negotiated() {
                session.announce(&dialect, &*self.inbound);
            }
            self.report(&ConnectionState::Restored);
        }
    }

    /// Runs a connection until it is closed.
    async fn run_connection(&self, driver: &mut BoxFuture<'static, Ending>) -> Ending {
        poll_fn(|cx| {
            let ending = driver.as_mut().poll(cx);
            self.slot.poll_subscriptions(cx, &*self.inbound);
            ending
        })
        .await
    }

    /// Returns a new connection, and the number of failures in a row.
    async fn reconnect(&self, mut why: Error, mut failures: usize) -> Result<(Connected, usize), Failed> {
        loop {
            let Some(delay) = self.backoff.delay(failures) else {
                let what = format!("the server is given up after {failures} failures in a row: {why}");
                return Err(Failed::Temporarily(Error::new(ErrorKind::Closed, what).with_source(why)));
            };
            tracing::debug!(%why, failures, ?delay, "the connection is lost");
            self.slot.down(why.clone());
            self.report(&ConnectionState::Lost { error: why, failures, delay });
            if timeout(delay, self.slot.closing()).await.is_ok() {
                return Err(Failed::Closed);
            }
            match unless(self.slot.closing(), self.open()).await.unwrap_or(Err(Failed::Closed)) {
                Ok(connected) => return Ok((connected, failures)),
                Err(Failed::Temporarily(error)) => why = error,
                Err(other) => return Err(other),
            }
            failures += 1;
        }
    }

    async fn open(&self) -> Result<Connected, Failed> {
        let Some((dialect, session)) = self.slot.negotiated() else { return Err(Failed::Closed) };
        let mut target = self.target.lock().await;
        let opened = target.connect(self.inbound.clone(), self.limits.clone()).await;
        drop(target);
        let mut connected = opened.map_err(Failed::Temporarily)?;
        let restored = session.restore(&mut connected, &dialect, || self.slot.next_id()).await;
        restored.map_err(Failed::Temporarily)?.map_err(Failed::Permanently)?;
        Ok(connected)
    }

    fn report(&self, state: &ConnectionState) {
        if let Some(on_state) = &self.on_state {
            on_state(state);
        }
    }
}

struct Over(Arc<Slot>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.over(&Error::unsent(ErrorKind::Closed, "the connection is closed"));
    }
}

/// Returns the output of `work`; `None` if `stop` completes first.
async fn unless<T>(stop: impl Future<Output = ()>, work: impl Future<Output = T>) -> Option<T> {
    let (mut stop, mut work) = (pin!(stop), pin!(work));
    poll_fn(|cx| {
        if stop.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        work.as_mut().poll(cx).map(Some)
    })
    .await
}

//! What keeps one connection after the other alive.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
};

use couplet_core::{BoxFuture, Connected, Error, ErrorKind, Inbound, Limits};
use tokio::time::{Instant, timeout};

use super::{Backoff, ConnectionState, OnState, Target, channel::Line};

type Ending = Result<(), Error>;

pub(super) struct Supervisor {
    pub(super) line: Arc<Line>,
    pub(super) target: Target,
    pub(super) inbound: Arc<dyn Inbound>,
    pub(super) limits: Limits,
    pub(super) backoff: Backoff,
    pub(super) on_state: Option<OnState>,
}

/// Why there is no new connection.
enum Failed {
    /// It can be tried again.
    Now(Error),
    /// It would fail again.
    Forever(Error),
    /// The client does not want one any more.
    Closed,
}

impl Supervisor {
    /// Runs one connection after the other, until the client closes it or the server is given up.
    pub(super) async fn drive(self, first: BoxFuture<'static, Ending>) -> Ending {
        // However this ends, requests that wait must fail.
        let over = Over(self.line.clone());
        let ending = self.run(first).await;
        if let Err(error) = &ending {
            self.line.over(error);
        }
        drop(over);
        ending
    }

    async fn run(&self, first: BoxFuture<'static, Ending>) -> Ending {
        let mut driver = first;
        let mut failures = 0;
        loop {
            let since = Instant::now();
            let ending = self.live(&mut driver).await;
            drop(driver);
            // Before both sides have agreed, the caller of `connect` decides what to do.
            if self.line.is_closing() || self.line.agreed().is_none() {
                return ending;
            }
            failures = self.backoff.failures(failures, since.elapsed());
            let lost = Error::new(ErrorKind::Closed, "the server closed the connection");
            let (connection, attempts) = match self.reconnect(ending.err().unwrap_or(lost), failures).await {
                Ok(connected) => connected,
                Err(Failed::Closed) => return Ok(()),
                Err(Failed::Now(error) | Failed::Forever(error)) => {
                    self.tell(&ConnectionState::GivenUp(error.clone()));
                    return Err(error);
                }
            };
            failures = attempts;
            driver = connection.driver;
            self.line.up(&connection.channel);
            if let Some((dialect, session)) = self.line.agreed() {
                session.announce(&dialect, &*self.inbound);
            }
            self.tell(&ConnectionState::Restored);
        }
    }

    /// Runs a connection to its end.
    async fn live(&self, driver: &mut BoxFuture<'static, Ending>) -> Ending {
        poll_fn(|cx| {
            let ending = driver.as_mut().poll(cx);
            self.line.poll_listening(cx, &*self.inbound);
            ending
        })
        .await
    }

    /// A new connection, and how many failures there were until then.
    async fn reconnect(&self, mut why: Error, mut failures: usize) -> Result<(Connected, usize), Failed> {
        loop {
            let Some(delay) = self.backoff.delay(failures) else {
                let what = format!("the server is given up after {failures} failures in a row: {why}");
                return Err(Failed::Now(Error::new(ErrorKind::Closed, what).with_source(why)));
            };
            tracing::debug!(%why, failures, ?delay, "the connection is lost");
            self.line.down(why.clone());
            self.tell(&ConnectionState::Lost { error: why, failures, delay });
            if timeout(delay, self.line.closing()).await.is_ok() {
                return Err(Failed::Closed);
            }
            match unless(self.line.closing(), self.open()).await.unwrap_or(Err(Failed::Closed)) {
                Ok(connected) => return Ok((connected, failures)),
                Err(Failed::Now(error)) => why = error,
                Err(other) => return Err(other),
            }
            failures += 1;
        }
    }

    async fn open(&self) -> Result<Connected, Failed> {
        let Some((dialect, session)) = self.line.agreed() else { return Err(Failed::Closed) };
        let mut target = self.target.lock().await;
        let opened = target.connect(self.inbound.clone(), self.limits.clone()).await;
        drop(target);
        let mut connected = opened.map_err(Failed::Now)?;
        let restored = session.restore(&mut connected, &dialect, || self.line.next_id()).await;
        restored.map_err(Failed::Now)?.map_err(Failed::Forever)?;
        Ok(connected)
    }

    fn tell(&self, state: &ConnectionState) {
        if let Some(on_state) = &self.on_state {
            on_state(state);
        }
    }
}

struct Over(Arc<Line>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.over(&Error::unsent(ErrorKind::Closed, "the connection is closed"));
    }
}

/// What `work` gives, unless `stop` is first.
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

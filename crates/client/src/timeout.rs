//! Timeouts of requests. Without timeouts no timer is used, so that a client can run without a tokio runtime.

use std::{future::Future, sync::Arc, time::Duration};

use couplet_core::{Channel, Error, ErrorKind};
use tokio::time::{Instant, timeout_at};

use crate::callbacks::Activity;

/// Waits for `work` up to a timeout, which does not run while the channel waits for the user, such as during a login.
pub(crate) async fn within<T>(
    limit: Option<Duration>,
    channel: &dyn Channel,
    work: impl Future<Output = T>,
) -> Option<T> {
    let Some(limit) = limit else { return Some(work.await) };
    let mut work = std::pin::pin!(work);
    loop {
        match tokio::time::timeout(limit, work.as_mut()).await {
            Err(_) if channel.is_held_up() => {}
            done => return done.ok(),
        }
    }
}

/// The timeouts of one request. They do not run between two rounds, while the client answers input requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    /// The time without a response, progress or a request of the server.
    pub(crate) timeout: Option<Duration>,
    /// The time in total.
    pub(crate) max_timeout: Option<Duration>,
}

/// The timer of one request, over all of its rounds.
#[derive(Debug)]
pub(crate) struct RequestTimer {
    timeouts: Timeouts,
    activity: Arc<Activity>,
    seen: u64,
    spent: Duration,
    round: Option<Round>,
}

#[derive(Clone, Copy, Debug)]
struct Round {
    began: Instant,
    active: Instant,
}

impl RequestTimer {
    pub(crate) fn new(timeouts: Timeouts, activity: Arc<Activity>) -> Self {
        Self { timeouts, activity, seen: 0, spent: Duration::ZERO, round: None }
    }

    /// Starts a round, when its request is sent.
    pub(crate) fn begin(&mut self) {
        if self.timeouts.timeout.is_none() && self.timeouts.max_timeout.is_none() {
            return;
        }
        let now = Instant::now();
        self.activity.since(&mut self.seen);
        self.round = Some(Round { began: now, active: now });
    }

    /// Ends a round, when its response has arrived.
    pub(crate) fn end(&mut self) {
        if let Some(round) = self.round.take() {
            self.spent += round.began.elapsed();
        }
    }

    /// Restarts the idle timeout.
    pub(crate) fn restart_idle(&mut self) {
        if let Some(round) = &mut self.round {
            round.active = Instant::now();
        }
    }

    /// Waits for `next` until a timeout has passed.
    pub(crate) async fn wait<T>(
        &mut self,
        method: &str,
        channel: &dyn Channel,
        next: impl Future<Output = T>,
    ) -> Result<T, Error> {
        let mut next = std::pin::pin!(next);
        loop {
            let Some(round) = self.round else { return Ok(next.await) };
            let last = self.timeouts.max_timeout.and_then(|m| round.began.checked_add(m.saturating_sub(self.spent)));
            let idle = self.timeouts.timeout.and_then(|t| round.active.checked_add(t));
            let Some(deadline) = idle.into_iter().chain(last).min() else { return Ok(next.await) };
            if let Ok(done) = timeout_at(deadline, next.as_mut()).await {
                return Ok(done);
            }
            if channel.is_held_up() {
                let now = Instant::now();
                self.round = Some(Round { began: now, active: now });
                continue;
            }
            if last.is_some_and(|last| Instant::now() >= last) {
                return Err(timed_out(method, self.timeouts.max_timeout, "max_timeout", channel));
            }
            if !self.activity.since(&mut self.seen) {
                return Err(timed_out(method, self.timeouts.timeout, "timeout", channel));
            }
            self.restart_idle();
        }
    }
}

fn timed_out(method: &str, limit: Option<Duration>, setting: &str, channel: &dyn Channel) -> Error {
    let limit = limit.unwrap_or_default();
    let note = channel.note().map(|note| format!("; {note}")).unwrap_or_default();
    let what = format!(
        "`{method}` was not answered within {limit:?} and was cancelled; \
         it may have been executed; `{setting}` sets how long to wait{note}"
    );
    Error::new(ErrorKind::Timeout, what)
}

//! How long a request may take. Without limits no clock is touched, so a client can run where there is none.

use std::{future::Future, sync::Arc, time::Duration};

use couplet_core::{Channel, Error, ErrorKind};
use tokio::time::{Instant, timeout_at};

use crate::answers::Activity;

/// Waits for `work`, but not longer than `limit`, unless a person holds it up.
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

/// The limits of one request. Between two rounds, while the client answers questions, no time passes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// Without any sign of life; a question of the server is one.
    pub(crate) timeout: Option<Duration>,
    /// In all, however much progress there is.
    pub(crate) max_timeout: Option<Duration>,
}

/// The time of one request, over all of its rounds.
#[derive(Debug)]
pub(crate) struct Clock {
    patience: Patience,
    activity: Arc<Activity>,
    seen: u64,
    spent: Duration,
    round: Option<Round>,
}

#[derive(Clone, Copy, Debug)]
struct Round {
    began: Instant,
    heard: Instant,
}

impl Clock {
    pub(crate) fn new(patience: Patience, activity: Arc<Activity>) -> Self {
        Self { patience, activity, seen: 0, spent: Duration::ZERO, round: None }
    }

    /// A request goes out.
    pub(crate) fn begin(&mut self) {
        if self.patience.timeout.is_none() && self.patience.max_timeout.is_none() {
            return;
        }
        let now = Instant::now();
        self.activity.since(&mut self.seen);
        self.round = Some(Round { began: now, heard: now });
    }

    /// Its answer is there.
    pub(crate) fn end(&mut self) {
        if let Some(round) = self.round.take() {
            self.spent += round.began.elapsed();
        }
    }

    /// The server gave a sign of life.
    pub(crate) fn heard(&mut self) {
        if let Some(round) = &mut self.round {
            round.heard = Instant::now();
        }
    }

    /// Waits for `next`, for as long as the limits allow.
    pub(crate) async fn wait<T>(
        &mut self,
        method: &str,
        channel: &dyn Channel,
        next: impl Future<Output = T>,
    ) -> Result<T, Error> {
        let mut next = std::pin::pin!(next);
        loop {
            let Some(round) = self.round else { return Ok(next.await) };
            let last = self.patience.max_timeout.and_then(|m| round.began.checked_add(m.saturating_sub(self.spent)));
            let quiet = self.patience.timeout.and_then(|t| round.heard.checked_add(t));
            let Some(deadline) = quiet.into_iter().chain(last).min() else { return Ok(next.await) };
            if let Ok(done) = timeout_at(deadline, next.as_mut()).await {
                return Ok(done);
            }
            if channel.is_held_up() {
                let now = Instant::now();
                self.round = Some(Round { began: now, heard: now });
                continue;
            }
            if last.is_some_and(|last| Instant::now() >= last) {
                return Err(too_long(method, self.patience.max_timeout, "max_timeout", channel));
            }
            if !self.activity.since(&mut self.seen) {
                return Err(too_long(method, self.patience.timeout, "timeout", channel));
            }
            self.heard();
        }
    }
}

fn too_long(method: &str, limit: Option<Duration>, setting: &str, channel: &dyn Channel) -> Error {
    let limit = limit.unwrap_or_default();
    let note = channel.note().map(|note| format!("; {note}")).unwrap_or_default();
    let what = format!(
        "`{method}` was not answered within {limit:?} and was cancelled; \
         whether it was carried out is not known; `{setting}` sets how long to wait{note}"
    );
    Error::new(ErrorKind::Timeout, what)
}

//! Signals and the deadline of a command.

use std::time::Duration;

use couplet::stdio::children;
use couplet_serve::{Signal, Signals};
use tokio::time::Instant;

use super::Timeout;
use crate::{
    exit::{Exit, Failure},
    output::text,
};

/// The deadline of a command, if it has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    deadline: Option<(Instant, Duration)>,
}

impl Stop {
    /// Starts the clock.
    pub(crate) fn new(time: Option<Timeout>) -> Self {
        let time = time.and_then(|Timeout(time)| time);
        Self { deadline: time.and_then(|time| Some((Instant::now().checked_add(time)?, time))) }
    }

    /// Waits for `work`, a signal or the deadline.
    pub(crate) async fn unless<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        or_interrupted(self.in_time(work)).await
    }

    /// Waits for `work` or the deadline.
    pub(crate) async fn in_time<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let Some((deadline, time)) = self.deadline else { return work.await };
        tokio::time::timeout_at(deadline, work).await.unwrap_or_else(|_| {
            let what = format!("the command did not finish within {}", text::time(time));
            Err(Failure::new(Exit::Timeout, what).hint("raise the deadline with --max-time SECONDS"))
        })
    }
}

/// Waits for `work` or a signal.
pub(crate) async fn or_interrupted<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let Ok(mut signals) = Signals::new() else { return work.await };
    tokio::select! {
        outcome = work => outcome,
        signal = signals.next() => Err(Failure::silent(signal.into())),
    }
}

/// After a signal, stops child processes: closes their input, then SIGTERM, then SIGKILL. A second signal does not wait.
pub(crate) async fn end_children(failure: &Failure) {
    const GRACE: Duration = Duration::from_secs(1);
    if failure.exit.is_signal() {
        let stopped = async {
            children::stop(GRACE).await;
            Ok(())
        };
        let _ = or_interrupted(stopped).await;
    }
}

/// Waits for a SIGTERM or SIGHUP that `work` ignores: until a second one, or for longer than it takes to stop a server.
/// Ctrl-C is left to `work`.
pub(crate) async fn overdue() -> Signal {
    const STOP_TIMEOUT: Duration = Duration::from_secs(10);
    let Ok(mut signals) = Signals::new() else { return std::future::pending().await };
    let first = serious(&mut signals).await;
    tokio::time::timeout(STOP_TIMEOUT, serious(&mut signals)).await.unwrap_or(first)
}

async fn serious(signals: &mut Signals) -> Signal {
    loop {
        match signals.next().await {
            Signal::Interrupt => {}
            signal => return signal,
        }
    }
}

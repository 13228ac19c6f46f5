//! What ends a command before it is done: a signal, or the time that it may take.

use std::time::Duration;

use couplet::stdio::children;
use couplet_serve::{Signal, Signals};
use tokio::time::Instant;

use super::Patience;
use crate::{
    exit::{Exit, Failure},
    output::text,
};

/// The end of a command's time, if it has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    deadline: Option<(Instant, Duration)>,
}

impl Stop {
    /// The time begins now.
    pub(crate) fn new(time: Option<Patience>) -> Self {
        let time = time.and_then(|Patience(time)| time);
        Self { deadline: time.and_then(|time| Some((Instant::now().checked_add(time)?, time))) }
    }

    /// Waits for something, but not beyond a signal or the end of the time.
    pub(crate) async fn unless<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        or_interrupted(self.in_time(work)).await
    }

    /// Waits for something, but not beyond the end of the time.
    pub(crate) async fn in_time<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let Some((deadline, time)) = self.deadline else { return work.await };
        tokio::time::timeout_at(deadline, work).await.unwrap_or_else(|_| {
            let what = format!("the command was not done within {}", text::time(time));
            Err(Failure::new(Exit::Timeout, what).hint("--max-time sets how long the whole command may take"))
        })
    }
}

/// Waits for something, but not beyond a signal.
pub(crate) async fn or_interrupted<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let Ok(mut signals) = Signals::new() else { return work.await };
    tokio::select! {
        outcome = work => outcome,
        signal = signals.next() => Err(Failure::silent(signal.into())),
    }
}

/// After a signal, ends what was started in three steps: the end of its input, SIGTERM, SIGKILL. A second signal does not
/// wait.
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

/// Waits for a SIGTERM or SIGHUP that the work does not obey: until a second one comes, or for longer than it takes to
/// end a server. Ctrl-C is left to the work each time.
pub(crate) async fn overdue() -> Signal {
    const PATIENCE: Duration = Duration::from_secs(10);
    let Ok(mut signals) = Signals::new() else { return std::future::pending().await };
    let first = serious(&mut signals).await;
    tokio::time::timeout(PATIENCE, serious(&mut signals)).await.unwrap_or(first)
}

async fn serious(signals: &mut Signals) -> Signal {
    loop {
        match signals.next().await {
            Signal::Interrupt => {}
            signal => return signal,
        }
    }
}

//! What ends a command before it is done: a signal, or the time that it may take.

use std::time::Duration;

use couplet_serve::{Caught, Signals};
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
        let late = async {
            match self.deadline {
                Some((deadline, time)) => {
                    tokio::time::sleep_until(deadline).await;
                    time
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            outcome = or_interrupted(work) => outcome,
            time = late => {
                let what = format!("the command was not done within {}", text::time(time));
                Err(Failure::new(Exit::Timeout, what).hint("--max-time sets how long the whole command may take"))
            }
        }
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

/// Waits for a SIGTERM or SIGHUP that the work does not obey: until a second one comes, or for longer than it takes to
/// end a server. Ctrl-C is left to the work each time.
pub(crate) async fn overdue() -> Caught {
    const PATIENCE: Duration = Duration::from_secs(10);
    let Ok(mut signals) = Signals::new() else { return std::future::pending().await };
    let first = serious(&mut signals).await;
    tokio::time::timeout(PATIENCE, serious(&mut signals)).await.unwrap_or(first)
}

async fn serious(signals: &mut Signals) -> Caught {
    loop {
        match signals.next().await {
            Caught::Interrupt => {}
            signal => return signal,
        }
    }
}

//! The circuit breaker of a running server: calls fail at once when the last ones were not answered.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use couplet_core::sync::lock;
use tokio::{sync::Notify, time::Instant};

/// Counts calls in a row that were not answered: timeouts, and errors of the transport. Errors that the server reports are
/// answers like any other.
#[derive(Default)]
pub(super) struct Breaker {
    circuit: Mutex<Circuit>,
    /// Whether there was a failure since the last answer; without one, nothing is locked.
    troubled: AtomicBool,
    /// Notified when the trial of an open breaker was not answered either.
    pub(super) hung: Notify,
}

#[derive(Default)]
struct Circuit {
    failures: usize,
    /// When the next trial may begin, and the pause before it.
    open: Option<(Instant, Duration)>,
    trial: bool,
}

/// The kind of a call that was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    Normally,
    /// The one call that tests whether the server answers again.
    OnTrial,
}

impl Breaker {
    /// The number of failures in a row that opens it.
    pub(super) const FAILURES: usize = 5;
    const PAUSE: Duration = Duration::from_secs(5);
    const LONGEST_PAUSE: Duration = Duration::from_secs(60);

    /// Admits a call.
    ///
    /// # Errors
    /// The time after which the next trial is admitted.
    pub(super) fn admit(&self) -> Result<Admission, Duration> {
        if !self.troubled.load(Relaxed) {
            return Ok(Admission::Normally);
        }
        let mut circuit = lock(&self.circuit);
        let Some((next, pause)) = circuit.open else { return Ok(Admission::Normally) };
        let rest = next.saturating_duration_since(Instant::now());
        if circuit.trial {
            return Err(rest.max(pause));
        }
        if !rest.is_zero() {
            return Err(rest);
        }
        circuit.trial = true;
        Ok(Admission::OnTrial)
    }

    /// The server answered a call.
    pub(super) fn answered(&self) {
        if self.troubled.load(Relaxed) {
            let mut circuit = lock(&self.circuit);
            *circuit = Circuit::default();
            self.troubled.store(false, Relaxed);
        }
    }

    /// The server did not answer a call.
    pub(super) fn failed(&self, admitted: Admission) {
        let mut circuit = lock(&self.circuit);
        self.troubled.store(true, Relaxed);
        circuit.failures += 1;
        let on_trial = admitted == Admission::OnTrial;
        if on_trial || (circuit.open.is_none() && circuit.failures >= Self::FAILURES) {
            let pause = circuit.open.map_or(Self::PAUSE, |(_, pause)| (pause * 2).min(Self::LONGEST_PAUSE));
            circuit.open = Some((Instant::now() + pause, pause));
            circuit.trial = false;
        }
        drop(circuit);
        if on_trial {
            self.hung.notify_one();
        }
    }

    /// A call ended in a way that says nothing about the server, such as one that its caller cancelled.
    pub(super) fn abandoned(&self, admitted: Admission) {
        if admitted == Admission::OnTrial {
            lock(&self.circuit).trial = false;
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.troubled.load(Relaxed) && lock(&self.circuit).open.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_opens_after_failures_in_a_row_and_an_answer_closes_it() {
        let breaker = Breaker::default();
        for _ in 1..Breaker::FAILURES {
            breaker.failed(Admission::Normally);
        }
        assert_eq!(breaker.admit(), Ok(Admission::Normally));
        breaker.answered();
        for _ in 1..Breaker::FAILURES {
            breaker.failed(Admission::Normally);
        }
        assert!(!breaker.is_open());
        breaker.failed(Admission::Normally);
        assert_eq!(breaker.admit(), Err(Duration::from_secs(5)));
        assert!(breaker.is_open());
        breaker.answered();
        assert_eq!((breaker.is_open(), breaker.admit()), (false, Ok(Admission::Normally)));
    }

    #[tokio::test(start_paused = true)]
    async fn one_trial_at_a_time_and_a_failed_one_doubles_the_pause() {
        let breaker = Breaker::default();
        (0..Breaker::FAILURES).for_each(|_| breaker.failed(Admission::Normally));
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(breaker.admit(), Ok(Admission::OnTrial));
        assert_eq!(breaker.admit(), Err(Duration::from_secs(5)));
        breaker.abandoned(Admission::OnTrial);
        assert_eq!(breaker.admit(), Ok(Admission::OnTrial));
        breaker.failed(Admission::OnTrial);
        assert_eq!(breaker.admit(), Err(Duration::from_secs(10)));
        breaker.hung.notified().await;
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(breaker.admit(), Ok(Admission::OnTrial));
        breaker.answered();
        assert_eq!(breaker.admit(), Ok(Admission::Normally));
    }
}

//! The result of one measurement.

use std::{fmt, time::Duration};

use hdrhistogram::Histogram;
use serde_json::{Value, json};

use super::table::number;
use crate::exit::{Exit, Failure};

/// The reported percentiles.
pub(super) const SHARES: [(&str, f64); 5] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)];

/// The pace of requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pace {
    /// Requests per second (open loop).
    Rate(f64),
    /// Requests in flight (closed loop).
    InFlight(usize),
}

/// Counts and latencies.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) pace: Pace,
    pub(super) sent: u64,
    pub(super) failed: u64,
    /// Requests that were due but not sent, because too many others were in flight.
    pub(super) unsent: u64,
    /// Requests without a response at the end.
    pub(super) unanswered: u64,
    /// The first few error messages, with their counts.
    pub(super) failures: Vec<(String, u64)>,
    pub(super) first_exit: Option<Exit>,
    answered: u64,
    in_a_row: u64,
    elapsed: Duration,
    /// In nanoseconds.
    latencies: Histogram<u64>,
}

impl Pace {
    pub(super) fn value(self) -> f64 {
        match self {
            Self::Rate(rate) => rate,
            Self::InFlight(number) => number as f64,
        }
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(rate) => write!(f, "{}/s", number(*rate)),
            Self::InFlight(count) => write!(f, "{} at once", number(*count as f64)),
        }
    }
}

impl Measured {
    /// The number of consecutive failures that stops a measurement.
    pub(super) const HOPELESS: u64 = 100;
    const REASONS: usize = 5;

    pub(super) fn new(pace: Pace) -> Self {
        let latencies = Histogram::new(3).expect("three digits are possible");
        let (sent, failed, unsent, unanswered, answered, in_a_row) = (0, 0, 0, 0, 0, 0);
        let (failures, first_exit, elapsed) = (Vec::new(), None, Duration::ZERO);
        Self { pace, sent, failed, unsent, unanswered, failures, first_exit, answered, in_a_row, elapsed, latencies }
    }

    /// Counts a request of a closed loop; false if there are enough, or they are hopeless.
    pub(super) fn begin(&mut self, most: Option<u64>) -> bool {
        let goes_on = !self.is_hopeless() && most.is_none_or(|most| self.sent < most);
        self.sent += u64::from(goes_on);
        goes_on
    }

    /// Sets the time that has passed, for intermediate results.
    pub(super) fn so_far(&mut self, at: Duration) {
        self.elapsed = self.elapsed.max(at);
    }

    /// Returns the time that the measurement has taken.
    pub(super) fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// Returns the latencies as a histogram: upper bounds in microseconds that grow by a third, and counts.
    pub(super) fn histogram(&self) -> Vec<(f64, u64)> {
        const FIRST: u64 = 10_000;
        let steps = self.latencies.iter_log(FIRST, 4.0 / 3.0);
        let mut steps: Vec<_> = steps
            .map(|step| (step.value_iterated_to() as f64 / 1e3, step.count_since_last_iteration()))
            .skip_while(|(_, count)| *count == 0)
            .collect();
        while steps.last().is_some_and(|(_, count)| *count == 0) {
            steps.pop();
        }
        steps
    }

    /// Records a response or an error, with its latency and time of arrival.
    pub(super) fn take(&mut self, took: Duration, at: Duration, outcome: Result<(), Failure>) {
        let Err(failure) = outcome else {
            (self.answered, self.in_a_row) = (self.answered + 1, 0);
            self.elapsed = self.elapsed.max(at);
            return self.waited(took, 1);
        };
        (self.failed, self.in_a_row) = (self.failed + 1, self.in_a_row + 1);
        self.first_exit.get_or_insert(failure.exit);
        match self.failures.iter().position(|(message, _)| *message == failure.message) {
            Some(at) => self.failures[at].1 += 1,
            None if self.failures.len() < Self::REASONS => self.failures.push((failure.message, 1)),
            None => {}
        }
    }

    /// Records a request that was given up.
    pub(super) fn give_up(&mut self, waited: Duration) {
        self.unanswered += 1;
        self.waited(waited, 1);
    }

    /// Ends the measurement. Requests that were due but not sent count with the time since they were due.
    pub(super) fn stop(&mut self, at: Duration) {
        const STEPS: u64 = 1000;
        self.elapsed = self.elapsed.max(at);
        let Pace::Rate(rate) = self.pace else { return };
        // Allows for floating-point error.
        let due = (at.as_secs_f64() * rate - 1e-6).ceil() as u64;
        self.unsent = if self.is_hopeless() { 0 } else { due.saturating_sub(self.sent) };
        let step = self.unsent.div_ceil(STEPS).max(1);
        for first in (self.sent..self.sent + self.unsent).step_by(step as usize) {
            let since = Duration::from_secs_f64(first as f64 / rate);
            self.waited(at.saturating_sub(since), step.min(self.sent + self.unsent - first));
        }
    }

    fn waited(&mut self, time: Duration, count: u64) {
        // Only values beyond u64 nanoseconds are out of range.
        let _ = self.latencies.record_n(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), count);
    }

    pub(super) fn is_hopeless(&self) -> bool {
        self.in_a_row >= Self::HOPELESS
    }

    pub(super) fn answered(&self) -> u64 {
        self.answered
    }

    pub(super) fn per_second(&self) -> f64 {
        self.answered as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// Returns the latency at a quantile.
    pub(super) fn at(&self, share: f64) -> Option<Duration> {
        (!self.latencies.is_empty()).then(|| Duration::from_nanos(self.latencies.value_at_quantile(share)))
    }

    pub(super) fn to_json(&self) -> Value {
        let mut row = match self.pace {
            Pace::Rate(rate) => json!({ "rate": rate }),
            Pace::InFlight(number) => json!({ "inFlight": number }),
        };
        let failures: Vec<_> = self.failures.iter().map(|(why, count)| json!({ "why": why, "count": count })).collect();
        let more = json!({
            "seconds": self.elapsed.as_secs_f64(), "answeredPerSecond": self.per_second(), "sent": self.sent,
            "answered": self.answered, "failed": self.failed, "unsent": self.unsent, "unanswered": self.unanswered,
            "failures": failures,
        });
        let times = SHARES.map(|(name, share)| {
            (format!("{}Ms", name.replace('.', "")), json!(self.at(share).map(|time| time.as_secs_f64() * 1e3)))
        });
        let fields = more.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), value.clone()));
        fields.chain(times).for_each(|(name, value)| row[name] = value);
        row
    }

    /// Creates a result from given latencies.
    #[cfg(test)]
    pub(super) fn of(pace: Pace, elapsed: Duration, latencies: &[Duration]) -> Self {
        let mut measured = Self::new(pace);
        measured.sent = latencies.len() as u64;
        latencies.iter().for_each(|took| measured.take(*took, elapsed, Ok(())));
        measured.elapsed = elapsed;
        measured
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsent_requests_count_as_waiting() {
        let mut run = Measured::new(Pace::Rate(1000.0));
        for _ in 0..100 {
            run.sent += 1;
            run.take(Duration::from_millis(1), Duration::from_millis(100), Ok(()));
        }
        run.stop(Duration::from_secs(10));
        assert_eq!((run.unsent, run.answered()), (9900, 100));
        assert!((run.per_second() - 10.0).abs() < 0.1, "{}", run.per_second());
        let median = run.at(0.5).unwrap().as_secs_f64();
        assert!((4.7..5.1).contains(&median), "{median}");
        assert!(run.at(1.0).unwrap().as_secs_f64() > 9.8);
    }

    #[test]
    fn failures_are_counted_by_message() {
        let mut run = Measured::new(Pace::InFlight(1));
        let fail = |run: &mut Measured, why: &str| {
            let failure = Failure::new(Exit::Timeout, why);
            run.take(Duration::ZERO, Duration::ZERO, Err(failure));
        };
        for why in ["a", "b", "a", "c", "d", "e", "f"] {
            fail(&mut run, why);
        }
        assert_eq!((run.failed, run.failures.len(), run.failures[0].1), (7, 5, 2));
        assert_eq!((run.first_exit, run.at(0.5)), (Some(Exit::Timeout), None));
        (0..Measured::HOPELESS - 8).for_each(|_| fail(&mut run, "a"));
        assert!(!run.is_hopeless());
        fail(&mut run, "a");
        assert!(run.is_hopeless());
        run.take(Duration::ZERO, Duration::ZERO, Ok(()));
        assert!(!run.is_hopeless());
    }
}

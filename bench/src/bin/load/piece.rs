//! The best interval of a run: other load on the machine can only slow an interval down.

use std::time::{Duration, Instant};

use crate::process::Reading;

/// The minimum duration of an interval.
const LONG: Duration = Duration::from_millis(200);
/// The minimum number of responses of an interval, so that requests in flight at its ends do not matter.
const MANY: usize = 200;

/// The current interval, and the best one so far.
pub(crate) struct Piece {
    since: Instant,
    reading: Reading,
    answered: usize,
    pub(crate) rps: f64,
    pub(crate) cpu_us: f64,
}

impl Piece {
    pub(crate) fn new() -> Self {
        Self { since: Instant::now(), reading: Reading::default(), answered: 0, rps: 0.0, cpu_us: f64::INFINITY }
    }

    pub(crate) fn begin(&mut self, now: Instant, reading: Reading, answered: usize) {
        (self.since, self.reading, self.answered) = (now, reading, answered);
    }

    /// Ends the interval, if it is long enough, and starts the next.
    pub(crate) fn end(&mut self, now: Instant, pid: u32, answered: usize) {
        let (passed, count) = (now - self.since, answered - self.answered);
        if passed < LONG || count < MANY {
            return;
        }
        let spent = self.reading.since(pid);
        self.rps = self.rps.max(count as f64 / passed.as_secs_f64());
        self.cpu_us = self.cpu_us.min(spent.cpu * 1e6 / count as f64);
        self.begin(now, Reading::now(pid), answered);
    }
}

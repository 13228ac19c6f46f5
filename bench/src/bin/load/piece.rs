//! The best part of a run: whoever else uses the machine can only make a part worse.

use std::time::{Duration, Instant};

use crate::process::Reading;

/// How long a part is at least.
const LONG: Duration = Duration::from_millis(200);
/// How many answers it has at least, so that those under way at its ends do not count.
const MANY: usize = 200;

/// A part of a run, and the best of those before it.
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

    /// Ends the piece, if it is long enough, and begins the next.
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

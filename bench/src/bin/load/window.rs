//! The phases of a run (warm-up, measurement), and its results.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    Failure,
    args::Args,
    cases::Case,
    piece::Piece,
    process::{Reading, peak_kb, resident_kb},
};

/// The number of responses that are verified in full; of others, only the size.
const LOOKED_AT: usize = 20;

/// The duration of a run.
struct Plan {
    warm: Duration,
    warm_count: usize,
    measured: Duration,
    min_count: usize,
    limit: Duration,
    /// Ends the run after this many responses.
    count: Option<usize>,
    /// The pause before each request.
    think: Duration,
}

impl Plan {
    fn new(args: &Args) -> Result<Self, Failure> {
        let seconds = |name, otherwise| args.number(name, otherwise).map(Duration::from_secs_f64);
        Ok(Self {
            warm: seconds("warm", 0.5)?,
            warm_count: args.number("warm-count", 0)?,
            measured: seconds("secs", 2.0)?,
            min_count: args.number("min-count", 1)?,
            limit: seconds("limit", 20.0)?,
            think: seconds("think", 0.0)?,
            count: args.text("count").map(str::parse).transpose().map_err(|_| "`--count` wants a number")?,
        })
    }
}

/// A run with its clock and results.
pub(crate) struct Window {
    plan: Plan,
    pid: u32,
    payload: usize,
    begun: Instant,
    measuring: Option<(Instant, Reading)>,
    piece: Piece,
    asked: usize,
    looked_at: usize,
    latencies: Vec<u64>,
    errors: u64,
    first_error: Option<String>,
}

impl Window {
    /// How long to wait for a response on a socket before the clock is checked. The load does not sleep: each response
    /// would have to wake it, at the server's expense, and only for servers slower than the load.
    pub(crate) fn patience(&self) -> Duration {
        if self.plan.count.is_some() { Duration::from_secs(1) } else { Duration::ZERO }
    }

    pub(crate) fn new(args: &Args, case: &Case, pid: u32) -> Result<Self, Failure> {
        Ok(Self {
            plan: Plan::new(args)?,
            pid,
            payload: case.payload,
            begun: Instant::now(),
            measuring: None,
            piece: Piece::new(),
            asked: 0,
            looked_at: 0,
            latencies: Vec::with_capacity(1 << 20),
            errors: 0,
            first_error: None,
        })
    }

    /// Whether the run continues.
    pub(crate) fn goes_on(&mut self, now: Instant) -> Result<bool, Failure> {
        let Plan { warm, warm_count, measured, min_count, limit, count, .. } = self.plan;
        let done = self.latencies.len();
        let Some((since, _)) = self.measuring else {
            let passed = now - self.begun;
            if (passed >= warm && done >= warm_count) || passed >= limit {
                let reading = Reading::now(self.pid);
                self.measuring = Some((now, reading));
                self.piece.begin(now, reading, 0);
                self.latencies.clear();
            }
            return Ok(true);
        };
        self.piece.end(now, self.pid, done);
        if now - self.begun > warm + measured + limit * 3 {
            return Err(format!("stalled after {done} responses").into());
        }
        let passed = now - since;
        let enough = match count {
            Some(count) => done >= count,
            None => passed >= measured && done >= min_count,
        };
        Ok(!enough && passed < limit.max(measured))
    }

    /// Whether another request may be sent; if so, it is counted.
    pub(crate) fn asks(&mut self) -> bool {
        let room = self.plan.count.is_none_or(|count| self.asked < count);
        self.asked += usize::from(room);
        if room && !self.plan.think.is_zero() {
            sleep(self.plan.think);
        }
        room
    }

    /// Records a response: its latency and size, and a function that verifies it.
    pub(crate) fn answered(&mut self, took: Duration, size: usize, look: impl FnOnce() -> Result<(), String>) {
        self.latencies.push(took.as_nanos() as u64);
        let verdict = if self.looked_at < LOOKED_AT {
            self.looked_at += 1;
            look()
        } else if size > self.payload {
            Ok(())
        } else {
            Err(format!("unexpected response of {size} bytes"))
        };
        if let Err(why) = verdict {
            self.errors += 1;
            self.first_error.get_or_insert(why);
        }
    }

    /// Returns the results.
    pub(crate) fn result(mut self) -> Value {
        let (since, reading) = self.measuring.unwrap_or((self.begun, Reading::default()));
        let seconds = since.elapsed().as_secs_f64();
        let spent = reading.since(self.pid);
        self.latencies.sort_unstable();
        let count = self.latencies.len();
        let per_request = |amount: f64| if count == 0 { f64::NAN } else { amount / count as f64 };
        let at = |share: f64| {
            let at = ((count as f64 * share) as usize).min(count.saturating_sub(1));
            self.latencies.get(at).map_or(f64::NAN, |nanoseconds| *nanoseconds as f64 / 1e3)
        };
        let rps = self.piece.rps.max(count as f64 / seconds);
        let cpu_us = self.piece.cpu_us.min(per_request(spent.cpu * 1e6));
        json!({
            "n": count, "secs": seconds, "rps": rps, "mb_s": rps * self.payload as f64 / 1e6,
            "p50_us": at(0.5), "p90_us": at(0.9), "p99_us": at(0.99), "max_us": at(1.0),
            "cpu_us": cpu_us, "csw": per_request(spent.switches as f64),
            "rss_kb": resident_kb(self.pid), "peak_kb": peak_kb(self.pid), "errors": self.errors, "first_error": self.first_error,
        })
    }
}

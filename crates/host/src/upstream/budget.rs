//! Restarts: how many there may be, and the delays between them.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

use super::UpstreamOptions;

/// The restarts within the window, and the failures in a row.
#[derive(Debug, Default)]
pub(super) struct Budget {
    restarts: VecDeque<Instant>,
    failures: usize,
}

/// What follows a failure.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    /// A restart after a delay.
    Restart(Duration),
    /// No restart before this time, when the oldest one leaves the window.
    Exhausted(Instant),
}

impl Budget {
    /// Counts a failure of a server that ran for `uptime`.
    pub(super) fn fail(&mut self, options: &UpstreamOptions, uptime: Duration) -> Next {
        let now = Instant::now();
        self.failures = if uptime >= options.stable { 1 } else { self.failures.saturating_add(1) };
        while self.restarts.front().is_some_and(|at| now.duration_since(*at) >= options.restart_window) {
            self.restarts.pop_front();
        }
        if self.restarts.len() >= options.restarts {
            let first = self.restarts.front().copied().unwrap_or(now);
            return Next::Exhausted(first + options.restart_window);
        }
        let delay = options.backoff.clone().attempts(None).delay(self.failures).unwrap_or_default();
        self.restarts.push_back(now + delay);
        Next::Restart(delay)
    }

    /// Starts from zero: a person has asked for it.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn delays_grow_and_a_stable_server_begins_again() {
        let (mut budget, options) = (Budget::default(), UpstreamOptions::default());
        let mut last = Duration::ZERO;
        for failure in 1..=3 {
            let Next::Restart(delay) = budget.fail(&options, Duration::ZERO) else { panic!("{failure}") };
            assert!(delay > last / 2 && delay <= Duration::from_millis(250 << (failure - 1)), "{delay:?}");
            last = delay;
        }
        let Next::Restart(delay) = budget.fail(&options, options.stable) else { panic!() };
        assert!(delay <= Duration::from_millis(250), "{delay:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_restarts_than_the_window_allows() {
        let (mut budget, options) = (Budget::default(), UpstreamOptions::default());
        let began = Instant::now();
        for _ in 0..5 {
            let Next::Restart(delay) = budget.fail(&options, Duration::ZERO) else { panic!() };
            tokio::time::sleep(delay).await;
        }
        let Next::Exhausted(until) = budget.fail(&options, Duration::ZERO) else { panic!() };
        assert!(until >= began + options.restart_window);
        tokio::time::sleep_until(until).await;
        assert!(matches!(budget.fail(&options, Duration::ZERO), Next::Restart(_)));
    }
}

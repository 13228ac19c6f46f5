//! Delays between attempts to reconnect.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    time::Duration,
};

/// Exponential backoff with jitter: delays double up to a maximum, and are random within their upper half, so that the
/// clients of one server do not reconnect at the same moment.
///
/// ```
/// use std::time::Duration;
/// use couplet_client::Backoff;
///
/// // Never gives up.
/// let backoff = Backoff::new().initial(Duration::from_secs(1)).attempts(None);
/// # drop(backoff);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backoff {
    initial: Duration,
    max: Duration,
    attempts: Option<usize>,
    stable: Duration,
}

impl Backoff {
    /// Creates the default: from 250 ms to 30 s, giving up after 10 failures in a row.
    pub fn new() -> Self {
        Self {
            initial: Duration::from_millis(250),
            max: Duration::from_secs(30),
            attempts: Some(10),
            stable: Duration::from_secs(30),
        }
    }

    /// Sets the first delay.
    #[must_use]
    pub fn initial(mut self, delay: Duration) -> Self {
        self.initial = delay;
        self
    }

    /// Sets the longest delay.
    #[must_use]
    pub fn max(mut self, delay: Duration) -> Self {
        self.max = delay;
        self
    }

    /// Sets the number of failures in a row after which to give up; `None` is never.
    #[must_use]
    pub fn attempts(mut self, attempts: impl Into<Option<usize>>) -> Self {
        self.attempts = attempts.into();
        self
    }

    /// Sets the time after which a connection counts as stable, so that the next failure is the first one again
    /// (default: 30 s).
    #[must_use]
    pub fn stable(mut self, time: Duration) -> Self {
        self.stable = time;
        self
    }

    /// Returns the number of failures in a row, after a connection that lasted this long.
    pub(super) fn failures(&self, before: usize, lasted: Duration) -> usize {
        if lasted >= self.stable { 1 } else { before + 1 }
    }

    /// Returns the delay after this number of failures in a row; `None` if that is too many.
    pub fn delay(&self, failures: usize) -> Option<Duration> {
        let within = self.attempts.is_none_or(|most| failures <= most);
        within.then(|| self.jittered(failures, RandomState::new().build_hasher().finish()))
    }

    fn jittered(&self, failures: usize, random: u64) -> Duration {
        let doublings = u32::try_from(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
        let half = self.initial.saturating_mul(factor).min(self.max) / 2;
        // A thousand steps are fine enough.
        half + half * u32::try_from(random % 1001).unwrap_or_default() / 1000
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_maximum_and_are_spread() {
        let backoff = Backoff::new();
        let bounds = |failures| [0, 1000].map(|random| backoff.jittered(failures, random).as_millis());
        assert_eq!([1, 2, 3].map(bounds), [[125, 250], [250, 500], [500, 1000]]);
        assert_eq!([8, 9, 40, usize::MAX].map(bounds), [[15_000, 30_000]; 4]);
        let spread: std::collections::BTreeSet<_> = (0..100).map(|_| backoff.delay(5)).collect();
        assert!(spread.len() > 10, "{spread:?}");
    }

    #[test]
    fn failures_in_a_row_are_counted_and_bounded() {
        let backoff = Backoff::new().attempts(2);
        assert_eq!(backoff.failures(1, Duration::from_secs(1)), 2);
        assert_eq!(backoff.failures(2, Duration::from_secs(30)), 1);
        assert!(backoff.delay(2).is_some() && backoff.delay(3).is_none());
        assert!(backoff.attempts(None).delay(1_000_000).is_some());
    }
}

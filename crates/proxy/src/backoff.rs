//! How long to wait before the next attempt.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    time::Duration,
};

/// Exponential backoff with jitter. It begins anew after something that lasted.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    pub(crate) attempts: u32,
}

impl Backoff {
    const FIRST: Duration = Duration::from_millis(100);
    const MOST: Duration = Duration::from_secs(30);

    /// The time to wait: up to twice the last one, between a half and all of it.
    pub(crate) fn next(&mut self) -> Duration {
        let whole = Self::FIRST.saturating_mul(1 << self.attempts.min(16)).min(Self::MOST);
        self.attempts = self.attempts.saturating_add(1);
        let jitter = RandomState::new().build_hasher().finish() % 512;
        whole.mul_f64((512 + jitter) as f64 / 1024.0)
    }

    /// Begins anew if the last attempt led to something that lasted.
    pub(crate) fn lasted(&mut self, time: Duration) {
        if time >= Self::MOST {
            self.attempts = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_attempt_waits_longer_up_to_a_limit() {
        let mut backoff = Backoff::default();
        for attempt in 0..40 {
            let whole = Backoff::FIRST.saturating_mul(1 << attempt.min(16)).min(Backoff::MOST);
            let time = backoff.next();
            assert!(whole / 2 <= time && time <= whole, "{attempt}: {time:?}");
        }
        backoff.lasted(Duration::from_secs(1));
        assert!(backoff.attempts > 0);
        backoff.lasted(Backoff::MOST);
        assert_eq!(backoff.attempts, 0);
    }
}

//! How often something is attempted, and the time between two attempts.

use std::{fmt, iter, time::Duration};

/// A number of attempts, and the time between them, which doubles.
#[derive(Clone, Copy)]
pub(crate) struct Attempts {
    attempts: u32,
    first: Duration,
    longest: Duration,
}

impl Attempts {
    /// So many attempts, the first one included.
    ///
    /// # Panics
    /// If `attempts` is 0.
    pub(crate) fn new(attempts: u32) -> Self {
        assert!(attempts > 0, "expected at least one attempt");
        Self { attempts, first: Duration::from_millis(100), longest: Duration::from_secs(2) }
    }

    pub(crate) fn backoff(&mut self, first: Duration, longest: Duration) {
        (self.first, self.longest) = (first, longest);
    }

    /// The time after each attempt but the last one.
    pub(crate) fn pauses(self) -> impl Iterator<Item = Duration> {
        let doubled = move |pause: &Duration| Some(pause.saturating_mul(2).min(self.longest));
        iter::successors(Some(self.first), doubled).zip(1..self.attempts).map(|(pause, _)| pause)
    }

    /// Formats the policy with this name.
    pub(crate) fn debug(self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(name)
            .field("attempts", &self.attempts)
            .field("first", &self.first)
            .field("longest", &self.longest)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let mut attempts = Attempts::new(5);
        attempts.backoff(Duration::from_secs(1), Duration::from_secs(3));
        let pauses: Vec<_> = attempts.pauses().map(|pause| pause.as_secs()).collect();
        assert_eq!(pauses, [1, 2, 3, 3]);
        assert_eq!(Attempts::new(1).pauses().count(), 0);
    }
}

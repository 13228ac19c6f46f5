//! Pauses between attempts, counted.

use std::time::Duration;

use couplet_client::Backoff as Delays;

/// How many attempts there were in a row. It begins anew after something that lasted.
#[derive(Debug)]
pub(crate) struct Backoff {
    delays: Delays,
    pub(crate) attempts: usize,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { delays: Delays::new().initial(Duration::from_millis(100)).attempts(None), attempts: 0 }
    }
}

impl Backoff {
    /// For how long something has to last.
    const LASTED: Duration = Duration::from_secs(30);

    /// The time to wait before the next attempt.
    pub(crate) fn next(&mut self) -> Duration {
        self.attempts = self.attempts.saturating_add(1);
        self.delays.delay(self.attempts).unwrap_or(Self::LASTED)
    }

    /// Begins anew if the last attempt led to something that lasted.
    pub(crate) fn lasted(&mut self, time: Duration) {
        if time >= Self::LASTED {
            self.attempts = 0;
        }
    }
}

//! Delays between attempts to reconnect.

use std::time::Duration;

use couplet_client::Backoff as Delays;

/// The number of consecutive attempts. It is reset after a connection that lasted.
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
    /// How long a connection must last to reset the count.
    const LASTED: Duration = Duration::from_secs(30);

    /// The delay before the next attempt.
    pub(crate) fn next(&mut self) -> Duration {
        self.attempts = self.attempts.saturating_add(1);
        self.delays.delay(self.attempts).unwrap_or(Self::LASTED)
    }

    /// Resets the count if the last connection lasted.
    pub(crate) fn lasted(&mut self, time: Duration) {
        if time >= Self::LASTED {
            self.attempts = 0;
        }
    }
}

//! The ownership of a session by this replica.

use std::{sync::Mutex, time::Duration};

use tokio::time::Instant;

use crate::server::lock;

/// The ownership of a session: its generation, and until when it is certain.
#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) generation: u64,
    /// Nothing once it has ended.
    until: Mutex<Option<Instant>>,
}

impl Lease {
    /// Creates a lease that the store granted after `asked`.
    pub(crate) fn new(generation: u64, asked: Instant, lease: Duration) -> Self {
        Self { generation, until: Mutex::new(Some(deadline(asked, lease))) }
    }

    /// Extends the lease, which the store renewed after `asked`.
    pub(crate) fn extend(&self, asked: Instant, lease: Duration) {
        if let Some(until) = &mut *lock(&self.until) {
            *until = deadline(asked, lease).max(*until);
        }
    }

    /// Whether no other replica can own the session.
    pub(crate) fn is_valid(&self) -> bool {
        lock(&self.until).is_some_and(|until| Instant::now() < until)
    }

    /// Whether the lease was ended, and has not just expired.
    pub(crate) fn has_ended(&self) -> bool {
        lock(&self.until).is_none()
    }

    /// The time for which the lease is still valid.
    pub(crate) fn left(&self) -> Duration {
        lock(&self.until).map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()))
    }

    /// Ends the lease: this replica has released the session, or another one owns it.
    pub(crate) fn end(&self) {
        *lock(&self.until) = None;
    }
}

/// The end of a lease for its owner: before it ends for the others, because clocks differ in speed, and a message takes
/// time to be sent.
fn deadline(asked: Instant, lease: Duration) -> Instant {
    asked + (lease - lease / 8)
}

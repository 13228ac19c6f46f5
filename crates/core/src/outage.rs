//! Outages of stores, which are logged once and not for every operation.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::{Error, ErrorKind, Metric};

/// Whether a store is away, as its operations show. Every operation is noted, and only changes have to be logged: during
/// an outage the traffic would fill the log otherwise.
///
/// ```
/// use couplet_core::{Error, ErrorKind, Outage, OutageChange};
///
/// let outage = Outage::new();
/// let refused = Error::new(ErrorKind::Transport, "connection refused");
/// assert_eq!(outage.note(None), None);
/// assert_eq!(outage.note(Some(&refused)), Some(OutageChange::Began));
/// assert_eq!(outage.note(Some(&refused)), None);
/// assert_eq!(outage.note(None), Some(OutageChange::Ended));
/// assert_eq!(outage.metric("notes").value, 2);
/// ```
#[derive(Debug, Default)]
pub struct Outage {
    is_away: AtomicBool,
    /// The number of operations that failed, for whatever reason.
    errors: AtomicU64,
}

/// A change that [`Outage::note`] has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutageChange {
    /// The store is away from now on.
    Began,
    /// The store is back.
    Ended,
}

impl Outage {
    /// Creates the state of a store that is not away.
    pub const fn new() -> Self {
        Self { is_away: AtomicBool::new(false), errors: AtomicU64::new(0) }
    }

    /// Returns whether an error says that a store is away: it cannot be reached, or does not answer in time.
    pub fn is_outage(error: &Error) -> bool {
        matches!(error.kind(), ErrorKind::Transport | ErrorKind::Timeout)
    }

    /// Takes note of an operation and its error, if it failed, and returns what has changed. Of several callers at a time
    /// one gets the change.
    pub fn note(&self, error: Option<&Error>) -> Option<OutageChange> {
        if error.is_some() {
            self.errors.fetch_add(1, Ordering::Relaxed);
        }
        let is_away = error.is_some_and(Self::is_outage);
        // The load is cheaper, and nearly always enough.
        let before = &self.is_away;
        if before.load(Ordering::Relaxed) == is_away || before.swap(is_away, Ordering::Relaxed) == is_away {
            return None;
        }
        Some(if is_away { OutageChange::Began } else { OutageChange::Ended })
    }

    /// Returns the number of operations that failed as a metric, `couplet_store_errors_total`, with the name of the store as
    /// its label: see [`Service::metrics`](crate::Service::metrics).
    pub fn metric(&self, store: &'static str) -> Metric {
        let errors = self.errors.load(Ordering::Relaxed);
        Metric::counter("couplet_store_errors_total", Self::HELP, errors).label("store", store)
    }

    /// The meaning of the metric.
    const HELP: &'static str = "store calls that failed or took too long";
}

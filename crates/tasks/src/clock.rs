//! Timestamps and intervals as they appear in messages.

use std::{sync::OnceLock, time::Duration};

/// Milliseconds since 1970, and timestamps of them.
pub(crate) use couplet_core::clock::{iso, unix_millis as now};
use tokio::time::Instant;

/// Milliseconds since 1970, by a clock that does not jump. For leases within one process.
pub(crate) fn steady() -> u64 {
    static START: OnceLock<(u64, Instant)> = OnceLock::new();
    let (wall, start) = *START.get_or_init(|| (now(), Instant::now()));
    wall.saturating_add(millis(Instant::now().saturating_duration_since(start)))
}

/// A duration in whole milliseconds.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The poll interval: as requested by the other side, or half a second.
pub(crate) fn pause(millis: Option<u64>) -> Duration {
    Duration::from_millis(millis.unwrap_or(500).max(1))
}

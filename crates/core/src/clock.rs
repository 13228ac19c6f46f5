//! The wall clock, for transports and other crates on this one. This crate itself never reads it: time comes in as an
//! argument.

use std::time::{Duration, SystemTime};

/// Returns the time since the Unix epoch; zero if the clock is set to a time before it.
pub fn unix_time() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// Returns the whole seconds since the Unix epoch.
pub fn unix_seconds() -> u64 {
    unix_time().as_secs()
}

/// Returns the whole milliseconds since the Unix epoch.
pub fn unix_millis() -> u64 {
    u64::try_from(unix_time().as_millis()).unwrap_or(u64::MAX)
}

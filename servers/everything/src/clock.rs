//! The time of day.

use couplet::core::clock::unix_seconds;

/// The time of day in UTC.
pub(crate) fn now() -> String {
    let seconds = unix_seconds();
    let (hours, minutes, seconds) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{hours:02}:{minutes:02}:{seconds:02} UTC")
}

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

/// Returns a timestamp in ISO 8601, such as `2026-07-28T12:00:00.000Z`, from milliseconds since the Unix epoch.
pub fn iso(millis: u64) -> String {
    let (seconds, rest) = (millis / 1000, millis % 1000);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (h, m, s) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}.{rest:03}Z")
}

/// The date of a day since 1970, in the Gregorian calendar. Years are counted from March, so that the odd day is last.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_iso_8601() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_785_240_000_123, "2026-07-28T12:00:00.123Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
        ] {
            assert_eq!(iso(millis), text);
        }
    }
}

//! Times in the format of RFC 3339, in UTC.

/// Writes seconds since the Unix epoch: `2026-11-17T12:00:00Z`.
pub(crate) fn format(seconds: u64) -> String {
    let mut text = second(seconds);
    text.push('Z');
    text
}

/// The same with milliseconds: `2026-11-17T12:00:00.000Z`.
pub(crate) fn format_millis(millis: u64) -> String {
    let mut text = second(millis / 1000);
    text.push('.');
    pad(&mut text, millis % 1000, 3);
    text.push('Z');
    text
}

/// A time without its zone.
fn second(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    let mut text = String::with_capacity(24);
    pad(&mut text, year, 4);
    for (mark, number) in [('-', month), ('-', day), ('T', rest / 3600), (':', rest / 60 % 60), (':', rest % 60)] {
        text.push(mark);
        pad(&mut text, number, 2);
    }
    text
}

/// Appends a number with at least `width` digits. It is called for each line of an audit log, so it does not format.
fn pad(text: &mut String, number: u64, width: u32) {
    if number >= 10_u64.pow(width) {
        return text.push_str(&number.to_string());
    }
    for place in (0..width).rev() {
        let digit = (number / 10_u64.pow(place) % 10) as u8;
        text.push(char::from(b'0' + digit));
    }
}

/// Parses exactly the format that [`format`] writes.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let number = |from: usize, to: usize| {
        let digits = text.get(from..to).filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))?;
        digits.parse::<u64>().ok()
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let seconds = days(year, month, day)? * 86_400 + hour * 3600 + minute * 60 + second;
    // Everything else, such as the 31st of February or another separator, does not come back.
    Some(seconds).filter(|seconds| format(*seconds) == text)
}

/// The date of a day since 1970. Years begin in March, so that the leap day is the last one.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year_of_era + next, month, day)
}

/// The day since 1970 of a date.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (era * 146_097 + day_of_era).checked_sub(719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_and_parsed() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_794_916_800, "2026-11-17T12:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(format(seconds), text);
            assert_eq!(format_millis(seconds * 1000 + 45), format!("{}.045Z", text.trim_end_matches('Z')));
            assert_eq!(parse(text), Some(seconds), "{text}");
        }
        for wrong in [
            "",
            "2026-02-30T00:00:00Z",
            "2026-11-17 12:00:00Z",
            "1969-12-31T23:59:59Z",
            "2026-11-17T12:00:00",
            "ä026-11-17T12:00:00Z",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}

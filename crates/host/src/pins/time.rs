//! Times in the format of RFC 3339, in UTC.

/// Writes seconds since the Unix epoch: `2026-11-17T12:00:00Z`.
pub(crate) fn format(seconds: u64) -> String {
    let mut text = Vec::with_capacity(20);
    push_second(&mut text, seconds);
    text.push(b'Z');
    String::from_utf8(text).unwrap_or_default()
}

/// Appends milliseconds since the Unix epoch: `2026-11-17T12:00:00.000Z`.
pub(crate) fn push_millis(out: &mut Vec<u8>, millis: u64) {
    push_second(out, millis / 1000);
    let rest = millis % 1000;
    out.extend([b'.', b'0' + (rest / 100) as u8]);
    push_two(out, rest % 100);
    out.push(b'Z');
}

/// Appends a time without its zone.
fn push_second(out: &mut Vec<u8>, seconds: u64) {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    match year / 100 {
        century @ 0..100 => push_two(out, century),
        century => out.extend_from_slice(century.to_string().as_bytes()),
    }
    push_two(out, year % 100);
    for (mark, number) in [(b'-', month), (b'-', day), (b'T', rest / 3600), (b':', rest / 60 % 60), (b':', rest % 60)] {
        out.push(mark);
        push_two(out, number);
    }
}

/// Appends a number below 100 with two digits. It is called for each line of an audit log, so it does not format.
fn push_two(out: &mut Vec<u8>, number: u64) {
    out.extend([b'0' + (number / 10) as u8, b'0' + (number % 10) as u8]);
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
            let mut millis = Vec::new();
            push_millis(&mut millis, seconds * 1000 + 45);
            assert_eq!(String::from_utf8(millis).unwrap(), format!("{}.045Z", text.trim_end_matches('Z')));
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

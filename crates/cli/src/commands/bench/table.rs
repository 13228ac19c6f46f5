//! The results as a table.

use std::{fmt::Write, time::Duration};

use super::{
    load::MOST,
    measured::{Measured, SHARES},
};
use crate::output::{Paint, text};

/// Formats a line for each measurement, then the remarks.
pub(super) fn text(rows: &[Measured], paint: Paint) -> String {
    let mut head = format!("{:>12}{:>12}", "load", "answered");
    head.extend(SHARES.iter().map(|(name, _)| format!("{name:>9}")));
    let mut page = paint.faint(head + "  failed") + "\n";
    for row in rows {
        let _ = write!(page, "{:>12}{:>12}", row.pace.to_string(), format!("{}/s", number(row.per_second())));
        for (_, share) in SHARES {
            let _ = write!(page, "{:>9}", row.at(share).map_or("–".to_owned(), time));
        }
        let failed = format!("{:>8}", number(row.failed as f64));
        let _ = writeln!(page, "{}", if row.failed > 0 { paint.error(failed) } else { failed });
    }
    for row in rows {
        for line in remarks(row) {
            let _ = writeln!(page, "{} {line}", paint.warning(format!("{}:", row.pace)));
        }
    }
    page
}

/// Returns the errors and the requests that were not sent or not answered.
fn remarks(row: &Measured) -> Vec<String> {
    let many =
        |count: u64| if count == 1 { "1 request".to_owned() } else { format!("{} requests", number(count as f64)) };
    let mut lines: Vec<String> =
        row.failures.iter().map(|(why, count)| format!("{} failed: {}", many(*count), text::line(why))).collect();
    if row.unsent > 0 {
        let (what, most) = (many(row.unsent), number(MOST as f64));
        lines.push(format!("{what} not sent, since at most {most} may be in flight; latencies include the delay"));
    }
    if row.unanswered > 0 {
        lines.push(format!("{} not answered in time; latencies include the wait", many(row.unanswered)));
    }
    lines
}

/// Formats a number with commas; small ones with one decimal.
pub(super) fn number(value: f64) -> String {
    if value < 100.0 && value.fract() > 0.05 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a time with three significant digits.
pub(super) fn time(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1e3;
    match ms {
        ms if ms < 0.9995 => format!("{:.0} µs", ms * 1e3),
        ms if ms < 9.995 => format!("{ms:.2} ms"),
        ms if ms < 99.95 => format!("{ms:.1} ms"),
        ms if ms < 999.5 => format!("{ms:.0} ms"),
        ms if ms < 9_995.0 => format!("{:.2} s", ms / 1e3),
        ms => format!("{:.1} s", ms / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        commands::bench::measured::Pace,
        exit::{Exit, Failure},
    };

    const PLAIN: Paint = Paint { colour: false, terminal: false };

    #[test]
    fn numbers_and_times_for_people() {
        for (value, want) in [(0.5, "0.5"), (7.0, "7"), (99.96, "100.0"), (1234.4, "1,234"), (1e6, "1,000,000")] {
            assert_eq!(number(value), want);
        }
        for (micros, want) in [
            (7, "7 µs"),
            (999, "999 µs"),
            (1_234, "1.23 ms"),
            (9_999, "10.0 ms"),
            (45_600, "45.6 ms"),
            (2_500_000, "2.50 s"),
            (61_000_000, "61.0 s"),
        ] {
            assert_eq!(time(Duration::from_micros(micros)), want);
        }
    }

    #[test]
    fn a_line_for_each_pace() {
        let fast: Vec<_> = (1..=1000).map(Duration::from_micros).collect();
        let rows =
            [Pace::Rate(1000.0), Pace::InFlight(16)].map(|pace| Measured::of(pace, Duration::from_secs(1), &fast));
        let want = "        load    answered      p50      p90      p99    p99.9      max  failed
     1,000/s     1,000/s   500 µs   900 µs   990 µs   999 µs  1.00 ms       0
  16 at once     1,000/s   500 µs   900 µs   990 µs   999 µs  1.00 ms       0\n";
        assert_eq!(text(&rows, PLAIN), want);
    }

    #[test]
    fn nothing_is_hidden() {
        let mut row = Measured::new(Pace::Rate(10_000.0));
        row.sent = 1;
        row.take(Duration::ZERO, Duration::ZERO, Err(Failure::new(Exit::Refused, "no\u{1b}[2J\nway")));
        row.stop(Duration::from_secs(1));
        row.give_up(Duration::from_secs(6));
        let want = "10,000/s: 1 request failed: no\\u{1b}[2J way
10,000/s: 9,999 requests not sent, since at most 1,000 may be in flight; latencies include the delay
10,000/s: 1 request not answered in time; latencies include the wait\n";
        assert!(text(&[row], PLAIN).ends_with(want));
        assert!(text(&[Measured::new(Pace::Rate(1.0))], PLAIN).contains("      –"));
    }
}

//! What was measured, as a table.

use std::{fmt::Write, time::Duration};

use super::load::Measured;
use crate::output::Paint;

const SHARES: [(&str, f64); 5] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)];

/// A line for each rate.
pub(super) fn text(rows: &[Measured], paint: Paint) -> String {
    let mut head = format!("{:>12}{:>12}", "asked", "answered");
    SHARES.iter().for_each(|(name, _)| drop(write!(head, "{name:>10}")));
    let mut page = paint.faint(head + &format!("{:>9}", "failed")) + "\n";
    for row in rows {
        let _ = write!(page, "{:>12}{:>12}", per_second(row.rate), per_second(row.per_second()));
        for (_, share) in SHARES {
            let _ = write!(page, "{:>10}", time(row.at(share)));
        }
        let _ = write!(page, "{:>9}", row.failed);
        if row.unsent > 0 {
            let _ = write!(page, "  {} were not sent, because so many others waited", number(row.unsent as f64));
        }
        page.push('\n');
    }
    page
}

fn per_second(rate: f64) -> String {
    number(rate) + "/s"
}

/// A number with commas; small ones with a digit behind the point.
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

/// A time with three digits that say something.
pub(super) fn time(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1e3;
    match ms {
        ms if ms < 1.0 => format!("{:.0} µs", ms * 1e3),
        ms if ms < 10.0 => format!("{ms:.2} ms"),
        ms if ms < 100.0 => format!("{ms:.1} ms"),
        ms if ms < 10_000.0 => format!("{ms:.0} ms"),
        ms => format!("{:.1} s", ms / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_for_people() {
        for (value, want) in [(0.5, "0.5"), (7.0, "7"), (99.96, "100"), (1234.4, "1,234"), (1_000_000.0, "1,000,000")] {
            assert_eq!(number(value), want);
        }
        for (micros, want) in [
            (7, "7 µs"),
            (999, "999 µs"),
            (1_234, "1.23 ms"),
            (45_600, "45.6 ms"),
            (2_500_000, "2500 ms"),
            (61_000_000, "61.0 s"),
        ] {
            assert_eq!(time(Duration::from_micros(micros)), want);
        }
    }

    #[test]
    fn a_line_for_each_rate() {
        let fast: Vec<_> = (1..=1000).map(Duration::from_micros).collect();
        let rows = [Measured::of(1000.0, Duration::from_secs(1), &fast)];
        let plain = Paint { colour: false, terminal: false };
        let want = "       asked    answered       p50       p90       p99     p99.9       max   failed\n     \
                    1,000/s     1,000/s    500 µs    900 µs    990 µs    999 µs   1.00 ms        0\n";
        assert_eq!(text(&rows, plain), want);
    }
}

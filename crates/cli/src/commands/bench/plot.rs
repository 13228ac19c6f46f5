//! The results as a text plot: a line per measurement, latency from left to right.

use std::fmt::Write;

use super::{measured::Measured, table::time};

/// The width of the plot in columns.
const WIDTH: usize = 60;
/// The marked quantiles.
const MARKS: [(char, f64); 4] = [('●', 0.5), ('◆', 0.9), ('▲', 0.99), ('■', 0.999)];

/// A logarithmic scale of times.
pub(super) struct Scale {
    pub(super) least: f64,
    pub(super) most: f64,
}

impl Scale {
    /// Creates a scale of whole powers of ten, in seconds, that covers all results.
    pub(super) fn of(rows: &[Measured]) -> Self {
        let seconds =
            |share: f64| rows.iter().filter_map(move |row| row.at(share)).map(|t| t.as_secs_f64()).filter(|s| *s > 0.0);
        let least = seconds(0.5).fold(f64::INFINITY, f64::min);
        let most = seconds(0.999).fold(0.0, f64::max);
        if !least.is_finite() {
            return Self { least: 1e-4, most: 1e-3 };
        }
        let (low, high) = (least.log10().floor(), most.log10().ceil());
        Self { least: 10_f64.powf(low), most: 10_f64.powf(high.max(low + 1.0)) }
    }

    /// Returns the position of a time, from 0 to 1.
    pub(super) fn place(&self, seconds: f64) -> f64 {
        ((seconds / self.least).log10() / (self.most / self.least).log10()).clamp(0.0, 1.0)
    }

    /// Returns the powers of ten on the scale.
    pub(super) fn steps(&self) -> impl Iterator<Item = f64> {
        let (low, high) = (self.least.log10().round() as i32, self.most.log10().round() as i32);
        (low..=high).map(|power| 10_f64.powi(power))
    }
}

pub(super) fn text(rows: &[Measured]) -> String {
    let scale = Scale::of(rows);
    let column = |seconds: f64| (scale.place(seconds) * (WIDTH - 1) as f64).round() as usize;
    let mut page = String::new();
    for row in rows {
        let mut line = vec![' '; WIDTH];
        let at = |share: f64| row.at(share).map(|time| column(time.as_secs_f64()));
        if let (Some(first), Some(last)) = (at(0.5), at(0.999)) {
            line[first..=last.max(first)].fill('─');
        }
        // Higher quantiles first, so that lower ones are drawn over them.
        for (mark, share) in MARKS.into_iter().rev() {
            if let Some(place) = at(share) {
                line[place] = mark;
            }
        }
        let line: String = line.into_iter().collect();
        let _ = writeln!(page, "{:>12} │{}", row.pace.to_string(), line.trim_end());
    }
    let _ = writeln!(page, "{:>12} └{}", "", "─".repeat(WIDTH));
    let mut axis = String::new();
    for step in scale.steps() {
        let label = time(std::time::Duration::from_secs_f64(step));
        let at = column(step).min(WIDTH - label.chars().count());
        let filled = axis.chars().count();
        axis.extend(std::iter::repeat_n(' ', at.saturating_sub(filled)));
        if at >= filled {
            axis.push_str(&label);
        }
    }
    let _ = writeln!(page, "{:>12}  {axis}", "");
    let _ = writeln!(page, "{:>12}  latency: ● p50  ◆ p90  ▲ p99  ■ p99.9", "");
    page
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::commands::bench::measured::Pace;

    #[test]
    fn marks_are_where_they_belong() {
        let spread: Vec<_> = (1..=1000).map(|n| Duration::from_micros(100 + n)).collect();
        let rows = [Measured::of(Pace::Rate(1000.0), Duration::from_secs(1), &spread)];
        let page = text(&rows);
        let line = page.lines().next().unwrap();
        let at = |mark| line.chars().position(|c| c == mark).unwrap();
        assert!(at('●') < at('◆') && at('◆') < at('▲'), "{page}");
        assert!(page.contains("100 µs") && page.contains("1.00 ms") && page.contains("10.0 ms"), "{page}");
        // Nothing was answered.
        assert!(text(&[Measured::of(Pace::Rate(5.0), Duration::from_secs(1), &[])]).contains("5/s"));
    }
}

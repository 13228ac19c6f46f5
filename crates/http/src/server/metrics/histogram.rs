//! Durations, counted in buckets.

use std::{
    fmt::Write,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// The upper bounds of the buckets in seconds, as they are written.
const BOUNDS: [(f64, &str); 14] = [
    (0.001, "0.001"),
    (0.005, "0.005"),
    (0.01, "0.01"),
    (0.025, "0.025"),
    (0.05, "0.05"),
    (0.1, "0.1"),
    (0.25, "0.25"),
    (0.5, "0.5"),
    (1.0, "1"),
    (2.5, "2.5"),
    (5.0, "5"),
    (10.0, "10"),
    (60.0, "60"),
    (300.0, "300"),
];

/// A histogram of durations.
#[derive(Debug, Default)]
pub(super) struct Histogram {
    /// The last one is for what is longer than any bound.
    buckets: [AtomicU64; BOUNDS.len() + 1],
    nanoseconds: AtomicU64,
}

impl Histogram {
    pub(super) fn add(&self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        let bucket = BOUNDS.iter().position(|(bound, _)| seconds <= *bound).unwrap_or(BOUNDS.len());
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.buckets.iter().all(|bucket| bucket.load(Ordering::Relaxed) == 0)
    }

    /// Writes the samples of a series that has one label. They agree with each other, whatever is counted meanwhile.
    pub(super) fn write(&self, text: &mut String, name: &str, label: &str, value: &str) {
        let mut count = 0;
        let bounds = BOUNDS.iter().map(|(_, bound)| *bound).chain(["+Inf"]);
        for (bucket, bound) in self.buckets.iter().zip(bounds) {
            count += bucket.load(Ordering::Relaxed);
            let _ = writeln!(text, "{name}_bucket{{{label}=\"{value}\",le=\"{bound}\"}} {count}");
        }
        let sum = Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed)).as_secs_f64();
        let _ = writeln!(text, "{name}_sum{{{label}=\"{value}\"}} {sum}");
        let _ = writeln!(text, "{name}_count{{{label}=\"{value}\"}} {count}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_counts_everything_up_to_its_bound() {
        let histogram = Histogram::default();
        assert!(histogram.is_empty());
        for milliseconds in [1, 2, 100, 1_000_000] {
            histogram.add(Duration::from_millis(milliseconds));
        }
        let mut text = String::new();
        histogram.write(&mut text, "a", "b", "c");
        for line in [
            r#"a_bucket{b="c",le="0.001"} 1"#,
            r#"a_bucket{b="c",le="0.005"} 2"#,
            r#"a_bucket{b="c",le="0.1"} 3"#,
            r#"a_bucket{b="c",le="300"} 3"#,
            r#"a_bucket{b="c",le="+Inf"} 4"#,
            r#"a_sum{b="c"} 1000.103"#,
            r#"a_count{b="c"} 4"#,
        ] {
            assert!(text.lines().any(|written| written == line), "no {line} in {text}");
        }
    }
}

//! A histogram of durations with a fixed size.

use std::time::Duration;

/// Steps within each power of two: an error of at most 1/16.
const STEPS: usize = 16;
/// Powers of two of microseconds, up to about 19 hours.
const POWERS: usize = 36;

/// Counts of durations, in buckets that grow with the duration.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    max: Duration,
}

impl Histogram {
    pub(crate) fn new() -> Self {
        Self { buckets: vec![0; STEPS * POWERS], count: 0, max: Duration::ZERO }
    }

    pub(crate) fn add(&mut self, time: Duration) {
        self.buckets[index(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))] += 1;
        self.count += 1;
        self.max = self.max.max(time);
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn max(&self) -> Duration {
        self.max
    }

    /// Returns the duration that a share of all does not exceed.
    pub(crate) fn percentile(&self, share: f64) -> Duration {
        let wanted = (self.count as f64 * share).ceil().max(1.0);
        let mut seen = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen as f64 >= wanted {
                return Duration::from_micros(upper(index)).min(self.max);
            }
        }
        self.max
    }
}

/// Returns the bucket of a number: below 16 each has its own, above each power of two has 16.
fn index(micros: u64) -> usize {
    let steps = STEPS as u64;
    if micros < steps {
        return usize::try_from(micros).unwrap_or(0);
    }
    let power = micros.ilog2() - steps.ilog2();
    let step = (micros >> power) - steps;
    let index = (u64::from(power) + 1) * steps + step;
    usize::try_from(index).unwrap_or(usize::MAX).min(STEPS * POWERS - 1)
}

/// Returns the largest number of a bucket.
fn upper(index: usize) -> u64 {
    let (index, steps) = (index as u64, STEPS as u64);
    if index < steps {
        return index;
    }
    let (power, step) = (index / steps - 1, index % steps);
    ((steps + step + 1) << power) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_their_buckets() {
        for micros in (0..5_000).chain([1 << 20, (1 << 30) + 12_345, 60_000_000_000]) {
            let index = index(micros);
            assert!(micros <= upper(index), "{micros}");
            assert!(index == 0 || micros > upper(index - 1), "{micros}");
            assert!(upper(index) as f64 <= micros as f64 * 1.07 + 1.0, "{micros}");
        }
        assert_eq!(index(u64::MAX), STEPS * POWERS - 1);
    }

    #[test]
    fn percentiles_are_close() {
        let mut histogram = Histogram::new();
        (1..=1000).for_each(|n| histogram.add(Duration::from_millis(n)));
        for (share, expected) in [(0.5, 500.0), (0.9, 900.0), (0.99, 990.0)] {
            let found = histogram.percentile(share).as_secs_f64() * 1000.0;
            assert!((found - expected).abs() / expected < 0.07, "{share}: {found}");
        }
        assert_eq!((histogram.count(), histogram.max()), (1000, Duration::from_secs(1)));
        assert_eq!(histogram.percentile(1.0), Duration::from_secs(1));
    }
}

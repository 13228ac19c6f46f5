//! A histogram of latencies with a fixed size.

use std::{
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    time::Duration,
};

/// Counts by latency: four buckets for each power of two, from a microsecond to about an hour. Old samples fade: when
/// there are many, all counts are halved.
pub(super) struct Histogram {
    buckets: [AtomicU32; Self::BUCKETS],
    samples: AtomicU32,
}

impl Histogram {
    const BUCKETS: usize = 128;
    /// The number of samples after which the counts are halved.
    const MANY: u32 = 8192;

    pub(super) fn record(&self, latency: Duration) {
        self.buckets[bucket(latency)].fetch_add(1, Relaxed);
        if self.samples.fetch_add(1, Relaxed) + 1 >= Self::MANY {
            // A sample that another thread records meanwhile may be lost, which changes no percentile.
            self.buckets.iter().for_each(|count| count.store(count.load(Relaxed) / 2, Relaxed));
            self.samples.store(Self::MANY / 2, Relaxed);
        }
    }

    /// The latency that this share of the samples does not exceed, rounded up to a bucket's bound.
    pub(super) fn percentile(&self, share: f64) -> Option<Duration> {
        let counts: Vec<u64> = self.buckets.iter().map(|count| count.load(Relaxed).into()).collect();
        let total: u64 = counts.iter().sum();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "a small count"
        )]
        let rank = ((total as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        let at = counts.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        at.filter(|_| total > 0).map(upper_bound)
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: std::array::from_fn(|_| AtomicU32::new(0)), samples: AtomicU32::new(0) }
    }
}

/// The bucket of a latency.
fn bucket(latency: Duration) -> usize {
    let micros = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX).max(4);
    let power = micros.ilog2();
    // The two bits below the highest one.
    let quarter = (micros >> (power - 2)) & 3;
    let at = u64::from(power - 2) * 4 + quarter;
    usize::try_from(at).unwrap_or(usize::MAX).min(Histogram::BUCKETS - 1)
}

/// The smallest latency above a bucket.
fn upper_bound(bucket: usize) -> Duration {
    let (power, quarter) = (bucket / 4 + 2, bucket % 4);
    Duration::from_micros((5 + quarter as u64) << (power - 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_near_the_truth() {
        let histogram = Histogram::default();
        assert_eq!(histogram.percentile(0.5), None);
        (1..=1000).for_each(|n| histogram.record(Duration::from_micros(n * 100)));
        for (share, truth) in [(0.5, 50_000), (0.99, 99_000), (1.0, 100_000)] {
            let found = histogram.percentile(share).unwrap().as_micros();
            assert!(found >= truth && found <= truth * 5 / 4 + 1, "{share}: {found} is not near {truth}");
        }
    }

    #[test]
    fn extremes_fit_and_old_samples_fade() {
        let histogram = Histogram::default();
        histogram.record(Duration::MAX);
        histogram.record(Duration::ZERO);
        assert_eq!(histogram.percentile(0.5), Some(Duration::from_micros(5)));
        assert!(histogram.percentile(1.0).unwrap() > Duration::from_secs(3600));
        (0..20_000).for_each(|_| histogram.record(Duration::from_secs(1)));
        (0..100_000).for_each(|_| histogram.record(Duration::from_millis(1)));
        assert!(histogram.percentile(0.99).unwrap() < Duration::from_millis(2));
    }
}

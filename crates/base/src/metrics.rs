//! Counters and histograms that many threads add to: no lock, no registry, no clock.
//!
//! A histogram keeps counts by size, eight steps for each power of two, so that a quantile is at
//! most an eighth too high. Readers may see an event in one number and not yet in another.

use std::array;

use crate::sync::{AtomicU64, Ordering};

/// Shards of a counter: threads beyond that share.
const SHARDS: usize = if cfg!(loom) { 2 } else { 16 };
/// Steps for each power of two.
const STEPS: u64 = 8;
/// Sizes below this have a bucket of their own.
const EXACT: u64 = STEPS;
/// Buckets of a histogram: the exact ones, and eight for each power of two from 2^3 on.
const BUCKETS: usize = 8 + 61 * 8;

#[repr(align(64))]
#[derive(Default)]
struct Shard(AtomicU64);

/// A number that only grows, on a cache line for each of a few groups of threads.
pub struct ShardedCounter {
    shards: [Shard; SHARDS],
}

impl Default for ShardedCounter {
    fn default() -> ShardedCounter {
        ShardedCounter {
            shards: array::from_fn(|_| Shard::default()),
        }
    }
}

impl ShardedCounter {
    /// Adds `amount`.
    #[inline]
    pub fn add(&self, amount: u64) {
        self.shards[shard_of_thread()]
            .0
            .fetch_add(amount, Ordering::Relaxed);
    }

    /// What was added so far.
    #[must_use]
    pub fn get(&self) -> u64 {
        let shards = self.shards.iter();
        shards.map(|shard| shard.0.load(Ordering::Relaxed)).sum()
    }
}

/// A position that is the same for all calls of one thread, spread evenly over threads.
fn shard_of_thread() -> usize {
    use std::cell::Cell;
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static OWN: Cell<usize> = const { Cell::new(usize::MAX) });
    OWN.with(|own| {
        if own.get() == usize::MAX {
            own.set(NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS);
        }
        own.get()
    })
}

/// How often events of each size happened.
pub struct Histogram {
    buckets: Box<[AtomicU64]>,
    sum: AtomicU64,
    greatest: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram {
            buckets: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0),
            greatest: AtomicU64::new(0),
        }
    }
}

/// A moment of a histogram.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistogramSnapshot {
    counts: Vec<u64>,
    /// Events.
    pub count: u64,
    /// Sum of their sizes.
    pub sum: u64,
    /// The greatest size.
    pub greatest: u64,
}

impl Histogram {
    /// Counts an event.
    #[inline]
    pub fn record(&self, size: u64) {
        self.buckets[bucket_of(size)].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(size, Ordering::Relaxed);
        self.greatest.fetch_max(size, Ordering::Relaxed);
    }

    /// The counts of this moment.
    #[must_use]
    pub fn snapshot(&self) -> HistogramSnapshot {
        let counts: Vec<u64> = self
            .buckets
            .iter()
            .map(|bucket| bucket.load(Ordering::Relaxed))
            .collect();
        HistogramSnapshot {
            count: counts.iter().sum(),
            counts,
            sum: self.sum.load(Ordering::Relaxed),
            greatest: self.greatest.load(Ordering::Relaxed),
        }
    }
}

impl HistogramSnapshot {
    /// A size that `per_mille` thousandths of the events do not exceed, at most an eighth above the
    /// smallest such size; 0 when there are none.
    #[must_use]
    pub fn quantile(&self, per_mille: u64) -> u64 {
        let wanted = (u128::from(self.count) * u128::from(per_mille.min(1000))).div_ceil(1000);
        let mut seen = 0_u128;
        for (bucket, &count) in self.counts.iter().enumerate() {
            seen += u128::from(count);
            if count > 0 && seen >= wanted {
                return last_of(bucket).min(self.greatest);
            }
        }
        self.greatest
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "positions are below the number of buckets"
)]
fn bucket_of(size: u64) -> usize {
    if size < EXACT {
        return size as usize;
    }
    let power = u64::from(size.ilog2());
    let step = (size >> (power - 3)) % STEPS;
    (EXACT + (power - 3) * STEPS + step) as usize
}

/// The greatest size in a bucket.
fn last_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < EXACT {
        return bucket;
    }
    let (power, step) = ((bucket - EXACT) / STEPS + 3, (bucket - EXACT) % STEPS);
    let width = 1_u64 << (power - 3);
    (1_u64 << power) + step * width + (width - 1)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_size_lies_in_its_bucket() {
        let sizes = (0..2_000).chain((4..64).flat_map(|power| {
            let size = 1_u64 << power;
            [size - 1, size, size + size / 3, size + (size - 1)]
        }));
        let mut last = 0;
        for size in sizes {
            let bucket = bucket_of(size);
            assert!(bucket < BUCKETS && last_of(bucket) >= size, "{size}");
            assert!(bucket == 0 || last_of(bucket - 1) < size, "{size}");
            assert!(last_of(bucket) - size <= size / 8, "{size}");
            last = last.max(bucket);
        }
        assert_eq!(last, BUCKETS - 1);
        assert_eq!(last_of(BUCKETS - 1), u64::MAX);
    }

    #[test]
    fn quantiles_are_those_of_a_sorted_list() {
        let histogram = Histogram::default();
        assert_eq!(histogram.snapshot().quantile(500), 0);
        let mut sizes: Vec<u64> = (0..10_000_u64).map(|n| n * n % 977_777).collect();
        sizes.iter().for_each(|&size| histogram.record(size));
        sizes.sort_unstable();
        let snapshot = histogram.snapshot();
        assert_eq!((snapshot.count, snapshot.sum), (10_000, sizes.iter().sum()));
        assert_eq!(snapshot.greatest, sizes[9_999]);
        for (per_mille, position) in [
            (1, 9),
            (500, 4_999),
            (990, 9_899),
            (999, 9_989),
            (1000, 9_999),
        ] {
            let (found, exact) = (snapshot.quantile(per_mille), sizes[position]);
            assert!(
                found >= exact && found - exact <= exact / 8,
                "{per_mille}: {found}, {exact}"
            );
        }
    }

    #[test]
    fn counters_lose_nothing_between_threads() {
        let counter = ShardedCounter::default();
        std::thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| (0..1_000).for_each(|_| counter.add(2)));
            }
        });
        assert_eq!(counter.get(), 40_000);
    }
}

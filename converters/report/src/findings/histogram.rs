//! How long waits took: counts by duration.

use tyrion_wire::cell::{BUCKETS, bucket_floor_ns};

/// Bits of a duration's place within its power of two.
const SUB_BITS: u32 = 4;
/// Parts of each power of two.
const SUB: usize = 1 << SUB_BITS;
/// Durations of 2^48 ns, three days, and more are in the last bucket.
const MAX_BITS: u32 = 48;
/// Number of fine buckets.
pub(crate) const LEN: usize = (MAX_BITS - SUB_BITS + 1) as usize * SUB;

/// The fine bucket of a duration: exact below 16 ns, then 16 of the same width
/// for each power of two.
#[inline(always)]
pub(crate) fn index(wait_ns: u64) -> usize {
    if wait_ns < SUB as u64 {
        return wait_ns as usize;
    }
    let exponent = wait_ns.ilog2();
    let part = (wait_ns >> (exponent - SUB_BITS)) as usize & (SUB - 1);
    ((exponent - SUB_BITS + 1) as usize * SUB + part).min(LEN - 1)
}

/// The shortest duration of a fine bucket, in ns, and how many durations it
/// has.
fn bounds(index: usize) -> (u64, u64) {
    if index < 2 * SUB {
        return (index as u64, 1);
    }
    let (power, part) = (index / SUB, index % SUB);
    let shift = power as u32 - 1;
    (((SUB + part) as u64) << shift, 1 << shift)
}

/// How many waits took how long. Durations are known to 1 part in 16, so that
/// what [`Histogram::quantile`] tells is off by 3 % at most; those of folded
/// waits to a power of two only, within which they are taken to lie evenly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// [`LEN`] counts, or none.
    counts: Vec<u64>,
}

impl Histogram {
    /// Of counts by fine bucket, and of folded waits by power of two.
    pub(crate) fn new(counts: &[u64], folded: &[u64; BUCKETS]) -> Histogram {
        let mut histogram = Histogram { counts: counts.to_vec() };
        histogram.counts.resize(LEN, 0);
        for (power, &waits) in folded.iter().enumerate().filter(|(_, waits)| **waits != 0) {
            let first = index(bucket_floor_ns(power));
            let end = if power + 1 < BUCKETS { index(bucket_floor_ns(power + 1)) } else { LEN };
            // Evenly, and a single one in the middle.
            let parts = (end - first) as u128;
            let up_to = |part: u128| ((u128::from(waits) * part + parts / 2) / parts) as u64;
            for (part, count) in histogram.counts[first..end].iter_mut().enumerate() {
                let part = part as u128;
                *count = count.saturating_add(up_to(part + 1) - up_to(part));
            }
        }
        histogram
    }

    /// Adds the counts of another one.
    pub fn add(&mut self, other: &Histogram) {
        self.counts.resize(LEN, 0);
        for (sum, count) in self.counts.iter_mut().zip(&other.counts) {
            *sum = sum.saturating_add(*count);
        }
    }

    /// Counts one more.
    pub fn record(&mut self, wait_ns: u64) {
        self.counts.resize(LEN, 0);
        if let Some(count) = self.counts.get_mut(index(wait_ns)) {
            *count = count.saturating_add(1);
        }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The duration that the share `q` of the waits, 0.99 say, does not exceed,
    /// in ns: the middle of its bucket. `None` when there are no waits.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let rank = Self::rank(q, self.count())?;
        let mut sum = 0u64;
        for (at, count) in self.counts.iter().enumerate() {
            sum = sum.saturating_add(*count);
            if sum >= rank {
                let (first_ns, width) = bounds(at);
                return Some(first_ns + width / 2);
            }
        }
        None
    }

    /// The same where it is known how long the longest one was: of few waits it
    /// is that one, and none is longer.
    pub fn quantile_up_to(&self, q: f64, longest_ns: u64) -> Option<u64> {
        let count = self.count();
        if Self::rank(q, count)? == count {
            return Some(longest_ns);
        }
        self.quantile(q).map(|ns| ns.min(longest_ns))
    }

    /// Which one of so many, in the order of their durations, the share `q` of
    /// them does not exceed.
    fn rank(q: f64, count: u64) -> Option<u64> {
        (count != 0).then(|| ((q.clamp(0.0, 1.0) * count as f64).ceil() as u64).clamp(1, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_follow_one_another() {
        let mut next_ns = 0;
        for at in 0..LEN {
            let (first_ns, width) = bounds(at);
            assert_eq!(first_ns, next_ns, "bucket {at}");
            assert_eq!((index(first_ns), index(first_ns + width - 1)), (at, at));
            next_ns = first_ns + width;
        }
        assert_eq!(next_ns, 1 << MAX_BITS);
        assert_eq!(index(u64::MAX), LEN - 1);
    }

    #[test]
    fn quantiles_of_known_waits() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        (1..=1000u64).for_each(|n| histogram.record(n * 1_000_000));
        assert_eq!(histogram.count(), 1000);
        for (q, expected) in [(0.0, 1e6), (0.5, 500e6), (0.99, 990e6), (1.0, 1000e6)] {
            let found = histogram.quantile(q).unwrap() as f64;
            assert!((found / expected - 1.0).abs() < 0.033, "{q}: {found}");
        }
    }

    #[test]
    fn of_few_waits_it_is_the_longest() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile_up_to(0.99, 0), None);
        histogram.record(1_000_000);
        assert_eq!(histogram.quantile_up_to(0.5, 1_000_000), Some(1_000_000));
        histogram.record(3_000_001);
        assert_eq!(histogram.quantile_up_to(0.99, 3_000_001), Some(3_000_001));
        assert_eq!(histogram.quantile_up_to(0.5, 3_000_001), histogram.quantile(0.5));
        (0..99).for_each(|_| histogram.record(3_000_001));
        let found = histogram.quantile_up_to(0.9, 2_900_000);
        assert_eq!(found, Some(2_900_000), "none is longer");
    }

    #[test]
    fn folded_waits_lie_evenly_in_their_power_of_two() {
        let mut folded = [0; BUCKETS];
        folded[12] = 160;
        let histogram = Histogram::new(&[], &folded);
        assert_eq!(histogram.count(), 160);
        assert_eq!(histogram.quantile(0.5), Some(4096 + 7 * 256 + 128));
        assert_eq!(histogram.quantile(1.0), Some(8192 - 128));
        folded[12] = 1;
        let one = Histogram::new(&[], &folded);
        assert_eq!((one.count(), one.quantile(0.5)), (1, Some(4096 + 7 * 256 + 128)));
        let mut ends = [0; BUCKETS];
        (ends[0], ends[BUCKETS - 1]) = (3, 5);
        assert_eq!(Histogram::new(&[], &ends).count(), 8);
    }

    proptest! {
        #[test]
        fn any_duration_is_told_to_three_percent(wait_ns in 0u64..1 << MAX_BITS) {
            let mut histogram = Histogram::default();
            histogram.record(wait_ns);
            let told = histogram.quantile(0.5).unwrap();
            prop_assert!(told.abs_diff(wait_ns) * 32 <= wait_ns);
        }
    }
}

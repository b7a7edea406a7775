//! How well it is known how long locks are held on average.

use tyrion_wire::cell::{BUCKETS, bucket_floor_ns};

/// So many measured holds there have to be at least.
const LEAST: f64 = 100.0;
/// As large a share of the mean may its error be.
const ERROR: f64 = 0.05;
/// Within so many standard errors are 95 % of such means.
const OF_95_PERCENT: f64 = 1.96;

/// Whether the mean of measured holds, given by the buckets of their durations, is known well.
pub fn is_certain<'a>(histograms: impl Iterator<Item = &'a [u64; BUCKETS]>) -> bool {
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for histogram in histograms {
        for (bucket, &holds) in histogram.iter().enumerate() {
            let (holds, ns) = (holds as f64, 1.5 * bucket_floor_ns(bucket).max(1) as f64);
            count += holds;
            sum += holds * ns;
            squares += holds * ns * ns;
        }
    }
    if count < LEAST {
        return false;
    }
    let mean = sum / count;
    let variance = (squares / count - mean * mean).max(0.0);
    OF_95_PERCENT * (variance / count).sqrt() <= ERROR * mean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_certain_of(holds: &[(usize, u64)]) -> bool {
        let mut histogram = [0; BUCKETS];
        holds.iter().for_each(|&(bucket, count)| histogram[bucket] = count);
        is_certain([&histogram].into_iter())
    }

    #[test]
    fn few_holds_tell_little_and_rare_long_ones_need_many() {
        assert!(!is_certain_of(&[]) && !is_certain_of(&[(10, 99)]));
        assert!(is_certain_of(&[(10, 100)]));
        // One in a thousand is a thousand times longer.
        assert!(!is_certain_of(&[(10, 9_990), (20, 10)]));
        assert!(is_certain_of(&[(10, 9_990_000), (20, 10_000)]));
    }
}

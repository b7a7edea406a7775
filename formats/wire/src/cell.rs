//! Fold cells: waits below the threshold, summed per thread and site.
//!
//! A cell is [`LEN`] bytes at a fixed place, changed in place by one writer.
//! Its sums stand twice; the low bit of `version` says which copy holds. The
//! writer fills the other copy and then stores `version + 1`, so a reader (or
//! a `kill -9`) never sees half of an update.

use crate::le;

/// Length of a cell, in bytes.
pub const LEN: usize = 256;
/// Number of log2 buckets; the last one has no upper bound.
pub const BUCKETS: usize = 40;
/// A cell takes no waits later than this after its first one, in ns: the
/// resolution of time filters on folded waits.
pub const INTERVAL_NS: u64 = 60_000_000_000;

/// Offsets of the fields that the agent changes while it records.
pub mod field {
    /// `u32`: see the module's text.
    pub const VERSION: usize = 0;
    /// The two copies of the sums, [`SUMS_LEN`] bytes each: count, sum in ns,
    /// maximum in ns, end of the last wait; a `u64` each.
    pub const SUMS: usize = 32;
    /// Length of one copy of the sums.
    pub const SUMS_LEN: usize = 32;
    /// [`BUCKETS`](super::BUCKETS) times `u32`: the histogram.
    pub const HISTOGRAM: usize = 96;
}

/// The bucket of a duration: the number of its highest bit, so that bucket
/// `b` holds 2^b ns up to, but not including, 2^(b+1) ns. 0 ns is in bucket 0.
#[inline]
pub fn bucket(wait_ns: u64) -> usize {
    ((wait_ns | 1).ilog2() as usize).min(BUCKETS - 1)
}

/// The shortest duration of a bucket, in ns.
pub fn bucket_floor_ns(bucket: usize) -> u64 {
    if bucket == 0 { 0 } else { 1 << bucket.min(BUCKETS - 1) }
}

/// A cell's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Thread id.
    pub thread: u32,
    /// Site id.
    pub site: u32,
    /// Thread id of the lock's owner when each of the waits began, 0 when unknown.
    pub owner: u32,
    /// Stack id of the group that the owner was in then, 0 for none.
    pub group: u32,
    /// Start of the first wait, monotonic ns.
    pub first_ns: u64,
    /// End of the last wait, monotonic ns.
    pub last_ns: u64,
    /// Number of waits.
    pub count: u64,
    /// Their durations added up, in ns.
    pub sum_ns: u64,
    /// The longest of them, in ns.
    pub max_ns: u64,
    /// How many had a duration of each [`bucket`].
    pub histogram: [u32; BUCKETS],
}

impl Cell {
    /// The cell's bytes.
    pub fn encode(&self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        le::put(&mut bytes, 4, &self.thread.to_le_bytes());
        le::put(&mut bytes, 8, &self.site.to_le_bytes());
        le::put(&mut bytes, 12, &self.owner.to_le_bytes());
        le::put(&mut bytes, 16, &self.first_ns.to_le_bytes());
        le::put(&mut bytes, 24, &self.group.to_le_bytes());
        let sums = [self.count, self.sum_ns, self.max_ns, self.last_ns];
        for (nth, sum) in sums.iter().enumerate() {
            le::put(&mut bytes, field::SUMS + 8 * nth, &sum.to_le_bytes());
        }
        for (nth, count) in self.histogram.iter().enumerate() {
            le::put(&mut bytes, field::HISTOGRAM + 4 * nth, &count.to_le_bytes());
        }
        bytes
    }

    /// Reads a cell, or `None` when there are fewer than [`LEN`] bytes.
    pub fn decode(bytes: &[u8]) -> Option<Cell> {
        let version = le::u32_at(bytes, field::VERSION)? as usize;
        let sums = field::SUMS + (version & 1) * field::SUMS_LEN;
        let mut histogram = [0; BUCKETS];
        for (nth, count) in histogram.iter_mut().enumerate() {
            *count = le::u32_at(bytes, field::HISTOGRAM + 4 * nth)?;
        }
        Some(Cell {
            thread: le::u32_at(bytes, 4)?,
            site: le::u32_at(bytes, 8)?,
            owner: le::u32_at(bytes, 12)?,
            group: le::u32_at(bytes, 24)?,
            first_ns: le::u64_at(bytes, 16)?,
            count: le::u64_at(bytes, sums)?,
            sum_ns: le::u64_at(bytes, sums + 8)?,
            max_ns: le::u64_at(bytes, sums + 16)?,
            last_ns: le::u64_at(bytes, sums + 24)?,
            histogram,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_and_follows_the_version() {
        let mut histogram = [0; BUCKETS];
        histogram[13] = 2;
        let cell = Cell {
            thread: 1,
            site: 2,
            owner: 9,
            group: 8,
            first_ns: 3,
            last_ns: 30_000,
            count: 2,
            sum_ns: 20_000,
            max_ns: 11_000,
            histogram,
        };
        let mut bytes = cell.encode();
        assert_eq!(Cell::decode(&bytes), Some(cell.clone()));
        assert_eq!(Cell::decode(&bytes[..LEN - 1]), None);
        bytes[field::VERSION] = 1;
        assert_eq!(Cell::decode(&bytes).map(|c| c.count), Some(0));
    }

    #[test]
    fn buckets_are_powers_of_two() {
        for (ns, expected) in [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (10_000, 13)] {
            assert_eq!(bucket(ns), expected, "{ns} ns");
            assert!(bucket_floor_ns(bucket(ns)) <= ns);
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }
}

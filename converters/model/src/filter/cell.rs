//! What of folded waits a window asks for.

use super::Window;
use tyrion_wire::cell::{BUCKETS, Cell, bucket_floor_ns};

/// What of a cell a window asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellPart {
    /// How many waits.
    pub count: u64,
    /// Their durations added up, in ns.
    pub wait_ns: u64,
    /// The longest of them, in ns.
    pub max_ns: u64,
    /// The window's span of time cuts through the cell's: all of it was taken or
    /// left by where its middle is.
    pub is_cut: bool,
    /// The numbers were estimated from the histogram.
    pub is_estimated: bool,
}

impl Window {
    /// What of a cell is asked for.
    pub fn part_of_cell(&self, cell: &Cell) -> CellPart {
        if !self.limits_time() {
            return self.long_enough(cell);
        }
        let last_ns = cell.last_ns.max(cell.first_ns);
        let middle_ns = cell.first_ns + (last_ns - cell.first_ns) / 2;
        let [first, middle, last] = [cell.first_ns, middle_ns, last_ns].map(|ns| self.holds(ns));
        let is_cut = first != middle || last != middle;
        let part = if middle { self.long_enough(cell) } else { CellPart::default() };
        CellPart { is_cut, ..part }
    }

    /// The waits of a cell that are long enough: all or none where its
    /// shortest or longest says so, or its average stands for each of them,
    /// otherwise estimated from its histogram.
    fn long_enough(&self, cell: &Cell) -> CellPart {
        // No wait is longer than all together; in a damaged cell it may seem so.
        let max_ns = cell.max_ns.min(cell.sum_ns);
        let all =
            CellPart { count: cell.count, wait_ns: cell.sum_ns, max_ns, ..CellPart::default() };
        let min_ns = self.min_wait_ns;
        if min_ns == 0 {
            return all;
        }
        if self.averages {
            let least_ns = u128::from(min_ns) * u128::from(cell.count);
            return if u128::from(cell.sum_ns) < least_ns { CellPart::default() } else { all };
        }
        if max_ns < min_ns {
            return CellPart::default();
        }
        let shortest = cell.histogram.iter().position(|&count| count != 0);
        if shortest.is_some_and(|bucket| bucket_floor_ns(bucket) >= min_ns) {
            return all;
        }
        estimate(cell, min_ns, max_ns)
    }
}

/// How many waits of a cell took at least `min_ns`, and how long together.
///
/// Durations are taken to lie evenly within their bucket. The sum is that part
/// of the cell's real sum which the histogram gives to those waits, kept
/// within what so many waits between `min_ns` and the longest can take.
fn estimate(cell: &Cell, min_ns: u64, longest_ns: u64) -> CellPart {
    let (mut count, mut part_ns, mut all_ns) = (0u128, 0u128, 0u128);
    for (bucket, &waits) in cell.histogram.iter().enumerate() {
        let waits = u128::from(waits);
        let low = bucket_floor_ns(bucket);
        // Durations are whole: the longest of a bucket is one less than `high`.
        let high = if bucket + 1 < BUCKETS { bucket_floor_ns(bucket + 1) } else { u64::MAX };
        let high = high.min(longest_ns.saturating_add(1)).max(low + 1);
        let from = min_ns.clamp(low, high);
        let inside = waits * u128::from(high - from) / u128::from(high - low);
        count += inside;
        part_ns += inside * (u128::from(from) + u128::from(high - 1)) / 2;
        all_ns += waits * (u128::from(low) + u128::from(high - 1)) / 2;
    }
    // The longest wait is known to be long enough.
    let count = count.clamp(1, u128::from(cell.count.max(1)));
    let sum_ns = u128::from(cell.sum_ns);
    let scaled = sum_ns.saturating_mul(part_ns).checked_div(all_ns).unwrap_or(0);
    let least = (count - 1) * u128::from(min_ns) + u128::from(longest_ns);
    let most = count * u128::from(longest_ns);
    let wait_ns = scaled.max(least).min(most).min(sum_ns);
    CellPart {
        count: count as u64,
        wait_ns: wait_ns as u64,
        max_ns: longest_ns,
        is_estimated: true,
        ..CellPart::default()
    }
}

//! Folded waits under a filter that asks for single ones.

use super::{
    known::known_thread,
    sums::{SparseSums, Sums},
};
use crate::filter::Window;
use tyrion_formats::Recording;
use tyrion_wire::cell::{BUCKETS, Cell, bucket_floor_ns};

/// What was decided about folded waits, for the notes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FoldNotes {
    /// Folded waits in all.
    pub(super) count: u64,
    /// Waits of cells that the filter's span cuts through: all of a cell was
    /// taken or left by where its middle is.
    pub(super) straddling: u64,
    /// Their durations added up, in ns.
    pub(super) straddling_ns: u64,
    /// The longest time that such a cell spans, in ns.
    pub(super) resolution_ns: u64,
    /// Waits whose number was estimated from a histogram.
    pub(super) estimated: u64,
    /// Their durations added up, in ns, estimated too.
    pub(super) estimated_ns: u64,
}

impl FoldNotes {
    pub(super) fn add(&mut self, other: &FoldNotes) {
        self.count = self.count.saturating_add(other.count);
        self.straddling = self.straddling.saturating_add(other.straddling);
        self.straddling_ns = self.straddling_ns.saturating_add(other.straddling_ns);
        self.resolution_ns = self.resolution_ns.max(other.resolution_ns);
        self.estimated = self.estimated.saturating_add(other.estimated);
        self.estimated_ns = self.estimated_ns.saturating_add(other.estimated_ns);
    }
}

/// Adds cells up, as far as a window lets them through.
pub(super) struct Folder<'a> {
    log: &'a Recording,
    window: &'a Window,
    pub(super) sums: SparseSums,
    pub(super) notes: FoldNotes,
}

impl<'a> Folder<'a> {
    pub(super) fn new(log: &'a Recording, window: &'a Window) -> Self {
        Folder { log, window, sums: SparseSums::default(), notes: FoldNotes::default() }
    }

    pub(super) fn add(&mut self, cell: &Cell) {
        self.notes.count = self.notes.count.saturating_add(cell.count);
        if self.window.limits_time() && !self.in_time(cell) {
            return;
        }
        let sums = self.long_enough(cell);
        if sums.count != 0 {
            let key = (known_thread(self.log, cell.thread), cell.site);
            self.sums.entry(key).or_default().add(&sums);
        }
    }

    /// Whether the middle of a cell's time is within the window.
    fn in_time(&mut self, cell: &Cell) -> bool {
        let last_ns = cell.last_ns.max(cell.first_ns);
        let span_ns = last_ns - cell.first_ns;
        let (first, last) = (self.window.holds(cell.first_ns), self.window.holds(last_ns));
        let middle = self.window.holds(cell.first_ns + span_ns / 2);
        if first != middle || last != middle {
            self.notes.straddling = self.notes.straddling.saturating_add(cell.count);
            self.notes.straddling_ns = self.notes.straddling_ns.saturating_add(cell.sum_ns);
            self.notes.resolution_ns = self.notes.resolution_ns.max(span_ns);
        }
        middle
    }

    /// The waits of a cell that are long enough: all or none where its
    /// shortest or longest says so, otherwise estimated from its histogram.
    fn long_enough(&mut self, cell: &Cell) -> Sums {
        // No wait is longer than all together; in a damaged cell it may seem so.
        let longest_ns = cell.max_ns.min(cell.sum_ns);
        let all = Sums { count: cell.count, wait_ns: cell.sum_ns, max_ns: longest_ns };
        let min_ns = self.window.min_wait_ns;
        if min_ns == 0 {
            return all;
        }
        if longest_ns < min_ns {
            return Sums::default();
        }
        let shortest = cell.histogram.iter().position(|&count| count != 0);
        if shortest.is_some_and(|bucket| bucket_floor_ns(bucket) >= min_ns) {
            return all;
        }
        let part = estimate(cell, min_ns, longest_ns);
        self.notes.estimated = self.notes.estimated.saturating_add(part.count);
        self.notes.estimated_ns = self.notes.estimated_ns.saturating_add(part.wait_ns);
        part
    }
}

/// How many waits of a cell took at least `min_ns`, and how long together.
///
/// Durations are taken to lie evenly within their bucket. The sum is that part
/// of the cell's real sum which the histogram gives to those waits, kept
/// within what so many waits between `min_ns` and the longest can take.
fn estimate(cell: &Cell, min_ns: u64, longest_ns: u64) -> Sums {
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
    Sums { count: count as u64, wait_ns: wait_ns as u64, max_ns: longest_ns }
}

//! What cells have counted since the last look.

use super::stream::refresh;
use crate::{
    bytes::Bytes,
    recording::{ChunkRef, HoldMode, state},
};
use std::ops::Range;
use tyrion_wire::{
    cell::{self, Cell},
    trace::{self, AcquisitionCell},
};

/// A cell takes no waits for longer than this; a thread may be in the middle of
/// one for a while.
const FINAL_AFTER_NS: u64 = cell::INTERVAL_NS + 10_000_000_000;

/// Where an acquisition cell has what is looked at.
const COUNTED: Range<usize> = trace::field::ACQUISITIONS..trace::field::MAX_NS;

/// What a cell of folded waits has counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellChange {
    /// The cell as it is now.
    pub cell: Cell,
    /// How many waits have come.
    pub count: u64,
    /// Their durations added up, in ns.
    pub sum_ns: u64,
    /// The longest of them, as far as it can be told, in ns: exact if it is the
    /// cell's longest, else the mean.
    pub max_ns: u64,
    /// How many of each [`bucket`](cell::bucket) have come. While the cell is written
    /// to, one of them may be of a wait that is counted at the next look.
    pub histogram: [u32; cell::BUCKETS],
}

/// What an acquisition cell has counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcquisitionChange {
    /// The cell as it is now.
    pub cell: AcquisitionCell,
    /// How many acquisitions have come.
    pub acquisitions: u64,
    /// By how much the standard error of all acquisitions has grown; 0 where all are counted.
    pub acquisitions_error: u64,
    /// How many holds were measured.
    pub measured: u64,
    /// The durations of those, in ns.
    pub measured_ns: u64,
    /// The cell as it was at the last look, as far as holds are estimated from it.
    before: AcquisitionSums,
}

impl AcquisitionChange {
    /// What a cell has counted that nobody has looked at before.
    pub fn first(cell: AcquisitionCell) -> AcquisitionChange {
        AcquisitionSums::of(&cell).until(AcquisitionSums::default(), cell)
    }

    /// The square of the standard error of the acquisitions that have come. Bursts have
    /// nothing to do with each other, so it is by this that the square has grown.
    pub fn error_squared(&self) -> f64 {
        let square = |error: u64| (error as f64).powi(2);
        let now = self.cell.bursts.map_or(0, |bursts| bursts.uncounted_error);
        (square(now) - square(self.before.acquisitions_error)).max(0.0)
    }

    /// For how long the acquisitions that have come held the lock, in ns, estimated from
    /// the holds that were measured meanwhile; where there were none, from all earlier ones.
    /// What happened in one interval is this; sums over it need not be the log's.
    pub fn held_meanwhile_ns(&self) -> u64 {
        let (measured, measured_ns) = match self.measured {
            0 => AcquisitionSums::of(&self.cell).measured(),
            measured => (measured, self.measured_ns),
        };
        let held_ns = u128::from(measured_ns) * u128::from(self.acquisitions);
        let held_ns = held_ns.checked_div(measured.into()).unwrap_or(0);
        u64::try_from(held_ns).unwrap_or(u64::MAX)
    }

    /// By how much the time has grown that the lock was held, in ns: exactly where all
    /// holds are measured, else by what [`HoldMode::estimate_ns`] gives. It does not
    /// shrink if the estimate does. Sums over it are the log's.
    pub fn held_ns(&self, mode: HoldMode) -> u64 {
        let AcquisitionSums {
            acquisitions, first_count, first_ns, sampled_count, sampled_ns, ..
        } = self.before;
        let before = AcquisitionCell {
            acquisitions,
            first_count,
            first_ns,
            sampled_count,
            sampled_ns,
            histogram: self.cell.histogram,
            ..self.cell
        };
        mode.estimate_ns(&self.cell).saturating_sub(mode.estimate_ns(&before))
    }
}

/// A chunk of cells, and what they had counted.
#[derive(Debug)]
pub(super) struct CellChunk {
    chunk: ChunkRef,
    seen: Vec<CellValues>,
}

#[derive(Clone, Copy, Debug)]
struct CellValues {
    version: u32,
    first_ns: u64,
    count: u64,
    sum_ns: u64,
    max_ns: u64,
    histogram: [u32; cell::BUCKETS],
}

impl Default for CellValues {
    fn default() -> CellValues {
        let (version, first_ns, count, sum_ns, max_ns) = Default::default();
        CellValues { version, first_ns, count, sum_ns, max_ns, histogram: [0; cell::BUCKETS] }
    }
}

impl CellChunk {
    pub(super) fn new(chunk: ChunkRef) -> CellChunk {
        CellChunk { chunk, seen: Vec::new() }
    }

    pub(super) fn chunk(&self) -> &ChunkRef {
        &self.chunk
    }

    /// Takes what cells that began before `since_ns` have counted as seen:
    /// whether none of them will change any more.
    pub(super) fn pass_over(&mut self, source: &Bytes, since_ns: u64, now_ns: u64) -> bool {
        self.changes(source, &mut Vec::new());
        let is_final = self.is_final(now_ns) && !self.seen.is_empty();
        for seen in &mut self.seen {
            if seen.first_ns >= since_ns {
                *seen = CellValues::default();
            }
        }
        is_final
    }

    /// What has changed since the last time.
    pub(super) fn changes(&mut self, source: &Bytes, changes: &mut Vec<CellChange>) {
        refresh(&mut self.chunk, source);
        for (nth, at) in state::places::<{ cell::LEN }>(&self.chunk).enumerate() {
            if nth == self.seen.len() {
                self.seen.push(CellValues::default());
            }
            let Some(seen) = self.seen.get_mut(nth) else { return };
            // Most have not changed, and show it by their first word.
            let mut first = [0; 8];
            let Some(()) = source.copy(at, &mut first) else { return };
            let version = tyrion_wire::le::u32_at(&first, 0).unwrap_or(0);
            if seen.count != 0 && version == seen.version {
                continue;
            }
            let Some(cell) = state::cell_at(source, at) else { return };
            let now = CellValues {
                version,
                first_ns: cell.first_ns,
                count: cell.count,
                sum_ns: cell.sum_ns,
                max_ns: cell.max_ns,
                histogram: cell.histogram,
            };
            let before = std::mem::replace(seen, now);
            let count = cell.count.saturating_sub(before.count);
            let sum_ns = cell.sum_ns.saturating_sub(before.sum_ns);
            if let Some(mean_ns) = sum_ns.checked_div(count) {
                let is_exact = cell.max_ns > before.max_ns;
                let max_ns = if is_exact { cell.max_ns } else { mean_ns };
                let mut histogram = cell.histogram;
                for (now, before) in histogram.iter_mut().zip(before.histogram) {
                    *now = now.wrapping_sub(before);
                }
                changes.push(CellChange { cell, count, sum_ns, max_ns, histogram });
            }
        }
    }

    /// Whether none of its cells will change any more.
    pub(super) fn is_final(&self, now_ns: u64) -> bool {
        self.seen.iter().all(|seen| seen.first_ns.saturating_add(FINAL_AFTER_NS) < now_ns)
    }
}

/// A chunk of acquisition cells, and what they had counted.
#[derive(Debug)]
pub(super) struct AcquisitionChunk {
    chunk: ChunkRef,
    seen: Vec<AcquisitionSums>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct AcquisitionSums {
    acquisitions: u64,
    acquisitions_error: u64,
    first_count: u64,
    first_ns: u64,
    sampled_count: u64,
    sampled_ns: u64,
}

impl AcquisitionSums {
    fn of(cell: &AcquisitionCell) -> AcquisitionSums {
        AcquisitionSums {
            acquisitions: cell.acquisitions,
            acquisitions_error: cell.bursts.map_or(0, |bursts| bursts.uncounted_error),
            first_count: cell.first_count,
            first_ns: cell.first_ns,
            sampled_count: cell.sampled_count,
            sampled_ns: cell.sampled_ns,
        }
    }

    /// Whether the part [`COUNTED`] of a cell has the same.
    fn stands_in(&self, counted: &[u8]) -> bool {
        use trace::field::{ACQUISITIONS, FIRST_COUNT, FIRST_NS, SAMPLED_COUNT, SAMPLED_NS};
        let fields = [
            (ACQUISITIONS, self.acquisitions),
            (FIRST_COUNT, self.first_count),
            (FIRST_NS, self.first_ns),
            (SAMPLED_COUNT, self.sampled_count),
            (SAMPLED_NS, self.sampled_ns),
        ];
        let same = |(at, seen)| tyrion_wire::le::u64_at(counted, at - COUNTED.start) == Some(seen);
        fields.into_iter().all(same)
    }

    fn measured(&self) -> (u64, u64) {
        let count = self.first_count.saturating_add(self.sampled_count);
        (count, self.first_ns.saturating_add(self.sampled_ns))
    }

    /// What a cell that now has these has counted since.
    fn until(&self, before: AcquisitionSums, cell: AcquisitionCell) -> AcquisitionChange {
        let ((measured, measured_ns), (earlier, earlier_ns)) = (self.measured(), before.measured());
        AcquisitionChange {
            cell,
            acquisitions: self.acquisitions.saturating_sub(before.acquisitions),
            acquisitions_error: self.acquisitions_error.saturating_sub(before.acquisitions_error),
            measured: measured.saturating_sub(earlier),
            measured_ns: measured_ns.saturating_sub(earlier_ns),
            before,
        }
    }
}

impl AcquisitionChunk {
    pub(super) fn new(chunk: ChunkRef) -> AcquisitionChunk {
        AcquisitionChunk { chunk, seen: Vec::new() }
    }

    /// What has changed since the last time.
    pub(super) fn changes(&mut self, source: &Bytes, changes: &mut Vec<AcquisitionChange>) {
        refresh(&mut self.chunk, source);
        for (nth, at) in state::acquisition_places(&self.chunk).enumerate() {
            if nth == self.seen.len() {
                self.seen.push(AcquisitionSums::default());
            }
            let Some(seen) = self.seen.get_mut(nth) else { return };
            // Most have not changed. A hold is measured after its acquisition was
            // counted, so that it may be all that has.
            let mut counted = [0; COUNTED.end - COUNTED.start];
            let Some(()) = source.copy(at + COUNTED.start, &mut counted) else { return };
            if !self.chunk.in_bursts && seen.stands_in(&counted) {
                continue;
            }
            let Some(cell) = state::acquisition_at(source, &self.chunk, at) else { return };
            let now = AcquisitionSums::of(&cell);
            if now == *seen {
                // What is estimated stands elsewhere in the cell.
                continue;
            }
            let before = std::mem::replace(seen, now);
            changes.push(now.until(before, cell));
        }
    }
}

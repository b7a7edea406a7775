//! What cells have counted since the last look.

use super::stream::refresh;
use crate::{
    bytes::Bytes,
    recording::{ChunkRef, state},
};
use tyrion_wire::{
    cell::{self, Cell},
    trace::{self, AcquisitionCell},
};

/// A cell takes no waits for longer than this; a thread may be in the middle of
/// one for a while.
const FINAL_AFTER_NS: u64 = cell::INTERVAL_NS + 10_000_000_000;

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
}

/// What an acquisition cell has counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcquisitionChange {
    /// The cell as it is now.
    pub cell: AcquisitionCell,
    /// How many acquisitions have come.
    pub acquisitions: u64,
    /// How many holds were measured.
    pub measured: u64,
    /// The durations of those, in ns.
    pub measured_ns: u64,
}

/// A chunk of cells, and what they had counted.
#[derive(Debug)]
pub(super) struct CellChunk {
    chunk: ChunkRef,
    seen: Vec<Seen>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    version: u32,
    first_ns: u64,
    count: u64,
    sum_ns: u64,
    max_ns: u64,
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
                *seen = Seen::default();
            }
        }
        is_final
    }

    /// What has changed since the last time.
    pub(super) fn changes(&mut self, source: &Bytes, changes: &mut Vec<CellChange>) {
        refresh(&mut self.chunk, source);
        for (nth, at) in state::places::<{ cell::LEN }>(&self.chunk).enumerate() {
            if nth == self.seen.len() {
                self.seen.push(Seen::default());
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
            let now = Seen {
                version,
                first_ns: cell.first_ns,
                count: cell.count,
                sum_ns: cell.sum_ns,
                max_ns: cell.max_ns,
            };
            let before = std::mem::replace(seen, now);
            let count = cell.count.saturating_sub(before.count);
            let sum_ns = cell.sum_ns.saturating_sub(before.sum_ns);
            if let Some(mean_ns) = sum_ns.checked_div(count) {
                let is_exact = cell.max_ns > before.max_ns;
                let max_ns = if is_exact { cell.max_ns } else { mean_ns };
                changes.push(CellChange { cell, count, sum_ns, max_ns });
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
    seen: Vec<Acquired>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Acquired {
    acquisitions: u64,
    measured: u64,
    measured_ns: u64,
}

impl AcquisitionChunk {
    pub(super) fn new(chunk: ChunkRef) -> AcquisitionChunk {
        AcquisitionChunk { chunk, seen: Vec::new() }
    }

    /// What has changed since the last time.
    pub(super) fn changes(&mut self, source: &Bytes, changes: &mut Vec<AcquisitionChange>) {
        refresh(&mut self.chunk, source);
        for (nth, at) in state::places::<{ trace::CELL_LEN }>(&self.chunk).enumerate() {
            if nth == self.seen.len() {
                self.seen.push(Acquired::default());
            }
            let Some(seen) = self.seen.get_mut(nth) else { return };
            let mut number = [0; 8];
            let counted = at + trace::field::ACQUISITIONS;
            let Some(()) = source.copy(counted, &mut number) else { return };
            if u64::from_le_bytes(number) == seen.acquisitions {
                continue;
            }
            let Some(cell) = state::acquisition_at(source, at) else { return };
            let now = Acquired {
                acquisitions: cell.acquisitions,
                measured: cell.first_count.saturating_add(cell.sampled_count),
                measured_ns: cell.first_ns.saturating_add(cell.sampled_ns),
            };
            let before = std::mem::replace(seen, now);
            changes.push(AcquisitionChange {
                cell,
                acquisitions: now.acquisitions.saturating_sub(before.acquisitions),
                measured: now.measured.saturating_sub(before.measured),
                measured_ns: now.measured_ns.saturating_sub(before.measured_ns),
            });
        }
    }
}

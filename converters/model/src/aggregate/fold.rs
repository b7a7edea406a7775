//! Folded waits under a filter that asks for single ones.

use super::{
    known::known_thread,
    sums::{SparseSums, WaitSums},
};
use crate::filter::Window;
use tyrion_formats::Recording;
use tyrion_wire::cell::Cell;

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

    /// Adds a cell; what of it was taken.
    pub(super) fn add(&mut self, cell: &Cell) -> WaitSums {
        let part = self.window.part_of_cell(cell);
        let notes = &mut self.notes;
        notes.count = notes.count.saturating_add(cell.count);
        if part.is_cut {
            notes.straddling = notes.straddling.saturating_add(cell.count);
            notes.straddling_ns = notes.straddling_ns.saturating_add(cell.sum_ns);
            notes.resolution_ns =
                notes.resolution_ns.max(cell.last_ns.saturating_sub(cell.first_ns));
        }
        if part.is_estimated {
            notes.estimated = notes.estimated.saturating_add(part.count);
            notes.estimated_ns = notes.estimated_ns.saturating_add(part.wait_ns);
        }
        let sums = WaitSums { count: part.count, wait_ns: part.wait_ns, max_ns: part.max_ns };
        if part.count != 0 {
            let key = (known_thread(self.log, cell.thread), cell.site);
            self.sums.entry(key).or_default().add(&sums);
        }
        sums
    }
}

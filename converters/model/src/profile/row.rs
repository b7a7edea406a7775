//! What tells the rows of a profile apart, and how equal ones are added up.

use super::{AcquisitionRow, BlameRow, SampleRow, SectionRow, WaitRow};
use crate::state::State;
use tyrion_wire::WaitKind;

/// A row of a profile.
pub(crate) trait Row {
    /// What tells it from the other rows of its table, and what they are sorted
    /// by.
    type Key: Ord;

    /// Its key.
    fn key(&self) -> Self::Key;

    /// Adds the numbers of another row.
    fn add(&mut self, other: &Self);
}

fn add<const N: usize>(sums: [(&mut u64, u64); N]) {
    for (sum, value) in sums {
        *sum = sum.saturating_add(value);
    }
}

impl Row for WaitRow {
    type Key = (u32, u32, u32, WaitKind, u32);

    fn key(&self) -> Self::Key {
        (self.thread, self.stack, self.lock, self.kind, self.owner)
    }

    fn add(&mut self, other: &WaitRow) {
        add([(&mut self.count, other.count), (&mut self.wait_ns, other.wait_ns)]);
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

impl Row for AcquisitionRow {
    type Key = (u32, u32, u32, WaitKind);

    fn key(&self) -> Self::Key {
        (self.thread, self.stack, self.lock, self.kind)
    }

    fn add(&mut self, other: &AcquisitionRow) {
        add([
            (&mut self.acquisitions, other.acquisitions),
            (&mut self.acquisitions_error, other.acquisitions_error),
            (&mut self.reentrant, other.reentrant),
            (&mut self.reentrant_error, other.reentrant_error),
            (&mut self.hold_ns, other.hold_ns),
        ]);
    }
}

impl Row for SectionRow {
    type Key = (u32, u32, u32, WaitKind);

    fn key(&self) -> Self::Key {
        (self.thread, self.frame, self.lock, self.kind)
    }

    fn add(&mut self, other: &SectionRow) {
        add([
            (&mut self.acquisitions, other.acquisitions),
            (&mut self.uncounted, other.uncounted),
            (&mut self.acquisitions_error, other.acquisitions_error),
            (&mut self.reentrant, other.reentrant),
            (&mut self.reentrant_error, other.reentrant_error),
            (&mut self.failed, other.failed),
            (&mut self.hold_ns, other.hold_ns),
            (&mut self.of_probes_ns, other.of_probes_ns),
            (&mut self.measured, other.measured),
            (&mut self.basis, other.basis),
        ]);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        for (sum, value) in self.histogram.iter_mut().zip(other.histogram) {
            *sum = sum.saturating_add(value);
        }
    }
}

impl Row for BlameRow {
    type Key = (u32, u32, u32, WaitKind, u32, u32, bool);

    fn key(&self) -> Self::Key {
        (
            self.thread,
            self.stack,
            self.lock,
            self.kind,
            self.waiter_stack,
            self.above,
            self.free_ns != 0,
        )
    }

    fn add(&mut self, other: &BlameRow) {
        add([
            (&mut self.count, other.count),
            (&mut self.blamed_ns, other.blamed_ns),
            (&mut self.free_ns, other.free_ns),
            (&mut self.answers, other.answers),
        ]);
        self.error_ns = (self.error_ns as f64).hypot(other.error_ns as f64) as u64;
    }
}

impl Row for SampleRow {
    type Key = (u32, u32, State, u32, Option<WaitKind>);

    fn key(&self) -> Self::Key {
        (self.thread, self.stack, self.state, self.lock, self.kind)
    }

    fn add(&mut self, other: &SampleRow) {
        add([
            (&mut self.count, other.count),
            (&mut self.wall_ns, other.wall_ns),
            (&mut self.cpu_ns, other.cpu_ns),
        ]);
    }
}

//! Rows of a profile that are added up where they are equal.

use crate::{
    profile::{Acquisition, Blame, Profile, Sample, Section, Wait},
    states::State,
};
use rayon::prelude::*;
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

/// Sorts rows and adds up those that have the same key.
pub(crate) fn merge<R: Row + Send>(rows: &mut Vec<R>) {
    rows.par_sort_unstable_by_key(R::key);
    rows.dedup_by(|next, kept| {
        let same = next.key() == kept.key();
        if same {
            kept.add(next);
        }
        same
    });
}

/// Gives rows to other threads and stacks, and adds up those that are equal
/// then.
pub(crate) fn remap(
    profile: &mut Profile,
    thread: impl Fn(u32) -> u32,
    stack: impl Fn(u32) -> u32,
) {
    for row in &mut profile.waits {
        (row.thread, row.stack) = (thread(row.thread), stack(row.stack));
    }
    for row in &mut profile.acquisitions {
        (row.thread, row.stack) = (thread(row.thread), stack(row.stack));
    }
    for row in &mut profile.sections {
        row.thread = thread(row.thread);
    }
    for row in &mut profile.blames {
        (row.thread, row.stack) = (thread(row.thread), stack(row.stack));
        row.waiter_stack = stack(row.waiter_stack);
    }
    for row in &mut profile.samples {
        (row.thread, row.stack) = (thread(row.thread), stack(row.stack));
    }
    merge(&mut profile.waits);
    merge(&mut profile.acquisitions);
    merge(&mut profile.sections);
    merge(&mut profile.blames);
    merge(&mut profile.samples);
}

fn add<const N: usize>(sums: [(&mut u64, u64); N]) {
    for (sum, value) in sums {
        *sum = sum.saturating_add(value);
    }
}

impl Row for Wait {
    type Key = (u32, u32, u32, WaitKind);

    fn key(&self) -> Self::Key {
        (self.thread, self.stack, self.lock, self.kind)
    }

    fn add(&mut self, other: &Wait) {
        add([(&mut self.count, other.count), (&mut self.wait_ns, other.wait_ns)]);
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

impl Row for Acquisition {
    type Key = (u32, u32, u32, WaitKind);

    fn key(&self) -> Self::Key {
        (self.thread, self.stack, self.lock, self.kind)
    }

    fn add(&mut self, other: &Acquisition) {
        add([
            (&mut self.acquisitions, other.acquisitions),
            (&mut self.reentrant, other.reentrant),
            (&mut self.hold_ns, other.hold_ns),
        ]);
    }
}

impl Row for Section {
    type Key = (u32, u32, u32, WaitKind);

    fn key(&self) -> Self::Key {
        (self.thread, self.frame, self.lock, self.kind)
    }

    fn add(&mut self, other: &Section) {
        add([
            (&mut self.acquisitions, other.acquisitions),
            (&mut self.reentrant, other.reentrant),
            (&mut self.failed, other.failed),
            (&mut self.hold_ns, other.hold_ns),
            (&mut self.measured, other.measured),
        ]);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        for (sum, value) in self.histogram.iter_mut().zip(other.histogram) {
            *sum = sum.saturating_add(value);
        }
    }
}

impl Row for Blame {
    type Key = (u32, u32, u32, WaitKind, u32);

    fn key(&self) -> Self::Key {
        (self.thread, self.stack, self.lock, self.kind, self.waiter_stack)
    }

    fn add(&mut self, other: &Blame) {
        add([(&mut self.count, other.count), (&mut self.blamed_ns, other.blamed_ns)]);
    }
}

impl Row for Sample {
    type Key = (u32, u32, State, u32, Option<WaitKind>);

    fn key(&self) -> Self::Key {
        (self.thread, self.stack, self.state, self.lock, self.kind)
    }

    fn add(&mut self, other: &Sample) {
        add([
            (&mut self.count, other.count),
            (&mut self.wall_ns, other.wall_ns),
            (&mut self.cpu_ns, other.cpu_ns),
        ]);
    }
}

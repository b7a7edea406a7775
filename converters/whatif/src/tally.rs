//! Snapshots in which threads computed, and those in which they did not.

use crate::locks::NONE;
use std::collections::BTreeMap;

/// Fewer snapshots than this are not significant by themselves.
const ENOUGH: u64 = 10;

/// How many snapshots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SnapshotTally {
    pub(crate) computes: u64,
    pub(crate) rests: u64,
}

impl SnapshotTally {
    pub(crate) fn add(&mut self, more: SnapshotTally) {
        self.computes = self.computes.saturating_add(more.computes);
        self.rests = self.rests.saturating_add(more.rests);
    }

    /// The share of snapshots in which threads computed; `None` if there are too few.
    pub(crate) fn share(self) -> Option<f64> {
        let count = self.computes.saturating_add(self.rests);
        (count >= ENOUGH).then(|| self.computes as f64 / count as f64)
    }
}

/// The same by the innermost lock that a thread held meanwhile, [`NONE`] if it held none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tallies(BTreeMap<u32, SnapshotTally>);

impl Tallies {
    pub(crate) fn add(&mut self, lock: u32, more: SnapshotTally) {
        self.0.entry(lock).or_default().add(more);
    }

    pub(crate) fn merge<'t>(&mut self, more: impl IntoIterator<Item = &'t Tallies>) {
        let all = more.into_iter().flat_map(|tallies| &tallies.0);
        all.for_each(|(&lock, &tally)| self.add(lock, tally));
    }

    /// Those of several together.
    pub(crate) fn sum<'t>(all: impl IntoIterator<Item = &'t Tallies>) -> Tallies {
        let mut sum = Tallies::default();
        sum.merge(all);
        sum
    }

    /// That of a lock.
    pub(crate) fn of(&self, lock: u32) -> SnapshotTally {
        self.0.get(&lock).copied().unwrap_or_default()
    }

    /// While any lock was held.
    pub(crate) fn inside(&self) -> SnapshotTally {
        let inside = self.0.iter().filter(|(lock, _)| **lock != NONE);
        inside.fold(SnapshotTally::default(), |mut sum, (_, &tally)| {
            sum.add(tally);
            sum
        })
    }
}

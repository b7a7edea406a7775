//! How often locks were taken in all, and how far that may be off where acquisitions were
//! counted in bursts.

use super::{AcquisitionRow, Profile};
use std::collections::BTreeSet;

/// How often locks were taken in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AcquisitionCounts {
    /// Acquisitions, without reentrant ones.
    pub acquisitions: u64,
    /// The standard error of that; 0 where all were counted.
    pub acquisitions_error: u64,
    /// Reentrant acquisitions.
    pub reentrant: u64,
    /// The standard error of that.
    pub reentrant_error: u64,
}

impl AcquisitionCounts {
    /// Whether some were not counted, but estimated.
    pub fn is_estimated(&self) -> bool {
        (self.acquisitions_error, self.reentrant_error) != (0, 0)
    }
}

/// What was counted in bursts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InBursts {
    /// At how many places of the program.
    pub places: u64,
    /// How many acquisitions there were not counted, but estimated.
    pub uncounted: u64,
    /// All acquisitions, at these places and at others.
    pub acquisitions: u64,
    /// The standard error of that.
    pub acquisitions_error: u64,
    /// The standard error of the number of reentrant acquisitions.
    pub reentrant_error: u64,
}

impl AcquisitionRow {
    /// Whether it says nothing.
    pub(crate) fn is_empty(&self) -> bool {
        let AcquisitionRow { acquisitions, reentrant, hold_ns, .. } = *self;
        let errors = (self.acquisitions_error, self.reentrant_error);
        (acquisitions, reentrant, hold_ns) == (0, 0, 0) && errors == (0, 0)
    }
}

impl Profile {
    /// All acquisitions. Their errors are added up: they come from the same bursts, so the
    /// sum is an upper bound.
    pub fn taken(&self) -> AcquisitionCounts {
        let mut taken = AcquisitionCounts::default();
        for row in &self.acquisitions {
            for (sum, more) in [
                (&mut taken.acquisitions, row.acquisitions),
                (&mut taken.acquisitions_error, row.acquisitions_error),
                (&mut taken.reentrant, row.reentrant),
                (&mut taken.reentrant_error, row.reentrant_error),
            ] {
                *sum = sum.saturating_add(more);
            }
        }
        taken
    }

    /// What was counted in bursts; `None` if nothing was.
    pub fn in_bursts(&self) -> Option<InBursts> {
        let (mut all, mut places) = (InBursts::default(), BTreeSet::new());
        for row in &self.sections {
            for (sum, more) in [
                (&mut all.uncounted, row.uncounted),
                (&mut all.acquisitions, row.acquisitions),
                (&mut all.acquisitions_error, row.acquisitions_error),
                (&mut all.reentrant_error, row.reentrant_error),
            ] {
                *sum = sum.saturating_add(more);
            }
            if (row.uncounted, row.acquisitions_error, row.reentrant_error) != (0, 0, 0) {
                places.insert(row.frame);
            }
        }
        all.places = places.len() as u64;
        (all.places != 0).then_some(all)
    }
}

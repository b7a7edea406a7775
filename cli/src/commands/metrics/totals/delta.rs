//! What one look at a recording has brought, by the ids in its logs.

use super::Durations;
use crate::live::{FileNumber, feed::ChangeSink};
use std::collections::HashMap;
use tyrion_formats::{Changes, Entry, LockSite, Recording, WaitSite};
use tyrion_wire::cell;

/// Waits at a site.
#[derive(Clone, Copy, Debug)]
pub struct WaitCounts {
    pub waits: u64,
    pub wait_ns: u64,
    pub durations: Durations,
}

impl Default for WaitCounts {
    fn default() -> WaitCounts {
        WaitCounts { waits: 0, wait_ns: 0, durations: [0; cell::BUCKETS] }
    }
}

/// Acquisitions of the locks of a class at a place.
#[derive(Clone, Copy, Debug, Default)]
pub struct AcquisitionCounts {
    pub acquisitions: u64,
    pub acquisitions_error: u64,
    pub held_ns: u64,
}

/// What one look has brought. Names are known only after it.
#[derive(Debug, Default)]
pub struct Delta {
    /// By file and site.
    waits: HashMap<(FileNumber, u32), WaitCounts>,
    /// By file, place and class.
    taken: HashMap<(FileNumber, u32, u32), AcquisitionCounts>,
}

fn log_of<'a>(logs: &[(FileNumber, &'a Recording)], file: FileNumber) -> Option<&'a Recording> {
    logs.iter().find(|(number, _)| *number == file).map(|(_, log)| *log)
}

impl Delta {
    /// Waits, with the log and what their site is, as far as that is defined.
    pub fn waits<'a>(
        &'a self,
        logs: &'a [(FileNumber, &'a Recording)],
    ) -> impl Iterator<Item = (&'a Recording, WaitSite, &'a WaitCounts)> {
        self.waits.iter().filter_map(|((file, site), waited)| {
            let log = log_of(logs, *file)?;
            Some((log, *log.definitions().sites().get(*site)?, waited))
        })
    }

    /// Acquisitions, with the log, the class, and what their place is, as far as that
    /// is defined.
    pub fn taken<'a>(
        &'a self,
        logs: &'a [(FileNumber, &'a Recording)],
    ) -> impl Iterator<Item = (&'a Recording, u32, (u32, LockSite), &'a AcquisitionCounts)> {
        self.taken.iter().filter_map(|((file, place, class), taken)| {
            let log = log_of(logs, *file)?;
            let own = *log.definitions().places().get(*place)?;
            Some((log, *class, (*place, own), taken))
        })
    }
}

impl ChangeSink for Delta {
    fn add(&mut self, file: FileNumber, entry: &Entry<'_>) {
        let Entry::Wait(event) = entry else { return };
        let (waited, wait_ns) =
            (self.waits.entry((file, event.site)).or_default(), event.wait_ns());
        waited.waits = waited.waits.saturating_add(1);
        waited.wait_ns = waited.wait_ns.saturating_add(wait_ns);
        if let Some(count) = waited.durations.get_mut(cell::bucket(wait_ns)) {
            *count = count.saturating_add(1);
        }
    }

    fn add_changes(&mut self, file: FileNumber, log: &Recording, changes: &Changes) {
        for change in &changes.cells {
            let waited = self.waits.entry((file, change.cell.site)).or_default();
            waited.waits = waited.waits.saturating_add(change.count);
            waited.wait_ns = waited.wait_ns.saturating_add(change.sum_ns);
            for (sum, &more) in waited.durations.iter_mut().zip(&change.histogram) {
                *sum = sum.saturating_add(more.into());
            }
        }
        if changes.acquisitions.is_empty() {
            return;
        }
        let mode = log.hold_mode();
        for change in &changes.acquisitions {
            let key = (file, change.cell.place, change.cell.class);
            let taken = self.taken.entry(key).or_default();
            taken.acquisitions = taken.acquisitions.saturating_add(change.acquisitions);
            let error = change.acquisitions_error;
            taken.acquisitions_error = taken.acquisitions_error.saturating_add(error);
            taken.held_ns = taken.held_ns.saturating_add(change.held_ns(mode));
        }
    }
}

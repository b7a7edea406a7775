//! How much of the waits fell into pauses of the garbage collector. Folded waits have
//! no times of their own and are left out; they are shorter than the threshold.

use super::{groups::LockGroups, pass::LogDelays};
use crate::Collections;
use std::collections::BTreeMap;
use tyrion_formats::Recording;
use tyrion_model::{aggregate::LogIds, filter::Filter};
use tyrion_wire::WaitKind;

/// What is known of the garbage collector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectorTime {
    /// Its pauses.
    pub pauses: Collections,
    /// How much of the shown waits fell into them, by lock group and kind, in ns.
    pub waits_ns: BTreeMap<(u32, WaitKind), u64>,
}

impl CollectorTime {
    /// How much of the waits of these kinds fell into pauses, in ns.
    pub fn wait_ns(&self, of: impl Fn(WaitKind) -> bool) -> u64 {
        let of_kind = self.waits_ns.iter().filter(|((_, kind), _)| of(*kind));
        of_kind.fold(0, |sum, (_, ns)| sum.saturating_add(*ns))
    }
}

/// [`CollectorTime`] while logs are read.
pub(super) struct CollectorSums(Option<CollectorTime>);

impl CollectorSums {
    /// Of these logs, which are of those `recordings`.
    pub(super) fn new(logs: &[Recording], recordings: &[u32], filter: &Filter) -> CollectorSums {
        let mut of_recordings: BTreeMap<u32, Collections> = BTreeMap::new();
        for (log, &recording) in logs.iter().zip(recordings) {
            let Some(pauses) = Collections::of(log, filter.window(log)) else { continue };
            let sum = of_recordings.entry(recording).or_default();
            *sum = sum.plus(pauses, true);
        }
        let sums = of_recordings.into_values().reduce(|sum, more| sum.plus(more, false));
        CollectorSums(sums.map(|pauses| CollectorTime { pauses, ..CollectorTime::default() }))
    }

    /// Adds what was read of a log.
    pub(super) fn add(&mut self, ids: &LogIds, groups: &LockGroups, read: &LogDelays) {
        let Some(found) = &mut self.0 else { return };
        for (site, &ns) in (0u32..).zip(&read.collected_ns).filter(|(_, ns)| **ns != 0) {
            if let Some((_, lock, kind)) = ids.site(site) {
                let sum = found.waits_ns.entry((groups.of(lock), kind)).or_default();
                *sum = sum.saturating_add(ns);
            }
        }
    }

    pub(super) fn finish(self) -> Option<CollectorTime> {
        self.0
    }
}

#[cfg(test)]
mod tests;

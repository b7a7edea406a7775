//! What the threads of each group had time for.

use super::groups::thread_group;
use std::collections::BTreeMap;

/// What the threads of a group did with their time, as far as it is on the axis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupTime {
    /// The group.
    pub threads: String,
    /// How many threads; one counts once for each log that tells of it.
    pub count: u64,
    /// How long they lived, added up, in ns.
    pub lived_ns: u64,
    /// How long of that they waited for something to happen, in ns.
    pub idle_ns: u64,
    /// How long of that they waited for locks that others had, in ns.
    pub contended_ns: u64,
}

impl GroupTime {
    /// The share of the time in which they were not idle that they waited for
    /// locks. `None` when they were idle all along.
    pub fn lost_share(&self) -> Option<f64> {
        let busy_ns = self.lived_ns.saturating_sub(self.idle_ns);
        (busy_ns != 0).then(|| (self.contended_ns as f64 / busy_ns as f64).min(1.0))
    }
}

/// Time spent waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SpentTime {
    pub(super) idle_ns: u64,
    pub(super) contended_ns: u64,
}

impl std::ops::AddAssign for SpentTime {
    fn add_assign(&mut self, other: SpentTime) {
        self.idle_ns = self.idle_ns.saturating_add(other.idle_ns);
        self.contended_ns = self.contended_ns.saturating_add(other.contended_ns);
    }
}

/// The groups under way, by name.
#[derive(Debug, Default)]
pub(super) struct GroupTimes(BTreeMap<String, GroupTime>);

impl GroupTimes {
    /// Adds a thread of a log, by its name.
    pub(super) fn add(&mut self, thread: &str, lived_ns: u64, spent: SpentTime) {
        let group = thread_group(thread);
        let new = || GroupTime { threads: group.clone(), ..GroupTime::default() };
        let time = self.0.entry(group.clone()).or_insert_with(new);
        time.count += 1;
        for (sum, ns) in [
            (&mut time.lived_ns, lived_ns),
            (&mut time.idle_ns, spent.idle_ns),
            (&mut time.contended_ns, spent.contended_ns),
        ] {
            *sum = sum.saturating_add(ns);
        }
    }

    /// In the order of their names.
    pub(super) fn finish(self) -> Vec<GroupTime> {
        self.0.into_values().collect()
    }
}

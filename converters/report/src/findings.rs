//! What the sections answer from.

pub mod axis;
mod facts;
pub mod groups;
pub mod histogram;
mod lives;
pub mod names;
mod owners;
mod pass;
mod sampled;
mod second;
#[cfg(test)]
pub(crate) mod tests;
pub mod trace;

pub use axis::Axis;
pub use facts::LogFacts;
pub use groups::{Groups, LockRef, thread_group};
pub use histogram::Histogram;
pub use lives::{all_lives_ns, life};
pub use owners::OwnedWait;
pub use sampled::SampledInterval;

use crate::Options;
use std::collections::BTreeMap;
use tyrion_converters::{
    aggregate::{Aggregate, aggregate, work_bytes as profile_bytes},
    filter::Filter,
    profile::Profile,
};
use tyrion_formats::Recording;
use tyrion_wire::WaitKind;

/// What was found in the logs.
#[derive(Debug)]
pub struct Findings<'a> {
    /// The logs, for what they tell of themselves: header, statistics, counters.
    pub logs: &'a [Recording],
    /// What to take from them.
    pub filter: &'a Filter,
    /// The sums.
    pub aggregate: Aggregate,
    /// The locks of the profile by class and name.
    pub groups: Groups,
    /// The time that the logs span.
    pub axis: Axis,
    /// How long waits took, by lock group and kind.
    pub distributions: Distributions,
    /// What the threads did in each phase, in the order of time.
    pub phases: Vec<Phase>,
    /// Waits over time.
    pub timelines: Timelines,
    /// Waits of at least the threshold of their log.
    pub delays: Delays,
    /// The threads of the logs that the filter lets through, but for those that the
    /// JVM runs for itself.
    pub threads: Threads,
    /// Trace mode: waits charged, by the groups of both threads, in ascending
    /// order of both and of lock group and kind. Empty where
    /// [`Profile::has_blame`] is not set.
    pub thread_blames: Vec<ThreadBlame>,
    /// Waits whose lock tells who had it when they began, in any mode: in
    /// ascending order of owners, waiters, stack, lock group and kind.
    pub owned_waits: Vec<OwnedWait>,
    /// Trace mode: nesting, instances, holds.
    pub trace: trace::Recorded,
    /// What threads were doing in each interval, in the order of time. Empty
    /// where no thread was sampled.
    pub sampled: Vec<SampledInterval>,
    /// The length of these intervals, in ns: what was asked for, or a multiple of
    /// it where that would be more than 1,000; 0 where there is only one.
    pub interval_ns: u64,
}

/// How long waits took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distributions {
    /// By lock group and kind. The groups with the most wait, 2 000 or so, are
    /// here; the others are in `rest` together.
    pub locks: BTreeMap<(u32, WaitKind), Histogram>,
    /// The others.
    pub rest: Histogram,
}

impl Distributions {
    /// That of a lock group and kind, if it is kept apart.
    pub fn of(&self, group: u32, kind: WaitKind) -> Option<&Histogram> {
        self.locks.get(&(group, kind))
    }

    /// That of all.
    pub fn all(&self) -> Histogram {
        let mut all = self.rest.clone();
        self.locks.values().for_each(|histogram| all.add(histogram));
        all
    }
}

/// What threads did in a phase. Waits count as far as they are in the phase;
/// those that had not ended when the log did count to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phase {
    /// From the axis' start to that of the phase, in ns.
    pub start_ns: u64,
    /// The length of the phase, in ns.
    pub duration_ns: u64,
    /// How long the threads lived in it, added up, in ns.
    pub thread_ns: u64,
    /// How long they waited for something to happen (`object-wait`,
    /// `condition`, `park`), in ns, whatever kinds and locks the filter asks
    /// for.
    pub idle_ns: u64,
    /// How long they waited for locks that others had, in ns.
    pub contended_ns: u64,
}

impl Phase {
    /// Critical section pressure: the share of the time in which threads were
    /// not idle that they waited for locks. `None` when they were idle all
    /// along.
    pub fn pressure(&self) -> Option<f64> {
        let busy_ns = self.thread_ns.saturating_sub(self.idle_ns);
        (busy_ns != 0).then(|| (self.contended_ns as f64 / busy_ns as f64).min(1.0))
    }
}

/// Waits over time, as far as they are on the axis; in boxes of
/// [`Axis::box_ns`], in ns. A single wait is put where it was, folded ones are
/// spread over the time of their cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timelines {
    /// All waits.
    pub all: Vec<u64>,
    /// Of the lock groups with the most wait, most first: group and boxes.
    pub locks: Vec<(u32, Vec<u64>)>,
    /// Of the threads with the most wait, most first: thread of the profile and
    /// boxes.
    pub threads: Vec<(u32, Vec<u64>)>,
}

/// Waits that took at least the threshold of their log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// By the stack of the profile in which the thread waited, ascending.
    pub stacks: Vec<(u32, Delay)>,
    /// By thread of the profile, ascending.
    pub threads: Vec<(u32, Delay)>,
}

/// Number and durations of waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delay {
    /// How many; one that several files of a recording tell of is one.
    pub count: u64,
    /// Their durations added up, in ns.
    pub wait_ns: u64,
}

impl std::ops::AddAssign for Delay {
    fn add_assign(&mut self, other: Delay) {
        self.count = self.count.saturating_add(other.count);
        self.wait_ns = self.wait_ns.saturating_add(other.wait_ns);
    }
}

/// The threads of the logs that the filter lets through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Threads {
    /// How many.
    pub count: u64,
    /// How many of them are virtual.
    pub is_virtual: u64,
    /// How long they lived on the axis, added up, in ns.
    pub lived_ns: u64,
    /// Of how many the log does not tell when they lived: they are taken to
    /// have lived as long as the log, virtual ones from their first wait to
    /// their last.
    pub assumed: u64,
    /// How many were waiting for a lock when the log ended.
    pub pending: u64,
    /// How long they had waited by then, in ns.
    pub pending_ns: u64,
}

/// Waits charged to the threads of a group that others of a group waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ThreadBlame {
    /// The group of those who held the lock.
    pub holders: String,
    /// The group of those who waited.
    pub waiters: String,
    /// The lock group.
    pub group: u32,
    /// What kind of wait, by its code.
    pub kind: u8,
    /// How many waits, or parts of them.
    pub count: u64,
    /// Their durations added up, in ns.
    pub blamed_ns: u64,
}

impl Findings<'_> {
    /// The sums.
    pub fn profile(&self) -> &Profile {
        &self.aggregate.profile
    }

    /// Whether waits of this kind are what sections about waits show: lock
    /// contention, and locks taken again after `Condition.await`, as far as
    /// the filter asks for them; or whatever it asks for if that is neither.
    pub fn shows(&self, kind: WaitKind) -> bool {
        second::shows(self.filter, kind)
    }

    /// Whether any log was recorded in trace mode.
    pub fn is_trace(&self) -> bool {
        self.logs.iter().any(Recording::is_trace)
    }
}

/// How many bytes [`find`] will report to its `progress` in the end.
pub fn work_bytes(logs: &[Recording]) -> u64 {
    let chunks = logs.iter().flat_map(|log| log.event_chunks().iter().chain(log.cell_chunks()));
    profile_bytes(logs) + chunks.map(|chunk| u64::from(chunk.committed)).sum::<u64>()
}

/// Reads logs, on all workers of the current rayon pool: once for the profile,
/// and then, knowing what is hot, once more for what a profile does not keep.
/// Of `options` it needs to know how many rows there will be and how long a
/// phase is. `progress` is told how many more bytes are done, from any of them.
pub fn find<'a>(
    logs: &'a [Recording],
    filter: &'a Filter,
    options: &Options,
    progress: &(dyn Fn(u64) + Sync),
) -> Findings<'a> {
    let aggregate = aggregate(logs, filter, progress);
    second::find(logs, filter, options, aggregate, progress)
}

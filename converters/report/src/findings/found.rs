//! What was found.

use super::{
    axis::Axis, busy::GroupTime, chains::WaitChains, collections::CollectorTime, delay::Delays,
    for_work::ForWork, groups::LockGroups, histogram::Histogram, near_misses,
    other_waits::OtherWaits, owners::OwnedWait, pools::Pool, program::ProgramCode, ranks::shows,
    sampled::SampledInterval, short_names::ShortNames, snapshots::Snapshots, trace::TraceFindings,
};
use std::collections::BTreeMap;
use tyrion_formats::{Owners, Recording, event_log};
use tyrion_model::{aggregate::Aggregate, filter::Filter, profile::Profile};
use tyrion_whatif::LogSurvey;
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
    pub groups: LockGroups,
    /// Which classes can be named without their packages.
    pub short_names: ShortNames,
    /// Which code is the program's own.
    pub program: ProgramCode,
    /// The time that the logs span.
    pub axis: Axis,
    /// How long waits took, by lock group and kind.
    pub distributions: Distributions,
    /// What the threads did in each phase, in the order of time.
    pub phases: Vec<Phase>,
    /// Waits over time.
    pub timelines: Timelines,
    /// What the threads' time went into, over time.
    pub time_use: TimeOverRun,
    /// Waits of at least the threshold of their log.
    pub delays: Delays,
    /// Waits that are for no lock.
    pub other_waits: OtherWaits,
    /// Waits for locks that are for work.
    pub for_work: ForWork,
    /// Threads that take work, whatever the filter.
    pub pools: Vec<Pool>,
    /// Waits of which it is known whom they were for, charged to whom that one waited for.
    pub chains: WaitChains,
    /// The threads of the logs that the filter lets through, but for those that the
    /// JVM runs for itself.
    pub threads: Threads,
    /// The garbage collector's part in the waits; `None` where no log tells of it.
    pub collected: Option<CollectorTime>,
    /// What these had time for, by group, in the order of names.
    pub group_times: Vec<GroupTime>,
    /// Trace mode: waits charged, by the groups of both threads, in ascending
    /// order of both and of lock group and kind. Empty where
    /// [`Profile::has_blame`] is not set.
    pub thread_blames: Vec<ThreadBlame>,
    /// Waits whose lock tells who had it when they began, in any mode: in
    /// ascending order of owners, waiters, stack, lock group and kind.
    pub owned_waits: Vec<OwnedWait>,
    /// Trace mode: nesting and instances.
    pub trace: TraceFindings,
    /// Trace mode: near misses; `None` if no log tells, or nobody asked for them.
    pub(crate) near_misses: Option<near_misses::Scan>,
    /// What threads were doing in the few snapshots that nobody asked for.
    pub snapshots: Snapshots,
    /// What predictions need of each log; `None` if nobody asked for them, or the logs are
    /// not of one recording.
    pub(crate) surveys: Option<Vec<LogSurvey>>,
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
    /// How long of `idle_ns` they waited for no lock and were kept from work, in
    /// ns, of the threads and locks that the filter asks for.
    pub withheld_ns: u64,
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

/// What the threads' time went into, in boxes of [`Axis::box_ns`], in ns; as [`Phase`] has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeOverRun {
    /// How long they lived.
    pub lived_ns: Vec<u64>,
    /// How long they waited for something to happen.
    pub idle_ns: Vec<u64>,
    /// How long of that they were kept from work.
    pub withheld_ns: Vec<u64>,
    /// How long they waited for each of the lock groups that cost most, most first.
    pub worst: Vec<(u32, Vec<u64>)>,
    /// The same of all other locks.
    pub other_locks_ns: Vec<u64>,
    /// How long the garbage collector had a program's threads stopped; all zeros where
    /// no log tells.
    pub stopped_ns: Vec<u64>,
    /// How many waits ended in each box, by the power of two of their durations, for each row
    /// of [`Timelines::locks`] and for all other locks: box, shortest duration in ns, waits.
    pub waits: Vec<Vec<(usize, u64, u32)>>,
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
        shows(self.filter, kind)
    }

    /// Whether any log was recorded in trace mode.
    pub fn is_trace(&self) -> bool {
        self.logs.iter().any(Recording::is_trace)
    }

    /// Whether acquisitions are those of single locks, for a part of the time, in any log.
    pub fn is_aimed(&self) -> bool {
        self.logs.iter().any(Recording::is_aimed)
    }

    /// How long the acquisitions of a lock that code calls so were recorded, in ns, whatever
    /// the filter.
    pub fn traced_ns_of(&self, name: &str) -> u64 {
        let of_log = |log: &Recording| {
            let mut aims = log.aims();
            // Reports leave packages out.
            let is_it = |lock: &String| {
                let rest = lock.strip_suffix(name);
                rest.is_some_and(|rest| rest.is_empty() || rest.ends_with(['.', '$']))
            };
            aims.retain(|aim| !name.is_empty() && aim.locks.iter().any(is_it));
            let parts = log.recorded_acquisitions().into_iter();
            let parts = parts.filter(|part| {
                !log.is_aimed() || aims.iter().any(|aim| aim.span.contains(&part.start))
            });
            parts.map(|part| part.end - part.start).fold(0, u64::saturating_add)
        };
        match self.logs.iter().map(of_log).fold(0, u64::saturating_add) {
            // The log calls it otherwise.
            0 => self.traced_ns(),
            traced_ns => traced_ns,
        }
    }

    /// Whether acquisitions were counted in bursts at some place of any log, whatever the
    /// filter: what happened there between them was not seen.
    pub fn has_bursts(&self) -> bool {
        let is_in_bursts = |log: &Recording| {
            let chunks = log.acquisition_chunks().iter().filter(|chunk| chunk.in_bursts);
            let mut cells = chunks.flat_map(|chunk| log.acquisitions(chunk));
            cells.any(|cell| cell.bursts.is_some_and(|bursts| bursts.count != 0))
        };
        self.logs.iter().any(is_in_bursts)
    }

    /// How long acquisitions were recorded, in ns, whatever the filter.
    pub fn traced_ns(&self) -> u64 {
        let parts = self.logs.iter().flat_map(Recording::recorded_acquisitions);
        parts.map(|part| part.end - part.start).fold(0, u64::saturating_add)
    }

    /// Whether no log tells when threads waited.
    pub fn lacks_times(&self) -> bool {
        !self.logs.is_empty() && self.logs.iter().all(|log| log.facts().lacks.times)
    }

    /// Whether no log tells whether threads waited.
    pub fn lacks_waits(&self) -> bool {
        !self.logs.is_empty() && self.logs.iter().all(|log| log.facts().lacks.waits)
    }

    /// Of which locks a log has no waits because these were not recorded; `None` if all have all.
    pub fn unrecorded_locks(&self) -> Option<&'static str> {
        let lacks = || self.logs.iter().map(|log| log.facts().lacks);
        match (lacks().any(|it| it.monitors), lacks().any(|it| it.parks)) {
            (true, true) => Some("locks"),
            (true, false) => Some("monitors"),
            (false, true) => Some("locks of java.util.concurrent"),
            (false, false) => None,
        }
    }

    /// Whether no log tells how long threads waited.
    pub fn lacks_durations(&self) -> bool {
        !self.logs.is_empty() && self.logs.iter().all(|log| log.facts().lacks.durations)
    }

    /// Whether any log is of a program that can be recorded again in another mode.
    pub fn has_modes(&self) -> bool {
        self.logs.is_empty() || self.logs.iter().any(has_modes)
    }

    /// Who the owners are that waits name: of several sorts, those that had the lock when
    /// the wait began.
    pub fn owners(&self) -> Owners {
        let is_previous = |log: &Recording| log.facts().owners == Owners::Previous;
        match !self.logs.is_empty() && self.logs.iter().all(is_previous) {
            true => Owners::Previous,
            false => Owners::AtStart,
        }
    }

    /// How long waits were recorded, in ns: the durations of the logs added up, as far as
    /// the filter asks for them.
    pub fn recorded_ns(&self) -> u64 {
        let durations = self.logs.iter().flat_map(|log| {
            let window = self.filter.window(log);
            log.recorded_waits().into_iter().map(move |part| {
                let since_ns = window.since_ns.clamp(part.start, part.end);
                window.until_ns.clamp(since_ns, part.end) - since_ns
            })
        });
        durations.fold(0, u64::saturating_add)
    }
}

/// Whether a log is of a program that can be recorded again in another mode: the agent's
/// own, or one that names its program or JVM.
pub(super) fn has_modes(log: &Recording) -> bool {
    let names = |key: &str| log.facts().metadata(key).is_some_and(|value| !value.is_empty());
    log.facts().format == event_log::INPUT.name || names("program") || names("jvm")
}

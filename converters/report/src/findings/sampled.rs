//! What threads were doing, interval by interval.
//!
//! The profile has it for all of the time. Where that is not enough, the samples
//! are read once more: what is kept grows with the distinct (interval, thread,
//! stack, state), not with the samples.

use super::axis::{Axis, Clock, Grid};
use crate::options::ReportOptions;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Mutex, PoisonError},
};
use tyrion_formats::{Entry, Note, Noted, Recording};
use tyrion_model::{
    aggregate::{Aggregate, LogIds, SampleTotals},
    describe::Names,
    filter::{Filter, Spread, Window},
    pass::{Question, Visitor},
    profile::{NO_LOCK, SampleRow, State, Thread},
    states::StateReader,
    withheld::Withheld,
};
use tyrion_wire::{WaitKind, sample::Sample};

/// More intervals than that would not be read by anybody.
const MAX_INTERVALS: u64 = 1_000;

/// What threads were doing in an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampledInterval {
    /// The Unix time at which it begins, in ns.
    pub start_wall_ns: u64,
    /// Its length, in ns.
    pub duration_ns: u64,
    /// What is shown, in ascending order as in the profile.
    pub samples: Vec<SampleRow>,
    /// The real time of idle threads that is not shown, in ns.
    pub idle_hidden_ns: u64,
    /// Threads that were sampled, but of which nothing is shown; found only
    /// where [`ReportOptions::zero`] asks for them.
    pub hidden_threads: Vec<Thread>,
}

/// Finds them, log by log.
pub(super) struct Sampling<'f> {
    filter: &'f Filter,
    /// Whether [`ReportOptions::zero`] asks for threads of which nothing is shown.
    zero: bool,
    whole: Axis,
    grid: Grid,
    found: AllSamples,
}

impl<'f> Sampling<'f> {
    /// `None` where the profile has all of it already.
    pub(super) fn new(
        logs: &[Recording],
        filter: &'f Filter,
        options: &ReportOptions,
        aggregate: &Aggregate,
    ) -> Option<Sampling<'f>> {
        let is_more = options.interval_ns != 0 || options.zero;
        if !aggregate.profile.has_samples || !is_more {
            return None;
        }
        let whole = whole(logs, filter, options);
        let grid = grid(&whole, options.interval_ns);
        Some(Sampling { filter, zero: options.zero, whole, grid, found: AllSamples::default() })
    }

    /// What is to be asked of a log, the `run`-th.
    pub(super) fn asking<'a>(
        &self,
        (run, log): (usize, &'a Recording),
        ids: &'a LogIds,
        withheld: &'a Withheld,
    ) -> SampleQuestion<'a>
    where
        'f: 'a,
    {
        let (window, clock) = (self.filter.window(log), Clock::new(log, &self.whole));
        let (filter, grid, reader) = (self.filter, self.grid, StateReader::new(log));
        let withheld = (withheld, run);
        let pass = Pass { log, ids, filter, window, clock, grid, reader, withheld };
        SampleQuestion { pass, found: Mutex::default() }
    }

    /// The pass over that log is over.
    pub(super) fn add(&mut self, asking: SampleQuestion<'_>) {
        let of_log = asking.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        if self.zero {
            let hidden = asking.pass.hidden(asking.pass.withheld.1 as u32, &of_log);
            self.found.hidden.extend(hidden);
        }
        self.found.add(of_log.sums);
    }

    pub(super) fn finish(self, axis: &Axis) -> Vec<SampledInterval> {
        self.found.finish(&self.whole, axis, &self.grid, self.filter)
    }
}

/// What a profile has of samples, as one interval.
pub(super) fn as_one(filter: &Filter, aggregate: &Aggregate, axis: &Axis) -> Vec<SampledInterval> {
    if !aggregate.profile.has_samples {
        return Vec::new();
    }
    let shown = filter.states.contains(State::Idle);
    vec![SampledInterval {
        start_wall_ns: axis.start_wall_ns,
        duration_ns: axis.duration_ns,
        samples: aggregate.profile.samples.clone(),
        idle_hidden_ns: if shown { 0 } else { aggregate.state(State::Idle).wall_ns },
        hidden_threads: Vec::new(),
    }]
}

/// The length of the intervals, in ns: what was asked for, or a multiple of it
/// where that would be more than [`MAX_INTERVALS`]; 0 where there is only one.
pub(super) fn interval_ns(logs: &[Recording], filter: &Filter, options: &ReportOptions) -> u64 {
    match options.interval_ns {
        0 => 0,
        asked => grid(&whole(logs, filter, options), asked).step_ns,
    }
}

/// The time that intervals count in: all that logs span, or what the filter asks
/// for.
fn whole(logs: &[Recording], filter: &Filter, options: &ReportOptions) -> Axis {
    match options.interval_from_since {
        true => Axis::of(logs, filter, 1),
        false => Axis::of(logs, &Filter::default(), 1),
    }
}

/// The intervals, from the start of that time.
fn grid(whole: &Axis, interval_ns: u64) -> Grid {
    let end_ns = whole.duration_ns;
    let interval_ns = if interval_ns == 0 { end_ns.max(1) } else { interval_ns };
    let times = end_ns.div_ceil(interval_ns).div_ceil(MAX_INTERVALS).max(1);
    Grid { step_ns: interval_ns.saturating_mul(times), end_ns }
}

/// Interval, thread, stack, state, lock and kind, by ids of the profile; thread,
/// stack and lock are [`HIDDEN`] where the state is not shown.
type IntervalKey = (usize, u32, u32, State, u32, Option<WaitKind>);

/// Stands for threads, stacks and locks that are not shown.
const HIDDEN: u32 = u32::MAX;

/// What is found in a log.
#[derive(Default)]
struct LogSamples {
    sums: HashMap<IntervalKey, SampleTotals>,
    /// Threads of the log that were sampled.
    threads: BTreeSet<u32>,
}

/// What is found in all of them.
#[derive(Default)]
struct AllSamples {
    sums: HashMap<IntervalKey, SampleTotals>,
    hidden: Vec<Thread>,
}

struct Pass<'a> {
    log: &'a Recording,
    ids: &'a LogIds,
    filter: &'a Filter,
    window: Window,
    clock: Clock,
    grid: Grid,
    reader: StateReader<'a>,
    /// What waits for no lock are, and which of its logs this is.
    withheld: (&'a Withheld, usize),
}

/// What is asked of a log.
pub(super) struct SampleQuestion<'a> {
    pass: Pass<'a>,
    found: Mutex<LogSamples>,
}

/// What a worker has found.
pub(super) struct SampleVisitor<'q> {
    pass: &'q Pass<'q>,
    found: LogSamples,
}

impl Question for SampleQuestion<'_> {
    type Visitor<'q>
        = SampleVisitor<'q>
    where
        Self: 'q;

    fn visitor(&self) -> SampleVisitor<'_> {
        SampleVisitor { pass: &self.pass, found: LogSamples::default() }
    }

    fn take(&self, worker: SampleVisitor<'_>) {
        let mut all = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        for (key, totals) in worker.found.sums {
            all.sums.entry(key).or_default().add(&totals);
        }
        all.threads.extend(worker.found.threads);
    }
}

impl Visitor for SampleVisitor<'_> {
    #[inline]
    fn entry(&mut self, entry: &Entry<'_>) {
        if let Entry::Note(noted) = entry
            && let Note::Sample(sample) = noted.record
        {
            self.pass.sample(&noted.with(sample), &mut self.found);
        }
    }
}

impl Pass<'_> {
    fn sample(&self, sampled: &Noted<Sample>, found: &mut LogSamples) {
        let (withheld, run) = self.withheld;
        let is_withheld = |kind, stack| withheld.is_withheld((run, self.log), kind, stack);
        let is_asked_for = self.window.part(sampled).is_some()
            && self.reader.is_of(sampled, self.filter.kinds_of_samples(), is_withheld);
        let (thread, lock) = self.reader.thread_and_lock(sampled);
        let Some(lock) = self.lock(lock).filter(|_| is_asked_for) else { return };
        found.threads.insert(sampled.thread);
        let state = self.reader.state(sampled);
        let stack = self.ids.stack(self.reader.stack(sampled));
        let ids = self.ids.thread(thread).zip(stack);
        let (thread, stack, lock, kind) = match self.filter.states.contains(state) {
            true => match ids {
                Some((thread, stack)) => (thread, stack, lock, sampled.kind()),
                None => return,
            },
            false if self.wants(sampled.thread) => (HIDDEN, HIDDEN, HIDDEN, None),
            false => return,
        };
        self.split(sampled, |interval, part| {
            let key = (interval, thread, stack, state, lock, kind);
            found.sums.entry(key).or_default().add(&part);
        });
    }

    /// The profile's lock of a sample, [`NO_LOCK`] if none is known; `None` if
    /// the filter leaves it out.
    fn lock(&self, lock: u32) -> Option<u32> {
        match self.ids.lock(lock) {
            None if self.filter.lock.is_none() => Some(NO_LOCK),
            lock => lock,
        }
    }

    /// Gives each interval its part of a record, as far as the filter asks for
    /// it.
    fn split(&self, sampled: &Noted<Sample>, mut add: impl FnMut(usize, SampleTotals)) {
        let (spread, Window { since_ns, until_ns, .. }) = (Spread::of(sampled), self.window);
        let step = |mono_ns: u64| self.grid.step(self.clock.at(mono_ns));
        let mut from_ns = since_ns;
        let last = step(sampled.at_ns);
        for interval in step(sampled.start_ns())..=last {
            let end_ns = match interval == last {
                true => until_ns,
                false => self.clock.mono(self.grid.bounds(interval).1).max(from_ns).min(until_ns),
            };
            let part = spread.between(from_ns, end_ns);
            if part != SampleTotals::default() {
                add(interval, part);
            }
            from_ns = end_ns;
        }
    }

    /// Whether the filter wants a thread of the log.
    fn wants(&self, thread: u32) -> bool {
        let name = || Names(self.log).thread(thread);
        self.filter.thread.as_ref().is_none_or(|regex| regex.is_match(&name()))
    }

    /// The threads that were sampled, but of which nothing is shown.
    fn hidden(&self, run: u32, found: &LogSamples) -> Vec<Thread> {
        let shown: BTreeSet<u32> = found.sums.keys().map(|key| key.1).collect();
        let is_shown = |thread: u32| self.ids.thread(thread).is_some_and(|id| shown.contains(&id));
        let hidden = found.threads.iter().copied();
        let hidden = hidden.filter(|&thread| !is_shown(thread) && self.wants(thread));
        let definitions = self.log.definitions();
        let thread = |thread: u32| Thread {
            run,
            java_id: definitions.threads().get(thread).map_or(0, |thread| thread.java_id),
            name: Names(self.log).thread(thread),
            ..Thread::default()
        };
        hidden.map(thread).collect()
    }
}

impl AllSamples {
    fn add(&mut self, sums: HashMap<IntervalKey, SampleTotals>) {
        for (key, totals) in sums {
            self.sums.entry(key).or_default().add(&totals);
        }
    }

    /// The intervals that the filter asks for.
    fn finish(
        self,
        whole: &Axis,
        axis: &Axis,
        grid: &Grid,
        filter: &Filter,
    ) -> Vec<SampledInterval> {
        let mut intervals: BTreeMap<usize, SampledInterval> = BTreeMap::new();
        let offset_ns = axis.start_wall_ns.saturating_sub(whole.start_wall_ns);
        let asked = (offset_ns, offset_ns.saturating_add(axis.duration_ns));
        for at in grid.step(asked.0)..=grid.step(asked.1.saturating_sub(1)) {
            let (start_ns, end_ns) = grid.bounds(at);
            let (start_ns, end_ns) = (start_ns.max(asked.0), end_ns.min(asked.1));
            intervals.insert(
                at,
                SampledInterval {
                    start_wall_ns: whole.start_wall_ns.saturating_add(start_ns),
                    duration_ns: end_ns.saturating_sub(start_ns),
                    hidden_threads: self.hidden.clone(),
                    ..SampledInterval::default()
                },
            );
        }
        let mut sums: Vec<(IntervalKey, SampleTotals)> = self.sums.into_iter().collect();
        sums.sort_unstable_by_key(|(key, _)| *key);
        for ((at, thread, stack, state, lock, kind), totals) in sums {
            // What began before the time that is asked for is shown with it.
            let Some(interval) = nearest(&mut intervals, at) else { continue };
            let SampleTotals { snapshots: count, wall_ns, cpu_ns } = totals;
            if filter.states.contains(state) {
                let sample = SampleRow { thread, stack, state, lock, kind, count, wall_ns, cpu_ns };
                interval.samples.push(sample);
            } else if state == State::Idle {
                interval.idle_hidden_ns = interval.idle_hidden_ns.saturating_add(wall_ns);
            }
        }
        intervals.into_values().collect()
    }
}

fn nearest(
    intervals: &mut BTreeMap<usize, SampledInterval>,
    at: usize,
) -> Option<&mut SampledInterval> {
    let (&first, &last) = (intervals.keys().next()?, intervals.keys().next_back()?);
    intervals.get_mut(&at.clamp(first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_not_more_intervals_than_can_be_kept() {
        let whole = Axis { duration_ns: 1_000_000_000, ..Axis::default() };
        assert_eq!(grid(&whole, 0).len(), 1);
        assert_eq!(grid(&whole, 300_000_000).len(), 4);
        assert_eq!(grid(&whole, 1).len(), 1_000);
        assert_eq!(grid(&Axis::default(), 5).len(), 1);
    }
}

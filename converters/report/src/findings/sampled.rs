//! What threads were doing, interval by interval.
//!
//! The profile has it for all of the time. Where that is not enough, the samples
//! are read once more: what is kept grows with the distinct (interval, thread,
//! stack, state), not with the samples.

use super::axis::{Axis, Clock, Grid};
use crate::Options;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tyrion_converters::{
    aggregate::{Aggregate, LogIds},
    describe::Names,
    filter::{Filter, Window},
    profile::{NO_LOCK, Sample, State, Thread},
    states::Reader,
};
use tyrion_formats::{Entry, Log, Sampled};

/// More intervals than that would not be read by anybody.
const MAX_INTERVALS: u64 = 1_000;

/// What threads were doing in an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampledInterval {
    /// The Unix time at which it begins, in ns.
    pub start_wall_ns: u64,
    /// Its length, in ns.
    pub duration_ns: u64,
    /// What is shown, in ascending order as in the profile. Of several
    /// intervals, locks and kinds of waits are not told.
    pub samples: Vec<Sample>,
    /// The real time of idle threads that is not shown, in ns.
    pub idle_hidden_ns: u64,
    /// Threads that were sampled, but of which nothing is shown; found only
    /// where [`Options::zero`] asks for them.
    pub hidden_threads: Vec<Thread>,
}

/// Those of logs.
pub(super) fn find(
    logs: &[Log],
    filter: &Filter,
    options: &Options,
    aggregate: &Aggregate,
    axis: &Axis,
) -> Vec<SampledInterval> {
    if !aggregate.profile.has_samples || !filter.takes_samples() {
        return Vec::new();
    }
    if options.interval_ns == 0 && !options.zero {
        let shown = filter.states.contains(State::Idle);
        return vec![SampledInterval {
            start_wall_ns: axis.start_wall_ns,
            duration_ns: axis.duration_ns,
            samples: aggregate.profile.samples.clone(),
            idle_hidden_ns: if shown { 0 } else { aggregate.state(State::Idle).wall_ns },
            hidden_threads: Vec::new(),
        }];
    }
    let whole = Axis::of(logs, &Filter::default(), axis.phase_ns);
    let grid = grid(&whole, options.interval_ns);
    let mut found = Found::default();
    for (run, (log, ids)) in logs.iter().zip(&aggregate.ids).enumerate() {
        let reader = Reader::new(log);
        let window = filter.window(log);
        let clock = Clock::new(log, &whole);
        let pass = Pass { log, ids, filter, window, clock, grid, reader: &reader };
        let of_log = pass.run();
        if options.zero {
            found.hidden.extend(pass.hidden(run as u32, &of_log));
        }
        found.add(of_log.sums);
    }
    found.finish(&whole, axis, &grid, filter)
}

/// The intervals: they begin at the start of the first log, whatever the filter
/// asks for.
fn grid(whole: &Axis, interval_ns: u64) -> Grid {
    let end_ns = whole.duration_ns;
    let interval_ns = if interval_ns == 0 { end_ns.max(1) } else { interval_ns };
    let times = end_ns.div_ceil(interval_ns).div_ceil(MAX_INTERVALS).max(1);
    Grid { step_ns: interval_ns.saturating_mul(times), end_ns }
}

/// Interval, thread, stack and state, by ids of the profile; thread and stack
/// are [`HIDDEN`] where the state is not shown.
type Key = (usize, u32, u32, State);

/// Stands for threads and stacks that are not shown.
const HIDDEN: u32 = u32::MAX;

/// How often, how long, and how much CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Totals {
    count: u64,
    wall_ns: u64,
    cpu_ns: u64,
}

impl Totals {
    fn add(&mut self, other: &Totals) {
        self.count = self.count.saturating_add(other.count);
        self.wall_ns = self.wall_ns.saturating_add(other.wall_ns);
        self.cpu_ns = self.cpu_ns.saturating_add(other.cpu_ns);
    }

    /// The part of the first so many of these snapshots.
    fn first(&self, count: u64) -> Totals {
        let part = |of: u64| {
            let part = u128::from(of) * u128::from(count);
            part.checked_div(u128::from(self.count)).unwrap_or(0) as u64
        };
        Totals { count, wall_ns: part(self.wall_ns), cpu_ns: part(self.cpu_ns) }
    }

    fn minus(&self, other: &Totals) -> Totals {
        Totals {
            count: self.count.saturating_sub(other.count),
            wall_ns: self.wall_ns.saturating_sub(other.wall_ns),
            cpu_ns: self.cpu_ns.saturating_sub(other.cpu_ns),
        }
    }
}

/// What is found in a log.
#[derive(Default)]
struct OfLog {
    sums: HashMap<Key, Totals>,
    /// Threads of the log that were sampled.
    threads: BTreeSet<u32>,
}

/// What is found in all of them.
#[derive(Default)]
struct Found {
    sums: HashMap<Key, Totals>,
    hidden: Vec<Thread>,
}

struct Pass<'a> {
    log: &'a Log,
    ids: &'a LogIds,
    filter: &'a Filter,
    window: Window,
    clock: Clock,
    grid: Grid,
    reader: &'a Reader<'a>,
}

impl Pass<'_> {
    fn run(&self) -> OfLog {
        let chunks = self.log.event_chunks().par_iter();
        let of_chunks = chunks.fold(OfLog::default, |mut sums, chunk| {
            // What is damaged was told in the first pass.
            if let Ok(mut events) = self.log.events(chunk) {
                events.visit_all(|entry| {
                    if let Entry::Sample(sampled) = entry {
                        self.sample(&sampled, &mut sums);
                    }
                });
            }
            sums
        });
        of_chunks.reduce(OfLog::default, |mut all, more| {
            more.sums.iter().for_each(|(key, totals)| {
                all.sums.entry(*key).or_default().add(totals);
            });
            all.threads.extend(more.threads);
            all
        })
    }

    fn sample(&self, sampled: &Sampled, found: &mut OfLog) {
        if !self.window.holds(sampled.at_ns) {
            return;
        }
        found.threads.insert(sampled.thread);
        let state = self.reader.state(sampled);
        let ids = self.ids.thread(sampled.thread).zip(self.ids.stack(sampled.sample.stack));
        let (thread, stack) = match self.filter.states.contains(state) {
            true => match ids {
                Some(ids) => ids,
                None => return,
            },
            false if self.wants(sampled.thread) => (HIDDEN, HIDDEN),
            false => return,
        };
        let sample = &sampled.sample;
        let (count, wall_ns, cpu_ns) = (sample.count, sample.wall_ns, sample.cpu_ns);
        let end_ns = self.clock.at(sampled.at_ns);
        split(&self.grid, end_ns, &Totals { count, wall_ns, cpu_ns }, |interval, part| {
            found.sums.entry((interval, thread, stack, state)).or_default().add(&part);
        });
    }

    /// Whether the filter wants a thread of the log.
    fn wants(&self, thread: u32) -> bool {
        let name = || Names(self.log).thread(thread);
        self.filter.thread.as_ref().is_none_or(|regex| regex.is_match(&name()))
    }

    /// The threads that were sampled, but of which nothing is shown.
    fn hidden(&self, run: u32, found: &OfLog) -> Vec<Thread> {
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

/// Gives each interval its part of snapshots that follow one another evenly, the
/// last of them at `end_ns`.
fn split(grid: &Grid, end_ns: u64, all: &Totals, mut add: impl FnMut(usize, Totals)) {
    let start_ns = end_ns.saturating_sub(all.wall_ns);
    let last = grid.step(end_ns);
    let mut done = Totals::default();
    for interval in grid.step(start_ns)..last {
        // A snapshot at the very end of an interval is of the next one.
        let (_, until_ns) = grid.bounds(interval);
        let before = u128::from(until_ns - start_ns) * u128::from(all.count);
        let before = before.div_ceil(u128::from(all.wall_ns).max(1)).saturating_sub(1);
        let first = all.first(u64::try_from(before).unwrap_or(u64::MAX).min(all.count));
        if first != done {
            add(interval, first.minus(&done));
            done = first;
        }
    }
    let rest = all.minus(&done);
    if rest != Totals::default() || *all == Totals::default() {
        add(last, rest);
    }
}

impl Found {
    fn add(&mut self, sums: HashMap<Key, Totals>) {
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
        let mut sums: Vec<(Key, Totals)> = self.sums.into_iter().collect();
        sums.sort_unstable_by_key(|(key, _)| *key);
        for ((at, thread, stack, state), totals) in sums {
            // What began before the time that is asked for is shown with it.
            let Some(interval) = nearest(&mut intervals, at) else { continue };
            let Totals { count, wall_ns, cpu_ns } = totals;
            if filter.states.contains(state) {
                let (lock, kind) = (NO_LOCK, None);
                let sample = Sample { thread, stack, state, lock, kind, count, wall_ns, cpu_ns };
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
    use proptest::prelude::*;

    fn parts(grid: &Grid, end_ns: u64, all: &Totals) -> Vec<(usize, Totals)> {
        let mut parts = Vec::new();
        split(grid, end_ns, all, |at, part| parts.push((at, part)));
        parts
    }

    #[test]
    fn snapshots_are_of_the_interval_in_which_they_were_taken() {
        let grid = Grid { step_ns: 100, end_ns: 1_000 };
        let all = Totals { count: 4, wall_ns: 80, cpu_ns: 8 };
        // At 100, 120, 140 and 160.
        assert_eq!(parts(&grid, 160, &all), [(1, all)]);
        // At 99, 119, 139 and 159.
        let (one, three) = (
            Totals { count: 1, wall_ns: 20, cpu_ns: 2 },
            Totals { count: 3, wall_ns: 60, cpu_ns: 6 },
        );
        assert_eq!(parts(&grid, 159, &all), [(0, one), (1, three)]);
        // One that stands for a long time is not divided.
        let long = Totals { count: 1, wall_ns: 350, cpu_ns: 0 };
        assert_eq!(parts(&grid, 450, &long), [(4, long)]);
        let zero = Totals::default();
        assert_eq!(parts(&grid, 450, &zero), [(4, zero)]);
    }

    #[test]
    fn there_are_not_more_intervals_than_can_be_kept() {
        let whole = Axis { duration_ns: 1_000_000_000, ..Axis::default() };
        assert_eq!(grid(&whole, 0).len(), 1);
        assert_eq!(grid(&whole, 300_000_000).len(), 4);
        assert_eq!(grid(&whole, 1).len(), 1_000);
        assert_eq!(grid(&Axis::default(), 5).len(), 1);
    }

    proptest! {
        #[test]
        fn nothing_is_lost(
            step_ns in 1u64..500, end_ns in 0u64..1_200, count in 0u64..50,
            wall_ns in 0u64..2_000, cpu_ns: u64,
        ) {
            let grid = Grid { step_ns, end_ns: 1_000 };
            let all = Totals { count, wall_ns, cpu_ns };
            let mut sum = Totals::default();
            let mut before = None;
            split(&grid, end_ns, &all, |at, part| {
                assert!(before.is_none_or(|before| at > before));
                before = Some(at);
                sum.add(&part);
            });
            prop_assert_eq!(sum, all);
        }
    }
}

//! The second pass: what is hot is known from the profile, so only what will be
//! shown is counted, and memory does not grow with what was recorded.

use super::{
    axis::{Axis, Clock, Series},
    busy::GroupTimes,
    chains::{ChainSearch, MOST},
    collections::CollectorSums,
    delay::{Delay, Delays},
    for_work::ForWork,
    found::{Distributions, Findings, Phase, ThreadBlame, Threads, TimeOverRun, Timelines},
    groups::{LockGroups, ThreadGroups},
    histogram::{self, Histogram},
    lives,
    near_misses::NearMissSearch,
    other_waits::OtherWaits,
    owners::AllOwners,
    pass::{self, Blames, Use},
    pauses, pools,
    program::ProgramCode,
    ranks::{BANDS, Ranks},
    sampled::{self, Sampling},
    short_names::ShortNames,
    snapshots::{SnapshotQuestion, SnapshotSums},
    trace,
};
use crate::options::ReportOptions;
use std::collections::BTreeMap;
use tyrion_formats::Recording;
use tyrion_model::{
    aggregate::{Aggregate, LogIds},
    filter::Filter,
    pass::Reading,
    profile::Profile,
};
use tyrion_whatif::LogSurvey;
use tyrion_wire::cell::BUCKETS;

/// What is known when the logs are read once more.
pub(super) struct FirstPass {
    pub(super) aggregate: Aggregate,
    pub(super) others: OtherWaits,
    pub(super) recorded: trace::TraceFindings,
    pub(super) surveys: Option<Vec<LogSurvey>>,
}

/// Reads the logs once more.
pub(super) fn find<'a>(
    logs: &'a [Recording],
    filter: &'a Filter,
    options: &ReportOptions,
    first: FirstPass,
    progress: &(dyn Fn(u64) + Sync),
) -> Findings<'a> {
    let FirstPass { aggregate, others: other_waits, recorded, surveys } = first;
    let groups = LockGroups::new(&aggregate.profile);
    let for_work = ForWork::find(logs, &aggregate, &groups, &other_waits.judged);
    let axis = Axis::of(logs, filter, options.phase_ns);
    let ranks = Ranks::new(&aggregate.profile, &groups, filter, options.top);
    let mut sums = pass::Sums::new(&axis, &ranks);
    let mut delays = DelaySums::new(&aggregate.profile);
    let (mut threads, mut times) = (Threads::default(), GroupTimes::default());
    let (recordings, mut known) = (trace::recordings(logs), lives::KnownThreads::new());
    let mut names = ThreadGroups::default();
    let mut owners = AllOwners::default();
    let all_pauses = pauses::of(logs, &recordings);
    let mut collected = CollectorSums::new(logs, &recordings, filter);
    let mut following = ChainSearch::new(filter, &axis, &other_waits.judged, MOST);
    let program = ProgramCode::of(logs, &aggregate.profile, &options.packages);
    let mut snapshots = SnapshotSums::default();
    let mut sampling = Sampling::new(logs, filter, options, &aggregate);
    let mut looking = NearMissSearch::new(logs, &recordings, filter, options.near_ns)
        .filter(|_| options.near_misses);
    let reading = Reading { is_checked: aggregate.damage.is_empty(), ..Reading::new(progress) };
    for (run, log, recording) in by_recording(logs, &recordings) {
        let Some(ids) = aggregate.ids.get(run) else { continue };
        let (groups, axis, ranks) = (&groups, &axis, &ranks);
        let pauses = all_pauses.get(&recording);
        let withheld = (&other_waits.judged, run);
        let for_work = &for_work;
        let job = pass::Job { log, ids, filter, groups, axis, ranks, pauses, withheld, for_work };
        let asking = job.asking(&mut names);
        let gather = following.asking((run, log), recording);
        let of_samples = sampling.as_ref().map(|it| it.asking((run, log), ids, withheld.0));
        let (near, next_ns) =
            looking.as_mut().map_or((None, u64::MAX), |it| it.asking(run, &recorded));
        let unasked = SnapshotQuestion::new(log, filter);
        let all = ((asking, near), ((gather, unasked), of_samples));
        tyrion_model::pass::run(log, &all, Reading { next_ns, ..reading });
        let ((asking, _), ((gather, unasked), of_samples)) = all;
        snapshots.add(unasked, (&other_waits.judged, for_work), run, &program);
        gather.finish(log);
        if let Some((sampling, of_samples)) = sampling.as_mut().zip(of_samples) {
            sampling.add(of_samples);
        }
        let (job, read) = asking.finish(&mut sums);
        delays.add(ids, &read);
        owners.add(ids, groups, &read.owners);
        let living =
            lives::ThreadLives { threads: &mut threads, times: &mut times, known: &mut known };
        lives::add(&job, &read.threads, &mut sums, recording, living);
        collected.add(ids, groups, &read);
    }
    let owned_waits = owners.finish(&names);
    let chains = following.finish(!owned_waits.is_empty());
    let sampled = match sampling {
        Some(sampling) => sampling.finish(&axis),
        None => sampled::as_one(filter, &aggregate, &axis),
    };
    Findings {
        snapshots: snapshots.finish(),
        sampled,
        interval_ns: sampled::interval_ns(logs, filter, options),
        distributions: distributions(&ranks, &sums),
        phases: phases(&axis, &sums),
        timelines: timelines(&axis, &ranks, &sums),
        time_use: time_use(&ranks, &sums, stopped(logs, &axis, all_pauses.len())),
        thread_blames: thread_blames(&names, &sums.blames),
        owned_waits,
        delays: delays.finish(),
        collected: collected.finish(),
        chains,
        pools: pools::find(logs, &other_waits.judged),
        other_waits,
        for_work,
        near_misses: looking.map(NearMissSearch::finish),
        surveys,
        trace: recorded,
        short_names: ShortNames::of(logs),
        program,
        logs,
        filter,
        aggregate,
        groups,
        axis,
        threads,
        group_times: times.finish(),
    }
}

/// Logs with their numbers, those of a recording one after the other.
fn by_recording<'a>(logs: &'a [Recording], recordings: &[u32]) -> Vec<(usize, &'a Recording, u32)> {
    let of = |run: usize| recordings.get(run).copied().unwrap_or_default();
    let mut all: Vec<_> = logs.iter().enumerate().map(|(run, log)| (run, log, of(run))).collect();
    all.sort_by_key(|&(run, _, recording)| (recording, run));
    all
}

/// Waits over the threshold, by ids of the profile.
struct DelaySums {
    stacks: BTreeMap<u32, Delay>,
    threads: Vec<Delay>,
}

impl DelaySums {
    fn new(profile: &Profile) -> DelaySums {
        let threads = vec![Delay::default(); profile.threads.len()];
        DelaySums { stacks: BTreeMap::new(), threads }
    }

    fn add(&mut self, ids: &LogIds, read: &pass::LogDelays) {
        for (site, delay) in read.delays.iter().enumerate().filter(|(_, delay)| delay.count != 0) {
            if let Some((stack, _, _)) = ids.site(site as u32) {
                *self.stacks.entry(stack).or_default() += *delay;
            }
        }
        for (thread, tally) in read.threads.iter().enumerate() {
            let of_profile = ids.thread(thread as u32);
            if let Some(sum) = of_profile.and_then(|id| self.threads.get_mut(id as usize)) {
                *sum += tally.delay();
            }
        }
    }

    fn finish(self) -> Delays {
        let threads = self.threads.into_iter().enumerate();
        Delays {
            stacks: self.stacks.into_iter().collect(),
            threads: threads
                .filter(|(_, delay)| delay.count != 0)
                .map(|(thread, delay)| (thread as u32, delay))
                .collect(),
        }
    }
}

fn distributions(ranks: &Ranks, sums: &pass::Sums) -> Distributions {
    let histogram = |number: usize| {
        let counts = sums.counts.get(number * histogram::LEN..(number + 1) * histogram::LEN);
        let none = [0; BUCKETS];
        Histogram::new(counts.unwrap_or_default(), sums.folded.get(number).unwrap_or(&none))
    };
    let numbers = ranks.distributions.iter();
    Distributions {
        locks: numbers.map(|(&key, &number)| (key, histogram(number as usize))).collect(),
        rest: histogram(0),
    }
}

fn phases(axis: &Axis, sums: &pass::Sums) -> Vec<Phase> {
    let grid = axis.phases();
    let of = |what: Use| sums.used.of_phases(what);
    let contended = (0..BANDS as u8)
        .map(|band| of(Use::Contended(band)))
        .fold(vec![0u64; grid.len()], |sum, more| {
            sum.iter().zip(more).map(|(sum, more)| sum.saturating_add(more)).collect()
        });
    let series = [of(Use::Lived), of(Use::Idle), contended, of(Use::Withheld)];
    let phase = |step: usize| {
        let (start_ns, end_ns) = grid.bounds(step);
        let duration_ns = end_ns.saturating_sub(start_ns);
        let [thread_ns, idle_ns, contended_ns, withheld_ns] =
            series.each_ref().map(|sums| sums.get(step).copied().unwrap_or(0));
        Phase { start_ns, duration_ns, thread_ns, idle_ns, contended_ns, withheld_ns }
    };
    (0..grid.len()).map(phase).collect()
}

fn timelines(axis: &Axis, ranks: &Ranks, sums: &pass::Sums) -> Timelines {
    let grid = axis.boxes();
    let rows = |ids: &[u32], series: &[Series]| {
        ids.iter().zip(series).map(|(&id, series)| (id, series.sums(&grid))).collect()
    };
    Timelines {
        all: sums.all.sums(&grid),
        locks: rows(&ranks.groups, &sums.locks),
        threads: rows(&ranks.threads, &sums.threads),
    }
}

fn time_use(ranks: &Ranks, sums: &pass::Sums, stopped_ns: Vec<u64>) -> TimeOverRun {
    let of = |what: Use| sums.used.of_boxes(what);
    TimeOverRun {
        lived_ns: of(Use::Lived),
        idle_ns: of(Use::Idle),
        withheld_ns: of(Use::Withheld),
        worst: ranks
            .worst
            .iter()
            .map(|&lock| (lock, of(Use::Contended(ranks.band(lock)))))
            .collect(),
        other_locks_ns: of(Use::Contended(BANDS as u8 - 1)),
        stopped_ns,
        waits: (0..=ranks.groups.len()).map(|row| sums.heat.of(row)).collect(),
    }
}

/// How long the garbage collector had all threads stopped, by box, of those programs
/// in which it did.
fn stopped(logs: &[Recording], axis: &Axis, programs: usize) -> Vec<u64> {
    let grid = axis.boxes();
    let mut sums = Series::new(&grid);
    for log in logs {
        let clock = Clock::new(log, axis);
        for pause in log.collections() {
            sums.add_span(&grid, clock.at(pause.start_ns), clock.at(pause.end_ns));
        }
    }
    sums.sums(&grid).iter().map(|ns| ns / programs.max(1) as u64).collect()
}

fn thread_blames(groups: &ThreadGroups, blames: &Blames) -> Vec<ThreadBlame> {
    let row = |(&(holders, waiters, group, kind), delay): (&(u32, u32, u32, u8), &Delay)| {
        let (holders, waiters) = (groups.name(holders), groups.name(waiters));
        ThreadBlame { holders, waiters, group, kind, count: delay.count, blamed_ns: delay.wait_ns }
    };
    let mut rows: Vec<ThreadBlame> = blames.iter().map(row).collect();
    rows.sort_unstable();
    rows
}

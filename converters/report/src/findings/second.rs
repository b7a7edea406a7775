//! The second pass: what is hot is known from the profile, so only what will be
//! shown is counted, and memory does not grow with what was recorded.

use super::{
    Delay, Delays, Distributions, Findings, Groups, Histogram, Phase, ThreadBlame, Threads,
    Timelines, axis::Axis, histogram, lives, owners::AllOwners, pass, sampled, trace,
};
use crate::Options;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
};
use tyrion_converters::{aggregate::Aggregate, filter::Filter, profile::Profile};
use tyrion_formats::Recording;
use tyrion_wire::{WaitKind, cell::BUCKETS};

/// So many lock groups and kinds have a distribution of their own.
const MAX_DISTRIBUTIONS: usize = 2_000;
/// So many rows has a timeline at most.
const MAX_ROWS: usize = 200;
/// Stands for what is not shown.
pub(super) const NONE: u32 = u32::MAX;

/// Whether sections about waits show those of this kind.
pub(super) fn shows(filter: &Filter, kind: WaitKind) -> bool {
    let about_locks = |kind: WaitKind| kind.is_contention() || kind == WaitKind::LockReacquire;
    let asked = |kind: &WaitKind| filter.kinds.contains(*kind);
    let any_about_locks = WaitKind::ALL.into_iter().filter(asked).any(about_locks);
    filter.kinds.contains(kind) && (about_locks(kind) || !any_about_locks)
}

/// What is counted apart.
pub(super) struct Ranks {
    /// Lock groups and kinds with a distribution of their own, and its number;
    /// number 0 is that of all others.
    pub(super) distributions: HashMap<(u32, WaitKind), u16>,
    /// The lock groups of the timeline.
    pub(super) groups: Vec<u32>,
    /// The threads of the timeline, by their ids in the profile.
    pub(super) threads: Vec<u32>,
}

impl Ranks {
    fn new(profile: &Profile, groups: &Groups, filter: &Filter, top: usize) -> Ranks {
        let mut kinds: HashMap<(u32, WaitKind), u64> = HashMap::new();
        let mut of_group = vec![0u64; groups.len()];
        let mut of_thread = vec![0u64; profile.threads.len()];
        for wait in profile.waits.iter().filter(|wait| shows(filter, wait.kind)) {
            let group = groups.of(wait.lock);
            let kind = kinds.entry((group, wait.kind)).or_default();
            let sums = [
                Some(kind),
                of_group.get_mut(group as usize),
                of_thread.get_mut(wait.thread as usize),
            ];
            for sum in sums.into_iter().flatten() {
                *sum = sum.saturating_add(wait.wait_ns);
            }
        }
        let mut kinds: Vec<_> = kinds.into_iter().collect();
        kinds.sort_unstable_by_key(|(key, ns)| (Reverse(*ns), *key));
        kinds.truncate(MAX_DISTRIBUTIONS);
        let numbered = kinds.into_iter().zip(1..);
        let rows = if top == 0 { MAX_ROWS } else { top.min(MAX_ROWS) };
        Ranks {
            distributions: numbered.map(|((key, _), number)| (key, number)).collect(),
            groups: hottest(&of_group, rows),
            threads: hottest(&of_thread, rows),
        }
    }
}

/// The places of the greatest numbers that are not 0, the greatest first.
fn hottest(sums: &[u64], most: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..sums.len() as u32).collect();
    order.retain(|&at| sums[at as usize] != 0);
    order.sort_by_key(|&at| (Reverse(sums[at as usize]), at));
    order.truncate(most);
    order
}

/// The groups of threads by name, over all logs.
#[derive(Default)]
pub(super) struct ThreadGroups {
    ids: HashMap<String, u32>,
    names: Vec<String>,
}

impl ThreadGroups {
    pub(super) fn id(&mut self, name: String) -> u32 {
        let names = &mut self.names;
        *self.ids.entry(name).or_insert_with_key(|name| {
            names.push(name.clone());
            names.len() as u32 - 1
        })
    }

    pub(super) fn name(&self, id: u32) -> String {
        self.names.get(id as usize).cloned().unwrap_or_default()
    }
}

/// Charged waits by the thread groups of holder and waiter, lock group, and
/// code of the kind.
pub(super) type Blames = HashMap<(u32, u32, u32, u8), Delay>;

/// Reads the logs once more.
pub(super) fn find<'a>(
    logs: &'a [Recording],
    filter: &'a Filter,
    options: &Options,
    aggregate: Aggregate,
    progress: &(dyn Fn(u64) + Sync),
) -> Findings<'a> {
    let groups = Groups::new(&aggregate.profile);
    let axis = Axis::of(logs, filter, options.phase_ns);
    let ranks = Ranks::new(&aggregate.profile, &groups, filter, options.top);
    let mut sums = pass::Sums::new(&axis, &ranks);
    let mut delays = DelaySums::new(&aggregate.profile);
    let mut threads = Threads::default();
    let (recordings, mut people) = (trace::recordings(logs), lives::People::new());
    let mut names = ThreadGroups::default();
    let mut recorded = trace::Recorded::default();
    let mut owners = AllOwners::default();
    for (run, log) in logs.iter().enumerate() {
        let Some(ids) = aggregate.ids.get(run) else { continue };
        let (groups, axis, ranks) = (&groups, &axis, &ranks);
        let is_whole = aggregate.damage.is_empty();
        let job = pass::Job { log, ids, filter, groups, axis, ranks, is_whole };
        let read = job.run(&mut names, &mut sums, progress);
        delays.add(ids, &read);
        owners.add(ids, groups, &read.owners);
        let recording = recordings.get(run).copied().unwrap_or_default();
        lives::add(&job, &read.threads, &mut sums, (&mut threads, recording, &mut people));
        recorded.add(run as u32, read.collectors);
    }
    Findings {
        sampled: sampled::find(logs, filter, options, &aggregate, &axis),
        interval_ns: sampled::interval_ns(logs, filter, options),
        distributions: distributions(&ranks, &sums),
        phases: phases(&axis, &sums),
        timelines: timelines(&axis, &ranks, &sums),
        thread_blames: thread_blames(&names, &sums.blames),
        owned_waits: owners.finish(&names),
        delays: delays.finish(),
        trace: recorded,
        logs,
        filter,
        aggregate,
        groups,
        axis,
        threads,
    }
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

    fn add(&mut self, ids: &tyrion_converters::aggregate::LogIds, read: &pass::Read<'_>) {
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
    let [thread_ns, idle_ns, contended_ns] =
        [&sums.lived, &sums.idle, &sums.contended].map(|series| series.sums(&grid));
    let amounts = thread_ns.into_iter().zip(idle_ns).zip(contended_ns).enumerate();
    amounts
        .map(|(step, ((thread_ns, idle_ns), contended_ns))| {
            let (start_ns, end_ns) = grid.bounds(step);
            let duration_ns = end_ns.saturating_sub(start_ns);
            Phase { start_ns, duration_ns, thread_ns, idle_ns, contended_ns }
        })
        .collect()
}

fn timelines(axis: &Axis, ranks: &Ranks, sums: &pass::Sums) -> Timelines {
    let grid = axis.boxes();
    let rows = |ids: &[u32], series: &[super::axis::Series]| {
        ids.iter().zip(series).map(|(&id, series)| (id, series.sums(&grid))).collect()
    };
    Timelines {
        all: sums.all.sums(&grid),
        locks: rows(&ranks.groups, &sums.locks),
        threads: rows(&ranks.threads, &sums.threads),
    }
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

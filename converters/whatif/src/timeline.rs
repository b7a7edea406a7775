//! Makes the steps of a thread's script from its records.

use crate::{
    holds::{self, ThreadHolds},
    locks::{Locks, NONE},
    records::{Hold, ThreadSample, Wait, is_for_lock},
    script::{Step, ThreadScript, What},
    tally::{SnapshotTally, Tallies},
};
use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
    ops::Range,
};

/// The records of one thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadRecords<'a> {
    pub(crate) thread: u32,
    pub(crate) life: &'a Range<u64>,
    pub(crate) holds: &'a [Hold],
    pub(crate) waits: &'a [Wait],
    pub(crate) seen: &'a [ThreadSample],
    /// Waits without a record of their own: lock, and total duration, in ns.
    pub(crate) folded: &'a [(u32, u32, u64)],
}

/// A part of a thread's time of which only the duration is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    /// The innermost lock that was held, or [`NONE`].
    pub(crate) lock: u32,
}

/// What samples show about a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadSamples {
    /// The same for threads whose names differ only in a number: they do the same work.
    pub(crate) group: u32,
    pub(crate) tallies: Tallies,
    /// The real time that they represent, and the CPU time used in it.
    pub(crate) wall_ns: u64,
    pub(crate) cpu_ns: u64,
}

/// A thread's share of a replay.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) part: ThreadScript,
    pub(crate) gaps: Vec<Gap>,
    pub(crate) sampled: ThreadSamples,
    /// By lock: the times of releases, and of the ends of waits.
    pub(crate) releases: Vec<(u32, u64)>,
    pub(crate) grants: Vec<(u32, u64)>,
    /// How often each lock was taken.
    pub(crate) taken: Vec<u32>,
}

/// Between the end of a wait and the beginning of its hold the agent writes a record: a
/// time of up to this is not the program's.
const RECORDING_NS: u64 = 20_000;

/// What happens at a time. The order is that of events at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ThreadEvent {
    Release,
    Acquire {
        place: u64,
        is_shared: bool,
        waited: bool,
    },
    /// Time that the replay determines anew.
    Skip {
        until_ns: u64,
    },
    Wait {
        until_ns: u64,
    },
    /// Of a hold that ended at the time at which it began.
    ReleaseAtOnce,
}

/// A time, an event, what orders equal ones, and the lock.
type Item = (u64, ThreadEvent, Reverse<u64>, u32);

/// Makes the steps of one thread.
pub(crate) fn line(of: &ThreadRecords<'_>, locks: &Locks, time: &Range<u64>) -> Line {
    let held = holds::held(of.holds, of.waits, locks);
    let acquired = holds::acquired(&held.spans, of.waits, locks);
    let mut items = Vec::with_capacity(2 * held.spans.len() + of.waits.len());
    let mut grants = Vec::new();
    let mut begins: Vec<u64> = held.spans.iter().map(|span| span.start_ns).collect();
    for (wait, span) in of.waits.iter().zip(&acquired) {
        if let Some(at) = *span {
            let span = &held.spans[at];
            begins[at] = wait.start_ns;
            grants.push((span.lock, wait.end_ns));
            let late_ns = span.start_ns.saturating_sub(wait.end_ns);
            let until_ns = wait.end_ns + if late_ns <= RECORDING_NS { late_ns } else { 0 };
            items.push((wait.start_ns, ThreadEvent::Skip { until_ns }, Reverse(0), span.lock));
        }
    }
    add_holds(&held, &begins, &acquired, &mut items);
    add_waits(of.waits, &acquired, &held, locks, &mut items);
    items.sort_unstable();
    let life = of.life.start.clamp(time.start, time.end)..of.life.end.clamp(time.start, time.end);
    let mut sweep = Sweep::new(life.clone(), &held.private_ns);
    sweep.short_waits = short_waits(of, locks, &held, &acquired);
    items.iter().filter(|item| item.0 < time.end).for_each(|item| sweep.item(item));
    sweep.gap_until(life.end);
    let mut releases: Vec<(u32, u64)> =
        held.spans.iter().map(|span| (span.lock, span.end_ns)).collect();
    releases.extend(held.breaks.iter().map(|one| (one.lock, one.start_ns)));
    let inside = held.spans.iter().filter(|span| time.contains(&span.end_ns));
    let sampled = sampled(of.seen, &sweep.gaps);
    Line {
        taken: inside.map(|span| span.lock).collect(),
        part: ThreadScript { thread: of.thread, life, steps: sweep.steps },
        gaps: sweep.gaps,
        sampled,
        releases,
        grants,
    }
}

fn add_holds(
    held: &ThreadHolds,
    begins: &[u64],
    acquired: &[Option<usize>],
    items: &mut Vec<Item>,
) {
    let waited: HashSet<usize> = acquired.iter().flatten().copied().collect();
    for (nth, (span, &start_ns)) in held.spans.iter().zip(begins).enumerate() {
        let start_ns = start_ns.min(span.end_ns);
        let (place, is_shared) = (span.place.into(), span.is_shared);
        let taken = ThreadEvent::Acquire { place, is_shared, waited: waited.contains(&nth) };
        items.push((start_ns, taken, Reverse(span.end_ns), span.lock));
        let left =
            if start_ns == span.end_ns { ThreadEvent::ReleaseAtOnce } else { ThreadEvent::Release };
        items.push((span.end_ns, left, Reverse(start_ns), span.lock));
    }
    for one in held.breaks.iter().filter(|one| one.start_ns < one.end_ns) {
        let place = one.place.into();
        let again = ThreadEvent::Acquire { place, is_shared: false, waited: true };
        items.push((one.start_ns, ThreadEvent::Release, Reverse(one.start_ns), one.lock));
        items.push((one.end_ns, again, Reverse(one.end_ns), one.lock));
    }
}

fn add_waits(
    waits: &[Wait],
    acquired: &[Option<usize>],
    held: &ThreadHolds,
    locks: &Locks,
    items: &mut Vec<Item>,
) {
    let resumed: HashSet<u64> = held.breaks.iter().map(|one| one.end_ns).collect();
    for (nth, wait) in waits.iter().enumerate() {
        if acquired[nth].is_some() {
            continue;
        }
        let again = resumed.contains(&wait.start_ns);
        let until_ns = wait.end_ns;
        let is_for_lock = is_for_lock(wait.kind);
        let event = match again && is_for_lock {
            // The lock is taken again after a condition, which is replayed.
            true => ThreadEvent::Skip { until_ns },
            false => ThreadEvent::Wait { until_ns },
        };
        // Who holds such a lock is not known, so the wait keeps its duration.
        let lock = if is_for_lock && wait.granted { locks.of_id(wait.lock) } else { None };
        let lock = lock.filter(|&lock| locks.is_untraced(lock)).unwrap_or(NONE);
        items.push((wait.start_ns, event, Reverse(0), lock));
    }
}

/// By lock: how long a thread waited, on average, before an acquisition whose wait has no
/// record, in ns.
fn short_waits(
    of: &ThreadRecords<'_>,
    locks: &Locks,
    held: &ThreadHolds,
    acquired: &[Option<usize>],
) -> HashMap<u32, u64> {
    let mut sums: HashMap<u32, u64> = HashMap::new();
    for &(_, lock, ns) in of.folded {
        if let Some(lock) = locks.of_id(lock) {
            let sum = sums.entry(lock).or_default();
            *sum = sum.saturating_add(ns);
        }
    }
    if sums.is_empty() {
        return sums;
    }
    let mut free: HashMap<u32, u64> = HashMap::new();
    held.spans.iter().for_each(|span| *free.entry(span.lock).or_default() += 1);
    for at in acquired.iter().flatten() {
        if let Some(count) = free.get_mut(&held.spans[*at].lock) {
            *count -= 1;
        }
    }
    sums.retain(|lock, ns| {
        *ns = ns.checked_div(free.get(lock).copied().unwrap_or(0)).unwrap_or(0);
        *ns != 0
    });
    sums
}

/// Goes through the events of a thread.
struct Sweep<'a> {
    at_ns: u64,
    life: Range<u64>,
    steps: Vec<Step>,
    gaps: Vec<Gap>,
    held: Vec<u32>,
    private_ns: &'a [u64],
    /// Probes since the last gap.
    probes: u64,
    /// By lock: which part of the gap before its acquisition is a wait, in ns.
    short_waits: HashMap<u32, u64>,
}

impl<'a> Sweep<'a> {
    fn new(life: Range<u64>, private_ns: &'a [u64]) -> Sweep<'a> {
        let before = private_ns.partition_point(|&ns| ns <= life.start);
        let private_ns = &private_ns[before..];
        let (steps, gaps, held, short_waits) = Default::default();
        Sweep { at_ns: life.start, life, steps, gaps, held, private_ns, probes: 0, short_waits }
    }

    fn item(&mut self, &(at_ns, event, _, lock): &Item) {
        self.gap_until(at_ns);
        match event {
            ThreadEvent::Acquire { place, is_shared, waited } => {
                self.probes += 1;
                if !waited {
                    self.take_short_wait(lock);
                }
                self.held.push(lock);
                let what = What::Acquire;
                self.steps.push(Step { what, is_shared, probes: 0, lock, amount: place });
            }
            ThreadEvent::Release | ThreadEvent::ReleaseAtOnce => {
                self.probes += 1;
                if let Some(at) = self.held.iter().rposition(|&held| held == lock) {
                    self.held.remove(at);
                    let what = What::Release;
                    self.steps.push(Step { what, is_shared: false, probes: 0, lock, amount: 0 });
                }
            }
            ThreadEvent::Skip { until_ns } => self.at_ns = self.at_ns.max(until_ns),
            ThreadEvent::Wait { until_ns } => {
                let until_ns = until_ns.min(self.life.end);
                if until_ns > self.at_ns {
                    self.steps.push(Step::wait(until_ns - self.at_ns, lock));
                    self.at_ns = until_ns;
                }
            }
        }
    }

    /// Part of the gap that has just ended was a wait for a lock that was too short for a
    /// record of its own.
    fn take_short_wait(&mut self, lock: u32) {
        let Some(&ns) = self.short_waits.get(&lock) else { return };
        if let Some(gap) = self.steps.last_mut().filter(|step| step.what == What::Gap) {
            gap.amount -= ns.min(gap.amount);
        }
    }

    /// What the thread did up to this time is not known.
    fn gap_until(&mut self, end_ns: u64) {
        let end_ns = end_ns.min(self.life.end);
        if end_ns <= self.at_ns {
            return;
        }
        let private = self.private_ns.partition_point(|&ns| ns <= end_ns);
        self.private_ns = &self.private_ns[private..];
        let probes = (2 * private as u64).saturating_add(self.probes);
        self.probes = 0;
        let lock = self.held.last().copied().unwrap_or(NONE);
        self.gaps.push(Gap { start_ns: self.at_ns, end_ns, lock });
        self.steps.push(Step {
            what: What::Gap,
            is_shared: false,
            probes: u16::try_from(probes).unwrap_or(u16::MAX),
            lock,
            amount: end_ns - self.at_ns,
        });
        self.at_ns = end_ns;
    }
}

/// What samples show about a thread where there are no other records.
fn sampled(seen: &[ThreadSample], gaps: &[Gap]) -> ThreadSamples {
    let mut sampled = ThreadSamples::default();
    for one in seen {
        sampled.wall_ns = sampled.wall_ns.saturating_add(one.wall_ns);
        sampled.cpu_ns = sampled.cpu_ns.saturating_add(one.cpu_ns);
        let Some(computes) = one.computes else { continue };
        let next = gaps.partition_point(|gap| gap.end_ns < one.at_ns);
        let Some(gap) = gaps.get(next).filter(|gap| gap.start_ns <= one.at_ns) else { continue };
        let tally = match computes {
            true => SnapshotTally { computes: one.count, rests: 0 },
            false => SnapshotTally { computes: 0, rests: one.count },
        };
        sampled.tallies.add(gap.lock, tally);
    }
    sampled
}

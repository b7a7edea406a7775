//! From logs to what can be replayed.

use crate::{
    estimated, handovers,
    locks::{GroupOf, Locks},
    numbers::{Numbers, UNKNOWN},
    occupancy::Occupancy,
    records::{Hold, Records, is_for_lock},
    replay::{Looks, ReplayInput},
    script::{self, Script},
    survey::LogSurvey,
    timeline::{self, Line, ThreadRecords, ThreadSamples},
    totals::RecordingTotals,
    window,
};
use rayon::prelude::*;
use std::{collections::BTreeMap, ops::Range, sync::OnceLock};
use tyrion_formats::{HoldMode, Recording};
use tyrion_wire::trace::USUAL_PAIR_NS;

/// One in this many acquisitions may lie before or after the replayed time, such as those
/// of a program's start and end.
const OUTSIDE: usize = 200;

/// In so many parts the change is replayed once more, to see how much they differ.
const WINDOWS: u64 = 4;

/// Collects everything that a replay needs.
///
/// # Errors
/// The reason why these logs cannot be replayed, as a clause.
pub(crate) fn recorded(
    (logs, surveys): (&[Recording], &[LogSurvey]),
    numbers: &Numbers,
    totals: &RecordingTotals,
    group_of: GroupOf<'_>,
) -> Result<ReplayInput, String> {
    let has_all = |log: &Recording| {
        log.is_trace() && log.has_every_event() && log.hold_mode() == HoldMode::All
    };
    let is_estimated = logs.iter().all(|log| !log.is_trace() && log.has_holders());
    let recorded = match is_estimated {
        true => totals.times.clone(),
        false if logs.iter().all(has_all) => {
            logs.iter().flat_map(Recording::recorded_acquisitions).collect()
        }
        false => return Err("it was not recorded with --mode trace --events all".to_owned()),
    };
    let whole = window::choose(logs, surveys, recorded).ok_or("nothing was recorded of locks")?;
    let mut records = Records::read((logs, surveys), numbers, &whole);
    if is_estimated {
        estimated::add_holds(logs, &mut records);
    }
    let mut locks = Locks::new(logs, numbers, &records, group_of);
    // Of semaphores and readers only waits are known.
    let time = busy(&records.holds, &locks, &whole).or(is_estimated.then_some(whole));
    let time = time.ok_or("no lock was used by several threads")?;
    let lines = lines(&records, numbers, &locks, &time);
    let occupancy = Occupancy::new(lines.iter().flat_map(|line| &line.gaps));
    handovers::find(&lines, &mut locks, &occupancy, totals.processors);
    let of_thread: BTreeMap<u32, ThreadSamples> =
        lines.iter().map(|line| (line.part.thread, line.sampled.clone())).collect();
    let of = Preparation { numbers, totals, locks: &locks, of_thread: &of_thread };
    let parts = windows(&time, lines.iter().map(|line| line.taken.len()).sum());
    let windows = parts.into_par_iter().map(|part| {
        let records = records.within(&part);
        of.recorded(&records, self::lines(&records, numbers, &locks, &part), part)
    });
    let windows = windows.collect();
    let mut recorded = of.recorded(&records, lines, time);
    (recorded.windows, recorded.places) = (windows, records.places);
    Ok(recorded)
}

/// Equal parts of the time; none if too little happened in them.
fn windows(time: &Range<u64>, taken: usize) -> Vec<Range<u64>> {
    let part_ns = (time.end - time.start) / WINDOWS;
    if taken < LEAST_OF_WINDOWS || part_ns == 0 {
        return Vec::new();
    }
    let start = |nth: u64| time.start + nth * part_ns;
    (0..WINDOWS).map(|nth| start(nth)..start(nth + 1)).collect()
}

/// With fewer acquisitions, parts differ by chance.
const LEAST_OF_WINDOWS: usize = 400;

/// What is the same for the whole recording and for its parts.
struct Preparation<'a> {
    numbers: &'a Numbers,
    totals: &'a RecordingTotals,
    locks: &'a Locks,
    /// What samples show about each thread.
    of_thread: &'a BTreeMap<u32, ThreadSamples>,
}

impl Preparation<'_> {
    fn recorded(&self, records: &Records, lines: Vec<Line>, time: Range<u64>) -> ReplayInput {
        let Preparation { numbers, totals, locks, of_thread } = *self;
        let occupancy = Occupancy::new(lines.iter().flat_map(|line| &line.gaps));
        let (taken, taken_virtually) = taken(records, &lines, numbers, locks, &time);
        let parts = lines.into_iter().map(|line| line.part).collect();
        let scripts = script::scripts(parts, &time);
        let sampled = sampled(&scripts, numbers, of_thread);
        let part = (time.end - time.start) as f64 / totals.recorded_ns.max(1) as f64;
        ReplayInput {
            scripts,
            locks: locks.clone(),
            occupancy,
            sampled,
            looks: looks(records, locks),
            taken,
            taken_virtually,
            cpu_ns: totals.cpu_ns.map(|ns| ns as f64 * part.min(1.0)),
            processors: totals.processors,
            others: totals.others,
            probe_ns: match records.places {
                Some(_) => 0.0,
                None => totals.pair_ns.unwrap_or(USUAL_PAIR_NS) as f64 / 2.0,
            },
            time,
            windows: Vec::new(),
            places: None,
            unchanged: OnceLock::new(),
            usual: OnceLock::new(),
            probed: OnceLock::new(),
        }
    }
}

/// By lock: what looks at its owners have seen.
fn looks(records: &Records, locks: &Locks) -> Vec<Looks> {
    let mut looks = vec![Looks::default(); locks.list.len()];
    for look in &records.looked {
        let Some(sum) = locks.of_id(look.lock).and_then(|at| looks.get_mut(at as usize)) else {
            continue;
        };
        sum.count += 1;
        let ns = look.stands_for_ns;
        match look.computes {
            Some(true) => sum.computes_ns = sum.computes_ns.saturating_add(ns),
            Some(false) => sum.rests_ns = sum.rests_ns.saturating_add(ns),
            None => {}
        }
    }
    for (at, waited_ns) in waited(records, locks).into_iter().enumerate() {
        looks[at].waited_ns = waited_ns;
    }
    looks
}

/// By lock: how long anybody waited for it, in ns.
fn waited(records: &Records, locks: &Locks) -> Vec<u64> {
    let mut waits: Vec<(u64, u64, u32)> = records
        .waits
        .iter()
        .filter(|wait| is_for_lock(wait.kind))
        .filter_map(|wait| Some((wait.start_ns, wait.end_ns, locks.of_id(wait.lock)?)))
        .collect();
    waits.par_sort_unstable();
    let mut until_ns = vec![0; locks.list.len()];
    let mut waited = vec![0u64; locks.list.len()];
    for (start_ns, end_ns, lock) in waits {
        let until_ns = &mut until_ns[lock as usize];
        waited[lock as usize] += end_ns.saturating_sub(start_ns.max(*until_ns));
        *until_ns = end_ns.max(*until_ns);
    }
    waited
}

/// The time in which nearly all holds of locks ended that several threads used.
fn busy(holds: &[Hold], locks: &Locks, whole: &Range<u64>) -> Option<Range<u64>> {
    let of_several = holds.iter().filter(|hold| locks.of_hold(hold).is_some());
    let mut ends: Vec<u64> = of_several.map(|hold| hold.end_ns).collect();
    ends.par_sort_unstable();
    let outside = ends.len() / OUTSIDE;
    let (first, last) = (*ends.get(outside)?, *ends.get(ends.len().checked_sub(outside + 1)?)?);
    let time = first.max(whole.start)..last.min(whole.end).saturating_add(1);
    (time.start < time.end).then_some(time)
}

/// What threads did that took locks or were seen computing, in the order of their
/// numbers.
fn lines(records: &Records, numbers: &Numbers, locks: &Locks, time: &Range<u64>) -> Vec<Line> {
    let threads: Vec<u32> = (UNKNOWN + 1..numbers.threads.len() as u32).collect();
    let lines = threads.par_iter().filter_map(|&thread| {
        let known = &numbers.threads[thread as usize];
        if known.is_all_virtual {
            return None;
        }
        let holds = of_thread(&records.holds, thread, |hold| hold.thread);
        let waits = of_thread(&records.waits, thread, |wait| wait.thread);
        let seen = of_thread(&records.seen, thread, |seen| seen.thread);
        let folded = of_thread(&records.folded, thread, |folded| folded.0);
        if holds.is_empty() && !waits.iter().any(|wait| is_for_lock(wait.kind)) {
            seen.iter().find(|seen| seen.computes == Some(true))?;
        }
        let of = ThreadRecords { thread, life: &known.life, holds, waits, seen, folded };
        Some(timeline::line(&of, locks, time))
    });
    lines.collect()
}

/// The part of a sorted list that belongs to one thread.
fn of_thread<T>(list: &[T], thread: u32, number: impl Fn(&T) -> u32) -> &[T] {
    let from = list.partition_point(|one| number(one) < thread);
    let to = from + list[from..].partition_point(|one| number(one) == thread);
    &list[from..to]
}

/// How often each lock was taken, by threads that can be replayed and by others; for a
/// lock of which only waits are known, the number of waits.
fn taken(
    records: &Records,
    lines: &[Line],
    numbers: &Numbers,
    locks: &Locks,
    time: &Range<u64>,
) -> (Vec<u64>, Vec<u64>) {
    let mut taken = vec![0; locks.list.len()];
    let mut virtually = vec![0; locks.list.len()];
    for &lock in lines.iter().flat_map(|line| &line.taken) {
        taken[lock as usize] += 1;
    }
    let waits = records.waits.iter().filter(|wait| wait.granted && time.contains(&wait.end_ns));
    for wait in waits.filter(|wait| is_for_lock(wait.kind)) {
        if let Some(lock) = locks.of_id(wait.lock).filter(|&lock| locks.is_untraced(lock)) {
            taken[lock as usize] += 1;
        }
    }
    for hold in &records.holds {
        let is_virtual =
            numbers.threads.get(hold.thread as usize).is_some_and(|of| of.is_all_virtual);
        if let Some(lock) = locks.of_hold(hold).filter(|_| is_virtual) {
            virtually[lock as usize] += 1;
        }
    }
    (taken, virtually)
}

/// What samples show about each script.
fn sampled(
    scripts: &[Script],
    numbers: &Numbers,
    of_thread: &BTreeMap<u32, ThreadSamples>,
) -> Vec<ThreadSamples> {
    let mut groups: BTreeMap<&str, u32> = BTreeMap::new();
    let of_script = |script: &Script| {
        let first = script.threads.first().and_then(|&at| numbers.threads.get(at as usize));
        let next = groups.len() as u32;
        let group = *groups.entry(first.map_or("", |thread| &thread.group)).or_insert(next);
        ThreadSamples { group, ..merged(&script.threads, of_thread) }
    };
    scripts.iter().map(of_script).collect()
}

/// What samples show about several threads together.
fn merged(threads: &[u32], of_thread: &BTreeMap<u32, ThreadSamples>) -> ThreadSamples {
    let mut all = ThreadSamples::default();
    for sampled in threads.iter().filter_map(|thread| of_thread.get(thread)) {
        all.wall_ns = all.wall_ns.saturating_add(sampled.wall_ns);
        all.cpu_ns = all.cpu_ns.saturating_add(sampled.cpu_ns);
        all.tallies.merge([&sampled.tallies]);
    }
    all
}

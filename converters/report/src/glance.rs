//! What the first screen of the page shows beside the verdict: what the threads' time
//! went into, and the locks that cost most.

mod still;

use crate::{
    findings::{Findings, thread_group},
    sections::blockers::{self, Blocked},
};
use std::{cmp::Reverse, collections::BTreeMap};
use tyrion_model::harmless;

/// So many locks fit below the picture.
const MOST_LOCKS: usize = 6;
/// So many locks are told apart where single waits are shown.
const MOST_HEAT: usize = 12;
/// More bands between holders and waiters would be threads.
const MOST_BLOCKS: usize = 16;

/// The section that the picture of who waited for whom is part of.
pub const BLOCKS_IN: &str = blockers::SECTION.name;

/// What the top of the picture can stand for, as a share of the threads in percent: the
/// least that all but idle threads have room below.
const SCALES: [u64; 6] = [2, 5, 10, 25, 50, 100];
/// One box in so many may have more than that, which is cut off.
const CUT_OFF: usize = 20;

/// The first screen, but for the verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Glance {
    /// The Unix time of its beginning, in ns.
    pub start_wall_ns: u64,
    /// The duration that each box stands for, in ns.
    pub box_ns: u64,
    /// The same of each phase, in ns.
    pub phase_ns: u64,
    /// How long threads lived in each box, in ns.
    pub lived_ns: Vec<u64>,
    /// What they did in that time: together all of it.
    pub bands: Vec<Band>,
    /// How long the garbage collector had them stopped in each box, in ns; empty if no log
    /// tells.
    pub stopped_ns: Vec<u64>,
    /// The locks with the most wait, most first.
    pub locks: Vec<GlanceLock>,
    /// How long waits took over time, by lock; what none is told apart for has no label.
    pub heat: Vec<Heat>,
    /// Who waited for whom, longest first.
    pub blocks: Vec<Block>,
    /// How long those waited that have no row of their own there, in ns.
    pub other_blocks_ns: u64,
}

/// Waits of the threads of one group for a lock that those of another had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Who had the lock.
    pub holders: String,
    /// Who waited.
    pub waiters: String,
    /// What the lock is called.
    pub label: String,
    /// Its place among the worst, by which it is coloured.
    pub place: Option<usize>,
    /// How long they waited, in ns.
    pub ns: u64,
}

/// How long waits for a lock took over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heat {
    /// The lock.
    pub label: String,
    /// Box, the power of two of the durations in ns, and how many waits ended there.
    pub waits: Vec<(usize, u32, u64)>,
}

/// What threads did with a part of their time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Band {
    /// What it was.
    pub what: Doing,
    /// How long in each box, in ns.
    pub ns: Vec<u64>,
}

/// What threads can do with their time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Waiting for one of the worst locks: its place among them, and its label.
    Lock(usize, String),
    /// Waiting for another lock.
    OtherLocks,
    /// Being kept from work by waits that are for no lock.
    Withheld,
    /// Anything else than waiting.
    Ran,
    /// Waiting for something to happen.
    Idle,
}

/// A lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GlanceLock {
    /// What it is called.
    pub label: String,
    /// Its place among the worst, by which it is coloured.
    pub place: Option<usize>,
    /// How long threads waited for it, in ns.
    pub wait_ns: u64,
    /// How long it was held, in ns, if that was measured.
    pub hold_ns: Option<u64>,
    /// How long threads waited in each box, in ns.
    pub over_time_ns: Vec<u64>,
    /// Who waited longest.
    pub waiter: Most,
    /// For whom others waited longest.
    pub holder: Most,
    /// Who waited when the recording ended, whose waits are in none of these sums.
    pub still: Still,
}

/// Threads whose waits had not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Still {
    /// How many.
    pub threads: u64,
    /// How long the longest had waited, in ns.
    pub longest_ns: u64,
    /// How long all of them, in ns.
    pub all_ns: u64,
}

/// Those of a group of threads that have most of something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Most {
    /// Their name; empty if nobody is known.
    pub name: String,
    /// Their part in percent.
    pub percent: u64,
}

impl Glance {
    /// From what was found; `None` where no log tells when threads waited, or none did.
    pub fn of(findings: &Findings<'_>) -> Option<Glance> {
        if findings.lacks_times() || findings.lacks_durations() {
            return None;
        }
        let bands = bands(findings);
        let is_any = |band: &Band| !matches!(band.what, Doing::Ran | Doing::Idle);
        if bands.iter().filter(|band| is_any(band)).all(|band| band.ns.iter().all(|ns| *ns == 0)) {
            return None;
        }
        let time = &findings.time_use;
        let stopped = time.stopped_ns.iter().any(|ns| *ns != 0);
        let (blocks, other_blocks_ns) = blocks(findings);
        Some(Glance {
            start_wall_ns: findings.axis.start_wall_ns,
            box_ns: findings.axis.box_ns,
            phase_ns: findings.axis.phase_ns,
            lived_ns: time.lived_ns.clone(),
            bands,
            stopped_ns: if stopped { time.stopped_ns.clone() } else { Vec::new() },
            locks: still::with_those_that_wait(findings, locks(findings)),
            heat: heat(findings),
            blocks,
            other_blocks_ns,
        })
    }

    /// How long threads waited for a lock in each box, in ns: with the waits that had not ended,
    /// of a lock that has a colour.
    pub fn over_time<'g>(&'g self, lock: &'g GlanceLock) -> &'g [u64] {
        let is_it = |band: &&Band| matches!(&band.what, Doing::Lock(_, of) if *of == lock.label);
        let band = self.bands.iter().find(is_it).filter(|_| lock.still.threads != 0);
        band.map_or(&lock.over_time_ns, |band| &band.ns)
    }

    /// Which share of all time in which threads lived this is.
    pub fn share(&self, ns: &[u64]) -> f64 {
        sum(ns) as f64 / sum(&self.lived_ns).max(1) as f64
    }

    /// What threads did, in words; of a lock its label.
    pub fn words<'g>(&self, what: &'g Doing) -> &'g str {
        let is_named = |band: &Band| matches!(band.what, Doing::Lock(..));
        match what {
            Doing::Lock(_, label) => label,
            // No wait of a deadlock ends, so that none of its locks is among the worst.
            Doing::OtherLocks if !self.bands.iter().any(is_named) => "waited for locks",
            Doing::OtherLocks => "waited for other locks",
            Doing::Withheld => "kept from work",
            Doing::Ran => "ran or did I/O",
            Doing::Idle => "idle",
        }
    }

    /// The share of the threads that the top of the picture stands for, in percent.
    pub fn scale(&self) -> u64 {
        let busy = self.bands.iter().filter(|band| band.what != Doing::Idle);
        let mut sums = vec![0u64; self.lived_ns.len()];
        for band in busy {
            sums.iter_mut().zip(&band.ns).for_each(|(sum, ns)| *sum = sum.saturating_add(*ns));
        }
        let is_above = |sum: u64, lived: u64, scale: u64| {
            u128::from(sum) * 100 > u128::from(lived) * u128::from(scale)
        };
        // A few moments, such as the program's start, must not make all others small.
        let fits = |scale: u64| {
            let boxes = sums.iter().zip(&self.lived_ns);
            let above = boxes.filter(|(sum, lived)| is_above(**sum, **lived, scale)).count();
            above * CUT_OFF <= sums.len()
        };
        SCALES.into_iter().find(|scale| fits(*scale)).unwrap_or(100)
    }
}

/// A duration of many parts.
pub(crate) fn sum(ns: &[u64]) -> u64 {
    ns.iter().fold(0, |sum, ns| sum.saturating_add(*ns))
}

/// What a lock is called where its class is told elsewhere: it says little to those who know
/// the name.
pub(crate) fn short_label(label: &str) -> &str {
    label.split_once(" (").map_or(label, |(name, _)| name)
}

/// The locks with most wait one by one, and all others together.
fn heat(findings: &Findings<'_>) -> Vec<Heat> {
    let rows = &findings.time_use.waits;
    let labels = findings.timelines.locks.iter().take(MOST_HEAT);
    let mut heat: Vec<Heat> = Vec::new();
    for ((group, _), waits) in labels.zip(rows) {
        let place = |&(at, ns, count): &(usize, u64, u32)| (at, ns.ilog2(), u64::from(count));
        let label = findings.groups.lock_ref(*group).label();
        heat.push(Heat { label, waits: waits.iter().map(place).collect() });
    }
    let mut others: BTreeMap<(usize, u32), u64> = BTreeMap::new();
    for (at, ns, count) in rows.iter().skip(heat.len()).flatten() {
        *others.entry((*at, ns.ilog2())).or_default() += u64::from(*count);
    }
    let waits = others.into_iter().map(|((at, power), count)| (at, power, count)).collect();
    heat.push(Heat { label: String::new(), waits });
    heat.retain(|of| !of.waits.is_empty());
    heat
}

/// Those with most wait, and how long all others waited.
fn blocks(findings: &Findings<'_>) -> (Vec<Block>, u64) {
    let mut blocked = blockers::blocked(findings);
    blocked.sort_by_key(|of| Reverse(of.wait_ns));
    let others = blocked.split_off(blocked.len().min(MOST_BLOCKS));
    let name = |threads: &str| harmless::name(threads).into_owned();
    let block = |of: &Blocked| Block {
        holders: name(&of.holders),
        waiters: name(&of.waiters),
        label: findings.groups.lock_ref(of.group).label(),
        place: place(findings, of.group),
        ns: of.wait_ns,
    };
    let other_ns = others.iter().fold(0u64, |sum, of| sum.saturating_add(of.wait_ns));
    (blocked.iter().map(block).collect(), other_ns)
}

/// A lock's place among the worst, by which it is coloured.
fn place(findings: &Findings<'_>, group: u32) -> Option<usize> {
    findings.time_use.worst.iter().position(|(worst, _)| *worst == group)
}

/// What the threads' time went into; what is over after all waits is what they ran.
fn bands(findings: &Findings<'_>) -> Vec<Band> {
    let time = &findings.time_use;
    let mut left = time.lived_ns.clone();
    // More than all of it is never drawn, whatever damaged logs say.
    let mut take = |ns: &[u64]| -> Vec<u64> {
        let part = |(left, ns): (&mut u64, &u64)| {
            let part = (*ns).min(*left);
            *left -= part;
            part
        };
        left.iter_mut().zip(ns).map(part).collect()
    };
    let label = |group: u32| findings.groups.lock_ref(group).label();
    let mut bands = Vec::new();
    for (place, (group, ns)) in time.worst.iter().enumerate() {
        bands.push(Band { what: Doing::Lock(place, label(*group)), ns: take(ns) });
    }
    bands.push(Band { what: Doing::OtherLocks, ns: take(&time.other_locks_ns) });
    bands.push(Band { what: Doing::Withheld, ns: take(&time.withheld_ns) });
    let idle = time.idle_ns.iter().zip(&time.withheld_ns);
    let idle: Vec<u64> = idle.map(|(idle, withheld)| idle.saturating_sub(*withheld)).collect();
    let idle = Band { what: Doing::Idle, ns: take(&idle) };
    bands.push(Band { what: Doing::Ran, ns: left });
    bands.push(idle);
    bands
}

fn locks(findings: &Findings<'_>) -> Vec<GlanceLock> {
    let shown = findings.timelines.locks.iter().take(MOST_LOCKS);
    let lock = |(group, boxes): &(u32, Vec<u64>)| GlanceLock {
        label: findings.groups.lock_ref(*group).label(),
        place: place(findings, *group),
        wait_ns: wait_ns(findings, *group),
        hold_ns: hold_ns(findings, *group),
        over_time_ns: boxes.clone(),
        waiter: waiter(findings, *group),
        holder: holder(findings, *group),
        still: Still::default(),
    };
    shown.map(lock).collect()
}

fn wait_ns(findings: &Findings<'_>, group: u32) -> u64 {
    let waits = findings.profile().waits.iter();
    let own =
        waits.filter(|wait| findings.groups.of(wait.lock) == group && findings.shows(wait.kind));
    own.fold(0, |sum, wait| sum.saturating_add(wait.wait_ns))
}

fn hold_ns(findings: &Findings<'_>, group: u32) -> Option<u64> {
    let sections = findings.profile().sections.iter();
    let own = sections.filter(|section| findings.groups.of(section.lock) == group);
    let add = |(hold_ns, measured): (u64, u64), section: &tyrion_model::profile::SectionRow| {
        (hold_ns.saturating_add(section.hold_ns), measured.saturating_add(section.measured))
    };
    let (hold_ns, measured) = own.fold((0, 0), add);
    (measured != 0).then_some(hold_ns)
}

fn waiter(findings: &Findings<'_>, group: u32) -> Most {
    let profile = findings.profile();
    let mut by_thread: BTreeMap<u32, u64> = BTreeMap::new();
    for wait in profile.waits.iter().filter(|wait| findings.shows(wait.kind)) {
        if findings.groups.of(wait.lock) == group {
            let sum = by_thread.entry(wait.thread).or_default();
            *sum = sum.saturating_add(wait.wait_ns);
        }
    }
    let name = |(thread, ns): (u32, u64)| (thread_group(&profile.thread_name(thread)), ns);
    Most::of(by_thread.into_iter().map(name))
}

/// Those whom waits are charged to, or else those who had the lock when waits began.
fn holder(findings: &Findings<'_>, group: u32) -> Most {
    let charged = findings.thread_blames.iter().filter(|blame| blame.group == group);
    let charged = Most::of(charged.map(|blame| (blame.holders.clone(), blame.blamed_ns)));
    if !charged.name.is_empty() {
        return charged;
    }
    let owned = findings.owned_waits.iter().filter(|wait| wait.group == group);
    Most::of(owned.map(|wait| (wait.owners.clone(), wait.wait_ns)))
}

impl Most {
    fn of(parts: impl Iterator<Item = (String, u64)>) -> Most {
        let mut by_name: BTreeMap<String, u64> = BTreeMap::new();
        let mut all: u128 = 0;
        for (name, ns) in parts {
            let sum = by_name.entry(name).or_default();
            *sum = sum.saturating_add(ns);
            all += u128::from(ns);
        }
        // The first of those that have as much.
        let most = by_name.into_iter().rev().max_by_key(|(_, ns)| *ns);
        let Some((name, ns)) = most.filter(|(_, ns)| *ns != 0) else { return Most::default() };
        let percent = ((u128::from(ns) * 100 + all / 2) / all.max(1)) as u64;
        Most { name: harmless::name(&name).into_owned(), percent }
    }
}

#[cfg(test)]
mod tests;

//! Sums by lock and kind of wait.

use super::{super::estimate, ContendedInstance, ContendedLock, HotStack, mean, share};
use crate::{
    Findings, ReportOptions,
    findings::{Delay, Histogram},
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
};
use tyrion_model::profile::SectionRow;
use tyrion_wire::WaitKind;

/// Lock group and kind of wait.
pub(super) type LockKey = (u32, WaitKind);

/// Whether the sides of a lock for readers and writers are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sides {
    Apart,
    Together,
}

impl Sides {
    /// The kind that waits of a kind are summed under.
    fn of(self, kind: WaitKind) -> WaitKind {
        match (self, kind) {
            (Sides::Together, WaitKind::LockRead) => WaitKind::LockWrite,
            _ => kind,
        }
    }
}

/// What both sides together are called.
pub(super) const BOTH: &str = "lock-read, lock-write";

/// What is summed of a lock group and kind.
#[derive(Default)]
pub(super) struct LockSums {
    /// The waits by kind: one, or both sides of a lock.
    kinds: BTreeMap<WaitKind, Delay>,
    pub(super) contended: u64,
    pub(super) wait_ns: u64,
    pub(super) max_wait_ns: u64,
    acquisitions: u64,
    acquisitions_error: u64,
    hold_ns: u64,
    error: estimate::Error,
    measured: u64,
    max_hold_ns: u64,
    /// How many threads waited, and the last of them.
    waiting: (u64, Option<u32>),
    holding: BTreeSet<u32>,
    /// How long threads waited in each stack, or how often where that is not known.
    waiters: HashMap<u32, u64>,
    holders: BTreeMap<u32, u64>,
    instances: HashMap<u32, (u64, u64, u64)>,
}

impl LockSums {
    /// How long its waits took, if that is known of all of them: the kinds beyond those
    /// with most wait have no distribution of their own.
    fn distribution(&self, findings: &Findings<'_>, group: u32) -> Option<Histogram> {
        let mut all = Histogram::default();
        for (kind, _) in self.kinds.iter().filter(|(_, waits)| waits.count != 0) {
            all.add(findings.distributions.of(group, *kind)?);
        }
        Some(all)
    }
}

fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

/// How often locks were taken in all, or the error of that, if it is known.
pub(super) fn sum(findings: &Findings<'_>, of: fn(&SectionRow) -> u64) -> Option<u64> {
    let profile = findings.profile();
    let add = |sum: u64, section: &SectionRow| sum.saturating_add(of(section));
    let has_all = profile.has_acquisitions && !findings.is_aimed();
    has_all.then(|| profile.sections.iter().fold(0, add))
}

/// The locks that threads waited for, most wait first, or most waits where it is not
/// known how long.
pub(super) fn all(findings: &Findings<'_>, sides: Sides) -> Vec<(LockKey, LockSums)> {
    let mut rows: Vec<(LockKey, LockSums)> = sums(findings, sides).into_iter().collect();
    // Groups are in the order of class and name.
    let has_durations = !findings.lacks_durations();
    rows.sort_by_key(|(key, sums)| {
        (Reverse(if has_durations { sums.wait_ns } else { sums.contended }), *key)
    });
    rows
}

fn sums(findings: &Findings<'_>, sides: Sides) -> HashMap<LockKey, LockSums> {
    let (profile, groups) = (findings.profile(), &findings.groups);
    let has_durations = !findings.lacks_durations();
    let mut all: HashMap<LockKey, LockSums> = HashMap::new();
    for wait in profile.waits.iter().filter(|wait| findings.shows(wait.kind)) {
        let sums = all.entry((groups.of(wait.lock), sides.of(wait.kind))).or_default();
        let of_kind = Delay { count: wait.count, wait_ns: wait.wait_ns };
        *sums.kinds.entry(wait.kind).or_default() += of_kind;
        add(&mut sums.contended, wait.count);
        add(&mut sums.wait_ns, wait.wait_ns);
        sums.max_wait_ns = sums.max_wait_ns.max(wait.max_ns);
        // The profile's waits are in the order of threads.
        if sums.waiting.1 != Some(wait.thread) {
            sums.waiting = (sums.waiting.0 + 1, Some(wait.thread));
        }
        let weight = if has_durations { wait.wait_ns } else { wait.count };
        add(sums.waiters.entry(wait.stack).or_default(), weight);
        let instance = sums.instances.entry(wait.lock).or_default();
        add(&mut instance.0, wait.count);
        add(&mut instance.1, wait.wait_ns);
        instance.2 = instance.2.max(wait.max_ns);
    }
    for section in &profile.sections {
        let key = (groups.of(section.lock), sides.of(section.kind));
        let Some(sums) = all.get_mut(&key) else { continue };
        sums.kinds.entry(section.kind).or_default();
        add(&mut sums.acquisitions, section.acquisitions);
        add(&mut sums.acquisitions_error, section.acquisitions_error);
        add(&mut sums.hold_ns, section.hold_ns);
        add(&mut sums.measured, section.measured);
        sums.error.add(section);
        sums.max_hold_ns = sums.max_hold_ns.max(section.longest_ns);
        if section.acquisitions != 0 {
            sums.holding.insert(section.thread);
        }
    }
    for blame in &profile.blames {
        let key = (groups.of(blame.lock), sides.of(blame.kind));
        let Some(sums) = all.get_mut(&key) else { continue };
        // Whoever had ended when it was charged is among the others already.
        let holder = profile.threads.get(blame.thread as usize);
        if holder.is_some_and(|holder| holder.java_id != 0 || holder.is_virtual) {
            sums.holding.insert(blame.thread);
        }
        add(sums.holders.entry(blame.stack).or_default(), blame.blamed_ns);
    }
    all
}

/// What the section tells of a lock. `kept` is what is left of each stack.
pub(super) fn lock(
    findings: &Findings<'_>,
    options: &ReportOptions,
    kept: &[u32],
    (group, _): LockKey,
    sums: LockSums,
) -> ContendedLock {
    let (profile, has_durations) = (findings.profile(), !findings.lacks_durations());
    let distribution = sums.distribution(findings, group);
    let quantile = |q| distribution.as_ref()?.quantile_up_to(q, sums.max_wait_ns);
    // What was waited for was taken: 0 is that nobody counted.
    let counted = profile.has_acquisitions && sums.acquisitions != 0;
    let measured = counted && sums.measured != 0;
    let traced = findings.groups.lock_ref(group);
    let recorded_ns = findings.traced_ns_of(&traced.name);
    let in_collections_ns = findings.collected.as_ref();
    let in_collections_ns = in_collections_ns.map(|it| {
        sums.kinds.keys().fold(0, |sum: u64, kind| {
            sum.saturating_add(it.waits_ns.get(&(group, *kind)).copied().unwrap_or(0))
        })
    });
    let charged = sums.holders.values().fold(0u64, |sum, ns| sum.saturating_add(*ns));
    ContendedLock {
        lock: traced,
        kind: match sums.kinds.first_key_value() {
            Some((only, _)) if sums.kinds.len() == 1 => only.name(),
            _ => BOTH,
        },
        sides: if sums.kinds.len() > 1 { sums.kinds.into_iter().collect() } else { Vec::new() },
        acquisitions: counted.then_some(sums.acquisitions),
        acquisitions_error: counted.then_some(sums.acquisitions_error),
        contended: sums.contended,
        // With logs that do not count acquisitions, there are more waits than these.
        // Where they were counted for a while, too.
        miss_share: (counted && !findings.is_aimed() && sums.contended <= sums.acquisitions)
            .then(|| share(sums.contended, sums.acquisitions)),
        wait_ns: sums.wait_ns,
        mean_wait_ns: mean(sums.wait_ns, sums.contended),
        p50_wait_ns: quantile(0.5),
        p99_wait_ns: quantile(0.99),
        max_wait_ns: sums.max_wait_ns,
        hold_ns: measured.then_some(sums.hold_ns),
        hold_error_ns: measured.then(|| sums.error.ns(sums.hold_ns)),
        mean_hold_ns: measured.then(|| mean(sums.hold_ns, sums.acquisitions)),
        max_hold_ns: measured.then_some(sums.max_hold_ns),
        utilisation_share: (measured && recorded_ns != 0).then(|| share(sums.hold_ns, recorded_ns)),
        in_collections_ns,
        waiting_threads: sums.waiting.0,
        holding_threads: (counted || !sums.holding.is_empty()).then_some(sums.holding.len() as u64),
        hottest_waiter: hottest(folded(sums.waiters, kept)).map(
            |(stack, part)| match has_durations {
                true => HotStack::new(findings, stack, part, sums.wait_ns),
                false => {
                    HotStack { wait_ns: 0, ..HotStack::new(findings, stack, part, sums.contended) }
                }
            },
        ),
        hottest_holder: hottest(folded(sums.holders, kept))
            .map(|(stack, ns)| HotStack::new(findings, stack, ns, charged)),
        instances: instances(findings, options, sums.instances),
    }
}

/// The sums of what is left of these stacks.
fn folded(stacks: impl IntoIterator<Item = (u32, u64)>, kept: &[u32]) -> HashMap<u32, u64> {
    let mut sums = HashMap::new();
    for (stack, part) in stacks {
        let left = kept.get(stack as usize).copied().unwrap_or(stack);
        add(sums.entry(left).or_default(), part);
    }
    sums
}

fn hottest(stacks: impl IntoIterator<Item = (u32, u64)>) -> Option<(u32, u64)> {
    stacks.into_iter().max_by_key(|&(stack, ns)| (ns, Reverse(stack)))
}

fn instances(
    findings: &Findings<'_>,
    options: &ReportOptions,
    locks: HashMap<u32, (u64, u64, u64)>,
) -> Vec<ContendedInstance> {
    let profile = findings.profile();
    let mut locks: Vec<_> = locks.into_iter().collect();
    locks.sort_unstable_by_key(|(lock, (_, wait_ns, _))| (Reverse(*wait_ns), *lock));
    super::cut(&mut locks, options);
    let instance = |(lock, (contended, wait_ns, max_wait_ns)): (u32, (u64, u64, u64))| {
        let lock = profile.locks.get(lock as usize).filter(|lock| lock.id != 0)?;
        let log = profile.runs.get(lock.run as usize).map_or("", |run| &run.log).to_owned();
        Some(ContendedInstance { id: lock.id, log, contended, wait_ns, max_wait_ns })
    };
    locks.into_iter().filter_map(instance).collect()
}

//! The lock with the most wait: who holds it, and why threads wait so long.

mod cause;

use super::{
    super::{
        critical_sections, estimate,
        shared::{mean, share},
        withheld::WokenBy,
    },
    machine::Machine,
    place::{hottest, hottest_place},
    woken,
};
use crate::{
    Findings,
    findings::{LockRef, names, thread_group},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
};
use tyrion_formats::Owners;
use tyrion_model::profile::{BlameRow, WaitRow};
use tyrion_wire::{WaitKind, cell::BUCKETS};

/// Holds of less than this are short.
const SHORT_HOLD_NS: f64 = 50_000.0;
/// From this share on, most waits are at one place.
const MOST: f64 = 0.5;
/// Where it was looked at random moments, who had a lock is told if that one was seen for so
/// much of the wait in which anybody had it.
const SEEN: f64 = 0.25;

/// Why threads wait for a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// It is held for a long time each time, which explains the waits, or for most of the time.
    LongHolds,
    /// It is held for a long time now and then.
    RareLongHolds,
    /// It is held for short times, but often.
    ManyAcquisitions,
    /// Holds do not explain the waits, and this program uses all processors, or more of its
    /// threads want to run than do.
    OwnerNotRunning,
    /// Holds do not explain the waits, nor is it held for most of the time, and processors are
    /// free, so waking up the next thread takes the time.
    HandOver,
    /// Most of the waits fell into pauses of the garbage collector.
    Collections,
    /// A semaphore has too few permits, or threads keep them for too long.
    FewPermits,
    /// Nearly all waits for a permit ended because their time was over: none was given back.
    NotReturned,
    /// It is fair and held for short times: with each turn the next thread has to be woken.
    FairHandOver,
    /// A class was being initialized.
    Initialization,
    /// Holds were not recorded.
    #[default]
    Unknown,
}

/// How it is known who held the lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KnownBy {
    /// In trace mode, waits were charged to the holders.
    Charged,
    /// The agent looked at random moments at who had the lock.
    Asked,
    /// The lock said who had it when waits began.
    OwnerAtStart,
    /// The recording of Flight Recorder says who had it last before those that waited.
    PreviousOwner,
    /// It is not known, but most waits are at one place, so most likely the holder took
    /// it there.
    Inferred,
    /// It is not known.
    #[default]
    Unknown,
}

/// How certain the verdict is: the certainty of its least certain part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// Everything was measured.
    Exact,
    /// Holds were estimated from a sample that was measured.
    Estimated,
    /// Who holds the lock was inferred.
    #[default]
    Inferred,
}

/// The lock with the most wait.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct GuiltyLock {
    /// The lock.
    pub lock: LockRef,
    /// The kinds of waits for it, most wait first.
    pub kinds: Vec<&'static str>,
    /// How many lock objects these are, if they are told apart.
    pub objects: u64,
    /// How often a thread waited.
    pub contended: u64,
    /// How long threads waited in all.
    pub wait_ns: u64,
    /// The share of the waits for all locks.
    pub wait_share: f64,
    /// How long a wait was on average.
    pub mean_wait_ns: u64,
    /// How many threads waited.
    pub waiting_threads: u64,
    /// Where threads waited longest: the innermost frame outside
    /// `java.util.concurrent`.
    pub waiter: String,
    /// The innermost frame of the program's own code in the stack of most of the waits there.
    /// Empty if that is `waiter`, or if there is none, or none is known.
    pub waiter_own: String,
    /// Most of the wait is at one place.
    #[serde(skip)]
    pub is_at_one_place: bool,
    /// The stacks are not of those who waited, but of those who released it.
    #[serde(skip)]
    pub is_of_releases: bool,
    /// Where the threads to which most wait is charged released the lock; otherwise
    /// where it is most likely held. Empty if that is not known.
    pub holder: String,
    /// The same as `waiter_own`, for the holder.
    pub holder_own: String,
    /// Where the holder was most of the time while it had the lock: the innermost frame of
    /// those that the agent looked at. Empty if it looked at none, or if that is where the lock
    /// was taken.
    pub meanwhile: String,
    /// The innermost frame of the program's own code between that and where the lock was taken,
    /// and after ` < ` what of it called that one. Empty if there is none, or none is known.
    pub meanwhile_own: String,
    /// The share of the wait in which it was there.
    pub meanwhile_share: f64,
    /// How many such looks there were.
    pub answers: u64,
    /// The group of threads that had it, if their code is not known; otherwise empty.
    pub holders: String,
    /// How the holder is known.
    pub holder_known_by: KnownBy,
    /// Who ended most of the waits, with the fields of `withheld.woken_by`. `null` if it is
    /// known who holds the lock, or if who ended the waits is not known, or known for less than
    /// a quarter of them.
    pub woken_by: Option<WokenBy>,
    /// How often it was taken. `null` when that was not counted.
    pub acquisitions: Option<u64>,
    /// The standard error of that; 0 where all were counted.
    pub acquisitions_error: Option<u64>,
    /// For how long it was traced, where that was a part of the time, as with `mode=auto`:
    /// acquisitions and holds are of that part. Otherwise `null`.
    pub traced_ns: Option<u64>,
    /// How long it was held on average. `null` when that was not measured.
    pub mean_hold_ns: Option<u64>,
    /// How far `mean_hold_ns` may be off, for 95 % of such estimates; 0 if all holds were
    /// measured.
    pub mean_hold_error_ns: Option<u64>,
    /// The longest measured hold.
    pub max_hold_ns: Option<u64>,
    /// How long it was held, as a share of the recording's duration.
    pub utilisation_share: Option<f64>,
    /// How much of the waits fell into pauses of the garbage collector. `null` if these were
    /// not recorded.
    pub in_collections_ns: Option<u64>,
    /// The certainty of the least certain of these.
    pub certainty: Certainty,
    /// Why threads wait for it.
    pub cause: Cause,
}

/// The sums of a lock group.
#[derive(Default)]
struct GroupWaits {
    contended: u64,
    wait_ns: u64,
    kinds: BTreeMap<WaitKind, u64>,
    threads: BTreeSet<u32>,
    stacks: HashMap<u32, u64>,
}

/// Its holds.
struct Holds {
    acquisitions: u64,
    acquisitions_error: u64,
    hold_ns: u64,
    measured: u64,
    longest_ns: u64,
    error: estimate::Error,
    histogram: [u64; BUCKETS],
    /// For how long they were recorded, ns, and in how many logs.
    traced_ns: u64,
    logs: u64,
}

impl Default for Holds {
    fn default() -> Holds {
        Holds {
            acquisitions: 0,
            acquisitions_error: 0,
            hold_ns: 0,
            measured: 0,
            longest_ns: 0,
            error: estimate::Error::default(),
            histogram: [0; BUCKETS],
            traced_ns: 0,
            logs: 0,
        }
    }
}

/// Finds the lock, if any wait has ended.
pub(super) fn find(findings: &Findings<'_>, machine: &Machine) -> Option<GuiltyLock> {
    let (group, all_ns) = worst(findings)?;
    let waits = waits(findings, group);
    let mut holds = holds(findings, group);
    let mut kinds: Vec<(WaitKind, u64)> = waits.kinds.into_iter().collect();
    kinds.sort_by_key(|(_, wait_ns)| Reverse(*wait_ns));
    let is_of_releases =
        waits.stacks.keys().all(|&stack| names::is_release(findings.profile(), stack));
    let (waiter, waiter_ns) = hottest_place(findings, waits.stacks.clone())?;
    let waiter_own = own(findings, &waiter, waits.stacks);
    let mut guilty = GuiltyLock {
        lock: findings.groups.lock_ref(group),
        kinds: kinds.iter().map(|(kind, _)| kind.name()).collect(),
        objects: findings.groups.get(group).map_or(0, |group| group.instances.len() as u64),
        contended: waits.contended,
        wait_ns: waits.wait_ns,
        wait_share: share(waits.wait_ns, all_ns),
        mean_wait_ns: mean(waits.wait_ns, waits.contended),
        waiting_threads: waits.threads.len() as u64,
        waiter,
        waiter_own,
        is_of_releases,
        ..GuiltyLock::default()
    };
    let is_at_one_place = share(waiter_ns, waits.wait_ns) >= MOST;
    let is_monitor = kinds.iter().all(|(kind, _)| *kind == WaitKind::Monitor);
    guilty.is_at_one_place = is_at_one_place;
    guilty.find_holder(findings, group, is_at_one_place && is_monitor);
    if guilty.holder_known_by == KnownBy::Unknown {
        guilty.woken_by = woken::by(findings, group, waits.wait_ns);
    }
    guilty.in_collections_ns = findings.collected.as_ref().map(|collected| {
        let of_group = collected.waits_ns.iter().filter(|((of, _), _)| *of == group);
        of_group.fold(0, |sum: u64, (_, ns)| sum.saturating_add(*ns))
    });
    if let Some(holds) = &mut holds {
        holds.traced_ns = findings.traced_ns_of(&guilty.lock.name);
        holds.logs = findings.logs.len() as u64;
        guilty.add_holds(holds);
        guilty.traced_ns = findings.is_aimed().then_some(holds.traced_ns);
    }
    guilty.certainty = match (guilty.holder_known_by, guilty.mean_hold_error_ns) {
        (KnownBy::Charged, Some(0)) => Certainty::Exact,
        (KnownBy::Charged | KnownBy::Asked, _) => Certainty::Estimated,
        _ => Certainty::Inferred,
    };
    guilty.cause = match cause::of(&guilty, kinds.first()?.0, holds.as_ref(), machine) {
        Cause::FewPermits if cause::is_unanswered(findings, group) => Cause::NotReturned,
        Cause::Unknown | Cause::ManyAcquisitions | Cause::HandOver
            if guilty.turns_are_short() && cause::is_fair(findings, group) =>
        {
            Cause::FairHandOver
        }
        cause => cause,
    };
    Some(guilty)
}

/// The waits for locks, without those that are for work.
pub(super) fn contention<'f>(findings: &'f Findings<'_>) -> impl Iterator<Item = &'f WaitRow> {
    let is_of_locks =
        |it: &&WaitRow| findings.shows(it.kind) && !findings.for_work.is_row(it.stack, it.lock);
    findings.profile().waits.iter().filter(is_of_locks)
}

/// The lock group with the most wait, and the waits of all.
fn worst(findings: &Findings<'_>) -> Option<(u32, u64)> {
    let mut sums = vec![0u64; findings.groups.len()];
    for wait in contention(findings) {
        if let Some(sum) = sums.get_mut(findings.groups.of(wait.lock) as usize) {
            *sum = sum.saturating_add(wait.wait_ns);
        }
    }
    let all_ns = sums.iter().fold(0, |all: u64, sum| all.saturating_add(*sum));
    let (group, sum) = sums.iter().enumerate().max_by_key(|(at, sum)| (**sum, Reverse(*at)))?;
    (*sum != 0).then_some((group as u32, all_ns))
}

fn waits(findings: &Findings<'_>, group: u32) -> GroupWaits {
    let mut waits = GroupWaits::default();
    for wait in contention(findings).filter(|it| findings.groups.of(it.lock) == group) {
        waits.contended = waits.contended.saturating_add(wait.count);
        for sum in [
            &mut waits.wait_ns,
            waits.kinds.entry(wait.kind).or_default(),
            waits.stacks.entry(wait.stack).or_default(),
        ] {
            *sum = sum.saturating_add(wait.wait_ns);
        }
        waits.threads.insert(wait.thread);
    }
    waits
}

/// Those that were measured, if any were.
fn holds(findings: &Findings<'_>, group: u32) -> Option<Holds> {
    let mut holds = Holds::default();
    let sections = &findings.profile().sections;
    for row in sections.iter().filter(|row| findings.groups.of(row.lock) == group) {
        for (sum, more) in [
            (&mut holds.acquisitions, row.acquisitions),
            (&mut holds.acquisitions_error, row.acquisitions_error),
            (&mut holds.hold_ns, row.hold_ns),
            (&mut holds.measured, row.measured),
        ] {
            *sum = sum.saturating_add(more);
        }
        holds.longest_ns = holds.longest_ns.max(row.longest_ns);
        holds.error.add(row);
        for (sum, more) in holds.histogram.iter_mut().zip(row.histogram) {
            *sum = sum.saturating_add(more);
        }
    }
    (holds.acquisitions != 0 && holds.measured != 0).then_some(holds)
}

/// The program's own code in the stack of most of the waits at a place, if that is another
/// frame.
fn own(findings: &Findings<'_>, place: &str, stacks: HashMap<u32, u64>) -> String {
    let profile = findings.profile();
    let there = stacks.into_iter().filter(|(stack, _)| names::place(profile, *stack) == place);
    let most = there.max_by_key(|&(stack, ns)| (ns, Reverse(stack)));
    let frames = most.map_or_else(Vec::new, |(stack, _)| names::stack(profile, stack));
    let own = findings.program.frame(&frames).filter(|own| *own != place);
    own.unwrap_or_default().to_owned()
}

/// The same of who had a lock: in the frames from the one that has taken it.
fn own_above<'b>(
    findings: &Findings<'_>,
    place: &str,
    rows: impl Iterator<Item = &'b BlameRow>,
) -> String {
    let Some(row) = rows.max_by_key(|row| (row.blamed_ns, Reverse(row.stack))) else {
        return String::new();
    };
    let frames = names::stack(findings.profile(), row.stack);
    let taken = frames.get(row.above as usize..).unwrap_or_default();
    let Some(own) = findings.program.place(taken) else { return String::new() };
    let is_asked = findings.profile().is_blame_sampled && !findings.is_trace();
    match own.split_once(" < ") {
        // Which frame has taken it is not known: what is innermost may be a helper.
        Some((innermost, caller)) if innermost == place && row.above == 0 && is_asked => {
            caller.to_owned()
        }
        Some((innermost, _)) if innermost == place => String::new(),
        Some((innermost, _)) => innermost.to_owned(),
        None if own == place => String::new(),
        None => own,
    }
}

/// `com.acme.Foo.bar` of `com.acme.Foo.bar(Foo.java:12)`.
fn of_code(frame: &str) -> String {
    frame.split('(').next().map(str::to_owned).unwrap_or_default()
}

/// Whether threads of a group wait for a lock, or virtual threads do, which have many names.
fn is_among_waiters(findings: &Findings<'_>, group: u32, holders: &str) -> bool {
    let profile = findings.profile();
    let is_one = |wait: &WaitRow| {
        let thread = profile.threads.get(wait.thread as usize);
        thread.is_some_and(|it| it.is_virtual)
            || thread_group(&profile.thread_name(wait.thread)) == holders
    };
    contention(findings).any(|wait| findings.groups.of(wait.lock) == group && is_one(wait))
}

impl GuiltyLock {
    /// Whether each turn takes so little that it is mostly to wake the next thread.
    fn turns_are_short(&self) -> bool {
        let ahead = self.waiting_threads.saturating_sub(1).max(1);
        (self.mean_wait_ns as f64) < SHORT_HOLD_NS * ahead as f64
    }

    /// Who holds it, as far as that is known.
    ///
    /// A lock of `java.util.concurrent` that does not name its owner may have none, such
    /// as a latch. But the owner of a monitor took it where threads wait for it; if that
    /// is `one_place`, there.
    fn find_holder(&mut self, findings: &Findings<'_>, group: u32, one_place: bool) {
        let blames = findings.profile().blames.iter();
        let blames = blames.filter(|it| findings.groups.of(it.lock) == group);
        let profile = findings.profile();
        let at = |it: &BlameRow| names::holder_place(profile, it.stack, it.above);
        let is_asked = profile.is_blame_sampled && !findings.is_trace();
        // In looks, there may be more wait for which nobody was seen than for anybody.
        let free_ns = blames.clone().map(|it| it.free_ns).fold(0, u64::saturating_add);
        let held_ns = self.wait_ns.saturating_sub(free_ns);
        let charged = blames.clone().map(|it| (at(it), it.blamed_ns.saturating_sub(it.free_ns)));
        let charged = hottest(charged.filter(|(holder, _)| !is_asked || !holder.is_empty()));
        let is_known = |holder: &str, ns: u64| {
            let least = if is_asked { SEEN } else { 0.0 };
            ns != 0 && !holder.is_empty() && share(ns, held_ns) >= least
        };
        if let Some((holder, _)) = charged.filter(|(holder, ns)| is_known(holder, *ns)) {
            self.holder_known_by = if is_asked { KnownBy::Asked } else { KnownBy::Charged };
            let there = blames.clone().filter(|it| at(it) == holder);
            self.holder_own = own_above(findings, &holder, there);
            if is_asked {
                self.find_meanwhile(findings, blames, &holder);
            }
            self.holder = holder;
            return;
        }
        let mut owners: BTreeMap<&str, u64> = BTreeMap::new();
        let mut owned_ns = 0u64;
        for wait in findings.owned_waits.iter().filter(|wait| wait.group == group) {
            let sum = owners.entry(&wait.owners).or_default();
            *sum = sum.saturating_add(wait.wait_ns);
            owned_ns = owned_ns.saturating_add(wait.wait_ns);
        }
        let owner = owners.into_iter().rev().max_by_key(|(_, ns)| *ns);
        // Logs of earlier agents tell the owner of a monitor only in long waits.
        if let Some((threads, _)) = owner.filter(|_| share(owned_ns, self.wait_ns) >= MOST) {
            let known_by = match findings.owners() {
                Owners::Previous => KnownBy::PreviousOwner,
                _ => KnownBy::OwnerAtStart,
            };
            (self.holders, self.holder_known_by) = (threads.to_owned(), known_by);
            // If it is one of those that wait, it has taken the lock where they do.
            let is_of_class = self.lock.initializes().is_some();
            if self.is_at_one_place
                && !is_of_class
                && is_among_waiters(findings, group, &self.holders)
            {
                self.holder = self.waiter.clone();
            }
        } else if one_place {
            (self.holder, self.holder_known_by) = (self.waiter.clone(), KnownBy::Inferred);
        }
    }

    /// What the holder does there, by those that were asked.
    fn find_meanwhile<'b>(
        &mut self,
        findings: &Findings<'_>,
        blames: impl Iterator<Item = &'b BlameRow> + Clone,
        holder: &str,
    ) {
        let profile = findings.profile();
        self.answers = blames.clone().fold(0, |sum, it| sum.saturating_add(it.answers));
        let is_there = |it: &&BlameRow| names::holder_place(profile, it.stack, it.above) == holder;
        let there = blames.filter(is_there);
        let all_ns = there.clone().fold(0, |sum: u64, it| sum.saturating_add(it.blamed_ns));
        let innermost =
            |it: &'b BlameRow| Some((of_code(&critical_sections::meanwhile(profile, it)?), it));
        let seen: Vec<(String, &BlameRow)> = there.filter_map(innermost).collect();
        let most = hottest(seen.iter().map(|(frame, it)| (frame.clone(), it.blamed_ns)));
        let Some((frame, ns)) = most.filter(|(frame, _)| *frame != of_code(holder)) else { return };
        let own = |it: &BlameRow| {
            let frames = names::stack(profile, it.stack);
            let called = frames.get(..it.above as usize).unwrap_or_default();
            let own = findings.program.place(called)?;
            let methods: Vec<String> = own.split(" < ").map(of_code).collect();
            Some((methods.join(" < "), it.blamed_ns))
        };
        let there = seen.iter().filter(|(at, _)| *at == frame);
        let own = hottest(there.filter_map(|(_, it)| own(it))).map(|(own, _)| own);
        self.meanwhile_own = own.filter(|own| *own != frame).unwrap_or_default();
        (self.meanwhile, self.meanwhile_share) = (frame, share(ns, all_ns));
    }

    /// Whether it is held most of the time, or each of several objects is on average. Readers
    /// hold it at the same time, so that they tell nothing.
    fn is_held_mostly(&self, holds: &Holds) -> bool {
        let shared = [WaitKind::LockRead, WaitKind::LockWrite].map(WaitKind::name);
        let is_one_s = !self.kinds.iter().any(|kind| shared.contains(kind));
        let objects = self.objects.div_ceil(holds.logs.max(1)).max(1);
        is_one_s && share(holds.hold_ns, holds.traced_ns) >= MOST * objects as f64
    }

    fn add_holds(&mut self, holds: &Holds) {
        let traced_ns = holds.traced_ns;
        self.acquisitions = Some(holds.acquisitions);
        self.acquisitions_error = Some(holds.acquisitions_error);
        let error_ns = holds.error.ns_of_the_mean(holds.hold_ns);
        self.mean_hold_ns = Some(mean(holds.hold_ns, holds.acquisitions));
        self.mean_hold_error_ns = Some(error_ns.div_ceil(holds.acquisitions.max(1)));
        self.max_hold_ns = Some(holds.longest_ns);
        self.utilisation_share = (traced_ns != 0).then(|| share(holds.hold_ns, traced_ns));
    }
}

//! Who holds what others wait for.

mod chance;
mod looked;
#[cfg(test)]
mod tests;
mod view;

use super::{
    charged::{ChargedWaits, Charges, PlaceNames},
    shared::{cut, share},
};
use crate::{
    About, Answer, Findings, InBrief, ReportOptions, Section,
    findings::{LockRef, OwnedWait, ThreadBlame},
    section::schema_of,
};
use chance::{Chances, Own, error_ns};
use looked::{AllLooks, is_code_unseen, is_thread_unseen};
use schemars::JsonSchema;
use serde::Serialize;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};
use tyrion_formats::Owners;
use tyrion_model::{aggregate::shares, profile::WaitRow};
use tyrion_wire::WaitKind;

/// The section.
pub const SECTION: Section = Section {
    name: "blockers",
    title: "Who blocks whom",
    means: "Which threads, and which code, held what others waited for.",
    advice: "Shorten what the holder does; the waiter shows where it hurts, not why.",
    about: About::Locks,
    in_brief: InBrief::Always,
    schema: schema_of::<Blockers>,
    answer,
};

/// How it is known who held a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// In trace mode, waits are charged, possibly in parts, to the threads that released the
    /// lock meanwhile.
    Charged,
    /// In contention mode with `holders=false`, waits say who had the lock when they began;
    /// later holders are not known.
    #[default]
    OwnerAtStart,
    /// In contention mode, the agent looked at random moments at who had the locks that others
    /// waited for, and at what they did; so both tables are estimates.
    Asked,
    /// In recordings of Flight Recorder, waits for monitors tell which thread had them last
    /// before the waiter, which need not be the one that had them when the wait began.
    PreviousOwner,
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Blockers {
    /// How it is known who held a lock.
    pub source: Source,
    /// How often threads waited for locks.
    pub waits: u64,
    /// How long threads waited for locks in all, in ns. A filter on threads selects waiters
    /// here, but holders where waits are charged.
    pub wait_ns: u64,
    /// For how much of it a holder is known, in ns.
    pub known_ns: u64,
    /// Where `source` is `asked`, of locks whose holders were seen: for how much of the wait
    /// nobody had the lock, in ns. It had been released, and whoever was next did not run yet.
    /// That is charged to the holders, as trace mode charges it to whoever has released the
    /// lock.
    pub free_ns: u64,
    /// The same: for how much of it the owner was not seen, in ns, mostly because the wait was
    /// over before that.
    pub unseen_ns: u64,
    /// The same: for how much of it the holder's code was not seen, in ns, `unseen_ns`
    /// included.
    pub code_unseen_ns: u64,
    /// How many pairs of groups of threads there are.
    pub thread_pairs: u64,
    /// How many pairs of places in the code there are.
    pub code_pairs: u64,
    /// By groups of threads, most wait first. A group is all threads whose names differ only in
    /// the number at the end.
    pub threads: Vec<ThreadPair>,
    /// By place in the code, most wait first.
    pub code: Vec<CodePair>,
}

/// Waits of the threads of one group for those of another group, or the same one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ThreadPair {
    /// Who waited: `http-*`.
    pub waiters: String,
    /// Who held the lock.
    pub holders: String,
    /// How many waits, or parts of them.
    pub waits: u64,
    /// Their durations added up, in ns.
    pub wait_ns: u64,
    /// How far that may be off, in ns, for 95 % of such estimates (an estimate on the high
    /// side): which holder is charged is partly chance, and what was not seen may be theirs. 0
    /// if there is only one holder, or if waits are not charged in parts; null with a filter on
    /// threads. A holder that was never charged is missing.
    pub wait_error_ns: Option<u64>,
    /// The share of all wait for which a holder is known.
    pub wait_share: f64,
    /// The locks that they waited for, most wait first.
    pub locks: Vec<LockShare>,
}

/// The part that belongs to one lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct LockShare {
    /// The lock.
    pub lock: LockRef,
    /// The kind of wait.
    pub kind: &'static str,
    /// How many waits, or parts of them.
    pub waits: u64,
    /// Their durations added up, in ns.
    pub wait_ns: u64,
    /// How far that may be off, in ns, for 95 % of such estimates (an estimate on the high
    /// side): which holder is charged is partly chance, and what was not seen may be theirs. 0
    /// if there is only one holder, or if waits are not charged in parts; null with a filter on
    /// threads. A holder that was never charged is missing.
    pub wait_error_ns: Option<u64>,
}

/// Waits at one place in the code for a holder at another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CodePair {
    /// The waits.
    #[serde(flatten)]
    pub charged: ChargedWaits,
    /// How far that may be off, in ns, for 95 % of such estimates (an estimate on the high
    /// side): which holder is charged is partly chance, and what was not seen may be theirs. 0
    /// if there is only one holder, or if waits are not charged in parts; null with a filter on
    /// threads. A holder that was never charged is missing.
    pub wait_error_ns: Option<u64>,
    /// Where the holder released the lock, or, if no stack was taken then, where it took it;
    /// null if that is not known.
    pub holder: Option<String>,
    /// The group of threads that had the lock, where their code is not known;
    /// else null.
    pub holders: Option<String>,
    /// The holder's stack that goes with it; empty when it is not known.
    pub holder_stack: Vec<String>,
}

fn answer(findings: &Findings<'_>, options: &ReportOptions) -> Answer {
    let blockers = blockers(findings, options);
    Answer {
        json: serde_json::to_value(&blockers).unwrap_or_default(),
        view: view::view(&blockers, findings),
        lacking: lacking(findings, blockers.source).to_owned(),
        advises: blockers.thread_pairs != 0,
    }
}

fn lacking(findings: &Findings<'_>, source: Source) -> &'static str {
    match (source, findings.is_trace()) {
        (Source::Charged, _) => "",
        (Source::Asked, _) => "holders are estimated; --mode trace charges all waits",
        (Source::OwnerAtStart, false) => {
            "needs the agent's option holders, or --mode trace, for the code of holders"
        }
        (Source::PreviousOwner, _) => {
            "needs --mode trace for the holders of locks of java.util.concurrent, for the code of \
             any holder, and for holders in between"
        }
        (Source::OwnerAtStart, true) => {
            "waits are charged in parts, among which --min-wait cannot select: without it, holders \
             of monitors and their code are shown, too"
        }
    }
}

/// Waits of the threads of a group for those of another.
#[derive(Clone, Debug, Default)]
struct OfThreads {
    waits: u64,
    wait_ns: u64,
    /// By lock group and kind.
    locks: BTreeMap<(u32, WaitKind), (u64, u64)>,
}

impl OfThreads {
    fn add(&mut self, lock: (u32, WaitKind), waits: u64, wait_ns: u64) {
        self.waits = self.waits.saturating_add(waits);
        self.wait_ns = self.wait_ns.saturating_add(wait_ns);
        let own = self.locks.entry(lock).or_default();
        *own = (own.0.saturating_add(waits), own.1.saturating_add(wait_ns));
    }
}

/// Waits of the threads of one group for a lock that those of another had.
pub(crate) struct Blocked {
    pub(crate) holders: String,
    pub(crate) waiters: String,
    /// The lock's group.
    pub(crate) group: u32,
    pub(crate) wait_ns: u64,
}

/// The same as in the answer's rows by threads, lock by lock; none of no time.
pub(crate) fn blocked(findings: &Findings<'_>) -> Vec<Blocked> {
    let (_, threads) = by_threads(findings);
    let rows = threads.into_iter().flat_map(|((waiters, holders), pair)| {
        let mut by_group: BTreeMap<u32, u64> = BTreeMap::new();
        for ((group, _), (_, wait_ns)) in pair.locks {
            let sum = by_group.entry(group).or_default();
            *sum = sum.saturating_add(wait_ns);
        }
        by_group.into_iter().map(move |(group, wait_ns)| Blocked {
            holders: holders.clone(),
            waiters: waiters.clone(),
            group,
            wait_ns,
        })
    });
    rows.filter(|of| of.wait_ns != 0).collect()
}

/// How it is known who had the locks, and who that was.
fn by_threads(findings: &Findings<'_>) -> (Source, ByThreads) {
    let profile = findings.profile();
    if profile.is_blame_sampled && !findings.is_trace() {
        return (Source::Asked, asked_threads(findings));
    }
    if profile.has_blame {
        return (Source::Charged, charged_threads(findings));
    }
    let source = match findings.owners() {
        Owners::Previous => Source::PreviousOwner,
        _ => Source::OwnerAtStart,
    };
    (source, owned_threads(findings))
}

/// By waiters and holders.
type ByThreads = BTreeMap<(String, String), OfThreads>;
/// What is known of a holder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum HolderName {
    Place(String),
    Threads(String),
}

/// A place where threads wait for a lock, and who has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CodeKey {
    waiter: String,
    holder: HolderName,
    /// The lock's group.
    group: u32,
    kind: WaitKind,
}

type ByCode = BTreeMap<CodeKey, Charges>;

/// Who blocks whom.
pub fn blockers(findings: &Findings<'_>, options: &ReportOptions) -> Blockers {
    let profile = findings.profile();
    let shown = |kind: WaitKind| findings.shows(kind);
    let sum = |of: fn(&WaitRow) -> u64| {
        let shown = profile.waits.iter().filter(|wait| shown(wait.kind));
        shown.map(of).fold(0, u64::saturating_add)
    };
    let (waits, wait_ns) = (sum(|wait| wait.count), sum(|wait| wait.wait_ns));
    let mut looked = AllLooks::default();
    let (source, threads) = by_threads(findings);
    let code = match source {
        Source::Asked => {
            let code = charged_code(findings, Some(&mut looked));
            let seen: BTreeSet<(u32, WaitKind)> =
                threads.values().flat_map(|pair| pair.locks.keys().copied()).collect();
            looked.keep(&seen);
            code
        }
        Source::Charged => charged_code(findings, None),
        Source::OwnerAtStart | Source::PreviousOwner => owned_code(findings),
    };
    let known_ns = threads.values().fold(0, |sum: u64, pair| sum.saturating_add(pair.wait_ns));
    let chances = match source {
        Source::Charged => Chances::of(findings, &threads, &code),
        _ => Some(Chances::default()),
    };
    let seen = looked.all();
    let context = RowContext { findings, known_ns, chances, looked };
    let mut out = Blockers {
        source,
        waits,
        wait_ns,
        known_ns,
        free_ns: seen.free_ns,
        unseen_ns: seen.thread_unseen_ns,
        code_unseen_ns: seen.code_unseen_ns,
        thread_pairs: threads.len() as u64,
        code_pairs: code.len() as u64,
        threads: threads.into_iter().map(|row| context.thread_pair(row)).collect(),
        code: code.into_iter().map(|(key, charges)| context.code_pair(key, charges)).collect(),
    };
    // Stable, so that equal ones stay in the order of names.
    out.threads.sort_by_key(|pair| Reverse(pair.wait_ns));
    out.code.sort_by_key(|pair| Reverse(pair.charged.wait_ns));
    cut(&mut out.threads, options);
    cut(&mut out.code, options);
    for pair in &mut out.threads {
        cut(&mut pair.locks, options);
    }
    out
}

fn charged_threads(findings: &Findings<'_>) -> ByThreads {
    let mut pairs = ByThreads::new();
    for blame in &findings.thread_blames {
        let ThreadBlame { holders, waiters, group, kind, count, blamed_ns } = blame;
        let Some(kind) = WaitKind::from_code(*kind).filter(|kind| findings.shows(*kind)) else {
            continue;
        };
        let pair = pairs.entry((waiters.clone(), holders.clone())).or_default();
        pair.add((*group, kind), *count, *blamed_ns);
    }
    pairs
}

/// What was seen of owners at random moments, as shares of the wait of which something was
/// seen.
fn asked_threads(findings: &Findings<'_>) -> ByThreads {
    let profile = findings.profile();
    let mut charged: BTreeMap<(u32, WaitKind), (u64, u64)> = BTreeMap::new();
    let shown = profile.blames.iter().filter(|blame| findings.shows(blame.kind));
    for blame in shown.filter(|blame| !is_thread_unseen(profile, blame)) {
        let lock = (findings.groups.of(blame.lock), blame.kind);
        let sum = charged.entry(lock).or_default();
        sum.0 = sum.0.saturating_add(blame.count);
        sum.1 = sum.1.saturating_add(blame.blamed_ns);
    }
    let seen = charged_threads(findings);
    let mut pairs = ByThreads::new();
    for (lock, (waits, wait_ns)) in charged {
        let of_lock = seen.iter().filter_map(|(pair, all)| Some((pair, all.locks.get(&lock)?.1)));
        let (names, weights): (Vec<_>, Vec<u64>) = of_lock.unzip();
        let shares = shares(waits, &weights).into_iter().zip(shares(wait_ns, &weights));
        for (pair, (waits, wait_ns)) in names.into_iter().zip(shares) {
            pairs.entry(pair.clone()).or_default().add(lock, waits, wait_ns);
        }
    }
    pairs
}

/// By code. Where the lock was looked at, waits whose holder's code was not seen are told
/// apart.
fn charged_code(findings: &Findings<'_>, mut looked: Option<&mut AllLooks>) -> ByCode {
    let profile = findings.profile();
    let mut places = PlaceNames::new(findings);
    let mut pairs = ByCode::new();
    for blame in profile.blames.iter().filter(|blame| findings.shows(blame.kind)) {
        let group = findings.groups.of(blame.lock);
        let waiter = places.of(blame.waiter_stack);
        if let Some(looked) = looked.as_deref_mut() {
            looked.add((waiter.clone(), group, blame.kind), profile, blame);
            if is_code_unseen(profile, blame) {
                continue;
            }
        }
        let holder = HolderName::Place(places.of_holder(blame.stack, blame.above));
        let stacks = (blame.waiter_stack, blame.stack);
        let pair = pairs.entry(CodeKey { waiter, holder, group, kind: blame.kind }).or_default();
        pair.add(blame.count, blame.blamed_ns, stacks);
        pair.add_answers(blame.answers, blame.error_ns);
    }
    pairs
}

fn owned_threads(findings: &Findings<'_>) -> ByThreads {
    let mut threads = ByThreads::new();
    for wait in &findings.owned_waits {
        let Some(kind) = WaitKind::from_code(wait.kind) else { continue };
        let pair = threads.entry((wait.waiters.clone(), wait.owners.clone())).or_default();
        pair.add((wait.group, kind), wait.count, wait.wait_ns);
    }
    threads
}

fn owned_code(findings: &Findings<'_>) -> ByCode {
    let mut places = PlaceNames::new(findings);
    let mut code = ByCode::new();
    for wait in &findings.owned_waits {
        let OwnedWait { owners, stack, group, kind, count, wait_ns, .. } = wait;
        let Some(kind) = WaitKind::from_code(*kind) else { continue };
        let (waiter, holder) = (places.of(*stack), HolderName::Threads(owners.clone()));
        let key = CodeKey { waiter, holder, group: *group, kind };
        code.entry(key).or_default().add(*count, *wait_ns, (*stack, 0));
    }
    code
}

/// What rows are made with.
struct RowContext<'f> {
    findings: &'f Findings<'f>,
    /// How much wait there is a holder for.
    known_ns: u64,
    chances: Option<Chances>,
    looked: AllLooks,
}

impl RowContext<'_> {
    /// The variance of what some threads have made others wait for a lock, and how far that
    /// may be off besides, in ns.
    fn error_of_threads(&self, lock: (u32, WaitKind), own: Own, waiters: &str) -> (f64, u64) {
        let by_chance = |it: &Chances| it.of_threads(lock.0, waiters, own);
        match self.looked.of_lock(lock) {
            Some(seen) => seen.error_of_threads(own.wait_ns),
            None => (self.chances.as_ref().map_or(0.0, by_chance), 0),
        }
    }

    fn thread_pair(&self, ((waiters, holders), pair): ((String, String), OfThreads)) -> ThreadPair {
        let OfThreads { waits, wait_ns, locks } = pair;
        let (mut variance, mut unseen_ns) = (0.0, 0u64);
        let chances = self.chances.as_ref();
        // A lock's kinds are charged together.
        let mut by_group: BTreeMap<u32, u64> = BTreeMap::new();
        for (&(group, _), &(_, wait_ns)) in &locks {
            let sum = by_group.entry(group).or_default();
            *sum = sum.saturating_add(wait_ns);
        }
        let mut lock = |((group, kind), (waits, wait_ns)): ((u32, WaitKind), (u64, u64))| {
            let holder_ns = by_group.get(&group).copied().unwrap_or(wait_ns);
            let own = Own { holder_ns, wait_ns };
            let (own, of_lock) = self.error_of_threads((group, kind), own, &waiters);
            variance += own;
            unseen_ns = unseen_ns.saturating_add(of_lock);
            LockShare {
                lock: self.findings.groups.lock_ref(group),
                kind: kind.name(),
                waits,
                wait_ns,
                wait_error_ns: chances.map(|_| error_ns(own, wait_ns).saturating_add(of_lock)),
            }
        };
        let mut locks: Vec<LockShare> = locks.into_iter().map(&mut lock).collect();
        locks.sort_by_key(|lock| Reverse(lock.wait_ns));
        let wait_error_ns = chances.map(|_| error_ns(variance, wait_ns).saturating_add(unseen_ns));
        let wait_share = share(wait_ns, self.known_ns);
        ThreadPair { waiters, holders, waits, wait_ns, wait_error_ns, wait_share, locks }
    }

    fn code_pair(&self, key: CodeKey, charges: Charges) -> CodePair {
        let CodeKey { waiter, holder, group, kind } = key;
        let awaited = (waiter, group, kind);
        let of_looks = self
            .looked
            .of(&awaited)
            .map(|it| it.error_of_code(charges.wait_ns(), charges.squares()));
        let (charged, holder_stack) = charges.finish(self.findings, awaited, self.known_ns);
        let wait_ns = charged.wait_ns;
        let own = Own { holder_ns: wait_ns, wait_ns };
        let of_holder = |it: &Chances| error_ns(it.of_place(group, &charged.waiter, own), wait_ns);
        let wait_error_ns = of_looks.or_else(|| self.chances.as_ref().map(of_holder));
        let (holder, holders) = match holder {
            HolderName::Place(place) => (Some(place), None),
            HolderName::Threads(group) => (None, Some(group)),
        };
        CodePair { charged, wait_error_ns, holder, holders, holder_stack }
    }
}

//! Who holds what others wait for.

mod chance;
#[cfg(test)]
mod tests;
mod view;

use super::{
    charged::{Awaited, ChargedWaits, Charges, Places},
    shared::{cut, share},
};
use crate::{
    About, Answer, Findings, ReportOptions, Section,
    findings::{LockRef, OwnedWait, ThreadBlame},
};
use chance::{Chances, Own, error_ns};
use serde::Serialize;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
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
    answer,
};

/// How it is known who held a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Trace mode: waits are charged, in parts perhaps, to those who released
    /// the lock meanwhile.
    Charged,
    /// Contention mode: waits tell who had the lock when they began. Later holders are not
    /// known.
    #[default]
    OwnerAtStart,
    /// Contention mode: it was looked at random moments who had the locks that others waited
    /// for, and what they did. So both tables are estimates.
    Asked,
    /// Flight Recorder: waits for monitors tell who had them last before the waiter.
    /// Earlier holders are not known, nor those of other locks.
    PreviousOwner,
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Blockers {
    /// How it is known who held a lock.
    pub source: Source,
    /// How often threads waited for locks.
    pub waits: u64,
    /// How long threads waited for locks in all, in ns. With a filter on
    /// threads this is of waiters, while waits charged are by holders.
    pub wait_ns: u64,
    /// How much of it there is a holder for, in ns.
    pub known_ns: u64,
    /// How many pairs of groups of threads there are.
    pub thread_pairs: u64,
    /// How many pairs of places in the code there are.
    pub code_pairs: u64,
    /// By groups of threads, most wait first. A group are the threads whose
    /// names differ in the number at the end only.
    pub threads: Vec<ThreadPair>,
    /// By place in the code, most wait first.
    pub code: Vec<CodePair>,
}

/// Waits of the threads of a group for those of a group.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ThreadPair {
    /// Who waited: `http-*`.
    pub waiters: String,
    /// Who held the lock.
    pub holders: String,
    /// How many waits, or parts of them.
    pub waits: u64,
    /// Their durations added up, in ns.
    pub wait_ns: u64,
    /// How far that may be off, in ns, for 95 % of such estimates (an estimate on the
    /// high side, at most `wait_ns`): which holder is charged is partly chance. 0 where
    /// there is one holder only, or waits are not charged in parts; null with a filter on threads.
    pub wait_error_ns: Option<u64>,
    /// The share of all wait that there is a holder for.
    pub wait_share: f64,
    /// The locks that it was about, most wait first.
    pub locks: Vec<LockShare>,
}

/// The part of a lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LockShare {
    /// The lock.
    pub lock: LockRef,
    /// The kind of wait.
    pub kind: &'static str,
    /// How many waits, or parts of them.
    pub waits: u64,
    /// Their durations added up, in ns.
    pub wait_ns: u64,
    /// How far that may be off, in ns, as above.
    pub wait_error_ns: Option<u64>,
}

/// Waits at a place in the code, for a place in the code.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CodePair {
    /// The waits.
    #[serde(flatten)]
    pub charged: ChargedWaits,
    /// How far `wait_ns` may be off, in ns, as above.
    pub wait_error_ns: Option<u64>,
    /// Where the holder was when it left the lock, or else, where no stack was
    /// taken then, where it took it; of an owner that was asked, which of its methods has
    /// the lock; null when that is not known.
    pub holder: Option<String>,
    /// The group of threads that had the lock, where their code is not known;
    /// else null.
    pub holders: Option<String>,
    /// The holder's stack that goes with the waiter's; empty when it is not known.
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

/// By waiters and holders.
type ByThreads = BTreeMap<(String, String), OfThreads>;
/// What is known of a holder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Holder {
    Place(String),
    Threads(String),
}

/// By the waiter's place, holder, lock group and kind.
type ByCode = BTreeMap<(String, Holder, u32, WaitKind), Charges>;

/// Who blocks whom.
pub fn blockers(findings: &Findings<'_>, options: &ReportOptions) -> Blockers {
    let profile = findings.profile();
    let shown = |kind: WaitKind| findings.shows(kind);
    let sum = |of: fn(&WaitRow) -> u64| {
        let shown = profile.waits.iter().filter(|wait| shown(wait.kind));
        shown.map(of).fold(0, u64::saturating_add)
    };
    let (waits, wait_ns) = (sum(|wait| wait.count), sum(|wait| wait.wait_ns));
    let is_asked = profile.is_blame_sampled && !findings.is_trace();
    let (source, threads, code) = if is_asked {
        let code = charged_code(findings);
        (Source::Asked, asked_threads(findings, &code), code)
    } else if profile.has_blame {
        (Source::Charged, charged_threads(findings), charged_code(findings))
    } else {
        let (threads, code) = owned(findings);
        let source = match findings.owners() {
            Owners::Previous => Source::PreviousOwner,
            _ => Source::OwnerAtStart,
        };
        (source, threads, code)
    };
    let known_ns = threads.values().fold(0, |sum: u64, pair| sum.saturating_add(pair.wait_ns));
    let chances = match source {
        Source::Charged => Chances::of(findings, &threads, &code),
        _ => Some(Chances::default()),
    };
    let asked = all_asked(&code);
    let asked_locks = all_of_locks(&asked);
    let known = Known { findings, known_ns, chances, asked, asked_locks };
    let mut out = Blockers {
        source,
        waits,
        wait_ns,
        known_ns,
        thread_pairs: threads.len() as u64,
        code_pairs: code.len() as u64,
        threads: threads.into_iter().map(|row| known.thread_pair(row)).collect(),
        code: code.into_iter().map(|row| known.code_pair(row)).collect(),
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

/// What was seen of owners at random moments, as shares of what is charged to their code:
/// that is all the wait of which something was seen.
fn asked_threads(findings: &Findings<'_>, code: &ByCode) -> ByThreads {
    let mut charged: BTreeMap<(u32, WaitKind), (u64, u64)> = BTreeMap::new();
    for ((_, _, group, kind), charges) in code {
        let sum = charged.entry((*group, *kind)).or_default();
        sum.0 = sum.0.saturating_add(charges.waits());
        sum.1 = sum.1.saturating_add(charges.wait_ns());
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

fn charged_code(findings: &Findings<'_>) -> ByCode {
    let profile = findings.profile();
    let mut places = Places::new(findings);
    let mut pairs = ByCode::new();
    for blame in profile.blames.iter().filter(|blame| findings.shows(blame.kind)) {
        let group = findings.groups.of(blame.lock);
        let holder = Holder::Place(places.of_holder(blame.stack, blame.above));
        let key = (places.of(blame.waiter_stack), holder, group, blame.kind);
        let stacks = (blame.waiter_stack, blame.stack);
        let pair = pairs.entry(key).or_default();
        pair.add(blame.count, blame.blamed_ns, stacks);
        pair.add_answers(blame.answers, blame.error_ns);
    }
    pairs
}

fn owned(findings: &Findings<'_>) -> (ByThreads, ByCode) {
    let mut places = Places::new(findings);
    let (mut threads, mut code) = (ByThreads::new(), ByCode::new());
    for wait in &findings.owned_waits {
        let OwnedWait { owners, waiters, stack, group, kind, count, wait_ns } = wait;
        let Some(kind) = WaitKind::from_code(*kind) else { continue };
        let pair = threads.entry((waiters.clone(), owners.clone())).or_default();
        pair.add((*group, kind), *count, *wait_ns);
        let key = (places.of(*stack), Holder::Threads(owners.clone()), *group, kind);
        code.entry(key).or_default().add(*count, *wait_ns, (*stack, 0));
    }
    (threads, code)
}

/// What rows are made with.
struct Known<'f> {
    findings: &'f Findings<'f>,
    /// How much wait there is a holder for.
    known_ns: u64,
    chances: Option<Chances>,
    /// What was charged for waits of a place, lock group and kind, in ns, and the squares of
    /// what each answer stands for.
    asked: HashMap<Awaited, (u64, f64)>,
    /// The same of a lock group and kind.
    asked_locks: HashMap<(u32, WaitKind), (u64, f64)>,
}

fn all_asked(code: &ByCode) -> HashMap<Awaited, (u64, f64)> {
    let mut all: HashMap<Awaited, (u64, f64)> = HashMap::new();
    for ((waiter, _, group, kind), charges) in code.iter().filter(|it| it.1.squares() > 0.0) {
        let sum = all.entry((waiter.clone(), *group, *kind)).or_default();
        sum.0 = sum.0.saturating_add(charges.wait_ns());
        sum.1 += charges.squares();
    }
    all
}

fn all_of_locks(asked: &HashMap<Awaited, (u64, f64)>) -> HashMap<(u32, WaitKind), (u64, f64)> {
    let mut all: HashMap<(u32, WaitKind), (u64, f64)> = HashMap::new();
    // In order: sums of fractions depend on it.
    let mut rows: Vec<_> = asked.iter().collect();
    rows.sort_by_key(|it| it.0);
    for ((_, group, kind), (wait_ns, squares)) in rows {
        let sum = all.entry((*group, *kind)).or_default();
        sum.0 = sum.0.saturating_add(*wait_ns);
        sum.1 += squares;
    }
    all
}

impl Known<'_> {
    /// The variance of what some threads have made others wait for a lock, as far as it
    /// follows from who was asked: as of a share of as many answers as the lock has.
    fn variance_of_threads(&self, lock: (u32, WaitKind), own: Own, waiters: &str) -> f64 {
        match self.asked_locks.get(&lock) {
            Some(&(all_ns, squares)) => {
                let share = share(own.wait_ns, all_ns).min(1.0);
                share * (1.0 - share) * squares
            }
            None => self.chances.as_ref().map_or(0.0, |it| it.of_threads((lock.0, waiters), own)),
        }
    }

    fn thread_pair(&self, ((waiters, holders), pair): ((String, String), OfThreads)) -> ThreadPair {
        let OfThreads { waits, wait_ns, locks } = pair;
        let mut variance = 0.0;
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
            let own = self.variance_of_threads((group, kind), own, &waiters);
            variance += own;
            LockShare {
                lock: self.findings.groups.lock_ref(group),
                kind: kind.name(),
                waits,
                wait_ns,
                wait_error_ns: chances.map(|_| error_ns(own, wait_ns)),
            }
        };
        let mut locks: Vec<LockShare> = locks.into_iter().map(&mut lock).collect();
        locks.sort_by_key(|lock| Reverse(lock.wait_ns));
        let wait_error_ns = chances.map(|_| error_ns(variance, wait_ns));
        let wait_share = share(wait_ns, self.known_ns);
        ThreadPair { waiters, holders, waits, wait_ns, wait_error_ns, wait_share, locks }
    }

    fn code_pair(
        &self,
        ((waiter, holder, group, kind), charges): ((String, Holder, u32, WaitKind), Charges),
    ) -> CodePair {
        let awaited = (waiter, group, kind);
        let of_answers = self.asked.get(&awaited).map(|&(all_ns, all)| {
            let share = share(charges.wait_ns(), all_ns);
            let own = charges.squares();
            (1.0 - share).powi(2) * own + share.powi(2) * (all - own).max(0.0)
        });
        let (charged, holder_stack) = charges.finish(self.findings, awaited, self.known_ns);
        let wait_ns = charged.wait_ns;
        let own = Own { holder_ns: wait_ns, wait_ns };
        let of_holder =
            |it: &Chances| error_ns(it.of_place((group, &charged.waiter), own), wait_ns);
        let wait_error_ns = match of_answers {
            Some(variance) => Some(error_ns(variance, wait_ns)),
            None => self.chances.as_ref().map(of_holder),
        };
        let (holder, holders) = match holder {
            Holder::Place(place) => (Some(place), None),
            Holder::Threads(group) => (None, Some(group)),
        };
        CodePair { charged, wait_error_ns, holder, holders, holder_stack }
    }
}

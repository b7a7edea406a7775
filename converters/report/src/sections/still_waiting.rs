//! Who waits when the log ends: deadlocks first.
//!
//! What threads wait for stands in the log's slots, so it is there after a
//! `kill -9`. See [`owners`] for who has what they wait for.

pub(super) mod owners;
mod show;

use super::shared::cut;
use crate::{
    About, Answer, Findings, InBrief, ReportOptions, Section,
    findings::{LockRef, names::is_machinery},
    section::schema_of,
};
use owners::{BlockedThread, OwnerSource};
use schemars::JsonSchema;
use serde::Serialize;
use show::view;
use std::{cmp::Reverse, collections::BTreeMap};
use tyrion_formats::Recording;
use tyrion_model::{
    describe::Names,
    filter::{Filter, Kinds},
};
use tyrion_wire::{
    WaitKind,
    slot::{Pending, flag},
};

/// The section.
pub const SECTION: Section = Section {
    name: "still-waiting",
    title: "Still waiting at the end",
    means: "Threads that waited when the log ended. Those in a deadlock would have waited for ever.",
    advice: "A deadlock: see lock-order for others. A long wait: look at what the owner does.",
    about: About::Locks,
    in_brief: InBrief::IfAdvised,
    schema: schema_of::<StillWaiting>,
    answer,
};

/// What `--json` has of the section.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct StillWaiting {
    /// Threads that wait for each other in a ring.
    pub deadlocks: Vec<Deadlock>,
    /// How many more there are.
    pub deadlocks_left_out: usize,
    /// Threads that seem to wait for each other in a ring, as `deadlocks`; but of one of them
    /// it is not known what it did between the moment at which the owner of a lock was looked
    /// for and the end.
    pub possible_deadlocks: Vec<Deadlock>,
    /// How many more there are.
    pub possible_deadlocks_left_out: usize,
    /// Threads that wait for a lock: those in a deadlock, those behind one, and the others; in
    /// each of these, the longest waits come first.
    pub waiting: Vec<Waiting>,
    /// How many more there are.
    pub left_out: usize,
    /// Threads that wait for something to happen: by what they wait for and where.
    pub idle: Vec<Idle>,
    /// How many more of those there are.
    pub idle_left_out: usize,
    /// How many threads wait in all.
    pub threads: u64,
    /// How many of them wait for a lock.
    pub blocked_threads: u64,
    /// How many are in the deadlocks, including those that the filter leaves out.
    pub deadlocked_threads: u64,
    /// How many of the logs end because their program was killed, or are still written. Where a
    /// program ended in an orderly way, the threads that wait then were left behind.
    pub unfinished_logs: u64,
    /// How many of the blocked threads are in no deadlock: what the table of
    /// them is of.
    #[serde(skip)]
    others: u64,
}

/// Threads each of which waits for a lock that the next one has, and the last for one that the
/// first has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Deadlock {
    /// The log, as the user named it.
    pub log: String,
    /// When it began (with the latest of the waits), after the log's start.
    pub since_ns: u64,
    /// How long it had lasted when the log ended; for a program that was killed, at least that
    /// long, as with `waited_ns`.
    pub lasted_ns: u64,
    /// The threads and what they wait for.
    pub threads: Vec<Waiting>,
}

/// A thread that waits for a lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Waiting {
    /// The log, as the user named it.
    pub log: String,
    /// The thread.
    pub thread: String,
    /// What kind of wait.
    pub kind: &'static str,
    /// What it waits for.
    pub lock: LockRef,
    /// Since when, after the log's start. (In a log that follows others, the wait may have
    /// begun earlier: then it is 0.)
    pub since_ns: u64,
    /// How long it had waited when the log ended. The log of a program that was killed ends
    /// with its last record, which may be long before the kill: it waited at least that long.
    pub waited_ns: u64,
    /// Who has the lock; empty when that is not known.
    pub owner: String,
    /// How the owner is known: `wait`, it had the lock when the wait began; `seen`, it had the
    /// lock at a later moment; `nesting`, it waits itself and holds the lock meanwhile, as the
    /// record of that acquisition says; `earlier-nesting`, the same, as an earlier record of an
    /// acquisition like that one says. Empty when it is not known.
    pub owner_known_by: &'static str,
    /// How long before the log's end the owner was seen to have the lock; 0 where it has
    /// it at the end, or no owner is known.
    pub owner_seen_before_ns: u64,
    /// `deadlock`: it is in one. `behind-deadlock`: it waits, directly or through others, for a
    /// thread that is in one. `possible-deadlock`: it may be in one. `lock`: none of these, as
    /// far as is known.
    pub state: &'static str,
    /// Where it waits, innermost first.
    pub stack: Vec<String>,
    /// The wait is for work: nothing has come yet.
    #[serde(skip)]
    pub(crate) is_for_work: bool,
}

impl Waiting {
    /// Where it waits: the innermost frame outside of what locks are made of; empty if no stack
    /// is known.
    pub(super) fn place(&self) -> &str {
        let place = self.stack.iter().find(|frame| !is_machinery(frame));
        place.or(self.stack.first()).map_or("", String::as_str)
    }
}

/// Threads that wait for something to happen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Idle {
    /// What kind of wait.
    pub kind: &'static str,
    /// The class of what they wait for.
    pub class: String,
    /// How many threads.
    pub count: u64,
    /// Some of them, the longest waits first; ten at most.
    pub threads: Vec<String>,
    /// How long the longest had lasted, at least, when the log ended.
    pub longest_ns: u64,
    /// Where they wait, innermost first.
    pub stack: Vec<String>,
}

/// Names of idle threads that are listed.
const IDLE_NAMES: usize = 10;

fn answer(findings: &Findings<'_>, options: &ReportOptions) -> Answer {
    let found = still_waiting(findings, options);
    let json = serde_json::to_value(&found).unwrap_or_default();
    let advises = found.blocked_threads != 0;
    Answer { json, view: view(&found), lacking: lacking(findings, &found), advises }
}

fn lacking(findings: &Findings<'_>, found: &StillWaiting) -> String {
    if findings.logs.iter().any(|log| log.facts().metadata("loaded") == Some("attached")) {
        return "of waits that began before the agent was attached, those for monitors do not say \
                which one, and others are not known; jstack shows them"
            .to_owned();
    }
    let unknown = found.waiting.iter().any(|waiting| waiting.owner.is_empty());
    let untold = findings.logs.iter().filter_map(|log| log.facts().metadata("monitor-owners"));
    match untold.filter(|told| *told != "true").last().filter(|_| unknown) {
        Some(reason) => format!("owners of monitors are not known: {reason}"),
        None => String::new(),
    }
}

/// Whether a wait is for a lock that another thread has.
pub(super) fn is_blocked(pending: &Pending) -> bool {
    pending.kind.is_contention()
        || pending.kind == WaitKind::LockReacquire
        || pending.flags & flag::REENTERS != 0
}

/// Whether a filter selects the thread of a wait, and its lock.
pub(super) fn is_selected(filter: &Filter, log: &Recording, pending: &Pending) -> bool {
    let names = Names(log);
    filter.thread.as_ref().is_none_or(|it| it.is_match(&names.thread(pending.thread)))
        && filter.lock.as_ref().is_none_or(|it| names.lock_matches(it, pending.lock))
}

/// Finds who waits.
pub fn still_waiting(findings: &Findings<'_>, options: &ReportOptions) -> StillWaiting {
    let blocked = owners::blocked(findings.logs, &findings.trace);
    let states = owners::states(&blocked);
    let (logs, filter) = (findings.logs, findings.filter);
    let describer = Describer { findings, logs, filter, blocked: &blocked };
    let mut deadlocks = describer.deadlocks(&states.deadlocks, owners::DEADLOCKED);
    let mut possible = describer.deadlocks(&states.possible, owners::MAY_BE);
    let mut waiting: Vec<(u8, Waiting)> = (0..blocked.len())
        .filter(|&at| describer.wants(&blocked[at]))
        .map(|at| (states.rank[at], describer.waiting(at, states.rank[at])))
        .collect();
    waiting.sort_by_cached_key(|(rank, it)| {
        (*rank, Reverse(it.waited_ns), it.thread.clone(), it.log.clone())
    });
    let others = waiting
        .iter()
        .filter(|(rank, _)| !matches!(*rank, owners::DEADLOCKED | owners::MAY_BE))
        .count() as u64;
    let deadlocked: usize = deadlocks.iter().map(|it| it.threads.len()).sum();
    let mut waiting: Vec<Waiting> = waiting.into_iter().map(|(_, waiting)| waiting).collect();
    let mut idle = describer.idle();
    let idle_threads: u64 = idle.iter().map(|idle| idle.count).sum();
    let blocked_threads = waiting.len() as u64;
    StillWaiting {
        deadlocks_left_out: cut(&mut deadlocks, options),
        deadlocks,
        possible_deadlocks_left_out: cut(&mut possible, options),
        possible_deadlocks: possible,
        left_out: cut(&mut waiting, options),
        waiting,
        idle_left_out: cut(&mut idle, options),
        idle,
        threads: blocked_threads + idle_threads,
        blocked_threads,
        deadlocked_threads: deadlocked as u64,
        unfinished_logs: findings.logs.iter().filter(|log| log.facts().end_ns == 0).count() as u64,
        others,
    }
}

/// Puts waits into words.
struct Describer<'a> {
    findings: &'a Findings<'a>,
    logs: &'a [Recording],
    filter: &'a Filter,
    blocked: &'a [BlockedThread],
}

impl Describer<'_> {
    /// Whether the filter asks for a thread's wait; its time does not matter,
    /// since it has not ended.
    fn wants(&self, blocked: &BlockedThread) -> bool {
        let Some(log) = self.logs.get(blocked.run as usize) else { return false };
        let kind = blocked.pending.kind;
        let is_usual = self.filter.kinds == Kinds::contention();
        let kind = is_usual && is_blocked(&blocked.pending) || self.filter.kinds.contains(kind);
        kind && is_selected(self.filter, log, &blocked.pending)
    }

    /// Rings of those who wait, those that lasted longest first.
    fn deadlocks(&self, rings: &[Vec<usize>], rank: u8) -> Vec<Deadlock> {
        let wanted =
            rings.iter().filter(|ring| ring.iter().any(|&at| self.wants(&self.blocked[at])));
        let mut deadlocks: Vec<Deadlock> = wanted.map(|ring| self.deadlock(ring, rank)).collect();
        deadlocks.sort_by_cached_key(|it| {
            (it.log.clone(), Reverse(it.lasted_ns), it.threads.first().map(|it| it.thread.clone()))
        });
        deadlocks
    }

    fn deadlock(&self, ring: &[usize], rank: u8) -> Deadlock {
        let threads: Vec<Waiting> = ring.iter().map(|&at| self.waiting(at, rank)).collect();
        Deadlock {
            log: threads.first().map_or_else(String::new, |it| it.log.clone()),
            since_ns: threads.iter().map(|it| it.since_ns).max().unwrap_or(0),
            lasted_ns: threads.iter().map(|it| it.waited_ns).min().unwrap_or(0),
            threads,
        }
    }

    fn waiting(&self, at: usize, rank: u8) -> Waiting {
        let BlockedThread { run, pending, owner, is_sure, .. } = &self.blocked[at];
        let Some(log) = self.logs.get(*run as usize) else { return Waiting::default() };
        let names = Names(log);
        let owner_log = owner.and_then(|owner| self.logs.get(owner.run as usize));
        let owner_name = owner.zip(owner_log).map(|(owner, log)| Names(log).thread(owner.thread));
        Waiting {
            log: log.name().to_owned(),
            thread: names.thread(pending.thread),
            kind: pending.kind.name(),
            lock: lock_ref(log, pending.lock),
            since_ns: pending.start_ns.saturating_sub(log.start_ns()),
            waited_ns: log.end_ns().saturating_sub(pending.start_ns),
            owner: owner_name.unwrap_or_default(),
            owner_known_by: match owner.map(|owner| owner.source) {
                Some(OwnerSource::Wait) => "wait",
                Some(OwnerSource::Seen) => "seen",
                Some(OwnerSource::Nesting) => "nesting",
                Some(OwnerSource::EarlierNesting) => "earlier-nesting",
                None => "",
            },
            owner_seen_before_ns: match owner {
                Some(_) if !is_sure => {
                    log.end_ns().saturating_sub(pending.seen_ns.max(pending.start_ns))
                }
                _ => 0,
            },
            state: match rank {
                owners::DEADLOCKED => "deadlock",
                owners::MAY_BE => "possible-deadlock",
                owners::BEHIND => "behind-deadlock",
                _ => "lock",
            },
            stack: names.stack(pending.stack),
            is_for_work: self.is_for_work((*run as usize, log), pending),
        }
    }

    fn is_for_work(&self, of_log: (usize, &Recording), pending: &Pending) -> bool {
        let Findings { for_work, other_waits, .. } = self.findings;
        for_work.is_pending(of_log, pending, &other_waits.judged)
    }

    /// Idle threads, the largest crowds first. A filter that asks for the usual
    /// kinds does not leave them out: they are a few lines.
    fn idle(&self) -> Vec<Idle> {
        let mut crowds: BTreeMap<Crowd, Vec<(u64, String)>> = BTreeMap::new();
        for (run, pending) in owners::pending(self.logs) {
            let log = &self.logs[run as usize];
            let kinds = self.filter.kinds;
            let kind = kinds == Kinds::contention() || kinds.contains(pending.kind);
            if is_blocked(&pending) || !kind || !is_selected(self.filter, log, &pending) {
                continue;
            }
            let names = Names(log);
            let class = lock_ref(log, pending.lock).class;
            let waited_ns = log.end_ns().saturating_sub(pending.start_ns);
            let crowd = crowds.entry((pending.kind, class, names.stack(pending.stack)));
            crowd.or_default().push((waited_ns, names.thread(pending.thread)));
        }
        let mut idle: Vec<Idle> = crowds.into_iter().map(crowd).collect();
        // Stable: those of one size stay in the order of kind, class and stack.
        idle.sort_by_key(|it| (Reverse(it.count), Reverse(it.longest_ns)));
        idle
    }
}

/// What idle threads have in common: kind of wait, class of what they wait for,
/// and stack.
type Crowd = (WaitKind, String, Vec<String>);

/// A crowd in words; of each thread how long it waits, and its name.
fn crowd(((kind, class, stack), mut threads): (Crowd, Vec<(u64, String)>)) -> Idle {
    threads.sort_by(|a, b| (Reverse(a.0), &a.1).cmp(&(Reverse(b.0), &b.1)));
    Idle {
        kind: kind.name(),
        class,
        count: threads.len() as u64,
        longest_ns: threads.first().map_or(0, |(waited_ns, _)| *waited_ns),
        threads: threads.into_iter().take(IDLE_NAMES).map(|(_, name)| name).collect(),
        stack,
    }
}

/// What a waited-for lock is called.
pub(super) fn lock_ref(log: &Recording, lock: u32) -> LockRef {
    let (class, name) = Names(log).lock_parts(lock);
    LockRef { name, class, id: lock }
}

#[cfg(test)]
mod tests;

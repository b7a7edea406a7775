//! Locks that threads waited for when the recording ended: of a deadlock no wait ends, so
//! that the sums of waits do not have it.

use super::{Findings, GlanceLock, MOST_LOCKS, Most, Still};
use crate::{
    ReportOptions,
    sections::still_waiting::{Waiting, still_waiting},
};
use std::cmp::Reverse;

/// Shorter waits are those of any moment, if they are in no deadlock.
const LEAST_NS: u64 = 1_000_000_000;

/// The locks, those first that threads are stuck at.
pub(super) fn with_those_that_wait(
    findings: &Findings<'_>,
    mut locks: Vec<GlanceLock>,
) -> Vec<GlanceLock> {
    let all = ReportOptions { top: 0, ..ReportOptions::default() };
    let mut waiting = still_waiting(findings, &all).waiting;
    waiting.retain(is_stuck);
    for waits in &waiting {
        let label = label(findings, waits);
        if !locks.iter().any(|lock| lock.label == label) {
            let over_time_ns = vec![0; findings.time_use.lived_ns.len()];
            locks.push(GlanceLock { label, over_time_ns, ..GlanceLock::default() });
        }
    }
    for lock in &mut locks {
        let is_for_it = |waits: &&Waiting| label(findings, waits) == lock.label;
        let own: Vec<&Waiting> = waiting.iter().filter(is_for_it).collect();
        lock.still = Still {
            threads: own.len() as u64,
            longest_ns: own.iter().map(|waits| waits.waited_ns).max().unwrap_or(0),
            all_ns: own.iter().map(|waits| waits.waited_ns).sum(),
        };
        // Those who are stuck come before those who once waited, and each by its own name: in
        // a deadlock two of one group may have each other's lock.
        let [waiters, owners] = [most(&own, |it| &it.thread), most(&own, |it| &it.owner)];
        for (shown, stuck) in [(&mut lock.waiter, waiters), (&mut lock.holder, owners)] {
            if !stuck.name.is_empty() {
                *shown = stuck;
            }
        }
    }
    // Of equal ones those with more wait stay in front.
    locks.sort_by_key(|lock| Reverse(lock.still.all_ns));
    locks.truncate(MOST_LOCKS);
    locks
}

fn is_stuck(waiting: &Waiting) -> bool {
    waiting.state != "lock" || waiting.waited_ns >= LEAST_NS && !waiting.is_for_work
}

/// What the lock is called, as those that somebody got.
fn label(findings: &Findings<'_>, waiting: &Waiting) -> String {
    let lock = &waiting.lock;
    let group = findings.groups.find(&lock.class, &lock.name);
    group.map_or_else(|| lock.label(), |group| findings.groups.lock_ref(group).label())
}

fn most(waiting: &[&Waiting], who: fn(&Waiting) -> &String) -> Most {
    let known = waiting.iter().filter(|waits| !who(waits).is_empty());
    Most::of(known.map(|waits| (who(waits).clone(), waits.waited_ns)))
}

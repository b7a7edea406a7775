//! Who most likely has to do what threads wait for, where nobody is known to have ended a wait.

use super::instead::full_pool;
use crate::{
    Findings,
    findings::{LockRef, PlaceWaits, thread_group},
};
use std::collections::{BTreeMap, BTreeSet};
use tyrion_model::{
    profile::State,
    withheld::{JudgedPlace, Why, is_of_one_maker},
};

/// Those that wait here themselves, if they wait for one another; the threads that wait for the
/// same thing elsewhere, as who takes from a queue does; or else those that run the code of which
/// the place is a part, and were seen at work.
pub(super) fn by(
    findings: &Findings<'_>,
    judged: &JudgedPlace,
    waits: &PlaceWaits,
) -> Option<String> {
    if judged.why == Why::OneAnother {
        let most = waits.groups.iter().max_by_key(|(_, delay)| delay.wait_ns);
        return most.map(|(group, _)| group.clone());
    }
    takers(findings, waits).or_else(|| servers(findings, judged, waits))
}

/// Threads of which none is free, if those that ended the waits are mostly at leisure: they only
/// pass on what the others have done.
pub(super) fn by_pool(findings: &Findings<'_>, enders: &str) -> Option<String> {
    let (mut idle_ns, mut all_ns) = (0u64, 0u64);
    for row in findings.snapshots.of_threads(enders) {
        all_ns = all_ns.saturating_add(row.wall_ns);
        idle_ns = idle_ns.saturating_add(if row.state == State::Idle { row.wall_ns } else { 0 });
    }
    let is_at_leisure = all_ns != 0 && idle_ns >= all_ns / 2;
    let full = full_pool(findings).filter(|_| is_at_leisure)?;
    (!full.has(enders)).then(|| full.threads.clone())
}

/// Of several groups the one that waits least there: it has most to do.
fn takers(findings: &Findings<'_>, waits: &PlaceWaits) -> Option<String> {
    let telling: BTreeSet<&LockRef> =
        waits.locks.keys().filter(|lock| !lock.class.is_empty() && is_telling(lock)).collect();
    let others = findings.other_waits.places.iter().filter(|it| it.place != waits.place);
    let same = others.filter(|it| it.locks.keys().any(|lock| telling.contains(lock)));
    let groups = same.flat_map(|it| &it.groups);
    let mut groups: Vec<_> =
        groups.filter(|(group, _)| !waits.groups.contains_key(*group)).collect();
    groups.sort_by_key(|(_, delay)| delay.wait_ns);
    groups.first().map(|(group, _)| (*group).clone())
}

/// Whether a lock's class or name is not that of many.
fn is_telling(lock: &LockRef) -> bool {
    !lock.name.is_empty() || !lock.class.starts_with("java.")
}

fn servers(findings: &Findings<'_>, judged: &JudgedPlace, waits: &PlaceWaits) -> Option<String> {
    let is_programs = findings.program.frame(std::slice::from_ref(&judged.place.at)).is_some();
    if is_programs {
        return None;
    }
    let mut groups: BTreeMap<String, u64> = BTreeMap::new();
    let at_work =
        findings.snapshots.rows.iter().filter(|row| {
            row.state != State::Idle && !row.thread.is_empty() && !row.root.is_empty()
        });
    for row in at_work.filter(|row| is_of_one_maker(&row.root, &judged.place.at)) {
        let group = thread_group(&row.thread);
        if !waits.groups.contains_key(&group) {
            let sum = groups.entry(group).or_default();
            *sum = sum.saturating_add(row.wall_ns);
        }
    }
    // Of equal ones the first by name.
    groups.into_iter().rev().max_by_key(|(_, ns)| *ns).map(|(group, _)| group)
}

//! Why threads wait for a lock.

use super::{
    super::{
        super::{estimate::Moments, shared::share},
        machine::Machine,
    },
    Cause, GuiltyLock, Holds, MOST, SHORT_HOLD_NS,
};
use crate::Findings;
use tyrion_formats::{Recording, WaitSite};
use tyrion_model::{describe::Names, withheld::Why};
use tyrion_wire::WaitKind;

/// Holds explain waits if a wait is at most this many times as long as the holds of all
/// other waiting threads, one after the other.
const TIMES: f64 = 3.0;
/// Rare holds are long if they are this many times as long as the others.
const MUCH_LONGER: f64 = 10.0;

/// Why threads wait for it. A wait lasts as long as the holds of the threads ahead in
/// the queue, of which there are at most as many as threads wait; if it lasts much
/// longer, shorter holds would not help.
pub(super) fn of(
    lock: &GuiltyLock,
    kind: WaitKind,
    holds: Option<&Holds>,
    machine: &Machine,
) -> Cause {
    if lock.lock.initializes().is_some() {
        return Cause::Initialization;
    }
    if lock.in_collections_ns.is_some_and(|ns| share(ns, lock.wait_ns) >= MOST) {
        return Cause::Collections;
    }
    if kind == WaitKind::Semaphore {
        return Cause::FewPermits;
    }
    let Some(holds) = holds else {
        return if machine.is_crowded() { Cause::OwnerNotRunning } else { Cause::Unknown };
    };
    let hold_ns = holds.hold_ns as f64 / holds.acquisitions as f64;
    let (wait_ns, queue) = (lock.mean_wait_ns as f64, lock.waiting_threads.max(1) as f64);
    let met_ns = Moments::of(&holds.histogram).met_ns();
    // More threads would have waited at the same time than there are.
    let is_impossible =
        waited_in_traced_ns(lock, holds, machine) > TIMES * queue * holds.hold_ns as f64;
    let of_holds = if hold_ns < SHORT_HOLD_NS { Cause::ManyAcquisitions } else { Cause::LongHolds };
    if wait_ns <= TIMES * queue * hold_ns && !is_impossible {
        return of_holds;
    }
    if machine.is_short_of_processors() || machine.is_crowded() {
        Cause::OwnerNotRunning
    } else if wait_ns <= TIMES * met_ns && met_ns >= MUCH_LONGER * hold_ns {
        Cause::RareLongHolds
    } else if lock.is_held_mostly(holds) {
        // Who has it takes it again before those who wait.
        of_holds
    } else {
        Cause::HandOver
    }
}

/// The waits while holds were measured, ns, if there are as many at all times.
fn waited_in_traced_ns(lock: &GuiltyLock, holds: &Holds, machine: &Machine) -> f64 {
    let recorded_ns = machine.recorded_ns;
    let is_part = holds.traced_ns < recorded_ns;
    let part = if is_part { share(holds.traced_ns, recorded_ns) } else { 1.0 };
    lock.wait_ns as f64 * part
}

/// The sites of a group's locks: the number of the log, the log, and the site.
fn sites<'f>(
    findings: &'f Findings<'_>,
    group: u32,
) -> impl Iterator<Item = (usize, &'f Recording, u32, &'f WaitSite)> {
    findings.logs.iter().enumerate().flat_map(move |(run, log)| {
        let of_group = move |id: u32| {
            let row = findings.aggregate.ids.get(run).and_then(|ids| ids.site(id));
            row.is_some_and(|(_, lock, _)| findings.groups.of(lock) == group)
        };
        let sites = log.definitions().sites().iter().filter(move |(id, _)| of_group(*id));
        sites.map(move |(id, site)| (run, log, id, site))
    })
}

/// Whether nobody gave back a permit that is waited for with a time limit.
pub(super) fn is_unanswered(findings: &Findings<'_>, group: u32) -> bool {
    let judged = &findings.other_waits.judged;
    let mut places = sites(findings, group)
        .filter_map(|(run, _, id, _)| judged.places().get(judged.place_of_site(run, id)?));
    places.any(|place| place.why == Why::Unanswered)
}

/// Whether those who wait get the lock in the order in which they came.
pub(super) fn is_fair(findings: &Findings<'_>, group: u32) -> bool {
    let mut sites = sites(findings, group);
    sites.any(|(_, log, _, site)| Names(log).lock_class(site.lock).ends_with("$FairSync"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const S: u64 = 1000 * MS;

    /// Of a lock that eight threads wait for, in an hour on processors that are not busy, by
    /// holds of so many in some seconds.
    fn cause(lock: GuiltyLock, (count, hold_ns): (u64, u64), traced_s: u64) -> Cause {
        let lock = GuiltyLock { waiting_threads: 8, ..lock };
        let (acquisitions, traced_ns) = (count, traced_s * S);
        let hold_ns = count * hold_ns;
        let holds = Holds { acquisitions, hold_ns, traced_ns, logs: 1, ..Holds::default() };
        of(&lock, WaitKind::Lock, Some(&holds), &Machine::with(2, S, 3600 * S))
    }

    #[test]
    fn holds_that_were_measured_for_a_while_explain_the_waits_of_that_time() {
        let lock =
            || GuiltyLock { mean_wait_ns: 60 * MS, wait_ns: 3600 * S, ..GuiltyLock::default() };
        assert_eq!(cause(lock(), (30, 20 * MS), 10), Cause::LongHolds);
        assert_eq!(cause(lock(), (30, 20 * MS), 3600), Cause::HandOver, "they were all");
    }

    #[test]
    fn a_lock_that_is_held_mostly_is_handed_over_fast() {
        let lock = |kind, objects| GuiltyLock {
            mean_wait_ns: 700 * MS,
            wait_ns: 3600 * S,
            kinds: vec![WaitKind::name(kind)],
            objects,
            ..GuiltyLock::default()
        };
        let own = || lock(WaitKind::Lock, 1);
        assert_eq!(cause(own(), (450, 20 * MS), 10), Cause::LongHolds);
        assert_eq!(cause(own(), (450_000, 20_000), 10), Cause::ManyAcquisitions);
        assert_eq!(cause(own(), (200, 20 * MS), 10), Cause::HandOver);
        assert_eq!(cause(lock(WaitKind::Lock, 2), (450, 20 * MS), 10), Cause::HandOver, "two");
        // Readers hold it at the same time.
        assert_eq!(cause(lock(WaitKind::LockWrite, 1), (450, 20 * MS), 10), Cause::HandOver);
    }
}

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
    let is_impossible = lock.wait_ns as f64 > TIMES * queue * holds.hold_ns as f64;
    if wait_ns <= TIMES * queue * hold_ns && !is_impossible {
        return if hold_ns < SHORT_HOLD_NS { Cause::ManyAcquisitions } else { Cause::LongHolds };
    }
    if machine.is_short_of_processors() || machine.is_crowded() {
        Cause::OwnerNotRunning
    } else if wait_ns <= TIMES * met_ns && met_ns >= MUCH_LONGER * hold_ns {
        Cause::RareLongHolds
    } else {
        Cause::HandOver
    }
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

//! What conditions measure.

use crate::{
    Findings, ReportOptions,
    findings::LockRef,
    sections::{
        contended::{Contended, ContendedLock},
        dumps::{BlockedOn, DumpFindings, are_dumps, dump_findings},
        lock_order::lock_order,
        overview::Overview,
        still_waiting::still_waiting,
    },
};
use tyrion_formats::Recording;

/// What recordings measured, as far as conditions can be about it. `None` is
/// what the logs do not tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Whether all of the logs were recorded in trace mode.
    pub is_trace: bool,
    /// Whether some log does not tell how long threads waited.
    pub lacks_durations: bool,
    /// How long was recorded, in ns: the logs' durations added up.
    pub recorded_ns: u64,
    /// Number of waits.
    pub waits: u64,
    /// Their durations added up, in ns.
    pub wait_ns: u64,
    /// The share of the threads' time that is lost to waits.
    pub lost_share: Option<f64>,
    /// The share of it that is lost to waits for no lock.
    pub withheld_share: Option<f64>,
    /// Number of acquisitions.
    pub acquisitions: Option<u64>,
    /// The standard error of that.
    pub acquisitions_error: Option<u64>,
    /// Critical section pressure.
    pub pressure_share: Option<f64>,
    /// Waits that were lost when recorded.
    pub dropped: u64,
    /// Orders of locks that can end in a deadlock.
    pub lock_order_cycles: Option<u64>,
    /// Deadlocks at the end.
    pub deadlocks: Option<u64>,
    /// Whether all of the logs are thread dumps, which tell nothing of durations and counts.
    pub is_dumps: bool,
    /// Threads that wait for an object of a pool in the last dump.
    pub pool_waiters: Option<u64>,
    /// Threads that are the same in all dumps, and not idle; of a single dump nobody knows.
    pub unmoved_threads: Option<u64>,
    /// By lock and kind of wait.
    pub locks: Vec<LockFigures>,
}

/// What was measured of the locks of one class and name, waited for in one way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LockFigures {
    /// What they are called.
    pub lock: LockRef,
    /// The kind of wait.
    pub kind: &'static str,
    /// Number of waits.
    pub waits: u64,
    /// Their durations added up, in ns.
    pub wait_ns: u64,
    /// The longest of them, in ns.
    pub max_wait_ns: u64,
    /// Half of the waits were not longer, in ns.
    pub p50_wait_ns: Option<u64>,
    /// 99 % of the waits were not longer, in ns.
    pub p99_wait_ns: Option<u64>,
    /// Number of acquisitions.
    pub acquisitions: Option<u64>,
    /// The standard error of that.
    pub acquisitions_error: Option<u64>,
    /// How long they were held in all, in ns.
    pub hold_ns: Option<u64>,
    /// The longest measured hold, in ns.
    pub max_hold_ns: Option<u64>,
    /// The share of the recording's duration in which they were held.
    pub hold_share: Option<f64>,
    /// How many threads wait in the dump with the most.
    pub waiters: Option<u64>,
}

impl LockFigures {
    /// What a lock is found by in another recording: class, name and kind.
    pub fn key(&self) -> (&str, &str, &'static str) {
        (&self.lock.class, &self.lock.name, self.kind)
    }

    fn of(lock: &ContendedLock) -> LockFigures {
        LockFigures {
            lock: lock.lock.clone(),
            kind: lock.kind,
            waits: lock.contended,
            wait_ns: lock.wait_ns,
            max_wait_ns: lock.max_wait_ns,
            p50_wait_ns: lock.p50_wait_ns,
            p99_wait_ns: lock.p99_wait_ns,
            acquisitions: lock.acquisitions,
            acquisitions_error: lock.acquisitions_error,
            hold_ns: lock.hold_ns,
            max_hold_ns: lock.max_hold_ns,
            hold_share: lock.utilisation_share,
            waiters: None,
        }
    }

    fn of_dump(lock: &BlockedOn) -> LockFigures {
        let (class, name) = (lock.class.clone(), lock.name.clone());
        LockFigures {
            lock: LockRef { class, name, ..LockRef::default() },
            kind: lock.kind,
            waiters: Some(lock.most_waiters),
            ..LockFigures::default()
        }
    }
}

impl Figures {
    /// What was found, in the words of the report's sections: so that no
    /// condition holds that the report does not show.
    pub fn of(findings: &Findings<'_>) -> Figures {
        if let Some(found) = dump_findings(findings).filter(|_| are_dumps(findings)) {
            return Figures::of_dumps(&found);
        }
        let contended = Contended::of(findings, &everything());
        let overview = Overview::of(findings);
        let totals = &contended.totals;
        let lacks_durations = findings.logs.iter().any(|log| log.facts().lacks.durations);
        let has_shares = overview.threads.lived_ns != 0 && !lacks_durations;
        Figures {
            is_trace: !findings.logs.is_empty() && findings.logs.iter().all(Recording::is_trace),
            lacks_durations,
            recorded_ns: findings.recorded_ns(),
            waits: totals.contended,
            wait_ns: totals.wait_ns,
            lost_share: has_shares.then_some(overview.lost_share),
            withheld_share: has_shares.then_some(overview.withheld_share),
            acquisitions: totals.acquisitions,
            acquisitions_error: totals.acquisitions_error,
            pressure_share: overview.pressure_share,
            dropped: overview.dropped,
            lock_order_cycles: None,
            deadlocks: None,
            is_dumps: false,
            pool_waiters: None,
            unmoved_threads: None,
            locks: contended.locks.iter().map(LockFigures::of).collect(),
        }
    }
}

impl Figures {
    /// What thread dumps show.
    fn of_dumps(found: &DumpFindings) -> Figures {
        let pools = found.crowds.iter().filter(|crowd| crowd.is_pool);
        Figures {
            is_dumps: true,
            lacks_durations: true,
            deadlocks: Some(found.deadlocks.len() as u64),
            pool_waiters: Some(pools.map(|pool| pool.count).sum()),
            unmoved_threads: (found.dumps > 1).then_some(found.unmoved.len() as u64),
            locks: found.blocked.iter().map(LockFigures::of_dump).collect(),
            ..Figures::default()
        }
    }

    /// The same with what takes longer to find: orders of locks and deadlocks.
    pub fn with_orders(self, findings: &Findings<'_>) -> Figures {
        if self.is_dumps {
            return self;
        }
        let orders = lock_order(findings, &everything());
        let waiting = still_waiting(findings, &everything());
        let count = |listed: usize, left_out: usize| Some((listed + left_out) as u64);
        Figures {
            lock_order_cycles: count(orders.cycles.len(), orders.left_out),
            deadlocks: count(waiting.deadlocks.len(), waiting.deadlocks_left_out),
            ..self
        }
    }
}

/// All rows, however many.
pub(crate) fn everything() -> ReportOptions {
    ReportOptions { top: 0, ..ReportOptions::default() }
}

//! What conditions can be about.

use super::{Figures, LockFigures};
use crate::cells::percent;
use tyrion_model::units;

/// What a metric counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A duration in ns.
    Ns,
    /// A share of something, 1 for the whole.
    Share,
    /// A number.
    Count,
}

impl Unit {
    /// What its values are, and how to write them.
    pub fn about(self) -> &'static str {
        match self {
            Unit::Ns => "a duration; write 5ms, 20us or a number of ns",
            Unit::Share => "a share; write 10% or 0.1",
            Unit::Count => "a number; write it without a unit",
        }
    }

    /// A value for people.
    pub(super) fn text(self, value: f64) -> String {
        match self {
            Unit::Ns => units::duration(value.max(0.0).round() as u64),
            Unit::Share => percent(value),
            Unit::Count if value.fract() == 0.0 => units::thousands(value.max(0.0) as u64),
            Unit::Count => format!("{value:.2}"),
        }
    }
}

/// Something that conditions can be about.
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// What it is, in one line.
    pub about: &'static str,
    /// Whether only trace mode records it.
    pub needs_trace: bool,
    /// Whether it is about how often locks were taken, or how long they were
    /// held, which is known of whole recordings only.
    needs_acquisitions: bool,
    /// What tells it.
    source: Measured,
    /// What it is of a lock that no thread waited for: its holds are then not
    /// looked up, so those are not known.
    pub(super) of_nothing: Option<f64>,
    pub(super) of: Of,
}

/// What tells a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measured {
    Recordings,
    Dumps,
    Both,
}

/// What a metric is of; the functions say `None` when it is not known.
#[derive(Clone, Copy)]
pub(super) enum Of {
    /// The whole recording.
    Whole(fn(&Figures) -> Option<f64>),
    /// Each lock.
    Locks(fn(&LockFigures, &Figures) -> Option<f64>),
}

impl std::fmt::Debug for Metric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl Metric {
    /// Whether it is of a lock, and not of the whole recording.
    pub fn is_of_locks(&self) -> bool {
        matches!(self.of, Of::Locks(_))
    }

    /// What a recording lacks for it, if anything.
    pub(super) fn lacks(&self, figures: &Figures) -> Option<&'static str> {
        if figures.is_dumps && self.source == Measured::Recordings {
            Some(
                "is not told by thread dumps, which are moments; they have lock_waiters, \
                 pool_waiters, unmoved_threads and deadlocks",
            )
        } else if !figures.is_dumps && self.source == Measured::Dumps {
            Some("needs thread dumps")
        } else if self.needs_trace && !figures.is_trace {
            Some("needs a log of tyrion record --mode trace")
        } else if self.needs_acquisitions && figures.acquisitions.is_none() {
            Some("is known for whole recordings only: leave out --since, --until and --min-wait")
        } else if self.unit == Unit::Ns && figures.lacks_durations {
            Some("is not known: a file tells only how often threads waited")
        } else {
            None
        }
    }

    pub(super) fn is_of_orders(&self) -> bool {
        matches!(self.name, CYCLES | DEADLOCKS)
    }
}

const CYCLES: &str = "lock_order_cycles";
const DEADLOCKS: &str = "deadlocks";

const fn whole(
    name: &'static str,
    unit: Unit,
    get: fn(&Figures) -> Option<f64>,
    about: &'static str,
) -> Metric {
    let of = Of::Whole(get);
    let (needs_trace, needs_acquisitions) = (false, false);
    let (source, of_nothing) = (Measured::Recordings, None);
    Metric { name, unit, about, needs_trace, needs_acquisitions, source, of_nothing, of }
}

const fn lock(
    name: &'static str,
    unit: Unit,
    get: fn(&LockFigures, &Figures) -> Option<f64>,
    about: &'static str,
) -> Metric {
    let of = Of::Locks(get);
    let (needs_trace, needs_acquisitions) = (false, false);
    let (source, of_nothing) = (Measured::Recordings, Some(0.0));
    Metric { name, unit, about, needs_trace, needs_acquisitions, source, of_nothing, of }
}

const fn dumped(metric: Metric) -> Metric {
    Metric { source: Measured::Dumps, ..metric }
}

const fn traced(metric: Metric) -> Metric {
    Metric { needs_trace: true, ..metric }
}

const fn counted(metric: Metric) -> Metric {
    Metric { needs_acquisitions: true, ..traced(metric) }
}

const fn held(metric: Metric) -> Metric {
    Metric { of_nothing: None, ..counted(metric) }
}

/// Every metric, in the order of the help.
#[rustfmt::skip] // a line each
pub const METRICS: &[Metric] = &[
    lock("p50_wait_ns", Unit::Ns, |l, _| some(l.p50_wait_ns), "half of a lock's waits are not longer"),
    lock("p99_wait_ns", Unit::Ns, |l, _| some(l.p99_wait_ns), "99 % of a lock's waits are not longer"),
    lock("max_wait_ns", Unit::Ns, |l, _| Some(l.max_wait_ns as f64), "a lock's longest wait"),
    lock("mean_wait_ns", Unit::Ns, |l, _| ratio(l.wait_ns, l.waits), "a lock's waits on average"),
    lock("lock_wait_ns", Unit::Ns, |l, _| Some(l.wait_ns as f64), "a lock's waits added up"),
    lock("lock_contentions", Unit::Count, |l, _| Some(l.waits as f64), "how many waits a lock has"),
    lock("lock_wait_per_second_ns", Unit::Ns, |l, f| per_second(l.wait_ns, f), "a lock's waits in each second recorded"),
    counted(lock("lock_miss_share", Unit::Share, |l, _| share(l.waits, l.acquisitions), "the share of a lock's acquisitions that wait")),
    held(lock("mean_hold_ns", Unit::Ns, |l, _| ratio(l.hold_ns?, l.acquisitions?), "how long a lock is held on average")),
    held(lock("max_hold_ns", Unit::Ns, |l, _| some(l.max_hold_ns), "the longest measured hold of a lock")),
    held(lock("hold_share", Unit::Share, |l, _| l.hold_share, "the share of the time a lock is held")),
    whole("wait_ns", Unit::Ns, |f| Some(f.wait_ns as f64), "all waits added up"),
    whole("contentions", Unit::Count, |f| Some(f.waits as f64), "how many waits there are"),
    whole("wait_per_second_ns", Unit::Ns, |f| per_second(f.wait_ns, f), "all waits in each second recorded"),
    whole("contentions_per_second", Unit::Count, |f| per_second(f.waits, f), "how many waits there are in each second"),
    whole("wait_share", Unit::Share, |f| f.lost_share, "the share of threads' time that is lost, as in the overview"),
    whole("withheld_share", Unit::Share, |f| f.withheld_share, "as wait_share, for waits that withhold work without a lock"),
    whole("pressure_share", Unit::Share, |f| f.pressure_share, "critical section pressure, as in the overview"),
    counted(whole("miss_share", Unit::Share, |f| share(f.waits, f.acquisitions), "the share of all acquisitions that wait")),
    traced(whole(CYCLES, Unit::Count, |f| some(f.lock_order_cycles), "orders of locks that can end in a deadlock")),
    Metric { source: Measured::Both, ..whole(DEADLOCKS, Unit::Count, |f| some(f.deadlocks), "deadlocks at the end") },
    whole("dropped", Unit::Count, |f| Some(f.dropped as f64), "waits that were not recorded for lack of room"),
    dumped(lock("lock_waiters", Unit::Count, |l, _| some(l.waiters), "how many threads wait for a lock at most; thread dumps")),
    dumped(whole("pool_waiters", Unit::Count, |f| some(f.pool_waiters), "how many wait for an object of a pool; thread dumps")),
    dumped(whole("unmoved_threads", Unit::Count, |f| some(f.unmoved_threads), "those that are the same in all thread dumps")),
];

fn some(value: Option<u64>) -> Option<f64> {
    value.map(|value| value as f64)
}

fn share(part: u64, of: Option<u64>) -> Option<f64> {
    of.and_then(|of| ratio(part, of))
}

fn ratio(part: u64, of: u64) -> Option<f64> {
    (of != 0).then(|| part as f64 / of as f64)
}

fn per_second(value: u64, figures: &Figures) -> Option<f64> {
    ratio(value, figures.recorded_ns).map(|each| each * 1e9)
}

//! An estimate from sums alone, if the interleaving of threads is not known: a closed
//! network of queues, within hard bounds.

use crate::{
    change::Change,
    interval::{Doubt, Interval},
    numbers::Numbers,
    queueing::Network,
    totals::{GroupTotals, RecordingTotals},
};
use std::collections::BTreeSet;

/// The question.
#[derive(Clone, Copy)]
pub(crate) struct CoarseQuestion<'a> {
    pub(crate) group: u32,
    /// One lock of the group, by id.
    pub(crate) lock: Option<u32>,
    pub(crate) change: Change,
    pub(crate) processors: Option<u32>,
    /// Whether a place only reads.
    pub(crate) reads: &'a dyn Fn(u32) -> bool,
}

/// An estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Coarse {
    pub(crate) ratio: f64,
    pub(crate) interval: Interval,
    /// The average number of threads that want the lock.
    pub(crate) threads: f64,
    /// Whether hold times are known; otherwise they are derived from how long threads
    /// waited.
    pub(crate) holds_known: bool,
    /// Whether the processors limit the gain.
    pub(crate) is_bound: bool,
}

/// Shares of the time of the threads that want the locks.
#[derive(Clone, Copy, Debug)]
struct Shape {
    threads: f64,
    locks: f64,
    waited: f64,
    held: f64,
    /// The share of holds at places that only read.
    read: f64,
    holds_known: bool,
}

/// Makes the estimate.
///
/// # Errors
/// The reason why there is none, as a clause.
pub(crate) fn estimate(
    totals: &RecordingTotals,
    numbers: &Numbers,
    asked: &CoarseQuestion<'_>,
) -> Result<Coarse, String> {
    let group = totals.groups.get(&asked.group).ok_or(NOTHING)?;
    if group.waited.is_empty() && group.taken.is_empty() {
        return Err(if group.is_idle { IDLE } else { NOTHING }.to_owned());
    }
    let shape = shape(totals, group, numbers, asked)?;
    let Shape { threads, locks, waited, held, .. } = shape;
    let network = Network { threads, outside: (1.0 - waited - held).max(0.0), held, locks };
    let (changed, saved) = match asked.change {
        Change::Free => (Network { outside: 1.0 - waited, held: 0.0, ..network }, 0.0),
        Change::Hold { divisor } => {
            (Network { held: held / divisor, ..network }, held * (1.0 - 1.0 / divisor))
        }
        Change::Stripes { count } => (Network { locks: locks * f64::from(count), ..network }, 0.0),
        Change::ReadWrite => {
            let read = held * shape.read;
            (Network { outside: network.outside + read, held: held - read, ..network }, 0.0)
        }
    };
    // No thread waits any more, and the saved time is gone.
    let most = 1.0 / (1.0 - waited - saved).max(1e-6);
    let bound = processors_bound(totals, asked, saved / (1.0 - waited).max(1e-6));
    let high = most.min(bound).max(1.0);
    let ratio = match asked.change {
        Change::Free => most,
        _ => changed.flow().rounds / network.flow().rounds.max(f64::MIN_POSITIVE),
    };
    let ratio = if ratio.is_finite() { ratio.clamp(1.0, high) } else { 1.0 };
    let is_bound = bound < most;
    // A free lock may just move the queue elsewhere.
    let doubt = Doubt { others: totals.others.unwrap_or(0.0), ..Doubt::default() };
    let interval = Interval { low: 1.0, high }.widened(ratio, &doubt);
    Ok(Coarse { ratio, interval, threads, holds_known: shape.holds_known, is_bound })
}

const NOTHING: &str = "no thread waited for this lock, and how often it was taken is not known";
const IDLE: &str = "threads wait there for something to happen, not for the holder of a lock";

fn shape(
    totals: &RecordingTotals,
    group: &GroupTotals,
    numbers: &Numbers,
    asked: &CoarseQuestion<'_>,
) -> Result<Shape, String> {
    if totals.lacks.threads {
        return Err("it is not known which threads waited for it".to_owned());
    }
    if totals.lacks.durations {
        return Err("it is not known how long threads waited for it".to_owned());
    }
    let threads: BTreeSet<u32> =
        group.waited.keys().copied().chain(group.taken.keys().map(|key| key.0)).collect();
    let lived = |thread: &u32| {
        numbers.threads.get(*thread as usize).map_or(0, |of| of.lived_ns(&totals.times)) as f64
    };
    let lived_ns: f64 = threads.iter().map(lived).sum();
    if lived_ns <= 0.0 {
        return Err("it is not known how long its threads lived".to_owned());
    }
    let all_ns: f64 = group.waited.values().map(|waited| waited.wait_ns as f64).sum();
    let (waited_ns, locks) = match asked.lock {
        Some(id) => (group.locks.get(&id).copied().unwrap_or(0) as f64, 1.0),
        None => (all_ns, as_many(group.locks.values().map(|&ns| ns as f64))),
    };
    let part = if all_ns > 0.0 { waited_ns / all_ns } else { 1.0 };
    let (mut held_ns, mut read_ns) = (0.0, 0.0);
    for (&(_, place), taken) in &group.taken {
        held_ns += taken.hold_ns as f64;
        if (asked.reads)(place) {
            read_ns += taken.hold_ns as f64;
        }
    }
    let read = if held_ns > 0.0 { read_ns / held_ns } else { 0.0 };
    if asked.change == Change::ReadWrite && read == 0.0 {
        return Err(if held_ns > 0.0 { NO_READERS } else { NO_PLACES }.to_owned());
    }
    let recorded_ns = totals.recorded_ns.max(1) as f64;
    let threads = (lived_ns / recorded_ns).clamp(1.0, threads.len().max(1) as f64);
    // The lock that they wait for is held by one of them, or by a thread that never waited.
    let waited = (waited_ns / lived_ns).min(threads / (threads + 1.0));
    let holds_known = held_ns > 0.0;
    let held = match holds_known {
        // No lock can be held for more than the whole time.
        true => (held_ns * part / lived_ns).min(locks / threads).min(1.0 - waited),
        false => Network::of_wait_share(threads, locks, waited).held * (1.0 - waited),
    };
    Ok(Shape { threads, locks, waited, held, read, holds_known })
}

/// Why there is no prediction for a read-write lock.
pub(crate) const NO_READERS: &str = "no place that takes it looks as if it only read; name those \
                                     that do with --reads";

const NO_PLACES: &str = "the places where it is taken were not recorded; --mode trace does";

/// The number of locks of equal weight that these are equivalent to.
fn as_many(weights: impl Iterator<Item = f64>) -> f64 {
    let (sum, squares) = weights
        .fold((0.0, 0.0), |(sum, squares), weight| (sum + weight, squares + weight * weight));
    if squares > 0.0 { sum * sum / squares } else { 1.0 }
}

/// How many times as much work the processors can do if a share of the work is saved.
fn processors_bound(totals: &RecordingTotals, asked: &CoarseQuestion<'_>, saved: f64) -> f64 {
    let processors = asked.processors.or(totals.processors);
    let (Some(processors), Some(cpu_ns)) = (processors, totals.cpu_ns) else {
        return f64::INFINITY;
    };
    let busy = cpu_ns as f64 / (totals.recorded_ns.max(1) as f64 * f64::from(processors));
    1.0 / (busy * (1.0 - saved)).max(1e-9)
}

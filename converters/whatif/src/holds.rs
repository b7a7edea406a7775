//! When a thread held locks: the record of a hold says when it ended and how long it was,
//! without the time that the thread spent in `Object.wait` and `Condition.await`
//! meanwhile.

use crate::{
    locks::Locks,
    records::{Hold, Wait, is_for_lock},
};
use tyrion_wire::WaitKind;

/// A hold from its beginning to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HoldSpan {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) lock: u32,
    pub(crate) place: u32,
    pub(crate) is_shared: bool,
}

/// A thread released a lock for a while, to wait for something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Break {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) lock: u32,
    /// The place where the lock had been taken.
    pub(crate) place: u32,
    /// The number of the wait among those of the thread.
    pub(crate) wait: usize,
}

/// What a thread did with locks.
#[derive(Debug, Default)]
pub(crate) struct ThreadHolds {
    /// In the order of their ends.
    pub(crate) spans: Vec<HoldSpan>,
    pub(crate) breaks: Vec<Break>,
    /// The ends of holds of locks that no other thread used, ascending.
    pub(crate) private_ns: Vec<u64>,
}

/// The number of waits that are examined for each hold, beginning with its last.
const MOST_WAITS: usize = 64;

/// From the records of one thread, both in the order of their ends.
pub(crate) fn held(holds: &[Hold], waits: &[Wait], locks: &Locks) -> ThreadHolds {
    let mut held = ThreadHolds::default();
    for hold in holds {
        let Some(lock) = locks.of_hold(hold) else {
            held.private_ns.push(hold.end_ns);
            continue;
        };
        let kind = locks.kind_at(hold.place).unwrap_or(WaitKind::Monitor);
        let start_ns = began(hold, lock, kind, waits, locks, &mut held.breaks);
        held.spans.push(HoldSpan {
            start_ns,
            end_ns: hold.end_ns,
            lock,
            place: hold.place,
            is_shared: kind.is_shared(),
        });
    }
    held.breaks.sort_unstable();
    held.breaks.dedup_by_key(|one| (one.wait, one.lock));
    held
}

/// Computes when a hold began, and notes where it was interrupted.
fn began(
    hold: &Hold,
    lock: u32,
    kind: WaitKind,
    waits: &[Wait],
    locks: &Locks,
    breaks: &mut Vec<Break>,
) -> u64 {
    let (mut at_ns, mut left_ns) = (hold.end_ns, hold.hold_ns);
    let before = waits.partition_point(|wait| wait.end_ns <= hold.end_ns);
    let first = before.saturating_sub(MOST_WAITS);
    for (nth, wait) in waits[first..before].iter().enumerate().rev() {
        if wait.end_ns > at_ns {
            continue;
        }
        if at_ns - wait.end_ns >= left_ns {
            break;
        }
        if !interrupts(wait, lock, kind, locks) {
            continue;
        }
        left_ns -= at_ns - wait.end_ns;
        at_ns = wait.start_ns.min(wait.end_ns);
        if wait.kind != WaitKind::LockReacquire {
            let (start_ns, end_ns, place) = (at_ns, wait.end_ns, hold.place);
            breaks.push(Break { start_ns, end_ns, lock, place, wait: first + nth });
        }
    }
    at_ns.saturating_sub(left_ns)
}

/// Whether a thread released this lock while it waited.
fn interrupts(wait: &Wait, lock: u32, kind: WaitKind, locks: &Locks) -> bool {
    match wait.kind {
        WaitKind::ObjectWait => kind == WaitKind::Monitor && locks.of_id(wait.lock) == Some(lock),
        WaitKind::LockReacquire => locks.of_id(wait.lock) == Some(lock),
        // The wait names the condition, not its lock.
        WaitKind::Condition => matches!(kind, WaitKind::Lock | WaitKind::LockWrite),
        _ => false,
    }
}

/// The spans that began with a wait: for each of the waits the number of its span.
pub(crate) fn acquired(spans: &[HoldSpan], waits: &[Wait], locks: &Locks) -> Vec<Option<usize>> {
    let mut by_lock: Vec<(u32, u64, usize)> =
        spans.iter().enumerate().map(|(at, span)| (span.lock, span.end_ns, at)).collect();
    by_lock.sort_unstable();
    let mut taken = vec![false; spans.len()];
    let mut find = |wait: &Wait| {
        let lock = locks.of_id(wait.lock)?;
        // The first hold that ended after it.
        let next = by_lock.partition_point(|&(of, end_ns, _)| (of, end_ns) < (lock, wait.end_ns));
        let &(of, _, at) = by_lock.get(next)?;
        // One that began before the wait was there all along.
        let is_its = of == lock && spans[at].start_ns >= wait.start_ns && !taken[at];
        is_its.then(|| {
            taken[at] = true;
            at
        })
    };
    let is_acquisition = |wait: &Wait| {
        wait.granted && wait.kind != WaitKind::LockReacquire && is_for_lock(wait.kind)
    };
    waits.iter().map(|wait| if is_acquisition(wait) { find(wait) } else { None }).collect()
}

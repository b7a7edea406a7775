//! Which acquisitions had to wait, and for whom: those of a lock that another thread held
//! in between.

use super::pair::{Acquisition, NEVER};
use crate::limits::original::MAX_HOLDS;
use rayon::prelude::*;
use std::collections::HashSet;

/// An acquisition that had to wait. Threads and locks are those of the pairs, as in all
/// here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WaitedTake {
    pub(super) thread: u32,
    pub(super) lock: u32,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    /// Who held the lock when the wait began, as far as that is known.
    pub(super) owner: Option<u32>,
}

/// A part of a wait, until a thread released the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChargedWait {
    pub(super) holder: u32,
    pub(super) waiter: u32,
    pub(super) lock: u32,
    /// When it was released.
    pub(super) at_ns: u64,
    pub(super) charged_ns: u64,
}

/// A thread took a lock for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FirstTake {
    pub(super) thread: u32,
    pub(super) lock: u32,
    pub(super) at_ns: u64,
    /// Another thread had taken it before.
    pub(super) is_shared: bool,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct OriginalRecords {
    pub(super) waits: Vec<WaitedTake>,
    pub(super) charges: Vec<ChargedWait>,
    pub(super) takings: Vec<FirstTake>,
    /// How many parts of waits there is no room for.
    pub(super) left_out: u64,
}

/// Looks at acquisitions, and puts them in the order of locks and times. No more than so
/// many parts of waits are told.
pub(super) fn find(acquisitions: &mut [Acquisition], most: usize) -> OriginalRecords {
    acquisitions.par_sort_unstable_by_key(|it| (it.lock, it.enter_ns, it.exit_ns, it.thread));
    let mut found = OriginalRecords::default();
    let mut threads = HashSet::new();
    for own in acquisitions.chunk_by(|one, other| one.lock == other.lock) {
        threads.clear();
        for (at, acquisition) in own.iter().enumerate() {
            let &Acquisition { lock, thread, enter_ns: at_ns, .. } = acquisition;
            if threads.insert(thread) {
                let is_shared = threads.len() > 1;
                found.takings.push(FirstTake { thread, lock, at_ns, is_shared });
            }
            let (before, _) = own.split_at(at);
            found.add_wait(acquisition, before, most);
        }
    }
    found
}

impl OriginalRecords {
    /// Adds the wait of an acquisition, if there was one; `before` are those of its lock
    /// that came first.
    fn add_wait(&mut self, acquisition: &Acquisition, before: &[Acquisition], most: usize) {
        let &Acquisition { lock, thread, entering_ns: start_ns, enter_ns: end_ns, .. } =
            acquisition;
        if start_ns == NEVER {
            return;
        }
        // The last one first. A lock has one holder at a time, so they ended in their order.
        let is_within = |hold: &&Acquisition| hold.exit_ns > start_ns;
        let more = before.iter().rev().nth(MAX_HOLDS).filter(is_within);
        self.left_out += u64::from(more.is_some());
        let within = before.iter().rev().take(MAX_HOLDS).take_while(is_within);
        let others = within.filter(|hold| hold.thread != thread && hold.exit_ns != NEVER);
        let holds: Vec<&Acquisition> = others.collect();
        let Some(first) = holds.last() else { return };
        let owner = (first.enter_ns <= start_ns).then_some(first.thread);
        self.waits.push(WaitedTake { thread, lock, start_ns, end_ns, owner });
        let mut from_ns = start_ns;
        for hold in holds.iter().rev() {
            let at_ns = hold.exit_ns.min(end_ns);
            let charged_ns = at_ns.saturating_sub(from_ns);
            if charged_ns != 0 && self.charges.len() >= most {
                self.left_out += 1;
            } else if charged_ns != 0 {
                let (holder, waiter) = (hold.thread, thread);
                self.charges.push(ChargedWait { holder, waiter, lock, at_ns, charged_ns });
                from_ns = at_ns;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(thread: u32, times: [u64; 3]) -> Acquisition {
        let [entering_ns, enter_ns, exit_ns] = times;
        Acquisition { lock: 0, thread, entering_ns, enter_ns, exit_ns }
    }

    #[test]
    fn who_waits_has_another_one_before() {
        let mut all = [
            taken(0, [10, 11, 50]),
            taken(1, [20, 52, 60]),
            taken(2, [30, 63, 70]),
            taken(0, [71, 72, 80]),
            taken(1, [NEVER, 81, 90]),
        ];
        let found = find(&mut all, 99);
        let waits: Vec<_> =
            found.waits.iter().map(|it| (it.thread, it.start_ns, it.end_ns, it.owner)).collect();
        assert_eq!(waits, [(1, 20, 52, Some(0)), (2, 30, 63, Some(0))]);
        let charges: Vec<_> = found
            .charges
            .iter()
            .map(|it| (it.holder, it.waiter, it.at_ns, it.charged_ns))
            .collect();
        assert_eq!(charges, [(0, 1, 50, 30), (0, 2, 50, 20), (1, 2, 60, 10)]);
        let takings: Vec<_> = found.takings.iter().map(|it| (it.thread, it.is_shared)).collect();
        assert_eq!(takings, [(0, false), (1, true), (2, true)]);
    }

    #[test]
    fn a_lock_that_nobody_else_takes_is_never_waited_for() {
        let mut all = [taken(0, [1, 2, 3]), taken(0, [2, 4, 5]), taken(0, [4, 6, NEVER])];
        let found = find(&mut all, 99);
        assert!(found.waits.is_empty() && found.charges.is_empty());
        assert_eq!(found.takings.len(), 1);
    }
}

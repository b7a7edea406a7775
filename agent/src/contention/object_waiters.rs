//! Who waits in `Object.wait`, and who has notified them.
//!
//! The JVM does not tell whom `notify` chooses, but it has always been the thread that
//! has waited longest. Threads begin to wait, and notify, while they have the monitor. So
//! what is noted of a monitor here is in the order in which it happened; only those
//! whose time is over leave whenever that is.

use crate::{recorder::threads::Wake, sync::lock};
use std::{
    array,
    collections::{HashMap, VecDeque},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};
use tyrion_wire::def::id;

/// Locks are divided among so many mutexes.
const SHARDS: usize = 64;

/// All of them, by the id of the lock.
pub(super) struct ObjectWaiters {
    shards: [Mutex<HashMap<u32, VecDeque<Waiter>>>; SHARDS],
    /// How many.
    count: AtomicUsize,
}

/// A thread in `Object.wait`.
struct Waiter {
    java_id: i64,
    start_ns: u64,
    notified: Notified,
}

/// Whether a thread was notified.
#[derive(Clone, Copy)]
enum Notified {
    No,
    /// By `notifyAll`, or else by `notify`, which would have chosen another one had the
    /// time of this one been over already.
    Yes {
        all: bool,
        wake: Option<Wake>,
    },
}

impl Waiter {
    fn is_notified(&self) -> bool {
        matches!(self.notified, Notified::Yes { .. })
    }
}

impl Default for ObjectWaiters {
    fn default() -> ObjectWaiters {
        ObjectWaiters { shards: array::from_fn(|_| Mutex::default()), count: AtomicUsize::new(0) }
    }
}

impl ObjectWaiters {
    fn shard(&self, lock_id: u32) -> &Mutex<HashMap<u32, VecDeque<Waiter>>> {
        &self.shards[lock_id as usize % SHARDS]
    }

    /// Whether nobody waits.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.count.load(Relaxed) == 0
    }

    /// A thread begins to wait.
    pub(super) fn enter(&self, lock_id: u32, java_id: i64, start_ns: u64) {
        if lock_id == id::UNKNOWN {
            return;
        }
        let waiter = Waiter { java_id, start_ns, notified: Notified::No };
        lock(self.shard(lock_id)).entry(lock_id).or_default().push_back(waiter);
        self.count.fetch_add(1, Relaxed);
    }

    /// A thread waits no more, as it was notified, or as its time is over: who has
    /// notified it, if that is known.
    pub(super) fn leave(&self, lock_id: u32, java_id: i64, is_over: bool) -> Option<Wake> {
        if lock_id == id::UNKNOWN {
            return None;
        }
        let mut shard = lock(self.shard(lock_id));
        let waiters = shard.get_mut(&lock_id)?;
        let nth = waiters.iter().position(|waiter| waiter.java_id == java_id)?;
        let notified = waiters.remove(nth)?.notified;
        self.count.fetch_sub(1, Relaxed);
        let next = waiters.iter_mut().find(|waiter| !waiter.is_notified());
        if is_over
            && let Notified::Yes { all: false, .. } = notified
            && let Some(next) = next
        {
            // It was the next one's turn then.
            next.notified = notified;
        }
        if waiters.is_empty() {
            shard.remove(&lock_id);
        }
        match notified {
            Notified::Yes { wake, .. } if !is_over => wake,
            _ => None,
        }
    }

    /// Since when whoever is about to be notified has waited, monotonic ns, of several the
    /// one that began first; `None` if it is nobody.
    pub(super) fn notified_since_ns(&self, lock_id: u32) -> Option<u64> {
        let shard = lock(self.shard(lock_id));
        let first = shard.get(&lock_id)?.iter().find(|waiter| !waiter.is_notified());
        first.map(|waiter| waiter.start_ns)
    }

    /// Those who wait for a lock are notified, or the first of them.
    pub(super) fn notify(&self, lock_id: u32, all: bool, wake: Option<Wake>) {
        let mut shard = lock(self.shard(lock_id));
        let Some(waiters) = shard.get_mut(&lock_id) else { return };
        let waiting = waiters.iter_mut().filter(|waiter| !waiter.is_notified());
        let most = if all { usize::MAX } else { 1 };
        waiting.take(most).for_each(|waiter| waiter.notified = Notified::Yes { all, wake });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::threads::Owner;

    const LOCK: u32 = 7;

    fn by(java_id: i64) -> Option<Wake> {
        let waker = Owner { id: 1, java_id };
        Some(Wake { at_ns: 50, waker, stack: 0, generation: 0 })
    }

    fn waiting(threads: &[i64]) -> ObjectWaiters {
        let waiters = ObjectWaiters::default();
        threads.iter().for_each(|&thread| waiters.enter(LOCK, thread, 10 * thread as u64));
        waiters
    }

    fn waker(wake: Option<Wake>) -> Option<i64> {
        wake.map(|wake| wake.waker.java_id)
    }

    #[test]
    fn the_first_one_is_notified_first() {
        let waiters = waiting(&[1, 2, 3]);
        assert_eq!(waiters.notified_since_ns(LOCK), Some(10));
        waiters.notify(LOCK, false, by(8));
        assert_eq!(waiters.notified_since_ns(LOCK), Some(20));
        waiters.notify(LOCK, false, by(9));
        // They get the monitor in another order.
        assert_eq!(waker(waiters.leave(LOCK, 2, false)), Some(9));
        assert_eq!(waker(waiters.leave(LOCK, 1, false)), Some(8));
        assert_eq!(waker(waiters.leave(LOCK, 3, false)), None, "it was interrupted");
        assert!(waiters.is_empty());
        assert_eq!(waiters.notified_since_ns(LOCK), None);
        waiters.notify(LOCK, true, by(9));
        assert_eq!(waker(waiters.leave(LOCK, 3, false)), None, "it is gone");
    }

    #[test]
    fn all_are_notified_once() {
        let waiters = waiting(&[1, 2]);
        waiters.notify(LOCK, false, by(7));
        waiters.notify(LOCK, true, by(8));
        waiters.enter(LOCK, 3, 99);
        assert_eq!(waker(waiters.leave(LOCK, 3, false)), None);
        assert_eq!(waker(waiters.leave(LOCK, 2, false)), Some(8));
        assert_eq!(waker(waiters.leave(LOCK, 1, false)), Some(7));
    }

    #[test]
    fn whose_time_is_over_was_not_chosen() {
        let waiters = waiting(&[1, 2, 3]);
        waiters.notify(LOCK, false, by(8));
        assert_eq!(waker(waiters.leave(LOCK, 1, true)), None);
        assert_eq!(waker(waiters.leave(LOCK, 2, false)), Some(8));
        waiters.notify(LOCK, true, by(9));
        waiters.enter(LOCK, 4, 99);
        assert_eq!(waker(waiters.leave(LOCK, 3, true)), None);
        assert_eq!(waker(waiters.leave(LOCK, 4, false)), None, "all were notified before");
    }

    #[test]
    fn locks_are_told_apart() {
        let waiters = waiting(&[1]);
        waiters.enter(LOCK + SHARDS as u32, 2, 5);
        waiters.enter(id::UNKNOWN, 3, 5);
        waiters.notify(LOCK, true, None);
        assert_eq!(waiters.notified_since_ns(LOCK), None, "though nobody knows by whom");
        assert_eq!(waiters.notified_since_ns(LOCK + SHARDS as u32), Some(5));
        assert_eq!(waker(waiters.leave(LOCK, 1, false)), None);
        assert!(!waiters.is_empty());
    }
}

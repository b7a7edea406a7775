//! Who ends the waits of a thread: noted by those who do, and taken by the thread when
//! its wait is over.

use super::{Owner, Thread};
use crate::sync::lock;
use std::sync::atomic::Ordering::Relaxed;
use tyrion_wire::{WaitKind, def::id};

/// Another thread has ended a wait.
#[derive(Clone, Copy, Debug)]
pub struct Wake {
    /// When, monotonic ns; 0: never.
    pub at_ns: u64,
    /// Who.
    pub waker: Owner,
    /// Its stack then, empty if that was not taken.
    pub stack: u32,
    /// The number of the generation that the ids of both are of.
    pub generation: u32,
}

impl Wake {
    const NEVER: Wake =
        Wake { at_ns: 0, waker: Owner::UNKNOWN, stack: id::EMPTY_STACK, generation: 0 };
}

/// By what a wait is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeBy {
    /// `LockSupport.unpark`: a park.
    Unpark,
    /// `Condition.signal`: the wait for the condition. The park goes on, for the lock.
    Signal,
}

/// The last wake of each sort.
#[derive(Debug)]
pub(super) struct Wakes([Wake; 2]);

impl Default for Wakes {
    fn default() -> Wakes {
        Wakes([Wake::NEVER; 2])
    }
}

impl Thread {
    /// Since when it is parked, monotonic ns; 0 if it is not. For those who cannot lock
    /// its waits.
    #[inline]
    pub fn parked_since_ns(&self) -> u64 {
        self.parked_since_ns.load(Relaxed)
    }

    /// Another thread is about to end a wait.
    pub fn note_wake(&self, by: WakeBy, wake: Wake) {
        let mut wakes = lock(&self.wakes);
        wakes.0[by as usize] = wake;
        self.woken_ns.fetch_max(wake.at_ns, Relaxed);
    }

    /// What has ended a wait of this kind in this span, monotonic ns, if that is known.
    pub fn wake_within(&self, kind: WaitKind, (start_ns, end_ns): (u64, u64)) -> Option<Wake> {
        // Nobody ends waits for monitors. Whoever ended this one has noted it before, and
        // what the JDK does to unpark a thread is seen before that goes on.
        if kind == WaitKind::Monitor || self.woken_ns.load(Relaxed) < start_ns {
            return None;
        }
        let wakes = lock(&self.wakes);
        let of = |by: WakeBy| {
            let wake = wakes.0[by as usize];
            (wake.at_ns != 0 && (start_ns..=end_ns).contains(&wake.at_ns)).then_some(wake)
        };
        match kind {
            WaitKind::Monitor | WaitKind::ObjectWait => None,
            // Where nobody sees signals, who unparks is the next best.
            WaitKind::Condition => of(WakeBy::Signal).or_else(|| of(WakeBy::Unpark)),
            _ => of(WakeBy::Unpark),
        }
    }
}

//! Sums over all files of the log, for programs that ask.

use crate::{log::lane::EndedWait, recorder::threads::Thread};
use std::{
    array,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

/// Threads add to one of so many, by their ids, so that they seldom meet.
const SHARDS: usize = 64;

/// What was recorded so far.
pub struct Totals {
    shards: [Shard; SHARDS],
}

/// On a cache line of its own.
#[derive(Default)]
#[repr(align(64))]
struct Shard {
    contentions: AtomicU64,
    wait_ns: AtomicU64,
    dropped: AtomicU64,
    walks: AtomicU64,
}

impl Default for Totals {
    fn default() -> Totals {
        Totals { shards: array::from_fn(|_| Shard::default()) }
    }
}

impl Totals {
    fn shard(&self, thread: &Thread) -> &Shard {
        &self.shards[thread.java_id as usize % SHARDS]
    }

    /// A thread has walked its own stack: how many were walked before, by some threads.
    #[inline]
    pub fn walked(&self, thread: &Thread) -> u64 {
        self.shard(thread).walks.fetch_add(1, Relaxed)
    }

    /// How many stacks were walked.
    pub fn walks(&self) -> u64 {
        self.sum(|shard| &shard.walks)
    }

    fn sum(&self, of: impl Fn(&Shard) -> &AtomicU64) -> u64 {
        self.shards.iter().map(|shard| of(shard).load(Relaxed)).sum()
    }

    /// A thread's wait has ended, and the log has it or lacks it.
    #[inline]
    pub fn ended(&self, thread: &Thread, wait: &EndedWait, written: bool) {
        let shard = self.shard(thread);
        if !written {
            shard.dropped.fetch_add(1, Relaxed);
        } else if wait.contention {
            shard.contentions.fetch_add(1, Relaxed);
            shard.wait_ns.fetch_add(wait.end_ns.saturating_sub(wait.start_ns), Relaxed);
        }
    }

    /// The log lacks a wait of a thread.
    pub fn dropped(&self, thread: &Thread) {
        self.shard(thread).dropped.fetch_add(1, Relaxed);
    }

    /// The log lacks a wait that nothing is known of.
    pub fn lost(&self) {
        self.shards[0].dropped.fetch_add(1, Relaxed);
    }

    /// How many waits of lock contention the log has.
    pub fn contentions(&self) -> u64 {
        self.sum(|shard| &shard.contentions)
    }

    /// How long they took together, ns.
    pub fn wait_ns(&self) -> u64 {
        self.sum(|shard| &shard.wait_ns)
    }

    /// How many waits of any kind the log lacks.
    pub fn dropped_waits(&self) -> u64 {
        self.sum(|shard| &shard.dropped)
    }
}

//! Who waits for which lock, and who has released it last: see [`blame`](crate::trace::blame).

use crate::log::region::kept::Shared;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What is known of waits for locks with a hash in a bucket.
#[repr(C)]
pub struct Bucket {
    /// How many threads wait, and in the upper half the hash of the lock that they wait
    /// for, or [`Bucket::SEVERAL`].
    pub waiting: AtomicU64,
    /// From when on a release is looked at, ns.
    pub due: AtomicU64,
    /// How many releases were noted.
    pub noted: AtomicU64,
    /// How many were kept.
    pub kept: AtomicU64,
    /// From when on the next one is kept, ns: those of holds at moments that are multiples
    /// of [`Bucket::kept_every_ns`], each once.
    pub keep_from: AtomicU64,
    /// By how many bits that is more than [`Bucket::KEPT_EVERY_NS`].
    pub kept_shift: AtomicU64,
    /// The latest that were noted, in turn.
    pub releases: [NotedRelease; Bucket::RELEASES],
    /// The latest that were kept, in turn.
    pub kept_releases: [NotedRelease; Bucket::RELEASES],
    _rest: [AtomicU64; 26],
}

/// A release, noted by a probe.
#[repr(C)]
pub struct NotedRelease {
    /// When it was, ns; 0 for none.
    pub at_ns: AtomicU64,
    /// By whom, as in [`Block::owner`](super::Block::owner).
    pub by: AtomicU64,
    /// The place where the lock was taken, and in the upper half the lock's hash.
    pub place: AtomicU64,
}

impl Bucket {
    /// How many buckets there are.
    pub const COUNT: usize = 1024;
    /// How many releases of each sort there is room for.
    pub const RELEASES: usize = 16;
    /// As many as there is room for are kept in 200 µs. A prime, unlike a program's own
    /// rhythm.
    pub const KEPT_EVERY_NS: u64 = 12_553;
    const MOST_SHIFT: u64 = 30;
    /// Locks of different hashes are waited for.
    pub const SEVERAL: u32 = u32::MAX;
    /// The size of one is this power of two.
    #[cfg(test)]
    pub const SHIFT: u32 = size_of::<Bucket>().trailing_zeros();

    /// How many threads wait, and the hash that they wait for.
    pub fn waiting(&self) -> (u32, u32) {
        let waiting = self.waiting.load(Relaxed);
        (waiting as u32, (waiting >> 32) as u32)
    }

    /// How far the moments are apart at which releases are kept, in ns.
    pub fn kept_every_ns(&self) -> u64 {
        Bucket::KEPT_EVERY_NS << self.kept_shift.load(Relaxed).min(Bucket::MOST_SHIFT)
    }

    /// The next release to be looked at is the first one after so long from `now_ns` on. Until
    /// then there is room for all that are kept.
    pub fn look_after(&self, now_ns: u64, after_ns: u64) {
        let times = after_ns / (Bucket::KEPT_EVERY_NS * (Bucket::RELEASES as u64 - 2));
        let shift = times.checked_ilog2().map_or(0, |log| u64::from(log) + 1);
        self.kept_shift.store(shift.min(Bucket::MOST_SHIFT), Relaxed);
        let next_ns = now_ns.saturating_add(1).checked_next_multiple_of(self.kept_every_ns());
        self.keep_from.store(next_ns.unwrap_or(now_ns), Relaxed);
        self.due.store(now_ns.saturating_add(after_ns), Relaxed);
    }

    /// One more thread waits for a lock of this hash: whether it is the only one.
    pub fn enter(&self, hash: u32) -> bool {
        let more = |waiting: u64| {
            let (waiters, waited) = (waiting as u32, (waiting >> 32) as u32);
            let is_same = waiters == 0 || waited == hash;
            let waited = if is_same { hash } else { Bucket::SEVERAL };
            Some(u64::from(waited) << 32 | u64::from(waiters.wrapping_add(1)))
        };
        let before = self.waiting.fetch_update(Relaxed, Relaxed, more);
        before.is_ok_and(|waiting| waiting as u32 == 0)
    }

    /// One thread less waits.
    pub fn leave(&self) {
        self.waiting.fetch_sub(1, Relaxed);
    }
}

/// Who waits.
#[repr(C)]
pub struct Waited {
    /// By the lock's hash.
    pub buckets: [Bucket; Bucket::COUNT],
    /// How many threads wait for any lock.
    pub count: AtomicU64,
}

// SAFETY: nothing but atomics of which any bytes are valid.
unsafe impl Shared for Waited {}

const _: () = assert!(size_of::<Bucket>() == 1024);

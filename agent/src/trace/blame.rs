//! Who made others wait.
//!
//! Whoever waits for a lock is entered here. A thread that leaves a lock looks
//! at one byte, the bucket of the lock's hash, and only if it is set comes
//! here: each waiter's time since the later of its start and the previous
//! release is charged to the stack that leaves. The probe stands in front of
//! the release, so that nobody else can have come in between.

use super::{
    Trace,
    memory::{Memory, block},
};
use crate::{
    clock,
    jvm::Java,
    sync::lock,
    threads::{Begun, Thread},
};
use jvmti_bindings::sys::jni::jobject;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, atomic::Ordering::Relaxed},
};
use tyrion_wire::{def::id, trace::Blame};

/// Buckets of hashes.
pub const BUCKETS: usize = 1024;

/// Those who wait, by lock.
#[derive(Default)]
pub struct Waiting {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    locks: HashMap<u32, Lock>,
    /// How many wait in each bucket.
    buckets: HashMap<u32, u32>,
}

struct Lock {
    bucket: u32,
    released_ns: u64,
    waiters: Vec<Waiter>,
}

struct Waiter {
    thread: Arc<Thread>,
    start_ns: u64,
}

/// A waiter's time that one release is charged.
struct Charge {
    waiter: Arc<Thread>,
    charged_ns: u64,
}

impl Trace {
    /// A thread begins to wait for a lock.
    pub fn wait_begins(&self, thread: &Arc<Thread>, begun: Begun, object: jobject) {
        if begun.lock == id::UNKNOWN {
            return;
        }
        let bucket = self.recorder.ti().hash(object) as u32 % BUCKETS as u32;
        let mut inner = lock(&self.waiting.inner);
        let of = inner.locks.entry(begun.lock).or_insert_with(|| Lock {
            bucket,
            released_ns: 0,
            waiters: Vec::new(),
        });
        of.waiters.push(Waiter { thread: Arc::clone(thread), start_ns: begun.start_ns });
        *inner.buckets.entry(bucket).or_default() += 1;
        self.shared.waited.u8(bucket as usize).store(1, Relaxed);
        self.shared.waited.u64(BUCKETS).store(inner.buckets.len() as u64, Relaxed);
    }

    /// A thread waits no more.
    pub fn wait_ends(&self, thread: &Thread, lock_id: u32) {
        if lock_id == id::UNKNOWN {
            return;
        }
        let mut inner = lock(&self.waiting.inner);
        let Inner { locks, buckets } = &mut *inner;
        let Some(of) = locks.get_mut(&lock_id) else { return };
        let Some(at) = of.waiters.iter().position(|waiter| waiter.thread.java_id == thread.java_id) else {
            return;
        };
        of.waiters.swap_remove(at);
        let bucket = of.bucket;
        if of.waiters.is_empty() {
            locks.remove(&lock_id);
        }
        if let Some(count) = buckets.get_mut(&bucket) {
            *count -= 1;
            if *count == 0 {
                buckets.remove(&bucket);
                self.shared.waited.u8(bucket as usize).store(0, Relaxed);
                self.shared.waited.u64(BUCKETS).store(buckets.len() as u64, Relaxed);
            }
        }
    }

    /// The current thread is about to leave a lock for which somebody may
    /// wait; `at` is its entry, if it has one, `place` where it was taken.
    pub fn left(&self, java: Java, of: Memory, at: Option<Memory>, object: jobject, place: u32) {
        let now_ns = clock::now_ns();
        let lock_id = self.recorder.known_lock(object);
        let charges = self.charges(lock_id, now_ns);
        let Some(longest) = charges.iter().map(|charge| charge.charged_ns).max() else { return };
        let owner = of.u64(block::OWNER).load(Relaxed) as i64;
        self.recorder.trace_scene(owner, |scene| {
            // The stack is walked while others wait: not for waits that are folded.
            let stack = if longest >= self.recorder.threshold_ns() {
                self.stack(scene, java, of, at.unwrap_or_else(|| of.offset(block::HELD_LOCKS)))
            } else {
                id::EMPTY_STACK
            };
            if place != id::UNKNOWN {
                self.define_place(scene.volume, place);
            }
            for Charge { waiter, charged_ns } in charges {
                // One that is just being woken is not charged for that.
                let Some((_, site)) = self.recorder.site_of_waiter(scene, &waiter) else { continue };
                let waiter = waiter.id(scene.volume);
                self.recorder.append(scene, Some(now_ns), |delta_ns, out| {
                    Blame { delta_ns, charged_ns, site, waiter, stack, place }.encode(out);
                });
            }
        });
    }

    /// `Object.wait` is about to give a monitor up, or has it again.
    pub fn object_wait(&self, java: Java, java_id: i64, object: jobject, gives_up: bool) {
        let Some(of) = self.block_of(java_id) else { return };
        if of.u64(block::HOLDS).load(Relaxed) as u32 == 0 {
            return;
        }
        // It is about to be inflated anyway.
        let hash = self.recorder.ti().hash(object) as u32;
        self.pause(of, hash);
        let bucket = hash as usize % BUCKETS;
        if gives_up && self.shared.waited.u8(bucket).load(Relaxed) != 0 {
            self.left(java, of, Some(of.offset(block::HELD)), object, id::UNKNOWN);
        }
    }

    fn charges(&self, lock_id: u32, now_ns: u64) -> Vec<Charge> {
        let mut inner = lock(&self.waiting.inner);
        let Some(of) = inner.locks.get_mut(&lock_id) else { return Vec::new() };
        let since_ns = std::mem::replace(&mut of.released_ns, now_ns);
        let charge = |waiter: &Waiter| Charge {
            waiter: Arc::clone(&waiter.thread),
            charged_ns: now_ns.saturating_sub(waiter.start_ns.max(since_ns)),
        };
        of.waiters.iter().map(charge).filter(|charge| charge.charged_ns > 0).collect()
    }
}

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
    recorder::Scene,
    sync::lock,
    threads::{Begun, Thread},
};
use jvmti_bindings::sys::jni::jobject;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, atomic::Ordering::Relaxed},
};
use tyrion_wire::{def::id, trace::Blame};

/// Charges are written when they have added up to this. The stack is walked
/// then, while others wait: at 10 µs Derby, with eight threads at one lock, ran
/// at half of the speed that it has at 1 ms.
const DUE_NS: u64 = 1_000_000;
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
    /// What releases were charged that were too short for a record each.
    folded: Vec<Folded>,
}

/// What the releases of one thread at one place were charged of one wait.
pub struct Folded {
    /// The thread that released, or all virtual ones.
    pub owner: i64,
    /// Where it had taken the lock; 0 unknown.
    pub place: u32,
    /// The charges added up.
    pub charged_ns: u64,
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
        let (thread, start_ns) = (Arc::clone(thread), begun.start_ns);
        of.waiters.push(Waiter { thread, start_ns, folded: Vec::new() });
        *inner.buckets.entry(bucket).or_default() += 1;
        self.shared.waited.u8(bucket as usize).store(1, Relaxed);
        self.shared.waited.u64(BUCKETS).store(inner.buckets.len() as u64, Relaxed);
    }

    /// A thread waits no more: what is still to be written of its wait.
    pub fn wait_ends(&self, thread: &Thread, lock_id: u32) -> Vec<Folded> {
        if lock_id == id::UNKNOWN {
            return Vec::new();
        }
        let mut inner = lock(&self.waiting.inner);
        let Inner { locks, buckets } = &mut *inner;
        let Some(of) = locks.get_mut(&lock_id) else { return Vec::new() };
        let is_this = |waiter: &Waiter| waiter.thread.java_id == thread.java_id;
        let Some(at) = of.waiters.iter().position(is_this) else { return Vec::new() };
        let Waiter { folded, .. } = of.waiters.swap_remove(at);
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
        folded
    }

    /// Writes what [`Trace::wait_ends`] has left, of a wait of the scene's
    /// thread at a site.
    pub fn write_folded(&self, scene: &mut Scene<'_>, site: u32, folded: Vec<Folded>) {
        let waiter = scene.thread.id(scene.volume);
        for Folded { owner, place, charged_ns } in folded {
            // One that has ended meanwhile is not known any more.
            let holder = self.recorder.traced_id(scene.volume, owner);
            if place != id::UNKNOWN {
                self.define_place(scene.volume, place);
            }
            let stack = id::EMPTY_STACK;
            let now_ns = Some(clock::now_ns());
            scene.lane.append_misc(&scene.volume.log, holder, now_ns, |delta_ns, out| {
                Blame { delta_ns, charged_ns, site, waiter, stack, place }.encode(out);
            });
        }
    }

    /// The current thread is about to leave a lock for which somebody may
    /// wait; `at` is its entry, if it has one, `place` where it was taken.
    pub fn left(&self, java: Java, of: Memory, at: Option<Memory>, object: jobject, place: u32) {
        let now_ns = clock::now_ns();
        let lock_id = self.recorder.known_lock(object);
        let owner = of.u64(block::OWNER).load(Relaxed) as i64;
        let charges = self.charges(lock_id, (owner, place), now_ns);
        if charges.is_empty() {
            return;
        }
        self.recorder.trace_scene(owner, |scene| {
            let at = at.unwrap_or_else(|| of.offset(block::HELD_LOCKS));
            let stack = self.stack(scene, java, of, at);
            if place != id::UNKNOWN {
                self.define_place(scene.volume, place);
            }
            for Charge { waiter, charged_ns } in charges {
                // One that is just being woken is not charged for that.
                let Some((begun, site)) = self.recorder.site_of_waiter(scene, &waiter) else {
                    continue;
                };
                if begun.lock != lock_id {
                    // It has given up, and waits for something else.
                    continue;
                }
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

    /// Charges a release, by a thread and place, the time of all who wait for a
    /// lock: those that are due now. Many threads that take turns every
    /// microsecond would else write a record each for all the others, and walk
    /// their stack while these wait.
    fn charges(&self, lock_id: u32, (owner, place): (i64, u32), now_ns: u64) -> Vec<Charge> {
        let due_ns = self.recorder.threshold_ns().max(DUE_NS);
        let mut inner = lock(&self.waiting.inner);
        let Some(of) = inner.locks.get_mut(&lock_id) else { return Vec::new() };
        let since_ns = std::mem::replace(&mut of.released_ns, now_ns);
        let mut charges = Vec::new();
        for Waiter { thread, start_ns, folded } in &mut of.waiters {
            let mut charged_ns = now_ns.saturating_sub((*start_ns).max(since_ns));
            let is_same = |folded: &Folded| folded.owner == owner && folded.place == place;
            let known = folded.iter().position(is_same);
            charged_ns += known.map_or(0, |nth| folded[nth].charged_ns);
            if charged_ns >= due_ns {
                if let Some(nth) = known {
                    folded.swap_remove(nth);
                }
                charges.push(Charge { waiter: Arc::clone(thread), charged_ns });
            } else if let Some(nth) = known {
                folded[nth].charged_ns = charged_ns;
            } else if charged_ns > 0 {
                folded.push(Folded { owner, place, charged_ns });
            }
        }
        charges
    }
}

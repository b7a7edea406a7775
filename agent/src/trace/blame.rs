//! Who made others wait.
//!
//! Whoever waits for a lock is entered here. A thread that leaves a lock looks
//! at the bucket of the lock's hash, whether anybody waits there, and notes when it
//! does so. The probe stands in front of the release, so that nobody else can have
//! come in between. From that it is known who held the lock while another one waited:
//! see `released.rs`.
//!
//! Threads that take turns at a lock do so a million times a second. So it is
//! charged only from a moment on that was chosen by chance, some 50 µs after the last
//! look, or 200 with count=adaptive, with the stack that leaves then; and by a waiter
//! that gets the lock. What is held for long is charged exactly, what is held for less
//! in the mean over many releases.

mod released;

use super::{
    Trace,
    memory::{Block, Bucket, Entry},
};
use crate::{
    clock,
    jvm::{Java, Object},
    recorder::{
        EventContext,
        observe::FoldedBlame,
        threads::{PendingWait, Thread},
    },
    sync::lock,
};
use released::{Released, mix};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, atomic::Ordering::Relaxed},
};
use tyrion_wire::{
    WaitKind,
    def::id,
    trace::{Blame, LOOK_NS, USUAL_WAITERS},
};

/// Charges are written when they have added up to this. The stack is walked
/// then, while others wait: at 10 µs Derby, with eight threads at one lock, ran
/// at half of the speed that it has at 1 ms.
const DUE_NS: u64 = 1_000_000;
/// By how much longer it is where places are counted in bursts: programs that want that
/// take locks very often.
const RARER: u64 = 4;
/// Locks are divided among so many mutexes.
const SHARDS: usize = 64;

/// Those who wait, by lock.
pub struct Waiting {
    shards: [Mutex<Vec<Lock>>; SHARDS],
}

impl Default for Waiting {
    fn default() -> Self {
        Waiting { shards: std::array::from_fn(|_| Mutex::default()) }
    }
}

impl Waiting {
    /// The locks that are waited for, among them this one if it is.
    fn shard(&self, lock_id: u32) -> &Mutex<Vec<Lock>> {
        &self.shards[lock_id as usize % SHARDS]
    }
}

struct Lock {
    id: u32,
    hash: u32,
    /// By Java id.
    waiters: HashMap<i64, Waiter>,
}

impl Lock {
    /// By how much more than usual wait. Each charge looks at all of them, so charges
    /// are rarer and written later in proportion: with 20 000 virtual threads at one
    /// lock the program ran 20 times longer.
    fn crowd(&self) -> u64 {
        (self.waiters.len() / USUAL_WAITERS).max(1) as u64
    }
}

struct Waiter {
    thread: Arc<Thread>,
    /// Up to when its time has been charged; at first, when it began to wait.
    charged_ns: u64,
    /// What releases were charged that were too short for a record each.
    folded: Vec<FoldedBlame>,
}

impl Waiter {
    /// Charges its time up to the last release before `end_ns` that was noted.
    fn fold_noted(&mut self, released: &Released, end_ns: u64) {
        let seed = mix(end_ns) ^ self.thread.java_id.cast_unsigned();
        self.charged_ns = released.divide(self.charged_ns, end_ns, seed, |release, charged_ns| {
            self.fold(release.owner, release.place, charged_ns);
        });
    }

    /// Adds a charge to those of the same thread and place.
    fn fold(&mut self, owner: i64, place: u32, charged_ns: u64) {
        let is_same = |folded: &&mut FoldedBlame| folded.owner == owner && folded.place == place;
        match self.folded.iter_mut().find(is_same) {
            Some(known) => known.charged_ns += charged_ns,
            None => self.folded.push(FoldedBlame { owner, place, charged_ns }),
        }
    }
}

/// A waiter's time that one release is charged.
struct Charge {
    waiter: Arc<Thread>,
    charged_ns: u64,
}

impl Trace {
    /// What is known of waits for locks with a hash.
    fn bucket(&self, hash: u32) -> &'static Bucket {
        &self.shared.waited.buckets[hash as usize % Bucket::COUNT]
    }

    /// A thread begins to wait for a lock.
    pub fn enter_waiter(&self, thread: &Arc<Thread>, pending: PendingWait, object: Object<'_>) {
        if pending.lock == id::UNKNOWN {
            return;
        }
        let hash = self.recorder.ti().hash(object) as u32;
        let (thread, start_ns) = (Arc::clone(thread), pending.start_ns);
        let mut locks = lock(self.waiting.shard(pending.lock));
        let at = locks.iter().position(|of| of.id == pending.lock).unwrap_or_else(|| {
            let waiters = HashMap::new();
            locks.push(Lock { id: pending.lock, hash, waiters });
            locks.len() - 1
        });
        let waiter = Waiter { thread, charged_ns: start_ns, folded: Vec::new() };
        if locks[at].waiters.insert(waiter.thread.java_id, waiter).is_some() {
            // Its wait before has not been seen to end, and is counted.
            return;
        }
        let bucket = self.bucket(hash);
        if bucket.enter(hash) {
            bucket.look_after(start_ns, some_time(start_ns) * self.rarer());
        }
        self.shared.waited.count.fetch_add(1, Relaxed);
    }

    /// A thread waits no more, since `end_ns`: what is still to be written of its wait.
    pub fn remove_waiter(&self, thread: &Thread, lock_id: u32, end_ns: u64) -> Vec<FoldedBlame> {
        // Nobody is noted, not even this one, as long as no lock is traced.
        if lock_id == id::UNKNOWN || self.shared.waited.count.load(Relaxed) == 0 {
            return Vec::new();
        }
        let mut locks = lock(self.waiting.shard(lock_id));
        let Some(nth) = locks.iter().position(|of| of.id == lock_id) else { return Vec::new() };
        let of = &mut locks[nth];
        let Some(mut waiter) = of.waiters.remove(&thread.java_id) else { return Vec::new() };
        let hash = of.hash;
        if of.waiters.is_empty() {
            locks.swap_remove(nth);
        }
        drop(locks);
        let bucket = self.bucket(hash);
        let released = Released::read(bucket, hash);
        waiter.fold_noted(&released, end_ns);
        bucket.leave();
        self.shared.waited.count.fetch_sub(1, Relaxed);
        waiter.folded
    }

    /// Writes what [`Trace::remove_waiter`] has left, of a wait of the context's
    /// thread at a site.
    pub fn write_blame(&self, context: &mut EventContext<'_>, site: u32, folded: Vec<FoldedBlame>) {
        let waiter = context.thread.id(context.generation);
        for FoldedBlame { owner, place, charged_ns } in folded {
            // One that has ended meanwhile is not known any more.
            let holder = self.recorder.owner_id(context.generation, owner);
            if place != id::UNKNOWN {
                self.recorder.define_place(context.generation, place);
            }
            let stack = id::EMPTY_STACK;
            let now_ns = Some(clock::now_ns());
            context.lane.append_misc(&context.generation.log, holder, now_ns, |delta_ns, out| {
                Blame { delta_ns, charged_ns, site, waiter, stack, place }.encode(out);
            });
        }
    }

    /// The current thread is about to leave a lock for which somebody may
    /// wait; `at` is its entry, if it has one, `place` where it was taken.
    pub fn left(&self, java: Java, of: &Block, at: Option<&Entry>, object: Object<'_>, place: u32) {
        let now_ns = clock::now_ns();
        let lock_id = self.recorder.known_lock(object);
        let owner = of.owner();
        let Some(charges) = self.charges(lock_id, (owner, place), now_ns) else {
            // Another lock of the bucket: it is not asked about for some time.
            let bucket = self.bucket(self.recorder.ti().hash(object) as u32);
            bucket.due.store(now_ns + some_time(now_ns), Relaxed);
            return;
        };
        if charges.is_empty() {
            return;
        }
        let in_jdk = match at {
            Some(at) => of.is_lock(at),
            // A monitor that was not counted; else a lock.
            None => {
                let places = self.recorder.places();
                !places.with(place, |place, _| place.taken.kind == WaitKind::Monitor)
            }
        };
        let mut unwritten = Vec::new();
        let written = self.recorder.in_context_of(owner, |context| {
            let stack = self.stack(context, java, in_jdk);
            if place != id::UNKNOWN {
                self.recorder.define_place(context.generation, place);
            }
            for charge in &charges {
                let Charge { waiter, charged_ns } = charge;
                // It may be in the middle of an event: later, then.
                let Some((pending, site)) = self.recorder.site_of_waiter(context, waiter) else {
                    unwritten.push(charge);
                    continue;
                };
                if pending.lock != lock_id {
                    // It has given up, and waits for something else.
                    continue;
                }
                let (waiter, charged_ns) = (waiter.id(context.generation), *charged_ns);
                self.recorder.append(context, Some(now_ns), |delta_ns, out| {
                    Blame { delta_ns, charged_ns, site, waiter, stack, place }.encode(out);
                });
            }
        });
        let unwritten = if written.is_some() { unwritten } else { charges.iter().collect() };
        self.fold_again(lock_id, (owner, place), &unwritten);
    }

    /// Has charges that could not be written yet be written with later ones, or
    /// when the wait ends.
    fn fold_again(&self, lock_id: u32, (owner, place): (i64, u32), charges: &[&Charge]) {
        if charges.is_empty() {
            return;
        }
        let mut locks = lock(self.waiting.shard(lock_id));
        let Some(of) = locks.iter_mut().find(|of| of.id == lock_id) else { return };
        for Charge { waiter, charged_ns } in charges {
            if let Some(waiter) = of.waiters.get_mut(&waiter.java_id) {
                waiter.fold(owner, place, *charged_ns);
            }
        }
    }

    /// `Object.wait` is about to give a monitor up, or has it again.
    pub fn monitor_paused(&self, java: Java, java_id: i64, object: Object<'_>, gives_up: bool) {
        let Some(of) = self.block_of(java_id) else { return };
        let is_counted = of.holds.load(Relaxed) as u32 != 0;
        if !is_counted && self.shared.bursts.is_none() {
            return;
        }
        // It is about to be inflated anyway.
        let hash = self.recorder.ti().hash(object) as u32;
        let entry = if is_counted { self.pause(of, hash) } else { None };
        let (waiters, waited) = self.bucket(hash).waiting();
        if gives_up && waiters != 0 && [hash, Bucket::SEVERAL].contains(&waited) {
            let place = entry.map_or(id::UNKNOWN, |entry| entry.place.load(Relaxed));
            self.left(java, of, Some(&of.held[0]), object, place);
        }
    }

    fn rarer(&self) -> u64 {
        if self.shared.bursts.is_some() { RARER } else { 1 }
    }

    /// The mean time from a look to the moment after which the next release is looked at,
    /// in ns, where no more than [`USUAL_WAITERS`] wait.
    pub fn look_ns(&self) -> u64 {
        LOOK_NS * self.rarer()
    }

    /// Charges a release, by a thread and place, and those before it, the time of all who
    /// wait for a lock: those that are due now. Many threads that take turns every
    /// microsecond would else write a record each for all the others, and walk
    /// their stack while these wait. `None` when nobody waits for the lock.
    fn charges(
        &self,
        lock_id: u32,
        (owner, place): (i64, u32),
        now_ns: u64,
    ) -> Option<Vec<Charge>> {
        let mut locks = lock(self.waiting.shard(lock_id));
        let of = locks.iter_mut().find(|of| of.id == lock_id)?;
        let due_ns = self.recorder.threshold_ns().max(DUE_NS) * of.crowd();
        let bucket = self.bucket(of.hash);
        let released = Released::read(bucket, of.hash);
        bucket.look_after(now_ns, some_time(now_ns) * of.crowd() * self.rarer());
        let mut charges = Vec::new();
        for waiter in of.waiters.values_mut() {
            // This release as well, unless it is that of `Object.wait`.
            waiter.fold_noted(&released, now_ns);
            if now_ns > waiter.charged_ns {
                waiter.fold(owner, place, now_ns - waiter.charged_ns);
                waiter.charged_ns = now_ns;
            }
            let is_due = |folded: &FoldedBlame| {
                folded.owner == owner && folded.place == place && folded.charged_ns >= due_ns
            };
            if let Some(nth) = waiter.folded.iter().position(is_due) {
                let charged_ns = waiter.folded.swap_remove(nth).charged_ns;
                charges.push(Charge { waiter: Arc::clone(&waiter.thread), charged_ns });
            }
        }
        Some(charges)
    }
}

/// A time that has the exponential distribution of mean [`LOOK_NS`]: then a
/// program's own rhythm does not matter.
fn some_time(seed: u64) -> u64 {
    let uniform = (mix(seed) >> 11) as f64 / (1u64 << 53) as f64;
    (-(1.0 - uniform).ln() * LOOK_NS as f64) as u64
}

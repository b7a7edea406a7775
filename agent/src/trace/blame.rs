//! Who made others wait.
//!
//! Whoever waits for a lock is entered here. A thread that leaves a lock looks
//! at the bucket of the lock's hash, whether anybody waits there: each waiter's
//! time since the later of its start and the previous release is charged to the
//! stack that leaves. The probe stands in front of the release, so that nobody
//! else can have come in between.
//!
//! Threads that take turns at a lock would come here a million times a second.
//! So a release is looked at only from a moment on that was chosen by chance,
//! some 50 µs after the last look, or 200 with count=adaptive, and is charged what
//! it held the lock for, as is the last one before it. Of all others one, chosen as
//! likely as its hold was long, gets the time that they had together: the releases
//! note in the bucket what that takes. What is held for long is charged exactly,
//! what is held for less in the mean over many releases; and nothing is lost, as a
//! waiter that gets the lock charges what is left.

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
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
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
    /// When a release was charged last.
    charged_ns: u64,
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
    start_ns: u64,
    /// What releases were charged that were too short for a record each.
    folded: Vec<FoldedBlame>,
}

impl Waiter {
    /// Charges its time from then up to the last release, which was before `end_ns`, to
    /// those that held the lock meanwhile. Returns up to when.
    fn fold_others(&mut self, from_ns: u64, released: &Released, end_ns: u64) -> u64 {
        let Released { last, begun_ns, previous, chosen } = released;
        let to_ns = last.at_ns.clamp(from_ns, end_ns.max(from_ns));
        let begun_ns = (*begun_ns).clamp(from_ns, to_ns);
        if to_ns > begun_ns {
            self.fold(last.owner, last.place, to_ns - begun_ns);
        }
        if begun_ns > from_ns {
            // The chosen one may have been before this wait.
            let is_within = |release: &&Release| (from_ns + 1..=begun_ns).contains(&release.at_ns);
            let charged = [chosen, previous].into_iter().find(is_within).unwrap_or(last);
            self.fold(charged.owner, charged.place, begun_ns - from_ns);
        }
        to_ns
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

/// Releases of a lock since the last one that was looked at.
struct Released {
    last: Release,
    /// When that had taken it.
    begun_ns: u64,
    /// The one before.
    previous: Release,
    /// Of those before the last, chosen by chance, as likely as holds are long.
    chosen: Release,
}

/// When a lock was released, by which thread, and where that had taken it; 0 ns when it
/// was not.
struct Release {
    at_ns: u64,
    owner: i64,
    place: u32,
}

impl Released {
    /// Those of the lock with this hash.
    fn read(b: &Bucket, hash: u32) -> Released {
        let release = |at_ns: &AtomicU64, by: &AtomicU64, at: &AtomicU64| {
            let at = at.load(Relaxed);
            let is_same = at >> 32 == u64::from(hash);
            let at_ns = if is_same { at_ns.load(Relaxed) } else { 0 };
            Release { at_ns, owner: by.load(Relaxed) as i64, place: at as u32 }
        };
        Released {
            last: release(&b.released, &b.released_by, &b.released_at),
            begun_ns: b.begun.load(Relaxed),
            previous: release(&b.begun, &b.previous_by, &b.previous_at),
            chosen: release(&b.chosen, &b.chosen_by, &b.chosen_at),
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
            locks.push(Lock { id: pending.lock, hash, charged_ns: 0, waiters });
            locks.len() - 1
        });
        let waiter = Waiter { thread, start_ns, folded: Vec::new() };
        if locks[at].waiters.insert(waiter.thread.java_id, waiter).is_some() {
            // Its wait before has not been seen to end, and is counted.
            return;
        }
        let bucket = self.bucket(hash);
        let waited = &bucket.waited;
        if bucket.waiters.fetch_add(1, Relaxed) == 0 {
            waited.store(hash, Relaxed);
            bucket.looked.store(start_ns, Relaxed);
            bucket.due.store(start_ns + some_time(start_ns) * self.rarer(), Relaxed);
        } else if waited.load(Relaxed) != hash {
            waited.store(Bucket::SEVERAL, Relaxed);
        }
        self.shared.waited.count.fetch_add(1, Relaxed);
    }

    /// A thread waits no more: what is still to be written of its wait.
    pub fn remove_waiter(&self, thread: &Thread, lock_id: u32) -> Vec<FoldedBlame> {
        if lock_id == id::UNKNOWN {
            return Vec::new();
        }
        let mut locks = lock(self.waiting.shard(lock_id));
        let Some(nth) = locks.iter().position(|of| of.id == lock_id) else { return Vec::new() };
        let of = &mut locks[nth];
        let Some(mut waiter) = of.waiters.remove(&thread.java_id) else { return Vec::new() };
        let (hash, charged_ns) = (of.hash, of.charged_ns);
        if of.waiters.is_empty() {
            locks.swap_remove(nth);
        }
        drop(locks);
        let bucket = self.bucket(hash);
        let released = Released::read(bucket, hash);
        waiter.fold_others(waiter.start_ns.max(charged_ns), &released, u64::MAX);
        bucket.waiters.fetch_sub(1, Relaxed);
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
                self.define_place(context.generation, place);
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
            None => !self.places.with(place, |place| place.kind == WaitKind::Monitor),
        };
        let mut unwritten = Vec::new();
        let written = self.recorder.in_context_of(owner, |context| {
            let stack = self.stack(context, java, in_jdk);
            if place != id::UNKNOWN {
                self.define_place(context.generation, place);
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
        if is_counted {
            self.pause(of, hash);
        }
        let Bucket { waiters, waited, .. } = self.bucket(hash);
        let is_waited_for = || [hash, Bucket::SEVERAL].contains(&waited.load(Relaxed));
        if gives_up && waiters.load(Relaxed) != 0 && is_waited_for() {
            self.left(java, of, Some(&of.held[0]), object, id::UNKNOWN);
        }
    }

    fn rarer(&self) -> u64 {
        if self.shared.bursts.is_some() { RARER } else { 1 }
    }

    /// The mean time from a charge to the moment after which the next release is charged,
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
        let since_ns = std::mem::replace(&mut of.charged_ns, now_ns);
        let due_ns = self.recorder.threshold_ns().max(DUE_NS) * of.crowd();
        let next_ns = now_ns + some_time(now_ns) * of.crowd() * self.rarer();
        self.bucket(of.hash).due.store(next_ns, Relaxed);
        let bucket = self.bucket(of.hash);
        let released = Released::read(bucket, of.hash);
        bucket.looked.store(now_ns, Relaxed);
        let mut charges = Vec::new();
        for waiter in of.waiters.values_mut() {
            // Before that others held it.
            let from_ns = waiter.start_ns.max(since_ns);
            let taken_ns = waiter.fold_others(from_ns, &released, now_ns);
            if now_ns <= taken_ns {
                continue;
            }
            waiter.fold(owner, place, now_ns - taken_ns);
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
    // splitmix64
    let mut x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let uniform = ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64;
    (-(1.0 - uniform).ln() * LOOK_NS as f64) as u64
}

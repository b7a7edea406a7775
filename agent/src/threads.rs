//! The threads that wait, by their Java id.
//!
//! A virtual thread may begin a wait on one OS thread and end it on another,
//! so what it waits for is kept here, with the Java thread, and never with the
//! OS thread.

use crate::{
    lane::Table,
    log::{Chunk, LogFile, Place, Writer},
    sync::lock,
};
use std::{
    cell::UnsafeCell,
    sync::{
        Arc, Mutex,
        atomic::{
            AtomicU32, AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
            fence,
        },
    },
};
use tyrion_wire::{
    WaitKind,
    chunk::ChunkKind,
    slot::{self, WAIT_LEN, field},
};

/// Shards of the registry: virtual threads look themselves up at each event.
const SHARDS: usize = 64;
const SLOTS_CHUNK: usize = 16384;

/// A wait that has begun.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    /// What is waited for. May still change until the wait ends.
    pub kind: WaitKind,
    /// Start, monotonic ns.
    pub start_ns: u64,
    /// The waiter's stack.
    pub stack: u32,
    /// The lock's id.
    pub lock: u32,
    /// The owner's thread id in the log, 0 when unknown.
    pub owner: u32,
}

/// An acquisition of a j.u.c. lock that is on its slow path.
#[derive(Clone, Copy, Debug)]
pub struct Acquiring {
    /// When the slow path was entered, monotonic ns.
    pub start_ns: u64,
    /// Whether it is taken in shared mode.
    pub shared: bool,
    /// How often it parked.
    pub parks: u64,
    /// Filled in at the first park: an acquisition that never parks is none.
    pub wait: Option<Begun>,
}

/// What a thread waits for. Waits nest: the class of a lock may itself wait
/// for a monitor, and `Object.wait` may end in a contended re-entry.
#[derive(Default)]
pub struct Waits {
    /// A contended monitor.
    pub monitor: Option<Begun>,
    /// `Object.wait`.
    pub object_wait: Option<Begun>,
    /// j.u.c. locks, outermost first: the application's own `tryAcquire` may
    /// itself have to wait for a lock.
    pub acquiring: Vec<Acquiring>,
    /// A park outside of any acquisition.
    pub park: Option<Begun>,
    /// The lock that `Condition.await` takes again after `park`.
    pub awaited_lock: u32,
    /// The lock is wanted again: the signal came, and the acquisition begins.
    pub reacquiring: Option<Begun>,
}

impl Waits {
    /// The innermost wait.
    fn innermost(&self) -> Option<Begun> {
        let acquiring = self.acquiring.iter().rev().find_map(|acquiring| acquiring.wait);
        let parked = self.park.or(self.reacquiring).or(acquiring);
        self.monitor.or(parked).or(self.object_wait)
    }
}

/// A Java thread.
pub struct Thread {
    /// `Thread.getId()`.
    pub java_id: i64,
    /// Its id in the log, 0 before it was defined.
    id: AtomicU32,
    /// Whether it is left out, by `exclude-threads`.
    pub excluded: bool,
    slot: Option<Place>,
    /// When a condition was last signalled to it, monotonic ns. Written by the
    /// signalling thread.
    pub signalled_ns: AtomicU64,
    waits: UnsafeCell<Waits>,
}

// SAFETY: `waits` is only reached through `waits()`, whose contract says that
// the Java thread itself runs; it runs on one OS thread at a time.
unsafe impl Sync for Thread {}
// SAFETY: as above; the other fields are plain values and atomics.
unsafe impl Send for Thread {}

impl Thread {
    /// Its id in the log, 0 before it was defined.
    #[inline]
    pub fn id(&self) -> u32 {
        self.id.load(Acquire)
    }

    /// Gives the thread its id in the log.
    pub fn set_id(&self, id: u32) {
        self.id.store(id, Release);
    }

    /// What the thread waits for.
    ///
    /// # Safety
    /// The caller runs on this very Java thread, and no other result of this
    /// function is alive.
    #[allow(clippy::mut_from_ref, reason = "one Java thread runs on one OS thread at a time")]
    pub unsafe fn waits(&self) -> &mut Waits {
        // SAFETY: by the function's contract nobody else has a reference.
        unsafe { &mut *self.waits.get() }
    }

    /// Shows in the log what the thread waits for now, so that it is known
    /// should the process be killed.
    #[inline]
    pub fn publish(&self, waits: &Waits) {
        let Some(slot) = self.slot else { return };
        let sequence = slot.u32_at(field::SEQUENCE);
        let odd = sequence.load(Relaxed) | 1;
        sequence.store(odd, Relaxed);
        fence(Release);
        match waits.innermost() {
            Some(begun) => {
                slot.u32_at(field::THREAD).store(self.id(), Relaxed);
                slot.u32_at(field::STACK).store(begun.stack, Relaxed);
                slot.u32_at(field::LOCK).store(begun.lock, Relaxed);
                slot.u32_at(field::OWNER).store(begun.owner, Relaxed);
                slot.u64_at(field::START_NS).store(begun.start_ns, Relaxed);
                slot.u32_at(field::KIND).store(begun.kind.code().into(), Relaxed);
            }
            None => slot.u32_at(field::KIND).store(0, Relaxed),
        }
        sequence.store(odd.wrapping_add(1), Release);
    }
}

/// All threads that ever waited and still live.
pub struct Threads {
    shards: Vec<Mutex<Table<i64, Arc<Thread>>>>,
    slots: Mutex<Slots>,
}

#[derive(Default)]
struct Slots {
    free: Vec<Place>,
    chunk: Option<Chunk>,
    carved: u32,
}

impl Threads {
    /// No threads yet.
    pub fn new() -> Threads {
        Threads { shards: (0..SHARDS).map(|_| Mutex::default()).collect(), slots: Mutex::default() }
    }

    fn shard(&self, java_id: i64) -> &Mutex<Table<i64, Arc<Thread>>> {
        &self.shards[java_id as usize % SHARDS]
    }

    /// The thread of this Java id, if it ever waited.
    pub fn get(&self, java_id: i64) -> Option<Arc<Thread>> {
        lock(self.shard(java_id)).get(&java_id).cloned()
    }

    /// The thread of this Java id, known from now on.
    pub fn get_or_add(&self, log: &LogFile, java_id: i64, excluded: bool) -> Arc<Thread> {
        if let Some(known) = self.get(java_id) {
            return known;
        }
        // Another thread may have added it meanwhile, as the owner of a lock.
        let mut shard = lock(self.shard(java_id));
        let thread = shard.entry(java_id).or_insert_with(|| {
            Arc::new(Thread {
                java_id,
                id: AtomicU32::new(0),
                excluded,
                slot: lock(&self.slots).take(log),
                signalled_ns: AtomicU64::new(0),
                waits: UnsafeCell::new(Waits::default()),
            })
        });
        Arc::clone(thread)
    }

    /// Forgets a thread that has ended.
    pub fn remove(&self, java_id: i64) -> Option<Arc<Thread>> {
        let thread = lock(self.shard(java_id)).remove(&java_id)?;
        if let Some(slot) = thread.slot {
            slot.u32_at(field::KIND).store(0, Relaxed);
            slot.u32_at(field::THREAD).store(0, Release);
            lock(&self.slots).free.push(slot);
        }
        Some(thread)
    }
}

impl Slots {
    fn take(&mut self, log: &LogFile) -> Option<Place> {
        if let Some(slot) = self.free.pop() {
            return Some(slot);
        }
        let empty = [0; WAIT_LEN];
        if let Some(slot) = self.chunk.as_mut().and_then(|chunk| chunk.append_in_place(&empty)) {
            return Some(slot);
        }
        let of = Writer { sequence: self.carved, ..Writer::default() };
        let mut chunk = log.carve(ChunkKind::Slots, SLOTS_CHUNK, of)?;
        self.carved += 1;
        let slot = chunk.append_in_place(&empty);
        self.chunk = Some(chunk);
        slot
    }
}

const _: () = assert!(slot::WAIT_LEN.is_multiple_of(8));

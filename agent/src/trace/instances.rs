//! Which threads use which lock, instance by instance.
//!
//! A table of hashes that Java looks at when a thread takes another instance at
//! a place than before. One that is not there yet, or is there but not with this thread, comes here, is entered and
//! written to the log.

use super::{
    Trace,
    memory::{Block, CLOSED_PLACES, Cell, NO_INSTANCES, address_of},
    place_instances::SEVERAL,
};
use crate::{
    jvm::{Java, Object},
    log::region::kept::Shared,
    recorder::EventContext,
    sync::lock,
};
use std::{
    collections::HashMap,
    sync::{
        Mutex,
        atomic::{
            AtomicU8, AtomicU64,
            Ordering::{Relaxed, Release},
        },
    },
};
use tyrion_wire::trace::Instance;

/// Instances that the table has room for, before collisions.
const PLACES: usize = 1 << 18;
/// How far from its place an instance may stand.
pub const REACH: usize = 8;
/// How many threads that share an instance are told apart: by their numbers
/// modulo this.
pub const SHARERS: u32 = 448;

/// Which thread, or threads, an instance is used by.
#[repr(C)]
pub struct InstanceTable {
    /// For each instance its hash and its owner: close together, as nearly all
    /// looks end there.
    pub words: [AtomicU64; PLACES + REACH],
    /// The threads that share it, a bit each.
    pub sets: [Set; PLACES + REACH],
}

type Set = [AtomicU64; SHARERS as usize / 64];

// SAFETY: nothing but atomics of which any bytes are valid.
unsafe impl Shared for InstanceTable {}

/// Bits by hash.
pub type EnteredBits = [AtomicU8; ENTERED / 8];

/// How many bits tell by their hashes' low bits which instances may stand in
/// the table: some 14 for each, and still in a core's cache.
pub const ENTERED: usize = 1 << 21;
/// What Java takes a hash's low bits by.
pub const MASK: u64 = PLACES as u64 - 1;
/// At most this many instances may come from one place: one that makes a lock for each
/// request would fill the table, and push out what matters.
const PLACE_LIMIT: u32 = (PLACES / 16) as u32;
/// The owner of what several threads use.
pub const SHARED: u64 = 0xffff_ffff;

/// What is known beside the table.
#[derive(Default)]
pub struct Instances {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    by_place: HashMap<u32, u32>,
    count: u64,
}

/// What became of an instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Entered {
    First,
    Further,
    Known,
    /// Its place has had, or wanted, all that it may have.
    NoRoom,
    /// Others stand wherever it could.
    Crowded,
}

impl Instances {
    /// How many are told apart.
    pub fn count(&self) -> u64 {
        lock(&self.inner).count
    }

    /// Forgets how many came from which place.
    pub fn forget(&self) {
        *lock(&self.inner) = Inner::default();
    }
}

impl Trace {
    /// Forgets all: the next file of the log tells them anew.
    pub fn forget_instances(&self) {
        let mut inner = lock(&self.instances.inner);
        *inner = Inner::default();
        let bytes = self.shared.entered.iter().chain(self.shared.closed);
        bytes.for_each(|byte| byte.store(0, Relaxed));
        let InstanceTable { words, sets } = self.shared.instances;
        for word in words.iter().chain(sets.iter().flatten()) {
            // Most of the table was never touched, and shall stay so.
            if word.load(Relaxed) != 0 {
                word.store(0, Relaxed);
            }
        }
    }

    /// A thread has taken an instance that it was not known to use.
    pub fn note_instance(&self, of: &Block, hash: u32, cell: &'static Cell) {
        let number = of.me.load(Relaxed) as u32;
        let place = cell.place.load(Relaxed);
        let entered = self.enter(hash, number, place);
        match entered {
            Entered::NoRoom | Entered::Crowded => {
                if entered == Entered::NoRoom {
                    cell.measured.fetch_or(Cell::CLOSED, Relaxed);
                    self.close(place);
                }
                let unidentified = cell.unidentified.load(Relaxed);
                cell.unidentified.store(unidentified + 1, Relaxed);
            }
            Entered::Known => {}
            Entered::First | Entered::Further => {
                let class = |context: &EventContext<'_>| {
                    let is_here = context.generation.log.contains(address_of(cell));
                    is_here.then(|| cell.class.load(Relaxed))
                };
                self.recorder.in_context_of(of.owner(), |context| {
                    if let Some(class) = class(context) {
                        self.write_instance(context, hash, class, place, entered);
                    }
                });
            }
        }
    }

    /// No more new instances of a place are told apart.
    fn close(&self, place: u32) {
        self.shared.closed[place as usize % CLOSED_PLACES].fetch_or(NO_INSTANCES, Relaxed);
    }

    /// An object that was locked when a thread took it has its hash now; the
    /// thread may have ended. With hash 0 the object is gone without one.
    pub fn note_hashed(&self, java: Java, hash: u32, by: u64, object: Object<'_>) {
        let (place, number) = ((by >> 32) as u32, by as u32);
        self.note_place_instance(place, if hash == 0 { SEVERAL } else { hash });
        if hash == 0 {
            return;
        }
        let Some(owner) = self.owner_of(number) else { return };
        let entered = self.enter(hash, number, place);
        if entered == Entered::NoRoom {
            self.close(place);
        }
        if matches!(entered, Entered::First | Entered::Further) {
            self.recorder.in_context_of_thread(&owner, |context| {
                if let Some(class) = self.recorder.class_of_lock(context.generation, java, object) {
                    self.write_instance(context, hash, class, place, entered);
                }
            });
        }
    }

    fn write_instance(
        &self,
        context: &mut EventContext<'_>,
        hash: u32,
        class: u32,
        place: u32,
        entered: Entered,
    ) {
        let shared = entered == Entered::Further;
        self.recorder.define_place(context.generation, place);
        self.recorder.append(context, None, |_, out| {
            Instance { hash, class, place, shared }.encode(out);
        });
    }

    fn enter(&self, hash: u32, thread: u32, place: u32) -> Entered {
        let mut inner = lock(&self.instances.inner);
        let first = u64::from(hash) & MASK;
        for nth in 0..REACH {
            let at = first as usize + nth;
            let word = &self.shared.instances.words[at];
            let set = |bit: u32| &self.shared.instances.sets[at][bit as usize / 64];
            let bit = thread % SHARERS;
            let threads = set(bit);
            let bit = 1u64 << (bit % 64);
            let (there, owner) = (word.load(Relaxed) >> 32, word.load(Relaxed) & SHARED);
            if there == u64::from(hash) {
                let shares = owner == SHARED && threads.load(Relaxed) & bit != 0;
                if owner == u64::from(thread) || shares {
                    return Entered::Known;
                }
                if owner != SHARED {
                    let first = owner as u32 % SHARERS;
                    let set = set(first);
                    set.store(set.load(Relaxed) | 1 << (first % 64), Relaxed);
                }
                threads.store(threads.load(Relaxed) | bit, Relaxed);
                word.store(u64::from(hash) << 32 | SHARED, Release);
                return Entered::Further;
            }
            if word.load(Relaxed) == 0 {
                let of_place = inner.by_place.entry(place).or_default();
                if *of_place >= PLACE_LIMIT {
                    return Entered::NoRoom;
                }
                *of_place += 1;
                inner.count += 1;
                word.store(u64::from(hash) << 32 | u64::from(thread), Release);
                let bit = hash as usize % ENTERED;
                self.shared.entered[bit / 8].fetch_or(1 << (bit % 8), Relaxed);
                return Entered::First;
            }
        }
        // In vain, but it counts: else a place whose new locks have no hash would
        // give them one for ever, once the table is full. (What has one does not
        // come here: Java sees that it is crowded.)
        let of_place = inner.by_place.entry(place).or_default();
        *of_place = (*of_place + 1).min(PLACE_LIMIT);
        if *of_place == PLACE_LIMIT { Entered::NoRoom } else { Entered::Crowded }
    }
}

//! What is taken within what: for finding locks that will deadlock.
//!
//! Java remembers which nestings a thread has had, in a small table of hashes,
//! so that each comes here once, or at most a few times.
//!
//! A nesting is noted when the inner lock has been taken, and already when a
//! thread begins to wait for it: two threads that wait for each other take
//! neither.

use super::{
    Trace,
    holds::hash_of,
    memory::{Block, Cell, Entry, HELD_LIMIT, LOCKS_LIMIT, address_of},
    resync::FLAG,
};
use crate::{
    clock,
    jvm::{Java, Object},
    recorder::{EventContext, threads::PendingWait},
    sync::lock,
    table::Table,
};
use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Mutex, atomic::Ordering::Relaxed},
};
use tyrion_wire::{
    WaitKind,
    def::id,
    trace::{Held, HeldList, Nest, nest_flag},
};

/// Beside the number of a place where a lock was taken by a method that does not wait for
/// it: what is known of a pair of places is not known of the same one with waiting.
pub const TRIED_AT: u32 = 1 << 31;

/// Nestings that are remembered, over all threads.
const LIMIT: usize = 1 << 16;
/// Records for one pair of places: a bank's accounts would make millions.
const PAIR_LIMIT: u32 = 128;
/// How often one pair of places is looked at: where each object is new, or has
/// no hash, Java never knows that the nesting is an old one.
const LOOK_LIMIT: u32 = 512;

/// What has been noted.
#[derive(Default)]
pub struct Nestings {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    seen: HashSet<u64>,
    /// By pair of places, outer and inner.
    pairs: Table<u64, Pair>,
}

#[derive(Default)]
struct Pair {
    looked: u32,
    noted: u32,
}

impl Inner {
    /// Whether a nesting of this hash, at a pair of places, is still to be noted.
    fn look(&mut self, print: u64, places: u64) -> Nesting {
        let pair = self.pairs.entry(places).or_default();
        pair.looked = pair.looked.saturating_add(1);
        if pair.looked > LOOK_LIMIT || pair.noted >= PAIR_LIMIT || self.seen.len() >= LIMIT {
            return Nesting::Told;
        }
        if !self.seen.insert(print) {
            return Nesting::Known;
        }
        pair.noted += 1;
        Nesting::New(New { print, places })
    }

    /// A nesting was not noted after all.
    fn take_back(&mut self, New { print, places }: New) {
        if self.seen.remove(&print)
            && let Some(pair) = self.pairs.get_mut(&places)
        {
            pair.noted = pair.noted.saturating_sub(1);
        }
    }
}

/// A nesting's hash, and its pair of places.
#[derive(Clone, Copy)]
struct New {
    print: u64,
    places: u64,
}

/// What is to be done with a nesting.
enum Nesting {
    /// It is to be noted.
    New(New),
    /// It was.
    Known,
    /// No more are noted of its places.
    Told,
}

impl Trace {
    /// The current thread takes a lock, known by `key`, while it holds others:
    /// whether no more needs to be noted of the places. [`TRIED_AT`] may stand beside
    /// the place.
    pub fn note_nesting(
        &self,
        java: Java,
        of: &Block,
        key: u64,
        place: u32,
        object: Object<'_>,
    ) -> bool {
        let is_juc = key >> 32 != 0 && key >> 32 < 8;
        // Without what is being taken.
        let entries = self.held(of, usize::from(!is_juc), usize::from(is_juc));
        let hash = if self.identity { hash_of(key) } else { 0 };
        match self.nesting(of, place, hash, &entries) {
            Nesting::Told => return true,
            Nesting::Known => return false,
            Nesting::New(new) if !self.is_real(java, of, usize::from(!is_juc), new) => {
                return false;
            }
            Nesting::New(_) => {}
        }
        self.recorder.in_context_of(of.owner(), |context| {
            let stack = self.stack(context, java, is_juc);
            self.write_nesting(context, java, (place, hash, stack), object, &entries);
        });
        false
    }

    /// The context's thread begins to wait for a lock, in a stack, while it
    /// holds others: should it wait for ever, this is all that tells.
    pub fn note_waiting(
        &self,
        context: &mut EventContext<'_>,
        java: Java,
        pending: PendingWait,
        object: Object<'_>,
    ) {
        let Some(of) = self.block_of(context.thread.java_id) else { return };
        if of.holds.load(Relaxed) == 0 {
            return;
        }
        let entries = self.held(of, 0, 0);
        let place = match pending.kind {
            // Its probe comes behind the wait.
            WaitKind::Monitor => id::UNKNOWN,
            _ => of.next_place(),
        };
        let hash = if self.identity { self.recorder.ti().hash(object) as u32 } else { 0 };
        if let Nesting::New(new) = self.nesting(of, place, hash, &entries)
            && self.is_real(java, of, 0, new)
        {
            self.write_nesting(context, java, (place, hash, pending.stack), object, &entries);
        }
    }

    /// Whether all is really held that a new nesting is of. Where an exit was
    /// lost, it is not taken for noted; and that is mended when the next
    /// monitor is taken.
    fn is_real(&self, java: Java, of: &Block, innermost: usize, new: New) -> bool {
        let is_real = self.holds_all(java, of, innermost);
        if !is_real {
            of.holds.fetch_or(FLAG, Relaxed);
            lock(&self.nestings.inner).take_back(new);
        }
        is_real
    }

    fn nesting(
        &self,
        of: &Block,
        place: u32,
        hash: u32,
        entries: &[(&'static Cell, Held)],
    ) -> Nesting {
        let Some((_, innermost)) = entries.last() else { return Nesting::Known };
        let places = u64::from(innermost.place) << 32 | u64::from(place);
        let owner = of.owner();
        let mut hasher = DefaultHasher::new();
        (owner, place, hash).hash(&mut hasher);
        entries.iter().for_each(|(_, h)| (h.place, h.hash).hash(&mut hasher));
        lock(&self.nestings.inner).look(hasher.finish(), places)
    }

    fn write_nesting(
        &self,
        context: &mut EventContext<'_>,
        java: Java,
        (place, hash, stack): (u32, u32, u32),
        object: Object<'_>,
        entries: &[(&'static Cell, Held)],
    ) {
        let flags = if place & TRIED_AT != 0 { nest_flag::TRIED } else { 0 };
        let place = place & !TRIED_AT;
        if place != id::UNKNOWN {
            self.recorder.define_place(context.generation, place);
        }
        let class = self.recorder.class_of_lock(context.generation, java, object).unwrap_or(0);
        let outer: Vec<Held> = entries
            .iter()
            .map(|(cell, held)| {
                self.recorder.define_place(context.generation, held.place);
                // Ids of the file before mean something else in this one.
                let is_here = context.generation.log.contains(address_of(*cell));
                Held { class: if is_here { held.class } else { id::UNKNOWN }, ..*held }
            })
            .collect();
        let inner = Held { place, class, hash };
        self.recorder.append(context, Some(clock::now_ns()), |delta_ns, out| {
            let outer = HeldList::from(&outer[..]);
            Nest { delta_ns, inner, stack, outer, flags }.encode(out);
        });
    }

    /// Forgets all: the next file of the log tells them anew.
    pub fn forget_nestings(&self) {
        *lock(&self.nestings.inner) = Inner::default();
    }

    /// What the block's thread holds, each with its cell, but for so many of
    /// the innermost monitors and locks.
    fn held(&self, of: &Block, monitors: usize, locks: usize) -> Vec<(&'static Cell, Held)> {
        let holds = of.holds.load(Relaxed);
        let depth = (holds as u32 as usize).saturating_sub(monitors).min(HELD_LIMIT);
        let locks = ((holds >> 32) as u16 as usize).saturating_sub(locks).min(LOCKS_LIMIT);
        let entries = of.held[..depth].iter().chain(&of.held_locks[..locks]);
        entries.filter_map(|entry| self.held_in(entry)).collect()
    }

    /// What an entry is of, if that counts as held.
    fn held_in(&self, entry: &Entry) -> Option<(&'static Cell, Held)> {
        let key = entry.key.load(Relaxed) as i64;
        // Neither reentrant ones nor permits, which others may give back.
        if key <= 0 || key >> 32 == i64::from(WaitKind::Semaphore.code()) {
            return None;
        }
        let cell = entry.cell.load(Relaxed);
        if self.shared.bursts.is_some() && cell == self.nowhere() {
            // Not counted now: nestings are seen in bursts.
            return None;
        }
        let cell = self.cells.at(cell)?;
        let held = Held {
            place: entry.place.load(Relaxed),
            class: cell.class.load(Relaxed),
            hash: hash_of(key as u64),
        };
        Some((cell, held))
    }
}

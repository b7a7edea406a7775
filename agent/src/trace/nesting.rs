//! What is taken within what: for finding locks that will deadlock.
//!
//! Java remembers which nestings a thread has had, in a small table of hashes,
//! so that each comes here once, or at most a few times.

use super::{
    Trace,
    holds::hash_of,
    memory::{Memory, block, entry},
    plan::kind,
};
use crate::{clock, jvm::Java, lane::Table, sync::lock};
use jvmti_bindings::sys::jni::jobject;
use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Mutex, atomic::Ordering::Relaxed},
};
use tyrion_wire::{
    def::id,
    trace::{Held, Nest, Outer, field},
};

/// Nestings that are remembered, over all threads.
const LIMIT: usize = 1 << 16;
/// Records for one pair of places: a bank's accounts would make millions.
const PAIR_LIMIT: u32 = 256;
/// How often one pair of places is looked at: where each object is new, or has
/// no hash, Java never knows that the nesting is an old one.
const LOOK_LIMIT: u32 = 2048;

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
    /// Whether no more is noted of a pair of places.
    fn is_told(&mut self, places: u64) -> bool {
        let pair = self.pairs.entry(places).or_default();
        pair.looked = pair.looked.saturating_add(1);
        pair.looked > LOOK_LIMIT || pair.noted >= PAIR_LIMIT || self.seen.len() >= LIMIT
    }

    /// Whether a nesting of this hash is still to be noted.
    fn is_new(&mut self, print: u64, places: u64) -> bool {
        let is_new = self.seen.insert(print);
        if is_new {
            self.pairs.entry(places).or_default().noted += 1;
        }
        is_new
    }
}

impl Trace {
    /// The current thread takes a lock, known by `key`, while it holds others:
    /// whether no more needs to be told of the places.
    pub fn note_nesting(
        &self,
        java: Java,
        of: Memory,
        key: u64,
        place: u32,
        object: jobject,
    ) -> bool {
        let entries = held(of, key);
        let Some((_, innermost)) = entries.last() else { return false };
        let places = u64::from(innermost.place) << 32 | u64::from(place);
        if lock(&self.nestings.inner).is_told(places) {
            return true;
        }
        let owner = of.u64(block::OWNER).load(Relaxed) as i64;
        let mut hasher = DefaultHasher::new();
        let hash = if self.options.identity { hash_of(key) } else { 0 };
        (owner, place, hash).hash(&mut hasher);
        entries.iter().for_each(|(_, h)| (h.place, h.hash).hash(&mut hasher));
        if lock(&self.nestings.inner).is_new(hasher.finish(), places) {
            self.write_nesting(java, of, (key, place, object), &entries);
        }
        false
    }

    fn write_nesting(
        &self,
        java: Java,
        of: Memory,
        (key, place, object): (u64, u32, jobject),
        entries: &[(Memory, Held)],
    ) {
        let owner = of.u64(block::OWNER).load(Relaxed) as i64;
        let hash = if self.options.identity { hash_of(key) } else { 0 };
        let is_juc = key >> 32 != 0 && key >> 32 < 8;
        let at = of.offset(if is_juc { block::HELD_LOCKS } else { block::HELD });
        self.recorder.trace_scene(owner, |scene| {
            self.define_place(scene.volume, place);
            let class = self.recorder.class_of_lock(scene.volume, java, object).unwrap_or(0);
            let stack = self.stack(scene, java, of, at);
            let outer: Vec<Held> = entries
                .iter()
                .map(|(cell, held)| {
                    self.define_place(scene.volume, held.place);
                    // Ids of the file before mean something else in this one.
                    let is_here = scene.volume.log.contains(cell.address());
                    Held { class: if is_here { held.class } else { id::UNKNOWN }, ..*held }
                })
                .collect();
            let inner = Held { place, class, hash };
            self.recorder.append(scene, Some(clock::now_ns()), |delta_ns, out| {
                Nest { delta_ns, inner, stack, outer: Outer::from(&outer[..]) }.encode(out);
            });
        });
    }

    /// Forgets all: the next file of the log tells them anew.
    pub fn forget_nestings(&self) {
        *lock(&self.nestings.inner) = Inner::default();
    }
}

/// What the block's thread holds, each with its cell, but for the lock that it
/// just takes.
fn held(of: Memory, taken: u64) -> Vec<(Memory, Held)> {
    let entries =
        |first: usize, count: usize| (0..count).map(move |nth| of.offset(first + nth * entry::LEN));
    // The entry of what is being taken is not filled in yet.
    let is_juc = taken >> 32 != 0 && taken >> 32 < 8;
    let holds = of.u64(block::HOLDS).load(Relaxed);
    let depth = (holds as u32 as usize).saturating_sub(usize::from(!is_juc));
    let locks = ((holds >> 32) as u16 as usize).saturating_sub(usize::from(is_juc));
    let monitors = entries(block::HELD, depth.min(block::HELD_LIMIT));
    let locks = entries(block::HELD_LOCKS, locks.min(block::LOCKS_LIMIT));
    monitors
        .chain(locks)
        .filter(|at| {
            let key = at.u64(entry::KEY).load(Relaxed) as i64;
            // Neither reentrant ones nor permits, which others may give back.
            key > 0 && key >> 32 != kind::SEMAPHORE.into()
        })
        .map(|at| {
            // SAFETY: a filled entry has the address of its cell.
            let cell = unsafe { Memory::at_address(at.u64(entry::CELL).load(Relaxed)) };
            let held = Held {
                place: cell.u32(field::PLACE).load(Relaxed),
                class: cell.u32(field::CLASS).load(Relaxed),
                hash: hash_of(at.u64(entry::KEY).load(Relaxed)),
            };
            (cell, held)
        })
        .collect()
}

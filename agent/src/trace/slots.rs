//! Where Java finds a thread's block: by the thread's id, whatever the id is.
//!
//! Nearly every thread stands in the slot that the low bits of its id say. Ids
//! only grow, so those who live long stand in the way of others sooner or
//! later; these stand in slots that all bits of their ids say, in the same
//! table, or else in the next, longer one, which is allocated only then. The
//! slots to look at are always the same few, so nothing has to move when a
//! thread goes.

use super::memory::{ThreadSlot, address_of, zeroed};
use crate::log::region::kept::Shared;
use std::sync::atomic::{
    AtomicPtr, AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// Slots of the first table: as many bits of a thread's id say its own one.
pub const THREADS: usize = 1 << 18;
/// In how many more of each table a thread may stand.
pub const REACH: usize = 8;
/// How many longer tables there may be.
const LONGER: usize = 2;
/// Bits for the threads that there was no room for, by their ids.
pub const REFUSED: usize = 1 << 20;

/// The slots, as Java knows them.
#[repr(C)]
pub struct Slots<const FIRST: usize = THREADS> {
    first: [ThreadSlot; FIRST],
    /// Tables of four times as many slots each as the one before; behind the
    /// last one stands 0.
    pub longer: [AtomicPtr<ThreadSlot>; LONGER + 1],
    /// Not 0 while there is no room: who is marked below need not ask again.
    pub full: AtomicU32,
    _line: AtomicU32,
    /// Bits by the low bits of ids. Two threads may have the same one.
    pub refused: [AtomicU64; REFUSED / 64],
}

// SAFETY: atomics, of which any bytes are valid; Java only reads `longer`.
unsafe impl<const FIRST: usize> Shared for Slots<FIRST> {}

impl<const FIRST: usize> Slots<FIRST> {
    /// Enters a thread that stands nowhere; `false` without room. One caller at
    /// a time.
    pub fn enter(&self, java_id: i64, block: u64) -> bool {
        // A thread that is just attaching has the id 0: what it finds in the
        // first slot shall be nothing.
        let is_free = |slot: &&ThreadSlot| {
            slot.id.load(Relaxed) == 0 && !std::ptr::eq(*slot, &raw const self.first[0])
        };
        let mut free = self.slots_of(java_id).find(is_free);
        while free.is_none() && self.lengthen() {
            free = self.slots_of(java_id).find(is_free);
        }
        let Some(free) = free else { return false };
        free.block.store(block, Relaxed);
        free.id.store(java_id as u64, Release);
        true
    }

    /// Notes that there was no room for a thread, so that it does not ask with
    /// each lock; `false` when it was noted before, or looks as if it was.
    pub fn refuse(&self, java_id: i64) -> bool {
        self.full.store(1, Relaxed);
        let bit = java_id as usize % REFUSED;
        let mask = 1 << (bit % 64);
        self.refused[bit / 64].fetch_or(mask, Relaxed) & mask == 0
    }

    /// Takes a thread out.
    pub fn withdraw(&self, java_id: i64) {
        for slot in self.slots_of(java_id) {
            if slot.id.load(Relaxed) == java_id as u64 {
                slot.id.store(0, Relaxed);
                if self.full.load(Relaxed) != 0 {
                    self.full.store(0, Relaxed);
                }
            }
        }
    }

    /// Takes out all those that have no block, so that they ask again.
    pub fn withdraw_blockless(&self) {
        for slot in self.tables().flatten() {
            if slot.id.load(Relaxed) != 0 && slot.block.load(Relaxed) == 0 {
                slot.id.store(0, Relaxed);
            }
        }
        self.full.store(0, Relaxed);
        self.refused.iter().for_each(|bits| bits.store(0, Relaxed));
    }

    /// The address of a thread's block, if it stands here.
    pub fn block_of(&self, java_id: i64) -> Option<u64> {
        let is_its = |slot: &&ThreadSlot| slot.id.load(Relaxed) == java_id as u64;
        self.slots_of(java_id).find(is_its).map(|slot| slot.block.load(Relaxed))
    }

    /// Where a thread may stand, in Java's order.
    fn slots_of(&self, java_id: i64) -> impl Iterator<Item = &ThreadSlot> {
        let own = &self.first[java_id as usize % FIRST];
        let more = self.tables().flat_map(move |table| {
            let mixed = std::iter::successors(Some(mix(java_id as u64)), |&mixed| Some(mix(mixed)));
            mixed.take(REACH).map(|mixed| &table[(mixed >> 40) as usize % table.len()])
        });
        std::iter::once(own).chain(more)
    }

    /// The tables that there are.
    fn tables(&self) -> impl Iterator<Item = &[ThreadSlot]> {
        let longer = self.longer.iter().enumerate().map_while(|(nth, link)| {
            let memory = link.load(Acquire);
            // SAFETY: `lengthen` put it there, for ever, with so many slots; any
            // bytes are slots.
            (!memory.is_null()).then(|| unsafe {
                std::slice::from_raw_parts(memory.cast_const(), Self::len_of_longer(nth))
            })
        });
        std::iter::once(&self.first[..]).chain(longer)
    }

    const fn len_of_longer(nth: usize) -> usize {
        FIRST << (2 * (nth + 1))
    }

    /// Adds the next longer table; `false` when there is none, or no memory.
    fn lengthen(&self) -> bool {
        let mut links = self.longer[..LONGER].iter().enumerate();
        let Some((nth, link)) = links.find(|(_, link)| link.load(Relaxed).is_null()) else {
            return false;
        };
        let Some(memory) = zeroed(Self::len_of_longer(nth) * size_of::<ThreadSlot>()) else {
            return false;
        };
        link.store(memory.cast(), Release);
        true
    }
}

impl Slots {
    /// The address, for Java.
    pub fn address(&'static self) -> u64 {
        address_of(self)
    }
}

/// The next of the numbers that say where a thread may stand; Java does the
/// same.
fn mix(number: u64) -> u64 {
    (number ^ number >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::memory::allocate;

    /// 16 slots, and tables of 64 and 256.
    type Few = Slots<16>;

    #[test]
    fn a_thread_is_found_whoever_stands_in_its_slot() {
        let slots: &Few = allocate().unwrap();
        let far = [0, 1 << 18, 1 << 32, (1 << 32) + (1 << 18), i64::MAX & !15];
        let ids: Vec<i64> = far.iter().flat_map(|&far| (2..8).map(move |id| far | id)).collect();
        for &id in &ids {
            assert_eq!(slots.block_of(id), None);
            assert!(slots.enter(id, id as u64 * 64));
        }
        for &id in &ids {
            assert_eq!(slots.block_of(id), Some((id as u64).wrapping_mul(64)), "{id}");
        }
        slots.withdraw(ids[7]);
        assert_eq!(slots.block_of(ids[7]), None);
        assert!(ids.iter().all(|&id| id == ids[7] || slots.block_of(id).is_some()));
    }

    #[test]
    fn the_first_slot_stays_empty() {
        let slots: &Few = allocate().unwrap();
        for id in 1..200 {
            assert!(slots.enter(id * 16, 64));
        }
        assert_eq!(slots.first[0].id.load(Relaxed), 0);
        assert_eq!(slots.block_of(0), Some(0));
    }

    #[test]
    fn who_has_no_room_is_noted_once() {
        let slots: &Few = allocate().unwrap();
        let refused: Vec<i64> = (1..1000).filter(|&id| !slots.enter(id, 64)).collect();
        // The long tables are not full to the last slot, but nearly.
        assert!((1000 - 16 - 64 - 256..1000 - 200).contains(&refused.len()), "{}", refused.len());
        assert_eq!(slots.full.load(Relaxed), 0);
        assert!(refused.iter().all(|&id| slots.refuse(id)));
        assert!(!refused.iter().any(|&id| slots.refuse(id)));
        assert_eq!(slots.full.load(Relaxed), 1);
        // Whoever goes makes room: those that ask again may have it.
        (1..1000).for_each(|id| slots.withdraw(id));
        assert_eq!(slots.full.load(Relaxed), 0);
        assert!(refused.iter().take(50).all(|&id| slots.enter(id, 0)));
        slots.withdraw_blockless();
        assert!(refused.iter().all(|&id| slots.block_of(id).is_none() && slots.refuse(id)));
    }
}

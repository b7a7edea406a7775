//! Which instance is taken at a place, as long as it is always the same one.
//!
//! Java looks into a table by place whenever a thread takes another instance than it took
//! last there, and calls the agent where the table does not know that instance: at most
//! twice for each place and file of the log, unless a place has the slot of another one.

use super::{
    Trace,
    bursts::slot_of,
    memory::{IN_BURSTS, address_of, allocate},
};
use crate::{log::region::kept::Shared, sync::lock};
use std::{
    collections::HashMap,
    sync::{
        Mutex,
        atomic::{
            AtomicU64,
            Ordering::{Relaxed, Release},
        },
    },
};
use tyrion_wire::def::id;

/// Slots of the table: as many low bits of a place's number say its own one.
pub const SLOTS: usize = 1 << 18;
/// Several instances, or one that nobody knows, were taken at a place.
pub const SEVERAL: u32 = u32::MAX;

/// For each slot a place's number, and below it the hash of the only instance that was
/// taken there, or [`SEVERAL`]; 0 as long as nothing was. Java only reads it.
#[repr(C)]
pub struct PlaceInstanceTable {
    words: [AtomicU64; SLOTS],
}

// SAFETY: nothing but atomics of which any bytes are valid.
unsafe impl Shared for PlaceInstanceTable {}

/// What is known of places.
pub struct PlaceInstances {
    table: &'static PlaceInstanceTable,
    /// By place, also those that the table has no room for.
    taken: Mutex<HashMap<u32, u32>>,
}

impl PlaceInstances {
    /// Nothing is known; `None` without memory.
    pub fn new() -> Option<PlaceInstances> {
        Some(PlaceInstances { table: allocate()?, taken: Mutex::default() })
    }

    /// The address of the table, for Java.
    pub fn address(&self) -> u64 {
        address_of(self.table)
    }

    /// An instance was taken at a place. `write` has the log say what is known from now on,
    /// if that is news, and says whether there was room.
    fn take(&self, place: u32, hash: u32, write: impl FnOnce(u32) -> bool) {
        let mut taken = lock(&self.taken);
        let known = taken.get(&place).copied();
        let now = match known {
            Some(before) if before != hash => SEVERAL,
            _ => hash,
        };
        if known != Some(now) {
            if !write(now) {
                return;
            }
            taken.insert(place, now);
        }
        let word = &self.table.words[place as usize % SLOTS];
        let of = (word.load(Relaxed) >> 32) as u32;
        if of == 0 || of == place {
            word.store(u64::from(place) << 32 | u64::from(now), Release);
        }
    }

    fn forget(&self) {
        let mut taken = lock(&self.taken);
        for place in taken.keys() {
            self.table.words[*place as usize % SLOTS].store(0, Relaxed);
        }
        taken.clear();
    }
}

impl Trace {
    /// An instance was taken at a place: one with this hash, or [`SEVERAL`] where nobody
    /// knows which.
    pub fn note_place_instance(&self, place: u32, hash: u32) {
        if !self.identity || place == id::UNKNOWN {
            return;
        }
        // What is taken outside of bursts is not looked at.
        let slot = usize::from(slot_of(self.recorder.places().base(place)));
        let is_seen = self.shared.closed[slot].load(Relaxed) & IN_BURSTS == 0;
        let hash = if is_seen { hash } else { SEVERAL };
        let generation = self.recorder.log().current();
        self.place_instances.take(place, hash, |now| {
            self.recorder.define_place(&generation, place);
            let hash = if now == SEVERAL { 0 } else { now };
            generation.dictionary.place_instance(&generation.log, place, hash).is_some()
        });
    }

    /// No more is known of places that are counted in bursts from now on, by the low bits
    /// of their numbers.
    pub fn forget_instances_of(&self, slots: &[u16]) {
        let places: Vec<u32> = {
            let taken = lock(&self.place_instances.taken);
            taken.keys().copied().collect()
        };
        // Bursts know places by the numbers that the code has.
        let base = |place: &u32| slot_of(self.recorder.places().base(*place));
        let places = places.into_iter().filter(|place| slots.contains(&base(place)));
        for place in places {
            self.note_place_instance(place, SEVERAL);
        }
    }

    /// The log goes on in another file, which tells of places anew.
    pub fn forget_place_instances(&self) {
        self.place_instances.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(known: &PlaceInstances, taken: &[(u32, u32)]) -> Vec<(u32, u32)> {
        let mut told = Vec::new();
        for &(place, hash) in taken {
            known.take(place, hash, |now| {
                told.push((place, now));
                true
            });
        }
        told
    }

    #[test]
    fn each_place_is_told_of_at_most_twice() {
        let known = PlaceInstances::new().unwrap();
        let taken = [(5, 77), (5, 77), (6, 77), (5, 78), (5, 77), (5, 79), (6, 77)];
        assert_eq!(told(&known, &taken), [(5, 77), (6, 77), (5, SEVERAL)]);
        let word = |place: usize| known.table.words[place].load(Relaxed);
        assert_eq!((word(5), word(6)), (5 << 32 | u64::from(SEVERAL), 6 << 32 | 77));
        known.forget();
        assert_eq!((word(5), word(6)), (0, 0));
        assert_eq!(told(&known, &[(5, 78)]), [(5, 78)], "as in a new file");
    }

    #[test]
    fn a_place_without_a_slot_of_its_own_is_known_all_the_same() {
        let known = PlaceInstances::new().unwrap();
        let far = 5 + SLOTS as u32;
        assert_eq!(told(&known, &[(5, 77), (far, 78), (far, 78)]), [(5, 77), (far, 78)]);
        assert_eq!(known.table.words[5].load(Relaxed), 5 << 32 | 77);
    }

    #[test]
    fn what_finds_no_room_is_told_again() {
        let known = PlaceInstances::new().unwrap();
        known.take(5, 77, |_| false);
        assert_eq!(told(&known, &[(5, 77)]), [(5, 77)]);
        known.take(5, 78, |_| false);
        assert_eq!(told(&known, &[(5, 78)]), [(5, SEVERAL)]);
    }
}

//! The numbers of the places where locks are taken.
//!
//! A class gets them with its probes; the log, when a thread first takes a
//! lock there: most places are never reached.

use super::{Trace, definitions};
use crate::{log::Generation, sync::lock};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex},
};
use tyrion_plan::Place;
use tyrion_wire::{WaitKind, def::place_flag};

/// What is taken at places that are not known, in the order of their codes.
const UNKNOWN_PLACES: [WaitKind; 5] = [
    WaitKind::Monitor,
    WaitKind::Lock,
    WaitKind::LockRead,
    WaitKind::LockWrite,
    WaitKind::Semaphore,
];

/// Places and what could not be one.
pub struct Places {
    inner: Mutex<Inner>,
}

struct Inner {
    /// By number, less one.
    places: Vec<Arc<Place>>,
    /// The numbers of places in classes, by what describes the place and how many of
    /// the same description stand before it in the class.
    numbers: HashMap<(Arc<Place>, u32), u32>,
    /// Places that stand for another one, by its number and their kind.
    variants: HashMap<(u32, WaitKind), u32>,
    /// The places that these stand for.
    bases: HashMap<u32, u32>,
    /// Methods that were left alone, by reason.
    left: BTreeMap<String, u64>,
}

impl Places {
    /// With the places of calls that come from nowhere known, whose numbers are
    /// the codes of their kinds: method handles, reflection, native code.
    pub fn new() -> Places {
        let unknown = |kind: WaitKind| Place {
            class: String::new(),
            source_file: None,
            method: String::new(),
            descriptor: String::new(),
            first_line: 0,
            line: 0,
            kind,
            flags: if kind == WaitKind::Monitor { 0 } else { place_flag::JUC },
            name: String::new(),
            is_paired: false,
        };
        let places = UNKNOWN_PLACES.map(|kind| Arc::new(unknown(kind))).to_vec();
        let inner = Inner {
            places,
            numbers: HashMap::new(),
            variants: HashMap::new(),
            bases: HashMap::new(),
            left: BTreeMap::new(),
        };
        Places { inner: Mutex::new(inner) }
    }

    /// Numbers the places of one class.
    pub fn numbering(&self) -> Numbering<'_> {
        Numbering { places: self, before: HashMap::new() }
    }

    /// The number of a place whose code does not tell what is taken there
    /// (`Lock.lock()`), for what it turned out to be.
    pub fn variant(&self, number: u32, kind: WaitKind) -> u32 {
        let mut inner = lock(&self.inner);
        let Some(place) = inner.get(number).filter(|place| place.kind != kind) else {
            return number;
        };
        if let Some(&known) = inner.variants.get(&(number, kind)) {
            return known;
        }
        inner.places.push(Arc::new(Place { kind, ..(*place).clone() }));
        let variant = inner.places.len() as u32;
        inner.variants.insert((number, kind), variant);
        inner.bases.insert(variant, number);
        variant
    }

    /// The number that the program's code has for a place.
    pub fn base(&self, number: u32) -> u32 {
        lock(&self.inner).bases.get(&number).copied().unwrap_or(number)
    }

    /// Counts methods that were left alone.
    pub fn leave(&self, reason: &str) {
        *lock(&self.inner).left.entry(reason.to_owned()).or_default() += 1;
    }

    /// What `about` says of a place; the default when there is none.
    pub fn with<T: Default>(&self, number: u32, about: impl FnOnce(&Place) -> T) -> T {
        let inner = lock(&self.inner);
        let place = number.checked_sub(1).and_then(|at| inner.places.get(at as usize));
        place.map(|place| about(place)).unwrap_or_default()
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        lock(&self.inner).places.len() as u64
    }

    /// Methods left alone, as statistics.
    pub fn left(&self) -> Vec<(String, u64)> {
        let inner = lock(&self.inner);
        inner.left.iter().map(|(reason, &count)| (format!("left.{reason}"), count)).collect()
    }
}

/// Numbers the places of one class, in the order of its code: those that were numbered
/// before, when the class was changed or loaded for the first time, keep their numbers.
/// Programs load classes again and again that are the same but for their loader.
pub struct Numbering<'a> {
    places: &'a Places,
    /// How many places of a description were numbered.
    before: HashMap<Arc<Place>, u32>,
}

impl Numbering<'_> {
    /// The number of the class's next place.
    pub fn number(&mut self, place: Place) -> u32 {
        let place = Arc::new(place);
        let before = self.before.entry(Arc::clone(&place)).or_default();
        let key = (place, *before);
        *before += 1;
        let mut inner = lock(&self.places.inner);
        if let Some(&number) = inner.numbers.get(&key) {
            return number;
        }
        inner.places.push(Arc::clone(&key.0));
        let number = inner.places.len() as u32;
        inner.numbers.insert(key, number);
        number
    }
}

impl Inner {
    fn get(&self, number: u32) -> Option<Arc<Place>> {
        self.places.get(number.checked_sub(1)? as usize).cloned()
    }
}

impl Trace {
    /// Has a place stand in the log before something refers to it.
    pub fn define_place(&self, generation: &Generation, number: u32) {
        let place = lock(&self.places.inner).get(number);
        if let Some(place) = place {
            definitions::define_place(generation, number, &place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(line: u32) -> Place {
        Place {
            class: "com/acme/Bank".to_owned(),
            source_file: None,
            method: "transfer".to_owned(),
            descriptor: "()V".to_owned(),
            first_line: 1,
            line,
            kind: WaitKind::Monitor,
            flags: 0,
            name: String::new(),
            is_paired: true,
        }
    }

    #[test]
    fn a_class_that_comes_again_has_the_numbers_that_it_had() {
        let places = Places::new();
        let all = || {
            let mut numbering = places.numbering();
            // Two blocks of one line stay apart.
            [3, 4, 4].map(|line| numbering.number(place(line)))
        };
        let first = all();
        let count = places.count();
        assert_eq!(all(), first);
        assert_eq!(places.count(), count);
        assert!(first[0] < first[1] && first[1] < first[2], "{first:?}");
    }
}

//! The numbers of the places where locks are taken.
//!
//! A place is an instruction of one version of a method. A class gets numbers for all of
//! its places with the probes of trace mode; without them, a place gets its number when
//! a thread first waits there. Either way it is the same number for the same place, so
//! that waits and acquisitions are known to be of one. The log gets a place when something
//! refers to it: most are never reached.

use super::Recorder;
use crate::{
    log::{
        Generation,
        dictionary::{MethodText, PlaceText},
    },
    sync::lock,
};
use std::{
    collections::{BTreeMap, HashMap, HashSet, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
    sync::{Arc, Mutex},
};
use tyrion_bytecode::{Moved, Shifts, code_print};
use tyrion_plan::{Place, taking::Taken};
use tyrion_wire::{
    WaitKind,
    def::{id, place_flag},
};

/// What is taken at places that are not known, in the order of their codes.
const UNKNOWN_PLACES: [WaitKind; WaitKind::CONTENTION.len()] = WaitKind::CONTENTION;

/// Places that waits find, and methods with probes, are no longer remembered beyond this
/// many: some programs make new classes for ever.
const LIMIT: usize = 1 << 19;

/// Places and what could not be one.
pub struct Places {
    inner: Mutex<Inner>,
}

struct Inner {
    /// By number, less one.
    places: Vec<Arc<Place>>,
    /// The numbers of places.
    numbers: HashMap<Arc<Place>, u32>,
    /// The numbers of places by where they are: what is taken there may be told in several
    /// ways.
    by_code: HashMap<u64, Vec<u32>>,
    /// Places that stand for another one, by its number and their kind.
    variants: HashMap<(u32, WaitKind), u32>,
    /// The places that these stand for.
    bases: HashMap<u32, u32>,
    /// The places of which not all probes of releases have the number.
    unpaired: HashSet<u32>,
    /// By method and its code with probes, where its instructions were.
    moved: HashMap<u64, Shifts>,
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
            bytecode: None,
            taken: Taken {
                kind,
                flags: if kind == WaitKind::Monitor { 0 } else { place_flag::JUC },
                name: String::new(),
            },
        };
        let inner = Inner {
            places: UNKNOWN_PLACES.map(|kind| Arc::new(unknown(kind))).to_vec(),
            numbers: HashMap::new(),
            by_code: HashMap::new(),
            variants: HashMap::new(),
            bases: HashMap::new(),
            unpaired: UNKNOWN_PLACES.map(|kind| kind.code().into()).into_iter().collect(),
            moved: HashMap::new(),
            left: BTreeMap::new(),
        };
        Places { inner: Mutex::new(inner) }
    }

    /// The number of a place in a class file. Programs load classes again and again that
    /// are the same but for their loader: their places are the same.
    pub fn number(&self, place: Place, is_paired: bool) -> u32 {
        let mut inner = lock(&self.inner);
        let number = inner.number(place);
        if !is_paired {
            inner.unpaired.insert(number);
        }
        number
    }

    /// The number of a place as the code in the JVM tells of it. Where names of local
    /// variables are not known there, class files may tell more: then the place is the one
    /// of a class file that is otherwise the same, if there is one.
    pub fn number_in_jvm(&self, place: Place, knows_variables: bool) -> u32 {
        let mut inner = lock(&self.inner);
        let is_alike = |number: &u32| {
            let Some(known) = inner.get(*number) else { return false };
            let named_by_code = place_flag::FIELD | place_flag::METHOD;
            known.taken.flags == place.taken.flags && known.taken.flags & named_by_code == 0
        };
        let known = inner.by_code.get(&code_of(&place)).into_iter().flatten().copied();
        match known.filter(|_| !knows_variables).find(is_alike) {
            Some(number) => number,
            None if inner.places.len() >= LIMIT && !inner.numbers.contains_key(&place) => {
                id::UNKNOWN
            }
            None => inner.number(place),
        }
    }

    /// The number of a place whose code does not tell what is taken there
    /// (`Lock.lock()`), for what it turned out to be.
    pub fn variant(&self, number: u32, kind: WaitKind) -> u32 {
        let mut inner = lock(&self.inner);
        let Some(place) = inner.get(number).filter(|place| place.taken.kind != kind) else {
            return number;
        };
        if let Some(&known) = inner.variants.get(&(number, kind)) {
            return known;
        }
        let taken = Taken { kind, ..place.taken.clone() };
        inner.places.push(Arc::new(Place { taken, ..(*place).clone() }));
        let variant = inner.places.len() as u32;
        inner.variants.insert((number, kind), variant);
        inner.bases.insert(variant, number);
        variant
    }

    /// The number that the program's code has for a place.
    pub fn base(&self, number: u32) -> u32 {
        lock(&self.inner).bases.get(&number).copied().unwrap_or(number)
    }

    /// Remembers where the instructions of a class's methods were before they got probes.
    pub fn remember_moves(&self, class: &str, moved: Vec<Moved>) {
        let mut inner = lock(&self.inner);
        let room = LIMIT.saturating_sub(inner.moved.len());
        for Moved { name, descriptor, print, shifts } in moved.into_iter().take(room) {
            inner.moved.insert(hash(&(class, &*name, &*descriptor, print)), shifts);
        }
    }

    /// Where an instruction of a method was before the method got probes, if it did, by
    /// its class, name and descriptor and its code.
    pub fn in_class_file(&self, method: (&str, &str, &str), code: &[u8], pc: u16) -> u16 {
        let (class, name, descriptor) = method;
        let inner = lock(&self.inner);
        let shifts = inner.moved.get(&hash(&(class, name, descriptor, code_print(code))));
        shifts.and_then(|shifts| shifts.before(pc)).unwrap_or(pc)
    }

    /// Counts methods that were left alone.
    pub fn leave(&self, reason: &str) {
        *lock(&self.inner).left.entry(reason.to_owned()).or_default() += 1;
    }

    /// What `about` says of a place, and of whether all probes of its releases have its
    /// number; the default when there is no such place.
    pub fn with<T: Default>(&self, number: u32, about: impl FnOnce(&Place, bool) -> T) -> T {
        let inner = lock(&self.inner);
        let base = inner.bases.get(&number).unwrap_or(&number);
        let is_paired = !inner.unpaired.contains(base);
        let place = number.checked_sub(1).and_then(|at| inner.places.get(at as usize));
        place.map(|place| about(place, is_paired)).unwrap_or_default()
    }

    /// What the program calls the lock that is taken at a place, and the internal name of
    /// the class of which the code is; empty when that is not known.
    pub fn taken(&self, number: u32) -> (String, String) {
        self.with(number, |place, _| (place.taken.name.clone(), place.class.clone()))
    }

    /// What the program calls the lock that is taken at a place; empty when that is not
    /// known.
    pub fn name(&self, number: u32) -> String {
        self.with(number, |place, _| place.taken.name.clone())
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

impl Inner {
    fn get(&self, number: u32) -> Option<Arc<Place>> {
        self.places.get(number.checked_sub(1)? as usize).cloned()
    }

    fn number(&mut self, place: Place) -> u32 {
        if let Some(&number) = self.numbers.get(&place) {
            return number;
        }
        let place = Arc::new(place);
        self.places.push(Arc::clone(&place));
        let number = self.places.len() as u32;
        self.by_code.entry(code_of(&place)).or_default().push(number);
        self.numbers.insert(place, number);
        number
    }
}

/// What tells the instruction of a place from others, whatever is known of its lock.
fn code_of(place: &Place) -> u64 {
    let Place { class, method, descriptor, line, bytecode, .. } = place;
    hash(&(class, method, descriptor, line, bytecode))
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

impl Recorder {
    /// The places where locks are taken.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// Has a place stand in the log before something refers to it.
    pub fn define_place(&self, generation: &Generation, number: u32) {
        let place = lock(&self.places.inner).get(number);
        let Some(place) = place else { return };
        let Place { class, source_file, method, descriptor, first_line, line, bytecode, taken } =
            &*place;
        let text = PlaceText {
            method: MethodText {
                class: class.as_bytes(),
                source: source_file.as_deref().unwrap_or_default().as_bytes(),
                name: method.as_bytes(),
                descriptor: descriptor.as_bytes(),
                first_line: *first_line,
            },
            line: *line,
            bytecode: bytecode.map_or(id::UNKNOWN, |pc| u32::from(pc) + 1),
            kind: taken.kind,
            flags: taken.flags,
            name: taken.name.as_bytes(),
        };
        let _ = generation.dictionary.place(&generation.log, number, &text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(bytecode: u16, name: &str, flags: u64) -> Place {
        Place {
            class: "com/acme/Bank".to_owned(),
            source_file: None,
            method: "transfer".to_owned(),
            descriptor: "()V".to_owned(),
            first_line: 1,
            line: 4,
            bytecode: Some(bytecode),
            taken: Taken { kind: WaitKind::Monitor, flags, name: name.to_owned() },
        }
    }

    #[test]
    fn a_class_that_comes_again_has_the_numbers_that_it_had() {
        let places = Places::new();
        // Two blocks of one line stay apart.
        let all = || [3, 9].map(|pc| places.number(place(pc, "", 0), true));
        let first = all();
        let count = places.count();
        assert_eq!(all(), first);
        assert_eq!(places.count(), count);
        assert!(first[0] < first[1], "{first:?}");
    }

    #[test]
    fn waits_find_the_places_of_class_files() {
        let places = Places::new();
        let local = places.number(place(3, "account", 0), true);
        assert_eq!(places.number_in_jvm(place(3, "account", 0), true), local);
        assert_eq!(places.number_in_jvm(place(3, "", 0), false), local);
        assert_ne!(places.number_in_jvm(place(3, "other", 0), true), local);
        assert_ne!(places.number_in_jvm(place(4, "", 0), false), local);
        // Other versions of the method take other locks there.
        for (first, second, flags) in [
            ("com/acme/Bank.a", "com/acme/Bank.b", place_flag::FIELD),
            ("this", "com/acme/Bank.class", place_flag::METHOD),
        ] {
            let known = places.number(place(5, first, flags), true);
            assert_eq!(places.number_in_jvm(place(5, first, flags), false), known);
            let other = places.number_in_jvm(place(5, second, flags), false);
            assert_ne!(other, known);
            assert_eq!(places.number(place(5, second, flags), true), other);
        }
    }

    #[test]
    fn a_variant_differs_by_its_kind_alone() {
        let places = Places::new();
        let number = places.number(place(3, "", 0), false);
        let variant = places.variant(number, WaitKind::LockRead);
        assert_eq!(
            (places.base(variant), places.variant(number, WaitKind::Monitor)),
            (number, number)
        );
        let of = |number| places.with(number, |it, is_paired| Some((it.taken.kind, is_paired)));
        assert_eq!(of(number), Some((WaitKind::Monitor, false)));
        assert_eq!(of(variant), Some((WaitKind::LockRead, false)));
        assert_eq!(of(0), None);
    }
}

//! What the program says that its threads are doing: `Tyrion.group` of its API.
//!
//! Names have numbers for as long as the JVM runs, whatever file the log is in;
//! each file defines those that it needs, as the outermost parents of stacks. A
//! thread notes only the number of its innermost group, and the numbers of those
//! around it for when that is left.

use crate::sync::lock;
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
};

/// A thread in no group.
pub const NONE: u32 = 0;
/// The number of names that are told apart.
const NAMES_LIMIT: usize = 1 << 16;
/// Their total length in bytes: names stay as long as the JVM runs.
const BYTES_LIMIT: usize = 4 << 20;
/// What all others are called.
const MORE: &[u8] = b"[more groups]";
/// The number of spans' names that are told apart, and how long each may be, in bytes: they may
/// come from whoever sends a request.
const SPANS_LIMIT: usize = 1000;
const SPAN_NAME_LIMIT: usize = 256;
/// What all other spans are called.
const OTHER: &[u8] = b"other";
/// The most groups open on a thread: programs may forget to close them.
const OPEN_LIMIT: usize = 1024;

/// A group, as the log's files define it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its number, from 1 on.
    pub number: u32,
    /// Its name, in UTF-8.
    pub name: Arc<[u8]>,
}

/// All groups by name.
#[derive(Default)]
pub struct Groups {
    names: RwLock<Names>,
    any: AtomicBool,
}

#[derive(Default)]
struct Names {
    numbers: HashMap<Arc<[u8]>, u32>,
    /// From number 1 on.
    names: Vec<Arc<[u8]>>,
    /// What all names take.
    bytes: usize,
    /// There was no room for one: new ones are all the same from then on.
    is_full: bool,
    /// The numbers of those that spans have.
    spans: HashMap<Arc<[u8]>, u32>,
}

impl Names {
    fn add(&mut self, name: &[u8]) -> u32 {
        if let Some(&known) = self.numbers.get(name) {
            return known;
        }
        let bytes = self.bytes + name.len();
        let fits = !self.is_full && self.names.len() < NAMES_LIMIT && bytes <= BYTES_LIMIT;
        if !fits && name != MORE {
            self.is_full = true;
            return self.add(MORE);
        }
        let name: Arc<[u8]> = name.into();
        self.bytes = bytes;
        self.names.push(Arc::clone(&name));
        let number = self.names.len() as u32;
        self.numbers.insert(name, number);
        number
    }

    fn add_span(&mut self, name: &[u8]) -> u32 {
        if let Some(&known) = self.spans.get(name) {
            return known;
        }
        if self.spans.len() >= SPANS_LIMIT {
            return self.add(OTHER);
        }
        let number = self.add(name);
        self.spans.insert(name.into(), number);
        number
    }
}

/// As much of a span's name as is kept, without half a character at the end.
fn span_name(name: &str) -> &str {
    let fits = (0..=SPAN_NAME_LIMIT.min(name.len())).rev().find(|&len| name.is_char_boundary(len));
    &name[..fits.unwrap_or(0)]
}

impl Groups {
    /// The number of a name, which it has from now on; that of all others when
    /// there are too many.
    pub fn number(&self, name: &[u8]) -> u32 {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(&known) = names.numbers.get(name) {
            return known;
        }
        if names.is_full
            && let Some(&more) = names.numbers.get(MORE)
        {
            return more;
        }
        drop(names);
        self.any.store(true, Relaxed);
        self.names.write().unwrap_or_else(PoisonError::into_inner).add(name)
    }

    /// The same for the name of a span, of which fewer are told apart; [`NONE`] for an empty one.
    pub fn span_number(&self, name: &str) -> u32 {
        let name = span_name(name).as_bytes();
        if name.is_empty() {
            return NONE;
        }
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        let known = names.spans.get(name).copied();
        let other = || names.numbers.get(OTHER).copied();
        let full = names.spans.len() >= SPANS_LIMIT;
        if let Some(known) = known.or_else(|| other().filter(|_| full)) {
            return known;
        }
        drop(names);
        self.any.store(true, Relaxed);
        self.names.write().unwrap_or_else(PoisonError::into_inner).add_span(name)
    }

    /// Whether there has been one.
    #[inline]
    pub fn any(&self) -> bool {
        self.any.load(Relaxed)
    }

    /// The group of a number; `None` for [`NONE`].
    pub fn get(&self, number: u32) -> Option<Group> {
        let at = (number as usize).checked_sub(1)?;
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        Some(Group { number, name: Arc::clone(names.names.get(at)?) })
    }
}

/// The groups that a thread is in, one within the other.
#[derive(Default)]
pub struct OpenGroups {
    /// The innermost one's number. Whoever takes the thread's stack reads it.
    innermost: AtomicU32,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    /// The last entry's name among the thread's.
    last: u16,
    /// Entries and the numbers of their groups, outermost first.
    entries: Vec<(u16, u32)>,
}

impl OpenGroups {
    /// The number of the group that the thread is in, or [`NONE`].
    #[inline]
    pub fn innermost(&self) -> u32 {
        self.innermost.load(Relaxed)
    }

    /// The thread enters a group: what to leave it by.
    pub fn enter(&self, number: u32) -> u16 {
        let mut open = lock(&self.open);
        if open.entries.len() >= OPEN_LIMIT {
            // Most likely nobody will ever close it.
            open.entries.remove(0);
        }
        open.last = open.last.wrapping_add(1);
        let entry = open.last;
        open.entries.push((entry, number));
        self.innermost.store(number, Relaxed);
        entry
    }

    /// Leaves a group, in any order and on any thread; one that was left
    /// already is none.
    pub fn leave(&self, entry: u16) {
        let mut open = lock(&self.open);
        if let Some(at) = open.entries.iter().rposition(|&(known, _)| known == entry) {
            open.entries.remove(at);
            let innermost = open.entries.last().map_or(NONE, |&(_, number)| number);
            self.innermost.store(innermost, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_numbers_and_are_bounded() {
        let groups = Groups::default();
        assert!(!groups.any());
        assert_eq!((groups.number(b"a"), groups.number(b"b"), groups.number(b"a")), (1, 2, 1));
        assert!(groups.any());
        let numbers: Vec<_> = (0..NAMES_LIMIT).map(|n| groups.number(&n.to_le_bytes())).collect();
        let more = *numbers.last().unwrap();
        assert_eq!(more as usize, NAMES_LIMIT + 1);
        assert_eq!(&groups.get(more).unwrap().name[..], MORE);
        assert_eq!(groups.number(b"another"), more);
        assert_eq!(groups.number(b"b"), 2);
        assert_eq!(groups.get(2).unwrap(), Group { number: 2, name: b"b"[..].into() });
        assert_eq!(groups.get(NONE), None);
        assert_eq!(groups.get(more + 1), None);
    }

    #[test]
    fn the_bytes_of_names_are_bounded() {
        let groups = Groups::default();
        let long = |n: usize| [&n.to_le_bytes()[..], &[b'x'; 4088]].concat();
        let numbers: Vec<_> = (0..2000).map(|n| groups.number(&long(n))).collect();
        let apart = BYTES_LIMIT / 4096;
        assert_eq!(numbers[apart - 1] as usize, apart);
        assert!(numbers[apart..].iter().all(|&number| number as usize == apart + 1));
        assert_eq!(&groups.get(numbers[apart]).unwrap().name[..], MORE);
        assert_eq!(groups.number(b"short"), numbers[apart], "what comes later is no exception");
        assert_eq!(groups.number(&long(0)), 1);
    }

    #[test]
    fn names_of_spans_are_few_and_short() {
        let groups = Groups::default();
        assert_eq!(groups.span_number(""), NONE);
        let number = |n: usize| groups.span_number(&format!("GET /{n}"));
        let first: Vec<u32> = (0..SPANS_LIMIT).map(number).collect();
        assert!((SPANS_LIMIT..100_000).all(|n| number(n) == number(SPANS_LIMIT)));
        assert_eq!(&groups.get(number(SPANS_LIMIT)).unwrap().name[..], OTHER);
        assert!((0..SPANS_LIMIT).map(number).eq(first));
        // They take nothing from the groups that the program names itself.
        assert_ne!(groups.number(b"job"), number(SPANS_LIMIT));
        let groups = Groups::default();
        let long = groups.span_number(&"\u{1f600}".repeat(1000));
        assert_eq!(groups.get(long).unwrap().name.len(), SPAN_NAME_LIMIT);
        let long = groups.span_number(&format!("x{}", "\u{1f600}".repeat(1000)));
        assert_eq!(groups.get(long).unwrap().name.len(), SPAN_NAME_LIMIT - 3);
    }

    #[test]
    fn groups_are_left_in_any_order() {
        let groups = OpenGroups::default();
        assert_eq!(groups.innermost(), NONE);
        let (outer, inner) = (groups.enter(7), groups.enter(8));
        groups.leave(outer);
        assert_eq!(groups.innermost(), 8);
        groups.leave(inner);
        assert_eq!(groups.innermost(), NONE);
        groups.leave(inner);
        let outer = groups.enter(7);
        let inner = groups.enter(7);
        groups.leave(inner);
        assert_eq!(groups.innermost(), 7);
        groups.leave(outer);
        assert_eq!(groups.innermost(), NONE);
    }

    #[test]
    fn what_is_never_closed_is_forgotten() {
        let groups = OpenGroups::default();
        let first = groups.enter(1);
        let last = (0..100_000).map(|_| groups.enter(2)).last().unwrap();
        assert_eq!(lock(&groups.open).entries.len(), OPEN_LIMIT);
        groups.leave(first);
        groups.leave(last);
        assert_eq!(groups.innermost(), 2);
    }
}

//! The ids of methods that frames refer to by address.

use super::{
    layout::{MethodLayout, OriginLayout, WORD},
    memory::read,
};
use crate::{fingerprint::Folded, jvm::peek};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, fence};

/// The last JDK in which a method's id is the address of a word.
const LAST_WITH_WORDS: u32 = 25;

/// Tells which method has which id.
pub struct MethodIds {
    /// From a method to its `ConstMethod`.
    const_method: usize,
    /// From there to its class.
    origin: OriginLayout,
    source: Source,
    learned: LearnedIds,
}

/// How the id of what is a method now is found.
#[derive(Clone, Copy)]
enum Source {
    /// It was learned: up to JDK 25.
    Learned,
    /// Classes keep those of their methods, at this place: from JDK 26 on, an id is a number.
    Kept(usize),
}

impl MethodIds {
    /// Those of a release; `None` where they cannot be found.
    pub fn of(layout: &MethodLayout, version: u32) -> Option<MethodIds> {
        let &MethodLayout { const_method, origin, ids, .. } = layout;
        let source = match version {
            ..=LAST_WITH_WORDS => Source::Learned,
            _ => Source::Kept(ids?),
        };
        Some(MethodIds { const_method, origin, source, learned: LearnedIds::default() })
    }

    /// Whether there is anything to learn.
    pub fn can_learn(&self) -> bool {
        matches!(self.source, Source::Learned)
    }

    /// Remembers the id that the JVM has told for the method of a frame, unless it is known.
    ///
    /// A thread may still run the version of a method from before its class was redefined. If
    /// its code is that of the new one, the JVM tells the new one's id for it; else the old one
    /// has got another number in its class, and mostly an id of its own.
    ///
    /// # Safety
    /// The method is that of a frame of the current thread, and the JVM has told the id for it.
    pub unsafe fn learn(&self, method: usize, id: usize) {
        if !self.can_learn() || id == 0 {
            return;
        }
        // SAFETY: the caller's promise; the id is the address of a word.
        let (origin, now) = unsafe {
            if self.id(method).is_some() {
                return;
            }
            (self.origin(method), read::<usize>(id))
        };
        if now == method || self.is_version_of(now, origin) {
            self.learned.learn(id, origin);
        }
    }

    /// Whether what an id leads to is another version of a method, with the same code. No frame
    /// may keep that one, and the JVM may free it: what is not there is not read.
    fn is_version_of(&self, now: usize, origin: Origin) -> bool {
        let word = |at: usize| {
            let mut bytes = [0; WORD];
            peek::fill(at, &mut bytes).then(|| usize::from_ne_bytes(bytes))
        };
        let of_now = || {
            let const_method = word(now.checked_add(self.const_method)?)?;
            let constants = word(const_method.checked_add(self.origin.constants)?)?;
            let class = word(constants.checked_add(self.origin.holder)?)?;
            let mut number = [0; size_of::<u16>()];
            let is_there = peek::fill(const_method.checked_add(self.origin.number)?, &mut number);
            is_there.then_some((class, u16::from_ne_bytes(number)))
        };
        now != 0 && of_now() == Some((origin.class, origin.number))
    }

    /// Whether a method has an id that the JVM has told.
    ///
    /// # Safety
    /// The method is that of a frame of the current thread.
    pub unsafe fn is(&self, method: usize, id: usize) -> bool {
        match self.source {
            // SAFETY: the id is the address of a word, which stays.
            Source::Learned if unsafe { read::<usize>(id) } == method => true,
            // SAFETY: the caller's promise.
            _ => unsafe { self.id(method) == Some(id) },
        }
    }

    /// The id of a method, if it has one, and if that is known.
    ///
    /// # Safety
    /// The method is that of a frame of the current thread.
    #[inline]
    pub unsafe fn id(&self, method: usize) -> Option<usize> {
        // SAFETY: the caller's promise.
        let origin = unsafe { self.origin(method) };
        match self.source {
            // When a class is unloaded, its words become null, and another class may come to the
            // same addresses with the same methods.
            Source::Learned => self.learned.id(origin).filter(|&id| {
                // SAFETY: what was learned is the address of a word, which stays.
                unsafe { read::<usize>(id) != 0 }
            }),
            // SAFETY: as above.
            Source::Kept(ids) => unsafe { origin.kept_id(ids) },
        }
    }

    /// What tells a version of a method from all others, and what the JVM tells of its id from what
    /// it tells once that means another one. `None` without an id.
    ///
    /// # Safety
    /// The method is that of a frame of the current thread.
    #[inline]
    pub unsafe fn version(&self, method: usize) -> Option<u64> {
        // SAFETY: the caller's promise; the id is the address of a word, which stays.
        unsafe {
            let id = self.id(method)?;
            let now = match self.source {
                Source::Learned => read::<usize>(id),
                Source::Kept(_) => method,
            };
            let is_other = ((now ^ method) as u64).rotate_left(16);
            Some(id as u64 ^ (method as u64).rotate_left(32) ^ is_other)
        }
    }

    /// Where the method is from.
    ///
    /// # Safety
    /// The method is that of a frame of the current thread.
    #[inline]
    unsafe fn origin(&self, method: usize) -> Origin {
        let at = self.origin;
        // SAFETY: the caller's promise; the method of a frame stays, and so does its class.
        unsafe {
            let const_method = read::<usize>(method + self.const_method);
            let constants = read::<usize>(const_method + at.constants);
            let class = read::<usize>(constants + at.holder);
            let number = read::<u16>(const_method + at.number);
            Origin { method, const_method, class, number }
        }
    }
}

/// Where a method is from.
#[derive(Clone, Copy)]
struct Origin {
    method: usize,
    const_method: usize,
    class: usize,
    /// The method's, in its class. A version that is the current one no more, and has other code
    /// than the next, has one that no other has.
    number: u16,
}

impl Origin {
    /// The id that the class keeps, `ids` bytes from its begin. The class makes a longer array
    /// when it is redefined, and frees the other one after it has put the new one in its
    /// place: what was read before that is right.
    ///
    /// # Safety
    /// The class stays.
    #[inline]
    unsafe fn kept_id(self, ids: usize) -> Option<usize> {
        let array = self.class + ids;
        // SAFETY: the caller's promise.
        unsafe {
            let ids = read::<usize>(array);
            if ids == 0 {
                return None;
            }
            let number = usize::from(self.number);
            let id = match number < read::<usize>(ids) {
                true => read::<usize>(ids + WORD * (number + 1)),
                false => 0,
            };
            fence(Acquire);
            (id != 0 && read::<usize>(array) == ids).then_some(id)
        }
    }

    #[inline]
    fn print(self) -> u64 {
        let mut print = Folded::new();
        print.add(self.method as u64, self.const_method as u64);
        print.add(self.class as u64, u64::from(self.number));
        print.get().1
    }
}

/// How many ids are remembered, in sets; powers of two.
const SETS: usize = 1 << 12;
const WAYS: usize = 4;

/// Learns from `GetStackTrace` which method has which id, and forgets what it has no
/// room for.
///
/// Up to JDK 25, a `jmethodID` is the address of a word that has the address of the
/// `Method`: null after the class was unloaded, and that of the new one when the class
/// was redefined. The word itself stays for ever, and so does, in some JDKs, the address of a
/// version that was freed since no thread runs it any more: then another method may be there.
/// So an entry holds only as long as the method at its address is from where it was, and the word
/// is not null. (While a class is being unloaded, the JVM frees its methods a moment before it
/// clears the words.)
struct LearnedIds {
    sets: Box<[[Learned; WAYS]]>,
}

/// An id, and the print of its method's origin xor the id: threads may write both at once, and
/// then the print is wrong.
#[derive(Default)]
struct Learned {
    id: AtomicUsize,
    print: AtomicU64,
}

impl Default for LearnedIds {
    fn default() -> Self {
        LearnedIds { sets: (0..SETS).map(|_| Default::default()).collect() }
    }
}

impl LearnedIds {
    /// Remembers the id of a method.
    fn learn(&self, id: usize, origin: Origin) {
        let set = self.set(origin.method);
        // Others may do the same at once: then one of the two is learned again.
        for way in (1..WAYS).rev() {
            let (id, print) = set[way - 1].get();
            set[way].set(id, print);
        }
        set[0].set(id, origin.print() ^ id as u64);
    }

    /// The id of a method, if it is known.
    #[inline]
    fn id(&self, origin: Origin) -> Option<usize> {
        let wanted = origin.print();
        let known = self.set(origin.method).iter().map(Learned::get);
        let found =
            known.filter(|&(id, _)| id != 0).find(|&(id, print)| print ^ id as u64 == wanted);
        found.map(|(id, _)| id)
    }

    #[inline]
    fn set(&self, method: usize) -> &[Learned; WAYS] {
        // Methods are some 100 bytes and more apart.
        let mixed = (method as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.sets[(mixed >> 48) as usize % SETS]
    }
}

impl Learned {
    #[inline]
    fn get(&self) -> (usize, u64) {
        (self.id.load(Relaxed), self.print.load(Relaxed))
    }

    fn set(&self, id: usize, print: u64) {
        self.id.store(id, Relaxed);
        self.print.store(print, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: OriginLayout = OriginLayout { constants: 8, holder: 16, number: 0 };

    /// The ids of a JVM whose methods have their `ConstMethod` first, and whose classes have
    /// ids at 24.
    fn of_jvm(source: Source) -> MethodIds {
        MethodIds { const_method: 0, origin: LAYOUT, source, learned: LearnedIds::default() }
    }

    fn at<T>(what: &T) -> usize {
        (&raw const *what).expose_provenance()
    }

    #[test]
    fn an_id_is_known_as_long_as_it_is_the_methods() {
        let ids = of_jvm(Source::Learned);
        let constants = [0usize, 0, 0x7000];
        let const_method = |number| [number, at(&constants)];
        let parts = [const_method(4), const_method(4), const_method(9)];
        let mut methods = parts.each_ref().map(at);
        let begin = (&raw mut methods).expose_provenance();
        let [earlier, now, obsolete] = [0, 1, 2].map(|nth| begin + nth * WORD);
        let mut word = earlier;
        let id = (&raw mut word).expose_provenance();
        // SAFETY: all of it is there.
        unsafe {
            assert_eq!(ids.id(earlier), None);
            ids.learn(earlier, id);
            ids.learn(earlier, id);
            assert_eq!((ids.id(earlier), ids.id(now)), (Some(id), None));
            let before = ids.version(earlier);
            // The class was redefined, and this method is as it was.
            (&raw mut word).write_volatile(now);
            ids.learn(now, id);
            assert_eq!((ids.id(earlier), ids.id(now)), (Some(id), Some(id)));
            assert!(ids.is(earlier, id) && ids.is(now, id));
            // What the JVM tells of the id is of the new one.
            assert_ne!(ids.version(earlier), before);
            assert_ne!(ids.version(earlier), ids.version(now));
            // The class was unloaded, and its like has come to the same place.
            (&raw mut word).write_volatile(0);
            assert_eq!(ids.id(earlier), None);
            (&raw mut word).write_volatile(now);
            // Another method has come to this address.
            (&raw mut methods[0]).write_volatile(at(&parts[2]));
            assert_eq!(ids.id(earlier), None);
            assert_eq!(ids.id(obsolete), None);
        }
    }

    #[test]
    fn an_earlier_version_has_the_id_of_the_current_one() {
        let constants = [0usize, 0, 0x7000];
        let const_method = |number| [number, at(&constants)];
        let parts = [const_method(4), const_method(4), const_method(9)];
        let [earlier, now, obsolete] = &parts.each_ref().map(at);
        let [earlier, now, obsolete] = [earlier, now, obsolete].map(at);
        let id = at(&now);
        let ids = of_jvm(Source::Learned);
        // SAFETY: all of it is there.
        unsafe {
            ids.learn(earlier, id);
            assert_eq!(ids.id(earlier), Some(id));
            // That has another number, and so an id of its own.
            ids.learn(obsolete, id);
            assert_eq!(ids.id(obsolete), None);
        }
        // What the id leads to is freed.
        let freed = 0x10usize;
        // SAFETY: the word is there, and what it leads to is not read without care.
        unsafe { ids.learn(obsolete, at(&freed)) };
        // SAFETY: as above.
        assert_eq!(unsafe { ids.id(obsolete) }, None);
    }

    #[test]
    fn the_oldest_is_forgotten() {
        let ids = LearnedIds::default();
        let count = SETS * 16;
        let origin = |nth| Origin { method: nth << 7, const_method: 1, class: 2, number: 3 };
        (1..=count).for_each(|nth| ids.learn(nth, origin(nth)));
        let known = (1..=count).filter(|&nth| ids.id(origin(nth)) == Some(nth)).count();
        assert!((SETS * WAYS / 2..=SETS * WAYS).contains(&known), "{known}");
        assert_eq!(ids.id(origin(count)), Some(count));
    }

    #[test]
    fn a_class_keeps_the_ids_of_its_methods() {
        // How many there are, and the ids.
        let mut kept = [3usize, 0, 7, 8];
        let class = [0, 0, 0, (&raw const kept).expose_provenance()];
        let constants = [0, 0, (&raw const class).expose_provenance()];
        let method = |number| [number, (&raw const constants).expose_provenance()];
        let ids = of_jvm(Source::Kept(24));
        let id = |number: usize| {
            let const_method = method(number);
            let word = (&raw const const_method).expose_provenance();
            // SAFETY: all of it is there.
            unsafe { ids.id((&raw const word).expose_provenance()) }
        };
        assert_eq!([0, 1, 2, 3].map(id), [None, Some(7), Some(8), None]);
        // SAFETY: it is there.
        unsafe { (&raw mut kept[1]).write_volatile(6) };
        assert_eq!(id(0), Some(6));
    }
}

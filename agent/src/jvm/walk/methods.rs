//! The ids of methods that frames refer to by address.

use super::{
    layout::{IdsLayout, MethodLayout, WORD},
    memory::read,
};
use std::sync::atomic::{AtomicUsize, Ordering::Acquire, Ordering::Relaxed, fence};

/// The last JDK in which a method's id is the address of a word.
const LAST_WITH_WORDS: u32 = 25;

/// Tells which method has which id.
pub enum MethodIds {
    /// They were learned: up to JDK 25.
    Learned(LearnedIds),
    /// Classes keep those of their methods: from JDK 26 on, an id is a number.
    Kept {
        /// From a method to its `ConstMethod`.
        const_method: usize,
        /// From there to its id.
        ids: IdsLayout,
    },
}

impl MethodIds {
    /// Those of a release; `None` where they cannot be found.
    pub fn of(layout: &MethodLayout, version: u32) -> Option<MethodIds> {
        Some(match version {
            ..=LAST_WITH_WORDS => MethodIds::Learned(LearnedIds::default()),
            _ => MethodIds::Kept { const_method: layout.const_method, ids: layout.ids? },
        })
    }

    /// Remembers the id of a method, where it cannot be looked up.
    ///
    /// # Safety
    /// The JVM has told the id.
    pub unsafe fn learn(&self, id: usize) {
        if let MethodIds::Learned(learned) = self {
            // SAFETY: the caller's promise.
            unsafe { learned.learn(id) };
        }
    }

    /// Whether a method has an id that the JVM has told.
    ///
    /// # Safety
    /// The method is that of a frame of the current thread.
    pub unsafe fn is(&self, method: usize, id: usize) -> bool {
        match self {
            // SAFETY: the id is the address of a word, which stays.
            MethodIds::Learned(_) => unsafe { read::<usize>(id) == method },
            // SAFETY: the caller's promise.
            MethodIds::Kept { .. } => unsafe { self.id(method) == Some(id) },
        }
    }

    /// The id of a method, if it has one, and if that is known.
    ///
    /// # Safety
    /// The method is that of a frame of the current thread.
    #[inline]
    pub unsafe fn id(&self, method: usize) -> Option<usize> {
        match self {
            // SAFETY: the caller's promise.
            MethodIds::Learned(learned) => unsafe { learned.id(method) },
            // SAFETY: as above.
            MethodIds::Kept { const_method, ids } => unsafe { ids.id(method + const_method) },
        }
    }
}

impl IdsLayout {
    /// The id of a method, by where its `ConstMethod`'s address is. The class makes a longer
    /// array when it is redefined, and frees the other one after it has put the new one in its
    /// place: what was read before that is right.
    ///
    /// # Safety
    /// The method is that of a frame of the current thread.
    #[inline]
    unsafe fn id(&self, const_method: usize) -> Option<usize> {
        // SAFETY: the method of a frame stays, and so does its class.
        unsafe {
            let const_method = read::<usize>(const_method);
            let class = read::<usize>(read::<usize>(const_method + self.constants) + self.holder);
            let array = class + self.ids;
            let ids = read::<usize>(array);
            if ids == 0 {
                return None;
            }
            let number = usize::from(read::<u16>(const_method + self.number));
            let id = match number < read::<usize>(ids) {
                true => read::<usize>(ids + WORD * (number + 1)),
                false => 0,
            };
            fence(Acquire);
            (id != 0 && read::<usize>(array) == ids).then_some(id)
        }
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
/// was redefined. The word itself stays for ever. So what is remembered need not be
/// true any more; it is looked up there each time. (While a class is being unloaded, the
/// JVM frees its methods a moment before it clears the words. Should it make another
/// method at the very address in between, that has the old id until then.)
pub struct LearnedIds {
    sets: Box<[[AtomicUsize; WAYS]]>,
}

impl Default for LearnedIds {
    fn default() -> Self {
        LearnedIds { sets: (0..SETS).map(|_| Default::default()).collect() }
    }
}

impl LearnedIds {
    /// Remembers the id of a method.
    ///
    /// # Safety
    /// The JVM has told the id, and it is one of those above.
    unsafe fn learn(&self, id: usize) {
        if id == 0 {
            return;
        }
        // SAFETY: the caller's promise.
        let method = unsafe { read::<usize>(id) };
        // SAFETY: as above.
        if method == 0 || unsafe { self.id(method) }.is_some() {
            return;
        }
        let set = self.set(method);
        // Others may do the same at once: then one of the two is learned again.
        for way in (1..WAYS).rev() {
            set[way].store(set[way - 1].load(Relaxed), Relaxed);
        }
        set[0].store(id, Relaxed);
    }

    /// The id of a method, if it is known.
    ///
    /// # Safety
    /// The method is that of a frame of the current thread.
    #[inline]
    unsafe fn id(&self, method: usize) -> Option<usize> {
        let known = self.set(method).iter().map(|way| way.load(Relaxed));
        // SAFETY: what was learned is the address of a word, which stays.
        known.filter(|&id| id != 0).find(|&id| unsafe { read::<usize>(id) } == method)
    }

    #[inline]
    fn set(&self, method: usize) -> &[AtomicUsize; WAYS] {
        // Methods are some 100 bytes and more apart.
        let mixed = (method as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.sets[(mixed >> 48) as usize % SETS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_known_as_long_as_it_is_the_methods() {
        let ids = LearnedIds::default();
        let mut word = 0x1000usize;
        let id = (&raw mut word).expose_provenance();
        // SAFETY: the word is there.
        unsafe {
            assert_eq!(ids.id(0x1000), None);
            ids.learn(id);
            ids.learn(id);
            assert_eq!((ids.id(0x1000), ids.id(0x2000)), (Some(id), None));
            (&raw mut word).write_volatile(0x2000);
            assert_eq!((ids.id(0x1000), ids.id(0x2000)), (None, None));
            ids.learn(id);
            assert_eq!((ids.id(0x1000), ids.id(0x2000)), (None, Some(id)));
        }
    }

    #[test]
    fn the_oldest_is_forgotten() {
        let ids = LearnedIds::default();
        let words: Vec<usize> = (1..=SETS * 16).map(|nth| nth << 7).collect();
        let id = |nth: usize| (&raw const words[nth]).expose_provenance();
        // SAFETY: the words are there.
        unsafe {
            (0..words.len()).for_each(|nth| ids.learn(id(nth)));
            let known = (0..words.len()).filter(|&nth| ids.id(words[nth]).is_some()).count();
            assert!((SETS * WAYS / 2..=SETS * WAYS).contains(&known), "{known}");
            assert_eq!(ids.id(*words.last().unwrap()), Some(id(words.len() - 1)));
        }
    }

    #[test]
    fn a_class_keeps_the_ids_of_its_methods() {
        let layout = IdsLayout { constants: 8, holder: 16, ids: 24, number: 0 };
        // How many there are, and the ids.
        let mut kept = [3usize, 0, 7, 8];
        let class = [0, 0, 0, (&raw const kept).expose_provenance()];
        let constants = [0, 0, (&raw const class).expose_provenance()];
        let method = |number| [number, (&raw const constants).expose_provenance()];
        let id = |number: usize| {
            let const_method = method(number);
            let word = (&raw const const_method).expose_provenance();
            // SAFETY: all of it is there.
            unsafe { layout.id((&raw const word).expose_provenance()) }
        };
        assert_eq!([0, 1, 2, 3].map(id), [None, Some(7), Some(8), None]);
        // SAFETY: it is there.
        unsafe { (&raw mut kept[1]).write_volatile(6) };
        assert_eq!(id(0), Some(6));
    }
}

//! The ids of methods that frames refer to by address.

use super::memory::read;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

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
pub struct MethodIds {
    sets: Box<[[AtomicUsize; WAYS]]>,
}

impl Default for MethodIds {
    fn default() -> Self {
        MethodIds { sets: (0..SETS).map(|_| Default::default()).collect() }
    }
}

impl MethodIds {
    /// Remembers the id of a method.
    ///
    /// # Safety
    /// The JVM has told the id, and it is one of those above.
    pub unsafe fn learn(&self, id: usize) {
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
    pub unsafe fn id(&self, method: usize) -> Option<usize> {
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
        let ids = MethodIds::default();
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
        let ids = MethodIds::default();
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
}

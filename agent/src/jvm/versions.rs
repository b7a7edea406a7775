//! Versions of methods: whether what was known of one is still true.
//!
//! When a class is redefined or retransformed, each of its methods may become another one
//! with the same id: other code, at other offsets, with other lines. The version that a
//! thread still runs gets another id, or is the same code.

use super::walk::word;
use crate::{clock, fingerprint::fold};
use jvmti_bindings::sys::jni::jmethodID;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The last JDK in which a method's id is the address of a word that has the address of
/// what is the method now.
const LAST_WITH_WORDS: u32 = 25;

/// The JVM asks agents for a class's new code so long before the class has it, ns; nobody
/// tells when it has.
const CHANGES_WITHIN_NS: u64 = 10_000_000;

/// Tells versions of methods apart.
pub struct MethodVersions {
    has_words: bool,
    /// How often classes were redefined, as far as the agent was told: what was freed then
    /// may be another method by now.
    redefined: AtomicU64,
    /// When the agent was told last, monotonic ns.
    told_ns: AtomicU64,
}

impl MethodVersions {
    /// For a version of the JDK.
    pub fn new(jdk: Option<u32>) -> MethodVersions {
        let has_words = jdk.is_some_and(|jdk| jdk <= LAST_WITH_WORDS);
        MethodVersions { has_words, redefined: AtomicU64::new(0), told_ns: AtomicU64::new(0) }
    }

    /// What tells this version of a method from the others with its id. The JVM has told
    /// the id.
    #[inline]
    pub fn of(&self, method: jmethodID) -> u64 {
        let redefined = self.redefinitions();
        match self.has_words && !method.is_null() {
            // SAFETY: on these JDKs an id that the JVM has told is the address of a word
            // that is never freed.
            true => fold(unsafe { word(method as usize) } as u64, redefined << 1),
            false => redefined,
        }
    }

    /// What tells this version from the others as long as a frame of the current thread runs the
    /// method, which is not freed then, whatever other classes are redefined. `None` on JDKs
    /// where nothing does.
    pub fn of_own(&self, method: jmethodID) -> Option<usize> {
        // SAFETY: as in `of`.
        (self.has_words && !method.is_null()).then(|| unsafe { word(method as usize) })
    }

    /// Whether the id of a method is the address of a word that has the method's address.
    pub fn has_words(&self) -> bool {
        self.has_words
    }

    /// How often classes were redefined, as far as the agent was told.
    #[inline]
    pub fn redefinitions(&self) -> u64 {
        self.redefined.load(Relaxed)
    }

    /// Whether a class may be about to be redefined, of which the agent was told.
    pub fn may_change(&self) -> bool {
        let told_ns = self.told_ns.load(Relaxed);
        told_ns != 0 && clock::now_ns().saturating_sub(told_ns) < CHANGES_WITHIN_NS
    }

    /// A class is about to be redefined, or was just now.
    pub fn note_redefinition(&self) {
        self.told_ns.store(clock::now_ns(), Relaxed);
        self.redefined.fetch_add(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_method_with_the_same_id_is_another_version() {
        let mut method = 0x1000usize;
        let id = (&raw mut method).expose_provenance() as jmethodID;
        let versions = MethodVersions::new(Some(17));
        let first = versions.of(id);
        assert_eq!(versions.of(id), first);
        // SAFETY: the word is there.
        unsafe { (&raw mut method).write_volatile(0x2000) };
        let second = versions.of(id);
        assert_ne!(second, first);
        // What was freed by a redefinition may come again at the same address, but not while a
        // thread runs it.
        let own = versions.of_own(id);
        versions.note_redefinition();
        assert_ne!(versions.of(id), second);
        assert_eq!((versions.of_own(id), own), (Some(0x2000), Some(0x2000)));
        assert_eq!(MethodVersions::new(Some(26)).of_own(id), None);
        assert_eq!(MethodVersions::new(Some(26)).of(id), 0, "ids of later JDKs are no addresses");
        assert_eq!(MethodVersions::new(None).of(id), 0);
    }
}

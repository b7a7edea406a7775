//! The numbers by which Java knows the classes of locks.
//!
//! A cell is looked up by the place and a number that stands in each object: where the
//! JVM has its own structure of the class. When a class is unloaded, the next one may have
//! its structure there. So the JVM tells when a class is prepared, before there can be any
//! object of it, and what blocks have of its number is forgotten.
//!
//! Of array classes it does not tell. Those that were locks are known by weak references,
//! which are looked at whenever a class is loaded or prepared, and twice in a second. The
//! same is done for all classes of locks where it is not known how a number follows from a
//! class.

use super::Trace;
use crate::{
    jvm::{
        Java, JvmError, Object,
        java::Weak,
        setup::{call_static_int, static_int_of_class},
    },
    sync::lock,
};
use jvmti_bindings::sys::jni::{JNIEnv, jint, jmethodID};
use std::{
    collections::HashSet,
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

/// The kinds of locks have codes up to this one, and monitors 0.
const LAST_KIND: u32 = 5;

/// The number of the class in a cell's key.
pub fn number_of(key: u64, kind: jint) -> u32 {
    (key >> 32) as u32 ^ kind.cast_unsigned() << 28
}

/// Whether a cell's key is that of a class with this number, whatever kind of lock.
pub fn is_of(key: u64, number: u32) -> bool {
    let kind = (key >> 32) as u32 ^ number;
    key != 0 && kind << 4 == 0 && kind >> 28 <= LAST_KIND
}

/// Which numbers cells were looked up by.
#[derive(Default)]
pub struct Numbers {
    used: Mutex<HashSet<u32>>,
    /// The classes of which the JVM does not tell, and their numbers.
    watched: Mutex<Vec<(u32, Weak)>>,
    /// Whether there are any.
    are_watched: AtomicBool,
    /// `TyrionTrace.numberOf`, where it knows.
    number_of: OnceLock<Method>,
}

/// A static method.
struct Method(jmethodID);

// SAFETY: the id of a method is valid on every thread, as long as its class, which stays.
unsafe impl Send for Method {}
// SAFETY: as above; nothing is ever changed.
unsafe impl Sync for Method {}

impl Trace {
    /// Has Java find out how a number follows from a class.
    ///
    /// # Errors
    /// What the JVM did not want.
    pub fn find_numbers(&self, env: *mut JNIEnv, class: Object<'_>) -> Result<(), JvmError> {
        if call_static_int(env, class, "findNumbers")? != 0 {
            let method = static_int_of_class(env, class, "numberOf")?;
            let _ = self.numbers.number_of.set(Method(method));
        }
        Ok(())
    }

    /// A cell is about to be looked up by the number of a lock's class.
    pub fn note_class(&self, java: Java, number: u32, lock_object: Object<'_>) {
        if !lock(&self.numbers.used).insert(number) {
            return;
        }
        let class = java.class_of(lock_object);
        let signature = self.recorder.ti().class_signature(class.get()).unwrap_or_default();
        let is_told_of = self.numbers.number_of.get().is_some() && !signature.starts_with(b"[");
        if !is_told_of
            && self.passed.is_loaded_by_program(java, class.get())
            && let Some(weak) = java.weak(class.get())
        {
            lock(&self.numbers.watched).push((number, weak));
            self.numbers.are_watched.store(true, Relaxed);
        }
        java.drop_local(class);
    }

    /// There may be objects of a class from now on.
    pub fn class_prepared(&self, java: Java, class: Object<'_>) {
        self.forget_unloaded(java);
        let (Some(probes), Some(method)) = (self.class.get(), self.numbers.number_of.get()) else {
            return;
        };
        // SAFETY: the method takes a class, and that is what JVMTI tells of.
        match unsafe { java.static_int_of(probes.get(), method.0, class) } {
            Some(number) => {
                if lock(&self.numbers.used).remove(&number.cast_unsigned()) {
                    self.forget_class(number.cast_unsigned());
                }
            }
            // No room on the stack: it may be any of them.
            None => self.forget_cells(),
        }
    }

    /// Whether there are classes that [`Trace::forget_unloaded`] is to look at.
    pub fn watches_classes(&self) -> bool {
        self.numbers.are_watched.load(Relaxed)
    }

    /// Forgets the cells of those classes that are gone and of which the JVM does not tell.
    pub fn forget_unloaded(&self, java: Java) {
        if !self.watches_classes() {
            return;
        }
        let gone: Vec<(u32, Weak)> = {
            let mut watched = lock(&self.numbers.watched);
            let gone = watched.extract_if(.., |(_, weak)| java.is_gone(weak)).collect();
            self.numbers.are_watched.store(!watched.is_empty(), Relaxed);
            gone
        };
        for (number, weak) in gone {
            java.drop_weak(weak);
            lock(&self.numbers.used).remove(&number);
            self.forget_class(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_their_class_whatever_the_kind() {
        for number in [1, 0x0800_1234, 0x4000_0010, u32::MAX] {
            for kind in 0..=5 {
                let key = u64::from(number ^ (kind as u32) << 28) << 32 | 77;
                assert_eq!(number_of(key, kind), number);
                assert!(is_of(key, number) && !is_of(key, number ^ 8), "{number} {kind}");
            }
        }
        assert!(!is_of(0, 0), "no key");
    }
}

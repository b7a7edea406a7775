//! What is known of locks by their objects alone.

use super::Recorder;
use crate::{
    jvm::{Java, Object},
    log::Generation,
    sync::lock,
};
use std::sync::Mutex;

/// Of locks with higher ids it is not remembered that trace mode does not count them: 2 MB.
const MOST_UNCOUNTED: u32 = 1 << 24;

/// Locks of which trace mode does not count the acquisitions: a bit for each id.
#[derive(Default)]
pub struct Uncounted(Mutex<Vec<u64>>);

fn word_and_bit(id: u32) -> (usize, u64) {
    ((id / u64::BITS) as usize, 1 << (id % u64::BITS))
}

/// The id of a lock that was waited for, by its object's tag; 0 when it was not.
#[inline]
pub fn lock_id_of_tag(tag: i64) -> u32 {
    tag as u32
}

impl Recorder {
    /// Notes that trace mode does not count the acquisitions of a lock.
    pub fn note_uncounted(&self, id: u32) {
        if id >= MOST_UNCOUNTED {
            return;
        }
        let mut known = lock(&self.uncounted.0);
        let (word, bit) = word_and_bit(id);
        if known.len() <= word {
            known.resize(word + 1, 0);
        }
        known[word] |= bit;
    }

    /// Whether trace mode does not count the acquisitions of a lock, as far as that is known.
    pub fn is_uncounted(&self, id: u32) -> bool {
        let (word, bit) = word_and_bit(id);
        lock(&self.uncounted.0).get(word).is_some_and(|bits| bits & bit != 0)
    }

    /// The id of a lock that was waited for, else 0.
    pub fn known_lock(&self, object: Object<'_>) -> u32 {
        lock_id_of_tag(self.ti.tag(object))
    }

    /// The id of an object's class, as that of a lock.
    pub fn class_of_lock(
        &self,
        generation: &Generation,
        java: Java,
        object: Object<'_>,
    ) -> Option<u32> {
        let (signature, source) = self.class_of(java, object)?;
        let signature = self.lock_signature(signature, object);
        generation.dictionary.class(&generation.log, &signature, &source)
    }

    /// The signature and source file of an object's class.
    pub fn class_of(&self, java: Java, object: Object<'_>) -> Option<(Vec<u8>, Vec<u8>)> {
        let class = java.class_of(object);
        let described = self.ti.class(class.get());
        java.drop_local(class);
        described.ok()
    }

    /// A lock's class as the log has it, by its signature.
    pub fn lock_signature(&self, signature: Vec<u8>, object: Object<'_>) -> Vec<u8> {
        if signature == b"Ljava/lang/Class;"
            && let Ok(of) = self.ti.class_signature(object)
        {
            // The lock of a static synchronized method: say which class it is.
            return class_object_name(&of);
        }
        signature
    }
}

/// `Lcom/acme/Foo;` as the name of its class object, `com/acme/Foo.class`.
fn class_object_name(signature: &[u8]) -> Vec<u8> {
    let inner = signature.strip_prefix(b"L").and_then(|s| s.strip_suffix(b";"));
    [inner.unwrap_or(signature), b".class"].concat()
}

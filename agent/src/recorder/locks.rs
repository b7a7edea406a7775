//! What is waited for, and who has it.

use super::Recorder;
use crate::{
    clock, jvm::Java, lock_names::Way, nature::Nature, sync::lock, threads::Owner, trace,
    volume::Volume,
};
use jvmti_bindings::sys::jni::{jobject, jthread};
use std::sync::atomic::Ordering::Relaxed;
use tyrion_wire::def::id;

/// A lock's id in the log, and what it is.
#[derive(Clone, Copy)]
pub(super) struct LockRef {
    pub(super) id: u32,
    pub(super) nature: Nature,
    /// The log says what the program calls it, if that can be told.
    named: bool,
}

impl LockRef {
    const UNKNOWN: LockRef = LockRef { id: id::UNKNOWN, nature: Nature::Plain, named: false };

    pub(super) fn from_tag(tag: i64) -> Option<LockRef> {
        let id = tag as u32;
        let what = (tag >> 32) as u8;
        let (nature, named) = (Nature::from_code(what & !NAMED), what & NAMED != 0);
        (id != 0).then_some(LockRef { id, nature, named })
    }

    /// The tag also says which volume has defined the lock last.
    fn tag(self, volume: &Volume) -> i64 {
        let volume = i64::from(volume.number & VOLUME_MASK);
        let named = if self.named { NAMED } else { 0 };
        volume << VOLUME_SHIFT | i64::from(self.nature as u8 | named) << 32 | i64::from(self.id)
    }
}

/// Beside the nature in a tag: the lock is named in the volume.
const NAMED: u8 = 1 << 7;
/// The bits of a tag that say which volume has defined the lock.
const VOLUME_SHIFT: u32 = 40;
const VOLUME_MASK: u32 = (1 << (i64::BITS - VOLUME_SHIFT)) - 1;

/// Whether a lock with this tag is defined in a volume.
#[inline]
fn is_defined_in(volume: &Volume, tag: i64) -> bool {
    (tag as u64 >> VOLUME_SHIFT) as u32 == volume.number & VOLUME_MASK
}

impl Recorder {
    /// The lock whose condition the current thread is about to park for.
    pub(super) fn lock_of_condition(&self, volume: &Volume, java: Java, thread: jthread) -> u32 {
        let condition = java.object_field(thread, self.fields.park_blocker);
        let of =
            self.fields.synchronizers.iter().find(|s| java.is_instance(condition, s.condition));
        let Some(synchronizer) = of else { return id::UNKNOWN };
        let lock = java.object_field(condition, synchronizer.outer);
        let id = if lock.is_null() {
            id::UNKNOWN
        } else {
            self.lock_of(volume, java, lock, Way::Condition).id
        };
        java.drop_local(lock);
        id
    }

    /// An object's id and nature, which its tag keeps. The current thread
    /// waits for it, and has come by this way.
    #[inline]
    pub(super) fn lock_of(
        &self,
        volume: &Volume,
        java: Java,
        object: jobject,
        way: Way,
    ) -> LockRef {
        let tag = self.ti.tag(object);
        match LockRef::from_tag(tag).filter(|_| is_defined_in(volume, tag)) {
            Some(known) if known.named || !way.tells(known.nature) => known,
            _ => self.new_lock(volume, java, object, way),
        }
    }

    #[cold]
    fn new_lock(&self, volume: &Volume, java: Java, object: jobject, way: Way) -> LockRef {
        let Some((signature, source)) = self.class_of(java, object) else {
            return LockRef::UNKNOWN;
        };
        let is_synchronizer =
            self.fields.synchronizers.iter().any(|s| java.is_instance(object, s.class));
        let nature = Nature::of(&signature, is_synchronizer);
        let signature = self.lock_signature(signature, object);
        let named = way.tells(nature);
        let name = if named { self.names.find(self.ti, java, way) } else { None };
        let hash = self.hash_of(object, nature, way);
        let _naming = lock(&self.naming);
        let tag = self.ti.tag(object);
        let known = LockRef::from_tag(tag);
        let defined = known.filter(|_| is_defined_in(volume, tag));
        if let Some(known) = defined.filter(|known| known.named || !named) {
            return known;
        }
        let Volume { log, dictionary, .. } = volume;
        let id = known.map_or_else(|| self.locks.load(Relaxed) + 1, |known| known.id);
        let define =
            || dictionary.lock_object(log, id, dictionary.class(log, &signature, &source)?);
        if defined.is_none() && define().is_none() {
            return LockRef { nature, ..LockRef::UNKNOWN };
        }
        // Where there is no room for these, the lock is known by its class.
        let _ = name.and_then(|name| dictionary.lock_name(log, id, &name));
        let _ = hash.and_then(|hash| dictionary.lock_instance(log, id, hash));
        let new = LockRef { id, nature, named };
        if known.is_none() {
            self.locks.store(id, Relaxed);
        }
        // Not back to a volume that is being left.
        if known.is_none() || volume.number == self.log.epoch() {
            let _ = self.ti.set_tag(object, new.tag(volume));
        }
        new
    }

    /// The signature and source file of an object's class.
    pub(super) fn class_of(&self, java: Java, object: jobject) -> Option<(Vec<u8>, Vec<u8>)> {
        let class = java.class_of(object);
        let described = self.ti.class(class);
        java.drop_local(class);
        described.ok()
    }

    /// A lock's class as the log has it, by its signature.
    pub(super) fn lock_signature(&self, signature: Vec<u8>, object: jobject) -> Vec<u8> {
        if signature == b"Ljava/lang/Class;"
            && let Ok(of) = self.ti.class_signature(object)
        {
            // The lock of a static synchronized method: say which class it is.
            return class_object_name(&of);
        }
        signature
    }

    /// What trace mode knows a lock by. The JVM inflates a monitor to give its
    /// object a hash, but has inflated one that is waited for already; and
    /// j.u.c. locks are no monitors.
    fn hash_of(&self, object: jobject, nature: Nature, way: Way) -> Option<u32> {
        let harmless = nature.is_held() || matches!(way, Way::Monitor | Way::ObjectWait);
        (harmless && trace::active().is_some())
            .then(|| self.ti.hash(object) as u32)
            .filter(|&hash| hash != 0)
    }

    /// The thread that holds a synchronizer exclusively, if known.
    pub(super) fn owner_of(&self, volume: &Volume, java: Java, synchronizer: jobject) -> Owner {
        let owner = java.object_field(synchronizer, self.fields.exclusive_owner);
        if owner.is_null() {
            return Owner::default();
        }
        let known = self.owner(volume, java, owner);
        java.drop_local(owner);
        known
    }

    /// A thread that holds a lock, as the log has it.
    pub(super) fn owner(&self, volume: &Volume, java: Java, owner: jthread) -> Owner {
        let java_id = java.long_field(owner, self.fields.thread_id);
        let known = match self.threads.get(java_id) {
            Some(known) => Some(known),
            // One that has just ended would never be removed again.
            None if self.ti.is_alive(owner) => Some(self.add_thread(java, owner, java_id)),
            None => None,
        };
        let id = known.map_or(id::UNKNOWN, |known| {
            if !known.is_known(volume) {
                self.describe_thread(java, owner, &known);
                if known.is_virtual() {
                    // Nobody tells when those started.
                    known.started_at(volume, clock::now_ns());
                }
            }
            if known.was_only_told() {
                self.look_at_name(java, owner, &known);
            }
            known.id(volume)
        });
        Owner { id, java_id }
    }
}

/// `Lcom/acme/Foo;` as the name of its class object, `com/acme/Foo.class`.
fn class_object_name(signature: &[u8]) -> Vec<u8> {
    let inner = signature.strip_prefix(b"L").and_then(|s| s.strip_suffix(b";"));
    [inner.unwrap_or(signature), b".class"].concat()
}

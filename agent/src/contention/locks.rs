//! What is waited for.

use super::{
    Contention,
    lock_names::{DEEPEST_OBJECT_WAIT, Name, Way},
};
use crate::{
    jvm::{Java, Object},
    log::Generation,
    recorder::lock_id_of_tag,
};
use std::{sync::atomic::Ordering::Relaxed, time::Duration};
use tyrion_wire::{def::id, lock_flavor::LockFlavor};

/// How long a thread waits to give a lock its id: longer than the JVM stops all threads
/// for, as a rule.
const NAMING_PATIENCE: Duration = Duration::from_secs(1);

/// A lock's id in the log, and what it is.
#[derive(Clone, Copy)]
pub(super) struct LockRef {
    pub(super) id: u32,
    pub(super) flavor: LockFlavor,
    /// The log says what the program calls it, if that is known.
    named: bool,
}

impl LockRef {
    const UNKNOWN: LockRef = LockRef { id: id::UNKNOWN, flavor: LockFlavor::Plain, named: false };

    pub(super) fn from_tag(tag: i64) -> Option<LockRef> {
        let id = lock_id_of_tag(tag);
        let what = (tag >> 32) as u8;
        let (flavor, named) = (LockFlavor::from_code(what & !NAMED), what & NAMED != 0);
        (id != 0).then_some(LockRef { id, flavor, named })
    }

    /// The tag also says which generation has defined the lock last.
    fn tag(self, generation: &Generation) -> i64 {
        let generation = i64::from(generation.number & GENERATION_MASK);
        let named = if self.named { NAMED } else { 0 };
        generation << GENERATION_SHIFT
            | i64::from(self.flavor as u8 | named) << 32
            | i64::from(self.id)
    }
}

/// Beside the flavor in a tag: the lock is named in the generation.
const NAMED: u8 = 1 << 7;
/// The bits of a tag that say which generation has defined the lock.
const GENERATION_SHIFT: u32 = 40;
const GENERATION_MASK: u32 = (1 << (i64::BITS - GENERATION_SHIFT)) - 1;

/// Whether a lock with this tag is defined in a generation.
#[inline]
fn is_defined_in(generation: &Generation, tag: i64) -> bool {
    (tag as u64 >> GENERATION_SHIFT) as u32 == generation.number & GENERATION_MASK
}

impl Contention {
    /// The lock whose condition the current thread is about to park for.
    pub(super) fn lock_of_condition(
        &self,
        generation: &Generation,
        java: Java,
        thread: Object<'_>,
    ) -> u32 {
        let condition = java.object_field(thread, self.recorder.fields().park_blocker);
        let of = self
            .recorder
            .fields()
            .synchronizers
            .iter()
            .find(|s| java.is_instance(condition.get(), s.condition));
        let Some(synchronizer) = of else { return id::UNKNOWN };
        let lock = java.object_field(condition.get(), synchronizer.outer);
        let id = if lock.is_null() {
            id::UNKNOWN
        } else {
            self.lock_of(generation, java, lock.get(), Way::Condition).id
        };
        java.drop_local(lock);
        id
    }

    /// An object's id and flavor, which its tag keeps. The current thread
    /// waits for it, and has come by this way.
    #[inline]
    pub(super) fn lock_of(
        &self,
        generation: &Generation,
        java: Java,
        object: Object<'_>,
        way: Way,
    ) -> LockRef {
        self.lock_at(generation, java, object, (way, id::UNKNOWN))
    }

    /// Likewise, with this stack.
    #[inline]
    pub(super) fn lock_at(
        &self,
        generation: &Generation,
        java: Java,
        object: Object<'_>,
        (way, stack): (Way, u32),
    ) -> LockRef {
        let tag = self.recorder.ti().tag(object);
        match LockRef::from_tag(tag).filter(|_| is_defined_in(generation, tag)) {
            Some(known) if known.named || !way.tells(known.flavor) => known,
            _ => self.new_lock(generation, java, object, (way, stack)),
        }
    }

    #[cold]
    fn new_lock(
        &self,
        generation: &Generation,
        java: Java,
        object: Object<'_>,
        (way, stack): (Way, u32),
    ) -> LockRef {
        let Some((signature, source)) = self.recorder.class_of(java, object) else {
            return LockRef::UNKNOWN;
        };
        let is_synchronizer =
            self.recorder.fields().synchronizers.iter().any(|s| java.is_instance(object, s.class));
        let flavor = LockFlavor::of(&signature, is_synchronizer);
        let signature = self.recorder.lock_signature(signature, object);
        let named = way.tells(flavor);
        let name = if named { self.name(generation, java, (way, stack)) } else { None };
        let hash = self.hash_of(object, flavor, way);
        // Who is in there has not been heard of for long: a debugger has stopped it.
        let Some(_naming) = self.naming.take(NAMING_PATIENCE) else {
            return LockRef { flavor, ..LockRef::UNKNOWN };
        };
        let tag = self.recorder.ti().tag(object);
        let known = LockRef::from_tag(tag);
        let defined = known.filter(|_| is_defined_in(generation, tag));
        if let Some(known) = defined.filter(|known| known.named || !named) {
            return known;
        }
        let Generation { log, dictionary, .. } = generation;
        let id = known.map_or_else(|| self.locks.load(Relaxed) + 1, |known| known.id);
        let define =
            || dictionary.lock_object(log, id, dictionary.class(log, &signature, &source)?);
        if defined.is_none() && define().is_none() {
            return LockRef { flavor, ..LockRef::UNKNOWN };
        }
        // Where there is no room for these, the lock is known by its class.
        let _ = name.and_then(|name| dictionary.lock_name(log, id, &name));
        let _ = hash.and_then(|hash| dictionary.lock_instance(log, id, hash));
        let new = LockRef { id, flavor, named };
        if known.is_none() {
            self.locks.store(id, Relaxed);
        }
        // Not back to a generation that is being left.
        if known.is_none() || generation.number == self.recorder.log().generation_number() {
            let _ = self.recorder.ti().set_tag(object, new.tag(generation));
        }
        new
    }

    fn name(&self, generation: &Generation, java: Java, (way, stack): (Way, u32)) -> Option<Name> {
        let ti = self.recorder.ti();
        match self.recorder.depth() >= DEEPEST_OBJECT_WAIT {
            true => self.names.find_at(ti, java, way, (generation.number, stack)),
            false => self.names.find(ti, java, way),
        }
    }

    /// What whoever observes waits knows a lock by. The JVM inflates a monitor to give its
    /// object a hash, but has inflated one that is waited for already; and
    /// j.u.c. locks are no monitors.
    fn hash_of(&self, object: Object<'_>, flavor: LockFlavor, way: Way) -> Option<u32> {
        let harmless = flavor.is_held() || matches!(way, Way::Monitor | Way::ObjectWait);
        (harmless && self.observer().is_some())
            .then(|| self.recorder.ti().hash(object) as u32)
            .filter(|&hash| hash != 0)
    }
}

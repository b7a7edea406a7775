//! What is waited for.

use super::Contention;
use crate::{
    jvm::{Java, Object},
    log::{Generation, dictionary::StackRef},
    recorder::{Way, is_telling, lock_id_of_tag},
};
use std::{sync::atomic::Ordering::Relaxed, time::Duration};
use tyrion_wire::{
    def::{id, place_flag},
    lock_flavor::LockFlavor,
};

/// How long a thread waits to give a lock its id: longer than the JVM stops all threads
/// for, as a rule.
const NAMING_PATIENCE: Duration = Duration::from_secs(1);

/// How a thread comes to wait for a lock.
#[derive(Clone, Copy)]
pub(super) struct Coming {
    /// The way; `None` where it is not seen.
    pub(super) way: Option<Way>,
    /// It takes the lock again after a condition, and the program calls the condition, not
    /// the lock.
    pub(super) reacquires: bool,
    /// The number of the place, 0 unknown.
    pub(super) place: u32,
}

impl Coming {
    /// It has come already, or is not the current thread.
    pub(super) const UNSEEN: Coming = Coming { way: None, reacquires: false, place: id::UNKNOWN };

    /// As its stack tells.
    pub(super) fn of(stack: &StackRef) -> Coming {
        Coming { reacquires: stack.reacquires, place: stack.place, ..Coming::UNSEEN }
    }

    /// Whether the code that a thread comes from tells the name of a lock of this flavor.
    #[inline]
    fn tells(self, flavor: LockFlavor) -> bool {
        match self.way {
            Some(Way::Monitor | Way::ObjectWait) => true,
            Some(Way::Park) if self.reacquires => flavor == LockFlavor::Condition,
            Some(Way::Park) => flavor.is_held() || flavor == LockFlavor::Condition,
            None => false,
        }
    }
}

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

/// What may be locked with an owner.
const OWNED: [LockFlavor; 2] = [LockFlavor::Lock, LockFlavor::ReadWrite];

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
            self.lock_of(generation, java, lock.get(), Coming::UNSEEN).id
        };
        java.drop_local(lock);
        id
    }

    /// An object's id and flavor, which its tag keeps. A thread waits for it, and has come
    /// by this way.
    #[inline]
    pub(super) fn lock_of(
        &self,
        generation: &Generation,
        java: Java,
        object: Object<'_>,
        coming: Coming,
    ) -> LockRef {
        let tag = self.recorder.ti().tag(object);
        match LockRef::from_tag(tag).filter(|_| is_defined_in(generation, tag)) {
            Some(known) if known.named || !coming.tells(known.flavor) => known,
            _ => self.new_lock(generation, java, object, coming),
        }
    }

    #[cold]
    fn new_lock(
        &self,
        generation: &Generation,
        java: Java,
        object: Object<'_>,
        coming: Coming,
    ) -> LockRef {
        let Some((signature, source)) = self.recorder.class_of(java, object) else {
            return LockRef::UNKNOWN;
        };
        let is_synchronizer =
            self.recorder.fields().synchronizers.iter().any(|s| java.is_instance(object, s.class));
        let initialization = self.initialization(java, object, &signature, coming);
        let flavor = match &initialization {
            Some(_) => LockFlavor::Initialization,
            None => LockFlavor::of(&signature, is_synchronizer),
        };
        let signature = self.recorder.lock_signature(signature, object);
        let named = coming.tells(flavor);
        let name = initialization.or_else(|| {
            Some(self.recorder.places().name(coming.place)).filter(|name| is_telling(name))
        });
        let name = name.filter(|_| named);
        let hash = self.hash_of(object, flavor, coming);
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
        let _ = name.and_then(|name| dictionary.lock_name(log, id, name.as_bytes()));
        let _ = hash.and_then(|hash| dictionary.lock_instance(log, id, hash));
        let new = LockRef { id, flavor, named };
        if known.is_none() {
            self.locks.store(id, Relaxed);
            if flavor.is_held() && !flavor.is_counted(&signature) {
                self.recorder.note_uncounted(id);
            }
        }
        // Not back to a generation that is being left.
        if known.is_none() || generation.number == self.recorder.log().generation_number() {
            let _ = self.recorder.ti().set_tag(object, new.tag(generation));
        }
        new
    }

    /// An id for what stands for a lock and is no object; `None` where none can be had now.
    pub(super) fn new_lock_id(&self) -> Option<u32> {
        let _naming = self.naming.take(NAMING_PATIENCE)?;
        Some(self.locks.fetch_add(1, Relaxed) + 1)
    }

    /// The tags that a lock that has an owner may have, by its id.
    pub(super) fn possible_tags(&self, id: u32) -> Vec<i64> {
        let mut generations = vec![self.recorder.log().current()];
        generations.extend(self.recorder.log().previous());
        let mut tags = Vec::new();
        for generation in &generations {
            for (flavor, named) in OWNED.into_iter().flat_map(|it| [(it, false), (it, true)]) {
                tags.push(LockRef { id, flavor, named }.tag(generation));
            }
        }
        tags
    }

    /// What the lock is called if the current thread waits for the initialization of a class.
    /// HotSpot has an empty `int[]` for that, and the code takes no lock there.
    fn initialization(
        &self,
        java: Java,
        object: Object<'_>,
        signature: &[u8],
        coming: Coming,
    ) -> Option<String> {
        let may_be = coming.way == Some(Way::Monitor)
            && signature == b"[I"
            && java.array_length(object) == 0
            && !self
                .recorder
                .places()
                .with(coming.place, |place, _| place.taken.flags & place_flag::METHOD == 0);
        may_be.then(|| self.recorder.initialization(java))?
    }

    /// What whoever observes waits knows a lock by. The JVM inflates a monitor to give its
    /// object a hash, but has inflated one that is waited for already; and
    /// j.u.c. locks are no monitors.
    fn hash_of(&self, object: Object<'_>, flavor: LockFlavor, coming: Coming) -> Option<u32> {
        let is_monitor = matches!(coming.way, Some(Way::Monitor | Way::ObjectWait));
        let harmless = flavor.is_held() || is_monitor;
        (harmless && self.observer().is_some())
            .then(|| self.recorder.ti().hash(object) as u32)
            .filter(|&hash| hash != 0)
    }
}

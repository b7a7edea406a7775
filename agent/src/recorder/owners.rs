//! Which Java thread a monitor's owner is.

use super::Recorder;
use crate::{
    jvm::{
        Java, Local, Object,
        java::Weak,
        monitors::{JavaThread, Monitors, OwnedBy},
        threads::Extension,
    },
    table::Table,
};
use std::sync::{
    Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
    atomic::{AtomicBool, Ordering::Relaxed},
};

/// The platform threads by where the JVM has them, if owners of monitors can be told.
#[derive(Default)]
pub struct Owners {
    monitors: OnceLock<Monitors>,
    threads: RwLock<Known>,
    /// Whether any thread was seen that runs virtual ones.
    has_carriers: AtomicBool,
    /// The JVM's function that tells which virtual thread a carrier runs.
    mounted: OnceLock<Option<Extension>>,
}

#[derive(Default)]
struct Known {
    by_address: Table<usize, PlatformThread>,
    addresses: Table<i64, usize>,
}

struct PlatformThread {
    at: JavaThread,
    java_id: i64,
    is_carrier: bool,
    /// Its object, to ask for its stack and its name.
    object: Option<Arc<Weak>>,
}

impl Owners {
    fn read(&self) -> RwLockReadGuard<'_, Known> {
        self.threads.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Known> {
        self.threads.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets the thread of this Java id that was at an address.
    fn forget(&self, java: Java, address: usize, java_id: i64) {
        let gone = {
            let mut known = self.write();
            let is_it = known.by_address.get(&address).is_some_and(|it| it.java_id == java_id);
            if !is_it {
                return;
            }
            if known.addresses.get(&java_id) == Some(&address) {
                known.addresses.remove(&java_id);
            }
            known.by_address.remove(&address)
        };
        if let Some(object) = gone.and_then(|gone| gone.object) {
            drop_object(java, object);
        }
    }

    /// Adds a thread. With `is_current` it is there in place of any other; else the one
    /// that is there is the later one.
    fn add(&self, java: Java, thread: PlatformThread, is_current: bool) {
        let (address, java_id) = (thread.at.address, thread.java_id);
        let before = {
            let mut known = self.write();
            match known.by_address.contains_key(&address) && !is_current {
                true => Some(thread),
                false => {
                    let before = known.by_address.insert(address, thread);
                    if let Some(before) = &before
                        && known.addresses.get(&before.java_id) == Some(&address)
                    {
                        known.addresses.remove(&before.java_id);
                    }
                    known.addresses.insert(java_id, address);
                    before
                }
            }
        };
        if let Some(object) = before.and_then(|before| before.object) {
            drop_object(java, object);
        }
    }
}

/// Gives a reference back once nobody uses it. JNI is never called while the table is
/// locked: a thread may be stopped there.
fn drop_object(java: Java, object: Arc<Weak>) {
    if let Some(object) = Arc::into_inner(object) {
        java.drop_weak(object);
    }
}

impl Known {
    /// The thread that an owner's address is of.
    fn at(&self, address: usize) -> Option<&PlatformThread> {
        let own = self.by_address.get(&address);
        // In whose stack it is: only where monitors came to be while they were held.
        own.or_else(|| self.by_address.values().find(|thread| thread.at.is_at(address)))
    }
}

impl Recorder {
    /// From now on owners of monitors can be told. To be called once.
    pub fn tell_owners(&self, java: Java, monitors: Monitors) {
        let _ = self.owners.monitors.set(monitors);
        for thread in self.ti.all_threads(java).unwrap_or_default() {
            self.note_address(java, thread.get(), &monitors);
            java.drop_local(thread);
        }
    }

    /// Where this JVM has the owners of monitors, if that is known.
    #[inline]
    pub fn monitors(&self) -> Option<&Monitors> {
        self.owners.monitors.get()
    }

    /// Notes where the JVM has a thread that is not the current one.
    fn note_address(&self, java: Java, thread: Object<'_>, monitors: &Monitors) {
        let address = || java.long_field(thread, self.fields.thread_address) as usize;
        let Some(at) = monitors.thread_at(address()) else { return };
        self.note_thread(java, thread, at, false);
        // It may have ended meanwhile, and said so before it was noted.
        if address() != at.address {
            self.owners.forget(java, at.address, self.java_id(java, thread));
        }
    }

    /// The current thread, a platform thread, begins.
    pub(super) fn note_current_address(&self, java: Java, thread: Object<'_>) {
        if let Some(monitors) = self.monitors() {
            self.note_thread(java, thread, monitors.current(java), true);
        }
    }

    fn note_thread(&self, java: Java, thread: Object<'_>, at: JavaThread, is_current: bool) {
        let java_id = self.java_id(java, thread);
        let is_known = self.owners.read().by_address.get(&at.address).map(|known| known.java_id);
        if java_id <= 0 || is_known == Some(java_id) {
            return;
        }
        let is_carrier = self.is_carrier(java, thread);
        if is_carrier {
            self.owners.has_carriers.store(true, Relaxed);
        }
        let object = java.weak(thread).map(Arc::new);
        let thread = PlatformThread { at, java_id, is_carrier, object };
        self.owners.add(java, thread, is_current);
    }

    /// The current thread, a platform thread, ends.
    pub(super) fn forget_current_address(&self, java: Java, java_id: i64) {
        if let Some(monitors) = self.monitors() {
            self.owners.forget(java, monitors.current(java).address, java_id);
        }
    }

    /// The Java id of the thread that owns a monitor; `None` where nobody is known to. A
    /// carrier may run another virtual thread by now, unless it `is_still` the owner.
    #[inline]
    pub fn owner_id_of(&self, owned: OwnedBy, is_still: impl Fn() -> bool) -> Option<i64> {
        match owned {
            OwnedBy::Nobody | OwnedBy::Somebody => None,
            OwnedBy::Thread(java_id) => Some(java_id),
            OwnedBy::Address(address) => {
                let known = self.owners.read();
                let thread = known.at(address)?;
                let (java_id, carrier) = (thread.java_id, thread.at.address);
                if !thread.is_carrier {
                    return Some(java_id);
                }
                drop(known);
                self.monitors()?.mounted_on(carrier).filter(|_| is_still())
            }
        }
    }

    /// The Java id of the thread that has locked the object of a monitor before anybody had
    /// to wait for it; `None` where that is not known.
    pub fn owner_without_monitor(&self, monitor: usize) -> Option<i64> {
        let monitors = self.monitors()?;
        let threads: Vec<(usize, i64, bool)> = {
            let known = self.owners.read();
            let all = known.by_address.values();
            all.map(|thread| (thread.at.address, thread.java_id, thread.is_carrier)).collect()
        };
        let has_locked =
            |&&(address, ..): &&(usize, i64, bool)| monitors.has_locked(address, monitor);
        let &(address, java_id, is_carrier) = threads.iter().find(has_locked)?;
        if !is_carrier {
            return Some(java_id);
        }
        // It may be just changing.
        let mounted = monitors.mounted_on(address)?;
        let is_still =
            monitors.has_locked(address, monitor) && monitors.mounted_on(address) == Some(mounted);
        is_still.then_some(mounted)
    }

    /// Whether a question about a platform thread's stack makes others wait: all of them, or
    /// virtual ones that are to be mounted or unmounted, if there may be any.
    pub fn stacks_make_others_wait(&self) -> bool {
        self.ti.stacks_take_safepoints()
            || self.ti.stacks_hold_up_virtual_threads()
                && (self.monitors().is_none() || self.owners.has_carriers.load(Relaxed))
    }

    /// Where the JVM has the platform threads, by their Java ids, without the carriers of
    /// virtual ones.
    pub(super) fn addresses(&self) -> Vec<(i64, usize)> {
        let known = self.owners.read();
        let threads = known.by_address.values().filter(|thread| !thread.is_carrier);
        threads.map(|thread| (thread.java_id, thread.at.address)).collect()
    }

    /// The virtual threads that are mounted, by their Java ids, and where the JVM has their
    /// carriers.
    pub(super) fn mounted(&self) -> Vec<(i64, usize)> {
        let Some(monitors) = self.monitors() else { return Vec::new() };
        if !self.owners.has_carriers.load(Relaxed) {
            return Vec::new();
        }
        let known = self.owners.read();
        let carriers = known.by_address.values().filter(|thread| thread.is_carrier);
        let mounted = carriers.filter_map(|carrier| {
            let java_id = monitors.mounted_on(carrier.at.address)?;
            (java_id != carrier.java_id).then_some((java_id, carrier.at.address))
        });
        mounted.collect()
    }

    /// A virtual thread that is mounted, as a local reference; null if none of this Java id
    /// is, or the JVM does not tell.
    pub(super) fn mounted_thread<'j>(&self, java: Java<'j>, java_id: i64) -> Local<'j> {
        let mounted = self.mounted().into_iter().find(|(of, _)| *of == java_id);
        mounted.map_or(Local::NULL, |(java_id, at)| self.mounted_thread_at(java, java_id, at))
    }

    /// The same of one whose carrier is here.
    pub(super) fn mounted_thread_at<'j>(
        &self,
        java: Java<'j>,
        java_id: i64,
        at: usize,
    ) -> Local<'j> {
        let function = *self.owners.mounted.get_or_init(|| self.ti.virtual_thread_function());
        let Some(function) = function else { return Local::NULL };
        let carrier_id = self.owners.read().by_address.get(&at).map(|carrier| carrier.java_id);
        let carrier = carrier_id.map_or(Local::NULL, |id| self.thread_object(java, id));
        if carrier.is_null() {
            return Local::NULL;
        }
        let thread = self.ti.virtual_thread(java, function, carrier.get());
        java.drop_local(carrier);
        // Another one may be mounted by now.
        let is_it = !thread.is_null() && self.java_id(java, thread.get()) == java_id;
        match is_it {
            true => thread,
            false => {
                java.drop_local(thread);
                Local::NULL
            }
        }
    }

    /// Where the JVM has a platform thread.
    pub fn address_of(&self, java_id: i64) -> Option<usize> {
        self.owners.read().addresses.get(&java_id).copied()
    }

    /// A platform thread's object by its Java id, as a local reference; null where it is
    /// not known.
    pub fn thread_object<'j>(&self, java: Java<'j>, java_id: i64) -> Local<'j> {
        let object = {
            let known = self.owners.read();
            let thread = known.addresses.get(&java_id).and_then(|at| known.by_address.get(at));
            thread.and_then(|thread| thread.object.clone())
        };
        let Some(object) = object else { return Local::NULL };
        let local = java.kept_by(&object);
        drop_object(java, object);
        local
    }
}

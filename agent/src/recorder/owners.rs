//! Which Java thread a monitor's owner is.

use super::Recorder;
use crate::{
    jvm::{
        Java, Local, Object,
        java::Weak,
        monitors::{JavaThread, Monitors, Owned},
    },
    table::Table,
};
use std::sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The platform threads by where the JVM has them, if owners of monitors can be told.
#[derive(Default)]
pub struct Owners {
    monitors: OnceLock<Monitors>,
    threads: RwLock<Known>,
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
    object: Option<Weak>,
}

impl Owners {
    fn read(&self) -> RwLockReadGuard<'_, Known> {
        self.threads.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Known> {
        self.threads.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self, java: Java, address: usize) {
        let mut known = self.write();
        let Some(gone) = known.by_address.remove(&address) else { return };
        if known.addresses.get(&gone.java_id) == Some(&address) {
            known.addresses.remove(&gone.java_id);
        }
        drop(known);
        if let Some(object) = gone.object {
            java.drop_weak(object);
        }
    }

    fn add(&self, java: Java, thread: PlatformThread) {
        // A thread that was there before has ended without a word.
        self.forget(java, thread.at.address);
        let mut known = self.write();
        known.addresses.insert(thread.java_id, thread.at.address);
        known.by_address.insert(thread.at.address, thread);
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
        self.note_thread(java, thread, at);
        // It may have ended meanwhile, and said so before it was noted.
        if address() != at.address {
            self.owners.forget(java, at.address);
        }
    }

    /// The current thread, a platform thread, begins.
    pub(super) fn note_current_address(&self, java: Java, thread: Object<'_>) {
        if let Some(monitors) = self.monitors() {
            self.note_thread(java, thread, monitors.current(java));
        }
    }

    fn note_thread(&self, java: Java, thread: Object<'_>, at: JavaThread) {
        let java_id = self.java_id(java, thread);
        let is_known = self.owners.read().by_address.get(&at.address).map(|known| known.java_id);
        if java_id <= 0 || is_known == Some(java_id) {
            return;
        }
        let is_carrier = self.is_carrier(java, thread);
        let object = java.weak(thread);
        self.owners.add(java, PlatformThread { at, java_id, is_carrier, object });
    }

    /// The current thread, a platform thread, ends.
    pub(super) fn forget_current_address(&self, java: Java) {
        if let Some(monitors) = self.monitors() {
            self.owners.forget(java, monitors.current(java).address);
        }
    }

    /// The Java id of the thread that owns a monitor; `None` where nobody is known to.
    #[inline]
    pub fn owner_id_of(&self, owned: Owned) -> Option<i64> {
        match owned {
            Owned::ByNobody | Owned::BySomebody => None,
            Owned::ById(java_id) => Some(java_id),
            Owned::ByAddress(address) => {
                let known = self.owners.read();
                let thread = known.at(address)?;
                let (java_id, carrier) = (thread.java_id, thread.at.address);
                if !thread.is_carrier {
                    return Some(java_id);
                }
                drop(known);
                self.monitors()?.mounted_on(carrier)
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
        if is_carrier { monitors.mounted_on(address) } else { Some(java_id) }
    }

    /// Where the JVM has a platform thread.
    pub fn address_of(&self, java_id: i64) -> Option<usize> {
        self.owners.read().addresses.get(&java_id).copied()
    }

    /// A platform thread's object by its Java id, as a local reference; null where it is
    /// not known.
    pub fn thread_object<'j>(&self, java: Java<'j>, java_id: i64) -> Local<'j> {
        let known = self.owners.read();
        let thread = known.addresses.get(&java_id).and_then(|at| known.by_address.get(at));
        let object = thread.and_then(|thread| thread.object.as_ref());
        object.map_or(Local::NULL, |object| java.kept_by(object))
    }
}

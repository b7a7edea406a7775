//! What the JVM tells of threads, and what the log shall say of them.

use super::{
    Recorder, os_thread,
    threads::{Thread, VIRTUAL},
};
use crate::{
    clock,
    jvm::{Java, Local, Object, setup::Fields, ti::ThreadInfo},
    log::Generation,
};
use jvmti_bindings::sys::jni::jint;
use std::sync::Arc;
use tyrion_wire::def::id;

/// A thread that takes locks.
pub struct Traced {
    /// It is left out, by `exclude-threads`.
    pub excluded: bool,
    /// It is a virtual thread.
    pub is_virtual: bool,
    /// Whose its records are: those of virtual threads are one's.
    pub owner: Arc<Thread>,
}

impl Recorder {
    /// A thread's `Thread.getId()`.
    pub fn java_id(&self, java: Java, thread: Object<'_>) -> i64 {
        java.long_field(thread, self.fields.thread_id)
    }

    /// Whether a thread runs virtual threads.
    pub fn is_carrier(&self, java: Java, thread: Object<'_>) -> bool {
        java.is_instance(thread, self.fields.carrier)
    }

    /// Whether a thread is a virtual one.
    pub fn is_virtual(&self, java: Java, thread: Object<'_>) -> bool {
        java.is_instance(thread, self.fields.virtual_thread)
    }

    /// The object that is a thread's name, a local reference; null where that is
    /// not known.
    pub fn name_object<'j>(&self, java: Java<'j>, thread: Object<'_>) -> Local<'j> {
        match self.fields.thread_name.is_null() {
            true => Local::NULL,
            false => java.object_field(thread, self.fields.thread_name),
        }
    }

    /// What the JVM last noted as a platform thread's state, also that of the
    /// virtual thread on it: bits that [`lasting`](crate::jvm::threads::lasting)
    /// does not leave out of JVMTI's. For its own answer JVMTI looks through all
    /// threads, each time, and JDK 25 keeps virtual threads from being mounted.
    /// `None` where that is not known.
    pub fn thread_status(&self, java: Java, thread: Object<'_>) -> Option<jint> {
        let Fields { thread_holder, thread_status, .. } = self.fields;
        if thread_status.is_null() {
            return None;
        }
        if thread_holder.is_null() {
            return Some(java.int_field(thread, thread_status));
        }
        let holder = java.object_field(thread, thread_holder);
        let status = (!holder.is_null()).then(|| java.int_field(holder.get(), thread_status));
        java.drop_local(holder);
        status
    }

    /// A thread that is known from now on. It must be forgotten when it is found to
    /// have ended: its end may have been seen before.
    pub fn known_thread(
        &self,
        java: Java,
        thread: Object<'_>,
        java_id: i64,
        info: ThreadInfo,
    ) -> Arc<Thread> {
        let known = match self.threads.get(java_id) {
            Some(known) => known,
            None => self.add_thread(java, thread, java_id),
        };
        known.describe(info, self.is_virtual(java, thread));
        if known.is_virtual() {
            // Nobody tells when those started.
            known.started_at(&self.log.current(), clock::now_ns());
        }
        known
    }

    /// Forgets a thread that has ended.
    pub fn forget_ended(&self, java_id: i64) {
        if let Some(ended) = self.threads.remove(java_id) {
            ended.ends(&self.log.current(), clock::now_ns());
            self.drop_slot_later(&ended);
        }
    }

    /// A thread has got another name.
    pub fn renamed(&'static self, java: Java, thread: Object<'_>) {
        let at_ns = clock::now_ns();
        let known = self.threads.get(java.long_field(thread, self.fields.thread_id));
        if let Some(known) = known.filter(|known| known.is_described())
            && let Ok(info) = self.ti.thread(java, thread)
        {
            known.rename(&self.log.current(), info.name, at_ns);
        }
    }

    #[cold]
    pub fn add_thread(&self, java: Java, thread: Object<'_>, java_id: i64) -> Arc<Thread> {
        let excluded = !self.excluded.is_empty()
            && self.ti.thread(java, thread).is_ok_and(|info| {
                let name = String::from_utf8_lossy(&info.name).into_owned();
                self.excluded.iter().any(|pattern| pattern.matches(&name))
            });
        self.threads.get_or_add(java_id, excluded, self.log.generation_number())
    }

    /// Finds out what the log shall say of the current thread, unless it is
    /// known.
    #[cold]
    pub(super) fn describe_current(
        &self,
        generation: &Generation,
        java: Java,
        thread: Object<'_>,
        known: &Thread,
    ) {
        self.describe_thread(java, thread, known);
        let started_ns = match known.is_virtual() {
            // Close enough: this is the first that is heard of it.
            true => clock::now_ns(),
            false => os_thread::started_ns(),
        };
        known.started_at(generation, started_ns);
    }

    /// Finds out what the log shall say of a thread, unless it is known.
    #[cold]
    pub fn describe_thread(&self, java: Java, thread: Object<'_>, known: &Thread) {
        if known.is_described() {
            return;
        }
        if let Ok(info) = self.ti.thread(java, thread) {
            known.describe(info, self.is_virtual(java, thread));
        }
    }

    /// A thread of which the log tells begins its first event, or is named as an
    /// owner: it may have another name by now.
    #[cold]
    pub fn refresh_name(&self, java: Java, thread: Object<'_>, known: &Thread) {
        if let Ok(info) = self.ti.thread(java, thread) {
            known.rename(&self.log.current(), info.name, clock::now_ns());
        }
    }

    /// The current thread; `None` when it is just ending.
    pub fn traced_thread(&self, java: Java, thread: Object<'_>, java_id: i64) -> Option<Traced> {
        if java_id <= 0 || os_thread::has_ended(java_id) {
            return None;
        }
        let known = match self.threads.get(java_id) {
            Some(known) => known,
            None => self.add_thread(java, thread, java_id),
        };
        self.describe_current(&self.log.current(), java, thread, &known);
        let is_virtual = java.is_instance(thread, self.fields.virtual_thread);
        let excluded = known.excluded;
        let owner = if is_virtual { self.owner_of_records(VIRTUAL)? } else { known };
        Some(Traced { excluded, is_virtual, owner })
    }

    /// The id in a generation of a thread by its Java id, or of all virtual ones;
    /// 0 when it is not known any more.
    pub fn owner_id(&self, generation: &Generation, owner: i64) -> u32 {
        self.owner_of_records(owner).map_or(id::UNKNOWN, |thread| thread.id(generation))
    }

    pub(super) fn owner_of_records(&self, owner: i64) -> Option<Arc<Thread>> {
        let known = self.threads.get(owner);
        if known.is_some() || owner != VIRTUAL {
            return known;
        }
        let all = self.threads.get_or_add(VIRTUAL, false, self.log.generation_number());
        let name = b"virtual threads".to_vec();
        all.describe(ThreadInfo { name, group: Vec::new(), daemon: true }, true);
        Some(all)
    }
}

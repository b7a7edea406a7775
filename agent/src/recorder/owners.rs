//! Who holds the monitors that threads have waited long for.
//!
//! HotSpot tells a monitor's owner in a safepoint only, of up to some
//! milliseconds: too much for each wait, and by then most owners are others.
//! But a wait of a second is worth one question, and where it lasts for ever,
//! the answer is the whole story.

use super::Recorder;
use crate::{
    clock,
    jvm::{Java, Vm},
    threads::{Owner, Thread},
};
use jvmti_bindings::sys::jni::jthread;
use std::{sync::Arc, time::Duration};

/// Waits that are as old as this are asked about, ns.
const LONG_NS: u64 = 1_000_000_000;
/// Between two looks for such waits.
const PERIOD: Duration = Duration::from_millis(500);
/// So many are asked about at a time: each takes a safepoint.
const MANY: usize = 8;

/// A wait for a monitor that has lasted long.
pub struct LongWait {
    /// Who waits.
    pub thread: Arc<Thread>,
    /// Since when, monotonic ns.
    pub start_ns: u64,
}

impl Recorder {
    /// What a thread of the agent's own does for ever: finds the owners. The
    /// JVM knows it only while there is something to ask.
    pub fn watch_long_waits(&'static self, vm: Vm) {
        while !self.log.is_closed() {
            std::thread::sleep(PERIOD);
            if !self.is_enabled() {
                continue;
            }
            let before_ns = clock::now_ns().saturating_sub(LONG_NS);
            let mut long = self.threads.long_monitor_waits(before_ns);
            long.truncate(MANY);
            if !long.is_empty() {
                // SAFETY: the environment is this thread's, as long as it is attached.
                vm.with_thread(|env| self.find_owners(unsafe { Java::new(env) }, &long));
            }
        }
    }

    fn find_owners(&self, java: Java, long: &[LongWait]) {
        let mut unseen: Vec<&LongWait> = long.iter().collect();
        for thread in self.ti.all_threads(java).unwrap_or_default() {
            let java_id = java.long_field(thread, self.fields.thread_id);
            let of_thread = unseen.iter().position(|wait| wait.thread.java_id == java_id);
            if let Some(nth) = of_thread
                && !self.log.is_closed()
            {
                self.find_owner(java, thread, unseen.swap_remove(nth));
            }
            java.drop_local(thread);
        }
        // Virtual threads are not among all threads: they are asked about once.
        for wait in unseen {
            self.set_owner(wait, None, Owner::NOBODY);
        }
    }

    fn find_owner(&self, java: Java, waiter: jthread, wait: &LongWait) {
        let monitor = self.ti.contended_monitor(waiter);
        let holder = self.ti.monitor_owner(java, monitor);
        java.drop_local(monitor);
        let volume = self.log.current();
        let owner = match holder.is_null() {
            true => Owner::NOBODY,
            false => self.owner(&volume, java, holder),
        };
        java.drop_local(holder);
        // It may just have got the monitor, and not have said so.
        let owner = if owner.java_id == wait.thread.java_id { Owner::NOBODY } else { owner };
        self.set_owner(wait, Some(volume.number), owner);
    }

    /// Notes the owner with a wait, if it is still that wait, and nobody is
    /// known yet. The owner's id is of a volume, if it has one: when the log
    /// has just gone on in another file, the next look asks again.
    fn set_owner(&self, wait: &LongWait, of_volume: Option<u32>, owner: Owner) {
        let volume = self.log.current();
        let Some(mut waits) = wait.thread.try_waits() else { return };
        if waits.volume() != volume.number || of_volume.is_some_and(|of| of != volume.number) {
            return;
        }
        let same = |begun: &&mut crate::threads::Begun| {
            begun.start_ns == wait.start_ns && !begun.owner.is_asked()
        };
        if let Some(begun) = waits.monitor.as_mut().filter(same) {
            begun.owner = owner;
            wait.thread.publish(&mut waits, &volume);
        }
    }
}

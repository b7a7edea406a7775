//! Who holds the monitors that threads have waited long for.
//!
//! HotSpot tells a monitor's owner in a safepoint only, of up to some
//! milliseconds: too much for each wait, and by then most owners are others.
//! But a wait of a second is worth one question, and where it lasts for ever,
//! the answer is the whole story.

use super::Contention;
use crate::{
    clock,
    jvm::{Java, Object, Vm},
    log::Generation,
    recorder::threads::{LongWait, Owner, PendingWait},
};
use std::time::Duration;
use tyrion_wire::def::id;

/// Waits that are as old as this are asked about, ns.
const LONG_NS: u64 = 1_000_000_000;
/// An acquisition of a thread that has not parked again for so long is over, ns.
const OVER_NS: u64 = 300_000_000;
/// Between two looks for such waits.
const PERIOD: Duration = Duration::from_millis(500);
/// The number asked about at a time: each takes a safepoint.
const MANY: usize = 8;
/// So often an answer is tried to be noted, where files follow one another quickly:
/// the next look may come after the wait.
const TRIES: u32 = 20;
/// Between two such attempts.
const AGAIN: Duration = Duration::from_millis(2);

impl Contention {
    /// What a thread of the agent's own does for ever: writes acquisitions that are
    /// over, looks after waits that were found, and finds the owners, where the JVM
    /// tells them. The JVM knows it only while there is something to ask. While waits
    /// are recorded, `also` is run every half second, too, and told how often it was run
    /// before.
    pub fn watch_waits(&'static self, vm: Vm, knows_owners: bool, also: impl Fn(u32)) {
        let mut nth = 0_u32;
        while !self.recorder.log().is_closed() {
            std::thread::sleep(PERIOD);
            if !self.recorder.is_enabled() {
                continue;
            }
            also(nth);
            nth = nth.wrapping_add(1);
            self.settle_older(clock::now_ns().saturating_sub(OVER_NS));
            let found = self.found_to_look_at();
            if !found.is_empty() {
                // SAFETY: the environment is this thread's, as long as it is attached.
                vm.with_thread(|env| self.look_at_found(unsafe { Java::new(env) }, &found));
            }
            if !knows_owners {
                continue;
            }
            let before_ns = clock::now_ns().saturating_sub(LONG_NS);
            let mut long = self.recorder.threads().long_monitor_waits(before_ns);
            long.truncate(MANY);
            if !long.is_empty() {
                // SAFETY: the environment is this thread's, as long as it is attached.
                vm.with_thread(|env| self.find_owners(unsafe { Java::new(env) }, &long));
            }
        }
    }

    fn find_owners(&self, java: Java, long: &[LongWait]) {
        let mut unseen: Vec<&LongWait> = long.iter().collect();
        for thread in self.recorder.ti().all_threads(java).unwrap_or_default() {
            let java_id = self.recorder.java_id(java, thread.get());
            let of_thread = unseen.iter().position(|wait| wait.thread.java_id == java_id);
            if let Some(nth) = of_thread
                && !self.recorder.log().is_closed()
            {
                self.find_owner(java, thread.get(), unseen.swap_remove(nth));
            }
            java.drop_local(thread);
        }
        // Virtual threads are not among all threads: they are asked about once.
        for wait in unseen {
            self.set_owner(wait, None, Owner::NOBODY);
        }
    }

    fn find_owner(&self, java: Java, waiter: Object<'_>, wait: &LongWait) {
        let monitor = self.recorder.ti().contended_monitor(java, waiter);
        let holder = self.recorder.ti().monitor_owner(java, monitor.get());
        java.drop_local(monitor);
        for _ in 0..TRIES {
            let generation = self.recorder.log().current();
            let owner = match holder.is_null() {
                true => Owner::NOBODY,
                false => self.owner(&generation, java, holder.get()),
            };
            // It may just have got the monitor, and not have said so.
            let owner = if owner.java_id == wait.thread.java_id { Owner::NOBODY } else { owner };
            if self.set_owner(wait, Some(generation.number), owner) {
                break;
            }
            std::thread::sleep(AGAIN);
        }
        java.drop_local(holder);
    }

    /// Notes the owner with a wait, if it is still that wait, and nobody is
    /// known yet. The owner's id is of a generation, if it has one. False when the log
    /// just goes on in another file, or the thread is in the middle of an event: then
    /// it may be tried again.
    fn set_owner(&self, wait: &LongWait, of_generation: Option<u32>, owner: Owner) -> bool {
        let generation = self.recorder.log().current();
        let Some(mut waits) = wait.thread.try_waits() else { return false };
        if waits.generation() != generation.number
            || of_generation.is_some_and(|of| of != generation.number)
        {
            return false;
        }
        let same = |pending: &&mut PendingWait| {
            pending.start_ns == wait.start_ns && !pending.owner.is_asked()
        };
        if let Some(pending) = waits.monitor.as_mut().filter(same) {
            pending.owner = owner;
            wait.thread.publish(&mut waits, &generation);
        }
        true
    }

    /// The thread that holds a synchronizer exclusively, if known.
    pub(super) fn owner_of(
        &self,
        generation: &Generation,
        java: Java,
        synchronizer: Object<'_>,
    ) -> Owner {
        let owner = java.object_field(synchronizer, self.recorder.fields().exclusive_owner);
        if owner.is_null() {
            return Owner::default();
        }
        let known = self.owner(generation, java, owner.get());
        java.drop_local(owner);
        known
    }

    /// A thread that holds a lock, as the log has it.
    pub(super) fn owner(&self, generation: &Generation, java: Java, owner: Object<'_>) -> Owner {
        let java_id = self.recorder.java_id(java, owner);
        let known = match self.recorder.threads().get(java_id) {
            Some(known) => Some(known),
            // One that has just ended would never be removed again.
            None if self.recorder.ti().is_alive(owner) => {
                Some(self.recorder.add_thread(java, owner, java_id))
            }
            None => None,
        };
        let id = known.map_or(id::UNKNOWN, |known| {
            if !known.is_known(generation) {
                self.recorder.describe_thread(java, owner, &known);
                if known.is_virtual() {
                    // Nobody tells when those started.
                    known.started_at(generation, clock::now_ns());
                }
            }
            if known.was_only_listed() {
                self.recorder.refresh_name(java, owner, &known);
            }
            known.id(generation)
        });
        Owner { id, java_id }
    }
}

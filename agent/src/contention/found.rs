//! Waits that were under way when recording began: without them a program that
//! hangs when it is attached to would seem to be idle. They count from now on.
//!
//! A monitor's wait ends with an event like any other. A park has begun in code
//! that knows nothing of us, and mostly ends there, too: it is over when the thread
//! begins something else, or is seen not to be parked any more. Then it is written
//! as if it had ended when it was last seen to last: a little less than the truth.

use super::{Contention, initializations::is_untold, locks::Coming};
use crate::{
    clock,
    jvm::{
        Java, Object,
        threads::{is_blocked, is_parked},
    },
    log::Generation,
    recorder::{
        EventContext,
        threads::{Found, PendingWait, Thread, Waits},
    },
};
use jvmti_bindings::sys::jni::jint;
use std::sync::Arc;
use tyrion_wire::{Outcome, WaitKind, def::id};

/// The room that an earlier record gets, in bytes.
const LEAST_ROOM: usize = 4096;
/// Between two looks for parks that are no waits for locks, ns: threads of pools
/// may be idle for ever.
const IDLE_PERIOD_NS: u64 = 5_000_000_000;

impl Contention {
    /// A thread that was there before may wait already.
    pub fn find_wait(&self, java: Java, thread: Object<'_>) {
        let known = self.recorder.threads().get(self.recorder.java_id(java, thread));
        let Some(known) = known.filter(|known| !known.excluded) else { return };
        let bits = self.status(java, thread);
        // Its stack is not walked for nothing.
        if is_blocked(bits) && self.can_be_found(&known, waits_for_monitor) {
            self.find_monitor(java, thread, &known);
        } else if is_parked(bits) && self.can_be_found(&known, is_parked_already) {
            self.find_park(java, thread, &known);
        }
    }

    /// The bits of a thread's state, without a word to the JVM where that is possible:
    /// on some JDKs it keeps virtual threads from being unmounted for its answer.
    fn status(&self, java: Java, thread: Object<'_>) -> jint {
        let known = self.recorder.thread_status(java, thread);
        known.unwrap_or_else(|| self.recorder.ti().state_bits(thread).unwrap_or(0))
    }

    /// Whether nothing is known of what a thread waits for. One in the middle of an event
    /// says itself what it waits for, and is not waited for: it may be stopped there.
    fn can_be_found(&self, known: &Thread, waits_already: fn(&Waits) -> bool) -> bool {
        known.try_waits().is_some_and(|waits| !waits_already(&waits))
    }

    fn find_monitor(&self, java: Java, thread: Object<'_>, known: &Arc<Thread>) {
        let start_ns = clock::now_ns();
        let generation = self.recorder.log().current();
        let stack = self.recorder.stack_at_monitor(&generation, java, thread);
        let lock = self.lock_of_blocked(&generation, java, thread);
        // From here on the thread's own events wait.
        let Some(mut waits) = known.try_waits() else { return };
        self.recorder.bring_waits(known, &mut waits, &generation);
        let is_still = !waits_for_monitor(&waits) && is_blocked(self.status(java, thread));
        if waits.generation() == generation.number && is_still {
            let kind = WaitKind::Monitor;
            let (owner, monitor) = self.owner_of_blocked(&generation, java, known);
            let (stack, place, none) = (stack.id, stack.place, PendingWait::NONE);
            let pending =
                PendingWait { kind, start_ns, stack, lock, place, owner, monitor, ..none };
            waits.monitor = Some(pending);
            known.publish(&mut waits, &generation);
        }
    }

    /// The id of the lock of the monitor that a thread waits to enter.
    pub(super) fn lock_of_blocked(
        &self,
        generation: &Generation,
        java: Java,
        thread: Object<'_>,
    ) -> u32 {
        // HotSpot tells no agent that was attached later.
        let monitor = self.recorder.ti().contended_monitor(java, thread);
        let lock = match monitor.is_null() {
            true => id::UNKNOWN,
            false => self.lock_of(generation, java, monitor.get(), Coming::UNSEEN).id,
        };
        java.drop_local(monitor);
        lock
    }

    fn find_park(&self, java: Java, thread: Object<'_>, known: &Arc<Thread>) {
        let start_ns = clock::now_ns();
        let generation = self.recorder.log().current();
        // The innermost frame is the native method.
        let stack = self.recorder.stack_of_parked(&generation, java, thread);
        let blocker = java.object_field(thread, self.recorder.fields().park_blocker);
        let wait =
            self.park_at(&generation, java, blocker.get(), stack, (None, Coming::UNSEEN), start_ns);
        let now = java.object_field(thread, self.recorder.fields().park_blocker);
        let is_same = java.is_same(blocker.get(), now.get());
        java.drop_local(now);
        java.drop_local(blocker);
        let Some(mut waits) = known.try_waits() else { return };
        self.recorder.bring_waits(known, &mut waits, &generation);
        let is_still = !is_parked_already(&waits) && is_parked(self.status(java, thread));
        if waits.generation() == generation.number && is_same && is_still {
            waits.found = Some(Found { wait, seen_ns: start_ns });
            known.publish(&mut waits, &generation);
        }
    }

    /// The thread begins something else: what it was found to wait for is over. If
    /// it has just ended, that is known to the nanosecond (`end_ns`).
    pub(super) fn end_found(
        &self,
        context: &mut EventContext<'_>,
        waits: &mut Waits,
        end_ns: Option<u64>,
    ) {
        let Some(Found { wait, seen_ns }) = waits.found.take() else { return };
        let end_ns = end_ns.unwrap_or(seen_ns);
        // Another virtual thread may have written here since.
        let thread = context.thread.id(context.generation);
        context.lane.go_back_to(&context.generation.log, thread, end_ns, LEAST_ROOM);
        self.end(context, wait, end_ns, Outcome::Granted, 0);
    }

    /// Looks whether threads still wait for what they were found to wait for.
    pub(super) fn look_at_found(&'static self, java: Java, found: &[Arc<Thread>]) {
        // Virtual ones among those by looks are not in the JVM's list of all threads.
        let is_by_looks = |known: &&Arc<Thread>| {
            known.try_waits().is_some_and(|it| it.found.as_ref().is_some_and(is_untold))
        };
        let (by_looks, parked): (Vec<_>, Vec<_>) = found.iter().partition(is_by_looks);
        let mut over: Vec<&Arc<Thread>> = Vec::new();
        for known in by_looks {
            match self.still_waits_untold(known.java_id) {
                true => note_seen(known),
                false => over.push(known),
            }
        }
        let mut unseen = parked;
        for thread in self.recorder.ti().all_threads(java).unwrap_or_default() {
            let java_id = self.recorder.java_id(java, thread.get());
            let of_thread = unseen.iter().position(|known| known.java_id == java_id);
            if let Some(nth) = of_thread
                && is_parked(self.status(java, thread.get()))
            {
                note_seen(unseen.swap_remove(nth));
            }
            java.drop_local(thread);
        }
        self.end_all(unseen.into_iter().chain(over));
    }

    /// Waits are not recorded any more: what threads were found to wait for is over as
    /// far as the log goes.
    pub fn end_all_found(&'static self) {
        self.initializations.forget();
        self.end_all(self.recorder.threads().found_waits(|_| true).iter());
    }

    /// Writes waits as long as they were seen, the earliest first.
    fn end_all<'t>(&'static self, threads: impl Iterator<Item = &'t Arc<Thread>>) {
        let seen_ns = |thread: &&Arc<Thread>| {
            let waits = thread.try_waits()?;
            waits.found.as_ref().map(|found| found.seen_ns)
        };
        let mut threads: Vec<&Arc<Thread>> = threads.collect();
        threads.sort_by_cached_key(seen_ns);
        for thread in threads {
            self.recorder.in_context_of_thread(thread, |context| {
                let Some(mut waits) = thread.try_waits() else { return };
                if waits.generation() == context.generation.number {
                    self.end_found(context, &mut waits, None);
                    thread.publish(&mut waits, context.generation);
                }
            });
        }
    }

    /// The threads whose found waits are to be looked at now.
    pub(super) fn found_to_look_at(&self) -> Vec<Arc<Thread>> {
        let idle_ns = clock::now_ns().saturating_sub(IDLE_PERIOD_NS);
        let is_due = |found: &Found| found.wait.kind.is_contention() || found.seen_ns < idle_ns;
        self.recorder.threads().found_waits(is_due)
    }
}

/// It waits still for what it was found to wait for.
fn note_seen(known: &Thread) {
    if let Some(found) = known.try_waits().as_mut().and_then(|it| it.found.as_mut()) {
        found.seen_ns = clock::now_ns();
    }
}

fn waits_for_monitor(waits: &Waits) -> bool {
    waits.monitor.is_some() || waits.object_wait.is_some()
}

/// A thread that has just begun to take a lock tells at its next park.
fn is_parked_already(waits: &Waits) -> bool {
    let innermost = waits.innermost().map(|pending| pending.kind);
    innermost.is_some_and(|kind| kind != WaitKind::ObjectWait) || !waits.acquiring.is_empty()
}

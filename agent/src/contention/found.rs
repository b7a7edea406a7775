//! Waits that were under way when recording began: without them a program that
//! hangs when it is attached to would seem to be idle. They count from now on.
//!
//! A monitor's wait ends with an event like any other. A park has begun in code
//! that knows nothing of us, and mostly ends there, too: it is over when the thread
//! begins something else, or is seen not to be parked any more. Then it is written
//! as if it had ended when it was last seen to last: a little less than the truth.

use super::{Contention, lock_names::Way};
use crate::{
    clock,
    jvm::{
        Java, Object,
        threads::{is_blocked, is_parked},
    },
    recorder::{
        EventContext,
        threads::{Found, Owner, PendingWait, Thread, Waits},
    },
};
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
        match self.recorder.ti().state_bits(thread) {
            Ok(bits) if is_blocked(bits) => self.find_monitor(java, thread, &known),
            Ok(bits) if is_parked(bits) => self.find_park(java, thread, &known),
            _ => {}
        }
    }

    fn find_monitor(&self, java: Java, thread: Object<'_>, known: &Arc<Thread>) {
        let start_ns = clock::now_ns();
        let generation = self.recorder.log().current();
        let stack = self.recorder.stack_at_monitor(&generation, java, thread);
        // HotSpot tells no agent that was attached later.
        let monitor = self.recorder.ti().contended_monitor(java, thread);
        let lock = match monitor.is_null() {
            true => id::UNKNOWN,
            false => self.lock_of(&generation, java, monitor.get(), Way::Unseen).id,
        };
        java.drop_local(monitor);
        let is_still = || self.recorder.ti().state_bits(thread).is_ok_and(is_blocked);
        // From here on the thread's own events wait.
        let mut waits = known.waits();
        let waits_already = waits.monitor.is_some() || waits.object_wait.is_some();
        if waits.generation() == generation.number && !waits_already && is_still() {
            let (kind, owner) = (WaitKind::Monitor, Owner::default());
            waits.monitor = Some(PendingWait { kind, start_ns, stack: stack.id, lock, owner });
            known.publish(&mut waits, &generation);
        }
    }

    fn find_park(&self, java: Java, thread: Object<'_>, known: &Arc<Thread>) {
        let start_ns = clock::now_ns();
        let generation = self.recorder.log().current();
        // The innermost frame is the native method.
        let stack = self.recorder.stack_of_parked(&generation, java, thread);
        let blocker = java.object_field(thread, self.recorder.fields().park_blocker);
        let wait =
            self.park_at(&generation, java, blocker.get(), stack, (None, Way::Unseen), start_ns);
        let now = java.object_field(thread, self.recorder.fields().park_blocker);
        let is_same = java.is_same(blocker.get(), now.get());
        java.drop_local(now);
        java.drop_local(blocker);
        let is_still = || self.recorder.ti().state_bits(thread).is_ok_and(is_parked);
        let mut waits = known.waits();
        let waits_already = waits.innermost().is_some_and(|it| it.kind != WaitKind::ObjectWait);
        if waits.generation() == generation.number && !waits_already && is_same && is_still() {
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
        let mut unseen: Vec<&Arc<Thread>> = found.iter().collect();
        for thread in self.recorder.ti().all_threads(java).unwrap_or_default() {
            let java_id = self.recorder.java_id(java, thread.get());
            let of_thread = unseen.iter().position(|known| known.java_id == java_id);
            if let Some(nth) = of_thread
                && self.recorder.ti().state_bits(thread.get()).is_ok_and(is_parked)
            {
                let known = unseen.swap_remove(nth);
                if let Some(found) = known.try_waits().as_mut().and_then(|it| it.found.as_mut()) {
                    found.seen_ns = clock::now_ns();
                }
            }
            java.drop_local(thread);
        }
        for thread in unseen {
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

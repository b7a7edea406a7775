//! Who ends waits: seen where one thread unparks another or signals a condition to it, in
//! trace mode also where it notifies an object, and where a thread that others join ends.
//!
//! The waker checks whether the other thread waits, and how long it has waited. For short
//! waits, of which there are many, nothing is noted. For a wait of a millisecond or more
//! the waker's stack is taken, too: such waits are too rare for that to cost much. The
//! thread that waited finds the note when its wait is over.

use super::Contention;
use crate::{
    clock,
    jvm::{Java, Object},
    log::{Generation, lane::EndedWait},
    recorder::{
        EventContext,
        threads::{Owner, Park, PendingWait, Thread, Waits, Wake, WakeBy},
    },
};
use std::sync::{Arc, atomic::Ordering::Relaxed};
use tyrion_wire::{Outcome, WaitKind, def::id, wake::Wake as Record};

/// A waker is noted if the wait has lasted at least this long, ns. With the threshold as
/// the only limit, four threads that handed one lock on as fast as they could used 4 %
/// more CPU time, and the log was twice as long.
const NOTED_NS: u64 = 100_000;
/// A waker's stack is taken if the wait has lasted at least this long, ns.
const STACK_NS: u64 = 1_000_000;

/// The end of a wait.
struct Ending {
    target: Arc<Thread>,
    since_ns: u64,
    by: WakeBy,
    at_ns: u64,
}

impl Contention {
    /// Switches on the recording of wakers. To be called before the first wait.
    pub fn note_wakers(&self) {
        self.wakers.store(true, Relaxed);
    }

    /// Whether wakers are recorded.
    #[inline]
    pub fn notes_wakers(&self) -> bool {
        self.wakers.load(Relaxed)
    }

    /// The current thread is about to unpark another one.
    pub fn unparks(&self, java: Java, target: Object<'_>, waker: Object<'_>) {
        if let Some(unpark) = self.unpark_of(java, target) {
            self.wakes(java, &unpark, waker);
        }
    }

    /// The same if the caller does not know the current thread. Virtual threads are left
    /// out: they may end waits while they are leaving their carriers, when the JVM must
    /// not be asked for their stacks, and there is no way to detect that.
    pub fn hooked_unpark(&self, java: Java, target: Object<'_>) {
        let Some(unpark) = self.unpark_of(java, target) else { return };
        let waker = self.recorder.ti().current_thread(java);
        if !waker.is_null() && !self.recorder.is_virtual(java, waker.get()) {
            self.wakes(java, &unpark, waker.get());
        }
        java.drop_local(waker);
    }

    /// The current thread signals a condition to another one, at `at_ns`.
    pub(super) fn signals(&self, java: Java, target: Arc<Thread>, at_ns: u64, waker: Object<'_>) {
        let since_ns = target.parked_since_ns();
        if self.notes_wakers() && since_ns != 0 && self.is_noted(since_ns, at_ns) {
            self.wakes(java, &Ending { target, since_ns, by: WakeBy::Signal, at_ns }, waker);
        }
    }

    /// What is to be noted about a thread that is being unparked, if anything. Most such
    /// threads have not waited for long, and for a busy lock this is called each time that
    /// the lock is handed over.
    fn unpark_of(&self, java: Java, target: Object<'_>) -> Option<Ending> {
        if target.is_null() || !self.notes_wakers() || !self.is_on() {
            return None;
        }
        let (threads, java_id) = (self.recorder.threads(), self.recorder.java_id(java, target));
        let since_ns = threads.parked_since_ns(java_id);
        if since_ns == 0 {
            return None;
        }
        let at_ns = clock::now_ns();
        if !self.is_noted(since_ns, at_ns) {
            return None;
        }
        Some(Ending { target: threads.get(java_id)?, since_ns, by: WakeBy::Unpark, at_ns })
    }

    /// Whether the waker of such a wait is noted.
    fn is_noted(&self, since_ns: u64, at_ns: u64) -> bool {
        at_ns.saturating_sub(since_ns) >= self.recorder.threshold_ns().max(NOTED_NS)
    }

    fn wakes(&self, java: Java, ending: &Ending, waker: Object<'_>) {
        let Ending { target, since_ns, by, at_ns } = ending;
        let probes = (at_ns.saturating_sub(*since_ns) >= STACK_NS).then_some(1);
        if let Some(wake) = self.wake_by(java, waker, *at_ns, probes) {
            target.note_wake(*by, wake);
        }
    }

    /// The current thread ends a wait. Its stack is taken if `probes` says how many of its
    /// innermost frames belong to probes.
    fn wake_by(
        &self,
        java: Java,
        waker: Object<'_>,
        at_ns: u64,
        probes: Option<usize>,
    ) -> Option<Wake> {
        // While a virtual thread is being mounted or unmounted, the carrier is its current
        // thread, and JVMTI would wait until that is done.
        if self.recorder.is_carrier(java, waker) {
            return None;
        }
        let mut wake = None;
        self.recorder.with_waker(java, waker, |context| {
            let stack = match probes {
                Some(probes) => self.recorder.stack(context, java, probes).id,
                None => id::EMPTY_STACK,
            };
            let thread = &context.thread;
            // The id is needed, too: a virtual thread that ends is forgotten.
            let waker = Owner { id: thread.id(context.generation), java_id: thread.java_id };
            let generation = context.generation.number;
            wake = Some(Wake { at_ns, waker, stack, generation });
        });
        wake
    }

    /// The context's thread begins `Object.wait`, and still has the monitor.
    pub(super) fn enter_object_wait(&self, context: &EventContext<'_>, wait: &PendingWait) {
        if self.notes_wakers() {
            self.object_waiters.enter(wait.lock, context.thread.java_id, wait.start_ns);
        }
    }

    /// The context's thread does not wait in `Object.wait`, although no end was reported:
    /// HotSpot reports the beginning before it finds that the thread does not own the
    /// monitor.
    pub(super) fn forget_object_wait(&self, context: &EventContext<'_>, waits: &mut Waits) {
        if self.notes_wakers()
            && let Some(wait) = waits.object_wait.take()
        {
            self.object_waiters.leave(wait.lock, context.thread.java_id, true);
        }
    }

    /// The current thread is about to notify an object whose monitor it has. The innermost
    /// `probes` frames of its stack do not belong to the program.
    pub fn notifies(
        &self,
        java: Java,
        object: Object<'_>,
        all: bool,
        waker: Object<'_>,
        probes: usize,
    ) {
        self.notify(java, object, all, waker, Some(probes));
    }

    /// A thread has ended: the JVM notifies the threads that join it.
    pub fn joined(&self, java: Java, thread: Object<'_>) {
        if !self.notes_wakers() || self.object_waiters.is_empty() {
            return;
        }
        self.recorder.with(java, thread, false, |context, waits| {
            self.forget_object_wait(context, waits);
        });
        self.notify(java, thread, true, thread, None);
    }

    fn notify(
        &self,
        java: Java,
        object: Object<'_>,
        all: bool,
        waker: Object<'_>,
        probes: Option<usize>,
    ) {
        if !self.notes_wakers() || self.object_waiters.is_empty() {
            return;
        }
        let lock_id = self.recorder.known_lock(object);
        let Some(since_ns) = self.object_waiters.notified_since_ns(lock_id) else { return };
        let now_ns = clock::now_ns();
        let is_noted = self.is_on() && self.is_noted(since_ns, now_ns);
        let probes = probes.filter(|_| now_ns.saturating_sub(since_ns) >= STACK_NS);
        let wake = is_noted.then(|| self.wake_by(java, waker, now_ns, probes)).flatten();
        // Even if the waker is not known: the next call is for other waiters.
        self.object_waiters.notify(lock_id, all, wake);
    }

    /// The waker of a wait of the context's thread, if it is known.
    pub(super) fn wake_of(
        &self,
        context: &EventContext<'_>,
        wait: &PendingWait,
        end_ns: u64,
        outcome: Outcome,
    ) -> Option<Wake> {
        if !self.notes_wakers() {
            return None;
        }
        let is_over = outcome != Outcome::Granted;
        if wait.kind == WaitKind::ObjectWait {
            return self.object_waiters.leave(wait.lock, context.thread.java_id, is_over);
        }
        let span_ns = (wait.start_ns, end_ns);
        context.thread.wake_within(wait.kind, span_ns).filter(|_| !is_over)
    }

    /// How a park ended: whoever was unparked did not wait until its time was over, however
    /// late it got a processor.
    pub(super) fn outcome_of_park(
        &self,
        context: &EventContext<'_>,
        park: &Park,
        end_ns: u64,
    ) -> Outcome {
        let span_ns = (park.wait.start_ns, end_ns);
        let is_over = park.limit_ns <= end_ns;
        match is_over && context.thread.wake_within(park.wait.kind, span_ns).is_none() {
            true => Outcome::TimedOut,
            false => Outcome::Granted,
        }
    }

    /// Writes the waker of a wait, after the record of the wait.
    pub(super) fn write_wake(&self, context: &mut EventContext<'_>, wait: &EndedWait, wake: &Wake) {
        let wait_ns = wait.end_ns.saturating_sub(wait.start_ns);
        if wait_ns < self.recorder.threshold_ns() {
            // It was folded, or is of no more interest than waits that are.
            return;
        }
        let generation = context.generation;
        let (waker, stack) = self.ids_of_wake(generation, wake);
        if waker == id::UNKNOWN {
            return;
        }
        let record = Record {
            waker,
            stack,
            site: wait.site,
            wait_ns,
            late_ns: wait.end_ns.saturating_sub(wake.at_ns),
        };
        let (log, end_ns) = (&generation.log, Some(wait.end_ns));
        // If there is no room for it, the wait has no waker.
        let _ = context.lane.append_misc(log, wait.thread, end_ns, |_, out| record.encode(out));
    }

    /// The ids of the waker and its stack in a generation, which may have begun after the
    /// waker was noted.
    fn ids_of_wake(&self, generation: &Generation, wake: &Wake) -> (u32, u32) {
        let Wake { waker, stack, .. } = *wake;
        if wake.generation == generation.number {
            return (waker.id, stack);
        }
        let waker = self.recorder.threads().id_in(generation, waker.java_id);
        let previous = self.recorder.log().previous();
        let previous = previous.filter(|previous| previous.number == wake.generation);
        let stack = previous.and_then(|previous| {
            let Generation { log, dictionary, .. } = generation;
            dictionary.copy_stack(log, &previous.dictionary, stack)
        });
        (waker.unwrap_or(id::UNKNOWN), stack.unwrap_or(id::EMPTY_STACK))
    }
}

//! Waits for locks of java.util.concurrent, for conditions, and for whatever
//! else parks a thread.

use super::{Contention, ParkLimit, locks::Coming};
use crate::{
    clock,
    jvm::{Java, Object},
    log::{Generation, dictionary::StackRef},
    recorder::{
        EventContext, Way,
        threads::{Acquiring, Owner, Park, ParkSeenBy, PendingWait},
    },
};
use std::sync::atomic::Ordering::Relaxed;
use tyrion_wire::{Outcome, WaitKind, def::id};

impl Contention {
    /// The current thread enters the slow path of a j.u.c. lock.
    pub fn acquire_begins(&self, java: Java, thread: Object<'_>, shared: bool) {
        let start_ns = clock::now_ns();
        let enabled = self.is_on();
        self.recorder.with(java, thread, enabled, |context, waits| {
            self.end_found(context, waits, None);
            // What has begun is finished, even when recording was switched off
            // meanwhile; and then each entry needs its exit.
            if !enabled && waits.reacquiring.is_none() && waits.acquiring.is_empty() {
                return;
            }
            waits.acquiring.push(match waits.reacquiring.take() {
                // It has waited for the lock since the signal, in one park.
                Some(pending) => {
                    Acquiring { start_ns: pending.start_ns, shared, parks: 1, wait: Some(pending) }
                }
                None => Acquiring { start_ns, shared, parks: 0, wait: None },
            });
        });
    }

    /// The current thread leaves the slow path of a j.u.c. lock.
    pub fn acquire_ends(&self, java: Java, thread: Object<'_>, outcome: Outcome) {
        let end_ns = clock::now_ns();
        self.recorder.with(java, thread, false, |context, waits| {
            context.ends_unseen(false);
            // An acquisition that never parked did not wait.
            if let Some(Acquiring { parks, wait: Some(pending), .. }) = waits.acquiring.pop() {
                self.end(context, pending, end_ns, outcome, parks);
            }
        });
    }

    /// What an exception that left a slow path says about the acquisition.
    pub fn outcome_of(&self, java: Java, exception: Object<'_>) -> Outcome {
        if java.is_instance(exception, self.recorder.fields().interrupted) {
            Outcome::Interrupted
        } else {
            Outcome::Failed
        }
    }

    /// The current thread is about to park.
    pub fn park_begins(&self, java: Java, thread: Object<'_>, limit: ParkLimit) {
        if !self.is_on() {
            return;
        }
        let mut begun = None;
        self.recorder.with(java, thread, true, |context, waits| {
            context.ends_unseen(false);
            self.end_found(context, waits, None);
            let Some(acquiring) = waits.acquiring.last_mut() else {
                let start_ns = clock::now_ns();
                let pending = self.begin_park(context, java, thread, false, start_ns);
                waits.reacquiring = None;
                waits.awaited_lock = match pending.kind {
                    WaitKind::Condition => self.lock_of_condition(context.generation, java, thread),
                    _ => id::UNKNOWN,
                };
                let limit_ns = limit.end_ns(start_ns);
                waits.park = Some(Park { wait: pending, limit_ns, by: ParkSeenBy::Probes });
                return;
            };
            acquiring.parks += 1;
            // A virtual thread may return elsewhere, and where it was, another may.
            context.ends_unseen(!context.thread.is_virtual());
            if acquiring.wait.is_none() {
                let (start_ns, shared) = (acquiring.start_ns, acquiring.shared);
                let pending = self.begin_park(context, java, thread, shared, start_ns);
                begun = Some((pending, context.thread.java_id));
                acquiring.wait = Some(pending);
            }
        });
        if let Some((pending, java_id)) = begun {
            self.look_for_ring(java, &pending, java_id);
        }
    }

    /// The current thread has returned from a park.
    pub fn park_ends(&self, java: Java, thread: Object<'_>) {
        // An acquisition goes on.
        if self.recorder.is_unseen_end(java, thread) {
            return;
        }
        let end_ns = clock::now_ns();
        self.recorder.with(java, thread, false, |context, waits| {
            self.end_found(context, waits, Some(end_ns));
            let Some(park) = waits.park.take() else { return };
            let pending = park.wait;
            let Some(signalled_ns) = self.signalled_within(context, &pending, end_ns) else {
                let outcome = self.outcome_of_park(context, &park, end_ns);
                self.end(context, pending, end_ns, outcome, 0);
                return;
            };
            // One park, two waits: for the signal, then for the lock, which
            // the thread is about to take.
            self.end(context, pending, signalled_ns, Outcome::Granted, 0);
            waits.reacquiring = Some(PendingWait::to_reacquire(&pending, waits, signalled_ns));
        });
    }

    /// When the context's thread was signalled in a wait for a condition that ends now, if
    /// it was.
    pub(super) fn signalled_within(
        &self,
        context: &EventContext<'_>,
        wait: &PendingWait,
        end_ns: u64,
    ) -> Option<u64> {
        let signalled_ns = match wait.kind {
            WaitKind::Condition => context.thread.signalled_ns.load(Relaxed),
            _ => 0,
        };
        (wait.start_ns..=end_ns).contains(&signalled_ns).then_some(signalled_ns)
    }

    /// The current thread signals a condition to the one that waits in `node`.
    pub fn signalled(&self, java: Java, node: Object<'_>, signaller: Object<'_>) {
        let now_ns = clock::now_ns();
        if !self.is_on() {
            return;
        }
        let of =
            self.recorder.fields().synchronizers.iter().find(|s| java.is_instance(node, s.node));
        let Some(synchronizer) = of else { return };
        let waiter = java.object_field(node, synchronizer.waiter);
        if !waiter.is_null() {
            let java_id = self.recorder.java_id(java, waiter.get());
            if let Some(thread) = self.recorder.threads().get(java_id) {
                thread.signalled_ns.store(now_ns, Relaxed);
                self.signals(java, thread, now_ns, signaller);
            }
            java.drop_local(waiter);
        }
    }

    fn begin_park(
        &self,
        context: &mut EventContext<'_>,
        java: Java,
        thread: Object<'_>,
        shared: bool,
        start_ns: u64,
    ) -> PendingWait {
        // The innermost frame is the probe.
        let stack = self.recorder.stack_of_wait(context, java, 1, Way::Park);
        let blocker = java.object_field(thread, self.recorder.fields().park_blocker);
        let shared = Some(shared);
        let pending = self.begin_park_of(context, java, blocker.get(), stack, shared, start_ns);
        java.drop_local(blocker);
        pending
    }

    /// The wait of a thread that is about to park at an object, or at none. Whether the lock is taken in shared
    /// mode is asked of the stack unless it is known.
    pub(super) fn begin_park_of(
        &self,
        context: &mut EventContext<'_>,
        java: Java,
        blocker: Object<'_>,
        stack: StackRef,
        shared: Option<bool>,
        start_ns: u64,
    ) -> PendingWait {
        let coming = Coming { way: Some(Way::Park), ..Coming::of(&stack) };
        let how = (shared, coming);
        let pending = self.park_at(context.generation, java, blocker, stack, how, start_ns);
        let pending = self.in_operation(context, java, pending);
        if !blocker.is_null() {
            self.observe_begin(context, java, pending, blocker);
        }
        pending
    }

    /// The wait of a thread that parks at an object, or at none.
    pub(super) fn park_at(
        &self,
        generation: &Generation,
        java: Java,
        blocker: Object<'_>,
        stack: StackRef,
        (shared, coming): (Option<bool>, Coming),
        start_ns: u64,
    ) -> PendingWait {
        if blocker.is_null() {
            let (kind, stack) = (WaitKind::Park, stack.id);
            return PendingWait { kind, start_ns, stack, ..PendingWait::NONE };
        }
        let lock = self.lock_of(generation, java, blocker, coming);
        let owner = match lock.flavor.has_owner() {
            true => self.owner_of(generation, java, blocker),
            false => Owner::default(),
        };
        let kind = lock.flavor.kind(shared.unwrap_or(stack.path.shared), stack.reacquires);
        let is_taken = kind.is_contention() || kind == WaitKind::Condition;
        let place = if is_taken { stack.place } else { id::UNKNOWN };
        let (stack, lock) = (stack.id, lock.id);
        PendingWait { kind, start_ns, stack, lock, place, owner, ..PendingWait::NONE }
    }
}

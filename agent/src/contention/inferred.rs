//! Waits as the parks alone tell them, where no probe stands in the slow paths of
//! `java.util.concurrent`.
//!
//! A lock may park a thread many times before the thread has it. Nobody says when
//! that is, so an acquisition is kept open after each park: when the thread parks
//! again by the same node of the lock's queue, it goes on. Else it was over when the
//! last park ended, and is written then: at the thread's next event, or by
//! [`Contention::settle_older`].
//!
//! When a condition was signalled, a probe may tell: then the park was two waits, for the
//! condition and for its lock. Without it the wait for the lock counts as part of the wait
//! for the condition until the thread parks again.

use super::{Contention, late::LateAcquisition};
use crate::{
    clock,
    jvm::{
        Java, Object,
        queues::{Found, Queues},
        virtual_threads::VirtualThreads,
    },
    log::dictionary::StackRef,
    recorder::Way,
    recorder::{
        EventContext,
        threads::{EndOfInferred, Inferred, Park, ParkSeenBy, PendingWait, Thread, Waits, Wake},
    },
};
use jvmti_bindings::sys::jvmti;
use std::{cell::LazyCell, sync::OnceLock};
use tyrion_wire::{Outcome, WaitKind, def::id};

/// The room that an earlier record gets, in bytes.
const LEAST_ROOM: usize = 4096;

/// What `Unsafe.park` was called with.
#[derive(Clone, Copy, Debug)]
pub enum ParkLimit {
    /// It waits until it is unparked or interrupted, or until a time of day: no lock
    /// is waited for in that way; or it is not known for how long.
    None,
    /// It waits for so many ns.
    Ns(u64),
}

/// Where a thread waits in the queue of a lock.
enum Node {
    /// By the node that has this identity hash.
    Hash(i32),
    /// Too far in front to be found.
    TooFar,
    Unknown,
}

impl Node {
    /// Whether it may be the one of before, for the same lock.
    fn may_be(&self, before: i32) -> bool {
        match self {
            Node::Hash(hash) => *hash == before,
            Node::TooFar => true,
            Node::Unknown => false,
        }
    }

    fn known(&self) -> Option<i32> {
        match self {
            Node::Hash(hash) => Some(*hash),
            Node::TooFar | Node::Unknown => None,
        }
    }
}

/// What is asked of the JDK's classes when parks are all that is seen.
pub struct ParksAlone {
    queues: Queues,
    /// Whether identity hashes tell objects apart: by `-XX:hashCode`, all may be the same.
    has_hashes: bool,
    /// Who sees virtual threads park.
    virtual_by: ParkSeenBy,
    /// Not before there is one: to look would start the threads that serve them.
    virtual_threads: OnceLock<Option<VirtualThreads>>,
}

impl Contention {
    /// Looks up what is asked of locks when parks are all that is seen, and notes who
    /// sees those of virtual threads. To be called before the first of them.
    pub fn infer(&self, java: Java, virtual_by: ParkSeenBy) {
        let _ = self.parks_alone.get_or_init(|| ParksAlone {
            queues: Queues::find(java.raw()),
            has_hashes: self.has_hashes(java),
            virtual_by,
            virtual_threads: OnceLock::new(),
        });
    }

    fn has_hashes(&self, java: Java) -> bool {
        let hash = || {
            let object = java.new_object_to_lock()?;
            let hash = self.recorder.ti().hash(object.get());
            java.drop_local(object);
            Some(hash)
        };
        hash() != hash()
    }

    /// The current thread is about to park, as somebody sees.
    pub fn hooked_park_begins(
        &self,
        java: Java,
        thread: Object<'_>,
        limit: ParkLimit,
        by: ParkSeenBy,
    ) {
        let start_ns = clock::now_ns();
        if !self.is_on() {
            return;
        }
        let mut begun = None;
        self.recorder.with(java, thread, true, |context, waits| {
            if !self.counts(context, by) {
                return;
            }
            let limit_ns = limit.end_ns(start_ns);
            let blocker = java.object_field(thread, self.recorder.fields().park_blocker);
            let before = waits.inferred.as_ref().filter(|it| !it.is_written);
            let before = before.and_then(|it| it.node);
            let node =
                LazyCell::new(|| self.node_of(java, blocker.get(), thread, before.is_some()));
            if before.is_some_and(|before| node.may_be(before))
                && let Some(inferred) = &mut waits.inferred
                && self.recorder.known_lock(blocker.get()) == inferred.wait.lock
            {
                inferred.parks_again(limit_ns);
                return;
            }
            let is_signalled = waits.inferred.as_ref().is_some_and(Inferred::is_signalled);
            if !is_signalled {
                self.settle(context, waits);
                waits.inferred = None;
            }
            let stack = self.stack_of_park(context, java);
            let pending = self.begin_park_of(context, java, blocker.get(), stack, None, start_ns);
            if is_signalled {
                // Its first park for the lock, since the signal, was that for the condition.
                let lock = (pending.kind == WaitKind::LockReacquire).then_some(pending.lock);
                if let Some(inferred) = &mut waits.inferred
                    && lock == Some(inferred.wait.lock)
                {
                    inferred.node = node.known();
                    inferred.parks_again(limit_ns);
                    return;
                }
                self.settle(context, waits);
                waits.inferred = None;
            }
            if !pending.kind.is_contention() {
                waits.awaited_lock = id::UNKNOWN;
                waits.park = Some(Park { wait: pending, limit_ns, by: ParkSeenBy::Natives });
                return;
            }
            begun = Some((pending, context.thread.java_id));
            waits.inferred = Some(Inferred {
                wait: pending,
                node: node.known(),
                parks: 1,
                interruptible: stack.path.interruptible,
                limit_ns,
                ended_ns: 0,
                outcome: Outcome::Granted,
                is_written: false,
            });
        });
        if let Some((pending, java_id)) = begun {
            self.look_for_ring(java, &pending, java_id);
        }
    }

    /// The current thread has returned from a park that was seen to begin here.
    pub fn hooked_park_ends(&self, java: Java, thread: Object<'_>, by: ParkSeenBy) {
        let end_ns = clock::now_ns();
        self.recorder.with(java, thread, false, |context, waits| {
            if !self.counts(context, by) {
                return;
            }
            self.end_found(context, waits, Some(end_ns));
            if let Some(park) = waits.park.take_if(|park| park.by == ParkSeenBy::Natives) {
                match self.signalled_within(context, &park.wait, end_ns) {
                    Some(signalled_ns) => {
                        self.end(context, park.wait, signalled_ns, Outcome::Granted, 0);
                        waits.awaited_lock =
                            self.lock_of_condition(context.generation, java, thread);
                        let wait = PendingWait::to_reacquire(&park.wait, waits, signalled_ns);
                        waits.inferred = Some(Inferred::since_signal(wait, end_ns));
                    }
                    None => {
                        let outcome = self.outcome_of_park(context, &park, end_ns);
                        self.end(context, park.wait, end_ns, outcome, 0);
                    }
                }
            } else if let Some(inferred) = waits.inferred.as_mut().filter(|it| it.is_parked()) {
                inferred.ended_ns = end_ns;
                inferred.outcome = if inferred.interruptible && self.is_interrupted(java, thread) {
                    Outcome::Interrupted
                } else if inferred.limit_ns <= end_ns {
                    Outcome::TimedOut
                } else {
                    Outcome::Granted
                };
                // Unless it parks again.
                self.takes(context, &inferred.wait, end_ns, inferred.outcome);
            }
        });
    }

    /// The current thread, a virtual one, leaves its carrier: to park?
    pub fn leaves_carrier(&self, java: Java, thread: Object<'_>) {
        if self.is_parking(java, thread) {
            self.hooked_park_begins(java, thread, ParkLimit::None, ParkSeenBy::Natives);
        }
    }

    /// The current thread, a virtual one, is on a carrier again, after a park or
    /// something else.
    pub fn has_carrier(&self, java: Java, thread: Object<'_>) {
        if !self.is_parking(java, thread) {
            return self.hooked_park_ends(java, thread, ParkSeenBy::Natives);
        }
        // It could not leave, and parks on its carrier now, which is seen there.
        self.recorder.with(java, thread, false, |_, waits| {
            waits.park.take_if(|park| park.by == ParkSeenBy::Natives);
            let Some(inferred) = waits.inferred.as_mut().filter(|it| it.is_parked()) else {
                return;
            };
            inferred.parks -= 1;
            inferred.ended_ns = clock::now_ns();
        });
    }

    /// Who sees virtual threads park, if parks alone are seen.
    pub fn virtual_parks_seen_by(&self) -> Option<ParkSeenBy> {
        self.parks_alone.get().map(|known| known.virtual_by)
    }

    /// Whether what somebody saw of the current thread is to be recorded: a virtual thread
    /// that cannot leave its carrier parks by a native method, in a park that probes see.
    fn counts(&self, context: &EventContext<'_>, by: ParkSeenBy) -> bool {
        !context.thread.is_virtual() || self.virtual_parks_seen_by() == Some(by)
    }

    fn is_parking(&self, java: Java, thread: Object<'_>) -> bool {
        self.virtual_threads(java).is_some_and(|known| known.is_parking(java, thread))
    }

    fn virtual_threads(&self, java: Java) -> Option<&VirtualThreads> {
        let find = || VirtualThreads::find(self.recorder.ti(), java);
        self.parks_alone.get()?.virtual_threads.get_or_init(find).as_ref()
    }

    /// The current stack without what leads from `LockSupport` to the JVM.
    fn stack_of_park(&self, context: &mut EventContext<'_>, java: Java) -> StackRef {
        let is_virtual = context.thread.is_virtual();
        let leaves_carrier =
            is_virtual && self.virtual_parks_seen_by() == Some(ParkSeenBy::Natives);
        match leaves_carrier.then(|| self.virtual_threads(java)).flatten() {
            Some(known) => {
                self.recorder.stack_past(context, java, |method| known.is_machinery(method))
            }
            // The innermost frame is the native method, or the probe.
            None => self.recorder.stack_of_wait(context, java, 1, Way::Park),
        }
    }

    /// Writes the acquisition of a thread that is over, if there is one; the
    /// thread's next event has begun.
    pub(super) fn settle(&self, context: &mut EventContext<'_>, waits: &mut Waits) {
        self.end_found(context, waits, None);
        if let Some(inferred) = &mut waits.inferred
            && let Some(wait) = inferred.take_ended()
        {
            let wake = self.wake_of(context, &wait.pending, wait.ended_ns, wait.outcome);
            let is_late = context.thread.is_virtual() && context.lane.is_past(wait.ended_ns);
            if !is_late || !self.late.keep(context.thread, waits, &wait, wake) {
                self.write_ended(context, &wait, wake);
            }
        }
    }

    fn write_ended(
        &self,
        context: &mut EventContext<'_>,
        wait: &EndOfInferred,
        wake: Option<Wake>,
    ) {
        // Others may have written here since.
        let thread = context.thread.id(context.generation);
        let log = &context.generation.log;
        context.lane.go_back_to(log, thread, wait.ended_ns, LEAST_ROOM);
        self.write(context, wait, wake);
    }

    /// The same for a thread that ends, whose last word this is.
    pub fn settle_last(&self, java: Java, thread: Object<'_>) {
        self.recorder.with(java, thread, false, |context, waits| {
            self.settle(context, waits);
            waits.inferred = None;
        });
    }

    /// Writes the acquisitions that were over before a moment, in monotonic ns, of
    /// threads that have had no event since.
    pub fn settle_older(&'static self, before_ns: u64) {
        if self.parks_alone.get().is_none() {
            return;
        }
        let mut ended = self.late.take_older(before_ns);
        let of_threads = self.recorder.threads().ended_acquisitions(before_ns).into_iter();
        ended.extend(of_threads.map(LateAcquisition::with_thread));
        ended.sort_by_key(|it| it.ended_ns);
        for LateAcquisition { thread, kept, .. } in ended {
            self.recorder.in_context_of_thread(&thread, |context| match kept {
                Some((waits, wake)) => self.write_late(context, waits, wake),
                None => self.settle_thread(context, &thread, before_ns),
            });
        }
    }

    /// Writes the acquisition of a thread that was over before a moment, if there is one.
    fn settle_thread(&self, context: &mut EventContext<'_>, thread: &Thread, before_ns: u64) {
        let Some(mut waits) = thread.try_waits() else { return };
        let is_over = |inferred: &Inferred| inferred.ended_ns != 0 && inferred.ended_ns < before_ns;
        let same = waits.generation() == context.generation.number;
        if same
            && let Some(inferred) = waits.inferred.as_mut().filter(|it| is_over(it))
            && let Some(wait) = inferred.take_ended()
        {
            let wake = self.wake_of(context, &wait.pending, wait.ended_ns, wait.outcome);
            self.write_ended(context, &wait, wake);
        }
    }

    fn write_late(&self, context: &mut EventContext<'_>, mut waits: Waits, wake: Option<Wake>) {
        if waits.generation() != context.generation.number {
            self.recorder.move_ended(&mut waits, context.generation);
        }
        if let Some(wait) = waits.inferred.as_mut().and_then(Inferred::take_ended) {
            self.write_ended(context, &wait, wake);
        }
    }

    /// What tells the node by which the current thread waits for a lock from all others.
    fn node_of(
        &self,
        java: Java,
        lock: Object<'_>,
        thread: Object<'_>,
        may_be_first: bool,
    ) -> Node {
        let known = self.parks_alone.get().filter(|known| known.has_hashes);
        match known.map(|known| known.queues.node(java, lock, thread, may_be_first)) {
            Some(Found::Node(node)) => Node::Hash(self.recorder.ti().hash(node.get())),
            Some(Found::TooMany) => Node::TooFar,
            Some(Found::Nowhere) | None => Node::Unknown,
        }
    }

    /// Whether the current thread has been interrupted and has not noticed yet.
    fn is_interrupted(&self, java: Java, thread: Object<'_>) -> bool {
        let told = self.parks_alone.get();
        let told = told.and_then(|known| known.queues.is_interrupted(java, thread));
        told.unwrap_or_else(|| {
            let bits = self.recorder.ti().current_state_bits(thread).unwrap_or(0);
            bits & jvmti::JVMTI_THREAD_STATE_INTERRUPTED != 0
        })
    }
}

impl ParkLimit {
    /// When it ends, in monotonic ns.
    pub(super) fn end_ns(self, start_ns: u64) -> u64 {
        match self {
            ParkLimit::None => u64::MAX,
            ParkLimit::Ns(ns) => start_ns.saturating_add(ns),
        }
    }
}

//! Waits: from "a thread begins to wait" and "it goes on" to a wait in the log.
//!
//! - [`parks`]: locks of java.util.concurrent, conditions, and all else that parks
//! - [`found`]: those that were under way when recording began
//! - [`inferred`]: the same, where the parks are all that is seen
//! - [`locks`]: what is waited for
//! - [`owners`]: who has it, and [`holders`] what that one does
//! - [`wakers`], [`object_waiters`]: who ends the wait

mod found;
mod holders;
mod inferred;
mod initializations;
mod late;
mod locks;
mod object_waiters;
mod owners;
mod parks;
mod wakers;

use crate::{
    clock, groups,
    jvm::{Java, Object},
    log::lane::EndedWait,
    recorder::{
        EventContext, Recorder, Way,
        observe::WaitObserver,
        threads::{EndOfInferred, PendingWait, Taken, Wake},
    },
    sync::Turn,
};
use holders::Holders;
pub use inferred::ParkLimit;
use inferred::ParksAlone;
use initializations::Initializations;
use late::Late;
use locks::Coming;
use object_waiters::ObjectWaiters;
pub use owners::Wanted;
use std::sync::{
    OnceLock,
    atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
};
use tyrion_wire::{Outcome, WaitKind, def::id, lock_flavor::LockFlavor};

/// Records waits.
pub struct Contention {
    recorder: &'static Recorder,
    /// Whether waits are recorded, as long as anything is.
    on: AtomicBool,
    /// Whether it is noted who ends waits.
    wakers: AtomicBool,
    /// Those in `Object.wait`, while that is noted.
    object_waiters: ObjectWaiters,
    /// How many locks have an id, which is the same in all files.
    locks: AtomicU32,
    /// Taken while an object gets its tag, so that it gets one.
    naming: Turn,
    /// Looks what those do who have a lock.
    holders: Holders,
    /// Who may wait for the initialization of a class.
    initializations: Initializations,
    /// Who else wants to know of waits.
    observer: OnceLock<&'static dyn WaitObserver>,
    /// What is asked of the JDK's classes once parks are all that is seen.
    parks_alone: OnceLock<ParksAlone>,
    /// What virtual threads have not written yet.
    late: Late,
}

impl Contention {
    /// Without an observer.
    pub fn new(recorder: &'static Recorder) -> Contention {
        Contention {
            recorder,
            on: AtomicBool::new(false),
            wakers: AtomicBool::new(false),
            object_waiters: ObjectWaiters::default(),
            locks: AtomicU32::new(0),
            naming: Turn::default(),
            holders: Holders::new(),
            initializations: Initializations::default(),
            observer: OnceLock::new(),
            parks_alone: OnceLock::new(),
            late: Late::default(),
        }
    }

    /// What waits are recorded with.
    pub fn recorder(&self) -> &'static Recorder {
        self.recorder
    }

    /// Has waits that begin from now on recorded, or not, as long as anything is.
    pub fn set_on(&self, on: bool) {
        self.on.store(on, Relaxed);
    }

    /// Whether waits that begin now are recorded.
    #[inline]
    fn is_on(&self) -> bool {
        self.on.load(Relaxed) && self.recorder.is_enabled()
    }

    /// Has somebody observe waits from now on. To be called once.
    pub fn observe_with(&self, observer: &'static dyn WaitObserver) {
        let _ = self.observer.set(observer);
    }

    #[inline]
    fn observer(&self) -> Option<&'static dyn WaitObserver> {
        self.observer.get().copied()
    }

    /// The current thread begins to wait for a monitor.
    pub fn monitor_begins(
        &self,
        java: Java,
        thread: Object<'_>,
        object: Object<'_>,
        wanted: Wanted,
    ) {
        let start_ns = wanted.start_ns;
        let mut begun = None;
        self.recorder.with(java, thread, true, |context, waits| {
            waits.reacquiring = None;
            self.settle(context, waits);
            let asked_ns = self.observer().and_then(|observer| observer.asked_ns(context.thread));
            let start_ns = asked_ns.unwrap_or(start_ns);
            let how = (WaitKind::Monitor, start_ns, Some(wanted));
            let pending = self.begin(context, java, object, how);
            begun = Some((pending, context.thread.java_id));
            waits.monitor = Some(pending);
        });
        if let Some((pending, java_id)) = begun {
            self.look_for_ring(java, &pending, java_id);
        }
    }

    /// The current thread has got the monitor that it waited for.
    pub fn monitor_ends(&self, java: Java, thread: Object<'_>) {
        let end_ns = clock::now_ns();
        self.recorder.with(java, thread, false, |context, waits| {
            if let Some(pending) = waits.monitor.take() {
                self.end(context, pending, end_ns, Outcome::Granted, 0);
            }
        });
    }

    /// The current thread has got a monitor at a place, for which it has spun: the JVM saw
    /// no contention. As many of its innermost frames as `probes` are no frames of the
    /// program's.
    pub fn monitor_was_delayed(
        &self,
        java: Java,
        thread: Object<'_>,
        object: Object<'_>,
        (start_ns, end_ns): (u64, u64),
        (place, probes): (u32, usize),
    ) {
        self.recorder.with(java, thread, true, |context, _| {
            let stack = self.recorder.stack(context, java, probes).id;
            let lock = self.lock_of(context.generation, java, object, Coming::UNSEEN).id;
            let kind = WaitKind::Monitor;
            let pending = PendingWait { kind, start_ns, stack, lock, place, ..PendingWait::NONE };
            let pending = self.in_operation(context, java, pending);
            self.end(context, pending, end_ns, Outcome::Granted, 0);
        });
    }

    /// The current thread begins `Object.wait`.
    pub fn object_wait_begins(&self, java: Java, thread: Object<'_>, object: Object<'_>) {
        let start_ns = clock::now_ns();
        self.recorder.with(java, thread, true, |context, waits| {
            waits.reacquiring = None;
            self.settle(context, waits);
            self.forget_object_wait(context, waits);
            let how = (WaitKind::ObjectWait, start_ns, None);
            let pending = self.begin(context, java, object, how);
            self.enter_object_wait(context, &pending);
            waits.object_wait = Some(pending);
        });
        self.observe_object_wait(java, thread, object, true);
    }

    /// The current thread returns from `Object.wait`.
    pub fn object_wait_ends(
        &self,
        java: Java,
        thread: Object<'_>,
        object: Object<'_>,
        timed_out: bool,
    ) {
        let end_ns = clock::now_ns();
        self.observe_object_wait(java, thread, object, false);
        let outcome = if timed_out { Outcome::TimedOut } else { Outcome::Granted };
        self.recorder.with(java, thread, false, |context, waits| {
            if let Some(pending) = waits.object_wait.take() {
                self.end(context, pending, end_ns, outcome, 0);
            }
            // It was entering the monitor again when recording began.
            if let Some(pending) = waits.monitor.take() {
                self.end(context, pending, end_ns, Outcome::Granted, 0);
            }
        });
    }

    fn begin(
        &self,
        context: &mut EventContext<'_>,
        java: Java,
        object: Object<'_>,
        (kind, start_ns, wanted): (WaitKind, u64, Option<Wanted>),
    ) -> PendingWait {
        let way = match kind {
            WaitKind::Monitor => Way::Monitor,
            _ => Way::ObjectWait,
        };
        let stack = self.recorder.stack_of_wait(context, java, 0, way);
        let coming = Coming { way: Some(way), reacquires: false, place: stack.place };
        let lock = self.lock_of(context.generation, java, object, coming);
        let place = match lock.flavor {
            // The code takes no lock there.
            LockFlavor::Initialization => id::UNKNOWN,
            _ => stack.place,
        };
        let wanted = wanted.unwrap_or_default();
        let (owner, monitor) = (self.owner_of_wanted(context, java, &wanted), wanted.monitor);
        let (stack, lock, none) = (stack.id, lock.id, PendingWait::NONE);
        let pending = PendingWait { kind, start_ns, stack, lock, place, owner, monitor, ..none };
        let pending = self.in_operation(context, java, pending);
        self.observe_begin(context, java, pending, object);
        pending
    }

    /// A wait of the current thread that begins, with its span and what the owner does.
    fn in_operation(
        &self,
        context: &EventContext<'_>,
        java: Java,
        wait: PendingWait,
    ) -> PendingWait {
        let span = self.recorder.span_of(java, context.thread);
        let owner_group = match wait.owner.is_known() {
            true => self.recorder.group_number_of(java, wait.owner.java_id),
            false => groups::NONE,
        };
        PendingWait { span, owner_group, ..wait }
    }

    fn observe_begin(
        &self,
        context: &mut EventContext<'_>,
        java: Java,
        pending: PendingWait,
        lock: Object<'_>,
    ) {
        if let Some(observer) = self.observer() {
            observer.wait_begins(context, java, pending, lock);
        }
    }

    /// `Object.wait` gives a monitor up, or has it again.
    fn observe_object_wait(
        &self,
        java: Java,
        thread: Object<'_>,
        object: Object<'_>,
        gives_up: bool,
    ) {
        if let Some(observer) = self.observer().filter(|_| self.recorder.is_enabled()) {
            observer.object_wait(java, self.recorder.java_id(java, thread), object, gives_up);
        }
    }

    fn end(
        &self,
        context: &mut EventContext<'_>,
        pending: PendingWait,
        end_ns: u64,
        outcome: Outcome,
        parks: u64,
    ) {
        self.takes(context, &pending, end_ns, outcome);
        let wake = self.wake_of(context, &pending, end_ns, outcome);
        self.write(context, &EndOfInferred { pending, ended_ns: end_ns, outcome, parks }, wake);
    }

    /// The context's thread has got what it waited for, if that is how the wait ends.
    fn takes(&self, context: &EventContext<'_>, wait: &PendingWait, at_ns: u64, outcome: Outcome) {
        if wait.kind.is_contention() && outcome == Outcome::Granted && self.holders.is_on() {
            let generation = context.generation.number;
            context.thread.note_taken(Taken { wait: *wait, generation, at_ns });
        }
    }

    /// Writes a wait of the context's thread.
    fn write(&self, context: &mut EventContext<'_>, end: &EndOfInferred, wake: Option<Wake>) {
        let EndOfInferred { pending, ended_ns: end_ns, outcome, parks } = *end;
        let contention = pending.kind.is_contention();
        let observer = self.observer();
        let blame = observer.map(|observer| observer.wait_ends(context.thread, &pending, end_ns));
        let Some(site) = self.recorder.site(context, &pending) else {
            context.lane.drop_wait(&context.generation.log, contention);
            self.recorder.totals().dropped(context.thread);
            return;
        };
        let ended = EndedWait {
            thread: context.thread.id(context.generation),
            site,
            contention,
            start_ns: pending.start_ns,
            end_ns,
            outcome,
            owner: pending.owner.id,
            parks,
            group: self.recorder.group_stack(context, pending.owner_group),
            span: pending.span,
        };
        let written =
            context.lane.write(&context.generation.log, &ended, self.recorder.threshold_ns());
        self.recorder.totals().ended(context.thread, &ended, written);
        if let Some(wake) = wake.filter(|_| written) {
            self.write_wake(context, &ended, &wake);
        }
        if let (Some(observer), Some(blame)) = (observer, blame) {
            observer.wait_written(context, site, blame);
        }
    }
}

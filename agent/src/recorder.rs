//! From "a thread begins to wait" and "it goes on" to a wait in the log.

mod groups;
mod lives;
mod locks;
mod owners;
mod pauses;
pub mod sampled;
mod scene;
mod totals;
pub mod traced;

pub use owners::LongWait;
use pauses::Paused;
pub use scene::Scene;
pub use totals::Totals;

use crate::{
    clock,
    dictionary::{StackRef, fingerprint, marked, within},
    groups::Groups,
    jvm::{Java, Ti, Walker, setup::Fields, walk::MOST_SKIPPED},
    lane::{Ended, Lanes},
    lock_names::{LockNames, Way},
    options::Pattern,
    rotation::Log,
    sample,
    threads::{Acquiring, Begun, Owner, Thread, Threads},
    trace,
    volume::Volume,
};
use jvmti_bindings::sys::jni::{jobject, jthread};
use std::{
    ops::Range,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed},
    },
};
use tyrion_wire::{Outcome, WaitKind, def::id, header::Header};

/// Records waits into one log.
pub struct Recorder {
    ti: Ti,
    walker: Option<Walker>,
    fields: Fields,
    log: Log,
    lanes: Lanes,
    threads: Threads,
    depth: usize,
    /// How many threads a file tells of that do not wait.
    most_told: u32,
    excluded: Vec<Pattern>,
    enabled: AtomicBool,
    threshold_ns: AtomicU64,
    /// How many locks have an id, which is the same in all files.
    locks: AtomicU32,
    /// Held while an object gets its tag, so that it gets one.
    naming: Mutex<()>,
    /// What the program calls its locks.
    names: LockNames,
    /// What the program says that its threads are doing.
    groups: Groups,
    /// What the program may ask for.
    totals: Totals,
    /// The pause in which nothing is recorded.
    pause: Mutex<Option<Paused>>,
}

impl Recorder {
    /// A recorder that is switched off.
    pub fn new(
        (ti, walker): (Ti, Option<Walker>),
        fields: Fields,
        log: Log,
        header: &Header,
        excluded: Vec<Pattern>,
    ) -> Recorder {
        Recorder {
            ti,
            walker,
            fields,
            most_told: lives::most_told(log.filesize()),
            log,
            lanes: Lanes::default(),
            threads: Threads::new(),
            depth: header.depth as usize,
            excluded,
            enabled: AtomicBool::new(false),
            threshold_ns: AtomicU64::new(header.threshold_ns),
            locks: AtomicU32::new(0),
            naming: Mutex::new(()),
            names: LockNames::default(),
            groups: Groups::default(),
            totals: Totals::default(),
            pause: Mutex::default(),
        }
    }

    /// The log that is written.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// What the log's helper thread does for ever; see [`Log::keep`].
    pub fn keep_log(&self) -> Option<String> {
        // Lanes first: once they have left, no event is under way that could
        // begin a wait in the volume before.
        self.log.keep(|from, to| {
            self.repeat_pause(to);
            self.lanes.leave(from.number)
                && sample::leave(from)
                && self.threads.go_over(from, to, self.most_told)
        })
    }

    /// The JVMTI environment.
    pub fn ti(&self) -> Ti {
        self.ti
    }

    /// How often two ways to walk a stack differed, if that was asked.
    pub fn account_of_walks(&self) -> Option<String> {
        self.walker.as_ref()?.account()
    }

    /// Whether waits that begin now are recorded.
    #[inline]
    pub fn is_enabled(&self) -> bool {
        self.enabled.load(Relaxed)
    }

    /// Has waits that begin from now on recorded, or not. Those that have
    /// begun are recorded in any case. See also [`Recorder::pauses`].
    pub fn set_enabled(&self, on: bool) {
        self.enabled.store(on, Relaxed);
    }

    /// Waits shorter than this, in ns, are folded.
    pub fn threshold_ns(&self) -> u64 {
        self.threshold_ns.load(Relaxed)
    }

    /// Changes the threshold.
    pub fn set_threshold_ns(&self, threshold_ns: u64) {
        self.threshold_ns.store(threshold_ns, Relaxed);
    }

    /// The current thread begins to wait for a monitor.
    pub fn monitor_begins(&'static self, java: Java, thread: jthread, object: jobject) {
        let start_ns = clock::now_ns();
        self.with(java, thread, true, |scene, waits| {
            waits.reacquiring = None;
            let start_ns = traced::asked_ns(scene.thread).unwrap_or(start_ns);
            waits.monitor = Some(self.begin(scene, java, object, WaitKind::Monitor, start_ns));
        });
    }

    /// The current thread has got the monitor that it waited for.
    pub fn monitor_ends(&'static self, java: Java, thread: jthread) {
        let end_ns = clock::now_ns();
        self.with(java, thread, false, |scene, waits| {
            if let Some(begun) = waits.monitor.take() {
                self.end(scene, begun, end_ns, Outcome::Granted, 0);
            }
        });
    }

    /// The current thread has got a monitor after a delay in which the JVM saw
    /// no contention: it has spun, or was kept from running.
    pub fn monitor_was_delayed(
        &'static self,
        java: Java,
        thread: jthread,
        object: jobject,
        (start_ns, end_ns): (u64, u64),
    ) {
        self.with(java, thread, true, |scene, _| {
            let stack = self.stack(scene, java, traced::DELAY_PROBES, false).id;
            let lock = self.lock_of(scene.volume, java, object, Way::Unseen).id;
            let (kind, owner) = (WaitKind::Monitor, Owner::default());
            let begun = Begun { kind, start_ns, stack, lock, owner };
            self.end(scene, begun, end_ns, Outcome::Granted, 0);
        });
    }

    /// The current thread begins `Object.wait`.
    pub fn object_wait_begins(&'static self, java: Java, thread: jthread, object: jobject) {
        let start_ns = clock::now_ns();
        self.with(java, thread, true, |scene, waits| {
            waits.reacquiring = None;
            waits.object_wait =
                Some(self.begin(scene, java, object, WaitKind::ObjectWait, start_ns));
        });
        self.trace_pause(java, thread, object, true);
    }

    /// `Object.wait` gives a monitor up, or has it again: it is not held between.
    fn trace_pause(&'static self, java: Java, thread: jthread, object: jobject, gives_up: bool) {
        if let Some(trace) = trace::active().filter(|_| self.is_enabled()) {
            let java_id = java.long_field(thread, self.fields.thread_id);
            trace.object_wait(java, java_id, object, gives_up);
        }
    }

    /// The current thread returns from `Object.wait`.
    pub fn object_wait_ends(
        &'static self,
        java: Java,
        thread: jthread,
        object: jobject,
        timed_out: bool,
    ) {
        let end_ns = clock::now_ns();
        self.trace_pause(java, thread, object, false);
        let outcome = if timed_out { Outcome::TimedOut } else { Outcome::Granted };
        self.with(java, thread, false, |scene, waits| {
            if let Some(begun) = waits.object_wait.take() {
                self.end(scene, begun, end_ns, outcome, 0);
            }
            // It was entering the monitor again when recording began.
            if let Some(begun) = waits.monitor.take() {
                self.end(scene, begun, end_ns, Outcome::Granted, 0);
            }
        });
    }

    /// The current thread enters the slow path of a j.u.c. lock.
    pub fn acquire_begins(&'static self, java: Java, thread: jthread, shared: bool) {
        let start_ns = clock::now_ns();
        let enabled = self.is_enabled();
        self.with(java, thread, enabled, |_, waits| {
            // What has begun is finished, even when recording was switched off
            // meanwhile; and then each entry needs its exit.
            if !enabled && waits.reacquiring.is_none() && waits.acquiring.is_empty() {
                return;
            }
            waits.acquiring.push(match waits.reacquiring.take() {
                // It has waited for the lock since the signal, in one park.
                Some(begun) => {
                    Acquiring { start_ns: begun.start_ns, shared, parks: 1, wait: Some(begun) }
                }
                None => Acquiring { start_ns, shared, parks: 0, wait: None },
            });
        });
    }

    /// The current thread leaves the slow path of a j.u.c. lock.
    pub fn acquire_ends(&'static self, java: Java, thread: jthread, outcome: Outcome) {
        let end_ns = clock::now_ns();
        self.with(java, thread, false, |scene, waits| {
            // An acquisition that never parked did not wait.
            if let Some(Acquiring { parks, wait: Some(begun), .. }) = waits.acquiring.pop() {
                self.end(scene, begun, end_ns, outcome, parks);
            }
        });
    }

    /// What an exception that left a slow path says about the acquisition.
    pub fn outcome_of(&self, java: Java, exception: jobject) -> Outcome {
        if java.is_instance(exception, self.fields.interrupted) {
            Outcome::Interrupted
        } else {
            Outcome::Failed
        }
    }

    /// The current thread is about to park.
    pub fn park_begins(&'static self, java: Java, thread: jthread) {
        let start_ns = clock::now_ns();
        self.with(java, thread, true, |scene, waits| match waits.acquiring.last_mut() {
            Some(acquiring) => {
                acquiring.parks += 1;
                if acquiring.wait.is_none() {
                    let (start_ns, shared) = (acquiring.start_ns, acquiring.shared);
                    acquiring.wait = Some(self.begin_park(scene, java, thread, shared, start_ns));
                }
            }
            None => {
                let begun = self.begin_park(scene, java, thread, false, start_ns);
                waits.reacquiring = None;
                waits.awaited_lock = match begun.kind {
                    WaitKind::Condition => self.lock_of_condition(scene.volume, java, thread),
                    _ => id::UNKNOWN,
                };
                waits.park = Some(begun);
            }
        });
    }

    /// The current thread has returned from a park.
    pub fn park_ends(&'static self, java: Java, thread: jthread) {
        let end_ns = clock::now_ns();
        self.with(java, thread, false, |scene, waits| {
            let Some(begun) = waits.park.take() else { return };
            let signalled_ns = match begun.kind {
                WaitKind::Condition => scene.thread.signalled_ns.load(Relaxed),
                _ => 0,
            };
            if !(begun.start_ns..=end_ns).contains(&signalled_ns) {
                self.end(scene, begun, end_ns, Outcome::Granted, 0);
                return;
            }
            // One park, two waits: for the signal, then for the lock, which
            // the thread is about to take.
            self.end(scene, begun, signalled_ns, Outcome::Granted, 0);
            waits.reacquiring = Some(Begun {
                kind: WaitKind::LockReacquire,
                start_ns: signalled_ns,
                lock: waits.awaited_lock,
                ..begun
            });
        });
    }

    /// A condition is signalled to the thread that waits in `node`.
    pub fn signalled(&'static self, java: Java, node: jobject) {
        let now_ns = clock::now_ns();
        if !self.is_enabled() {
            return;
        }
        let of = self.fields.synchronizers.iter().find(|s| java.is_instance(node, s.node));
        let Some(synchronizer) = of else { return };
        let waiter = java.object_field(node, synchronizer.waiter);
        if !waiter.is_null() {
            let java_id = java.long_field(waiter, self.fields.thread_id);
            if let Some(thread) = self.threads.get(java_id) {
                thread.signalled_ns.store(now_ns, Relaxed);
            }
            java.drop_local(waiter);
        }
    }

    /// A thread has got another name.
    pub fn renamed(&'static self, java: Java, thread: jthread) {
        let at_ns = clock::now_ns();
        let known = self.threads.get(java.long_field(thread, self.fields.thread_id));
        if let Some(known) = known.filter(|known| known.is_described())
            && let Ok(info) = self.ti.thread(java, thread)
        {
            known.rename(&self.log.current(), info.name, at_ns);
        }
    }

    /// What another thread waits for, and its site, with ids of the scene's
    /// volume. `None` when it does not wait, or is in the middle of an event.
    pub fn site_of_waiter(&self, scene: &mut Scene<'_>, waiter: &Thread) -> Option<(Begun, u32)> {
        let mut waits = waiter.try_waits()?;
        if waits.volume() < scene.volume.number {
            self.move_waits(waiter, &mut waits, scene.volume);
        }
        let is_same = waits.volume() == scene.volume.number;
        let begun = waits.innermost().filter(|_| is_same)?;
        Some((begun, self.site(scene, &begun)?))
    }

    fn begin(
        &self,
        scene: &mut Scene<'_>,
        java: Java,
        object: jobject,
        kind: WaitKind,
        start_ns: u64,
    ) -> Begun {
        let stack = self.stack(scene, java, 0, kind == WaitKind::Monitor);
        let way = match kind {
            WaitKind::Monitor => Way::Monitor,
            _ => Way::ObjectWait,
        };
        let lock = self.lock_of(scene.volume, java, object, way);
        let begun =
            Begun { kind, start_ns, stack: stack.id, lock: lock.id, owner: Owner::default() };
        trace_wait(scene, java, begun, object);
        begun
    }

    fn begin_park(
        &self,
        scene: &mut Scene<'_>,
        java: Java,
        thread: jthread,
        shared: bool,
        start_ns: u64,
    ) -> Begun {
        // The innermost frame is the probe.
        let stack = self.stack(scene, java, 1, false);
        let blocker = java.object_field(thread, self.fields.park_blocker);
        if blocker.is_null() {
            let (stack, lock, owner) = (stack.id, id::UNKNOWN, Owner::default());
            return Begun { kind: WaitKind::Park, start_ns, stack, lock, owner };
        }
        let way = if stack.reacquires { Way::Condition } else { Way::Park };
        let lock = self.lock_of(scene.volume, java, blocker, way);
        let owner = match lock.nature.has_owner() {
            true => self.owner_of(scene.volume, java, blocker),
            false => Owner::default(),
        };
        let kind = lock.nature.kind(shared, stack.reacquires);
        let begun = Begun { kind, start_ns, stack: stack.id, lock: lock.id, owner };
        trace_wait(scene, java, begun, blocker);
        begun
    }

    fn end(&self, scene: &mut Scene<'_>, begun: Begun, end_ns: u64, outcome: Outcome, parks: u64) {
        let contention = begun.kind.is_contention();
        let trace = trace::active().filter(|_| is_blamed(begun.kind));
        let folded = trace.map(|trace| trace.wait_ends(scene.thread, begun.lock));
        let Some(site) = self.site(scene, &begun) else {
            scene.lane.drop_wait(&scene.volume.log, contention);
            self.totals.dropped(scene.thread);
            return;
        };
        let ended = Ended {
            thread: scene.thread.id(scene.volume),
            site,
            contention,
            start_ns: begun.start_ns,
            end_ns,
            outcome,
            owner: begun.owner.id,
            parks,
        };
        let written = scene.lane.write(&scene.volume.log, &ended, self.threshold_ns());
        self.totals.ended(scene.thread, &ended, written);
        if let (Some(trace), Some(folded)) = (trace, folded) {
            trace.write_folded(scene, site, folded);
        }
    }

    /// The id of the site of a wait of the scene's thread.
    fn site(&self, scene: &mut Scene<'_>, begun: &Begun) -> Option<u32> {
        let kind = u64::from(begun.kind.code());
        let key = (kind << 32 | u64::from(begun.stack), u64::from(begun.lock));
        if let Some(&known) = scene.lane.sites.get(&key) {
            return Some(known);
        }
        let Volume { log, dictionary, .. } = &**scene.volume;
        let site = dictionary.site(log, begun.kind, begun.stack, begun.lock)?;
        scene.lane.trim();
        scene.lane.sites.insert(key, site);
        Some(site)
    }

    /// The current stack's id; the empty stack's when it cannot be defined.
    pub fn stack(
        &self,
        scene: &mut Scene<'_>,
        java: Java,
        skip: usize,
        at_monitor: bool,
    ) -> StackRef {
        let count = self.walk(scene, java, skip, at_monitor);
        let cut = count > self.depth;
        let group = scene.thread.groups.innermost();
        self.stack_of(scene, java, 0..count.min(self.depth), (cut, at_monitor), group)
    }

    /// The current thread's stack below its `skip` innermost frames, into the
    /// scene's: how many there are. The innermost of all is a native method,
    /// unless the thread is at a monitor.
    fn walk(&self, scene: &mut Scene<'_>, java: Java, skip: usize, at_monitor: bool) -> usize {
        let can_walk = |_: &&Walker| !at_monitor && !scene.thread.is_virtual();
        let walker = self.walker.as_ref().filter(can_walk);
        let (jvm, outermost) = ((self.ti, java), *scene.outermost);
        let walked = walker.and_then(|walker| walker.walk(jvm, skip, scene.frames, outermost));
        if let Some(count) = walked {
            return count;
        }
        let room = scene.frames.len() - MOST_SKIPPED;
        let count = self.ti.stack(skip, &mut scene.frames[..room]);
        if let Some(last) = scene.frames[..count].last().filter(|_| count < room) {
            *scene.outermost = last.method;
        }
        count
    }

    /// The id of the stack of some of the scene's frames, in a group. It may be
    /// cut at the depth limit, and end at a monitor that is not entered yet.
    #[inline]
    fn stack_of(
        &self,
        scene: &mut Scene<'_>,
        java: Java,
        which: Range<usize>,
        (cut, at_monitor): (bool, bool),
        group: u32,
    ) -> StackRef {
        let Scene { volume, lane, frames, .. } = scene;
        let frames = frames.get_mut(which).unwrap_or_default();
        let print = within(group, marked(fingerprint(frames), (cut, at_monitor)));
        if let Some(&(second, known)) = lane.stacks.get(&print.0)
            && second == print.1
        {
            return known;
        }
        let Volume { log, dictionary, .. } = &***volume;
        let jvm = (self.ti, java);
        let group = self.group(group);
        let found = dictionary.stack(log, jvm, print, frames, (cut, at_monitor), group.as_ref());
        let Some(stack) = found else { return StackRef::UNKNOWN };
        lane.trim();
        lane.stacks.insert(print.0, (print.1, stack));
        stack
    }
}

/// Has whoever leaves the lock be charged for the wait, and notes what the
/// thread holds meanwhile, in trace mode.
fn trace_wait(scene: &mut Scene<'_>, java: Java, begun: Begun, object: jobject) {
    if is_blamed(begun.kind)
        && let Some(trace) = trace::active()
    {
        trace.wait_begins(scene.thread, begun, object);
        if begun.kind.is_contention() {
            trace.note_waiting(scene, java, begun, object);
        }
    }
}

/// Whether somebody is to blame for a wait of this kind.
fn is_blamed(kind: WaitKind) -> bool {
    kind.is_contention() || kind == WaitKind::LockReacquire
}

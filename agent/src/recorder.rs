//! From "a thread begins to wait" and "it goes on" to a wait in the log.

mod owners;
pub mod traced;

pub use owners::LongWait;

use crate::{
    clock,
    dictionary::{StackRef, fingerprint},
    jvm::{Java, Ti, setup::Fields},
    lane::{Ended, Lane, Lanes, SharedLane},
    lock_names::{LockNames, Way},
    nature::Nature,
    options::Pattern,
    rotation::Log,
    sync::lock,
    threads::{Acquiring, Begun, Owner, Thread, Threads, Waits},
    trace,
    volume::Volume,
};
use jvmti_bindings::sys::{
    jni::{jobject, jthread},
    jvmti::jvmtiFrameInfo,
};
use std::{
    cell::{Cell, RefCell},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed},
    },
};
use tyrion_wire::{
    Outcome, WaitKind,
    def::id,
    header::{Header, field::DROPPED_CONTENTION},
};

/// Records waits into one log.
pub struct Recorder {
    ti: Ti,
    fields: Fields,
    log: Log,
    lanes: Lanes,
    threads: Threads,
    depth: usize,
    excluded: Vec<Pattern>,
    enabled: AtomicBool,
    threshold_ns: AtomicU64,
    /// How many locks have an id, which is the same in all files.
    locks: AtomicU32,
    /// Held while an object gets its tag, so that it gets one.
    naming: Mutex<()>,
    /// What the program calls its locks.
    names: LockNames,
}

/// What an OS thread keeps for itself.
struct Local {
    recorder: &'static Recorder,
    lane: Arc<SharedLane>,
    /// The Java thread that ran here last.
    thread: Option<Arc<Thread>>,
    /// The thread that trace mode's records on this OS thread were of last.
    traced: Option<Arc<Thread>>,
    frames: Vec<jvmtiFrameInfo>,
}

impl Drop for Local {
    fn drop(&mut self) {
        self.recorder.lanes.give_back(Arc::clone(&self.lane));
    }
}

/// What an event has to do with: who, and where to write it. All ids that are
/// got during the event are of this volume.
pub struct Scene<'a> {
    /// The file of the log.
    pub volume: &'a Arc<Volume>,
    /// The OS thread's writer.
    pub lane: &'a mut Lane,
    /// The Java thread.
    pub thread: &'a Arc<Thread>,
    frames: &'a mut [jvmtiFrameInfo],
}

thread_local! {
    /// When this OS thread became a thread of the JVM, monotonic ns; 0 before
    /// recording began.
    static STARTED: Cell<u64> = const { Cell::new(0) };
    /// The Java thread that ended last on this OS thread.
    static ENDED: Cell<i64> = const { Cell::new(0) };
    static LOCAL: RefCell<Option<Local>> = const { RefCell::new(None) };
}

/// A lock's id in the log, and what it is.
#[derive(Clone, Copy)]
struct LockRef {
    id: u32,
    nature: Nature,
    /// The log says what the program calls it, if that can be told.
    named: bool,
}

impl LockRef {
    const UNKNOWN: LockRef = LockRef { id: id::UNKNOWN, nature: Nature::Plain, named: false };

    fn from_tag(tag: i64) -> Option<LockRef> {
        let id = tag as u32;
        let what = (tag >> 32) as u8;
        let (nature, named) = (Nature::from_code(what & !NAMED), what & NAMED != 0);
        (id != 0).then_some(LockRef { id, nature, named })
    }

    /// The tag also says which volume has defined the lock last.
    fn tag(self, volume: &Volume) -> i64 {
        let volume = i64::from(volume.number & VOLUME_MASK);
        let named = if self.named { NAMED } else { 0 };
        volume << VOLUME_SHIFT | i64::from(self.nature as u8 | named) << 32 | i64::from(self.id)
    }
}

/// Beside the nature in a tag: the lock is named in the volume.
const NAMED: u8 = 1 << 7;
/// The bits of a tag that say which volume has defined the lock.
const VOLUME_SHIFT: u32 = 40;
const VOLUME_MASK: u32 = (1 << (i64::BITS - VOLUME_SHIFT)) - 1;

/// Whether a lock with this tag is defined in a volume.
#[inline]
fn is_defined_in(volume: &Volume, tag: i64) -> bool {
    (tag as u64 >> VOLUME_SHIFT) as u32 == volume.number & VOLUME_MASK
}

impl Recorder {
    /// A recorder that is switched off.
    pub fn new(
        ti: Ti,
        fields: Fields,
        log: Log,
        header: &Header,
        excluded: Vec<Pattern>,
    ) -> Recorder {
        Recorder {
            ti,
            fields,
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
        self.log.keep(|from, to| self.lanes.leave(from.number) && self.threads.go_over(from, to))
    }

    /// The JVMTI environment.
    pub fn ti(&self) -> Ti {
        self.ti
    }

    /// Whether waits that begin now are recorded.
    #[inline]
    pub fn is_enabled(&self) -> bool {
        self.enabled.load(Relaxed)
    }

    /// Has waits that begin from now on recorded, or not. Those that have
    /// begun are recorded in any case.
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
            let lock = self.lock_of(scene.volume, java, object, Way::Probe).id;
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

    /// The lock whose condition the current thread is about to park for.
    fn lock_of_condition(&self, volume: &Volume, java: Java, thread: jthread) -> u32 {
        let condition = java.object_field(thread, self.fields.park_blocker);
        let of =
            self.fields.synchronizers.iter().find(|s| java.is_instance(condition, s.condition));
        let Some(synchronizer) = of else { return id::UNKNOWN };
        let lock = java.object_field(condition, synchronizer.outer);
        let id = if lock.is_null() {
            id::UNKNOWN
        } else {
            self.lock_of(volume, java, lock, Way::Condition).id
        };
        java.drop_local(lock);
        id
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

    /// The current thread starts.
    pub fn thread_starts(&self) {
        let _ = STARTED.try_with(|started| started.set(clock::now_ns()));
    }

    /// A thread ends.
    pub fn thread_ends(&'static self, java: Java, thread: jthread) {
        let java_id = java.long_field(thread, self.fields.thread_id);
        // HotSpot may still contend for the Thread object after this.
        let _ = ENDED.try_with(|ended| ended.set(java_id));
        if let Some(ended) = self.threads.remove(java_id) {
            ended.ends(&self.log.current(), clock::now_ns());
        }
        if let Some(trace) = trace::active() {
            trace.thread_ends(java_id);
        }
    }

    /// Runs `body` with what belongs to the current OS thread and Java thread,
    /// then shows in the log what the thread waits for. Not for threads that
    /// are left out; and, when something `begins`, only while recording.
    #[inline]
    fn with(
        &'static self,
        java: Java,
        thread: jthread,
        begins: bool,
        body: impl FnOnce(&mut Scene<'_>, &mut Waits),
    ) {
        if begins && !self.is_enabled() {
            return;
        }
        let java_id = java.long_field(thread, self.fields.thread_id);
        // A thread that is just attaching has no id yet; one that has ended
        // has given its place in the log back.
        if java_id <= 0 || ENDED.try_with(|ended| ended.get() == java_id).unwrap_or(true) {
            return;
        }
        // An OS thread that is about to end has no locals any more.
        let _ = LOCAL.try_with(|cell| {
            let Ok(mut slot) = cell.try_borrow_mut() else {
                // An event within an event has not been seen, but would be lost.
                if begins {
                    let lost = self.log.current();
                    lost.log.header().u64_at(DROPPED_CONTENTION).fetch_add(1, Relaxed);
                }
                return;
            };
            let local = slot.get_or_insert_with(|| self.local());
            let known = local.thread.as_ref().filter(|known| known.java_id == java_id).cloned();
            let known = match known.or_else(|| self.threads.get(java_id)) {
                Some(known) => known,
                None if begins => self.add_thread(java, thread, java_id),
                None => return,
            };
            if !known.excluded {
                let mut berth = local.lane.berth();
                // Before the volume: that is then no older than the one that
                // the waits are of.
                let mut waits = known.waits();
                let Some((volume, lane)) = berth.enter(&self.log) else { return };
                if waits.volume() != volume.number {
                    self.move_waits(&known, &mut waits, volume);
                }
                if begins && !known.is_known(volume) {
                    self.describe_current(java, thread, &known);
                }
                let frames = &mut local.frames[..];
                let mut scene = Scene { volume, lane, thread: &known, frames };
                body(&mut scene, &mut waits);
                known.publish(&mut waits, volume);
            }
            local.thread = Some(known);
        });
    }

    /// Has pending waits have ids of a newer volume.
    #[cold]
    fn move_waits(&self, thread: &Thread, waits: &mut Waits, to: &Arc<Volume>) {
        let id = |java_id| Some(self.threads.get(java_id)?.id(to));
        thread.move_waits(waits, self.log.previous().as_deref(), to, id);
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

    fn local(&'static self) -> Local {
        let frame = jvmtiFrameInfo { method: std::ptr::null_mut(), location: 0 };
        Local {
            recorder: self,
            lane: self.lanes.take(),
            thread: None,
            traced: None,
            // One more than wanted tells whether a stack was cut.
            frames: vec![frame; self.depth + 1],
        }
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
        scene.lane.write(&scene.volume.log, &ended, self.threshold_ns());
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
        let Scene { volume, lane, frames, .. } = scene;
        let count = self.ti.stack(skip, frames);
        let cut = count > self.depth;
        let frames = &mut frames[..count.min(self.depth)];
        let print = fingerprint(frames);
        if let Some(&(second, known)) = lane.stacks.get(&print.0)
            && second == print.1
        {
            return known;
        }
        let Volume { log, dictionary, .. } = &***volume;
        let found = dictionary.stack(log, (self.ti, java), print, frames, (cut, at_monitor));
        let Some(stack) = found else { return StackRef::UNKNOWN };
        lane.trim();
        lane.stacks.insert(print.0, (print.1, stack));
        stack
    }

    /// An object's id and nature, which its tag keeps. The current thread
    /// waits for it, and has come by this way.
    #[inline]
    fn lock_of(&self, volume: &Volume, java: Java, object: jobject, way: Way) -> LockRef {
        let tag = self.ti.tag(object);
        match LockRef::from_tag(tag).filter(|_| is_defined_in(volume, tag)) {
            Some(known) if known.named || !way.tells(known.nature) => known,
            _ => self.new_lock(volume, java, object, way),
        }
    }

    #[cold]
    fn new_lock(&self, volume: &Volume, java: Java, object: jobject, way: Way) -> LockRef {
        let class = java.class_of(object);
        let described = self.ti.class(class);
        java.drop_local(class);
        let Ok((mut signature, source)) = described else { return LockRef::UNKNOWN };
        let is_synchronizer =
            self.fields.synchronizers.iter().any(|s| java.is_instance(object, s.class));
        let nature = Nature::of(&signature, is_synchronizer);
        if signature == b"Ljava/lang/Class;"
            && let Ok(of) = self.ti.class_signature(object)
        {
            // The lock of a static synchronized method: say which class it is.
            signature = class_object_name(&of);
        }
        let named = way.tells(nature);
        let name = if named { self.names.find(self.ti, java, way) } else { None };
        let hash = self.hash_of(object, nature, way);
        let _naming = lock(&self.naming);
        let tag = self.ti.tag(object);
        let known = LockRef::from_tag(tag);
        let defined = known.filter(|_| is_defined_in(volume, tag));
        if let Some(known) = defined.filter(|known| known.named || !named) {
            return known;
        }
        let Volume { log, dictionary, .. } = volume;
        let id = known.map_or_else(|| self.locks.load(Relaxed) + 1, |known| known.id);
        let define =
            || dictionary.lock_object(log, id, dictionary.class(log, &signature, &source)?);
        if defined.is_none() && define().is_none() {
            return LockRef { nature, ..LockRef::UNKNOWN };
        }
        // Where there is no room for these, the lock is known by its class.
        let _ = name.and_then(|name| dictionary.lock_name(log, id, &name));
        let _ = hash.and_then(|hash| dictionary.lock_instance(log, id, hash));
        let new = LockRef { id, nature, named };
        if known.is_none() {
            self.locks.store(id, Relaxed);
        }
        // Not back to a volume that is being left.
        if known.is_none() || volume.number == self.log.epoch() {
            let _ = self.ti.set_tag(object, new.tag(volume));
        }
        new
    }

    /// What trace mode knows a lock by. The JVM inflates a monitor to give its
    /// object a hash, but has inflated one that is waited for already; and
    /// j.u.c. locks are no monitors.
    fn hash_of(&self, object: jobject, nature: Nature, way: Way) -> Option<u32> {
        let harmless = nature.is_held() || matches!(way, Way::Monitor | Way::ObjectWait);
        (harmless && trace::active().is_some())
            .then(|| self.ti.hash(object) as u32)
            .filter(|&hash| hash != 0)
    }

    /// The thread that holds a synchronizer exclusively, if known.
    fn owner_of(&self, volume: &Volume, java: Java, synchronizer: jobject) -> Owner {
        let owner = java.object_field(synchronizer, self.fields.exclusive_owner);
        if owner.is_null() {
            return Owner::default();
        }
        let known = self.owner(volume, java, owner);
        java.drop_local(owner);
        known
    }

    /// A thread that holds a lock, as the log has it.
    fn owner(&self, volume: &Volume, java: Java, owner: jthread) -> Owner {
        let java_id = java.long_field(owner, self.fields.thread_id);
        let known = match self.threads.get(java_id) {
            Some(known) => Some(known),
            // One that has just ended would never be removed again.
            None if self.ti.is_alive(owner) => Some(self.add_thread(java, owner, java_id)),
            None => None,
        };
        let id = known.map_or(id::UNKNOWN, |known| {
            if !known.is_known(volume) {
                self.describe_thread(java, owner, &known);
            }
            known.id(volume)
        });
        Owner { id, java_id }
    }

    #[cold]
    fn add_thread(&self, java: Java, thread: jthread, java_id: i64) -> Arc<Thread> {
        let excluded = !self.excluded.is_empty()
            && self.ti.thread(java, thread).is_ok_and(|info| {
                let name = String::from_utf8_lossy(&info.name).into_owned();
                self.excluded.iter().any(|pattern| pattern.matches(&name))
            });
        self.threads.get_or_add(java_id, excluded, self.log.epoch())
    }

    /// Finds out what the log shall say of the current thread, unless it is
    /// known.
    fn describe_current(&self, java: Java, thread: jthread, known: &Thread) {
        self.describe_thread(java, thread, known);
        known.started_at(match known.is_virtual() {
            // Close enough: this is the first that is heard of it.
            true => clock::now_ns(),
            false => STARTED.try_with(Cell::get).unwrap_or(0),
        });
    }

    /// Finds out what the log shall say of a thread, unless it is known.
    #[cold]
    fn describe_thread(&self, java: Java, thread: jthread, known: &Thread) {
        if known.is_described() {
            return;
        }
        if let Ok(info) = self.ti.thread(java, thread) {
            known.describe(info, java.is_instance(thread, self.fields.virtual_thread));
        }
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

/// `Lcom/acme/Foo;` as the name of its class object, `com/acme/Foo.class`.
fn class_object_name(signature: &[u8]) -> Vec<u8> {
    let inner = signature.strip_prefix(b"L").and_then(|s| s.strip_suffix(b";"));
    [inner.unwrap_or(signature), b".class"].concat()
}

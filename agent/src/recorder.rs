//! From "a thread begins to wait" and "it goes on" to a wait in the log.

use crate::{
    clock,
    dictionary::{Dictionary, StackRef, fingerprint},
    jvm::{Java, Ti, setup::Fields},
    lane::{Ended, Lane, Lanes},
    log::LogFile,
    nature::Nature,
    options::Pattern,
    sync::lock,
    threads::{Acquiring, Begun, Thread, Threads, Waits},
};
use jvmti_bindings::sys::{
    jni::{jobject, jthread},
    jvmti::jvmtiFrameInfo,
};
use std::{
    cell::{Cell, RefCell},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
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
    log: LogFile,
    dictionary: Dictionary,
    lanes: Lanes,
    threads: Threads,
    depth: usize,
    excluded: Vec<Pattern>,
    enabled: AtomicBool,
    threshold_ns: AtomicU64,
    /// Held while an object gets its tag or a thread its id, so that each gets one.
    naming: Mutex<()>,
}

/// What an OS thread keeps for itself.
struct Local {
    recorder: &'static Recorder,
    /// Taken out only when the OS thread ends.
    lane: Option<Box<Lane>>,
    /// The Java thread that ran here last.
    thread: Option<Arc<Thread>>,
    frames: Vec<jvmtiFrameInfo>,
}

impl Drop for Local {
    fn drop(&mut self) {
        if let Some(lane) = self.lane.take() {
            self.recorder.lanes.give_back(lane);
        }
    }
}

thread_local! {
    /// The Java thread that ended last on this OS thread.
    static ENDED: Cell<i64> = const { Cell::new(0) };
    static LOCAL: RefCell<Option<Local>> = const { RefCell::new(None) };
}

/// A lock's id in the log, and what it is.
#[derive(Clone, Copy)]
struct LockRef {
    id: u32,
    nature: Nature,
}

impl LockRef {
    const UNKNOWN: LockRef = LockRef { id: id::UNKNOWN, nature: Nature::Plain };

    fn from_tag(tag: i64) -> Option<LockRef> {
        let id = tag as u32;
        (id != 0).then(|| LockRef { id, nature: Nature::from_code((tag >> 32) as u8) })
    }

    fn tag(self) -> i64 {
        i64::from(self.nature as u8) << 32 | i64::from(self.id)
    }
}

impl Recorder {
    /// A recorder that is switched off.
    pub fn new(
        ti: Ti,
        fields: Fields,
        log: LogFile,
        header: &Header,
        excluded: Vec<Pattern>,
    ) -> Recorder {
        Recorder {
            ti,
            fields,
            log,
            dictionary: Dictionary::default(),
            lanes: Lanes::default(),
            threads: Threads::new(),
            depth: header.depth as usize,
            excluded,
            enabled: AtomicBool::new(false),
            threshold_ns: AtomicU64::new(header.threshold_ns),
            naming: Mutex::new(()),
        }
    }

    /// The log that is written.
    pub fn log(&self) -> &LogFile {
        &self.log
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
        self.with(java, thread, true, |local, waits| {
            waits.reacquiring = None;
            waits.monitor = Some(self.begin(local, java, object, WaitKind::Monitor, start_ns));
        });
    }

    /// The current thread has got the monitor that it waited for.
    pub fn monitor_ends(&'static self, java: Java, thread: jthread) {
        let end_ns = clock::now_ns();
        self.with(java, thread, false, |local, waits| {
            if let Some(begun) = waits.monitor.take() {
                self.end(local, begun, end_ns, Outcome::Granted, 0);
            }
        });
    }

    /// The current thread begins `Object.wait`.
    pub fn object_wait_begins(&'static self, java: Java, thread: jthread, object: jobject) {
        let start_ns = clock::now_ns();
        self.with(java, thread, true, |local, waits| {
            waits.reacquiring = None;
            waits.object_wait =
                Some(self.begin(local, java, object, WaitKind::ObjectWait, start_ns));
        });
    }

    /// The current thread returns from `Object.wait`.
    pub fn object_wait_ends(&'static self, java: Java, thread: jthread, timed_out: bool) {
        let end_ns = clock::now_ns();
        let outcome = if timed_out { Outcome::TimedOut } else { Outcome::Granted };
        self.with(java, thread, false, |local, waits| {
            if let Some(begun) = waits.object_wait.take() {
                self.end(local, begun, end_ns, outcome, 0);
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
        self.with(java, thread, false, |local, waits| {
            // An acquisition that never parked did not wait.
            if let Some(Acquiring { parks, wait: Some(begun), .. }) = waits.acquiring.pop() {
                self.end(local, begun, end_ns, outcome, parks);
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
        self.with(java, thread, true, |local, waits| match waits.acquiring.last_mut() {
            Some(acquiring) => {
                acquiring.parks += 1;
                if acquiring.wait.is_none() {
                    let (start_ns, shared) = (acquiring.start_ns, acquiring.shared);
                    acquiring.wait = Some(self.begin_park(local, java, thread, shared, start_ns));
                }
            }
            None => {
                let begun = self.begin_park(local, java, thread, false, start_ns);
                waits.reacquiring = None;
                waits.awaited_lock = match begun.kind {
                    WaitKind::Condition => self.lock_of_condition(java, thread),
                    _ => id::UNKNOWN,
                };
                waits.park = Some(begun);
            }
        });
    }

    /// The current thread has returned from a park.
    pub fn park_ends(&'static self, java: Java, thread: jthread) {
        let end_ns = clock::now_ns();
        self.with(java, thread, false, |local, waits| {
            let Some(begun) = waits.park.take() else { return };
            let signalled_ns = match (&local.thread, begun.kind) {
                (Some(thread), WaitKind::Condition) => thread.signalled_ns.load(Relaxed),
                _ => 0,
            };
            if !(begun.start_ns..=end_ns).contains(&signalled_ns) {
                self.end(local, begun, end_ns, Outcome::Granted, 0);
                return;
            }
            // One park, two waits: for the signal, then for the lock, which
            // the thread is about to take.
            self.end(local, begun, signalled_ns, Outcome::Granted, 0);
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
    fn lock_of_condition(&self, java: Java, thread: jthread) -> u32 {
        let condition = java.object_field(thread, self.fields.park_blocker);
        let of =
            self.fields.synchronizers.iter().find(|s| java.is_instance(condition, s.condition));
        let Some(synchronizer) = of else { return id::UNKNOWN };
        let lock = java.object_field(condition, synchronizer.outer);
        let id = if lock.is_null() { id::UNKNOWN } else { self.lock_of(java, lock).id };
        java.drop_local(lock);
        id
    }

    /// A thread has got another name.
    pub fn renamed(&'static self, java: Java, thread: jthread) {
        let at_ns = clock::now_ns();
        let known = self.threads.get(java.long_field(thread, self.fields.thread_id));
        if let Some(known) = known.filter(|known| known.id() != 0)
            && let Ok(info) = self.ti.thread(java, thread)
        {
            let _ = self.dictionary.rename(&self.log, known.id(), &info.name, at_ns);
        }
    }

    /// A thread ends.
    pub fn thread_ends(&'static self, java: Java, thread: jthread) {
        let java_id = java.long_field(thread, self.fields.thread_id);
        // HotSpot may still contend for the Thread object after this.
        let _ = ENDED.try_with(|ended| ended.set(java_id));
        self.threads.remove(java_id);
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
        body: impl FnOnce(&mut Local, &mut Waits),
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
                    let lost = self.log.header();
                    lost.u64_at(DROPPED_CONTENTION).fetch_add(1, Relaxed);
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
                // SAFETY: JVMTI and the probes report on the current thread,
                // which is `known`; `with` is not entered twice on an OS
                // thread because `cell` stays borrowed.
                let waits = unsafe { known.waits() };
                if begins && known.id() == 0 {
                    self.define_thread(java, thread, &known);
                }
                local.thread = Some(Arc::clone(&known));
                body(local, waits);
                known.publish(waits);
            }
            local.thread = Some(known);
        });
    }

    fn local(&'static self) -> Local {
        let frame = jvmtiFrameInfo { method: std::ptr::null_mut(), location: 0 };
        Local {
            recorder: self,
            lane: Some(self.lanes.take(&self.log)),
            thread: None,
            // One more than wanted tells whether a stack was cut.
            frames: vec![frame; self.depth + 1],
        }
    }

    fn begin(
        &self,
        local: &mut Local,
        java: Java,
        object: jobject,
        kind: WaitKind,
        start_ns: u64,
    ) -> Begun {
        let stack = self.stack(local, java, 0, kind == WaitKind::Monitor);
        let lock = self.lock_of(java, object);
        Begun { kind, start_ns, stack: stack.id, lock: lock.id, owner: 0 }
    }

    fn begin_park(
        &self,
        local: &mut Local,
        java: Java,
        thread: jthread,
        shared: bool,
        start_ns: u64,
    ) -> Begun {
        // The innermost frame is the probe.
        let stack = self.stack(local, java, 1, false);
        let blocker = java.object_field(thread, self.fields.park_blocker);
        if blocker.is_null() {
            let (stack, lock) = (stack.id, id::UNKNOWN);
            return Begun { kind: WaitKind::Park, start_ns, stack, lock, owner: 0 };
        }
        let lock = self.lock_of(java, blocker);
        let owner = if lock.nature.has_owner() { self.owner_of(java, blocker) } else { 0 };
        let kind = lock.nature.kind(shared, stack.reacquires);
        Begun { kind, start_ns, stack: stack.id, lock: lock.id, owner }
    }

    fn end(&self, local: &mut Local, begun: Begun, end_ns: u64, outcome: Outcome, parks: u64) {
        let Local { lane: Some(lane), thread: Some(thread), .. } = local else { return };
        let contention = begun.kind.is_contention();
        let Some(site) = self.site(lane, &begun) else {
            lane.drop_wait(&self.log, contention);
            return;
        };
        let ended = Ended {
            thread: thread.id(),
            site,
            contention,
            start_ns: begun.start_ns,
            end_ns,
            outcome,
            owner: begun.owner,
            parks,
        };
        lane.write(&self.log, &ended, self.threshold_ns());
    }

    fn site(&self, lane: &mut Lane, begun: &Begun) -> Option<u32> {
        let kind = u64::from(begun.kind.code());
        let key = (kind << 32 | u64::from(begun.stack), u64::from(begun.lock));
        if let Some(&known) = lane.sites.get(&key) {
            return Some(known);
        }
        let site = self.dictionary.site(&self.log, begun.kind, begun.stack, begun.lock)?;
        lane.trim();
        lane.sites.insert(key, site);
        Some(site)
    }

    /// The current stack's id; the empty stack's when it cannot be defined.
    fn stack(&self, local: &mut Local, java: Java, skip: usize, at_monitor: bool) -> StackRef {
        let Some(lane) = local.lane.as_mut() else { return StackRef::UNKNOWN };
        let count = self.ti.stack(skip, &mut local.frames);
        let cut = count > self.depth;
        let frames = &mut local.frames[..count.min(self.depth)];
        let print = fingerprint(frames);
        if let Some(&(second, known)) = lane.stacks.get(&print.0)
            && second == print.1
        {
            return known;
        }
        let found =
            self.dictionary.stack(&self.log, (self.ti, java), print, frames, (cut, at_monitor));
        let Some(stack) = found else { return StackRef::UNKNOWN };
        lane.trim();
        lane.stacks.insert(print.0, (print.1, stack));
        stack
    }

    /// An object's id and nature, which its tag keeps.
    #[inline]
    fn lock_of(&self, java: Java, object: jobject) -> LockRef {
        match LockRef::from_tag(self.ti.tag(object)) {
            Some(known) => known,
            None => self.new_lock(java, object),
        }
    }

    #[cold]
    fn new_lock(&self, java: Java, object: jobject) -> LockRef {
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
        let _naming = lock(&self.naming);
        if let Some(known) = LockRef::from_tag(self.ti.tag(object)) {
            return known;
        }
        let Some(class) = self.dictionary.class(&self.log, &signature, &source) else {
            return LockRef { nature, ..LockRef::UNKNOWN };
        };
        let Some(id) = self.dictionary.lock_object(&self.log, class) else {
            return LockRef { nature, ..LockRef::UNKNOWN };
        };
        let new = LockRef { id, nature };
        let _ = self.ti.set_tag(object, new.tag());
        new
    }

    /// The id of the thread that holds a synchronizer exclusively, or 0.
    fn owner_of(&self, java: Java, synchronizer: jobject) -> u32 {
        let owner = java.object_field(synchronizer, self.fields.exclusive_owner);
        if owner.is_null() {
            return 0;
        }
        let java_id = java.long_field(owner, self.fields.thread_id);
        let known = match self.threads.get(java_id) {
            Some(known) => Some(known),
            // One that has just ended would never be removed again.
            None if self.ti.is_alive(owner) => Some(self.add_thread(java, owner, java_id)),
            None => None,
        };
        let id = known.map_or(id::UNKNOWN, |known| {
            if known.id() == 0 {
                self.define_thread(java, owner, &known);
            }
            known.id()
        });
        java.drop_local(owner);
        id
    }

    #[cold]
    fn add_thread(&self, java: Java, thread: jthread, java_id: i64) -> Arc<Thread> {
        let excluded = !self.excluded.is_empty()
            && self.ti.thread(java, thread).is_ok_and(|info| {
                let name = String::from_utf8_lossy(&info.name).into_owned();
                self.excluded.iter().any(|pattern| pattern.matches(&name))
            });
        self.threads.get_or_add(&self.log, java_id, excluded)
    }

    #[cold]
    fn define_thread(&self, java: Java, thread: jthread, known: &Thread) {
        let Ok(info) = self.ti.thread(java, thread) else { return };
        let is_virtual = java.is_instance(thread, self.fields.virtual_thread);
        let _naming = lock(&self.naming);
        if known.id() != 0 {
            return;
        }
        let java_id = known.java_id as u64;
        if let Some(id) = self.dictionary.thread(&self.log, java_id, &info, is_virtual) {
            known.set_id(id);
        }
    }
}

/// `Lcom/acme/Foo;` as the name of its class object, `com/acme/Foo.class`.
fn class_object_name(signature: &[u8]) -> Vec<u8> {
    let inner = signature.strip_prefix(b"L").and_then(|s| s.strip_suffix(b";"));
    [inner.unwrap_or(signature), b".class"].concat()
}

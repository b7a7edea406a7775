//! Who an event is of, and where it is written.

use super::{Recorder, lives};
use crate::{
    clock,
    jvm::{Java, walk::MOST_SKIPPED},
    lane::{Lane, SharedLane},
    threads::{Thread, Waits},
    volume::Volume,
};
use jvmti_bindings::sys::{
    jni::{jmethodID, jthread},
    jvmti::jvmtiFrameInfo,
};
use std::{
    cell::{Cell, RefCell},
    sync::{Arc, atomic::Ordering::Relaxed},
};
use tyrion_wire::header::field::DROPPED_CONTENTION;

/// What an OS thread keeps for itself.
pub(super) struct Local {
    recorder: &'static Recorder,
    pub(super) lane: Arc<SharedLane>,
    /// Another one, for events that are told late: between the waits they would
    /// lose their times.
    pub(super) late: Option<Arc<SharedLane>>,
    /// The Java thread that ran here last.
    thread: Option<Arc<Thread>>,
    /// The thread that trace mode's records on this OS thread were of last.
    pub(super) traced: Option<Arc<Thread>>,
    pub(super) frames: Vec<jvmtiFrameInfo>,
    /// The outermost method of the last whole stack; null before.
    pub(super) outermost: jmethodID,
}

impl Drop for Local {
    fn drop(&mut self) {
        self.recorder.lanes.give_back(Arc::clone(&self.lane));
        if let Some(late) = self.late.take() {
            self.recorder.lanes.give_back(late);
        }
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
    pub(super) frames: &'a mut [jvmtiFrameInfo],
    pub(super) outermost: &'a mut jmethodID,
}

thread_local! {
    /// When this OS thread became a thread of the JVM, monotonic ns; 0 before
    /// recording began.
    pub(super) static STARTED: Cell<u64> = const { Cell::new(0) };
    /// The Java thread that ended last on this OS thread.
    pub(super) static ENDED: Cell<i64> = const { Cell::new(0) };
    pub(super) static LOCAL: RefCell<Option<Local>> = const { RefCell::new(None) };
}

impl Recorder {
    /// Runs `body` with what belongs to the current OS thread and Java thread,
    /// then shows in the log what the thread waits for. Not for threads that
    /// are left out; and, when something `begins`, only while recording.
    #[inline]
    pub(super) fn with(
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
                    self.totals.lost();
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
                if begins && !(known.is_known(volume) && known.is_started()) {
                    self.describe_current(volume, java, thread, &known);
                }
                if begins && known.was_only_told() {
                    self.look_at_name(java, thread, &known);
                }
                let frames = &mut local.frames[..];
                let outermost = &mut local.outermost;
                let mut scene = Scene { volume, lane, thread: &known, frames, outermost };
                body(&mut scene, &mut waits);
                known.publish(&mut waits, volume);
            }
            local.thread = Some(known);
        });
    }

    /// Has pending waits have ids of a newer volume.
    #[cold]
    pub(super) fn move_waits(&self, thread: &Thread, waits: &mut Waits, to: &Arc<Volume>) {
        let id = |java_id| self.threads.id_in(to, java_id);
        thread.move_waits(waits, self.log.previous().as_deref(), to, id);
    }

    pub(super) fn local(&'static self) -> Local {
        let frame = jvmtiFrameInfo { method: std::ptr::null_mut(), location: 0 };
        Local {
            recorder: self,
            lane: self.lanes.take(),
            late: None,
            thread: None,
            traced: None,
            // One more than wanted tells whether a stack was cut.
            frames: vec![frame; self.depth + 1 + MOST_SKIPPED],
            outermost: std::ptr::null_mut(),
        }
    }

    #[cold]
    pub(super) fn add_thread(&self, java: Java, thread: jthread, java_id: i64) -> Arc<Thread> {
        let excluded = !self.excluded.is_empty()
            && self.ti.thread(java, thread).is_ok_and(|info| {
                let name = String::from_utf8_lossy(&info.name).into_owned();
                self.excluded.iter().any(|pattern| pattern.matches(&name))
            });
        self.threads.get_or_add(java_id, excluded, self.log.epoch())
    }

    /// Finds out what the log shall say of the current thread, unless it is
    /// known.
    #[cold]
    pub(super) fn describe_current(
        &self,
        volume: &Volume,
        java: Java,
        thread: jthread,
        known: &Thread,
    ) {
        self.describe_thread(java, thread, known);
        let started_ns = match known.is_virtual() {
            // Close enough: this is the first that is heard of it.
            true => clock::now_ns(),
            false => lives::started_ns(),
        };
        known.started_at(volume, started_ns);
    }

    /// Finds out what the log shall say of a thread, unless it is known.
    #[cold]
    pub(super) fn describe_thread(&self, java: Java, thread: jthread, known: &Thread) {
        if known.is_described() {
            return;
        }
        if let Ok(info) = self.ti.thread(java, thread) {
            known.describe(info, java.is_instance(thread, self.fields.virtual_thread));
        }
    }
}

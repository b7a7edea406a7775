//! Whom an event is of, and where it is written.

use super::{
    Recorder, os_thread,
    threads::{Thread, Waits},
};
use crate::{
    jvm::{Java, Object},
    log::{
        Generation,
        lane::{Lane, SharedLane},
    },
};
use jvmti_bindings::sys::jvmti::jvmtiFrameInfo;
use std::{
    cell::RefCell,
    sync::{Arc, atomic::Ordering::Relaxed},
};
use tyrion_wire::header::field::DROPPED_CONTENTION;

/// What an OS thread keeps for itself.
pub(super) struct Local {
    recorder: &'static Recorder,
    pub(super) lane: Arc<SharedLane>,
    /// Another one, for events that are written late: between the waits they
    /// would lose their times.
    pub(super) late: Option<Arc<SharedLane>>,
    /// The Java thread that ran here last.
    thread: Option<Arc<Thread>>,
    /// The thread that records of another one were of last on this OS thread.
    pub(super) last_owner: Option<Arc<Thread>>,
    pub(super) frames: Vec<jvmtiFrameInfo>,
    /// The Java thread that parks here, if nothing is to be done at the end of that.
    pub(super) parks_unseen: i64,
}

impl Drop for Local {
    fn drop(&mut self) {
        self.recorder.lanes.give_back(Arc::clone(&self.lane));
        if let Some(late) = self.late.take() {
            self.recorder.lanes.give_back(late);
        }
    }
}

/// Whom an event is of, and where it is written. All ids that are got during
/// the event are of this generation.
pub struct EventContext<'a> {
    /// The file of the log.
    pub generation: &'a Arc<Generation>,
    /// The OS thread's writer.
    pub lane: &'a mut Lane,
    /// The Java thread.
    pub thread: &'a Arc<Thread>,
    pub(super) frames: &'a mut [jvmtiFrameInfo],
    pub(super) parks_unseen: &'a mut i64,
}

impl EventContext<'_> {
    /// Whether nothing is to be done when the park ends that the context's thread, which
    /// is the current one, begins.
    pub fn ends_unseen(&mut self, is_so: bool) {
        *self.parks_unseen = if is_so { self.thread.java_id } else { 0 };
    }
}

thread_local! {
    pub(super) static LOCAL: RefCell<Option<Local>> = const { RefCell::new(None) };
}

impl Recorder {
    /// Runs `body` with what belongs to the current OS thread and Java thread,
    /// then shows in the log what the thread waits for. Not for threads that
    /// are left out; and, when something `begins`, only while recording.
    #[inline]
    pub fn with(
        &'static self,
        java: Java,
        thread: Object<'_>,
        begins: bool,
        body: impl FnOnce(&mut EventContext<'_>, &mut Waits),
    ) {
        if begins && !self.is_enabled() {
            return;
        }
        let is_free = self.try_with(java, thread, begins, body);
        if begins && !is_free {
            let lost = self.log.current();
            lost.log.header().u64_at(DROPPED_CONTENTION).fetch_add(1, Relaxed);
            self.totals.lost();
        }
    }

    /// The same for the current thread as one that ends the waits of others. In the
    /// middle of another event nothing is done: what is recorded does not lack anything.
    pub fn with_waker(
        &'static self,
        java: Java,
        thread: Object<'_>,
        body: impl FnOnce(&mut EventContext<'_>),
    ) {
        self.try_with(java, thread, true, |context, _| body(context));
    }

    /// Runs `body` as [`Recorder::with`] does; `false` in the middle of another event: an
    /// event within an event has not been seen, but would be lost.
    #[inline]
    fn try_with(
        &'static self,
        java: Java,
        thread: Object<'_>,
        begins: bool,
        body: impl FnOnce(&mut EventContext<'_>, &mut Waits),
    ) -> bool {
        let java_id = java.long_field(thread, self.fields.thread_id);
        // A thread that is just attaching has no id yet; one that has ended
        // has given its place in the log back.
        if java_id <= 0 || os_thread::has_ended(java_id) {
            return true;
        }
        // An OS thread that is about to end has no locals any more.
        let run = |cell: &RefCell<Option<Local>>| {
            let Ok(mut slot) = cell.try_borrow_mut() else { return false };
            let local = slot.get_or_insert_with(|| self.local());
            let known = local.thread.take().filter(|known| known.java_id == java_id);
            let known = match known.or_else(|| self.threads.get(java_id)) {
                Some(known) => known,
                None if begins => self.add_thread(java, thread, java_id),
                None => return true,
            };
            if !known.excluded {
                let mut lane_slot = local.lane.lock_slot();
                // Before the generation: that is then no older than the one that
                // the waits are of.
                let mut waits = known.waits();
                let Some((generation, lane)) = lane_slot.enter(&self.log) else { return true };
                if waits.generation() != generation.number {
                    self.move_waits(&known, &mut waits, generation);
                }
                if begins && !(known.is_known(generation) && known.is_started()) {
                    self.describe_current(generation, java, thread, &known);
                }
                if begins && known.was_only_listed() {
                    self.refresh_name(java, thread, &known);
                }
                let frames = &mut local.frames[..];
                let parks_unseen = &mut local.parks_unseen;
                let mut context =
                    EventContext { generation, lane, thread: &known, frames, parks_unseen };
                body(&mut context, &mut waits);
                known.publish(&mut waits, generation);
            }
            local.thread = Some(known);
            true
        };
        LOCAL.try_with(run).unwrap_or(true)
    }

    /// Whether nothing is to be done now that the current thread has returned from a
    /// park: its beginning said so, once.
    #[inline]
    pub fn is_unseen_end(&self, java: Java, thread: Object<'_>) -> bool {
        let take = |cell: &RefCell<Option<Local>>| {
            let mut slot = cell.try_borrow_mut().ok()?;
            match std::mem::take(&mut slot.as_mut()?.parks_unseen) {
                0 => None,
                unseen => Some(unseen),
            }
        };
        let unseen = LOCAL.try_with(take).ok().flatten();
        unseen.is_some_and(|unseen| unseen == java.long_field(thread, self.fields.thread_id))
    }

    pub(super) fn local(&'static self) -> Local {
        let frame = jvmtiFrameInfo { method: std::ptr::null_mut(), location: 0 };
        Local {
            recorder: self,
            lane: self.lanes.take(),
            late: None,
            thread: None,
            last_owner: None,
            // One more than wanted tells whether a stack was cut.
            frames: vec![frame; self.frames_wanted()],
            parks_unseen: 0,
        }
    }
}

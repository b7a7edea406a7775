//! What sampling needs of the recorder.

use super::{Recorder, Scene};
use crate::{
    clock,
    dictionary::{fingerprint, marked, within},
    jvm::{Java, setup::Fields, ti::ThreadInfo},
    lane::Lane,
    threads::{Begun, Thread},
    trace,
    volume::Volume,
};
use jvmti_bindings::sys::{
    jni::{jint, jmethodID, jobject, jthread},
    jvmti::jvmtiFrameInfo,
};
use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};
use tyrion_wire::def::id;

/// The methods of the class that probes of contention mode call.
static PROBES: OnceLock<Vec<usize>> = OnceLock::new();

/// Frames of these methods are no frames of the program's.
pub fn leave_out(methods: Vec<jmethodID>) {
    let _ = PROBES.set(methods.into_iter().map(|method| method as usize).collect());
}

fn is_probe(method: jmethodID) -> bool {
    PROBES.get().is_some_and(|probes| probes.contains(&(method as usize)))
        || trace::active().is_some_and(|trace| trace.is_probe(method))
}

impl Recorder {
    /// The most frames kept of a stack.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// A number for a lane beside those of the program's threads.
    pub fn reserve_lane(&self) -> u32 {
        self.lanes.reserve()
    }

    /// A thread's `Thread.getId()`.
    pub fn java_id(&self, java: Java, thread: jthread) -> i64 {
        java.long_field(thread, self.fields.thread_id)
    }

    /// Whether a thread runs virtual threads.
    pub fn is_carrier(&self, java: Java, thread: jthread) -> bool {
        java.is_instance(thread, self.fields.carrier)
    }

    /// Whether a thread is a virtual one.
    pub fn is_virtual(&self, java: Java, thread: jthread) -> bool {
        java.is_instance(thread, self.fields.virtual_thread)
    }

    /// The object that is a thread's name, a local reference; null where that
    /// cannot be told.
    pub fn name_object(&self, java: Java, thread: jthread) -> jobject {
        match self.fields.thread_name.is_null() {
            true => std::ptr::null_mut(),
            false => java.object_field(thread, self.fields.thread_name),
        }
    }

    /// What the JVM last noted as a platform thread's state, also that of the
    /// virtual thread on it: bits that [`lasting`](crate::jvm::threads::lasting)
    /// does not leave out of JVMTI's. For its own answer JVMTI looks through all
    /// threads, each time, and JDK 25 keeps virtual threads from being mounted.
    /// `None` where that cannot be told.
    pub fn thread_status(&self, java: Java, thread: jthread) -> Option<jint> {
        let Fields { thread_holder, thread_status, .. } = self.fields;
        if thread_status.is_null() {
            return None;
        }
        if thread_holder.is_null() {
            return Some(java.int_field(thread, thread_status));
        }
        let holder = java.object_field(thread, thread_holder);
        let status = (!holder.is_null()).then(|| java.int_field(holder, thread_status));
        java.drop_local(holder);
        status
    }

    /// A thread that is sampled, known from now on. It must be forgotten when it
    /// is found to have ended, since it may have said so before.
    pub fn sampled_thread(
        &self,
        java: Java,
        thread: jthread,
        java_id: i64,
        info: ThreadInfo,
    ) -> Arc<Thread> {
        let known = match self.threads.get(java_id) {
            Some(known) => known,
            None => self.add_thread(java, thread, java_id),
        };
        known.describe(info, self.is_virtual(java, thread));
        if known.is_virtual() {
            // Nobody tells when those started.
            known.started_at(&self.log.current(), clock::now_ns());
        }
        known
    }

    /// Forgets a thread that has ended.
    pub fn forget_ended(&self, java_id: i64) {
        if let Some(ended) = self.threads.remove(java_id) {
            ended.ends(&self.log.current(), clock::now_ns());
        }
    }

    /// Has the log define what [`Recorder::sampled_stack`] is about to ask for,
    /// as far as the JVM has to be asked for it: a thread may be stopped in the
    /// JVM, which it must not be while others wait for what it has locked.
    pub fn define_stack(&self, java: Java, thread: &Thread, frames: &mut [jvmtiFrameInfo]) {
        let (which, cut) = self.kept_of(frames);
        let Some(kept) = frames.get_mut(which).filter(|kept| !kept.is_empty()) else { return };
        let number = thread.groups.innermost();
        let print = within(number, marked(fingerprint(kept), (cut, false)));
        let (volume, group) = (self.log.current(), self.group(number));
        let (jvm, marks) = ((self.ti, java), (cut, false));
        let _ = volume.dictionary.stack(&volume.log, jvm, print, kept, marks, group.as_ref());
    }

    /// The id of the stack of a thread that waits for a monitor, not the current
    /// one, in no group.
    pub(super) fn stack_at_monitor(&self, volume: &Volume, java: Java, thread: jthread) -> u32 {
        // One more than is kept tells whether the stack was cut.
        let none = jvmtiFrameInfo { method: std::ptr::null_mut(), location: 0 };
        let mut frames = vec![none; self.depth + 1];
        let count = self.ti.stack_of(thread, 0, &mut frames).unwrap_or(0);
        let marks = (count > self.depth, true);
        let frames = &mut frames[..count.min(self.depth)];
        let print = within(0, marked(fingerprint(frames), marks));
        let jvm = (self.ti, java);
        let stack = volume.dictionary.stack(&volume.log, jvm, print, frames, marks, None);
        stack.map_or(id::EMPTY_STACK, |stack| stack.id)
    }

    /// Which of the frames that were asked for are kept, and whether others are
    /// not.
    fn kept_of(&self, frames: &[jvmtiFrameInfo]) -> (Range<usize>, bool) {
        let first = frames.iter().take_while(|frame| is_probe(frame.method)).count();
        (first..frames.len().min(self.depth), frames.len() > self.depth)
    }

    /// The id of a stack of any thread's, with its group: `frames` may hold one
    /// more than is kept of a stack.
    pub fn sampled_stack(
        &self,
        (volume, lane): (&Arc<Volume>, &mut Lane),
        java: Java,
        thread: &Arc<Thread>,
        frames: &mut [jvmtiFrameInfo],
    ) -> u32 {
        let (which, cut) = self.kept_of(frames);
        let group = thread.groups.innermost();
        let outermost = &mut std::ptr::null_mut();
        let mut scene = Scene { volume, lane, thread, frames, outermost };
        self.stack_of(&mut scene, java, which, (cut, false), group).id
    }

    /// What a thread waits for, with ids of a volume. `None` when it does not
    /// wait, or is in the middle of an event.
    pub fn wait_of(&self, thread: &Thread, volume: &Arc<Volume>) -> Option<Begun> {
        let mut waits = thread.try_waits()?;
        if waits.volume() < volume.number {
            self.move_waits(thread, &mut waits, volume);
        }
        waits.innermost().filter(|_| waits.volume() == volume.number)
    }
}

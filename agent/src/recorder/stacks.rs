//! Ids of stacks.

use super::{EventContext, Recorder, threads::Thread};
use crate::{
    jvm::{Java, Object, Walker, walk::MOST_SKIPPED},
    log::{
        Generation,
        dictionary::{StackRef, fingerprint, marked, within},
        lane::Lane,
    },
};
use jvmti_bindings::sys::{jni::jmethodID, jvmti::jvmtiFrameInfo};
use std::{ops::Range, sync::Arc};

impl Recorder {
    /// The current stack's id; the empty stack's when it cannot be defined.
    pub fn stack(
        &self,
        context: &mut EventContext<'_>,
        java: Java,
        skip: usize,
        at_monitor: bool,
    ) -> StackRef {
        let count = self.walk(context, java, skip, at_monitor);
        let cut = count > self.depth;
        let group = context.thread.groups.innermost();
        self.stack_of(context, java, 0..count.min(self.depth), (cut, at_monitor), group)
    }

    /// The current stack's id, without its innermost frames that are machinery.
    pub fn stack_past(
        &self,
        context: &mut EventContext<'_>,
        java: Java,
        is_machinery: impl Fn(jmethodID) -> bool,
    ) -> StackRef {
        let count = self.walk(context, java, 0, false).min(context.frames.len());
        let frames = &context.frames[..count];
        let first = frames.iter().take_while(|frame| is_machinery(frame.method)).count();
        let last = count.min(first + self.depth);
        let group = context.thread.groups.innermost();
        self.stack_of(context, java, first..last, (last < count, false), group)
    }

    /// The current thread's stack below its `skip` innermost frames, into the
    /// context's: how many there are. The innermost of all is a native method,
    /// unless the thread is at a monitor.
    fn walk(
        &self,
        context: &mut EventContext<'_>,
        java: Java,
        skip: usize,
        at_monitor: bool,
    ) -> usize {
        let can_walk = |_: &&Walker| !at_monitor && !context.thread.is_virtual();
        let walker = self.walker.as_ref().filter(can_walk);
        let (jvm, outermost) = ((self.ti, java), *context.outermost);
        let walked = walker.and_then(|walker| walker.walk(jvm, skip, context.frames, outermost));
        if let Some(count) = walked {
            return count;
        }
        let room = context.frames.len() - MOST_SKIPPED;
        let count = self.ti.stack(java, skip, &mut context.frames[..room]);
        if let Some(last) = context.frames[..count].last().filter(|_| count < room) {
            *context.outermost = last.method;
        }
        count
    }

    /// The id of the stack of some of the context's frames, in a group. It may be
    /// cut at the depth limit, and end at a monitor that is not entered yet.
    #[inline]
    fn stack_of(
        &self,
        context: &mut EventContext<'_>,
        java: Java,
        which: Range<usize>,
        (cut, at_monitor): (bool, bool),
        group: u32,
    ) -> StackRef {
        let EventContext { generation, lane, frames, .. } = context;
        let frames = frames.get_mut(which).unwrap_or_default();
        let print = within(group, marked(fingerprint(frames), (cut, at_monitor)));
        if let Some(&(second, known)) = lane.stacks.get(&print.0)
            && second == print.1
        {
            return known;
        }
        let Generation { log, dictionary, .. } = &***generation;
        let jvm = (self.ti, java);
        let group = self.group(group);
        let found = dictionary.stack(log, jvm, print, frames, (cut, at_monitor), group.as_ref());
        let Some(stack) = found else { return StackRef::UNKNOWN };
        lane.trim();
        lane.stacks.insert(print.0, (print.1, stack));
        stack
    }

    /// Has the log define what [`Recorder::stack_of_thread`] is about to ask for,
    /// as far as the JVM has to be asked for it: a thread may be stopped in the
    /// JVM, which it must not be while others wait for what it has locked.
    pub fn define_stack(&self, java: Java, thread: &Thread, frames: &mut [jvmtiFrameInfo]) {
        let (which, cut) = self.kept_of(frames);
        let Some(kept) = frames.get_mut(which).filter(|kept| !kept.is_empty()) else { return };
        let number = thread.groups.innermost();
        let print = within(number, marked(fingerprint(kept), (cut, false)));
        let (generation, group) = (self.log.current(), self.group(number));
        let (jvm, marks) = ((self.ti, java), (cut, false));
        let _ =
            generation.dictionary.stack(&generation.log, jvm, print, kept, marks, group.as_ref());
    }

    /// The stack of a thread that waits for a monitor, not the current one, in no
    /// group.
    pub fn stack_at_monitor(
        &self,
        generation: &Generation,
        java: Java,
        thread: Object<'_>,
    ) -> StackRef {
        self.stack_of_other(generation, java, thread, (0, true))
    }

    /// The stack of a thread that is parked, not the current one, in no group:
    /// without the native method that parks it.
    pub fn stack_of_parked(
        &self,
        generation: &Generation,
        java: Java,
        thread: Object<'_>,
    ) -> StackRef {
        self.stack_of_other(generation, java, thread, (1, false))
    }

    fn stack_of_other(
        &self,
        generation: &Generation,
        java: Java,
        thread: Object<'_>,
        (skip, at_monitor): (usize, bool),
    ) -> StackRef {
        // One more than is kept tells whether the stack was cut.
        let none = jvmtiFrameInfo { method: std::ptr::null_mut(), location: 0 };
        let mut frames = vec![none; self.depth + 1];
        let count = self.ti.stack_of(thread, skip, &mut frames).unwrap_or(0);
        let marks = (count > self.depth, at_monitor);
        let frames = &mut frames[..count.min(self.depth)];
        let print = within(0, marked(fingerprint(frames), marks));
        let jvm = (self.ti, java);
        let stack = generation.dictionary.stack(&generation.log, jvm, print, frames, marks, None);
        stack.unwrap_or(StackRef::UNKNOWN)
    }

    /// Which of the frames that were asked for are kept, and whether others are
    /// not.
    fn kept_of(&self, frames: &[jvmtiFrameInfo]) -> (Range<usize>, bool) {
        let first = frames.iter().take_while(|frame| self.is_probe(frame.method)).count();
        (first..frames.len().min(self.depth), frames.len() > self.depth)
    }

    /// The id of a stack of any thread's, with its group: `frames` may hold one
    /// more than is kept of a stack.
    pub fn stack_of_thread(
        &self,
        (generation, lane): (&Arc<Generation>, &mut Lane),
        java: Java,
        thread: &Arc<Thread>,
        frames: &mut [jvmtiFrameInfo],
    ) -> u32 {
        let (which, cut) = self.kept_of(frames);
        let group = thread.groups.innermost();
        let outermost = &mut std::ptr::null_mut();
        let mut context = EventContext { generation, lane, thread, frames, outermost };
        self.stack_of(&mut context, java, which, (cut, false), group).id
    }

    /// The current stack without its innermost frames that are probes, nor
    /// the `skip` next ones.
    pub fn stack_below(
        &self,
        context: &mut EventContext<'_>,
        java: Java,
        is_probe: impl Fn(jmethodID) -> bool,
        skip: usize,
    ) -> u32 {
        let count = self.walk(context, java, 0, false);
        let cut = count > self.depth;
        let frames = &context.frames[..count.min(self.depth)];
        let probes = frames.iter().take_while(|frame| is_probe(frame.method)).count();
        let first = (probes + skip).min(frames.len());
        let group = self.group_of_current(context, java);
        let which = first..first.max(count.min(self.depth));
        self.stack_of(context, java, which, (cut, false), group).id
    }
}

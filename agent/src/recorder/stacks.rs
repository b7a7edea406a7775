//! Ids of stacks.

use super::{EventContext, Recorder, threads::Thread};
use crate::{
    fingerprint::{Fingerprint, Folded, fingerprint, marked},
    jvm::{Java, Object, Walker},
    log::{
        Generation,
        dictionary::{StackRef, within},
        lane::Lane,
    },
};
use jvmti_bindings::sys::{jni::jmethodID, jvmti::jvmtiFrameInfo};
use std::{ops::Range, sync::Arc};

/// Which frames of a stack are wanted.
#[derive(Clone, Copy)]
enum Wanted {
    /// All but so many innermost ones.
    Below(usize),
    /// The same, where the innermost one waits for a monitor.
    AtMonitor(usize),
    /// Those below machinery.
    PastMachinery,
    /// Those below probes, but for so many of these.
    PastProbes(usize),
}

impl Wanted {
    /// A stack that is known by the code of its frames is so for each of these alone.
    #[inline]
    fn within(self, print: Fingerprint) -> Fingerprint {
        let (kind, skip) = match self {
            Wanted::Below(skip) => (1, skip),
            Wanted::AtMonitor(skip) => (2, skip),
            Wanted::PastMachinery => (3, 0),
            Wanted::PastProbes(skip) => (4, skip),
        };
        let mut folded = Folded::from(print);
        folded.add(kind, skip as u64);
        folded.get()
    }

    fn at_monitor(self) -> bool {
        matches!(self, Wanted::AtMonitor(_))
    }
}

impl Recorder {
    /// The current stack's id; the empty stack's when it cannot be defined.
    pub fn stack(
        &self,
        context: &mut EventContext<'_>,
        java: Java,
        skip: usize,
        at_monitor: bool,
    ) -> StackRef {
        let wanted = if at_monitor { Wanted::AtMonitor(skip) } else { Wanted::Below(skip) };
        let group = context.thread.groups.innermost();
        self.current(context, java, (wanted, group), |_| skip)
    }

    /// The current stack's id, without its innermost frames that are machinery.
    pub fn stack_past(
        &self,
        context: &mut EventContext<'_>,
        java: Java,
        is_machinery: impl Fn(jmethodID) -> bool,
    ) -> StackRef {
        let group = context.thread.groups.innermost();
        let first = |frames: &[jvmtiFrameInfo]| leading(frames, &is_machinery);
        self.current(context, java, (Wanted::PastMachinery, group), first)
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
        let group = self.group_of_current(context, java);
        let first = |frames: &[jvmtiFrameInfo]| leading(frames, &is_probe) + skip;
        self.current(context, java, (Wanted::PastProbes(skip), group), first).id
    }

    /// The current stack's id, from its `first` frame on.
    #[inline]
    fn current(
        &self,
        context: &mut EventContext<'_>,
        java: Java,
        (wanted, group): (Wanted, u32),
        first: impl Fn(&[jvmtiFrameInfo]) -> usize,
    ) -> StackRef {
        let Some(walker) = self.walker.as_ref().filter(|walker| walker.is_on()) else {
            let count = self.ti.stack(java, 0, context.frames);
            return self.of_current(context, java, (wanted, group), count, first);
        };
        let is_virtual = context.thread.is_virtual();
        let print = walker.recognise(java, is_virtual, context.frames.len());
        let print = print.map(|print| within(group, wanted.within(print)));
        let is_compared = walker.is_compared(self.totals.walked(context.thread));
        if let Some((first, second)) = print
            && let Some(&(other, stack)) = context.lane.walked.get(&first)
            && other == second
            && !is_compared
        {
            return stack;
        }
        let walker = (walker, print, is_compared);
        self.read_current(context, java, (wanted, group), walker, first)
    }

    /// Likewise for a stack that is not known, or whose walk is to be compared.
    #[cold]
    fn read_current(
        &self,
        context: &mut EventContext<'_>,
        java: Java,
        (wanted, group): (Wanted, u32),
        (walker, print, is_compared): (&Walker, Option<Fingerprint>, bool),
        first: impl Fn(&[jvmtiFrameInfo]) -> usize,
    ) -> StackRef {
        let is_virtual = context.thread.is_virtual();
        let walked = print.and_then(|_| walker.stack(java, is_virtual, context.frames));
        let Some((count, is_lasting)) = walked else {
            let count = self.ti.stack(java, 0, context.frames);
            walker.learn(&context.frames[..count]);
            return self.of_current(context, java, (wanted, group), count, first);
        };
        let mut stack = self.of_current(context, java, (wanted, group), count, &first);
        // If it is to go on being that, with the code of these frames.
        let known = print.filter(|_| is_lasting);
        if is_compared {
            let before = known.and_then(|print| context.lane.walked.get(&print.0).copied());
            let told = self.ti.stack(java, 0, context.frames);
            let truth = self.of_current(context, java, (wanted, group), told, &first);
            let before = before.filter(|(second, _)| known.is_some_and(|(_, is)| is == *second));
            walker.compared(truth == stack && before.is_none_or(|(_, before)| before == truth));
            stack = truth;
        }
        if let Some((first, second)) = known {
            context.lane.trim();
            context.lane.walked.insert(first, (second, stack));
        }
        stack
    }

    /// The id of the current stack, of which the context has so many frames.
    #[inline]
    fn of_current(
        &self,
        context: &mut EventContext<'_>,
        java: Java,
        (wanted, group): (Wanted, u32),
        count: usize,
        first: impl Fn(&[jvmtiFrameInfo]) -> usize,
    ) -> StackRef {
        let first = first(&context.frames[..count]).min(count);
        let last = count.min(first + self.depth);
        // With no room left, there may be more.
        let cut = last < count || count == context.frames.len();
        self.stack_of(context, java, first..last, (cut, wanted.at_monitor()), group)
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
        let parks_unseen = &mut 0;
        let mut context = EventContext { generation, lane, thread, frames, parks_unseen };
        self.stack_of(&mut context, java, which, (cut, false), group).id
    }
}

/// How many innermost frames are of such methods.
fn leading(frames: &[jvmtiFrameInfo], is_such: impl Fn(jmethodID) -> bool) -> usize {
    frames.iter().take_while(|frame| is_such(frame.method)).count()
}

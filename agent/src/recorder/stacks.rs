//! Ids of stacks.

use super::{EventContext, Recorder, threads::Thread};
use crate::{
    fingerprint::{Fingerprint, Folded, fingerprint, marked},
    jvm::{Java, Object, Walker, walk::MOST_SKIPPED},
    log::{
        Generation,
        dictionary::{StackRef, within},
        lane::{Lane, Walked},
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
    /// Those below machinery, which is always the same.
    PastMachinery,
    /// Those below probes, which are always the same, and below so many more.
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
            let count = self.ti.stack(java, context.frames);
            return self.of_current(context, java, (wanted, group), count, first);
        };
        let most = context.frames.len();
        let code = |thread: &Thread| {
            let code = walker.recognise(java, thread.is_virtual(), most)?;
            Some(within(group, wanted.within(code)))
        };
        if walker.is_compared(self.totals.walked(context.thread)) {
            self.compare(context, java, (walker, code), &first);
        }
        let code = code(context.thread);
        if let Some(known) = code.and_then(|code| context.lane.walked(code)) {
            return known.stack;
        }
        self.read_current(context, java, (wanted, group), (walker, code), first)
    }

    /// Likewise for a stack that is not known.
    #[cold]
    fn read_current(
        &self,
        context: &mut EventContext<'_>,
        java: Java,
        (wanted, group): (Wanted, u32),
        (walker, code): (&Walker, Option<Fingerprint>),
        first: impl Fn(&[jvmtiFrameInfo]) -> usize,
    ) -> StackRef {
        let is_virtual = context.thread.is_virtual();
        let walked = code.and_then(|_| walker.stack(java, is_virtual, context.frames));
        let Some((count, is_lasting)) = walked else {
            let count = self.ti.stack(java, context.frames);
            walker.learn(&context.frames[..count]);
            return self.of_current(context, java, (wanted, group), count, first);
        };
        let print = self.kept_print(&context.frames[..count], &first);
        let stack = self.of_current(context, java, (wanted, group), count, &first);
        // If it is to go on being that, with the code of these frames.
        if let Some((first, second)) = code.filter(|_| is_lasting) {
            context.lane.trim();
            context.lane.walked.insert(first, Walked { second, stack, print });
        }
        stack
    }

    /// Compares the current stack as a walk tells it, and as it is known, with what the
    /// JVM tells. A class may be redefined between the two: then they are the same the
    /// second time.
    #[cold]
    fn compare(
        &self,
        context: &mut EventContext<'_>,
        java: Java,
        (walker, code): (&Walker, impl Fn(&Thread) -> Option<Fingerprint>),
        first: impl Fn(&[jvmtiFrameInfo]) -> usize,
    ) {
        let is_virtual = context.thread.is_virtual();
        let mut compare = || {
            let code = code(context.thread)?;
            let known = context.lane.walked(code).map(|known| known.print);
            let (count, _) = walker.stack(java, is_virtual, context.frames)?;
            let walked = self.kept_print(&context.frames[..count], &first);
            let count = self.ti.stack(java, context.frames);
            let told = self.kept_print(&context.frames[..count], &first);
            Some((known.is_some(), walked == told && known.is_none_or(|known| known == told)))
        };
        if let Some((is_known, is_same)) = compare() {
            // Where the second walk is not sure any more, nothing is told of it.
            walker.compared(is_known, is_same || compare().is_none_or(|(_, is_same)| is_same));
        }
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
        let (which, cut) = self.kept(&context.frames[..count], first);
        self.stack_of(context, java, which, (cut, wanted.at_monitor()), group)
    }

    /// What tells apart stacks by the frames that are kept of them.
    fn kept_print(
        &self,
        frames: &[jvmtiFrameInfo],
        first: impl Fn(&[jvmtiFrameInfo]) -> usize,
    ) -> Fingerprint {
        let (which, cut) = self.kept(frames, first);
        marked(fingerprint(&frames[which]), (cut, false))
    }

    /// Which of a stack's frames are kept, from its `first` on, and whether there are
    /// more.
    fn kept(
        &self,
        frames: &[jvmtiFrameInfo],
        first: impl Fn(&[jvmtiFrameInfo]) -> usize,
    ) -> (Range<usize>, bool) {
        let first = first(frames).min(frames.len());
        let last = frames.len().min(first + self.depth);
        // With no room left, there may be more.
        let has_no_room = frames.len() == self.depth + 1 + MOST_SKIPPED;
        (first..last, last < frames.len() || has_no_room)
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

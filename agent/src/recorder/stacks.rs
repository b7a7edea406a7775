//! Ids of stacks.

use super::{
    EventContext, Recorder,
    takers::{DEEPEST, Way},
    threads::Thread,
};
use crate::{
    fingerprint::{Fingerprint, Folded, fingerprint, marked},
    jvm::{Java, Object, Walker, walk::MOST_SKIPPED},
    log::{
        Generation,
        dictionary::{StackOf, StackRef, within},
        lane::{Lane, Walked},
    },
};
use jvmti_bindings::sys::{jni::jmethodID, jvmti::jvmtiFrameInfo};
use std::{ops::Range, sync::Arc};
use tyrion_wire::def::id;

/// Which frames of a stack are wanted, and of what.
#[derive(Clone, Copy)]
enum Wanted {
    /// All but so many innermost ones.
    Below(usize),
    /// The same, where it comes to wait for something by a way.
    Waits(usize, Way),
    /// Those of a park below machinery, which is always the same.
    PastMachinery,
    /// Those below probes, which are always the same, and below so many more.
    PastProbes(usize),
}

impl Wanted {
    /// A stack that is known by the code of its frames is so for each of these alone, and
    /// until classes are redefined.
    #[inline]
    fn within(self, print: Fingerprint, redefinitions: u64) -> Fingerprint {
        let (kind, skip) = match self {
            Wanted::Below(skip) => (1, skip),
            Wanted::Waits(skip, way) => (2 + way as u64, skip),
            Wanted::PastMachinery => (5, 0),
            Wanted::PastProbes(skip) => (6, skip),
        };
        let mut folded = Folded::from(print);
        folded.add(kind | redefinitions << 3, skip as u64);
        folded.get()
    }

    /// How it comes to wait for something, if it does.
    fn way(self) -> Option<Way> {
        match self {
            Wanted::Waits(_, way) => Some(way),
            Wanted::PastMachinery => Some(Way::Park),
            Wanted::Below(_) | Wanted::PastProbes(_) => None,
        }
    }
}

/// Which frames are kept of a stack, how many are known, whether there are more, and how it
/// comes to wait for something, if it does.
#[derive(Clone)]
struct Kept {
    which: Range<usize>,
    count: usize,
    cut: bool,
    way: Option<Way>,
    /// Whether it is the current thread's.
    is_own: bool,
}

impl Kept {
    /// What makes it another stack than the same frames without that.
    fn mark(&self) -> u64 {
        u64::from(self.cut) | self.way.map_or(0, |way| way as u64 + 1) << 1
    }

    /// The frames that tell it from others. The one that takes a lock may be none of those
    /// that are kept.
    fn telling<'f>(&self, frames: &'f [jvmtiFrameInfo]) -> &'f [jvmtiFrameInfo] {
        let end = match self.way {
            Some(_) => self.which.end.max(self.count.min(DEEPEST)),
            None => self.which.end,
        };
        frames.get(self.which.start..end).unwrap_or_default()
    }
}

/// How often stacks that differ are compared again.
const COMPARED_AGAIN: u32 = 3;

impl Recorder {
    /// The current stack's id, without its `skip` innermost frames; the empty stack's when
    /// it cannot be defined.
    pub fn stack(&self, context: &mut EventContext<'_>, java: Java, skip: usize) -> StackRef {
        let group = self.group_number(java, context.thread);
        self.current(context, java, (Wanted::Below(skip), group), |_| skip)
    }

    /// The same where the current thread is about to wait, and comes to that by a way.
    pub fn stack_of_wait(
        &self,
        context: &mut EventContext<'_>,
        java: Java,
        skip: usize,
        way: Way,
    ) -> StackRef {
        let group = self.group_number(java, context.thread);
        self.current(context, java, (Wanted::Waits(skip, way), group), |_| skip)
    }

    /// The current stack's id where the thread parks, without its innermost frames that are
    /// machinery.
    pub fn stack_past(
        &self,
        context: &mut EventContext<'_>,
        java: Java,
        is_machinery: impl Fn(jmethodID) -> bool,
    ) -> StackRef {
        let group = self.group_number(java, context.thread);
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
        let code_of = |thread: &Thread| {
            let code = walker.recognise(java, thread.is_virtual(), most)?;
            Some(within(group, wanted.within(code, self.versions.redefinitions())))
        };
        let is_compared = walker.is_compared(self.totals.walked(context.thread));
        if is_compared {
            self.compare(context, java, (walker, &code_of), &first);
        }
        if walker.is_on_trial() {
            // Walks are slow meanwhile, so only what is compared is learned from.
            return self.ask_current(context, java, (wanted, group), (walker, is_compared), first);
        }
        let code = code_of(context.thread);
        if let Some(known) = code.and_then(|code| context.lane.walked(code)) {
            return known.stack;
        }
        self.read_current(context, java, (wanted, group), (walker, code, code_of), first)
    }

    /// Likewise for a stack that is not known.
    #[cold]
    fn read_current(
        &self,
        context: &mut EventContext<'_>,
        java: Java,
        (wanted, group): (Wanted, u32),
        (walker, code, code_of): (
            &Walker,
            Option<Fingerprint>,
            impl Fn(&Thread) -> Option<Fingerprint>,
        ),
        first: impl Fn(&[jvmtiFrameInfo]) -> usize,
    ) -> StackRef {
        let is_virtual = context.thread.is_virtual();
        let walked = code.and_then(|_| walker.stack(java, is_virtual, context.frames));
        let Some((count, is_lasting)) = walked else {
            return self.ask_current(context, java, (wanted, group), (walker, true), first);
        };
        let print = self.kept_print(&context.frames[..count], &first);
        let stack = self.of_current(context, java, (wanted, group), count, &first);
        // If it is to go on being that, with the code of these frames: while a class is being
        // redefined, the JVM may still tell the ids of before.
        let is_lasting = is_lasting && !self.versions.may_change();
        // Code may have gone out of use meanwhile, and then has another fingerprint.
        let is_same = |code: &Fingerprint| code_of(context.thread) == Some(*code);
        if let Some((first, second)) = code.filter(|code| is_lasting && is_same(code)) {
            context.lane.trim();
            context.lane.walked.insert(first, Walked { second, stack, print });
        }
        stack
    }

    /// Likewise, as the JVM tells it, from which the walker may learn.
    #[cold]
    fn ask_current(
        &self,
        context: &mut EventContext<'_>,
        java: Java,
        (wanted, group): (Wanted, u32),
        (walker, learns): (&Walker, bool),
        first: impl Fn(&[jvmtiFrameInfo]) -> usize,
    ) -> StackRef {
        let count = self.ti.stack(java, context.frames);
        walker.note_asked();
        if learns {
            walker.learn(java, context.thread.is_virtual(), &context.frames[..count]);
        }
        self.of_current(context, java, (wanted, group), count, first)
    }

    /// Compares the current stack as a walk tells it, and as it is known, with what the
    /// JVM tells. A class may be redefined between the two, and on a busy machine once more while
    /// they are asked again: then they are the same a little later.
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
            let mut again = || compare().is_none_or(|(_, is_same)| is_same);
            walker.compared(is_known, is_same || (0..COMPARED_AGAIN).any(|_| again()));
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
        let kept = self.kept(&context.frames[..count], first, wanted.way());
        self.stack_of(context, java, kept, group)
    }

    /// What tells apart stacks by the frames that are kept of them.
    fn kept_print(
        &self,
        frames: &[jvmtiFrameInfo],
        first: impl Fn(&[jvmtiFrameInfo]) -> usize,
    ) -> Fingerprint {
        self.print(frames, &self.kept(frames, first, None))
    }

    fn print(&self, frames: &[jvmtiFrameInfo], kept: &Kept) -> Fingerprint {
        let print = fingerprint(kept.telling(frames), |method| self.versions.of(method));
        marked(print, kept.mark())
    }

    /// Which of a stack's frames are kept, from its `first` on.
    fn kept(
        &self,
        frames: &[jvmtiFrameInfo],
        first: impl Fn(&[jvmtiFrameInfo]) -> usize,
        way: Option<Way>,
    ) -> Kept {
        let first = first(frames).min(frames.len());
        let last = frames.len().min(first + self.depth);
        // With no room left, there may be more.
        let has_no_room = frames.len() == self.frames_wanted();
        let cut = last < frames.len() || has_no_room;
        Kept { which: first..last, count: frames.len(), cut, way, is_own: true }
    }

    /// How many frames of a stack are asked for: so many that those that are kept are among
    /// them, one more, and the one that takes a lock.
    pub(super) fn frames_wanted(&self) -> usize {
        (self.depth + 1 + MOST_SKIPPED).max(DEEPEST)
    }

    /// The id of the stack of some of the context's frames, in a group.
    #[inline]
    fn stack_of(
        &self,
        context: &mut EventContext<'_>,
        java: Java,
        kept: Kept,
        group: u32,
    ) -> StackRef {
        let EventContext { generation, lane, frames, .. } = context;
        let print = within(group, self.print(frames, &kept));
        if let Some(&(second, known)) = lane.stacks.get(&print.0)
            && second == print.1
        {
            return known;
        }
        let found = self.define(generation, java, (print, frames), &kept, group);
        let Some(stack) = found else { return StackRef::UNKNOWN };
        lane.trim();
        lane.stacks.insert(print.0, (print.1, stack));
        stack
    }

    /// The id of a stack with this fingerprint, in a group.
    fn define(
        &self,
        generation: &Generation,
        java: Java,
        (print, frames): (Fingerprint, &mut [jvmtiFrameInfo]),
        kept: &Kept,
        group: u32,
    ) -> Option<StackRef> {
        let Generation { log, dictionary, .. } = generation;
        if let Some(known) = dictionary.known_stack(print) {
            return Some(known);
        }
        let all = frames.get(..kept.count).unwrap_or_default();
        let taker = |way| self.taker(java, (way, kept.is_own), all);
        let place = kept.way.map_or(id::UNKNOWN, taker);
        let group = self.group(group);
        let frames = frames.get_mut(kept.which.clone()).unwrap_or_default();
        let of = StackOf {
            versions: &self.versions,
            cut: kept.cut,
            at_monitor: kept.way == Some(Way::Monitor),
            group: group.as_ref(),
            place,
        };
        dictionary.stack(log, (self.ti, java), print, frames, of)
    }

    /// Has the log define what [`Recorder::stack_of_thread`] is about to ask for,
    /// as far as the JVM has to be asked for it: a thread may be stopped in the
    /// JVM, which it must not be while others wait for what it has locked.
    pub fn define_stack(&self, java: Java, thread: &Thread, frames: &mut [jvmtiFrameInfo]) {
        let kept = self.kept_of(frames);
        if kept.which.is_empty() {
            return;
        }
        let (generation, group) = (self.log.current(), self.group_number(java, thread));
        let print = within(group, self.print(frames, &kept));
        let _ = self.define(&generation, java, (print, frames), &kept, group);
    }

    /// The stack of a thread that waits for a monitor, not the current one, in no
    /// group.
    pub fn stack_at_monitor(
        &self,
        generation: &Generation,
        java: Java,
        thread: Object<'_>,
    ) -> StackRef {
        self.stack_of_other(generation, java, thread, (0, Way::Monitor))
    }

    /// The stack of a thread that is parked, not the current one, in no group:
    /// without the native method that parks it.
    pub fn stack_of_parked(
        &self,
        generation: &Generation,
        java: Java,
        thread: Object<'_>,
    ) -> StackRef {
        self.stack_of_other(generation, java, thread, (1, Way::Park))
    }

    /// The id of a stack of another thread's, of which there are so many frames, in no
    /// group.
    pub(super) fn stack_of_frames(
        &self,
        generation: &Generation,
        java: Java,
        frames: &mut [jvmtiFrameInfo],
        count: usize,
    ) -> u32 {
        let kept = Kept { is_own: false, ..self.kept(&frames[..count], |_| 0, None) };
        let print = within(0, self.print(frames, &kept));
        self.define(generation, java, (print, frames), &kept, 0).map_or(id::EMPTY_STACK, |it| it.id)
    }

    /// The id of the whole stack of a thread, not the current one, in no group.
    pub fn stack_of_other_thread(
        &self,
        generation: &Generation,
        java: Java,
        thread: Object<'_>,
    ) -> u32 {
        let none = jvmtiFrameInfo { method: std::ptr::null_mut(), location: 0 };
        let mut frames = vec![none; self.frames_wanted()];
        let count = self.ti.stack_of(thread, 0, &mut frames).unwrap_or(0);
        self.stack_of_frames(generation, java, &mut frames, count)
    }

    fn stack_of_other(
        &self,
        generation: &Generation,
        java: Java,
        thread: Object<'_>,
        (skip, way): (usize, Way),
    ) -> StackRef {
        let none = jvmtiFrameInfo { method: std::ptr::null_mut(), location: 0 };
        let mut frames = vec![none; self.frames_wanted()];
        let count = self.ti.stack_of(thread, 0, &mut frames).unwrap_or(0);
        let kept = self.kept(&frames[..count], |_| skip, Some(way));
        let kept = Kept { is_own: false, ..kept };
        let print = within(0, self.print(&frames, &kept));
        let stack = self.define(generation, java, (print, &mut frames), &kept, 0);
        stack.unwrap_or(StackRef::UNKNOWN)
    }

    /// Which of the frames that were asked for are kept, and whether others are
    /// not.
    fn kept_of(&self, frames: &[jvmtiFrameInfo]) -> Kept {
        let first = frames.iter().take_while(|frame| self.is_probe(frame.method)).count();
        let which = first..frames.len().min(self.depth);
        let (count, cut) = (frames.len(), frames.len() > self.depth);
        Kept { which, count, cut, way: None, is_own: false }
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
        let kept = self.kept_of(frames);
        // That of when the stack was defined: the JVM must not be asked now.
        let group = self.last_group_number(thread);
        let parks_unseen = &mut 0;
        let mut context = EventContext { generation, lane, thread, frames, parks_unseen };
        self.stack_of(&mut context, java, kept, group).id
    }
}

/// How many innermost frames are of such methods.
fn leading(frames: &[jvmtiFrameInfo], is_such: impl Fn(jmethodID) -> bool) -> usize {
    frames.iter().take_while(|frame| is_such(frame.method)).count()
}

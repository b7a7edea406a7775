//! The current thread's stack, many times faster than `GetStackTrace`.
//!
//! `GetStackTrace` reads the debug information of every compiled frame anew, and finds
//! out where it keeps its object references, which nobody asked for: 0.1 to 0.7 µs a
//! frame. Here the frames of a stack are only followed, by the sizes that the JVM keeps
//! for each piece of machine code, and what they are is folded into a fingerprint: a
//! stack that was seen before is known again by it. The first time, the debug
//! information is read here as well.
//!
//! - [`frames`]: from frame to frame
//! - [`code`], [`heap`]: machine code
//! - [`scopes`]: which methods and bytecodes a compiled frame stands for
//! - [`methods`]: the ids of methods
//! - [`variables`]: the names of local variables
//! - [`exports`], [`layout`]: where the JVM has all that
//!
//! Nothing is guessed: where a frame is not of a kind that is known here, or a method's
//! id is not known, the JVM is asked. And some of the stacks are compared with what it
//! tells.

mod code;
mod exports;
mod flags;
mod frames;
mod heap;
mod layout;
mod memory;
mod methods;
mod scopes;
mod variables;

use super::{Java, Object};
use crate::fingerprint::{Fingerprint, Folded};
use code::Kinds;
pub use exports::Exports;
pub use flags::Flags;
use frames::{Frame, Frames, Unsure};
use jvmti_bindings::sys::{
    jni::{jfieldID, jmethodID},
    jvmti::jvmtiFrameInfo,
};
use layout::Layout;
use memory::{be_careful, read};
use methods::MethodIds;
use std::{
    ptr,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};
use tyrion_wire::walks;
pub use variables::LocalVariables;

/// How many innermost frames can be skipped at most: buffers need room for them, too.
pub const MOST_SKIPPED: usize = 3;

/// The first walks are compared with what `GetStackTrace` tells.
const FIRST_COMPARED: u64 = 64;
/// Later one walk in this many is compared.
const COMPARED_ONE_IN: u64 = 4096;
/// The number of walks that may differ.
const DIFFERENCES: u64 = 3;
/// The JDKs whose structures are known to be as [`layout`] and [`methods`] say: what they
/// are called may stay while what they mean changes.
const JDKS: [u32; 8] = [8, 11, 17, 21, 25, 26, 27, 28];
/// So many walks of another JDK must be as the JVM says before they are believed.
const TRIAL: u64 = 10_000;
/// One stack in this many is walked until then: what may not be there is read by the kernel, which
/// takes some 0.2 ms for a stack.
const TRIED_ONE_IN: u64 = 64;

/// So many pieces of machine code and interpreted frames are searched for a method.
const MOST_SEARCHED: usize = 64;

/// The state of an `nmethod` that may be entered: none of its methods has been redefined.
const IN_USE: i8 = 0;

/// Walks stacks of the current thread.
pub struct Walker {
    layout: Layout,
    kinds: Kinds,
    ids: MethodIds,
    /// `Continuation.enterSpecial`, below which a virtual thread's stack is its carrier's;
    /// null before JDK 19.
    enter: jmethodID,
    /// Its machine code, the JVM's own for ever; 0 as long as it was not seen.
    entry: AtomicUsize,
    /// Whether all walks are compared, and differences counted.
    compares: bool,
    counts: WalkCounts,
    /// How many walks there are to be that are only compared.
    trial: AtomicU64,
    /// What to do when it is not asked any more, since its answers differed.
    given_up: fn(),
}

// SAFETY: method ids are valid on every thread, and so is what the JVM publishes.
unsafe impl Send for Walker {}
// SAFETY: as above; what changes is atomic.
unsafe impl Sync for Walker {}

/// How stacks were found.
#[derive(Default)]
struct WalkCounts {
    /// `GetStackTrace` was asked, since a walk was not sure.
    asked: AtomicU64,
    compared: AtomicU64,
    /// How many of these were known by their code.
    known: AtomicU64,
    differ: AtomicU64,
}

/// What is needed of the JVM to find its structures.
pub struct Hints<'a> {
    /// What the JVM publishes of them.
    pub exports: &'a Exports,
    /// The current thread, a platform thread.
    pub thread: Object<'a>,
    /// `Thread.eetop`, the address of its `JavaThread`.
    pub eetop: jfieldID,
    /// `Continuation.enterSpecial`, or null.
    pub enter: jmethodID,
    /// The version of the JDK.
    pub version: u32,
}

impl Walker {
    /// A walker, where this JVM is one whose structures are known. `given_up` is called
    /// once, should it tell other stacks than the JVM.
    ///
    /// # Errors
    /// What of the JVM is not known.
    pub fn find(
        java: Java,
        hints: &Hints<'_>,
        compares: bool,
        given_up: fn(),
    ) -> Result<Walker, &'static str> {
        let is_known = JDKS.contains(&hints.version);
        if !is_known && !(JDKS[0]..).contains(&hints.version) {
            return Err("another JDK");
        }
        be_careful(!is_known);
        let thread = java.long_field(hints.thread, hints.eetop) as usize;
        let env = (java.raw() as usize).wrapping_sub(thread);
        let layout = Layout::of(hints.exports, hints.version, env)?;
        Ok(Walker {
            ids: MethodIds::of(&layout.method, hints.version).ok_or("InstanceKlass")?,
            layout,
            kinds: Kinds::default(),
            enter: hints.enter,
            entry: AtomicUsize::new(0),
            compares,
            counts: WalkCounts::default(),
            trial: AtomicU64::new(if is_known { 0 } else { TRIAL }),
            given_up,
        })
    }

    /// What became of the walks, if all were compared.
    pub fn account(&self) -> Option<String> {
        let WalkCounts { asked, compared, known, differ } = &self.counts;
        let [asked, compared, known, differ] = [asked, compared, known, differ].map(load);
        let account = || {
            format!(
                "{compared} stacks compared, {known} of them known before, {differ} differ; \
                 {asked} more asked of the JVM"
            )
        };
        self.compares.then(account)
    }

    /// How so many stacks were found, by the names that this has in the log.
    pub fn values(&self, stacks: u64) -> [(&'static str, u64); 4] {
        let WalkCounts { asked, compared, differ, .. } = &self.counts;
        [
            (walks::OWN, stacks.saturating_sub(load(asked))),
            (walks::JVMTI, load(asked)),
            (walks::COMPARED, load(compared)),
            (walks::DIFFERENT, load(differ)),
        ]
    }

    /// Whether it is to be asked.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.compares || self.counts.differ.load(Relaxed) < DIFFERENCES
    }

    /// Whether walks are only compared, and none believed, since the JDK is one that was never
    /// seen.
    #[inline]
    pub fn is_on_trial(&self) -> bool {
        self.trial.load(Relaxed) != 0
    }

    /// What the `most` innermost frames of the current thread's stack are, or all, as
    /// long as the JVM has this code: frames that are the same have the same
    /// fingerprint. `None` when the JVM must be asked.
    #[inline]
    pub fn recognise(&self, java: Java, is_virtual: bool, most: usize) -> Option<Fingerprint> {
        let mut frames = self.frames(java)?;
        let mut print = Folded::new();
        for _ in 0..most {
            match frames.next().ok()? {
                // A virtual thread's begins elsewhere.
                None if is_virtual => return None,
                None => break,
                Some(frame) if self.is_entry(frame) => {
                    // A carrier that acts for itself is not known here.
                    if !is_virtual {
                        return None;
                    }
                    break;
                }
                Some(Frame::Compiled { nmethod, pc, sp }) => {
                    let blob = &self.layout.blob;
                    // SAFETY: the code of a frame of this thread stays.
                    let (id, state) = unsafe {
                        (read::<u32>(nmethod + blob.compile_id), read::<i8>(nmethod + blob.state))
                    };
                    match state {
                        // In a JVM as it is released, no two compilations have the same
                        // number.
                        IN_USE => print.add(pc as u64, u64::from(id) | 1 << 63),
                        // Its methods may have been redefined since it was seen first.
                        _ => self.add_scopes(&mut print, nmethod, pc, sp)?,
                    }
                }
                Some(Frame::Interpreted { method, bytecode }) => {
                    // SAFETY: the method of a frame of this thread stays.
                    let location = unsafe { self.layout.location(method, bytecode) }.ok()?;
                    // SAFETY: as above.
                    print.add(unsafe { self.ids.version(method) }?, location as u64);
                }
            }
        }
        Some(print.get())
    }

    #[cold]
    fn add_scopes(&self, print: &mut Folded, nmethod: usize, pc: usize, sp: usize) -> Option<()> {
        let mut is_known = true;
        // SAFETY: the frame is one of this thread, as for all that is asked of it.
        unsafe {
            let pc = self.layout.real_pc(nmethod, pc, sp).ok()?;
            let add = |scope: scopes::Scope| {
                let version = self.ids.version(scope.method);
                print.add(version.unwrap_or(0), scope.location as u64);
                is_known &= version.is_some();
                is_known
            };
            self.layout.scopes(nmethod, pc, add).ok()?;
        }
        is_known.then_some(())
    }

    /// The current thread's stack, innermost frame first, into `frames`, as
    /// [`Ti::stack`](super::Ti::stack) tells it: how many there are; and whether a stack with its
    /// [fingerprint](Walker::recognise) is always this one. `None` when the JVM must be
    /// asked; what is in `frames` has no meaning then.
    pub fn stack(
        &self,
        java: Java,
        is_virtual: bool,
        frames: &mut [jvmtiFrameInfo],
    ) -> Option<(usize, bool)> {
        let mut count = 0;
        let is_lasting = self.each(java, is_virtual, |method, location| {
            // SAFETY: the method is that of a frame of this thread.
            let Some(id) = (unsafe { self.ids.id(method) }) else { return Err(Unsure) };
            let method = ptr::with_exposed_provenance_mut(id);
            frames[count] = jvmtiFrameInfo { method, location };
            count += 1;
            Ok(count < frames.len())
        })?;
        (count > 0).then_some((count, is_lasting))
    }

    /// Tells the method and the location of each frame of the current thread, innermost first,
    /// as long as `add` says that more are wanted. Whether a stack with the same fingerprint is
    /// always this one; `None` when that is not sure.
    fn each(
        &self,
        java: Java,
        is_virtual: bool,
        mut add: impl FnMut(usize, i64) -> Result<bool, Unsure>,
    ) -> Option<bool> {
        let mut all = self.frames(java)?;
        let mut is_lasting = true;
        loop {
            let goes_on = match all.next().ok()? {
                None if is_virtual => return None,
                None => break,
                // A carrier that acts for itself is not known here.
                Some(frame) if self.is_entry(frame) && !is_virtual => return None,
                Some(frame) if self.is_entry(frame) => break,
                Some(Frame::Compiled { nmethod, pc, sp }) => {
                    let mut goes_on = Ok(true);
                    // SAFETY: the frame is one of this thread, and its code stays.
                    let done = unsafe {
                        let real_pc = self.layout.real_pc(nmethod, pc, sp).ok()?;
                        // What goes on elsewhere is told by its scopes once the code is not used.
                        let is_used = read::<i8>(nmethod + self.layout.blob.state) == IN_USE;
                        is_lasting &= real_pc == pc || !is_used;
                        self.layout.scopes(nmethod, real_pc, |scope| {
                            goes_on = add(scope.method, scope.location);
                            matches!(goes_on, Ok(true))
                        })
                    };
                    done.and(goes_on)
                }
                Some(Frame::Interpreted { method, bytecode }) => {
                    // SAFETY: the method is that of a frame of this thread.
                    add(method, unsafe { self.layout.location(method, bytecode) }.ok()?)
                }
            };
            if !goes_on.ok()? {
                break;
            }
        }
        Some(is_lasting)
    }

    /// Where the method is that has an id, of one of the innermost frames of the current thread.
    pub fn method_of(&self, java: Java, id: jmethodID) -> Option<usize> {
        let mut frames = self.frames(java).filter(|_| self.is_on() && !self.is_on_trial())?;
        let id = id as usize;
        let mut found = None;
        for _ in 0..MOST_SEARCHED {
            // SAFETY: the frames are this thread's, and so are their methods.
            unsafe {
                let mut look = |method: usize| {
                    found = found.or_else(|| self.ids.is(method, id).then_some(method));
                    found.is_none()
                };
                match frames.next().ok()?? {
                    Frame::Interpreted { method, .. } => {
                        look(method);
                    }
                    Frame::Compiled { nmethod, pc, sp } => {
                        let pc = self.layout.real_pc(nmethod, pc, sp).ok()?;
                        self.layout.scopes(nmethod, pc, |scope| look(scope.method)).ok()?;
                    }
                }
            }
            if found.is_some() {
                break;
            }
        }
        found
    }

    /// Whether a walk is to be compared, before which so many were.
    #[inline]
    pub fn is_compared(&self, before: u64) -> bool {
        if self.is_on_trial() && !self.compares {
            return before.is_multiple_of(TRIED_ONE_IN);
        }
        self.compares || before < FIRST_COMPARED || before.is_multiple_of(COMPARED_ONE_IN)
    }

    /// The JVM was asked for a stack, since a walk was not sure of it, or not believed.
    pub fn note_asked(&self) {
        self.counts.asked.fetch_add(1, Relaxed);
    }

    /// The JVM has told this stack of the current thread. Learns the ids of its methods, if a walk
    /// comes to as many frames at the same locations.
    pub fn learn(&self, java: Java, is_virtual: bool, frames: &[jvmtiFrameInfo]) {
        if !self.ids.can_learn() {
            return;
        }
        let mut methods = Vec::with_capacity(frames.len());
        let walked = self.each(java, is_virtual, |method, location| {
            let told = frames.get(methods.len()).filter(|told| told.location == location);
            told.ok_or(Unsure)?;
            methods.push(method);
            Ok(methods.len() < frames.len())
        });
        if walked.is_none() || methods.len() != frames.len() {
            return;
        }
        for (method, frame) in methods.into_iter().zip(frames) {
            // SAFETY: the frame is one of this thread, for which the JVM has told the id.
            unsafe { self.ids.learn(method, frame.method as usize) };
        }
    }

    /// A walk and `GetStackTrace` were asked for the same stack, which was known by its
    /// code, or not.
    pub fn compared(&self, is_known: bool, is_same: bool) {
        self.counts.compared.fetch_add(1, Relaxed);
        self.counts.known.fetch_add(is_known.into(), Relaxed);
        let is_on_trial = self.is_on_trial();
        if is_same && is_on_trial {
            self.try_on();
        }
        if !is_same {
            // One that is only tried has no second chance.
            let step = if is_on_trial { DIFFERENCES } else { 1 };
            let before = self.counts.differ.fetch_add(step, Relaxed);
            if before < DIFFERENCES && before + step >= DIFFERENCES && !self.compares {
                (self.given_up)();
            }
        }
    }

    /// One more walk was as the JVM says.
    fn try_on(&self) {
        let left = self.trial.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
        if left == Ok(1) {
            be_careful(false);
        }
    }

    #[inline]
    fn frames(&self, java: Java) -> Option<Frames<'_>> {
        // SAFETY: the environment is the current thread's, and the layout this JVM's.
        unsafe { Frames::of(&self.layout, &self.kinds, java.raw() as usize) }
    }

    /// Whether a virtual thread's stack begins with this frame.
    #[inline]
    fn is_entry(&self, frame: Frame) -> bool {
        let Frame::Compiled { nmethod, .. } = frame else { return false };
        if self.enter.is_null() {
            return false;
        }
        let entry = self.entry.load(Relaxed);
        if entry == 0 { self.is_found_entry(nmethod) } else { nmethod == entry }
    }

    /// Whether a frame's machine code is what enters virtual threads, of which there is one
    /// piece as soon as there is any, and which stays.
    #[cold]
    fn is_found_entry(&self, nmethod: usize) -> bool {
        // SAFETY: the frame is one of this thread.
        let is_it = unsafe {
            let method = read::<usize>(nmethod + self.layout.blob.method);
            method != 0 && self.layout.is_native(method) && self.ids.is(method, self.enter as usize)
        };
        if is_it {
            self.entry.store(nmethod, Relaxed);
        }
        is_it
    }
}

/// The word at an address.
///
/// # Safety
/// There is one, which stays.
#[inline]
pub unsafe fn word(at: usize) -> usize {
    // SAFETY: the caller's promise.
    unsafe { read(at) }
}

fn load(count: &AtomicU64) -> u64 {
    count.load(Relaxed)
}

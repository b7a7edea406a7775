//! What a thread really holds.
//!
//! A probe that is to tell of an exit needs stack itself, and where there was
//! none the exit goes untold: the monitor stays among what its thread holds,
//! and later acquisitions of it would count as reentrant. So what a thread
//! holds is now and then compared with the methods on its stack: the next time
//! that it takes a lock after a `StackOverflowError` left a synchronized method
//! or block, which raises a flag, and, as not every lost exit can do that, when
//! a lock seems to be taken once more whose count of such acquisitions has
//! doubled.

use super::{
    Trace,
    memory::{Block, Entry, HELD_LIMIT},
    ticks,
};
use crate::{jvm::Java, sync::lock};
use jvmti_bindings::sys::jni::jmethodID;
use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Mutex, atomic::Ordering::Relaxed},
};

/// The flag in the word that counts what is held: some of that may be no more.
pub const FLAG: u64 = 1 << 63;
/// In the same word, one that is measured.
pub const ONE_MEASURED: u64 = 1 << 48;
/// A stack is not walked again for so many times what that took, unless it is
/// only half as deep by then: a recursion that overflows again and again while
/// it unwinds would have thousands of frames walked at each of them.
const PAUSE: u64 = 50;
/// The depth in bytes up to which a stack is always walked after an overflow:
/// to overflow again from here takes the program longer than the walk, and it
/// may well go on with locks that are to be counted.
const SHALLOW: u64 = 32 * 1024;
/// The number of methods that are remembered.
const METHODS: usize = 1 << 16;

/// Hashes of what methods are called, by the JVM's ids.
#[derive(Default)]
pub struct Methods {
    known: Mutex<HashMap<usize, u64>>,
}

/// A method's class and name and descriptor, as class files have them.
fn print(class: &[u8], name: &[u8], descriptor: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (class, name, descriptor).hash(&mut hasher);
    hasher.finish()
}

/// The word that counts what a block's thread holds, without the flag.
pub fn holds(of: &Block) -> u64 {
    of.holds.load(Relaxed) & !FLAG
}

thread_local! {
    /// The end of this OS thread's stack, the highest address. Unknown, the
    /// stack counts as deep.
    static STACK_END: u64 = stack_end().unwrap_or(u64::MAX);
}

/// About how deep the current thread's stack is now, in bytes.
fn stack_depth() -> u64 {
    let here = 0_u8;
    let here = std::hint::black_box(&raw const here) as u64;
    STACK_END.with(|end| end.saturating_sub(here))
}

fn stack_end() -> Option<u64> {
    // SAFETY: all-zero is a valid place for the attributes, which the first
    // call fills and the last one gives back; the others only read them.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return None;
        }
        let (mut start, mut len) = (std::ptr::null_mut(), 0);
        let found = libc::pthread_attr_getstack(&attributes, &mut start, &mut len);
        libc::pthread_attr_destroy(&mut attributes);
        (found == 0).then_some(start as u64 + len as u64)
    }
}

impl Trace {
    /// Forgets monitors that the current thread cannot hold any more. `place`
    /// is where it is just taking one, which is counted already. Returns the
    /// word that counts what is held.
    pub fn still_held(&self, java: Java, of: &Block, place: u32) -> u64 {
        let holds = holds(of);
        let has_overflowed = of.holds.load(Relaxed) & FLAG != 0;
        let depth = (holds as u32).saturating_sub(1) as usize;
        if depth > HELD_LIMIT {
            // Not all of them are known; the flag stays until they are.
            return holds;
        }
        let began = ticks::now();
        let depth_now = stack_depth();
        let again = &of.resync_after;
        let is_deep = depth_now > SHALLOW.max(of.resync_depth.load(Relaxed) / 2);
        if (is_deep || !has_overflowed) && began < again.load(Relaxed) {
            return holds;
        }
        if depth == 0 {
            of.holds.store(holds, Relaxed);
            return holds;
        }
        let Some(frames) = self.frames(java) else {
            again.store(began.saturating_add(PAUSE * (ticks::now() - began)), Relaxed);
            return holds;
        };
        let (kept, measured) = self.keep(of, &frames, (depth, place));
        let forgotten = (depth - kept) as u64;
        let holds = holds.wrapping_sub(forgotten + measured * ONE_MEASURED);
        of.holds.store(holds, Relaxed);
        let took = ticks::now().saturating_sub(began);
        if depth_now > SHALLOW {
            of.resync_depth.store(depth_now, Relaxed);
        }
        if depth_now > SHALLOW || !has_overflowed {
            again.store(began.saturating_add(PAUSE * took), Relaxed);
        }
        holds
    }

    /// Keeps the entries of monitors that methods on the stack hold, of so
    /// many: how many these are, and how many of the others were measured.
    fn keep(&self, of: &Block, frames: &[u64], (depth, place): (usize, u32)) -> (usize, u64) {
        let (mut kept, mut measured) = (0, 0);
        // The frame that the entry before is of, and its place.
        let (mut at, mut before) = (0, 0);
        for held in &of.held[..depth.min(HELD_LIMIT)] {
            let taken_at = held.place.load(Relaxed);
            let first = if taken_at == before { at + 1 } else { at };
            // The innermost frame is that of the lock which is just being taken.
            let last = frames.len().saturating_sub(usize::from(taken_at == place));
            let method = self.method_of(taken_at);
            match (first..last).find(|&nth| frames[nth] == method) {
                Some(frame) => {
                    (at, before) = (frame, taken_at);
                    of.held[kept].copy_from(held);
                    kept += 1;
                }
                None if held.start.load(Relaxed) != 0 => measured += 1,
                None => {}
            }
        }
        for left in &of.held[kept..HELD_LIMIT.min(depth + 1)] {
            left.start.store(0, Relaxed);
            left.clear_stack();
        }
        // That of the lock which is just being taken.
        if let Some(next) = of.held.get(kept) {
            next.key.store(Entry::NOTHING as u64, Relaxed);
            next.place.store(place, Relaxed);
        }
        (kept, measured)
    }

    /// Whether methods on the current thread's stack hold all the monitors
    /// that it is taken to hold, but for the innermost; unknown counts as yes.
    pub fn holds_all(&self, java: Java, of: &Block, innermost: usize) -> bool {
        let depth = (holds(of) as u32 as usize).saturating_sub(innermost).min(HELD_LIMIT);
        if depth == 0 {
            return true;
        }
        let Some(frames) = self.frames(java) else { return true };
        let is_held = |held: &Entry| frames.contains(&self.method_of(held.place.load(Relaxed)));
        of.held[..depth].iter().all(is_held)
    }

    /// The methods on the current thread's stack, outermost first, without
    /// the probes; `None` when they are not all known.
    fn frames(&self, java: Java) -> Option<Vec<u64>> {
        let mut methods = self.recorder.ti().methods_on_stack(java);
        methods.retain(|&method| !self.is_probe(method));
        if methods.is_empty() {
            return None;
        }
        let known: Vec<Option<u64>> = {
            let known = lock(&self.methods.known);
            methods.iter().map(|&method| known.get(&(method as usize)).copied()).collect()
        };
        // Without the mutex: whoever is suspended here shall not stop others.
        let mut new = HashMap::new();
        let mut frames = Vec::with_capacity(methods.len());
        for (&method, known) in methods.iter().zip(known).rev() {
            let print = match known.or_else(|| new.get(&(method as usize)).copied()) {
                Some(print) => print,
                None => {
                    let print = self.print_of(java, method)?;
                    new.insert(method as usize, print);
                    print
                }
            };
            frames.push(print);
        }
        if !new.is_empty() {
            let mut known = lock(&self.methods.known);
            if known.len() >= METHODS {
                known.clear();
            }
            known.extend(new);
        }
        Some(frames)
    }

    fn print_of(&self, java: Java, method: jmethodID) -> Option<u64> {
        let ti = self.recorder.ti();
        let class = ti.class_of_method(java, method).ok()?;
        let class = class.strip_prefix(b"L")?.strip_suffix(b";")?;
        let (name, descriptor) = ti.method_name(method).ok()?;
        Some(print(class, &name, &descriptor))
    }

    /// The method of a place; 0 of an unknown one.
    fn method_of(&self, place: u32) -> u64 {
        self.recorder.places().with(place, |place, _| {
            print(place.class.as_bytes(), place.method.as_bytes(), place.descriptor.as_bytes())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn below<const BYTES: usize>() -> u64 {
        let room = [0_u8; BYTES];
        std::hint::black_box(&room);
        let depth = stack_depth();
        std::hint::black_box(&room);
        depth
    }

    #[test]
    fn a_stack_is_as_deep_as_its_frames() {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (first, deep, again) = (below::<64>(), below::<100_000>(), below::<64>());
                assert!(first > 0 && first < 100_000, "{first} from the first call on");
                assert!((99_000..120_000).contains(&(deep - first)), "{first} {deep}");
                assert_eq!(first, again);
            });
        });
    }
}

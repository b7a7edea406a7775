//! After a full stack.
//!
//! A probe that is to tell of an exit needs stack itself, and where there was
//! none the exit goes untold: the monitor stays among what its thread holds,
//! and later acquisitions of it would count as reentrant. So a
//! `StackOverflowError` that leaves a synchronized method or block raises a
//! flag, and the next time that the thread takes a lock, what it holds is
//! compared with the methods on its stack.

use super::{
    Trace,
    memory::{Memory, block, entry},
    ticks,
};
use crate::jvm::{Java, ti::MethodInfo};
use std::{collections::HashMap, rc::Rc, sync::atomic::Ordering::Relaxed};
use tyrion_wire::trace::field;

/// The flag in the word that counts what is held.
const FLAG: u64 = 1 << 63;
const ONE_MEASURED: u64 = 1 << 48;
/// A deep stack is not walked again for so many times what that took, unless it
/// is only half as deep by then: a recursion that overflows again and again
/// while it unwinds would have thousands of frames walked at each of them.
const PAUSE: u64 = 50;
/// The depth in bytes up to which a stack is always walked: to overflow again
/// from here takes the program longer than the walk, and it may well go on
/// with locks that are to be counted.
const SHALLOW: u64 = 32 * 1024;

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
    pub fn still_held(&self, java: Java, of: Memory, place: u32) -> u64 {
        let holds = of.u64(block::HOLDS).load(Relaxed) & !FLAG;
        let depth = (holds as u32).saturating_sub(1) as usize;
        if depth > block::HELD_LIMIT {
            // Not all of them are known; the flag stays until they are.
            return holds;
        }
        let began = ticks::now();
        let depth_now = stack_depth();
        let again = of.u64(block::RESYNC_AFTER);
        let is_deep = depth_now > SHALLOW.max(of.u64(block::RESYNC_DEPTH).load(Relaxed) / 2);
        if is_deep && began < again.load(Relaxed) {
            return holds;
        }
        let frames = self.frames(java);
        let mut kept = 0;
        let mut measured = 0;
        // The frame that the entry before is of, and its place.
        let (mut at, mut before) = (0, 0);
        for nth in 0..depth {
            let held = of.offset(block::HELD + nth * entry::LEN);
            let taken_at = place_of(held);
            let first = if taken_at == before { at + 1 } else { at };
            // The innermost frame is that of the lock which is just being taken.
            let last = frames.len().saturating_sub(usize::from(taken_at == place));
            let found = (first..last).find(|&n| self.is_in(taken_at, &frames[n]));
            match found {
                Some(frame) => {
                    (at, before) = (frame, taken_at);
                    copy(held, of.offset(block::HELD + kept * entry::LEN));
                    kept += 1;
                }
                None if held.u64(entry::START).load(Relaxed) != 0 => measured += 1,
                None => {}
            }
        }
        for nth in kept..depth {
            let left = of.offset(block::HELD + nth * entry::LEN);
            left.u64(entry::START).store(0, Relaxed);
            left.u64(entry::STACK).store(0, Relaxed);
        }
        let forgotten = (depth - kept) as u64;
        let holds = holds.wrapping_sub(forgotten + measured * ONE_MEASURED);
        of.u64(block::HOLDS).store(holds, Relaxed);
        if depth_now > SHALLOW {
            let took = ticks::now().saturating_sub(began);
            again.store(began.saturating_add(PAUSE * took), Relaxed);
            of.u64(block::RESYNC_DEPTH).store(depth_now, Relaxed);
        }
        holds
    }

    /// The methods on the current thread's stack, outermost first, without
    /// the probes.
    fn frames(&self, java: Java) -> Vec<Rc<MethodInfo>> {
        let ti = self.recorder.ti();
        let mut known = HashMap::new();
        let mut frames = Vec::new();
        for method in ti.methods_on_stack() {
            if self.is_probe(method) {
                continue;
            }
            let info = known
                .entry(method as usize)
                .or_insert_with(|| ti.method(java, method).ok().map(Rc::new));
            frames.extend(info.clone());
        }
        frames.reverse();
        frames
    }

    /// Whether a place is in a method.
    fn is_in(&self, number: u32, method: &MethodInfo) -> bool {
        self.places.with(number, |place| {
            let class = method.class.strip_prefix(b"L").and_then(|name| name.strip_suffix(b";"));
            place.method.as_bytes() == method.name
                && place.descriptor.as_bytes() == method.descriptor
                && class == Some(place.class.as_bytes())
        })
    }
}

/// The place of an entry; 0, that of no method, when an overflow in the probe
/// kept it from being filled.
fn place_of(held: Memory) -> u32 {
    let cell = held.u64(entry::CELL).load(Relaxed);
    if cell == 0 {
        return 0;
    }
    // SAFETY: what is not 0 is the address of a cell, of this acquisition or of
    // an earlier one at the same depth; cells stay mapped.
    unsafe { Memory::at_address(cell) }.u32(field::PLACE).load(Relaxed)
}

fn copy(from: Memory, to: Memory) {
    for at in (0..entry::LEN).step_by(8) {
        to.u64(at).store(from.u64(at).load(Relaxed), Relaxed);
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

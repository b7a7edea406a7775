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
/// A stack is not walked again for so many times what that took, unless it is
/// only half as deep by then: a recursion that overflows again and again while
/// it unwinds would have thousands of frames walked at each of them.
const PAUSE: u64 = 50;

/// About how deep the current thread's stack is now, in bytes: below the
/// highest that it was seen at.
fn stack_depth(of: Memory) -> u64 {
    let here = 0_u8;
    let here = std::hint::black_box(&raw const here) as u64;
    let base = of.u64(block::STACK_BASE);
    base.store(base.load(Relaxed).max(here), Relaxed);
    base.load(Relaxed) - here
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
        let depth_now = stack_depth(of);
        let again = of.u64(block::RESYNC_AFTER);
        if began < again.load(Relaxed) && depth_now > of.u64(block::RESYNC_DEPTH).load(Relaxed) / 2
        {
            return holds;
        }
        let frames = self.frames(java);
        let took = ticks::now().saturating_sub(began);
        again.store(began + PAUSE * took, Relaxed);
        of.u64(block::RESYNC_DEPTH).store(depth_now, Relaxed);
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

fn place_of(held: Memory) -> u32 {
    let cell = held.u64(entry::CELL).load(Relaxed);
    // SAFETY: a filled entry has the address of its cell.
    unsafe { Memory::at_address(cell) }.u32(field::PLACE).load(Relaxed)
}

fn copy(from: Memory, to: Memory) {
    for at in (0..entry::LEN).step_by(8) {
        to.u64(at).store(from.u64(at).load(Relaxed), Relaxed);
    }
}

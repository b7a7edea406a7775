//! Random numbers, as fast as can be.

use crate::clock;
use std::cell::Cell;

thread_local! {
    /// The state of the random numbers; 0 before the first.
    static RANDOM: Cell<u64> = const { Cell::new(0) };
}

/// A number of the current thread's; `None` for one that is about to end, which has no
/// locals any more.
#[inline]
pub fn number() -> Option<u64> {
    RANDOM.try_with(next).ok()
}

/// xorshift64
#[inline]
fn next(random: &Cell<u64>) -> u64 {
    let mut state = random.get();
    if state == 0 {
        state = seed(random);
    }
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    random.set(state);
    state
}

/// Another one for each thread; never 0.
#[cold]
fn seed(random: &Cell<u64>) -> u64 {
    let here = std::ptr::from_ref(random).addr() as u64;
    // The finalizer of MurmurHash3: neighbours have nothing in common.
    let mut mixed = here ^ clock::now_ns().rotate_left(32);
    mixed = (mixed ^ mixed >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed = (mixed ^ mixed >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    (mixed ^ mixed >> 33) | 1
}

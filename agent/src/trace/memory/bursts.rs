//! What bursts share with Java: see [`bursts`](crate::trace::bursts).

use super::{CLOSED_PLACES, Cell, zeroed};
use crate::log::region::kept::Shared;
use std::sync::atomic::AtomicU64;
use tyrion_wire::trace::{BURSTS_CELL_LEN, field};

/// Locks are counted there in bursts.
pub const IN_BURSTS: u8 = 4;
/// What is entered there now is not counted.
pub const NO_ENTRIES: u8 = 8;
/// And nothing that was counted is left there.
pub const NO_EXITS: u8 = 16;

/// What places that are counted in bursts have in common.
#[repr(C)]
pub struct BurstsShared {
    /// The number of the latest burst.
    pub number: AtomicU64,
    _line: [AtomicU64; 7],
    /// Pairs of places, the first one in the high half: what is held since the first one
    /// is taken again at the second one.
    pub again_at: [AtomicU64; BurstsShared::PAIRS],
}

impl BurstsShared {
    /// How many pairs there is room for.
    pub const PAIRS: usize = 4096;
    /// In how many slots a pair may stand; Java's.
    #[cfg(test)]
    pub const REACH: usize = 8;
}

/// What a thread, or those with the same low bits of their ids, has taken outside of
/// bursts, by the low bits of the places' numbers.
pub type Outside = [AtomicU64; CLOSED_PLACES];

/// Room for as many threads as there is memory for, a power of two. Pages that nobody
/// touches cost nothing.
pub fn outside() -> Option<&'static [Outside]> {
    [1024, 256, 64, 16].into_iter().find_map(|threads| {
        let memory: *mut Outside = zeroed(threads * size_of::<Outside>())?.cast();
        // SAFETY: advice on memory of our own; whatever comes of it, its content stays.
        // A huge page for each count that is used would take all of it.
        unsafe {
            let page = memory.map_addr(|at| at.next_multiple_of(1 << 16));
            let len = threads * size_of::<Outside>() - (1 << 16);
            libc::madvise(page.cast(), len, libc::MADV_NOHUGEPAGE);
        }
        // SAFETY: so many bytes were allocated and are nobody else's; they are aligned to
        // a cache line, and zeros are counts.
        Some(unsafe { std::slice::from_raw_parts(memory, threads) })
    })
}

/// A cell that counts in bursts, with what is estimated.
#[repr(C)]
pub struct BurstsCell {
    /// What was counted.
    pub cell: Cell,
    /// What was not.
    pub uncounted: Estimate,
    /// The same of reentrant acquisitions.
    pub reentrant: Estimate,
    /// How many bursts these are estimated from.
    pub bursts: AtomicU64,
    _rest: [AtomicU64; 3],
}

/// An estimated number.
#[repr(C)]
pub struct Estimate {
    /// It.
    pub number: AtomicU64,
    /// Its standard error.
    pub error: AtomicU64,
}

// SAFETY: nothing but atomics of which any bytes are valid.
unsafe impl Shared for BurstsShared {}
// SAFETY: as above.
unsafe impl Shared for BurstsCell {}
// SAFETY: as above.
unsafe impl Shared for Estimate {}

/// What readers of the log rely on.
const _: () = {
    use std::mem::offset_of;
    assert!(size_of::<BurstsCell>() == BURSTS_CELL_LEN);
    assert!(offset_of!(BurstsCell, uncounted) == field::UNCOUNTED);
    assert!(offset_of!(BurstsCell, uncounted) + 8 == field::UNCOUNTED_ERROR);
    assert!(offset_of!(BurstsCell, reentrant) == field::UNCOUNTED_REENTRANT);
    assert!(offset_of!(BurstsCell, reentrant) + 8 == field::REENTRANT_ERROR);
    assert!(offset_of!(BurstsCell, bursts) == field::BURSTS);
};

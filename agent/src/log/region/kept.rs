//! Addresses in the log that Java code has, and how they become references.
//!
//! Java code counts in the log by address. A piece that it has addresses of
//! stays usable for ever: it is mapped from the file, then memory of our own,
//! then perhaps part of a later file (see [`Region`](super::Region)).
//! So a number that lies in such a piece can be made a reference, whoever it
//! comes from; any other number is refused.

use super::GUARDS;
use std::sync::atomic::{
    AtomicU8, AtomicU32, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Release},
};

/// What may lie in memory that others change at any time: Java code, or other
/// processes.
///
/// # Safety
/// Any bytes are a valid value, and all of them are atomics or are never
/// looked at.
pub unsafe trait Shared: Sync + 'static {}

// SAFETY: any byte is valid.
unsafe impl Shared for AtomicU8 {}
// SAFETY: any four bytes are valid.
unsafe impl Shared for AtomicU32 {}
// SAFETY: any eight bytes are valid.
unsafe impl Shared for AtomicU64 {}
// SAFETY: as its elements.
unsafe impl<T: Shared, const N: usize> Shared for [T; N] {}

/// The span of addresses that stays usable in each guarded range; empty for
/// none.
static SPANS: [Span; GUARDS] = [const { Span::new() }; GUARDS];

struct Span {
    from: AtomicUsize,
    to: AtomicUsize,
}

impl Span {
    const fn new() -> Span {
        Span { from: AtomicUsize::new(0), to: AtomicUsize::new(0) }
    }

    #[inline]
    fn contains(&self, address: usize, len: usize) -> bool {
        let to = self.to.load(Acquire);
        let is_in = address >= self.from.load(Acquire) && len <= to.saturating_sub(address);
        // Else the two may be of different ranges.
        is_in && self.to.load(Acquire) == to
    }
}

/// From now on these addresses of a guarded range stay usable: more than
/// before, or the first ones.
pub(super) fn set(guard: usize, from: usize, to: usize) {
    SPANS[guard].from.store(from, Release);
    SPANS[guard].to.store(to, Release);
}

/// The range is not guarded any more.
pub(super) fn clear(guard: usize) {
    SPANS[guard].to.store(0, Release);
    SPANS[guard].from.store(0, Release);
}

/// What lies at an address that Java code has; `None` when it was never given
/// any there.
#[inline]
pub fn at<T: Shared>(address: u64) -> Option<&'static T> {
    let (at, len) = (address as usize, size_of::<T>());
    if !at.is_multiple_of(align_of::<T>()) {
        return None;
    }
    if !SPANS.iter().any(|span| span.contains(at, len)) && !super::rests(at, len) {
        return None;
    }
    // SAFETY: all of it lies in a piece that stays mapped and writable as long
    // as the process lives, it is aligned, and any bytes are a `T`.
    Some(unsafe { &*std::ptr::with_exposed_provenance(at) })
}

#[cfg(test)]
mod tests {
    use super::super::Region;
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn only_what_is_kept_can_be_reached() {
        let region = Region::reserve(29 << 20).unwrap();
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        region.map_file(&file, 0, 1 << 20).unwrap();
        let start = region.at(0) as u64;
        let is_there = |offset: u64| at::<AtomicU64>(start + offset).is_some();
        assert!(!is_there(8192), "nothing is kept");
        region.keep(8192, 4096);
        assert!(is_there(8192) && is_there(12288 - 8));
        assert!(!is_there(8191) && !is_there(8184) && !is_there(8196), "before, or not aligned");
        assert!(!is_there(12288) && at::<[AtomicU64; 2]>(start + 12288 - 8).is_none());
        for number in [0, 1, 8, u64::MAX, u64::MAX - 7, start.wrapping_neg()] {
            assert!(at::<AtomicU64>(number).is_none());
        }
        // A segment of which nothing is in use any more, though it was kept.
        region.unmap(0, 1 << 20);
        let cell = at::<AtomicU64>(start + 8192).unwrap();
        cell.store(7, Relaxed);
        drop(region);
        assert!(is_there(8192) && !is_there(4096), "it rests");
        assert_eq!(cell.load(Relaxed), 0, "other memory, as usable");
        cell.store(8, Relaxed);
    }
}

//! Memory that the Java side of the probes and the agent share.
//!
//! `TyrionTrace` reaches it by address, with `Unsafe`; the offsets here and
//! there are the same, and a test compares them. A block is written by its own
//! thread only, on either side; everything else through atomics.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// A cache line.
const LINE: usize = 64;

/// An address of memory that is never given back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Memory(u64);

impl Memory {
    /// `len` zeroed bytes, aligned to a cache line. Pages that nobody touches cost nothing.
    pub fn allocate(len: usize) -> Option<Memory> {
        // Of what is aligned to more than malloc's 16 bytes, each page is zeroed.
        let layout = std::alloc::Layout::from_size_align(len + LINE, 16).ok()?;
        // SAFETY: the layout's size is not zero.
        let memory = unsafe { std::alloc::alloc_zeroed(layout) };
        (!memory.is_null()).then_some(Memory((memory as u64).next_multiple_of(LINE as u64)))
    }

    /// What Java was given, or has computed of it.
    ///
    /// # Safety
    /// The address came from [`Memory::address`], or points within a cell of
    /// the log that was handed to Java; the agent keeps both usable as
    /// long as Java may have them.
    pub unsafe fn at_address(address: u64) -> Memory {
        Memory(address)
    }

    /// The address, for Java.
    pub fn address(self) -> u64 {
        self.0
    }

    /// Memory further on.
    pub fn offset(self, bytes: usize) -> Memory {
        Memory(self.0 + bytes as u64)
    }

    /// The `u64` at an offset that is a multiple of eight.
    #[inline]
    pub fn u64(&self, at: usize) -> &'static AtomicU64 {
        debug_assert!(at.is_multiple_of(8));
        // SAFETY: callers stay within what was allocated, which is aligned and
        // never given back, and everybody uses atomics or owns the block.
        unsafe { AtomicU64::from_ptr((self.0 as usize + at) as *mut u64) }
    }

    /// The byte at an offset.
    #[inline]
    pub fn u8(&self, at: usize) -> &'static AtomicU8 {
        // SAFETY: as for `u64`.
        unsafe { AtomicU8::from_ptr((self.0 as usize + at) as *mut u8) }
    }

    /// The `u32` at an offset that is a multiple of four.
    #[inline]
    pub fn u32(&self, at: usize) -> &'static AtomicU32 {
        debug_assert!(at.is_multiple_of(4));
        // SAFETY: as for `u64`.
        unsafe { AtomicU32::from_ptr((self.0 as usize + at) as *mut u32) }
    }
}

/// A thread's block. What every acquisition needs stands in the first line.
pub mod block {
    /// u32: how many of [`RECENT`] there are, less one.
    pub const RECENT_MASK: usize = 0;
    /// u64: address of its table of cells.
    pub const CELLS: usize = 8;
    /// u64: its number among the threads that take locks, for instances.
    pub const ME: usize = 16;
    /// u64: how many monitors it holds (32 bits), how many locks of
    /// java.util.concurrent (16) and how many of both are being measured (16).
    /// Always stored as a whole: a load of more than the last store had would
    /// wait for it.
    pub const HOLDS: usize = 24;
    /// u32: where the next lock of java.util.concurrent is taken; 0 unknown.
    pub const PLACE: usize = 32;
    /// u32: not 0 while a lock calls methods of its own.
    pub const QUIET: usize = 36;
    /// u64: state of the random numbers that choose samples.
    pub const RANDOM: usize = 40;
    /// u64: number of samples so far.
    pub const SAMPLES: usize = 48;
    /// u64: the Java id of the thread that its records are of; 0 for all virtual ones.
    pub const OWNER: usize = 56;
    /// u64: address of its ring of events, if each becomes a record.
    pub const RING: usize = 64;
    /// u64: when it wanted the monitor that it takes now, monotonic ns; 0 when
    /// that does not matter, or was said.
    pub const ASKED: usize = 72;
    /// u64: address of its [`super::notes`].
    pub const NOTES: usize = 80;
    /// u64: how deep the stack was, in bytes, when a deep one was walked last
    /// to tell what is held; the agent's.
    pub const RESYNC_DEPTH: usize = 88;
    /// u64: from when on it may be walked again, in ticks; the agent's.
    pub const RESYNC_AFTER: usize = 96;
    /// Entries of the monitors that it holds, outermost first.
    pub const HELD: usize = 128;
    /// How many of them there is room for.
    pub const HELD_LIMIT: usize = 32;
    /// Entries of the other locks that it holds.
    pub const HELD_LOCKS: usize = HELD + super::entry::LEN * HELD_LIMIT;
    /// How many of them there is room for.
    pub const LOCKS_LIMIT: usize = 16;
    /// What was met last, by place and class: a pair as in [`super::table`],
    /// then u64 each, the hash of such an instance, and a nesting.
    pub const RECENT: usize = HELD_LOCKS + super::entry::LEN * LOCKS_LIMIT;
    /// Bytes of each of these.
    pub const RECENT_LEN: usize = 32;
    /// How many of them a block has.
    pub const RECENT_COUNT: usize = 512;
    /// How many that of a virtual thread has: there may be very many of those.
    pub const RECENT_VIRTUAL: usize = 16;
    /// u64: the hash in them.
    pub const RECENT_LOCK: usize = 16;
    /// u64: the nesting in them, or that this place and the outer one's were told.
    pub const RECENT_NESTING: usize = 24;
}

/// What a thread need not tell again. Virtual threads, which the log does not
/// tell apart, share theirs: each word is right by itself.
pub mod notes {
    /// u64 each: nestings that were noted, by their hash.
    pub const PAIRS: usize = 0;
    /// u64 each: pairs of places of which no more nestings are noted.
    pub const TOLD: usize = PAIRS + 512 * 8;
    /// u32 each: hashes of instances that the thread is known to take.
    pub const KNOWN: usize = TOLD + 2048 * 8;
    /// Bytes in all.
    pub const LEN: usize = KNOWN + 1024 * 4;
}

/// What a thread holds.
pub mod entry {
    /// u64: hash of the lock, or what it is known by while it is held.
    pub const KEY: usize = 0;
    /// u64: address of its cell.
    pub const CELL: usize = 8;
    /// u64: when the measured hold began, in ticks; 0 when it is not measured.
    pub const START: usize = 16;
    /// u32: the stack that took it; 0 when none was kept.
    pub const STACK: usize = 32;
    /// u32: 1 for one of the first few.
    pub const FIRST: usize = 36;
    /// u32: the generation that the stack is of.
    pub const VOLUME: usize = 40;
    /// u32: the place where it was taken. The cell may be gone, with its file,
    /// before it is released.
    pub const PLACE: usize = 44;
    /// [`KEY`] of what is neither a hold nor anything that somebody waits for:
    /// a reentrant acquisition, or one of which not all is known yet.
    pub const NOTHING: i64 = -1024;
    /// Bytes in all.
    pub const LEN: usize = 64;
}

/// What is known of waits for locks with a hash in a bucket.
pub mod bucket {
    /// How many buckets there are.
    pub const COUNT: usize = 1024;
    /// u32: how many threads wait.
    pub const WAITERS: usize = 0;
    /// u64: from when on a release is charged with their time, ns.
    pub const DUE: usize = 8;
    /// u64: when a lock was released last without that, ns.
    pub const RELEASED: usize = 16;
    /// u64: by whom, as in [`super::block::OWNER`].
    pub const RELEASED_BY: usize = 24;
    /// u64: the place where it was taken, above it the lock's hash.
    pub const RELEASED_AT: usize = 32;
    /// u32: the hash of the lock that is waited for, or [`SEVERAL`].
    pub const WAITED: usize = 40;
    /// Locks of different hashes are waited for.
    pub const SEVERAL: u32 = u32::MAX;
    /// Bytes in all.
    pub const LEN: usize = 64;
}

/// A table of cells: its mask, then pairs of (class, place) and cell.
pub mod table {
    /// u64: number of pairs, less one.
    pub const MASK: usize = 0;
    /// u64: how many are used; the agent's.
    pub const USED: usize = 8;
    /// The pairs.
    pub const PAIRS: usize = 16;
    /// How many a new table has.
    pub const FIRST_PAIRS: usize = 32;
    /// How many that of a virtual thread has.
    pub const FIRST_VIRTUAL: usize = 8;
}

/// The ring of a thread's latest events.
pub mod ring {
    /// u64: where the next event goes.
    pub const AT: usize = 0;
    /// Of each event, u64: its cell, the lock's key, its end in ticks, how long
    /// the lock was held in ns.
    pub const EVENT: usize = 32;
    /// Bytes in all.
    pub const LEN: usize = EVENT * 257;
}

/// How many places are told apart by what is looked at no more: a byte of bits
/// each, by the low bits of their numbers.
pub const CLOSED_PLACES: usize = 1 << 16;
/// New instances are told apart no more. The other bit is Java's own: permits
/// that others give back are no holds.
pub const NO_INSTANCES: u8 = 1;

/// In a cell's reserved word: its place tells no more new instances apart.
pub const CELL_CLOSED: usize = 12;

#[cfg(test)]
mod tests {
    use super::{
        super::{blocks::THREADS, holds, instances},
        CELL_CLOSED, block, bucket, entry, notes,
    };
    use tyrion_wire::trace::field;

    /// What a constant of `TyrionTrace` is set to in its source.
    fn in_java(name: &str) -> &'static str {
        const SOURCE: &str = include_str!("../../probe/java/lang/TyrionTrace.java");
        let at = [format!(" long {name} = "), format!(" int {name} = ")];
        let value = at.iter().find_map(|text| SOURCE.split_once(text.as_str()));
        value.unwrap().1.split_once(';').unwrap().0
    }

    #[test]
    fn both_sides_have_the_same_layout() {
        for (name, offset) in [
            ("RECENT_MASK", block::RECENT_MASK),
            ("CELLS", block::CELLS),
            ("ME", block::ME),
            ("HOLDS", block::HOLDS),
            ("PLACE", block::PLACE),
            ("QUIET", block::QUIET),
            ("RANDOM", block::RANDOM),
            ("SAMPLES", block::SAMPLES),
            ("OWNER", block::OWNER),
            ("RING", block::RING),
            ("ASKED", block::ASKED),
            ("BUCKETS_MASK", bucket::COUNT - 1),
            ("WAITERS", bucket::WAITERS),
            ("DUE", bucket::DUE),
            ("RELEASED", bucket::RELEASED),
            ("RELEASED_BY", bucket::RELEASED_BY),
            ("RELEASED_AT", bucket::RELEASED_AT),
            ("WAITED", bucket::WAITED),
            ("NOTES", block::NOTES),
            ("PAIRS", notes::PAIRS),
            ("HELD", block::HELD),
            ("RECENT_LOCK", block::RECENT_LOCK),
            ("RECENT_NESTING", block::RECENT_NESTING),
            ("HELD_LIMIT", block::HELD_LIMIT),
            ("LOCKS_LIMIT", block::LOCKS_LIMIT),
            ("KEY", entry::KEY),
            ("CELL", entry::CELL),
            ("START", entry::START),
            ("PLACE_TAKEN", entry::PLACE),
            ("STACK", entry::STACK),
            ("FIRST_HOLDS", holds::FIRST as usize),
            ("INSTANCE_REACH", instances::REACH),
            ("SHARERS", instances::SHARERS as usize),
            ("CELL_PLACE", field::PLACE),
            ("CLOSED", CELL_CLOSED),
            ("ACQUISITIONS", field::ACQUISITIONS),
            ("NEXT", field::NEXT),
            ("REENTRANT", field::REENTRANT),
            ("FAILED", field::FAILED),
            ("SAMPLED", field::SAMPLED_COUNT),
            ("SAMPLED_NS", field::SAMPLED_NS),
            ("LONGEST", field::MAX_NS),
            ("UNIDENTIFIED", field::UNIDENTIFIED),
            ("HISTOGRAM", field::HISTOGRAM),
        ] {
            assert_eq!(in_java(name), offset.to_string(), "{name}");
        }
        assert_eq!(in_java("NOTHING"), entry::NOTHING.to_string());
        let entry = entry::LEN;
        assert_eq!(in_java("HELD_LOCKS"), format!("HELD + {entry} * HELD_LIMIT"));
        assert_eq!(in_java("RECENT"), format!("HELD_LOCKS + {entry} * LOCKS_LIMIT"));
        assert_eq!(in_java("THREADS_MASK"), format!("{:#x}", THREADS - 1));
        assert_eq!(in_java("ENTERED_MASK"), format!("{:#x}", instances::ENTERED - 1));
        let behind = |mask: &str| 8 * (in_java(mask).parse::<usize>().unwrap() + 1);
        assert_eq!(notes::TOLD - notes::PAIRS, behind("PAIRS_MASK"));
        assert_eq!(notes::KNOWN - notes::TOLD, behind("TOLD_MASK"));
        assert_eq!(notes::LEN - notes::KNOWN, behind("KNOWN_MASK") / 2);
    }
}

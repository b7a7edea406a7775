//! Memory that the Java side of the probes and the agent share.
//!
//! `TyrionTrace` reaches it by address, with `Unsafe`; the offsets here and
//! there are the same, and tests compare them. A block is written by its own
//! thread only, on either side. Whatever Java may change is an atomic here, so
//! that any value of it is a valid one, and nothing is ever given back: a
//! number from Java becomes a reference only where such memory is known to lie
//! ([`Arena::at`](super::arena::Arena::at), [`kept::at`](crate::log::region::kept::at)).

mod bursts;
mod waited;

pub use bursts::{
    BurstsCell, BurstsShared, Estimate, IN_BURSTS, NO_ENTRIES, NO_EXITS, Outside, outside,
};
pub use waited::{Bucket, NotedRelease, Waited};

use crate::log::region::kept::Shared;
use std::sync::atomic::{
    AtomicPtr, AtomicU8, AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use tyrion_wire::{
    cell::BUCKETS,
    trace::{CELL_LEN, OWN_BITS, field, one_in_of},
};

/// A cache line.
const LINE: usize = 64;

/// `len` zeroed bytes, aligned to a cache line, that are never given back.
/// Pages that nobody touches cost nothing.
pub fn zeroed(len: usize) -> Option<*mut u8> {
    // Of what is aligned to more than malloc's 16 bytes, each page is zeroed.
    let layout = std::alloc::Layout::from_size_align(len.checked_add(LINE)?, 16).ok()?;
    // SAFETY: the layout's size is not zero.
    let memory = unsafe { std::alloc::alloc_zeroed(layout) };
    let skip = memory.expose_provenance().next_multiple_of(LINE) - memory.addr();
    (!memory.is_null()).then(|| memory.wrapping_add(skip))
}

/// Zeroed memory that is never given back.
pub fn allocate<T: Shared>() -> Option<&'static T> {
    const { assert!(align_of::<T>() <= LINE) };
    let memory: *mut T = zeroed(size_of::<T>())?.cast();
    // SAFETY: so many bytes were allocated and are nobody else's; they are
    // aligned, and zeros are a `T` as any bytes are.
    Some(unsafe { &*memory })
}

/// The address of something, for Java.
pub fn address_of<T: ?Sized>(of: &'static T) -> u64 {
    std::ptr::from_ref(of).cast::<u8>().expose_provenance() as u64
}

/// A word with the address of something that lasts for ever; Java only reads
/// it. All zeros is none.
#[repr(transparent)]
pub struct Link<T: 'static>(AtomicPtr<T>);

impl<T: Shared> Link<T> {
    /// What it leads to.
    #[inline]
    pub fn get(&self) -> Option<&'static T> {
        // SAFETY: null, or what `set` was given.
        unsafe { self.0.load(Acquire).as_ref() }
    }

    /// Has it lead to this.
    pub fn set(&self, to: &'static T) {
        address_of(to);
        self.0.store(std::ptr::from_ref(to).cast_mut(), Release);
    }
}

/// A thread's block. What every acquisition needs stands in the first line.
#[repr(C)]
pub struct Block {
    /// How many of [`Recent`] there are, less one.
    pub recent_mask: AtomicU32,
    _line: AtomicU32,
    /// Its table of cells.
    pub cells: TableLink,
    /// Its number among the threads that take locks, for instances.
    pub me: AtomicU64,
    /// How many monitors it holds (32 bits), how many locks of
    /// java.util.concurrent (16) and how many of both are being measured (16).
    /// Always stored as a whole: a load of more than the last store had would
    /// wait for it.
    pub holds: AtomicU64,
    /// Where the next lock of java.util.concurrent is taken; 0 unknown. As a number with
    /// a sign it is less than 0 where that is not to be counted.
    pub place: AtomicU32,
    /// Not 0 while a lock calls methods of its own.
    pub quiet: AtomicU32,
    /// State of the random numbers that choose samples.
    pub random: AtomicU64,
    /// Number of samples so far.
    pub samples: AtomicU64,
    /// The Java id of the thread that its records are of; 0 for all virtual ones.
    pub owner: AtomicU64,
    /// Its ring of events, if each becomes a record.
    pub ring: Link<Ring>,
    /// When it wanted the monitor that it takes now, monotonic ns; 0 when that
    /// does not matter, or was said.
    pub asked: AtomicU64,
    /// What it need not tell again.
    pub notes: Link<Notes>,
    /// How deep the stack was, in bytes, when a deep one was walked last to
    /// tell what is held; the agent's.
    pub resync_depth: AtomicU64,
    /// From when on it may be walked again, in ticks; the agent's.
    pub resync_after: AtomicU64,
    /// The latest burst in which what it holds was compared with its stack.
    pub burst: AtomicU64,
    _rest: [AtomicU64; 2],
    /// The monitors that it holds, outermost first.
    pub held: [Entry; HELD_LIMIT],
    /// The other locks that it holds.
    pub held_locks: [Entry; LOCKS_LIMIT],
    /// What was met last, by place and class.
    pub recent: [Recent],
}

/// How many monitors a block has room for.
pub const HELD_LIMIT: usize = 32;
/// How many other locks.
pub const LOCKS_LIMIT: usize = 16;
/// Bytes of a block in front of what was met last.
pub const BLOCK_HEAD: usize = 128 + (HELD_LIMIT + LOCKS_LIMIT) * size_of::<Entry>();

impl Block {
    /// Its address, for Java.
    pub fn address(&'static self) -> u64 {
        address_of(self)
    }

    /// Where the next lock of java.util.concurrent is taken; 0 unknown.
    pub fn next_place(&self) -> u32 {
        self.place.load(Relaxed).cast_signed().unsigned_abs()
    }

    /// Whose records those of its thread are.
    #[inline]
    pub fn owner(&self) -> i64 {
        self.owner.load(Relaxed) as i64
    }

    /// The entries of what its thread holds: of monitors, and of locks.
    pub fn held(&self) -> (&[Entry], &[Entry]) {
        let holds = self.holds.load(Relaxed);
        let monitors = (holds as u32 as usize).min(HELD_LIMIT);
        let locks = ((holds >> 32) as u16 as usize).min(LOCKS_LIMIT);
        (&self.held[..monitors], &self.held_locks[..locks])
    }

    /// The entry at an address that Java has; `None` when it is none of this
    /// block's.
    pub fn entry_at(&self, address: u64) -> Option<&Entry> {
        let first = std::ptr::from_ref(&self.held).addr();
        let offset = (address as usize).wrapping_sub(first);
        let nth = offset / size_of::<Entry>();
        if !offset.is_multiple_of(size_of::<Entry>()) {
            return None;
        }
        self.held.get(nth).or_else(|| self.held_locks.get(nth.wrapping_sub(HELD_LIMIT)))
    }

    /// Whether an entry of this block is that of a lock, not of a monitor.
    pub fn is_lock(&self, entry: &Entry) -> bool {
        std::ptr::from_ref(entry).addr() >= std::ptr::from_ref(&self.held_locks).addr()
    }
}

/// What a thread holds.
#[repr(C)]
pub struct Entry {
    /// Hash of the lock, or what it is known by while it is held.
    pub key: AtomicU64,
    /// Address of its cell, which Java puts there.
    pub cell: AtomicU64,
    /// When the measured hold began, in ticks; 0 when it is not measured.
    pub start: AtomicU64,
    /// How often a lock was taken; Java's.
    pub times: AtomicU64,
    /// The stack that took it; 0 when none was kept.
    pub stack: AtomicU32,
    /// Not 0 for one of the first.
    pub first: AtomicU32,
    /// The generation that the stack is of.
    pub generation: AtomicU32,
    /// The place where it was taken. The cell may be gone, with its file,
    /// before it is released.
    pub place: AtomicU32,
    _line: [AtomicU64; 2],
}

impl Entry {
    /// [`Entry::key`] of what is neither a hold nor anything that somebody waits
    /// for: a reentrant acquisition, or one of which not all is known yet.
    pub const NOTHING: i64 = -1024;
    /// [`Entry::first`] of one behind which probes may be timed.
    pub const TIMEABLE: u32 = 2;

    /// It has no stack, and is none of the first.
    pub fn clear_stack(&self) {
        self.stack.store(0, Relaxed);
        self.first.store(0, Relaxed);
    }

    /// All of another entry.
    pub fn copy_from(&self, from: &Entry) {
        let long = |to: &AtomicU64, from: &AtomicU64| to.store(from.load(Relaxed), Relaxed);
        let short = |to: &AtomicU32, from: &AtomicU32| to.store(from.load(Relaxed), Relaxed);
        long(&self.key, &from.key);
        long(&self.cell, &from.cell);
        long(&self.start, &from.start);
        long(&self.times, &from.times);
        short(&self.stack, &from.stack);
        short(&self.first, &from.first);
        short(&self.generation, &from.generation);
        short(&self.place, &from.place);
    }
}

/// What was met last by place and class.
#[repr(C)]
pub struct Recent {
    /// Class and place, as in a [`Pair`].
    pub key: AtomicU64,
    /// Address of the cell.
    pub cell: AtomicU64,
    /// The hash of such an instance.
    pub lock: AtomicU64,
    /// A nesting, or that this place and the outer one's were told.
    pub nesting: AtomicU64,
}

/// How many of [`Recent`] a block has.
pub const RECENT_COUNT: usize = 512;
/// How many that of a virtual thread has: there may be very many of those.
pub const RECENT_VIRTUAL: usize = 16;

/// What a thread need not tell again. Virtual threads, which the log does not
/// tell apart, share theirs: each word is right by itself.
#[repr(C)]
pub struct Notes {
    /// Nestings that were noted, by their hash.
    pub pairs: [AtomicU64; 512],
    /// Pairs of places of which no more nestings are noted.
    pub told: [AtomicU64; 2048],
    /// Hashes of instances that the thread is known to take.
    pub known: [AtomicU32; 1024],
}

/// A table of cells: its mask, then pairs.
#[repr(C)]
pub struct Table {
    /// Number of pairs, less one. Stored before anybody knows the table.
    mask: AtomicU64,
    /// How many are used; the agent's.
    pub used: AtomicU64,
    /// The pairs.
    pub pairs: [Pair],
}

/// A cell and what it counts.
#[repr(C)]
pub struct Pair {
    /// Class and place; 0 for none.
    pub key: AtomicU64,
    /// Address of the cell.
    pub cell: AtomicU64,
}

impl Table {
    /// How many pairs a new table has.
    pub const FIRST_PAIRS: usize = 32;
    /// How many that of a virtual thread has.
    pub const FIRST_VIRTUAL: usize = 8;
    const HEAD: usize = 16;

    /// An empty one with room for so many pairs, a power of two.
    pub fn new(pairs: usize) -> Option<&'static Table> {
        let memory = zeroed(Table::HEAD + pairs.checked_mul(size_of::<Pair>())?)?;
        // SAFETY: a table has so many bytes, and any of them are valid.
        let table = unsafe { &*Table::with_len(memory, pairs) };
        table.mask.store(pairs as u64 - 1, Relaxed);
        Some(table)
    }

    fn with_len(memory: *mut u8, pairs: usize) -> *const Table {
        std::ptr::slice_from_raw_parts(memory.cast::<Pair>(), pairs) as *const Table
    }

    /// Where a key's search begins.
    pub fn start(&self, key: u64) -> usize {
        key as u32 as usize & (self.pairs.len() - 1)
    }

    /// Puts a cell where its key's search finds it: at most half of the pairs are used.
    pub fn put(&self, key: u64, cell: u64) {
        let (before, from) = self.pairs.split_at(self.start(key));
        let free = from.iter().chain(before).find(|pair| {
            let there = pair.key.load(Relaxed);
            there == 0 || there == key
        });
        if let Some(pair) = free {
            pair.cell.store(cell, Relaxed);
            pair.key.store(key, Release);
        }
    }

    /// Its address, for Java.
    pub fn address(&'static self) -> u64 {
        address_of(self)
    }
}

/// A word with the address of a table; all zeros is none.
#[repr(transparent)]
pub struct TableLink(AtomicPtr<u8>);

impl TableLink {
    /// The table.
    pub fn get(&self) -> Option<&'static Table> {
        // The log's number is looked at behind this, not before.
        let memory = self.0.load(Acquire);
        if memory.is_null() {
            return None;
        }
        // SAFETY: it is a table, whose mask stands in front, is not changed, and
        // was stored before the table became known.
        let mask = unsafe { AtomicU64::from_ptr(memory.cast()) }.load(Relaxed);
        // SAFETY: as long a table was allocated, see `Table::new`.
        Some(unsafe { &*Table::with_len(memory, mask as usize + 1) })
    }

    /// Has it lead to this.
    pub fn set(&self, to: &'static Table) {
        self.0.store(pointer(to), Release);
    }

    /// Has it lead to this, unless it does not lead to `old` any more.
    pub fn replace(&self, old: &'static Table, new: &'static Table) -> bool {
        self.0.compare_exchange(pointer(old), pointer(new), Release, Relaxed).is_ok()
    }
}

fn pointer(table: &'static Table) -> *mut u8 {
    table.address();
    std::ptr::from_ref(table).cast::<u8>().cast_mut()
}

/// The ring of a thread's latest events.
#[repr(C)]
pub struct Ring {
    /// Where the next event goes, in bytes from the ring's start.
    pub at: AtomicU64,
    _line: [AtomicU64; 3],
    /// The events.
    pub events: [Event; 256],
}

impl Ring {
    /// Bytes in front of the events.
    pub const HEAD: usize = 32;

    /// Empties it.
    pub fn empty(&self) {
        self.at.store(Ring::HEAD as u64, Relaxed);
    }

    /// The events in it, oldest first.
    pub fn filled(&self) -> &[Event] {
        let end = self.at.load(Relaxed) as usize;
        let count = end.saturating_sub(Ring::HEAD) / size_of::<Event>();
        &self.events[..count.min(self.events.len())]
    }
}

/// An event in a ring.
#[repr(C)]
pub struct Event {
    /// Address of its cell.
    pub cell: AtomicU64,
    /// The lock's key.
    pub key: AtomicU64,
    /// Its end, in ticks.
    pub end: AtomicU64,
    /// How long the lock was held, in ns.
    pub held_ns: AtomicU64,
}

/// An acquisition cell in the mapped log, see [`AcquisitionCell`](tyrion_wire::trace::AcquisitionCell).
#[repr(C)]
pub struct Cell {
    /// Id of the thread that it counts for.
    pub thread: AtomicU32,
    /// Id of the place.
    pub place: AtomicU32,
    /// Id of the class of the locks.
    pub class: AtomicU32,
    /// Which holds are measured, see [`measured`](tyrion_wire::trace::measured);
    /// and in the bits that are ours, whether its place tells no more new instances
    /// apart.
    pub measured: AtomicU32,
    /// Acquisitions.
    pub acquisitions: AtomicU64,
    /// The one that is measured next.
    pub next: AtomicU64,
    /// Those of a lock that was held already.
    pub reentrant: AtomicU64,
    /// Those that failed.
    pub failed: AtomicU64,
    /// The measured holds among the first few, and their time in ns.
    pub first: Sum,
    /// The measured holds behind the first few.
    pub sampled: Sum,
    /// The longest of them, in ns.
    pub max_ns: AtomicU64,
    /// Acquisitions of instances that there was no room for.
    pub unidentified: AtomicU64,
    /// Measured holds by the bucket of their duration.
    pub histogram: [AtomicU32; BUCKETS],
    _rest: [AtomicU32; (CELL_LEN - field::HISTOGRAM) / 4 - BUCKETS],
}

impl Cell {
    /// In [`Cell::measured`]: no more new instances of its place are told apart. Java
    /// looks at the lowest byte.
    pub const CLOSED: u32 = 1;
    /// In [`Cell::next`]: every hold is measured. What stands beside it is the number of
    /// the acquisition whose stack is taken next. For Java it is the sign: the number of
    /// any acquisition is more.
    pub const EVERY_HOLD: u64 = 1 << 63;

    /// One hold in this many is measured: 1 for all, 0 for none.
    pub fn one_in(&self) -> u32 {
        one_in_of(self.measured.load(Relaxed)).unwrap_or(0)
    }
}

/// A number of holds and their time.
#[repr(C)]
pub struct Sum {
    /// How many.
    pub count: AtomicU64,
    /// Added up, ns.
    pub ns: AtomicU64,
}

/// Where Java finds a thread's block.
#[repr(C)]
pub struct ThreadSlot {
    /// The thread's Java id; 0 for none.
    pub id: AtomicU64,
    /// Address of its block; 0 when it has none.
    pub block: AtomicU64,
}

/// What the user asks for, as far as that can change.
#[repr(C)]
pub struct Chosen {
    /// Not 0 while each measured hold becomes a record.
    pub every_event: AtomicU64,
    /// Bits of a moment in ticks: where none is set, the probes behind a measured hold
    /// are timed.
    pub timed_chance: AtomicU64,
    /// In new cells one hold in this many is measured: 1 for all, 0 for none.
    pub one_in: AtomicU32,
    _rest: AtomicU32,
}

/// Locks that get their hash later, when they are not held.
#[repr(C)]
pub struct Later {
    /// How many were given.
    pub given: AtomicU32,
    /// How many of these were looked at.
    pub done: AtomicU32,
    /// How often that was done.
    pub looks: AtomicU32,
    /// How many were still held then.
    pub again: AtomicU32,
}

/// What the Java half of some probes took.
#[repr(C)]
pub struct Timed {
    /// Of those where a lock is taken.
    pub taking: Sum,
    /// Of those where it is released.
    pub leaving: Sum,
}

/// How many places are told apart by what is looked at no more: a byte of bits
/// each, by the low bits of their numbers.
pub const CLOSED_PLACES: usize = 1 << 16;
/// A byte for each of them.
pub type Closed = [AtomicU8; CLOSED_PLACES];
/// New instances are told apart no more.
pub const NO_INSTANCES: u8 = 1;
/// Permits that are acquired there are given back by others: they are no holds.
pub const NO_HOLDS: u8 = 2;
macro_rules! shared {
    ($($type:ty),*) => {
        // SAFETY: nothing but atomics of which any bytes are valid.
        $(unsafe impl Shared for $type {})*
    };
}
shared!(Entry, Recent, Notes, Pair, Ring, Event, Cell, Sum, Chosen, Later, ThreadSlot, Timed);

/// What Java and readers of the log rely on; the offsets in Java's source are
/// compared in a test.
const _: () = {
    use std::mem::offset_of;
    assert!(size_of::<Entry>() == 64);
    assert!(size_of::<Recent>() == 32 && size_of::<Pair>() == 16 && size_of::<Event>() == 32);
    assert!(offset_of!(Ring, events) == Ring::HEAD);
    assert!(size_of::<ThreadSlot>() == 16 && size_of::<Link<Ring>>() == 8);
    assert!(offset_of!(Block, held) == 128 && BLOCK_HEAD.is_multiple_of(LINE));
    assert!(offset_of!(Block, held_locks) + size_of::<[Entry; LOCKS_LIMIT]>() == BLOCK_HEAD);
    assert!(offset_of!(Table, mask) == 0 && offset_of!(Table, used) + 8 == Table::HEAD);
    assert!(align_of::<Recent>() == 8 && align_of::<Pair>() == 8 && align_of::<Cell>() == 8);
    assert!(size_of::<Cell>() == CELL_LEN && Cell::CLOSED < 1 << OWN_BITS && OWN_BITS == 8);
    assert!(offset_of!(Cell, thread) == field::THREAD && offset_of!(Cell, place) == field::PLACE);
    assert!(offset_of!(Cell, class) == field::CLASS);
    assert!(offset_of!(Cell, measured) == field::MEASURED);
    assert!(offset_of!(Cell, acquisitions) == field::ACQUISITIONS);
    assert!(offset_of!(Cell, next) == field::NEXT);
    assert!(offset_of!(Cell, reentrant) == field::REENTRANT);
    assert!(offset_of!(Cell, failed) == field::FAILED);
    assert!(offset_of!(Cell, first) == field::FIRST_COUNT);
    assert!(offset_of!(Cell, first) + offset_of!(Sum, ns) == field::FIRST_NS);
    assert!(offset_of!(Cell, sampled) == field::SAMPLED_COUNT);
    assert!(offset_of!(Cell, sampled) + offset_of!(Sum, ns) == field::SAMPLED_NS);
    assert!(offset_of!(Cell, max_ns) == field::MAX_NS);
    assert!(offset_of!(Cell, unidentified) == field::UNIDENTIFIED);
    assert!(offset_of!(Cell, histogram) == field::HISTOGRAM);
};

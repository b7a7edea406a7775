//! A block of memory for each thread that takes locks.
//!
//! Virtual threads come and go by the million: they have blocks only while
//! they live, taken from a pool, and share one pseudo-thread in the log, so
//! that the cells that a block has found stay right for its next user.

use super::{
    Trace,
    memory::{Memory, block, entry, notes, ring, table},
};
use crate::{
    jvm::Java,
    recorder::threads::{Thread, VIRTUAL},
    sync::lock,
};
use jvmti_bindings::sys::jni::jthread;
use std::{
    collections::{HashMap, VecDeque},
    ops::Range,
    sync::{
        Arc, Mutex,
        atomic::{
            Ordering::{Acquire, Relaxed, Release, SeqCst},
            fence,
        },
    },
    time::{Duration, Instant},
};

/// Places in the table of threads: as many bits of a thread's id are looked at.
pub const THREADS: usize = 1 << 18;
/// How far from its place a thread may stand.
const REACH: usize = 8;
/// Length of the table of threads, in bytes.
pub const THREADS_LEN: usize = (THREADS + REACH) * 16;
const VIRTUAL_NUMBER: u32 = 1;
const LAST_NUMBER: u32 = u32::MAX - 64;
/// So many threads that have ended are remembered.
const ENDED_LIMIT: usize = 4096;
/// How many virtual threads may have a block at once, of 4 KB, or 12 KB with
/// `events=all`; others are not traced.
const VIRTUAL_LIMIT: usize = 1 << 16;

/// How long a thread may still be at a table that was replaced.
const UNSEEN: Duration = Duration::from_secs(2);

/// The blocks.
#[derive(Default)]
pub struct Blocks {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// By the thread's Java id.
    used: HashMap<i64, Owned>,
    free: Vec<Owned>,
    free_virtual: Vec<Owned>,
    /// Blocks of before a pause, which may be used again after the next one.
    retired: Vec<Owned>,
    /// How many of virtual threads there are, without the retired ones.
    virtual_count: usize,
    /// The notes of all virtual threads.
    virtual_notes: Option<Memory>,
    last: u32,
    /// Whose records those of a number are.
    owners: HashMap<u32, Arc<Thread>>,
    /// The numbers of threads that have ended lately: some of their locks may
    /// still be about to get a hash.
    ended: VecDeque<u32>,
}

/// A block and the tables that it had.
struct Owned {
    memory: Memory,
    /// The tables before rotations, and since when, to be used again when their
    /// thread has long looked away.
    spares: VecDeque<(Memory, Instant)>,
    is_virtual: bool,
}

impl Owned {
    fn new(is_virtual: bool, notes: Memory) -> Option<Owned> {
        let (recent, pairs) = match is_virtual {
            true => (block::RECENT_VIRTUAL, table::FIRST_VIRTUAL),
            false => (block::RECENT_COUNT, table::FIRST_PAIRS),
        };
        let memory = Memory::allocate(block::RECENT + recent * block::RECENT_LEN)?;
        let table = new_table(pairs)?;
        memory.u32(block::RECENT_MASK).store(recent as u32 - 1, Relaxed);
        memory.u64(block::CELLS).store(table.address(), Relaxed);
        memory.u64(block::NOTES).store(notes.address(), Relaxed);
        Some(Owned { memory, spares: VecDeque::new(), is_virtual })
    }

    /// As if it had never been used; a virtual thread's cells are the next one's.
    fn reset(&self) {
        let memory = self.memory;
        memory.u64(block::HOLDS).store(0, Relaxed);
        memory.u32(block::PLACE).store(0, Relaxed);
        memory.u32(block::QUIET).store(0, Relaxed);
        for word in [block::ASKED, block::RESYNC_DEPTH, block::RESYNC_AFTER] {
            memory.u64(word).store(0, Relaxed);
        }
        for nth in 0..block::HELD_LIMIT + block::LOCKS_LIMIT {
            let at = memory.offset(block::HELD + nth * entry::LEN);
            at.u64(entry::START).store(0, Relaxed);
            // With what says whether it is one of the first.
            at.u64(entry::STACK).store(0, Relaxed);
        }
        // What one virtual thread is known for, the log has of all of them.
        if !self.is_virtual {
            memory.u64(block::SAMPLES).store(0, Relaxed);
            self.forget();
        }
    }

    /// An empty table as long as the one before.
    fn fresh_table(&mut self, old: Memory) -> Option<Memory> {
        let len = |table: Memory| table.u64(table::MASK).load(Relaxed) as usize + 1;
        // Those of before it has grown.
        self.spares.retain(|(spare, _)| len(*spare) == len(old));
        match self.spares.front() {
            Some((_, since)) if since.elapsed() >= UNSEEN => {
                self.spares.pop_front().map(|(spare, _)| spare).inspect(|spare| clear(*spare))
            }
            _ => new_table(len(old)),
        }
    }

    /// Forgets what is in the log.
    fn forget(&self) {
        if !self.is_virtual {
            clear_words(notes_of(self.memory), 0..notes::LEN);
        }
        recent_of(self.memory).for_each(|at| clear_words(at, 0..block::RECENT_LEN));
        clear(cells_of(self.memory));
    }
}

/// A block's notes.
fn notes_of(of: Memory) -> Memory {
    let address = of.u64(block::NOTES).load(Relaxed);
    // SAFETY: the word always holds the address of notes, see `Owned::new`.
    unsafe { Memory::at_address(address) }
}

/// What a block met last.
fn recent_of(of: Memory) -> impl Iterator<Item = Memory> {
    let mask = of.u32(block::RECENT_MASK).load(Relaxed) as usize;
    (0..=mask).map(move |nth| of.offset(block::RECENT + nth * block::RECENT_LEN))
}

/// The entries of what a block's thread holds.
fn held_of(of: Memory) -> impl Iterator<Item = Memory> {
    let holds = of.u64(block::HOLDS).load(Relaxed);
    let monitors = (holds as u32 as usize).min(block::HELD_LIMIT);
    let locks = ((holds >> 32) as u16 as usize).min(block::LOCKS_LIMIT);
    let monitors = (0..monitors).map(|nth| block::HELD + nth * entry::LEN);
    let locks = (0..locks).map(|nth| block::HELD_LOCKS + nth * entry::LEN);
    monitors.chain(locks).map(move |at| of.offset(at))
}

fn clear_words(of: Memory, bytes: Range<usize>) {
    bytes.step_by(8).for_each(|at| clear_word(of, at));
}

/// Pages that nobody has touched shall stay so.
fn clear_word(of: Memory, at: usize) {
    let word = of.u64(at);
    if word.load(Relaxed) != 0 {
        word.store(0, Release);
    }
}

/// Gives a block an empty ring of events.
fn give_ring(of: Memory) -> bool {
    let mut address = of.u64(block::RING).load(Relaxed);
    if address == 0 {
        let Some(ring) = Memory::allocate(ring::LEN) else { return false };
        address = ring.address();
        of.u64(block::RING).store(address, Relaxed);
    }
    // SAFETY: the word holds the address of a ring.
    let ring = unsafe { Memory::at_address(address) };
    // What another thread may have left there is not this one's.
    ring.u64(ring::AT).store(ring::EVENT as u64, Relaxed);
    true
}

/// A table of cells with room for so many.
pub fn new_table(pairs: usize) -> Option<Memory> {
    let memory = Memory::allocate(table::PAIRS + pairs * 16)?;
    memory.u64(table::MASK).store(pairs as u64 - 1, Relaxed);
    Some(memory)
}

fn clear(cells: Memory) {
    let pairs = cells.u64(table::MASK).load(Relaxed) as usize + 1;
    cells.u64(table::USED).store(0, Relaxed);
    for at in 0..2 * pairs {
        cells.u64(table::PAIRS + 8 * at).store(0, Relaxed);
    }
}

/// A block's table of cells.
pub fn cells_of(of: Memory) -> Memory {
    // The log's number is looked at behind this, not before.
    let address = of.u64(block::CELLS).load(Acquire);
    // SAFETY: the word always holds the address of a table, see `Owned::new`.
    unsafe { Memory::at_address(address) }
}

impl Trace {
    /// The block of the current thread: its address, or 0 when it has none.
    pub fn new_block(&self, java: Java, thread: jthread, java_id: i64) -> u64 {
        let Some(traced) = self.recorder.traced_thread(java, thread, java_id) else { return 0 };
        let mut blocks = lock(&self.blocks.inner);
        if let Some(known) = blocks.used.get(&java_id) {
            return known.memory.address();
        }
        if traced.excluded {
            self.publish(java_id, 0);
            return 0;
        }
        let Some(owned) = blocks.take(traced.is_virtual) else {
            // Else it would ask again with each lock.
            if self.publish(java_id, 0) {
                self.statistics.untraced_threads.fetch_add(1, Relaxed);
            }
            return 0;
        };
        let memory = owned.memory;
        if self.options.every_event && !give_ring(memory) {
            blocks.give_back(owned);
            return 0;
        }
        let owner = if traced.is_virtual { VIRTUAL } else { java_id };
        // Virtual threads share a number, too: they are told apart nowhere.
        let number = if traced.is_virtual { VIRTUAL_NUMBER } else { blocks.number() };
        memory.u64(block::OWNER).store(owner as u64, Relaxed);
        memory.u64(block::ME).store(u64::from(number), Relaxed);
        memory.u64(block::RANDOM).store(java_id as u64 ^ 0x9e37_79b9_7f4a_7c15, Relaxed);
        if !self.publish(java_id, memory.address()) {
            blocks.give_back(owned);
            return 0;
        }
        blocks.owners.insert(number, traced.owner);
        blocks.used.insert(java_id, owned);
        memory.address()
    }

    /// Enters a thread into the table where Java looks; `false` without room.
    fn publish(&self, java_id: i64, address: u64) -> bool {
        let places = self.places_of(java_id);
        // A thread that is just attaching has the id 0: what it finds in the
        // first place shall be nothing.
        let first = self.shared.threads.address();
        let is_free = |place: &Memory| place.u64(0).load(Relaxed) == 0 && place.address() != first;
        let free = places.into_iter().find(is_free);
        let Some(free) = free else { return false };
        free.u64(8).store(address, Relaxed);
        free.u64(0).store(java_id as u64, Release);
        true
    }

    fn places_of(&self, java_id: i64) -> [Memory; REACH] {
        let first = java_id as usize & (THREADS - 1);
        std::array::from_fn(|nth| self.shared.threads.offset((first + nth) * 16))
    }

    /// A thread has ended.
    pub fn thread_ends(&self, java_id: i64) {
        if let Some(of) = self.block_of(java_id) {
            self.write_events(of);
        }
        let mut blocks = lock(&self.blocks.inner);
        for place in self.places_of(java_id) {
            if place.u64(0).load(Relaxed) == java_id as u64 {
                place.u64(0).store(0, Relaxed);
            }
        }
        if let Some(owned) = blocks.used.remove(&java_id) {
            if !owned.is_virtual {
                let number = owned.memory.u64(block::ME).load(Relaxed) as u32;
                blocks.ended.push_back(number);
                if blocks.ended.len() > ENDED_LIMIT
                    && let Some(oldest) = blocks.ended.pop_front()
                {
                    blocks.owners.remove(&oldest);
                }
            }
            blocks.give_back(owned);
        }
    }

    /// Whose records those of a thread with this number are.
    pub fn owner_of(&self, number: u32) -> Option<Arc<Thread>> {
        lock(&self.blocks.inner).owners.get(&number).cloned()
    }

    /// The block of a thread, if it has one.
    pub fn block_of(&self, java_id: i64) -> Option<Memory> {
        let places = self.places_of(java_id);
        let place = places.into_iter().find(|p| p.u64(0).load(Relaxed) == java_id as u64)?;
        let address = place.u64(8).load(Relaxed);
        // SAFETY: the table holds addresses of blocks, or 0.
        (address != 0).then(|| unsafe { Memory::at_address(address) })
    }

    /// When a thread wanted the monitor that it now begins to wait for; that it
    /// waits is then said.
    pub fn take_asked_ns(&self, java_id: i64) -> Option<u64> {
        if !self.options.precise {
            return None;
        }
        let asked_ns = self.block_of(java_id)?.u64(block::ASKED).swap(0, Relaxed);
        (asked_ns != 0).then_some(asked_ns)
    }

    /// Forgets what all threads hold and where they count: after a pause, what
    /// was taken before it has long been released.
    pub fn forget_threads(&self) {
        let mut blocks = lock(&self.blocks.inner);
        for owned in std::mem::take(&mut blocks.retired) {
            // The log may have gone on in another file since.
            owned.forget();
            blocks.virtual_count += usize::from(owned.is_virtual);
            blocks.give_back(owned);
        }
        // Theirs are cleared only here, as they are shared.
        if let Some(notes) = blocks.virtual_notes {
            clear_words(notes, 0..notes::LEN);
        }
        let ids: Vec<i64> = blocks.used.keys().copied().collect();
        for id in ids {
            for place in self.places_of(id) {
                if place.u64(0).load(Relaxed) == id as u64 {
                    place.u64(0).store(0, Relaxed);
                }
            }
            if let Some(owned) = blocks.used.remove(&id) {
                // Its thread may be at it right now.
                blocks.virtual_count -= usize::from(owned.is_virtual);
                blocks.retired.push(owned);
            }
        }
        // Those that there was no room for, or whom filters left out, ask again.
        for nth in 0..THREADS + REACH {
            let place = self.shared.threads.offset(nth * 16);
            if place.u64(0).load(Relaxed) != 0 && place.u64(8).load(Relaxed) == 0 {
                place.u64(0).store(0, Relaxed);
            }
        }
    }

    /// Writes what all threads have in their rings; recording is off.
    pub fn write_all_events(&self) {
        let used: Vec<Memory> =
            lock(&self.blocks.inner).used.values().map(|owned| owned.memory).collect();
        used.into_iter().for_each(|of| self.write_events(of));
    }

    /// The addresses of the cells of all that threads hold.
    pub fn cells_in_use(&self) -> Vec<usize> {
        let blocks = lock(&self.blocks.inner);
        let used: Vec<Memory> = blocks.used.values().map(|owned| owned.memory).collect();
        // Blocks are never given back: nobody has to wait for this.
        drop(blocks);
        let held = used.into_iter().flat_map(held_of);
        held.map(|held| held.u64(entry::CELL).load(Relaxed) as usize).collect()
    }

    /// Forgets which instances threads are known to take.
    pub fn forget_recent_instances(&self) {
        let blocks = lock(&self.blocks.inner);
        for notes in blocks.all_notes() {
            clear_words(notes, notes::KNOWN..notes::LEN);
        }
        for at in blocks.all().flat_map(|owned| recent_of(owned.memory)) {
            clear_word(at, block::RECENT_LOCK);
        }
    }

    /// The log goes on in another file: counts start there anew.
    pub fn forget_cells(&self) {
        let mut blocks = lock(&self.blocks.inner);
        let Inner { used, free, free_virtual, .. } = &mut *blocks;
        for owned in used.values_mut().chain(free).chain(free_virtual) {
            let old = cells_of(owned.memory);
            match owned.fresh_table(old) {
                Some(fresh) => {
                    owned.memory.u64(block::CELLS).store(fresh.address(), Release);
                    owned.spares.push_back((old, Instant::now()));
                }
                None => clear(old),
            }
            // Either its thread sees that, after it has cached a cell of the old
            // table, or what it cached is seen here.
            fence(SeqCst);
            for at in recent_of(owned.memory) {
                clear_word(at, 0);
            }
        }
        // Behind that: nestings are looked up by what was met last, too.
        for notes in blocks.all_notes() {
            clear_words(notes, notes::PAIRS..notes::KNOWN);
        }
        for at in blocks.all().flat_map(|owned| recent_of(owned.memory)) {
            clear_word(at, block::RECENT_NESTING);
        }
    }
}

impl Inner {
    /// A number for a thread: those that live have different low bits as far
    /// as that can be, which is what instances remember of them.
    fn number(&mut self) -> u32 {
        let before = if self.last >= LAST_NUMBER { 0 } else { self.last };
        // Numbers up to that of the virtual threads stand for others.
        self.last = before.max(VIRTUAL_NUMBER) + 1;
        self.last
    }

    fn all(&self) -> impl Iterator<Item = &Owned> {
        self.used.values().chain(&self.free).chain(&self.free_virtual)
    }

    /// The notes of all blocks, each once.
    fn all_notes(&self) -> impl Iterator<Item = Memory> {
        let own = self.all().filter(|owned| !owned.is_virtual);
        own.map(|owned| notes_of(owned.memory)).chain(self.virtual_notes)
    }

    fn take(&mut self, is_virtual: bool) -> Option<Owned> {
        let free = if is_virtual { &mut self.free_virtual } else { &mut self.free };
        if let Some(owned) = free.pop() {
            return Some(owned);
        }
        if is_virtual && self.virtual_count >= VIRTUAL_LIMIT {
            return None;
        }
        let owned = Owned::new(is_virtual, self.notes(is_virtual)?)?;
        self.virtual_count += usize::from(is_virtual);
        Some(owned)
    }

    /// Notes for a new block.
    fn notes(&mut self, is_virtual: bool) -> Option<Memory> {
        match (is_virtual, self.virtual_notes) {
            (true, Some(notes)) => Some(notes),
            (true, None) => {
                self.virtual_notes = Memory::allocate(notes::LEN);
                self.virtual_notes
            }
            (false, _) => Memory::allocate(notes::LEN),
        }
    }

    fn give_back(&mut self, owned: Owned) {
        owned.reset();
        if owned.is_virtual { self.free_virtual.push(owned) } else { self.free.push(owned) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_thread_has_the_number_of_the_virtual_ones() {
        let mut blocks = Inner::default();
        assert_eq!(blocks.number(), VIRTUAL_NUMBER + 1);
        assert_eq!(blocks.number(), VIRTUAL_NUMBER + 2);
        blocks.last = LAST_NUMBER;
        assert_eq!(blocks.number(), VIRTUAL_NUMBER + 1);
    }
}

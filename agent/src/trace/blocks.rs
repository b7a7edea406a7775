//! A block of memory for each thread that takes locks.
//!
//! Virtual threads come and go by the million: they have blocks only while
//! they live, taken from a pool, and share one pseudo-thread in the log, so
//! that the cells that a block has found stay right for its next user.

mod unloaded;

use super::{
    Trace,
    arena::Arena,
    memory::{Block, Entry, Notes, RECENT_COUNT, RECENT_VIRTUAL, Recent, Ring, Table, allocate},
};
use crate::{
    jvm::{Java, Object},
    recorder::threads::{Thread, VIRTUAL},
    sync::lock,
};
use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{
        Arc, Mutex,
        atomic::{
            AtomicU32, AtomicU64,
            Ordering::{Relaxed, Release, SeqCst},
            fence,
        },
    },
    time::{Duration, Instant},
};

const VIRTUAL_NUMBER: u32 = 1;
const LAST_NUMBER: u32 = u32::MAX - 64;
/// The number of ended threads that are remembered.
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
    platform: Arena<RECENT_COUNT>,
    of_virtual: Arena<RECENT_VIRTUAL>,
}

impl Blocks {
    /// The block at an address that Java has; `None` when there is none.
    #[inline]
    pub fn at(&self, address: u64) -> Option<&'static Block> {
        self.platform.at(address).or_else(|| self.of_virtual.at(address))
    }

    fn allocate(&self, is_virtual: bool) -> Option<&'static Block> {
        if is_virtual { self.of_virtual.allocate() } else { self.platform.allocate() }
    }
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
    virtual_notes: Option<&'static Notes>,
    last: u32,
    /// Whose records those of a number are.
    owners: HashMap<u32, Arc<Thread>>,
    /// The numbers of threads that have ended lately: some of their locks may
    /// still be about to get a hash.
    ended: VecDeque<u32>,
}

/// A block and the tables that it had.
struct Owned {
    block: &'static Block,
    /// The tables before rotations, and since when, to be used again when their
    /// thread has long looked away.
    spares: VecDeque<(&'static Table, Instant)>,
    is_virtual: bool,
}

impl Owned {
    fn new(is_virtual: bool, block: &'static Block, notes: &'static Notes) -> Option<Owned> {
        let pairs = if is_virtual { Table::FIRST_VIRTUAL } else { Table::FIRST_PAIRS };
        block.recent_mask.store(block.recent.len() as u32 - 1, Relaxed);
        block.cells.set(Table::new(pairs)?);
        block.notes.set(notes);
        Some(Owned { block, spares: VecDeque::new(), is_virtual })
    }

    /// As if it had never been used; a virtual thread's cells are the next one's.
    fn reset(&self) {
        let block = self.block;
        // What is left there is not the next thread's.
        block.ring.get().into_iter().for_each(Ring::empty);
        block.holds.store(0, Relaxed);
        block.place.store(0, Relaxed);
        block.quiet.store(0, Relaxed);
        for word in [&block.asked, &block.resync_depth, &block.resync_after] {
            word.store(0, Relaxed);
        }
        for entry in block.held.iter().chain(&block.held_locks) {
            entry.start.store(0, Relaxed);
            entry.clear_stack();
        }
        // What one virtual thread is known for, the log has of all of them.
        if !self.is_virtual {
            block.samples.store(0, Relaxed);
            self.forget();
        }
    }

    /// An empty table as long as the one before.
    fn fresh_table(&mut self, old: &'static Table) -> Option<&'static Table> {
        // Those of before it has grown.
        self.spares.retain(|(spare, _)| spare.pairs.len() == old.pairs.len());
        match self.spares.front() {
            Some((_, since)) if since.elapsed() >= UNSEEN => {
                self.spares.pop_front().map(|(spare, _)| spare).inspect(|spare| clear(spare))
            }
            _ => Table::new(old.pairs.len()),
        }
    }

    /// Forgets what is in the log.
    fn forget(&self) {
        if !self.is_virtual
            && let Some(notes) = self.block.notes.get()
        {
            clear_notes(notes);
        }
        for Recent { key, cell, lock, nesting } in &self.block.recent {
            [key, cell, lock, nesting].into_iter().for_each(clear_word);
        }
        if let Some(cells) = self.block.cells.get() {
            clear(cells);
        }
    }
}

fn clear_notes(notes: &Notes) {
    notes.pairs.iter().chain(&notes.told).for_each(clear_word);
    clear_known(notes);
}

fn clear_known(notes: &Notes) {
    let is_set = |hash: &&AtomicU32| hash.load(Relaxed) != 0;
    notes.known.iter().filter(is_set).for_each(|hash| hash.store(0, Release));
}

/// Pages that nobody has touched shall stay so.
fn clear_word(word: &AtomicU64) {
    if word.load(Relaxed) != 0 {
        word.store(0, Release);
    }
}

/// Gives a block an empty ring of events, unless it has one.
fn give_ring(of: &Block) -> bool {
    if of.ring.get().is_none() {
        let Some(ring) = allocate::<Ring>() else { return false };
        ring.empty();
        of.ring.set(ring);
    }
    true
}

fn clear(cells: &Table) {
    cells.used.store(0, Relaxed);
    for pair in &cells.pairs {
        pair.key.store(0, Relaxed);
        pair.cell.store(0, Relaxed);
    }
}

impl Trace {
    /// The block of the current thread: its address, or 0 when it has none.
    pub fn new_block(&self, java: Java, thread: Object<'_>, java_id: i64) -> u64 {
        let Some(traced) = self.recorder.traced_thread(java, thread, java_id) else { return 0 };
        let mut blocks = lock(&self.blocks.inner);
        if let Some(known) = blocks.used.get(&java_id) {
            return known.block.address();
        }
        if traced.excluded {
            // Else it would ask again with each lock.
            if !self.shared.threads.enter(java_id, 0) {
                self.shared.threads.refuse(java_id);
            }
            return 0;
        }
        let Some(owned) = blocks.take(traced.is_virtual, &self.blocks) else {
            self.leave_out(java_id);
            return 0;
        };
        let block = owned.block;
        if self.has_every_event() && !give_ring(block) {
            blocks.give_back(owned);
            self.leave_out(java_id);
            return 0;
        }
        let owner = if traced.is_virtual { VIRTUAL } else { java_id };
        // Virtual threads share a number, too: they are told apart nowhere.
        let number = if traced.is_virtual { VIRTUAL_NUMBER } else { blocks.number() };
        block.owner.store(owner as u64, Relaxed);
        block.me.store(u64::from(number), Relaxed);
        block.random.store(java_id as u64 ^ 0x9e37_79b9_7f4a_7c15, Relaxed);
        if !self.shared.threads.enter(java_id, block.address()) {
            blocks.give_back(owned);
            self.leave_out(java_id);
            return 0;
        }
        blocks.owners.insert(number, traced.owner);
        blocks.used.insert(java_id, owned);
        block.address()
    }

    /// Counts a thread whose locks are not counted, and which is not to ask again
    /// with each of them.
    fn leave_out(&self, java_id: i64) {
        let slots = self.shared.threads;
        if slots.enter(java_id, 0) || slots.refuse(java_id) {
            self.statistics.untraced_threads.fetch_add(1, Relaxed);
        }
    }

    /// A thread has ended.
    pub fn thread_ends(&self, java_id: i64) {
        if let Some(of) = self.block_of(java_id) {
            self.write_events(of);
        }
        let mut blocks = lock(&self.blocks.inner);
        self.shared.threads.withdraw(java_id);
        if let Some(owned) = blocks.used.remove(&java_id) {
            if !owned.is_virtual {
                let number = owned.block.me.load(Relaxed) as u32;
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
    pub fn block_of(&self, java_id: i64) -> Option<&'static Block> {
        self.blocks.at(self.shared.threads.block_of(java_id)?)
    }

    /// When a thread wanted the monitor that it now begins to wait for; that it
    /// waits is then said.
    pub fn take_asked_ns(&self, java_id: i64) -> Option<u64> {
        if !self.precise {
            return None;
        }
        let asked_ns = self.block_of(java_id)?.asked.swap(0, Relaxed);
        (asked_ns != 0).then_some(asked_ns)
    }

    /// Forgets what all threads hold and where they count: after a pause, what
    /// was taken before it has long been released.
    pub fn forget_threads(&self) {
        let mut blocks = lock(&self.blocks.inner);
        for owned in std::mem::take(&mut blocks.retired) {
            // The log may have gone on in another file since.
            owned.forget();
            if !owned.is_virtual {
                blocks.owners.remove(&(owned.block.me.load(Relaxed) as u32));
            }
            blocks.virtual_count += usize::from(owned.is_virtual);
            blocks.give_back(owned);
        }
        // A class may be gone, and its number another one's: nobody looked meanwhile.
        for owned in blocks.free.iter().chain(&blocks.free_virtual) {
            owned.forget();
        }
        // Theirs are cleared only here, as they are shared.
        if let Some(notes) = blocks.virtual_notes {
            clear_notes(notes);
        }
        let ids: Vec<i64> = blocks.used.keys().copied().collect();
        for id in ids {
            self.shared.threads.withdraw(id);
            if let Some(owned) = blocks.used.remove(&id) {
                // Its thread may be at it right now.
                blocks.virtual_count -= usize::from(owned.is_virtual);
                blocks.retired.push(owned);
            }
        }
        // Those that there was no room for, or whom filters left out, ask again.
        self.shared.threads.withdraw_blockless();
    }

    /// Makes a record of each measured hold from now on; `false` if there is no memory.
    pub fn begin_events(&self) -> bool {
        // Whoever gets a block from now on looks whether it needs a ring behind this.
        let blocks = lock(&self.blocks.inner);
        let have_rings = blocks.used.values().all(|owned| give_ring(owned.block));
        if have_rings {
            self.shared.chosen.every_event.store(1, Release);
        }
        have_rings
    }

    /// Whether any thread may have events that are not written yet.
    pub fn has_rings(&self) -> bool {
        self.used_blocks().iter().any(|of| of.ring.get().is_some())
    }

    /// Writes what all threads have in their rings; recording is off.
    pub fn write_all_events(&self) {
        self.used_blocks().into_iter().for_each(|of| self.write_events(of));
    }

    /// The addresses of the cells of all that threads hold.
    pub fn cells_in_use(&self) -> Vec<usize> {
        // Blocks are never given back: nobody has to wait for this.
        let held = self.used_blocks().into_iter().flat_map(|block| {
            let (monitors, locks) = block.held();
            monitors.iter().chain(locks)
        });
        held.map(|entry: &Entry| entry.cell.load(Relaxed) as usize).collect()
    }

    /// The places where monitors were taken that threads hold now.
    pub fn held_places(&self) -> Vec<u32> {
        let blocks = self.used_blocks();
        let held = blocks.iter().flat_map(|block| block.held().0);
        held.map(|entry| entry.place.load(Relaxed)).collect()
    }

    /// The Java ids of the threads that have a block.
    pub fn living(&self) -> HashSet<i64> {
        lock(&self.blocks.inner).used.keys().copied().collect()
    }

    fn used_blocks(&self) -> Vec<&'static Block> {
        lock(&self.blocks.inner).used.values().map(|owned| owned.block).collect()
    }

    /// Forgets which instances threads are known to take.
    pub fn forget_recent_instances(&self) {
        let blocks = lock(&self.blocks.inner);
        for notes in blocks.all_notes() {
            clear_known(notes);
        }
        for recent in blocks.all().flat_map(|owned| &owned.block.recent) {
            clear_word(&recent.lock);
        }
    }

    /// Makes all threads count in new cells from now on. The locks that they hold stay in
    /// the old cells.
    pub fn renew_cells(&self) {
        lock(&self.blocks.inner).renew_cells();
    }

    /// The log goes on in another file: counts start there anew.
    pub fn forget_cells(&self) {
        let mut blocks = lock(&self.blocks.inner);
        blocks.renew_cells();
        // Behind that: nestings are looked up by what was met last, too.
        blocks.clear_nestings();
    }

    /// What is taken within what is to be told once more.
    pub fn tell_nestings_anew(&self) {
        // First what Java asks for when it has forgotten.
        self.forget_nestings();
        lock(&self.blocks.inner).clear_nestings();
    }
}

impl Inner {
    fn clear_nestings(&self) {
        for notes in self.all_notes() {
            notes.pairs.iter().chain(&notes.told).for_each(clear_word);
        }
        for recent in self.all().flat_map(|owned| &owned.block.recent) {
            clear_word(&recent.nesting);
        }
    }

    /// A number for a thread: those that live have different low bits as far
    /// as that can be, which is what instances remember of them.
    fn number(&mut self) -> u32 {
        let before = if self.last >= LAST_NUMBER { 0 } else { self.last };
        // Numbers up to that of the virtual threads stand for others.
        self.last = before.max(VIRTUAL_NUMBER) + 1;
        self.last
    }

    fn renew_cells(&mut self) {
        let Inner { used, free, free_virtual, .. } = self;
        for owned in used.values_mut().chain(free).chain(free_virtual) {
            if let Some(old) = owned.block.cells.get() {
                match owned.fresh_table(old) {
                    Some(fresh) => {
                        owned.block.cells.set(fresh);
                        owned.spares.push_back((old, Instant::now()));
                    }
                    None => clear(old),
                }
            }
            // Either its thread sees that, after it has cached a cell of the old
            // table, or what it cached is seen here.
            fence(SeqCst);
            owned.block.recent.iter().for_each(|recent| clear_word(&recent.key));
        }
    }

    fn all(&self) -> impl Iterator<Item = &Owned> {
        self.used.values().chain(&self.free).chain(&self.free_virtual)
    }

    /// The notes of all blocks, each once.
    fn all_notes(&self) -> impl Iterator<Item = &'static Notes> {
        let own = self.all().filter(|owned| !owned.is_virtual);
        own.filter_map(|owned| owned.block.notes.get()).chain(self.virtual_notes)
    }

    fn take(&mut self, is_virtual: bool, blocks: &Blocks) -> Option<Owned> {
        let free = if is_virtual { &mut self.free_virtual } else { &mut self.free };
        if let Some(owned) = free.pop() {
            return Some(owned);
        }
        if is_virtual && self.virtual_count >= VIRTUAL_LIMIT {
            return None;
        }
        let notes = self.notes(is_virtual)?;
        let owned = Owned::new(is_virtual, blocks.allocate(is_virtual)?, notes)?;
        self.virtual_count += usize::from(is_virtual);
        Some(owned)
    }

    /// Notes for a new block.
    fn notes(&mut self, is_virtual: bool) -> Option<&'static Notes> {
        match (is_virtual, self.virtual_notes) {
            (true, Some(notes)) => Some(notes),
            (true, None) => {
                self.virtual_notes = allocate();
                self.virtual_notes
            }
            (false, _) => allocate(),
        }
    }

    fn give_back(&mut self, owned: Owned) {
        owned.reset();
        if owned.is_virtual { self.free_virtual.push(owned) } else { self.free.push(owned) }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::memory::Event, *};

    /// A block with a thread's use of it, and what knows it.
    fn used() -> (&'static Block, Inner) {
        let (blocks, mut inner) = (Blocks::default(), Inner::default());
        let owned = inner.take(false, &blocks).unwrap();
        let block = owned.block;
        inner.used.insert(7, owned);
        (block, inner)
    }

    #[test]
    fn with_new_cells_a_thread_holds_what_it_held() {
        let (block, mut inner) = used();
        let old = block.cells.get().unwrap();
        old.pairs[3].key.store(5, Relaxed);
        block.recent[9].key.store(5, Relaxed);
        block.holds.store(1, Relaxed);
        block.held[0].cell.store(77, Relaxed);
        for _ in 0..3 {
            let before = block.cells.get().unwrap();
            inner.renew_cells();
            let cells = block.cells.get().unwrap();
            assert!(!std::ptr::eq(cells, before) && cells.pairs.len() == before.pairs.len());
            assert!(cells.pairs.iter().all(|pair| pair.key.load(Relaxed) == 0));
        }
        assert_eq!(block.recent[9].key.load(Relaxed), 0);
        // Whoever has just looked there may still do so.
        assert_eq!(old.pairs[3].key.load(Relaxed), 5);
        let (monitors, _) = block.held();
        assert!(matches!(monitors, [held] if held.cell.load(Relaxed) == 77));
    }

    #[test]
    fn what_is_left_in_a_ring_is_not_the_next_threads() {
        let (block, mut inner) = used();
        assert!(give_ring(block));
        let ring = block.ring.get().unwrap();
        ring.at.store(Ring::HEAD as u64 + 2 * size_of::<Event>() as u64, Relaxed);
        // One that has a ring keeps what is in it.
        assert!(give_ring(block) && std::ptr::eq(block.ring.get().unwrap(), ring));
        assert_eq!(ring.filled().len(), 2);
        let owned = inner.used.remove(&7).unwrap();
        inner.give_back(owned);
        assert!(ring.filled().is_empty());
    }

    #[test]
    fn no_thread_has_the_number_of_the_virtual_ones() {
        let mut blocks = Inner::default();
        assert_eq!(blocks.number(), VIRTUAL_NUMBER + 1);
        assert_eq!(blocks.number(), VIRTUAL_NUMBER + 2);
        blocks.last = LAST_NUMBER;
        assert_eq!(blocks.number(), VIRTUAL_NUMBER + 1);
    }
}

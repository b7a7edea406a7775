//! Counts by thread, place and class of the lock, in the mapped log itself.

use super::{
    Trace,
    bursts::Watched,
    memory::{Block, BurstsCell, Cell, Table, address_of, allocate},
    numbers::number_of,
};
use crate::{
    jvm::{Java, Object},
    log::{Chunk, Generation, Writer, region::kept},
    sync::lock,
};
use jvmti_bindings::sys::jni::jint;
use std::sync::{Mutex, atomic::Ordering::Relaxed};
use tyrion_wire::{WaitKind, chunk::ChunkKind, def::id, trace::AcquisitionCell};

/// No acquisition has this number.
const NEVER: u64 = i64::MAX as u64;

/// Where cells come from.
pub struct Cells {
    inner: Mutex<Inner>,
    /// Counts that the log has no room for end here.
    nowhere: &'static Cell,
    /// Whether cells have room for what bursts let estimate.
    in_bursts: bool,
}

#[derive(Default)]
struct Inner {
    chunk: Option<Chunk>,
    carved: u32,
    /// The number of the generation that the chunk is in.
    generation: u32,
    /// All cells of that generation.
    all: Vec<&'static Cell>,
    /// What was counted in the generations before.
    before: u64,
    /// Those that may count in bursts, and what is known of them.
    watched: Vec<Watched>,
}

impl Inner {
    /// All that was counted, whether a lock was got or not.
    fn counted(&self) -> u64 {
        let of = |cell: &&Cell| {
            [&cell.acquisitions, &cell.reentrant, &cell.failed].map(|n| n.load(Relaxed))
        };
        self.all.iter().flat_map(of).fold(self.before, u64::saturating_add)
    }

    /// A new cell in the chunk, if there is room.
    fn append(
        &mut self,
        cell: &AcquisitionCell,
        owner: i64,
        in_bursts: bool,
    ) -> Option<&'static Cell> {
        let chunk = self.chunk.as_mut()?;
        let cell = if in_bursts {
            let cell: &'static BurstsCell = chunk.append_kept(&cell.encode_with_bursts())?;
            self.watched.push(Watched::new(cell, owner));
            &cell.cell
        } else {
            chunk.append_kept(&cell.encode())?
        };
        self.all.push(cell);
        Some(cell)
    }

    /// The cells of generations before this one are gone from now on.
    fn leave(&mut self, generation: u32) {
        if self.generation < generation {
            let before = self.counted();
            *self = Inner { generation, before, ..Inner::default() };
        }
    }
}

impl Cells {
    /// Without any.
    pub fn new(in_bursts: bool) -> Option<Cells> {
        let inner = Mutex::new(Inner::default());
        let nowhere: &Cell = allocate()?;
        let cells = Cells { inner, nowhere, in_bursts };
        cells.measure_nowhere(false);
        Some(cells)
    }

    /// Whether holds of what is counted nowhere are measured: where each becomes a
    /// record, those that get none are counted as lost.
    pub fn measure_nowhere(&self, every_hold: bool) {
        let flag = if every_hold { Cell::EVERY_HOLD } else { 0 };
        self.nowhere.next.store(NEVER | flag, Relaxed);
    }

    /// The address of the cell for counts that the log has no room for.
    pub fn nowhere(&self) -> u64 {
        address_of(self.nowhere)
    }

    /// The cell at an address that Java has; `None` when there is none.
    #[inline]
    pub fn at(&self, address: u64) -> Option<&'static Cell> {
        kept::at(address).or_else(|| (address == self.nowhere()).then_some(self.nowhere))
    }

    fn carve(
        &self,
        generation: &Generation,
        cell: &AcquisitionCell,
        owner: i64,
    ) -> Option<&'static Cell> {
        let mut inner = lock(&self.inner);
        if inner.generation > generation.number {
            return None;
        }
        inner.leave(generation.number);
        if let Some(cell) = inner.append(cell, owner, self.in_bursts) {
            return Some(cell);
        }
        let of = Writer { sequence: inner.carved, ..Writer::default() };
        let len = generation.log.chunk_len(inner.carved, 0);
        let kind = match self.in_bursts {
            true => ChunkKind::AcquisitionsInBursts,
            false => ChunkKind::Acquisitions,
        };
        inner.chunk = Some(generation.log.carve(kind, len, of)?);
        inner.carved += 1;
        inner.append(cell, owner, self.in_bursts)
    }

    /// What `about` says of all cells of the current generation.
    pub fn map_all<T>(&self, about: impl Fn(&Cell) -> T) -> Vec<T> {
        lock(&self.inner).all.iter().map(|cell| about(cell)).collect()
    }

    /// How often a probe has told of an acquisition, in all files of the log. What
    /// threads count while the log goes on in another file may be missing.
    pub fn counted(&self) -> u64 {
        lock(&self.inner).counted()
    }

    /// Has a look at all cells that may count in bursts, of the current generation.
    /// Meanwhile no thread gets a new cell.
    pub fn watch<T>(&self, look: impl FnOnce(&mut [Watched]) -> T) -> T {
        look(&mut lock(&self.inner).watched)
    }

    /// The log goes on in this generation: what was counted is added up before the
    /// memory of the cells is somebody else's.
    pub fn leave(&self, generation: u32) {
        lock(&self.inner).leave(generation);
    }
}

impl Trace {
    /// A new cell for the block's thread: `key` is the class as Java sees it,
    /// and the place. Its address; there always is one.
    pub fn new_cell(
        &self,
        java: Java,
        of: &Block,
        key: u64,
        lock_object: Object<'_>,
        kind: jint,
    ) -> u64 {
        let place = key as u32;
        self.note_class(java, number_of(key, kind), lock_object);
        // Monitors have none: their probes know what they are at.
        let kind = u8::try_from(kind).ok().and_then(WaitKind::from_code);
        let place = kind.map_or(place, |kind| self.recorder.places().variant(place, kind));
        // Before the log is looked at, and what is asked for: should it go on in
        // another file now, or should something else be asked for, the cell is
        // remembered in a table that goes with this one.
        let Some(table) = of.cells.get() else { return self.cells.nowhere() };
        if !self.has_every_event() {
            // What is left there from before. Only its own thread may do this.
            self.write_events(of);
        }
        let one_in = self.one_in();
        let every_hold = if one_in == 1 { Cell::EVERY_HOLD } else { 0 };
        if !self.wants_place(place) {
            // It is not asked for again, until other locks are traced.
            insert(of, table, key, self.cells.nowhere());
            return self.cells.nowhere();
        }
        let log = self.recorder.log();
        if log.is_dead() || log.is_closed() {
            // Threads come here until Java has been switched off.
            return self.cells.nowhere();
        }
        let cell = self.recorder.in_context_of(of.owner(), |context| {
            let thread = context.thread.id(context.generation);
            let class = self.recorder.class_of_lock(context.generation, java, lock_object);
            let class = class.unwrap_or(id::UNKNOWN);
            self.recorder.define_place(context.generation, place);
            let (next, one_in) = (1 | every_hold, Some(one_in));
            let cell = AcquisitionCell { thread, place, class, next, one_in, ..Default::default() };
            self.cells.carve(context.generation, &cell, of.owner())
        });
        let Some(cell) = cell.flatten() else {
            // Not remembered: perhaps there is room the next time.
            return self.cells.nowhere();
        };
        let address = address_of(cell);
        insert(of, table, key, address);
        address
    }
}

/// Puts a cell into its thread's table, which only that thread changes, and a
/// rotation replaces.
fn insert(of: &Block, mut cells: &'static Table, key: u64, cell: u64) {
    let len = cells.pairs.len();
    let used = cells.used.load(Relaxed) as usize + 1;
    if used * 2 > len {
        let Some(larger) = Table::new(len * 4) else { return };
        for pair in &cells.pairs {
            let (key, cell) = (pair.key.load(Relaxed), pair.cell.load(Relaxed));
            if key != 0 {
                larger.put(key, cell);
            }
        }
        // The smaller one is left: a rotation may be at it. All that a thread
        // ever leaves is a third of what it has.
        if !of.cells.replace(cells, larger) {
            // What is in it belongs to a file that has ended.
            return;
        }
        cells = larger;
    }
    cells.put(key, cell);
    cells.used.store(used as u64, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::{super::arena::Arena, *};
    use std::{
        sync::atomic::{AtomicBool, Ordering::Acquire},
        time::Duration,
    };

    #[test]
    fn tables_grow_and_keep_what_they_have() {
        let of = Arena::<16>::default().allocate().unwrap();
        of.cells.set(Table::new(Table::FIRST_PAIRS).unwrap());
        // Miri would take minutes for more, and the table grows twice all the same.
        const KEYS: u64 = if cfg!(miri) { 100 } else { 1000 };
        let keys: Vec<u64> = (1..=KEYS).map(|n| ((n % 3 + 1) << 32) | (n * 7)).collect();
        for &key in &keys {
            insert(of, of.cells.get().unwrap(), key, key * 2);
        }
        let cells = of.cells.get().unwrap();
        for key in keys {
            let mut at = cells.start(key);
            while cells.pairs[at].key.load(Relaxed) != key {
                at = (at + 1) % cells.pairs.len();
            }
            assert_eq!(cells.pairs[at].cell.load(Relaxed), key * 2);
        }
    }

    #[test]
    fn readers_find_whole_pairs_while_tables_grow_and_are_replaced() {
        const KEYS: u64 = if cfg!(miri) { 100 } else { 100_000 };
        let of = Arena::<16>::default().allocate().unwrap();
        of.cells.set(Table::new(Table::FIRST_VIRTUAL).unwrap());
        let is_done = AtomicBool::new(false);
        let until_done = |body: &dyn Fn()| {
            while !is_done.load(Relaxed) {
                body();
                std::thread::sleep(Duration::from_micros(50));
            }
        };
        // As Java does.
        let look = || {
            for pair in &of.cells.get().unwrap().pairs {
                let key = pair.key.load(Acquire);
                assert!(key == 0 || pair.cell.load(Relaxed) == key * 2);
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for key in 1..=KEYS {
                    insert(of, of.cells.get().unwrap(), key, key * 2);
                }
                is_done.store(true, Relaxed);
            });
            // As when the log goes on in another file.
            scope.spawn(|| {
                until_done(&|| of.cells.set(Table::new(Table::FIRST_VIRTUAL).unwrap()));
            });
            scope.spawn(|| until_done(&look));
            scope.spawn(|| until_done(&look));
        });
    }
}

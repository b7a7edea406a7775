//! Counts by thread, place and class of the lock, in the mapped log itself.

use super::{
    Trace,
    blocks::{cells_of, new_table},
    memory::{Memory, block, table},
};
use crate::{
    jvm::Java,
    log::{Chunk, Writer},
    sync::lock,
    volume::Volume,
};
use jvmti_bindings::sys::jni::{jint, jobject};
use std::sync::{
    Mutex,
    atomic::Ordering::{Relaxed, Release},
};
use tyrion_wire::{
    WaitKind,
    chunk::ChunkKind,
    def::id,
    trace::{AcquisitionCell, CELL_LEN, field},
};

/// Where cells come from.
pub struct Cells {
    inner: Mutex<Inner>,
    /// Counts that the log has no room for end here.
    nowhere: Memory,
}

#[derive(Default)]
struct Inner {
    chunk: Option<Chunk>,
    carved: u32,
    /// The number of the volume that the chunk is in.
    volume: u32,
}

impl Cells {
    /// Without any.
    pub fn new() -> Option<Cells> {
        let inner = Mutex::new(Inner::default());
        let nowhere = Memory::allocate(CELL_LEN)?;
        // Nothing there is measured.
        nowhere.u64(field::NEXT).store(i64::MAX as u64, Relaxed);
        Some(Cells { inner, nowhere })
    }

    /// The cell for counts that the log has no room for.
    pub fn nowhere(&self) -> Memory {
        self.nowhere
    }

    fn carve(&self, volume: &Volume, cell: &AcquisitionCell) -> Option<Memory> {
        let bytes = cell.encode();
        let mut inner = lock(&self.inner);
        if inner.volume > volume.number {
            return None;
        }
        if inner.volume < volume.number {
            *inner = Inner { volume: volume.number, ..Inner::default() };
        }
        if let Some(place) = inner.chunk.as_mut().and_then(|chunk| chunk.append_in_place(&bytes)) {
            return Some(place.memory());
        }
        let of = Writer { sequence: inner.carved, ..Writer::default() };
        let len = volume.log.chunk_len(inner.carved, 0);
        let mut chunk = volume.log.carve(ChunkKind::Acquisitions, len, of)?;
        inner.carved += 1;
        let place = chunk.append_in_place(&bytes);
        inner.chunk = Some(chunk);
        place.map(|place| place.memory())
    }
}

impl Trace {
    /// A new cell for the block's thread: `key` is the class as Java sees it,
    /// and the place. Its address; there always is one.
    pub fn new_cell(
        &self,
        java: Java,
        of: Memory,
        key: u64,
        lock_object: jobject,
        kind: jint,
    ) -> u64 {
        let place = key as u32;
        // Monitors have none: their probes know what they are at.
        let kind = u8::try_from(kind).ok().and_then(WaitKind::from_code);
        let place = kind.map_or(place, |kind| self.places.variant(place, kind));
        let owner = of.u64(block::OWNER).load(Relaxed) as i64;
        // Before the log is looked at: should it go on in another file now, the
        // cell is remembered in a table that goes with this one.
        let table = cells_of(of);
        let log = self.recorder.log();
        if log.is_dead() || log.is_closed() {
            // Threads come here until Java has been switched off.
            return self.cells.nowhere.address();
        }
        let cell = self.recorder.trace_scene(owner, |scene| {
            let thread = scene.thread.id(scene.volume);
            let class = self.recorder.class_of_lock(scene.volume, java, lock_object);
            let class = class.unwrap_or(id::UNKNOWN);
            self.define_place(scene.volume, place);
            let cell = AcquisitionCell { thread, place, class, next: 1, ..Default::default() };
            self.cells.carve(scene.volume, &cell)
        });
        let Some(cell) = cell.flatten() else {
            // Not remembered: perhaps there is room the next time.
            return self.cells.nowhere.address();
        };
        insert(of, table, key, cell.address());
        cell.address()
    }
}

/// Puts a cell into its thread's table, which only that thread changes, and a
/// rotation replaces.
fn insert(of: Memory, mut cells: Memory, key: u64, cell: u64) {
    let len = cells.u64(table::MASK).load(Relaxed) as usize + 1;
    let used = cells.u64(table::USED).load(Relaxed) as usize + 1;
    if used * 2 > len {
        let Some(larger) = new_table(len * 4) else { return };
        for nth in 0..len {
            let at = table::PAIRS + 16 * nth;
            let (key, cell) = (cells.u64(at).load(Relaxed), cells.u64(at + 8).load(Relaxed));
            if key != 0 {
                put(larger, key, cell);
            }
        }
        // The smaller one is left: a rotation may be at it. All that a thread
        // ever leaves is a third of what it has.
        let (old, new) = (cells.address(), larger.address());
        if of.u64(block::CELLS).compare_exchange(old, new, Release, Relaxed).is_err() {
            // What is in it belongs to a file that has ended.
            return;
        }
        cells = larger;
    }
    put(cells, key, cell);
    cells.u64(table::USED).store(used as u64, Relaxed);
}

fn put(cells: Memory, key: u64, cell: u64) {
    let mask = cells.u64(table::MASK).load(Relaxed);
    let mut at = u64::from(key as u32) & mask;
    loop {
        let pair = table::PAIRS + 16 * at as usize;
        let there = cells.u64(pair).load(Relaxed);
        if there == 0 || there == key {
            cells.u64(pair + 8).store(cell, Relaxed);
            cells.u64(pair).store(key, Release);
            return;
        }
        at = (at + 1) & mask;
    }
}

#[cfg(test)]
mod tests {
    use super::{super::memory::table::FIRST_PAIRS, *};

    #[test]
    fn tables_grow_and_keep_what_they_have() {
        let of = Memory::allocate(block::RECENT).unwrap();
        of.u64(block::CELLS).store(new_table(FIRST_PAIRS).unwrap().address(), Relaxed);
        let keys: Vec<u64> = (1..=1000).map(|n| ((n % 3 + 1) << 32) | (n * 7)).collect();
        for &key in &keys {
            insert(of, cells_of(of), key, key * 2);
        }
        let cells = cells_of(of);
        let mask = cells.u64(table::MASK).load(Relaxed);
        for key in keys {
            let mut at = u64::from(key as u32) & mask;
            while cells.u64(table::PAIRS + 16 * at as usize).load(Relaxed) != key {
                at = (at + 1) & mask;
            }
            assert_eq!(cells.u64(table::PAIRS + 16 * at as usize + 8).load(Relaxed), key * 2);
        }
    }
}

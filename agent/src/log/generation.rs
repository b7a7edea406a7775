//! A generation of the log: one file, and the ids that are valid in that file only.
//!
//! A log that does not rotate has one generation, unless the user wants another log. Whoever keeps something that
//! points into a generation's file keeps the generation, too: the file is
//! unmapped when the last one lets go.

use crate::{
    log::{Chunk, LogFile, MappedCell, Writer, dictionary::Dictionary},
    sync::lock,
};
use std::sync::Mutex;
use tyrion_wire::{
    chunk::ChunkKind,
    slot::{COUNTERS_LEN, Counters, WAIT_LEN},
};

/// A file of the log, and its ids.
pub struct Generation {
    /// Its number among the files of the log, from 0.
    pub number: u32,
    /// The file.
    pub log: LogFile,
    /// The ids.
    pub dictionary: Dictionary,
    counters: Mutex<InPlace>,
    slots: Mutex<Slots>,
}

#[derive(Default)]
struct Slots {
    free: Vec<MappedCell>,
    all: InPlace,
}

/// Cells one after another in chunks of one kind.
#[derive(Default)]
struct InPlace {
    chunk: Option<Chunk>,
    carved: u32,
}

impl InPlace {
    fn add(
        &mut self,
        log: &LogFile,
        kind: ChunkKind,
        len: usize,
        initial: &[u8],
    ) -> Option<MappedCell> {
        if let Some(cell) = self.chunk.as_mut().and_then(|chunk| chunk.append_cell(initial)) {
            return Some(cell);
        }
        let of = Writer { sequence: self.carved, ..Writer::default() };
        // The chunk before stays as it is: its cells are still changed.
        let mut chunk = log.carve(kind, len, of)?;
        self.carved += 1;
        let cell = chunk.append_cell(initial);
        self.chunk = Some(chunk);
        cell
    }
}

impl Generation {
    /// A generation that nothing was written to. `outlasted` says that another one
    /// will follow, so that waits go on in that.
    pub fn new(number: u32, log: LogFile, outlasted: bool) -> Generation {
        Generation {
            number,
            log,
            dictionary: Dictionary::new(outlasted),
            counters: Mutex::default(),
            slots: Mutex::default(),
        }
    }

    /// New counters, for a lane.
    pub fn add_counters(&self, lane: u32) -> Option<MappedCell> {
        let bytes: [u8; COUNTERS_LEN] = Counters { lane, ..Counters::default() }.encode();
        let len = self.log.chunk_len(0, 0);
        lock(&self.counters).add(&self.log, ChunkKind::Counters, len, &bytes)
    }

    /// A slot that no thread has.
    pub fn take_slot(&self) -> Option<MappedCell> {
        let mut slots = lock(&self.slots);
        if let Some(slot) = slots.free.pop() {
            return Some(slot);
        }
        let len = self.log.chunk_len(2, 0);
        slots.all.add(&self.log, ChunkKind::Slots, len, &[0; WAIT_LEN])
    }

    /// Takes back a slot, which says that no thread waits.
    pub fn return_slot(&self, slot: MappedCell) {
        lock(&self.slots).free.push(slot);
    }
}

const _: () = assert!(WAIT_LEN.is_multiple_of(8));

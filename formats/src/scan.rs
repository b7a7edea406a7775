//! Finds the chunks of a log, past damage too.

use crate::{
    damage::{DamageList, Fault},
    parse,
    source::Source,
};
use std::collections::HashMap;
use tyrion_wire::{
    chunk::{ChunkHeader, ChunkKind, HEADER_LEN, SEALED},
    header::BLOCK,
};

/// A chunk of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkRef {
    /// Where its header stands, in bytes from the file's start.
    pub offset: u64,
    /// Monotonic time from which its first record counts, in ns.
    pub first_ns: u64,
    /// Its whole length in bytes.
    pub len: u32,
    /// Bytes of its payload that are complete and within the file.
    pub committed: u32,
    /// Its number among those of its lane and kind, from 0.
    pub sequence: u32,
    /// Its lane.
    pub lane: u32,
    /// The thread that it begins with.
    pub thread: u32,
    /// CRC-32 of its payload, if it is sealed.
    pub checksum: u32,
    /// Nothing more is written to it, and its checksum counts.
    pub sealed: bool,
    /// All that it has committed is within the file.
    pub whole: bool,
}

impl ChunkRef {
    pub(crate) fn new(offset: usize, header: &ChunkHeader, file_len: usize) -> ChunkRef {
        let available = file_len.saturating_sub(offset + HEADER_LEN);
        let committed = available.min(header.committed as usize) as u32;
        ChunkRef {
            offset: offset as u64,
            first_ns: header.first_ns,
            len: header.len,
            committed,
            sequence: header.sequence,
            lane: header.lane,
            thread: header.thread,
            checksum: header.checksum,
            sealed: header.flags & SEALED != 0,
            whole: committed == header.committed,
        }
    }

    /// Where its payload begins, in bytes from the file's start.
    pub fn payload_at(&self) -> u64 {
        self.offset + HEADER_LEN as u64
    }
}

/// The chunks of a log, by kind and in the order of the file.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    pub(crate) definitions: Vec<ChunkRef>,
    pub(crate) events: Vec<ChunkRef>,
    pub(crate) cells: Vec<ChunkRef>,
    pub(crate) slots: Vec<ChunkRef>,
    pub(crate) counters: Vec<ChunkRef>,
    pub(crate) acquisitions: Vec<ChunkRef>,
    /// Where the next chunk would stand.
    pub(crate) end: usize,
}

impl Chunks {
    fn push(&mut self, kind: u8, chunk: ChunkRef) {
        match ChunkKind::from_code(kind) {
            Some(ChunkKind::Definitions) => self.definitions.push(chunk),
            Some(ChunkKind::Events) => self.events.push(chunk),
            Some(ChunkKind::Cells) => self.cells.push(chunk),
            Some(ChunkKind::Slots) => self.slots.push(chunk),
            Some(ChunkKind::Counters) => self.counters.push(chunk),
            Some(ChunkKind::Acquisitions) => self.acquisitions.push(chunk),
            // Of a later format that old readers need not know.
            None => {}
        }
    }
}

/// Finds all chunks from `start` on. `used` is the length that the header
/// vouches for; beyond it, what is no chunk is just the end.
pub(crate) fn chunks(
    source: &Source,
    start: usize,
    used: usize,
    damage: &mut DamageList,
) -> Chunks {
    let len = source.len();
    if used > len {
        damage.add(len as u64, Fault::Cut, (used - len) as u64);
    }
    let mut chunks = Chunks::default();
    let mut at = start;
    loop {
        if let Some(header) = header_at(source, at) {
            chunks.push(header.kind, ChunkRef::new(at, &header, len));
            at = end_of(source, at, &header, damage);
        } else if at >= used || at + HEADER_LEN > len {
            break;
        } else {
            // Before the watermark a chunk must stand here.
            let next = find_chunk(source, at + BLOCK, len).unwrap_or(used.min(len));
            damage.add(at as u64, Fault::NoChunk, (next - at) as u64);
            at = next;
        }
    }
    chunks.end = at;
    if damage.is_empty() {
        check_sequences(&chunks.definitions, ChunkKind::Definitions, damage);
        check_sequences(&chunks.events, ChunkKind::Events, damage);
    }
    chunks
}

/// Looks at the definitions chunks once more, after all others: a log that is
/// being written has by now defined all that those others name.
pub(crate) fn refresh_definitions(source: &Source, chunks: &mut Chunks) {
    let len = source.len();
    for chunk in &mut chunks.definitions {
        let at = chunk.offset as usize;
        if let Some(header) = header_at(source, at) {
            *chunk = ChunkRef::new(at, &header, len);
        }
    }
    let mut at = chunks.end;
    while let Some(header) = header_at(source, at) {
        if header.kind == ChunkKind::Definitions as u8 {
            chunks.definitions.push(ChunkRef::new(at, &header, len));
        }
        at += header.len as usize;
    }
}

pub(crate) fn header_at(source: &Source, at: usize) -> Option<ChunkHeader> {
    let mut bytes = [0; HEADER_LEN];
    source.copy(at, &mut bytes)?;
    let (_, header) = parse::chunk_header(&bytes).ok()?;
    Some(header)
}

pub(crate) fn find_chunk(source: &Source, from: usize, to: usize) -> Option<usize> {
    let mut places = (from..to).step_by(BLOCK).take_while(|_| source.may_search(BLOCK));
    places.find(|&at| header_at(source, at).is_some())
}

/// Where a chunk ends: where it says, or where another one begins in what it
/// has not used. That is where its length is wrong.
pub(crate) fn end_of(
    source: &Source,
    at: usize,
    header: &ChunkHeader,
    damage: &mut DamageList,
) -> usize {
    let end = at + header.len as usize;
    let used = (HEADER_LEN + header.committed as usize).next_multiple_of(BLOCK);
    match find_chunk(source, at + used, end.min(source.len())) {
        Some(next) => {
            damage.add(at as u64, Fault::ChunkLength, 0);
            next
        }
        None => end,
    }
}

fn check_sequences(chunks: &[ChunkRef], kind: ChunkKind, damage: &mut DamageList) {
    let mut expected: HashMap<u32, u32> = HashMap::new();
    for chunk in chunks {
        let next = expected.entry(chunk.lane).or_default();
        if chunk.sequence > *next {
            let count = chunk.sequence - *next;
            damage.add(chunk.offset, Fault::MissingChunks { kind: kind.name(), count }, 0);
        }
        *next = chunk.sequence.saturating_add(1);
    }
}

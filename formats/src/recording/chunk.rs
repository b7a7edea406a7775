//! Where the records of a recording are.

use tyrion_wire::chunk::{ChunkHeader, ChunkKind, HEADER_LEN, SEALED};

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
    /// Its acquisition cells count in bursts.
    pub in_bursts: bool,
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
            in_bursts: header.kind == ChunkKind::AcquisitionsInBursts as u8,
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
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        [
            &self.definitions,
            &self.events,
            &self.cells,
            &self.slots,
            &self.counters,
            &self.acquisitions,
        ]
        .iter()
        .all(|chunks| chunks.is_empty())
    }

    pub(crate) fn push(&mut self, kind: u8, chunk: ChunkRef) {
        match ChunkKind::from_code(kind) {
            Some(ChunkKind::Definitions) => self.definitions.push(chunk),
            Some(ChunkKind::Events) => self.events.push(chunk),
            Some(ChunkKind::Cells) => self.cells.push(chunk),
            Some(ChunkKind::Slots) => self.slots.push(chunk),
            Some(ChunkKind::Counters) => self.counters.push(chunk),
            Some(ChunkKind::Acquisitions | ChunkKind::AcquisitionsInBursts) => {
                self.acquisitions.push(chunk);
            }
            // Of a later format that old readers need not know.
            None => {}
        }
    }
}

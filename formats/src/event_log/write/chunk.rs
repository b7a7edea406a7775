//! The chunks of one lane and kind, while they are written.

use std::io::{self, Write};
use tyrion_wire::chunk::{ChunkHeader, ChunkKind, HEADER_LEN, SEALED};

/// The chunks of one lane and kind: the current one is in memory, the others
/// are written.
pub(super) struct Pieces {
    kind: ChunkKind,
    lane: u32,
    len: usize,
    sequence: u32,
    first: (u32, u64),
    /// The current chunk's payload.
    payload: Vec<u8>,
}

impl Pieces {
    pub(super) fn new(kind: ChunkKind, lane: u32, len: u32) -> Pieces {
        let (sequence, first, payload) = (0, (0, 0), Vec::new());
        Pieces { kind, lane, len: len as usize, sequence, first, payload }
    }

    /// Appends a record; `first` is the thread and time that a chunk which
    /// begins with it counts from. Returns how many bytes were written out.
    #[inline]
    pub(super) fn append(
        &mut self,
        record: &[u8],
        first: (u32, u64),
        seal: bool,
        out: &mut impl Write,
    ) -> io::Result<u64> {
        let mut written = 0;
        if self.payload.len() + record.len() > self.len - HEADER_LEN {
            written = self.flush(seal, out)?;
        }
        if self.payload.is_empty() {
            self.first = first;
        }
        self.payload.extend_from_slice(record);
        Ok(written)
    }

    /// Writes the current chunk out, if there is one. Returns its length.
    pub(super) fn flush(&mut self, seal: bool, out: &mut impl Write) -> io::Result<u64> {
        if self.payload.is_empty() {
            return Ok(0);
        }
        // What is changed in place is never sealed.
        let settled = matches!(self.kind, ChunkKind::Definitions | ChunkKind::Events);
        let seal = seal && settled;
        let header = ChunkHeader {
            kind: self.kind as u8,
            flags: if seal { SEALED } else { 0 },
            len: self.len as u32,
            committed: self.payload.len() as u32,
            sequence: self.sequence,
            lane: self.lane,
            thread: self.first.0,
            checksum: if seal { crc32fast::hash(&self.payload) } else { 0 },
            first_ns: self.first.1,
        };
        out.write_all(&header.encode())?;
        self.payload.resize(self.len - HEADER_LEN, 0);
        out.write_all(&self.payload)?;
        self.payload.clear();
        self.sequence += 1;
        Ok(self.len as u64)
    }
}

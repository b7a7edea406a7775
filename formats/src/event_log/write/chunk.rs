//! The chunks of one lane and kind, while they are written.

use std::io::{self, Write};
use tyrion_wire::{
    chunk::{ChunkHeader, ChunkKind, HEADER_LEN, SEALED},
    event::{MAX_WAIT_LEN, WaitRecord},
    header::BLOCK,
};

/// The chunks of one lane and kind: the current one is in memory, the others
/// are written.
pub(super) struct Pieces {
    kind: ChunkKind,
    lane: u32,
    len: usize,
    sequence: u32,
    first: (u32, u64),
    /// The current chunk's payload, as far as it is used, and room for a record that is
    /// made in place; nothing before the first record.
    payload: Vec<u8>,
    used: usize,
}

impl Pieces {
    pub(super) fn new(kind: ChunkKind, lane: u32, len: u32) -> Pieces {
        let (sequence, first, payload) = (0, (0, 0), Vec::new());
        Pieces { kind, lane, len: len as usize, sequence, first, payload, used: 0 }
    }

    /// The most bytes of a payload.
    fn most(&self) -> usize {
        self.len - HEADER_LEN
    }

    /// Appends a wait, as [`Pieces::append`].
    #[inline]
    pub(super) fn append_wait(
        &mut self,
        record: &WaitRecord,
        first: (u32, u64),
        seal: bool,
        out: &mut impl Write,
    ) -> io::Result<u64> {
        let mut written = 0;
        loop {
            let place = self.payload.get_mut(self.used..);
            if let Some(place) = place.and_then(|rest| rest.first_chunk_mut()) {
                let end = self.used + record.encode(place);
                if end <= self.most() {
                    if self.used == 0 {
                        self.first = first;
                    }
                    self.used = end;
                    return Ok(written);
                }
                written = self.flush(seal, out)?;
            } else {
                self.payload.resize(self.most() + MAX_WAIT_LEN, 0);
            }
        }
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
        if self.used + record.len() > self.most() {
            written = self.flush(seal, out)?;
        }
        if self.used == 0 {
            self.first = first;
        }
        let end = self.used + record.len();
        // A record that is longer than a chunk is written as it is.
        self.payload.resize(self.payload.len().max(end).max(self.most() + MAX_WAIT_LEN), 0);
        if let Some(place) = self.payload.get_mut(self.used..end) {
            place.copy_from_slice(record);
        }
        self.used = end;
        Ok(written)
    }

    /// Writes the current chunk out, if there is one. Returns its length.
    pub(super) fn flush(&mut self, seal: bool, out: &mut impl Write) -> io::Result<u64> {
        self.flush_as(self.len, seal, out)
    }

    /// As [`Pieces::flush`], no longer than the chunk has to be.
    pub(super) fn flush_short(&mut self, seal: bool, out: &mut impl Write) -> io::Result<u64> {
        let needed = (HEADER_LEN + self.used).next_multiple_of(BLOCK);
        self.flush_as(needed.min(self.len), seal, out)
    }

    fn flush_as(&mut self, len: usize, seal: bool, out: &mut impl Write) -> io::Result<u64> {
        if self.used == 0 {
            return Ok(0);
        }
        let used = std::mem::take(&mut self.used);
        self.payload.resize(self.payload.len().max(self.most()), 0);
        let (payload, rest) = self.payload.split_at_mut(used);
        // What is changed in place is never sealed.
        let settled = matches!(self.kind, ChunkKind::Definitions | ChunkKind::Events);
        let seal = seal && settled;
        let header = ChunkHeader {
            kind: self.kind as u8,
            flags: if seal { SEALED } else { 0 },
            len: len as u32,
            committed: used as u32,
            sequence: self.sequence,
            lane: self.lane,
            thread: self.first.0,
            checksum: if seal { crc32fast::hash(payload) } else { 0 },
            first_ns: self.first.1,
        };
        out.write_all(&header.encode())?;
        rest.fill(0);
        let most = len - HEADER_LEN;
        out.write_all(self.payload.get(..most).unwrap_or_default())?;
        self.sequence += 1;
        Ok(len as u64)
    }
}

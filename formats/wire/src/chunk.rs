//! Chunks: the pieces that a log is carved into after its header block.

use crate::{header::BLOCK, le};

/// The first four bytes of every chunk.
pub const MAGIC: [u8; 4] = *b"TyCk";
/// Length of a chunk's header in bytes; its payload follows.
pub const HEADER_LEN: usize = 64;
/// The longest chunk, in bytes.
pub const MAX_LEN: usize = 1 << 20;
/// Flag: nothing more is written to the chunk and its checksum is valid.
pub const SEALED: u8 = 1;

/// Offsets of the fields that the agent changes while it records.
pub mod field {
    /// `u8`: [`SEALED`](super::SEALED) or 0.
    pub const FLAGS: usize = 5;
    /// `u32`: bytes of the payload that are complete.
    pub const COMMITTED: usize = 12;
    /// `u32`: CRC-32 (IEEE) of the committed payload, once sealed.
    pub const CHECKSUM: usize = 28;
}

crate::named_enum! {
    /// What a chunk holds.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[repr(u8)]
    pub enum ChunkKind {
        /// Definitions, see [`def`](crate::def).
        Definitions = 1 => "definitions",
        /// Waits of one lane, and what trace mode records one by one, see
        /// [`event`](crate::event).
        Events = 2 => "events",
        /// Fold cells of one lane, see [`cell`](crate::cell).
        Cells = 3 => "cells",
        /// What threads wait for now, see [`slot`](crate::slot).
        Slots = 4 => "slots",
        /// Counters of the lanes, see [`slot`](crate::slot).
        Counters = 5 => "counters",
        /// Acquisition cells of one lane, see [`trace`](crate::trace).
        Acquisitions = 6 => "acquisitions",
        /// The same with what bursts let estimate, see [`Bursts`](crate::trace::Bursts).
        AcquisitionsInBursts = 7 => "acquisitions in bursts",
    }
}

impl ChunkKind {
    /// The kind of this code, if there is one.
    pub fn from_code(code: u8) -> Option<ChunkKind> {
        Self::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }
}

/// A chunk's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkHeader {
    /// Code of the [`ChunkKind`]; readers skip the ones they do not know.
    pub kind: u8,
    /// [`SEALED`] or 0.
    pub flags: u8,
    /// Length of the whole chunk in bytes, a multiple of [`BLOCK`].
    pub len: u32,
    /// Bytes of the payload that are complete.
    pub committed: u32,
    /// Number of the chunk among those of its lane and kind, from 0.
    pub sequence: u32,
    /// The lane: one writer, an OS thread at a time.
    pub lane: u32,
    /// The thread whose waits the chunk begins with, by its id in the log.
    pub thread: u32,
    /// CRC-32 (IEEE) of the committed payload, valid once [`SEALED`].
    pub checksum: u32,
    /// Monotonic time from which the first record counts, in ns.
    pub first_ns: u64,
}

impl ChunkHeader {
    /// The header's bytes.
    pub fn encode(&self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        le::put(&mut bytes, 0, &MAGIC);
        bytes[4] = self.kind;
        bytes[field::FLAGS] = self.flags;
        le::put(&mut bytes, 8, &self.len.to_le_bytes());
        le::put(&mut bytes, field::COMMITTED, &self.committed.to_le_bytes());
        le::put(&mut bytes, 16, &self.sequence.to_le_bytes());
        le::put(&mut bytes, 20, &self.lane.to_le_bytes());
        le::put(&mut bytes, 24, &self.thread.to_le_bytes());
        le::put(&mut bytes, field::CHECKSUM, &self.checksum.to_le_bytes());
        le::put(&mut bytes, 32, &self.first_ns.to_le_bytes());
        bytes
    }

    /// Reads a header whose lengths are possible, or `None`.
    pub fn decode(bytes: &[u8]) -> Option<ChunkHeader> {
        if bytes.get(..4)? != MAGIC {
            return None;
        }
        let header = ChunkHeader {
            kind: *bytes.get(4)?,
            flags: *bytes.get(field::FLAGS)?,
            len: le::u32_at(bytes, 8)?,
            committed: le::u32_at(bytes, field::COMMITTED)?,
            sequence: le::u32_at(bytes, 16)?,
            lane: le::u32_at(bytes, 20)?,
            thread: le::u32_at(bytes, 24)?,
            checksum: le::u32_at(bytes, field::CHECKSUM)?,
            first_ns: le::u64_at(bytes, 32)?,
        };
        let len = header.len as usize;
        let possible = len.is_multiple_of(BLOCK)
            && (BLOCK..=MAX_LEN).contains(&len)
            && header.committed as usize <= len - HEADER_LEN;
        possible.then_some(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_round_trip() {
        for kind in ChunkKind::ALL {
            assert_eq!(ChunkKind::from_code(kind as u8), Some(kind));
        }
        assert_eq!(ChunkKind::from_code(0), None);
        assert_eq!(ChunkKind::from_code(8), None);
    }

    #[test]
    fn round_trips_and_rejects_impossible_lengths() {
        let header = ChunkHeader {
            kind: 2,
            flags: SEALED,
            len: 65536,
            committed: 65000,
            sequence: 9,
            lane: 3,
            thread: 17,
            checksum: 0xdead_beef,
            first_ns: 1 << 50,
        };
        assert_eq!(ChunkHeader::decode(&header.encode()), Some(header));
        for (len, committed) in [(0, 0), (4097, 0), (4096, 4096), (1 << 21, 0)] {
            let wrong = ChunkHeader { len, committed, ..header };
            assert_eq!(ChunkHeader::decode(&wrong.encode()), None);
        }
        assert_eq!(ChunkHeader::decode(&header.encode()[..40]), Some(header));
        assert_eq!(ChunkHeader::decode(&header.encode()[..39]), None);
    }
}

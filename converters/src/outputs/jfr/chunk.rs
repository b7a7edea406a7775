//! Puts a chunk together: a header, events, constants and metadata.

use super::{constants::Constants, metadata};
use std::io::{self, Write};
use tyrion_model::timeline::Axis;

/// What a chunk begins with.
const MAGIC: &[u8; 4] = b"FLR\0";
/// The version of the format, major and minor.
const VERSION: [u8; 4] = [0, 2, 0, 1];
/// How long the header is.
pub(super) const HEADER_LEN: usize = 68;
/// A tick is a ns.
const TICKS_PER_SECOND: u64 = 1_000_000_000;
/// The chunk is whole, and its numbers are compressed.
const FLAGS: [u8; 4] = [0, 0, 0, 1];
/// A chunk with so many bytes of events is full. The JDK's are about as large.
pub(super) const FULL: usize = 8 << 20;

/// A chunk that is being made.
pub(super) struct Chunk {
    /// The header's bytes, which are filled in later, and the events.
    pub(super) bytes: Vec<u8>,
    /// When it begins, in ns of the timeline's clock.
    start_ns: u64,
}

impl Chunk {
    pub(super) fn new(start_ns: u64) -> Chunk {
        Chunk { bytes: vec![0; HEADER_LEN], start_ns }
    }

    /// Whether it is to be written before another event.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() >= FULL
    }

    /// Writes it, and begins the next one, which is from `end_ns` on.
    pub(super) fn write(
        &mut self,
        axis: &Axis,
        constants: &mut Constants<'_>,
        end_ns: u64,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let bytes = &mut self.bytes;
        let constants_at = bytes.len() as u64;
        constants.write(bytes, self.start_ns);
        let metadata_at = bytes.len() as u64;
        metadata::write(bytes, self.start_ns);
        let since_start_ns = axis.since_start_ns(self.start_ns);
        let len = bytes.len() as u64;
        let header = [
            len,
            constants_at,
            metadata_at,
            axis.start_wall_ns().saturating_add(since_start_ns),
            end_ns.saturating_sub(self.start_ns),
            self.start_ns,
            TICKS_PER_SECOND,
        ];
        let header: Vec<u8> = MAGIC
            .iter()
            .chain(&VERSION)
            .copied()
            .chain(header.into_iter().flat_map(u64::to_be_bytes))
            .chain(FLAGS)
            .collect();
        for (place, byte) in bytes.iter_mut().zip(header) {
            *place = byte;
        }
        out.write_all(bytes)?;
        bytes.truncate(HEADER_LEN);
        self.start_ns = end_ns;
        Ok(())
    }
}

//! A chunk that is appended to, and how far it was read.

use crate::{
    bytes::Bytes,
    damage::{DamageList, Fault},
    event_log::scan,
    recording::ChunkRef,
};
use tyrion_wire::chunk::ChunkKind;

/// A chunk of definitions or events, and how far it was read.
#[derive(Debug)]
pub(super) struct ChunkStream {
    /// As it was at the last look.
    chunk: ChunkRef,
    /// Bytes of its payload that were read.
    read: u32,
    /// The thread and the time that what comes next counts from.
    thread: u32,
    now_ns: u64,
    looked: bool,
    /// Another chunk went on where this one had ended, before the last look.
    superseded: bool,
    /// What comes cannot be read.
    torn: bool,
}

/// Looks at the header of a chunk once more. One that has become unreadable
/// stays as it was.
pub(super) fn refresh(chunk: &mut ChunkRef, source: &Bytes) {
    let at = chunk.offset as usize;
    if let Some(header) = scan::header_at(source, at) {
        *chunk = ChunkRef::new(at, &header, source.len());
    }
}

impl ChunkStream {
    pub(super) fn new(chunk: ChunkRef) -> ChunkStream {
        let (thread, now_ns) = (chunk.thread, chunk.first_ns);
        let (looked, superseded, torn) = Default::default();
        ChunkStream { chunk, read: 0, thread, now_ns, looked, superseded, torn }
    }

    pub(super) fn chunk(&self) -> &ChunkRef {
        &self.chunk
    }

    pub(super) fn thread(&self) -> u32 {
        self.thread
    }

    pub(super) fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Looks how far it was written. That it is `superseded` has to be known before: what
    /// was written between this and that would be missed.
    pub(super) fn look(&mut self, source: &Bytes, superseded: bool) {
        refresh(&mut self.chunk, source);
        (self.looked, self.superseded) = (true, superseded);
    }

    pub(super) fn has_read(&self) -> bool {
        self.read != 0
    }

    /// What was written up to the last look and not read yet, as a chunk of its
    /// own; `None` when there is nothing.
    pub(super) fn rest<'a>(
        &mut self,
        source: &'a Bytes,
        kind: ChunkKind,
        damage: &mut DamageList,
    ) -> Option<(ChunkRef, &'a [u8])> {
        let chunk = &self.chunk;
        if self.torn || !self.looked || chunk.committed <= self.read {
            return None;
        }
        let rest = ChunkRef {
            offset: chunk.offset + u64::from(self.read),
            committed: chunk.committed - self.read,
            thread: self.thread,
            first_ns: self.now_ns,
            ..*chunk
        };
        let payload = source.settled(rest.payload_at() as usize, rest.committed as usize)?;
        // The checksum is that of all the payload; of what was read before
        // there was one it can tell nothing any more.
        let is_checked = chunk.sealed && chunk.whole && self.read == 0;
        if is_checked && crc32fast::hash(payload) != chunk.checksum {
            damage.add(
                chunk.offset,
                Fault::Checksum { kind: kind.name() },
                u64::from(chunk.committed),
            );
            self.torn = true;
            return None;
        }
        Some((rest, payload))
    }

    /// Says up to where, in bytes from the file's start, it was read.
    pub(super) fn advance(&mut self, offset: u64, thread: u32, now_ns: u64) {
        self.read = offset.saturating_sub(self.chunk.payload_at()) as u32;
        (self.thread, self.now_ns) = (thread, now_ns);
        // What ends in the middle of a record is damaged, unless the file was
        // cut there, or is still being copied.
        self.torn = self.read < self.chunk.committed && self.chunk.whole;
    }

    /// Whether nothing more will come. A chunk that is sealed or superseded is
    /// not appended to.
    pub(super) fn is_done(&self) -> bool {
        let ended = (self.chunk.sealed || self.superseded) && self.chunk.whole;
        self.torn || self.looked && ended && self.read >= self.chunk.committed
    }
}

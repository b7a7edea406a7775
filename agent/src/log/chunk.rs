//! A chunk of the mapped log, while it is written.

use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Relaxed, Release},
};
use tyrion_wire::chunk::{self, HEADER_LEN, SEALED};

/// A writer's first chunk is this long, every further one twice as long as the
/// one before, up to [`LONGEST_CHUNK`]: a thousand threads with one wait each
/// shall not take 64 MB.
pub const FIRST_CHUNK: usize = 4096;
/// The longest chunk, but for one with a text that needs more.
pub const LONGEST_CHUNK: usize = 65536;

/// A chunk that was carved for one writer.
pub struct Chunk {
    base: *mut u8,
    len: usize,
    offset: u64,
    /// Bytes of the payload that were handed out or appended.
    used: usize,
}

// SAFETY: the mapped bytes belong to the chunk's owner alone, whichever thread
// that is; readers in other processes only look at what was released.
unsafe impl Send for Chunk {}

impl Chunk {
    /// A chunk over mapped memory.
    ///
    /// # Safety
    /// `len` bytes at `base` are mapped, writable, aligned to a page, hold a
    /// chunk header, and belong to this chunk alone until it is dropped.
    pub unsafe fn new(base: *mut u8, len: usize, offset: u64) -> Chunk {
        Chunk { base, len, offset, used: 0 }
    }

    /// Where in the file the chunk stands, and its length, in bytes.
    pub fn extent(&self) -> (u64, u64) {
        (self.offset, self.len as u64)
    }

    /// Bytes of the payload that are still free.
    pub fn free(&self) -> usize {
        self.len - HEADER_LEN - self.used
    }

    /// Appends a record and publishes it; `false` when there is no room.
    #[inline]
    pub fn append(&mut self, record: &[u8]) -> bool {
        if record.len() > self.free() {
            return false;
        }
        // SAFETY: the record fits between the used bytes and the chunk's end,
        // which are mapped and ours.
        unsafe {
            let at = self.base.add(HEADER_LEN + self.used);
            std::ptr::copy_nonoverlapping(record.as_ptr(), at, record.len());
        }
        self.used += record.len();
        self.u32_at(chunk::field::COMMITTED).store(self.used as u32, Release);
        true
    }

    /// Appends `initial` and hands out its place, to be changed there; `None`
    /// when there is no room. Places of a multiple of eight bytes are aligned
    /// to eight.
    pub fn append_in_place(&mut self, initial: &[u8]) -> Option<MappedCell> {
        let at = HEADER_LEN + self.used;
        self.append(initial).then(|| MappedCell { base: self.base.wrapping_add(at) })
    }

    /// Says that nothing more is written. A helper does this later, since the
    /// checksum takes time.
    pub fn seal(&self) {
        // SAFETY: the payload up to `used` is mapped and nobody writes to it.
        let payload = unsafe { std::slice::from_raw_parts(self.base.add(HEADER_LEN), self.used) };
        self.u32_at(chunk::field::CHECKSUM).store(crc32fast::hash(payload), Relaxed);
        // SAFETY: the flags' byte is mapped, and within the header.
        let flags =
            unsafe { std::sync::atomic::AtomicU8::from_ptr(self.base.add(chunk::field::FLAGS)) };
        flags.store(SEALED, Release);
    }

    fn u32_at(&self, at: usize) -> &AtomicU32 {
        // SAFETY: a field of the header: mapped, and aligned since the chunk is.
        unsafe { AtomicU32::from_ptr(self.base.add(at).cast()) }
    }
}

/// A few bytes in the log that are changed in place.
#[derive(Clone, Copy)]
pub struct MappedCell {
    base: *mut u8,
}

// SAFETY: the bytes are only reached through atomics.
unsafe impl Send for MappedCell {}
// SAFETY: as above.
unsafe impl Sync for MappedCell {}

impl MappedCell {
    /// A place over mapped memory.
    ///
    /// # Safety
    /// The bytes that will be asked for are mapped, writable and aligned, for
    /// as long as the place is used.
    pub unsafe fn new(base: *mut u8) -> MappedCell {
        MappedCell { base }
    }

    /// Where the bytes are, for who reaches them by address: see
    /// [`Region::keep`](super::region::Region::keep).
    pub fn address(&self) -> u64 {
        self.base as u64
    }

    /// The `u32` at an offset that is a multiple of four.
    #[inline]
    pub fn u32_at(&self, at: usize) -> &AtomicU32 {
        debug_assert!(at.is_multiple_of(4));
        // SAFETY: `new` and `append_in_place` promise mapped, aligned bytes;
        // whoever has a place of a file keeps the file with it.
        unsafe { AtomicU32::from_ptr(self.base.add(at).cast()) }
    }

    /// The `u64` at an offset that is a multiple of eight.
    #[inline]
    pub fn u64_at(&self, at: usize) -> &AtomicU64 {
        debug_assert!(at.is_multiple_of(8));
        // SAFETY: as for `u32_at`.
        unsafe { AtomicU64::from_ptr(self.base.add(at).cast()) }
    }
}

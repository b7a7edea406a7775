//! A chunk of the mapped log, while it is written.

use super::region::{
    Region,
    kept::{self, Shared},
};
use std::sync::{
    Arc,
    atomic::{
        AtomicU8, AtomicU32, AtomicU64,
        Ordering::{Relaxed, Release},
    },
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
    /// What the bytes are mapped in.
    region: Arc<Region>,
    base: *mut u8,
    len: usize,
    offset: u64,
    /// Bytes of the payload that were handed out or appended.
    used: usize,
    /// Whether some of it is changed in place, by whoever has a cell.
    has_cells: bool,
}

// SAFETY: the mapped bytes belong to the chunk's owner alone, whichever thread
// that is; readers in other processes only look at what was released.
unsafe impl Send for Chunk {}

impl Chunk {
    /// A chunk over mapped memory.
    ///
    /// # Safety
    /// `len` bytes at this offset of the region are mapped, writable, aligned to
    /// a page, hold a chunk header, and belong to this chunk alone. They stay
    /// mapped as long as the region is there, unless the chunk is given back
    /// to its file and has no cells.
    pub unsafe fn new(region: Arc<Region>, len: usize, offset: u64) -> Chunk {
        let base = region.at(offset);
        Chunk { region, base, len, offset, used: 0, has_cells: false }
    }

    /// Whether parts of the chunk were handed out, and may still be changed.
    pub fn has_cells(&self) -> bool {
        self.has_cells
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

    /// Appends `initial` and hands it out, to be changed in place; `None` when
    /// there is no room. Cells of a multiple of eight bytes are aligned to
    /// eight.
    pub fn append_cell(&mut self, initial: &[u8]) -> Option<MappedCell> {
        let offset = self.offset + (HEADER_LEN + self.used) as u64;
        if !self.append(initial) {
            return None;
        }
        self.has_cells = true;
        // SAFETY: these bytes of the chunk are nobody else's, and stay mapped.
        Some(unsafe { MappedCell::new(Arc::clone(&self.region), offset, initial.len()) })
    }

    /// Appends `initial`, which Java code shall change by its address; `None`
    /// when there is no room, or the chunk is not one that is kept for Java.
    pub fn append_kept<T: Shared>(&mut self, initial: &[u8]) -> Option<&'static T> {
        let address = self.base.addr() + HEADER_LEN + self.used;
        if initial.len() != size_of::<T>() || !self.append(initial) {
            return None;
        }
        self.has_cells = true;
        kept::at(address as u64)
    }

    /// Says that nothing more is written. A helper does this later, since the
    /// checksum takes time.
    pub fn seal(&self) {
        // SAFETY: the payload up to `used` is mapped and nobody writes to it.
        let payload = unsafe { std::slice::from_raw_parts(self.base.add(HEADER_LEN), self.used) };
        self.u32_at(chunk::field::CHECKSUM).store(crc32fast::hash(payload), Relaxed);
        // SAFETY: the flags' byte is mapped, and within the header.
        let flags = unsafe { AtomicU8::from_ptr(self.base.add(chunk::field::FLAGS)) };
        flags.store(SEALED, Release);
    }

    fn u32_at(&self, at: usize) -> &AtomicU32 {
        // SAFETY: a field of the header: mapped, and aligned since the chunk is.
        unsafe { AtomicU32::from_ptr(self.base.add(at).cast()) }
    }
}

/// A few bytes in the log that are changed in place. They stay mapped as long
/// as somebody has them.
#[derive(Clone)]
pub struct MappedCell {
    base: *mut u8,
    len: usize,
    /// What they are mapped in.
    _region: Arc<Region>,
}

// SAFETY: the bytes are only reached through atomics.
unsafe impl Send for MappedCell {}
// SAFETY: as above.
unsafe impl Sync for MappedCell {}

impl MappedCell {
    /// `len` bytes at an offset of the region.
    ///
    /// # Safety
    /// They are writable and stay mapped as long as the region is there, and
    /// from now on they are reached through cells only.
    pub unsafe fn new(region: Arc<Region>, offset: u64, len: usize) -> MappedCell {
        MappedCell { base: region.at(offset), len, _region: region }
    }

    /// The `u32` at an offset that is a multiple of four from an aligned
    /// address; panics when it is none of the cell's.
    #[inline]
    pub fn u32_at(&self, at: usize) -> &AtomicU32 {
        // SAFETY: four bytes of the cell, aligned, of which any are a number;
        // the cell keeps them mapped.
        unsafe { AtomicU32::from_ptr(self.checked(at, 4).cast()) }
    }

    /// The `u64` at an offset that is a multiple of eight; as above.
    #[inline]
    pub fn u64_at(&self, at: usize) -> &AtomicU64 {
        // SAFETY: eight bytes of the cell, as above.
        unsafe { AtomicU64::from_ptr(self.checked(at, 8).cast()) }
    }

    #[inline]
    fn checked(&self, at: usize, len: usize) -> *mut u8 {
        let field = self.base.wrapping_add(at);
        assert!(at < self.len && len <= self.len - at && field.addr().is_multiple_of(len));
        field
    }
}

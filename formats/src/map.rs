//! A file mapped into memory, which its writer may still change.
//!
//! # Contract
//! The agent only ever *appends*: bytes within the committed length of an
//! events or definitions chunk, and the header's metadata, never change again.
//! They are lent as slices ([`Map::settled`]). Everything else (headers,
//! cells, slots, counters) may change at any time and is copied out word by
//! word with atomic loads ([`Map::word`]), so a value is read once and decided
//! on once. All lengths and offsets are checked against the mapped length.
//!
//! Two things are beyond a reader's power, as for every program that maps
//! files: a process that overwrites committed bytes breaks the promise (the
//! decoded values are then arbitrary, but they are checked like all others,
//! and no pointer or length of ours depends on them), and a file that is
//! *truncated* while it is mapped ends the reading process with a SIGBUS. The
//! agent does neither: it cuts a log only behind its used length, once, when
//! the JVM ends, and replaces an old log by a new file.

use crate::file;
use memmap2::{MmapOptions, MmapRaw};
use std::{
    collections::VecDeque,
    fs::File,
    io,
    sync::{
        Mutex, PoisonError,
        atomic::{
            AtomicU64,
            Ordering::{Acquire, Relaxed},
            fence,
        },
    },
};

/// How much may be searched of a file that takes no room on the disk, in bytes.
const MIN_SEARCHED: u64 = 64 << 20;
/// So much of a file is in memory at a time, in regions.
const MOST_PRESENT: usize = 64;
/// What is near a page that is read comes with it, in bytes: what the kernel keeps of the file
/// in one piece, since Linux 6.18 up to a huge page, before that 64 KiB (`fault_around_bytes`).
const REGION: usize = 2 << 20;
/// How much longer a file may be than the room that it takes: file systems
/// compress. A file of holes alone can have any length.
const COMPRESSION: u64 = 16;

/// A file mapped into memory.
#[derive(Debug)]
pub(crate) struct Map {
    raw: MmapRaw,
    /// How many bytes may still be searched for what is lost.
    searchable: AtomicU64,
    /// The regions that were read last, by their numbers, in the order of reading.
    present: Mutex<VecDeque<usize>>,
}

impl Map {
    /// Maps the first `len` bytes of a file, at least one.
    pub(crate) fn new(file: &File, len: usize) -> io::Result<Map> {
        let on_disk = file::on_disk(file)?.saturating_mul(COMPRESSION);
        Ok(Map {
            raw: MmapOptions::new().len(len).map_raw_read_only(file)?,
            searchable: on_disk.max(MIN_SEARCHED).into(),
            present: Mutex::default(),
        })
    }

    /// Whether some more bytes may be searched. A search through a hole of
    /// terabytes would take hours and find nothing.
    pub(crate) fn may_search(&self, bytes: u64) -> bool {
        self.searchable.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }

    /// The mapped length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.raw.len()
    }

    /// The eight bytes at an offset that is a multiple of eight, as they are
    /// at this moment. What is read later is at least as new.
    pub(crate) fn word(&self, at: usize) -> Option<[u8; 8]> {
        if !at.is_multiple_of(8) || at.checked_add(8)? > self.raw.len() {
            return None;
        }
        // SAFETY: the eight bytes are within the map, which lives as long as
        // the reference, and aligned: the map begins at a page and `at` is a
        // multiple of eight. Relaxed atomic loads of eight bytes are allowed
        // on memory that is mapped for reading only.
        let word = unsafe { &*self.raw.as_ptr().add(at).cast::<AtomicU64>() };
        let value = word.load(Relaxed);
        fence(Acquire);
        Some(value.to_ne_bytes())
    }

    /// Bytes that no longer change, see the module's contract; `None` when
    /// they are not all mapped.
    pub(crate) fn settled(&self, at: usize, len: usize) -> Option<&[u8]> {
        if at.checked_add(len)? > self.raw.len() {
            return None;
        }
        // SAFETY: the range is within the map, which lives as long as the
        // slice, and its writer does not change it any more (the contract
        // above).
        Some(unsafe { std::slice::from_raw_parts(self.raw.as_ptr().add(at), len) })
    }

    /// Notes that a range is read now. What was read long before is given back: it is in
    /// the kernel's cache as long as there is room, and no longer in our memory.
    pub(crate) fn read_now(&self, at: usize, len: usize) {
        let mut present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        let end = at.saturating_add(len).min(self.raw.len());
        for region in at / REGION..end.div_ceil(REGION) {
            if present.back() != Some(&region) {
                present.push_back(region);
            }
        }
        while present.len() > MOST_PRESENT
            && let Some(region) = present.pop_front()
        {
            let from = region * REGION;
            self.give_back(from, REGION.min(self.raw.len().saturating_sub(from)));
        }
    }

    fn give_back(&self, at: usize, len: usize) {
        #[cfg(target_os = "linux")]
        {
            let dropped = memmap2::UncheckedAdvice::DontNeed;
            // SAFETY: the map is a shared one of a file: a page that is dropped is read from
            // there again when it is needed, so that what was lent stays as it is.
            let _ = unsafe { self.raw.unchecked_advise_range(dropped, at, len) };
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (at, len);
    }

    /// Asks for a range to be present in memory, before it is read.
    pub(crate) fn populate(&self, at: usize, len: usize) {
        // A hint: without it the pages come one by one.
        #[cfg(target_os = "linux")]
        let _ = self.raw.advise_range(memmap2::Advice::PopulateRead, at, len);
        #[cfg(not(target_os = "linux"))]
        let _ = (at, len);
    }
}

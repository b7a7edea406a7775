//! The address range that the log is mapped into.
//!
//! A range as long as a file may grow is reserved at once, and pieces of the file
//! are mapped into it at the place that their file offset says. So an address
//! and an offset differ by a constant, chunks may cross pieces, and one
//! comparison tells whether a SIGBUS is ours: storing into a mapped file that
//! somebody truncated, or that lies on a disk which broke, raises one, and
//! without a guard it would end the JVM.
//!
//! Each file of a log that rotates has a range of its own, given back when
//! nothing of the file is in use any more. Where Java code had addresses in it,
//! it is not given back but becomes memory of our own, and is used again for a
//! later file: a log that rotates for months must not use up the mappings that
//! the kernel allows a process (65 530), nor its addresses.

pub mod kept;
mod room;
mod signal;

use crate::sync::lock;
use std::{
    fs::File,
    io,
    ops::Range,
    os::fd::AsRawFd,
    sync::{
        Mutex, OnceLock,
        atomic::{
            AtomicBool, AtomicUsize,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    time::{Duration, Instant},
};

/// How long a file may grow at most, in bytes. Address space costs nothing, where it
/// is not limited.
pub const MAX_LEN: usize = 256 << 30;

/// No kernel has smaller pages.
const SMALLEST_PAGE: usize = 4096;

/// Not before this is a range used again that Java code had addresses in. A
/// store that was on its way when the last of them was forgotten is done by
/// then, unless its thread was stopped all the time; it would damage a record.
const REST: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 60 });

/// The addresses that Java code still has, as far as they are written down
/// anywhere.
pub type InUse = fn() -> Vec<usize>;
static IN_USE: OnceLock<InUse> = OnceLock::new();
/// Ranges of files that have ended, the oldest first.
static RESTING: Mutex<Vec<Resting>> = Mutex::new(Vec::new());

struct Resting {
    range: Range<usize>,
    kept: Kept,
    /// Since when nobody was seen to have an address in it.
    unused_since: Option<Instant>,
}

/// Has this asked before a range is used again. To be called once.
pub fn ask_before_reuse(in_use: InUse) {
    let _ = IN_USE.set(in_use);
}

/// The reserved range, guarded against SIGBUS. When dropped it is given back, or
/// rests where Java code had addresses in it.
pub struct Region {
    base: usize,
    len: usize,
    /// Its place among the guarded ones.
    guard: usize,
    /// What stays usable: from and to, as offsets.
    kept: Mutex<Option<Kept>>,
}

/// What [`Region::keep`] has said of a range: from and to, as offsets.
type Kept = (u64, u64);

impl Region {
    /// Reserves a range of this length, and catches a SIGBUS in it from now on. Where
    /// addresses are scarce, the range is shorter.
    ///
    /// # Errors
    /// When the address space is so limited (`ulimit -v`) that not even a short range
    /// fits, or as `sigaction(2)`.
    pub fn reserve(len: usize) -> io::Result<Region> {
        room::first_that_fits(len, Region::reserve_all)
    }

    fn reserve_all(len: usize) -> io::Result<Region> {
        let (base, kept) = match rested(len) {
            Some(resting) => (resting.range.start, Some(resting.kept)),
            None => {
                let new = map(std::ptr::null_mut(), len, libc::PROT_NONE, NOTHING, -1, 0)?;
                (new.expose_provenance(), None)
            }
        };
        match guard(base, len) {
            Ok(guard) => {
                if let Some((from, to)) = kept {
                    kept::set(guard, base + from as usize, base + to as usize);
                }
                Ok(Region { base, len, guard, kept: Mutex::new(kept) })
            }
            Err(error) => {
                match kept {
                    Some(kept) => rest(base..base + len, kept),
                    None => give_back(base, base + len),
                }
                Err(error)
            }
        }
    }

    /// How long the range is: so long can the file become.
    pub fn length(&self) -> usize {
        self.len
    }

    /// The address that stands for a file offset.
    pub fn at(&self, offset: u64) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.base + offset as usize)
    }

    /// Maps a piece of the file and writes to each of its pages, so that the
    /// first store of an application's thread finds them ready (MAP_POPULATE
    /// would only have them ready for reading). The piece must exist in the
    /// file, be empty, and not be in use.
    ///
    /// # Errors
    /// As `mmap(2)`: some file systems cannot have a file in memory that is written to.
    pub fn map_file(&self, file: &File, offset: u64, len: u64) -> io::Result<()> {
        let flags = libc::MAP_SHARED | libc::MAP_FIXED;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let address = self.at(offset).cast();
        map(address, len as usize, access, flags, file.as_raw_fd(), offset)
            .map_err(|error| io::Error::other(format!("cannot be mapped into memory: {error}")))?;
        for page in (offset..offset + len).step_by(SMALLEST_PAGE) {
            // SAFETY: the page was just mapped, and nobody knows it yet.
            unsafe { self.at(page).write_volatile(0) };
        }
        Ok(())
    }

    /// Whether a store into the range has faulted: the file is not what it was.
    pub fn faulted(&self) -> bool {
        FAULTED[self.guard].load(Relaxed)
    }

    /// Has a piece stay usable: when nothing of the file is in use any more,
    /// memory of our own takes the piece's place. Whoever may still store into
    /// it then does no harm, and what is stored is lost. The piece must be
    /// mapped, and lie behind all that was unmapped so far.
    pub fn keep(&self, offset: u64, len: u64) {
        // One span of all of them: the kernel has room for a limited number of
        // mappings, and pages that nobody touches cost nothing.
        let mut kept = lock(&self.kept);
        let (from, to) = kept.unwrap_or((offset, offset));
        let (from, to) = (from.min(offset), to.max(offset + len));
        *kept = Some((from, to));
        kept::set(self.guard, self.base + from as usize, self.base + to as usize);
    }

    /// Whether an address is within the range.
    pub fn contains(&self, address: u64) -> bool {
        (address as usize).wrapping_sub(self.base) < self.len
    }

    /// Whether a piece is to stay usable.
    pub fn keeps_any(&self) -> bool {
        lock(&self.kept).is_some()
    }

    /// Gives a mapped piece back that nothing points to any more. If Java code
    /// has addresses in the range, memory of our own takes its place: the piece
    /// may lie among those that were kept, or be one that an earlier file kept.
    pub fn unmap(&self, offset: u64, len: u64) {
        let flags = NOTHING | libc::MAP_FIXED;
        let access = if self.keeps_any() { USABLE } else { libc::PROT_NONE };
        // Failing costs address space, nothing else.
        let _ = map(self.at(offset).cast(), len as usize, access, flags, -1, 0);
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        let (start, end) = (self.base, self.base + self.len);
        let Some(kept) = *lock(&self.kept) else {
            // First: others may soon have the addresses, and their SIGBUS is not ours.
            GUARDED[self.guard].store(0, Release);
            return give_back(start, end);
        };
        for (from, to, access) in pieces(start..end, kept, PAGE.load(Relaxed)) {
            if from < to {
                let flags = NOTHING | libc::MAP_FIXED;
                // Failing keeps the file's pages, nothing else.
                let _ = map(from as *mut libc::c_void, to - from, access, flags, -1, 0);
            }
        }
        rest(start..end, kept);
        kept::clear(self.guard);
        GUARDED[self.guard].store(0, Release);
    }
}

/// What becomes of a range in which Java code had addresses: of which pages nothing may
/// be used any more, and which stay usable.
fn pieces(range: Range<usize>, (from, to): Kept, page: usize) -> [(usize, usize, i32); 3] {
    let Range { start, end } = range;
    let from = (start + from as usize) / page * page;
    let to = (start + to as usize).next_multiple_of(page).min(end);
    [(start, from, libc::PROT_NONE), (from, to, USABLE), (to, end, libc::PROT_NONE)]
}

fn rest(range: Range<usize>, kept: Kept) {
    lock(&RESTING).push(Resting { range, kept, unused_since: None });
}

/// Whether addresses lie in the kept piece of a range that rests.
pub(super) fn rests(address: usize, len: usize) -> bool {
    let is_in = |one: &Resting| {
        let (from, to) = one.kept;
        let (from, to) = (one.range.start + from as usize, one.range.start + to as usize);
        address >= from && len <= to.saturating_sub(address)
    };
    lock(&RESTING).iter().any(is_in)
}

/// A range that can be used again. What Java code had in it stays usable until
/// a file is mapped there.
fn rested(len: usize) -> Option<Resting> {
    if lock(&RESTING).is_empty() {
        return None;
    }
    let mut in_use = IN_USE.get().map_or_else(Vec::new, |in_use| in_use());
    in_use.sort_unstable();
    let is_in_use = |range: &Range<usize>| {
        let first = in_use.partition_point(|&address| address < range.start);
        in_use.get(first).is_some_and(|&address| address < range.end)
    };
    let now = Instant::now();
    let mut resting = lock(&RESTING);
    for one in resting.iter_mut() {
        // Once more unused, and then for so long: an address may have been seen
        // neither where it was nor where it went.
        let unused = (!is_in_use(&one.range)).then_some(now);
        one.unused_since = unused.map(|now| one.unused_since.unwrap_or(now));
    }
    let can_be = |one: &Resting| {
        let has_rested = one.unused_since.is_some_and(|since| now - since >= REST);
        one.range.len() == len && has_rested
    };
    let nth = resting.iter().position(can_be)?;
    Some(resting.remove(nth))
}

/// Gives reserved addresses back to the kernel.
fn give_back(from: usize, to: usize) {
    if from < to {
        // SAFETY: the addresses lie in a range that `reserve` got, and its
        // owner vouches that nothing points into them any more.
        unsafe { libc::munmap(from as *mut libc::c_void, to - from) };
    }
}

const USABLE: i32 = libc::PROT_READ | libc::PROT_WRITE;
const NOTHING: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

fn map(
    address: *mut libc::c_void,
    len: usize,
    access: i32,
    flags: i32,
    fd: i32,
    offset: u64,
) -> io::Result<*mut libc::c_void> {
    // SAFETY: either the kernel chooses the address, or (MAP_FIXED) it lies in
    // the range that `reserve` got, where only this module maps anything, and
    // the callers vouch that the piece is not in use.
    let mapped = unsafe { libc::mmap(address, len, access, flags, fd, offset as i64) };
    if mapped == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(mapped) }
}

/// The number of ranges that can be guarded: an agent has two or three, tests more.
pub(super) const GUARDS: usize = 64;
/// Bases of the guarded ranges, 0 for none.
static GUARDED: [AtomicUsize; GUARDS] = [const { AtomicUsize::new(0) }; GUARDS];
/// How long they are.
static LENGTHS: [AtomicUsize; GUARDS] = [const { AtomicUsize::new(0) }; GUARDS];
/// Which of them have had a fault.
static FAULTED: [AtomicBool; GUARDS] = [const { AtomicBool::new(false) }; GUARDS];
/// The kernel's page size; up to 64 KiB on aarch64.
static PAGE: AtomicUsize = AtomicUsize::new(SMALLEST_PAGE);
/// Held while a range is about to be guarded.
static GUARDING: Mutex<()> = Mutex::new(());

/// Catches a SIGBUS in a range from now on; all others go to the handler that
/// was there before (HotSpot has one of its own).
fn guard(base: usize, len: usize) -> io::Result<usize> {
    // SAFETY: asks a number of the kernel.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    if page > 0 {
        PAGE.store(page as usize, Relaxed);
    }
    let _one_at_a_time = lock(&GUARDING);
    signal::catch(on_sigbus)?;
    let free = GUARDED.iter().position(|slot| slot.load(Relaxed) == 0);
    let free = free.ok_or_else(|| io::Error::other("too many logs"))?;
    FAULTED[free].store(false, Relaxed);
    LENGTHS[free].store(len, Relaxed);
    GUARDED[free].store(base, Release);
    Ok(free)
}

extern "C" fn on_sigbus(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel hands a handler with SA_SIGINFO a valid siginfo, and
    // SIGBUS fills in the address; if a process has sent it, other numbers are there.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    let ours = |guard: &usize| {
        let base = GUARDED[*guard].load(Acquire);
        base != 0 && address.wrapping_sub(base) < LENGTHS[*guard].load(Relaxed)
    };
    if let Some(guard) = (0..GUARDS).find(ours).filter(|_| !signal::is_sent(code)) {
        FAULTED[guard].store(true, Relaxed);
        let len = PAGE.load(Relaxed);
        let page = address & !(len - 1);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // The store goes on into memory of our own, and is lost. `mmap` is a
        // plain system call: safe here.
        if map(page as *mut libc::c_void, len, access, flags, -1, 0).is_ok() {
            return;
        }
    }
    signal::pass_on(signal, info, context);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No other test has ranges of this length.
    const LEN: usize = 37 << 20;

    #[test]
    fn a_range_that_java_knew_rests_stays_usable_and_is_used_again() {
        let first = Region::reserve(LEN).unwrap();
        let base = first.at(0) as usize;
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        first.map_file(&file, 0, 1 << 20).unwrap();
        first.keep(8192, 4096);
        drop(first);

        // From this look on it is known to be unused.
        let second = Region::reserve(LEN).unwrap();
        assert_ne!(second.at(0) as usize, base, "too early");
        // SAFETY: the page was kept: it is memory of our own now.
        unsafe { ((base + 8192) as *mut u64).write_volatile(7) };

        std::thread::sleep(REST);
        let third = Region::reserve(LEN).unwrap();
        assert_eq!(third.at(0) as usize, base);
        third.map_file(&file, 0, 1 << 20).unwrap();
        // SAFETY: the page is mapped, and zero: map_file writes to its first byte only.
        assert_eq!(unsafe { ((base + 8192) as *mut u64).read_volatile() }, 0);
        assert_ne!(second.at(0), third.at(0));
        // What was kept once stays so, though this file's cells were elsewhere.
        assert!(third.keeps_any());
        drop(third);
        // SAFETY: as above.
        unsafe { ((base + 8192) as *mut u64).write_volatile(7) };
    }

    /// Of which some kernels have large ones; the log's blocks are as they always are.
    #[test]
    fn whole_pages_stay_usable() {
        let (start, end) = (7 << 30, (7 << 30) + LEN);
        for (page, from, to) in [(4096, 8192, 12288), (16384, 0, 16384), (65536, 0, 65536)] {
            let [before, usable, after] = pieces(start..end, (8192, 12288), page);
            assert_eq!(usable, (start + from, start + to, USABLE), "{page}");
            assert_eq!((before.0, before.1), (start, start + from), "{page}");
            assert_eq!((after.0, after.1), (start + to, end), "{page}");
        }
        // Up to the end, which may lie in the middle of a page.
        let [_, usable, after] = pieces(start..end - 4096, (0, LEN as u64 - 4096), 65536);
        assert_eq!((usable.1, after.0), (end - 4096, end - 4096));
    }

    #[test]
    fn a_range_that_java_never_knew_is_given_back() {
        let resting = || lock(&RESTING).iter().filter(|r| r.range.len() == LEN + 4096).count();
        drop(Region::reserve(LEN + 4096).unwrap());
        assert_eq!(resting(), 0);
    }
}

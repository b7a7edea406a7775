//! The address range that the log is mapped into.
//!
//! A range as long as a log may grow is reserved once, and pieces of the file
//! are mapped into it at the place that their file offset says. So an address
//! and an offset differ by a constant, chunks may cross pieces, and one
//! comparison tells whether a SIGBUS is ours: storing into a mapped file that
//! somebody truncated, or that lies on a disk which broke, raises one, and
//! without [`guard`] it would end the JVM.

use crate::sync::lock;
use std::{
    fs::File,
    io,
    os::fd::AsRawFd,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
};

/// How long a log may grow, in bytes. Address space costs nothing.
pub const LEN: usize = 256 << 30;

/// No kernel has smaller pages.
const SMALLEST_PAGE: usize = 4096;

/// The reserved range.
#[derive(Clone, Copy)]
pub struct Region {
    base: usize,
}

impl Region {
    /// Reserves the range.
    ///
    /// # Errors
    /// When the address space is limited (`ulimit -v`).
    pub fn reserve() -> io::Result<Region> {
        let base = map(std::ptr::null_mut(), LEN, libc::PROT_NONE, NOTHING, -1, 0)?;
        Ok(Region { base: base as usize })
    }

    /// The address that stands for a file offset.
    pub fn at(&self, offset: u64) -> *mut u8 {
        (self.base + offset as usize) as *mut u8
    }

    /// Maps a piece of the file and writes to each of its pages, so that the
    /// first store of an application's thread finds them ready (MAP_POPULATE
    /// would only have them ready for reading). The piece must exist in the
    /// file, be empty, and not be in use.
    ///
    /// # Errors
    /// As `mmap(2)`.
    pub fn map_file(&self, file: &File, offset: u64, len: u64) -> io::Result<()> {
        let flags = libc::MAP_SHARED | libc::MAP_FIXED;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let address = self.at(offset).cast();
        map(address, len as usize, access, flags, file.as_raw_fd(), offset)?;
        for page in (offset..offset + len).step_by(SMALLEST_PAGE) {
            // SAFETY: the page was just mapped, and nobody knows it yet.
            unsafe { self.at(page).write_volatile(0) };
        }
        Ok(())
    }

    /// Gives a mapped piece back that nothing points to any more.
    pub fn unmap(&self, offset: u64, len: u64) {
        let flags = NOTHING | libc::MAP_FIXED;
        // Failing costs address space, nothing else.
        let _ = map(self.at(offset).cast(), len as usize, libc::PROT_NONE, flags, -1, 0);
    }
}

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

/// Bases of the guarded ranges. An agent has one; tests have several.
static GUARDED: [AtomicUsize; 16] = [const { AtomicUsize::new(0) }; 16];
static INSTALLED: Mutex<bool> = Mutex::new(false);
/// The kernel's page size; up to 64 KiB on aarch64.
static PAGE: AtomicUsize = AtomicUsize::new(SMALLEST_PAGE);
static FAULTED: AtomicBool = AtomicBool::new(false);
static PREVIOUS_HANDLER: AtomicUsize = AtomicUsize::new(0);
static PREVIOUS_FLAGS: AtomicUsize = AtomicUsize::new(0);

/// Whether a store into the region has faulted: the file is not what it was.
pub fn faulted() -> bool {
    FAULTED.load(Relaxed)
}

/// Catches a SIGBUS in the region from now on; all others go to the handler
/// that was there before (HotSpot has one of its own).
///
/// # Errors
/// As `sigaction(2)`.
pub fn guard(region: Region) -> io::Result<()> {
    // SAFETY: asks a number of the kernel.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    if page > 0 {
        PAGE.store(page as usize, Relaxed);
    }
    let mut installed = lock(&INSTALLED);
    let free =
        |slot: &&AtomicUsize| slot.compare_exchange(0, region.base, Relaxed, Relaxed).is_ok();
    GUARDED.iter().find(free).ok_or_else(|| io::Error::other("too many logs"))?;
    if *installed {
        return Ok(());
    }
    // SAFETY: all-zero is a valid `sigaction`.
    let mut previous: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are null or valid for the call.
    if unsafe { libc::sigaction(libc::SIGBUS, std::ptr::null(), &mut previous) } != 0 {
        return Err(io::Error::last_os_error());
    }
    PREVIOUS_HANDLER.store(previous.sa_sigaction, Relaxed);
    PREVIOUS_FLAGS.store(previous.sa_flags as usize, Relaxed);
    let mut ours = previous;
    ours.sa_sigaction = on_sigbus as *const () as usize;
    ours.sa_flags = (previous.sa_flags | libc::SA_SIGINFO | libc::SA_RESTART) & !libc::SA_RESETHAND;
    // SAFETY: `ours` is a valid action whose handler has the signature that
    // SA_SIGINFO asks for.
    if unsafe { libc::sigaction(libc::SIGBUS, &ours, std::ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    *installed = true;
    Ok(())
}

extern "C" fn on_sigbus(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel hands a handler with SA_SIGINFO a valid siginfo, and
    // SIGBUS fills in the address.
    let address = unsafe { (*info).si_addr() } as usize;
    let ours = |base: &AtomicUsize| {
        let base = base.load(Relaxed);
        base != 0 && address.wrapping_sub(base) < LEN
    };
    if GUARDED.iter().any(ours) {
        FAULTED.store(true, Relaxed);
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
    forward(signal, info, context);
}

fn forward(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let handler = PREVIOUS_HANDLER.load(Relaxed);
    if handler == libc::SIG_IGN {
        return;
    }
    if handler == libc::SIG_DFL {
        // SAFETY: setting the default action is always allowed; the faulting
        // instruction runs again and ends the process as it would have.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
        return;
    }
    if PREVIOUS_FLAGS.load(Relaxed) as i32 & libc::SA_SIGINFO != 0 {
        type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);
        // SAFETY: `sigaction` returned this address as a handler installed
        // with SA_SIGINFO, which has this signature.
        let handler: Handler = unsafe { std::mem::transmute(handler) };
        handler(signal, info, context);
    } else {
        // SAFETY: `sigaction` returned this address as a handler installed
        // without SA_SIGINFO, which has this signature.
        let handler: extern "C" fn(i32) = unsafe { std::mem::transmute(handler) };
        handler(signal);
    }
}

//! What Linux has that other systems have otherwise: `system/windows.rs` has the same
//! functions.

use std::{
    ffi::OsString,
    fs::{File, OpenOptions, TryLockError},
    io::{self, BufRead, BufReader, Read},
    os::{
        fd::AsFd,
        unix::fs::{MetadataExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
};

/// More of what a process has mapped is not read: 65 530 files, the kernel's
/// limit, with names of some 200 bytes.
const LONGEST_MAPS: u64 = 16 << 20;

/// What the help says of commands that need another system.
pub const ELSEWHERE: &str = "";

pub use crate::signals::bus::tell_cut_logs as prepare;

/// Stdin as a file.
///
/// # Errors
/// When there is none.
pub fn stdin() -> io::Result<File> {
    Ok(io::stdin().as_fd().try_clone_to_owned()?.into())
}

/// Whether what was written to has no reader any more.
pub fn has_no_reader(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

/// The clock that logs are on.
pub fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer; every Linux has the clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Whether a JVM holds a lock on a file.
pub fn is_locked(file: &File) -> bool {
    let is_locked = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    if !is_locked {
        // A map of the file would keep the lock.
        let _ = file.unlock();
    }
    is_locked
}

/// Whether a process has mapped a file to write to it.
pub fn is_mapped(file: &File, pid: u32) -> bool {
    let (Ok(maps), Ok(metadata)) = (File::open(format!("/proc/{pid}/maps")), file.metadata())
    else {
        return false;
    };
    let inode = metadata.ino().to_string();
    let is_of_file = |line: &str| {
        let mut fields = line.split_whitespace().skip(1);
        fields.next().is_some_and(|rights| rights.contains('w')) && fields.nth(2) == Some(&inode)
    };
    // The process is what the log says, and may be any.
    let mut lines = BufReader::new(maps.take(LONGEST_MAPS)).split(b'\n').map_while(Result::ok);
    lines.any(|line| is_of_file(&String::from_utf8_lossy(&line)))
}

/// Opens a file for writing, or creates it. Whatever somebody has put there: no link is
/// followed, and no pipe waited for.
///
/// # Errors
/// As `open(2)`.
pub fn open_itself(path: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).custom_flags(flags).open(path)
}

/// Whether a terminal shows colours, of which this is the variable `TERM`.
pub fn shows_colours(term: Option<OsString>) -> bool {
    term.is_some_and(|term| term != "dumb")
}

/// Whether a path may lead to another machine by its words alone.
pub fn is_of_network(_path: &Path) -> bool {
    false
}

/// The path of what is there, without links.
///
/// # Errors
/// When nothing is.
pub fn canonical(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize()
}

//! Room on the disk.

use std::{
    fs::File,
    io,
    os::{fd::AsRawFd, unix::fs::FileExt},
    time::{Duration, Instant},
};
use thiserror::Error;

/// How often it is tried again to make a file longer.
pub const RETRY: Duration = Duration::from_secs(1);

/// Why a file cannot become longer, or be written on at all.
#[derive(Debug, Error)]
pub enum Trouble {
    /// There is no room for it, and may be some later.
    #[error("{0}")]
    NoRoom(String),
    /// It will not get any better.
    #[error("{0}")]
    Broken(String),
}

impl Trouble {
    /// What an error of the system means. The limits of a process can be raised, too.
    pub fn of(error: &io::Error) -> Trouble {
        let text = error.to_string();
        match error.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG) => Trouble::NoRoom(text),
            _ => Trouble::Broken(text),
        }
    }
}

/// Held while a file changes its length.
#[derive(Default)]
pub(super) struct Growth {
    /// When it was found that there is no room, and how the system said it.
    lack: Option<(Instant, String)>,
}

impl Growth {
    /// Why it is not tried yet to make the file longer: it has just failed, or the
    /// disk has no room, which is asked from time to time.
    pub(super) fn rests(&mut self, may_have_room: impl FnOnce() -> bool) -> Option<String> {
        let (since, reason) = self.lack.as_mut()?;
        if since.elapsed() >= RETRY {
            *since = Instant::now();
            if may_have_room() {
                return None;
            }
        }
        Some(reason.clone())
    }

    /// Notes how the attempt ended.
    pub(super) fn note(&mut self, result: Result<(), Trouble>) -> Result<(), Trouble> {
        self.lack = match &result {
            Err(Trouble::NoRoom(reason)) => Some((Instant::now(), reason.clone())),
            _ => None,
        };
        result
    }
}

/// Makes the file longer, with its blocks on the disk: a store into a hole
/// could find the disk full, and that is a SIGBUS.
pub(super) fn allocate(file: &File, offset: u64, len: u64) -> io::Result<()> {
    match reserve_blocks(file, offset, len) {
        Err(error) if cannot_reserve(&error) => write_blocks(file, offset, len),
        result => result,
    }
}

/// Not `posix_fallocate`, which C libraries have of different kinds.
fn reserve_blocks(file: &File, offset: u64, len: u64) -> io::Result<()> {
    loop {
        // SAFETY: the descriptor is open; the kernel checks the rest.
        let failed = unsafe { libc::fallocate(file.as_raw_fd(), 0, offset as i64, len as i64) };
        let error = io::Error::last_os_error();
        if failed == 0 {
            return Ok(());
        }
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Whether that is for lack of the call, and not of room: network file systems may not
/// have it, and filters of system calls may not let it pass.
fn cannot_reserve(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS | libc::EPERM))
}

/// Has the blocks by writing them, which takes longer. Leaves the file as it was if
/// that fails: it must end where they begin.
fn write_blocks(file: &File, offset: u64, len: u64) -> io::Result<()> {
    let zeros = [0; 1 << 16];
    let end = offset + len;
    let mut pieces = (offset..end).step_by(zeros.len());
    let written = pieces.try_for_each(|at| {
        let piece = zeros.len().min((end - at) as usize);
        file.write_all_at(&zeros[..piece], at)
    });
    if written.is_err() {
        let _ = file.set_len(offset);
    }
    written
}

/// Whether the file's disk may have so many bytes: `false` only if it says that it has
/// not. To try and fail may cost more, a commit of the file system's journal.
pub(super) fn may_hold(file: &File, len: u64) -> bool {
    // SAFETY: all-zero is a valid value of this type of numbers.
    let mut found: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open, and `found` is a valid place for the answer.
    let failed = unsafe { libc::fstatvfs(file.as_raw_fd(), &mut found) } != 0;
    // One without a size of its own says 0 of everything.
    failed || found.f_blocks == 0 || found.f_bfree.saturating_mul(found.f_frsize) >= len
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lack_of_room_passes() {
        let of = |code| Trouble::of(&io::Error::from_raw_os_error(code));
        for code in [libc::ENOSPC, libc::EDQUOT, libc::EFBIG] {
            assert!(matches!(of(code), Trouble::NoRoom(_)), "{code}");
        }
        for code in [libc::EIO, libc::EROFS, libc::EBADF] {
            assert!(matches!(of(code), Trouble::Broken(_)), "{code}");
        }
    }

    #[test]
    fn blocks_are_written_where_they_cannot_be_reserved() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(b"kept", 4092).unwrap();
        write_blocks(&file, 4096, 150_000).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 4096 + 150_000);
        let mut read = [1; 8];
        file.read_exact_at(&mut read, 4092).unwrap();
        assert_eq!(&read, b"kept\0\0\0\0");
        let full = File::options().write(true).open("/dev/full").unwrap();
        let error = write_blocks(&full, 0, 4096).unwrap_err();
        assert!(matches!(Trouble::of(&error), Trouble::NoRoom(_)), "{error}");
        assert!(!cannot_reserve(&error));
        for code in [libc::EOPNOTSUPP, libc::ENOSYS, libc::EPERM] {
            assert!(cannot_reserve(&io::Error::from_raw_os_error(code)));
        }
    }

    #[test]
    fn what_has_just_failed_is_not_tried_again() {
        let mut growth = Growth::default();
        let asked = || -> bool { panic!("the disk is asked") };
        assert_eq!(growth.rests(asked), None);
        assert!(growth.note(Err(Trouble::NoRoom("full".to_owned()))).is_err());
        assert_eq!(growth.rests(asked).as_deref(), Some("full"));
        let long_ago = Instant::now().checked_sub(RETRY);
        let age = |growth: &mut Growth| {
            growth.lack = Some((long_ago.unwrap(), "full".to_owned()));
        };
        age(&mut growth);
        assert_eq!(growth.rests(|| false).as_deref(), Some("full"));
        assert_eq!(growth.rests(asked).as_deref(), Some("full"), "for a while");
        age(&mut growth);
        assert_eq!(growth.rests(|| true), None);
        assert!(growth.note(Ok(())).is_ok());
        assert_eq!(growth.rests(asked), None);
    }

    #[test]
    fn a_disk_tells_what_it_holds() {
        let file = tempfile::tempfile().unwrap();
        assert!(may_hold(&file, 1) && !may_hold(&file, u64::MAX));
    }
}

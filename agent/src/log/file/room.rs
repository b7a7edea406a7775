//! Room on the disk.

use std::{fs::File, io, os::fd::AsRawFd};

/// Why a file cannot become longer.
#[derive(Debug)]
pub enum Trouble {
    /// There is no room for it, and may be some later.
    NoRoom(String),
    /// It will not get any better.
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

/// Makes the file longer, with its blocks on the disk: a store into a hole
/// could find the disk full, and that is a SIGBUS.
pub(super) fn allocate(file: &File, offset: u64, len: u64) -> io::Result<()> {
    // SAFETY: the descriptor is open; the kernel checks the rest.
    let failed = unsafe { libc::posix_fallocate(file.as_raw_fd(), offset as i64, len as i64) };
    if failed == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(failed)) }
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
    fn a_disk_tells_what_it_holds() {
        let file = tempfile::tempfile().unwrap();
        assert!(may_hold(&file, 1) && !may_hold(&file, u64::MAX));
    }
}

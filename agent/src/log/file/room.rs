//! Room on the disk.

use std::{
    fs::File,
    io,
    os::fd::AsRawFd,
    time::{Duration, Instant},
};

/// How often it is tried again to make a file longer.
pub const RETRY: Duration = Duration::from_secs(1);

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

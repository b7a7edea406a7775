//! How many addresses a log takes where they are scarce: `ulimit -v` counts what is
//! reserved, and some kernels have few for a process. What the log took, the program
//! would lack.

use std::io;

/// The share of a limited address space that one file's range may have.
const SHARE: usize = 16;
/// A shorter range is of no use.
const LEAST: usize = 32 << 20;
/// Ranges end where a file's pieces do.
const PIECE: usize = 4 << 20;

/// Reserves this length, or the greatest part of it that is allowed and fits.
///
/// # Errors
/// The last one of `reserve`, if nothing fits.
pub(super) fn first_that_fits<T>(
    len: usize,
    reserve: impl Fn(usize) -> io::Result<T>,
) -> io::Result<T> {
    let mut len = allowed(len, address_limit());
    loop {
        match reserve(len) {
            Err(error) if error.raw_os_error() != Some(libc::ENOMEM) => return Err(error),
            Err(error) if len <= LEAST => {
                let reason = format!("no addresses are left for the log (ulimit -v): {error}");
                return Err(io::Error::other(reason));
            }
            Err(_) => len = shorter(len / 2, len),
            reserved => return reserved,
        }
    }
}

/// How much of a length may be reserved if the address space has this limit.
fn allowed(len: usize, limit: Option<u64>) -> usize {
    let share = limit.map_or(usize::MAX, |limit| limit as usize / SHARE);
    if share < len { shorter(share, len) } else { len }
}

/// About so much, but not more than the whole, nor less than is of use.
fn shorter(about: usize, whole: usize) -> usize {
    (about / PIECE * PIECE).max(LEAST).min(whole)
}

/// The limit of this process's address space, in bytes, if it has one.
fn address_limit() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place for the answer.
    let failed = unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) } != 0;
    (!failed && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: usize = 1 << 30;

    #[test]
    fn a_limit_leaves_most_to_the_program() {
        assert_eq!(allowed(256 * GIB, None), 256 * GIB);
        assert_eq!(allowed(256 * GIB, Some(4 << 30)), GIB / 4);
        assert_eq!(allowed(256 * GIB, Some((4 << 30) + 12_345_678)), GIB / 4);
        assert_eq!(allowed(66 << 20, Some(4 << 30)), 66 << 20, "it is short as it is");
        assert_eq!(allowed(256 * GIB, Some(1 << 20)), LEAST);
        assert_eq!(allowed(LEAST - 1, Some(1 << 20)), LEAST - 1);
    }

    #[test]
    fn what_does_not_fit_is_tried_shorter() {
        let lacks = || io::Error::from_raw_os_error(libc::ENOMEM);
        let room_for = |most: usize| move |len| if len <= most { Ok(len) } else { Err(lacks()) };
        let fits = |most| first_that_fits(GIB, room_for(most)).map_err(|error| error.to_string());
        assert_eq!(fits(GIB / 3), Ok(GIB / 4));
        assert_eq!(fits(LEAST), Ok(LEAST));
        assert!(fits(LEAST - 1).unwrap_err().contains("ulimit -v"));
        let other = |_| -> io::Result<()> { Err(io::Error::from_raw_os_error(libc::EPERM)) };
        let error = first_that_fits(GIB, other).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EPERM));
    }
}

//! Reading memory that may not be there any more.
//!
//! What belongs to another thread can be freed at any moment. The kernel copies it, and
//! says so where there is nothing, where a load would end the process.

use std::{
    fs::File,
    os::unix::fs::FileExt,
    sync::OnceLock,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

/// Bytes of a word.
const WORD: usize = size_of::<usize>();

/// Whether the kernel refuses `process_vm_readv`, as in some containers.
static REFUSED: AtomicBool = AtomicBool::new(false);
/// The process's memory as a file, for that case.
static MEMORY: OnceLock<Option<File>> = OnceLock::new();

/// The word at an address, as it is at one moment; `None` where there is nothing, or the
/// kernel does not tell.
pub fn word(at: usize) -> Option<usize> {
    copy(at).map(usize::from_ne_bytes)
}

/// A number of 32 bits.
pub fn number(at: usize) -> Option<u32> {
    copy(at).map(u32::from_ne_bytes)
}

/// A number of 64 bits.
pub fn long(at: usize) -> Option<i64> {
    copy(at).map(i64::from_ne_bytes)
}

fn copy<const LEN: usize>(at: usize) -> Option<[u8; LEN]> {
    let mut bytes = [0; LEN];
    fill(at, &mut bytes).then_some(bytes)
}

/// Reads a number of so many bytes: whether there is one.
pub fn fill(at: usize, bytes: &mut [u8]) -> bool {
    // No page of a process begins at 0, and what is not aligned may be read in two halves.
    if at < 4096 || bytes.is_empty() || !at.is_multiple_of(bytes.len().min(WORD)) {
        return false;
    }
    if !REFUSED.load(Relaxed) {
        match copy_by_call(at, bytes) {
            Ok(()) => return true,
            Err(libc::EPERM | libc::ENOSYS | libc::EACCES) => REFUSED.store(true, Relaxed),
            Err(_) => return false,
        }
    }
    let memory = MEMORY.get_or_init(|| File::open("/proc/self/mem").ok()).as_ref();
    memory.is_some_and(|memory| memory.read_exact_at(bytes, at as u64).is_ok())
}

/// # Errors
/// The error of the call.
fn copy_by_call(at: usize, into: &mut [u8]) -> Result<(), i32> {
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let remote =
        libc::iovec { iov_base: std::ptr::without_provenance_mut(at), iov_len: into.len() };
    // SAFETY: the kernel writes to `into` only, and looks itself whether there is something
    // at the other address.
    let copied = unsafe {
        libc::process_vm_readv(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0)
    };
    match usize::try_from(copied) {
        Ok(copied) if copied == into.len() => Ok(()),
        Ok(_) => Err(libc::EFAULT),
        Err(_) => Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EFAULT)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_read_and_what_is_not_is_none() {
        let words = Box::new([0x0123_4567_89ab_cdef_u64, 7]);
        let at = std::ptr::from_ref(&*words).addr();
        assert_eq!(word(at), Some(0x0123_4567_89ab_cdef));
        assert_eq!(long(at + 8), Some(7));
        assert_eq!(number(at + 8), Some(7));
        assert_eq!(word(at + 1), None, "not aligned");
        assert_eq!(word(0), None);
        assert_eq!(word(8), None);
        assert_eq!(word(usize::MAX & !7), None);
    }

    #[test]
    fn memory_that_was_given_back_is_none() {
        // SAFETY: an anonymous mapping of the test's own, which nobody else knows.
        let at = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ, flags, -1, 0)
        };
        assert_eq!(word(at.addr()), Some(0));
        // SAFETY: it is the test's own.
        unsafe { libc::munmap(at, 4096) };
        assert_eq!(word(at.addr()), None);
    }
}

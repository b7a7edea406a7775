//! A log that is cut short while it is mapped: what reads on behind its new end
//! gets a SIGBUS, which would end us without a word.

use std::{
    mem, ptr,
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

/// What is said then.
const MESSAGE: &[u8] = b"tyrion: a log was cut short while it was read, or its disk failed; \
    run the command again\n";

/// What is called first, a `fn()`; null if nothing is.
static FIRST: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// Has a log that is cut short end the process with a message and status 1.
pub fn tell_cut_logs() {
    // SAFETY: all-zero is a valid sigaction with an empty mask; the handler makes
    // only calls that are allowed in one.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = end as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // Without it all goes as before.
        libc::sigaction(libc::SIGBUS, &action, ptr::null_mut());
    }
}

/// Has `restore` called before that: it must do no more than a handler of
/// signals may.
pub fn restore_first(restore: fn()) {
    FIRST.store(restore as *mut (), Relaxed);
}

extern "C" fn end(signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: what is not null is the `fn()` that was stored. The kernel's `info`
    // is valid, and all that is called is allowed in a handler.
    unsafe {
        let first = FIRST.load(Relaxed);
        if !first.is_null() {
            mem::transmute::<*mut (), fn()>(first)();
        }
        if (*info).si_code == libc::BUS_ADRERR {
            libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
            libc::_exit(1);
        }
        // Of another making: it does what it does to others, when this returns.
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

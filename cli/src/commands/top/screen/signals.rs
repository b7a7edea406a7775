//! Signals that end the process, or stop it, while the terminal is ours.

use crate::signals::bus;
use std::{
    fs::OpenOptions,
    io,
    os::fd::IntoRawFd,
    ptr,
    sync::atomic::{AtomicI32, AtomicPtr, Ordering::Relaxed},
};

/// What ends a process that does not expect it.
const ENDING: [i32; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];
/// Shows the cursor, and leaves the alternate screen.
const LEAVE: &[u8] = b"\x1b[?25h\x1b[?1049l";

/// The terminal as it was, for the handler.
static BEFORE: AtomicPtr<libc::termios> = AtomicPtr::new(ptr::null_mut());
static TERMINAL: AtomicI32 = AtomicI32::new(-1);

/// Has signals that end the process restore the terminal first.
///
/// # Errors
/// When there is no terminal.
pub(super) fn prepare() -> io::Result<()> {
    if TERMINAL.load(Relaxed) < 0 {
        let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?.into_raw_fd();
        // SAFETY: all-zero is a valid termios, and the pointer is valid.
        let before = unsafe {
            let mut before: libc::termios = std::mem::zeroed();
            match libc::tcgetattr(terminal, &mut before) {
                0 => before,
                _ => return Err(io::Error::last_os_error()),
            }
        };
        BEFORE.store(Box::into_raw(Box::new(before)), Relaxed);
        TERMINAL.store(terminal, Relaxed);
    }
    bus::restore_first(restore);
    for signal in ENDING {
        // SAFETY: all-zero is a valid sigaction with an empty mask; the handler
        // makes only calls that are allowed in one.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = restore_and_end as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_RESETHAND;
            if libc::sigaction(signal, &action, ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
        }
    }
    Ok(())
}

/// Stops the process, as Ctrl-Z does, until the shell goes on.
pub(super) fn stop() {
    // SAFETY: sending a signal to ourselves touches no memory.
    unsafe { libc::raise(libc::SIGTSTP) };
}

/// Restores the terminal, and then has the signal do what it does to others.
extern "C" fn restore_and_end(signal: i32) {
    restore();
    // SAFETY: `raise` is safe in a signal handler. The signal is the default one
    // by now, and comes when the handler returns.
    unsafe { libc::raise(signal) };
}

/// Restores the terminal, in a signal handler.
fn restore() {
    let (terminal, before) = (TERMINAL.load(Relaxed), BEFORE.load(Relaxed));
    // SAFETY: both calls are safe in a signal handler, and what they point to is
    // never freed.
    unsafe {
        libc::write(terminal, LEAVE.as_ptr().cast(), LEAVE.len());
        if !before.is_null() {
            libc::tcsetattr(terminal, libc::TCSANOW, before);
        }
    }
}

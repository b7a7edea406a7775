//! The terminal, and how it becomes what it was: at the end, when something
//! fails, panics, or a signal ends the process.

use crate::{outcome::Failure, signals::bus};
use ratatui::DefaultTerminal;
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

/// A terminal that shows our screen; dropped, it shows what it did before.
pub struct Screen {
    pub terminal: DefaultTerminal,
}

impl Screen {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// When there is none that can be used.
    pub fn open() -> Result<Screen, Failure> {
        let unusable = |error: io::Error| {
            Failure::new(format!("the terminal cannot be used: {error}; try --once"))
        };
        prepare_signals().map_err(unusable)?;
        // Also has panics restore it before they are told.
        let terminal = ratatui::try_init().map_err(unusable)?;
        Ok(Screen { terminal })
    }

    /// Gives the terminal back, stops the process as Ctrl-Z does, and takes it
    /// over again when the shell goes on.
    ///
    /// # Errors
    /// As [`Screen::open`].
    pub fn suspend(&mut self) -> Result<(), Failure> {
        ratatui::restore();
        // SAFETY: sending a signal to ourselves touches no memory.
        unsafe { libc::raise(libc::SIGTSTP) };
        let terminal = ratatui::try_init();
        self.terminal = terminal.map_err(|error| Failure::new(format!("the terminal: {error}")))?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Has signals that end the process restore the terminal first.
fn prepare_signals() -> io::Result<()> {
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

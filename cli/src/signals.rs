//! Handing signals on to a program that we run, and being interrupted while we
//! wait.
//!
//! With `sigwaitinfo`, which tells who sent a signal; crates that do need a C
//! compiler to build.

pub mod bus;

use std::{
    io, mem,
    os::unix::process::CommandExt,
    process::Command,
    ptr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// What is handed on.
const FORWARDED: [i32; 6] =
    [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGUSR1, libc::SIGUSR2];
/// `si_code` of a signal that the kernel sends by itself, for a terminal say
/// (Linux, asm-generic/siginfo.h).
const SI_KERNEL: i32 = 0x80;

/// Signals that wait until there is somebody to hand them to.
pub struct HeldSignals(libc::sigset_t);

/// Holds signals back from now on, but not from `command`.
///
/// # Errors
/// As `pthread_sigmask(3)`.
pub fn hold(command: &mut Command) -> io::Result<HeldSignals> {
    // SAFETY: all-zero is a valid set; the calls get valid pointers.
    let (held, before) = unsafe {
        let mut held: libc::sigset_t = mem::zeroed();
        let mut before: libc::sigset_t = mem::zeroed();
        libc::sigemptyset(&mut held);
        for signal in FORWARDED {
            libc::sigaddset(&mut held, signal);
        }
        match libc::pthread_sigmask(libc::SIG_BLOCK, &held, &mut before) {
            0 => (held, before),
            error => return Err(io::Error::from_raw_os_error(error)),
        }
    };
    let restore = move || {
        // SAFETY: both pointers are valid or null as allowed.
        match unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &before, ptr::null_mut()) } {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    };
    // SAFETY: between fork and exec the closure makes one system call and
    // allocates nothing.
    unsafe { command.pre_exec(restore) };
    Ok(HeldSignals(held))
}

/// Hands the held signals on to a child until [`SignalForwarder::end`], from a
/// thread of its own. Those that the terminal sends reach the child anyway,
/// unless it has moved to a group of its own, as `timeout` does.
pub fn forward(held: HeldSignals, pid: u32) -> SignalForwarder {
    let running = Arc::new(Mutex::new(true));
    let forwarding = SignalForwarder { running: Arc::clone(&running), pid };
    std::thread::spawn(move || {
        loop {
            // SAFETY: all-zero is a valid siginfo, and both pointers are valid.
            let (signal, code) = unsafe {
                let mut info: libc::siginfo_t = mem::zeroed();
                (libc::sigwaitinfo(&held.0, &mut info), info.si_code)
            };
            let running = running.lock().unwrap_or_else(PoisonError::into_inner);
            if signal > 0 && *running && (code != SI_KERNEL || is_in_own_group(pid)) {
                // SAFETY: sending a signal touches no memory. The process is
                // our child, whose id is ours until it is waited for.
                unsafe { libc::kill(pid as libc::pid_t, signal) };
            }
        }
    });
    forwarding
}

fn is_in_own_group(pid: u32) -> bool {
    // SAFETY: both only ask the kernel for a number.
    unsafe { libc::getpgid(pid as libc::pid_t) != libc::getpgrp() }
}

/// A child that signals are handed on to.
pub struct SignalForwarder {
    running: Arc<Mutex<bool>>,
    pid: u32,
}

impl SignalForwarder {
    /// Waits until the child has ended, and hands nothing on from then on: its
    /// id may soon be somebody else's. The child is still to be waited for.
    pub fn end(self) {
        // SAFETY: all-zero is a valid siginfo, and the pointer is valid. The
        // child stays a zombie because of WNOWAIT.
        while unsafe {
            let mut info: libc::siginfo_t = mem::zeroed();
            let options = libc::WEXITED | libc::WNOWAIT;
            libc::waitid(libc::P_PID, self.pid, &mut info, options) == -1
        } && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = false;
    }
}

/// What ends a wait early instead of this process.
const INTERRUPTING: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Signals of the user's that end a wait and not this process, until it is
/// dropped.
pub struct Interrupts {
    held: libc::sigset_t,
    before: libc::sigset_t,
}

impl Interrupts {
    /// From now on, for this thread and those that it starts.
    ///
    /// # Errors
    /// As `pthread_sigmask(3)`.
    pub fn hold() -> io::Result<Interrupts> {
        // SAFETY: all-zero is a valid set; the calls get valid pointers.
        unsafe {
            let mut held: libc::sigset_t = mem::zeroed();
            let mut before: libc::sigset_t = mem::zeroed();
            libc::sigemptyset(&mut held);
            for signal in INTERRUPTING {
                libc::sigaddset(&mut held, signal);
            }
            match libc::pthread_sigmask(libc::SIG_BLOCK, &held, &mut before) {
                0 => Ok(Interrupts { held, before }),
                error => Err(io::Error::from_raw_os_error(error)),
            }
        }
    }

    /// Waits for so long, or until the user interrupts: whether that was so.
    pub fn wait(&self, time: Duration) -> bool {
        let time = libc::timespec {
            tv_sec: time.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: time.subsec_nanos().into(),
        };
        // SAFETY: all pointers are valid, or null as allowed.
        unsafe { libc::sigtimedwait(&self.held, ptr::null_mut(), &time) > 0 }
    }
}

/// Whether the user has interrupted, and no wait has ended by it yet: while
/// [`Interrupts`] are held.
pub fn is_interrupted() -> bool {
    // SAFETY: all-zero is a valid set; the calls get valid pointers.
    unsafe {
        let mut pending: libc::sigset_t = mem::zeroed();
        libc::sigpending(&mut pending) == 0
            && INTERRUPTING.iter().any(|&signal| libc::sigismember(&pending, signal) == 1)
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        // SAFETY: the pointer is valid, the other null as allowed.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_ends_a_wait() {
        let Ok(interrupts) = Interrupts::hold() else { panic!("signals cannot be held") };
        assert!(!interrupts.wait(Duration::from_millis(1)));
        // SAFETY: a signal to this very thread, which holds it back.
        unsafe { libc::pthread_kill(libc::pthread_self(), libc::SIGINT) };
        assert!(is_interrupted());
        assert!(interrupts.wait(Duration::from_secs(60)));
        assert!(!is_interrupted());
        assert!(!interrupts.wait(Duration::ZERO));
    }
}

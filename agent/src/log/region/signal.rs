//! The handler of SIGBUS, and what becomes of those that are not the agent's.

use crate::sync::lock;
use std::{
    io,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

/// A handler as `sigaction(2)` has it, with SA_SIGINFO.
pub(super) type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);

static IS_CAUGHT: Mutex<bool> = Mutex::new(false);
static PREVIOUS_HANDLER: AtomicUsize = AtomicUsize::new(0);
static PREVIOUS_FLAGS: AtomicUsize = AtomicUsize::new(0);

/// Has `handler` called for every SIGBUS from now on. Those that are not the agent's it
/// hands to [`pass_on`]. Of several handlers the first one stays.
///
/// # Errors
/// As `sigaction(2)`.
pub(super) fn catch(handler: Handler) -> io::Result<()> {
    let mut is_caught = lock(&IS_CAUGHT);
    if *is_caught {
        return Ok(());
    }
    // SAFETY: all-zero is a valid `sigaction`.
    let mut previous: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are null or valid for the call.
    if unsafe { libc::sigaction(libc::SIGBUS, std::ptr::null(), &mut previous) } != 0 {
        return Err(io::Error::last_os_error());
    }
    PREVIOUS_HANDLER.store(previous.sa_sigaction, Relaxed);
    PREVIOUS_FLAGS.store(previous.sa_flags as usize, Relaxed);
    let mut ours = previous;
    ours.sa_sigaction = handler as *const () as usize;
    ours.sa_flags = (previous.sa_flags | libc::SA_SIGINFO | libc::SA_RESTART) & !libc::SA_RESETHAND;
    // SAFETY: `ours` is a valid action whose handler has the signature that
    // SA_SIGINFO asks for.
    if unsafe { libc::sigaction(libc::SIGBUS, &ours, std::ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    *is_caught = true;
    Ok(())
}

/// Whether a signal with this code was sent by a process, and not raised by the kernel.
pub(super) fn is_sent(code: i32) -> bool {
    code <= 0
}

/// Whether an instruction has raised a signal with this code, which does so again when it
/// runs again. The kernel may also tell of broken memory that nobody has touched yet.
fn is_fault(code: i32) -> bool {
    !is_sent(code) && code != libc::BUS_MCEERR_AO
}

/// Does with a signal what would have been done without the agent: most often, the handler
/// that was there before is called (HotSpot has one of its own).
pub(super) fn pass_on(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel hands a handler with SA_SIGINFO a valid siginfo.
    let is_fault = is_fault(unsafe { (*info).si_code });
    match PREVIOUS_HANDLER.load(Relaxed) {
        libc::SIG_IGN if !is_fault => {}
        // A fault cannot be ignored: the kernel would end the process, and the instruction
        // would raise it again and again here.
        libc::SIG_IGN | libc::SIG_DFL => end_process(signal, is_fault),
        handler if PREVIOUS_FLAGS.load(Relaxed) as i32 & libc::SA_SIGINFO != 0 => {
            // SAFETY: `sigaction` returned this address as a handler installed
            // with SA_SIGINFO, which has this signature.
            let handler: Handler = unsafe { std::mem::transmute(handler) };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: `sigaction` returned this address as a handler installed
            // without SA_SIGINFO, which has this signature.
            let handler: extern "C" fn(i32) = unsafe { std::mem::transmute(handler) };
            handler(signal);
        }
    }
}

/// Has the signal end the process as soon as the handler has returned: by the instruction
/// that runs again, or by one more signal, which waits until then.
fn end_process(signal: i32, is_fault: bool) {
    // SAFETY: a handler may set the default action and raise a signal at any time.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        if !is_fault {
            libc::raise(signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Region;
    use std::{
        os::{fd::AsRawFd, unix::process::ExitStatusExt},
        process::Command,
    };

    /// Names for a child process what it is to do.
    const TASK: &str = "TYRION_TEST_SIGBUS";
    /// How a child process ends that has come to its end.
    const DONE: i32 = 42;

    /// The address of a page that is mapped from an empty file: it cannot be touched.
    fn page_of_nothing() -> *mut u8 {
        let file = tempfile::tempfile().unwrap();
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let place = std::ptr::null_mut();
        // SAFETY: the kernel chooses where.
        let page =
            unsafe { libc::mmap(place, 4096, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        assert_ne!(page, libc::MAP_FAILED);
        page.cast()
    }

    /// What the child processes of the test below do; none of them is this process.
    #[test]
    fn child() {
        let Ok(task) = std::env::var(TASK) else { return };
        let (before, what) = task.split_once(' ').unwrap();
        let before = if before == "ignored" { libc::SIG_IGN } else { libc::SIG_DFL };
        let no_core = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: all of this is for this process alone; it ends if it is not done soon.
        unsafe {
            libc::setrlimit(libc::RLIMIT_CORE, &no_core);
            libc::alarm(20);
            libc::signal(libc::SIGBUS, before);
        }
        let region = Region::reserve(1 << 20).unwrap();
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        region.map_file(&file, 0, 4096).unwrap();
        match what {
            // SAFETY: the page is mapped, though there is nothing in it.
            "fault" => unsafe { page_of_nothing().write_volatile(1) },
            // SAFETY: a process may send itself signals.
            "sent" => unsafe {
                libc::kill(libc::getpid(), libc::SIGBUS);
                libc::raise(libc::SIGBUS);
            },
            _ => {}
        }
        // The agent's own faults are caught as before.
        file.set_len(0).unwrap();
        // SAFETY: the page was mapped above.
        unsafe { region.at(0).write_volatile(1) };
        std::process::exit(if region.faulted() { DONE } else { 0 });
    }

    #[test]
    fn what_is_not_ours_ends_the_process_as_it_would_have_without_us() {
        let name = concat!(module_path!(), "::child").split_once("::").unwrap().1;
        let killed = (None, Some(libc::SIGBUS));
        let lives = (Some(DONE), None);
        for (task, expected) in [
            ("ignored nothing", lives),
            ("ignored sent", lives),
            ("ignored fault", killed),
            ("default nothing", lives),
            ("default sent", killed),
            ("default fault", killed),
        ] {
            let mut child = Command::new(std::env::current_exe().unwrap());
            let done = child.args([name, "--exact"]).env(TASK, task).output().unwrap();
            assert_eq!((done.status.code(), done.status.signal()), expected, "{task}: {done:?}");
        }
    }
}

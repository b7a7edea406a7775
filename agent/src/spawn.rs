//! The agent's own threads.

use std::cell::Cell;

thread_local! {
    /// Whether this OS thread is one of the agent's own.
    static IS_AGENTS: Cell<bool> = const { Cell::new(false) };
}

/// Whether the current OS thread is one of the agent's own, also while it is
/// known to the JVM. One that is about to end has no locals any more.
pub fn is_agents() -> bool {
    IS_AGENTS.try_with(Cell::get).unwrap_or(true)
}

/// Starts a thread that the JVM does not know.
pub fn thread(name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), String> {
    let body = || {
        block_signals();
        let _ = IS_AGENTS.try_with(|is| is.set(true));
        body();
    };
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(body);
    thread.map(drop).map_err(|error| format!("no thread {name}: {error}"))
}

/// Leaves the signals of the process to the JVM's threads. Those that a fault
/// of this very thread raises stay: blocking them would end the process.
fn block_signals() {
    // SAFETY: all-zero is a valid set, which sigfillset then fills; the calls
    // get valid pointers, or null where that is allowed.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut set);
        for fault in [libc::SIGBUS, libc::SIGSEGV, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP] {
            libc::sigdelset(&mut set, fault);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
    }
}

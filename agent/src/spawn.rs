//! The agent's own threads.

use crate::{
    clock::{self, ThreadClock},
    sync::lock,
};
use std::{cell::Cell, io, sync::Mutex};
use thiserror::Error;

thread_local! {
    /// Whether this OS thread is one of the agent's own.
    static IS_AGENTS: Cell<bool> = const { Cell::new(false) };
}

/// Whether the current OS thread is one of the agent's own, also while it is
/// known to the JVM. One that is about to end has no locals any more.
pub fn is_agents() -> bool {
    IS_AGENTS.try_with(Cell::get).unwrap_or(true)
}

/// A thread of the agent's own that could not be started.
#[derive(Debug, Error)]
#[error("no thread {name}: {error}")]
pub struct NoThread {
    name: String,
    error: io::Error,
}

/// Starts a thread that the JVM does not know.
///
/// # Errors
/// As `pthread_create(3)`.
pub fn thread(name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), NoThread> {
    let body = || {
        block_signals();
        let _ = IS_AGENTS.try_with(|is| is.set(true));
        counted(body);
    };
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(body);
    thread.map(drop).map_err(|error| NoThread { name: name.to_owned(), error })
}

/// What the agent's threads have used of the CPU.
static USED: Mutex<Used> = Mutex::new(Used { living: Vec::new(), ended_ns: 0 });

struct Used {
    /// The clocks of those that live.
    living: Vec<ThreadClock>,
    /// All of those that have ended.
    ended_ns: u64,
}

/// The CPU time of the agent's own threads, those that have ended included, in ns.
pub fn cpu_ns() -> u64 {
    // Whoever ends waits for this before it does, so all clocks can be read.
    let used = lock(&USED);
    used.living.iter().fold(used.ended_ns, |sum, clock| sum.saturating_add(clock.now_ns()))
}

/// Runs all that the current thread, one of the agent's own, does in its life.
pub fn counted<T>(body: impl FnOnce() -> T) -> T {
    let _counted = Counted::begin();
    body()
}

/// A thread among those that count, as long as this is there.
struct Counted(Option<ThreadClock>);

impl Counted {
    fn begin() -> Counted {
        let clock = ThreadClock::current();
        lock(&USED).living.extend(clock);
        Counted(clock)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut used = lock(&USED);
        used.living.retain(|&clock| Some(clock) != self.0);
        used.ended_ns = used.ended_ns.saturating_add(clock::thread_cpu_ns());
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    /// Uses so much CPU time.
    fn work(ns: u64) {
        let begun_ns = clock::thread_cpu_ns();
        while clock::thread_cpu_ns() - begun_ns < ns {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn own_threads_count_while_they_live_and_afterwards() {
        const NS: u64 = 20_000_000;
        let before_ns = cpu_ns();
        let (worked, has_worked) = channel();
        let (end, may_end) = channel::<()>();
        let (ended, has_ended) = channel::<()>();
        thread("tyrion-test", move || {
            assert!(is_agents());
            work(NS);
            worked.send(()).unwrap();
            may_end.recv().unwrap();
            // Dropped only when the thread has no locals any more.
            drop(ended);
        })
        .unwrap();
        has_worked.recv().unwrap();
        let living_ns = cpu_ns();
        assert!(living_ns >= before_ns + NS, "{before_ns} {living_ns}");
        // What others do counts for nothing.
        work(NS);
        end.send(()).unwrap();
        assert!(has_ended.recv().is_err());
        // It may be ending still, which takes no 20 ms of CPU time.
        let after_ns = cpu_ns();
        assert!((living_ns..living_ns + NS).contains(&after_ns), "{living_ns} {after_ns}");
    }
}

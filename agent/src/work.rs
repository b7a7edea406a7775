//! What the agent is doing for a command, so that whoever waits for the answer knows that it
//! is at work, and can have it given up.

use crate::sync::lock;
use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{self, ThreadId},
    time::Instant,
};

/// The command that is carried out: one at a time.
static NOW: Mutex<Option<Work>> = Mutex::new(None);
/// Nobody wants it any more.
static GIVEN_UP: AtomicBool = AtomicBool::new(false);

/// A command that is carried out.
#[derive(Clone, Debug)]
pub struct Work {
    /// The process that has asked for it, 0 if that is not known.
    pub by: u64,
    /// Since when.
    pub since: Instant,
    /// What is being done.
    pub what: String,
    /// By which thread: others have work of their own.
    thread: ThreadId,
}

/// A command is carried out until this is dropped.
pub struct Turn(());

/// A command of this process begins.
pub fn begin(by: u64) -> Turn {
    GIVEN_UP.store(false, Relaxed);
    let thread = thread::current().id();
    *lock(&NOW) = Some(Work { by, since: Instant::now(), what: String::new(), thread });
    Turn(())
}

impl Drop for Turn {
    fn drop(&mut self) {
        *lock(&NOW) = None;
        GIVEN_UP.store(false, Relaxed);
    }
}

/// What is carried out now, if anything is.
pub fn now() -> Option<Work> {
    lock(&NOW).clone()
}

/// Tells what is being done from now on, unless the current thread does it for no command.
pub fn note(what: impl Into<String>) {
    let mut now = lock(&NOW);
    if let Some(work) = now.as_mut().filter(|work| work.thread == thread::current().id()) {
        work.what = what.into();
    }
}

/// The command of this process is to be given up, if it is the one that is carried out.
pub fn give_up(by: u64) {
    let now = lock(&NOW);
    if now.as_ref().is_some_and(|work| work.by == by) {
        GIVEN_UP.store(true, Relaxed);
    }
}

/// Whether what the current thread does for a command is to be left, and taken back.
pub fn is_given_up() -> bool {
    let is_own = |work: &Work| work.thread == thread::current().id();
    GIVEN_UP.load(Relaxed) && lock(&NOW).as_ref().is_some_and(is_own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_known_while_it_lasts_and_is_given_up_by_its_own_process() {
        note("nobody asks");
        assert!(now().is_none());
        let turn = begin(7);
        note("looks");
        assert_eq!(now().map(|work| (work.by, work.what)), Some((7, "looks".to_owned())));
        give_up(8);
        assert!(!is_given_up());
        give_up(7);
        assert!(is_given_up());
        // What another thread does meanwhile is its own affair.
        let other = thread::spawn(|| {
            note("aims");
            is_given_up()
        });
        assert!(!other.join().unwrap());
        assert_eq!(now().map(|work| work.what), Some("looks".to_owned()));
        drop(turn);
        assert!(now().is_none() && !is_given_up());
    }
}

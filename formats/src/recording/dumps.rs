//! What thread dumps tell beyond samples.

use super::Recording;
use tyrion_wire::{WaitKind, sample::ThreadState};

/// All threads of a program at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadDump {
    /// When, ns after the first one; where the file does not say when, a second after the
    /// one before.
    pub at_ns: u64,
    /// Where it begins, in bytes from the file's start.
    pub offset: u64,
    /// The same in ns of Unix time, as if the program's clock was at UTC, if the file says it.
    pub wall_ns: Option<u64>,
    /// Its threads, in the order of the file.
    pub threads: Vec<DumpedThread>,
    /// The threads that the JVM itself lists as deadlocked, by their ids; those behind a
    /// deadlock are among them.
    pub told_deadlocked: Vec<u32>,
}

/// A thread of a dump. Its ids are those of definitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DumpedThread {
    /// The thread.
    pub thread: u32,
    /// What it was doing.
    pub state: ThreadState,
    /// Whether it waits for a limited time.
    pub is_timed: bool,
    /// What kind of wait it is in, if any.
    pub kind: Option<WaitKind>,
    /// It was notified, and enters the monitor again.
    pub reenters: bool,
    /// Its stack.
    pub stack: u32,
    /// What it waits for, 0 if that is not known.
    pub lock: u32,
    /// The threads that have it, none if that is not known; several where it is inferred.
    pub owners: Vec<u32>,
    /// How that is known.
    pub owner_source: HolderSource,
    /// The locks that it has, as far as the dump tells.
    pub held: Vec<u32>,
    /// The frame that took each of these, counted from 1 at the innermost one; of one that was
    /// entered again, the outermost. 0 where the dump does not tell, as of synchronizers.
    pub held_by_frame: Vec<u32>,
    /// The CPU time since its start.
    pub cpu_ns: Option<u64>,
    /// The time since its start.
    pub elapsed_ns: Option<u64>,
}

impl DumpedThread {
    /// The thread that has what it waits for, if that is not inferred; else 0.
    pub fn told_owner(&self) -> u32 {
        let is_sure = self.owner_source != HolderSource::BeyondTheCall;
        self.owners.first().copied().filter(|_| is_sure).unwrap_or(0)
    }
}

tyrion_wire::named_enum! {
    /// How the holder of a lock is known.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub enum HolderSource {
        /// It is not known.
        #[default]
        Unknown => "unknown",
        /// The dump names it beside the waiter, or in the JVM's section on deadlocks.
        Told => "told",
        /// The lock stands below a frame of the holder, or among its synchronizers.
        Locked => "locked",
        /// The holder runs the initializer of the class.
        Initializer => "initializer",
        /// The thread is in the method in which others wait, beyond that call: inferred.
        BeyondTheCall => "beyond-the-call",
    }
}

impl Recording {
    /// The thread dumps that it was made from, in the order of the file.
    pub fn dumps(&self) -> &[ThreadDump] {
        &self.dumps
    }
}

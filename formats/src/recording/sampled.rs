//! What sampling recorded.

use tyrion_wire::{
    WaitKind,
    sample::{Sample, ThreadState},
};

/// What a thread was seen doing in one snapshot, or in several one after
/// another. Ids in it are those of definitions that may be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampled {
    /// The thread, by its id in the log.
    pub thread: u32,
    /// When the last of the snapshots was taken, monotonic ns.
    pub at_ns: u64,
    /// What was recorded.
    pub sample: Sample,
}

impl Sampled {
    /// The thread's state; [`ThreadState::Other`] if this code does not know
    /// it.
    pub fn state(&self) -> ThreadState {
        ThreadState::from_code(self.sample.state).unwrap_or(ThreadState::Other)
    }

    /// What kind of wait the thread was in, if that was known.
    pub fn kind(&self) -> Option<WaitKind> {
        WaitKind::from_code(u8::try_from(self.sample.kind).ok()?)
    }

    /// When the thread's snapshot before these was taken, as far as the record
    /// tells, monotonic ns.
    pub fn start_ns(&self) -> u64 {
        self.at_ns.saturating_sub(self.sample.wall_ns)
    }
}

//! Who ended waits.

use super::Recording;
use tyrion_wire::wake::Wake;

/// A wait that another thread has ended. Ids in it are those of definitions that may be
/// lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Woken {
    /// Who waited, by its id in the log.
    pub thread: u32,
    /// When the wait ended, monotonic ns.
    pub end_ns: u64,
    /// What was recorded.
    pub wake: Wake,
}

impl Woken {
    /// When the other thread ended it, monotonic ns.
    pub fn at_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.wake.late_ns)
    }
}

impl Recording {
    /// Whether it was recorded who ends waits: the log's metadata say so.
    pub fn has_wakers(&self) -> bool {
        self.facts.metadata("wakers") == Some("true")
    }
}
